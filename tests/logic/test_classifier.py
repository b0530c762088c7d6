"""`LogicClassifier` behaves as scikit-learn's estimators do, and its circuit is what predicts."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from ordinate.errors import ArgumentError, RefusedError, UnknownNameError
from ordinate.logic import Circuit, LogicClassifier

X, Y = load_iris(return_X_y=True)


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.filterwarnings("ignore:Skipping check")
@pytest.mark.parametrize("options", [{}, {"method": "trained"}], ids=["grown", "trained"])
def test_scikit_learns_own_checks(options: dict) -> None:
    check_estimator(LogicClassifier(gates=30, **options))


@pytest.mark.in_turn(2)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"method": "trained", "thresholds": "learned"},
        {"thresholds": "uniform", "bits_per_feature": 2},
        {"method": "trained", "gate_inputs": 4},
    ],
    ids=["grown", "learned", "uniform", "tables of four"],
)
def test_the_circuit_with_its_thresholds_is_what_predicts(options: dict, tmp_path) -> None:
    names = np.array(["setosa", "versicolor", "virginica"])[Y]
    classifier = LogicClassifier(gates=24, epochs=15, **options).fit(X[::2], names[::2])
    assert classifier.score(X[1::2], names[1::2]) > 0.8
    assert classifier.circuit_.num_gates <= 24 * (1 if options.get("gate_inputs", 2) == 2 else 13)
    classifier.circuit_.save(tmp_path / "c.json")
    circuit = Circuit.load(tmp_path / "c.json")
    assert circuit.inputs is not None
    bits = X[:, circuit.inputs.feature] > circuit.inputs.threshold
    assert np.array_equal(circuit.inputs.bits(X), bits)
    assert np.array_equal(classifier.predict(X), classifier.classes_[circuit.predict(bits)])
    shares = classifier.predict_proba(X)
    np.testing.assert_allclose(shares.sum(1), 1)
    scores = circuit.evaluate(bits)
    np.testing.assert_allclose(shares, np.exp(scores) / np.exp(scores).sum(1, keepdims=True))


def test_a_data_frame_is_taken_with_its_names_text_labels_and_in_a_pipeline() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=["a", "b", "c", "d"])
    labels = pandas.Series(np.array(["setosa", "versicolor", "virginica"])[Y])
    for options in ({}, {"method": "trained", "thresholds": "learned", "bits_per_feature": "auto", "epochs": 8}):
        classifier = LogicClassifier(gates=24, **options).fit(frame[::2], labels[::2])
        assert classifier.feature_names_in_.tolist() == ["a", "b", "c", "d"]
        assert classifier.score(frame[1::2], labels[1::2]) > 0.8
        with pytest.raises(ValueError, match="same order"):
            classifier.predict(frame[["d", "c", "b", "a"]])
    scaled = make_pipeline(StandardScaler().set_output(transform="pandas"), LogicClassifier(gates=24))
    assert scaled.fit(frame[::2], labels[::2]).score(frame[1::2], labels[1::2]) > 0.8


def test_it_stands_in_a_pipeline_and_chooses_its_bits() -> None:
    pipeline = make_pipeline(StandardScaler(), LogicClassifier(gates=8, bits_per_feature="auto")).fit(X[::2], Y[::2])
    assert pipeline[-1].bits_per_feature_ in (1, 2, 4, 8, 16)
    assert pipeline.score(X[1::2], Y[1::2]) > 0.85


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"method": "boosted"}, UnknownNameError, "method: expected 'grown' or 'trained'"),
        ({"thresholds": "learned"}, ArgumentError, "'quantile' or 'uniform' with method='grown'"),
        ({"gate_inputs": 4}, ArgumentError, "gate_inputs: expected 2 with method='grown'"),
        ({"method": "trained", "gate_inputs": 7}, ArgumentError, "gate_inputs: expected an integer from 2 to 6"),
        ({"bits_per_feature": 0}, ArgumentError, "bits_per_feature: expected an integer from 1 to 1024"),
        ({"validation_fraction": 1.0}, ArgumentError, "validation_fraction"),
        ({"random_state": -1}, ArgumentError, "random_state"),
    ],
)
def test_wrong_arguments_are_refused_at_fit(options: dict, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        LogicClassifier(**options).fit(X, Y)


def test_constant_columns_are_left_out_and_nothing_but_such_is_refused() -> None:
    x = np.column_stack([np.ones(len(X)), X[:, 2]])
    assert set(LogicClassifier(gates=3).fit(x, Y).circuit_.inputs.feature.tolist()) == {1}
    with pytest.raises(ArgumentError, match="two classes"):
        LogicClassifier().fit(X, np.zeros(len(X)))


def test_integers_past_what_float64_tells_apart_are_refused_where_they_differ_by_less() -> None:
    wide = np.arange(40, dtype=np.int64)[:, None] + 2**53
    with pytest.raises(RefusedError, match=r"integers that become \d+ in column 1; subtract"):
        LogicClassifier(gates=4).fit(wide, np.arange(40) % 2)
    apart, late = 16 * np.arange(40, dtype=np.int64)[:, None] + 2**53, np.arange(40) >= 20
    assert LogicClassifier(gates=4).fit(apart, late).score(apart, late) > 0.8
