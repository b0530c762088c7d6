"""The inner loop of the bit-parallel runtime, compiled by numba once for every circuit. Needs the extra `fast`."""

from __future__ import annotations

from typing import Any

from numba import njit

__all__ = ["run_blocks"]

_WORDS = 16  # BLOCK_WORDS["numba"], a constant here so that the loops below become a few vector instructions


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator, unused-ignore]
def run_blocks(tables: Any, a: Any, b: Any, out: Any, outputs: Any, words: Any, values: Any, results: Any) -> None:
    """Run a program block by block; arguments as in `ordinate.logic.program.Program`, all of them contiguous."""
    inputs = words.shape[0]
    for start in range(0, words.shape[1], _WORDS):
        for place in range(inputs):
            for word in range(_WORDS):
                values[place, word] = words[place, start + word]
        for step in range(len(tables)):
            table = tables[step]
            x, y, z = values[a[step]], values[b[step]], values[out[step]]
            if table == 6:
                for word in range(_WORDS):
                    z[word] = x[word] ^ y[word]
            elif table == 8:
                for word in range(_WORDS):
                    z[word] = x[word] & y[word]
            elif table == 4:
                for word in range(_WORDS):
                    z[word] = x[word] & ~y[word]
            elif table == 14:
                for word in range(_WORDS):
                    z[word] = x[word] | y[word]
            elif table == 3:
                for word in range(_WORDS):
                    z[word] = ~x[word]
            elif table == 0:
                for word in range(_WORDS):
                    z[word] = x[word] & ~x[word]  # no literal here: numba joins int64 and uint64 to float64
            else:
                for word in range(_WORDS):
                    z[word] = x[word] | ~x[word]
        for place in range(len(outputs)):
            for word in range(_WORDS):
                results[place, start + word] = values[outputs[place], word]
