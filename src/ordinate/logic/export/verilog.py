"""A circuit as a Verilog module: gates, adders that count the votes of each class, and a tournament for the greatest.

Votes of each power of two are summed three by three, then two sums and one more vote an adder, its carry-in, which is what a
chip's carry chain does for one cell a bit. Biases and complements are constants that are added where classes are compared
(`ordinate.logic.circuit.counting`), so nothing of them is lost. Division by tau changes no order; tau stands in the header.

Every value has a stage, the number of registers between the inputs and it. Where two values of different stages meet, the
earlier one is delayed, so that a pipelined module is right by construction.

`verilog_shifted` counts a few votes a clock, where a tree of adders for all of them would not fit. A small chip needs many
clocks to take an image in anyway. So the signals that vote are loaded into one shift register, loading and shifting in the
look-up table of the gate that votes. Every clock a few of them leave it, and a memory says which of them count for which class,
and whether as they are or complemented. That is one logic cell a voting signal, however many classes it votes for, where a tree
of adders takes about 1.6 a vote.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ordinate import __version__
from ordinate.arguments import check_integer
from ordinate.errors import ArgumentError, RefusedError
from ordinate.logic.circuit.circuit import Circuit
from ordinate.logic.circuit.counting import CountPlan, count_plan
from ordinate.logic.circuit.input_thresholds import FixedPoint
from ordinate.logic.circuit.program import voting_signals

__all__ = [
    "Module",
    "Wire",
    "check_name",
    "count_ones",
    "gate_module",
    "input_span",
    "latency",
    "number_format",
    "shifted_latency",
    "tournament",
    "verilog",
    "verilog_shifted",
]


@dataclass(frozen=True)
class Wire:
    """A value in the module.

    Args:
        name: of the wire, or an expression that selects from one.
        width: bits.
        stage: registers since the inputs.
        depth: levels of logic since the last register.
    """

    name: str
    width: int
    stage: int = 0
    depth: int = 0


class Module:
    """The wires and registers of a module.

    Args:
        limit: levels of logic after which `operation` puts a register; None for none.
        mark: what its names begin with, where several stand in one text.
    """

    def __init__(self, limit: int | None, mark: str = "") -> None:
        self.limit, self.mark = limit, mark
        self.wires: list[str] = []
        self.registers: list[str] = []
        self.clocked: list[str] = []
        self._late: dict[tuple[str, int], Wire] = {}
        self._count = 0

    def name(self, prefix: str) -> str:
        """A name that is not taken."""
        self._count += 1
        return f"{self.mark}{prefix}{self._count}"

    def wire(self, expression: str, width: int, stage: int, depth: int, prefix: str) -> Wire:
        """A wire that is assigned an expression."""
        name = self.name(prefix)
        self.wires.append(f"  wire {_range(width)}{name} = {expression};")
        return Wire(name, width, stage, depth)

    def register(self, source: Wire) -> Wire:
        """The value one clock later."""
        name = self.name("r")
        self.registers.append(f"  reg {_range(source.width)}{name};")
        self.clocked.append(f"    {name} <= {source.name};")
        return Wire(name, source.width, source.stage + 1)

    def at(self, source: Wire, stage: int) -> Wire:
        """The value delayed to a stage; what is delayed once is used again."""
        while source.stage < stage:
            key = (source.name, source.stage)
            if key not in self._late:
                self._late[key] = self.register(source)
            source = self._late[key]
        return source

    def align(self, sources: Sequence[Wire]) -> list[Wire]:
        """The values, all delayed to the latest stage among them."""
        stage = max(source.stage for source in sources)
        return [self.at(source, stage) for source in sources]

    def operation(
        self, sources: Sequence[Wire], expression: Callable[..., str], width: int, prefix: str, levels: int = 1
    ) -> Wire:
        """The result of an expression of aligned values; registered where it has come too far since the last register.

        Args:
            sources: what it reads.
            expression: from their names to Verilog.
            width: of the result.
            prefix: of its name.
            levels: of logic that it adds.
        """
        aligned = self.align(sources)
        depth = levels + max(source.depth for source in aligned)
        result = self.wire(expression(*(source.name for source in aligned)), width, aligned[0].stage, depth, prefix)
        return self.register(result) if self.limit is not None and depth >= self.limit else result

    def text(self) -> str:
        """Declarations and clocked assignments."""
        lines = [*self.registers, *self.wires]
        if self.clocked:
            lines += ["  always @(posedge clk) begin", *self.clocked, "  end"]
        return "\n".join(lines)


def _range(width: int) -> str:
    return f"[{width - 1}:0] " if width > 1 else ""


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
    number: FixedPoint | None = None,
    gate_levels: int | None = None,
    stage: Literal["classes", "gates"] = "classes",
) -> str:
    """The Verilog (2001) of a circuit.

    Ports: `bits [num_inputs-1:0]`, or `x` with thresholds, where feature f is in bits W f to W f + W - 1 for numbers of W bits;
    `class_index`.
    Pipelined also `clk`, `in_valid` and `out_valid`: a new image may come every clock, its class is there `latency` clocks on.

    Args:
        circuit: any; simplify it before.
        name: of the module.
        pipelined: a register after the gates and after every adder and comparison.
        thresholds: take numbers and compare them: bytes, or what `number` says.
        number: format of the numbers, such as `FixedPoint.covering(circuit.inputs, rows)`; by default that of the thresholds'
            integer type, or bytes where all thresholds are integers from 0 to 254.
        gate_levels: with `pipelined`, also a register after so many levels of gates; what later gates read of the inputs is
            then delayed too, which costs a flip-flop a stage and signal.
        stage: "gates" ends with the signals that vote, `votes`, in the order of `voting_signals`; it is not pipelined.

    Raises:
        ArgumentError: a name that is none in Verilog, levels below 1.
        RefusedError: thresholds are asked for and the circuit has none, or they are for floating numbers and `number` is not
            given; "gates" with `pipelined`.

    >>> "wire g1 = bits[0] ^ bits[1];" in verilog(Circuit(2, [6], [0], [1], votes=[([2], [-1]), ([2], [1])]))
    True
    """
    check_name(name)
    if number is not None and not thresholds:
        raise RefusedError("number", expected="thresholds=True beside it", got="thresholds=False")
    number = number_format(circuit, number) if thresholds else None
    if gate_levels is not None:
        check_integer("gate_levels", gate_levels, minimum=1)
    if stage == "gates" and pipelined:
        raise RefusedError("pipelined", expected="False with stage='gates'", got="True")
    plan = count_plan(circuit)
    module, signals = gate_module(circuit, number, gate_levels if pipelined else None)
    ports = [f"input wire {input_span(circuit, number)}"]
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
        f"// {_header(circuit, plan)}\n{_format_line(number)}"
        "`timescale 1ns/1ps\n"
        f"module {name} (\n  {listed}\n);\n{module.text()}\n" + "\n".join(ends) + "\nendmodule\n"
    )


def latency(circuit: Circuit, *, gate_levels: int | None = None) -> int:
    """Clocks from an image to its class in the pipelined module."""
    module, signals = gate_module(circuit, None, gate_levels)
    return _decide(module, circuit, count_plan(circuit), signals, True).stage


def check_name(name: str) -> None:
    """Refuse what Verilog does not take as a name. Raises ArgumentError."""
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,62}", name) or name in _RESERVED:
        raise ArgumentError("name", expected="a name in Verilog", got=name)


def zero() -> str:
    """A bit that is 0."""
    return "1'b0"


def _format_line(number: FixedPoint | None) -> str:
    if number is None or number == FixedPoint(8):
        return ""
    return (
        f"// a number x is sent as floor(x * 2^{number.fraction_bits}): {number.bits} bits, "
        f"{'signed' if number.signed else 'unsigned'}, {number.smallest} to {number.largest}\n"
    )


def number_format(circuit: Circuit, number: FixedPoint | None) -> FixedPoint:
    """The format of the numbers that a circuit's thresholds are compared with. Raises RefusedError as `verilog`."""
    if circuit.inputs is None:
        raise RefusedError("thresholds", expected="a circuit that carries thresholds", got="one of bits")
    if number is not None:
        return number
    dtype = circuit.inputs.emitted_dtype()
    if dtype.startswith("float"):
        raise RefusedError(
            "thresholds",
            expected="thresholds of integers",
            got="thresholds of floating numbers",
            hint="pass number=FixedPoint.covering(circuit.inputs, rows), proven on all rows",
        )
    return FixedPoint(np.iinfo(dtype).bits, signed=dtype.startswith("int"))


def input_span(circuit: Circuit, number: FixedPoint | None) -> str:
    """The input port."""
    if number is not None and circuit.inputs is not None:
        return f"[{number.bits * circuit.inputs.num_features - 1}:0] x"
    return f"[{circuit.num_inputs - 1}:0] bits"


def _comparison(feature: int, least: float, number: FixedPoint) -> str:
    """Whether a number is at least so much; what no number of the format is, or every one, is a constant."""
    if least <= number.smallest:
        return "1'b1"
    if least > number.largest:
        return "1'b0"
    first, bits = number.bits * feature, number.bits
    port = f"x[{first + bits - 1}:{first}]" if bits > 1 else f"x[{first}]"
    if not number.signed:
        return f"{port} >= {bits}'d{int(least)}"
    return f"$signed({port}) >= {'-' if least < 0 else ''}{bits}'sd{abs(int(least))}"


def _header(circuit: Circuit, plan: CountPlan) -> str:
    lifts = ", ".join(map(str, plan.lifts))
    return f"score = (votes + bias) / {circuit.tau:g}; added to the counts before they are compared: {lifts}"


def gate_module(circuit: Circuit, number: FixedPoint | None, gate_levels: int | None) -> tuple[Module, list[Wire]]:
    """A module with the circuit's gates, and the wire of each signal; signals that no vote depends on get none."""
    module = Module(gate_levels)
    needed = _needed(circuit)
    signals: list[Wire] = []
    least = number.least(circuit.inputs) if number is not None and circuit.inputs is not None else np.zeros(0)
    for place in range(circuit.num_inputs):
        if number is None or circuit.inputs is None:
            signals.append(Wire(f"bits[{place}]" if circuit.num_inputs > 1 else "bits", 1))
            continue
        expression = _comparison(int(circuit.inputs.feature[place]), float(least[place]), number)
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
        voters = {signal: module.at(signals[signal], last + 1) for signal in voting}
    else:
        voters = {signal: signals[signal] for signal in voting}
    width = max(1, (len(plan.classes) - 1).bit_length())
    entries = []
    for place in plan.order:
        total = Wire("1'b0", 1)
        for power, column in reversed(list(enumerate(plan.classes[place].columns))):
            literals = [voters[one] if one >= 0 else _complement(module, voters[~one]) for one in column]
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


def verilog_shifted(circuit: Circuit, name: str = "circuit", *, clocks: int, block_memory: bool = True) -> str:
    """A module with the ports of the pipelined one, which takes a new image every `clocks` clocks at most.

    Ports: `clk`, `in_valid`, `bits [num_inputs-1:0]`, `class_index`, `out_valid`; bits are read while `in_valid` only.

    Args:
        circuit: any; simplify it before.
        name: of the module.
        clocks: from one image to the next, at least 2; the fewer, the more votes are counted a clock.
        block_memory: ask synthesis for block memories, where the rows fit into 30 of them.

    Raises:
        ArgumentError: a name that is none in Verilog, fewer than 2 clocks.

    >>> source = verilog_shifted(Circuit(4, [], [], [], votes=[([0, 1, 2, 3], [1] * 4), ([0], [1])]), clocks=3)
    >>> "queue <= in_valid ? {bits[3], bits[2], bits[1], bits[0]} : {2'd0, queue[3:2]};" in source
    True
    """
    text, _ = _built(circuit, name, clocks, block_memory)
    return text


def shifted_latency(circuit: Circuit, *, clocks: int) -> int:
    """Clocks from an image to its class in the module of `verilog_shifted`."""
    return _built(circuit, "circuit", clocks)[1]


def _built(circuit: Circuit, name: str, clocks: int, block_memory: bool = True) -> tuple[str, int]:
    check_name(name)
    check_integer("clocks", clocks, minimum=2, hint="the pipelined module takes an image every clock")
    plan = count_plan(circuit)
    module, signals = gate_module(circuit, None, None)
    voting = voting_signals(circuit)
    steps = max(1, min(clocks - 1, len(voting)))
    taken = max(1, -(-len(voting) // steps))
    rows, planes = _memory(plan, voting, steps, taken)
    counting, comparing = Module(None, "n_"), Module(1, "x_")
    terms: dict[int, list[str]] = {place: [] for place in range(len(plan.classes))}
    for number, (place, power) in enumerate(planes):
        counted = [
            Wire(f"((queue[{bit}] ^ row[{(2 * number + 1) * taken + bit}]) & row[{2 * number * taken + bit}])", 1)
            for bit in range(taken)
        ]
        ones = count_ones(counting, [counting.wire(one.name, 1, 0, 0, "v") for one in counted]).name
        terms[place].append(f"({ones} << {power})" if power else ones)
    width, counter = plan.bits, (steps + 1).bit_length()
    declared = [
        f"  reg [{max(taken, len(voting)) - 1}:0] queue = 0;",
        f"  reg [{counter - 1}:0] step = {steps};",
        "  reg busy = 0;",
        "  reg counted = 0;",
        # block memories where 30 of 16 bits hold a row; yosys would weigh them against tables and take the tables
        *(['  (* rom_style = "block", ram_style = "block" *)'] if block_memory and 2 * len(planes) * taken <= 480 else []),
        f"  reg [{max(1, 2 * len(planes) * taken) - 1}:0] memory [0:{(1 << counter) - 1}];",
        f"  reg [{max(1, 2 * len(planes) * taken) - 1}:0] row = 0;",
        "  initial begin",
        *(f"    memory[{place}] = {max(1, 2 * len(planes) * taken)}'h{bits:x};" for place, bits in enumerate(rows)),
        "  end",
    ]
    length = max(taken, len(voting))
    loaded = ", ".join(
        [*([f"{length - len(voting)}'d0"] if length > len(voting) else []), *(signals[one].name for one in reversed(voting))]
    )
    shifted = f"{{{taken}'d0, queue[{length - 1}:{taken}]}}" if length > taken else f"{length}'d0"
    clocked = [
        f"    queue <= in_valid ? {{{loaded}}} : {shifted};",
        f"    row <= memory[in_valid ? {counter}'d0 : step];",
        f"    step <= in_valid ? {counter}'d1 : step == {counter}'d{steps} ? {counter}'d{steps} : step + {counter}'d1;",
        f"    busy <= in_valid || (busy && step != {counter}'d{steps});",
        f"    counted <= busy && step == {counter}'d{steps};",
    ]
    for place, lift in enumerate(plan.lifts):
        declared.append(f"  reg [{width - 1}:0] sum{place} = 0;")
        clocked.append(f"    sum{place} <= in_valid ? {width}'d{lift} : {' + '.join([f'sum{place}', *terms[place]])};")
    bits = max(1, (len(plan.classes) - 1).bit_length())
    winner = tournament(comparing, [(Wire(f"sum{place}", width), Wire(f"{bits}'d{place}", bits)) for place in plan.order])
    if winner.stage == 0:
        winner = comparing.register(winner)
    lines = [
        f"// {name}: a logic circuit of {circuit.num_gates:,} two-input gates, written by ordinate {__version__}.",
        f"// score = (votes + bias) / {circuit.tau:g}; {taken} of {len(voting)} signals a clock; {steps + 1} an image",
        "`timescale 1ns/1ps",
        f"module {name} (",
        "  input wire clk,",
        "  input wire in_valid,",
        f"  input wire [{circuit.num_inputs - 1}:0] bits,",
        f"  output wire [{bits - 1}:0] class_index,",
        "  output wire out_valid",
        ");",
        module.text(),
        *declared,
        counting.text(),
        "  always @(posedge clk) begin",
        *clocked,
        "  end",
        comparing.text(),
        f"  reg [{winner.stage - 1}:0] valid = 0;",
        f"  always @(posedge clk) valid <= {'{valid, counted}' if winner.stage > 1 else 'counted'};",
        f"  assign out_valid = valid[{winner.stage - 1}];",
        f"  assign class_index = {winner.name};",
        "endmodule",
        "",
    ]
    return "\n".join(lines), 1 + steps + winner.stage


def _memory(plan: CountPlan, voting: list[int], steps: int, taken: int) -> tuple[list[int], list[tuple[int, int]]]:
    """The rows of the memory, and what its planes are for: (class, power of two).

    Of each plane a row holds first which of the leaving signals count, then which of them complemented. The last row counts
    nothing: there the module waits for the next image.
    """
    position = {signal: place for place, signal in enumerate(voting)}
    planes = [(place, power) for place, one in enumerate(plan.classes) for power, column in enumerate(one.columns) if column]
    rows = [0] * (steps + 1)
    for number, (place, power) in enumerate(planes):
        for literal in plan.classes[place].columns[power]:
            step, bit = divmod(position[literal if literal >= 0 else ~literal], taken)
            rows[step] |= 1 << (2 * number * taken + bit)
            if literal < 0:
                rows[step] |= 1 << ((2 * number + 1) * taken + bit)
    return rows, planes
