"""Many settings and many null models in one run: the table of left and right, over gain, duration, threshold, normalisation.

Gains and sides are the sequences of one batch and durations are moments of one run, so a matrix is run once for all of them;
only another threshold, normalisation or null model is another matrix.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from ordinate.errors import ArgumentError, UnknownNameError
from ordinate.reservoir.connectome import Connectome
from ordinate.reservoir.laterality_protocol import NORMALISATIONS, answers, cells, prepared
from ordinate.reservoir.laterality_statistics import crossing_index, side_bias, two_by_two
from ordinate.reservoir.nulls import NULLS

__all__ = ["Sweep", "sweep"]

Array = npt.NDArray[np.float64]
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
        if measure not in ("index", "side_bias"):
            raise UnknownNameError("measure", expected="index or side_bias", got=measure, hint="choose one")
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
        found = np.flatnonzero(np.array(self.origins) == name)
        if name == "real" or not found.size:
            raise UnknownNameError("name", expected=f"one of {list(self.null_names)}", got=name, hint="ask for it in the sweep")
        return found


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
    held: bool = True,
    activation: str = "tanh",
    leak_rate: float = 1.0,
    backwards: bool = False,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
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
        held: at every step, or at the first one only.
        activation: of the neurons, a name that `Reservoir` knows.
        leak_rate: of the neurons, in (0, 1].
        backwards: let activity run from postsynaptic to presynaptic cells, as no brain does: to see what a transposed
            matrix would have given.
        seed: of the null models; draw k of each has the seed `seed + k`.
        progress: called with matrices done and all.

    Raises:
        ArgumentError: settings out of range, or a query without cells on either side.
        UnknownNameError: a normalisation, null model or word that does not exist.

    >>> found = sweep(Connectome.synthetic(), "sensory", "descending", gains=(0.5, 1.0), steps=(3, 6), nulls={"relabelled": 3})
    >>> found.tables.shape
    (4, 1, 1, 2, 2, 2, 2)
    """
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
        # the null may give a side to other cells, so they are found anew
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
                    held=held,
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
        if name not in NORMALISATIONS:
            raise UnknownNameError(
                "normalisation", expected=f"one of {list(NORMALISATIONS)}", got=name, hint="see ordinate.reservoir.gain"
            )
    for name in nulls:
        if name not in NULLS:
            raise UnknownNameError("null", expected=f"one of {list(NULLS)}", got=name, hint="see ordinate.reservoir.nulls")
    for argument, values, fine, expected in (
        ("gains", gains, lambda value: math.isfinite(value) and value >= 0, "finite gains, 0 or more"),
        ("steps", steps, lambda value: value >= 1 and value == int(value), "whole numbers of steps, at least 1"),
        ("thresholds", thresholds, lambda value: math.isfinite(value) and value >= 0, "numbers of synapses, 0 or more"),
        ("nulls", nulls.values(), lambda value: value >= 1, "at least one draw of each null model"),
        ("amplitude", (amplitude,), lambda value: math.isfinite(value) and value > 0, "a positive stimulus"),
    ):
        wrong = [value for value in values if not fine(value)]
        if wrong or not (len(values) or argument == "nulls"):
            raise ArgumentError(argument, expected=expected, got=wrong[0] if wrong else "none", hint="choose others")
