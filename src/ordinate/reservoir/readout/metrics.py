"""How far a prediction is from its target. What an error was divided by is part of the metric's name.

"NRMSE" alone means at least four numbers in the literature: divided by the standard deviation, the range, the mean or the
interquartile range of the target (and one library divides a root by a variance). Here there is no metric of that name.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ordinate.arguments import check_number
from ordinate.errors import ArgumentError, ShapeError
from ordinate.reservoir.dynamics.interface import real_array

__all__ = ["accuracy", "nrmse_by_mean", "nrmse_by_range", "nrmse_by_std", "r_squared", "rmse", "valid_steps", "valid_time"]

FloatArray = npt.NDArray[np.float64]


def rmse(target: npt.ArrayLike, predicted: npt.ArrayLike) -> float:
    """The root of the mean squared error over all steps and channels: sqrt(mean (y - ŷ)²).

    Args:
        target: y, [T], [T, K] or [B, T, K].
        predicted: ŷ, of the same shape.

    Raises:
        ShapeError: shapes that differ, or nothing to compare.
        ArgumentError: NaN or infinity.

    >>> rmse([0.0, 0.0], [3.0, 4.0])
    3.5355339059327378
    """
    target, predicted, exponent = _pair(target, predicted)
    return float(np.ldexp(np.sqrt(np.mean(_squared_errors(target.reshape(-1, 1), predicted.reshape(-1, 1)))), exponent))


def nrmse_by_std(target: npt.ArrayLike, predicted: npt.ArrayLike) -> float:
    """The RMSE divided by the target's standard deviation, channel by channel: sqrt(mean_k mse_k / var_k).

    0 is perfect, 1 is what the target's own mean would score. For one channel it is sqrt(1 - R²).

    Args:
        target: y, [T], [T, K] or [B, T, K].
        predicted: ŷ, of the same shape.

    Raises:
        ShapeError: shapes that differ, or nothing to compare.
        ArgumentError: NaN or infinity, or a channel that does not vary.

    Source: Lukoševičius 2012, "A practical guide to applying echo state networks", equation 2 under its root.

    >>> nrmse_by_std([0.0, 2.0], [1.0, 1.0])
    1.0
    """
    target, predicted = (_by_channel(x) for x in _pair(target, predicted)[:2])
    scale = _nonzero(target.var(axis=0), "a target that varies in every channel")
    return float(np.sqrt(np.mean(_squared_errors(target, predicted) / scale)))


def nrmse_by_range(target: npt.ArrayLike, predicted: npt.ArrayLike) -> float:
    """The RMSE divided by the target's range, channel by channel: sqrt(mean_k mse_k / (max_k - min_k)²).

    Args:
        target: y, [T], [T, K] or [B, T, K].
        predicted: ŷ, of the same shape.

    Raises:
        ShapeError: shapes that differ, or nothing to compare.
        ArgumentError: NaN or infinity, or a channel that does not vary.

    >>> nrmse_by_range([0.0, 2.0], [1.0, 1.0])
    0.5
    """
    target, predicted = (_by_channel(x) for x in _pair(target, predicted)[:2])
    scale = _nonzero(np.ptp(target, axis=0), "a target that varies in every channel")
    return float(np.sqrt(np.mean(_squared_errors(target, predicted) / scale**2)))


def nrmse_by_mean(target: npt.ArrayLike, predicted: npt.ArrayLike) -> float:
    """The RMSE divided by the magnitude of the target's mean, channel by channel: sqrt(mean_k mse_k / mean_k²).

    Args:
        target: y, [T], [T, K] or [B, T, K].
        predicted: ŷ, of the same shape.

    Raises:
        ShapeError: shapes that differ, or nothing to compare.
        ArgumentError: NaN or infinity, or a channel whose mean is 0.

    >>> nrmse_by_mean([1.0, 3.0], [2.0, 2.0])
    0.5
    """
    target, predicted = (_by_channel(x) for x in _pair(target, predicted)[:2])
    scale = _nonzero(target.mean(axis=0), "a target whose mean is not 0")
    return float(np.sqrt(np.mean(_squared_errors(target, predicted) / scale**2)))


def r_squared(target: npt.ArrayLike, predicted: npt.ArrayLike) -> float:
    """The share of the target's variance that is explained, mean over channels: 1 - mse_k / var_k.

    1 is perfect, 0 is what the target's own mean would score, and less than 0 is possible.

    Args:
        target: y, [T], [T, K] or [B, T, K].
        predicted: ŷ, of the same shape.

    Raises:
        ShapeError: shapes that differ, or nothing to compare.
        ArgumentError: NaN or infinity, or a channel that does not vary.

    >>> r_squared([0.0, 2.0], [1.0, 1.0])
    0.0
    """
    return 1.0 - nrmse_by_std(target, predicted) ** 2


def accuracy(target: npt.ArrayLike, predicted: npt.ArrayLike) -> float:
    """The share of labels that are right.

    Args:
        target: labels [B], of any type that compares.
        predicted: labels [B].

    Raises:
        ShapeError: shapes that differ, or nothing to compare.

    >>> accuracy(["left", "right"], ["left", "left"])
    0.5
    """
    target, predicted = np.asarray(target), np.asarray(predicted)
    _same_shape(target.shape, predicted.shape)
    return float(np.mean(target == predicted))


def valid_steps(target: npt.ArrayLike, predicted: npt.ArrayLike, *, threshold: float = 0.4) -> int:
    """Steps of a free run before its error first passes `threshold`: E(t) = |y(t) - ŷ(t)| / sqrt(<|y - <y>|²>).

    The norm |.| is over channels, the mean <.> over the steps of `target`. A run that never passes scores its whole length,
    and one that turns into NaN or infinity passes where it does.

    Args:
        target: y, [T] or [T, K].
        predicted: ŷ, of the same shape; may hold NaN or infinity.
        threshold: of the normalised error, above 0.

    Raises:
        ShapeError: shapes that differ, or nothing to compare.
        ArgumentError: a target that does not vary or is not finite, or a threshold that is not above 0.

    Source: Pathak et al. 2018, doi 10.1103/PhysRevLett.120.024102 (threshold .4); here the target's mean is taken off, so that
    adding a constant to the series changes nothing.

    >>> valid_steps([0.0, 1.0, 0.0, 1.0], [0.0, 1.0, 0.1, 9.0])
    3
    """
    target, predicted = real_array("target", target), real_array("predicted", predicted)
    _same_shape(target.shape, predicted.shape)
    _finite("target", target)
    exponent = _exponent(target)
    target, predicted = np.ldexp(target, -exponent), np.ldexp(predicted, -exponent)
    check_number("threshold", threshold, above=0)
    target, predicted = target.reshape(len(target), -1), predicted.reshape(len(predicted), -1)
    scale = np.sqrt(_nonzero(np.asarray(target.var(axis=0).sum()), "a target that varies"))
    with np.errstate(all="ignore"):
        error = np.sqrt(np.sum((target - predicted) ** 2, axis=1)) / scale
    passed = np.flatnonzero(~(error <= threshold))
    return int(passed[0]) if len(passed) else len(target)


def valid_time(
    target: npt.ArrayLike, predicted: npt.ArrayLike, *, step: float, lyapunov_exponent: float, threshold: float = 0.4
) -> float:
    """`valid_steps` in Lyapunov times: steps · step · λ. In one Lyapunov time a small error grows e-fold.

    Args:
        target: y, [T] or [T, K], a free run of the system.
        predicted: ŷ, of the same shape.
        step: time between two samples.
        lyapunov_exponent: the system's largest, per unit of time, above 0.
        threshold: of the normalised error.

    Raises:
        ShapeError, ArgumentError: as `valid_steps`, and for a step or an exponent that is not above 0.

    >>> valid_time([0.0, 1.0, 0.0, 1.0], [0.0, 1.0, 0.1, 9.0], step=0.5, lyapunov_exponent=0.9)
    1.35
    """
    for name, value in (("step", step), ("lyapunov_exponent", lyapunov_exponent)):
        check_number(name, value, above=0)
    return valid_steps(target, predicted, threshold=threshold) * step * lyapunov_exponent


def _pair(target: npt.ArrayLike, predicted: npt.ArrayLike) -> tuple[FloatArray, FloatArray, int]:
    """Both, scaled by a power of two that brings the largest near 1, and its exponent: no square overflows or vanishes."""
    target, predicted = real_array("target", target), real_array("predicted", predicted)
    _same_shape(target.shape, predicted.shape)
    _finite("target", target)
    _finite("predicted", predicted)
    exponent = max(_exponent(target), _exponent(predicted))
    return np.ldexp(target, -exponent), np.ldexp(predicted, -exponent), exponent


def _exponent(values: FloatArray) -> int:
    return int(np.frexp(np.abs(values).max())[1])


def _squared_errors(target: FloatArray, predicted: FloatArray) -> FloatArray:
    """The mean squared error of each channel, [K]."""
    return np.asarray(np.square(target - predicted).mean(axis=0))


def _same_shape(target: tuple[int, ...], predicted: tuple[int, ...]) -> None:
    if target != predicted or 0 in target or not target:
        raise ShapeError(
            "predicted",
            expected=f"the target's shape {target}, with at least one step",
            got=f"shape {predicted}",
            hint="a prediction has as many steps as its target: washout shortens neither",
        )


def _finite(name: str, values: FloatArray) -> None:
    if not np.isfinite(values).all():
        raise ArgumentError(
            name, expected="finite numbers", got="NaN or infinity", hint="see where the series or the free run diverged"
        )


def _by_channel(values: FloatArray) -> FloatArray:
    return values.reshape(-1, values.shape[-1]) if values.ndim > 1 else values.reshape(-1, 1)


def _nonzero(scale: FloatArray, expected: str) -> FloatArray:
    if not np.all(scale != 0):
        raise ArgumentError("target", expected=expected, got="one that does not", hint="use rmse, which is not normalised")
    return scale
