"""A circuit as a straight line of word operations on few slots: what the runtime executes and C is written from.

Counting and comparing are operations like the gates. They are ordered depth first from the outputs, so that a value is used
soon after it is made, and a slot is free again after the last use of what it holds.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from ordinate.logic.adders import class_bits, counts
from ordinate.logic.counting import CountPlan, count_plan
from ordinate.logic.simplify.netlist import FALSE, Netlist, add_circuit

if TYPE_CHECKING:
    from ordinate.logic.circuit import Circuit

__all__ = ["Program", "Stage", "lower", "voting_signals"]

Stage = Literal["gates", "counts", "classes", "all"]

_NOT, _ZERO = 3, 0


@dataclass(frozen=True)
class Program:
    """Operations in the order in which they run.

    Slots 0 to num_inputs - 1 hold the inputs and are never written.

    Args:
        num_inputs: input slots.
        num_slots: slots altogether.
        tables: uint8 [operations]; 8, 4, 2, 1 are the conjunctions, 6 is XOR, 3 is NOT a and 0 is the constant false.
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


def lower(circuit: Circuit, stage: Stage) -> Program:
    """The program of a circuit.

    Args:
        circuit: any.
        stage: what comes out: "gates", every signal that votes, in the order of `voting_signals`; "counts", the bits of each
            class's count; "classes", the bits of the number of the class that wins; "all", these and then the counts.

    >>> from ordinate.logic.circuit import Circuit
    >>> lower(Circuit(2, [6, 8], [0, 0], [1, 1], votes=[([2], [1]), ([3], [1])]), "classes").tables.tolist()
    [8, 6, 6, 8]
    """
    plan = count_plan(circuit)
    netlist = Netlist(circuit.num_inputs)
    literals = add_circuit(netlist, circuit)
    if stage == "gates":
        groups = [[literals[signal] for signal in voting_signals(circuit)]]
    elif stage == "counts":
        groups = counts(netlist, plan, literals)
    else:
        counted = counts(netlist, plan, literals)
        groups = [class_bits(netlist, plan, counted), *(counted if stage == "all" else ())]
    return _allocate(netlist, groups, plan)


def voting_signals(circuit: Circuit) -> list[int]:
    """The signals that vote for anything, each once, in ascending order."""
    return sorted({int(signal) for vote in circuit.votes for signal in vote.signals})


def _order(netlist: Netlist, outputs: list[int]) -> list[int]:
    """Gates depth first, the deeper input before the other: the values that wait are then few (Sethi & Ullman 1970)."""
    depth = [0] * len(netlist)
    for node in range(netlist.num_inputs + 1, len(netlist)):
        depth[node] = 1 + max(depth[netlist.left[node] >> 1], depth[netlist.right[node] >> 1])
    done = [True] * (1 + netlist.num_inputs) + [False] * (len(netlist) - 1 - netlist.num_inputs)
    order: list[int] = []
    for output in outputs:
        waiting = [(output >> 1, False)]
        while waiting:
            node, ready = waiting.pop()
            if done[node]:
                continue
            if ready:
                done[node] = True
                order.append(node)
                continue
            waiting.append((node, True))
            pair = sorted((netlist.left[node] >> 1, netlist.right[node] >> 1), key=lambda one: depth[one])
            waiting += [(one, False) for one in pair]
    return order


def _allocate(netlist: Netlist, groups: list[list[int]], plan: CountPlan) -> Program:
    outputs = [literal for group in groups for literal in group]
    order = _order(netlist, outputs)
    uses = [0] * len(netlist)
    for node in order:
        uses[netlist.left[node] >> 1] += 1
        uses[netlist.right[node] >> 1] += 1
    for literal in outputs:
        uses[literal >> 1] += 1  # outputs are never freed: this use does not come
    slot = {node: node - 1 for node in range(1, 1 + netlist.num_inputs)}
    free: list[int] = []
    size = netlist.num_inputs
    rows: list[tuple[int, int, int, int]] = []

    def take() -> int:
        nonlocal size
        if free:
            return heapq.heappop(free)
        size += 1
        return size - 1

    for node in order:
        x, y = netlist.left[node], netlist.right[node]
        table = 6 if netlist.is_xor[node] else 1 << (2 * (1 - (x & 1)) + 1 - (y & 1))
        reads = (slot[x >> 1], slot[y >> 1])
        for one in (x >> 1, y >> 1):
            uses[one] -= 1
            if not uses[one] and netlist.is_gate(one):
                heapq.heappush(free, slot.pop(one))
        slot[node] = take()  # may be the slot of an input that was read for the last time just now
        rows.append((table, *reads, slot[node]))
    made: dict[int, int] = {}
    for literal in outputs:
        if literal not in made:
            if literal >> 1 and not literal & 1:
                made[literal] = slot[literal >> 1]
                continue
            made[literal] = take()
            source = slot.get(literal >> 1, 0)
            rows.append((_ZERO if literal == FALSE else 15 if literal >> 1 == 0 else _NOT, source, source, made[literal]))
    columns = np.array(rows, np.int64).reshape(-1, 4).T
    return Program(
        netlist.num_inputs,
        size,
        columns[0].astype(np.uint8),
        columns[1].astype(np.int32),
        columns[2].astype(np.int32),
        columns[3].astype(np.int32),
        np.array([made[literal] for literal in outputs], np.int32),
        tuple(map(len, groups)),
        plan,
    )
