"""Memory capacity, counted so that a network without memory scores 0.

Jaeger's capacity is the sum over delays k of the squared correlation between the input k steps ago and its best linear
reconstruction. Measured on n steps, even the reconstruction of nothing has a squared correlation of 1 / (n - 1) on average,
so a plain sum over K delays gives a memoryless network K / (n - 1); measured on the training steps it gives it far more, up
to the number of neurons. Here correlations are taken on fresh steps and each is corrected by what chance alone would give.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ordinate.arguments import check_integer
from ordinate.errors import ArgumentError, ShapeError

__all__ = ["delayed", "memory_capacity", "memory_curve"]

FloatArray = npt.NDArray[np.float64]


def delayed(inputs: npt.ArrayLike, max_delay: int) -> FloatArray:
    """The input of 1 to `max_delay` steps ago, [T, max_delay], zeros before the first step.

    Args:
        inputs: u, [T] or [T, 1].
        max_delay: K, at least 1.

    Raises:
        ArgumentError: a delay below 1.
        ShapeError: more than one channel.

    >>> delayed([1.0, 2.0, 3.0], 2).tolist()
    [[0.0, 0.0], [1.0, 0.0], [2.0, 1.0]]
    """
    u = np.asarray(inputs, dtype=np.float64)
    if u.ndim not in (1, 2) or (u.ndim == 2 and u.shape[1] != 1):
        raise ShapeError("inputs", expected="[T] or [T, 1]", got=f"shape {u.shape}", hint="give one channel")
    check_integer("max_delay", max_delay, minimum=1)
    u = u.ravel()
    past = np.zeros((len(u), max_delay))
    for delay in range(1, min(max_delay, len(u) - 1) + 1):
        past[delay:, delay - 1] = u[:-delay]
    return past


def memory_curve(target: npt.ArrayLike, predicted: npt.ArrayLike) -> FloatArray:
    """For each delay the squared correlation, corrected for chance: ((n - 1) r² - 1) / (n - 2).

    r² of n steps without any relation is 1 / (n - 1) on average, which this turns into 0; a perfect reconstruction stays 1.
    Single values may be a little below 0, and they must be: cut off there, the sum would be biased again.

    Args:
        target: the delayed inputs, [n, K], of steps that the readout was not fitted on; n above 2.
        predicted: their reconstructions, [n, K].

    Returns:
        [K]; 0 for a reconstruction that does not vary.

    Raises:
        ShapeError: shapes that differ, or fewer than three steps.
        ArgumentError: a target that does not vary, or NaN.

    Source: the capacity is Jaeger 2001, "Short term memory in echo state networks", GMD report 152; the correction is Ezekiel's
    for one predictor (Ezekiel 1930).

    >>> memory_curve([[1.0], [2.0], [4.0]], [[2.0], [4.0], [8.0]]).round(9).tolist()
    [1.0]
    """
    inputs, outputs = np.asarray(target, dtype=np.float64), np.asarray(predicted, dtype=np.float64)
    if inputs.shape != outputs.shape or inputs.ndim != 2 or len(inputs) < 3:
        raise ShapeError(
            "predicted",
            expected=f"[n, K] as target {inputs.shape}, n above 2",
            got=f"shape {outputs.shape}",
            hint="give one row a step",
        )
    if not (np.isfinite(inputs).all() and np.isfinite(outputs).all() and (np.ptp(inputs, axis=0) > 0).all()):
        raise ArgumentError("target", expected="finite inputs that vary", got="a constant, or NaN", hint="give random inputs")
    n = len(inputs)
    curve = np.zeros(inputs.shape[1])
    varies = np.ptp(outputs, axis=0) > 0
    if varies.any():
        scale = np.abs(outputs[:, varies]).max(axis=0)  # squares of a diverged prediction stay in range
        one, other = (values - values.mean(axis=0) for values in (inputs[:, varies], outputs[:, varies] / scale))
        spread = np.square(one).sum(axis=0) * np.square(other).sum(axis=0)
        explained = np.divide((one * other).sum(axis=0) ** 2, spread, out=np.zeros_like(spread), where=spread > 0)
        curve[varies] = ((n - 1) * np.minimum(explained, 1.0) - 1) / (n - 2)
    return curve


def memory_capacity(target: npt.ArrayLike, predicted: npt.ArrayLike) -> float:
    """The sum of `memory_curve` over the delays: how many past inputs can be read out, 0 for a network without memory.

    Args:
        target: the delayed inputs, [n, K].
        predicted: their reconstructions, [n, K].

    Raises:
        ShapeError, ArgumentError: as `memory_curve`.

    >>> u = np.random.default_rng(0).uniform(-1, 1, (100, 3))
    >>> float(round(memory_capacity(u, 2 * u + 1), 9))
    3.0
    """
    return float(memory_curve(target, predicted).sum())
