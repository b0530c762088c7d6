"""Relative encodings with a learned vector for each distance: Shaw's, clipped, and the Music Transformer's, skewed.

Both add query_i . a(j - i) to the score of query i and key j. They stand together because all they need is a table and the way
from a distance to its row; how the products are formed without a [T, S, D] tensor is in `content_bias` and `skew`. Sources:
Shaw et al. 2018, arXiv 1803.02155; Huang et al. 2018, arXiv 1809.04281.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from ordinate.arguments import check_integer
from ordinate.errors import PositionRangeError
from ordinate.position.base import ScoreBias, full_precision, values_at_hand
from ordinate.position.bias.content import (
    Way,
    check_content,
    check_way,
    scores_by_row,
    takes_skew,
    usual_scale,
)
from ordinate.position.bias.distance import distances
from ordinate.position.bias.skew import distance_range, skewed_values
from ordinate.position.indices import check_positions
from ordinate.shapes import check_shape

__all__ = ["MusicRelative", "ShawRelative"]


class ShawRelative(ScoreBias):
    """A learned vector for each distance up to k, added to keys and to values; the heads share both tables.

    score(i, j) = q_i . (k_j + a^K_c(j - i)) / sqrt(D), z_i = sum over j of w_ij (v_j + a^V_c(j - i)), with
    c(x) = max(-k, min(k, x)): past the clipping distance every key looks equally far.

    Args:
        head_dim: channels D of a head, and of a value.
        max_distance: the clipping distance k into the past.
        max_future: the clipping distance into the future; by default also k. Wav2Vec2-BERT has 64 and 8.
        values: whether there is a table for values too; without it `value_term` is None.
        impl: "general" gathers by distance for any positions, "skew" needs unbroken ones, "auto" looks.

    Raises:
        ArgumentError: a size below 1, a negative distance, an unknown impl.

    Source: Shaw et al. 2018, arXiv 1803.02155, eqs. 3 to 5.

    >>> shaw = ShawRelative(2, 1)
    >>> _ = shaw.key_table.data.copy_(torch.tensor([[1.0, 0.0], [2.0, 0.0], [3.0, 0.0]]))  # one back, here, one ahead
    >>> q = k = torch.ones(1, 1, 3, 2)
    >>> shaw.bias(torch.arange(3), torch.arange(3), q, k, scale=1.0)[0, 0]
    tensor([[2., 3., 3.],
            [1., 2., 3.],
            [1., 1., 2.]], grad_fn=<SelectBackward0>)
    """

    needs_content = True

    def __init__(
        self, head_dim: int, max_distance: int, *, max_future: int | None = None, values: bool = True, impl: Way = "auto"
    ) -> None:
        super().__init__()
        check_integer("head_dim", head_dim, minimum=1)
        check_integer("max_distance", max_distance, minimum=0)
        check_integer("max_future", max_distance if max_future is None else max_future, minimum=0)
        check_way(impl)
        self.head_dim, self.max_distance, self.values, self.impl = head_dim, max_distance, values, impl
        self.max_future = max_distance if max_future is None else max_future
        rows = max_distance + 1 + self.max_future
        self.key_table = nn.Parameter(torch.empty(rows, head_dim))  # from -k, the farthest past, to the future, as in eq. 4
        if values:
            self.value_table = nn.Parameter(torch.empty(rows, head_dim))
        else:
            self.value_term = None  # type: ignore[method-assign, assignment]
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the tables anew from N(0, 1 / D), as tensor2tensor does."""
        for table in self.parameters():
            nn.init.normal_(table, std=self.head_dim**-0.5)

    @full_precision
    def bias(
        self,
        query_positions: Tensor,
        key_positions: Tensor,
        query: Tensor | None = None,
        key: Tensor | None = None,
        scale: float | None = None,
    ) -> Tensor:
        """scale q_i . a^K_c(j - i), [B, H, T, S], float32 or wider.

        Args:
            query_positions, key_positions: integers [T] or [B, T] and [S] or [B, S].
            query: [B, H, T, D]; the keys themselves are not looked at.
            scale: what the products of queries and keys are multiplied by, 1 / sqrt(D) by default.

        Raises:
            RefusedError: impl="skew" for positions that are not in unbroken order.
        """
        wide, _ = check_content(query, None, query_positions, key_positions, head_dim=self.head_dim, needs_key=False)
        skew = takes_skew(self.impl, query_positions, key_positions)
        distance = None if skew else distances(query_positions, key_positions)
        table = self.key_table.to(wide.dtype).unsqueeze(0)
        scaled = wide * (usual_scale(wide) if scale is None else scale)  # the queries: scores are the larger tensor
        return scores_by_row(scaled, table, self._rows, query_positions, key_positions, distance)

    @full_precision
    def value_term(self, weights: Tensor, query_positions: Tensor, key_positions: Tensor) -> Tensor:
        """sum over j of w_ij a^V_c(j - i), [B, H, T, D].

        Args:
            weights: attention weights [B, H, T, S] after softmax.
            query_positions, key_positions: as in `bias`.
        """
        sizes = check_shape("weights", weights, "B H T S")
        check_positions("query_positions", query_positions, length=sizes["T"], batch=sizes["B"], continuous=False)
        check_positions("key_positions", key_positions, length=sizes["S"], batch=sizes["B"], continuous=False)
        table = self.value_table.to(weights.dtype)
        if takes_skew(self.impl, query_positions, key_positions):
            rows = self._rows(distance_range(query_positions, key_positions))
            return skewed_values(weights, table[rows].unsqueeze(0))
        rows = self._rows(distances(query_positions, key_positions)).unsqueeze(-3)
        gathered = weights.new_zeros(*weights.shape[:3], table.shape[0]).scatter_add(-1, rows.expand(weights.shape), weights)
        return gathered @ table

    def _rows(self, distance: Tensor) -> Tensor:
        return self.max_distance - distance.clamp(-self.max_future, self.max_distance)

    def _passed(self) -> dict[str, Any]:
        return {"max_future": None if self.max_future == self.max_distance else self.max_future}


class MusicRelative(ScoreBias):
    """A learned vector for each distance and head, without clipping: the Music Transformer's, masked or in both directions.

    score(i, j) = q_i . (k_j + e_(j - i)) / sqrt(D). A distance that has no vector is an error, never a wrap or a clamp; in the
    masked form a key ahead of the query gets 0 and is to be hidden by a causal mask.

    Args:
        num_heads: query heads H.
        head_dim: channels D of a head.
        max_distance: the largest distance with a vector of its own; rows of n tokens need n - 1.
        bidirectional: vectors for keys ahead of the query too, 2 max_distance + 1 in all.
        shared_heads: one table for all heads.
        impl: "general" gathers by distance for any positions, "skew" needs unbroken ones, "auto" looks.

    Raises:
        ArgumentError: a size below 1, a negative distance, an unknown impl.

    Source: Huang et al. 2018, arXiv 1809.04281, eq. 3 and section 3.4.1 (masked).

    >>> music = MusicRelative(1, 1, 2)
    >>> _ = music.table.data.copy_(torch.tensor([[[3.0], [2.0], [1.0]]]))  # two back, one back, here
    >>> q = torch.ones(1, 1, 3, 1)
    >>> music.bias(torch.arange(3), torch.arange(3), q, q)[0, 0]
    tensor([[1., 0., 0.],
            [2., 1., 0.],
            [3., 2., 1.]], grad_fn=<SelectBackward0>)
    """

    needs_content = True

    def __init__(
        self,
        num_heads: int,
        head_dim: int,
        max_distance: int,
        *,
        bidirectional: bool = False,
        shared_heads: bool = False,
        impl: Way = "auto",
    ) -> None:
        super().__init__()
        check_integer("num_heads", num_heads, minimum=1)
        check_integer("head_dim", head_dim, minimum=1)
        check_integer("max_distance", max_distance, minimum=0)
        check_way(impl)
        self.num_heads, self.head_dim, self.max_distance = num_heads, head_dim, max_distance
        self.bidirectional, self.shared_heads, self.impl = bidirectional, shared_heads, impl
        rows = 2 * max_distance + 1 if bidirectional else max_distance + 1
        self.table = nn.Parameter(torch.empty(1 if shared_heads else num_heads, rows, head_dim))  # from the farthest past on
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the table anew from N(0, 1 / D), as tensor2tensor does."""
        nn.init.normal_(self.table, std=self.head_dim**-0.5)

    @full_precision
    def bias(
        self,
        query_positions: Tensor,
        key_positions: Tensor,
        query: Tensor | None = None,
        key: Tensor | None = None,
        scale: float | None = None,
    ) -> Tensor:
        """scale q_i . e_(j - i), [B, H, T, S], float32 or wider.

        Args:
            query_positions, key_positions: integers [T] or [B, T] and [S] or [B, S].
            query: [B, H, T, D]; the keys themselves are not looked at.
            scale: what the products of queries and keys are multiplied by, 1 / sqrt(D) by default.

        Raises:
            PositionRangeError: a distance past `max_distance` (looked at in eager mode; compiled code leaves it to the index
                check of the device).
            RefusedError: impl="skew" for positions that are not in unbroken order.
        """
        wide, _ = check_content(
            query, None, query_positions, key_positions, num_heads=self.num_heads, head_dim=self.head_dim, needs_key=False
        )
        self._check_range(query_positions, key_positions)
        skew = takes_skew(self.impl, query_positions, key_positions)
        distance = None if skew else distances(query_positions, key_positions)
        table = self.table.to(wide.dtype)
        if not self.bidirectional:
            table = nn.functional.pad(table, (0, 0, 0, 1))  # the vector of every key ahead: zeros
        scaled = wide * (usual_scale(wide) if scale is None else scale)
        return scores_by_row(scaled, table, self._rows, query_positions, key_positions, distance)

    def _rows(self, distance: Tensor) -> Tensor:
        return self.max_distance - (distance if self.bidirectional else distance.clamp_min(-1))

    def _check_range(self, query_positions: Tensor, key_positions: Tensor) -> None:
        if not (values_at_hand(query_positions) and values_at_hand(key_positions)):
            return
        if query_positions.numel() == 0 or key_positions.numel() == 0:
            return
        past = int((query_positions.amax(-1) - key_positions.amin(-1)).max())
        future = int((key_positions.amax(-1) - query_positions.amin(-1)).max()) if self.bidirectional else 0
        if max(past, future) > self.max_distance:
            raise PositionRangeError(
                "query_positions",
                expected=f"no key farther than max_distance ({self.max_distance})",
                got=f"a distance of {max(past, future)}",
                hint="build the table longer, shorten the row, or clip distances with ShawRelative",
            )
