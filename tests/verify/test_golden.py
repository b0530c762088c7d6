"""Golden vectors: of every encoding and scaling, true to independent formulas, readable in C and in plain Python."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch.testing import assert_close

from ordinate.frequencies import SCALINGS
from ordinate.position import ENCODINGS
from ordinate.position.indices import TOKEN_FAMILIES
from ordinate.spec import PositionSpec
from ordinate.verify.golden import CASES, POSITION_CASES, SCHEMA, position_vectors, vectors
from ordinate.verify.references.biases import BiasSettings, bucket
from ordinate.verify.references.frequency_schedules import inverse_frequencies
from ordinate.verify.references.multimodal import multimodal_positions
from ordinate.verify.references.rotation import RotarySettings, angles, rotated
from ordinate.verify.references.sinusoids import EmbeddingSettings, sinusoid

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "golden"
ROTARY = [name for name, case in CASES.items() if case.encoding == "rotary"]
PLAIN = [name for name in ROTARY if CASES[name].scaling is None]


def tensor(told: dict, kind: str = "data") -> torch.Tensor:
    return torch.tensor([float(value) for value in told[kind]], dtype=torch.float64).reshape(told["shape"])


def test_every_encoding_and_every_scaling_has_a_case():
    assert {case.encoding for case in CASES.values()} == set(ENCODINGS)
    assert {case.scaling["rule"] for case in CASES.values() if case.scaling} == set(SCALINGS)


@pytest.mark.parametrize("name", CASES)
def test_a_case_is_json_with_all_that_the_docs_promise(name):
    told = json.loads(json.dumps(vectors(CASES[name]), allow_nan=False))
    assert told["schema"] == SCHEMA
    assert told["id"] == name
    assert told["source"] or told["encoding"] in ("learned",)
    assert told["outputs"]
    assert set(told["tolerances"]) == set(told["outputs"])
    for output, tolerance in zip(told["outputs"].values(), told["tolerances"].values(), strict=True):
        exact = tensor(output, "float64")
        assert exact.numel() > 0
        assert not exact.isnan().any()
        for precision, dtype in (("float32", torch.float32), ("bfloat16", torch.bfloat16)):
            assert torch.equal(tensor(output, precision), exact.to(dtype).double())
            assert tolerance[precision]["absolute"] > tolerance["float64"]["absolute"] > 0
            assert "roundings" in tolerance[precision]["reason"]


@pytest.mark.parametrize("name", ROTARY)
def test_rotations_are_those_of_an_independent_formula(name):
    case, told = CASES[name], vectors(CASES[name])
    settings = dict(case.settings)
    scaling = PositionSpec.from_dict(case.spec()).scaling
    expected = RotarySettings.checked(settings.pop("head_dim"), settings.pop("rotary_dim", None), scaling=scaling, **settings)
    positions = tensor(told["inputs"]["positions"]).long()
    theta = angles(expected, positions, case.length)
    assert_close(
        tensor(told["outputs"]["rotated"], "float64"),
        rotated(tensor(told["inputs"]["x"]), positions, expected, theta=theta),
        rtol=0,
        atol=1e-9,
    )
    rates = torch.tensor(
        inverse_frequencies(expected.rotary_dim, expected.base or 0, scaling, case.length or 1), dtype=torch.float64
    )
    assert_close(tensor(told["outputs"]["inverse_frequencies"], "float64"), rates, rtol=1e-12, atol=1e-18)


@pytest.mark.parametrize("name", ["sinusoidal", "sinusoidal-half", "sinusoidal-marian", "sinusoidal-odd"])
def test_sinusoids_are_those_of_an_independent_formula(name):
    case, told = CASES[name], vectors(CASES[name])
    layout = case.settings.get("layout", "interleaved")
    ladder_name = case.settings.get("ladder", "tensor2tensor" if layout == "half" else "vaswani")
    settings = EmbeddingSettings(case.settings["dim"], layout=layout, schedule=ladder_name)
    positions = tensor(told["inputs"]["positions"]).long()
    assert_close(tensor(told["outputs"]["vectors"], "float64"), sinusoid(positions, settings), rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", ["t5-encoder", "t5-decoder"])
def test_buckets_are_those_of_an_independent_formula(name):
    case, told = CASES[name], vectors(CASES[name])
    settings = BiasSettings(rule="t5", **{"bidirectional": True, **case.settings})
    weight = tensor(told["parameters"]["weight"])
    positions = tensor(told["inputs"]["positions"]).long().tolist()
    expected = torch.stack([torch.stack([weight[bucket(q - k, settings)] for k in positions]) for q in positions]).movedim(
        -1, 0
    )
    assert_close(tensor(told["outputs"]["bias"], "float64"), expected, rtol=0, atol=1e-12)


BY_HAND = {
    "positions-consecutive": [3, 4, 5, 6, 7],
    "positions-left-padding": [0, 0, 0, 1, 2, 0, 1, 2, 3, 4],
    "positions-holes": [0, 0, 1, 2, 2, 0, 0, 1, 2, 3],
    "positions-documents": [0, 1, 2, 0, 0, 1],
    "positions-boundaries": [0, 1, 2, 0, 0, 1],
    "positions-document-ids": [0, 1, 0, 1, 2, 0, 1, 2, 3, 4],
    "positions-behind-a-cache": [0, 1, 2, 7, 8, 9],
    "positions-in-cache": [0, 1, 2, 3, 4, 5],
    "positions-shard-plain-0": [0, 1, 2, 3, 0, 1],
    "positions-shard-plain-1": [2, 3, 4, 5, 6, 7],
    "positions-shard-zigzag-0": [0, 1, 2, 5, 6, 7],
    "positions-shard-zigzag-1": [3, 0, 1, 2, 3, 4],
    "positions-shard-document-0": [0, 1, 0, 1, 2, 3],
    "positions-shard-document-1": [2, 3, 4, 5, 6, 7],
    "positions-shard-document-zigzag-0": [0, 3, 0, 1, 6, 7],
    "positions-shard-document-zigzag-1": [1, 2, 2, 3, 4, 5],
    "positions-grid": [0, 0, 0, 1, 0, 2, 1, 0, 1, 1, 1, 2],
    "positions-video": [n for t in (0, 1) for row in (0, 1) for column in (0, 1, 2) for n in (t, row, column)],
    "positions-merged-grid": [
        n for top in (0, 2) for left in (0, 2) for row in (0, 1) for column in (0, 1) for n in (top + row, left + column)
    ],
    "positions-flux": [0, 0, 0] * 2 + [n for row in (0, 1) for column in (0, 1, 2) for n in (0, row, column)],
    "positions-qwen-image": [1, 1, 1, 2, 2, 2] + [n for row in (-2, -1, 0) for column in (-1, 0) for n in (0, row, column)],
    "positions-packed-rows": [0, 0, 0, 1, 1, 1, 1, 1, 2, 3, 3, 3, 0, 0, 0, 1, 1, 1],
    "positions-second-chunk": [7, 7, 7, 8, 8, 8, 8, 8, 9, 8, 8, 10, 8, 8, 11, 12, 12, 12],
}


@pytest.mark.parametrize("name", POSITION_CASES)
def test_positions_are_those_counted_by_hand_or_token_by_token(name):
    told = json.loads(json.dumps(position_vectors(POSITION_CASES[name]), allow_nan=False))
    got = told["outputs"]["positions"]["data"]
    if name in BY_HAND:
        assert got == BY_HAND[name]
        return
    inputs, family = told["inputs"], TOKEN_FAMILIES[told["settings"]["family"]["name"]]
    rows, length = inputs["tokens"]["shape"]
    tokens = [inputs["tokens"]["data"][row * length : (row + 1) * length] for row in range(rows)]
    images, videos = (tensor(inputs[key]).long().tolist() for key in ("image_grids", "video_grids"))
    seconds = inputs.get("seconds_per_frame", {"data": []})["data"]
    expected = multimodal_positions(tokens[0], family, images, videos, seconds)
    assert told["outputs"]["following"]["data"][0] == max(map(max, expected)) + 1
    if rows == 2:
        start = inputs["mask"]["data"][length:].index(1)
        expected = [*expected, *[(0, 0, 0)] * start, *multimodal_positions(tokens[1][start:], family, images[1:])]
    assert got == [number for position in expected for number in position]


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    written = tmp_path_factory.mktemp("vectors")
    for name in (*PLAIN, "alibi", "alibi-12-heads", "alibi-symmetric", "kerple"):
        (written / f"{name}.json").write_text(json.dumps(vectors(CASES[name]), indent=1))
    return written


def run(command: list[str], *files: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*command, *map(str, files)], capture_output=True, text=True, timeout=60)


@pytest.fixture(scope="module")
def reader(tmp_path_factory) -> list[str]:
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        pytest.skip("no C compiler is here")
    program = tmp_path_factory.mktemp("reader") / "read_golden"
    strict = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-O2"]
    subprocess.run([compiler, *strict, "-o", program, EXAMPLES / "read_golden.c", "-lm"], check=True, timeout=120)
    return [str(program)]


def test_the_reader_in_c_agrees_and_tells_a_wrong_number(folder, reader, tmp_path):
    done = run(reader, *(folder / f"{name}.json" for name in PLAIN))
    assert done.returncode == 0, done.stdout
    assert done.stdout.count(" 0 wrong") == len(PLAIN)
    told = json.loads((folder / "rotary-half.json").read_text())
    told["outputs"]["rotated"]["float64"][7] += 1e-6
    (tmp_path / "spoilt.json").write_text(json.dumps(told))
    assert run(reader, tmp_path / "spoilt.json").returncode == 1
    assert run(reader, folder / "kerple.json").returncode == 2
    assert run(reader, tmp_path / "nowhere.json").returncode == 2


def test_the_reader_in_plain_python_agrees_and_tells_a_wrong_number(folder, tmp_path):
    command = [sys.executable, "-I", "-S", str(EXAMPLES / "read_golden.py")]  # no site-packages: nothing but the library
    names = [*PLAIN, "alibi", "alibi-12-heads", "alibi-symmetric"]
    done = run(command, *(folder / f"{name}.json" for name in names))
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count(" 0 wrong") == len(names)
    told = json.loads((folder / "alibi.json").read_text())
    told["outputs"]["bias"]["float64"][3] *= 1.01
    (tmp_path / "spoilt.json").write_text(json.dumps(told))
    assert run(command, tmp_path / "spoilt.json").returncode == 1
    assert run(command, folder / "kerple.json").returncode == 2
