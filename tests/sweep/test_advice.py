"""The advice follows from the question and from what was measured, and quotes both numbers and papers."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ordinate.errors import ArgumentError
from ordinate.sweep.advice import CASES, Measured, Question, advise, advise_case, measured
from ordinate.sweep.store import Store
from ordinate.sweep.summary import summarise
from ordinate.sweep.tables import to_json

Make = Callable[..., dict[str, Any]]


@pytest.fixture
def known(record: Make) -> Measured:
    rows = []
    for seed in (0, 1):
        rows += [record("rope", seed, {64: 1.0, 128: 0.3}), record("shaw", seed, {64: 1.0, 128: 0.99})]
        rows += [
            record("rope", seed, {64: 2.5, 128: 3.0}, task="text"),
            record("alibi", seed, {64: 2.5, 128: 2.52}, task="text"),
        ]
        rows.append(record("none", seed, {64: 0.1, 128: 0.1}, status="not learned", reason="no"))
    for row in rows:
        if row["settings"]["task"] == "text":
            row["result"]["chance"] = {"64": 4.5, "128": 4.5}
    return Measured(to_json(summarise(rows)), "a test")


def test_what_carries_in_the_measurements_is_named_and_what_does_not_is_not(known: Measured) -> None:
    text = advise(Question(1000, 2000), known)
    assert "one of alibi if" in text.advice
    assert "which as it is trained does not carry here" in text.article
    assert "rope 2.50 to 3.00 (cut 0.50); alibi 2.50 to 2.52" in text.measured[0]
    place = advise(Question(1000, 2000, need="place"), known)
    assert "one of shaw if" in place.advice
    assert "ALiBi where extrapolation comes first" in place.article
    assert "not learned in that training, so not scored: none" in place.measured
    assert place.measured[-1].startswith("measured: a test")


def test_a_need_that_nothing_meets_or_nobody_measured_is_reported(known: Measured) -> None:
    found = advise(Question(1000, 4000, need="recall"), known)
    assert found.advice.startswith("Train at 4,000 tokens")
    assert found.measured == ("nothing about lookup was measured: run `ordinate sweep`",)


def test_within_the_trained_length_nothing_is_ranked(known: Measured) -> None:
    assert advise(Question(2048, 2048), known).advice.startswith("RoPE as it is")


def test_a_trained_model_is_extended_with_a_beta_fast_that_fits_its_context(known: Measured) -> None:
    short, long = (advise(Question(trained, 4 * trained, extend=True), known) for trained in (64, 4096))
    assert "YaRN by 4 with beta_fast 4 and a short fine-tune at 256 tokens" in short.advice
    assert any("beta_fast 32 assumes" in reason for reason in short.reasons)
    assert "beta_fast 32" in long.advice
    assert not any("assumes" in reason for reason in long.reasons)
    assert any("arXiv 2309.00071" in paper for paper in long.papers)


def test_a_cache_that_is_too_small_decides_before_the_encoding_does(known: Measured) -> None:
    found = advise(Question(2048, 8192, cache_tokens=1024), known)
    assert found.advice.startswith("Cut the context to the last 1,024 tokens, with the first few kept as sinks")
    assert advise(Question(2048, 8192, cache_tokens=9000), known).advice != found.advice


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"trained": 0, "needed": 5}, "--trained: expected an integer of at least 1"),
        ({"trained": 5, "needed": -1}, "--needed: expected an integer of at least 1"),
        ({"trained": 5, "needed": 5, "cache_tokens": 0}, "--cache-tokens: expected an integer of at least 1"),
        ({"trained": 5, "needed": 5, "need": "speed"}, "--need: expected one of text, recall, place"),
    ],
)
def test_questions_that_are_none_are_refused(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(ArgumentError, match=said):
        Question(**settings)


def test_your_own_results_are_quoted(tmp_path: Path, record: Make) -> None:
    with pytest.raises(ArgumentError, match="--results: expected a folder of a sweep"):
        measured(tmp_path)
    Store(tmp_path).write(record("rope", 0, {64: 1.0, 128: 0.3}))
    found = measured(tmp_path)
    assert found.table("k-back") is not None
    assert str(tmp_path) in found.source


def test_the_results_in_the_package_are_those_of_the_default_sweep_and_say_where_they_are_from() -> None:
    kept = measured()
    assert {table["task"] for table in kept.tables} == {"lookup", "k-back", "text"}
    assert all(len(table["encodings"]) == 8 for table in kept.tables)
    assert "seeds" in kept.source
    assert "torch" in kept.source
    for need in ("text", "recall", "place"):
        assert advise(Question(2048, 8192, need=need), kept).advice


def test_an_answer_does_not_wait_for_torch() -> None:
    script = "import sys; from ordinate.sweep.advice import *; advise(Question(64, 128), measured()); "
    script += "print('torch' in sys.modules)"
    told = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "False"


def test_an_answer_is_plain_json(known: Measured) -> None:
    told = advise(Question(1000, 2000), known).to_dict()
    assert json.loads(json.dumps(told)) == told


@pytest.mark.parametrize("case", CASES)
def test_every_case_is_answered_or_declined_with_the_reason(case: str, known: Measured) -> None:
    answer = advise_case(case, known)
    assert answer.advice
    assert answer.reasons
    declined = answer.advice.startswith(("No advice", "Ask with lengths"))
    assert declined or answer.measured, "advice rests on a measurement"
    assert declined == (case in ("images", "audio", "long-context", "fine-tuning"))


def test_a_case_at_one_length_quotes_the_table_and_says_where_the_article_differs(known: Measured) -> None:
    fixed = advise_case("fixed-length", known)
    assert fixed.advice == "rope, alibi: best on text at the trained length, within two spreads of each other."
    assert fixed.measured[0] == "text, bits per byte, at 64 tokens: rope 2.50 (2 of 2 seeds); alibi 2.50 (2 of 2 seeds)"
    assert fixed.article.endswith("these measurements are against it")
    grammar = advise_case("grammar", known)
    assert grammar.advice.startswith("One of rope, shaw:")
    assert "not by none" in grammar.measured[0]
    with pytest.raises(ArgumentError, match=r"--case: .*; did you mean \"audio\""):
        advise_case("adio", known)


def test_the_measurements_of_the_package_are_against_a_learned_table_at_a_fixed_length() -> None:
    answer = advise_case("fixed-length", measured())
    assert "learned" not in answer.advice
    assert "against it" in answer.article
    assert "learned 3.34 (1 of 3 seeds)" in answer.measured[0]
