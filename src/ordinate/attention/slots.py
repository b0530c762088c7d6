"""Where tokens go in a cache: plain arithmetic on how many tokens each row has seen, apart from the tensors that hold them.

Token n of a row (counted from 0, padding not counted) stands in slot n. In a sliding window the first `sink_keys` tokens stay
where they are and the rest take turns in `window_keys` slots behind them, so slot(n) = sink_keys + (n - sink_keys) modulo
window_keys. Counts are kept on the host: a step of decoding asks the device nothing. Sinks: Xiao et al. 2023, arXiv 2309.17453.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

__all__ = ["Slots", "place", "put"]


@dataclass(frozen=True)
class Slots:
    """The places of one chunk of new tokens, and what its queries may see afterwards.

    Args:
        totals: tokens that each row has seen once the chunk is in.
        span: first and last + 1 slot, where all rows write the same unbroken run.
        scattered: otherwise the rows, the tokens of the chunk and their slots, three integer tensors of one length.
        joined: whether attention sees old keys and the chunk side by side, because the chunk overwrites keys that its first
            queries still need.
        held: keys that were in reach before (joined), or that are in reach now.
        visible: bool [B or 1, T or 1, S], or None where every key in reach counts.
    """

    totals: list[int]
    span: tuple[int, int] | None
    scattered: tuple[Tensor, Tensor, Tensor] | None
    joined: bool
    held: int
    visible: Tensor | None


def place(
    counts: list[int],
    tokens: int,
    real: Tensor | None,
    *,
    capacity: int,
    window_keys: int | None,
    sink_keys: int,
    device: torch.device,
) -> Slots:
    """The slots of `tokens` new tokens a row, for rows that have seen `counts` tokens.

    Args:
        counts: one number a row.
        tokens: length T of the chunk, padding included.
        real: bool [B, T], or None where every token is one.
        capacity: slots; without a window the caller has made sure that the chunk fits.
        window_keys, sink_keys: of the cache.
        device: where the tensors of the answer live.
    """
    added = [tokens] * len(counts) if real is None else real.sum(-1).tolist()
    totals = [count + more for count, more in zip(counts, added, strict=True)]
    wraps = window_keys is not None and max(totals) > capacity
    alike = min(counts) == max(counts) and min(added) == tokens
    if alike and not wraps:
        return Slots(totals, (counts[0], totals[0]), None, False, totals[0], None)
    if alike and tokens == 1 and window_keys is not None:
        slot = _slot(counts[0], window_keys, sink_keys)
        return Slots(totals, (slot, slot + 1), None, False, capacity, None)

    before = torch.tensor(counts, device=device).unsqueeze(-1)
    after = torch.tensor(totals, device=device).unsqueeze(-1)
    steps = torch.arange(tokens, device=device).expand(len(counts), tokens) if real is None else real.cumsum(-1) - 1
    order = before + steps  # of each new token in its row
    stays = torch.ones_like(order, dtype=torch.bool) if real is None else real
    slots = order
    if window_keys is not None:
        stays = stays & ((order < sink_keys) | (order >= after - window_keys))
        slots = torch.where(order < sink_keys, order, sink_keys + (order - sink_keys) % window_keys)
    rows, columns = stays.nonzero(as_tuple=True)
    scattered = (rows, columns, slots[rows, columns])

    if wraps and tokens > 1:
        assert window_keys is not None
        held = min(max(counts), capacity)
        places = torch.arange(held, device=device)
        latest = before - 1 - (before - 1 - places) % window_keys
        old = torch.where((places < sink_keys) | (before <= capacity), places, latest)
        keys = torch.cat((old, order), dim=-1).unsqueeze(-2)
        exists = torch.cat((places < before, torch.ones_like(order, dtype=torch.bool) if real is None else real), dim=-1)
        in_reach = (order.unsqueeze(-1) - keys < window_keys) | (keys < sink_keys)
        return Slots(totals, None, scattered, True, held, in_reach & exists.unsqueeze(-2))
    held = min(max(totals), capacity)
    visible = None
    if min(totals) < held:
        visible = (torch.arange(held, device=device) < after).unsqueeze(-2)
    return Slots(totals, None, scattered, False, held, visible)


def _slot(order: int, window_keys: int, sink_keys: int) -> int:
    return order if order < sink_keys else sink_keys + (order - sink_keys) % window_keys


def put(store: Tensor, slots: Slots, new: Tensor, dim: int = 2) -> Tensor:
    """Write a chunk into its slots along `dim` of `store` and return what attention sees: a view where it can be one."""
    if slots.span is not None:
        store.narrow(dim, slots.span[0], slots.span[1] - slots.span[0]).copy_(new)
        return store.narrow(dim, 0, slots.held)
    assert slots.scattered is not None
    seen = store.narrow(dim, 0, slots.held)
    if slots.joined:
        seen = torch.cat((seen, new.to(store.dtype)), dim=dim)
    rows, tokens, places = slots.scattered
    if dim == 1:
        store[rows, places] = new[rows, tokens].to(store.dtype)
    else:
        store[rows, :, places] = new[rows, :, tokens]
    return seen
