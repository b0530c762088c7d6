"""The inner loops of the bit-parallel runtime, compiled by numba once for every circuit. Needs the extra `fast`.

Which of the functions an operation is would be a branch that no machine can foresee; so every operation is the same one,

    z = (x & ((y & p) ^ q)) ^ (y & r) ^ s,

all 16 functions in their algebraic normal form (Zhegalkin 1927), with four masks that its truth table looks up.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

__all__ = ["WORDS", "run_blocks", "run_rows"]

WORDS = 32  # a constant, and as small as still makes LLVM use vectors: it unrolls shorter loops into single words instead

_OPERATIONS = np.array(
    [
        [0xFFFFFFFFFFFFFFFF * (sum(table >> row & 1 for row in rows) & 1) for rows in ((0, 1, 2, 3), (0, 2), (0, 1), (0,))]
        for table in range(16)
    ],
    np.uint64,
)
_SHIFTS = np.arange(0, 64, 8, dtype=np.uint64)


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator, unused-ignore]
def run_blocks(tables: Any, a: Any, b: Any, out: Any, outputs: Any, words: Any, values: Any, results: Any) -> None:
    """Run a program block by block on input words; arguments as in `ordinate.logic.circuit.program.Program`, all contiguous."""
    for start in range(0, words.shape[1], WORDS):
        for place in range(words.shape[0]):
            for word in range(WORDS):
                values[place, word] = words[place, start + word]
        _run(tables, a, b, out, values)
        for place in range(len(outputs)):
            for word in range(WORDS):
                results[place, start + word] = values[outputs[place], word]


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator, unused-ignore]
def run_rows(tables: Any, a: Any, b: Any, out: Any, outputs: Any, rows: Any, least: Any, values: Any, results: Any) -> None:
    """The same on rows of bytes [images, inputs], where an input is set whose byte is at least `least` [inputs]."""
    inputs = rows.shape[1]
    eight, packed = np.zeros((8, inputs), np.uint8), np.zeros((WORDS, inputs), np.uint64)
    for start in range(0, results.shape[1], WORDS):
        for word in range(WORDS):
            _pack(rows, 64 * (start + word), least, eight, packed[word])
        for first in range(0, inputs, 8):  # few enough at a time to stay in the nearest cache
            for word in range(WORDS):
                for place in range(first, min(first + 8, inputs)):
                    values[place, word] = packed[word, place]
        _run(tables, a, b, out, values)
        for place in range(len(outputs)):
            for word in range(WORDS):
                results[place, start + word] = values[outputs[place], word]


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator, unused-ignore]
def _run(tables: Any, a: Any, b: Any, out: Any, values: Any) -> None:
    for step in range(len(tables)):
        masks = _OPERATIONS[tables[step]]
        p, q, r, s = masks[0], masks[1], masks[2], masks[3]
        x, y, z = values[a[step]], values[b[step]], values[out[step]]
        for word in range(WORDS):
            z[word] = (x[word] & ((y[word] & p) ^ q)) ^ (y[word] & r) ^ s


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator, unused-ignore]
def _pack(rows: Any, first: int, least: Any, eight: Any, words: Any) -> None:
    """64 rows as one word an input; rows that are not there count as zeros."""
    images, inputs = rows.shape
    for group in range(8):
        bits, row = eight[group], first + 8 * group
        if row + 8 <= images:
            r0, r1, r2, r3 = rows[row], rows[row + 1], rows[row + 2], rows[row + 3]
            r4, r5, r6, r7 = rows[row + 4], rows[row + 5], rows[row + 6], rows[row + 7]
            for j in range(inputs):  # written out, so that eight vectors of bytes are compared and joined
                t = least[j]
                low = (r0[j] >= t) | (r1[j] >= t) << 1 | (r2[j] >= t) << 2 | (r3[j] >= t) << 3
                bits[j] = low | (r4[j] >= t) << 4 | (r5[j] >= t) << 5 | (r6[j] >= t) << 6 | (r7[j] >= t) << 7
            continue
        bits[:] = 0
        for place in range(row, images):
            for j in range(inputs):
                bits[j] |= (rows[place, j] >= least[j]) << (place - row)
    b0, b1, b2, b3, b4, b5, b6, b7 = eight[0], eight[1], eight[2], eight[3], eight[4], eight[5], eight[6], eight[7]
    for j in range(inputs):
        low = (
            np.uint64(b0[j]) | np.uint64(b1[j]) << _SHIFTS[1] | np.uint64(b2[j]) << _SHIFTS[2] | np.uint64(b3[j]) << _SHIFTS[3]
        )
        high = (
            np.uint64(b4[j]) | np.uint64(b5[j]) << _SHIFTS[1] | np.uint64(b6[j]) << _SHIFTS[2] | np.uint64(b7[j]) << _SHIFTS[3]
        )
        words[j] = low | high << _SHIFTS[4]
