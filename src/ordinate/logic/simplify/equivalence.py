"""Whether two circuits give the same scores on every input: proven, or refuted by an input.

Up to 20 inputs every input is tried. Past that the gates of both are merged in one netlist by SAT sweeping, and votes that turn
out to be for the same signal cancel. If none are left the scores are equal. What is left is added up by adders in the netlist,
and the solver is asked for an input on which the sums differ (a miter, Brand 1993, doi 10.1109/ICCAD.1993.580110).
"""

from __future__ import annotations

import random
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ordinate.errors import ArgumentError, RefusedError
from ordinate.logic.circuit.adders import add_up
from ordinate.logic.circuit.circuit import Circuit
from ordinate.logic.circuit.netlist import TRUE, Netlist, add_circuit
from ordinate.logic.simplify.sat_sweeping import Solver, sweep_netlist

__all__ = ["EXHAUSTIVE_INPUTS", "Equivalence", "equivalent"]

EXHAUSTIVE_INPUTS = 20
"""Inputs up to which every one of them is tried; past that the solver is needed."""
_RANDOM_ROWS = 4096


@dataclass(frozen=True)
class Equivalence:
    """The outcome of a comparison.

    Args:
        equal: whether all scores are equal on every input; None where the solver's budget ran out.
        how: what decided it.
        counterexample: bits [num_inputs] on which the scores differ, where they do.

    >>> a, b = (Circuit(2, [kind], [0], [1], votes=[([2], [1])]) for kind in (8, 14))
    >>> bool(equivalent(a, a)), equivalent(a, b).counterexample is not None
    (True, True)
    """

    equal: bool | None
    how: str
    counterexample: npt.NDArray[np.bool_] | None = None

    def __bool__(self) -> bool:
        if self.equal is None:
            raise RefusedError(
                "equivalent",
                expected="a proof or a counterexample",
                got=self.how,
                hint="give it more conflicts, or none to bound it",
            )
        return self.equal


def equivalent(first: Circuit, second: Circuit, *, exhaustive: bool | None = None, conflicts: int | None = None) -> Equivalence:
    """Prove that two circuits give the same scores on every input, or find an input on which they do not.

    Args:
        first: a circuit.
        second: another of as many inputs and classes; thresholds and labels are not looked at.
        exhaustive: try every input (True), use the SAT solver (False); by default every input where there are at most 20.
        conflicts: how many the solver may run into on the last question; without, it goes on until it knows.

    Raises:
        ArgumentError: other numbers of inputs or classes, or too many inputs to try all.
        MissingExtraError: python-sat is needed and not installed.

    >>> nand = Circuit(2, [7], [0], [1], votes=[([2], [1])])
    >>> or_of_nots = Circuit(2, [3, 5, 14], [0, 0, 2], [0, 1, 3], votes=[([4], [1])])
    >>> bool(equivalent(nand, or_of_nots)), bool(equivalent(nand, or_of_nots, exhaustive=False))
    (True, True)
    >>> equivalent(nand, Circuit(2, [6], [0], [1], votes=[([2], [1])])).counterexample.tolist()
    [False, False]
    """
    for name, one, other in (
        ("inputs", first.num_inputs, second.num_inputs),
        ("classes", first.num_classes, second.num_classes),
    ):
        if one != other:
            raise ArgumentError("second", expected=f"{one} {name}, as the first has", got=other)
    everything = first.num_inputs <= EXHAUSTIVE_INPUTS if exhaustive is None else exhaustive
    if everything and first.num_inputs > 24:
        raise ArgumentError(
            "exhaustive",
            expected="at most 24 inputs",
            got=first.num_inputs,
            hint="leave it out: the solver needs no list of inputs",
        )
    if first.tau != second.tau:
        return Equivalence(False, f"temperatures {first.tau:g} and {second.tau:g}", np.zeros(first.num_inputs, bool))
    return _by_trying(first, second) if everything else _by_solving(first, second, conflicts)


def _by_trying(first: Circuit, second: Circuit) -> Equivalence:
    for start in range(0, 1 << first.num_inputs, 1 << 14):
        numbers = np.arange(start, min(start + (1 << 14), 1 << first.num_inputs))
        bits = (numbers[:, None] >> np.arange(first.num_inputs) & 1).astype(bool)
        differs = _differing(first, second, bits)
        if differs is not None:
            return Equivalence(False, "every input was tried", differs)
    return Equivalence(True, f"all {1 << first.num_inputs:,} inputs were tried")


def _differing(first: Circuit, second: Circuit, bits: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_] | None:
    differs = (first.count(bits) + first.bias != second.count(bits) + second.bias).any(-1)
    return np.array(bits[int(differs.argmax())]) if differs.any() else None


def _by_solving(first: Circuit, second: Circuit, conflicts: int | None) -> Equivalence:
    chance = np.random.default_rng(0)
    rows = chance.random((_RANDOM_ROWS, first.num_inputs)) < chance.choice((0.1, 0.3, 0.5, 0.7), (_RANDOM_ROWS, 1))
    differs = _differing(first, second, rows)
    if differs is not None:
        return Equivalence(False, "random inputs", differs)
    joint = Netlist(first.num_inputs, absorbing=True)
    sides = [add_circuit(joint, circuit) for circuit in (first, second)]
    swept = sweep_netlist(joint, seed=random.Random(0).randrange(1 << 30))
    netlist = swept.netlist
    differences = []
    for place in range(first.num_classes):
        left: dict[int, int] = {}
        rest = float(first.bias[place] - second.bias[place])
        for circuit, literals, sign in ((first, sides[0], 1), (second, sides[1], -1)):
            vote = circuit.votes[place]
            for signal, weight in zip(vote.signals.tolist(), vote.weights.tolist(), strict=True):
                old = literals[signal]
                literal = swept.literals[old >> 1] ^ (old & 1)
                weight *= sign
                if literal & 1:
                    rest += weight
                    weight = -weight
                if literal >> 1:
                    left[literal >> 1] = left.get(literal >> 1, 0) + weight
        votes = [(node, weight) for node, weight in left.items() if weight]
        if votes or rest:
            differences.append((votes, rest))
    if not differences:
        return Equivalence(True, f"SAT sweeping merged {swept.merged:,} gates; all votes cancel")
    with Solver(netlist, conflicts) as solver:
        for votes, rest in differences:
            # whole votes never make up for a fraction, so any input will do where there is one
            satisfiable = solver.satisfiable(_equal(netlist, votes, int(rest)) ^ 1 if rest == int(rest) else TRUE)
            if satisfiable is None:
                return Equivalence(None, f"the solver gave up after {conflicts} conflicts")
            if satisfiable:
                return Equivalence(False, "the SAT solver", np.array(solver.input_row(), bool))
    return Equivalence(True, f"SAT sweeping merged {swept.merged:,} gates; the solver proved the sums of the other votes equal")


def _equal(netlist: Netlist, votes: list[tuple[int, int]], rest: int) -> int:
    """The literal of `sum(weight * node) + rest == 0`: the votes for and against are added up apart, then compared."""
    sums = []
    for sign in (1, -1):
        columns: list[list[int]] = []
        for literal, weight in [*((2 * node, sign * weight) for node, weight in votes), (TRUE, sign * rest)]:
            for power in range(max(weight, 0).bit_length()):
                if weight >> power & 1:
                    while len(columns) <= power:
                        columns.append([])
                    columns[power].append(literal)
        sums.append(add_up(netlist, columns))
    equal = TRUE
    for power in range(max(map(len, sums))):
        left, right = (one[power] if power < len(one) else 0 for one in sums)
        equal = netlist.conjunction(equal, netlist.parity(left, right) ^ 1)
    return equal
