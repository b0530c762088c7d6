"""A bias on bucketed distances that each query's content opens or closes, as WavLM has it.

Sources: Chen et al. 2021, arXiv 2110.13900 (WavLM), section III-A; Chi et al. 2021, arXiv 2106.16138 (XLM-E), for the gate.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ordinate.arguments import check_integer
from ordinate.position.base import ScoreBias, full_precision
from ordinate.position.bias.content import check_content
from ordinate.position.bias.distance import distances
from ordinate.position.bias.t5 import T5Bias

__all__ = ["GatedBias"]


class GatedBias(ScoreBias):
    """A learned number for each head and bucket of distances, times a gate of the query.

    bias(i, j) = g_i b[bucket(i - j), h], with g_i = a_i (r_i c_h - 1) + 2 and a_i, r_i the sigmoids of two linear functions of
    the content of head h at i (each the sum of four rows of one projection, as trained).

    The released models gate on the layer's input, cut into heads, and not on the projected queries of the paper: call the
    module with that as `query` and hand the result to attention. In `attend` the query of the head is the content.

    Args:
        num_heads: query heads H.
        head_dim: channels D of a head.
        num_buckets: rows of the table, both directions together.
        max_distance: distance from which on all share the last bucket, in tokens.

    The parameters are those of a checkpoint: `gru_rel_pos_linear` is `gate`, `gru_rel_pos_const` is `constant`, and
    `rel_attn_embed` of the first layer is `buckets`, which all layers share.

    Raises:
        ArgumentError: no heads or channels; buckets as in `T5Bias`.

    Source: Chen et al. 2021, arXiv 2110.13900, section III-A, eqs. 3-6.

    >>> GatedBias(2, 8).bias(torch.arange(3), torch.arange(3), torch.randn(1, 2, 3, 8)).shape
    torch.Size([1, 2, 3, 3])
    """

    needs_content = True

    def __init__(self, num_heads: int, head_dim: int, *, num_buckets: int = 320, max_distance: int = 800) -> None:
        super().__init__()
        check_integer("head_dim", head_dim, minimum=1)
        self.buckets = T5Bias(num_heads, num_buckets=num_buckets, max_distance=max_distance)
        self.num_heads, self.head_dim = num_heads, head_dim
        self.num_buckets, self.max_distance = num_buckets, max_distance
        self.gate = nn.Linear(head_dim, 8)
        self.constant = nn.Parameter(torch.empty(num_heads))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw table and gate anew; the constants start at 1."""
        self.buckets.reset_parameters()
        self.gate.reset_parameters()
        nn.init.ones_(self.constant)

    @full_precision
    def bias(
        self,
        query_positions: Tensor,
        key_positions: Tensor,
        query: Tensor | None = None,
        key: Tensor | None = None,
        scale: float | None = None,
    ) -> Tensor:
        """[B, H, T, S], float32 or wider.

        Args:
            query_positions, key_positions: integers [T] or [B, T] and [S] or [B, S].
            query: [B, H, T, D], what the gates read.
            key, scale: not looked at.

        Raises:
            ArgumentError: no query.
            ShapeError: sizes that do not fit.
        """
        content, _ = check_content(
            query, None, query_positions, key_positions, num_heads=self.num_heads, head_dim=self.head_dim, needs_key=False
        )
        rows = nn.functional.linear(content, self.gate.weight.to(content.dtype), self.gate.bias.to(content.dtype))
        opened, reset = rows.unflatten(-1, (2, 4)).sum(-1).sigmoid().unbind(-1)
        gates = opened * (reset * self.constant.to(content.dtype).unsqueeze(-1) - 1) + 2
        values = self.buckets.of_distance(distances(query_positions, key_positions))
        return gates.unsqueeze(-1) * (values.transpose(0, 1) if values.ndim == 4 else values)
