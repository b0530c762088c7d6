"""`ordinate verify`: exit codes, words for bad input, a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

SUBJECTS = """
import torch


def right(x, positions):
    frequencies = 10000.0 ** -(torch.arange(0, x.shape[-1], 2).float() / x.shape[-1])
    angle = positions.float()[..., None] * frequencies
    cos, sin = angle.cos(), angle.sin()
    if cos.ndim == 3:
        cos, sin = cos[:, None], sin[:, None]
    a, b = x.chunk(2, -1)
    return torch.cat((a * cos - b * sin, a * sin + b * cos), -1).to(x.dtype)


def wrong(seq_len):
    steps = torch.arange(seq_len)
    return torch.tensor([2.0 ** -(head + 1) for head in range(8)])[:, None, None] * (steps[:, None] - steps[None])


def stuck(x, positions):
    while True:
        pass


class Rope(torch.nn.Module):
    def __init__(self, dim):
        super().__init__()

    def forward(self, x, positions):
        return right(x, positions)


number = 3
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    package = tmp_path / "mine"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "rope.py").write_text(SUBJECTS)
    (package / "plain.py").write_text("def rope(x, positions):\n    return x\n\n\nnumber = 3\n")
    (package / "broken.py").write_text("import no_such_module_anywhere\n")
    return tmp_path


def verify(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "ordinate", "verify", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)


def test_right_code_named_by_file_and_class_exits_0_and_leaves_no_trace(folder):
    before = sorted(path.name for path in folder.rglob("*"))
    done = verify(folder, "mine/rope.py:Rope", "--layout", "half", "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["passed"] is True
    assert told["identified"]["layout"] == "half"
    assert sorted(path.name for path in folder.rglob("*")) == before


def test_wrong_code_exits_1_and_is_named_with_a_line_to_read(folder):
    done = verify(folder, "mine.rope:wrong", "--kind", "bias")
    assert done.returncode == 1
    assert "your result equals" in done.stdout
    assert "key minus query for the distance" in done.stdout
    assert "alibi.py:" in done.stdout  # file and line of the right code


def test_code_that_never_comes_back_is_ended(folder):
    begin = time.monotonic()
    done = verify(folder, "mine.rope:stuck", "--time-limit", "2", "--json")
    assert done.returncode == 1
    assert json.loads(done.stdout)["outcomes"][0]["id"] == "time-limit"
    assert time.monotonic() - begin < 60


@pytest.mark.in_turn(3)
@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["mine.plain:number"], "got int"),
        (["mine.plain:nothing"], "got nothing"),
        (["mine.broken:rope"], "No module named 'no_such_module_anywhere'"),
        (["mine.rope"], "package.module:object"),
        (["nowhere.py:rope"], "a Python file"),
        (["nowhere.onnx:rope"], "an ONNX file"),
        (["mine.rope:right", "--device", "hpu"], "a device that is there"),
        (["mine.plain:rope", "--rule", "alibi"], "--kind rotary takes"),
        (["mine.plain:rope", "--scaling", "linear"], "expected JSON"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_wrong_use_is_one_line_and_exit_2(folder, words, told):
    done = verify(folder, *words)
    assert done.returncode == 2
    assert told in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""


def test_an_unknown_kind_and_no_subject_are_wrong_use_without_starting_torch(folder):
    for words, told in ((["mine.rope:right", "--kind", "rope"], "one of rotary"), ([], "package.module:object")):
        done = verify(folder, *words)
        assert done.returncode == 2
        assert told in done.stderr


def test_known_faults_can_be_listed(folder):
    told = json.loads(verify(folder, "--list", "--json").stdout)
    assert len(told) > 100
    assert {"id", "family", "kind", "says", "read", "seen"} == set(told[0])
