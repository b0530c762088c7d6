"""Free runs: how long a network that feeds itself stays on a chaotic series, in Lyapunov times.

The network is trained to predict its next input. Then, from several places of a stretch that it was not trained on, it receives
the true series up to that place and left alone. What counts is the mean time until its error passes .4 of the series' spread.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ordinate.reservoir.datasets import ChaoticSeries, lorenz, mackey_glass
from ordinate.reservoir.dynamics.interface import State
from ordinate.reservoir.dynamics.reservoir import Reservoir
from ordinate.reservoir.readout.metrics import valid_time
from ordinate.reservoir.readout.ridge import RidgeReadout
from ordinate.reservoir.tasks.base import Outcome, Setting, Size, run_settings

__all__ = ["FreeRunTask", "lorenz_free", "mackey_glass_free"]

FloatArray = npt.NDArray[np.float64]


_TRIED_FROM, _SCORED_FROM = 4, 10
"""Places that free runs start from, on the validation stretch and on the test stretch."""

_LYAPUNOV_TIMES = 6.0
"""A run that lasts longer is not followed: it scores this."""


@dataclass(frozen=True)
class FreeRunTask:
    """A task scored by the valid time of free runs.

    Args:
        name: for the command line.
        title: a few words.
        num_channels: F of the series.
        series: from a number of samples and a seed to the series.
        middle: that is taken off each channel.
        spread: that each channel is divided by.
    """

    name: str
    title: str
    num_channels: int
    series: Callable[[int, int], ChaoticSeries]
    middle: tuple[float, ...]
    spread: tuple[float, ...]
    metric: str = "valid_time"
    higher_is_better: bool = True

    def draw(self, size: Size, seed: int) -> ChaoticSeries:
        """The series at unit scale, long enough that a free run may start at the last step."""
        series = self.series(size.steps, seed)
        series = self.series(size.steps + _horizon(series), seed)
        return ChaoticSeries((series.values - self.middle) / self.spread, series.step, series.lyapunov_exponent)

    def outcomes(
        self,
        reservoir: Reservoir,
        data: ChaoticSeries,
        size: Size,
        settings: Sequence[Setting],
        ridges: Sequence[float],
        record: Any,
    ) -> list[Outcome]:
        """What each setting of a reservoir comes to."""
        train, validation, test = size.stretches
        states = run_settings(reservoir, data.values[: train.stop], settings, record)
        following = data.values[train.start + 1 : train.stop + 1]
        solved = [RidgeReadout(ridges[0]).partial_fit(one[train], following).solve_path(ridges) for one in states]
        tried = self._valid_times(reservoir, data, validation, settings, solved, record, _TRIED_FROM)
        best = tried.argmax(axis=1)
        chosen = [[row[place]] for row, place in zip(solved, best, strict=True)]
        scored = self._valid_times(reservoir, data, test, settings, chosen, record, _SCORED_FROM)[:, 0]
        return [
            Outcome(float(row[place]), float(score), ridges[place])
            for row, place, score in zip(tried, best, scored, strict=True)
        ]

    def _valid_times(
        self,
        reservoir: Reservoir,
        data: ChaoticSeries,
        stretch: slice,
        settings: Sequence[Setting],
        solved: Sequence[Sequence[tuple[FloatArray, FloatArray]]],
        record: Any,
        starts: int,
    ) -> FloatArray:
        """Mean valid time [S, P] of free runs of S settings, each with P readouts, from even places of a stretch."""
        num_settings, num_readouts = len(solved), len(solved[0])
        places = np.linspace(stretch.start, stretch.stop - 1, starts).astype(int)
        scaling = np.array([setting.input_scaling for setting in settings])[:, None, None]
        gains = np.array([setting.gain for setting in settings])
        begun, state, at = [], None, 0
        for place in places:
            signal = scaling * data.values[at : place + 1]
            _, state = reservoir.advance(signal, state=state, record=[0], gain=gains)
            begun.append(state.activity)
            at = place + 1
        batch = (num_settings, num_readouts, starts)
        start = np.broadcast_to(np.stack(begun, axis=1)[:, None], (*batch, reservoir.num_neurons))
        weights = np.array([[weights for weights, _ in row] for row in solved])  # [S, P, R, K]
        offsets = np.array([[offset for _, offset in row] for row in solved])[:, :, None]

        def readout(activity: npt.NDArray[Any]) -> FloatArray:
            # a run that has left the series may explode: clipped at 100 spreads it is long invalid, and the others go on
            output = np.clip(activity.reshape(*batch, -1) @ weights + offsets, -100.0, 100.0)
            return np.asarray((scaling[:, None] * output).reshape(-1, self.num_channels))

        horizon = _horizon(data)
        free = reservoir.generate(
            readout,
            horizon,
            state=State(start.reshape(-1, reservoir.num_neurons).astype(reservoir.dtype)),
            record=record,
            gain=np.repeat(gains, num_readouts * starts),
        )
        outputs = free.outputs.reshape(*batch, horizon, self.num_channels) / scaling[:, None, None]
        times = np.empty(batch)
        for setting, readout_number, number in np.ndindex(batch):
            times[setting, readout_number, number] = valid_time(
                data.values[places[number] + 1 : places[number] + 1 + horizon],
                outputs[setting, readout_number, number],
                step=data.step,
                lyapunov_exponent=data.lyapunov_exponent,
            )
        return times.mean(axis=2)


def _horizon(data: ChaoticSeries) -> int:
    return int(np.ceil(_LYAPUNOV_TIMES / (data.step * data.lyapunov_exponent)))


def mackey_glass_free() -> FreeRunTask:
    """Mackey-Glass at delay 17, sampled once a time unit; seeds differ in the constant history.

    >>> mackey_glass_free().draw(Size(), 0).values.shape[1]
    1
    """
    return FreeRunTask("mackey-glass-free", "Mackey-Glass, free run", 1, mackey_glass, (0.93,), (0.4,))


def lorenz_free() -> FreeRunTask:
    """The Lorenz system, sampled at .02; seeds differ in where it starts.

    >>> lorenz_free().draw(Size(), 0).values.shape[1]
    3
    """
    return FreeRunTask("lorenz-free", "Lorenz, free run", 3, lorenz, (0.0, 0.0, 23.5), (8.0, 9.0, 8.5))
