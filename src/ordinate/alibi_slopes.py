"""The slopes of ALiBi, in plain arithmetic without torch.

Apart from the encoding for the reason that `frequencies` is: the encoding and the reader of configs need the same numbers, and
the reader must start without torch. Source: Press et al. 2021, arXiv 2108.12409.
"""

from __future__ import annotations

from typing import Literal

from ordinate.arguments import check_integer, check_number
from ordinate.errors import ArgumentError

__all__ = ["alibi_slopes"]


def alibi_slopes(
    num_heads: int, rule: Literal["reference", "geometric"] = "reference", max_exponent: float = 8.0
) -> tuple[float, ...]:
    """The slope of each head.

    For n a power of two both rules give 2^(-8 h / n), h = 1..n. For other head counts the reference code takes the slopes of
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
    check_integer("num_heads", num_heads, minimum=1)
    check_number("max_exponent", max_exponent, above=0)
    if rule not in ("reference", "geometric"):
        raise ArgumentError("rule", expected="'reference' or 'geometric'", got=rule, hint="checkpoints follow 'reference'")

    def geometric(count: int) -> list[float]:
        return [2.0 ** (-max_exponent * (head + 1) / count) for head in range(count)]

    if rule == "geometric":
        return tuple(geometric(num_heads))
    lower = 1 << (num_heads.bit_length() - 1)
    return tuple(geometric(lower) + geometric(2 * lower)[0::2][: num_heads - lower])
