"""The classifying readout is ridge regression on ±1, streamed, and agrees with scikit-learn's RidgeClassifier."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import RidgeClassifier

from ordinate.errors import ArgumentError, ShapeError
from ordinate.reservoir.readout.classes import ClassReadout, pool


@pytest.mark.parametrize("classes", [2, 3])
def test_it_decides_as_scikit_learns_ridge_classifier(classes):
    x, y = load_iris(return_X_y=True)
    x, y = x[y < classes], y[y < classes]
    readout = ClassReadout(range(classes), ridge=1.0)
    for part in np.array_split(np.arange(len(x)), 4):
        readout.partial_fit(x[part], y[part])
    theirs = RidgeClassifier(alpha=1.0).fit(x, y)
    np.testing.assert_array_equal(readout.predict(x), theirs.predict(x))
    decision = theirs.decision_function(x)
    np.testing.assert_allclose(readout.scores(x)[:, -1], decision if classes == 2 else decision[:, -1], atol=1e-8)


def test_labels_of_any_type_come_back_as_they_were():
    rows = [[0.0], [1.0], [5.0], [6.0]]
    readout = ClassReadout(np.array(["left", "right"])).partial_fit(rows, ["left", "left", "right", "right"])
    assert readout.predict([[0.5], [5.5]]).tolist() == ["left", "right"]


def test_pooling_takes_the_last_the_mean_or_the_largest():
    states = np.arange(12.0).reshape(2, 3, 2) * [1, -1]
    np.testing.assert_array_equal(pool(states, "last"), states[:, -1])
    np.testing.assert_array_equal(pool(states, "mean"), states.mean(axis=1))
    np.testing.assert_array_equal(pool(states, "max"), states.max(axis=1))


@pytest.mark.parametrize(
    ("call", "error", "told"),
    [
        (lambda: ClassReadout(["a"]), ArgumentError, "two or more distinct labels"),
        (lambda: ClassReadout(["a", "a"]), ArgumentError, "two or more distinct labels"),
        (lambda: ClassReadout(["a", "b"]).partial_fit([[1.0]], ["c"]), ArgumentError, r"one of \['a', 'b'\], got .*'c'"),
        (lambda: ClassReadout(["a", "b"]).partial_fit([[1.0], [2.0]], ["a"]), ShapeError, "one row for each of 2"),
        (lambda: pool(np.ones((2, 3, 4)), "median"), ArgumentError, "one of last, mean, max"),
        (lambda: pool(np.ones((2, 0, 4)), "mean"), ShapeError, "at least one step"),
    ],
)
def test_what_cannot_be_classified_is_refused_with_a_reason(call, error, told):
    with pytest.raises(error, match=told):
        call()
