"""Left against right in numbers: the two-by-two table, its index and bias, homologous pairs, and how few cells carry it.

All of it is a function of one array, the activity of the readout cells when the senses of either side are stimulated. A
stimulus *crosses* where the readout of the other side answers more than the readout of its own. Every measure compares the same
cells under two stimuli, or the two sides under both, so that an active cell, or an active side, does not count as crossing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["Carriers", "Pairs", "carriers", "crossing_index", "pairs", "side_bias", "two_by_two"]

Array = npt.NDArray[np.float64]


def two_by_two(activity: Array, is_right: npt.NDArray[np.bool_]) -> Array:
    """Mean absolute activity: rows are the side stimulated, columns the side read, left first.

    Args:
        activity: [..., 2, R] of R readout cells under a stimulus on the left and on the right.
        is_right: [R], which of them are on the right.

    Returns:
        [..., 2, 2].

    >>> two_by_two(np.array([[3.0, 1.0, 1.0], [1.0, 0.0, 4.0]]), np.array([False, False, True]))
    array([[2. , 1. ],
           [0.5, 4. ]])
    """
    size = np.abs(activity)
    return np.stack([size[..., ~is_right].mean(axis=-1), size[..., is_right].mean(axis=-1)], axis=-1)


def crossing_index(table: Array) -> Array:
    """`(crossed - same) / (crossed + same)` of tables [..., 2, 2].

    It is 1 where all answers come from the other side, -1 where from the stimulus's own, NaN where nothing answers.

    >>> float(crossing_index(np.array([[1.0, 3.0], [3.0, 1.0]])))
    0.5
    """
    crossed, same = table[..., 0, 1] + table[..., 1, 0], table[..., 0, 0] + table[..., 1, 1]
    return _ratio(crossed - same, crossed + same)


def side_bias(table: Array) -> Array:
    """`(right - left) / (right + left)` of the two readouts over both stimuli: what is left of a side whatever is stimulated.

    >>> float(side_bias(np.array([[1.0, 3.0], [1.0, 3.0]])))
    0.5
    """
    left, right = table[..., :, 0].sum(axis=-1), table[..., :, 1].sum(axis=-1)
    return _ratio(right - left, right + left)


def _ratio(difference: Array, total: Array) -> Array:
    return np.divide(difference, total, out=np.full(np.shape(total), np.nan), where=np.asarray(total) > 0)


@dataclass(frozen=True)
class Pairs:
    """Homologous readout cells, each pair its own experiment.

    Args:
        count: pairs with both cells in the readout.
        crossing: pairs that answer the stimulus on the other side more.
        mean_difference: of crossed less same activity, over pairs.
        interval: its 95 % interval by Student's t.
        effect_size: the mean in standard deviations of the pairs (Cohen's d_z).
        wilcoxon_p: of the signed-rank test that pairs differ as often and as much either way. Pairs share their inputs, so
            this is how uniform the answer is over cells, not how certain it is over brains.
    """

    count: int
    crossing: int
    mean_difference: float
    interval: tuple[float, float]
    effect_size: float
    wilcoxon_p: float


def pairs(activity: Array, left: npt.NDArray[np.int64], right: npt.NDArray[np.int64]) -> Pairs | None:
    """Statistics over homologous pairs, or None with fewer than two of them.

    Args:
        activity: [2, R] of the readout cells under a stimulus on the left and on the right.
        left: places in R of the left cells of the pairs, [P].
        right: places of their mates, [P].
    """
    if left.size < 2:
        return None
    from scipy import stats

    size = np.abs(activity)
    same = (size[0, left] + size[1, right]) / 2
    crossed = (size[1, left] + size[0, right]) / 2
    difference = crossed - same
    mean, spread = float(difference.mean()), float(difference.std(ddof=1))
    error = float(stats.sem(difference))
    lower, upper = stats.t.interval(0.95, left.size - 1, loc=mean, scale=error) if error else (mean, mean)
    alike = not difference.any()  # the test has no answer where no pair differs: nothing speaks against chance
    return Pairs(
        int(left.size),
        int((difference > 0).sum()),
        mean,
        (float(lower), float(upper)),
        mean / spread if spread else math.copysign(math.inf, mean) if mean else 0.0,
        1.0 if alike else float(stats.wilcoxon(difference).pvalue),
    )


@dataclass(frozen=True)
class Carriers:
    """How few readout cells carry the difference between crossed and same activity.

    Args:
        half: the fewest cells that together make half of it.
        most: the fewest that make nine tenths.
        effective: `(sum |c|)^2 / sum c^2` of the cells' contributions c: as many equal cells would be spread as evenly.
        cells: places in R of those that make half, largest first.
        index_without: the crossing index once those are left out.
    """

    half: int
    most: int
    effective: float
    cells: tuple[int, ...]
    index_without: float


def carriers(activity: Array, is_right: npt.NDArray[np.bool_]) -> Carriers | None:
    """Which readout cells the index rests on, or None where crossed and same activity are equal.

    Args:
        activity: [2, R] of the readout cells under a stimulus on the left and on the right.
        is_right: [R], which of them are on the right.
    """
    size = np.abs(activity)
    by_cell = np.where(is_right, size[0] - size[1], size[1] - size[0])
    # sides with more cells must not count more: the table holds means
    by_cell = by_cell / np.where(is_right, is_right.sum(), (~is_right).sum())
    net = float(by_cell.sum())
    if not net:
        return None
    order = np.argsort(-by_cell * math.copysign(1, net), kind="stable")
    reached = np.cumsum(by_cell[order]) / net
    half, most = (int(np.argmax(reached >= share - 1e-12)) + 1 for share in (0.5, 0.9))
    rest = np.ones(by_cell.size, dtype=bool)
    rest[order[:half]] = False
    sides = (rest & is_right).any() and (rest & ~is_right).any()
    without = float(crossing_index(two_by_two(activity[:, rest], is_right[rest]))) if sides else math.nan
    spread: Any = np.abs(by_cell).sum() ** 2 / np.square(by_cell).sum()
    return Carriers(half, most, float(spread), tuple(int(place) for place in order[:half]), without)
