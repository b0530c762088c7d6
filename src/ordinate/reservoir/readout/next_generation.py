"""Next-generation reservoir computing: ridge regression on delays of the input and their products, without any network.

It is what a reservoir should be compared with: the features that a recurrent network makes by itself are written down here.
Gauthier, Bollt, Griffith and Barbosa 2021, "Next generation reservoir computing", doi 10.1038/s41467-021-25801-2.
"""

from __future__ import annotations

from itertools import combinations_with_replacement

import numpy as np
import numpy.typing as npt

from ordinate.arguments import check_integer
from ordinate.errors import ArgumentError, RefusedError, ShapeError
from ordinate.reservoir.dynamics.interface import real_array
from ordinate.reservoir.readout.ridge import RidgeReadout

__all__ = ["NextGenerationReadout", "delay_features"]

FloatArray = npt.NDArray[np.float64]


def delay_features(series: npt.ArrayLike, *, delays: int = 2, stride: int = 1, degree: int = 2) -> FloatArray:
    """The series now and at earlier steps, and all products of up to `degree` of those.

    Row t holds x(t), x(t - stride), ..., x(t - (delays - 1) stride), then their distinct products of two, of three and so on.

    Args:
        series: x, [T] or [T, F].
        delays: k, how many moments, the present one counted.
        stride: s, steps between two of them.
        degree: of the largest products; 1 for none.

    Returns:
        [T - (delays - 1) stride, features]: the first rows, which lack a past, are left out.

    Raises:
        ArgumentError: sizes below 1, or a series that is shorter than the delays.

    >>> delay_features([1.0, 2.0, 3.0]).tolist()  # x(t), x(t-1), and the three products
    [[2.0, 1.0, 4.0, 2.0, 1.0], [3.0, 2.0, 9.0, 6.0, 4.0]]
    """
    for name, value in (("delays", delays), ("stride", stride), ("degree", degree)):
        check_integer(name, value, minimum=1)
    x = real_array("series", series)
    x = x[:, None] if x.ndim == 1 else x
    lost = (delays - 1) * stride
    if x.ndim != 2 or len(x) <= lost:
        raise ArgumentError("series", expected=f"[T] or [T, F] with more than {lost} steps", got=f"shape {x.shape}")
    linear = np.concatenate([x[lost - delay * stride : len(x) - delay * stride] for delay in range(delays)], axis=1)
    products = [
        linear[:, list(chosen)].prod(axis=1)
        for order in range(2, degree + 1)
        for chosen in combinations_with_replacement(range(linear.shape[1]), order)
    ]
    return np.concatenate([linear, np.stack(products, axis=1)], axis=1) if products else linear


class NextGenerationReadout:
    """Ridge regression on `delay_features`, with a constant that is not penalised.

    Args:
        delays: as in `delay_features`.
        stride: as in `delay_features`.
        degree: as in `delay_features`.
        ridge: penalty on the weights.

    Raises:
        ArgumentError: a size below 1, or a negative ridge.

    >>> logistic = [0.3]
    >>> for _ in range(60):
    ...     logistic.append(3.7 * logistic[-1] * (1 - logistic[-1]))
    >>> model = NextGenerationReadout(delays=1, ridge=1e-12).fit(logistic[:50], logistic[1:51])
    >>> bool(np.abs(model.forecast(logistic[:51], 5)[:, 0] - logistic[51:56]).max() < 1e-3)
    True
    """

    def __init__(self, *, delays: int = 2, stride: int = 1, degree: int = 2, ridge: float = 1e-6) -> None:
        for name, value in (("delays", delays), ("stride", stride), ("degree", degree)):
            check_integer(name, value, minimum=1)
        self.delays, self.stride, self.degree, self.ridge = delays, stride, degree, ridge
        self._readout = RidgeReadout(ridge)

    @property
    def warmup(self) -> int:
        """Steps at the start of a series that have no prediction, for they lack a past."""
        return (self.delays - 1) * self.stride

    def features(self, series: npt.ArrayLike) -> FloatArray:
        """`delay_features` with these settings."""
        return delay_features(series, delays=self.delays, stride=self.stride, degree=self.degree)

    def fit(self, inputs: npt.ArrayLike, targets: npt.ArrayLike) -> NextGenerationReadout:
        """Learn targets [T] or [T, K] from inputs [T] or [T, F]; the first `warmup` targets take no part.

        Raises:
            ShapeError: other numbers of steps.
        """
        features, wanted = self.features(inputs), real_array("targets", targets)
        wanted = wanted[:, None] if wanted.ndim == 1 else wanted
        if len(wanted) != len(features) + self.warmup:
            raise ShapeError("targets", expected=f"{len(features) + self.warmup} steps", got=f"{len(wanted)}")
        self._readout = RidgeReadout(self.ridge).partial_fit(features, wanted[self.warmup :])
        return self

    def predict(self, inputs: npt.ArrayLike) -> FloatArray:
        """Predictions [T - warmup, K] for inputs [T] or [T, F]."""
        return self._readout.predict(self.features(inputs))

    def forecast(self, context: npt.ArrayLike, steps: int) -> FloatArray:
        """Closed loop after a true context: each output is the next input, [steps, F].

        Raises:
            RefusedError: outputs that are not inputs of the next step, or that diverge.
        """
        check_integer("steps", steps, minimum=1)
        recent = real_array("context", context)
        recent = (recent[:, None] if recent.ndim == 1 else recent)[-self.warmup - 1 :]
        outputs = np.empty((steps, recent.shape[1]))
        for step in range(steps):
            with np.errstate(over="ignore", invalid="ignore"):
                output = self.predict(recent)[-1]
            if output.shape != recent.shape[1:]:
                raise RefusedError("forecast", expected=f"{recent.shape[1]} outputs, as inputs", got=f"{output.size}")
            if not np.isfinite(output).all():
                raise RefusedError(
                    "forecast", expected="finite outputs", got=f"NaN or infinity at step {step}", hint="raise ridge"
                )
            outputs[step] = output
            recent = np.concatenate([recent[1:], output[None]])
        return outputs
