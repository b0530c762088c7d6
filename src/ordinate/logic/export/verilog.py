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

import heapq
import itertools
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np

from ordinate import __version__
from ordinate.arguments import check_choice, check_integer
from ordinate.errors import ArgumentError, RefusedError
from ordinate.logic.circuit.circuit import Circuit, Votes
from ordinate.logic.circuit.counting import CountPlan, count_plan
from ordinate.logic.circuit.input_thresholds import FixedPoint
from ordinate.logic.circuit.program import voting_signals
from ordinate.logic.export.lut_mapping import Lut, LutNetwork, map_luts
from ordinate.logic.export.vote_adders import SharedPlan, plain_plan, shared_plan

__all__ = [
    "Adders",
    "Module",
    "VerilogModule",
    "Wire",
    "check_name",
    "count_ones",
    "gate_module",
    "input_span",
    "number_format",
    "shifted_latency",
    "tournament",
    "verilog",
    "verilog_module",
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
    depth: float = 0

    @property
    def constant(self) -> bool:
        """Whether it is a number, which holds at every stage."""
        return "'" in self.name


class Module:
    """The wires and registers of a module.

    Args:
        limit: levels of logic after which `operation` puts a register; None for none.
        mark: what its names begin with, where several stand in one text.
        balanced: put the register before an operation that would come past the limit, so that none does.
    """

    def __init__(self, limit: float | None, mark: str = "", *, balanced: bool = False) -> None:
        self.limit, self.mark, self.balanced = limit, mark, balanced
        self.wires: list[str] = []
        self.registers: list[str] = []
        self.clocked: list[str] = []
        self.bits_registered = 0
        self.deepest = 0.0
        self._late: dict[tuple[str, int], Wire] = {}
        self._count = 0

    def name(self, prefix: str) -> str:
        """A name that is not taken."""
        self._count += 1
        return f"{self.mark}{prefix}{self._count}"

    def wire(self, expression: str, width: int, stage: int, depth: float, prefix: str) -> Wire:
        """A wire that is assigned an expression."""
        name = self.name(prefix)
        self.wires.append(f"  wire {_range(width)}{name} = {expression};")
        return Wire(name, width, stage, depth)

    def register(self, source: Wire) -> Wire:
        """The value one clock later; a constant is the same then."""
        if source.constant:
            return Wire(source.name, source.width, source.stage + 1)
        name = self.name("r")
        self.registers.append(f"  reg {_range(source.width)}{name};")
        self.clocked.append(f"    {name} <= {source.name};")
        self.bits_registered += source.width
        return Wire(name, source.width, source.stage + 1)

    def at(self, source: Wire, stage: int) -> Wire:
        """The value delayed to a stage; what is delayed once is used again."""
        while source.stage < stage:
            key = (source.name, source.stage)
            if source.constant or key not in self._late:
                self._late[key] = self.register(source)
            source = self._late[key]
        return source

    def align(self, sources: Sequence[Wire]) -> list[Wire]:
        """The values, all delayed to the latest stage among them."""
        stage = max((source.stage for source in sources if not source.constant), default=0)
        return [Wire(one.name, one.width, stage) if one.constant else self.at(one, stage) for one in sources]

    def operation(
        self, sources: Sequence[Wire], expression: Callable[..., str], width: int, prefix: str, levels: float = 1
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
        before = max(source.depth for source in aligned)
        if self.balanced and self.limit is not None and before > 0 and before + levels > self.limit:
            aligned = [self.at(one, aligned[0].stage + 1) for one in aligned]
            before = 0
        depth = levels + before
        self.deepest = max(self.deepest, depth)
        result = self.wire(expression(*(source.name for source in aligned)), width, aligned[0].stage, depth, prefix)
        if self.balanced or self.limit is None or depth < self.limit:
            return result
        return self.register(result)

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


Adders = Literal["tree", "compressors"]


@dataclass(frozen=True)
class VerilogModule:
    """A module and what is known of it before synthesis.

    Args:
        source: Verilog.
        latency: registers between the inputs and the class, 0 for a module without a clock.
        levels: of tables in the slowest stage, by estimate: a carry chain counts a tenth of a level a bit. Without `stages` the
            gates of a stage are counted one by one, as they are not mapped.
        register_bits: of all its registers, without those of `valid`.
    """

    source: str
    latency: int
    levels: float
    register_bits: int


def verilog(
    circuit: Circuit,
    name: str = "circuit",
    *,
    pipelined: bool = False,
    thresholds: bool = False,
    number: FixedPoint | None = None,
    stages: int | None = None,
    gate_levels: int | None = None,
    adders: Adders = "compressors",
    table_inputs: int = 4,
    stage: Literal["classes", "gates"] = "classes",
) -> str:
    """The Verilog (2001) of a circuit; arguments, errors and ports as `verilog_module`.

    >>> "wire g1 = bits[0] ^ bits[1];" in verilog(Circuit(2, [6], [0], [1], votes=[([2], [-1]), ([2], [1])]))
    True
    """
    return verilog_module(
        circuit,
        name,
        pipelined=pipelined,
        thresholds=thresholds,
        number=number,
        stages=stages,
        gate_levels=gate_levels,
        adders=adders,
        table_inputs=table_inputs,
        stage=stage,
    ).source


def verilog_module(
    circuit: Circuit,
    name: str = "circuit",
    *,
    pipelined: bool = False,
    thresholds: bool = False,
    number: FixedPoint | None = None,
    stages: int | None = None,
    gate_levels: int | None = None,
    adders: Adders = "compressors",
    table_inputs: int = 4,
    stage: Literal["classes", "gates"] = "classes",
) -> VerilogModule:
    """The Verilog (2001) of a circuit.

    Ports: `bits [num_inputs-1:0]`, or `x` with thresholds, where feature f is in bits W f to W f + W - 1 for numbers of W bits;
    `class_index`.
    With registers also `clk`, `in_valid` and `out_valid`: a new image may come every clock, its class is there `latency` clocks
    on.

    Args:
        circuit: any; simplify it before.
        name: of the module.
        pipelined: a register after the gates and after every adder and comparison.
        thresholds: take numbers and compare them: bytes, or what `number` says.
        number: format of the numbers, such as `FixedPoint.covering(circuit.inputs, rows)`; by default that of the thresholds'
            integer type, or bytes where all thresholds are integers from 0 to 254.
        stages: registers on every path instead, placed so that the stage with the most levels of tables has as few as can be:
            the gates are mapped to tables, everything runs as early as the limit lets it, and the limit is bisected. The class
            comes `stages` clocks after its image.
        gate_levels: with `pipelined`, also a register after so many levels of gates; `stages` does better.
        adders: "tree", a tree of carry chains for each class; "compressors", the votes of `shared_plan`, which counts some of
            them once for several classes, by compressors of three bits, or six where tables have six inputs, and one carry
            chain a class.
        table_inputs: of the chip's tables, 4 to 6: what gates are mapped to, and how wide a compressor is.
        stage: "gates" ends with the signals that vote, `votes`, in the order of `voting_signals`, and has `clk` only if it has
            registers.

    Raises:
        ArgumentError: a name that is none in Verilog; more stages than levels.
        RefusedError: thresholds are asked for and the circuit has none, or they are for floating numbers and `number` is not
            given; "gates" with `pipelined`, `stages` with it.

    >>> circuit = Circuit(4, [6, 8, 6], [0, 2, 4], [1, 3, 5], votes=[([6, 4], [1, 1]), ([5], [1])])
    >>> module = verilog_module(circuit, stages=2)
    >>> module.latency, module.levels < verilog_module(circuit, stages=1).levels
    (2, True)
    """
    check_name(name)
    check_choice("adders", adders, get_args(Adders))
    check_integer("table_inputs", table_inputs, minimum=4, maximum=6)
    if number is not None and not thresholds:
        raise RefusedError("number", expected="thresholds=True beside it", got="thresholds=False")
    number = number_format(circuit, number) if thresholds else None
    if stages is not None:
        check_integer("stages", stages, minimum=1)
        if pipelined:
            raise RefusedError("stages", expected="pipelined=False beside it", got="True")
    if gate_levels is not None:
        check_integer("gate_levels", gate_levels, minimum=1)
    if stage == "gates" and pipelined:
        raise RefusedError("pipelined", expected="False with stage='gates'", got="True")
    plan = shared_plan(circuit) if adders == "compressors" else plain_plan(circuit)
    if stages is None:
        module, signals = gate_module(circuit, number, gate_levels if pipelined else None)
        ends = _ends(module, signals, circuit, plan, adders, table_inputs, stage, pipelined=pipelined)
        latest = ends[0].stage
    else:
        module, ends = _staged(circuit, number, plan, adders, table_inputs, stage, stages)
        latest = stages
    ports = [f"input wire {input_span(circuit, number)}"]
    clocked = latest > 0
    if stage == "gates":
        ports = [*(["input wire clk"] if clocked else []), *ports, f"output wire [{len(ends) - 1}:0] votes"]
        last = [f"  assign votes = {{{', '.join(one.name for one in reversed(ends))}}};"]
    else:
        ports.append(f"output wire [{ends[0].width - 1}:0] class_index")
        last = [f"  assign class_index = {ends[0].name};"]
        if clocked:
            ports = ["input wire clk", "input wire in_valid", *ports, "output wire out_valid"]
            last += [
                f"  reg [{latest - 1}:0] valid = 0;",
                f"  always @(posedge clk) valid <= {'{valid, in_valid}' if latest > 1 else 'in_valid'};",
                f"  assign out_valid = valid[{latest - 1}];",
            ]
    listed = ",\n  ".join(ports)
    after = f", {latest} clocks from an image to its class" if clocked and stage == "classes" else ""
    text = (
        f"// {name}: a logic circuit of {circuit.num_gates:,} two-input gates{after}, written by ordinate {__version__}.\n"
        f"// {_header(circuit, plan)}\n{_format_line(number)}"
        "`timescale 1ns/1ps\n"
        f"module {name} (\n  {listed}\n);\n{module.text()}\n" + "\n".join(last) + "\nendmodule\n"
    )
    return VerilogModule(text, latest, module.deepest, module.bits_registered)


def _ends(
    module: Module,
    signals: Sequence[Wire],
    circuit: Circuit,
    plan: SharedPlan,
    adders: Adders,
    table_inputs: int,
    stage: str,
    *,
    pipelined: bool,
) -> list[Wire]:
    """The voting signals, or the class."""
    if stage == "gates":
        return module.align([signals[one] for one in voting_signals(circuit)] or [Wire(zero(), 1)])
    return [_decide(module, circuit, plan, signals, adders, table_inputs, pipelined=pipelined)]


def _staged(
    circuit: Circuit,
    number: FixedPoint | None,
    plan: SharedPlan,
    adders: Adders,
    table_inputs: int,
    stage: str,
    stages: int,
) -> tuple[Module, list[Wire]]:
    """The module of the least limit with which the results stand before the last register. Raises ArgumentError."""
    mapped = map_luts(_each_alone(circuit), table_inputs)

    def built(limit: float) -> tuple[Module, list[Wire], int]:
        module = Module(limit, balanced=True)
        signals = _table_signals(module, circuit, number, mapped)
        ends = _ends(module, signals, circuit, plan, adders, table_inputs, stage, pipelined=False)
        latest = max(one.stage for one in ends)
        return module, ends, latest + any(one.depth > 0 for one in ends)

    low, high = 1.0, built(float("inf"))[0].deepest
    most = max(1, built(low)[2])
    if stages > most:
        raise ArgumentError("stages", expected=f"at most {most}: every level has its register then", got=stages)
    while high - low > 0.05:
        middle = (low + high) / 2
        low, high = (low, middle) if built(middle)[2] <= stages else (middle, high)
    module, ends, _ = built(high)
    return module, [module.at(one, stages) if not one.constant else one for one in ends]


def _each_alone(circuit: Circuit) -> Circuit:
    """Every voting signal as a class of its own, in order."""
    voting = voting_signals(circuit)
    votes = [Votes.of([one]) for one in voting] or [Votes.of(np.zeros(0, np.int64))]
    return Circuit(circuit.num_inputs, circuit.tables, circuit.inputs_a, circuit.inputs_b, votes)


def _table_signals(module: Module, circuit: Circuit, number: FixedPoint | None, mapped: LutNetwork) -> list[Wire]:
    """The wires of the voting signals, by number of signal, made of tables that are one level each."""
    small = mapped.circuit
    wires = _input_wires(module, circuit, number, _needed(small)) + [Wire("unused", 1)] * small.num_nodes

    def gates(signal: int, names: dict[int, str]) -> str:
        if signal not in names:
            place = signal - small.num_inputs
            a, b = (gates(int(reads[place]), names) for reads in (small.inputs_a, small.inputs_b))
            names[signal] = module.wire(_GATES[int(small.tables[place])].format(a=a, b=b), 1, 0, 0, "g").name
        return names[signal]

    for lut in mapped.luts:

        def expression(*names: str, lut: Lut = lut) -> str:
            return gates(lut.signal, dict(zip(lut.reads, names, strict=True)))

        wires[lut.signal] = module.operation([wires[one] for one in lut.reads], expression, 1, "t")
    signals = [Wire("unused", 1)] * (circuit.num_inputs + circuit.num_nodes)
    for signal, vote, bias in zip(voting_signals(circuit), small.votes, small.bias.tolist(), strict=False):
        if not len(vote.signals):
            signals[signal] = Wire(f"1'b{int(bias)}", 1)
        else:
            own = wires[int(vote.signals[0])]
            signals[signal] = own if vote.weights[0] > 0 else _complement(module, own)
    return signals


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


def _header(circuit: Circuit, plan: SharedPlan) -> str:
    lifts = ", ".join(map(str, plan.constants))
    return f"score = (votes + bias) / {circuit.tau:g}; added to the counts before they are compared: {lifts}"


def _input_wires(module: Module, circuit: Circuit, number: FixedPoint | None, needed: Sequence[bool]) -> list[Wire]:
    """The wire of each input bit; with `number` a comparison, for those that are needed."""
    if number is None or circuit.inputs is None:
        return [Wire(f"bits[{place}]" if circuit.num_inputs > 1 else "bits", 1) for place in range(circuit.num_inputs)]
    wires = []
    for place, least in enumerate(number.least(circuit.inputs).tolist()):
        first, bits = number.bits * int(circuit.inputs.feature[place]), number.bits
        port = Wire(f"x[{first + bits - 1}:{first}]" if bits > 1 else f"x[{first}]", bits)
        if not needed[place]:
            wires.append(Wire("unused", 1))
        elif not number.smallest < least <= number.largest:
            # what no number of the format is, or every one, is a constant
            wires.append(Wire(f"1'b{int(least <= number.smallest)}", 1))
        else:
            compared = _signed if number.signed else _unsigned
            form = lambda x, bits=bits, least=int(least), compared=compared: compared(x, bits, least)  # noqa: E731
            wires.append(module.operation((port,), form, 1, "b", levels=_chain(bits)))
    return wires


def _unsigned(port: str, bits: int, least: int) -> str:
    return f"{port} >= {bits}'d{least}"


def _signed(port: str, bits: int, least: int) -> str:
    return f"$signed({port}) >= {'-' if least < 0 else ''}{bits}'sd{abs(least)}"


def _chain(bits: int) -> float:
    """Levels of a carry chain."""
    return 1 + 0.1 * bits


def gate_module(circuit: Circuit, number: FixedPoint | None, gate_levels: int | None = None) -> tuple[Module, list[Wire]]:
    """A module with the circuit's gates, and the wire of each signal; signals that no vote depends on get none."""
    module = Module(gate_levels)
    needed = _needed(circuit)
    signals = _input_wires(module, circuit, number, needed)
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


def _decide(
    module: Module,
    circuit: Circuit,
    plan: SharedPlan,
    signals: Sequence[Wire],
    adders: Adders,
    table_inputs: int,
    *,
    pipelined: bool,
) -> Wire:
    """Count, compare, and the number of the class that wins."""
    voting = voting_signals(circuit)
    voters = {signal: signals[signal] for signal in voting}
    if pipelined:
        module.limit = 1
        last = max((signals[signal].stage for signal in voting), default=0)
        voters = {signal: module.at(signals[signal], last + 1) for signal in voting}
    complements: dict[int, Wire] = {}

    def wire(literal: int) -> Wire:
        if literal < 0 and literal not in complements:
            complements[literal] = _complement(module, voters[~literal])
        return complements[literal] if literal < 0 else voters[literal]

    def added(columns: Sequence[Sequence[int]], constant: int = 0) -> Wire:
        wired = [[wire(one) for one in column] for column in columns]
        if adders == "tree":
            total = _horner(module, wired)
            size = max(total.width, constant.bit_length()) + 1
            chain = _chain(size)
            return module.operation((total,), lambda x: f"{x} + {size}'d{constant}", size, "s", chain) if constant else total
        wired += [[] for _ in range(constant.bit_length() - len(wired))]
        for power, column in enumerate(wired):
            column += [Wire("1'b1", 1)] * (constant >> power & 1)
        return _compressed(module, wired, table_inputs)

    first = circuit.num_inputs + circuit.num_nodes
    for group in plan.groups:
        counted = added([group])
        for bit in range(len(group).bit_length()):
            voters[first + bit] = replace(counted, name=f"{counted.name}[{bit}]", width=1)
        first += len(group).bit_length()
    width = max(1, (len(plan.columns) - 1).bit_length())
    numbers = {place: Wire(f"{width}'d{place}", width) for place in plan.order}
    ahead = _ahead(plan) if adders == "compressors" and len(plan.order) == 2 else None
    if ahead is not None:
        place, constant, bit, low, high = ahead
        total = added(plan.columns[place], constant)
        wins = replace(total, name=f"{total.name}[{bit}]", width=1) if total.width > bit else Wire(zero(), 1)
        winner = module.operation((wins,), lambda x: f"{x} ? {numbers[high].name} : {numbers[low].name}", width, "i", levels=0)
    else:
        entries = [(added(plan.columns[place], plan.constants[place]), numbers[place]) for place in plan.order]
        winner = tournament(module, entries)
    if not pipelined:
        return winner
    return module.register(winner) if winner.stage == 0 else winner


def _ahead(plan: SharedPlan) -> tuple[int, int, int, int, int] | None:
    """Of two classes of which one counts nothing: the other, the constant that makes one bit of its sum the answer, that bit,
    and the classes for its values 0 and 1.

    The second in order wins where its sum is strictly greater, so where the count of votes is at least some number; with what
    that number lacks to a power of two added, the count reaches the power exactly then.
    """
    first, second = plan.order
    if any(plan.columns[first]) and any(plan.columns[second]):
        return None
    counts = second if any(plan.columns[second]) else first
    fixed = plan.constants[first if counts == second else second]
    # the least count with which `counts` is ahead: strictly where it is the later one
    least = fixed - plan.constants[counts] + (counts == second)
    bit = max(plan.most(counts), 1).bit_length()
    if not 0 < least <= 1 << bit:
        return None
    return counts, (1 << bit) - least, bit, second if counts == first else first, counts


def _horner(module: Module, columns: Sequence[Sequence[Wire]]) -> Wire:
    """The sum of columns by carry chains: twice what the higher powers gave, plus this column."""
    total: Wire | None = None
    for column in reversed(columns):
        counted = count_ones(module, column) if column else None
        total = counted if total is None else _double_and_add(module, total, counted)
    return total or Wire(zero(), 1)


def _compressed(module: Module, columns: Sequence[Sequence[Wire]], table_inputs: int) -> Wire:
    """The sum of columns by compressors, those that wait longest first, until two rows are left for one carry chain."""
    size = 6 if table_inputs == 6 else 3
    waiting: list[list[tuple[bool, int, float, int, Wire]]] = []

    def wait(power: int, bit: Wire) -> None:
        while len(waiting) <= power:
            waiting.append([])
        # a constant first: its compressor is two tables of two inputs
        heapq.heappush(waiting[power], (not bit.constant, bit.stage, bit.depth, next(arrival), bit))

    arrival = itertools.count()
    for power, column in enumerate(columns):
        for bit in column:
            wait(power, bit)
    power = 0
    while power < len(waiting):
        while len(waiting[power]) > 2:
            taken = size if len(waiting[power]) >= size else 3
            counted = _counted(module, [heapq.heappop(waiting[power])[-1] for _ in range(taken)])
            for place, bit in enumerate(counted, power):
                wait(place, bit)
        power += 1
    left = [[one[-1] for one in sorted(column)] for column in waiting]
    if not left:
        return Wire(zero(), 1)
    width = len(left)
    rows = [[column[row] if len(column) > row else Wire(zero(), 1) for column in left] for row in range(2)]
    if all(one.constant and one.name == zero() for one in rows[1]):
        joined = lambda *names: f"{{{', '.join(reversed(names))}}}"  # noqa: E731
        return module.operation(rows[0], joined, width, "s", levels=0)

    def chained(*names: str) -> str:
        halves = (", ".join(reversed(half)) for half in (names[:width], names[width:]))
        return " + ".join(f"{{1'b0, {half}}}" for half in halves)

    return module.operation([*rows[0], *rows[1]], chained, width + 1, "s", levels=_chain(width))


def _counted(module: Module, bits: Sequence[Wire]) -> list[Wire]:
    """The bits of the number of ones among three or six bits, each one table."""
    wires = []
    for power in range(len(bits).bit_length()):

        def table(*names: str, power: int = power) -> str:
            if len(names) == 3:
                x, y, z = names
                return f"{x} ^ {y} ^ {z}" if not power else f"({x} & {y}) | ({x} & {z}) | ({y} & {z})"
            return f"{1 << len(names)}'h{_counter_table(len(names), power):x} >> {{{', '.join(reversed(names))}}}"

        wires.append(module.operation(bits, table, 1, "k"))
    return wires


def _counter_table(inputs: int, power: int) -> int:
    return sum((row.bit_count() >> power & 1) << row for row in range(1 << inputs))


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

    return module.operation((left, right, literals[-1]), carried, width, "s", levels=_chain(width))


def _wide(name: str, width: int, to: int) -> str:
    return f"{to - width}'d0, {name}" if to > width else name


def _double_and_add(module: Module, high: Wire, low: Wire | None) -> Wire:
    if low is None:
        return module.operation((high,), lambda x: f"{{{x}, 1'b0}}", high.width + 1, "s", levels=0)
    width = max(high.width + 1, low.width) + 1
    return module.operation((high, low), lambda x, y: f"{{1'b0, {x}, 1'b0}} + {y}", width, "s", levels=_chain(width))


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
    wins = module.operation(sums, lambda x, y: f"{y} > {x}", 1, "w", levels=_chain(width))
    chosen = module.operation((wins, *sums), lambda w, x, y: f"{w} ? {y} : {x}", width, "m")
    index = module.operation((wins, first[1], second[1]), lambda w, x, y: f"{w} ? {y} : {x}", first[1].width, "i")
    return chosen, index


def _complement(module: Module, wire: Wire) -> Wire:
    """The complement on a wire of its own, for only a wire can be delayed."""
    return module.wire(f"~{wire.name}", 1, wire.stage, wire.depth, "n")


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
    module, signals = gate_module(circuit, None)
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
