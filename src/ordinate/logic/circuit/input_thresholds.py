"""The thresholds that turn numbers such as pixels into a circuit's input bits; they travel with the circuit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ordinate.arguments import check_integer
from ordinate.errors import ArgumentError, ShapeError
from ordinate.logic.circuit.arrays import integer_array, number_array

__all__ = ["InputThresholds"]


@dataclass(frozen=True, eq=False)
class InputThresholds:
    """Input bit i is `x[feature[i]] > threshold[i]`.

    Args:
        num_features: numbers that come in, such as 784 pixels.
        feature: int32 [bits], the number that each bit looks at.
        threshold: float64 [bits], in the unit of the numbers.

    Raises:
        ArgumentError: a feature out of range, a threshold that is not finite, other lengths.

    >>> InputThresholds(2, [0, 1, 1], [95, 20, 95]).bits([[96, 95]]).astype(int)
    array([[1, 1, 0]])
    """

    num_features: int
    feature: npt.NDArray[np.int32]
    threshold: npt.NDArray[np.float64]

    def __init__(self, num_features: int, feature: npt.ArrayLike, threshold: npt.ArrayLike) -> None:
        put = object.__setattr__
        put(self, "num_features", check_integer("num_features", num_features, minimum=1, maximum=2**31 - 1))
        put(self, "feature", integer_array(feature, np.int32, "feature"))
        put(self, "threshold", number_array(threshold, "threshold"))
        if self.feature.shape != self.threshold.shape:
            raise ArgumentError(
                "threshold",
                expected=f"one for each of the {self.feature.size} bits",
                got=f"shape {list(self.threshold.shape)}",
            )
        if self.feature.size and not (self.feature.min() >= 0 and self.feature.max() < self.num_features):
            raise ArgumentError(
                "feature",
                expected=f"numbers from 0 to {self.num_features - 1}",
                got=f"{self.feature.min()} to {self.feature.max()}",
            )

    @classmethod
    def uniform(cls, num_features: int, threshold: float) -> InputThresholds:
        """One bit a feature, all with the same threshold.

        >>> InputThresholds.uniform(3, 95).bits([0, 95, 96]).tolist()
        [False, False, True]
        """
        return cls(num_features, np.arange(num_features), np.full(num_features, float(threshold)))

    def bits(self, x: Any) -> npt.NDArray[np.bool_]:
        """The bits [..., bits] for numbers [..., num_features].

        Raises:
            ShapeError: another number of features.
            ArgumentError: NaN, or something that is no number.
        """
        numbers = np.asarray(x)
        if numbers.dtype.kind not in "buif":
            raise ArgumentError("x", expected="numbers", got=f"values of {numbers.dtype}")
        if numbers.ndim == 0 or numbers.shape[-1] != self.num_features:
            raise ShapeError(
                "x",
                expected=f"[..., {self.num_features}], one number a feature",
                got=f"shape {list(numbers.shape)}",
                hint="flatten images to one row each",
            )
        if numbers.dtype.kind == "f" and np.isnan(numbers).any():
            raise ArgumentError("x", expected="numbers", got="NaN", hint="a missing value has no side of a threshold")
        if numbers.dtype == np.uint8 and np.array_equal(self.feature, np.arange(self.num_features)):
            # a byte is above a number exactly if it is above its floor; comparing bytes avoids a copy in floats
            least = np.floor(self.threshold)
            return (numbers > np.clip(least, 0, 255).astype(np.uint8)) | (least < 0)
        return np.asarray(numbers[..., self.feature] > self.threshold)

    def least_bytes(self) -> npt.NDArray[np.int64]:
        """For each bit [bits] the least byte above its threshold, 256 where no byte is: x > t exactly if x >= floor(t) + 1.

        >>> InputThresholds(1, [0, 0, 0], [-3, 94.5, 255]).least_bytes().tolist()
        [0, 95, 256]
        """
        return np.clip(np.floor(self.threshold) + 1, 0, 256).astype(np.int64)
