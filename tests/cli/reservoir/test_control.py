"""`ordinate reservoir control`: table, JSON, page, and one line for wrong use."""

from __future__ import annotations

import json
from pathlib import Path

from typer.testing import CliRunner

from ordinate.cli.app import app


def run(*words: str):
    return CliRunner().invoke(app, ["reservoir", "control", *words])


def test_json_and_page(tmp_path: Path):
    words = ("narma10", "--draws", "2", "--few", "--steps", "150", "--nulls", "rewired", "--baselines", "past", "--json")
    done = run(*words, "--out", str(tmp_path / "page.html"))
    assert done.exit_code == 0, done.stderr
    result = json.loads(done.stdout)
    assert [one["other"] for one in result["contrasts"]] == ["rewired", "past"]
    assert (result["draws"], len(result["scores"]["wiring"])) == (2, 2)
    assert "<!doctype html>" in (tmp_path / "page.html").read_text()


def test_the_turn_as_a_table():
    done = run("turn", "--draws", "2", "--few", "--nulls", "mirrored")
    assert done.exit_code == 0, done.stderr
    assert "mirrored" in done.stdout
    assert "closest_mm, lower is better" in done.stdout


def test_fewer_than_ten_draws_are_refused_unless_asked_for():
    done = run("memory", "--draws", "3")
    assert done.exit_code == 2
    assert "draws: expected an integer of at least 10, got 3" in done.stderr
