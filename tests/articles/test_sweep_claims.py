"""The claims that need trained models come out as foreseen, and doctored numbers change the verdict."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ordinate.articles.b import b7_sinusoid_or_learned
from ordinate.articles.c import c8_alibi, c9_which_to_use, c10_lost_in_the_middle, c12_extending, c13_no_encoding
from ordinate.articles.sweep_runs import records_of, small_cell
from ordinate.lab.claim import Inputs
from ordinate.lab.measurement import Measurement, Verdict, judge
from ordinate.sweep.cell import Cell
from ordinate.sweep.store import Store

pytestmark = pytest.mark.usefixtures("undrawn")


def verdict(measurement: Measurement) -> Verdict:
    return judge(measurement.checks)[0]


def b7(at: float = 3.4, lost: float = 0.5) -> Measurement:
    table = [{"at": 3.5, "twice": 3.6, "fourfold": 3.7, "lost": 0.5}] * 2
    return b7_sinusoid_or_learned.sinusoid_or_learned(
        {"sinusoidal": [{"at": at, "twice": 3.9, "fourfold": 4.0, "lost": lost}] * 2, "learned": table}, (0, 1), 80
    )


def test_b7_sinusoids_behind_the_table_refute_it_and_unused_positions_say_nothing() -> None:
    assert verdict(b7()) is Verdict.REPRODUCED
    assert verdict(b7(at=3.54)) is Verdict.REPRODUCED
    assert verdict(b7(at=3.6)) is Verdict.REFUTED
    assert verdict(b7(lost=0.01)) is Verdict.NOT_TESTABLE


def c8(alibi: float = 0.0, rope: float = 0.3, length: int = 1024) -> Measurement:
    lengths = [str(length * factor) for factor in (1, 2, 4)]
    losses = {
        name: [dict(zip(lengths, (0.0, value, value), strict=True))] * 2 for name, value in (("alibi", alibi), ("rope", rope))
    }
    scores = {
        name: [{n: {"last": 3.0 + value, "cut": 3.0, "whole": 3.0} for n, value in one.items()} for one in result]
        for name, result in losses.items()
    }
    return c8_alibi.alibi(losses, scores, (0, 1), 100)


def test_c8_a_loss_at_twice_the_length_refutes_it_and_a_rope_that_carries_says_nothing() -> None:
    assert verdict(c8()) is Verdict.REPRODUCED
    assert verdict(c8(alibi=0.1)) is Verdict.REFUTED
    assert verdict(c8(rope=0.05)) is Verdict.NOT_TESTABLE
    assert verdict(c8(length=32)) is Verdict.NOT_TESTABLE  # the article speaks of 1,024 tokens


def c9(alibi: float = 0.0, rope: float = 0.4, scaled: float = 0.1) -> Measurement:
    return c9_which_to_use.which_to_use({"alibi": [alibi] * 2, "rope": [rope] * 2, "rope, YaRN": [scaled] * 2}, (0, 1), 100)


def test_c9_depends_on_what_each_encoding_loses() -> None:
    assert verdict(c9()) is Verdict.CORRECTED
    assert verdict(c9(rope=0.05)) is Verdict.REPRODUCED
    assert verdict(c9(scaled=0.35)) is Verdict.REFUTED
    assert verdict(c9(alibi=0.2)) is Verdict.REFUTED


FLAT = [0.99] * 8
LOST_BEGINNING = [0.2, 0.3, 0.5, 0.6, 0.7, 0.9, 1.0, 1.0]
LOST_MIDDLE = [1.0, 0.9, 0.6, 0.5, 0.5, 0.6, 0.9, 1.0]


def c10(here: list[float], far: list[float]) -> Measurement:
    return c10_lost_in_the_middle.lost_in_the_middle({"rope": {32: here, 128: far}, "alibi": {32: FLAT, 128: FLAT}}, 32, "")


def test_c10_small_models_say_what_they_do_and_are_not_held_against_large_ones() -> None:
    def dips(measurement: Measurement) -> list[bool]:
        return [check.holds for check in measurement.checks[:2]]

    assert dips(c10(FLAT, LOST_BEGINNING)) == [False, False]
    assert dips(c10(LOST_MIDDLE, LOST_MIDDLE)) == [True, True]
    assert {verdict(c10(LOST_MIDDLE, far)) for far in (FLAT, LOST_BEGINNING, LOST_MIDDLE)} == {Verdict.NOT_TESTABLE}


def c12(change: Callable[[dict[str, Any]], None] = lambda result: None) -> Measurement:
    at = {"none": (4.0, 3.4), "interpolation": (3.6, 3.2), "YaRN": (3.3, 3.1)}
    result: dict[str, Any] = {
        "extended": {"128": {name: {"zero_shot": zero, "fine_tuned": tuned} for name, (zero, tuned) in at.items()}},
        "truncated": {"128": 3.0},
        "fine_tuned_steps": 10,
    }
    change(result)
    return c12_extending.extending([result, copy.deepcopy(result)], (0, 1), 100)


def test_c12_scalings_that_do_not_help_refute_it_and_a_model_that_does_not_fall_says_nothing() -> None:
    def useless(result: dict[str, Any]) -> None:
        for name in ("interpolation", "YaRN"):
            result["extended"]["128"][name]["zero_shot"] = 4.0

    def carries(result: dict[str, Any]) -> None:
        result["extended"]["128"]["none"]["zero_shot"] = 3.05

    assert verdict(c12()) is Verdict.REPRODUCED
    assert verdict(c12(useless)) is Verdict.REFUTED
    assert verdict(c12(carries)) is Verdict.NOT_TESTABLE


def c13(masked: float = 0.2, unmasked: float = 0.0, control: float = 0.9) -> Measurement:
    result = {
        "mask, untrained": [0.0, 0.02, 0.05],
        "mask, trained": [0.0, masked / 2, masked],
        "no mask, untrained": [0.0, 0.0, 0.0],
        "no mask, trained": [0.0, unmasked, unmasked],
    }
    return c13_no_encoding.no_encoding([result, result], [control, control], (0, 1), 60)


def test_c13_a_probe_that_reads_without_the_mask_refutes_it_and_a_blind_one_says_nothing() -> None:
    assert verdict(c13()) is Verdict.REPRODUCED
    assert verdict(c13(masked=0.05)) is Verdict.REFUTED
    assert verdict(c13(unmasked=0.2)) is Verdict.REFUTED
    assert verdict(c13(control=0.1)) is Verdict.NOT_TESTABLE


def test_stored_results_are_taken_where_the_user_has_them(tmp_path: Path) -> None:
    cell = Cell("k-back", "rope", 0, train_length=16, test_lengths=(16, 32), steps=1, tested_rows=2)
    from ordinate.sweep.measure import run_cell

    record = run_cell(cell)
    record["result"]["reason"] = "marked"
    Store(tmp_path / "sweep").write(record)
    other = Cell("k-back", "alibi", 0, train_length=16, test_lengths=(16, 32), steps=1, tested_rows=2)
    result = records_of([other, cell], Inputs(data=tmp_path))
    assert [row["settings"]["encoding"] for row in result] == ["alibi", "rope"]
    assert result[1]["result"]["reason"] == "marked"
    assert not Store(tmp_path / "sweep").has(other)  # the user's folder is read, not filled


def test_small_cells_of_text_name_their_corpus() -> None:
    assert small_cell("text", "rope", 0, steps=3).corpus
    assert not small_cell("lookup", "rope", 0, steps=3).corpus
