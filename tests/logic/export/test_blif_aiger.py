"""ABC reads BLIF and AIGER, proves them equal to each other and to what yosys makes of the Verilog, and sees a change."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from ordinate.logic.circuit.circuit import Circuit
from ordinate.logic.circuit.program import voting_signals
from ordinate.logic.export.blif_aiger import aiger, blif
from ordinate.logic.export.verilog import verilog
from tests.logic.circuits import every_input, flipped, plain_classes, plain_signals, random_circuit

needs_abc = pytest.mark.skipif(shutil.which("yosys-abc") is None, reason="no yosys-abc here (apt install yosys)")
needs_yosys = pytest.mark.skipif(shutil.which("yosys") is None, reason="no yosys here (apt install yosys)")


def abc_says(folder: Path, first: str, second: str) -> str:
    return subprocess.run(["yosys-abc", "-c", f"cec -n {first} {second}"], cwd=folder, capture_output=True, text=True).stdout


def blif_values(text: str, bits: np.ndarray) -> dict[str, np.ndarray]:
    """A reader of BLIF of its own: every named signal's value for each row."""
    names = next(line for line in text.splitlines() if line.startswith(".inputs")).split()[1:]
    values = {name: bits[:, place] for place, name in enumerate(names)}
    blocks = text.split(".names ")[1:]
    for block in blocks:
        head, *rows = [line for line in block.splitlines() if not line.startswith(".end")]
        *reads, out = head.split()
        values[out] = np.zeros(len(bits), bool)
        for row in rows:
            *pattern, _ = row.split()
            match = np.ones(len(bits), bool)
            for name, wanted in zip(reads, pattern[0] if pattern else "", strict=True):
                match &= values[name] == (wanted == "1")
            values[out] |= match
    return values


def aiger_values(data: bytes, bits: np.ndarray) -> list[np.ndarray]:
    """A reader of binary AIGER of its own: the outputs for each row."""
    head, rest = data.split(b"\n", 1)
    _, inputs, _, outputs, gates = map(int, head.split()[1:])
    literals = []
    for _ in range(outputs):
        line, rest = rest.split(b"\n", 1)
        literals.append(int(line))
    values = [np.zeros(len(bits), bool), *bits.T]
    at = 0

    def number() -> int:
        nonlocal at
        found, shift = 0, 0
        while True:
            byte = rest[at]
            at += 1
            found |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return found

    def value(literal: int) -> np.ndarray:
        return values[literal >> 1] ^ bool(literal & 1)

    for gate in range(gates):
        left = 2 * (inputs + 1 + gate) - number()
        values.append(value(left) & value(left - number()))
    return [value(literal) for literal in literals]


@pytest.mark.parametrize("seed", range(5))
def test_both_formats_say_what_a_plain_evaluation_says(seed: int) -> None:
    circuit = random_circuit(seed, 7, 60, classes=2 + seed)
    bits = every_input(7)
    every = np.array([plain_signals(circuit, row) for row in bits.astype(int).tolist()])[:, voting_signals(circuit)]
    read = blif_values(blif(circuit, stage="gates"), bits)
    assert np.array_equal(np.stack([read[f"votes[{place}]"] for place in range(every.shape[1])], 1), every)
    assert np.array_equal(np.stack(aiger_values(aiger(circuit, stage="gates"), bits), 1), every)
    classes = np.stack(aiger_values(aiger(circuit), bits), 1) @ (1 << np.arange((1 + seed).bit_length()))
    assert np.array_equal(classes, plain_classes(circuit, bits))


@needs_abc
@pytest.mark.parametrize("stage", ["gates", "classes", "counts", "all"])
def test_abc_reads_both_and_proves_them_equal(tmp_path: Path, stage: str) -> None:
    circuit = random_circuit(3, 10, 60, classes=3, votes=9)
    (tmp_path / "a.blif").write_text(blif(circuit, stage=stage))  # type: ignore[arg-type]
    (tmp_path / "a.aig").write_bytes(aiger(circuit, stage=stage))  # type: ignore[arg-type]
    assert "Networks are equivalent" in abc_says(tmp_path, "a.blif", "a.aig")


@needs_abc
@pytest.mark.parametrize("seed", range(4))
def test_abc_agrees_that_simplifying_changed_nothing(tmp_path: Path, seed: int) -> None:
    circuit = random_circuit(seed, 12, 200, classes=3, votes=5)
    small = circuit.simplify()
    (tmp_path / "a.blif").write_text(blif(circuit))
    (tmp_path / "b.blif").write_text(blif(small))
    assert "Networks are equivalent" in abc_says(tmp_path, "a.blif", "b.blif")


@needs_abc
def test_abc_rejects_a_flipped_literal(tmp_path: Path) -> None:
    circuit = random_circuit(2, 10, 60, classes=3).simplify()
    (tmp_path / "a.blif").write_text(blif(circuit, stage="gates"))
    (tmp_path / "b.blif").write_text(blif(flipped(circuit, circuit.num_nodes - 1, 2), stage="gates"))
    assert "NOT EQUIVALENT" in abc_says(tmp_path, "a.blif", "b.blif").upper()


@needs_abc
@needs_yosys
@pytest.mark.parametrize("stage", ["gates", "classes"])
def test_abc_proves_what_yosys_makes_of_the_verilog(tmp_path: Path, stage: str) -> None:
    """Counting, biases and comparing are written twice, in Verilog with adders and in BLIF with gates."""
    circuit: Circuit = random_circuit(4, 10, 40, classes=3, votes=9)
    (tmp_path / "a.blif").write_text(blif(circuit, stage=stage))  # type: ignore[arg-type]
    (tmp_path / "a.v").write_text(verilog(circuit, stage=stage))  # type: ignore[arg-type]
    script = "read_verilog a.v; synth -flatten -top circuit; abc; write_blif b.blif"
    subprocess.run(["yosys", "-q", "-p", script], cwd=tmp_path, check=True, capture_output=True)
    assert "Networks are equivalent" in abc_says(tmp_path, "a.blif", "b.blif")
