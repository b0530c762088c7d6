"""SAT sweeping: gates that agreed on every simulated input are proven equal, or shown to differ by an input.

Simulation proposes, the solver decides (Kuehlmann & Krohm 1997, doi 10.1145/266021.266090; Mishchenko et al. 2005, "FRAIGs").
An input that tells two gates apart is simulated with 63 neighbours of it, so that it tells apart many others too.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ordinate.errors import MissingExtraError
from ordinate.extras import install_command
from ordinate.logic.circuit.netlist import Netlist

__all__ = ["Solver", "Swept", "sweep_netlist"]

_ROWS = 2048  # simulated before the solver is asked
_NEIGHBOURS = 64


@dataclass
class Swept:
    """The result of a sweep.

    Args:
        netlist: the new gates; those that were merged are left behind, read by nobody.
        literals: for each node of the old netlist its literal in the new one.
        merged: gates that were proven equal to an earlier signal or a constant.
        refuted: pairs that the solver proved different.
        undecided: pairs that it gave up on; they stay apart.
    """

    netlist: Netlist
    literals: list[int] = field(default_factory=list)
    merged: int = 0
    refuted: int = 0
    undecided: int = 0


class Solver:
    """A SAT solver that knows the gates of a netlist, each from when it is first asked about.

    Args:
        netlist: may grow while the solver is in use.
        conflicts: how many the solver may run into before it gives a question up.

    Raises:
        MissingExtraError: python-sat is not installed.
    """

    def __init__(self, netlist: Netlist, conflicts: int | None) -> None:
        try:
            from pysat.solvers import Glucose4
        except ImportError as error:
            raise MissingExtraError(
                "sat",
                expected="python-sat, for SAT sweeping and proofs",
                got="none installed",
                hint=install_command("sat"),
            ) from error
        self.netlist, self.conflicts = netlist, conflicts
        self._solver: Any = Glucose4(bootstrap_with=[[-1]])  # node 0 is false; node n is variable n + 1
        self._known = {0}

    def __enter__(self) -> Solver:
        return self

    def __exit__(self, *_: object) -> None:
        self._solver.delete()

    def satisfiable(self, *literals: int) -> bool | None:
        """Whether some input makes all the literals true; None where the solver gave up."""
        for literal in literals:
            self._learn(literal >> 1)
        assumptions = [self.variable(literal) for literal in literals]
        if self.conflicts is None:
            answer: bool | None = self._solver.solve(assumptions=assumptions)
        else:
            self._solver.conf_budget(self.conflicts)
            answer = self._solver.solve_limited(assumptions=assumptions)
        return answer

    def input_row(self) -> list[int]:
        """The input bits of the last model; free ones are 0."""
        model = self._solver.get_model()
        return [int(node < len(model) and model[node] > 0) for node in range(1, 1 + self.netlist.num_inputs)]

    def same(self, x: int, y: int) -> None:
        """Tell the solver what was proven."""
        a, b = self.variable(x), self.variable(y)
        self._solver.add_clause([a, -b])
        self._solver.add_clause([-a, b])

    @staticmethod
    def variable(literal: int) -> int:
        """The solver's literal."""
        return -(literal >> 1) - 1 if literal & 1 else (literal >> 1) + 1

    def _learn(self, node: int) -> None:
        waiting = [node]
        while waiting:
            node = waiting.pop()
            if node in self._known:
                continue
            self._known.add(node)
            if not self.netlist.is_gate(node):
                continue
            x, y, z = (self.variable(one) for one in (self.netlist.left[node], self.netlist.right[node], 2 * node))
            if self.netlist.is_xor[node]:
                clauses = [[-z, x, y], [-z, -x, -y], [z, -x, y], [z, x, -y]]
            else:
                clauses = [[-z, x], [-z, y], [z, -x, -y]]
            for clause in clauses:
                self._solver.add_clause(clause)
            waiting += [self.netlist.left[node] >> 1, self.netlist.right[node] >> 1]


def sweep_netlist(old: Netlist, *, seed: int = 0, conflicts: int = 1000) -> Swept:
    """Merge all gates of a netlist that the solver proves equal up to a complement.

    Args:
        old: stays as it is.
        seed: of the simulated rows.
        conflicts: budget of one question.

    Raises:
        MissingExtraError: python-sat is not installed.
    """
    chance = random.Random(seed)
    new = Netlist(old.num_inputs, shared=True, absorbing=False)
    swept = Swept(new, [2 * node for node in range(1 + old.num_inputs)])
    rows = _ROWS
    values = [0, *_first_rows(old.num_inputs, chance)]
    classes = _Classes(rows)
    for node, value in enumerate(values):
        classes.put(node, value)
    with Solver(new, conflicts) as solver:
        for node in range(1 + old.num_inputs, len(old)):
            left, right = (swept.literals[one >> 1] ^ (one & 1) for one in (old.left[node], old.right[node]))
            before = len(new)
            literal = new.parity(left, right) if old.is_xor[node] else new.conjunction(left, right)
            if len(new) == before:
                swept.literals.append(literal)
                continue
            node_added, turned = literal >> 1, literal & 1
            key = (old.is_xor[node], new.left[node_added], new.right[node_added])
            values = new.simulate((), (1 << rows) - 1, values)
            while True:
                other = classes.find(values[node_added])
                if other is None:
                    classes.put(node_added, values[node_added])
                    break
                equal = 2 * other ^ ((values[other] ^ values[node_added]) & 1)
                verdict = _compare(solver, 2 * node_added, equal)
                if verdict is None:
                    swept.undecided += 1
                    break
                if verdict:
                    solver.same(2 * node_added, equal)
                    swept.merged += 1
                    new.known[key] = equal
                    literal = equal ^ turned
                    break
                swept.refuted += 1
                fresh = _neighbours(solver.input_row(), chance)
                mask = (1 << _NEIGHBOURS) - 1
                more = new.simulate(fresh, mask)
                values = [value << _NEIGHBOURS | extra for value, extra in zip(values, more, strict=True)]
                rows += _NEIGHBOURS
                classes = _Classes(rows, (one for one in classes.members()), values)
            swept.literals.append(literal)
    return swept


class _Classes:
    """One node for each behaviour so far, a behaviour and its complement together."""

    def __init__(self, rows: int, members: Any = (), values: Sequence[int] = ()) -> None:
        self._mask = (1 << rows) - 1
        self._first: dict[int, int] = {}
        for node in members:
            self.put(node, values[node])

    def _key(self, value: int) -> int:
        return value ^ self._mask if value & 1 else value

    def find(self, value: int) -> int | None:
        return self._first.get(self._key(value))

    def put(self, node: int, value: int) -> None:
        self._first.setdefault(self._key(value), node)

    def members(self) -> list[int]:
        return list(self._first.values())


def _compare(solver: Solver, x: int, y: int) -> bool | None:
    """Whether two literals are equal on every input; None where the solver gave up. A model is left where they are not."""
    for pair in ((x, y ^ 1), (x ^ 1, y)):
        answer = solver.satisfiable(*pair)
        if answer is None:
            return None
        if answer:
            return False
    return True


def _first_rows(num_inputs: int, chance: random.Random) -> list[int]:
    """Random rows of several densities: long conjunctions are hardly ever seen true on rows that are half ones."""
    rows = []
    quarter = _ROWS // 4
    for _ in range(num_inputs):
        draw = [chance.getrandbits(quarter) for _ in range(7)]
        value = draw[0]
        for part in (draw[1] & draw[2], draw[3] | draw[4], draw[5] & draw[6] & draw[0]):
            value = value << quarter | part
        rows.append(value)
    return rows


def _neighbours(row: list[int], chance: random.Random) -> list[int]:
    """The row, first, and 63 that differ from it in a few inputs; as bits of one number an input."""
    full = (1 << _NEIGHBOURS) - 1
    bits = [full if bit else 0 for bit in row]
    for place in range(1, _NEIGHBOURS):
        for _ in range(1 + place % 3):
            bits[chance.randrange(len(bits))] ^= 1 << place
    return bits
