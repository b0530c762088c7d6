"""Known faults of builders of positions. Each takes the values by role, as `PositionsSubject.build` passes them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor

from ordinate.position.indices import appended, from_lengths, from_mask
from ordinate.verify.faults.table import KnownFault

__all__ = ["POSITION_FAULTS"]


def _of_mask(change: Callable[[Tensor], Tensor]) -> Callable[[Any], Any]:
    return lambda builds: lambda key_mask, **others: change(key_mask)


def _of_lengths(change: Callable[[list[int]], list[int]]) -> Callable[[Any], Any]:
    return lambda builds: lambda lengths, **others: torch.tensor(change(lengths.tolist()))


def _behind(change: Callable[[int, int], int]) -> Callable[[Any], Any]:
    return lambda builds: lambda offset, length, **others: torch.arange(length) + change(offset, length)


def _restarts_late(lengths: list[int]) -> list[int]:
    """Each document begins with the number that the one before it ended at, plus one."""
    return [position + (number > 0) for number, length in enumerate(lengths) for position in range(length)]


_row = partial(KnownFault, kind="positions")

# fmt: off
POSITION_FAULTS: tuple[KnownFault, ...] = (
    _row("builder-padding-counts", "padding and packing", says="padding counted as tokens: 0, 1, 2, ... over the whole row",
        make=_of_mask(lambda mask: torch.arange(mask.shape[-1]).expand_as(mask)), read=from_mask,
        needs=lambda builds: builds == "a mask", reported="transformers#22161"),
    _row("builder-counts-from-one", "offset and cache", says="real tokens counted from 1: the mask's sum without the minus one",
        make=_of_mask(lambda mask: mask.cumsum(-1)), read=from_mask, needs=lambda builds: builds == "a mask"),
    _row("builder-reads-the-first-row", "padding and packing", says="every row given the positions of the first",
        make=_of_mask(lambda mask: (mask.cumsum(-1) - 1)[:1].expand_as(mask)), read=from_mask,
        needs=lambda builds: builds == "a mask"),
    _row("builder-only-moves-the-start", "padding and packing", says="tokens counted on from the first real one, holes too",
        make=_of_mask(lambda mask: torch.arange(mask.shape[-1]) - mask.argmax(-1, keepdim=True)), read=from_mask,
        needs=lambda builds: builds == "a mask"),
    _row("documents-run-on", "padding and packing", says="packed documents counted on as one row",
        make=_of_lengths(lambda lengths: list(range(sum(lengths)))), read=from_lengths,
        needs=lambda builds: builds == "lengths", reported="OLMo-core#591"),
    _row("documents-restart-at-one", "padding and packing", says="documents after the first begun at 1",
        make=_of_lengths(_restarts_late), read=from_lengths, needs=lambda builds: builds == "lengths"),
    _row("builder-forgets-the-cache", "offset and cache", says="new tokens counted from 0 whatever the cache holds",
        make=_behind(lambda past, length: 0), read=appended, needs=lambda builds: builds == "a cache"),
    _row("builder-one-ahead", "offset and cache", says="new tokens one position too far behind a cache",
        make=_behind(lambda past, length: past + (past > 0)), read=appended, needs=lambda builds: builds == "a cache"),
)
# fmt: on
