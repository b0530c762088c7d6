"""Circuits of look-up tables with up to six inputs each, beside the two-input gates that all else works on.

A chip's logic is made of such tables, and so are the networks of torch-dwn and of torchlogix from rank 4 on.
A `LutCircuit` runs as it is; `to_circuit` decomposes it into gates, and `to_circuit(by_rows=True)` writes
each table out row by row, which is another expression of the same function for a proof to compare with.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from ordinate.arguments import check_integer
from ordinate.errors import ArgumentError
from ordinate.logic.circuit.arrays import as_bits, integer_array
from ordinate.logic.circuit.circuit import Circuit, Votes
from ordinate.logic.circuit.input_thresholds import InputThresholds
from ordinate.logic.circuit.netlist import FALSE, TRUE, Netlist, to_circuit

__all__ = ["LutCircuit", "decomposed", "widened"]


@dataclass(frozen=True, eq=False)
class LutCircuit:
    """Look-up tables, and the votes, bias, temperature, thresholds and labels of a `Circuit`.

    Args:
        num_inputs: bits that come in.
        reads: int32 [nodes, k], earlier signals that each table reads, 1 to 6 of them.
        tables: uint64 [nodes]; bit r is the output for row r, in which the first read is the lowest bit.
        votes: as in `Circuit`.
        bias, tau, inputs, labels, notes: as in `Circuit`.

    Raises:
        ArgumentError: as `Circuit`; more than six inputs a table; a table past 2^(2^k).

    >>> majority = LutCircuit(3, [[0, 1, 2]], [0b11101000], votes=[([3], [1])])
    >>> majority.count([[1, 1, 0], [0, 1, 0]]).tolist(), majority.to_circuit().num_gates
    ([[1], [0]], 4)
    """

    num_inputs: int
    reads: npt.NDArray[np.int32]
    tables: npt.NDArray[np.uint64]
    frame: Circuit
    notes: Mapping[str, Any] = field(default_factory=dict)

    def __init__(
        self,
        num_inputs: int,
        reads: npt.ArrayLike,
        tables: npt.ArrayLike,
        votes: Sequence[Votes | tuple[npt.ArrayLike, npt.ArrayLike]],
        bias: npt.ArrayLike | None = None,
        tau: float = 1.0,
        inputs: InputThresholds | None = None,
        labels: Sequence[int | str] | None = None,
        notes: Mapping[str, Any] | None = None,
    ) -> None:
        put = object.__setattr__
        wires = np.asarray(reads)
        wires = wires.reshape(len(wires), -1) if wires.size else np.zeros((0, 1), np.int32)
        k = wires.shape[1]
        if not 1 <= k <= 6:
            raise ArgumentError("reads", expected="1 to 6 signals a table", got=k)
        put(self, "num_inputs", check_integer("num_inputs", num_inputs, minimum=1, maximum=2**31 - 1))
        put(self, "reads", integer_array(wires.reshape(-1), np.int32, "reads").reshape(-1, k))
        put(self, "tables", integer_array(np.asarray(tables, np.uint64), np.uint64, "tables"))
        if len(self.tables) != len(self.reads):
            raise ArgumentError("tables", expected=f"{len(self.reads)}, one a node", got=len(self.tables))
        if k < 6 and len(self.tables) and int(self.tables.max()) >> (1 << k):
            raise ArgumentError("tables", expected=f"tables of {1 << k} rows", got=int(self.tables.max()))
        own = num_inputs + np.arange(len(self.reads))
        wrong = ((self.reads < 0) | (self.reads >= own[:, None])).any(1)
        if wrong.any():
            place = int(wrong.argmax())
            raise ArgumentError(f"reads[{place}]", expected="earlier signals only", got=self.reads[place].tolist())
        # votes, bias and the rest are those of a circuit whose nodes are constants, which checks them
        nodes = len(self.reads)
        zeros = np.zeros(nodes, np.int32)
        put(self, "frame", Circuit(num_inputs, zeros.astype(np.uint8), zeros, zeros, votes, bias, tau, inputs, labels, notes))
        put(self, "notes", self.frame.notes)

    def __repr__(self) -> str:
        return f"LutCircuit({self.num_inputs} inputs, {self.num_tables} tables of up to {self.k} inputs)"

    @property
    def k(self) -> int:
        """Inputs of a table, at most."""
        return int(self.reads.shape[1])

    @property
    def num_tables(self) -> int:
        """Tables that depend on two inputs or more: inverters and wires vanish into others, constants too."""
        return sum(len(needed) > 1 for needed in self.needed())

    def needed(self) -> list[list[int]]:
        """For each table the places of the reads that it depends on."""
        result = []
        for table in self.tables.tolist():
            places = []
            for place in range(self.k):
                low = _LOW[place] & ((1 << (1 << self.k)) - 1)
                if (table >> (1 << place) ^ table) & low:
                    places.append(place)
            result.append(places)
        return result

    def signals(self, bits: Any) -> npt.NDArray[np.bool_]:
        """Every signal [N, num_inputs + nodes] for input bits [N, num_inputs].

        Raises:
            ShapeError, ArgumentError: what are no bits of as many inputs.
        """
        rows = as_bits(bits, self.num_inputs).reshape(-1, self.num_inputs)
        values = np.empty((len(rows), self.num_inputs + len(self.tables)), np.bool_)
        values[:, : self.num_inputs] = rows
        powers = np.uint64(1) << np.arange(self.k, dtype=np.uint64)
        for node, (reads, table) in enumerate(zip(self.reads, self.tables, strict=True), self.num_inputs):
            row = (values[:, reads] * powers).sum(1, dtype=np.uint64)
            values[:, node] = (table >> row) & np.uint64(1)
        return values

    def count(self, bits: Any) -> npt.NDArray[np.int64]:
        """The weighted votes [N, classes]. Raises as `signals`."""
        values = self.signals(bits)
        return np.stack([values[:, vote.signals] @ vote.weights for vote in self.frame.votes], 1)

    def evaluate(self, bits: Any) -> npt.NDArray[np.float64]:
        """The scores [N, classes]: votes plus bias, divided by tau. Raises as `signals`."""
        return (self.count(bits) + self.frame.bias) / self.frame.tau

    def predict(self, bits: Any) -> npt.NDArray[np.int64]:
        """The class [N] of the greatest score, of equal ones the first. Raises as `signals`."""
        return np.asarray((self.count(bits) + self.frame.bias).argmax(1))

    def to_circuit(self, *, by_rows: bool = False) -> Circuit:
        """The same function in two-input gates.

        Args:
            by_rows: write each table as the OR of its rows, which takes more gates, instead of by Shannon's expansion.
        """
        netlist = Netlist(self.num_inputs)
        literals = [2 * (1 + place) for place in range(self.num_inputs)]
        for reads, table in zip(self.reads.tolist(), self.tables.tolist(), strict=True):
            inner = [literals[one] for one in reads]
            literals.append(_or_of_rows(netlist, table, inner) if by_rows else decomposed(netlist, table, inner))
        return to_circuit(netlist, literals, self.frame)


_LOW = [sum(1 << row for row in range(64) if not row >> place & 1) for place in range(6)]


def widened(table: int, inputs: int, k: int) -> int:
    """A table of `inputs` inputs as one of k, which does not depend on the others.

    >>> bin(widened(0b10, 1, 2))
    '0b1010'
    """
    for place in range(inputs, k):
        table |= table << (1 << place)
    return table


def decomposed(netlist: Netlist, table: int, literals: Sequence[int]) -> int:
    """The literal of a table of some literals, by Shannon's expansion by the input that leaves the simplest halves.

    Args:
        netlist: the gates are added there.
        table: bit r is the output for row r; the first literal is the lowest bit of the row number.
        literals: inputs of the table.

    >>> netlist = Netlist(2)
    >>> decomposed(netlist, 0b0110, [2, 4]) == netlist.parity(2, 4)
    True
    """
    k = len(literals)
    full = (1 << (1 << k)) - 1
    if table == 0 or table == full:
        return TRUE if table else FALSE
    if k == 1:
        return literals[0] ^ (table == 1)
    if k == 2:
        return netlist.function(table, literals[1], literals[0])
    halves = [_halves(table, place, k) for place in range(k)]
    place = min(range(k), key=lambda one: (_cost(*halves[one], k - 1), -one))
    zero, one = halves[place]
    rest = [*literals[:place], *literals[place + 1 :]]
    chooser, small = literals[place], (1 << (1 << (k - 1))) - 1
    if zero == one:
        return decomposed(netlist, zero, rest)
    if zero ^ small == one:
        return netlist.parity(chooser, decomposed(netlist, zero, rest))
    low, high = (decomposed(netlist, part, rest) for part in (zero, one))
    if zero in (0, small):
        return netlist.conjunction(chooser, high) if not zero else netlist.conjunction(chooser, high ^ 1) ^ 1
    if one in (0, small):
        return netlist.conjunction(chooser ^ 1, low) if not one else netlist.conjunction(chooser ^ 1, low ^ 1) ^ 1
    if zero & one == zero:
        return netlist.conjunction(low ^ 1, netlist.conjunction(chooser, high) ^ 1) ^ 1
    if zero & one == one:
        return netlist.conjunction(high ^ 1, netlist.conjunction(chooser ^ 1, low) ^ 1) ^ 1
    return netlist.parity(low, netlist.conjunction(chooser, netlist.parity(low, high)))


def _halves(table: int, place: int, k: int) -> tuple[int, int]:
    """The table where an input is 0, and where it is 1, each over the other inputs in their order."""
    parts = [0, 0]
    counts = [0, 0]
    for row in range(1 << k):
        side = row >> place & 1
        parts[side] |= (table >> row & 1) << counts[side]
        counts[side] += 1
    return parts[0], parts[1]


def _cost(zero: int, one: int, k: int) -> int:
    small = (1 << (1 << k)) - 1
    if zero == one or zero ^ small == one:
        return 0
    return sum(part not in (0, small) for part in (zero, one))


def _or_of_rows(netlist: Netlist, table: int, literals: Sequence[int]) -> int:
    result = FALSE
    for row in range(1 << len(literals)):
        if table >> row & 1:
            term = TRUE
            for place, literal in enumerate(literals):
                term = netlist.conjunction(term, literal ^ (1 - (row >> place & 1)))
            result = netlist.conjunction(result ^ 1, term ^ 1) ^ 1
    return result
