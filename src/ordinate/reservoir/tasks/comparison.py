"""Whether two wirings differ on a task: paired over seeds, with an interval, corrected for how often one looks.

Seeds are paired: the same seed gives both wirings the same data, input weights, biases, signs and read neurons, and only the
matrix differs. "Not different" means that these seeds do not tell the two apart; the interval says how large a difference
could still hide.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ordinate.errors import ArgumentError, ShapeError

__all__ = ["Comparison", "holm", "interval", "paired"]

FloatArray = npt.NDArray[np.float64]

_LEVEL = 0.05


@dataclass(frozen=True)
class Comparison:
    """One wiring against another on one task.

    Args:
        task, signs, normalisation, null: where, and against what.
        connectome_mean, null_mean: scores, means over seeds.
        difference: connectome minus null, mean over seeds.
        lower, upper: 95 % interval of the difference, by Student's t over the seeds, for this comparison alone.
        p: two-sided, of a difference of 0.
        p_adjusted: after Holm's correction for all comparisons of the card.
        verdict: "connectome better", "connectome worse" or "not different", by the adjusted p at .05.
    """

    task: str
    signs: str
    normalisation: str
    null: str
    connectome_mean: float
    null_mean: float
    difference: float
    lower: float
    upper: float
    p: float
    p_adjusted: float
    verdict: str

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types."""
        return asdict(self)


def interval(values: npt.ArrayLike) -> tuple[float, float, float]:
    """Mean of a few values and the ends of its 95 % interval: mean ± t s / √n.

    Args:
        values: [n], two or more.

    Raises:
        ArgumentError: fewer than two values, or NaN.

    Source: Student 1908, doi 10.1093/biomet/6.1.1.

    >>> [round(x, 3) for x in interval([1.0, 2.0, 3.0])]
    [2.0, -0.484, 4.484]
    """
    from scipy import stats

    sample = np.asarray(values, dtype=np.float64)
    if sample.ndim != 1 or len(sample) < 2 or not np.isfinite(sample).all():
        raise ArgumentError("values", expected="two or more finite numbers", got=_shortened(sample), hint="take more seeds")
    mean, error = float(sample.mean()), float(stats.sem(sample))
    if error == 0:
        return mean, mean, mean
    lower, upper = stats.t.interval(1 - _LEVEL, len(sample) - 1, loc=mean, scale=error)
    return mean, float(lower), float(upper)


def paired(first: Sequence[float], second: Sequence[float]) -> tuple[float, float, float, float]:
    """Mean difference of pairs, its 95 % interval, and the two-sided p of no difference.

    Args:
        first, second: scores of the same seeds, [n] each, two or more.

    Raises:
        ShapeError: other lengths.
        ArgumentError: fewer than two pairs, or NaN.

    >>> [round(x, 3) for x in paired([1.0, 2.0, 3.5], [0.0, 1.5, 2.0])]
    [1.0, -0.242, 2.242, 0.074]
    """
    if len(first) != len(second):
        raise ShapeError("second", expected=f"{len(first)} scores", got=f"{len(second)}", hint="pair them by seed")
    differences = np.asarray(first, dtype=np.float64) - np.asarray(second, dtype=np.float64)
    mean, lower, upper = interval(differences)
    if lower == upper:
        return mean, lower, upper, 1.0 if mean == 0 else 0.0
    from scipy import stats

    with warnings.catch_warnings():  # differences that vary in their last digits only: the interval says so
        warnings.filterwarnings("ignore", "Precision loss", RuntimeWarning)
        return mean, lower, upper, float(stats.ttest_1samp(differences, 0.0).pvalue)


def holm(p: Sequence[float]) -> list[float]:
    """p values after Holm's step-down correction: all that stay below .05 are wrong together with chance .05 at most.

    Source: Holm 1979, "A simple sequentially rejective multiple test procedure".

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(p, kind="stable")
    adjusted = [0.0] * len(p)
    largest = 0.0
    for rank, place in enumerate(order):
        largest = max(largest, min(1.0, (len(p) - rank) * p[place]))
        adjusted[place] = largest
    return adjusted


def verdict(difference: float, p_adjusted: float, higher_is_better: bool) -> str:
    """The word for a comparison."""
    if not p_adjusted < _LEVEL:
        return "not different"
    return "connectome better" if (difference > 0) == higher_is_better else "connectome worse"


def _shortened(sample: npt.NDArray[Any]) -> str:
    """A few numbers, or how many there are: a message is one line."""
    return str(sample.tolist()) if sample.size <= 6 else f"{sample.shape} with {int((~np.isfinite(sample)).sum())} not finite"
