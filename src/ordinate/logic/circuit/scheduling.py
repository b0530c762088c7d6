"""The order in which gates run: each soon after what it reads, so that values are still in the nearest cache.

Gates whose values are read twice or so make a graph almost without cycles. Walked depth first along its edges in both
directions, from a value to one of its readers, down to what that still lacks, on to its readers in turn, and back, it leaves
most reads close to the write before them. Going down, the deeper input comes first, so that few values wait (Sethi and Ullman
1970, doi 10.1145/321607.321620); their order alone, from the outputs down, leaves nearly twice as many reads far away.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ordinate.logic.circuit.netlist import Netlist

__all__ = ["inputs_first", "near_order"]

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
