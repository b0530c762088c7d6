"""What a network is trained with, and what is told about each epoch."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ordinate.errors import ArgumentError, UnknownNameError

__all__ = ["SCHEDULES", "EpochReport", "TrainingSettings"]

SCHEDULES = ("constant", "cosine", "linear")


@dataclass(frozen=True)
class TrainingSettings:
    """How a network is trained: Adam on cross-entropy.

    Args:
        epochs: passes over the training set, at most.
        batch_size: examples a step.
        learning_rate: the largest.
        schedule: "constant", "cosine" (down to 0 along half a cosine) or "linear" (down to 0).
        warmup_steps: steps over which the rate rises from 0.
        weight_decay: of the gates' logits (AdamW); pulls gates back to undecided.
        patience: epochs without a better validation accuracy after which training stops.
        seed: of the order of the examples, and of sampled gates.

    Raises:
        ArgumentError: a number out of range.
        UnknownNameError: another schedule.

    >>> settings = TrainingSettings(epochs=2, schedule="linear", warmup_steps=2, learning_rate=1.0)
    >>> [settings.rate(step, steps=10) for step in (0, 1, 6, 10)]
    [0.5, 1.0, 0.5, 0.0]
    """

    epochs: int = 20
    batch_size: int = 128
    learning_rate: float = 0.1
    schedule: str = "cosine"
    warmup_steps: int = 0
    weight_decay: float = 0.0
    patience: int = 10
    seed: int = 0

    def __post_init__(self) -> None:
        for name, least in (("epochs", 1), ("batch_size", 1), ("warmup_steps", 0), ("patience", 1)):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < least:
                raise ArgumentError(name, expected=f"an integer of at least {least}", got=value, hint="correct it")
        if not (self.learning_rate > 0 and math.isfinite(self.learning_rate)):
            raise ArgumentError("learning_rate", expected="above 0", got=self.learning_rate, hint="0.1 is usual")
        if not 0 <= self.weight_decay < 1:
            raise ArgumentError("weight_decay", expected="from 0 to below 1", got=self.weight_decay, hint="0 is usual")
        if self.schedule not in SCHEDULES:
            raise UnknownNameError("schedule", expected=f"one of {', '.join(SCHEDULES)}", got=self.schedule, hint="as listed")

    def rate(self, step: int, steps: int) -> float:
        """The learning rate of step `step` of `steps`."""
        if step < self.warmup_steps:
            return self.learning_rate * (step + 1) / self.warmup_steps
        done = (step - self.warmup_steps) / max(1, steps - self.warmup_steps)
        shape = {"constant": 1.0, "linear": 1 - done, "cosine": (1 + math.cos(math.pi * done)) / 2}[self.schedule]
        return self.learning_rate * shape


@dataclass(frozen=True)
class EpochReport:
    """What is known after an epoch.

    Args:
        epoch: from 1 on.
        train_loss: mean over the epoch's steps.
        soft_accuracy: validation accuracy of the relaxed network.
        hard_accuracy: of the discrete one, which is what counts.
        learning_rate: of the last step.
        cpu_seconds: since the start, of this process.
    """

    epoch: int
    train_loss: float
    soft_accuracy: float
    hard_accuracy: float
    learning_rate: float
    cpu_seconds: float
