"""What the estimators take as X and y, and how it becomes sequences.

| X | to the regressor | to the classifier |
|---|---|---|
| array [T, F] | one sequence of T steps | T sequences of one channel and F steps, as time-series collections are kept |
| array [B, T, F], list of [T_b, F] | B sequences | B sequences |

The two-dimensional readings are what makes the estimators scikit-learn's: a regressor's rows are time steps, so that cross
validation by `TimeSeriesSplit` means what it says, and a classifier's rows are independent samples, so that they can be
shuffled. Two-dimensional input is checked by scikit-learn itself, and its words stand inside our messages.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, column_or_1d, validate_data

from ordinate.errors import ArgumentError, ArgumentTypeError, ShapeError

__all__ = ["class_labels", "is_collection", "read_collection", "read_rows", "regression_targets"]

FloatArray = npt.NDArray[np.float64]


def is_collection(X: Any) -> bool:
    """Whether X is several sequences: an array [B, T, F], or a list or tuple of arrays [T, F]."""
    if isinstance(X, list | tuple):
        return len(X) > 0 and all(np.ndim(part) == 2 for part in X)
    return bool(getattr(X, "ndim", 0) == 3)


def read_rows(estimator: Any, X: Any, *, reset: bool) -> FloatArray:
    """X as scikit-learn's own check passes it, [rows, columns]; with `reset` the columns are remembered."""
    return np.asarray(_told_by_sklearn("X", lambda: validate_data(estimator, X, reset=reset, dtype=np.float64)))


def read_collection(estimator: Any, X: Any, *, reset: bool) -> list[FloatArray]:
    """X as a list of finite arrays [T, F]; with `reset` F is remembered, else held against what was remembered."""
    parts = [np.asarray(_as_floats(part)) for part in X]
    if not parts:
        raise ArgumentError("X", expected="at least one sequence", got="none", hint="give [B, T, F] or a list of [T, F]")
    if reset:
        estimator.n_features_in_ = int(parts[0].shape[1])
    for number, part in enumerate(parts):
        if part.ndim != 2 or part.shape[1] != estimator.n_features_in_ or len(part) == 0:
            raise ShapeError(
                f"X[{number}]",
                expected=f"[T, {estimator.n_features_in_}] with at least one step",
                got=f"shape {part.shape}",
                hint="all sequences have the channels that the first one had at fit",
            )
        if not np.isfinite(part).all():
            raise ArgumentError(f"X[{number}]", expected="finite numbers", got="NaN or infinity", hint="fill or cut the gaps")
    return parts


def regression_targets(y: Any, lengths: list[int], collection: bool) -> tuple[list[FloatArray], bool]:
    """Targets as one array [T, K] a sequence, in the lengths of the sequences, and whether they came as [T]."""
    if y is None:
        raise ArgumentError(
            "y", expected="targets", got="None (fit requires y to be passed, but the target y is None)", hint="call fit(X, y)"
        )
    parts = [y] if not collection else list(y)
    if len(parts) != len(lengths):
        raise ShapeError("y", expected=f"targets of {len(lengths)} sequences", got=f"{len(parts)}", hint="one array a sequence")
    found: list[FloatArray] = []
    flat = False
    for number, (part, length) in enumerate(zip(parts, lengths, strict=True)):
        name = f"y[{number}]" if collection else "y"
        array = _as_floats(part)
        if array.ndim not in (1, 2) or array.size == 0:
            raise ShapeError(name, expected="[T] or [T, K]", got=f"shape {array.shape}", hint="one row a step")
        if len(array) != length:
            _told_by_sklearn(name, partial(check_consistent_length, np.empty(length), array))
        if not np.isfinite(array).all():
            raise ArgumentError(name, expected="finite numbers", got="NaN or infinity", hint="fill or cut the gaps")
        found.append(array.reshape(length, -1))
        flat = array.ndim == 1
        if found[-1].shape[1] != found[0].shape[1]:
            raise ShapeError(
                name,
                expected=f"{found[0].shape[1]} columns, as y[0]",
                got=f"{found[-1].shape[1]}",
                hint="give the same targets",
            )
    return found, flat


def class_labels(y: Any, count: int) -> npt.NDArray[Any]:
    """One label for each of `count` sequences, [B], of two classes or more."""
    if y is None:
        raise ArgumentError(
            "y", expected="labels", got="None (fit requires y to be passed, but the target y is None)", hint="call fit(X, y)"
        )

    def checked() -> npt.NDArray[Any]:
        labels = np.asarray(column_or_1d(y, warn=True))
        check_classification_targets(labels)
        check_consistent_length(np.empty(count), labels)
        return labels

    labels: npt.NDArray[Any] = _told_by_sklearn("y", checked)
    classes = np.unique(labels)
    if len(classes) < 2:
        raise ArgumentError("y", expected="at least two classes", got=f"1 class, {classes.tolist()}", hint="add the others")
    return labels


def _as_floats(values: Any) -> FloatArray:
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as problem:
        raise ArgumentTypeError("X, y", expected="arrays of real numbers", got=str(problem), hint="convert them") from None


def _told_by_sklearn(name: str, check: Callable[[], Any]) -> Any:
    """Run one of scikit-learn's checks; what it raises becomes one of the house's errors with its words inside."""
    try:
        return check()
    except TypeError as problem:
        raise ArgumentTypeError(
            name, expected="dense arrays of real numbers", got=" ".join(str(problem).split()), hint="convert them"
        ) from problem
    except ValueError as problem:
        raise ArgumentError(
            name, expected="what scikit-learn's check passes", got=" ".join(str(problem).split()), hint="see ordinate.reservoir"
        ) from problem
