"""`ordinate choose`: an answer from options alone, for people and as JSON; wrong use is one line and exit 2."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner, Result

from ordinate.cli.app import app


def choose(*words: str) -> Result:
    return CliRunner().invoke(app, ["choose", *words])


def test_the_answer_has_reasons_measurements_papers_and_the_articles_advice() -> None:
    told = choose("--trained", "2048", "--needed", "8192")
    assert told.exit_code == 0, told.stderr
    for part in ("why", "measured", "papers", "arXiv", "bits per byte"):
        assert part in told.stdout


def test_json_is_the_whole_answer() -> None:
    told = json.loads(choose("--trained", "64", "--needed", "256", "--extend", "--json").stdout)
    assert set(told) == {"advice", "reasons", "measured", "papers", "article"}
    assert "YaRN by 4" in told["advice"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "--trained, --needed: expected both lengths"),
        (("--trained", "0", "--needed", "5"), "--trained: expected an integer of at least 1"),
        (("--case", "poetry"), "--case: expected one of"),
        (("--case", "audio", "--trained", "5"), "a case, or lengths"),
        (("--trained", "5", "--needed", "5", "--need", "speed"), "--need: expected one of"),
        (("--trained", "5", "--needed", "5", "--results", "no such folder"), "--results: expected a folder of a sweep"),
    ],
)
def test_wrong_use_is_one_line_and_exit_2(words: tuple[str, ...], said: str) -> None:
    done = choose(*words)
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
    assert said in done.stderr


def test_a_case_needs_no_lengths() -> None:
    answer = json.loads(choose("--case", "grammar", "--json").stdout)
    assert "grammar itself was not measured" in answer["reasons"][0]
