"""The slopes of ALiBi, in plain arithmetic without torch.

They stand on the ground floor for the reason that `frequencies` does: the encoding and the reader of configs need the very same
numbers, and the reader must start without torch. Source: Press et al. 2021, arXiv 2108.12409.
"""

from __future__ import annotations

import math
from typing import Literal

from ordinate.errors import ArgumentError, ArgumentTypeError

__all__ = ["alibi_slopes"]


def alibi_slopes(
    num_heads: int, rule: Literal["reference", "geometric"] = "reference", max_exponent: float = 8.0
) -> tuple[float, ...]:
    """The slope of each head.

    For n a power of two both rules give 2^(-8 h / n), h = 1..n. For other head counts the reference code takes the ladder of
    the next lower power of two and fills up with every second slope of the next higher one; "geometric" keeps the formula.

    Args:
        num_heads: query heads H.
        rule: "reference" or "geometric".
        max_exponent: the 8 of the formula, MPT's `alibi_bias_max`; the last of n slopes is 2^-max_exponent.

    Raises:
        ArgumentError: no heads, an unknown rule, an exponent that is not positive.

    Source: Press et al. 2021, arXiv 2108.12409, section 3; the reference rule is `get_slopes` of the authors' code.

    >>> alibi_slopes(8)[:3]
    (0.5, 0.25, 0.125)
    >>> [round(slope, 4) for slope in alibi_slopes(3)], [round(slope, 4) for slope in alibi_slopes(3, "geometric")]
    ([0.0625, 0.0039, 0.25], [0.1575, 0.0248, 0.0039])
    """
    if isinstance(num_heads, bool) or not isinstance(num_heads, int):
        raise ArgumentTypeError("num_heads", expected="an int", got=type(num_heads).__name__, hint="pass the query heads")
    if num_heads < 1:
        raise ArgumentError("num_heads", expected="at least 1", got=num_heads, hint="pass the query heads")
    if rule not in ("reference", "geometric"):
        raise ArgumentError("rule", expected="'reference' or 'geometric'", got=rule, hint="checkpoints follow 'reference'")
    if isinstance(max_exponent, bool) or not isinstance(max_exponent, int | float):
        raise ArgumentTypeError(
            "max_exponent", expected="a positive number", got=type(max_exponent).__name__, hint="leave it out for 8"
        )
    if not (math.isfinite(max_exponent) and max_exponent > 0):
        raise ArgumentError("max_exponent", expected="a positive number", got=max_exponent, hint="leave it out for 8")

    def ladder(count: int) -> list[float]:
        return [2.0 ** (-max_exponent * (head + 1) / count) for head in range(count)]

    if rule == "geometric":
        return tuple(ladder(num_heads))
    lower = 1 << (num_heads.bit_length() - 1)
    return tuple(ladder(lower) + ladder(2 * lower)[0::2][: num_heads - lower])
