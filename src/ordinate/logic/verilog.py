"""A circuit as a Verilog module: gates, a balanced tree of adders for each class, and a tournament for the greatest.

Votes of each power of two are summed three by three, then two sums and one more vote an adder, its carry-in, which is what a
chip's carry chain does for one cell a bit. Biases and complements are constants that are added where classes are compared
(`ordinate.logic.counting`), so nothing of them can be lost. Division by tau changes no order; tau stands in the header.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

from ordinate import __version__
from ordinate.errors import ArgumentError, RefusedError
from ordinate.logic.counting import CountPlan, count_plan
from ordinate.logic.program import voting_signals
from ordinate.logic.verilog_module import Module, Wire

if TYPE_CHECKING:
    from ordinate.logic.circuit import Circuit

__all__ = ["check_name", "count_ones", "gate_module", "input_span", "latency", "tournament", "verilog"]

# by truth table, 0 to 15
_GATES = (
    "1'b0", "~({a} | {b})", "~{a} & {b}", "~{a}", "{a} & ~{b}", "~{b}", "{a} ^ {b}", "~({a} & {b})",
    "{a} & {b}", "~({a} ^ {b})", "{b}", "~{a} | {b}", "{a}", "{a} | ~{b}", "{a} | {b}", "1'b1",
)  # fmt: skip
_RESERVED = {"module", "wire", "reg", "input", "output", "assign", "begin", "end", "always", "if", "else", "case", "table"}


def verilog(
    circuit: Circuit,
    name: str = "circuit",
    *,
    pipelined: bool = False,
    thresholds: bool = False,
    gate_levels: int | None = None,
    stage: Literal["classes", "gates"] = "classes",
) -> str:
    """The Verilog (2001) of a circuit.

    Ports: `bits [num_inputs-1:0]`, or `x [8 num_features - 1:0]` with thresholds, feature f in bits 8f to 8f+7; `class_index`.
    Pipelined also `clk`, `in_valid` and `out_valid`: a new image may come every clock, its class is there `latency` clocks on.

    Args:
        circuit: any; simplify it before.
        name: of the module.
        pipelined: a register after the gates and after every adder and comparison.
        thresholds: take numbers of 8 bits and compare them.
        gate_levels: with `pipelined`, also a register after so many levels of gates; what later gates read of the inputs is
            then delayed too, which costs a flip-flop a stage and signal.
        stage: "gates" ends with the signals that vote, `votes`, in the order of `voting_signals`; it is not pipelined.

    Raises:
        ArgumentError: a name that is none in Verilog, levels below 1.
        RefusedError: thresholds are asked for and the circuit has none; "gates" with `pipelined`.

    >>> from ordinate.logic.circuit import Circuit
    >>> "wire g1 = bits[0] ^ bits[1];" in verilog(Circuit(2, [6], [0], [1], votes=[([2], [-1]), ([2], [1])]))
    True
    """
    check_name(name)
    if thresholds and circuit.inputs is None:
        raise RefusedError(
            "thresholds", expected="a circuit that carries thresholds", got="one of bits", hint="leave thresholds out"
        )
    if gate_levels is not None and gate_levels < 1:
        raise ArgumentError("gate_levels", expected="at least 1", got=gate_levels, hint="leave it out for no such registers")
    if stage == "gates" and pipelined:
        raise RefusedError("pipelined", expected="False with stage='gates'", got="True", hint="pipeline the whole circuit")
    plan = count_plan(circuit)
    module, signals = gate_module(circuit, thresholds, gate_levels if pipelined else None)
    ports = [f"input wire {input_span(circuit, thresholds)}"]
    if stage == "gates":
        voting = [signals[signal].name for signal in voting_signals(circuit)]
        ports.append(f"output wire [{max(len(voting), 1) - 1}:0] votes")
        ends = [f"  assign votes = {{{', '.join(reversed(voting)) or zero()}}};"]
    else:
        winner = _decide(module, circuit, plan, signals, pipelined)
        ports.append(f"output wire [{winner.width - 1}:0] class_index")
        ends = [f"  assign class_index = {winner.name};"]
        if pipelined:
            ports = ["input wire clk", "input wire in_valid", *ports, "output wire out_valid"]
            ends += [
                f"  reg [{winner.stage - 1}:0] valid = 0;",
                "  always @(posedge clk) valid <= {valid, in_valid};"
                if winner.stage > 1
                else "  always @(posedge clk) valid <= in_valid;",
                f"  assign out_valid = valid[{winner.stage - 1}];",
            ]
    listed = ",\n  ".join(ports)
    return (
        f"// {name}: a logic circuit of {circuit.num_gates:,} two-input gates, written by ordinate {__version__}.\n"
        f"// {_told(circuit, plan)}\n"
        "`timescale 1ns/1ps\n"
        f"module {name} (\n  {listed}\n);\n{module.text()}\n" + "\n".join(ends) + "\nendmodule\n"
    )


def latency(circuit: Circuit, *, gate_levels: int | None = None) -> int:
    """Clocks from an image to its class in the pipelined module."""
    module, signals = gate_module(circuit, False, gate_levels)
    return _decide(module, circuit, count_plan(circuit), signals, True).stage


def check_name(name: str) -> None:
    """Refuse what Verilog does not take as a name. Raises ArgumentError."""
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,62}", name) or name in _RESERVED:
        raise ArgumentError("name", expected="a name in Verilog", got=name, hint="use letters, digits and underscores")


def zero() -> str:
    """A bit that is 0."""
    return "1'b0"


def input_span(circuit: Circuit, thresholds: bool) -> str:
    """The input port."""
    if thresholds and circuit.inputs is not None:
        return f"[{8 * circuit.inputs.num_features - 1}:0] x"
    return f"[{circuit.num_inputs - 1}:0] bits"


def _told(circuit: Circuit, plan: CountPlan) -> str:
    lifts = ", ".join(map(str, plan.lifts))
    return f"score = (votes + bias) / {circuit.tau:g}; added to the counts before they are compared: {lifts}"


def gate_module(circuit: Circuit, thresholds: bool, gate_levels: int | None) -> tuple[Module, list[Wire]]:
    """A module with the circuit's gates, and the wire of each signal; signals that no vote depends on get none."""
    module = Module(gate_levels)
    needed = _needed(circuit)
    signals: list[Wire] = []
    for place in range(circuit.num_inputs):
        if not thresholds or circuit.inputs is None:
            signals.append(Wire(f"bits[{place}]" if circuit.num_inputs > 1 else "bits", 1))
            continue
        least = int(np.clip(np.floor(circuit.inputs.threshold[place]) + 1, 0, 256))
        first = 8 * int(circuit.inputs.feature[place])
        expression = "1'b1" if least == 0 else "1'b0" if least == 256 else f"x[{first + 7}:{first}] >= 8'd{least}"
        signals.append(module.wire(expression, 1, 0, 0, "b") if needed[place] else Wire("unused", 1))
    rows = zip(circuit.tables.tolist(), circuit.inputs_a.tolist(), circuit.inputs_b.tolist(), strict=True)
    for place, (table, a, b) in enumerate(rows, circuit.num_inputs):
        if not needed[place]:
            signals.append(Wire("unused", 1))
            continue
        form = _GATES[table]
        signals.append(module.operation((signals[a], signals[b]), lambda x, y, form=form: form.format(a=x, b=y), 1, "g"))
    return module, signals


def _needed(circuit: Circuit) -> list[bool]:
    needed = [False] * (circuit.num_inputs + circuit.num_nodes)
    for vote in circuit.votes:
        for signal in vote.signals.tolist():
            needed[signal] = True
    for place in range(circuit.num_nodes - 1, -1, -1):
        if needed[circuit.num_inputs + place]:
            needed[int(circuit.inputs_a[place])] = needed[int(circuit.inputs_b[place])] = True
    return needed


def _decide(module: Module, circuit: Circuit, plan: CountPlan, signals: Sequence[Wire], pipelined: bool) -> Wire:
    """Count, compare, and the number of the class that wins."""
    module.limit = 1 if pipelined else None
    voting = voting_signals(circuit)
    if pipelined and voting:
        last = max(signals[signal].stage for signal in voting)
        found = {signal: module.at(signals[signal], last + 1) for signal in voting}
    else:
        found = {signal: signals[signal] for signal in voting}
    width = max(1, (len(plan.classes) - 1).bit_length())
    entries = []
    for place in plan.order:
        total = Wire("1'b0", 1)
        for power, column in reversed(list(enumerate(plan.classes[place].columns))):
            literals = [found[one] if one >= 0 else _complement(module, found[~one]) for one in column]
            counted = count_ones(module, literals) if literals else None
            if power == len(plan.classes[place].columns) - 1:
                total = counted or total
            else:  # Horner: twice what the higher powers gave, plus this column
                total = _double_and_add(module, total, counted)
        lift = plan.lifts[place]
        if lift:
            size = max(total.width, lift.bit_length()) + 1
            total = module.operation((total,), lambda x, size=size, lift=lift: f"{x} + {size}'d{lift}", size, "s")
        entries.append((total, Wire(f"{width}'d{place}", width)))
    winner = tournament(module, entries)
    if not pipelined:
        return winner
    return module.register(winner) if winner.stage == 0 else winner


def count_ones(module: Module, literals: Sequence[Wire]) -> Wire:
    """The number of ones, by a balanced tree: three bits at the leaves, two sums and a carry-in an adder."""
    if len(literals) == 1:
        return literals[0]
    if len(literals) <= 3:
        a, b, c = (*literals, Wire("1'b0", 1, literals[0].stage))[:3]
        return module.operation(
            (a, b, c),
            lambda x, y, z: f"{{({x} & {y}) | ({x} & {z}) | ({y} & {z}), {x} ^ {y} ^ {z}}}",
            2,
            "s",
        )
    half = (len(literals) - 1) // 2
    left, right = count_ones(module, literals[:half]), count_ones(module, literals[half:-1])
    width = max(left.width, right.width) + 1

    def carried(x: str, y: str, z: str) -> str:
        # the carry-in comes from one cell below the first: there 1 and the third vote are added, and that cell's sum is dropped
        name = module.name("c")
        operands = f"{{{_wide(x, left.width, width)}, 1'b1}} + {{{_wide(y, right.width, width)}, {z}}}"
        module.wires.append(f"  wire [{width}:0] {name} = {operands};")
        return f"{name}[{width}:1]"

    return module.operation((left, right, literals[-1]), carried, width, "s")


def _wide(name: str, width: int, to: int) -> str:
    return f"{to - width}'d0, {name}" if to > width else name


def _double_and_add(module: Module, high: Wire, low: Wire | None) -> Wire:
    if low is None:
        return module.operation((high,), lambda x: f"{{{x}, 1'b0}}", high.width + 1, "s", levels=0)
    width = max(high.width + 1, low.width) + 1
    return module.operation((high, low), lambda x, y: f"{{1'b0, {x}, 1'b0}} + {y}", width, "s")


def tournament(module: Module, entries: Sequence[tuple[Wire, Wire]]) -> Wire:
    """The number of the entry with the greatest sum, of equal ones the first.

    Args:
        module: gets the comparators.
        entries: sums and numbers, in the plan's order.
    """
    left = list(entries)
    while len(left) > 1:
        left = [
            _greater(module, *left[place : place + 2]) if place + 1 < len(left) else left[place]
            for place in range(0, len(left), 2)
        ]
    return left[0][1]


def _greater(module: Module, first: tuple[Wire, Wire], second: tuple[Wire, Wire]) -> tuple[Wire, Wire]:
    """The entry with the greater sum; of equal ones the first."""
    width = max(first[0].width, second[0].width)
    sums = module.align((first[0], second[0]))
    wins = module.operation(sums[:2], lambda x, y: f"{y} > {x}", 1, "w")
    chosen = module.operation((wins, *sums[:2]), lambda w, x, y: f"{w} ? {y} : {x}", width, "m")
    numbers = [_settled(one, wins.stage) for one in (first[1], second[1])]
    index = module.operation((wins, *numbers), lambda w, x, y: f"{w} ? {y} : {x}", first[1].width, "i")
    return chosen, index


def _complement(module: Module, wire: Wire) -> Wire:
    """The complement on a wire of its own, for only a wire can be delayed."""
    return module.wire(f"~{wire.name}", 1, wire.stage, wire.depth, "n")


def _settled(wire: Wire, stage: int) -> Wire:
    """A constant holds at every stage; other wires are as they are."""
    return Wire(wire.name, wire.width, stage) if "'" in wire.name else wire
