"""A cell's settings to its record: a pure function, run by whoever comes by.

A record says how the cell ended (`scored`, `not learned`, `diverged`, `cannot`), why, every score, and where the time went.
What cannot work is recorded, not raised, so that one encoding without an answer does not end a sweep.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Any

import torch

from ordinate.errors import DataError, PositionRangeError, RefusedError
from ordinate.lab.machine import machine, versions
from ordinate.lab.measurement import as_json_number
from ordinate.sweep.cell import FORMAT, Cell
from ordinate.sweep.corpus import Corpus, read_corpus
from ordinate.sweep.evaluation import evaluate, score
from ordinate.sweep.own_class import is_own, source_digest
from ordinate.sweep.tasks import Task, make_task
from ordinate.sweep.training import Trained, train

__all__ = ["best_of_rates", "run_cell", "task_of"]


def run_cell(cell: Cell, corpus: str | None = None) -> dict[str, Any]:
    """The record of a cell, as plain JSON types. One thread, whatever the machine has: cells run beside each other.

    Args:
        cell: what to train and test.
        corpus: path of the text, None for the standard library; its digest must be the cell's.

    Raises:
        DataError: another text than the cell's.

    >>> record = run_cell(Cell("k-back", "alibi", 0, train_length=16, test_lengths=(16, 32), steps=2, tested_rows=4))
    >>> record["format"], record["result"]["status"], sorted(record["result"]["scores"])
    ('ordinate.sweep/1', 'not learned', ['16', '32'])
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    begun = time.perf_counter()
    try:
        task = task_of(cell, corpus)
        _check_source(cell)
        try:
            result = _STUDIES[cell.study](cell, task)
        except (RefusedError, PositionRangeError) as error:
            result = {"status": "cannot", "reason": str(error)}
        except (Exception, SystemExit) as error:
            if not is_own(cell.encoding):
                raise
            reason = " ".join(str(error).split())
            result = {"status": "cannot", "reason": f"{type(error).__name__}: {reason}" if reason else type(error).__name__}
    finally:
        torch.set_num_threads(threads)
    result.setdefault("seconds", {})["whole"] = round(time.perf_counter() - begun, 3)
    return {
        "format": FORMAT,
        "key": cell.key,
        "settings": cell.to_dict(),
        "result": result,
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": versions(),
        "machine": machine(),
    }


def _check_source(cell: Cell) -> None:
    if cell.source and source_digest(cell.encoding) != cell.source:
        raise DataError(
            "encoding",
            expected=f"the source of {cell.encoding} that this cell is for",
            got="another",
            hint="give every machine the same file, and start again after editing it",
        )


def task_of(cell: Cell, corpus: str | None) -> Task:
    """The task of a cell.

    Raises:
        DataError: another text than the cell's.
    """
    text: Corpus | None = None
    if cell.task == "text":
        text = read_corpus(corpus)
        if text.digest != cell.corpus:
            raise DataError(
                "--corpus",
                expected=f"the text of digest {cell.corpus} that this cell was made for",
                got=f"{text.name}, digest {text.digest}",
                hint="give every machine the same file with --corpus, or the same Python",
            )
    return make_task(cell.task, cell.train_length, cell.test_lengths[-1], text)


def best_of_rates(cell: Cell, task: Task, *, causal: bool = True) -> tuple[Trained, float]:
    """The training at the learning rate with the best validation score, and the seconds of all trainings."""
    best: Trained | None = None
    best_score, seconds = 0.0, 0.0
    for rate in cell.learning_rates:
        trained = train(cell, task, rate, causal=causal)
        seconds += trained.seconds
        if len(cell.learning_rates) == 1:
            return trained, seconds
        rows = task.rows(cell.tested_rows, cell.train_length, cell.seed, "validation")
        reached = score(trained.model, task, rows, torch.arange(cell.train_length)).last
        ranked = reached if task.higher_is_better else -reached
        if best is None or (trained.diverged is None and (best.diverged is not None or ranked > best_score)):
            best, best_score = trained, ranked
    assert best is not None
    return best, seconds


def _lengths(cell: Cell, task: Task) -> dict[str, Any]:
    """Train short, test long."""
    trained, seconds = best_of_rates(cell, task)
    result = _training(trained, seconds)
    if trained.diverged is not None:
        return {**result, "status": "diverged", "reason": f"the loss left its course at step {trained.diverged + 1}"}
    begun = time.perf_counter()
    scores = evaluate(
        trained.model,
        trained.row,
        task,
        cell.test_lengths,
        count=cell.tested_rows,
        seed=cell.seed,
        longest=cell.test_lengths[-1],
    )
    result["seconds"]["evaluation"] = round(time.perf_counter() - begun, 3)
    here = scores[str(cell.train_length)]["last"]
    result |= {"scores": scores, "chance": {str(n): task.chance(n) for n in cell.test_lengths}, "learned_at": task.learned_at}
    if not task.learned(here):
        reason = f"{here:.3f} {task.unit} at the training length; learned is {task.learned_at:.3f}"
        return {**result, "status": "not learned", "reason": reason}
    return {**result, "status": "scored", "reason": ""}


def _training(trained: Trained, seconds: float) -> dict[str, Any]:
    losses = trained.losses
    marks = sorted({round(step * (len(losses) - 1) / 19) for step in range(20)})
    return {
        "unit_of_loss": "nats",
        "learning_rate": trained.learning_rate,
        "losses": [[step, as_json_number(round(losses[step], 5))] for step in marks],
        "tokens": trained.tokens,
        "parameters": sum(p.numel() for p in trained.model.parameters()),
        "tokens_per_second": round(trained.tokens / max(trained.seconds, 1e-9)),
        "seconds": {"training": round(seconds, 3)},
    }


def _extension(cell: Cell, task: Task) -> dict[str, Any]:
    from ordinate.sweep.extension import extend

    trained, seconds = best_of_rates(cell, task)
    result = _training(trained, seconds)
    if trained.diverged is not None:
        return {**result, "status": "diverged", "reason": f"the loss left its course at step {trained.diverged + 1}"}
    begun = time.perf_counter()
    measured = extend(trained, cell, task)
    result["seconds"]["evaluation"] = round(time.perf_counter() - begun, 3)
    return {**result, "status": "scored", "reason": "", **measured}


def _probe(cell: Cell, task: Task) -> dict[str, Any]:
    from ordinate.sweep.probe import probe

    measured, trained, seconds = probe(cell, task)
    return {**_training(trained, seconds), "status": "scored", "reason": "", **measured}


_STUDIES = {"lengths": _lengths, "extension": _extension, "probe": _probe}
