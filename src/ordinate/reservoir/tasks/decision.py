"""Cognitive tasks: a perceptual decision, one that depends on context, and matching to a sample.

The decision is which of two noisy channels was stronger, answered after both have fallen silent.
As in the experiments with moving dots (Gold and Shadlen 2007, doi 10.1146/annurev.neuro.29.051605.113038): a cue, then evidence
for left and right at a given coherence, then a silent delay, then the answer. Since the answer is read after the delay, only a
network that gathers and keeps evidence can give it. What a perfect observer of the same evidence would score is known.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ordinate.arguments import check_integer, check_number
from ordinate.errors import ArgumentError
from ordinate.reservoir.datasets import DecisionTrials, context_decision, decision, delayed_match
from ordinate.reservoir.dynamics.reservoir import Reservoir
from ordinate.reservoir.readout.classes import ClassReadout
from ordinate.reservoir.readout.metrics import accuracy
from ordinate.reservoir.seeds import generator_of
from ordinate.reservoir.tasks.base import Outcome, Setting, Size

__all__ = ["ContextTask", "DecisionTask", "MatchTask"]

FloatArray = npt.NDArray[np.float64]


class _OfTrials:
    """What tasks of trials share: the answer is read from the last state of each."""

    answers: ClassVar[tuple[str, ...]]

    def trials(self, count: int, seed: int | np.random.Generator) -> DecisionTrials:
        """Trials drawn from a seed."""
        raise NotImplementedError

    def draw(self, size: Size, seed: int) -> tuple[DecisionTrials, DecisionTrials, DecisionTrials]:
        """Trials to fit and to choose on, a fifth as many as those stretches have steps, and to score, half as many."""
        generator = generator_of(seed)
        counts = (size.train // 5, size.validation // 5, size.test // 2)
        train, validation, test = (self.trials(count, generator) for count in counts)
        return train, validation, test

    def outcomes(
        self,
        reservoir: Reservoir,
        data: tuple[DecisionTrials, DecisionTrials, DecisionTrials],
        size: Size,
        settings: Sequence[Setting],
        ridges: Sequence[float],
        record: Any,
    ) -> list[Outcome]:
        """What each setting of a reservoir comes to."""
        return [self._outcome(reservoir, data, setting, ridges, record) for setting in settings]

    def _outcome(self, reservoir: Reservoir, data: Any, setting: Setting, ridges: Sequence[float], record: Any) -> Outcome:
        kept = reservoir.kept(record)
        last = [
            reservoir.advance(setting.input_scaling * part.inputs, record=[0], gain=[setting.gain] * len(part.inputs))[
                1
            ].activity
            for part in data
        ]
        train, validation, test = (rows[:, kept] for rows in last)
        labels = [part.answers for part in data]
        readouts = [ClassReadout(list(self.answers), ridge=ridge).partial_fit(train, labels[0]) for ridge in ridges]
        scores = [accuracy(labels[1], readout.predict(validation)) for readout in readouts]
        best = int(np.argmax(scores))
        fitted = readouts[best].partial_fit(validation, labels[1])
        return Outcome(scores[best], accuracy(labels[2], fitted.predict(test)), ridges[best])


@dataclass(frozen=True)
class MatchTask(_OfTrials):
    """Was the second stimulus the same as the first, which was shown before a silent delay (`datasets.delayed_match`)?

    >>> MatchTask().trials(3, 0).inputs.shape
    (3, 20, 3)
    """

    name: str = "match"
    title: str = "delayed match to sample"
    metric: str = "accuracy"
    higher_is_better: bool = True
    num_channels: int = 3
    answers: ClassVar[tuple[str, ...]] = ("match", "other")

    def trials(self, count: int, seed: int | np.random.Generator) -> DecisionTrials:
        """Trials drawn from a seed; at least one."""
        return delayed_match(count, seed)


@dataclass(frozen=True)
class ContextTask(_OfTrials):
    """Which side was stronger, in the one of two sorts of evidence that a cue names (`datasets.context_decision`)?

    >>> ContextTask().trials(3, 0).inputs.shape
    (3, 30, 6)
    """

    name: str = "context"
    title: str = "decision by context"
    metric: str = "accuracy"
    higher_is_better: bool = True
    num_channels: int = 6
    answers: ClassVar[tuple[str, ...]] = ("left", "right")

    def trials(self, count: int, seed: int | np.random.Generator) -> DecisionTrials:
        """Trials drawn from a seed; at least one."""
        return context_decision(count, seed)


@dataclass(frozen=True)
class DecisionTask(_OfTrials):
    """Trials of a cue, evidence and a delay; the score is the share of right answers, read from the last state.

    At each of the `evidence` steps the channels carry (1 + c) / 2 and (1 - c) / 2, the first on the side of the answer, each
    plus normal noise of deviation `noise`.

    Args:
        cue: steps with the fixation cue alone, which stays on until the delay has passed.
        evidence: steps of evidence.
        delay: silent steps afterwards.
        noise: standard deviation in each channel and step.
        coherences: c, drawn evenly.

    Raises:
        ArgumentError: a size below its least, or coherences outside (0, 1].

    >>> task = DecisionTask()
    >>> [round(task.ideal_accuracy(c), 3) for c in (0.032, 0.128, 0.512)]
    [0.58, 0.791, 0.999]
    """

    cue: int = 5
    evidence: int = 20
    delay: int = 5
    noise: float = 0.5
    coherences: tuple[float, ...] = (0.032, 0.064, 0.128, 0.256, 0.512)
    name: str = "decision"
    title: str = "perceptual decision"
    metric: str = "accuracy"
    higher_is_better: bool = True
    num_channels: int = 3
    answers: ClassVar[tuple[str, ...]] = ("left", "right")

    def __post_init__(self) -> None:
        for name, least in (("cue", 0), ("evidence", 1), ("delay", 0), ("noise", 0)):
            check_number(name, getattr(self, name), minimum=least)
        if not self.coherences or not all(0 < c <= 1 for c in self.coherences):
            raise ArgumentError("coherences", expected="shares in (0, 1]", got=self.coherences, hint="such as (0.1, 0.5)")

    def ideal_accuracy(self, coherence: float) -> float:
        """What summing both channels and comparing would score: Φ(c √evidence / (√2 noise))."""
        if self.noise == 0:
            return 1.0
        return 0.5 * (1 + math.erf(coherence * math.sqrt(self.evidence) / (2 * self.noise)))

    def trials(self, count: int, seed: int | np.random.Generator) -> DecisionTrials:
        """Trials drawn from a seed.

        Args:
            count: how many, at least 1.
            seed: or a generator.

        Raises:
            ArgumentError: fewer than one.
        """
        check_integer("count", count, minimum=1)
        return decision(
            count,
            seed,
            cue=self.cue,
            evidence=self.evidence,
            delay=self.delay,
            noise=self.noise,
            coherences=self.coherences,
        )
