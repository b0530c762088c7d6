"""The signals of a growing circuit on all its examples: eight examples a byte, one row a signal."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["SignalBank", "apply_gate"]

Bytes = npt.NDArray[np.uint8]


def apply_gate(table: int, a: Bytes, b: Bytes) -> Bytes:
    """The gate of a truth table on packed bits: the OR of its minterms, for the genuine gates in at most two operations more.

    >>> bits = np.packbits([[0, 0, 1, 1], [0, 1, 0, 1]], axis=1)
    >>> np.unpackbits(apply_gate(0b0110, *bits), count=4).tolist()
    [0, 1, 1, 0]
    """
    simple = {
        8: lambda: a & b,
        14: lambda: a | b,
        6: lambda: a ^ b,
        7: lambda: ~(a & b),
        1: lambda: ~(a | b),
        9: lambda: ~(a ^ b),
        4: lambda: a & ~b,
        2: lambda: ~a & b,
        13: lambda: a | ~b,
        11: lambda: ~a | b,
    }
    if table in simple:
        return simple[table]()
    whole = np.zeros_like(a)
    for corner in range(4):
        if table >> corner & 1:
            whole |= (a if corner & 2 else ~a) & (b if corner & 1 else ~b)
    return whole


class SignalBank:
    """Packed bits of inputs and gates, [signals, ceil(examples / 8)].

    Args:
        inputs: bool [examples, inputs].
        capacity: how many gates there will be room for.

    >>> bank = SignalBank(np.array([[0, 1], [1, 1], [1, 0]], dtype=bool), capacity=1)
    >>> bank.add(8, 0, 1)
    >>> bank.bits(2).tolist()
    [0, 1, 0]
    """

    def __init__(self, inputs: npt.NDArray[np.bool_], capacity: int) -> None:
        self.examples, self.count = inputs.shape
        self._rows = np.zeros((self.count + capacity, -(-self.examples // 8)), np.uint8)
        for first in range(0, self.count, 64):  # a transposed copy of all inputs at once would not fit a small machine
            self._rows[first : min(first + 64, self.count)] = np.packbits(inputs[:, first : first + 64].T, axis=1)

    def add(self, table: int, a: int, b: int) -> None:
        """Append the output of a gate on two signals."""
        self._rows[self.count] = apply_gate(table, self._rows[a], self._rows[b])
        self.count += 1

    def keep(self, signals: npt.NDArray[np.int64]) -> None:
        """Keep these signals alone, in this order."""
        self._rows[: len(signals)] = self._rows[signals]
        self.count = len(signals)

    def bits(self, signal: int) -> npt.NDArray[np.uint8]:
        """One signal on every example, uint8 [examples]."""
        return np.unpackbits(self._rows[signal], count=self.examples)

    def packed(self, signal: int) -> Bytes:
        """One signal as it is kept, eight examples a byte."""
        return self._rows[signal]

    def sampled(self, signals: npt.NDArray[np.int64], examples: npt.NDArray[np.int64]) -> npt.NDArray[np.uint8]:
        """Some signals on some examples, uint8 [signals, examples]."""
        shift = (7 - (examples & 7)).astype(np.uint8)
        return (self._rows[signals][:, examples >> 3] >> shift) & np.uint8(1)
