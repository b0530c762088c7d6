"""The emitted C compiles without a warning and gives the plain evaluation's answers."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from ordinate.errors import ArgumentError, RefusedError, UnknownNameError
from ordinate.logic import Circuit, InputThresholds, c_header, c_source
from tests.logic.circuits import GENUINE, plain_classes, plain_scores, random_circuit, some_inputs

COMPILERS = [
    pytest.param(name, marks=pytest.mark.skipif(shutil.which(name) is None, reason=f"no {name} here"))
    for name in ("gcc", "clang")
]
needs_gcc = pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc here")
STRICT = ("-std=c99", "-Wall", "-Wextra", "-Werror")

RUN_ON_EXACT_MEMORY = """
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
  const size_t n = (size_t)atoi(argv[argc - 1]);
  uint8_t *rows = malloc(n * net_FEATURES);
  int32_t *classes = malloc(n * sizeof *classes);
  double *scores = malloc(n * net_CLASSES * sizeof *scores);
  if (fread(rows, net_FEATURES, n, stdin) != n)
    return 1;
  net_scores(rows, n, scores);
  net_predict(rows, n, classes);
  fwrite(classes, sizeof *classes, n, stdout);
  free(rows), free(classes), free(scores);
  return 0;
}
"""


def built(circuit: Circuit, folder: Path, *flags: str, compiler: str = "gcc", name: str = "net") -> Path:
    (folder / "net.c").write_text(circuit.to_c(name))
    command = [compiler, *STRICT, *flags, f"-D{name}_MAIN", str(folder / "net.c"), "-o", str(folder / "net")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    return folder / "net"


def answers(program: Path, rows: np.ndarray, classes: int) -> tuple[np.ndarray, np.ndarray]:
    said = subprocess.run([program], input=rows.astype(np.uint8).tobytes(), capture_output=True, check=True).stdout.decode()
    table = np.array([[float(word) for word in line.split()] for line in said.splitlines()]).reshape(len(rows), classes + 1)
    return table[:, 0].astype(int), table[:, 1:]


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("flags", [("-O1",), ("-O2", "-march=native"), ("-O1", "-Dnet_WORD64")], ids=" ".join)
def test_classes_and_scores_are_those_of_a_plain_evaluation(tmp_path: Path, compiler: str, flags: tuple[str, ...]) -> None:
    circuit = random_circuit(1, 9, 80, classes=5)
    program = built(circuit, tmp_path, *flags, compiler=compiler)
    for images in (1, 63, 64, 65, 257, 600):  # whole words, and not
        bits = some_inputs(images, images, 9)
        found, scores = answers(program, bits, 5)
        assert np.array_equal(found, plain_classes(circuit, bits))
        assert np.array_equal(scores, plain_scores(circuit, bits))  # bias and tau are in them


@needs_gcc
@pytest.mark.parametrize("seed", [0, 1, 3, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (2, 4))])
def test_any_circuit(tmp_path: Path, seed: int) -> None:
    circuit = random_circuit(seed, 6, [0, 1, 700, 40, 1200][seed], classes=1 + seed, votes=[3, 0, 40, 1, 7][seed])
    bits = some_inputs(seed, 100, 6)
    found, scores = answers(built(circuit, tmp_path, "-O1"), bits, circuit.num_classes)
    assert np.array_equal(found, plain_classes(circuit, bits))
    assert np.array_equal(scores, plain_scores(circuit, bits))


@needs_gcc
@pytest.mark.parametrize(
    "thresholds",
    [
        InputThresholds.uniform(6, 95),
        InputThresholds(6, [0, 1, 2, 3, 4, 5], [-1, 0, 95.5, 254, 255, 300], "uint8"),
        InputThresholds(3, [2, 0, 1, 1, 0, 2], [10, 20, 30, 200, 254.5, 255], "uint8"),
    ],
    ids=["one for all", "at the ends of a byte", "several a feature"],
)
def test_thresholds_travel_into_the_c(tmp_path: Path, thresholds: InputThresholds) -> None:
    circuit = random_circuit(2, 6, 40, thresholds=thresholds)
    rows = np.random.default_rng(0).integers(0, 256, (300, thresholds.num_features)).astype(np.uint8)
    rows[:4] = [[0], [95], [96], [255]]
    bits = rows.astype(float)[:, thresholds.feature] > thresholds.threshold
    found, scores = answers(built(circuit, tmp_path, "-O1"), rows, 4)
    assert np.array_equal(found, plain_classes(circuit, bits))
    assert np.array_equal(scores, plain_scores(circuit, bits))


@needs_gcc
@pytest.mark.parametrize("several", [False, True], ids=["one a feature", "several a feature"])
@pytest.mark.parametrize("dtype", ["int8", "int16", "uint16", "int32", "uint32", "float32", "float64"])
def test_numbers_of_every_type_are_compared_exactly(tmp_path: Path, dtype: str, several: bool) -> None:
    """Values at, just below and just above each threshold, and the ends of the type."""
    generator = np.random.default_rng(len(dtype))
    feature = [2, 0, 1, 1, 0, 2] if several else [0, 1, 2, 3, 4, 5]
    features, kind = max(feature) + 1, np.dtype(dtype).kind
    if kind == "f":
        values = generator.normal(size=(40, features)).astype(dtype)
        threshold = np.array([values[0, feature[0]], 0.1, -1234.5, 1e30, values[1, feature[4]], 0.25], np.float64)
        values[2:8] = [
            [np.nextafter(np.dtype(dtype).type(t), side) for t in threshold[:features]] for side in (-9, 9, -1, 1, 0, 5)
        ]
    else:
        bounds = np.iinfo(dtype)
        threshold = np.array([bounds.min - 1.0, bounds.min, 95.5, bounds.max - 1.0, bounds.max, bounds.max / 2])
        values = generator.integers(bounds.min, bounds.max, (40, features), dtype, endpoint=True)
        near = np.clip(np.floor(threshold)[:, None] + [[-1, 0, 1, 2]], bounds.min, bounds.max).astype(dtype)
        values[: near.size] = near.reshape(-1, 1)
    circuit = random_circuit(2, 6, 40, thresholds=InputThresholds(features, feature, threshold, dtype))
    expected = plain_classes(circuit, values.astype(np.float64)[:, feature] > threshold)
    program = built(circuit, tmp_path, "-O1")
    output = subprocess.run([program], input=values.tobytes(), capture_output=True, check=True).stdout.decode()
    assert [int(line.split()[0]) for line in output.splitlines()] == expected.tolist()
    assert np.array_equal(circuit.predict(circuit.inputs.bits(values)), expected)  # type: ignore[union-attr]


def test_thresholds_that_are_no_bytes_are_for_doubles_unless_a_type_is_named() -> None:
    circuit = random_circuit(2, 2, 5, thresholds=InputThresholds(1, [0, 0], [0.25, 1234.5]))
    assert "typedef double net_number;" in circuit.to_c("net")
    assert "typedef int16_t net_number;" in circuit.to_c("net", dtype="int16")
    with pytest.raises(UnknownNameError, match="dtype: expected one of uint8, int8"):
        circuit.to_c(dtype="complex64")
    with pytest.raises(RefusedError, match="dtype: expected a circuit that carries thresholds"):
        random_circuit(1).to_c(dtype="int16")


@needs_gcc
def test_the_compile_lines_in_the_file_and_its_header_work_as_they_stand(tmp_path: Path) -> None:
    circuit = random_circuit(2, 6, 40, thresholds=InputThresholds(6, range(6), [1.5] * 6, "int16"))
    (tmp_path / "small.c").write_text(c_source(circuit, "net", file="small.c"))
    (tmp_path / "small.h").write_text(c_header(circuit, "net"))
    lines = [line.split("   ")[1] for line in (tmp_path / "small.c").read_text().splitlines() if line.startswith(" *   cc ")]
    assert len(lines) == 2
    for line in lines:
        assert subprocess.run(line.replace("cc ", "gcc ", 1), shell=True, cwd=tmp_path).returncode == 0
    body = "int16_t row[net_FEATURES] = {0}; int32_t c; net_predict(row, 1, &c); return c;"
    user = f'#include "small.h"\nint main(void) {{ {body} }}\n'
    (tmp_path / "user.c").write_text(user)
    assert subprocess.run(["gcc", *STRICT, "user.c", "small.o", "-o", "user"], cwd=tmp_path).returncode == 0
    assert subprocess.run([tmp_path / "user"]).returncode == circuit.predict(np.zeros(6, int))


@pytest.mark.in_turn(3)
@needs_gcc
@pytest.mark.parametrize(
    ("num_inputs", "flags"),  # vectors of inputs: none, one, and a last one that overlaps
    [
        (31, ("-march=native",)),
        (45, ("-march=native",)),
        (71, ("-march=native",)),
        *(
            pytest.param(inputs, flags, marks=pytest.mark.slow)
            for inputs in (31, 32, 45, 71)
            for flags in (("-O2",), ("-O3", "-march=native"), ("-O1", "-Dnet_WORD64"))
        ),
    ],
)
def test_nothing_is_read_past_the_rows_or_written_past_the_words(
    tmp_path: Path, num_inputs: int, flags: tuple[str, ...]
) -> None:
    """Rows in a block of memory of their size, under gcc's address and undefined behaviour sanitizers."""
    features = np.random.default_rng(num_inputs).permutation(num_inputs + 2)[:num_inputs] if num_inputs == 71 else None
    least = np.random.default_rng(0).integers(-1, 257, num_inputs)
    thresholds = InputThresholds(
        num_inputs + 2 if features is not None else num_inputs,
        np.arange(num_inputs) if features is None else features,
        least,
        "uint8",
    )
    circuit = random_circuit(num_inputs, num_inputs, 60, classes=3, thresholds=thresholds)
    (tmp_path / "net.c").write_text(circuit.to_c("net") + RUN_ON_EXACT_MEMORY)
    sanitize = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-g")
    command = ["gcc", *STRICT, *flags, *sanitize, str(tmp_path / "net.c"), "-o", str(tmp_path / "net")]
    done = subprocess.run(command, capture_output=True, text=True)
    if "cannot find" in done.stderr:
        pytest.skip("gcc's sanitizers are not installed")
    assert (done.returncode, done.stderr) == (0, "")
    for images in (1, 7, 64, 256, 300):
        rows = np.random.default_rng(images).integers(0, 256, (images, thresholds.num_features)).astype(np.uint8)
        run = subprocess.run([tmp_path / "net", str(images)], input=rows.tobytes(), capture_output=True)
        assert (run.returncode, run.stderr) == (0, b"")
        found = np.frombuffer(run.stdout, np.int32)
        assert np.array_equal(found, plain_classes(circuit, rows[:, thresholds.feature] > least))


@needs_gcc
def test_three_hundred_classes_need_more_than_a_byte(tmp_path: Path) -> None:
    circuit = random_circuit(5, 9, 40, classes=300, votes=1)
    bits = some_inputs(7, 90, 9)
    found, scores = answers(built(circuit, tmp_path, "-O0"), bits, 300)
    assert np.array_equal(found, plain_classes(circuit, bits))
    assert np.array_equal(scores, plain_scores(circuit, bits))
    assert found.max() > 255


@needs_gcc
def test_the_file_is_part_of_a_program_without_main(tmp_path: Path) -> None:
    (tmp_path / "net.c").write_text(random_circuit(1).to_c("net"))
    done = subprocess.run(
        ["gcc", *STRICT, "-pedantic", "-c", str(tmp_path / "net.c"), "-o", str(tmp_path / "net.o")],
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    told = subprocess.run(["nm", "-g", "--defined-only", str(tmp_path / "net.o")], capture_output=True, text=True).stdout
    assert sorted(line.split()[-1] for line in told.splitlines()) == ["net_block", "net_predict", "net_scores"]


@needs_gcc
def test_rows_that_are_cut_short_are_refused(tmp_path: Path) -> None:
    program = built(random_circuit(1, 9), tmp_path, "-O1")
    done = subprocess.run([program], input=b"\0" * 10, capture_output=True, text=False)
    assert done.returncode == 2
    assert done.stderr.decode() == "net: expected rows of 9 bytes, got 1 bytes past the last whole one\n"


@needs_gcc
def test_the_bench_prints_one_line_of_json(tmp_path: Path) -> None:
    import json

    program = built(random_circuit(1, 9), tmp_path, "-O1")
    told = json.loads(subprocess.run([program, "--bench", "0.01"], capture_output=True, text=True, check=True).stdout)
    assert told["block_images_per_second"] > 0
    assert told["bytes_to_class_images_per_second"] > 0


@pytest.mark.parametrize("name", ["", "1x", "a b", "a-b", "x" * 64])
def test_a_name_that_is_none_in_c_is_refused(name: str) -> None:
    with pytest.raises(ArgumentError, match="expected a name in C"):
        random_circuit(1).to_c(name)


@pytest.mark.slow
@needs_gcc
def test_twelve_thousand_gates_compile_and_agree(tmp_path: Path) -> None:
    circuit = random_circuit(5, 784, 12_000, classes=10, votes=1000, tables=GENUINE)
    program = built(circuit, tmp_path, "-O1", "-march=native")
    bits = some_inputs(5, 300, 784)
    found, scores = answers(program, bits, 10)
    assert np.array_equal(scores[:40], plain_scores(circuit, bits[:40]))
    assert np.array_equal(scores, circuit.evaluate(bits))
    assert np.array_equal(found, circuit.predict(bits))
