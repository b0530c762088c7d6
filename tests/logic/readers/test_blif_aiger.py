"""BLIF and AIGER files, ours, by hand and of yosys, compute what they say; what has no meaning in gates is refused."""

from __future__ import annotations

import shutil
import subprocess
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from ordinate.errors import ArgumentError, DataError, MissingDataError, OrdinateError
from ordinate.logic import aiger, blif, lut_blif, map_luts, read_aiger, read_blif
from tests.logic.circuits import plain_signals, random_circuit

ALL = (np.arange(64)[:, None] >> np.arange(6) & 1).astype(bool)


@pytest.mark.parametrize("seed", range(4))
def test_what_is_written_is_read(seed: int, tmp_path: Path) -> None:
    circuit = random_circuit(seed, 6, 40, classes=3)
    (tmp_path / "a.blif").write_text(blif(circuit, stage="gates"))
    (tmp_path / "a.aig").write_bytes(aiger(circuit, stage="gates"))
    voting = sorted({int(signal) for vote in circuit.votes for signal in vote.signals})
    expected = np.array([plain_signals(circuit, row) for row in ALL])[:, voting]
    for read in (read_blif(tmp_path / "a.blif"), read_aiger(tmp_path / "a.aig")):
        assert np.array_equal(read.evaluate(ALL), expected)
        assert read.labels[0] == "votes[0]"


@pytest.mark.parametrize("k", [3, 6])
def test_tables_are_written_and_read_as_tables(k: int, tmp_path: Path) -> None:
    circuit = random_circuit(k, 6, 60, classes=3)
    tables = map_luts(circuit, k).to_luts()
    (tmp_path / "a.blif").write_text(lut_blif(tables))
    read = read_blif(tmp_path / "a.blif")
    voting = sorted({int(signal) for vote in tables.frame.votes for signal in vote.signals})
    assert np.array_equal(read.evaluate(ALL), tables.signals(ALL)[:, voting])
    sizes = read.notes["tables_by_inputs"]
    assert max(map(int, sizes)) <= k
    assert sum(count for size, count in sizes.items() if int(size) > 1) == tables.num_tables


BLIF = """
# a table of three inputs, one by its zeros, one with a free input, one of seven
.model odd
.inputs a b c \\
 d e f
.outputs majority nand free all \\
  one input
.names a b c majority
11- 1
1-1 1
-11 1
.names a b nand
11 0
.names c d free
-1 1
.names a b c d e f majority all
1111111 1
.names one
1
.names f input
1 1
.end
.model next
"""


def test_a_file_by_hand_gives_its_outputs_as_classes(tmp_path: Path) -> None:
    (tmp_path / "a.blif").write_text(BLIF)
    circuit = read_blif(tmp_path / "a.blif")
    a, b, c, d, _, f = ALL.T
    expected = np.stack([a.astype(int) + b + c > 1, ~(a & b), d, ALL.all(1), np.ones(64, bool), f], 1)
    assert np.array_equal(circuit.evaluate(ALL), expected)
    assert circuit.labels == ("majority", "nand", "free", "all", "one", "input")
    assert circuit.notes["tables_by_inputs"] == {"0": 1, "1": 1, "2": 2, "3": 1, "7": 1}
    shared = read_blif(tmp_path / "a.blif", classes=2, tau=3.0)
    assert np.array_equal(shared.evaluate(ALL), expected.reshape(64, 2, 3).sum(-1) / 3.0)
    with pytest.raises(ArgumentError, match="shares 6 outputs evenly, got 4"):
        read_blif(tmp_path / "a.blif", classes=4)


@pytest.mark.skipif(shutil.which("yosys") is None, reason="no yosys here (apt install yosys)")
def test_files_of_yosys_compute_the_verilog_that_they_come_from(tmp_path: Path) -> None:
    verilog = "module top(input [5:0] x, output [3:0] y); assign y = x[2:0] + x[5:3]; endmodule"
    (tmp_path / "top.v").write_text(verilog)
    script = "read_verilog top.v; synth -flatten -top top; write_blif gates.blif"
    script = script.replace("write_blif gates", "abc -lut 6; write_blif luts")
    ascii_too = (
        "; design -reset; read_verilog top.v; synth -flatten -top top; aigmap; write_aiger -ascii a.aag; write_aiger a.aig"
    )
    subprocess.run(["yosys", "-q", "-p", script + ascii_too], cwd=tmp_path, check=True)
    sums = ALL[:, :3] @ np.array([1, 2, 4]) + ALL[:, 3:] @ np.array([1, 2, 4])
    expected = sums[:, None] >> np.arange(4) & 1
    for read in (read_blif(tmp_path / "luts.blif"), read_aiger(tmp_path / "a.aag"), read_aiger(tmp_path / "a.aig")):
        assert np.array_equal(read.evaluate(ALL), expected)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            ".inputs a\n.outputs z\n.latch a z re c 0\n",
            "line 3: expected no registers, got .latch a z re c 0; registers have no place",
        ),
        (".inputs a\n.outputs z\n.subckt inner x=a y=z\n", "line 3: expected one flat model"),
        (".inputs a\n.outputs z\n.gate AND2 A=a Y=z\n", "no gates of a library"),
        (".inputs a\n.outputs z\n.names y z\n1 1\n", "something that drives y, got nothing"),
        (".inputs a\n.outputs z\n.names y z\n1 1\n.names z y\n1 1\n", "no cycle, got [yz] that depends on itself"),
        (".inputs a\n.outputs z\n.names a z\n1 1\n.names a z\n0 1\n", "line 5: expected a signal driven once"),
        (".inputs a\n.outputs z\n.names a z\n11 1\n", "rows of 1 of 0, 1 and -"),
        (".inputs a\n.outputs z\n.names a z\n1 1\n0 0\n", "rows for 1 or rows for 0, got both"),
        (".inputs a a\n.outputs a\n", "each input once"),
        (".model empty\n.end\n", "expected .inputs and .outputs"),
        ("1 1\n", "expected a row of a .names"),
    ],
)
def test_blif_that_has_no_meaning_in_gates(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "a.blif").write_text(text)
    with pytest.raises(DataError, match=message):
        read_blif(tmp_path / "a.blif")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"aag 3 2 1 1 0\n2\n4\n6 2\n6\n", "combinational logic, got 1 latches"),
        (b"aag 3 2 0 1 1 1\n2\n4\n6\n6 2 4\n6\n", "properties"),
        (b"aag 3 2 0 1 1\n2\n4\n6\n", "as its head says, got fewer"),
        (b"aag 3 2 0 1 1\n2\n4\n6\n6 6 4\n", "gates of inputs and of other gates"),
        (b"aag 3 2 0 1 1\n2\n4\n99\n6 2 4\n", "outputs of inputs and of gates"),
        (b"aag 3 2 0 1 1\n2\n2\n6\n6 2 4\n", "as its head says"),
        (b"aig 3 2 0 1 1\n6\n\x02", "as its head says"),
        (b"aig 3 2 0 1 1\n6\n\x09\x01", "as its head says, got gate 3"),
        (b"aig 99999999 2 0 1 1\n", "no more gates than the file holds"),
        (b"BLIF", "expected 'aag' or 'aig' and five numbers"),
    ],
)
def test_aiger_that_is_damaged(content: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "a.aig").write_bytes(content)
    with pytest.raises(DataError, match=message):
        read_aiger(tmp_path / "a.aig")
    with pytest.raises(MissingDataError):
        read_aiger(tmp_path / "none.aig")


def test_files_with_a_byte_changed_are_read_or_refused_and_nothing_else(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    circuit = random_circuit(1, 6, 20)
    for name, content, read in (
        ("a.aig", aiger(circuit, stage="gates"), read_aiger),
        ("a.blif", blif(circuit, stage="gates").encode(), read_blif),
    ):
        for _ in range(150):
            octets = bytearray(content)
            for _ in range(random.integers(1, 4)):
                octets[random.integers(len(octets))] = random.integers(256)
            (tmp_path / name).write_bytes(bytes(octets[: random.integers(1, len(octets) + 1)]))
            with suppress(OrdinateError):
                read(tmp_path / name)
