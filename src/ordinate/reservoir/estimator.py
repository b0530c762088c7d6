"""A reservoir with a linear readout as a scikit-learn regressor: fixed recurrence, and one ridge regression.

What it takes care of, because others do not: a prediction has as many steps as its input, whatever the washout; each sequence
starts from rest unless a state is given, so predicting twice gives the same twice; `spectral_radius` is applied to a given
connectome as well; noise is drawn anew for every step, and only in training; there is no bias that nobody asked for.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils.validation import check_is_fitted

from ordinate.errors import ArgumentError, RefusedError, ShapeError
from ordinate.reservoir.connectome import Connectome
from ordinate.reservoir.dynamics import State
from ordinate.reservoir.estimator_inputs import is_collection, read_collection, read_rows, regression_targets
from ordinate.reservoir.estimator_network import EchoStateEstimator
from ordinate.reservoir.readout import RidgeReadout

__all__ = ["EchoStateRegressor"]

FloatArray = npt.NDArray[np.float64]


class EchoStateRegressor(MultiOutputMixin, RegressorMixin, EchoStateEstimator):
    """An echo-state network that maps input sequences to target sequences, step by step.

    state(t) = (1 - a) state(t-1) + a f(state(t-1) W + x(t) W_in + b), y(t) = state(t) W_out + c; only W_out and c are learned.

    Args:
        units: neurons of the random network; unused where a connectome is given.
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
        for inputs, wanted in zip(parts, targets, strict=True):
            noisy = inputs
            if self.input_noise:
                noisy = inputs + generator.normal(0.0, self.input_noise, inputs.shape)
            for steps, states, state in self._run(noisy):
                learned = slice(max(self.washout - steps.start, 0), None)
                features = self._features(states, noisy[steps])[learned]
                if len(features):
                    self.readout_.partial_fit(features, wanted[steps][learned])
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
        found = [self._outputs(part) for part in read_collection(self, X, reset=False)]
        return found if isinstance(X, list | tuple) else np.stack(found)

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
        if steps < 1:
            raise ArgumentError("steps", expected="at least 1", got=steps, hint="ask for more")
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
        told, _ = regression_targets(y, lengths, collection)
        kept = slice(self.washout, None)
        weights = None if sample_weight is None else np.asarray(sample_weight)[kept]
        found = np.concatenate([part.reshape(len(part), -1)[kept] for part in predicted])
        wanted = np.concatenate([part[kept] for part in told])
        if wanted.shape != found.shape:
            raise ShapeError("y", expected=f"shape {found.shape}", got=f"shape {wanted.shape}", hint="give the targets of fit")
        return float(r2_score(wanted, found, sample_weight=weights))

    def _features(self, states: npt.NDArray[Any], inputs: FloatArray | None) -> npt.NDArray[Any]:
        return np.concatenate((states, inputs), axis=-1) if self.input_to_readout and inputs is not None else states

    def _outputs(self, inputs: FloatArray, state: State | None = None) -> FloatArray:
        found = np.empty((len(inputs), self.n_outputs_))
        for steps, states, _ in self._run(inputs, state):
            found[steps] = self.readout_.predict(self._features(states, inputs[steps]))
        return found[:, 0] if self._flat_targets else found
