"""The passes that make a circuit smaller, and their repetition until none of them does any more.

Each takes a circuit and returns one with the same scores on every input.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ordinate.logic.circuit.circuit import Circuit
from ordinate.logic.circuit.netlist import Netlist, add_circuit, to_circuit
from ordinate.logic.simplify.sat_sweeping import sweep_netlist

__all__ = [
    "PASSES",
    "Simplified",
    "absorb",
    "dead_code_elimination",
    "fold",
    "sat_sweeping",
    "simplify",
    "structural_hashing",
]


@dataclass(frozen=True)
class Simplified:
    """A simplified circuit and the way to it.

    Args:
        circuit: computes the same scores on every input.
        steps: each pass that was run, with the gates that were left after it.

    >>> twice = Circuit(2, [8, 8], [0, 0], [1, 1], votes=[([2, 3], [1, 1])])
    >>> simplify(twice).circuit.num_gates
    1
    """

    circuit: Circuit
    steps: tuple[tuple[str, int], ...]


def fold(circuit: Circuit) -> Circuit:
    """Fold constants, a signal with itself or its complement, wires, and negations into gates, votes and bias.

    >>> fold(Circuit(2, [3, 8, 6], [0, 2, 3], [0, 1, 3], votes=[([3, 4], [1, 1])]))
    Circuit(2 inputs, 1 gates, 0 inverters, 0 constants, 1 votes for 1 classes, tau=1)
    """
    netlist = Netlist(circuit.num_inputs, shared=False)
    return to_circuit(netlist, add_circuit(netlist, circuit), circuit, keep_dead=True)


def structural_hashing(circuit: Circuit) -> Circuit:
    """One gate for each pair of signals and function, up to complements: common subexpressions; folds as `fold` does.

    >>> dead_code_elimination(structural_hashing(Circuit(2, [8, 7], [0, 1], [1, 0], votes=[([2, 3], [1, 1])]))).num_gates
    0
    """
    netlist = Netlist(circuit.num_inputs)
    return to_circuit(netlist, add_circuit(netlist, circuit), circuit, keep_dead=True)


def absorb(circuit: Circuit) -> Circuit:
    """A gate that needs only two signals once its inputs are opened becomes a gate of these: a AND (a OR b) is a.

    >>> dead_code_elimination(absorb(Circuit(2, [14, 8], [0, 0], [1, 2], votes=[([3], [1])]))).num_gates
    0
    """
    netlist = Netlist(circuit.num_inputs, absorbing=True)
    return to_circuit(netlist, add_circuit(netlist, circuit), circuit, keep_dead=True)


def dead_code_elimination(circuit: Circuit) -> Circuit:
    """Remove the gates that no vote depends on.

    >>> dead_code_elimination(Circuit(2, [8, 6], [0, 0], [1, 1], votes=[([2], [1])])).num_gates
    1
    """
    netlist = Netlist(circuit.num_inputs, shared=False)
    return to_circuit(netlist, add_circuit(netlist, circuit), circuit)


def sat_sweeping(circuit: Circuit, *, seed: int = 0, conflicts: int = 1000) -> Circuit:
    """Merge gates that a SAT solver proves equal, up to a complement; dead gates are removed first.

    Args:
        circuit: any.
        seed: of the simulated inputs.
        conflicts: how many the solver may run into before it leaves a pair apart.

    Raises:
        MissingExtraError: python-sat is not installed.

    >>> apart = Circuit(2, [14, 2, 14], [0, 0, 0], [1, 1, 3], votes=[([2, 4], [1, 1])])
    >>> sat_sweeping(apart).num_gates
    1
    """
    netlist = Netlist(circuit.num_inputs)
    small = to_circuit(netlist, add_circuit(netlist, circuit), circuit)
    netlist = Netlist(circuit.num_inputs)
    literals = add_circuit(netlist, small)
    swept = sweep_netlist(netlist, seed=seed, conflicts=conflicts)
    return to_circuit(swept.netlist, [swept.literals[one >> 1] ^ (one & 1) for one in literals], small)


PASSES: Mapping[str, Callable[[Circuit], Circuit]] = {
    "fold": fold,
    "structural hashing": structural_hashing,
    "absorb": absorb,
    "dead-code elimination": dead_code_elimination,
    "SAT sweeping": sat_sweeping,
}
"""Each pass by name, in the order in which they run."""


def simplify(circuit: Circuit, *, sat: bool = True, on_pass: Callable[[str, int], None] | None = None) -> Simplified:
    """Run all passes again and again until no gate and no vote goes away any more.

    Args:
        circuit: any.
        sat: sweep with a SAT solver as well.
        on_pass: called after each pass with its name and the gates that are left, such as by a progress bar.

    Raises:
        MissingExtraError: python-sat is not installed and `sat` asks for it.

    >>> wasteful = Circuit(3, [14, 8, 7, 7, 7], [0, 0, 3, 3, 5], [1, 2, 1, 2, 6], votes=[([4, 7], [1, 2])])
    >>> wasteful.num_gates, simplify(wasteful).circuit.num_gates
    (5, 4)
    """
    steps = [("before", circuit.num_gates)]
    current, size = circuit, None
    while size != (size := _size(current)):
        for name, run in PASSES.items():
            if name == "SAT sweeping" and not sat:
                continue
            current = run(current)
            steps.append((name, current.num_gates))
            if on_pass is not None:
                on_pass(name, current.num_gates)
    return Simplified(current, tuple(steps))


def _size(circuit: Circuit) -> tuple[int, int]:
    return circuit.num_nodes, circuit.num_votes
