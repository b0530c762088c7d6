"""Scores of queries with a vector for each distance, where queries and keys stand in unbroken order.

Row i of the score matrix then takes a stretch of one table of vectors, shifted by one from row to row: the product of a block
of queries with its stretch of the table holds every score, and reading it with a stride one short of its width is the score
matrix. No [T, S, D] tensor is made and no index; beyond the scores the memory is that of the table and of one block, linear
in the number of tokens. The general case, any positions at all, is a gather and lives with the encodings.

Source: Huang et al. 2018, arXiv 1809.04281, section 3.4.1 (skewing, masked); Dai et al. 2019, arXiv 1901.02860, appendix B. The
unmasked form needs T + S - 1 vectors, one for each distance, and gets them here.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

__all__ = ["distance_range", "products", "share_one_offset", "skewed_scores", "skewed_values"]

_BLOCK = 128  # queries whose products with the table exist at one time


def share_one_offset(query_positions: Tensor, key_positions: Tensor) -> bool:
    """Whether both rise by one from token to token, with one offset between them for the whole batch.

    Looks at values, so it is asked in eager mode only.
    """
    for positions in (query_positions, key_positions):
        if positions.numel() == 0 or not bool((positions.diff(dim=-1) == 1).all()):
            return False
    offsets = query_positions[..., :1] - key_positions[..., :1]
    return bool((offsets == offsets.flatten()[0]).all())


def distance_range(query_positions: Tensor, key_positions: Tensor) -> Tensor:
    """Every distance between queries and keys in unbroken order, falling by one: [T + S - 1], first query's first key at T - 1.

    >>> distance_range(torch.tensor([2, 3]), torch.tensor([0, 1, 2, 3]))
    tensor([ 3,  2,  1,  0, -1])
    """
    queries, keys = query_positions.shape[-1], key_positions.shape[-1]
    first = query_positions.flatten()[0].long() - key_positions.flatten()[0].long() + (queries - 1)
    return first - torch.arange(queries + keys - 1, device=query_positions.device)


def skewed_scores(query: Tensor, table: Tensor) -> Tensor:
    """score(i, j) = query_i . table[T - 1 - i + j].

    Args:
        query: [B, H, T, D].
        table: [H, T + S - 1, D], or [1, T + S - 1, D] where the heads share it; row c belongs to the distance of the last
            query to the first key, minus c.

    Returns:
        [B, H, T, S].

    >>> skewed_scores(torch.ones(1, 1, 2, 1), torch.tensor([[[3.0], [2.0], [1.0], [0.0]]]))
    tensor([[[[2., 1., 0.],
              [3., 2., 1.]]]])
    """
    if torch.compiler.is_compiling():
        return _narrowed(products(query, table))
    return _Scores.apply(query, table)


def skewed_values(weights: Tensor, table: Tensor) -> Tensor:
    """term_i = sum over j of weights(i, j) table[T - 1 - i + j], the transpose of `skewed_scores`.

    Args:
        weights: [B, H, T, S].
        table: [H, T + S - 1, V] or [1, T + S - 1, V].

    Returns:
        [B, H, T, V].
    """
    if torch.compiler.is_compiling():
        return _combined(_widened(weights), table)
    return _Values.apply(weights, table)


# sum_ijd w_ij q_id l_(T-1-i+j)d is linear in weights, queries and table. Each of the three functions below is its derivative
# by one of them, so each one's backward is the other two, as often as one likes.


class _Scores(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, query: Tensor, table: Tensor) -> Tensor:
        ctx.save_for_backward(query, table)
        queries, keys = query.shape[2], table.shape[1] - query.shape[2] + 1
        scores = query.new_empty(*query.shape[:3], keys)
        for start, stop, rows_met in _blocks(queries, keys):
            wide = products(query[:, :, start:stop], table[:, rows_met])
            scores[:, :, start:stop] = _diagonals(wide, keys)
        return scores

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor | None]:
        query, table = ctx.saved_tensors
        by_query, by_table = ctx.needs_input_grad
        return (
            _Values.apply(gradient, table) if by_query else None,
            _Table.apply(gradient, query, table.shape[0]) if by_table else None,
        )


class _Values(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, weights: Tensor, table: Tensor) -> Tensor:
        ctx.save_for_backward(weights, table)
        batch, heads, queries, keys = weights.shape
        terms = weights.new_empty(batch, heads, queries, table.shape[2])
        for start, stop, rows_met in _blocks(queries, keys):
            wide = _spread(weights[:, :, start:stop])
            terms[:, :, start:stop] = _combined(wide, table[:, rows_met])
        return terms

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor | None]:
        weights, table = ctx.saved_tensors
        by_weights, by_table = ctx.needs_input_grad
        return (
            _Scores.apply(gradient, table) if by_weights else None,
            _Table.apply(weights, gradient, table.shape[0]) if by_table else None,
        )


class _Table(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, weights: Tensor, query: Tensor, table_heads: int) -> Tensor:
        ctx.save_for_backward(weights, query)
        queries, keys = weights.shape[2:]
        table = query.new_zeros(table_heads, queries + keys - 1, query.shape[3])
        for start, stop, rows_met in _blocks(queries, keys):
            wide = _spread(weights[:, :, start:stop])
            block = query[:, :, start:stop]
            if table_heads == 1:
                table[0, rows_met] += wide.flatten(0, 2).T @ block.flatten(0, 2)
            else:
                table[:, rows_met] += torch.einsum("bhtr,bhtd->hrd", wide, block)
        return table

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor | None, None]:
        weights, query = ctx.saved_tensors
        by_weights, by_query, _ = ctx.needs_input_grad
        return (
            _Scores.apply(query, gradient) if by_weights else None,
            _Values.apply(weights, gradient) if by_query else None,
            None,
        )


def _blocks(queries: int, keys: int) -> list[tuple[int, int, slice]]:
    """First and last query of each block, and the rows of the table that it meets."""
    bounds = [(start, min(start + _BLOCK, queries)) for start in range(0, queries, _BLOCK)]
    return [(start, stop, slice(queries - stop, queries - start + keys - 1)) for start, stop in bounds]


def products(query: Tensor, vectors: Tensor) -> Tensor:
    """query [B, H, T, D] times every vector [H, R, D], or [1, R, D] that the heads share: [B, H, T, R], rows unbroken."""
    if vectors.shape[0] == 1:
        return query @ vectors[0].T  # one plain product, and no copy of the vectors for each head
    return torch.einsum("bhtd,hrd->bhtr", query, vectors)


def _combined(weights: Tensor, vectors: Tensor) -> Tensor:
    """weights [B, H, T, R] times vectors [H, R, D] or [1, R, D], summed over R: [B, H, T, D]."""
    if vectors.shape[0] == 1:
        return weights @ vectors[0]
    return torch.einsum("bhtr,hrd->bhtd", weights, vectors)


def _diagonals(wide: Tensor, keys: int) -> Tensor:
    """Products [B, H, t, t + S - 1] read with a stride one short of the row: [B, H, t, S], a view."""
    rows, width = wide.shape[2:]
    assert width == 1 or wide.stride(3) == 1
    assert rows == 1 or wide.stride(2) == width
    size, stride = (*wide.shape[:3], keys), (wide.stride(0), wide.stride(1), width - 1, 1)
    return wide.as_strided(size, stride, wide.storage_offset() + rows - 1)


def _spread(weights: Tensor) -> Tensor:
    """The transpose of `_diagonals`: weights [B, H, t, S] in their places of a [B, H, t, t + S - 1] of zeros."""
    rows, keys = weights.shape[2:]
    wide = weights.new_zeros(*weights.shape[:3], rows + keys - 1)
    _diagonals(wide, keys).copy_(weights)
    return wide


# Under torch.compile the same in one block of plain operations, which take a symbolic length.


def _narrowed(wide: Tensor) -> Tensor:
    """[B, H, t, t + S - 1] to [B, H, t, S]: a column in front, then rows one longer read as rows one shorter."""
    rows, width = wide.shape[2:]
    padded = torch.nn.functional.pad(wide, (1, 0)).flatten(2)[..., rows:]
    return padded.unflatten(2, (rows, width))[..., : width - rows + 1]


def _widened(weights: Tensor) -> Tensor:
    """The transpose of `_narrowed`."""
    rows, keys = weights.shape[2:]
    spaced = torch.nn.functional.pad(weights, (0, rows - 1)).flatten(2)
    return torch.nn.functional.pad(spaced, (rows, 0)).unflatten(2, (rows, rows + keys))[..., 1:]
