"""Gates gathered into look-up tables of up to four inputs, which is what an iCE40 has.

For every gate the cuts of up to four signals are listed, the best few are kept by area flow, and the cover from the votes back
is improved by exact area (Mishchenko, Chatterjee & Brayton 2007, "Improvements to technology mapping for LUT-based FPGAs",
doi 10.1109/TCAD.2006.887925).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ordinate.arguments import check_integer
from ordinate.errors import ArgumentError
from ordinate.logic.circuit.circuit import Circuit, Votes
from ordinate.logic.circuit.input_thresholds import FixedPoint
from ordinate.logic.circuit.luts import LutCircuit, decomposed, widened
from ordinate.logic.circuit.netlist import FALSE, TRUE, Netlist, add_circuit, to_circuit
from ordinate.logic.circuit.program import voting_signals

__all__ = ["Lut", "LutNetwork", "encoder", "map_luts"]

_KEPT_CUTS = 6

Cut = tuple[int, ...]


@dataclass(frozen=True)
class Lut:
    """A table of a few signals.

    Args:
        signal: of the circuit that it computes.
        reads: signals of the circuit, ascending; the first is the lowest bit of the row number.
        table: bit r is the output for row r.

    >>> exclusive_or = Circuit(2, [6], [0], [1], votes=[([2], [1])])
    >>> map_luts(exclusive_or).luts
    (Lut(signal=2, reads=(0, 1), table=6),)
    """

    signal: int
    reads: tuple[int, ...]
    table: int


@dataclass(frozen=True)
class LutNetwork:
    """A circuit as look-up tables.

    Args:
        circuit: what was mapped, after sharing; its votes are of inputs and of table outputs only.
        luts: in an order that runs.
    """

    circuit: Circuit
    luts: tuple[Lut, ...]

    @property
    def depth(self) -> int:
        """Tables on the longest path."""
        levels: dict[int, int] = {}
        for lut in self.luts:
            levels[lut.signal] = 1 + max((levels.get(one, 0) for one in lut.reads), default=0)
        return max(levels.values(), default=0)

    def to_circuit(self) -> Circuit:
        """The tables as two-input gates again, by Shannon's expansion: what a proof of the mapping compares."""
        netlist = Netlist(self.circuit.num_inputs)
        literals = [2 * (1 + place) for place in range(self.circuit.num_inputs)] + [0] * self.circuit.num_nodes
        for lut in self.luts:
            literals[lut.signal] = decomposed(netlist, lut.table, [literals[one] for one in lut.reads])
        return to_circuit(netlist, literals, self.circuit)

    def to_luts(self) -> LutCircuit:
        """The tables alone, as a circuit that runs.

        >>> four = Circuit(4, [6, 6, 6], [0, 2, 4], [1, 3, 5], votes=[([6], [1])])
        >>> map_luts(four, 4).to_luts()
        LutCircuit(4 inputs, 1 tables of up to 4 inputs)
        """
        place = {one: one for one in range(self.circuit.num_inputs)}
        place |= {lut.signal: self.circuit.num_inputs + number for number, lut in enumerate(self.luts)}
        k = max((len(lut.reads) for lut in self.luts), default=1)
        votes = [Votes.of([place[one] for one in vote.signals.tolist()], vote.weights) for vote in self.circuit.votes]
        return LutCircuit(
            self.circuit.num_inputs,
            [[*(place[one] for one in lut.reads), *[0] * (k - len(lut.reads))] for lut in self.luts],
            [widened(lut.table, len(lut.reads), k) for lut in self.luts],
            votes,
            self.circuit.bias,
            self.circuit.tau,
            self.circuit.inputs,
            self.circuit.labels,
            self.circuit.notes,
        )


def map_luts(circuit: Circuit, inputs: int = 4) -> LutNetwork:
    """Map a circuit's gates; counting and comparing are not mapped, they become adders.

    Args:
        circuit: any; gates are shared and dead ones dropped first.
        inputs: of a table, 2 to 6.

    Raises:
        ArgumentError: inputs out of range.

    >>> four = Circuit(4, [6, 6, 6], [0, 2, 4], [1, 3, 5], votes=[([6], [1])])
    >>> [(lut.reads, f"{lut.table:016b}") for lut in map_luts(four).luts]
    [((0, 1, 2, 3), '0110100110010110')]
    """
    check_integer("inputs", inputs, minimum=2, maximum=6)
    netlist = Netlist(circuit.num_inputs)
    small = to_circuit(netlist, add_circuit(netlist, circuit), circuit)
    mapper = _Mapper(small, inputs)
    chosen = mapper.cover()
    luts = [Lut(node, cut, _table(mapper.netlist, node, cut)) for node, cut in sorted(chosen.items())]
    return LutNetwork(small, tuple(luts))


def encoder(circuit: Circuit, number: FixedPoint) -> Circuit:
    """The comparators in front of a circuit, as a circuit of their own: the bits of the numbers in, the bits that are read out.

    What `map_luts` makes of it is what the thresholds cost on a chip, to be counted with the circuit's own tables or apart from
    them, as papers do either.

    Args:
        circuit: with thresholds; those whose bit no gate and no vote reads are left out.
        number: the format of the numbers; bit i of feature f is input `f * bits + i`.

    Raises:
        ArgumentError: a circuit of bits.

    >>> from ordinate.logic import InputThresholds
    >>> codes = InputThresholds(1, [0, 0], [2.5, 5.0])
    >>> circuit = Circuit(2, [6], [0], [1], votes=[([2], [1])], inputs=codes)
    >>> encoder(circuit, FixedPoint(3)).evaluate([[0, 1, 0], [0, 1, 1]]).tolist()  # 2 and 6
    [[0.0, 0.0], [1.0, 1.0]]
    """
    if circuit.inputs is None:
        raise ArgumentError("circuit", expected="one with thresholds", got="one that takes bits")
    reads = [circuit.inputs_a, circuit.inputs_b, *(vote.signals for vote in circuit.votes)]
    used = [one for one in sorted({int(one) for part in reads for one in part}) if one < circuit.num_inputs]
    least = number.least(circuit.inputs)
    netlist = Netlist(circuit.inputs.num_features * number.bits)
    outputs = []
    for bit in used:
        constant = int(least[bit]) - number.smallest  # the sign bit is turned over, so that numbers compare as they lie
        literal = TRUE if constant <= 0 else FALSE
        if 0 < constant <= number.largest - number.smallest:
            literal = TRUE
            for place in range(number.bits):
                own = 2 * (1 + int(circuit.inputs.feature[bit]) * number.bits + place)
                own ^= int(number.signed and place == number.bits - 1)
                if constant >> place & 1:
                    literal = netlist.conjunction(own, literal)
                else:
                    literal = netlist.conjunction(own ^ 1, literal ^ 1) ^ 1
        outputs.append(literal)
    count = netlist.num_inputs
    places = count + np.arange(max(1, len(outputs)))
    zeros = np.zeros(len(places), np.int32)
    frame = Circuit(count, zeros.astype(np.uint8), zeros, zeros, [Votes.of([one]) for one in places])
    return to_circuit(netlist, [*(2 * (1 + one) for one in range(count)), *(outputs or [FALSE])], frame)


class _Mapper:
    """Signals of the shared circuit are numbered as in it; node n of the netlist is signal n - 1."""

    def __init__(self, circuit: Circuit, inputs: int) -> None:
        self.netlist = Netlist(circuit.num_inputs)
        add_circuit(self.netlist, circuit)
        self.inputs, self.first = inputs, circuit.num_inputs
        self.count = circuit.num_inputs + circuit.num_nodes
        self.roots = [signal for signal in voting_signals(circuit) if signal >= self.first]
        self.fanin = [(self.netlist.left[one + 1] // 2 - 1, self.netlist.right[one + 1] // 2 - 1) for one in range(self.count)]
        fanout = [0] * self.count
        for one in range(self.first, self.count):
            for read in self.fanin[one]:
                fanout[read] += 1
        for root in self.roots:
            fanout[root] += 1
        self.cuts: list[list[Cut]] = [[] for _ in range(self.count)]
        share = [0.0] * self.count  # area flow of each signal, divided among those that read it
        for one in range(self.first, self.count):
            self.cuts[one] = self._cuts_of(one, share)
            share[one] = (1 + sum(share[leaf] for leaf in self.cuts[one][0])) / max(1, fanout[one])

    def _cuts_of(self, one: int, share: list[float]) -> list[Cut]:
        left, right = self.fanin[one]
        cuts = set()
        for a in [*self.cuts[left], (left,)]:
            for b in [*self.cuts[right], (right,)]:
                leaves = {*a, *b}
                if len(leaves) <= self.inputs:
                    cuts.add(tuple(sorted(leaves)))
        ranked = sorted((sum([share[leaf] for leaf in cut]), len(cut), cut) for cut in cuts)
        return [cut for _, _, cut in ranked[:_KEPT_CUTS]]

    def cover(self) -> dict[int, Cut]:
        """The cut of each signal that becomes a table."""
        best = {one: self.cuts[one][0] for one in range(self.first, self.count)}
        uses = [0] * self.count
        for root in self.roots:
            uses[root] += 1
        for one in range(self.count - 1, self.first - 1, -1):
            if uses[one]:
                for leaf in best[one]:
                    uses[leaf] += 1
        for _ in range(3):
            for one in range(self.first, self.count):
                if not uses[one]:
                    continue
                self._release(best[one], uses, best)
                costs = []
                for cut in self.cuts[one]:
                    costs.append((self._take(cut, uses, best), len(cut), cut))
                    self._release(cut, uses, best)
                best[one] = min(costs)[2]
                self._take(best[one], uses, best)
        return {one: best[one] for one in range(self.first, self.count) if uses[one]}

    def _take(self, cut: Cut, uses: list[int], best: dict[int, Cut]) -> int:
        """Use a cut's leaves; the tables that this adds, its own included."""
        area, waiting = 1, list(cut)
        while waiting:
            leaf = waiting.pop()
            uses[leaf] += 1
            if uses[leaf] == 1 and leaf >= self.first:
                area += 1
                waiting += best[leaf]
        return area

    def _release(self, cut: Cut, uses: list[int], best: dict[int, Cut]) -> None:
        waiting = list(cut)
        while waiting:
            leaf = waiting.pop()
            uses[leaf] -= 1
            if not uses[leaf] and leaf >= self.first:
                waiting += best[leaf]


def _table(netlist: Netlist, signal: int, cut: Cut) -> int:
    """The truth table of a signal over a cut."""
    rows = 1 << len(cut)
    full = (1 << rows) - 1
    values = {leaf + 1: sum(1 << row for row in range(rows) if row >> place & 1) for place, leaf in enumerate(cut)}

    def value(literal: int) -> int:
        node = literal >> 1
        if node not in values:
            x, y = value(netlist.left[node]), value(netlist.right[node])
            values[node] = x ^ y if netlist.is_xor[node] else x & y
        return values[node] ^ (full if literal & 1 else 0)

    return value(2 * (signal + 1))
