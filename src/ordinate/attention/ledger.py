"""The book of a cache: how many tokens each row has seen, at which positions, and where the next ones go.

It stands apart from the tensors of keys and values because all layers of a model share it. Positions must rise along a row: a
token that is told to stand at or before one already cached would see, or be hidden from, the wrong keys.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import pad

from ordinate.attention.slots import Slots, place, put
from ordinate.errors import ArgumentError, ArgumentTypeError, ShapeError
from ordinate.position.axes import reading_order
from ordinate.shapes import check_shape

__all__ = ["Ledger"]


class Ledger:
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

    def checked(self, positions: Tensor, token_mask: Tensor | None) -> Tensor:
        """New positions as [B, T] or [B, T, A], of the right dtype and batch, each row rising from its last one on."""
        batch = len(self.counts)
        if self.axes is None:
            check_shape("positions", positions, "T | B T")
        else:
            check_shape("positions", positions, "T A | B T A", A=self.axes)
        if positions.ndim == (1 if self.axes is None else 2):
            positions = positions.unsqueeze(0)
        if positions.shape[0] not in (1, batch):
            raise ShapeError(
                "positions",
                expected=f"B={batch} rows, as the cache",
                got=f"shape {tuple(positions.shape)}",
                hint="the cache was made for another batch: make one for this",
            )
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

    def place(self, positions: Tensor, token_mask: Tensor | None) -> tuple[Slots, Tensor]:
        """Slots of a checked chunk, and the positions of the keys that its queries see, [B, S] or [B, S, A]."""
        if self.positions is None:
            self._allocate(positions.dtype)
        assert self.positions is not None
        slots = place(
            self.counts,
            positions.shape[1],
            token_mask,
            capacity=self.capacity,
            window_keys=self.window_keys,
            sink_keys=self.sink_keys,
            device=self.device,
        )
        return slots, put(self.positions, slots, positions, dim=1)

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
        """Take over what another ledger of the same shape had counted."""
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
