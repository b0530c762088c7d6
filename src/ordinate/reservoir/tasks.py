"""Benchmark tasks by name, scored alike on every network: fit on one stretch, choose on the next, score on the last.

A task draws its data from a seed and is given a reservoir and several settings of it; the settings run side by side as one
batch. The ridge penalty is chosen on the validation stretch, then the readout is fitted on both stretches and scored on steps
that took no part in anything. Series, metrics and readouts are in files of their own; this one only joins them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from ordinate.errors import ArgumentError, UnknownNameError
from ordinate.reservoir.metrics import nrmse_by_std
from ordinate.reservoir.readout import RidgeReadout
from ordinate.reservoir.reservoir import Reservoir
from ordinate.reservoir.tasks_chaos import mackey_glass
from ordinate.reservoir.tasks_memory import delayed, memory_capacity
from ordinate.reservoir.tasks_narma import narma10, narma30

__all__ = ["RIDGES", "Outcome", "ReadTask", "Setting", "Size", "Task", "evaluate", "task_named", "tasks"]

FloatArray = npt.NDArray[np.float64]

RIDGES = (1e-6, 1e-3, 1e-1, 10.0)
"""The penalties that are tried."""

_LONGEST_DELAY = 60
_HORIZON = 84


@dataclass(frozen=True)
class Size:
    """How long the stretches of a task are, in steps; the decision task has fewer trials (see there).

    Args:
        washout: steps that nothing is learned from.
        train: steps that the readout is fitted on.
        validation: steps that settings and penalties are chosen on.
        test: steps that are scored.

    Raises:
        ArgumentError: a stretch too short to say anything.

    >>> Size().steps
    2500
    """

    washout: int = 100
    train: int = 1000
    validation: int = 400
    test: int = 1000

    def __post_init__(self) -> None:
        for name, least in (("washout", 0), ("train", 100), ("validation", 50), ("test", 50)):
            if getattr(self, name) < least:
                raise ArgumentError(name, expected=f"at least {least} steps", got=getattr(self, name), hint="give more")

    @property
    def steps(self) -> int:
        """All of them."""
        return self.washout + self.train + self.validation + self.test

    @property
    def stretches(self) -> tuple[slice, slice, slice]:
        """Where training, validation and test lie."""
        first, second = self.washout + self.train, self.washout + self.train + self.validation
        return slice(self.washout, first), slice(first, second), slice(second, self.steps)


@dataclass(frozen=True)
class Setting:
    """One way to drive a reservoir.

    Args:
        gain: factor of its recurrent weights.
        input_scaling: factor of its inputs.
    """

    gain: float = 1.0
    input_scaling: float = 1.0


@dataclass(frozen=True)
class Outcome:
    """What one setting of one reservoir came to.

    Args:
        validation: score that it may be chosen by.
        test: score on steps that took no part in fitting or choosing.
        ridge: penalty chosen on the validation stretch.
        setting: that it was run under, where several were tried.
    """

    validation: float
    test: float
    ridge: float
    setting: Setting | None = None


class Task(Protocol):
    """What a task can be asked."""

    @property
    def name(self) -> str:
        """For the command line."""

    @property
    def title(self) -> str:
        """A few words."""

    @property
    def metric(self) -> str:
        """What is scored, with its normalisation in the name."""

    @property
    def higher_is_better(self) -> bool:
        """The direction of the metric."""

    @property
    def num_channels(self) -> int:
        """Input channels F."""

    def draw(self, size: Size, seed: int) -> Any:
        """Its data, from a seed."""

    def outcomes(
        self, reservoir: Reservoir, data: Any, size: Size, settings: Sequence[Setting], ridges: Sequence[float], record: Any
    ) -> list[Outcome]:
        """What each setting of a reservoir comes to."""


@dataclass(frozen=True)
class ReadTask:
    """A task whose targets are read from the states step by step, while the inputs run.

    Args:
        name: for the command line.
        title: a few words.
        metric: of `ordinate.reservoir.metrics` or memory capacity, by name.
        higher_is_better: what the metric's direction is.
        series: from a number of steps and a seed to inputs [T, 1] and targets [T, K].
        score: the metric itself.
    """

    name: str
    title: str
    metric: str
    higher_is_better: bool
    series: Callable[[int, int], tuple[FloatArray, FloatArray]]
    score: Callable[[FloatArray, FloatArray], float]
    num_channels: int = 1

    def draw(self, size: Size, seed: int) -> tuple[FloatArray, FloatArray]:
        """Inputs [T, 1] within (-1, 1) or near it, and targets [T, K]."""
        return self.series(size.steps, seed)

    def outcomes(
        self, reservoir: Reservoir, data: Any, size: Size, settings: Sequence[Setting], ridges: Sequence[float], record: Any
    ) -> list[Outcome]:
        """What each setting of a reservoir comes to."""
        states = run_settings(reservoir, data[0], settings, record)
        return [self.outcome(one, data, size, ridges) for one in states]

    def outcome(self, states: npt.NDArray[Any], data: Any, size: Size, ridges: Sequence[float]) -> Outcome:
        """From states [T, R] of the whole sequence."""
        targets = data[1]
        train, validation, test = size.stretches
        readout = RidgeReadout(ridges[0]).partial_fit(states[train], targets[train])
        later = RidgeReadout(ridges[0]).partial_fit(states[validation], targets[validation])
        scored = [
            self.score(targets[validation], states[validation] @ weights + offset)
            for weights, offset in readout.solve_path(ridges)
        ]
        best = int(np.argmax(scored) if self.higher_is_better else np.argmin(scored))
        weights, offset = readout.merge(later).solve(ridges[best])
        return Outcome(scored[best], self.score(targets[test], states[test] @ weights + offset), ridges[best])


def run_settings(reservoir: Reservoir, inputs: FloatArray, settings: Sequence[Setting], record: Any) -> npt.NDArray[Any]:
    """States [S, T, R] of one sequence of inputs [T, F] under each of S settings, side by side."""
    scaled = np.stack([setting.input_scaling * inputs for setting in settings])
    return reservoir.run(scaled, record=record, gain=[setting.gain for setting in settings])


def evaluate(
    tasks_and_data: Sequence[tuple[Task, Any]],
    reservoir: Reservoir,
    size: Size,
    settings: Sequence[Setting],
    *,
    ridges: Sequence[float] = RIDGES,
    record: Any = None,
) -> list[Outcome]:
    """For each task the outcome of the setting that its validation stretch prefers.

    Tasks that are read step by step run together, as one batch of sequences times settings.

    Args:
        tasks_and_data: tasks, and what each drew.
        reservoir: with as many input channels as the tasks have.
        size: that the data were drawn at.
        settings: to choose from.
        ridges: to choose from.
        record: the neurons that are read: a query or indices; all by default.
    """
    read = [(place, task, data) for place, (task, data) in enumerate(tasks_and_data) if isinstance(task, ReadTask)]
    found: dict[int, list[Outcome]] = {}
    if read:
        sequences = [setting.input_scaling * drawn[0] for _, _, drawn in read for setting in settings]
        gains = [setting.gain for _ in read for setting in settings]
        states = reservoir.run(np.stack(sequences), record=record, gain=gains)
        for number, (place, one, data) in enumerate(read):
            own = states[number * len(settings) : (number + 1) * len(settings)]
            found[place] = [one.outcome(run, data, size, ridges) for run in own]
    best = []
    for place, (task, data) in enumerate(tasks_and_data):
        outcomes = found.get(place) or task.outcomes(reservoir, data, size, settings, ridges, record)
        scores = [outcome.validation for outcome in outcomes]
        chosen = int(np.argmax(scores) if task.higher_is_better else np.argmin(scores))
        best.append(replace(outcomes[chosen], setting=settings[chosen]))
    return best


def _memory(steps: int, seed: int) -> tuple[FloatArray, FloatArray]:
    inputs = np.random.default_rng(seed).uniform(-1.0, 1.0, (steps, 1))
    return inputs, delayed(inputs, _LONGEST_DELAY)


def _narma(series: Callable[[int, int], Any], steps: int, seed: int) -> tuple[FloatArray, FloatArray]:
    made = series(steps, seed)
    return 4.0 * made.inputs - 1.0, made.targets  # from (0, .5) to (-1, 1), so that input scaling means the same everywhere


def _mackey_glass(steps: int, seed: int) -> tuple[FloatArray, FloatArray]:
    history = float(np.random.default_rng(seed).uniform(0.5, 1.3))
    values = (mackey_glass(steps + _HORIZON, history=history).values - 0.93) / 0.4  # about (-1.3, 1)
    return values[:-_HORIZON], values[_HORIZON:]


@functools.cache
def tasks() -> dict[str, Task]:
    """Every task by name.

    >>> list(tasks())
    ['memory', 'narma10', 'narma30', 'mackey-glass', 'mackey-glass-free', 'lorenz-free', 'decision']
    """
    from ordinate.reservoir.tasks_closed_loop import lorenz_free, mackey_glass_free
    from ordinate.reservoir.tasks_decision import DecisionTask

    told: tuple[Task, ...] = (
        ReadTask("memory", "memory capacity", "memory_capacity", True, _memory, memory_capacity),
        ReadTask("narma10", "NARMA10", "nrmse_by_std", False, functools.partial(_narma, narma10), nrmse_by_std),
        ReadTask("narma30", "NARMA30", "nrmse_by_std", False, functools.partial(_narma, narma30), nrmse_by_std),
        ReadTask("mackey-glass", f"Mackey-Glass, {_HORIZON} steps ahead", "nrmse_by_std", False, _mackey_glass, nrmse_by_std),
        mackey_glass_free(),
        lorenz_free(),
        DecisionTask(),
    )
    return {task.name: task for task in told}


def task_named(name: str) -> Task:
    """The task of a name.

    Raises:
        UnknownNameError: no such task; the message names them all.

    >>> task_named("memory").metric
    'memory_capacity'
    """
    if name not in tasks():
        raise UnknownNameError("task", expected=f"one of {', '.join(tasks())}", got=name, hint="choose one, or all")
    return tasks()[name]
