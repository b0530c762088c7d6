"""`LogicClassifier`: logic circuits on anyone's table, as a scikit-learn estimator."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from ordinate.arguments import check_choice, check_integer, check_number
from ordinate.errors import ArgumentError
from ordinate.logic.circuit.circuit import Circuit
from ordinate.logic.circuit.input_thresholds import InputThresholds
from ordinate.logic.circuit.runtime import class_scores, predict_classes
from ordinate.logic.growth.grow import GrowthSettings, grow
from ordinate.logic.network.training import EpochReport, Training, TrainingSettings

__all__ = ["LogicClassifier", "split_rows", "table_growth", "train_on_table"]

_BITS_TRIED = (1, 2, 4, 8, 16)


class LogicClassifier(ClassifierMixin, BaseEstimator):
    """A circuit of two-input gates behind thermometer codes of the features.

    Each feature is compared with a few thresholds, a circuit of gates on these bits is grown or trained, and its counts of
    votes decide. Everything ends up in `circuit_`, which can be simplified, proven, and emitted as C or Verilog with its
    thresholds.

    Args:
        method: "grown", gate by gate, or "trained", dense layers by gradient descent.
        gates: two-input gates, at most; of trained networks in all layers together.
        bits_per_feature: thresholds for a feature, at most, or "auto": the number among 1, 2, 4, 8 and 16 whose circuit has the
            best validation accuracy, of equal ones the smallest.
        thresholds: "quantile" or "uniform"; "learned" starts from quantiles and is trained with the gates and then frozen (only
            with "trained").
        layers: of a trained network.
        gate_inputs: inputs of a node of a trained network, 2 to 6; past two, `gates` counts look-up tables, and the circuit has
            them in gates of two inputs.
        epochs: of a trained network, at most.
        validation_fraction: share of the rows that stops growth or training and chooses what is "auto".
        random_state: seed.

    Attributes:
        circuit_: the circuit with its thresholds; class k of it is `classes_[k]`.
        classes_: the labels.
        n_features_in_: features.
        bits_per_feature_: the number that was used.

    Raises:
        ArgumentError, ArgumentTypeError, UnknownNameError: at `fit`, an argument out of range.

    >>> from sklearn.datasets import load_iris
    >>> x, y = load_iris(return_X_y=True)
    >>> classifier = LogicClassifier(gates=20, bits_per_feature=4).fit(x, y)
    >>> classifier.score(x, y) > 0.9, classifier.circuit_.num_gates <= 20
    (True, True)
    """

    def __init__(
        self,
        method: str = "grown",
        *,
        gates: int = 200,
        bits_per_feature: int | str = 4,
        thresholds: str = "quantile",
        layers: int = 2,
        gate_inputs: int = 2,
        epochs: int = 30,
        validation_fraction: float = 0.15,
        random_state: int | None = 0,
    ) -> None:
        self.method = method
        self.gates = gates
        self.bits_per_feature = bits_per_feature
        self.thresholds = thresholds
        self.layers = layers
        self.gate_inputs = gate_inputs
        self.epochs = epochs
        self.validation_fraction = validation_fraction
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> LogicClassifier:
        """Choose thresholds, and grow or train the circuit.

        Args:
            X: rows [N, features], an array or a DataFrame of finite numbers.
            y: labels [N] of at least two classes.
        """
        self._check()
        X, y = validate_data(self, X, y)
        check_classification_targets(y)
        self.classes_, numbers = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ArgumentError("y", expected="at least two classes", got=f"one class, {self.classes_[0]}")
        seed = int(np.random.default_rng(self.random_state).integers(2**31)) if self.random_state is None else self.random_state
        train, validation = split_rows(numbers, float(self.validation_fraction), seed)
        tried = _BITS_TRIED if self.bits_per_feature == "auto" else (int(self.bits_per_feature),)
        best: tuple[float, Circuit, int] | None = None
        for bits in tried:
            circuit = self._circuit(X, numbers, train, validation, bits, seed)
            score = float((_classes(circuit, X[validation]) == numbers[validation]).mean())
            if best is None or score > best[0]:
                best = score, circuit, bits
        assert best is not None
        _, self.circuit_, self.bits_per_feature_ = best
        return self

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The label [N] of each row."""
        check_is_fitted(self)
        return self.classes_[_classes(self.circuit_, validate_data(self, X, reset=False))]

    def predict_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """The softmax [N, classes] of the circuit's scores."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False)
        assert self.circuit_.inputs is not None
        scores = class_scores(self.circuit_, self.circuit_.inputs.bits(X))
        shares = np.exp(scores - scores.max(1, keepdims=True))
        return np.asarray(shares / shares.sum(1, keepdims=True))

    def _check(self) -> None:
        check_choice("method", self.method, ("grown", "trained"))
        check_choice("thresholds", self.thresholds, ("quantile", "uniform", "learned"))
        if self.thresholds == "learned" and self.method == "grown":
            raise ArgumentError("thresholds", expected="'quantile' or 'uniform' with method='grown'", got="'learned'")
        check_integer("gate_inputs", self.gate_inputs, minimum=2, maximum=6)
        if self.gate_inputs > 2 and self.method == "grown":
            raise ArgumentError("gate_inputs", expected="2 with method='grown'", got=self.gate_inputs)
        if self.bits_per_feature != "auto":
            check_integer("bits_per_feature", self.bits_per_feature, minimum=1, maximum=1024)
        for name in ("gates", "layers", "epochs"):
            check_integer(name, getattr(self, name), minimum=1)
        check_number("validation_fraction", self.validation_fraction, above=0, below=1)
        if self.random_state is not None:
            check_integer("random_state", self.random_state, minimum=0, maximum=2**31 - 1)

    def _circuit(
        self,
        X: npt.NDArray[Any],
        numbers: npt.NDArray[np.int64],
        train: npt.NDArray[np.int64],
        validation: npt.NDArray[np.int64],
        bits: int,
        seed: int,
    ) -> Circuit:
        spacing = "uniform" if self.thresholds == "uniform" else "quantile"
        codes = InputThresholds.thermometer(X[train], bits, spacing=spacing)  # type: ignore[arg-type]
        if self.method == "trained":
            return self._trained(X, numbers, train, validation, codes, seed)
        settings = table_growth(self.gates, len(codes.feature), len(train), replacements=1, seed=seed)
        parts = [(X[part], numbers[part]) for part in (train, validation)]
        return grow(parts[0], parts[1], codes, settings).circuit

    def _trained(
        self,
        X: npt.NDArray[Any],
        numbers: npt.NDArray[np.int64],
        train: npt.NDArray[np.int64],
        validation: npt.NDArray[np.int64],
        codes: InputThresholds,
        seed: int,
    ) -> Circuit:
        from ordinate.logic.network.to_circuit import from_network

        classes = len(self.classes_)
        width = max(classes, self.gates // self.layers // classes * classes)
        batch = max(1, min(128, len(train) // 16))
        settings = TrainingSettings(epochs=self.epochs, batch_size=batch, learning_rate=0.1, patience=self.epochs, seed=seed)
        parts = [(X[part], numbers[part]) for part in (train, validation)]
        widths = [width] * self.layers
        done = train_on_table(
            parts[0],
            parts[1],
            codes,
            widths,
            classes,
            settings,
            learned=self.thresholds == "learned",
            k=self.gate_inputs,
            seed=seed,
        )
        return from_network(done.network)


def table_growth(gates: int, bits: int, rows: int, **settings: Any) -> GrowthSettings:
    """Settings of growth on a table: pairs and samples of its size instead of an image set's, and no distorted copies.

    Args:
        gates: at most.
        bits: that come in.
        rows: to learn from.
        settings: others of `GrowthSettings`.
    """
    return GrowthSettings(
        gates,
        rows=min(400, 2 + 2 * bits),
        columns=min(1200, 2 + 2 * bits + gates),
        pair_sample=min(8192, max(16, 4 * rows)),
        choice_sample=min(16384, max(16, 4 * rows)),
        candidates=600,
        copies=0,
        patience=10,
        **settings,
    )


def train_on_table(
    train: tuple[Any, Any],
    validation: tuple[Any, Any],
    codes: InputThresholds,
    widths: Sequence[int],
    classes: int,
    settings: TrainingSettings,
    *,
    learned: bool = False,
    k: int = 2,
    tau: float | None = None,
    seed: int = 0,
    checkpoint: Any = None,
    on_epoch: Callable[[EpochReport], None] | None = None,
    **gates: Any,
) -> Training:
    """Dense layers of gates behind thermometer codes, trained on a table; the network takes the table's own numbers.

    Args:
        train: rows [N, features] and class numbers [N].
        validation: likewise.
        codes: thresholds, of the training rows.
        widths: gates of each layer; the last is a multiple of `classes`.
        classes: how many.
        settings: of the training.
        learned: train the thresholds too, in units of each feature's standard deviation, and freeze them.
        k: inputs of a gate, 2 to 6; of more than two they are tables (`LutDense`).
        tau: temperature of the counts; by default half the root of the votes a class, at least 1.
        seed: of wiring and gates, another for each layer.
        checkpoint: as in `train`.
        on_epoch: as in `train`.
        gates: what gates are like, as in `LogicDense` and `LutDense`.

    Raises:
        ArgumentError: as `train` and `LogicDense`.
    """
    import torch

    from ordinate.logic.network.layers import GroupSum, LogicDense, Thresholds
    from ordinate.logic.network.lut_layer import LutDense
    from ordinate.logic.network.network import LogicNetwork
    from ordinate.logic.network.training import train as trained

    if len(codes.feature) < k:  # a gate reads as many signals: the bits are there several times
        often = -(-k // len(codes.feature))
        feature, threshold = np.repeat(codes.feature, often), np.repeat(codes.threshold, often)
        codes = InputThresholds(codes.num_features, feature, threshold, codes.dtype)
    sizes = [len(codes.feature), *widths]
    dense = [
        LogicDense(sizes[place], size, seed=seed + place, **gates)
        if k == 2
        else LutDense(sizes[place], size, k=k, seed=seed + place, **gates)
        for place, size in enumerate(widths)
    ]
    layers = [*dense, GroupSum(classes, tau=max(1.0, math.sqrt(sizes[-1] / classes) / 2) if tau is None else tau)]
    labels = [torch.from_numpy(np.asarray(part[1], np.int64)) for part in (train, validation)]
    if not learned:
        bits = [torch.from_numpy(codes.bits(part[0])) for part in (train, validation)]
        network = LogicNetwork(*layers)
    else:
        rows = np.asarray(train[0], np.float64)
        mean, spread = rows.mean(0), np.maximum(rows.std(0), 1e-12)
        bits = [torch.from_numpy(((np.asarray(part[0]) - mean) / spread).astype(np.float32)) for part in (train, validation)]
        scaled = (codes.threshold - mean[codes.feature]) / spread[codes.feature]
        first = Thresholds.of_codes(
            InputThresholds(codes.num_features, codes.feature, scaled.astype(np.float32)), learned=True, temperature=0.25
        )
        network = LogicNetwork(first, *layers)
    done = trained(network, (bits[0], labels[0]), (bits[1], labels[1]), settings, checkpoint=checkpoint, on_epoch=on_epoch)
    if learned:
        scaled = first.values.detach().double().numpy().reshape(-1)
        values = mean[codes.feature] + spread[codes.feature] * scaled
        codes = InputThresholds(codes.num_features, codes.feature, values, codes.dtype)
    return Training(LogicNetwork(Thresholds.of_codes(codes), *layers).eval(), done.epochs, done.best_epoch)


def _classes(circuit: Circuit, X: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    assert circuit.inputs is not None
    return predict_classes(circuit, circuit.inputs.bits(X))


def split_rows(
    numbers: npt.NDArray[np.int64], fraction: float, seed: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Rows to learn from and rows kept apart, class by class; a class keeps at least one row to learn from.

    Args:
        numbers: class numbers [N].
        fraction: share that is kept apart.
        seed: of the draw.

    >>> learned, kept = split_rows(np.array([0, 0, 0, 0, 1, 1, 1, 1]), 0.25, seed=0)
    >>> len(learned), len(kept)
    (6, 2)
    """
    generator = np.random.default_rng(seed)
    train, validation = [], []
    for number in np.unique(numbers):
        rows = generator.permutation(np.flatnonzero(numbers == number))
        kept_apart = min(len(rows) - 1, math.ceil(fraction * len(rows)))
        validation.append(rows[:kept_apart])
        train.append(rows[kept_apart:])
    chosen = np.sort(np.concatenate(validation))
    learned = np.sort(np.concatenate(train))
    return learned, chosen if len(chosen) else learned
