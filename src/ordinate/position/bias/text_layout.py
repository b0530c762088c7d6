"""A bias for words on a page: by the distance in reading order, and by the offsets of their boxes.

Sources: Xu et al. 2020, arXiv 2012.14740 (LayoutLMv2), section 3.2; Huang et al. 2022, arXiv 2204.08387 (LayoutLMv3).
"""

from __future__ import annotations

import math

from torch import Tensor

from ordinate.arguments import check_integer
from ordinate.position.base import ScoreBias
from ordinate.position.bias.t5 import T5Bias
from ordinate.position.indices import check_axis_positions

__all__ = ["TextLayoutBias"]


class TextLayoutBias(ScoreBias):
    """bias(i, j) = (b[i - j] + b_x[x_i - x_j] + b_y[y_i - y_j]) / sqrt(D), each a learned number for a head and bucket.

    A position is (place in the row, x, y) with x the left edge of a word's box and y its lower one, in the page's units (0 to
    1000 in the released models). Buckets are those of `T5Bias`, in both directions.

    Args:
        num_heads: query heads H.
        head_dim: channels D of a head.
        num_buckets, max_distance: of the places in the row.
        layout_buckets, max_offset: of x and y.

    A checkpoint's tables are [H, buckets] and go in transposed: `rel_pos_bias.weight`, `rel_pos_x_bias.weight` and
    `rel_pos_y_bias.weight` are `row.weight.T`, `x.weight.T`, `y.weight.T`.

    Raises:
        ArgumentError: no heads or channels; buckets as in `T5Bias`.

    Source: Xu et al. 2020, arXiv 2012.14740, eqs. 9-10.

    >>> import torch
    >>> words = torch.tensor([[0, 10, 20], [1, 300, 20], [2, 10, 45]])
    >>> TextLayoutBias(4, 16).bias(words, words).shape
    torch.Size([4, 3, 3])
    """

    needs_content = False
    axes = 3

    def __init__(
        self,
        num_heads: int,
        head_dim: int,
        *,
        num_buckets: int = 32,
        max_distance: int = 128,
        layout_buckets: int = 64,
        max_offset: int = 256,
    ) -> None:
        super().__init__()
        check_integer("head_dim", head_dim, minimum=1)
        self.num_heads, self.head_dim = num_heads, head_dim
        self.num_buckets, self.max_distance = num_buckets, max_distance
        self.layout_buckets, self.max_offset = layout_buckets, max_offset
        self.row = T5Bias(num_heads, num_buckets=num_buckets, max_distance=max_distance)
        self.x = T5Bias(num_heads, num_buckets=layout_buckets, max_distance=max_offset)
        self.y = T5Bias(num_heads, num_buckets=layout_buckets, max_distance=max_offset)

    def reset_parameters(self) -> None:
        """Draw the tables anew."""
        for table in (self.row, self.x, self.y):
            table.reset_parameters()

    def bias(
        self,
        query_positions: Tensor,
        key_positions: Tensor,
        query: Tensor | None = None,
        key: Tensor | None = None,
        scale: float | None = None,
    ) -> Tensor:
        """[H, T, S] for positions [T, 3] and [S, 3], [B, H, T, S] where either has rows; float32 or wider.

        Raises:
            ShapeError: positions without their three numbers.
            ArgumentTypeError: positions that are not integers.
        """
        check_axis_positions("query_positions", query_positions, 3, continuous=False)
        check_axis_positions("key_positions", key_positions, 3, continuous=False)
        places = zip((self.row, self.x, self.y), query_positions.unbind(-1), key_positions.unbind(-1), strict=True)
        terms = [table.bias(of_query, of_key) for table, of_query, of_key in places]
        return (terms[0] + terms[1] + terms[2]) / math.sqrt(self.head_dim)
