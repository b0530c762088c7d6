"""Rows are complete, a failing claim is isolated, and seeds are what the user says."""

from __future__ import annotations

import io
import itertools
import json
import os
import sys
import types
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from ordinate.data import word_vectors
from ordinate.errors import RefusedError, UnknownNameError
from ordinate.lab.catalogue import read_claims
from ordinate.lab.claim import Claim, Inputs
from ordinate.lab.measurement import Animation, Check, Figure, Measurement, Verdict
from ordinate.lab.runner import check_inputs, run, run_one

CLAIMS = {claim.id: claim for claim in read_claims("ordinate.articles")}


@pytest.fixture
def claim_of(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Claim]:
    """Makes a claim of any function."""
    number = itertools.count()

    def make(measure: Callable[[Inputs], Measurement], **settings: object) -> Claim:
        name = f"claims_of_this_test_{next(number)}"
        module = types.ModuleType(name)
        module.measure = measure  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, name, module)
        claim = Claim(
            id="T1",
            title="Test",
            article="T: test",
            statement="says",
            varies="varies",
            band="band",
            seeds=2,
            budget_seconds=60.0,
        )
        return replace(claim, origin=name, **settings)

    return make


def measured(inputs: Inputs, value: float = 1.0) -> Measurement:
    return Measurement([Check.near("x", value, 1.0, 0.1)], "one", {Verdict.REPRODUCED: "as foreseen"}, "nothing")


def broken(inputs: Inputs) -> Measurement:
    raise ZeroDivisionError("no\nway")


def test_a_failing_claim_is_a_row_and_the_others_go_on(claim_of: Callable[..., Claim]) -> None:
    claims = [claim_of(measured, id="T1"), claim_of(broken, id="T2"), claim_of(measured, id="T3")]
    rows = [result.row for result in run(claims, Inputs())]
    assert [row["verdict"] for row in rows] == ["reproduced", "failed", "reproduced"]
    assert rows[1]["reason"] == "ZeroDivisionError: no way"
    assert "broken" in rows[1]["traceback"]


@pytest.mark.parametrize("origin", ["no.such.module", "ordinate.lab.claim"])
def test_a_claim_whose_measurement_is_missing_fails_alone(origin: str) -> None:
    row = run_one(replace(CLAIMS["A2"], origin=origin), Inputs()).row
    assert row["verdict"] == "failed"


def test_an_interruption_is_not_taken_for_a_failure(claim_of: Callable[..., Claim]) -> None:
    def interrupted(inputs: Inputs) -> Measurement:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run([claim_of(interrupted)], Inputs())


def test_a_row_says_what_when_where_and_with_what(claim_of: Callable[..., Claim]) -> None:
    row = run_one(claim_of(measured), Inputs(seeds=(3, 4))).row
    assert {"python", "ordinate", "torch", "numpy"} <= set(row["versions"])
    assert row["machine"]["cores"] >= 1
    assert row["machine"]["processor"]
    assert row["machine"]["system"]
    assert row["seeds"] == [3, 4]
    assert row["within_budget"] is True
    assert row["meaning"] == "as foreseen"
    json.dumps(row, allow_nan=False)


def test_seeds_are_the_claims_own_unless_the_user_counts_from_another(claim_of: Callable[..., Claim]) -> None:
    seeds: list[tuple[int, ...]] = []

    def note(inputs: Inputs) -> Measurement:
        seeds.append(inputs.seeds)
        return measured(inputs)

    run([claim_of(note)], Inputs())
    run([claim_of(note)], Inputs(), seed=10)
    assert seeds == [(0, 1), (10, 11)]


def test_a_claim_that_takes_too_long_is_told(claim_of: Callable[..., Claim]) -> None:
    assert run_one(claim_of(measured, budget_seconds=0.0), Inputs()).row["within_budget"] is False


def test_an_unforeseen_verdict_is_explained_by_the_checks_that_decide(claim_of: Callable[..., Claim]) -> None:
    row = run_one(claim_of(lambda inputs: measured(inputs, value=5.0)), Inputs()).row
    assert row["verdict"] == "refuted"
    assert "x came out as 5 where 1 ± 0.1 was expected" in row["meaning"]
    assert "as foreseen" not in row["meaning"]


def test_figures_become_files_named_by_their_content(claim_of: Callable[..., Claim]) -> None:
    def drawn(content: str) -> dict[str, str]:
        figures = [Figure("chart", f"<svg>{content}</svg>", "c", "a"), Animation("moving", {"frames": [1]}, "c", "a")]
        return run_one(claim_of(lambda inputs: replace(measured(inputs), figures=figures)), Inputs()).files

    first, again, other = drawn("1"), drawn("1"), drawn("2")
    assert first == again
    assert len(set(first) & set(other)) == 1  # the animation
    assert sorted(Path(name).suffix for name in first) == [".json", ".svg"]


def test_the_progress_bar_goes_to_its_console(claim_of: Callable[..., Claim], capsys: pytest.CaptureFixture[str]) -> None:
    drawn = io.StringIO()
    run([claim_of(measured)], Inputs(), console=Console(file=drawn, force_terminal=True, width=100))
    assert "T1 Test" in drawn.getvalue()
    assert "1/1" in drawn.getvalue()
    run([claim_of(measured)], Inputs())
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "")


def test_vectors_without_the_claims_words_are_refused_before_any_work() -> None:
    vectors = word_vectors()
    keep = [row for row, word in enumerate(vectors.words) if word != "tired"]
    fewer = replace(vectors, words=[vectors.words[row] for row in keep], array=vectors.array[keep])
    check_inputs([CLAIMS["A2"], CLAIMS["A3"]], Inputs(vectors=fewer))
    with pytest.raises(UnknownNameError, match=r"--vectors: .*A5.*'tired'"):
        check_inputs([CLAIMS["A5"]], Inputs(vectors=fewer))


NUMBERED = """
import os
from ordinate.lab.claim import Claim, Inputs
from ordinate.lab.measurement import Check, Measurement, Role, Verdict

CLAIM = Claim(id="{id}", title="t", statement="s", varies="v", band="b", budget_seconds=1, shares="{shares}")


def measure(inputs):
    {body}
    return Measurement([Check.near("x", 1.0, 1.0, 0.1)], str(os.getpid()), {{}}, "nothing")
"""


def written(folder: Path, bodies: dict[str, str], shares: str) -> tuple[Claim, ...]:
    for name, body in bodies.items():
        (folder / f"{name}.py").write_text(NUMBERED.format(id=name, body=body, shares=shares if body == "pass" else ""))
    return read_claims(folder)


def test_processes_beside_each_other_keep_the_order_and_what_shares_trainings_together(tmp_path: Path) -> None:
    claims = written(tmp_path, {"X1": "pass", "X2": "1 / 0", "X3": "pass"}, "a model")
    rows = [result.row for result in run(claims, Inputs(), jobs=2)]
    assert [row["id"] for row in rows] == ["X1", "X2", "X3"]
    assert [row["verdict"] for row in rows] == ["reproduced", "failed", "reproduced"]
    assert rows[0]["key_figure"] == rows[2]["key_figure"] != str(os.getpid())


def test_a_process_that_is_killed_is_refused_in_one_line(tmp_path: Path) -> None:
    claims = written(tmp_path, {"X1": "os._exit(1)", "X2": "pass"}, "")
    with pytest.raises(RefusedError, match="--jobs 1"):
        run(claims, Inputs(), jobs=2)
