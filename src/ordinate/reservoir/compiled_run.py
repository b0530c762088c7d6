"""A network of leaky rate units made ready for the compiled kernels, and a batch cut into tiles for them.

Imported only where numba is (the extra `fast`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from ordinate.reservoir.compiled import TILES, one_sequence, tile_of_sequences
from ordinate.reservoir.dynamics import LeakyRate
from ordinate.reservoir.layout import Layout, lay_out

__all__ = ["CompiledRun"]

Float32Array = npt.NDArray[np.float32]


class CompiledRun:
    """Leaky rate units on one connectome, ready to run.

    Args:
        incoming: the transpose of the weights, [N post, N pre].
        input_weights: [F, N].
        dynamics: leak rate, activation (by name) and bias.
    """

    def __init__(self, incoming: sparse.csr_array, input_weights: Float32Array, dynamics: LeakyRate) -> None:
        count = incoming.shape[0]
        self.layout: Layout = lay_out(incoming)
        self.activation = str(dynamics.activation)
        self.bias = np.ascontiguousarray(np.broadcast_to(np.asarray(dynamics.bias, dtype=np.float32), (count,)))
        leak = np.atleast_1d(np.asarray(dynamics.leak_rate, dtype=np.float32))
        self.leak = leak[:1].copy() if (leak == leak[0]).all() else leak
        self.num_neurons = count
        outside = sparse.csr_array(input_weights.T)  # one row a neuron
        outside.eliminate_zeros()
        driven = np.flatnonzero(np.diff(outside.indptr))
        self.outside = (
            driven,
            np.append(outside.indptr[driven], outside.nnz).astype(np.int64),  # rows between driven ones are empty
            outside.indices.astype(np.uint32),
            outside.data.astype(np.float32),
        )

    def advance(
        self, activity: Float32Array, inputs: Float32Array, extra: Float32Array | None, gain: Float32Array, kept: Any
    ) -> tuple[Float32Array, Float32Array, int]:
        """States of the `kept` neurons after each step, the activity after the last, and the step that diverged or -1.

        Args:
            activity: [N] or [B, N]; not changed.
            inputs: [T, F] or [B, T, F].
            extra: [T, N] or [B, T, N], added to what arrives, or None.
            gain: one number, or [B].
            kept: indices [R].
        """
        if activity.ndim == 1:
            return self._one(activity, inputs, extra, float(gain), kept)
        batch = activity.shape[0]
        gains = np.broadcast_to(gain.reshape(-1), (batch,))
        tiles = _tiles(batch)
        if len(tiles) == 1:
            return self._tile(activity, inputs, extra, gains, kept, tiles[0])
        states = np.empty((batch, inputs.shape[1], kept.size), dtype=np.float32)
        after = np.empty_like(activity)
        start, first = 0, -1
        for width in tiles:
            part = slice(start, min(start + width, batch))
            states[part], after[part], diverged = self._tile(
                activity[part], inputs[part], None if extra is None else extra[part], gains[part], kept, width
            )
            if diverged >= 0:
                first = diverged if first < 0 else min(first, diverged)
            start += width
        return states, after, first

    def _one(
        self, activity: Float32Array, inputs: Float32Array, extra: Float32Array | None, gain: float, kept: Any
    ) -> tuple[Float32Array, Float32Array, int]:
        layout, now = self.layout, np.array(activity, dtype=np.float32)
        states = np.empty((inputs.shape[0], kept.size), dtype=np.float32)
        diverged = one_sequence(self.activation)(
            layout.order,
            layout.starts,
            layout.indices,
            layout.counts,
            layout.scale * np.float32(gain),
            self.bias,
            *self.outside,
            np.ascontiguousarray(inputs),
            np.empty((0, 0), dtype=np.float32) if extra is None else np.ascontiguousarray(extra),
            self.leak,
            now,
            kept,
            states,
        )
        return states, now, int(diverged)

    def _tile(
        self, activity: Float32Array, inputs: Float32Array, extra: Float32Array | None, gains: Any, kept: Any, width: int
    ) -> tuple[Float32Array, Float32Array, int]:
        batch, steps = inputs.shape[:2]
        if width == 1:
            states, now, diverged = self._one(
                activity[0], inputs[0], None if extra is None else extra[0], float(gains[0]), kept
            )
            return states[None], now[None], diverged
        layout = self.layout
        now = _side_by_side(activity, width)
        out = np.empty((steps, kept.size, width), dtype=np.float32)
        strength = np.zeros(width, dtype=np.float32)
        strength[:batch] = gains
        leak = self.leak if self.leak.size == 1 else np.repeat(self.leak, width)
        diverged = tile_of_sequences(self.activation, width)(
            layout.order,
            layout.starts,
            layout.stops,
            layout.indices,
            layout.counts,
            layout.scale,
            strength,
            self.bias,
            *self.outside,
            _side_by_side(inputs, width),
            np.empty((0, 0, 0), dtype=np.float32) if extra is None else _side_by_side(extra, width),
            leak,
            now,
            kept,
            out,
        )
        return out.transpose(2, 0, 1)[:batch], np.ascontiguousarray(now.T[:batch]), int(diverged)


def _tiles(batch: int) -> list[int]:
    """Widths that together hold a batch: as many of the widest as fit, then the narrowest that holds the rest."""
    widest = TILES[-1]
    rest = batch % widest
    last = [] if rest == 0 else [1] if rest == 1 else [next(width for width in TILES if width >= rest)]
    return [widest] * (batch // widest) + last


def _side_by_side(told: Float32Array, width: int) -> Float32Array:
    """[B, ...] as [..., width]: sequences next to each other, zeros where the batch is narrower than the tile."""
    made = np.zeros((*told.shape[1:], width), dtype=np.float32)
    made[..., : told.shape[0]] = np.moveaxis(told, 0, -1)
    return made
