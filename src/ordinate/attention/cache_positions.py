"""Where tokens stand in a cache: how many each row has seen, at which positions, and the slots that the next ones take.

It is apart from the tensors of keys and values because all layers of a model share it. Token n of a row (counted from 0,
padding not counted) is kept in slot n. In a sliding window the first `sink_keys` tokens stay where they are and the rest take
turns in `window_keys` slots behind them, so slot(n) = sink_keys + (n - sink_keys) modulo window_keys. Counts are kept on the
host: a step of decoding asks the device nothing. Positions must rise along a row: a token at or before one already cached
would see, or be hidden from, the wrong keys. Sinks: Xiao et al. 2023, arXiv 2309.17453.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import pad

from ordinate.attention.encodings import check_token_positions
from ordinate.errors import ArgumentError, ArgumentTypeError
from ordinate.position.axes import reading_order
from ordinate.shapes import check_shape

__all__ = ["CachePositions", "Slots", "assign_slots", "write_slots"]


@dataclass(frozen=True)
class Slots:
    """The places of one chunk of new tokens, and what its queries may see afterwards.

    Args:
        totals: tokens that each row has seen once the chunk is in.
        span: first and last + 1 slot, where all rows write the same unbroken run.
        scattered: otherwise the rows, the tokens of the chunk and their slots, three integer tensors of one length.
        joined: whether attention sees old keys and the chunk side by side, because the chunk overwrites keys that its first
            queries still need.
        cached: keys that were in reach before (joined), or that are in reach now.
        visible: bool [B or 1, T or 1, S], or None where every key in reach counts.
    """

    totals: list[int]
    span: tuple[int, int] | None
    scattered: tuple[Tensor, Tensor, Tensor] | None
    joined: bool
    cached: int
    visible: Tensor | None


def assign_slots(
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
        device: where the tensors of the result live.
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
        cached = min(max(counts), capacity)
        places = torch.arange(cached, device=device)
        latest = before - 1 - (before - 1 - places) % window_keys
        old = torch.where((places < sink_keys) | (before <= capacity), places, latest)
        keys = torch.cat((old, order), dim=-1).unsqueeze(-2)
        exists = torch.cat((places < before, torch.ones_like(order, dtype=torch.bool) if real is None else real), dim=-1)
        in_reach = (order.unsqueeze(-1) - keys < window_keys) | (keys < sink_keys)
        return Slots(totals, None, scattered, True, cached, in_reach & exists.unsqueeze(-2))
    cached = min(max(totals), capacity)
    visible = None
    if min(totals) < cached:
        visible = (torch.arange(cached, device=device) < after).unsqueeze(-2)
    return Slots(totals, None, scattered, False, cached, visible)


def _slot(order: int, window_keys: int, sink_keys: int) -> int:
    return order if order < sink_keys else sink_keys + (order - sink_keys) % window_keys


def write_slots(store: Tensor, slots: Slots, new: Tensor, dim: int = 2) -> Tensor:
    """Write a chunk into its slots along `dim` of `store` and return what attention sees: a view where it can be one."""
    if slots.span is not None:
        store.narrow(dim, slots.span[0], slots.span[1] - slots.span[0]).copy_(new)
        return store.narrow(dim, 0, slots.cached)
    assert slots.scattered is not None
    seen = store.narrow(dim, 0, slots.cached)
    if slots.joined:
        seen = torch.cat((seen, new.to(store.dtype)), dim=dim)
    rows, tokens, places = slots.scattered
    if dim == 1:
        store[rows, places] = new[rows, tokens].to(store.dtype)
    else:
        store[rows, :, places] = new[rows, :, tokens]
    return seen


class CachePositions:
    """Counts and positions of `batch` rows of `capacity` slots; `KVCache` says what the arguments mean.

    `counts` (tokens seen, one number a row, on the host) and `positions` ([B, C] or [B, C, A], None before the first token)
    may be read.
    """

    def __init__(
        self,
        batch: int,
        capacity: int,
        *,
        window_keys: int | None,
        sink_keys: int,
        axes: int | None,
        device: torch.device,
    ) -> None:
        self.capacity, self.window_keys, self.sink_keys, self.axes, self.device = capacity, window_keys, sink_keys, axes, device
        self.counts = [0] * batch
        self.positions: Tensor | None = None  # made with the dtype of the first positions
        self.last: Tensor | None = None

    def checked(self, positions: Tensor, token_mask: Tensor | None, tokens: int | None = None) -> Tensor:
        """New positions as [B, T] or [B, T, A], finite, of the right dtype and batch, each row rising from its last one on."""
        batch = len(self.counts)
        check_shape(
            "positions", positions, "T | B T" if self.axes is None else "T A | B T A", **({"A": self.axes} if self.axes else {})
        )
        length = positions.shape[-1 if self.axes is None else -2] if tokens is None else tokens
        check_token_positions("positions", positions, self.axes, length=length, batch=batch)
        if positions.ndim == (1 if self.axes is None else 2):
            positions = positions.unsqueeze(0)
        positions = positions.expand(batch, *positions.shape[1:])
        if token_mask is not None:
            check_shape("token_mask", token_mask, "B T", B=batch, T=positions.shape[1])
        if self.positions is not None and positions.is_floating_point() != self.positions.is_floating_point():
            raise ArgumentTypeError(
                "positions",
                expected=f"the kind of the positions in the cache ({self.positions.dtype})",
                got=str(positions.dtype),
                hint="count tokens or measure time throughout, not both",
            )
        kind = torch.float64 if positions.is_floating_point() else torch.int64
        positions = positions.to(self.device, kind)
        self._check_rising(positions, token_mask)
        return positions

    def assign(self, positions: Tensor, token_mask: Tensor | None) -> tuple[Slots, Tensor]:
        """Slots of a checked chunk, and the positions of the keys that its queries see, [B, S] or [B, S, A]."""
        if self.positions is None:
            self._allocate(positions.dtype)
        assert self.positions is not None
        slots = assign_slots(
            self.counts,
            positions.shape[1],
            token_mask,
            capacity=self.capacity,
            window_keys=self.window_keys,
            sink_keys=self.sink_keys,
            device=self.device,
        )
        return slots, write_slots(self.positions, slots, positions, dim=1)

    def count(self, slots: Slots, positions: Tensor, token_mask: Tensor | None) -> None:
        """The chunk is in: its tokens count from now on."""
        if positions.shape[1] and token_mask is None:
            self.last = positions[:, -1].clone()
        elif positions.shape[1]:
            steps = torch.arange(positions.shape[1], device=self.device)
            at = torch.where(token_mask, steps, -1).amax(-1)  # type: ignore[arg-type]
            reached = positions[torch.arange(len(self.counts), device=self.device), at.clamp_min(0)]
            kept = torch.zeros_like(reached) if self.last is None else self.last
            fresh = at >= 0
            self.last = torch.where(fresh if self.axes is None else fresh.unsqueeze(-1), reached, kept)
        self.counts = slots.totals

    def following(self, tokens: int) -> Tensor:
        """Positions of the next text tokens, [B, T] or [B, T, A]: they count on from the last one of each row."""
        if self.last is None:
            start = torch.zeros(len(self.counts), dtype=torch.int64, device=self.device)
        else:
            start = (self.last if self.axes is None else self.last.amax(-1)) + 1
            if min(self.counts) == 0:
                start = start.masked_fill(torch.tensor(self.counts, device=self.device) == 0, 0)
        steps = start.unsqueeze(-1)
        if tokens != 1:
            steps = steps + torch.arange(tokens, device=self.device)
        return steps if self.axes is None else steps.unsqueeze(-1).expand(*steps.shape, self.axes)

    def grow(self, more: int) -> None:
        """Add `more` empty slots."""
        self.capacity += more
        if self.positions is not None:
            with torch.inference_mode(False):
                self.positions = pad(self.positions, (0, more) if self.axes is None else (0, 0, 0, more))

    def select(self, rows: Tensor) -> None:
        """Row i becomes what row `rows[i]` was."""
        self.counts = [self.counts[row] for row in rows.tolist()]
        if self.positions is not None:
            self.positions = self.positions.index_select(0, rows)
        if self.last is not None:
            self.last = self.last.index_select(0, rows)

    def to(self, device: torch.device) -> None:
        """Move positions to another device."""
        self.device = device
        self.positions = None if self.positions is None else self.positions.to(device)
        self.last = None if self.last is None else self.last.to(device)

    def restore(self, counts: list[int], positions: Tensor, last: Tensor) -> None:
        """Take over what a cache of the same shape had counted."""
        self._allocate(positions.dtype)
        assert self.positions is not None
        self.positions[:, : positions.shape[1]] = positions
        self.last, self.counts = last.to(self.device), list(counts)

    def _allocate(self, dtype: torch.dtype) -> None:
        shape = (len(self.counts), self.capacity) if self.axes is None else (len(self.counts), self.capacity, self.axes)
        with torch.inference_mode(False):
            self.positions = torch.zeros(shape, dtype=dtype, device=self.device)

    def _check_rising(self, new: Tensor, token_mask: Tensor | None) -> None:
        started = self.last is not None and min(self.counts) > 0
        if token_mask is None and self.axes is None and (started or max(self.counts) == 0):  # at once, the usual case
            chain = torch.cat((self.last.unsqueeze(1), new), dim=1) if started else new  # type: ignore[union-attr]
            rises = chain[:, 1:] > chain[:, :-1]
            if not bool(rises.all()):
                self._refuse(int((~rises).any(-1).nonzero()[0]))
            return
        for row, seen in enumerate(self.counts):
            mine = new[row] if token_mask is None else new[row][token_mask[row]]
            chain = torch.cat((self.last[row : row + 1], mine)) if seen and self.last is not None else mine
            order = chain if self.axes is None else reading_order(chain, chain)[0]
            if bool((order.diff() <= 0).any()):
                self._refuse(row)

    def _refuse(self, row: int) -> None:
        last = f"{self.last[row].tolist()}" if self.last is not None and self.counts[row] else "none"
        raise ArgumentError(
            "positions",
            expected="positions that rise, behind those already in the cache",
            got=f"some in row {row} that stand still or go backwards (last one in the cache: {last})",
            hint="pass cache.following(T); for a new row reset() the cache",
        )
