"""`ordinate inspect`: what is printed, the exit codes, every bad file in one line, and a start without heavy imports."""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from ordinate.cli.app import app
from tests.external import CONFIGS

LLAMA: dict[str, Any] = {
    "model_type": "llama",
    "hidden_size": 4096,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "num_hidden_layers": 32,
    "max_position_embeddings": 8192,
    "rope_theta": 500000.0,
    "torch_dtype": "bfloat16",
}


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(LLAMA))
    return path


def run(*arguments: str | Path, stdin: bytes | None = None) -> Any:
    return CliRunner().invoke(app, ["inspect", *map(str, arguments)], input=stdin)


def fresh(*arguments: str | Path, **options: Any) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "ordinate", "inspect", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, timeout=60, **options)


def test_one_file_is_a_panel_a_table_and_where_each_value_comes_from(config: Path) -> None:
    told = run(config)
    assert told.exit_code == 0, told.output
    for part in ("rope", "half", "500,000", "file rope_theta", "128 KiB a token", "derived 4096 / 32 heads", "family llama"):
        assert part in told.stdout
    assert told.stderr == ""


def test_json_is_the_documented_schema_and_nothing_else(config: Path) -> None:
    told = run("--json", config)
    answer = json.loads(told.stdout)
    assert answer["schema"].startswith("ordinate.inspection/")
    assert answer["parts"][0]["layers"][0]["encodings"][0]["rotation"]["base"] == {
        "value": 500000.0,
        "source": "file",
        "detail": "rope_theta",
    }
    assert isinstance(json.loads(run("--json", config, config).stdout), list)


def test_several_files_are_one_row_each_without_their_common_directory(tmp_path: Path) -> None:
    for name, theta in (("a", 10000.0), ("b", 20000.0)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").write_text(json.dumps(LLAMA | {"rope_theta": theta}))
    told = run(tmp_path / "a" / "config.json", tmp_path / "b" / "config.json")
    assert told.exit_code == 0
    rows = [line for line in told.stdout.splitlines() if "config.json" in line]
    assert [row.split()[0] for row in rows] == ["a/config.json", "b/config.json"]
    assert "10,000" in rows[0]
    assert str(tmp_path) not in told.stdout


def test_a_finding_of_warning_or_above_is_exit_1_and_says_what_to_do(config: Path) -> None:
    config.write_text(json.dumps(LLAMA | {"rope_scaling": {"type": "linear", "rope_type": "yarn", "factor": 2.0}}))
    told = run(config)
    assert told.exit_code == 1
    assert "scaling-type-conflict" in told.stdout
    assert "keep one spelling" in told.stdout
    assert run("--json", config).exit_code == 1


def test_standard_input_and_a_directory_are_read(config: Path) -> None:
    assert run("-", stdin=config.read_bytes()).exit_code == 0
    assert run(config.parent).exit_code == 0
    assert run("-", "-", stdin=config.read_bytes()).exit_code == 2


BAD = {
    "not JSON": b"model_type: llama",
    "truncated": b'{"model_type": "llama", "hidden',
    "list": b"[1]",
    "empty": b"",
    "deep": b"[" * 100_000,
    "NaN": b'{"rope_theta": NaN}',
    "1e400": b'{"rope_theta": 1e400}',
    "duplicate": b'{"rope_theta": 1, "rope_theta": 2}',
    "binary": bytes(range(256)),
    "cut GGUF": b"GGUF\x03\0\0\0\x01",
    "absurd GGUF": b"GGUF\x03\0\0\0" + b"\xff" * 16,
    "newer GGUF": b"GGUF\x07\0\0\0" + bytes(16),
}


@pytest.mark.parametrize("sort", BAD)
def test_a_bad_file_is_one_line_on_standard_error_and_exit_2(tmp_path: Path, sort: str) -> None:
    path = tmp_path / "config.json"
    path.write_bytes(BAD[sort])
    told = run(path)
    assert told.exit_code == 2
    assert told.stdout == ""
    assert told.stderr.count("\n") == 1
    assert told.stderr.startswith(f"ordinate: {path}: expected ")


@pytest.mark.parametrize("sort", ["missing", "directory without a config", "loop", "dangling", "200 MB"])
def test_a_bad_place_is_one_line_on_standard_error_and_exit_2(tmp_path: Path, sort: str) -> None:
    path = tmp_path / "config.json"
    if sort == "loop":
        path.symlink_to(path)
    elif sort == "dangling":
        path.symlink_to("gone.json")
    elif sort == "directory without a config":
        path = tmp_path
    elif sort == "200 MB":
        with path.open("wb") as file:
            file.truncate(200 * 2**20)
    told = run(path)
    assert (told.exit_code, told.stdout, told.stderr.count("\n")) == (2, "", 1)


def test_one_bad_file_among_good_ones_does_not_hide_them(config: Path, tmp_path: Path) -> None:
    told = run(config, tmp_path / "missing.json", config)
    assert told.exit_code == 2
    assert told.stderr.count("\n") == 1
    assert told.stdout.count("500,000") == 2


def test_an_error_in_a_fresh_process_has_no_traceback(tmp_path: Path) -> None:
    told = fresh(tmp_path / "missing.json")
    assert told.returncode == 2
    assert told.stderr.count(b"\n") == 1
    assert b"Traceback" not in told.stderr


def test_a_reader_that_leaves_early_is_no_error(config: Path) -> None:
    for option in ("--json", config):
        program = f"{sys.executable} -m ordinate inspect {option} {config} | head -n 1"
        told = subprocess.run(["sh", "-c", program], capture_output=True, timeout=60, check=True)
        assert told.stderr == b""
        assert told.stdout.count(b"\n") == 1


def test_a_terminal_without_unicode_still_gets_an_answer(config: Path) -> None:
    told = fresh(config, env={**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"})
    assert told.returncode == 0
    assert b"500,000" in told.stdout


@pytest.mark.parametrize("options", [[], ["--json"]], ids=["table", "json"])
def test_inspecting_imports_neither_torch_nor_numpy(config: Path, options: list[str]) -> None:
    program = (
        "import sys\n"
        "from ordinate.cli import main\n"
        "try:\n    main()\nexcept SystemExit as done:\n    assert not done.code\n"
        "heavy = {'torch', 'numpy', 'matplotlib', 'jinja2', 'scipy', 'transformers', 'huggingface_hub', 'gguf'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)"
    )
    command = [sys.executable, "-c", program, "inspect", str(config), *options]
    told = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert told.stderr.strip() == "[]"


def cpu_seconds(*arguments: str) -> float:
    """CPU time of a fresh process: a busy machine makes it wait, not work."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], capture_output=True, check=True, timeout=60)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def ratio_to_bare_python(config: Path, rounds: int) -> float:
    pairs = [(cpu_seconds("-c", "pass"), cpu_seconds("-m", "ordinate", "inspect", str(config))) for _ in range(rounds)]
    return statistics.median(ours for _, ours in pairs) / statistics.median(bare for bare, _ in pairs)


def test_an_answer_comes_in_a_blink(config: Path) -> None:
    assert ratio_to_bare_python(config, 3) < 35  # torch alone would be some 100, numpy some 10 more


@pytest.mark.slow
def test_an_answer_takes_less_than_twenty_times_a_bare_python(config: Path) -> None:
    assert ratio_to_bare_python(config, 25) < 20


def test_a_figure_and_a_page_are_for_one_file(config: Path, tmp_path: Path) -> None:
    told = run(config, config, "--figure", tmp_path / "figure.svg")
    assert told.exit_code == 2
    assert "one file" in told.stderr


def test_a_figure_and_a_page_are_written_whole(config: Path, tmp_path: Path) -> None:
    pytest.importorskip("ordinate.inspection.figure")
    figure, page = tmp_path / "figure.svg", tmp_path / "page.html"
    told = run(config, "--figure", figure, "--html", page)
    assert told.exit_code == 0, told.output
    assert "<svg" in figure.read_text()
    assert page.read_text().rstrip().endswith("</html>")
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["config.json", "figure.svg", "page.html"]
    assert run(config, "--figure", config / "figure.svg").exit_code == 2


def test_every_real_config_prints_alone_and_all_of_them_as_a_table() -> None:
    files = sorted(CONFIGS.glob("*.json"))
    for path in files[::6]:
        told = run(path)
        assert told.exit_code in (0, 1), path.name
    told = run(*files)
    assert told.exit_code in (0, 1)  # some may have findings
    assert told.stderr == ""
    assert len(json.loads(run("--json", *files).stdout)) == len(files)
