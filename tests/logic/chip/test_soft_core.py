"""A processor's firmware sends images to a circuit and shows the circuit's classes, compiled or assembled."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ordinate.errors import MissingExtraError, RefusedError
from ordinate.logic import FixedPoint, InputThresholds
from ordinate.logic.chip import fpga, soft_core
from tests.logic.circuits import flipped, plain_classes, random_circuit, some_inputs

COMPILER = "riscv64-unknown-elf-gcc"
missing = [tool for tool in ("iverilog", "vvp") if shutil.which(tool) is None]
if importlib.util.find_spec("pythondata_cpu_picorv32") is None:
    missing.append("pythondata-cpu-picorv32")
needs_processor = pytest.mark.skipif(bool(missing), reason=f"not here: {', '.join(missing)}")
needs_compiler = pytest.mark.skipif(shutil.which(COMPILER) is None, reason=f"no {COMPILER} here")


def planned(circuit: object, **options: object) -> fpga.Design:
    return fpga.design(circuit, pins=32, from_outside=False, **options)  # type: ignore[arg-type]


@needs_processor
@pytest.mark.parametrize("firmware", ["assembled", pytest.param("compiled", marks=needs_compiler)])
def test_the_processor_shows_the_classes_of_a_plain_evaluation(
    firmware: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if firmware == "assembled":
        which = shutil.which
        monkeypatch.setattr(soft_core.shutil, "which", lambda name: None if name == COMPILER else which(name))
    circuit = random_circuit(3, 70, 80, classes=5, votes=12)
    bits = some_inputs(0, 40, 70)
    done = soft_core.simulate_soft_core(circuit, planned(circuit, stages=3), tmp_path, bits)
    assert done.firmware == ("assembled here" if firmware == "assembled" else COMPILER)
    assert done.classes.tolist() == plain_classes(circuit, bits).tolist()
    assert 20 < done.clocks_an_image < 200
    other = next(one for node in range(80) if (plain_classes(one := flipped(circuit, node, 0), bits) != done.classes).any())
    wrong = soft_core.simulate_soft_core(circuit, planned(other, counting="shifted"), tmp_path, bits)
    assert wrong.classes.tolist() == plain_classes(other, bits).tolist() != wrong.expected.tolist()


@needs_processor
def test_images_are_as_many_as_the_memory_holds(tmp_path: Path) -> None:
    circuit = random_circuit(3, 40, 30, classes=2)
    done = soft_core.simulate_soft_core(circuit, planned(circuit), tmp_path, some_inputs(0, 200, 40), memory_bytes=1024)
    assert len(done.classes) == (1024 - 256) // 8
    large = replace(planned(circuit), clocks_an_image=200)
    with pytest.raises(RefusedError, match="memory_bytes: expected room for an image of 800 bytes, got 1024"):
        soft_core.simulate_soft_core(circuit, large, tmp_path, some_inputs(0, 1, 40), memory_bytes=1024)
    with pytest.raises(RefusedError, match="memory_bytes: expected a power of two, got 3000"):
        soft_core.simulate_soft_core(circuit, planned(circuit), tmp_path, some_inputs(0, 1, 40), memory_bytes=3000)


@needs_compiler
def test_every_instruction_is_what_the_disassembler_reads(tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(soft_core.assembled(13, 77))
    command = [
        COMPILER.replace("gcc", "objdump"),
        "-D",
        "-b",
        "binary",
        "-m",
        "riscv:rv32",
        "-M",
        "no-aliases,numeric",
        "a.bin",
    ]
    said = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    lines = [line.split("\t")[2:4] for line in said.splitlines() if line.count("\t") >= 3]
    assert [" ".join(one).partition(" #")[0] for one in lines] == [
        "lui x5,0x80000",
        "addi x6,x0,256",
        "addi x7,x0,77",
        "addi x28,x0,13",
        "lw x29,0(x6)",
        "sw x29,0(x5)",
        "addi x6,x6,4",
        "addi x28,x28,-1",
        "bne x28,x0,0x10",
        "lw x29,0(x5)",
        "bge x29,x0,0x24",
        "sw x29,4(x5)",
        "addi x7,x7,-1",
        "bne x7,x0,0xc",
        "jal x0,0x38",
    ]


def test_a_missing_processor_is_the_line_that_installs_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(soft_core, "find_spec", lambda name: None)
    circuit = random_circuit(3, 40, 30)
    with pytest.raises(MissingExtraError, match="expected PicoRV32, got none installed; pip install pythondata-cpu-picorv32"):
        soft_core.simulate_soft_core(circuit, planned(circuit), tmp_path / "out", some_inputs(0, 1, 40))
    assert not (tmp_path / "out").exists()
    with pytest.raises(RefusedError, match="chip: expected an iCE40, such as up5k, got ecp5-25k"):
        soft_core.build_soft_core(circuit, tmp_path / "out", chip="ecp5-25k", bits=some_inputs(0, 1, 40))


@pytest.mark.slow
@needs_processor
@pytest.mark.skipif(
    any(shutil.which(tool) is None for tool in ("yosys", "nextpnr-ice40", "icepack")), reason="FPGA tools not here"
)
def test_processor_and_circuit_fit_an_up5k_together(tmp_path: Path) -> None:
    rows = np.random.default_rng(1).integers(0, 256, (60, 6)).astype(np.uint8)
    thresholds = InputThresholds.thermometer(rows, 3)
    circuit = random_circuit(3, len(thresholds.feature), 60, classes=3, thresholds=thresholds).simplify(sat=False)
    report = soft_core.build_soft_core(circuit, tmp_path, bits=rows, stages=3, number=FixedPoint(8), memory_bytes=2048)
    assert (report.wrong, report.simulated) == (0, 60)
    assert 900 < report.core_cells < report.logic_cells < report.core_cells + 600
    assert report.max_mhz > 10
    assert (tmp_path / "soft_core.bin").stat().st_size > 20_000
