"""Circuits run on words of 64 images, without a compiler."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ordinate.logic.counting import count_plan
from ordinate.logic.words import WORD_BITS, pack, unpack

if TYPE_CHECKING:
    from ordinate.logic.circuit import Circuit

__all__ = ["BitParallel"]

_CHUNK = 1 << 13


class BitParallel:
    """A circuit made ready to run on many images at once."""

    def __init__(self, circuit: Circuit) -> None:
        self.circuit, self.plan = circuit, count_plan(circuit)
        self._groups = _levels(circuit)

    def signals(self, bits: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """Every signal [images, signals] for bits [images, num_inputs]."""
        return unpack(self._run(pack(bits)), len(bits))

    def count(self, bits: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
        """The votes [images, classes]."""
        counted = np.zeros((len(bits), self.circuit.num_classes), np.int64)
        for start in range(0, len(bits), _CHUNK):
            found = self.signals(bits[start : start + _CHUNK])
            for place, vote in enumerate(self.circuit.votes):
                counted[start : start + _CHUNK, place] = found[:, vote.signals].astype(np.int64) @ vote.weights
        return counted

    def predict(self, bits: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
        """The class [images]."""
        floors = np.floor(self.circuit.bias).astype(np.int64)
        order = np.array(self.plan.order)
        return order[(self.count(bits) + floors)[:, order].argmax(-1)]

    def _run(self, words: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
        circuit = self.circuit
        values = np.empty((circuit.num_inputs + circuit.num_nodes, words.shape[1]), np.uint64)
        values[: circuit.num_inputs] = words
        for table, nodes in self._groups:
            a, b = values[circuit.inputs_a[nodes]], values[circuit.inputs_b[nodes]]
            values[circuit.num_inputs + nodes] = _apply(table, a, b)
        return values


def _apply(table: int, a: Any, b: Any) -> Any:
    """Any of the 16 functions of two words, as the sum of its minterms."""
    out = np.zeros_like(a)
    for place, (left, right) in enumerate(((~a, ~b), (~a, b), (a, ~b), (a, b))):
        if table >> place & 1:
            out |= left & right
    return out


def _levels(circuit: Circuit) -> list[tuple[int, npt.NDArray[np.int64]]]:
    """Nodes in groups of one table that do not read each other, in an order that runs."""
    level = [0] * (circuit.num_inputs + circuit.num_nodes)
    for place, (a, b) in enumerate(zip(circuit.inputs_a.tolist(), circuit.inputs_b.tolist(), strict=True)):
        level[circuit.num_inputs + place] = 1 + max(level[a], level[b])
    keys: dict[tuple[int, int], list[int]] = {}
    for place, table in enumerate(circuit.tables.tolist()):
        keys.setdefault((level[circuit.num_inputs + place], table), []).append(place)
    return [(table, np.array(nodes)) for (_, table), nodes in sorted(keys.items())]
