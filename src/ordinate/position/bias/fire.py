"""FIRE: a small network of the distance, measured against the query's own position.

It stands apart from the other distance biases because its normaliser looks at where the query is. Source: Li et al. 2023, arXiv
2310.04418.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ordinate.arguments import check_integer, check_number
from ordinate.position.base import ScoreBias, full_precision
from ordinate.position.bias.distance import ScoreMod, distances, one_position

__all__ = ["FIRE"]


class FIRE(ScoreBias):
    """Functional interpolation for relative positions.

    bias(i, j) = f_h(psi(i - j) / psi(max(L, i))), psi(x) = log(1 + |c x|), f a network with one hidden layer of rectifiers.
    c and L = |threshold_scale| initial_threshold are learned.

    Up to position L the normaliser is the same for every query, and the bias depends on the distance alone.
    Past L it also depends on the query's position, so scores are not shift-invariant there and `query_positions` have to
    count from the start of the document. Nothing depends on the length of the row: a token gets the same bias in prefill and
    decode, and beside any padding.

    Args:
        num_heads: query heads H.
        hidden_dim: width of the hidden layer.
        initial_c: c at first.
        initial_threshold: L at first, in tokens.

    Raises:
        ArgumentError: no heads, no hidden units, a start that is not positive.

    Source: Li et al. 2023, arXiv 2310.04418, section 3, and the listing in the appendix, whose epsilon of 1e-6 in the
    denominator is kept.

    >>> FIRE(8).bias(torch.arange(3), torch.arange(3)).shape
    torch.Size([8, 3, 3])
    """

    needs_content = False

    def __init__(
        self, num_heads: int, *, hidden_dim: int = 32, initial_c: float = 0.1, initial_threshold: float = 512.0
    ) -> None:
        super().__init__()
        check_integer("num_heads", num_heads, minimum=1)
        check_integer("hidden_dim", hidden_dim, minimum=1)
        for name, start in (("initial_c", initial_c), ("initial_threshold", initial_threshold)):
            check_number(name, start, above=0)
        self.num_heads, self.hidden_dim = num_heads, hidden_dim
        self.initial_c, self.initial_threshold = initial_c, initial_threshold
        self.c = nn.Parameter(torch.empty(()))
        self.threshold_scale = nn.Parameter(torch.empty(()))
        self.first, self.last = nn.Linear(1, hidden_dim), nn.Linear(hidden_dim, num_heads)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the network anew, as `nn.Linear` does, and set c and L back."""
        nn.init.constant_(self.c, self.initial_c)
        nn.init.constant_(self.threshold_scale, 1.0)
        self.first.reset_parameters()
        self.last.reset_parameters()

    @full_precision
    def bias(
        self,
        query_positions: Tensor,
        key_positions: Tensor,
        query: Tensor | None = None,
        key: Tensor | None = None,
        scale: float | None = None,
    ) -> Tensor:
        """[H, T, S] for positions [T] and [S], [B, H, T, S] where either has rows; float32 or wider. Content is not looked at.

        Raises:
            ArgumentTypeError: positions in half precision.
        """
        distance = distances(query_positions, key_positions)
        c, threshold, first, first_bias, last, last_bias = self._wide()
        normaliser = (self._psi(c, torch.maximum(query_positions.to(c.dtype), threshold)) + 1e-6).unsqueeze(-1)
        share = self._psi(c, distance.to(c.dtype)) / normaliser
        hidden = (share.unsqueeze(-1) * first + first_bias).relu()
        return nn.functional.linear(hidden, last, last_bias).movedim(-1, -3)

    def score_mod(self, query_positions: Tensor, key_positions: Tensor) -> ScoreMod:
        """The same bias for `flex_attention`: the hidden units one after the other, for each pair of tokens: no table."""
        c, threshold, first, first_bias, last, last_bias = self._wide()
        last = last.contiguous()
        of_query, of_key = one_position(query_positions), one_position(key_positions)
        psi, units = self._psi, self.hidden_dim

        def mod(score: Tensor, batch: Tensor, head: Tensor, query: Tensor, key: Tensor) -> Tensor:
            position = of_query(batch, query)
            normaliser = psi(c, torch.maximum(position.to(c.dtype), threshold)) + 1e-6
            share = psi(c, (position - of_key(batch, key)).to(c.dtype)) / normaliser
            value = last_bias[head]
            for unit in range(units):
                value = value + last[head, unit] * (share * first[unit] + first_bias[unit]).relu()
            return score + value

        return mod

    @staticmethod
    def _psi(c: Tensor, x: Tensor) -> Tensor:
        return torch.log((c * x).abs() + 1)

    def _wide(self) -> tuple[Tensor, ...]:
        """c, L, and the weights of both layers, float32 or wider, whatever dtype the parameters are kept in."""
        wide = torch.promote_types(self.c.dtype, torch.float32)
        threshold = self.threshold_scale.to(wide).abs() * self.initial_threshold
        weights = (self.first.weight[:, 0], self.first.bias, self.last.weight, self.last.bias)
        return self.c.to(wide), threshold, *(weight.to(wide) for weight in weights)
