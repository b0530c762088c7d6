"""What a decoder is given: token numbers looked at, and the positions that go without saying."""

from __future__ import annotations

import torch
from torch import Tensor

from ordinate.attention.cache import KVCache
from ordinate.attention.context_parallel import Group
from ordinate.errors import ArgumentError, ArgumentTypeError, RefusedError
from ordinate.position import indices

__all__ = ["check_tokens", "last_tokens", "refuse_in_cache", "usual_positions"]


def check_tokens(input_ids: Tensor, vocabulary: int) -> None:
    """Raise unless `input_ids` are integers from 0 to vocabulary - 1 (looked at in eager mode on a CPU)."""
    if input_ids.dtype not in (torch.int64, torch.int32):
        raise ArgumentTypeError("input_ids", expected="token numbers, int64", got=str(input_ids.dtype), hint="call .long()")
    if torch.compiler.is_compiling() or input_ids.device.type != "cpu" or input_ids.numel() == 0:
        return  # on a device the embedding's own check speaks up
    lowest, highest = (int(end) for end in input_ids.aminmax())
    if lowest < 0 or highest >= vocabulary:
        raise ArgumentError(
            "input_ids",
            expected=f"token numbers from 0 to {vocabulary - 1}",
            got=lowest if lowest < 0 else highest,
            hint="the tokenizer and the model must belong together",
        )


def refuse_in_cache(documents: Tensor | None, group: Group | None) -> None:
    """Raise where rows that go into a cache are packed or split."""
    if documents is not None or group is not None:
        raise RefusedError(
            "cache",
            expected="rows that are neither packed nor split",
            got="documents" if documents is not None else "a group",
            hint="generate each document in a row of its own, on one process",
        )


def usual_positions(
    input_ids: Tensor, token_mask: Tensor | None, documents: Tensor | None, cache: KVCache | None, group: Group | None
) -> Tensor:
    """0, 1, 2, ... for the real tokens of every row, or what follows in the cache; packed and split rows must say theirs."""
    if documents is not None or group is not None:
        raise ArgumentError(
            "positions",
            expected="the positions of packed or sharded rows",
            got=None,
            hint="pass indices.from_lengths(lengths), or indices.shard(positions, rank, world_size)",
        )
    if token_mask is None:
        tokens = input_ids.shape[1]
        return indices.consecutive(tokens, device=input_ids.device) if cache is None else cache.following(tokens)
    steps = indices.from_mask(token_mask)
    if cache is None:
        return steps
    return cache.following(1) + (steps if cache.axes is None else steps.unsqueeze(-1))


def last_tokens(input_ids: Tensor, token_mask: Tensor | None) -> Tensor:
    """[B]: the place of each row's last real token among the tokens of all rows."""
    batch, tokens = input_ids.shape
    starts = torch.arange(0, batch * tokens, tokens, device=input_ids.device)
    if token_mask is None:
        return starts + tokens - 1
    return starts + torch.where(token_mask.bool(), torch.arange(tokens, device=input_ids.device), 0).amax(-1)
