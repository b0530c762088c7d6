"""Does a brain cross? Stimulate the senses of one side, read the output cells of both, and hold the answer against chance.

One call gives the two-by-two table, its crossing index and side bias, statistics over homologous pairs, how few cells carry the
difference, and by how much the connectome stands apart from null models of itself. The statistics are in
`laterality_statistics`, many settings in one run in `laterality_sweep`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from ordinate.errors import RefusedError
from ordinate.reservoir.connectome import Connectome
from ordinate.reservoir.laterality_protocol import answers, cells, prepared
from ordinate.reservoir.laterality_statistics import Carriers, Pairs, carriers, crossing_index, pairs, side_bias, two_by_two
from ordinate.reservoir.laterality_sweep import sweep

__all__ = ["Laterality", "NullComparison", "laterality"]

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
            draw, as of the mirrored connectome, this and all spreads are NaN.
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
        told = {
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
            "nulls": [asdict(one) for one in self.nulls],
            "pairs": None if self.pairs is None else asdict(self.pairs),
            "carriers": None
            if self.carriers is None
            else {**asdict(self.carriers), "cells": [_plain(name) for name in self.carrier_ids]},
            "assumptions": list(self.assumptions),
        }
        return {name: _finite(value) for name, value in told.items()}


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
    held: bool = True,
    activation: str = "tanh",
    leak_rate: float = 1.0,
    backwards: bool = False,
    nulls: Mapping[str, int] | None = None,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
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
        held: at every step, or at the first one only.
        activation: f, a name that `Reservoir` knows.
        leak_rate: in (0, 1].
        backwards: let activity run from postsynaptic to presynaptic cells, as no brain does: to see what a transposed
            matrix would have given.
        nulls: how many draws of each null model, by its name in `ordinate.reservoir.nulls.NULLS`; none by default.
        seed: of the null models.
        progress: called with matrices done and all.

    Raises:
        ArgumentError: settings out of range, or a query without cells on either side.
        UnknownNameError: a normalisation, null model or word that does not exist.
        RefusedError: nothing arrives at the readout, so there is nothing to compare.

    >>> found = laterality(Connectome.synthetic(), "sensory", "descending")
    >>> found.crosses, laterality(Connectome.synthetic(), "ascending", "descending").crosses
    (False, True)
    """
    dynamics: dict[str, Any] = {"amplitude": amplitude, "held": held, "activation": activation, "leak_rate": leak_rate}
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
            **dynamics,
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


def _compared(name: str, found: float, draws: Array, z: float, side_bias_z: float) -> NullComparison:
    mean = float(draws.mean())
    if draws.size < 2:
        return NullComparison(name, int(draws.size), mean, math.nan, math.nan, math.nan, math.nan, tuple(draws.tolist()))
    farther = int((np.abs(draws - mean) >= abs(found - mean) - 1e-12).sum())
    spread = float(draws.std(ddof=1))
    return NullComparison(
        name, int(draws.size), mean, spread, z, (1 + farther) / (1 + draws.size), side_bias_z, tuple(draws.tolist())
    )


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _finite(value: Any) -> Any:
    """The same without NaN and infinity, which JSON does not have."""
    if isinstance(value, Mapping):
        return {name: _finite(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
