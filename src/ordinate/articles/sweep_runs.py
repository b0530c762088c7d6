"""What the claims that need trained models share: trainings done once a process, and stored results if given.

The quick versions train for a second or two each at 32 tokens; with --full they take the records of the default sweep, from
the folder `sweep` of the user's data where its cells are there, else by running them.
"""

from __future__ import annotations

import functools
import statistics
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from ordinate.lab.claim import Inputs
from ordinate.sweep.cell import Cell
from ordinate.sweep.corpus import read_corpus
from ordinate.sweep.engine import run_cells
from ordinate.sweep.evaluation import evaluate
from ordinate.sweep.measure import task_of
from ordinate.sweep.store import Store
from ordinate.sweep.tasks import Task
from ordinate.sweep.training import Trained, train

__all__ = ["mean_sd", "records_of", "scores_of", "small_cell", "trained_on"]


def small_cell(task: str, encoding: str, seed: int, *, steps: int, study: str = "lengths", tested_rows: int = 48) -> Cell:
    """A cell that trains in about a second: 32 tokens, tests at one, two and four times that."""
    return Cell(
        task,
        encoding,
        seed,
        study=study,
        train_length=32,
        test_lengths=(32, 64, 128),
        heads=4 if study == "lengths" else 2,
        steps=steps,
        learning_rates=(5e-3,),
        tested_rows=tested_rows,
        corpus=read_corpus().digest if task == "text" else "",
    )


@functools.lru_cache(maxsize=64)
def trained_on(cell: Cell) -> tuple[Trained, Task]:
    """The trained model of a cell, on one thread, and its task. Callers leave the model as it is."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        task = task_of(cell, None)
        return train(cell, task, cell.learning_rates[0]), task
    finally:
        torch.set_num_threads(threads)


@functools.lru_cache(maxsize=64)
def scores_of(cell: Cell) -> dict[str, dict[str, Any]]:
    """Every score of a cell by length, as `evaluate` tells them."""
    trained, task = trained_on(cell)
    longest = cell.test_lengths[-1]
    return evaluate(
        trained.model, trained.row, task, cell.test_lengths, count=cell.tested_rows, seed=cell.seed, longest=longest
    )


def records_of(cells: Sequence[Cell], inputs: Inputs) -> list[dict[str, Any]]:
    """The records of these cells: those in the folder `sweep` of the user's data, the others run now, a process a core."""
    folder = inputs.data_folder("sweep")
    there = Store(folder).read(cells) if folder is not None else []
    missing = [cell for cell in cells if cell.key not in {record["key"] for record in there}]
    if missing:
        run_cells(missing, _scratch())
        there += _scratch().read(missing)
    order = {cell.key: place for place, cell in enumerate(cells)}
    return sorted(there, key=lambda record: order[record["key"]])


@functools.cache
def _scratch() -> Store:
    """Where records of this process are kept, so that several claims share them."""
    folder = tempfile.TemporaryDirectory(prefix="ordinate-sweep-")
    _KEPT.append(folder)
    return Store(Path(folder.name))


_KEPT: list[tempfile.TemporaryDirectory[str]] = []  # removed when the process ends


def mean_sd(values: Sequence[float], sign: str = "") -> str:
    """Mean and spread in words; one value alone.

    >>> mean_sd([0.25, 0.35]), mean_sd([-0.1], "+")
    ('0.30 ± 0.07', '-0.10')
    """
    mean = format(statistics.fmean(values), f"{sign}.2f")
    return f"{mean} ± {statistics.stdev(values):.2f}" if len(values) > 1 else mean
