"""A readout that names a class: ridge regression on one target a class, streamed, and the largest wins.

The targets are +1 for the right class and -1 for the others. With two classes this is Fisher's linear discriminant up to scale.
"""

from __future__ import annotations

import reprlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ordinate.arguments import check_choice
from ordinate.errors import ArgumentError, ShapeError
from ordinate.reservoir.readout.ridge import RidgeReadout

__all__ = ["POOLINGS", "ClassReadout", "pool"]

FloatArray = npt.NDArray[np.float64]

POOLINGS = ("last", "mean", "max")
"""How the states of a whole sequence become one row: the last state, their mean, or each neuron's largest."""


def pool(states: npt.ArrayLike, how: str) -> npt.NDArray[Any]:
    """One row for each sequence: states [B, T, N] to [B, N], or [T, N] to [N].

    Args:
        states: of whole sequences.
        how: "last", "mean" or "max".

    Raises:
        UnknownNameError: another word.
        ShapeError: states without a step.

    >>> pool([[1.0, 5.0], [3.0, 0.0]], "mean")
    array([2. , 2.5])
    """
    x = np.asarray(states)
    check_choice("pooling", how, POOLINGS)
    if x.ndim < 2 or x.shape[-2] == 0:
        raise ShapeError("states", expected="[..., T, N] with at least one step", got=f"shape {x.shape}", hint="run some steps")
    return np.asarray({"last": lambda: x[..., -1, :], "mean": lambda: x.mean(axis=-2), "max": lambda: x.max(axis=-2)}[how]())


class ClassReadout:
    """A linear readout that names one of several classes, gathered as a stream.

    Args:
        classes: all labels there may be, distinct, in the order of the scores; two or more.
        ridge: the penalty, at least 0.

    Raises:
        ArgumentError: fewer than two classes, or one twice; a negative ridge.

    >>> readout = ClassReadout(["left", "right"], ridge=1e-3).partial_fit([[0.0], [1.0]], ["left", "right"])
    >>> readout.predict([[0.1], [0.8]]).tolist()
    ['left', 'right']
    """

    def __init__(self, classes: Sequence[Any] | npt.NDArray[Any], *, ridge: float = 1e-6) -> None:
        self.classes = np.asarray(classes)
        if self.classes.ndim != 1 or len(self.classes) < 2 or len(np.unique(self.classes)) != len(self.classes):
            raise ArgumentError(
                "classes",
                expected="two or more distinct labels",
                got=reprlib.repr(self.classes.tolist()),
                hint="np.unique(labels) gives them",
            )
        self._ridge = RidgeReadout(ridge)

    def partial_fit(self, rows: npt.ArrayLike, labels: npt.ArrayLike) -> ClassReadout:
        """Add rows of features [B, N] and their labels [B].

        Raises:
            ArgumentError: a label that is no class, or rows with NaN.
            ShapeError: labels that are not one a row.
        """
        names = np.asarray(labels)
        right = names[..., None] == self.classes
        if not right.any(axis=-1).all():
            known = reprlib.repr(self.classes.tolist())
            stray = names[~right.any(axis=-1)].ravel()[0]
            raise ArgumentError(
                "labels",
                expected=f"one of {known}",
                got=repr(stray),
                hint="name every class at the start",
            )
        self._ridge.partial_fit(rows, np.where(right, 1.0, -1.0))
        return self

    def scores(self, rows: npt.ArrayLike) -> FloatArray:
        """A score for each class, [B, C]; the largest wins."""
        return self._ridge.predict(rows)

    def predict(self, rows: npt.ArrayLike) -> npt.NDArray[Any]:
        """Labels [B]."""
        return np.asarray(self.classes[self.scores(rows).argmax(axis=-1)])

    def solve(self) -> tuple[FloatArray, FloatArray]:
        """Weights [N, C] and intercept [C]."""
        return self._ridge.solve()
