"""Trees of relaxed gates and their pooling as compiled loops: a whole tree is evaluated at one place before the next is begun.

Imported only where numba is (the extra `fast`), for float32 on a CPU. Only inputs and roots lie in memory: what is between
them stays in the cache and is computed again in the backward pass; gradients of coefficients are summed over the places as
they come. Gates of a tree are numbered level by level from the leaves up: gate n of 2^depth - 1 reads leaves 2 n and 2 n + 1,
or, from n = 2^(depth - 1) on, the gates 2 (n - 2^(depth - 1)) and the next.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

__all__ = ["backward", "forward", "pool", "pool_backward"]

_jit = numba.njit(fastmath={"contract", "reassoc", "nsz"}, error_model="numpy", nogil=True, cache=True, boundscheck=False)
_TILE = 128
"""Images at once: the nodes of a tree of depth 3, values and gradients, are 7 KiB then."""


@_jit  # type: ignore[untyped-decorator]
def _gate(numbers: Any, first: Any, second: Any, z: Any) -> None:
    a0, a1, a2, a3 = numbers[0], numbers[1], numbers[2], numbers[3]
    for image in range(len(z)):
        z[image] = a0 + a1 * first[image] + second[image] * (a2 + a3 * first[image])


@_jit  # type: ignore[untyped-decorator]
def forward(x: Any, coefficients: Any, leaves: Any, out: Any) -> None:
    """Fill out [kernels places, B] from x [F, B], coefficients [kernels, gates, 4], leaves [kernels, places, 2^depth]."""
    kernels, places, width = leaves.shape
    half, batch = width // 2, x.shape[1]
    nodes = np.empty((width - 1, min(_TILE, batch)), x.dtype)
    for start in range(0, batch, _TILE):
        stop = min(start + _TILE, batch)
        size = stop - start
        for kernel in range(kernels):
            for place in range(places):
                root = out[kernel * places + place, start:stop]
                reads = leaves[kernel, place]
                for gate in range(width - 1):
                    z = root if gate == width - 2 else nodes[gate, :size]
                    numbers = coefficients[kernel, gate]
                    if gate < half:
                        _gate(numbers, x[reads[2 * gate], start:stop], x[reads[2 * gate + 1], start:stop], z)
                    else:
                        below = 2 * (gate - half)
                        _gate(numbers, nodes[below, :size], nodes[below + 1, :size], z)


@_jit  # type: ignore[untyped-decorator]
def _sums(g: Any, first: Any, second: Any, sums: Any) -> None:
    s0 = s1 = s2 = s3 = np.float32(0)
    for image in range(len(g)):
        by_first = g[image] * first[image]
        s0 += g[image]
        s1 += by_first
        s2 += g[image] * second[image]
        s3 += by_first * second[image]
    sums[0] += s0
    sums[1] += s1
    sums[2] += s2
    sums[3] += s3


@_jit  # type: ignore[untyped-decorator]
def backward(gradient: Any, x: Any, coefficients: Any, leaves: Any, to_x: Any, sums: Any) -> None:
    """Add to to_x [F, B], unless it is empty, and to sums, float64 [kernels, gates, 4]."""
    kernels, places, width = leaves.shape
    half, batch = width // 2, x.shape[1]
    nodes = np.empty((width - 1, min(_TILE, batch)), x.dtype)
    slopes = np.empty((width - 1, min(_TILE, batch)), x.dtype)
    for start in range(0, batch, _TILE):
        stop = min(start + _TILE, batch)
        size = stop - start
        for kernel in range(kernels):
            for place in range(places):
                reads = leaves[kernel, place]
                for gate in range(width - 2):
                    z, numbers = nodes[gate, :size], coefficients[kernel, gate]
                    if gate < half:
                        _gate(numbers, x[reads[2 * gate], start:stop], x[reads[2 * gate + 1], start:stop], z)
                    else:
                        below = 2 * (gate - half)
                        _gate(numbers, nodes[below, :size], nodes[below + 1, :size], z)
                for gate in range(width - 2, -1, -1):
                    g = gradient[kernel * places + place, start:stop] if gate == width - 2 else slopes[gate, :size]
                    numbers = coefficients[kernel, gate]
                    a1, a2, a3 = numbers[1], numbers[2], numbers[3]
                    if gate < half:
                        first, second = x[reads[2 * gate], start:stop], x[reads[2 * gate + 1], start:stop]
                        _sums(g, first, second, sums[kernel, gate])
                        if to_x.shape[0]:
                            to_first = to_x[reads[2 * gate], start:stop]
                            for image in range(size):
                                to_first[image] += g[image] * (a1 + a3 * second[image])
                            to_second = to_x[reads[2 * gate + 1], start:stop]
                            for image in range(size):
                                to_second[image] += g[image] * (a2 + a3 * first[image])
                    else:
                        below = 2 * (gate - half)
                        first, second = nodes[below, :size], nodes[below + 1, :size]
                        _sums(g, first, second, sums[kernel, gate])
                        to_first, to_second = slopes[below, :size], slopes[below + 1, :size]
                        for image in range(size):
                            to_first[image] = g[image] * (a1 + a3 * second[image])
                            to_second[image] = g[image] * (a2 + a3 * first[image])


@_jit  # type: ignore[untyped-decorator]
def pool(x: Any, size: int, stride: int, out: Any) -> None:
    """Fill out [channels, rows, columns, B] with the largest of each window of x [channels, height, width, B]."""
    channels, rows, columns, batch = out.shape
    for channel in range(channels):
        for row in range(rows):
            for column in range(columns):
                largest = out[channel, row, column]
                largest[:] = x[channel, row * stride, column * stride]
                for dy in range(size):
                    for dx in range(size):
                        here = x[channel, row * stride + dy, column * stride + dx]
                        for image in range(batch):
                            largest[image] = max(largest[image], here[image])


@_jit  # type: ignore[untyped-decorator]
def pool_backward(gradient: Any, x: Any, out: Any, size: int, stride: int, to_x: Any) -> None:
    """Add each gradient to the first of the largest of its window, as `torch.nn.functional.max_pool2d` does."""
    channels, rows, columns, batch = out.shape
    rest = np.empty(batch, x.dtype)
    for channel in range(channels):
        for row in range(rows):
            for column in range(columns):
                largest = out[channel, row, column]
                rest[:] = gradient[channel, row, column]
                for dy in range(size):
                    for dx in range(size):
                        here = x[channel, row * stride + dy, column * stride + dx]
                        to_here = to_x[channel, row * stride + dy, column * stride + dx]
                        for image in range(batch):
                            # written without a branch, so that it runs on vectors
                            part = rest[image] if here[image] == largest[image] else np.float32(0)
                            to_here[image] += part
                            rest[image] -= part
