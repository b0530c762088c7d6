"""What growth does with packed signals, compiled: bits of some examples, gates of candidates, votes; see `logic.growth.state`.

Imported only where numba is (the extra `fast`). Plain numpy there comes to the same numbers to the bit; it copies whole signals
to look at a few of their examples, and makes a table lookup in 64-bit integers of what is a shift here.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

__all__ = ["count", "gates", "gather", "pair_sums"]

_jit = numba.njit(nogil=True, cache=True, boundscheck=False)


@_jit  # type: ignore[untyped-decorator]
def gather(packed: Any, signals: Any, examples: Any, out: Any) -> None:
    """Fill out [S, n], uint8, with the bits of some signals on some examples."""
    for place in range(len(signals)):
        row, bits = packed[signals[place]], out[place]
        for at in range(len(examples)):
            example = examples[at]
            bits[at] = row[example >> 3] >> np.uint8(7 - (example & 7)) & np.uint8(1)


@_jit  # type: ignore[untyped-decorator]
def gates(packed: Any, tables: Any, first: Any, second: Any, examples: Any, out: Any) -> None:
    """Fill out [C, n], float32, with the gates of truth tables on two signals each."""
    for place in range(len(tables)):
        x, y, table, bits = packed[first[place]], packed[second[place]], np.uint8(tables[place]), out[place]
        corners = np.empty(4, np.float32)
        for corner in range(4):
            corners[corner] = table >> corner & 1
        for at in range(len(examples)):
            byte, shift = examples[at] >> 3, np.uint8(7 - (examples[at] & 7))
            bits[at] = corners[(x[byte] >> shift & 1) << 1 | (y[byte] >> shift & 1)]


@_jit  # type: ignore[untyped-decorator]
def count(packed: Any, amount: Any, scores: Any) -> None:
    """Add an amount to the scores [N], float32, of the examples whose bit is set."""
    whole = len(scores) >> 3
    for byte in range(whole):
        eight = packed[byte]
        if eight:
            for bit in range(8):
                scores[8 * byte + bit] += amount * np.float32(eight >> (7 - bit) & 1)
    for at in range(8 * whole, len(scores)):
        scores[at] += amount * np.float32(packed[whole] >> (7 - (at & 7)) & 1)


_PLACE = np.zeros(64, np.int64)  # of the lowest bit of a word, by the top six bits of its product with a de Bruijn sequence
_SEQUENCE = np.uint64(0x03F79D71B4CB0A89)
for _bit in range(64):
    _PLACE[int((int(_SEQUENCE) << _bit & 0xFFFFFFFFFFFFFFFF) >> 58)] = _bit


@_jit  # type: ignore[untyped-decorator]
def pair_sums(x: Any, y: Any, first: Any, second: Any, residuals: Any, sums: Any) -> None:
    """Fill sums [P, K], int64, with what the residuals of the examples come to where two signals are both 1.

    x [R, n / 64] and y [C, n / 64] are words, the first example the lowest bit; residuals are int32 [K / 5, n, 5].
    """
    places = np.empty(64 * x.shape[1], np.int64)
    for pair in range(len(first)):
        a, b = x[first[pair]], y[second[pair]]
        length = 0
        for word in range(len(a)):
            both = a[word] & b[word]
            while both:
                lowest = both & (~both + np.uint64(1))
                places[length] = 64 * word + _PLACE[(lowest * _SEQUENCE) >> np.uint64(58)]
                length += 1
                both ^= lowest
        for block in range(len(residuals)):
            of_block = residuals[block]
            s0 = s1 = s2 = s3 = s4 = 0  # scalars, as a small array would be read and written in memory for each example
            for at in range(length):
                place = places[at]
                s0 += of_block[place, 0]
                s1 += of_block[place, 1]
                s2 += of_block[place, 2]
                s3 += of_block[place, 3]
                s4 += of_block[place, 4]
            sums[pair, 5 * block], sums[pair, 5 * block + 1], sums[pair, 5 * block + 2] = s0, s1, s2
            sums[pair, 5 * block + 3], sums[pair, 5 * block + 4] = s3, s4
