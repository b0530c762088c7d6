"""The Verilog gives the plain evaluation's classes in simulation: at once, pipelined, through few pins, with thresholds."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from ordinate.errors import ArgumentError, RefusedError
from ordinate.logic import Circuit, FixedPoint, InputThresholds
from ordinate.logic.export.verilog import Adders, shifted_latency, verilog, verilog_module, verilog_shifted
from ordinate.logic.export.verilog_bench import (
    expected_file,
    number_vectors,
    parallel_bench,
    serial_bench,
    serial_inputs,
    serial_wrapper,
    vector_file,
)
from tests.logic.circuits import every_input, flipped, plain_classes, random_circuit, some_inputs

# none and few votes, a class of its own, many of everything; the slow run has the rest
SEEDS = [0, 3, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2, 4, 5))]
needs_iverilog = pytest.mark.skipif(shutil.which("iverilog") is None, reason="no iverilog here (apt install iverilog)")


def simulated(folder: Path, design: str, bench: str, bits: np.ndarray, classes: np.ndarray) -> str:
    for name, text in (
        ("design.v", design),
        ("bench.v", bench),
        ("vectors.hex", vector_file(bits)),
        ("expected.hex", expected_file(classes)),
    ):
        (folder / name).write_text(text)
    built = subprocess.run(
        ["iverilog", "-g2005", "-Wall", "-o", "sim", "design.v", "bench.v"], cwd=folder, capture_output=True, text=True
    )
    assert (built.returncode, built.stderr) == (0, "")
    return subprocess.run(["vvp", "sim"], cwd=folder, capture_output=True, text=True, check=True).stdout.strip()


@needs_iverilog
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("form", ["combinational", "pipelined", "pipelined gates", "serial", "1 stages", "3 stages"])
def test_every_class_is_that_of_a_plain_evaluation(tmp_path: Path, seed: int, form: str) -> None:
    circuit = random_circuit(seed, 10, 60 if seed else 0, classes=1 + seed, votes=[3, 0, 1, 20, 37, 7][seed])
    bits = some_inputs(seed, 150, 10)
    stages = int(form[0]) if form.endswith("stages") and (seed > 1 or form[0] == "1") else None
    adders: Adders = "tree" if form in ("pipelined", "1 stages") else "compressors"
    pipelined, levels = form != "combinational" and not stages, 2 if form == "pipelined gates" else None
    made = verilog_module(circuit, "net", pipelined=pipelined, stages=stages, gate_levels=levels, adders=adders)
    design = made.source
    if form == "serial":
        design += serial_wrapper(circuit, "net", 3)
        bench = serial_bench(circuit, "net", 150, 3, latency=made.latency)
    else:
        bench = parallel_bench(circuit, "net", 150, latency=made.latency)
    assert simulated(tmp_path, design, bench, bits, plain_classes(circuit, bits)) == "PASS 150"


@needs_iverilog
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("clocks", [2, 3, 5, 40])
def test_votes_may_be_counted_a_few_a_clock(tmp_path: Path, seed: int, clocks: int) -> None:
    circuit = random_circuit(seed, 10, 60 if seed else 0, classes=1 + seed, votes=[3, 0, 1, 20, 37, 7][seed])
    bits = some_inputs(seed, 100, 10)
    design = verilog_shifted(circuit, "net", clocks=clocks)
    bench = parallel_bench(circuit, "net", 100, latency=shifted_latency(circuit, clocks=clocks), interval=clocks)
    assert simulated(tmp_path, design, bench, bits, plain_classes(circuit, bits)) == "PASS 100"


@needs_iverilog
def test_shifted_counting_keeps_up_with_the_serial_front(tmp_path: Path) -> None:
    circuit = random_circuit(5, 12, 60, classes=4)
    bits = some_inputs(5, 60, 12)
    words = -(-len(serial_inputs(circuit)) // 3)
    design = verilog_shifted(circuit, "net", clocks=words) + serial_wrapper(circuit, "net", 3)
    late = shifted_latency(circuit, clocks=words)
    assert (
        simulated(tmp_path, design, serial_bench(circuit, "net", 60, 3, latency=late), bits, plain_classes(circuit, bits))
        == "PASS 60"
    )


@needs_iverilog
def test_biases_decide_in_hardware_as_they_do_exactly(tmp_path: Path) -> None:
    """Biases that differ by less than a vote, and by many votes; a Verilog without them would fail."""
    for number, bias in enumerate(([0.25, 0.75, 0.5], [-7.5, 0.0, 7.25], [1000.0, 1001.5, 1001.25])):
        circuit = random_circuit(number, 8, 40, classes=3)
        circuit = Circuit(8, circuit.tables, circuit.inputs_a, circuit.inputs_b, circuit.votes, bias)
        bits = some_inputs(number, 200, 8)
        classes = plain_classes(circuit, bits)
        without = Circuit(8, circuit.tables, circuit.inputs_a, circuit.inputs_b, circuit.votes)
        assert (plain_classes(without, bits) != classes).any()
        bench = parallel_bench(circuit, "net", 200)
        assert simulated(tmp_path, circuit.to_verilog("net"), bench, bits, classes) == "PASS 200"
        assert simulated(tmp_path, without.to_verilog("net"), bench, bits, classes).startswith("vector")


@needs_iverilog
def test_a_flipped_literal_fails_the_bench(tmp_path: Path) -> None:
    circuit = random_circuit(4, 8, 40, classes=3).simplify()
    bits = some_inputs(4, 200, 8)
    classes = plain_classes(circuit, bits)
    other = next(
        one for node in range(circuit.num_nodes) if (plain_classes(one := flipped(circuit, node, 1), bits) != classes).any()
    )
    said = simulated(tmp_path, other.to_verilog("net"), parallel_bench(circuit, "net", 200), bits, classes)
    wrong = int((plain_classes(other, bits) != classes).sum())
    assert said.splitlines()[-1] == f"FAIL {wrong} of 200"


@needs_iverilog
def test_the_class_comes_latency_clocks_after_its_image(tmp_path: Path) -> None:
    circuit = random_circuit(3, 8, 40, classes=5)
    clocks = verilog_module(circuit, pipelined=True).latency
    bench = f"""
`timescale 1ns/1ps
module bench;
  reg clk = 0, in_valid = 0; reg [7:0] bits = 0; wire [2:0] class_index; wire out_valid; integer clocks = 0;
  net dut (.clk(clk), .in_valid(in_valid), .bits(bits), .class_index(class_index), .out_valid(out_valid));
  always #5 clk = ~clk;
  initial begin @(negedge clk) in_valid = 1; @(negedge clk) in_valid = 0; end
  always @(posedge clk) if (in_valid || clocks > 0) clocks = clocks + 1;
  always @(negedge clk) if (out_valid) begin $display("%0d", clocks); $finish; end
  initial #{20 * clocks + 200} $finish;
endmodule
"""
    assert simulated(tmp_path, verilog(circuit, "net", pipelined=True), bench, some_inputs(0, 1, 8), np.array([0])) == str(
        clocks
    )


@needs_iverilog
@pytest.mark.parametrize("adders", ["tree", "compressors"])
@pytest.mark.parametrize("stages", [1, 5, 11])
def test_any_number_of_stages_gives_the_same_classes_and_that_latency(tmp_path: Path, stages: int, adders: Adders) -> None:
    circuit = random_circuit(11, 12, 150, classes=3, votes=50)
    made = verilog_module(circuit, "net", stages=stages, adders=adders, table_inputs=6 if stages == 5 else 4)
    bits = some_inputs(11, 200, 12)
    assert made.latency == stages
    bench = parallel_bench(circuit, "net", 200, latency=stages)  # which checks when the first class comes
    assert simulated(tmp_path, made.source, bench, bits, plain_classes(circuit, bits)) == "PASS 200"


@needs_iverilog
def test_a_class_that_comes_a_clock_late_fails_the_bench(tmp_path: Path) -> None:
    circuit = random_circuit(11, 12, 30, classes=3)
    bits = some_inputs(11, 50, 12)
    bench = parallel_bench(circuit, "net", 50, latency=3)
    said = simulated(tmp_path, verilog(circuit, "net", stages=4), bench, bits, plain_classes(circuit, bits))
    assert "the first class came after 4 clocks, not 3" in said
    assert said.splitlines()[-1] == "FAIL 1 of 50"


def test_more_stages_are_shorter_and_hold_more() -> None:
    """Registers cut the longest path about evenly: with n of them a stage has little more than an n-th of all levels."""
    circuit = random_circuit(11, 12, 150, classes=3, votes=50)
    made = [verilog_module(circuit, stages=stages) for stages in (1, 2, 4, 8)]
    levels = [one.levels for one in made]
    assert all(levels[0] / count <= one < levels[0] / count + 2 for one, count in zip(levels, (1, 2, 4, 8), strict=True))
    registers = [one.register_bits for one in made]
    assert registers == sorted(registers)
    assert registers[0] == 2  # the class


def test_two_classes_are_decided_by_a_carry(tmp_path: Path) -> None:
    """No second count and no comparator: the threshold is a constant among the votes."""
    source = verilog(random_circuit(1, 10, 40, classes=2, votes=40))
    assert " > " not in source
    assert " > " in verilog(random_circuit(1, 10, 40, classes=2, votes=40), adders="tree")


@needs_iverilog
@pytest.mark.parametrize("bias", [-40, -9, -1, 0, 1, 9, 40])
def test_a_threshold_may_be_out_of_reach_of_the_votes(tmp_path: Path, bias: int) -> None:
    circuit = Circuit(4, [8, 6], [0, 2], [1, 3], votes=[([4, 5, 0], [1, -2, 1]), ([5, 1], [1, 3])], bias=[bias, 0.5])
    bits = every_input(4)
    expected = plain_classes(circuit, bits)
    bench = parallel_bench(circuit, "net", 16)
    assert simulated(tmp_path, verilog(circuit, "net"), bench, bits, expected) == "PASS 16"


@needs_iverilog
def test_thresholds_may_be_inside_the_module(tmp_path: Path) -> None:
    thresholds = InputThresholds(4, [0, 1, 2, 3, 0, 1], [-1, 0, 95.5, 254, 255, 300], "uint8")
    circuit = random_circuit(6, 6, 30, thresholds=thresholds)
    rows = np.random.default_rng(6).integers(0, 256, (200, 4)).astype(np.uint8)
    rows[:3] = [[0], [255], [96]]
    bits = rows.astype(float)[:, thresholds.feature] > thresholds.threshold
    octets = np.unpackbits(rows, axis=1, bitorder="little").astype(bool)
    bench = parallel_bench(circuit, "net", 200)
    bench = (
        bench.replace("[5:0] vectors", "[31:0] vectors").replace("reg [5:0] bits", "reg [31:0] bits").replace(".bits(", ".x(")
    )
    design = circuit.to_verilog("net", thresholds=True)
    assert simulated(tmp_path, design, bench, octets, plain_classes(circuit, bits)) == "PASS 200"


@needs_iverilog
@pytest.mark.parametrize("pipelined", [False, True])
@pytest.mark.parametrize("kind", ["int16", "floats", "large floats"])
def test_numbers_that_are_no_bytes_are_compared_inside_the_module(tmp_path: Path, kind: str, pipelined: bool) -> None:
    generator = np.random.default_rng(1)
    if kind == "int16":
        rows = generator.integers(-(2**15), 2**15, (150, 3)).astype(np.int16)
    else:
        rows = generator.normal(size=(150, 3)) * (1 if kind == "floats" else 1e4)
    thresholds = InputThresholds.thermometer(rows, 2)
    circuit = random_circuit(3, 6, 40, thresholds=thresholds)
    number = FixedPoint(16, signed=True) if kind == "int16" else FixedPoint.covering(thresholds, rows)
    bits = rows.astype(float)[:, thresholds.feature] > thresholds.threshold
    assert np.array_equal(number.bits_of(thresholds, rows), bits)
    made = verilog_module(
        circuit, "net", thresholds=True, stages=4 if pipelined else None, number=None if kind == "int16" else number
    )
    design, bench = made.source, parallel_bench(circuit, "net", 150, latency=made.latency, number=number)
    assert simulated(tmp_path, design, bench, number_vectors(number, rows), plain_classes(circuit, bits)) == "PASS 150"


def test_floating_thresholds_without_a_format_are_refused() -> None:
    circuit = random_circuit(3, 2, 5, thresholds=InputThresholds(1, [0, 0], [0.25, 1234.5]))
    with pytest.raises(RefusedError, match="thresholds: expected thresholds of integers, got thresholds of floating numbers"):
        circuit.to_verilog(thresholds=True)
    with pytest.raises(RefusedError, match="52 bits keep on their sides"):
        FixedPoint.covering(circuit.inputs, [[0.25], [np.nextafter(0.25, 1)], [1e9]])  # type: ignore[arg-type]


def test_only_inputs_that_are_read_are_sent() -> None:
    circuit = Circuit(9, [8], [7], [2], votes=[([9, 4], [1, 1])])
    assert serial_inputs(circuit) == [2, 4, 7]
    assert "3 of 9 inputs, 2 a clock, 2 clocks an image" in serial_wrapper(circuit, "net", 2)


def test_adders_form_a_balanced_tree() -> None:
    """Latency grows with the logarithm of the votes: gates, tree of 3, 7, 15, ... votes, one comparison of two steps."""

    def clocks(votes: int) -> int:
        signals = np.arange(votes)
        circuit = Circuit(votes, [], [], [], votes=[(signals, np.ones(votes, int))] * 2)
        return verilog_module(circuit, pipelined=True, adders="tree").latency

    assert [clocks(votes) - clocks(3) for votes in (7, 15, 31, 63, 127)] == [1, 2, 3, 4, 5]


def test_vectors_are_hexadecimal_with_bit_0_lowest() -> None:
    bits = some_inputs(1, 20, 13)
    lines = vector_file(bits).split()
    assert [int(line, 16) for line in lines] == [sum(int(bit) << place for place, bit in enumerate(row)) for row in bits]
    assert {len(line) for line in lines} == {4}


def test_what_makes_no_module_is_refused() -> None:
    circuit = random_circuit(1)
    for name in ("", "1a", "a b", "module"):
        with pytest.raises(ArgumentError, match="expected a name in Verilog"):
            circuit.to_verilog(name)
    with pytest.raises(RefusedError, match="thresholds: expected a circuit that carries thresholds, got one of bits"):
        circuit.to_verilog(thresholds=True)
    with pytest.raises(ArgumentError, match="stages: expected an integer of at least 1, got 0"):
        verilog(circuit, stages=0)
    with pytest.raises(ArgumentError, match=r"stages: expected at most \d+: every level has its register then, got 100"):
        verilog(circuit, stages=100)
    with pytest.raises(RefusedError, match="stages: expected pipelined=False beside it, got True"):
        verilog(circuit, pipelined=True, stages=2)
    with pytest.raises(ArgumentError, match="clocks: expected an integer of at least 2, got 1"):
        verilog_shifted(circuit, clocks=1)
    with pytest.raises(RefusedError, match="stage='gates'"):
        verilog(circuit, pipelined=True, stage="gates")


def test_temperature_stands_in_the_header() -> None:
    assert re.search(r"score = \(votes \+ bias\) / 2.5", random_circuit(1).to_verilog())
