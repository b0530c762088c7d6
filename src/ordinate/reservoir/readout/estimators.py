"""Reservoirs as scikit-learn estimators: a regressor of sequences step by step, and a classifier of whole sequences.

| X | to the regressor | to the classifier |
|---|---|---|
| array [T, F] | one sequence of T steps | T sequences of one channel and F steps, as time-series collections are kept |
| array [B, T, F], list of [T_b, F] | B sequences | B sequences |

The two-dimensional readings are what makes the estimators scikit-learn's: a regressor's rows are time steps, so that cross
validation by `TimeSeriesSplit` means what it says, and a classifier's rows are independent samples, so that they can be
shuffled. Two-dimensional input is checked by scikit-learn itself, and its words stand inside our messages.

What they take care of, because others do not: a prediction has as many steps as its input, whatever the washout; each sequence
starts from rest unless it gets a state, so predicting twice gives the same twice; `spectral_radius` is applied to a connectome
as well; noise is drawn anew for every step, and only in training. Every random number comes from `random_state`, in
a fixed order, and there is no random number that the parameters do not name: with `bias=0` there is no bias.
"""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, MultiOutputMixin, RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d, validate_data

from ordinate.arguments import check_choice, check_integer, check_number
from ordinate.errors import ArgumentError, ArgumentTypeError, RefusedError, ShapeError
from ordinate.reservoir.connectome.connectome import Connectome
from ordinate.reservoir.connectome.gain import normalise
from ordinate.reservoir.dynamics.interface import State
from ordinate.reservoir.dynamics.reservoir import Reservoir
from ordinate.reservoir.readout.classes import POOLINGS, ClassReadout, pool
from ordinate.reservoir.readout.ridge import RidgeReadout
from ordinate.reservoir.seeds import generator_of

__all__ = [
    "EchoStateClassifier",
    "EchoStateEstimator",
    "EchoStateRegressor",
    "class_labels",
    "is_collection",
    "random_connectome",
    "read_collection",
    "read_rows",
    "regression_targets",
]

FloatArray = npt.NDArray[np.float64]

_CHUNK_STEPS = 2048
"""A sequence is run in chunks of so many steps, so the states of a long one are never in memory together."""


def random_connectome(units: int, connectivity: float, seed: int | np.random.Generator) -> Connectome:
    """A sparse random network: every neuron hears the same number of neurons, drawn without repeats, by normal weights.

    Each hears max(1, round(connectivity · units)) neurons, itself allowed. So each has an input, hence there is a cycle,
    hence its spectral radius is above 0 and can be set.

    Args:
        units: N, at least 1.
        connectivity: share of the neurons that each one hears, in (0, 1].
        seed: of the draw, or a generator.

    Raises:
        ArgumentError: units below 1, or a share outside its interval.

    >>> random_connectome(50, 0.1, seed=0).num_edges
    250
    """
    check_integer("units", units, minimum=1)
    check_number("connectivity", connectivity, above=0, maximum=1)
    generator = generator_of(seed)
    heard = max(1, round(connectivity * units))
    senders = np.concatenate([generator.choice(units, heard, replace=False) for _ in range(units)])
    receivers = np.repeat(np.arange(units), heard)
    weights = sparse.csr_array((generator.standard_normal(len(senders)), (senders, receivers)), shape=(units, units))
    return Connectome(weights, name=f"{units} random units")


class EchoStateEstimator(BaseEstimator):
    """What the regressor and the classifier share: their reservoir, made from their parameters when they are fitted."""

    reservoir_: Reservoir

    def _build(self, num_channels: int) -> np.random.Generator:
        """Make `reservoir_` and the neurons that are read; the generator comes back for what is drawn later."""
        settings: dict[str, Any] = self.get_params(deep=False)
        _check_settings(settings)
        try:
            seed = int(check_random_state(settings["random_state"]).randint(np.iinfo(np.int32).max))
        except (ValueError, TypeError) as error:
            raise ArgumentError(
                "random_state",
                expected="None, a whole number from 0 to 2**32 - 1, or a numpy.random.RandomState",
                got=reprlib.repr(settings["random_state"]),
            ) from error
        generator = generator_of(seed)
        connectome = settings["connectome"]
        if connectome is None:
            connectome = random_connectome(settings["units"], settings["connectivity"], generator)
        elif not isinstance(connectome, Connectome):
            raise ArgumentTypeError(
                "connectome",
                expected="a Connectome or None",
                got=type(connectome).__name__,
                hint="Connectome(weights) makes one",
            )
        if settings["spectral_radius"] is not None:
            connectome = normalise(connectome, "spectral_radius", settings["spectral_radius"])
        weights = np.zeros((num_channels, connectome.num_neurons))
        everyone = np.arange(connectome.num_neurons)
        stimulated, read = (
            everyone if settings[name] is None else connectome.select(settings[name], argument=name)
            for name in ("stimulus", "readout")
        )
        drawn = generator.uniform(-1, 1, (num_channels, len(stimulated)))
        weights[:, stimulated] = settings["input_scaling"] * drawn
        bias = settings["bias"] * generator.uniform(-1, 1, connectome.num_neurons)
        self.reservoir_ = Reservoir(
            connectome,
            input_weights=weights,
            leak_rate=settings["leak_rate"],
            activation=settings["activation"],
            bias=bias,
            dtype=np.dtype(settings["dtype"]),
        )
        self.read_neurons_ = read
        return generator

    def _run(self, inputs: FloatArray, state: State | None = None) -> Iterator[tuple[slice, npt.NDArray[Any], State]]:
        """States [..., steps, R] of inputs [..., T, F], chunk by chunk, with their steps and the state after them."""
        length = inputs.shape[-2]
        for start in range(0, length, _CHUNK_STEPS):
            steps = slice(start, min(start + _CHUNK_STEPS, length))
            states, state = self.reservoir_.advance(inputs[..., steps, :], state=state, record=self.read_neurons_)
            yield steps, states, state

    def _check_longer_than_washout(self, lengths: list[int]) -> None:
        washout: int = self.get_params(deep=False)["washout"]
        for number, length in enumerate(lengths):
            if length <= washout:
                raise ArgumentError(
                    "X" if len(lengths) == 1 else f"X[{number}]",
                    expected=f"more steps than the washout of {washout}",
                    got=f"n_samples = {length}" if len(lengths) == 1 else f"{length} steps",
                    hint="give longer sequences or a shorter washout",
                )


def _check_settings(settings: dict[str, Any]) -> None:
    washout = settings["washout"]
    check_integer("washout", washout, minimum=0)
    for name in ("input_scaling", "bias", "input_noise"):
        check_number(name, settings.get(name, 0.0), minimum=0, hint="0 turns it off")
    radius = settings["spectral_radius"]
    if radius is not None:
        check_number("spectral_radius", radius, above=0, hint="None leaves the weights as they are")


class EchoStateRegressor(MultiOutputMixin, RegressorMixin, EchoStateEstimator):
    """An echo-state network that maps input sequences to target sequences, step by step.

    state(t) = (1 - a) state(t-1) + a f(state(t-1) W + x(t) W_in + b), y(t) = state(t) W_out + c; only W_out and c are learned.

    Args:
        units: neurons of the random network; unused with a connectome.
        connectome: whose wiring to use instead of a random one.
        spectral_radius: that the recurrent weights are scaled to, also a connectome's; None leaves them as they are.
        leak_rate: a, in (0, 1].
        input_scaling: W_in is uniform in (-input_scaling, input_scaling).
        bias: b is uniform in (-bias, bias); 0 means none.
        connectivity: share of the neurons that each neuron of the random network hears.
        activation: f: "tanh", or another that `Reservoir` knows.
        ridge: penalty on W_out, as scikit-learn's `Ridge(alpha)`; c is not penalised.
        washout: steps at the start of each sequence that nothing is learned from; outputs keep all steps.
        input_to_readout: let the readout see x(t) beside the state.
        input_noise: standard deviation of normal noise on the inputs in training, anew for each step.
        stimulus: which neurons hear the input: a query of the connectome or indices; None means all.
        readout: which neurons are read; None means all.
        dtype: of the states: "float64", or "float32", which takes the compiled path.
        random_state: seed of W, W_in, b and noise. The same seed gives the same bits.

    Attributes:
        reservoir_: the `Reservoir`.
        readout_: the fitted `RidgeReadout`.
        state_: the state after the last training step, from which `predict` and `forecast` can go on.
        n_features_in_, n_outputs_: channels in and out.

    Raises (from `fit`):
        ArgumentError: a setting outside its interval, a sequence no longer than the washout, NaN or infinity.
        ShapeError: targets that do not line up with the inputs.
        RefusedError: a connectome without a cycle whose spectral radius was to be set; a state that diverges.

    Source: Jaeger 2001, GMD report 148; Lukoševičius 2012, "A practical guide to applying echo state networks".

    >>> wave = np.sin(np.arange(300) / 5)[:, None]
    >>> model = EchoStateRegressor(units=30, washout=50, random_state=0).fit(wave[:-1], wave[1:])
    >>> float(np.abs(model.predict(wave[:-1])[50:] - wave[51:]).max()) < 1e-2
    True
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
        input_to_readout: bool = False,
        input_noise: float = 0.0,
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
        self.input_to_readout = input_to_readout
        self.input_noise = input_noise
        self.stimulus = stimulus
        self.readout = readout
        self.dtype = dtype
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> EchoStateRegressor:
        """Run the reservoir over the inputs and learn the readout.

        Args:
            X: one sequence [T, F]; or several, each from rest: [B, T, F] or a list of [T_b, F].
            y: targets [T] or [T, K]; for several sequences [B, T], [B, T, K] or a list.
        """
        collection = is_collection(X)
        parts = read_collection(self, X, reset=True) if collection else [read_rows(self, X, reset=True)]
        lengths = [len(part) for part in parts]
        targets, self._flat_targets = regression_targets(y, lengths, collection)
        self.n_outputs_ = targets[0].shape[1]
        generator = self._build(self.n_features_in_)
        self._check_longer_than_washout(lengths)
        self.readout_ = RidgeReadout(self.ridge)
        for inputs, target in zip(parts, targets, strict=True):
            noisy = inputs
            if self.input_noise:
                noisy = inputs + generator.normal(0.0, self.input_noise, inputs.shape)
            for steps, states, state in self._run(noisy):
                learned = slice(max(self.washout - steps.start, 0), None)
                features = self._features(states, noisy[steps])[learned]
                if len(features):
                    self.readout_.partial_fit(features, target[steps][learned])
                self.state_: State = state
        return self

    def predict(self, X: Any, *, initial_state: State | None = None) -> Any:
        """Outputs for every step of the inputs; washout shortens nothing.

        Args:
            X: one sequence [T, F], or several, as in `fit`.
            initial_state: to start from instead of rest, such as `state_` where X goes on after the training sequence;
                for one sequence only.

        Returns:
            [T] or [T, K] as y was; for [B, T, F] an array with B in front, for a list a list.

        Raises:
            ArgumentError, ShapeError: as `fit`; other channels than at fit; a state for several sequences.
        """
        check_is_fitted(self)
        if not is_collection(X):
            return self._outputs(read_rows(self, X, reset=False), initial_state)
        if initial_state is not None:
            raise ArgumentError(
                "initial_state", expected="one sequence to go on with", got="several", hint="predict them one by one"
            )
        outputs = [self._outputs(part) for part in read_collection(self, X, reset=False)]
        return outputs if isinstance(X, list | tuple) else np.stack(outputs)

    def forecast(self, steps: int, *, context: Any = None, initial_state: State | None = None) -> FloatArray:
        """Closed loop: each output is the next input. For a model that was trained to predict its own next input.

        Args:
            steps: how many outputs to make.
            context: true inputs [T, F] to run first; the forecast follows after the last of them. By default the training
                sequence is gone on with.
            initial_state: that the context starts from instead of rest.

        Returns:
            [steps] or [steps, K]; the first is the prediction of the input that follows the context.

        Raises:
            RefusedError: outputs that cannot be inputs; a state or output that diverges.
            ArgumentError: fewer than one step.
        """
        check_is_fitted(self)
        if self.n_outputs_ != self.n_features_in_:
            raise RefusedError(
                "forecast",
                expected=f"as many outputs as the {self.n_features_in_} inputs",
                got=f"{self.n_outputs_}",
                hint="train on y = the next X",
            )
        check_integer("steps", steps, minimum=1)
        if self.input_to_readout and context is None:
            raise RefusedError(
                "context",
                expected="the last true inputs, which this readout looks at",
                got="none",
                hint="pass context=X[-1:] and initial_state, or train with input_to_readout=False",
            )
        state, seen = self.state_, None
        if context is not None:
            rows = read_rows(self, context, reset=False)
            *_, (_, _, state) = self._run(rows, initial_state)
            seen = rows[-1]
        outputs = np.empty((steps, self.n_outputs_))
        for step in range(steps):
            activity = state.activity[self.read_neurons_][None]
            output = self.readout_.predict(self._features(activity, None if seen is None else seen[None]))[0]
            if not np.isfinite(output).all():
                raise RefusedError(
                    "forecast",
                    expected="finite outputs",
                    got=f"NaN or infinity at step {step}",
                    hint="raise ridge or input_noise",
                )
            outputs[step] = seen = output
            state = self.reservoir_.step(state, output)
        return outputs[:, 0] if self._flat_targets else outputs

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R² over all steps past the washout of each sequence, mean over outputs.

        Args:
            X: as in `fit`.
            y: as in `fit`.
            sample_weight: of the steps, for one sequence.
        """
        collection = is_collection(X)
        predicted = [np.asarray(part) for part in (self.predict(X) if collection else [self.predict(X)])]
        lengths = [len(part) for part in predicted]
        self._check_longer_than_washout(lengths)
        targets, _ = regression_targets(y, lengths, collection)
        kept = slice(self.washout, None)
        weights = None if sample_weight is None else np.asarray(sample_weight)[kept]
        outputs = np.concatenate([part.reshape(len(part), -1)[kept] for part in predicted])
        target = np.concatenate([part[kept] for part in targets])
        if target.shape != outputs.shape:
            raise ShapeError(
                "y", expected=f"shape {outputs.shape}", got=f"shape {target.shape}", hint="give the targets of fit"
            )
        return float(r2_score(target, outputs, sample_weight=weights))

    def _features(self, states: npt.NDArray[Any], inputs: FloatArray | None) -> npt.NDArray[Any]:
        return np.concatenate((states, inputs), axis=-1) if self.input_to_readout and inputs is not None else states

    def _outputs(self, inputs: FloatArray, state: State | None = None) -> FloatArray:
        outputs = np.empty((len(inputs), self.n_outputs_))
        for steps, states, _ in self._run(inputs, state):
            outputs[steps] = self.readout_.predict(self._features(states, inputs[steps]))
        return outputs[:, 0] if self._flat_targets else outputs


_BATCH_STATES = 4_000_000
"""Numbers of state in memory at once: sequences of one length are run in batches of as many as that allows."""


class EchoStateClassifier(ClassifierMixin, EchoStateEstimator):
    """An echo-state network that gives one label to a whole sequence.

    Args:
        units: neurons of the random network; unused with a connectome.
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
        check_choice("pooling", self.pooling, POOLINGS)
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
        pooled = np.empty((len(parts), len(self.read_neurons_)))
        for length in np.unique(lengths):
            alike = np.flatnonzero(lengths == length)
            batch = max(1, _BATCH_STATES // (int(length) * self.reservoir_.connectome.num_neurons))
            for some in np.split(alike, range(batch, len(alike), batch)):
                states = self.reservoir_.run(np.stack([parts[index] for index in some]), record=self.read_neurons_)
                pooled[some] = pool(states[:, self.washout :], self.pooling)
        return pooled


def is_collection(X: Any) -> bool:
    """Whether X is several sequences: an array [B, T, F], or a list or tuple of arrays [T, F]."""
    if isinstance(X, list | tuple):
        return len(X) > 0 and all(np.ndim(part) == 2 for part in X)
    return bool(getattr(X, "ndim", 0) == 3)


def read_rows(estimator: Any, X: Any, *, reset: bool) -> FloatArray:
    """X as scikit-learn's own check passes it, [rows, columns]; with `reset` the columns are remembered."""
    return np.asarray(_checked_by_sklearn("X", lambda: validate_data(estimator, X, reset=reset, dtype=np.float64)))


def read_collection(estimator: Any, X: Any, *, reset: bool) -> list[FloatArray]:
    """X as a list of finite arrays [T, F]; with `reset` F is remembered, else compared with what was remembered."""
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
    columns: list[FloatArray] = []
    flat = False
    for number, (part, length) in enumerate(zip(parts, lengths, strict=True)):
        name = f"y[{number}]" if collection else "y"
        array = _as_floats(part)
        if array.ndim not in (1, 2) or array.size == 0:
            raise ShapeError(name, expected="[T] or [T, K]", got=f"shape {array.shape}", hint="one row a step")
        if len(array) != length:
            _checked_by_sklearn(name, partial(check_consistent_length, np.empty(length), array))
        if not np.isfinite(array).all():
            raise ArgumentError(name, expected="finite numbers", got="NaN or infinity", hint="fill or cut the gaps")
        columns.append(array.reshape(length, -1))
        flat = array.ndim == 1
        if columns[-1].shape[1] != columns[0].shape[1]:
            raise ShapeError(
                name,
                expected=f"{columns[0].shape[1]} columns, as y[0]",
                got=f"{columns[-1].shape[1]}",
            )
    return columns, flat


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

    labels: npt.NDArray[Any] = _checked_by_sklearn("y", checked)
    classes = np.unique(labels)
    if len(classes) < 2:
        raise ArgumentError("y", expected="at least two classes", got=f"1 class, {classes.tolist()}")
    return labels


def _as_floats(values: Any) -> FloatArray:
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as problem:
        raise ArgumentTypeError("X, y", expected="arrays of real numbers", got=str(problem)) from None


def _checked_by_sklearn(name: str, check: Callable[[], Any]) -> Any:
    """Run one of scikit-learn's checks; what it raises becomes one of this package's errors with its words inside."""
    try:
        return check()
    except TypeError as problem:
        raise ArgumentTypeError(name, expected="dense arrays of real numbers", got=" ".join(str(problem).split())) from problem
    except ValueError as problem:
        raise ArgumentError(
            name, expected="what scikit-learn's check passes", got=" ".join(str(problem).split()), hint="see ordinate.reservoir"
        ) from problem
