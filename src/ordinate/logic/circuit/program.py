"""A circuit as a straight line of word operations on few slots: what the runtime executes and C is written from.

Counting and comparing are operations like the gates: a vote is counted as soon as it is known. Nothing is combined and negated
in one operation except `a & ~b`, which machines have: by De Morgan every gate is stored as itself or as its complement,
whichever is a single AND, AND NOT, OR or XOR of what is stored. A slot is free again after the last use of what it holds, and
the slot freed last is taken first, for it is the one that is near.

Gates run in an order (`near_order`) in which each comes soon after what it reads, so that values are still in cache.
Gates whose values are read twice or so make a graph almost without cycles. Walked depth first along its edges in both
directions, from a value to one of its readers, down to what that still lacks, on to its readers in turn, and back, it leaves
most reads close to the write before them. Going down, the deeper input comes first, so that few values wait (Sethi and Ullman
1970, doi 10.1145/321607.321620); their order alone, from the outputs down, leaves nearly twice as many reads far away.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from ordinate.logic.circuit.adders import RunningCount, class_bits
from ordinate.logic.circuit.circuit import Circuit
from ordinate.logic.circuit.counting import CountPlan, count_plan
from ordinate.logic.circuit.netlist import FALSE, Netlist, add_circuit

__all__ = ["NEAR", "Program", "Stage", "inputs_first", "lower", "near_order", "voting_signals"]

Stage = Literal["gates", "counts", "classes", "all"]

NEAR = 16
"""Operations for which a value is thought to stay in a register: machines have 16 or more, and two are on their way."""

_READ_AGAIN = 8  # reads up to which a gate of two inputs is computed again rather than kept, where that is asked for
_NOT, _ZERO, _ONE, _AND, _AND_NOT, _OR, _XOR = 3, 0, 15, 8, 4, 14, 6


@dataclass(frozen=True)
class Program:
    """Operations in the order in which they run.

    Slots 0 to num_inputs - 1 hold the inputs and are never written.

    Args:
        num_inputs: input slots.
        num_slots: slots altogether.
        tables: uint8 [operations]; 8 is AND, 4 is a AND NOT b, 14 is OR, 6 is XOR, 3 is NOT a, 0 and 15 are constants.
        a, b: int32 [operations], slots that are read.
        out: int32 [operations], the slot that is written.
        outputs: int32 [outputs], slots that hold the answer in the end.
        groups: how many outputs belong together: to the class that wins, to the count of each class.
        plan: how the counts are to be read.
    """

    num_inputs: int
    num_slots: int
    tables: npt.NDArray[np.uint8]
    a: npt.NDArray[np.int32]
    b: npt.NDArray[np.int32]
    out: npt.NDArray[np.int32]
    outputs: npt.NDArray[np.int32]
    groups: tuple[int, ...]
    plan: CountPlan


def lower(circuit: Circuit, stage: Stage, *, recompute: bool = False) -> Program:
    """The program of a circuit.

    Args:
        circuit: any.
        stage: what comes out: "gates", every signal that votes, in the order of `voting_signals`; "counts", the bits of each
            class's count; "classes", the bits of the number of the class that wins; "all", these and then the counts.
        recompute: compute a gate of two inputs again where it is read again, rather than fetch it from far. Worth it where an
            operation costs less than a read from the second cache: in compiled code.

    >>> lower(Circuit(2, [6, 8], [0, 0], [1, 1], votes=[([2], [1]), ([3], [1])]), "classes").tables.tolist()
    [6, 8, 6, 8]
    """
    plan = count_plan(circuit)
    netlist = Netlist(circuit.num_inputs)
    literals = add_circuit(netlist, circuit)
    voting = [literals[signal] for signal in voting_signals(circuit)]
    sequence: Iterable[int] = near_order(netlist, voting)
    if stage == "gates":
        groups = [voting]
    else:
        counted, sequence = _count(netlist, plan, literals, sequence)
        counting = len(netlist)
        groups = [] if stage == "counts" else [class_bits(netlist, plan, counted)]
        groups += [] if stage == "classes" else counted
        sequence += range(counting, len(netlist))
    outputs = [literal for group in groups for literal in group]
    line = _Line(netlist, inputs_first(netlist, sequence, outputs), outputs, recompute=recompute)
    return _allocate(line, tuple(map(len, groups)), plan)


def voting_signals(circuit: Circuit) -> list[int]:
    """The signals that vote for anything, each once, in ascending order."""
    return sorted({int(signal) for vote in circuit.votes for signal in vote.signals})


def _count(
    netlist: Netlist, plan: CountPlan, literals: Sequence[int], sequence: Iterable[int]
) -> tuple[list[list[int]], list[int]]:
    """The bits of each class's count, and the sequence with adders as soon as there is something to add."""
    counts = [RunningCount(netlist) for _ in plan.classes]
    votes: dict[int, list[tuple[RunningCount, int, int]]] = {}
    for count, one in zip(counts, plan.classes, strict=True):
        for power, column in enumerate(one.columns):
            for literal in (literals[vote] if vote >= 0 else literals[~vote] ^ 1 for vote in column):
                votes.setdefault(literal >> 1, []).append((count, literal, power))
    order: list[int] = []
    for node in (*(node for node in votes if not netlist.is_gate(node)), *sequence):
        start = len(netlist)
        for count, literal, power in votes.get(node, ()):
            count.add(literal, power)
        order += [node] if netlist.is_gate(node) else []
        order += range(start, len(netlist))
    start = len(netlist)
    bits = [count.bits() for count in counts]
    return bits, [*order, *range(start, len(netlist))]


class _Line:
    """The operations, each making a value: values are numbered, the inputs first, then what the operations make.

    Args:
        netlist: the gates.
        order: those that run, each after what it reads.
        outputs: the literals that are wanted.
        recompute: as in `lower`.
    """

    def __init__(self, netlist: Netlist, order: Sequence[int], outputs: Sequence[int], *, recompute: bool) -> None:
        self.netlist, self.operations = netlist, list[tuple[int, int, int]]()
        self.value: dict[int, int] = {}  # of gates; an input's is its number
        self.turned = set[int]()  # nodes whose complement is what is stored
        read = [one >> 1 for node in order for one in (netlist.left[node], netlist.right[node])]
        reads = np.bincount(np.array(read, np.int64), minlength=len(netlist)).tolist()
        wanted: dict[int, set[int]] = {}
        for literal in outputs:
            wanted.setdefault(literal >> 1, set()).add(literal)
        self.passing = {
            node
            for node in (order if recompute else ())
            if node not in wanted
            and reads[node] <= _READ_AGAIN
            and not netlist.is_gate(netlist.left[node] >> 1)
            and not netlist.is_gate(netlist.right[node] >> 1)
        }
        ready: dict[int, int] = {}
        for node in (*(node for node in wanted if not netlist.is_gate(node)), *order):
            if node in self.passing:
                continue
            if netlist.is_gate(node):
                self._make(node)
            for literal in wanted.get(node, ()):
                ready[literal] = self._output(literal)
        self.outputs = [ready[literal] for literal in outputs]

    def _add(self, table: int, a: int, b: int) -> int:
        self.operations.append((table, a, b))
        return self.netlist.num_inputs + len(self.operations) - 1

    def _read(self, node: int) -> int:
        if node in self.passing and self.value.get(node, -NEAR) < self.netlist.num_inputs + len(self.operations) - NEAR:
            self._make(node)
        return self.value[node] if self.netlist.is_gate(node) else node - 1

    def _make(self, node: int) -> None:
        x, y = self.netlist.left[node], self.netlist.right[node]
        a, b = self._read(x >> 1), self._read(y >> 1)
        x, y = (one & 1 ^ (one >> 1 in self.turned) for one in (x, y))
        self.turned.discard(node)
        if self.netlist.is_xor[node]:
            table, turned = _XOR, x ^ y
        elif x and y:
            table, turned = _OR, 1
        else:
            table, turned = _AND_NOT if x or y else _AND, 0
        if turned:
            self.turned.add(node)
        self.value[node] = self._add(table, *((b, a) if x and not y else (a, b)))

    def _output(self, literal: int) -> int:
        node = literal >> 1
        if not node:
            return self._add(_ZERO if literal == FALSE else _ONE, 0, 0)
        value = self._read(node)
        return self._add(_NOT, value, value) if literal & 1 ^ (node in self.turned) else value


def _allocate(line: _Line, groups: tuple[int, ...], plan: CountPlan) -> Program:
    """Slots for the values of a line."""
    inputs = line.netlist.num_inputs
    tables, a, b = np.array(line.operations, np.int64).reshape(-1, 3).T
    count = inputs + len(tables)
    last = np.arange(count) - inputs
    steps = np.arange(len(tables))
    np.maximum.at(last, a, steps)
    np.maximum.at(last, b, steps)
    last[line.outputs] = len(tables)  # never free again
    lasts, slots = last.tolist(), list(range(count))
    free: list[int] = []
    size = inputs
    for step, (x, y) in enumerate(zip(a.tolist(), b.tolist(), strict=True)):
        if not free:
            free.append(size)
            size += 1
        slots[inputs + step] = free.pop()
        # free only now: no operation writes to what it reads, so that loops over words may be made of vectors
        free += [slots[one] for one in {x, y} if one >= inputs and lasts[one] == step]
    slot = np.array(slots, np.int32)
    return Program(inputs, size, tables.astype(np.uint8), slot[a], slot[b], slot[inputs:], slot[line.outputs], groups, plan)


_FEW = 8


def near_order(netlist: Netlist, outputs: Iterable[int]) -> list[int]:
    """The gates that these literals depend on, in an order in which each comes after what it reads, and soon.

    >>> netlist = Netlist(4)
    >>> x, y = netlist.conjunction(2, 4), netlist.conjunction(6, 8)
    >>> near_order(netlist, [netlist.parity(x, y)])
    [6, 5, 7]
    """
    outputs = list(outputs)
    live, depth = netlist.reached(outputs), [0] * len(netlist)
    readers: dict[int, list[int]] = {}
    for node in range(netlist.num_inputs + 1, len(netlist)):
        depth[node] = 1 + max(depth[netlist.left[node] >> 1], depth[netlist.right[node] >> 1])
    for node in range(len(netlist) - 1, netlist.num_inputs, -1):  # so that the first reader is the last of its list
        for one in (netlist.left[node] >> 1, netlist.right[node] >> 1) if live[node] else ():
            readers.setdefault(one, []).append(node)
    done = _only_inputs(netlist)
    order: list[int] = []
    for output in outputs:
        open_ends = _make(netlist, output >> 1, done, depth)
        order += open_ends
        while open_ends:
            left = readers.get(open_ends[-1], [])
            while left and done[left[-1]]:
                left.pop()
            if not left:
                open_ends.pop()
                continue
            # of the next few, one whose other input is there; all of them would take the square of their number
            few = (reader for reader in reversed(left[-_FEW:]) if not done[reader])
            nearest = min(few, key=lambda node: not (done[netlist.left[node] >> 1] and done[netlist.right[node] >> 1]))
            added = _make(netlist, nearest, done, depth)
            order += added
            open_ends += added
    return order


def inputs_first(netlist: Netlist, sequence: Iterable[int], outputs: Iterable[int]) -> list[int]:
    """The gates on which these literals depend, each after what it reads: in the order of a sequence, then what it lacks.

    An output may be a gate that no vote reads: a sum that happens to be a gate the circuit computes already.

    >>> netlist = Netlist(4)
    >>> x, y = netlist.conjunction(2, 4), netlist.conjunction(6, 8)
    >>> inputs_first(netlist, [7, 6], [netlist.parity(x, y)])
    [6, 5, 7]
    """
    outputs = list(outputs)
    live, depth = netlist.reached(outputs), range(len(netlist))  # later gates are deeper, near enough
    done = _only_inputs(netlist)
    order: list[int] = []
    for node in sequence:
        if live[node]:
            order += _make(netlist, node, done, depth)
    for output in outputs:
        order += _make(netlist, output >> 1, done, depth)
    return order


def _only_inputs(netlist: Netlist) -> list[bool]:
    """For each node whether it is there from the start; inputs may be millions."""
    inputs = 1 + netlist.num_inputs
    return [True] * inputs + [False] * (len(netlist) - inputs)


def _make(netlist: Netlist, wanted: int, done: list[bool], depth: Sequence[int]) -> list[int]:
    """A gate and what it still lacks, inputs first, which are done then."""
    order: list[int] = []
    waiting = [(wanted, False)]
    while waiting:
        node, ready = waiting.pop()
        if done[node]:
            continue
        if ready:
            done[node] = True
            order.append(node)
            continue
        waiting.append((node, True))
        waiting += [(one, False) for one in sorted((netlist.left[node] >> 1, netlist.right[node] >> 1), key=depth.__getitem__)]
    return order
