"""What a benchmark task is, and how it is scored alike on every network: fit, choose, score on three stretches.

A task draws its data from a seed and is run on a reservoir under several settings, side by side as one batch. The ridge penalty
is chosen on the validation stretch, then the readout is fitted on both stretches and scored on steps that took no part in
anything.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from ordinate.arguments import check_integer
from ordinate.reservoir.dynamics.reservoir import Reservoir
from ordinate.reservoir.readout.ridge import RidgeReadout

__all__ = ["RIDGES", "Outcome", "ReadTask", "Setting", "Size", "Task", "evaluate"]

FloatArray = npt.NDArray[np.float64]

RIDGES = (1e-6, 1e-3, 1e-1, 10.0)
"""The penalties that are tried."""


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
            check_integer(name, getattr(self, name), minimum=least)

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
    outcomes_of: dict[int, list[Outcome]] = {}
    if read:
        sequences = [setting.input_scaling * drawn[0] for _, _, drawn in read for setting in settings]
        gains = [setting.gain for _ in read for setting in settings]
        states = reservoir.run(np.stack(sequences), record=record, gain=gains)
        for number, (place, one, data) in enumerate(read):
            own = states[number * len(settings) : (number + 1) * len(settings)]
            outcomes_of[place] = [one.outcome(run, data, size, ridges) for run in own]
    best = []
    for place, (task, data) in enumerate(tasks_and_data):
        outcomes = outcomes_of.get(place) or task.outcomes(reservoir, data, size, settings, ridges, record)
        scores = [outcome.validation for outcome in outcomes]
        chosen = int(np.argmax(scores) if task.higher_is_better else np.argmin(scores))
        best.append(replace(outcomes[chosen], setting=settings[chosen]))
    return best
