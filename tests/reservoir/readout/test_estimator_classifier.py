"""The classifier passes scikit-learn's checks, labels whole sequences, and treats each of them alone."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks

from ordinate.errors import ArgumentError, ArgumentTypeError, ShapeError
from ordinate.reservoir import Connectome
from ordinate.reservoir.readout.estimators import EchoStateClassifier

SKIPPED = {
    "check_array_api_input": "needs SCIPY_ARRAY_API in the environment; the estimator works on numpy arrays",
    "check_classifier_data_not_an_array": "needs pandas",
}


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks([EchoStateClassifier(units=30)])
def test_scikit_learns_checks_pass(estimator, check):
    check(estimator)


@pytest.mark.filterwarnings("ignore")
def test_no_check_fails_and_those_skipped_are_named_here_with_the_reason():
    result = check_estimator(EchoStateClassifier(units=10), on_fail=None, on_skip=None)
    assert {row["check_name"] for row in result if row["status"] in ("failed", "xfail")} == set()
    assert {row["check_name"] for row in result if row["status"] == "skipped"} <= set(SKIPPED)
    assert sum(row["status"] == "passed" for row in result) > 45


def order_of_two_pulses(count=120, steps=30, seed=0):
    """Two channels, one pulse each: the label is which came first. The sums over time tell nothing."""
    generator = np.random.default_rng(seed)
    X, first = np.zeros((count, steps, 2)), generator.integers(0, 2, count)
    for row, channel in enumerate(first):
        early, late = sorted(generator.choice(steps - 5, 2, replace=False))
        X[row, early, channel], X[row, late, 1 - channel] = 1.0, 1.0
    return X, np.where(first == 0, "left", "right")


def model(**settings):
    return EchoStateClassifier(**{"units": 80, "leak_rate": 0.5, "ridge": 1e-3, "random_state": 0, **settings})


def test_it_learns_an_order_that_the_sums_over_time_do_not_hold():
    (X, y), (fresh, expected) = order_of_two_pulses(), order_of_two_pulses(200, seed=1)
    assert model().fit(X, y).score(fresh, expected) > 0.9
    assert RidgeClassifier().fit(X.sum(axis=1), y).score(fresh.sum(axis=1), expected) < 0.65


def test_two_dimensional_rows_are_sequences_of_one_channel():
    X, y = order_of_two_pulses()
    flat = X[:, :, 0] - X[:, :, 1]
    as_rows, as_sequences = model().fit(flat, y), model().fit(flat[:, :, None], y)
    np.testing.assert_array_equal(as_rows.predict(flat), as_sequences.predict(flat[:, :, None]))
    assert (as_rows.n_features_in_, as_sequences.n_features_in_) == (30, 1)


def test_each_sequence_is_run_alone_from_rest_whatever_stands_beside_it_and_of_any_length():
    X, y = order_of_two_pulses()
    parts = [x[: 30 - row % 3] for row, x in enumerate(X)]
    fitted = model().fit(parts, y)
    together = fitted.decision_function(parts)
    alone = np.array([fitted.decision_function([part])[0] for part in parts])
    np.testing.assert_allclose(alone, together, atol=1e-9)
    np.testing.assert_allclose(fitted.decision_function(parts[::-1]), together[::-1], atol=1e-9)


def test_cross_validation_over_sequences_of_an_array_and_of_a_list():
    X, y = order_of_two_pulses()
    by_array, by_list = (cross_val_score(model(), result, y, cv=3) for result in (X, list(X)))
    np.testing.assert_array_equal(by_array, by_list)
    assert by_array.mean() > 0.85


def test_a_small_batch_budget_gives_the_same_result(monkeypatch):
    X, y = order_of_two_pulses(40)
    before = model().fit(X, y).decision_function(X)
    monkeypatch.setattr("ordinate.reservoir.readout.estimators._BATCH_STATES", 1)
    np.testing.assert_allclose(model().fit(X, y).decision_function(X), before, atol=1e-7)


def test_washout_leaves_the_first_states_out_of_the_pool():
    X, y = order_of_two_pulses(40)
    fitted = model(washout=10).fit(X, y)
    states = fitted.reservoir_.run(X)
    np.testing.assert_allclose(fitted._pooled(list(X)), states[:, 10:].mean(axis=1), atol=1e-12)
    last = model(pooling="last", washout=10).fit(X, y)
    np.testing.assert_allclose(last._pooled(list(X)), states[:, -1], atol=1e-12)


def test_three_classes_with_a_connectome_clone_pickle_and_grid_search():
    generator = np.random.default_rng(0)
    pace = np.repeat([0.2, 0.45, 0.9], 20)
    X = np.sin(pace[:, None] * np.arange(40) + generator.uniform(0, 6, (60, 1)))
    built = EchoStateClassifier(
        connectome=Connectome.synthetic(), stimulus="sensory", spectral_radius=0.8, bias=0.3, random_state=0
    )
    fitted = clone(built).fit(X[::2], pace[::2].astype(str))
    assert fitted.score(X[1::2], pace[1::2].astype(str)) > 0.9
    assert fitted.decision_function(X).shape == (60, 3)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).predict(X), fitted.predict(X))
    np.testing.assert_array_equal(
        clone(fitted).fit(X[::2], pace[::2].astype(str)).decision_function(X), fitted.decision_function(X)
    )
    search = GridSearchCV(built, {"pooling": ["last", "mean"], "ridge": [1e-4, 1e-1]}, cv=3).fit(X, pace.astype(str))
    assert search.best_score_ > 0.8


def test_every_parameter_changes_the_output():
    X, y = order_of_two_pulses(40)
    usual = {"units": 30, "bias": 0.2, "random_state": 0}
    before = EchoStateClassifier(**usual).fit(X, y).decision_function(X)
    changes = (
        {"units": 31}, {"connectome": Connectome.synthetic()}, {"spectral_radius": 0.5}, {"leak_rate": 0.5}, {"bias": 0.5},
        {"input_scaling": 0.3}, {"connectivity": 0.3}, {"activation": "relu"}, {"ridge": 1.0}, {"washout": 5},
        {"pooling": "last"}, {"stimulus": [0, 1, 2]}, {"readout": [0, 1, 2]}, {"random_state": 1},
    )  # fmt: skip
    for change in changes:
        after = EchoStateClassifier(**{**usual, **change}).fit(X, y).decision_function(X)
        assert np.abs(after - before).max() > 1e-9, change
    assert {name for change in changes for name in change} == set(EchoStateClassifier().get_params()) - {"dtype"}


X40, Y40 = order_of_two_pulses(40)


@pytest.mark.parametrize(
    ("call", "error", "told"),
    [
        (lambda: model(washout=30).fit(X40, Y40), ArgumentError, r"X\[0\]: expected more steps than the washout of 30"),
        (
            lambda: model(pooling="median").fit(X40, Y40),
            ArgumentError,
            "pooling: expected one of last, mean, max, got 'median'",
        ),
        (lambda: model().fit(X40, ["left"] * 40), ArgumentError, "y: expected at least two classes, got 1 class"),
        (lambda: model().fit(X40, Y40[:-1]), ArgumentError, "y: .*inconsistent numbers of samples"),
        (lambda: model().fit(X40, np.linspace(0, 1, 40)), ArgumentError, "y: .*Unknown label type"),
        (lambda: model().fit(X40 * np.nan, Y40), ArgumentError, r"X\[0\]: expected finite"),
        (lambda: model().fit(X40[:, :0], Y40), ShapeError, r"X\[0\]: .*at least one step"),
        (lambda: model().fit([["a", "b"]], Y40), ArgumentError, "X: "),
        (lambda: model().fit([np.array([["a"]])] * 40, Y40), ArgumentTypeError, "real numbers"),
        (lambda: model().fit(X40, Y40).predict(X40[:, :, :1]), ShapeError, r"X\[0\]: expected \[T, 2\]"),
        (lambda: model().fit(X40[:, :, 0], Y40).predict(X40[:, 1:, 0]), ArgumentError, "X has 29 features"),
    ],
)
def test_what_cannot_be_classified_is_refused_with_a_reason(call, error, told):
    with pytest.raises(error, match=told):
        call()
