"""A reservoir as a scikit-learn classifier of whole sequences: run each from rest, pool its states, and name the class."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from ordinate.errors import ArgumentError
from ordinate.reservoir.connectome import Connectome
from ordinate.reservoir.estimator_inputs import class_labels, is_collection, read_collection, read_rows
from ordinate.reservoir.estimator_network import EchoStateEstimator
from ordinate.reservoir.readout_classes import POOLINGS, ClassReadout, pool

__all__ = ["EchoStateClassifier"]

FloatArray = npt.NDArray[np.float64]

_BATCH_STATES = 4_000_000
"""Numbers of state that are held at once: sequences of one length are run in batches of as many as that allows."""


class EchoStateClassifier(ClassifierMixin, EchoStateEstimator):
    """An echo-state network that gives one label to a whole sequence.

    Args:
        units: neurons of the random network; unused where a connectome is given.
        connectome: whose wiring to use instead of a random one.
        spectral_radius: that the recurrent weights are scaled to, also a connectome's; None leaves them as they are.
        leak_rate: in (0, 1]; small keeps the past longer.
        input_scaling: input weights are uniform in (-input_scaling, input_scaling).
        bias: biases are uniform in (-bias, bias); 0 means none.
        connectivity: share of the neurons that each neuron of the random network hears.
        activation: "tanh", or another that `Reservoir` knows.
        ridge: penalty on the readout's weights.
        washout: steps at the start of each sequence that are not pooled.
        pooling: "mean", "last" or "max" of the states of a sequence.
        stimulus: which neurons hear the input: a query of the connectome or indices; None means all.
        readout: which neurons are read; None means all.
        dtype: of the states: "float64", or "float32", which takes the compiled path.
        random_state: seed of all weights and biases. The same seed gives the same bits.

    Attributes:
        classes_: the labels, sorted.
        reservoir_, readout_: the `Reservoir` and the fitted `ClassReadout`.
        n_features_in_: channels; steps where X was two-dimensional.

    Raises (from `fit`):
        ArgumentError: a setting outside its interval, a sequence no longer than the washout, NaN, fewer than two classes.
        ShapeError: sequences of other channels than the first.

    Source: Jaeger 2001, GMD report 148; pooling over time: Lukoševičius and Jaeger 2009, doi 10.1016/j.cosrev.2009.03.005.

    >>> generator = np.random.default_rng(0)
    >>> slow, fast = (np.sin(pace * np.arange(40) + generator.uniform(0, 6, (20, 1))) for pace in (0.3, 0.6))
    >>> X, y = np.concatenate((slow, fast)), np.repeat(["slow", "fast"], 20)
    >>> EchoStateClassifier(units=50, bias=0.5, random_state=0).fit(X[::2], y[::2]).score(X[1::2], y[1::2])
    1.0
    """

    def __init__(
        self,
        units: int = 100,
        *,
        connectome: Connectome | None = None,
        spectral_radius: float | None = 0.9,
        leak_rate: float = 1.0,
        input_scaling: float = 1.0,
        bias: float = 0.0,
        connectivity: float = 0.1,
        activation: str = "tanh",
        ridge: float = 1e-6,
        washout: int = 0,
        pooling: str = "mean",
        stimulus: Any = None,
        readout: Any = None,
        dtype: str = "float64",
        random_state: Any = None,
    ) -> None:
        self.units = units
        self.connectome = connectome
        self.spectral_radius = spectral_radius
        self.leak_rate = leak_rate
        self.input_scaling = input_scaling
        self.bias = bias
        self.connectivity = connectivity
        self.activation = activation
        self.ridge = ridge
        self.washout = washout
        self.pooling = pooling
        self.stimulus = stimulus
        self.readout = readout
        self.dtype = dtype
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> EchoStateClassifier:
        """Run the reservoir over each sequence and learn the readout.

        Args:
            X: sequences [B, T, F] or a list of [T_b, F]; or [B, T], each row a sequence of one channel.
            y: a label for each, [B].
        """
        if self.pooling not in POOLINGS:
            raise ArgumentError("pooling", expected=f"one of {', '.join(POOLINGS)}", got=repr(self.pooling), hint="choose one")
        parts = self._sequences(X, reset=True)
        labels = class_labels(y, len(parts))
        self.classes_ = np.unique(labels)
        self._build(parts[0].shape[1])
        self.readout_ = ClassReadout(self.classes_, ridge=self.ridge)
        self.readout_.partial_fit(self._pooled(parts), labels)
        return self

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """A label for each sequence, [B]. Each is run from rest, so neither their order nor their company matters."""
        check_is_fitted(self)
        return self.readout_.predict(self._pooled(self._sequences(X, reset=False)))

    def decision_function(self, X: Any) -> FloatArray:
        """Scores: [B] for two classes, above 0 for the second; else [B, C], the largest wins."""
        check_is_fitted(self)
        scores = self.readout_.scores(self._pooled(self._sequences(X, reset=False)))
        return scores if len(self.classes_) > 2 else scores[:, 1]

    def _sequences(self, X: Any, *, reset: bool) -> list[FloatArray]:
        if is_collection(X):
            return read_collection(self, X, reset=reset)
        return list(read_rows(self, X, reset=reset)[:, :, None])

    def _pooled(self, parts: list[FloatArray]) -> FloatArray:
        """One row of features a sequence; sequences of one length run side by side."""
        lengths = np.array([len(part) for part in parts])
        self._check_longer_than_washout(lengths.tolist())
        found = np.empty((len(parts), len(self.read_neurons_)))
        for length in np.unique(lengths):
            alike = np.flatnonzero(lengths == length)
            batch = max(1, _BATCH_STATES // (int(length) * self.reservoir_.connectome.num_neurons))
            for some in np.split(alike, range(batch, len(alike), batch)):
                states = self.reservoir_.run(np.stack([parts[index] for index in some]), record=self.read_neurons_)
                found[some] = pool(states[:, self.washout :], self.pooling)
        return found
