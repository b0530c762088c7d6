"""`ordinate reservoir tasks`: a card for people, as JSON and as a picture; wrong use in one line."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from ordinate.cli.app import app
from ordinate.reservoir.tasks.registry import tasks as known

SMALL = ("--seeds", "2", "--steps", "200", "--nulls", "rewired", "--signs", "positive", "--normalisation", "input")


def tasks(*words: str):
    return CliRunner().invoke(app, ["reservoir", "tasks", *words])


def test_one_task_is_scored_for_people_and_as_json():
    result = tasks("memory", *SMALL)
    assert result.exit_code == 0, result.stderr
    assert "synthetic bilateral connectome" in result.stdout
    assert "comparisons differ, after Holm's correction" in result.stdout
    row = json.loads(tasks("memory", "narma10", *SMALL, "--json").stdout)
    assert [one["task"] for one in row["comparisons"]] == ["memory", "narma10"]
    assert {one["verdict"] for one in row["comparisons"]} <= {"connectome better", "connectome worse", "not different"}
    assert row["plan"]["seeds"] == [0, 1]
    assert row["neurons"] == 100


def test_the_seed_and_the_queries_change_the_scores():
    def scores(*words):
        return json.loads(tasks("memory", *SMALL, "--json", *words).stdout)["scores"][0]["scores"]

    usual = scores()
    assert scores() == usual
    for change in (("--seed", "7"), ("--stimulus", "sensory"), ("--readout", "interneuron"), ("--most-read", "20")):
        assert scores(*change) != usual, change


def test_a_picture_is_drawn(tmp_path):
    done = tasks("memory", *SMALL, "--figure", str(tmp_path / "card.png"))
    assert done.exit_code == 0, done.stderr
    assert (tmp_path / "card.png").read_bytes().startswith(b"\x89PNG")
    assert "card.png" in done.stderr


def test_the_list_names_every_task_with_its_metric():
    rows = json.loads(tasks("--list", "--json").stdout)
    assert [row["name"] for row in rows] == list(known())
    result = tasks("--list").stdout
    assert all(name in result for name in known())
    assert "nrmse_by_std" in result


@pytest.mark.slow
def test_all_runs_every_task():
    row = json.loads(tasks("all", *SMALL, "--json").stdout)
    assert {one["task"] for one in row["scores"]} == set(known())


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("narma20",), "TASK: expected one of memory, narma10"),
        (("memory", "--nulls", "reversed"), "--nulls: expected one of rewired"),
        (("memory", "--signs", "negative"), "signs: expected one of positive"),
        (("memory", "--normalisation", "effective_radius"), "--normalisation: expected one of spectral_radius"),
        (("memory", "--seeds", "1"), "--seeds: expected at least 2"),
        (("memory", "--seed", "-1"), "--seed: expected at least 0"),
        (("memory", "--steps", "10"), "--steps: expected at least 200"),
        (("memory", "--most-read", "0"), "--most-read: expected at least 1"),
        (("memory", "--stimulus", "olfactori", *SMALL), 'did you mean "olfactory"?'),
        (("memory", "--data", "no such file.zip"), "no such file.zip"),
        (("memory", "--figure", "card.gif"), "--figure: expected a name that ends in .png"),
        (("memory", "--figure", "/dev/null/card.png"), "--figure: expected a file that can be written"),
    ],
)
def test_wrong_use_is_one_line_and_exit_2(words, told):
    done = tasks(*words)
    assert done.exit_code == 2
    assert told in done.stderr
    said = done.stderr.strip().splitlines()
    assert said[-1].startswith("ordinate: ")
    assert set(said[:-1]) <= {"no --data: a small synthetic connectome, not a brain"}
    assert not done.stdout


def test_help_starts_without_numpy():
    script = (
        "import sys; from ordinate.cli import main\n"
        "try: main(['reservoir', 'tasks', '--help'])\n"
        "except SystemExit: pass\n"
        "print(sorted({'numpy', 'scipy', 'sklearn', 'matplotlib', 'numba'} & set(sys.modules)))"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert result.stdout.splitlines()[-1] == "[]"
