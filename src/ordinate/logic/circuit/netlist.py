"""A netlist whose negations sit on edges, so that there are two kinds of gates only: AND and XOR of literals.

Every function of two inputs is one of these two, up to complements of its inputs and output. A literal is 2 * node, plus 1
where the complement is meant; node 0 is the constant false, then come the inputs, then gates. This is the and-inverter graph
of Kuehlmann et al. 2002 (doi 10.1109/TCAD.2002.804386) with XOR kept as one gate, which it is here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from ordinate.logic.circuit.circuit import Circuit, Votes

__all__ = ["FALSE", "TRUE", "Netlist", "add_circuit", "to_circuit"]

FALSE, TRUE = 0, 1
# the truth table of each variable of up to four, as in Knuth's "projection functions" (TAOCP 7.1.2)
_VARIABLES = (0xAAAA, 0xCCCC, 0xF0F0, 0xFF00)


class Netlist:
    """Gates as they are added, constants and trivial cases folded away on the spot.

    Args:
        num_inputs: inputs, nodes 1 to num_inputs.
        shared: a gate that is there already is used again.
        absorbing: a gate whose function over the inputs of its inputs needs two signals or fewer becomes that.
    """

    def __init__(self, num_inputs: int, *, shared: bool = True, absorbing: bool = False) -> None:
        self.num_inputs, self.shared, self.absorbing = num_inputs, shared, absorbing
        self.is_xor: list[bool] = [False] * (1 + num_inputs)
        self.left: list[int] = [0] * (1 + num_inputs)  # literals
        self.right: list[int] = [0] * (1 + num_inputs)
        self.known: dict[tuple[bool, int, int], int] = {}

    def __len__(self) -> int:
        return len(self.left)

    def is_gate(self, node: int) -> bool:
        """Whether a node is neither the constant nor an input."""
        return node > self.num_inputs

    def conjunction(self, x: int, y: int) -> int:
        """The literal of x AND y."""
        if x > y:
            x, y = y, x
        if x in (y, TRUE):
            return y
        if x == FALSE or x == y ^ 1:
            return FALSE
        return self._gate(False, x, y)

    def parity(self, x: int, y: int) -> int:
        """The literal of x XOR y; complements of inputs become one of the output."""
        turned = (x ^ y) & 1
        x, y = x & ~1, y & ~1
        if x > y:
            x, y = y, x
        if x == y:
            return turned
        if x == FALSE:
            return y ^ turned
        return self._gate(True, x, y) ^ turned

    def function(self, table: int, a: int, b: int) -> int:
        """The literal of any function of two literals, given as a truth table (bit 2a + b)."""
        if table in (0, 15):
            return TRUE if table else FALSE
        if table in (12, 3):
            return a ^ (table == 3)
        if table in (10, 5):
            return b ^ (table == 5)
        if table in (6, 9):
            return self.parity(a, b) ^ (table == 9)
        turned = table.bit_count() == 3
        place = ((15 ^ table) if turned else table).bit_length() - 1
        return self.conjunction(a ^ (1 - (place >> 1)), b ^ (1 - (place & 1))) ^ turned

    def _gate(self, is_xor: bool, x: int, y: int) -> int:
        key = (is_xor, x, y)
        if self.shared and key in self.known:
            return self.known[key]
        if self.absorbing:
            simpler = self._absorbed(is_xor, x, y)
            if simpler is not None:
                self.known[key] = simpler
                return simpler
        node = len(self.left)
        self.is_xor.append(is_xor)
        self.left.append(x)
        self.right.append(y)
        if self.shared:
            self.known[key] = 2 * node
        return 2 * node

    def _absorbed(self, is_xor: bool, x: int, y: int) -> int | None:
        """The gate in terms of its inputs' inputs, where it needs at most two of them."""
        nodes = (x >> 1, y >> 1)
        for opened in ((True, True), (True, False), (False, True)):
            leaves: list[int] = []
            for node, wanted in zip(nodes, opened, strict=True):
                inner = (self.left[node] >> 1, self.right[node] >> 1) if wanted and self.is_gate(node) else (node,)
                leaves += [leaf for leaf in inner if leaf not in leaves]
            if set(leaves) == set(nodes):
                continue
            values = {leaf: _VARIABLES[place] for place, leaf in enumerate(leaves)}
            first, second = (self._value(literal, values) for literal in (x, y))
            table = first ^ second if is_xor else first & second
            needed = [place for place in range(len(leaves)) if _depends(table, place)]
            if len(needed) <= 2:
                return self._of_leaves(table, [(leaves[place], place) for place in needed])
        return None

    def _value(self, literal: int, values: dict[int, int]) -> int:
        node = literal >> 1
        if node in values:
            value = values[node]
        else:
            left, right = (values[one >> 1] ^ (-(one & 1) & 0xFFFF) for one in (self.left[node], self.right[node]))
            value = left ^ right if self.is_xor[node] else left & right
        return value ^ (-(literal & 1) & 0xFFFF)

    def _of_leaves(self, table: int, needed: Sequence[tuple[int, int]]) -> int:
        """The literal of a table of four variables that depends on these (node, variable) only."""
        if not needed:
            return table & 1
        (a, place_a), (b, place_b) = needed[0], needed[-1]
        small = sum(
            (table >> ((row >> 1) << place_a | ((row & 1) << place_b if len(needed) > 1 else 0)) & 1) << row for row in range(4)
        )
        return self.function(small, 2 * a, 2 * b)

    def reached(self, literals: Iterable[int]) -> list[bool]:
        """For each node whether the literals depend on it."""
        reached = [False] * len(self.left)
        for literal in literals:
            reached[literal >> 1] = True
        for node in range(len(self.left) - 1, self.num_inputs, -1):
            if reached[node]:
                reached[self.left[node] >> 1] = True
                reached[self.right[node] >> 1] = True
        return reached

    def simulate(self, inputs: Sequence[int], mask: int, start: Sequence[int] = ()) -> list[int]:
        """Every node's values on many input rows, each row one bit of Python's integers.

        Args:
            inputs: for each input its bits, row by row.
            mask: ones for the rows there are.
            start: values of the first nodes where they are known already.
        """
        values = list(start) or [0, *inputs]
        for node in range(len(values), len(self.left)):
            x, y = self.left[node], self.right[node]
            left = values[x >> 1] ^ mask if x & 1 else values[x >> 1]
            right = values[y >> 1] ^ mask if y & 1 else values[y >> 1]
            values.append(left ^ right if self.is_xor[node] else left & right)
        return values


def _depends(table: int, place: int) -> bool:
    shift = 1 << place
    return bool(((table >> shift) ^ table) & ~_VARIABLES[place] & 0xFFFF)


def add_circuit(netlist: Netlist, circuit: Circuit) -> list[int]:
    """Add a circuit's nodes to a netlist of as many inputs; the literal of each of the circuit's signals."""
    literals = [2 * (1 + place) for place in range(circuit.num_inputs)]
    for table, a, b in zip(circuit.tables.tolist(), circuit.inputs_a.tolist(), circuit.inputs_b.tolist(), strict=True):
        literals.append(netlist.function(table, literals[a], literals[b]))
    return literals


def to_circuit(netlist: Netlist, literals: Sequence[int], circuit: Circuit, *, keep_dead: bool = False) -> Circuit:
    """A circuit from a netlist, with what else `circuit` carries.

    Complements vanish: those of a gate's inputs into its truth table, those of a vote into its weight and the bias, for
    w * (1 - x) = w - w * x. A constant vote is a bias. No inverter and no constant node is left.

    Args:
        netlist: the gates.
        literals: for each signal of `circuit` the literal that it is now.
        circuit: whose votes, bias, temperature, thresholds, labels and notes are taken over.
        keep_dead: keep gates that nobody reads.
    """
    votes, bias = [], circuit.bias.copy()
    for place, vote in enumerate(circuit.votes):
        merged: dict[int, int] = {}
        for signal, weight in zip(vote.signals.tolist(), vote.weights.tolist(), strict=True):
            literal = literals[signal]
            if literal & 1:
                bias[place] += weight
                weight = -weight
            if literal >> 1:
                merged[literal >> 1] = merged.get(literal >> 1, 0) + weight
        votes.append([(node, weight) for node, weight in merged.items() if weight])
    live = netlist.reached(2 * node for vote in votes for node, _ in vote)
    kept = [node for node in range(1 + netlist.num_inputs, len(netlist)) if live[node] or keep_dead]
    signal = {node: node - 1 for node in range(1, 1 + netlist.num_inputs)}
    signal.update({node: netlist.num_inputs + place for place, node in enumerate(kept)})
    tables = []
    for node in kept:
        if netlist.is_xor[node]:
            tables.append(6)
        else:
            tables.append(1 << (2 * (1 - (netlist.left[node] & 1)) + 1 - (netlist.right[node] & 1)))
    return Circuit(
        circuit.num_inputs,
        np.array(tables, np.uint8),
        np.array([signal[netlist.left[node] >> 1] for node in kept], np.int32),
        np.array([signal[netlist.right[node] >> 1] for node in kept], np.int32),
        votes=[Votes.of([signal[node] for node, _ in vote], [weight for _, weight in vote]) for vote in votes],
        bias=bias,
        tau=circuit.tau,
        inputs=circuit.inputs,
        labels=circuit.labels,
        notes=circuit.notes,
    )
