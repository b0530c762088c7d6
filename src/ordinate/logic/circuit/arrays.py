"""Arrays that come from outside, checked once and refused where they would be rounded, wrapped or guessed."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ordinate.errors import ArgumentError, ArgumentTypeError, ShapeError

__all__ = ["as_bits", "integer_array", "number_array"]


def integer_array(values: npt.ArrayLike, dtype: Any, argument: str) -> npt.NDArray[Any]:
    """A fresh integer array [n].

    Signal numbers that went through float32 are wrong past 2^24 without anybody noticing, so floats are refused as such.

    Args:
        values: a flat list or array of integers.
        dtype: integer type of the result.
        argument: what an error calls them.

    Raises:
        ArgumentTypeError: floats or other things.
        ArgumentError: more than one axis, or a number that the type does not hold.

    >>> integer_array([1, 2], np.int32, "signals")
    array([1, 2], dtype=int32)
    """
    try:
        array = np.asarray(values)
    except (ValueError, OverflowError):
        raise ArgumentError(argument, expected="a flat list of integers", got="lists of several lengths") from None
    if array.size == 0:
        array = array.astype(dtype).reshape(-1)
    if array.dtype.kind not in "iu":
        raise ArgumentTypeError(argument, expected="integers", got=f"{array.dtype}")
    if array.ndim != 1:
        raise ArgumentError(argument, expected="one axis", got=f"shape {list(array.shape)}")
    bounds = np.iinfo(dtype)
    if array.size and not (bounds.min <= int(array.min()) and int(array.max()) <= bounds.max):
        raise ArgumentError(
            argument, expected=f"integers from {bounds.min} to {bounds.max}", got=f"{array.min()} to {array.max()}"
        )
    return np.array(array, dtype)


def number_array(values: npt.ArrayLike, argument: str) -> npt.NDArray[np.float64]:
    """A fresh float64 array [n] of finite numbers.

    Raises:
        ArgumentTypeError: text, booleans or other things.
        ArgumentError: more than one axis, NaN or infinity.

    >>> number_array([1, 2.5], "bias")
    array([1. , 2.5])
    """
    try:
        array = np.asarray(values)
    except (ValueError, OverflowError):
        raise ArgumentError(argument, expected="a flat list of numbers", got="lists of several lengths") from None
    if array.size and array.dtype.kind not in "iuf":
        raise ArgumentTypeError(argument, expected="numbers", got=f"{array.dtype}")
    if array.ndim != 1:
        raise ArgumentError(argument, expected="one axis", got=f"shape {list(array.shape)}")
    numbers = array.astype(np.float64)
    if not np.isfinite(numbers).all():
        raise ArgumentError(argument, expected="finite numbers", got="NaN or infinity")
    return numbers


def as_bits(bits: Any, num_inputs: int, argument: str = "bits") -> npt.NDArray[np.bool_]:
    """The bits as booleans [..., num_inputs], from booleans, integers or floats that are all 0 or 1.

    Args:
        bits: an array or tensor [..., num_inputs].
        num_inputs: how many the last axis must have.
        argument: what an error calls them.

    Raises:
        ShapeError: another number of inputs.
        ArgumentError: a value that is neither 0 nor 1.

    >>> as_bits([[0, 1, 1.0]], 3)
    array([[False,  True,  True]])
    """
    array = np.asarray(bits)
    if array.ndim == 0 or array.shape[-1] != num_inputs:
        raise ShapeError(argument, expected=f"[..., {num_inputs}], one bit an input", got=f"shape {list(array.shape)}")
    if array.dtype == np.bool_:
        return array
    if array.dtype.kind not in "iuf" or not ((array == 0) | (array == 1)).all():
        wrong = array[~((array == 0) | (array == 1))] if array.dtype.kind in "iuf" else []
        raise ArgumentError(
            argument,
            expected="bits, 0 or 1",
            got=f"the value {wrong[0]}" if len(wrong) else f"values of {array.dtype}",
            hint="compare numbers with the circuit's thresholds first (InputThresholds.bits)",
        )
    return array.astype(np.bool_)
