"""Biases that depend on the distance between query and key alone: what they share.

A member answers `of_distance`; the bias of any two sets of positions follows from it. They are computed from distances, never
from absolute positions, so they stay exact in any dtype and far out, and n consecutive tokens have at most 2n - 1 different
values: that is what keeps memory linear in `ordinate.attention.blocked`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

import torch
from torch import Tensor

from ordinate.position.base import ScoreBias
from ordinate.position.indices import check_positions

__all__ = ["DistanceBias", "ScoreMod", "distances", "one_position", "pair_distance"]

ScoreMod = Callable[[Tensor, Tensor, Tensor, Tensor, Tensor], Tensor]
"""(score, batch, head, query index, key index) -> score, as `torch.nn.attention.flex_attention` takes it."""


def distances(query_positions: Tensor, key_positions: Tensor) -> Tensor:
    """query_position - key_position, [T, S], or [B, T, S] where either has rows; the past is positive."""
    check_positions("query_positions", query_positions)
    check_positions("key_positions", key_positions, batch=query_positions.shape[0] if query_positions.ndim == 2 else None)
    widest = torch.promote_types(torch.promote_types(query_positions.dtype, key_positions.dtype), torch.int64)
    return query_positions.to(widest).unsqueeze(-1) - key_positions.to(widest).unsqueeze(-2)


class DistanceBias(ScoreBias, ABC):
    """A bias b_h(i, j) = b_h(i - j): the interface, and what follows from it."""

    needs_content = False

    @abstractmethod
    def of_distance(self, distance: Tensor) -> Tensor:
        """Bias [H, *], float32 or wider, of distances [*] = query - key position (any shape, int64 or floating)."""

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
        values = self.of_distance(distances(query_positions, key_positions))
        return values.transpose(0, 1) if values.ndim == 4 else values

    @abstractmethod
    def score_mod(self, query_positions: Tensor, key_positions: Tensor) -> ScoreMod:
        """The same bias as a function for `torch.nn.attention.flex_attention`, for these positions."""


def pair_distance(query_positions: Tensor, key_positions: Tensor) -> Callable[[Tensor, Tensor, Tensor], Tensor]:
    """(batch, query index, key index) -> distance, all scalar tensors, for use inside a `ScoreMod`."""
    check_positions("query_positions", query_positions)
    check_positions("key_positions", key_positions, batch=query_positions.shape[0] if query_positions.ndim == 2 else None)
    of_query, of_key = one_position(query_positions), one_position(key_positions)
    return lambda batch, query, key: of_query(batch, query) - of_key(batch, key)


def one_position(positions: Tensor) -> Callable[[Tensor, Tensor], Tensor]:
    """(batch, index) -> position of that token, from positions [T] or [B, T]."""
    if positions.ndim == 1 or positions.shape[0] == 1:
        row = positions.reshape(-1)
        return lambda batch, index: row[index]
    return lambda batch, index: positions[batch, index]
