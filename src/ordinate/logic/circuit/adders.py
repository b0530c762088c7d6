"""Counting and comparing inside a netlist: carry-save adders for votes, a tournament of comparators for the class.

A full adder takes three bits of one weight and gives one of that weight and one of twice it. A column of n bits is thus summed
by about n full adders, five gates each, and on words of w images every gate counts for w images at once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from ordinate.logic.circuit.counting import CountPlan
from ordinate.logic.circuit.netlist import FALSE, Netlist

__all__ = ["RunningCount", "add_constant", "add_up", "class_bits", "column_literals", "counts"]


def add_up(netlist: Netlist, columns: Sequence[Sequence[int]]) -> list[int]:
    """The literals of a sum's bits, least first.

    Args:
        netlist: gets the adders.
        columns: for each power of two the literals that count with it.
    """
    left = [deque(column) for column in columns]
    bits: list[int] = []
    while len(bits) < len(left):
        column = left[len(bits)]
        if len(column) > 1 and len(left) == len(bits) + 1:
            left.append(deque())
        while len(column) > 1:
            # first in, first out: sums go to the back, so that the adders form a balanced tree
            x, y = column.popleft(), column.popleft()
            total, carry = _full_adder(netlist, x, y, column.popleft() if column else FALSE)
            column.append(total)
            left[len(bits) + 1].append(carry)
        bits.append(column[0] if column else FALSE)
    while bits and bits[-1] == FALSE:
        bits.pop()
    return bits


class RunningCount:
    """A sum that takes its literals one by one, and adds as soon as three of one weight wait.

    So few values wait at any time, and those that do were made a moment ago: on words it is memory that counts, not depth.

    Args:
        netlist: gets the adders.

    >>> netlist = Netlist(3)
    >>> running = RunningCount(netlist)
    >>> for literal in (2, 4, 6):
    ...     running.add(literal, 0)
    >>> len(running.bits()), len(netlist) - 1 - netlist.num_inputs
    (2, 5)
    """

    def __init__(self, netlist: Netlist) -> None:
        self.netlist = netlist
        self.waiting: list[list[int]] = []

    def add(self, literal: int, power: int) -> None:
        """Count a literal with 2^power."""
        while len(self.waiting) <= power:
            self.waiting.append([])
        self.waiting[power].append(literal)
        if len(self.waiting[power]) == 3:
            total, carry = _full_adder(self.netlist, *self.waiting[power])
            self.waiting[power] = [total]
            self.add(carry, power + 1)

    def bits(self) -> list[int]:
        """The literals of the sum's bits, least first; the count is over then."""
        return add_up(self.netlist, self.waiting)


def _full_adder(netlist: Netlist, x: int, y: int, z: int) -> tuple[int, int]:
    """The sum of three bits and its carry, in five gates."""
    half = netlist.parity(x, y)
    total = netlist.parity(half, z)
    both = netlist.conjunction(x, y)
    return total, netlist.conjunction(both ^ 1, netlist.conjunction(half, z) ^ 1) ^ 1


def column_literals(columns: Sequence[Sequence[int]], literals: Sequence[int]) -> list[list[int]]:
    """Columns of a `CountPlan` (signals, `~signal` for complements) as literals of a netlist."""
    return [[literals[one] if one >= 0 else literals[~one] ^ 1 for one in column] for column in columns]


def counts(netlist: Netlist, plan: CountPlan, literals: Sequence[int]) -> list[list[int]]:
    """For each class the bits of its count, least first, without its offset.

    Args:
        netlist: gets the adders.
        plan: of the circuit.
        literals: of the circuit's signals in the netlist.
    """
    return [add_up(netlist, column_literals(one.columns, literals)) for one in plan.classes]


def class_bits(netlist: Netlist, plan: CountPlan, counted: Sequence[Sequence[int]]) -> list[int]:
    """The bits of the number of the class that wins, least first.

    Args:
        netlist: gets the comparators.
        plan: of the circuit.
        counted: what `counts` gave.
    """
    width = max(1, (len(plan.classes) - 1).bit_length())
    entries = [
        (add_constant(netlist, counted[place], plan.lifts[place]), [place >> power & 1 for power in range(width)])
        for place in plan.order
    ]
    while len(entries) > 1:
        entries = [
            _greater(netlist, *entries[place : place + 2]) if place + 1 < len(entries) else entries[place]
            for place in range(0, len(entries), 2)
        ]
    return entries[0][1]


def add_constant(netlist: Netlist, bits: Sequence[int], constant: int) -> list[int]:
    """The bits of a sum with a constant of at least 0; the netlist folds what the constant's bits decide."""
    result, carry = [], FALSE
    for power in range(max(len(bits), constant.bit_length()) + 1):
        x = bits[power] if power < len(bits) else FALSE
        y = constant >> power & 1
        result.append(netlist.parity(netlist.parity(x, y), carry))
        carry = netlist.conjunction(x, carry) if not y else netlist.conjunction(x ^ 1, carry ^ 1) ^ 1
    while result and result[-1] == FALSE:
        result.pop()
    return result


def _greater(
    netlist: Netlist, first: tuple[list[int], list[int]], second: tuple[list[int], list[int]]
) -> tuple[list[int], list[int]]:
    """The entry of the greater sum; of equal ones the first."""
    size = max(len(first[0]), len(second[0]))
    left, right = (sums + [FALSE] * (size - len(sums)) for sums in (first[0], second[0]))
    wins = FALSE  # whether the second is greater, from the least bit on
    for x, y in zip(left, right, strict=True):
        wins = _choose(netlist, netlist.parity(x, y), y, wins)
    chosen = [_choose(netlist, wins, y, x) for x, y in zip(left, right, strict=True)]
    return chosen, [_choose(netlist, wins, y, x) for x, y in zip(first[1], second[1], strict=True)]


def _choose(netlist: Netlist, condition: int, then: int, otherwise: int) -> int:
    """`then` where the condition holds, `otherwise` where not, as otherwise ^ (condition & (then ^ otherwise))."""
    return netlist.parity(otherwise, netlist.conjunction(condition, netlist.parity(then, otherwise)))
