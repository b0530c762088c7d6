"""How the edges of a connectome lie in memory while it runs.

A step reads every edge once, so its speed is the number of loads an edge costs. What arrives at a neuron is gathered (one row a
postsynaptic neuron), presynaptic indices take 16 bits where they fit, and weights that are whole counts behind a factor take 8:
3 bytes an edge in place of 8. Rows are padded to the width of a vector and sorted by length, so that a processor guesses their
ends rightly.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

__all__ = ["PAD", "Layout", "lay_out"]

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
