"""Whatever runs or writes a circuit gives what a plain loop over its truth tables gives, on circuits nobody tidied up.

The circuits hold constants, wires, inverters, repeated inputs, gates that nothing reads, votes of inputs and of constants, and
counts that happen to be gates which are there already.
"""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ordinate.logic import PASSES, BitParallel, Circuit, aiger, blif, c_source, map_luts, simplify
from ordinate.logic.circuit.bit_packing import pack, unpack
from ordinate.logic.circuit.program import lower
from ordinate.logic.export.verilog import Adders, verilog_module
from ordinate.logic.export.verilog_bench import expected_file, parallel_bench, vector_file
from ordinate.logic.kernels.reference import word_program
from tests.logic.circuits import every_input, plain_classes, plain_scores
from tests.logic.export.test_blif_aiger import aiger_values, blif_values

HAS_NUMBA = importlib.util.find_spec("numba") is not None

_TABLES = "7 15 8 10 15 9 9 3 5 3 6 1 5 9 10 4 2 13 1 15 4 15 12 1 3 15 5 9 13 11 12 15 0 6 10 0 10 12 13 12 11 11 12 10 5 11"
_A = (
    "4 0 1 0 3 2 1 9 6 12 11 4 14 12 14 0 10 17 0 17 8 15 20 22 14 "
    "13 28 26 1 10 30 29 13 37 31 36 22 38 40 41 43 16 32 47 43 42"
)
_B = (
    "4 4 4 0 4 1 1 0 10 2 9 15 16 9 7 17 17 17 5 13 13 18 9 19 23 15 10 24 13 33 27 25 34 26 14 1 13 29 35 14 39 45 46 17 44 48"
)
FEW_VOTES = Circuit(5, *(list(map(int, row.split())) for row in (_TABLES, _A, _B)), votes=[([49, 50], [-3, 2])])
"""Its sum is a gate that no vote reads."""


def untidy(seed: int) -> Circuit:
    """Few votes, of any signal, over nodes of any table that read any earlier signals, often one twice."""
    generator = np.random.default_rng(seed)
    inputs, nodes, classes = (int(generator.integers(low, high)) for low, high in ((1, 7), (0, 60), (1, 5)))
    reach = np.arange(inputs, inputs + nodes)
    a = (generator.random(nodes) * reach).astype(int)
    b = np.where(generator.random(nodes) < 0.3, a, (generator.random(nodes) * reach).astype(int))
    tables = generator.choice([generator.integers(0, 16), 0, 15, 12, 10, 3, 5, *range(16)], nodes)
    votes = []
    for _ in range(classes):
        count = int(generator.integers(0, 4))
        votes.append((generator.integers(0, inputs + nodes, count), generator.integers(-5, 6, count)))
    return Circuit(inputs, tables, a, b, votes, bias=generator.choice([0, 0.5, -1, 2.25], classes), tau=1.5)


def check(circuit: Circuit) -> None:
    bits = every_input(circuit.num_inputs)
    classes, scores = plain_classes(circuit, bits), plain_scores(circuit, bits)
    for implementation in ("numpy", "numba") if HAS_NUMBA else ("numpy",):
        runtime = BitParallel(circuit, implementation)  # type: ignore[arg-type]
        assert np.array_equal(runtime.predict(bits), classes)
        assert np.array_equal((runtime.count(bits) + circuit.bias) / circuit.tau, scores)
    for recompute in (False, True):
        program = lower(circuit, "classes", recompute=recompute)
        line = (program.tables, program.a, program.b, program.out, program.outputs)
        planes = unpack(word_program(*line, pack(bits), program.num_slots), len(bits))
        assert np.array_equal(planes @ (1 << np.arange(planes.shape[1])), classes)
    for name, run in PASSES.items():
        assert np.array_equal(plain_scores(run(circuit), bits), scores), name
    assert np.array_equal(plain_scores(simplify(circuit).circuit, bits), scores)
    for size in (2, 4, 6):
        assert np.array_equal(plain_scores(map_luts(circuit, size).to_circuit(), bits), scores)
    width = (circuit.num_classes - 1).bit_length()
    outputs = aiger_values(aiger(circuit), bits)
    assert np.array_equal(sum((one.astype(int) << bit for bit, one in enumerate(outputs)), np.zeros(len(bits), int)), classes)
    named = blif_values(blif(circuit), bits)
    names = ["class_index"] if width < 2 else [f"class_index[{bit}]" for bit in range(width)]
    assert np.array_equal(sum(named[one].astype(int) << bit for bit, one in enumerate(names)), classes)


def test_a_sum_that_is_a_gate_which_no_vote_reads() -> None:
    check(FEW_VOTES)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**9))
def test_untidy_circuits(seed: int) -> None:
    check(untidy(seed))


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_two_thousand_untidy_circuits() -> None:
    for seed in range(2000):
        check(untidy(seed))


@pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc here")
def test_untidy_circuits_in_c(tmp_path: Path) -> None:
    """Many circuits in one file, for a compiler costs a second to start."""
    circuits = [FEW_VOTES, *(untidy(seed) for seed in range(24))]
    text = "".join(c_source(circuit, f"net{place}") for place, circuit in enumerate(circuits))
    calls = "".join(
        f"  for (size_t n = {1 << circuit.num_inputs}, i = 0; i < n; i++) for (int j = 0; j < {circuit.num_inputs}; j++)\n"
        f"    rows[i * {circuit.num_inputs} + j] = i >> j & 1;\n"
        f"  net{place}_predict(rows, {1 << circuit.num_inputs}, classes);\n"
        f'  for (int i = 0; i < {1 << circuit.num_inputs}; i++) printf("%d ", (int)classes[i]);\n  printf("\\n");\n'
        for place, circuit in enumerate(circuits)
    )
    declared = "  static uint8_t rows[64 * 8];\n  static int32_t classes[64];\n"
    main = f"#include <stdio.h>\nint main(void)\n{{\n{declared}{calls}  return 0;\n}}\n"
    (tmp_path / "nets.c").write_text(text + main)
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-O1"]
    built = subprocess.run(["gcc", *flags, "nets.c", "-o", "nets"], cwd=tmp_path, capture_output=True, text=True)
    assert (built.returncode, built.stderr) == (0, "")
    lines = subprocess.run([tmp_path / "nets"], capture_output=True, text=True, check=True).stdout.splitlines()
    for circuit, line in zip(circuits, lines, strict=True):
        assert np.array_equal(np.array(line.split(), int), plain_classes(circuit, every_input(circuit.num_inputs)))


@pytest.mark.skipif(shutil.which("iverilog") is None, reason="no iverilog here (apt install iverilog)")
@pytest.mark.parametrize("form", ["plain", "pipelined", "1 stage"])
@pytest.mark.parametrize("seed", [-1, *range(6)])
def test_untidy_circuits_in_verilog(seed: int, form: str, tmp_path: Path) -> None:
    circuit = FEW_VOTES if seed < 0 else untidy(seed)
    bits = every_input(circuit.num_inputs)
    adders: Adders = "tree" if form == "pipelined" else "compressors"
    made = verilog_module(circuit, "net", pipelined=form == "pipelined", stages=1 if form == "1 stage" else None, adders=adders)
    for name, content in (
        ("net.v", made.source),
        ("bench.v", parallel_bench(circuit, "net", len(bits), latency=made.latency)),
        ("vectors.hex", vector_file(bits)),
        ("expected.hex", expected_file(plain_classes(circuit, bits))),
    ):
        (tmp_path / name).write_text(content)
    command = ["iverilog", "-g2005", "-o", "sim", "net.v", "bench.v"]
    built = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert (built.returncode, built.stderr) == (0, "")
    assert subprocess.run(["vvp", "sim"], cwd=tmp_path, capture_output=True, text=True).stdout.strip() == f"PASS {len(bits)}"
