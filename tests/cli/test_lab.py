"""`ordinate lab`: the answer on standard output, the rest on standard error, and exit codes that mean something."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from ordinate.cli.app import app
from ordinate.data import word_vectors
from ordinate.lab.catalogue import read_claims

CLAIMS = read_claims("ordinate.articles")


def lab(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["lab", *map(str, arguments)])


def test_the_table_has_a_line_a_claim_and_the_report_is_written(tmp_path: Path) -> None:
    result = lab("A3", "A2", "--out", tmp_path / "report")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert [line.split()[0] for line in lines if line.startswith("A")] == ["A3", "A2"]
    assert "cosine 0.9662 at distance 1" in result.stdout
    assert result.stdout.count("reproduced") == 2
    assert str(tmp_path / "report" / "index.html") in result.stderr
    assert (tmp_path / "report" / "index.html").is_file()


def test_json_is_the_rows_of_the_report(tmp_path: Path) -> None:
    result = lab("A3", "--json", "--out", tmp_path, "--seed", "7")
    assert result.exit_code == 0
    rows = json.loads(result.stdout)
    assert rows == json.loads((tmp_path / "claims.json").read_text(encoding="utf-8"))
    assert [row["id"] for row in rows] == ["A3"]
    assert rows[0]["verdict"] == "reproduced"
    assert rows[0]["seeds"] == [7]
    assert {"versions", "machine", "checks", "wall_seconds", "budget_seconds"} <= set(rows[0])


def test_a_claim_that_breaks_off_is_exit_code_one_and_still_in_the_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    claims = tuple(replace(claim, origin="ordinate.articles.nowhere") if claim.id == "A2" else claim for claim in CLAIMS)
    monkeypatch.setattr("ordinate.lab.catalogue.read_claims", lambda source: claims)
    result = lab("A2", "A3", "--out", tmp_path)
    assert result.exit_code == 1
    assert "ModuleNotFoundError" in result.stdout
    assert [row["verdict"] for row in json.loads((tmp_path / "claims.json").read_text())] == ["failed", "reproduced"]
    assert "Where it broke off" in (tmp_path / "index.html").read_text(encoding="utf-8")


def test_a_refuted_article_is_not_a_failure_of_the_tool(tmp_path: Path) -> None:
    vectors = word_vectors()
    path = tmp_path / "rolled.txt"
    rows = zip(vectors.words, vectors.array[::-1], strict=True)
    path.write_text("".join(f"{word} {' '.join(map(str, vector))}\n" for word, vector in rows))
    result = lab("A5", "--vectors", path, "--out", tmp_path / "report", "--json")
    assert result.exit_code == 0
    assert json.loads(result.stdout)[0]["verdict"] == "refuted"


@pytest.mark.parametrize(
    ("arguments", "told_in_one_line"),
    [
        (["Z9", "--out", "new"], "CLAIM: expected the id of one of"),
        (["A3", "--out", "file"], "--out: expected a folder that can be written to"),
        (["A3", "--out", "file/below"], "--out: expected a folder that can be written to"),
        (["A3", "--vectors", "nowhere.txt", "--out", "new"], "nowhere.txt: expected a GloVe or word2vec text file"),
        (["A3", "--vectors", "file", "--out", "new"], "file, line 1"),
        (["A5", "--vectors", "small.txt", "--out", "new"], "--vectors: expected vectors of all 11 words that claim A5 needs"),
        (["--render", "--out", "new"], "claims.json"),
    ],
)
def test_wrong_use_is_one_line_exit_code_two_and_no_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], told_in_one_line: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("file").write_text("in the way")
    Path("small.txt").write_text("the 1 2 3\nanimal 4 5 6\n")
    result = lab(*arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    assert told_in_one_line in result.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "small.txt"]


def test_the_list_shows_every_claim_and_runs_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = lab("--list")
    assert result.exit_code == 0
    for claim in CLAIMS:
        assert f"{claim.id} {claim.title}" in result.stdout
    assert {claim["id"] for claim in json.loads(lab("--list", "--full", "--json").stdout)} == {claim.id for claim in CLAIMS}
    assert list(tmp_path.iterdir()) == []


def test_render_makes_the_page_again_and_leaves_the_rows(tmp_path: Path) -> None:
    assert lab("A2", "--out", tmp_path).exit_code == 0
    rows, page = (tmp_path / "claims.json").read_bytes(), (tmp_path / "index.html").read_bytes()
    (tmp_path / "index.html").unlink()
    assert lab("--render", "--out", tmp_path).exit_code == 0
    assert (tmp_path / "index.html").read_bytes() == page
    assert (tmp_path / "claims.json").read_bytes() == rows


@pytest.mark.skipif(os.name != "posix", reason="sends a POSIX signal")
def test_control_c_leaves_no_report(tmp_path: Path) -> None:
    out = tmp_path / "report"
    heard = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"  # a background job would not hear it
    script = f"{heard}; from ordinate.cli import main; main()"
    running = subprocess.Popen(
        [sys.executable, "-c", script, "lab", "--out", str(out)], stderr=subprocess.PIPE, stdout=subprocess.PIPE
    )
    while not out.exists() and running.poll() is None:
        time.sleep(0.01)
    running.send_signal(signal.SIGINT)
    _, result = running.communicate(timeout=60)
    assert running.returncode == 130
    assert b"interrupted" in result
    assert not out.exists()


def test_a_terminal_without_some_letters_gets_the_table_all_the_same(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "ordinate", "lab", "D2", "--out", str(tmp_path)]
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    done = subprocess.run(command, env=environment, capture_output=True, timeout=120, check=True)
    output = done.stdout.decode("ascii")
    assert "~ corrected" in output
    assert "?" not in output


def test_claims_of_ones_own_take_the_place_of_the_articles(tmp_path: Path) -> None:
    guide = Path(__file__).resolve().parents[2] / "docs" / "lab.md"
    (code,) = [
        block
        for block in re.findall(r"```python\n(.*?)```", guide.read_text(encoding="utf-8"), re.DOTALL)
        if "CLAIM =" in block
    ]
    path = tmp_path / "sums.py"
    path.write_text(code, encoding="utf-8")
    result = lab("--claims", path, "--out", tmp_path / "report", "--json")
    assert result.exit_code == 0
    assert [(row["id"], row["verdict"]) for row in json.loads(result.stdout)] == [("X1", "reproduced")]
    assert lab("A3", "--claims", path, "--out", tmp_path / "report").exit_code == 2


def test_the_same_seeds_give_the_same_numbers(tmp_path: Path) -> None:
    def numbers() -> list[dict[str, object]]:
        rows = json.loads(lab("A1", "C1", "D26", "--json", "--out", tmp_path).stdout)
        return [{key: row[key] for key in ("checks", "tables", "figures", "key_figure")} for row in rows]

    assert numbers() == numbers()


TIMED = {"B5", "D20", "D25", "D31"}
"""Claims about speed: their numbers are times, which no two runs share."""


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_every_claim_that_measures_no_time_repeats_its_numbers_at_one_thread(tmp_path: Path) -> None:
    def numbers(name: str) -> dict[str, dict[str, object]]:
        words = [sys.executable, "-W", "ignore", "-m", "ordinate", "lab", "--json", "--out", str(tmp_path / name)]
        run = subprocess.run(words, env={**os.environ, "OMP_NUM_THREADS": "1"}, capture_output=True, text=True, check=True)
        unlike = ("wall_seconds", "within_budget", "started")
        rows = {row["id"]: row for row in json.loads(run.stdout)}
        return {name: {key: value for key, value in row.items() if key not in unlike} for name, row in rows.items()}

    first, again = numbers("first"), numbers("again")
    assert len(first) > 50
    assert [name for name in first if name not in TIMED and first[name] != again[name]] == []
