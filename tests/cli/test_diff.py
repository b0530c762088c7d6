"""`ordinate diff`: exit codes and what is printed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from ordinate.cli.app import app

LLAMA = {
    "model_type": "llama",
    "hidden_size": 2048,
    "num_attention_heads": 16,
    "num_hidden_layers": 8,
    "max_position_embeddings": 8192,
    "rope_theta": 500000.0,
}


def run(*arguments: str | Path, stdin: str | None = None) -> Any:
    return CliRunner().invoke(app, ["diff", *map(str, arguments)], input=stdin)


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    paths = tmp_path / "a.json", tmp_path / "b.json"
    for path in paths:
        path.write_text(json.dumps(LLAMA))
    return paths


def test_the_same_positions_are_exit_0(files: tuple[Path, Path]) -> None:
    told = run(*files)
    assert told.exit_code == 0
    assert "compatible" in told.stdout
    assert "what differs" not in told.stdout


def test_other_positions_are_exit_1_with_both_sides_and_where_they_stand(files: tuple[Path, Path]) -> None:
    files[1].write_text(json.dumps(LLAMA | {"rope_theta": 10000.0}))
    told = run(*files)
    assert told.exit_code == 1
    for part in ("different", "500,000", "10,000", "file rope_theta", "how fast the rotations part"):
        assert part in told.stdout


def test_json_says_the_same(files: tuple[Path, Path]) -> None:
    files[1].write_text(json.dumps(LLAMA | {"rope_theta": 10000.0}))
    told = run("--json", *files)
    answer = json.loads(told.stdout)
    assert told.exit_code == 1
    assert (answer["schema"], answer["positions"], answer["caches"]["verdict"]) == (
        "ordinate.difference/1",
        "different",
        "different",
    )
    assert [change["aspect"] for change in answer["changes"]] == ["base"]


def test_a_file_that_cannot_be_read_is_exit_2_in_one_line(files: tuple[Path, Path]) -> None:
    told = run(files[0], "missing.json")
    assert (told.exit_code, told.stdout, told.stderr.count("\n")) == (2, "", 1)


def test_one_side_may_be_standard_input_but_not_both(files: tuple[Path, Path]) -> None:
    assert run(files[0], "-", stdin=json.dumps(LLAMA)).exit_code == 0
    assert run("-", "-", stdin=json.dumps(LLAMA)).exit_code == 2
