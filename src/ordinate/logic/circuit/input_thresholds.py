"""The thresholds that turn numbers such as pixels into a circuit's input bits; they travel with the circuit.

Several thresholds for one number are a thermometer code: the bits that are set grow with the number. `FixedPoint` is how such
numbers come to a chip: as integers that count steps of a power of two.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from ordinate.arguments import check_choice, check_integer
from ordinate.errors import ArgumentError, RefusedError, ShapeError
from ordinate.logic.circuit.arrays import integer_array, number_array

__all__ = ["DTYPES", "FixedPoint", "InputThresholds"]

DTYPES = ("uint8", "int8", "uint16", "int16", "uint32", "int32", "float32", "float64")
"""Types of numbers that thresholds can be for, and that emitted C compares exactly."""

Spacing = Literal["quantile", "uniform"]


@dataclass(frozen=True, eq=False)
class InputThresholds:
    """Input bit i is `x[feature[i]] > threshold[i]`.

    Args:
        num_features: numbers that come in, such as 784 pixels.
        feature: int32 [bits], the number that each bit looks at.
        threshold: float64 [bits], in the unit of the numbers.
        dtype: the type of the numbers, one of `DTYPES`; None where nothing is known about it.

    Raises:
        ArgumentError: a feature out of range, a threshold that is not finite, other lengths.
        UnknownNameError: another dtype.

    >>> InputThresholds(2, [0, 1, 1], [95, 20, 95]).bits([[96, 95]]).astype(int)
    array([[1, 1, 0]])
    """

    num_features: int
    feature: npt.NDArray[np.int32]
    threshold: npt.NDArray[np.float64]
    dtype: str | None = None

    def __init__(self, num_features: int, feature: npt.ArrayLike, threshold: npt.ArrayLike, dtype: str | None = None) -> None:
        put = object.__setattr__
        put(self, "num_features", check_integer("num_features", num_features, minimum=1, maximum=2**31 - 1))
        put(self, "feature", integer_array(feature, np.int32, "feature"))
        put(self, "threshold", number_array(threshold, "threshold"))
        put(self, "dtype", None if dtype is None else check_choice("dtype", dtype, DTYPES))
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

    @classmethod
    def thermometer(cls, x: npt.ArrayLike, bits_per_feature: int, *, spacing: Spacing = "quantile") -> InputThresholds:
        """Several thresholds for each feature, from the rows that a circuit is to learn from.

        A threshold lies halfway between two neighbouring values of the rows, so that it separates them as clearly as can be and
        none lies on a value. A feature of few values gets fewer thresholds, a constant one none.

        Args:
            x: training rows [N, features], finite numbers.
            bits_per_feature: thresholds for a feature, at most.
            spacing: "quantile", evenly by the number of rows; "uniform", evenly between the smallest and the largest value.

        Raises:
            ArgumentError: not rows of finite numbers.
            RefusedError: every feature is constant, or has integers past 2^53 that are equal as float64.

        >>> InputThresholds.thermometer([[0.0, 7], [1.0, 7], [4.0, 7], [9.0, 7]], 2).threshold.tolist()
        [2.5, 6.5]
        """
        rows = np.asarray(x)
        if rows.ndim != 2 or not rows.size or rows.dtype.kind not in "buif" or not np.isfinite(rows).all():
            raise ArgumentError("x", expected="rows of finite numbers [N, features]", got=f"{rows.dtype} {list(rows.shape)}")
        check_integer("bits_per_feature", bits_per_feature, minimum=1)
        check_choice("spacing", spacing, ("quantile", "uniform"))
        levels = np.arange(1, bits_per_feature + 1) / (bits_per_feature + 1)
        features, thresholds = [], []
        for feature, column in enumerate(rows.T):
            distinct = len(np.unique(column)) if column.dtype.kind in "iu" and column.dtype.itemsize == 8 else 0
            column = column.astype(np.float64)
            values = np.unique(column)
            if len(values) < distinct:
                raise RefusedError(
                    "x",
                    expected="numbers that float64 tells apart, integers up to 2^53",
                    got=f"{distinct} integers that become {len(values)} in column {feature + 1}",
                    hint="subtract what all of them have in common",
                )
            if len(values) < 2:
                continue
            if spacing == "quantile":
                wanted = np.quantile(column, levels, method="inverted_cdf")
            else:
                wanted = values[0] + (values[-1] - values[0]) * levels
            # after the largest value that is not above the wanted level, and before the next one
            after = np.unique(np.clip(np.searchsorted(values, wanted, side="right") - 1, 0, len(values) - 2))
            between = values[after] + (values[after + 1] - values[after]) / 2
            # two values may be neighbours in floating point, with nothing between them
            between = np.where((between > values[after]) & (between < values[after + 1]), between, values[after])
            features += [feature] * len(between)
            thresholds += between.tolist()
        if not features:
            raise RefusedError("x", expected="a feature that varies", got="constant columns only")
        return cls(rows.shape[1], features, thresholds, _dtype_of(rows.dtype))

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

    def moved_for(self, rows: npt.ArrayLike, rounded: npt.ArrayLike) -> InputThresholds:
        """Thresholds that put rounded numbers on the sides on which the numbers themselves are.

        A threshold stays where it is if it does so, and else moves to the largest rounded number below it. So every row keeps
        its bits; a number that is in no row may get another bit where it lies between a threshold and the row next to it.

        Args:
            rows: numbers [N, features] that the thresholds are for.
            rounded: the same in another type, in the same unit.

        Raises:
            RefusedError: two rows on two sides of a threshold that are rounded to one number.

        >>> InputThresholds(1, [0], [2.6]).moved_for([[2.5], [2.9]], [[2.0], [2.5]]).threshold.tolist()
        [2.0]
        """
        rows, rounded = np.asarray(rows), np.asarray(rounded, np.float64)
        threshold = self.threshold.copy()
        for place, (feature, value) in enumerate(zip(self.feature.tolist(), self.threshold.tolist(), strict=True)):
            above = rows[:, feature] > value
            low = rounded[~above, feature].max(initial=-np.inf)
            high = rounded[above, feature].min(initial=np.inf)
            if low >= high:
                raise RefusedError(
                    "rounded",
                    expected="numbers that keep rows on two sides of a threshold apart",
                    got=f"{low:.10g} on both sides of {value:.10g} in column {feature + 1}",
                    hint="take more bits",
                )
            if not low <= value < high:
                threshold[place] = low if np.isfinite(low) else np.nextafter(high, -np.inf)
        return InputThresholds(self.num_features, self.feature, threshold, self.dtype)

    def least_bytes(self) -> npt.NDArray[np.int64]:
        """For each bit [bits] the least byte above its threshold, 256 where no byte is: x > t exactly if x >= floor(t) + 1.

        >>> InputThresholds(1, [0, 0, 0], [-3, 94.5, 255]).least_bytes().tolist()
        [0, 95, 256]
        """
        return np.clip(np.floor(self.threshold) + 1, 0, 256).astype(np.int64)

    def emitted_dtype(self) -> str:
        """The type of numbers that emitted code takes by default: `dtype`, else bytes where all thresholds are such.

        >>> InputThresholds(1, [0], [95]).emitted_dtype(), InputThresholds(1, [0], [0.25]).emitted_dtype()
        ('uint8', 'float64')
        """
        if self.dtype is not None:
            return self.dtype
        whole = (self.threshold == np.floor(self.threshold)) & (self.threshold >= 0) & (self.threshold < 255)
        return "uint8" if whole.all() else "float64"


def _dtype_of(dtype: np.dtype[Any]) -> str:
    """The name in `DTYPES` that holds every value of a type; float64 for wide integers, which thresholds are compared in."""
    if dtype.kind == "b":
        return "uint8"
    return dtype.name if dtype.name in DTYPES else "float64"


@dataclass(frozen=True)
class FixedPoint:
    """Numbers as integers: x is sent as floor(x 2^fraction_bits), in `bits` bits.

    With s = 2^fraction_bits, x > t implies floor(x s) >= floor(t s) + 1 unless x lies above t in the same step of 1/s.
    `covering` finds the fewest fraction bits with which no row of some data does, so that every comparison comes out the same.

    Args:
        bits: width of a number, 1 to 52.
        fraction_bits: of them, behind the point; below 0 for steps larger than 1.
        signed: two's complement.

    Raises:
        ArgumentError: a width out of range.

    >>> FixedPoint(8, 2, signed=True).encode([[1.3, -0.25]]).tolist()
    [[5, -1]]
    """

    bits: int
    fraction_bits: int = 0
    signed: bool = False

    def __post_init__(self) -> None:
        check_integer("bits", self.bits, minimum=1, maximum=52)
        check_integer("fraction_bits", self.fraction_bits, minimum=-1000, maximum=1000)

    @property
    def smallest(self) -> int:
        """The smallest integer that is sent."""
        return -(1 << (self.bits - 1)) if self.signed else 0

    @property
    def largest(self) -> int:
        """The largest integer that is sent."""
        return (1 << (self.bits - self.signed)) - 1

    @classmethod
    def covering(cls, thresholds: InputThresholds, x: npt.ArrayLike) -> FixedPoint:
        """The narrowest format in which every row falls on the same side of every threshold.

        Args:
            thresholds: of a circuit.
            x: rows [N, features]: all that the format is to be proven for, training and test rows.

        Raises:
            RefusedError: 52 bits do not suffice.

        >>> FixedPoint.covering(InputThresholds(1, [0], [0.3]), [[0.1], [0.28], [0.4]])
        FixedPoint(bits=2, fraction_bits=3, signed=False)
        """
        rows = np.asarray(x, np.float64)
        bits = thresholds.bits(rows)
        used = rows[..., np.unique(thresholds.feature)]
        low, high = (float(used.min()), float(used.max())) if used.size else (0.0, 0.0)
        for fraction_bits in range(-8, 52):
            scale = 2.0**fraction_bits
            signed = low < 0
            whole = max(int(np.floor(high * scale)), -int(np.floor(low * scale)) - 1, 0).bit_length()
            if whole + signed > 52:
                break
            result = cls(max(1, whole + signed), fraction_bits, signed)
            if np.array_equal(result.bits_of(thresholds, rows), bits):
                return result
        raise RefusedError(
            "x",
            expected="numbers that 52 bits keep on their sides of the thresholds",
            got=f"numbers from {low:g} to {high:g}, some of them closer to a threshold",
            hint="round the data, or move the thresholds away from it",
        )

    @classmethod
    def fitting(cls, thresholds: InputThresholds, x: npt.ArrayLike) -> tuple[FixedPoint, InputThresholds]:
        """The narrowest format in which every row keeps its bits once thresholds may move between rows, and the thresholds.

        Args:
            thresholds: of a circuit.
            x: rows [N, features].

        Raises:
            RefusedError: 52 bits do not suffice.

        >>> number, moved = FixedPoint.fitting(InputThresholds(1, [0], [0.3]), [[0.1], [0.28], [0.5]])
        >>> number, moved.threshold.tolist()
        (FixedPoint(bits=1, fraction_bits=1, signed=False), [0.3])
        """
        rows = np.asarray(x, np.float64)
        used = rows[..., np.unique(thresholds.feature)]
        low, high = (float(used.min()), float(used.max())) if used.size else (0.0, 0.0)
        for fraction_bits in range(-32, 1075):
            scale = 2.0**fraction_bits
            bits = max(int(np.floor(high * scale)), -int(np.floor(low * scale)) - 1, 0).bit_length() + (low < 0)
            if bits > 52:
                break
            number = cls(max(1, bits), fraction_bits, low < 0)
            try:
                return number, thresholds.moved_for(rows, number.encode(rows) / scale)
            except RefusedError:
                continue
        raise RefusedError(
            "x",
            expected="numbers that 52 bits keep on their sides of the thresholds",
            got=f"numbers from {low:g} to {high:g}, some of them closer to each other across a threshold",
        )

    def encode(self, x: npt.ArrayLike) -> npt.NDArray[np.int64]:
        """The integers [...] that are sent for numbers [...]; numbers out of range are sent as the nearest integer in range."""
        return np.clip(np.floor(np.asarray(x, np.float64) * 2.0**self.fraction_bits), self.smallest, self.largest).astype(
            np.int64
        )

    def least(self, thresholds: InputThresholds) -> npt.NDArray[np.float64]:
        """For each bit the least integer that sets it; it may lie out of range."""
        return np.asarray(np.floor(thresholds.threshold * 2.0**self.fraction_bits) + 1)

    def bits_of(self, thresholds: InputThresholds, x: npt.ArrayLike) -> npt.NDArray[np.bool_]:
        """The input bits of a circuit for numbers that come in this format."""
        return np.asarray(self.encode(x)[..., thresholds.feature] >= self.least(thresholds))

    def integers(self, thresholds: InputThresholds) -> InputThresholds:
        """The thresholds for numbers that come as these integers, in the smallest integer type that holds them.

        Raises:
            RefusedError: more than 32 bits.

        >>> FixedPoint(8, 2, signed=True).integers(InputThresholds(1, [0], [1.3])).threshold.tolist()
        [5.0]
        """
        if self.bits > 32:
            raise RefusedError("bits", expected="at most 32 bits for a type of C", got=self.bits, hint="pass float64")
        width = next(size for size in (8, 16, 32) if self.bits <= size)
        above = np.clip(self.least(thresholds) - 1, self.smallest - 1, self.largest)
        return InputThresholds(thresholds.num_features, thresholds.feature, above, f"{'' if self.signed else 'u'}int{width}")

    @classmethod
    def of_dtype(cls, dtype: str) -> FixedPoint:
        """The integers of a type, such as "int16".

        >>> FixedPoint.of_dtype("int16")
        FixedPoint(bits=16, fraction_bits=0, signed=True)
        """
        return cls(int(dtype.removeprefix("u").removeprefix("int")), 0, not dtype.startswith("u"))
