"""Labels of every kind that a user may have: taken where they are plain, else one error that names them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from ordinate.errors import ArgumentError, ArgumentTypeError
from ordinate.logic import Circuit, GrowthSettings, InputThresholds, grow

X = np.random.default_rng(0).integers(0, 256, (300, 4)).astype(np.uint8)
NUMBERS = ((X[:, 0] > 95) & (X[:, 1] > 95)).astype(np.int64)
SETTINGS = GrowthSettings(gates=1, replacements=0, rows=4, columns=4, pair_sample=256, choice_sample=256, patience=1)


def grown(x: Any, y: Any, **options: Any) -> Circuit:
    return grow((x[:200], y[:200]), (x[200:], y[200:]), 95, SETTINGS, **options).circuit


@pytest.mark.parametrize(
    "labels",
    [
        NUMBERS,
        NUMBERS.astype(np.uint8),
        NUMBERS.astype(bool),
        NUMBERS.astype(np.float64),
        NUMBERS[:, None],
        NUMBERS.tolist(),
        torch.from_numpy(NUMBERS),
        torch.from_numpy(NUMBERS).float().unsqueeze(1),
    ],
    ids=["int64", "uint8", "bool", "float", "column", "list", "tensor", "float column"],
)
def test_the_same_classes_in_another_type_grow_the_same_circuit(labels: Any) -> None:
    expected, circuit = grown(X, NUMBERS), grown(X, labels)
    assert circuit.labels == (0, 1)
    assert [vote.weights.tolist() for vote in circuit.votes] == [vote.weights.tolist() for vote in expected.votes]
    assert circuit.tables.tolist() == expected.tables.tolist()
    assert (circuit.predict(X > 95) == NUMBERS).all()


@pytest.mark.parametrize("dtype", [str, object])
def test_text_labels_become_the_circuits_labels_in_order(dtype: Any, tmp_path: Any) -> None:
    circuit = grown(X, np.where(NUMBERS, "yes", "no").astype(dtype))
    assert circuit.labels == ("no", "yes")
    assert (circuit.predict(X > 95) == NUMBERS).all()
    circuit.save(tmp_path / "c.json")
    assert Circuit.load(tmp_path / "c.json").labels == ("no", "yes")


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (NUMBERS + 0.5, "train labels: expected labels that are integers or text, got float64 such as"),
        (np.where(NUMBERS, np.nan, 0), "train labels: expected labels that are integers or text"),
        (NUMBERS.astype(complex), "train labels: expected labels that are integers or text"),
        (np.stack([NUMBERS, NUMBERS], 1), r"train labels: expected labels \[N\], got shape \[200, 2\]"),
        ([None] * 300, "train labels: expected labels that are integers or text"),
        (NUMBERS - 1, "train: expected labels from 0 on, got -1"),
        (NUMBERS * 10**12, "train: expected labels that number the classes from 0"),
        (NUMBERS * 2, "train: expected images of every class, got none of class 1"),
        (NUMBERS * 0, "train: expected at least two classes, got one"),
        (NUMBERS[:250], "validation: expected a label for each image"),
    ],
)
def test_other_labels_are_refused(labels: Any, message: str) -> None:
    with pytest.raises((ArgumentError, ArgumentTypeError), match=message):
        grown(X, labels)


def test_validation_must_know_the_same_classes() -> None:
    text = np.where(NUMBERS, "yes", "no")
    with pytest.raises(ArgumentError, match="validation: expected labels of train: no, yes, got maybe"):
        grow((X, text), (X[:1], ["maybe"]), 95, SETTINGS)
    with pytest.raises(ArgumentError, match="validation: expected labels of the same kind"):
        grow((X, text), (X[:1], [0]), 95, SETTINGS)
    with pytest.raises(ArgumentError, match="labels: expected 2, one a class, got 3"):
        grown(X, NUMBERS, labels=("a", "b", "c"))


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (np.where(X > 3, X, np.nan), "train: expected finite numbers"),
        (X.astype(str), "train: expected images"),
        (X[:, 0], "train: expected images"),
        (X[:, :0], "train: expected images"),
    ],
)
def test_numbers_must_be_numbers(x: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        grown(x, NUMBERS)


def test_thresholds_may_be_several_for_a_feature_and_of_any_unit() -> None:
    x = X / 1000
    thresholds = InputThresholds(4, [0, 0, 1, 2, 3], [0.05, 0.095, 0.095, 0.1, 0.1])
    circuit = grow((x[:200], NUMBERS[:200]), (x[200:], NUMBERS[200:]), thresholds, SETTINGS).circuit
    assert circuit.inputs is thresholds
    assert (circuit.predict(thresholds.bits(x)) == NUMBERS).all()
