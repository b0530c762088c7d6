"""`ordinate extend`: what is printed, what is written and when, and the exit codes."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from ordinate.cli.app import app

QWEN = {
    "model_type": "qwen2",
    "hidden_size": 1024,
    "num_attention_heads": 8,
    "num_hidden_layers": 4,
    "max_position_embeddings": 32768,
    "rope_theta": 1000000.0,
}


def run(*arguments: str | Path, stdin: str | None = None) -> Any:
    return CliRunner().invoke(app, ["extend", *map(str, arguments)], input=stdin)


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(QWEN, indent=2))
    return path


def test_the_whole_answer_is_printed_and_nothing_is_written(config: Path) -> None:
    before = config.read_bytes()
    told = run(config, "--to", "131072")
    assert told.exit_code == 0, told.output
    for part in (
        "methods",
        "transformers-4, the file's own",
        "transformers-5",
        "vllm",
        "llama.cpp",
        "--yarn-orig-ctx 32768",
        "on a short input",
        "read again",
        "frequencies as meant",
        "arXiv 2309.00071",
    ):
        assert part in " ".join(told.stdout.split())
    assert config.read_bytes() == before
    assert [entry.name for entry in config.parent.iterdir()] == ["config.json"]


def test_a_command_to_copy_is_one_line(config: Path) -> None:
    told = run(config, "--to", "131072", "--dialect", "vllm")
    assert told.stdout.count("\n") == 1
    override = shlex.split(told.stdout)[1]
    assert json.loads(override)["rope_parameters"]["factor"] == 4.0
    line = next(line for line in run(config, "--to", "131072").stdout.splitlines() if line.startswith("--hf-overrides"))
    assert shlex.split(line)[1] == override


def test_with_write_the_edit_is_in_the_file_and_the_old_one_beside_it(config: Path) -> None:
    before = config.read_bytes()
    told = run(config, "--to", "131072", "--method", "linear", "--write", "--json")
    assert told.exit_code == 0
    assert json.loads(told.stdout)["chosen"] == "linear"
    assert json.loads(config.read_text())["rope_scaling"] == {"rope_type": "linear", "factor": 4.0}
    assert (config.parent / "config.json.bak").read_bytes() == before
    assert "config.json.bak" in told.stderr
    assert CliRunner().invoke(app, ["diff", str(config), str(config.parent / "config.json.bak")]).exit_code == 1


def test_where_nothing_is_to_do_nothing_is_written(config: Path) -> None:
    before = config.read_bytes()
    told = run(config, "--to", "1024", "--write")
    assert told.exit_code == 0
    assert "nothing to write" in told.stderr
    assert config.read_bytes() == before


def test_a_model_that_cannot_is_exit_1_and_says_why(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"model_type": "gpt2", "n_embd": 64, "n_head": 2, "n_layer": 2, "n_positions": 1024}))
    told = run(path, "--to", "4096")
    assert told.exit_code == 1
    assert "1,024 learned rows" in told.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ["--to", "0"],
        ["--to", "131072", "--method", "magic"],
        ["--to", "131072", "--dialect", "mlx"],
        ["--to", "131072", "--method", "longrope"],
        ["--to", "131072", "--method", "dynamic", "--dialect", "vllm"],
        ["--to", "131072", "--method", "dynamic", "--dialect", "llama.cpp"],
        ["--to", "131072", "--trained", "-5"],
    ],
)
def test_wrong_use_is_exit_2_in_one_line(config: Path, arguments: list[str]) -> None:
    told = run(config, *arguments)
    assert (told.exit_code, told.stderr.count("\n")) == (2, 1)
    assert told.stderr.startswith("ordinate: --")


def test_standard_input_cannot_be_written_back(config: Path) -> None:
    told = run("-", "--to", "131072", "--write", stdin=config.read_text())
    assert told.exit_code == 2
    assert "a config on disk" in told.stderr


def test_findings_of_the_file_as_it_is_are_shown(config: Path) -> None:
    config.write_text(json.dumps(QWEN | {"rope_scaling": {"rope_type": "yarn", "factor": 2.0}}))
    told = run(config, "--to", "131072")
    assert "original-context-missing" in told.stdout


@pytest.mark.parametrize("length", ["131072", "131,072", "131_072", "128k", "128K", "0.125M"])
def test_a_number_of_tokens_is_read_as_people_write_it(config: Path, length: str) -> None:
    result = run(config, "--to", length, "--dialect", "llama.cpp")
    assert result.stdout.split() == ["--rope-scaling", "yarn", "--rope-scale", "4", "--yarn-orig-ctx", "32768", "-c", "131072"]


@pytest.mark.parametrize("length", ["many", "128q", "-5", "1,2,3", "", "0.3", "1e-6"])
def test_what_is_no_number_of_tokens_is_wrong_use(config: Path, length: str) -> None:
    result = run(config, f"--to={length}")
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert "--to" in result.stderr


def test_a_stretch_that_nobody_measured_is_exit_1(config: Path) -> None:
    assert run(config, "--to", "4M").exit_code == 1
