"""What a circuit must be: checked once, when it is made, so that nothing later has to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ordinate.errors import ArgumentError, ArgumentTypeError

if TYPE_CHECKING:
    from ordinate.logic.circuit import Circuit

__all__ = ["check_circuit", "whole"]


def whole(values: npt.ArrayLike, dtype: Any, argument: str) -> npt.NDArray[Any]:
    """A fresh integer array [n]; refuses what would be rounded or wrapped.

    Wire numbers that went through float32 are wrong past 2^24 without anybody noticing, so floats are refused as such.

    Raises:
        ArgumentTypeError: floats or other things.
        ArgumentError: more than one axis, or a number that the type does not hold.
    """
    given = np.asarray(values)
    if given.size == 0:
        given = given.astype(dtype).reshape(-1)
    if given.dtype.kind not in "iu":
        raise ArgumentTypeError(
            argument,
            expected="whole numbers",
            got=f"{given.dtype}",
            hint="keep signal numbers and weights as integers throughout",
        )
    if given.ndim != 1:
        raise ArgumentError(argument, expected="one axis", got=f"shape {list(given.shape)}", hint="give a flat list")
    bounds = np.iinfo(dtype)
    if given.size and not (bounds.min <= int(given.min()) and int(given.max()) <= bounds.max):
        raise ArgumentError(
            argument,
            expected=f"numbers from {bounds.min} to {bounds.max}",
            got=f"{given.min()} to {given.max()}",
            hint="look at the largest and the least",
        )
    return np.array(given, dtype)


def check_circuit(circuit: Circuit) -> None:
    """Refuse a circuit that is none. Raises ArgumentError; see `Circuit`."""
    if circuit.num_inputs < 1:
        raise ArgumentError("num_inputs", expected="at least 1", got=circuit.num_inputs, hint="give the circuit an input")
    nodes = len(circuit.tables)
    for name in ("inputs_a", "inputs_b"):
        if len(getattr(circuit, name)) != nodes:
            raise ArgumentError(
                name, expected=f"{nodes}, one a node", got=len(getattr(circuit, name)), hint="give every node two inputs"
            )
    if nodes and circuit.tables.max() > 15:
        place = int(np.argmax(circuit.tables > 15))
        raise ArgumentError(
            f"tables[{place}]",
            expected="a truth table of two inputs, 0 to 15",
            got=int(circuit.tables[place]),
            hint="bit 2a + b is the output",
        )
    _check_order(circuit)
    if not circuit.votes:
        raise ArgumentError("votes", expected="at least one class", got="none", hint="say which signals vote for what")
    signals = circuit.num_inputs + nodes
    for place, vote in enumerate(circuit.votes):
        if len(vote.signals) != len(vote.weights):
            raise ArgumentError(
                f"votes[{place}] weights",
                expected=f"{len(vote.signals)}, one a signal",
                got=len(vote.weights),
                hint="give every vote its weight",
            )
        if len(vote.signals) and not (vote.signals.min() >= 0 and vote.signals.max() < signals):
            wrong = next(int(signal) for signal in vote.signals if not 0 <= signal < signals)
            raise ArgumentError(
                f"votes[{place}] signals", expected=f"signals from 0 to {signals - 1}", got=wrong, hint="vote with what exists"
            )
        if np.abs(vote.weights).sum() > 2**31 - 1 or (len(vote.weights) and vote.weights.min() == -(2**63)):
            raise ArgumentError(
                f"votes[{place}] weights",
                expected="a sum that fits 32 bits",
                got="a greater one",
                hint="divide the weights, and tau with them",
            )
    if circuit.bias.shape != (circuit.num_classes,):
        raise ArgumentError(
            "bias",
            expected=f"{circuit.num_classes}, one a class",
            got=f"shape {list(circuit.bias.shape)}",
            hint="give every class its bias, in votes",
        )
    if not (np.abs(circuit.bias) <= 2**30).all():
        raise ArgumentError(
            "bias", expected="finite numbers of at most 2^30", got=circuit.bias.tolist(), hint="look at its training"
        )
    if not (np.isfinite(circuit.tau) and circuit.tau > 0):
        raise ArgumentError("tau", expected="a positive number", got=circuit.tau, hint="use 1 where there is no temperature")
    if len(circuit.labels) != circuit.num_classes:
        raise ArgumentError(
            "labels", expected=f"{circuit.num_classes}, one a class", got=len(circuit.labels), hint="name every class once"
        )
    if circuit.inputs is not None and len(circuit.inputs.feature) != circuit.num_inputs:
        raise ArgumentError(
            "inputs",
            expected=f"{circuit.num_inputs} thresholds, one an input bit",
            got=len(circuit.inputs.feature),
            hint="give the thresholds that the circuit was trained with",
        )


def _check_order(circuit: Circuit) -> None:
    """Every node reads earlier signals only; where one does not, say whether that closes a cycle."""
    own = circuit.num_inputs + np.arange(len(circuit.tables))
    for name, read in (("inputs_a", circuit.inputs_a), ("inputs_b", circuit.inputs_b)):
        if len(read) and read.min() < 0:
            place = int(np.argmin(read))
            raise ArgumentError(f"{name}[{place}]", expected="a signal", got=int(read[place]), hint="number signals from 0")
    late = np.maximum(circuit.inputs_a, circuit.inputs_b) >= own
    if not late.any():
        return
    place = int(np.argmax(late))
    signal = circuit.num_inputs + place
    beyond = int(max(circuit.inputs_a.max(), circuit.inputs_b.max()))
    if beyond >= circuit.num_inputs + len(circuit.tables):
        raise ArgumentError(
            "inputs_a, inputs_b",
            expected=f"signals from 0 to {circuit.num_inputs + len(circuit.tables) - 1}",
            got=beyond,
            hint="number inputs first, then nodes in their order",
        )
    cycle = _cycle(circuit)
    if cycle:
        raise ArgumentError(
            "nodes",
            expected="no cycle",
            got="signals that depend on themselves: " + " reads ".join(map(str, cycle)),
            hint="a circuit without memory has none; break the loop",
        )
    raise ArgumentError(
        f"nodes[{place}]",
        expected="to read earlier signals only",
        got=f"signal {signal} that reads {max(int(circuit.inputs_a[place]), int(circuit.inputs_b[place]))}",
        hint="sort the nodes so that each comes after what it reads",
    )


def _cycle(circuit: Circuit) -> list[int]:
    """The signals of one cycle in reading order, first repeated at the end; empty where there is none."""
    first = circuit.num_inputs
    state = [0] * len(circuit.tables)  # 0 unseen, 1 on the path, 2 done
    for start in range(len(circuit.tables)):
        if state[start]:
            continue
        path, reads = [start], [iter((circuit.inputs_a[start], circuit.inputs_b[start]))]
        state[start] = 1
        while path:
            step = next(reads[-1], None)
            if step is None:
                state[path.pop()] = 2
                reads.pop()
                continue
            node = int(step) - first
            if node < 0 or state[node] == 2:
                continue
            if state[node] == 1:
                return [*(first + one for one in path[path.index(node) :]), first + node]
            state[node] = 1
            path.append(node)
            reads.append(iter((circuit.inputs_a[node], circuit.inputs_b[node])))
    return []
