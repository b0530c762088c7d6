"""ALiBi: a penalty that grows linearly with the distance, with a slope of its own for every head.

Source: Press et al. 2021, arXiv 2108.12409; the rule for other head counts is `get_slopes` of the authors' code.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

import torch
from torch import Tensor, nn

from ordinate.alibi_slopes import alibi_slopes
from ordinate.errors import ArgumentError
from ordinate.position.bias.distance import DistanceBias, ScoreMod, pair_distance

__all__ = ["ALiBi", "alibi_slopes"]


class ALiBi(DistanceBias):
    """Attention with linear biases: minus the head's slope times the distance.

    bias(i, j) = -slope_h (i - j). Published for causal models: a key in the future would get a positive bias, so combine it
    with a causal mask, or take `symmetric` for -slope_h |i - j| in an encoder.

    Args:
        num_heads: query heads H, any number.
        rule: how slopes are chosen where H is not a power of two, see `alibi_slopes`.
        symmetric: the absolute distance.
        max_exponent: the last of n slopes is 2^-max_exponent; MPT's `alibi_bias_max`.
        slopes: H slopes of your own, in place of a rule. (Falcon divides its bias by sqrt(head_dim) and rounds its slopes to
            bfloat16: such a model's slopes come in here.)
        learned: make the slopes a parameter that starts at these values. It is not kept positive: a head may learn to look far.

    Raises:
        ArgumentError: no heads, an unknown rule, slopes that are not H finite numbers.

    Source: Press et al. 2021, arXiv 2108.12409, section 3; learned slopes are tried there in appendix A.2.

    >>> ALiBi(8).bias(torch.tensor([3]), torch.tensor([1, 3]))[0]
    tensor([[-1., -0.]])
    """

    def __init__(
        self,
        num_heads: int,
        *,
        rule: Literal["reference", "geometric"] = "reference",
        symmetric: bool = False,
        max_exponent: float = 8.0,
        slopes: Sequence[float] | None = None,
        learned: bool = False,
    ) -> None:
        super().__init__()
        self._initial = alibi_slopes(num_heads, rule, max_exponent)
        self._given = slopes is not None
        if slopes is not None:
            self._initial = tuple(float(slope) for slope in slopes)
            if len(self._initial) != num_heads or not all(math.isfinite(slope) for slope in self._initial):
                raise ArgumentError(
                    "slopes",
                    expected=f"{num_heads} finite numbers, one a head",
                    got=list(self._initial),
                    hint="leave it out for the published rule",
                )
        self.num_heads, self.rule, self.symmetric, self.max_exponent = num_heads, rule, symmetric, max_exponent
        self.learned = learned
        if learned:
            self.learned_slopes = nn.Parameter(torch.empty(num_heads))
            self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set learned slopes back to the values of the rule."""
        if self.learned:
            with torch.no_grad():
                self.learned_slopes.copy_(torch.tensor(self._initial))

    @property
    def slopes(self) -> Tensor:
        """[H], float32 or wider: of the rule, as given, or as learned so far."""
        return self._slopes(None)

    def _slopes(self, device: torch.device | None) -> Tensor:
        if self.learned:
            return self.learned_slopes.to(torch.promote_types(self.learned_slopes.dtype, torch.float32))
        return torch.tensor(self._initial, dtype=torch.float32, device=device)

    def of_distance(self, distance: Tensor) -> Tensor:
        """[H, *]: -slope_h times the distance, or the absolute distance."""
        if self.symmetric:
            distance = distance.abs()
        slopes = self._slopes(distance.device)
        return -slopes.view(-1, *(1,) * distance.ndim) * distance.to(slopes.dtype)

    def score_mod(self, query_positions: Tensor, key_positions: Tensor) -> ScoreMod:
        """The same bias for `flex_attention`, formed from the distance of each pair: no table."""
        slopes, distance_of = self._slopes(query_positions.device), pair_distance(query_positions, key_positions)
        if self.symmetric:
            return lambda score, batch, head, query, key: score - slopes[head] * distance_of(batch, query, key).abs()
        return lambda score, batch, head, query, key: score - slopes[head] * distance_of(batch, query, key)

    def _passed(self) -> dict[str, Any]:
        return {"slopes": self._initial if self._given else None}
