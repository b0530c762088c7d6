"""A circuit as a Verilog module that counts a few votes a clock, where a tree of adders for all of them would not fit.

A small chip needs many clocks to take an image in anyway. So the signals that vote are loaded into one shift register, loading
and shifting in the look-up table of the gate that votes. Every clock a few of them leave it, and a memory says which of them
count for which class, and whether as they are or complemented; each class adds its ones. That is one logic cell a voting
signal, however many classes it votes for, where a tree of adders takes about 1.6 a vote.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ordinate import __version__
from ordinate.errors import ArgumentError
from ordinate.logic.counting import CountPlan, count_plan
from ordinate.logic.program import voting_signals
from ordinate.logic.verilog import check_name, count_ones, gate_module, tournament
from ordinate.logic.verilog_module import Module, Wire

if TYPE_CHECKING:
    from ordinate.logic.circuit import Circuit

__all__ = ["shifted_latency", "verilog_shifted"]


def verilog_shifted(circuit: Circuit, name: str = "circuit", *, clocks: int) -> str:
    """A module with the ports of the pipelined one, which takes a new image every `clocks` clocks at most.

    Ports: `clk`, `in_valid`, `bits [num_inputs-1:0]`, `class_index`, `out_valid`; bits are read while `in_valid` only.

    Args:
        circuit: any; simplify it before.
        name: of the module.
        clocks: from one image to the next, at least 2; the fewer, the more votes are counted a clock.

    Raises:
        ArgumentError: a name that is none in Verilog, fewer than 2 clocks.

    >>> from ordinate.logic.circuit import Circuit
    >>> source = verilog_shifted(Circuit(4, [], [], [], votes=[([0, 1, 2, 3], [1] * 4), ([0], [1])]), clocks=3)
    >>> "queue <= in_valid ? {bits[3], bits[2], bits[1], bits[0]} : {2'd0, queue[3:2]};" in source
    True
    """
    text, _ = _built(circuit, name, clocks)
    return text


def shifted_latency(circuit: Circuit, *, clocks: int) -> int:
    """Clocks from an image to its class in the module of `verilog_shifted`."""
    return _built(circuit, "circuit", clocks)[1]


def _built(circuit: Circuit, name: str, clocks: int) -> tuple[str, int]:
    check_name(name)
    if clocks < 2:
        raise ArgumentError(
            "clocks", expected="at least 2", got=clocks, hint="use the pipelined module, which takes one a clock"
        )
    plan = count_plan(circuit)
    module, signals = gate_module(circuit, False, None)
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
        *(['  (* rom_style = "block", ram_style = "block" *)'] if 2 * len(planes) * taken <= 480 else []),
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
