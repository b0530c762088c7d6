"""Runs of leaky rate units, compiled: all steps of a chunk in one call, sixteen sequences side by side.

Imported only where numba is (the extra `fast`). Nothing is compiled before the first call of a kind (an activation, one
sequence or a tile of 4, 8 or 16); each kind is compiled once a process. The arithmetic is float32, and equal to the scipy path
to rounding. The innermost loops are in `vector_kernels`.

A step reads every edge once, so its speed is the number of loads an edge costs. What arrives at a neuron is gathered (one row a
postsynaptic neuron), presynaptic indices take 16 bits where they fit, and weights that are whole counts behind a factor take 8:
3 bytes an edge in place of 8. Rows are padded to the width of a vector and sorted by length, so that a processor guesses their
ends rightly (`lay_out`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numba
import numpy as np
import numpy.typing as npt
from scipy import sparse

from ordinate.reservoir.dynamics.leaky import BOUNDED, LeakyRate
from ordinate.reservoir.dynamics.vector_kernels import row_dot, row_tile

__all__ = ["ACTIVATIONS", "PAD", "TILES", "CompiledRun", "Layout", "lay_out", "one_sequence", "tile_of_sequences"]

TILES = (4, 8, 16)
"""How many sequences can lie side by side."""

# Sums keep their order, so results do not depend on the compiler's choices.
_jit = numba.njit(fastmath={"contract", "nsz"}, error_model="numpy", nogil=True)


@numba.njit(fastmath={"contract", "nsz", "nnan"}, error_model="numpy", nogil=True)
def _tanh(x):  # type: ignore[no-untyped-def]
    """tanh to 2e-7: Lambert's continued fraction of order 7 for half the argument, then the formula of the double argument.

    No branch and one division, so that a loop over it becomes vector instructions; past 9, tanh is 1 in float32.
    """
    half = np.float32(0.5) * min(max(x, np.float32(-9)), np.float32(9))
    square = half * half
    above = half * (np.float32(135135) + square * (np.float32(17325) + square * (np.float32(378) + square)))
    below = np.float32(135135) + square * (np.float32(62370) + square * (np.float32(3150) + square * np.float32(28)))
    return np.float32(2) * above * below / (above * above + below * below)


@_jit
def _sigmoid(x):  # type: ignore[no-untyped-def]
    return np.float32(0.5) + np.float32(0.5) * _tanh(np.float32(0.5) * x)


@_jit
def _relu(x):  # type: ignore[no-untyped-def]
    return np.float32(0) if x < 0 else x  # NaN stays NaN, and is reported


@_jit
def _identity(x):  # type: ignore[no-untyped-def]
    return x


ACTIVATIONS = {"tanh": _tanh, "sigmoid": _sigmoid, "relu": _relu, "identity": _identity}


@numba.njit(nogil=True)
def _all_finite(state):  # type: ignore[no-untyped-def]
    """By the bits of exponents: whole numbers are compared eight at a time, and no float rule gets in the way."""
    largest = np.int32(0)
    for bits in state.view(np.int32):
        largest = max(largest, bits & np.int32(0x7FFFFFFF))
    return largest < np.int32(0x7F800000)


@cache
def _update(activation: str) -> Any:
    """`now = (1 - leak) now + leak f(arriving)`, elementwise; `leak` is [1] or one an element."""
    function = ACTIVATIONS[activation]

    @_jit
    def update(arriving, leak, now):  # type: ignore[no-untyped-def]
        if leak.size == 1:
            new = leak[0]
            old = np.float32(1) - new
            for at in range(now.size):
                now[at] = old * now[at] + new * function(arriving[at])
        else:
            for at in range(now.size):
                now[at] = (np.float32(1) - leak[at]) * now[at] + leak[at] * function(arriving[at])

    return update


@cache
def one_sequence(activation: str) -> Any:
    """The kernel for one sequence.

    Its arguments: `order, starts, indices, counts` of the layout; `factor` [N], scale times gain; `bias` [N]; `rows,
    row_starts, channels, strengths`, the input weights by neuron that has any; `inputs` [T, F]; `extra` [T, N] or [0, 0], added
    to what arrives; `leak` [1] or [N]; `now` [N], the state, changed in place; `kept` [R], neurons to record; `states` [T, R],
    written. It returns the first step after which a state is not finite, where it stops, or -1.
    """
    dot, update = row_dot(PAD), _update(activation)
    unbounded = activation not in BOUNDED

    @_jit
    def run(  # type: ignore[no-untyped-def]
        order,
        starts,
        indices,
        counts,
        factor,
        bias,
        rows,
        row_starts,
        channels,
        strengths,
        inputs,
        extra,
        leak,
        now,
        kept,
        states,
    ):
        arriving = np.empty_like(now)
        for t in range(inputs.shape[0]):
            for row in range(order.size):
                neuron = order[row]
                total = dot(starts[row], starts[row + 1], indices, counts, now)
                arriving[neuron] = total * factor[neuron] + bias[neuron]
            for row in range(rows.size):
                for at in range(row_starts[row], row_starts[row + 1]):
                    arriving[rows[row]] += strengths[at] * inputs[t, channels[at]]
            if extra.size:
                for neuron in range(now.size):
                    arriving[neuron] += extra[t, neuron]
            update(arriving, leak, now)
            for at in range(kept.size):
                states[t, at] = now[kept[at]]
            if unbounded and not _all_finite(now):
                return t
        return -1

    return run


@cache
def tile_of_sequences(activation: str, width: int) -> Any:
    """The kernel for `width` sequences: as `one_sequence`, with a last axis [width] in `inputs`, `extra`, `now` and `states`.

    `stops` of the layout comes after `starts`, for here no vector runs along a row, and `gains` [width] after `factor`.
    """
    tile, tile_onto, update = row_tile(width, onto=False), row_tile(width, onto=True), _update(activation)
    unbounded = activation not in BOUNDED

    @_jit
    def run(  # type: ignore[no-untyped-def]
        order,
        starts,
        stops,
        indices,
        counts,
        factor,
        gains,
        bias,
        rows,
        row_starts,
        channels,
        strengths,
        inputs,
        extra,
        leak,
        now,
        kept,
        states,
    ):
        arriving = np.empty_like(now)
        flat_arriving, flat_now = arriving.reshape(-1), now.reshape(-1)
        for t in range(inputs.shape[0]):
            for row in range(order.size):
                neuron = order[row]
                tile(starts[row], stops[row], indices, counts, now, factor[neuron], gains, bias[neuron], arriving, neuron)
            signal = inputs[t]
            for row in range(rows.size):
                tile_onto(
                    row_starts[row],
                    row_starts[row + 1],
                    channels,
                    strengths,
                    signal,
                    np.float32(1),
                    gains,
                    np.float32(0),
                    arriving,
                    rows[row],
                )
            if extra.size:
                flat_extra = extra[t].reshape(-1)
                for at in range(flat_now.size):
                    flat_arriving[at] += flat_extra[at]
            update(flat_arriving, leak, flat_now)
            if kept.size == now.shape[0]:
                flat_states = states[t].reshape(-1)
                for at in range(flat_now.size):
                    flat_states[at] = flat_now[at]
            else:
                for at in range(kept.size):
                    for sequence in range(width):
                        states[t, at, sequence] = now[kept[at], sequence]
            if unbounded and not _all_finite(flat_now):
                return t
        return -1

    return run


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


def _side_by_side(sequences: Float32Array, width: int) -> Float32Array:
    """[B, ...] as [..., width]: sequences next to each other, zeros where the batch is narrower than the tile."""
    tile = np.zeros((*sequences.shape[1:], width), dtype=np.float32)
    tile[..., : sequences.shape[0]] = np.moveaxis(sequences, 0, -1)
    return tile


PAD = 8
"""Edges a row is padded to a multiple of: as many float32 as an AVX register holds."""

_LARGEST_COUNT = 255

_EARLY = 8


@dataclass(frozen=True, eq=False)
class Layout:
    """Incoming edges of N neurons, one row a postsynaptic neuron.

    `arriving[order[r]] = scale[order[r]] sum_k counts[k] x[indices[k]]`, k over the edges of row r.

    Args:
        order: the neuron of each row, [N], int64, longest rows first.
        starts: where rows start among the padded edges, [N + 1], int64, multiples of `PAD`.
        stops: where their true edges end, [N], int64.
        indices: presynaptic neurons, uint16 or uint32; 0 in the padding.
        counts: uint8, int8 or float32; 0 in the padding.
        scale: a factor for each neuron, [N], float32.
    """

    order: npt.NDArray[np.int64]
    starts: npt.NDArray[np.int64]
    stops: npt.NDArray[np.int64]
    indices: npt.NDArray[Any]
    counts: npt.NDArray[Any]
    scale: npt.NDArray[np.float32]

    @property
    def bytes_read_a_step(self) -> int:
        """Bytes of edges that one step reads."""
        return self.indices.nbytes + self.counts.nbytes + self.starts.nbytes + self.order.nbytes


def lay_out(incoming: sparse.csr_array) -> Layout:
    """Lay out what arrives at each neuron (`incoming` is the transpose of a connectome's weights, [N post, N pre])."""
    count = incoming.shape[0]
    lengths = np.diff(incoming.indptr).astype(np.int64)
    padded = -(-lengths // PAD) * PAD
    order = np.argsort(-padded, kind="stable")
    starts = np.concatenate([[0], np.cumsum(padded[order])])
    values, scale = _counts(incoming, lengths)
    # where each edge goes: its row's start, plus its place in the row
    row_start = np.empty(count, dtype=np.int64)
    row_start[order] = starts[:-1]
    target = np.repeat(row_start - incoming.indptr[:-1], lengths) + np.arange(incoming.nnz)
    indices = np.zeros(starts[-1], dtype=np.uint16 if count <= 2**16 else np.uint32)
    indices[target] = incoming.indices
    counts = np.zeros(starts[-1], dtype=values.dtype)
    counts[target] = values
    return Layout(order, starts, starts[:-1] + lengths[order], indices, counts, scale)


def _counts(incoming: sparse.csr_array, lengths: npt.NDArray[np.int64]) -> tuple[npt.NDArray[Any], npt.NDArray[np.float32]]:
    """Small whole numbers and a factor a row that together are the weights, where there are such; else the weights and ones.

    Weights come from counts by a factor a neuron, so within a row their ratios are those of counts: what is looked for is the
    count that the smallest weight of the row stands for.
    """
    weights = np.asarray(incoming.data, dtype=np.float64)
    ones = np.ones(lengths.size, dtype=np.float32)
    tolerance = 1e-5 if incoming.data.dtype == np.float32 else 1e-9
    filled = np.flatnonzero(lengths)
    if not filled.size:
        return np.zeros(0, dtype=np.uint8), ones
    smallest = np.ones(lengths.size)
    smallest[filled] = np.minimum.reduceat(np.abs(weights), incoming.indptr[filled])
    row = np.repeat(np.arange(lengths.size), lengths)
    unit, open_ = smallest.copy(), lengths > 0
    for denominator in range(1, _LARGEST_COUNT + 1):
        if denominator > _EARLY and open_.sum() > filled.size / 2:  # no counts: looking on would only take time
            break
        edges = np.flatnonzero(open_[row])
        ratio = weights[edges] / smallest[row[edges]] * denominator
        broken = np.abs(ratio - np.round(ratio)) > tolerance * np.abs(ratio)
        fits = open_.copy()
        fits[row[edges][broken]] = False
        unit[fits] = smallest[fits] / denominator
        open_ &= ~fits
        if not open_.any():
            break
    if open_.any():
        return weights.astype(np.float32), ones
    counts = np.round(weights / unit[row])
    for dtype in (np.uint8, np.int8):
        if np.iinfo(dtype).min <= counts.min() and counts.max() <= np.iinfo(dtype).max:
            return counts.astype(dtype), unit.astype(np.float32)
    return weights.astype(np.float32), ones
