"""Does a brain cross? Stimulate the senses of one side, read the output cells of both, and compare the answer with chance.

`laterality` measures one setting: the two-by-two table, its crossing index and side bias, statistics over homologous pairs, how
few cells carry the difference, and by how much the connectome stands apart from null models of itself. `sweep` measures many
settings in one run: gains and sides are the sequences of one batch and durations are moments of one run, so a matrix is run
once for all of them; only another threshold, normalisation or null model is another matrix. The protocol is what an experiment
would be: cells at rest, a step or a pulse to the senses of one side, a recording of the output cells of both.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from ordinate.arguments import check_choice, renamed_argument
from ordinate.errors import ArgumentError, RefusedError, UnknownNameError
from ordinate.records import plain
from ordinate.reservoir.connectome.connectome import Connectome
from ordinate.reservoir.connectome.gain import normalise
from ordinate.reservoir.connectome.nulls import NULLS
from ordinate.reservoir.dynamics.reservoir import Reservoir
from ordinate.reservoir.laterality.measures import Carriers, Pairs, carriers, crossing_index, pairs, side_bias, two_by_two

__all__ = ["NORMALISATIONS", "Laterality", "NullComparison", "Sweep", "answers", "cells", "laterality", "prepared", "sweep"]

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class NullComparison:
    """A connectome against draws of one null model of it.

    Args:
        name: of the null model.
        draws: how many.
        mean: of the crossing index over draws.
        standard_deviation: of the crossing index over draws.
        z: the connectome's index less the mean, in standard deviations; NaN where the draws do not vary.
        p: the share of draws at least as far from the mean, the connectome counted among them; two-sided. With a single
            draw, as of the mirrored connectome, or one in which nothing arrives, this and all spreads are NaN.
        side_bias_z: as `z`, of the side bias.
        values: the index of each draw.
    """

    name: str
    draws: int
    mean: float
    standard_deviation: float
    z: float
    p: float
    side_bias_z: float
    values: tuple[float, ...]


@dataclass(frozen=True)
class Laterality:
    """What stimulating either side does to the output cells of either side.

    Args:
        connectome: its name.
        stimulus: the query of the stimulated cells.
        readout: the query of the cells read.
        settings: everything else that was asked for.
        stimulated: stimulated cells on the left and on the right.
        read: cells read on the left and on the right.
        table: mean absolute activity, [2, 2]; rows are the side stimulated, columns the side read, left first.
        index: `(crossed - same) / (crossed + same)`: above 0 where the other side answers more.
        side_bias: `(right - left) / (right + left)` of the readout, over both stimuli.
        pairs: over homologous pairs of the readout; None with fewer than two.
        carriers: how few cells make the difference; None where there is none.
        carrier_ids: of the cells that make half of it, largest first.
        nulls: one comparison a null model.
        assumptions: what the data do not say.
        activity: [2, R] of each cell read, in ascending order, with the left and with the right stimulated.
        is_right: [R], which of them are on the right.

    >>> result = laterality(Connectome.synthetic(), "sensory", "descending")
    >>> result.table.shape, result.crosses, result.index > 0
    ((2, 2), False, False)
    """

    connectome: str
    stimulus: str
    readout: str
    settings: Mapping[str, Any]
    stimulated: tuple[int, int]
    read: tuple[int, int]
    table: Array
    index: float
    side_bias: float
    pairs: Pairs | None
    carriers: Carriers | None
    carrier_ids: tuple[Any, ...]
    nulls: tuple[NullComparison, ...]
    assumptions: tuple[str, ...]
    activity: Array = field(repr=False)
    is_right: npt.NDArray[np.bool_] = field(repr=False)

    @property
    def crosses(self) -> bool:
        """Whether the other side answers more than a stimulus's own."""
        return self.index > 0

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types; numbers that are not finite become None."""
        result: dict[str, Any] = {
            "connectome": self.connectome,
            "stimulus": self.stimulus,
            "readout": self.readout,
            "settings": dict(self.settings),
            "cells": {"stimulated": list(self.stimulated), "read": list(self.read)},
            "table": self.table.tolist(),
            "table_is": "rows: left and right stimulated; columns: left and right read; mean absolute activity",
            "index": self.index,
            "side_bias": self.side_bias,
            "z_scores": {one.name: one.z for one in self.nulls},
            "nulls": self.nulls,
            "pairs": self.pairs,
            "carriers": None if self.carriers is None else {**asdict(self.carriers), "cells": list(self.carrier_ids)},
            "assumptions": list(self.assumptions),
        }
        return {name: plain(value) for name, value in result.items()}


def laterality(
    connectome: Connectome,
    stimulus: str = "sensory",
    readout: str = "descending",
    *,
    steps: int = 5,
    normalisation: str = "output",
    gain: float = 1.0,
    threshold: float = 1,
    amplitude: float = 1.0,
    sustained: bool = True,
    activation: str = "tanh",
    leak_rate: float = 1.0,
    backwards: bool = False,
    nulls: Mapping[str, int] | None = None,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
    **renamed: bool,
) -> Laterality:
    """How strongly output cells answer a stimulus on their own side and on the other one.

    The network starts at rest; the cells of one side receive `amplitude`; after `steps` steps of
    `x' = (1 - leak_rate) x + leak_rate f(gain x W + input)` the output cells are read. The same for the other side. The
    crossing index is `(crossed - same) / (crossed + same)` over the four means.

    Args:
        connectome: with sides; its weights are counts of synapses.
        stimulus: which cells are stimulated, a query without a side.
        readout: which cells are read, a query without a side.
        steps: synapses that activity may have passed when it is read, the stimulus's own step counted.
        normalisation: "output": the synapses a cell sends add to 1; "input": those it receives do; "spectral_radius"; "none".
        gain: factor of the normalised weights.
        threshold: edges with fewer synapses are left out.
        amplitude: what stimulated cells receive.
        sustained: stimulate at every step, or at the first one only.
        activation: f, a name that `Reservoir` knows.
        leak_rate: in (0, 1].
        backwards: let activity run from postsynaptic to presynaptic cells, as no brain does: to see what a transposed
            matrix would give.
        nulls: how many draws of each null model, by its name in `ordinate.reservoir.nulls.NULLS`; none by default.
        seed: of the null models.
        progress: called with matrices done and all.

    Raises:
        ArgumentError: settings out of range, or a query without cells on either side.
        UnknownNameError: a normalisation, null model or word that does not exist.
        RefusedError: nothing arrives at the readout, so there is nothing to compare.

    >>> result = laterality(Connectome.synthetic(), "sensory", "descending")
    >>> result.crosses, laterality(Connectome.synthetic(), "ascending", "descending").crosses
    (False, True)
    """
    sustained = renamed_argument("sustained", sustained, renamed, "held")
    dynamics: dict[str, Any] = {
        "amplitude": amplitude,
        "sustained": sustained,
        "activation": activation,
        "leak_rate": leak_rate,
    }
    swept = sweep(
        connectome,
        stimulus,
        readout,
        normalisations=(normalisation,),
        thresholds=(threshold,),
        gains=(gain,),
        steps=(steps,),
        nulls=nulls,
        backwards=backwards,
        seed=seed,
        progress=progress,
        **dynamics,
    )
    stimulated, (left, right) = cells(connectome, stimulus, "stimulus"), cells(connectome, readout, "readout")
    read = np.sort(np.concatenate([left, right]))
    one = prepared(connectome, normalisation, threshold, backwards)
    activity = answers(one, stimulated, read, gains=(gain,), steps=(steps,), **dynamics)[0, 0]
    is_right = connectome.side[read] == "right"
    table = two_by_two(activity, is_right)
    if not table.any():
        raise RefusedError(
            "readout",
            expected=f"cells that {stimulus!r} reaches within {steps} steps",
            got="no activity at all",
            hint="take more steps, a lower threshold, or other cells",
        )
    mates = connectome.mate[left]
    paired = (mates >= 0) & np.isin(mates, right)
    carried = carriers(activity, is_right)
    return Laterality(
        connectome.name,
        stimulus,
        readout,
        {
            "steps": steps,
            "normalisation": normalisation,
            "gain": gain,
            "threshold": threshold,
            **{"held" if name == "sustained" else name: value for name, value in dynamics.items()},
            "direction": "backwards" if backwards else "pre to post",
            "seed": seed,
        },
        (stimulated[0].size, stimulated[1].size),
        (left.size, right.size),
        table,
        float(crossing_index(table)),
        float(side_bias(table)),
        pairs(activity, np.searchsorted(read, left[paired]), np.searchsorted(read, mates[paired])),
        carried,
        () if carried is None else tuple(connectome.ids[read[place]] for place in carried.cells),
        tuple(
            _compared(
                name,
                swept.index[0].item(),
                swept.draws(name).ravel(),
                swept.z_scores(name).item(),
                swept.z_scores(name, "side_bias").item(),
            )
            for name in swept.null_names
        ),
        connectome.assumptions,
        activity,
        is_right,
    )


def _compared(name: str, index: float, draws: Array, z: float, side_bias_z: float) -> NullComparison:
    mean = float(draws.mean())
    if draws.size < 2 or not np.isfinite(draws).all():  # a draw in which nothing arrives has no index
        return NullComparison(name, int(draws.size), mean, math.nan, math.nan, math.nan, math.nan, tuple(draws.tolist()))
    farther = int((np.abs(draws - mean) >= abs(index - mean) - 1e-12).sum())
    spread = float(draws.std(ddof=1))
    return NullComparison(
        name, int(draws.size), mean, spread, z, (1 + farther) / (1 + draws.size), side_bias_z, tuple(draws.tolist())
    )


Indices = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Sweep:
    """Tables of left and right for every matrix and setting.

    Args:
        origins: for each of M matrices "real", or the name of its null model; the real one is first.
        normalisations: A of them.
        thresholds: B least numbers of synapses that an edge must have.
        gains: C factors of the normalised weights.
        steps: D durations.
        tables: [M, A, B, C, D, 2, 2]: mean absolute activity, rows the side stimulated, columns the side read.
    """

    origins: tuple[str, ...]
    normalisations: tuple[str, ...]
    thresholds: tuple[float, ...]
    gains: tuple[float, ...]
    steps: tuple[int, ...]
    tables: Array = field(repr=False)

    @property
    def index(self) -> Array:
        """The crossing index, [M, A, B, C, D]; NaN where nothing answers."""
        return crossing_index(self.tables)

    @property
    def side_bias(self) -> Array:
        """The side bias, [M, A, B, C, D]; NaN where nothing answers."""
        return side_bias(self.tables)

    @property
    def null_names(self) -> tuple[str, ...]:
        """The null models, each once."""
        return tuple(dict.fromkeys(origin for origin in self.origins if origin != "real"))

    def z_scores(self, name: str, measure: str = "index") -> Array:
        """By how many standard deviations of a null model's draws the real connectome differs from their mean.

        Args:
            name: one of `null_names`.
            measure: "index" or "side_bias".

        Returns:
            [A, B, C, D]; NaN where the draws do not vary.

        Raises:
            UnknownNameError: another name or measure.
        """
        check_choice("measure", measure, ("index", "side_bias"))
        values = getattr(self, measure)
        drawn = values[self._drawn(name)]
        mean = drawn.mean(axis=0)
        spread = drawn.std(axis=0, ddof=1) if len(drawn) > 1 else np.full_like(mean, np.nan)
        return np.divide(values[0] - mean, spread, out=np.full_like(mean, np.nan), where=spread > 1e-12)

    def draws(self, name: str, measure: str = "index") -> Array:
        """What a null model gave, [draws, A, B, C, D]."""
        return np.asarray(getattr(self, measure)[self._drawn(name)])

    def to_rows(self) -> list[dict[str, Any]]:
        """One row a setting as plain JSON types: the setting, table, index, side bias and z-scores; None for NaN."""
        scores = {name: self.z_scores(name) for name in self.null_names}
        index, bias = self.index[0], self.side_bias[0]
        rows = []
        for at in np.ndindex(index.shape):
            a, b, c, d = at
            rows.append(
                {
                    "normalisation": self.normalisations[a],
                    "threshold": self.thresholds[b],
                    "gain": self.gains[c],
                    "steps": self.steps[d],
                    "table": self.tables[0][at].tolist(),
                    "index": _finite(index[at]),
                    "side_bias": _finite(bias[at]),
                    "z_scores": {name: _finite(values[at]) for name, values in scores.items()},
                }
            )
        return rows

    def _drawn(self, name: str) -> Indices:
        drawn = np.flatnonzero(np.array(self.origins) == name)
        if name == "real" or not drawn.size:
            raise UnknownNameError("name", expected=f"one of {list(self.null_names)}", got=name, hint="ask for it in the sweep")
        return drawn


def _finite(value: Any) -> float | None:
    return float(value) if math.isfinite(value) else None


def sweep(
    connectome: Connectome,
    stimulus: str,
    readout: str,
    *,
    normalisations: Sequence[str] = ("output",),
    thresholds: Sequence[float] = (1,),
    gains: Sequence[float] = (1.0,),
    steps: Sequence[int] = (20,),
    nulls: Mapping[str, int] | None = None,
    amplitude: float = 1.0,
    sustained: bool = True,
    activation: str = "tanh",
    leak_rate: float = 1.0,
    backwards: bool = False,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
    **renamed: bool,
) -> Sweep:
    """The two-by-two table for every combination of settings, on the connectome and on null models of it.

    Args:
        connectome: with sides; its weights are counts.
        stimulus: which cells are stimulated, a query without a side.
        readout: which cells are read, a query without a side.
        normalisations: "output", "input" and "spectral_radius" as in `ordinate.reservoir.gain.normalise`, to 1; "none".
        thresholds: edges with fewer synapses are left out, before anything else.
        gains: factors of the recurrent weights, after normalisation.
        steps: durations; the table holds the activity of that step.
        nulls: how many draws of each null model, by its name in `ordinate.reservoir.nulls.NULLS`.
        amplitude: what stimulated cells receive.
        sustained: stimulate at every step, or at the first one only.
        activation: of the neurons, a name that `Reservoir` knows.
        leak_rate: of the neurons, in (0, 1].
        backwards: let activity run from postsynaptic to presynaptic cells, as no brain does: to see what a transposed
            matrix would give.
        seed: of the null models; draw k of each has the seed `seed + k`.
        progress: called with matrices done and all.

    Raises:
        ArgumentError: settings out of range, or a query without cells on either side.
        UnknownNameError: a normalisation, null model or word that does not exist.

    >>> swept = sweep(Connectome.synthetic(), "sensory", "descending", gains=(0.5, 1.0), steps=(3, 6), nulls={"relabelled": 3})
    >>> swept.tables.shape
    (4, 1, 1, 2, 2, 2, 2)
    """
    sustained = renamed_argument("sustained", sustained, renamed, "held")
    _check(normalisations, thresholds, gains, steps, nulls or {}, amplitude)
    left, right = cells(connectome, stimulus, "stimulus")
    read = np.concatenate(cells(connectome, readout, "readout"))
    matrices = _matrices(connectome, nulls or {}, seed)
    total = 1 + sum((nulls or {}).values())
    origins: list[str] = []
    tables = []
    for done, (origin, one) in enumerate(matrices):
        if progress is not None:
            progress(done, total)
        # the null may give a side to other cells, so they are selected anew
        right_read = one.side[np.sort(read)] == "right"
        stimulated = left, right
        if origin != "real":
            stimulated = cells(one, stimulus, "stimulus")
        of_one = np.empty((len(normalisations), len(thresholds), len(gains), len(steps), 2, 2))
        for a, normalisation in enumerate(normalisations):
            for b, threshold in enumerate(thresholds):
                activity = answers(
                    prepared(one, normalisation, threshold, backwards),
                    stimulated,
                    np.sort(read),
                    gains=gains,
                    steps=steps,
                    amplitude=amplitude,
                    sustained=sustained,
                    activation=activation,
                    leak_rate=leak_rate,
                )
                of_one[a, b] = two_by_two(activity, right_read)
        origins.append(origin)
        tables.append(of_one)
    if progress is not None:
        progress(total, total)
    return Sweep(
        tuple(origins),
        tuple(normalisations),
        tuple(float(value) for value in thresholds),
        tuple(float(value) for value in gains),
        tuple(int(value) for value in steps),
        np.stack(tables),
    )


def _matrices(connectome: Connectome, nulls: Mapping[str, int], seed: int) -> Iterator[tuple[str, Connectome]]:
    yield "real", connectome
    for name, draws in nulls.items():
        for draw in range(draws):
            yield name, NULLS[name](connectome, seed=seed + draw)


def _check(
    normalisations: Sequence[str],
    thresholds: Sequence[float],
    gains: Sequence[float],
    steps: Sequence[int],
    nulls: Mapping[str, int],
    amplitude: float,
) -> None:
    for name in normalisations:
        check_choice("normalisation", name, NORMALISATIONS)
    for name in nulls:
        check_choice("null", name, NULLS)
    for argument, values, fine, expected in (
        ("gains", gains, lambda value: math.isfinite(value) and value >= 0, "finite gains, 0 or more"),
        ("steps", steps, lambda value: value >= 1 and value == int(value), "whole numbers of steps, at least 1"),
        ("thresholds", thresholds, lambda value: math.isfinite(value) and value >= 0, "numbers of synapses, 0 or more"),
        ("nulls", nulls.values(), lambda value: value >= 1, "at least one draw of each null model"),
        ("amplitude", (amplitude,), lambda value: math.isfinite(value) and value > 0, "a positive stimulus"),
    ):
        wrong = [value for value in values if not fine(value)]
        if wrong or not (len(values) or argument == "nulls"):
            raise ArgumentError(argument, expected=expected, got=wrong[0] if wrong else "none")


NORMALISATIONS = ("output", "input", "spectral_radius", "none")


def cells(connectome: Connectome, query: str, argument: str) -> tuple[Indices, Indices]:
    """The cells of a query on the left and on the right.

    Raises:
        ArgumentError: a query that names nobody on one of the sides.
        UnknownNameError: a word that no neuron carries.
    """
    chosen = connectome.select(query, argument=argument)
    left, right = (chosen[connectome.side[chosen] == side] for side in ("left", "right"))
    for side, indices in (("left", left), ("right", right)):
        if not indices.size:
            raise ArgumentError(
                argument,
                expected="cells on either side",
                got=f"none on the {side} among the {chosen.size} of {query!r}",
                hint="name cells of both sides, without a side in the query",
            )
    return left, right


def prepared(connectome: Connectome, normalisation: str, threshold: float, backwards: bool) -> Connectome:
    """Weak edges left out, weights normalised to 1, and, if asked for, every arrow turned round."""
    scaled = connectome
    if threshold > 1:
        strong = connectome.weights.multiply(np.abs(connectome.weights) >= threshold)
        scaled = connectome.with_weights(strong, name=f"{connectome.name}, edges of at least {threshold:g}")
    if normalisation != "none":
        scaled = normalise(scaled, normalisation, 1.0)
    return scaled.reversed() if backwards else scaled


def answers(
    connectome: Connectome,
    stimulated: tuple[Indices, Indices],
    read: Indices,
    *,
    gains: Sequence[float],
    steps: Sequence[int],
    amplitude: float,
    sustained: bool,
    activation: str,
    leak_rate: float,
) -> Array:
    """Activity of the cells `read`, [gains, durations, side stimulated, R], of one connectome in one batch."""
    reservoir = Reservoir(connectome, inputs=stimulated, activation=activation, leak_rate=leak_rate)
    longest = max(steps)
    inputs = np.zeros((len(gains), 2, longest, 2), dtype=np.float32)
    for side in (0, 1):
        inputs[:, side, : longest if sustained else 1, side] = amplitude
    states = reservoir.run(inputs.reshape(-1, longest, 2), record=read, gain=np.repeat(np.asarray(gains, dtype=np.float32), 2))
    moments = states[:, np.asarray(steps) - 1].reshape(len(gains), 2, len(steps), -1)
    return np.asarray(moments.swapaxes(1, 2), dtype=np.float64)
