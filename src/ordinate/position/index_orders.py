"""Positions in other orders: shards of a long context, a random subset to train on, the places inside a streaming cache.

Split from `indices`, which re-exports these, because here tokens leave their order. Sources: Ruoss et al. 2023, arXiv
2305.16843 (randomised); Xiao et al. 2023, arXiv 2309.17453 (positions inside the cache); the zig-zag order balances a causal
mask, as in Llama 3's context parallelism (Llama team 2024, arXiv 2407.21783, section 3.3.2).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

import torch
from torch import Tensor

from ordinate.arguments import check_integer
from ordinate.errors import ArgumentError, ArgumentTypeError
from ordinate.shapes import check_shape

__all__ = ["in_cache", "randomised", "shard", "unshard"]


def shard(
    positions: Tensor,
    rank: int,
    world_size: int,
    zigzag: bool = False,
    *,
    lengths: Sequence[int] | Tensor | None = None,
    axes: bool = False,
) -> Tensor:
    """The positions of the tokens that one rank of a context-parallel group holds.

    Plain: the rank-th of `world_size` equal stretches. Zig-zag: stretches `rank` and `2 world_size - 1 - rank` of
    2 world_size, so that under a causal mask every rank has equal work. With `lengths` every packed document is cut so for
    itself, which keeps that balance where documents do not see each other.

    Args:
        positions: [T] or [B, T], with axes [T, A] or [B, T, A]; T, or each length, divides by world_size, by 2 world_size in
            zig-zag. Anything else that has its tokens there (ids, labels) is cut in the same way.
        rank: 0 to world_size - 1.
        world_size: ranks that share the context.
        zigzag: which order.
        lengths: tokens of each packed document, the same in every row; their sum is T.
        axes: whether two axes are [T, A] and not [B, T]; three are [B, T, A] in any case.

    Returns:
        [T / world_size] or [B, T / world_size], axes as they were: positions as they were, so encodings and masks need to know
        nothing.

    Raises:
        ArgumentError: a rank outside the group, a length that does not divide, lengths of another sum.

    >>> shard(torch.arange(8), 0, 2), shard(torch.arange(8), 0, 2, zigzag=True)
    (tensor([0, 1, 2, 3]), tensor([0, 1, 6, 7]))
    >>> shard(torch.tensor([0, 1, 2, 3, 0, 1, 2, 3]), 0, 2, zigzag=True, lengths=[4, 4])
    tensor([0, 3, 0, 3])
    """
    check_shape("positions", positions, "T A" if axes and positions.ndim == 2 else "T | B T | B T A")
    tokens = -1 if positions.ndim == 1 or (positions.ndim == 2 and not axes) else -2
    check_integer("rank", rank, minimum=0)
    length = positions.shape[tokens]
    stretches = _stretches(length, world_size, zigzag, lengths)
    if rank >= world_size:
        raise ArgumentError(
            "rank", expected=f"a rank below world_size ({world_size})", got=rank, hint="ranks are counted from 0"
        )
    pieces = [positions.narrow(tokens, start, stop - start) for start, stop in stretches[rank]]
    return torch.cat(pieces, dim=tokens) if pieces else positions.narrow(tokens, 0, 0)


def unshard(length: int, world_size: int, zigzag: bool = False, *, lengths: Sequence[int] | Tensor | None = None) -> Tensor:
    """The order that puts shards, joined by rank, back into the row: int64 [length].

    `torch.cat(shards, dim)` indexed with it along `dim` is the whole, of positions or of anything else sharded so.

    Args:
        length: tokens of the whole row.
        world_size, zigzag, lengths: as in `shard`.

    Raises:
        ArgumentError: a length that does not divide, lengths of another sum.

    >>> joined = torch.cat([shard(torch.arange(8), rank, 2, zigzag=True) for rank in range(2)])
    >>> joined, joined[unshard(8, 2, zigzag=True)]
    (tensor([0, 1, 6, 7, 2, 3, 4, 5]), tensor([0, 1, 2, 3, 4, 5, 6, 7]))
    """
    check_integer("length", length, minimum=0)
    stretches = _stretches(length, world_size, zigzag, lengths)
    pieces = [torch.arange(start, stop) for of_rank in stretches for start, stop in of_rank]
    return torch.cat(pieces).argsort() if pieces else torch.zeros(0, dtype=torch.int64)


def randomised(
    length: int,
    max_length: int,
    *,
    generator: torch.Generator | int,
    batch: int | None = None,
    device: torch.device | str | None = None,
) -> Tensor:
    """`length` positions drawn without replacement from 0 to max_length - 1 and sorted, so that training sees far ones.

    Args:
        length: tokens T of the row.
        max_length: positions to draw from, at least `length`.
        generator: of the draw, or a seed. A generator moves on: rows of the next step differ.
        batch: rows with a draw each; None draws one for all.
        device: where the result lives, by default the CPU.

    Returns:
        int64 [T], or [B, T], rising in every row.

    Raises:
        ArgumentError: fewer positions than tokens, a negative size.
        ArgumentTypeError: a generator that is none.

    Source: Ruoss et al. 2023, arXiv 2305.16843, section 3 (there from 1 on).

    >>> randomised(4, 100, generator=0)
    tensor([19, 44, 90, 93])
    """
    check_integer("length", length, minimum=0)
    check_integer("max_length", max_length, minimum=0)
    if max_length < length:
        raise ArgumentError(
            "max_length", expected=f"at least length ({length})", got=max_length, hint="no two tokens share a position"
        )
    if isinstance(generator, int) and not isinstance(generator, bool):
        generator = torch.Generator().manual_seed(generator)
    elif not isinstance(generator, torch.Generator):
        raise ArgumentTypeError(
            "generator", expected="a torch.Generator or a seed", got=type(generator).__name__, hint="pass an int"
        )
    if batch is not None:
        check_integer("batch", batch, minimum=0)
    rows = [
        torch.randperm(max_length, generator=generator, device=generator.device)[:length].sort().values
        for _ in range(1 if batch is None else batch)
    ]
    if batch == 0:
        return torch.zeros(0, length, dtype=torch.int64, device=device)
    return (rows[0] if batch is None else torch.stack(rows)).to(device)


def in_cache(length: int, *, sinks: int, window: int, device: torch.device | str | None = None) -> tuple[Tensor, Tensor]:
    """The tokens that a StreamingLLM cache holds after `length` tokens, and their positions inside the cache.

    Held are the first `sinks` tokens and the last `window`, the newest among them; they are renumbered without a gap, and the
    newest query stands where the newest key does. Keys are cached before rotation and turned at these positions at every step.

    Args:
        length: tokens of text so far, at least 1.
        sinks: tokens kept from the start.
        window: recent tokens kept, at least 1.
        device: where the results live.

    Returns:
        int64 [S] numbers of the cached tokens in the text, and int64 [S] their positions, S = min(length, sinks + window).

    Raises:
        ArgumentError: a size too small.

    Source: Xiao et al. 2023, arXiv 2309.17453, section 3.2.

    >>> in_cache(9, sinks=2, window=3)
    (tensor([0, 1, 6, 7, 8]), tensor([0, 1, 2, 3, 4]))
    """
    check_integer("length", length, minimum=1)
    check_integer("sinks", sinks, minimum=0)
    check_integer("window", window, minimum=1)
    places = torch.arange(min(length, sinks + window), device=device)
    return torch.where(places < sinks, places, places + (length - places.numel())), places


def _stretches(
    length: int, world_size: int, zigzag: bool, lengths: Sequence[int] | Tensor | None
) -> list[list[tuple[int, int]]]:
    """For each rank the stretches of the row that it holds, document after document."""
    check_integer("world_size", world_size, minimum=1)
    documents = [length] if lengths is None else [int(one) for one in lengths]
    if sum(documents) != length or min(documents, default=0) < 0:
        raise ArgumentError("lengths", expected=f"lengths of 0 or more that sum to the {length} tokens", got=documents)
    pieces = 2 * world_size if zigzag else world_size
    for one in documents:
        if one % pieces:
            raise ArgumentError(
                "positions" if lengths is None else "lengths",
                expected=f"a number of tokens that divides by {pieces} ({'2 x ' if zigzag else ''}world_size)",
                got=length if lengths is None else documents,
                hint="pad the row and hide the padding with ordinate.attention.Padding",
            )
    starts = [0, *accumulate(documents)]
    of_ranks = [[rank, pieces - 1 - rank] if zigzag else [rank] for rank in range(world_size)]
    return [
        [
            (start + piece * (one // pieces), start + (piece + 1) * (one // pieces))
            for start, one in zip(starts, documents, strict=False)
            for piece in of_rank
        ]
        for of_rank in of_ranks
    ]
