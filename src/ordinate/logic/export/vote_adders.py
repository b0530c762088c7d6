"""Which votes a chip adds up for which class: signals that vote alike for several classes are counted once.

Only the order of the classes matters to hardware, not their scores. So a signal's weights may all be shifted by one number
(votes that every class gets decide nothing; of two classes one is left to count), groups of signals that vote for the same
classes with the same signs, or all with the opposite ones, are counted once, and what is added to a class, its bias among it,
is a constant whose ones go into the columns as votes do. Nothing but this plan is specific to hardware: the counts of
`ordinate.logic.circuit.counting` are the votes themselves.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ordinate.logic.circuit.circuit import Circuit, Votes
from ordinate.logic.circuit.counting import count_plan

__all__ = ["SharedPlan", "full_adders", "plain_plan", "shared_plan"]

_LEAST_GROUP = 3  # signals that are worth a count of their own: a full adder takes three


@dataclass(frozen=True)
class SharedPlan:
    """How the classes are counted on a chip.

    Signals are numbered as in the circuit; then come the bits of the groups' counts, the first group's least bit first. A
    literal is a number, or `~number` for the complement.

    Args:
        groups: literals that are counted once, group by group.
        columns: for each class and power of two the literals counted there.
        constants: for each class the number of at least 0 that is added, so that sums compare as the scores do.
        order: classes in the order of comparison: a later one must be strictly greater to win.
    """

    groups: tuple[tuple[int, ...], ...]
    columns: tuple[tuple[tuple[int, ...], ...], ...]
    constants: tuple[int, ...]
    order: tuple[int, ...]

    def most(self, place: int) -> int:
        """The greatest sum that a class's columns can come to, without its constant."""
        return sum(len(column) << power for power, column in enumerate(self.columns[place]))


def plain_plan(circuit: Circuit) -> SharedPlan:
    """Every vote counted for its class, nothing shared."""
    plan = count_plan(circuit)
    return SharedPlan((), tuple(one.columns for one in plan.classes), plan.lifts, plan.order)


def shared_plan(circuit: Circuit) -> SharedPlan:
    """The plan with the fewest full adders among those that group signals by all their votes, by pairs of them, or not at all.

    >>> circuit = Circuit(4, [], [], [], votes=[([0, 1, 2], [1, 1, 1]), ([0, 1, 2], [-1, -1, -1]), ([3], [1])])
    >>> plan = shared_plan(circuit)
    >>> plan.groups, plan.columns, plan.constants
    (((0, 1, 2),), (((4,), (5,)), ((-5,), (-6,)), ((3,),)), (3, 0, 3))
    """
    shifted = _shifted(circuit)
    plain = plain_plan(shifted)
    best = min((_grouped(plain, kinds, circuit) for kinds in ("", "all", "pairs", "all pairs")), key=full_adders)
    least = min(best.constants)
    return SharedPlan(best.groups, best.columns, tuple(one - least for one in best.constants), best.order)


def full_adders(plan: SharedPlan) -> int:
    """Full and half adders, where every column is compressed to one bit: what sharing saves is counted in these."""
    counted = sum(_adders([len(group)]) for group in plan.groups)
    return counted + sum(_adders([len(column) for column in columns]) for columns in plan.columns)


def _adders(heights: list[int]) -> int:
    total, carried = 0, 0
    for height in heights:
        carried = (height + carried) // 2
        total += carried
    while carried > 1:
        carried //= 2
        total += carried
    return total


def _shifted(circuit: Circuit) -> Circuit:
    """The circuit with each signal's weights shifted by the number that leaves the fewest bits to count."""
    weights: dict[int, dict[int, int]] = defaultdict(dict)
    for place, vote in enumerate(circuit.votes):
        for signal, weight in zip(vote.signals.tolist(), vote.weights.tolist(), strict=True):
            weights[signal][place] = weights[signal].get(place, 0) + weight
    votes: list[tuple[list[int], list[int]]] = [([], []) for _ in circuit.votes]
    for signal, own in sorted(weights.items()):
        row = [own.get(place, 0) for place in range(circuit.num_classes)]
        shift = row[0]
        if circuit.num_classes > 2:
            shift = min({0, *row}, key=lambda one: (sum((weight - one).bit_count() for weight in row), abs(one), one))
        for (signals, kept), weight in zip(votes, row, strict=True):
            if weight != shift:
                signals.append(signal)
                kept.append(weight - shift)
    return Circuit(
        circuit.num_inputs,
        circuit.tables,
        circuit.inputs_a,
        circuit.inputs_b,
        [Votes.of(np.array(signals, np.int64), np.array(kept, np.int64)) for signals, kept in votes],
        circuit.bias,
    )


Bin = tuple[int, int]  # class and power of two
Pattern = tuple[tuple[Bin, int], ...]  # bins, and 1 for those where the complement of what counts in the first counts


def _grouped(plan: SharedPlan, kinds: str, circuit: Circuit) -> SharedPlan:
    """Signals that stand in the same bins, with the same signs up to a common one, counted once."""
    bins: dict[int, dict[Bin, int]] = defaultdict(dict)  # signal -> bin -> 0, or 1 where the complement counts
    for place, voting in enumerate(plan.columns):
        for power, literals in enumerate(voting):
            for literal in literals:
                bins[max(literal, ~literal)][place, power] = int(literal < 0)
    groups: list[tuple[dict[Bin, int], list[int]]] = []
    if "all" in kinds:
        alike: dict[Pattern, list[int]] = defaultdict(list)
        for signal, own in bins.items():
            if len(own) > 1:
                alike[_pattern(own.items())].append(signal)
        groups += [(dict(pattern), members) for pattern, members in alike.items() if len(members) >= _LEAST_GROUP]
    taken = [_take(bins, pattern, members) for pattern, members in groups]
    if "pairs" in kinds:
        members: dict[Pattern, list[int]] = defaultdict(list)
        for signal, own in sorted(bins.items()):
            entries = sorted(own.items())
            for place, one in enumerate(entries):
                for other in entries[place + 1 :]:
                    members[_pattern((one, other))].append(signal)
        # the pair with the most members first; one that lost members to another waits for its turn again
        waiting = [(-len(signals), pair) for pair, signals in members.items() if len(signals) >= _LEAST_GROUP]
        heapq.heapify(waiting)
        while waiting:
            expected, pair = heapq.heappop(waiting)
            (first_bin, _), (second_bin, turned) = pair
            chosen = [
                one
                for one in members[pair]
                if first_bin in bins[one] and second_bin in bins[one] and bins[one][first_bin] ^ bins[one][second_bin] == turned
            ]
            if len(chosen) == -expected:
                groups.append((dict(pair), chosen))
                taken.append(_take(bins, dict(pair), chosen))
            elif len(chosen) >= _LEAST_GROUP:
                members[pair] = chosen
                heapq.heappush(waiting, (-len(chosen), pair))
    columns: list[list[list[int]]] = [[[] for _ in own] for own in plan.columns]
    constants = list(plan.constants)
    for signal, own in sorted(bins.items()):
        for (place, power), turned in own.items():
            columns[place][power].append(~signal if turned else signal)
    first = circuit.num_inputs + circuit.num_nodes
    for (pattern, _), group in zip(groups, taken, strict=True):
        width = len(group).bit_length()
        for (place, power), turned in pattern.items():
            for bit in range(width):
                while len(columns[place]) <= power + bit:
                    columns[place].append([])
                columns[place][power + bit].append(~(first + bit) if turned else first + bit)
            if turned:  # members less the count is the sum of the complements of its bits, less what they exceed the members by
                constants[place] -= ((1 << width) - 1 - len(group)) << power
        first += width
    return SharedPlan(tuple(map(tuple, taken)), tuple(tuple(map(tuple, own)) for own in columns), tuple(constants), plan.order)


def _pattern(own: Iterable[tuple[Bin, int]]) -> Pattern:
    """Bins and signs, the first sign taken as 0."""
    ordered = sorted(own)
    return tuple((one, turned ^ ordered[0][1]) for one, turned in ordered)


def _take(bins: dict[int, dict[Bin, int]], pattern: dict[Bin, int], members: list[int]) -> list[int]:
    """The members' literals, as they count in the pattern's first bin; their votes in its bins are taken away."""
    literals = []
    for signal in members:
        signs = [bins[signal].pop(one) for one in sorted(pattern)]
        literals.append(~signal if signs[0] else signal)
    return literals
