"""A circuit beside a RISC-V processor on one chip: PicoRV32 sends it images through a memory-mapped port and reads the classes.

The processor's Verilog comes from the package `pythondata-cpu-picorv32` (PicoRV32 by Claire Xenia Wolf, ISC licence). Memory,
port and bus are written here. The firmware is C, compiled by `riscv64-unknown-elf-gcc` where it is installed; where it is not,
the same program is assembled from the few instructions that it needs. iverilog runs processor, firmware and circuit together,
clock by clock, on test images that lie in the chip's memory; yosys and nextpnr say what each takes alone and together.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ordinate.arguments import check_integer
from ordinate.atomic_io import atomic_write
from ordinate.errors import MissingExtraError, OutputError, RefusedError
from ordinate.logic.chip.chips import chip_named
from ordinate.logic.chip.fpga import Counting, Design, check_sides, design, find_tool, place, run_tool, sent_bits
from ordinate.logic.circuit.circuit import Circuit
from ordinate.logic.circuit.input_thresholds import FixedPoint, InputThresholds
from ordinate.logic.export.verilog_bench import serial_inputs

__all__ = ["SoftCoreReport", "SoftCoreRun", "assembled", "build_soft_core", "firmware_source", "simulate_soft_core"]

PORT, RESULT = 0x80000000, 0x80000004
"""Where the processor writes words of an image and reads the class, and where it writes what the chip's pins show."""

_BITS = 32
_PROGRAM_BYTES = 256
_FORMATS = {"lui": "U", "jal": "J", "addi": "I", "lw": "I", "sw": "S", "bne": "B", "bge": "B"}
_CODES = {"lui": 0x37, "jal": 0x6F, "addi": 0x13, "lw": 0x2003, "sw": 0x2023, "bne": 0x1063, "bge": 0x5063}
_COMPILER = "riscv64-unknown-elf-gcc"
_TOP = "soft_core"


@dataclass(frozen=True)
class SoftCoreReport:
    """What a processor and a circuit on one chip came to.

    Args:
        gates: of the circuit.
        chip: where both went.
        logic_cells: of processor, memory, port and circuit together, after placing.
        logic_cells_available: that the chip has.
        core_cells: with the processor, its memory and an empty port alone.
        memories: block memories of both.
        max_mhz: the fastest clock after routing.
        memory_bytes: of the processor, firmware and images.
        firmware: what made it: the compiler, or "assembled here".
        firmware_bytes: its size.
        simulated: images that the firmware sent in simulation.
        wrong: of them, those whose class differed from the circuit's.
        clocks_an_image: that the processor took for each in simulation, from word to class.
        images_per_second: at `max_mhz`.
        bitstream: its file.
        folder: where all files and reports are.
    """

    gates: int
    chip: str
    logic_cells: int
    logic_cells_available: int
    core_cells: int
    memories: int
    max_mhz: float
    memory_bytes: int
    firmware: str
    firmware_bytes: int
    simulated: int
    wrong: int
    clocks_an_image: float
    images_per_second: float
    bitstream: str | None
    folder: str

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types."""
        return asdict(self)


@dataclass(frozen=True)
class SoftCoreRun:
    """What the firmware did in simulation.

    Args:
        classes: that the processor showed, int64 [images].
        expected: what the circuit says itself, int64 [images].
        clocks_an_image: from one class to the next.
        firmware: what made it.
        firmware_bytes: its size.
    """

    classes: npt.NDArray[np.int64]
    expected: npt.NDArray[np.int64]
    clocks_an_image: float
    firmware: str
    firmware_bytes: int


def build_soft_core(
    circuit: Circuit,
    folder: str | Path,
    *,
    chip: str = "up5k",
    bits: Any,
    counting: Counting = "auto",
    stages: int | None = None,
    number: FixedPoint | None = None,
    thresholds: InputThresholds | None = None,
    gate_levels: int | None = None,
    memory_bytes: int = 4096,
    seed: int = 1,
    on_step: Callable[[str], None] | None = None,
) -> SoftCoreReport:
    """Put PicoRV32 beside a circuit, simulate its firmware on images, and place both.

    Args:
        circuit: any; simplify it before.
        folder: for all files.
        chip: of an iCE40, whose block memories hold the firmware from the start.
        bits: images [n, num_inputs], or rows of numbers with `number`; as many as fit into the memory are sent.
        counting: as in `design`, like `stages` and `number`.
        stages: registers in the circuit.
        number: format of the numbers that are compared on the chip.
        thresholds: that they are compared with, as in `build`.
        gate_levels: as in `design`.
        memory_bytes: of the processor, a power of two from 1024 to 8192.
        seed: of the placement.
        on_step: called with what is being done.

    Raises:
        MissingExtraError: a tool or the processor's package is missing.
        RefusedError: a chip of another family, a memory too small for one image, no fit, firmware that came to no end.
        ArgumentError, UnknownNameError: as `design`.
    """
    family = chip_named(chip)
    if family.family != "ice40":
        raise RefusedError("chip", expected="an iCE40, such as up5k", got=chip)
    for tool in ("yosys", "nextpnr-ice40", "icepack"):
        find_tool(tool)
    taken = circuit if thresholds is None else replace(circuit, inputs=thresholds)
    asked: dict[str, Any] = {"counting": counting, "stages": stages, "number": number, "gate_levels": gate_levels}
    plan = design(taken, chip=chip, pins=_BITS, from_outside=False, **asked)
    if number is not None and taken.inputs is not None:
        check_sides(circuit, number, taken.inputs, bits)
    target = Path(folder)
    say = on_step or (lambda _: None)
    say("firmware and simulation (iverilog)")
    done = simulate_soft_core(circuit, plan, target, bits, memory_bytes=memory_bytes)
    sources = {_TOP: "picorv32.v circuit.v", f"{_TOP}_alone": "picorv32.v"}
    placed = {}
    for name, files in sources.items():
        say(f"{name} (yosys, nextpnr)")
        script = f"read_verilog {files} {name}.v; {family.tools.synth} -top {name}; write_json {name}.json"
        run_tool("yosys", ["-p", script], target, log=f"{name}_yosys.log")
        placed[name] = place(target, seed, chip=chip, name=name)
    both, alone = placed[_TOP], placed[f"{_TOP}_alone"]
    cells = json.loads((target / f"{_TOP}.json").read_text(encoding="utf-8"))["modules"][_TOP]["cells"].values()
    run_tool("icepack", [f"{_TOP}.asc", f"{_TOP}.bin"], target, log="pack.log")
    return SoftCoreReport(
        gates=circuit.num_gates,
        chip=chip,
        logic_cells=both[0],
        logic_cells_available=family.logic_cells,
        core_cells=alone[0],
        memories=sum(cell["type"] == "SB_RAM40_4K" for cell in cells),
        max_mhz=both[1],
        memory_bytes=memory_bytes,
        firmware=done.firmware,
        firmware_bytes=done.firmware_bytes,
        simulated=len(done.classes),
        wrong=int((done.classes != done.expected).sum()),
        clocks_an_image=done.clocks_an_image,
        images_per_second=both[1] * 1e6 / done.clocks_an_image,
        bitstream=f"{_TOP}.bin",
        folder=str(target),
    )


def simulate_soft_core(circuit: Circuit, plan: Design, folder: Path, bits: Any, *, memory_bytes: int = 4096) -> SoftCoreRun:
    """Write processor, firmware and circuit to a folder, and run as many images as fit into the memory; as `build_soft_core`.

    Args:
        circuit: what is expected.
        plan: of words of 32 bits.
        folder: for all files.
        bits: images, or rows of numbers where the plan has a format for them.
        memory_bytes: of the processor.
    """
    check_integer("memory_bytes", memory_bytes, minimum=1024, maximum=8192)
    if memory_bytes & (memory_bytes - 1):
        raise RefusedError("memory_bytes", expected="a power of two", got=memory_bytes)
    processor = _processor()
    for tool in ("iverilog", "vvp"):
        find_tool(tool)
    read, words = serial_inputs(circuit, plan.number), plan.clocks_an_image
    port_bits, expected = sent_bits(circuit, plan, bits)
    room = (memory_bytes - _PROGRAM_BYTES) // (4 * words)
    if room < 1:
        raise RefusedError("memory_bytes", expected=f"room for an image of {4 * words} bytes", got=memory_bytes)
    images = min(room, len(port_bits))
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(str(folder), expected="a folder to write to", got=str(error)) from None
    program, by = _firmware(folder, words, images)
    sent = np.zeros((images, _BITS * words), bool)
    sent[:, : len(read)] = port_bits[:images, read]
    memory = program.ljust(_PROGRAM_BYTES, b"\0") + np.packbits(sent, axis=1, bitorder="little").tobytes()
    contents = np.frombuffer(memory.ljust(memory_bytes, b"\0"), "<u4")
    atomic_write(folder / "firmware.hex", "".join(f"{word:08x}\n" for word in contents.tolist()))
    atomic_write(folder / "picorv32.v", processor.read_text(encoding="utf-8"))
    atomic_write(folder / "circuit.v", plan.source)
    for name, front in ((_TOP, True), (f"{_TOP}_alone", False)):
        atomic_write(folder / f"{name}.v", _module(name, memory_bytes, plan.class_bits, front))
    patience = 1000 + images * (100 * words + 20 * plan.latency_clocks + 500)
    atomic_write(folder / "bench.v", _bench(plan.class_bits, images, patience))
    classes, clocks = _simulated(folder, images)
    return SoftCoreRun(classes, expected[:images], clocks, by, len(program))


def _processor() -> Path:
    """PicoRV32's Verilog. Raises MissingExtraError."""
    spec = find_spec("pythondata_cpu_picorv32")
    path = (
        Path(spec.submodule_search_locations[0]) / "verilog" / "picorv32.v"
        if spec and spec.submodule_search_locations
        else None
    )
    if path is None or not path.is_file():
        raise MissingExtraError(
            "soft core", expected="PicoRV32", got="none installed", hint="pip install pythondata-cpu-picorv32"
        )
    return path


def firmware_source(words: int, images: int) -> str:
    """The firmware in C: what a user changes."""
    return f"""/* sends {images} images of {words} words to the circuit, and shows each class at the pins */
#define PORT (*(volatile unsigned *){PORT:#x}u)
#define RESULT (*(volatile unsigned *){RESULT:#x}u)

void _start(void)
{{
    const unsigned *word = (const unsigned *){_PROGRAM_BYTES};
    for (int image = 0; image < {images}; image++) {{
        int answer;
        for (int sent = 0; sent < {words}; sent++)
            PORT = *word++;
        do
            answer = (int)PORT; /* bit 31: there is an answer, the class in the lowest bits */
        while (answer >= 0);
        RESULT = (unsigned)answer;
    }}
    for (;;)
        ;
}}
"""


def assembled(words: int, images: int) -> bytes:
    """The same program without a compiler: sixteen instructions of RV32I.

    >>> assembled(8, 3)[:8].hex()
    'b702008013030010'
    """
    program = [
        _instruction("lui", rd=5, value=PORT),
        _instruction("addi", rd=6, value=_PROGRAM_BYTES),
        _instruction("addi", rd=7, value=images),
        _instruction("addi", rd=28, value=words),  # an image
        _instruction("lw", rd=29, rs1=6),  # a word
        _instruction("sw", rs1=5, rs2=29),
        _instruction("addi", rd=6, rs1=6, value=4),
        _instruction("addi", rd=28, rs1=28, value=-1),
        _instruction("bne", rs1=28, value=-16),
        _instruction("lw", rd=29, rs1=5),
        _instruction("bge", rs1=29, value=-4),
        _instruction("sw", rs1=5, rs2=29, value=RESULT - PORT),
        _instruction("addi", rd=7, rs1=7, value=-1),
        _instruction("bne", rs1=7, value=-40),
        _instruction("jal"),
    ]
    return b"".join(one.to_bytes(4, "little") for one in program)


def _instruction(name: str, *, rd: int = 0, rs1: int = 0, rs2: int = 0, value: int = 0) -> int:
    """A word of RV32I (The RISC-V Instruction Set Manual, volume I, chapter 2: formats I, S, B, U and J)."""
    form, code = _FORMATS[name], _CODES[name]

    def bits(high: int, low: int) -> int:
        return value >> low & ((1 << (high - low + 1)) - 1)

    if form == "U":
        return value & 0xFFFFF000 | rd << 7 | code
    if form == "J":
        return bits(20, 20) << 31 | bits(10, 1) << 21 | bits(11, 11) << 20 | bits(19, 12) << 12 | rd << 7 | code
    if form == "I":
        return bits(11, 0) << 20 | rs1 << 15 | rd << 7 | code
    if form == "S":
        return bits(11, 5) << 25 | rs2 << 20 | rs1 << 15 | bits(4, 0) << 7 | code
    return bits(12, 12) << 31 | bits(10, 5) << 25 | rs2 << 20 | rs1 << 15 | bits(4, 1) << 8 | bits(11, 11) << 7 | code


def _firmware(folder: Path, words: int, images: int) -> tuple[bytes, str]:
    """The program, and what made it. Raises RefusedError where it is too long."""
    atomic_write(folder / "firmware.c", firmware_source(words, images))
    if shutil.which(_COMPILER) is None:
        return assembled(words, images), "assembled here"
    options = "-march=rv32i -mabi=ilp32 -O2 -Wall -Werror -ffreestanding -nostdlib -Wl,-Ttext=0 -Wl,--build-id=none"
    for command in (
        [_COMPILER, *options.split(), "firmware.c", "-o", "firmware.elf"],
        [_COMPILER.replace("gcc", "objcopy"), "-O", "binary", "firmware.elf", "firmware.bin"],
    ):
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RefusedError(command[0], expected="success", got=done.stderr.strip()[-300:])
    program = (folder / "firmware.bin").read_bytes()
    if len(program) > _PROGRAM_BYTES:
        raise RefusedError("firmware", expected=f"at most {_PROGRAM_BYTES} bytes", got=len(program))
    return program, _COMPILER


def _module(name: str, memory_bytes: int, width: int, with_circuit: bool) -> str:
    """Processor, memory and port; the port leads to the serial front of the circuit, or nowhere."""
    rows = memory_bytes // 4
    address = f"mem_addr[{rows.bit_length()}:2]"
    front = (
        "circuit_serial front (.clk(clk), .reset(~resetn), .data_valid(send), .data(mem_wdata), "
        ".class_index(class_index), .out_valid(out_valid));"
        if with_circuit
        else f"assign class_index = {width}'d0, out_valid = 1'b0;"
    )
    bytes_written = "\n".join(
        f"    if (store & mem_wstrb[{one}]) memory[{address}][{8 * one + 7}:{8 * one}] <= mem_wdata[{8 * one + 7}:{8 * one}];"
        for one in range(4)
    )
    return f"""// PicoRV32 with {memory_bytes} bytes; words sent to 0x80000000 go to the circuit, its class is read there
`timescale 1ns/1ps
module {name} (input wire clk, output reg [{width - 1}:0] result, output reg result_valid, output wire trap);
  reg [5:0] started = 0;
  wire resetn = &started;
  always @(posedge clk) started <= started + {{5'd0, ~resetn}};
  wire mem_valid, mem_instr;
  wire [31:0] mem_addr, mem_wdata;
  wire [3:0] mem_wstrb;
  reg mem_ready = 0, from_port = 0, answered = 0;
  reg [31:0] word;
  reg [{width - 1}:0] answer = 0;
  wire [{width - 1}:0] class_index;
  wire out_valid;
  wire begins = resetn & mem_valid & ~mem_ready;
  wire store = begins & ~mem_addr[31];
  wire to_port = begins & mem_addr[31] & (|mem_wstrb);
  wire send = to_port & ~mem_addr[2];
  {front}
  reg [31:0] memory [0:{rows - 1}];
  initial $readmemh("firmware.hex", memory);
  always @(posedge clk) begin
    mem_ready <= begins;
    from_port <= mem_addr[31];
    word <= memory[{address}];
{bytes_written}
    if (send) answered <= 1'b0;
    else if (out_valid) begin
      answered <= 1'b1;
      answer <= class_index;
    end
    result_valid <= to_port & mem_addr[2];
    if (to_port & mem_addr[2]) result <= mem_wdata[{width - 1}:0];
  end
  picorv32 #(
    .ENABLE_COUNTERS(0), .ENABLE_COUNTERS64(0), .TWO_STAGE_SHIFT(0), .CATCH_MISALIGN(0), .CATCH_ILLINSN(0),
    .STACKADDR({memory_bytes})
  ) processor (
    .clk(clk), .resetn(resetn), .trap(trap), .mem_valid(mem_valid), .mem_instr(mem_instr), .mem_ready(mem_ready),
    .mem_addr(mem_addr), .mem_wdata(mem_wdata), .mem_wstrb(mem_wstrb),
    .mem_rdata(from_port ? {{answered, {31 - width}'d0, answer}} : word),
    .pcpi_wr(1'b0), .pcpi_rd(32'd0), .pcpi_wait(1'b0), .pcpi_ready(1'b0), .irq(32'd0)
  );
endmodule
"""


def _bench(width: int, images: int, patience_clocks: int) -> str:
    return f"""// prints each class with the clock at which the processor showed it
`timescale 1ns/1ps
module bench;
  reg clk = 0;
  wire [{width - 1}:0] result;
  wire result_valid, trap;
  integer clocks = 0, seen = 0;
  {_TOP} dut (.clk(clk), .result(result), .result_valid(result_valid), .trap(trap));
  always #5 clk = ~clk;
  always @(negedge clk) begin
    clocks = clocks + 1;
    if (result_valid === 1'b1) begin
      $display("class %0d at %0d", result, clocks);
      seen = seen + 1;
    end
    if (seen == {images} || clocks > {patience_clocks} || trap === 1'b1) $finish;
  end
endmodule
"""


def _simulated(folder: Path, images: int) -> tuple[npt.NDArray[np.int64], float]:
    """The classes that the processor showed, and the clocks from one to the next. Raises RefusedError where one is missing."""
    sources = ["picorv32.v", "circuit.v", f"{_TOP}.v", "bench.v"]
    run_tool("iverilog", ["-g2005", "-o", "bench.vvp", *sources], folder, log="bench_build.log")
    said = run_tool("vvp", ["bench.vvp"], folder, log="bench.log")
    answers = [line.split() for line in said.splitlines() if line.startswith("class ")]
    if len(answers) != images or any(not one[1].isdigit() for one in answers):
        raise RefusedError("firmware", expected=f"{images} classes", got=len(answers), hint=f"read {folder / 'bench.log'}")
    classes, clocks = (np.array([int(one[place]) for one in answers]) for place in (1, 3))
    return classes, float(clocks[-1] - clocks[0]) / max(1, images - 1) if images > 1 else float(clocks[0])
