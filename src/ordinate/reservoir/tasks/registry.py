"""Every benchmark task by name; a new task is one row here."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from ordinate.arguments import check_choice
from ordinate.reservoir.datasets import mackey_glass, narma10, narma30
from ordinate.reservoir.readout.metrics import nrmse_by_std
from ordinate.reservoir.seeds import generator_of
from ordinate.reservoir.tasks.base import ReadTask, Task
from ordinate.reservoir.tasks.decision import ContextTask, DecisionTask, MatchTask
from ordinate.reservoir.tasks.free_run import lorenz_free, mackey_glass_free
from ordinate.reservoir.tasks.memory import delayed, memory_capacity

__all__ = ["task_named", "tasks"]

_LONGEST_DELAY = 60

_HORIZON = 84

FloatArray = npt.NDArray[np.float64]


@functools.cache
def tasks() -> dict[str, Task]:
    """Every task by name.

    >>> list(tasks())
    ['memory', 'narma10', 'narma30', 'mackey-glass', 'mackey-glass-free', 'lorenz-free', 'decision', 'context', 'match']
    """
    every: tuple[Task, ...] = (
        ReadTask("memory", "memory capacity", "memory_capacity", True, _memory, memory_capacity),
        ReadTask("narma10", "NARMA10", "nrmse_by_std", False, functools.partial(_narma, narma10), nrmse_by_std),
        ReadTask("narma30", "NARMA30", "nrmse_by_std", False, functools.partial(_narma, narma30), nrmse_by_std),
        ReadTask("mackey-glass", f"Mackey-Glass, {_HORIZON} steps ahead", "nrmse_by_std", False, _mackey_glass, nrmse_by_std),
        mackey_glass_free(),
        lorenz_free(),
        DecisionTask(),
        ContextTask(),
        MatchTask(),
    )
    return {task.name: task for task in every}


def task_named(name: str) -> Task:
    """The task of a name.

    Raises:
        UnknownNameError: no such task; the message names them all.

    >>> task_named("memory").metric
    'memory_capacity'
    """
    return tasks()[check_choice("task", name, tasks())]


def _memory(steps: int, seed: int) -> tuple[FloatArray, FloatArray]:
    inputs = generator_of(seed).uniform(-1.0, 1.0, (steps, 1))
    return inputs, delayed(inputs, _LONGEST_DELAY)


def _narma(series: Callable[[int, int], Any], steps: int, seed: int) -> tuple[FloatArray, FloatArray]:
    system = series(steps, seed)
    return 4.0 * system.inputs - 1.0, system.targets  # from (0, .5) to (-1, 1), so that input scaling means the same everywhere


def _mackey_glass(steps: int, seed: int) -> tuple[FloatArray, FloatArray]:
    values = (mackey_glass(steps + _HORIZON, seed).values - 0.93) / 0.4  # about (-1.3, 1)
    return values[:-_HORIZON], values[_HORIZON:]
