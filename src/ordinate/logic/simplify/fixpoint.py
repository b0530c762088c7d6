"""The passes over a circuit, and their repetition until nothing gets smaller."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ordinate.logic.simplify.netlist import Netlist, add_circuit, to_circuit
from ordinate.logic.simplify.sweeping import sweep_netlist

if TYPE_CHECKING:
    from ordinate.logic.circuit import Circuit

__all__ = ["PASSES", "Simplified", "absorb", "drop_dead", "fold", "share", "simplify", "sweep"]


@dataclass(frozen=True)
class Simplified:
    """A simplified circuit and the way to it.

    Args:
        circuit: computes the same scores on every input.
        steps: each pass that was run, with the gates that were left after it.
    """

    circuit: Circuit
    steps: tuple[tuple[str, int], ...]


def fold(circuit: Circuit) -> Circuit:
    """Fold constants, a signal with itself or its complement, wires, and negations into gates, votes and bias.

    >>> from ordinate.logic.circuit import Circuit
    >>> fold(Circuit(2, [3, 8, 6], [0, 2, 3], [0, 1, 3], votes=[([3, 4], [1, 1])]))
    Circuit(2 inputs, 1 gates, 0 inverters, 0 constants, 1 votes for 1 classes, tau=1)
    """
    netlist = Netlist(circuit.num_inputs, shared=False)
    return to_circuit(netlist, add_circuit(netlist, circuit), circuit, keep_dead=True)


def share(circuit: Circuit) -> Circuit:
    """One gate for each pair of signals and function, up to complements: shared subexpressions; folds as `fold` does.

    >>> from ordinate.logic.circuit import Circuit
    >>> drop_dead(share(Circuit(2, [8, 7], [0, 1], [1, 0], votes=[([2, 3], [1, 1])]))).num_gates
    0
    """
    netlist = Netlist(circuit.num_inputs)
    return to_circuit(netlist, add_circuit(netlist, circuit), circuit, keep_dead=True)


def absorb(circuit: Circuit) -> Circuit:
    """A gate that needs only two signals once its inputs are opened becomes a gate of these: a AND (a OR b) is a.

    >>> from ordinate.logic.circuit import Circuit
    >>> drop_dead(absorb(Circuit(2, [14, 8], [0, 0], [1, 2], votes=[([3], [1])]))).num_gates
    0
    """
    netlist = Netlist(circuit.num_inputs, absorbing=True)
    return to_circuit(netlist, add_circuit(netlist, circuit), circuit, keep_dead=True)


def drop_dead(circuit: Circuit) -> Circuit:
    """Drop the gates that no vote depends on."""
    netlist = Netlist(circuit.num_inputs, shared=False)
    return to_circuit(netlist, add_circuit(netlist, circuit), circuit)


def sweep(circuit: Circuit, *, seed: int = 0, conflicts: int = 1000) -> Circuit:
    """Merge gates that a SAT solver proves equal; drops dead gates first.

    Args:
        circuit: any.
        seed: of the simulated inputs.
        conflicts: how many the solver may run into before it leaves a pair apart.

    Raises:
        MissingExtraError: python-sat is not installed.
    """
    netlist = Netlist(circuit.num_inputs)
    small = to_circuit(netlist, add_circuit(netlist, circuit), circuit)
    netlist = Netlist(circuit.num_inputs)
    literals = add_circuit(netlist, small)
    swept = sweep_netlist(netlist, seed=seed, conflicts=conflicts)
    return to_circuit(swept.netlist, [swept.literals[one >> 1] ^ (one & 1) for one in literals], small)


PASSES: Mapping[str, Callable[[Circuit], Circuit]] = {
    "fold": fold,
    "share": share,
    "absorb": absorb,
    "drop dead": drop_dead,
    "sweep": sweep,
}
"""Each pass by name, in the order in which they run."""


def simplify(circuit: Circuit, *, sat: bool = True, told: Callable[[str, int], None] | None = None) -> Simplified:
    """Run all passes again and again until no gate and no vote goes away any more.

    Args:
        circuit: any.
        sat: sweep with a SAT solver as well.
        told: called after each pass with its name and the gates that are left, such as by a progress bar.

    Raises:
        MissingExtraError: python-sat is not installed and `sat` asks for it.

    >>> from ordinate.logic.circuit import Circuit
    >>> wasteful = Circuit(3, [14, 8, 7, 7, 7], [0, 0, 3, 3, 5], [1, 2, 1, 2, 6], votes=[([4, 7], [1, 2])])
    >>> wasteful.num_gates, simplify(wasteful).circuit.num_gates
    (5, 4)
    """
    steps = [("as given", circuit.num_gates)]
    current, size = circuit, None
    while size != (size := _size(current)):
        for name, run in PASSES.items():
            if name == "sweep" and not sat:
                continue
            current = run(current)
            steps.append((name, current.num_gates))
            if told is not None:
                told(name, current.num_gates)
    return Simplified(current, tuple(steps))


def _size(circuit: Circuit) -> tuple[int, int]:
    return circuit.num_nodes, circuit.num_votes
