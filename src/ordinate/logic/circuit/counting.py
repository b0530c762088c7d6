"""Votes as columns of a weighted count, and the order in which classes are compared: what every runtime shares.

A vote of weight w is split into powers of two; a vote against (w < 0) is a vote of the complement for |w|, less |w|. So

    votes[c] = offset[c] + sum over columns k of 2^k * (ones among the column's literals)

with no negative terms, which adders like. A bias may be any real number. Votes are whole, so with bias = floor + rest the class
with the greatest whole part wins, among equal ones that with the greatest rest, and then the first: a fixed order in which
a later class must be strictly greater to win. The comparison is exact for every bias and needs integers only.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ordinate.logic.circuit.circuit import Circuit

__all__ = ["ClassCount", "CountPlan", "count_plan"]


@dataclass(frozen=True)
class ClassCount:
    """What is counted for one class.

    Args:
        columns: for each power of two the literals counted there: signal numbers, as `~signal` where the complement counts.
        offset: added to the count so that it is the weighted sum of votes.
        base: `floor(bias)`, added where classes are compared.
    """

    columns: tuple[tuple[int, ...], ...]
    offset: int
    base: int

    @property
    def most(self) -> int:
        """The greatest value that the columns can count to."""
        return sum(len(column) << power for power, column in enumerate(self.columns))


@dataclass(frozen=True)
class CountPlan:
    """How the classes are counted and compared.

    Args:
        classes: in the circuit's order.
        order: classes in the order of comparison: a later one must be strictly greater to win.
        lifts: for each class the number of at least 0 to add to its count, so that the counts compare as the scores do.
        bits: width that holds every count with its lift.
    """

    classes: tuple[ClassCount, ...]
    order: tuple[int, ...]
    lifts: tuple[int, ...]
    bits: int


def count_plan(circuit: Circuit) -> CountPlan:
    """The plan of a circuit.

    >>> plan = count_plan(Circuit(2, [], [], [], votes=[([0, 1], [3, -1]), ([1], [1])], bias=[0.5, 0.75]))
    >>> plan.classes[0].columns, plan.classes[0].offset, plan.order
    (((0, -2), (0,)), -1, (1, 0))
    """
    classes = []
    for vote, bias in zip(circuit.votes, circuit.bias, strict=True):
        classes.append(_columns(_merged(vote.signals, vote.weights), int(np.floor(bias))))
    rests = circuit.bias - np.floor(circuit.bias)
    order = sorted(range(len(classes)), key=lambda place: (-rests[place], place))
    totals = [one.offset + one.base for one in classes]
    least = min(totals)
    lifts = tuple(total - least for total in totals)
    most = max(one.most + lift for one, lift in zip(classes, lifts, strict=True))
    return CountPlan(tuple(classes), tuple(order), lifts, max(1, most.bit_length()))


def _merged(signals: npt.NDArray[np.int32], weights: npt.NDArray[np.int64]) -> list[tuple[int, int]]:
    """One weight a signal; a signal that votes twice counts with the sum."""
    merged: dict[int, int] = {}
    for signal, weight in zip(signals.tolist(), weights.tolist(), strict=True):
        merged[signal] = merged.get(signal, 0) + weight
    return [(signal, weight) for signal, weight in merged.items() if weight]


def _columns(votes: list[tuple[int, int]], base: int) -> ClassCount:
    columns: list[list[int]] = []
    for signal, weight in votes:
        literal, size = (signal, weight) if weight > 0 else (~signal, -weight)
        for power in range(size.bit_length()):
            while len(columns) <= power:
                columns.append([])
            if size >> power & 1:
                columns[power].append(literal)
    return ClassCount(tuple(map(tuple, columns)), sum(min(0, weight) for _, weight in votes), base)
