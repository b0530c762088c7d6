"""Growing a circuit gate by gate: no relaxation, no wiring given beforehand, and what is trained is what runs.

Each round looks at what the circuit still gets wrong, scores every pair of its signals under every two-input function
(`growth_candidates`), builds the best pairs and adds some of them, one after another, as votes and as new signals
(`growth_votes`); then temperature and bias are found anew. At the end all gates vote again, the least useful ones are cut, and
others are grown in their place. It is gradient boosting (Friedman 2001, Annals of Statistics 29(5)) whose weak learners are
gates and whose weights are votes of plus or minus one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ordinate.errors import ArgumentError, ShapeError
from ordinate.logic.circuit import Circuit
from ordinate.logic.distortion import distorted
from ordinate.logic.growth_run import GrowthRun
from ordinate.logic.growth_settings import GrowthRound, GrowthSettings
from ordinate.logic.growth_state import GrowthState
from ordinate.logic.input_thresholds import InputThresholds

__all__ = ["GrownCircuit", "grow"]

Images = npt.NDArray[np.uint8]
Labels = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class GrownCircuit:
    """What growth came to.

    Args:
        circuit: the circuit of the least validation loss.
        rounds: what was known after each round.
    """

    circuit: Circuit
    rounds: tuple[GrowthRound, ...]


def grow(
    train: tuple[Images, Labels],
    validation: tuple[Images, Labels],
    threshold: float,
    settings: GrowthSettings,
    *,
    labels: tuple[int, ...] | None = None,
    checkpoint: str | Path | None = None,
    on_round: Callable[[GrowthRound], None] | None = None,
) -> GrownCircuit:
    """Grow a circuit that tells images apart.

    Args:
        train: images uint8 [N, height, width], or rows of numbers uint8 [N, features], and labels int64 [N] from 0 on.
        validation: likewise; nothing is learned from it, it says when to stop.
        threshold: a pixel above it is a 1.
        settings: how many gates, and how they are looked for. Distorted copies are made of images only.
        labels: what the classes are called; 0, 1, 2, ... if not given.
        checkpoint: a file that is written after each round; where it is there already, growth goes on from it and comes to the
            same circuit as if it had never stopped.
        on_round: called after each round.

    Raises:
        ArgumentError: fewer than two classes, a class without images, labels and images of other numbers.
        ShapeError: validation images of another size.
        DataError: a checkpoint of other settings or data.

    >>> images = np.random.default_rng(0).integers(0, 256, (400, 4, 4)).astype(np.uint8)
    >>> labels = ((images[:, 0, 0] > 95) & (images[:, 3, 3] > 95)).astype(np.int64)
    >>> grown = grow((images[:300], labels[:300]), (images[300:], labels[300:]), 95, GrowthSettings(gates=1, copies=0))
    >>> grown.circuit.num_gates, grown.rounds[-1].validation_accuracy
    (1, 1.0)
    """
    num_classes = _check(train, validation)
    state = GrowthState(
        _with_copies(train, threshold, settings),
        _as_bits(validation, threshold),
        num_classes,
        settings.gates,
        settings.least_tau,
    )
    run = GrowthRun(state, settings, None if checkpoint is None else Path(checkpoint), on_round)
    run.to_the_end()
    thresholds = InputThresholds.uniform(state.num_inputs, threshold)
    names = tuple(range(num_classes)) if labels is None else labels
    notes = {"grown": {"rounds": len(run.rounds), "seed": settings.seed, "votes_per_gate": settings.votes_per_gate}}
    return GrownCircuit(state.to_circuit(thresholds, names, notes), tuple(run.rounds))


def _as_bits(known: tuple[Images, Labels], threshold: float) -> tuple[npt.NDArray[np.bool_], Labels]:
    images, labels = known
    return (images > threshold).reshape(len(images), -1), np.asarray(labels, dtype=np.int64)


def _with_copies(
    known: tuple[Images, Labels], threshold: float, settings: GrowthSettings
) -> tuple[npt.NDArray[np.bool_], Labels]:
    """The images' bits, and those of their distorted copies."""
    bits, labels = _as_bits(known, threshold)
    copies = settings.copies if known[0].ndim == 3 else 0
    parts = [bits]
    for copy in range(copies):
        images = distorted(known[0], seed=settings.seed * 1000 + copy, strength=settings.strength)
        parts.append((images > threshold).reshape(len(images), -1))
    return np.concatenate(parts), np.tile(labels, copies + 1)


def _check(train: tuple[Images, Labels], validation: tuple[Images, Labels]) -> int:
    """The number of classes."""
    for name, (images, labels) in (("train", train), ("validation", validation)):
        if len(images) != len(labels) or not len(labels):
            raise ArgumentError(
                name, expected="a label for each image, and images", got=f"{len(images)} and {len(labels)}", hint="pair them"
            )
        if np.min(labels) < 0:
            raise ArgumentError(name, expected="labels from 0 on", got=int(np.min(labels)), hint="number the classes from 0")
    if train[0].shape[1:] != validation[0].shape[1:]:
        raise ShapeError(
            "validation",
            expected=f"images of {train[0].shape[1:]}, as those to learn from",
            got=validation[0].shape[1:],
            hint="give images of one size",
        )
    counts = np.bincount(train[1])
    if len(counts) < 2:
        raise ArgumentError("train", expected="at least two classes", got="one", hint="give images of another class")
    if not counts.all():
        raise ArgumentError(
            "train", expected="images of every class", got=f"none of class {int(counts.argmin())}", hint="leave that class out"
        )
    if np.max(validation[1]) >= len(counts):
        raise ArgumentError(
            "validation", expected=f"labels below {len(counts)}", got=int(np.max(validation[1])), hint="use the same classes"
        )
    return len(counts)
