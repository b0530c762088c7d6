"""Biases that depend on the distance between query and key alone.

They are computed from distances, never from absolute positions, so they stay exact in any dtype and far out. Source of ALiBi:
Press et al. 2021, arXiv 2108.12409.
"""

from __future__ import annotations

import math
from typing import Literal

import torch
from torch import Tensor, nn

from ordinate.errors import ArgumentError, ArgumentTypeError
from ordinate.position.indices import check_positions

__all__ = ["ALiBi", "alibi_slopes", "distances"]


def distances(query_positions: Tensor, key_positions: Tensor) -> Tensor:
    """query_position - key_position, [T, S], or [B, T, S] where either has rows; the past is positive."""
    check_positions("query_positions", query_positions)
    check_positions("key_positions", key_positions, batch=query_positions.shape[0] if query_positions.ndim == 2 else None)
    widest = torch.promote_types(torch.promote_types(query_positions.dtype, key_positions.dtype), torch.int64)
    return query_positions.to(widest).unsqueeze(-1) - key_positions.to(widest).unsqueeze(-2)


def alibi_slopes(num_heads: int, rule: Literal["reference", "geometric"] = "reference") -> tuple[float, ...]:
    """The slope of each head.

    For n a power of two both rules give 2^(-8 h / n), h = 1..n. For other head counts the reference code takes the ladder of
    the next lower power of two and fills up with every second slope of the next higher one; "geometric" keeps the formula.

    Raises:
        ArgumentError: no heads, or an unknown rule.

    Source: Press et al. 2021, arXiv 2108.12409, section 3; the reference rule is `get_slopes` of the authors' code.

    >>> alibi_slopes(8)[:3]
    (0.5, 0.25, 0.125)
    """
    if isinstance(num_heads, bool) or not isinstance(num_heads, int):
        raise ArgumentTypeError(
            "num_heads", expected="an int", got=type(num_heads).__name__, todo="pass the number of query heads"
        )
    if num_heads < 1:
        raise ArgumentError("num_heads", expected="at least 1", got=num_heads, todo="pass the number of query heads")
    if rule not in ("reference", "geometric"):
        raise ArgumentError("rule", expected="'reference' or 'geometric'", got=rule, todo="checkpoints follow 'reference'")

    def ladder(count: int) -> list[float]:
        return [2.0 ** (-8 * (head + 1) / count) for head in range(count)]

    if rule == "geometric":
        return tuple(ladder(num_heads))
    lower = 2 ** math.floor(math.log2(num_heads))
    return tuple(ladder(lower) + ladder(2 * lower)[0::2][: num_heads - lower])


class ALiBi(nn.Module):
    """Attention with linear biases: minus the head's slope times the distance.

    bias(i, j) = -slope_h (i - j). Published for causal models: a key in the future would get a positive bias, so combine it
    with a causal mask, or take `symmetric` for -slope_h |i - j| in an encoder.

    Args:
        num_heads: query heads H, any number.
        rule: how slopes are chosen where H is not a power of two, see `alibi_slopes`.
        symmetric: the absolute distance.

    Raises:
        ArgumentError: no heads, or an unknown rule.

    Source: Press et al. 2021, arXiv 2108.12409, eq. in section 3.

    >>> ALiBi(8).bias(torch.tensor([3]), torch.tensor([1, 3]))[0]
    tensor([[-1., -0.]])
    """

    needs_content = False

    def __init__(
        self, num_heads: int, *, rule: Literal["reference", "geometric"] = "reference", symmetric: bool = False
    ) -> None:
        super().__init__()
        self._slopes = alibi_slopes(num_heads, rule)
        self.num_heads, self.rule, self.symmetric = num_heads, rule, symmetric

    @property
    def slopes(self) -> Tensor:
        """Float32 [H]."""
        return torch.tensor(self._slopes)

    def bias(
        self,
        query_positions: Tensor,
        key_positions: Tensor,
        query: Tensor | None = None,
        key: Tensor | None = None,
        scale: float | None = None,
    ) -> Tensor:
        """Float32 [H, T, S] for positions [T] and [S], [B, H, T, S] where either has rows. Content is not looked at.

        Raises:
            ArgumentTypeError: positions in half precision.
        """
        distance = distances(query_positions, key_positions)
        if self.symmetric:
            distance = distance.abs()
        slopes = torch.tensor(self._slopes, device=distance.device)
        return -slopes[:, None, None] * distance.to(torch.float32).unsqueeze(-3)

    def __repr__(self) -> str:
        shown = [str(self.num_heads)]
        if self.rule != "reference":
            shown.append(f"rule={self.rule!r}")
        if self.symmetric:
            shown.append("symmetric=True")
        return f"ALiBi({', '.join(shown)})"
