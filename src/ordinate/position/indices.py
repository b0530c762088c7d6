"""Positions as tensors: of a row, of padded rows, of packed documents, of tokens that follow a cache.

Every encoding here is a function of positions that the caller gives. Left padding, packing, a cache: all are just other
integers, and this file makes them. Results are int64, [T] or [B, T], on the device of what came in. Positions with several
axes (grids, text among images) are made in `ordinate.position.axes`, those of token ids with images in
`ordinate.position.token_families`, other orders (shards, random subsets, places inside a cache) in
`ordinate.position.index_orders`, and all are offered here too.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from ordinate.errors import ArgumentError, ArgumentTypeError, ShapeError
from ordinate.position.axes import Grid, circle, following, grid, multimodal, on_every_axis, padded, text_and_image
from ordinate.position.base import values_at_hand
from ordinate.position.index_orders import in_cache, randomised, shard, unshard
from ordinate.position.token_families import TOKEN_FAMILIES, TokenFamily, from_tokens
from ordinate.shapes import check_shape

__all__ = [
    "TOKEN_FAMILIES",
    "Grid",
    "TokenFamily",
    "appended",
    "check_axis_positions",
    "check_positions",
    "circle",
    "consecutive",
    "documents",
    "following",
    "from_cumulative",
    "from_documents",
    "from_lengths",
    "from_mask",
    "from_tokens",
    "grid",
    "in_cache",
    "multimodal",
    "on_every_axis",
    "padded",
    "randomised",
    "shard",
    "text_and_image",
    "unshard",
]

_INTEGERS = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)
_CONTINUOUS = (torch.float32, torch.float64)


def consecutive(length: int, start: int | Tensor = 0, *, device: torch.device | str | None = None) -> Tensor:
    """Positions start, start + 1, ..., start + length - 1.

    Args:
        length: number of tokens T, zero or more.
        start: the first position, or one for each row as integers [B].
        device: where the result lives; by default that of `start`, else the CPU.

    Returns:
        int64 [T], or [B, T] where `start` is [B].

    Raises:
        ArgumentError: a negative length.
        ArgumentTypeError: a length or start that is not an integer.

    >>> consecutive(4, start=3)
    tensor([3, 4, 5, 6])
    """
    _check_count("length", length)
    if isinstance(start, Tensor):
        _check_integers("start", start)
        if start.ndim > 1:
            check_shape("start", start, "B")
        steps = torch.arange(length, device=device if device is not None else start.device)
        return start.to(steps).unsqueeze(-1) + steps
    if isinstance(start, bool) or not isinstance(start, int):
        raise ArgumentTypeError("start", expected="an int or an integer tensor [B]", got=start, hint="pass a whole position")
    return torch.arange(start, start + length, device=device)


def appended(cached_lengths: int | Tensor, length: int, *, device: torch.device | str | None = None) -> Tensor:
    """Positions of `length` new tokens behind a cache that already holds `cached_lengths` tokens.

    Args:
        cached_lengths: real tokens in the cache, or one count for each row as integers [B]. A key mask is not a count:
            pass `mask.sum(-1)`.
        length: number of new tokens T.

    Returns:
        int64 [T], or [B, T].

    Raises:
        ArgumentError: a negative count.

    >>> appended(torch.tensor([2, 5]), 3)
    tensor([[2, 3, 4],
            [5, 6, 7]])
    """
    if isinstance(cached_lengths, Tensor):
        _check_integers("cached_lengths", cached_lengths)
        if bool((cached_lengths < 0).any()):
            raise ArgumentError(
                "cached_lengths", expected="counts of 0 or more", got=cached_lengths.tolist(), hint="pass mask.sum(-1)"
            )
    else:
        _check_count("cached_lengths", cached_lengths)
    return consecutive(length, start=cached_lengths, device=device)


def from_mask(mask: Tensor) -> Tensor:
    """Positions that count only real tokens: the first real token of every row stands at 0, padding left or right.

    Padding gets a position too, so that tables can be indexed: 0 on the left, that of the last real token on the right. Hide
    it with `ordinate.attention.Padding`.

    Args:
        mask: bool, or integers 0 and 1, [T] or [B, T]; true where the token is real.

    Returns:
        int64 of the same shape.

    Raises:
        ArgumentError: values other than 0 and 1.
        ArgumentTypeError: a mask of floats (an additive mask, say).

    >>> from_mask(torch.tensor([0, 0, 1, 1, 1]))
    tensor([0, 0, 0, 1, 2])
    """
    check_shape("mask", mask, "T | B T")
    if mask.dtype is not torch.bool:
        _check_integers("mask", mask)
        if bool(((mask != 0) & (mask != 1)).any()):
            raise ArgumentError(
                "mask", expected="only 0 (padding) and 1 (token)", got=mask.unique().tolist(), hint="pass tokens != pad_id"
            )
    return (mask.long().cumsum(-1) - 1).clamp_min(0)


def from_lengths(lengths: Sequence[int] | Tensor) -> Tensor:
    """Positions of documents packed into one row: they restart at 0 in every document.

    Args:
        lengths: tokens of each document, in order.

    Returns:
        int64 [T] with T the sum of the lengths.

    Raises:
        ArgumentError: a negative length.

    >>> from_lengths([3, 2])
    tensor([0, 1, 2, 0, 1])
    """
    counts = _lengths("lengths", lengths)
    starts = counts.cumsum(0) - counts
    total = torch.arange(int(counts.sum()), device=counts.device)
    return total - starts.repeat_interleave(counts)


def from_cumulative(cumulative_lengths: Sequence[int] | Tensor) -> Tensor:
    """Positions of packed documents given as boundaries (`cu_seqlens`): [0, 3, 5] is a document of 3 tokens and one of 2.

    Raises:
        ArgumentError: boundaries that do not start at 0 or that fall.

    >>> from_cumulative([0, 3, 5])
    tensor([0, 1, 2, 0, 1])
    """
    bounds = torch.as_tensor(cumulative_lengths)
    _check_integers("cumulative_lengths", bounds)
    check_shape("cumulative_lengths", bounds, "B")
    lengths = bounds.diff()
    if bounds.numel() == 0 or int(bounds[0]) != 0 or bool((lengths < 0).any()):
        raise ArgumentError(
            "cumulative_lengths",
            expected="boundaries that start at 0 and never fall",
            got=bounds.tolist(),
            hint="pass [0, *itertools.accumulate(lengths)], or lengths to from_lengths",
        )
    return from_lengths(lengths)


def from_documents(documents: Tensor) -> Tensor:
    """Positions of packed tokens from the document of each: how many tokens of the same document stand before it in the row.

    Args:
        documents: integers [T] or [B, T], in any order of numbers (`ordinate.attention.Documents` takes the same). Padding may
            be a document of its own.

    Returns:
        int64 of the same shape.

    Raises:
        ArgumentTypeError: documents that are no integers.

    >>> from_documents(torch.tensor([7, 7, 7, 2, 2]))
    tensor([0, 1, 2, 0, 1])
    """
    check_shape("documents", documents, "T | B T")
    _check_integers("documents", documents)
    order = documents.argsort(dim=-1, stable=True)
    grouped = documents.gather(-1, order)
    places = torch.arange(documents.shape[-1], device=documents.device).expand_as(documents)
    begins = torch.ones_like(grouped, dtype=torch.bool)
    begins[..., 1:] = grouped.diff(dim=-1) != 0
    firsts = places.where(begins, 0).cummax(-1).values if documents.numel() else places
    return torch.empty_like(order).scatter_(-1, order, places - firsts)


def documents(lengths: Sequence[int] | Tensor) -> Tensor:
    """The number of the document that each packed token belongs to, for `ordinate.attention.Documents`.

    >>> documents([3, 2])
    tensor([0, 0, 0, 1, 1])
    """
    counts = _lengths("lengths", lengths)
    return torch.arange(counts.numel(), device=counts.device).repeat_interleave(counts)


def check_positions(
    name: str, positions: Tensor, *, length: int | None = None, batch: int | None = None, continuous: bool = True
) -> None:
    """Raise unless `positions` is an integer tensor [T] or [B, T] (or float32/float64, where `continuous`).

    Half-precision positions are refused: bfloat16 cannot tell 256 from 257. Whether floats are finite is looked at in eager
    mode only.
    """
    if not isinstance(positions, Tensor):
        raise ArgumentTypeError(
            name,
            expected="an integer tensor [T] or [B, T]",
            got=type(positions).__name__,
            hint="pass ordinate.position.indices.consecutive(length)",
        )
    if positions.dtype not in _INTEGERS and not (continuous and positions.dtype in _CONTINUOUS):
        allowed = "integers, float32 or float64" if continuous else "integers"
        raise ArgumentTypeError(
            name,
            expected=f"positions as {allowed}",
            got=str(positions.dtype),
            hint="keep positions out of the model's dtype: pass positions.long() before they are rounded",
        )
    sizes = check_shape(name, positions, "T | B T")
    if length is not None and sizes["T"] != length:
        raise ShapeError(
            name,
            expected=f"one position for each of the {length} tokens",
            got=f"shape {tuple(positions.shape)}",
            hint="a cache or a shard has positions of its own: pass those of the tokens in hand",
        )
    if batch is not None and sizes.get("B", 1) not in (1, batch):
        raise ShapeError(
            name,
            expected=f"[T], or [B, T] with B={batch}",
            got=f"shape {tuple(positions.shape)}",
            hint="give each row of the batch its positions",
        )
    if positions.is_floating_point() and values_at_hand(positions) and not bool(positions.isfinite().all()):
        raise ArgumentError(name, expected="finite positions", got="NaN or infinity", hint="look at where they were computed")


def check_axis_positions(
    name: str, positions: Tensor, axes: int, *, length: int | None = None, batch: int | None = None, continuous: bool = True
) -> None:
    """Raise unless `positions` is [T, A] or [B, T, A] with A = `axes`, of a dtype that `check_positions` accepts."""
    if not isinstance(positions, Tensor):
        raise ArgumentTypeError(
            name,
            expected=f"a tensor [T, {axes}] or [B, T, {axes}]",
            got=type(positions).__name__,
            hint="pass ordinate.position.indices.grid(height, width)",
        )
    if positions.ndim not in (2, 3) or positions.shape[-1] != axes:
        raise ShapeError(
            name,
            expected=f"positions with {axes} axes, [T, {axes}] or [B, T, {axes}]",
            got=f"shape {tuple(positions.shape)}",
            hint="make them with indices.grid or indices.multimodal; text goes through indices.on_every_axis",
        )
    for along in positions.unbind(-1):
        check_positions(name, along, length=length, batch=batch, continuous=continuous)


def _check_count(name: str, count: int) -> None:
    if isinstance(count, bool) or not isinstance(count, int | torch.SymInt):
        raise ArgumentTypeError(name, expected="a whole number of tokens", got=count, hint="pass an int")
    if count < 0:
        raise ArgumentError(name, expected="0 or more tokens", got=count, hint="pass the number of tokens in hand")


def _check_integers(name: str, tensor: Tensor) -> None:
    if tensor.dtype not in _INTEGERS:
        raise ArgumentTypeError(name, expected="an integer tensor", got=str(tensor.dtype), hint="convert it with .long()")


def _lengths(name: str, lengths: Sequence[int] | Tensor) -> Tensor:
    counts = torch.as_tensor(lengths) if len(lengths) else torch.zeros(0, dtype=torch.int64)
    _check_integers(name, counts)
    check_shape(name, counts, "B")
    if bool((counts < 0).any()):
        raise ArgumentError(
            name, expected="lengths of 0 or more tokens", got=counts.tolist(), hint="boundaries go to from_cumulative"
        )
    return counts.long()
