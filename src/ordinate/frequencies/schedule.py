"""The geometric schedule of inverse frequencies that every rotary encoding starts from.

Source: Su et al. 2021, arXiv 2104.09864, eq. 15.
"""

from __future__ import annotations

import math

from ordinate.errors import ArgumentError, ArgumentTypeError
from ordinate.frequencies.scaling import Scaling, check_context

__all__ = ["check_base", "check_rotary_dim", "geometric", "inverse_frequencies", "needs_re_rotation", "ntk_base"]


def inverse_frequencies(
    rotary_dim: int, base: float = 10000.0, scaling: Scaling | None = None, length: int | None = None
) -> tuple[float, ...]:
    """Radians per position of each rotated pair: base^(-2 i / rotary_dim), then scaled.

    Args:
        rotary_dim: rotated channels, even.
        base: of the geometric schedule, above 1 (theta in most configs).
        scaling: one of this module's records, or None.
        length: tokens of the row, for the scalings that depend on it; None means the trained context or less.

    Raises:
        ArgumentError: an odd or non-positive `rotary_dim`, a base of 1 or less, a length below 1.
        ArgumentTypeError: a length that is not an int, a scaling that is not a record.

    Source: Su et al. 2021, arXiv 2104.09864, eq. 15.

    >>> [round(f, 6) for f in inverse_frequencies(8)]
    [1.0, 0.1, 0.01, 0.001]
    """
    check_rotary_dim("rotary_dim", rotary_dim)
    check_base(base)
    if length is not None:
        check_context("length", length)
    if scaling is not None and (isinstance(scaling, type) or not isinstance(scaling, Scaling)):
        raise ArgumentTypeError(
            "scaling",
            expected="a record of ordinate.frequencies, or None",
            got=scaling.__name__ if isinstance(scaling, type) else type(scaling).__name__,
            hint="for example Linear(4.0)",
        )
    if scaling is None:
        return geometric(rotary_dim, base)
    return scaling.inverse_frequencies(rotary_dim, base, length)


def needs_re_rotation(
    from_length: int, to_length: int, *, rotary_dim: int, base: float = 10000.0, scaling: Scaling | None = None
) -> bool:
    """Whether keys rotated in a row of `from_length` tokens must be turned again before they meet queries of `to_length`.

    True where the scaling gives the two lengths different frequencies: then no score between the two depends on the distance
    alone. It can always be mended, for a rotation can be undone: see `ordinate.position.Rotary.re_rotate`.

    Args:
        from_length, to_length: tokens of the row, then and now.
        rotary_dim, base, scaling: as in `inverse_frequencies`.

    >>> from ordinate.frequencies import DynamicNTK, Linear
    >>> needs_re_rotation(2048, 4096, rotary_dim=64, scaling=DynamicNTK(2.0, 2048))
    True
    >>> needs_re_rotation(1024, 2048, rotary_dim=64, scaling=DynamicNTK(2.0, 2048))
    False
    >>> needs_re_rotation(2048, 4096, rotary_dim=64, scaling=Linear(2.0))
    False
    """
    then, now = (inverse_frequencies(rotary_dim, base, scaling, length) for length in (from_length, to_length))
    return then != now


def check_rotary_dim(name: str, rotary_dim: int) -> None:
    """Raise unless `rotary_dim` is an even, positive number of channels."""
    if isinstance(rotary_dim, bool) or not isinstance(rotary_dim, int):
        raise ArgumentTypeError(name, expected="an even int", got=type(rotary_dim).__name__, hint="pass a number of channels")
    if rotary_dim <= 0 or rotary_dim % 2:
        near = max(2, rotary_dim - rotary_dim % 2)
        raise ArgumentError(
            name,
            expected="an even, positive number of channels (a rotation turns pairs)",
            got=rotary_dim,
            hint=f"use {near} and leave the remaining channels unrotated, or an even head",
        )


def check_base(base: float) -> None:
    """Raise unless `base` is finite and above 1."""
    if isinstance(base, bool) or not isinstance(base, int | float):
        raise ArgumentTypeError("base", expected="a number above 1", got=type(base).__name__, hint="pass a float")
    if not math.isfinite(base) or base <= 1:
        raise ArgumentError(
            "base",
            expected="a finite number above 1 (0 gives infinite frequencies, a negative one NaN)",
            got=base,
            hint="10000 is the usual one; models call it rope_theta",
        )


def geometric(rotary_dim: int, base: float) -> tuple[float, ...]:
    """base^(-2 i / rotary_dim) for each pair i."""
    return tuple(float(base) ** (-2 * pair / rotary_dim) for pair in range(rotary_dim // 2))


def ntk_base(base: float, stretch: float, rotary_dim: int) -> float:
    """The base whose lowest frequency is the old one divided by `stretch`, the highest unchanged."""
    if rotary_dim == 2:  # one pair: it is the highest frequency, which NTK-aware scaling leaves alone
        return base
    return base * stretch ** (rotary_dim / (rotary_dim - 2))
