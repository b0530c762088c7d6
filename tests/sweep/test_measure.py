"""A cell's record: how it ended and why, whatever happened to it."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
import torch

from ordinate.errors import DataError
from ordinate.sweep.cell import FORMAT, Cell
from ordinate.sweep.corpus import read_corpus
from ordinate.sweep.measure import best_of_rates, run_cell, task_of
from ordinate.sweep.training import Trained, train

SMALL = {"train_length": 16, "test_lengths": (16, 32), "dim": 32, "heads": 2, "layers": 1, "tested_rows": 8}


def test_a_cell_that_learns_is_scored_with_all_there_is_to_know() -> None:
    record = run_cell(Cell("k-back", "shaw", 0, steps=60, learning_rates=(1e-2,), **SMALL))
    result = record["result"]
    assert record["format"] == FORMAT
    assert result["status"] == "scored"
    assert result["scores"]["16"]["last"] > 0.9
    assert set(result["seconds"]) == {"training", "evaluation", "whole"}
    assert result["tokens"] == 60 * 16 * 16
    assert [step for step, _ in result["losses"]][:: len(result["losses"]) - 1] == [0, 59]
    assert json.loads(json.dumps(record, allow_nan=False)) == record
    again = run_cell(Cell("k-back", "shaw", 0, steps=60, learning_rates=(1e-2,), **SMALL))["result"]
    assert (again["scores"], again["losses"]) == (result["scores"], result["losses"])


def test_what_is_not_learned_is_said_and_not_scored() -> None:
    result = run_cell(Cell("k-back", "rope", 0, steps=1, **SMALL))["result"]
    assert result["status"] == "not learned"
    assert "accuracy at the training length; learned is 0.531" in result["reason"]


def test_an_encoding_that_cannot_is_said_and_not_trained() -> None:
    result = run_cell(Cell("k-back", "axial-rotary", 0, **SMALL))["result"]
    assert result["status"] == "cannot"
    assert "positions in a row" in result["reason"]
    assert "scores" not in result


def test_a_diverging_run_is_recorded_as_diverged(monkeypatch: pytest.MonkeyPatch) -> None:
    from ordinate.sweep import training

    plain = training.loss_of

    def breaks(model, tokens, targets, positions):  # type: ignore[no-untyped-def]
        return plain(model, tokens, targets, positions) * (math.inf if float(model.head.weight.detach().sum()) else 1.0)

    monkeypatch.setattr(training, "loss_of", breaks)
    result = run_cell(Cell("k-back", "rope", 0, steps=5, **SMALL))["result"]
    assert result["status"] == "diverged"
    assert result["reason"] == "the loss left its course at step 1"
    assert result["losses"][-1][1] == "nan"
    json.dumps(result, allow_nan=False)


def test_another_text_than_the_cells_is_refused(tmp_path: Path) -> None:
    (tmp_path / "text").write_bytes(b"abcdefgh" * 1000)
    digest = read_corpus(tmp_path / "text").digest
    cell = Cell("text", "rope", 0, steps=1, corpus=digest, **SMALL)
    assert run_cell(cell, str(tmp_path / "text"))["result"]["status"] in ("scored", "not learned")
    with pytest.raises(DataError, match=f"the text of digest {digest} that this cell was made for"):
        run_cell(cell)


def test_the_best_learning_rate_on_validation_rows_is_kept() -> None:
    cell = Cell("k-back", "shaw", 0, steps=60, learning_rates=(1e-6, 3e-3), **SMALL)
    trained, seconds = best_of_rates(cell, task_of(cell, None))
    assert trained.learning_rate == 3e-3
    assert seconds > trained.seconds


def test_a_diverged_rate_loses_against_any_other(monkeypatch: pytest.MonkeyPatch) -> None:
    from ordinate.sweep import measure

    def marked(cell: Cell, task: object, rate: float, *, causal: bool = True) -> Trained:
        trained = train(cell, task, rate, causal=causal)  # type: ignore[arg-type]
        trained.diverged = 3 if rate == 1e-3 else None
        return trained

    monkeypatch.setattr(measure, "train", marked)
    cell = Cell("k-back", "rope", 0, steps=2, learning_rates=(1e-3, 2e-3), **SMALL)
    assert best_of_rates(cell, task_of(cell, None))[0].learning_rate == 2e-3


def test_a_cell_runs_on_one_thread_and_puts_the_number_back() -> None:
    torch.set_num_threads(2)
    try:
        run_cell(Cell("k-back", "none", 0, steps=1, **SMALL))
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(1)


@pytest.mark.parametrize(("study", "encoding"), [("extension", "rope"), ("probe", "none")])
def test_the_other_studies_are_cells_too(study: str, encoding: str, tmp_path: Path) -> None:
    (tmp_path / "text").write_bytes(bytes(range(97, 123)) * 400)
    text = tmp_path / "text"
    cell = Cell("text", encoding, 0, study=study, steps=10, corpus=read_corpus(text).digest, **SMALL)
    result = run_cell(cell, str(text))["result"]
    assert result["status"] == "scored"
    assert ("extended" if study == "extension" else "r2") in result
    json.dumps(result, allow_nan=False)
