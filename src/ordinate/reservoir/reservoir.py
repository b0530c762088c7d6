"""A connectome as a recurrent network: `state(t+1) = (1 - a) state(t) + a f(gain state(t) W + input(t) W_in + bias)`.

A step is a pure function of state and input; nothing is remembered between calls. Jaeger 2001, GMD report 148; leaky units:
Jaeger, Lukosevicius, Popovici and Siewert 2007, doi 10.1016/j.neunet.2007.04.016.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ordinate.errors import ArgumentError, ShapeError
from ordinate.reservoir.connectome import Connectome

__all__ = ["Reservoir", "State"]

Array = npt.NDArray[Any]


class State(NamedTuple):
    """What a reservoir is in at one moment: activity [N] or [B, N], and what else its dynamics keep."""

    activity: Array
    hidden: tuple[Array, ...] = ()


_ACTIVATIONS: dict[str, Callable[[Array], Array]] = {
    "tanh": np.tanh,
    "identity": lambda x: x,
    "relu": lambda x: np.maximum(x, 0),
}


class Reservoir:
    """A fixed recurrent network, wired as a connectome is.

    Args:
        connectome: N neurons; its weights are used as they are, so normalise it first (`ordinate.reservoir.gain`).
        inputs: one query or list of indices for each of the F input channels; each neuron named receives the channel
            with weight 1.
        input_weights: or the whole input matrix [F, N].
        leak_rate: a in the formula, in (0, 1].
        activation: "tanh", "relu", "identity".
        bias: a number or [N].
        dtype: of the states, float32 or float64.
    """

    def __init__(
        self,
        connectome: Connectome,
        *,
        inputs: Sequence[Any] | None = None,
        input_weights: npt.ArrayLike | None = None,
        leak_rate: float = 1.0,
        activation: str = "tanh",
        bias: npt.ArrayLike = 0.0,
        gain: float = 1.0,
        dtype: npt.DTypeLike = np.float32,
        seed: int = 0,
    ) -> None:
        self.connectome, self.leak_rate, self.activation, self.seed = connectome, leak_rate, activation, seed
        self.gain, self.dtype = gain, np.dtype(dtype)
        if (inputs is None) == (input_weights is None):
            raise ArgumentError(
                "inputs", expected="either inputs or input_weights", got="both or neither", todo="give one of them"
            )
        if inputs is not None:
            weights = np.zeros((len(inputs), connectome.num_neurons))
            for channel, neurons in enumerate(inputs):
                weights[channel, connectome.select(neurons)] = 1
        else:
            weights = np.array(input_weights, dtype=np.float64, ndmin=2)
        if weights.shape[1] != connectome.num_neurons:
            raise ShapeError(
                "input_weights", expected=f"[F, {connectome.num_neurons}]", got=str(weights.shape), todo="transpose it?"
            )
        self.input_weights = weights.astype(self.dtype)
        self.bias = np.asarray(bias, dtype=self.dtype)
        self._matrix = connectome._incoming.astype(self.dtype)
        self._function = _ACTIVATIONS[activation]

    def initial_state(self, batch: int | None = None) -> State:
        """Silence: activity [N], or [B, N] for a batch."""
        shape = (self.connectome.num_neurons,) if batch is None else (batch, self.connectome.num_neurons)
        return State(np.zeros(shape, dtype=self.dtype))

    def step(self, state: State, input: npt.ArrayLike, *, gain: float | Array | None = None) -> State:  # noqa: A002
        """The state one step later. Pure: the same state and input give the same result, and neither is changed."""
        drive = np.asarray(input, dtype=self.dtype) @ self.input_weights + self.bias
        return self._advance(state, drive, self.gain if gain is None else gain)

    def _advance(self, state: State, drive: Array, gain: float | Array) -> State:
        arriving = np.asarray(self._matrix @ state.activity.T).T
        strength = np.asarray(gain, dtype=self.dtype)
        new = self._function(arriving * (strength[..., None] if strength.ndim else strength) + drive)
        leak = np.asarray(self.leak_rate, dtype=self.dtype)
        return State((1 - leak) * state.activity + leak * new)

    def run(self, inputs: npt.ArrayLike, **settings: Any) -> Array:
        """The states [T, N] (or [B, T, N]) after each step of a sequence of inputs [T, F] (or [B, T, F])."""
        return self.advance(inputs, **settings)[0]

    def advance(
        self,
        inputs: npt.ArrayLike,
        *,
        state: State | None = None,
        record: Any = None,
        gain: float | Array | None = None,
    ) -> tuple[Array, State]:
        """As `run`, and the state after the last step, from which a next call can go on.

        Args:
            inputs: [T, F] or [B, T, F].
            state: where to start; silence by default.
            record: a query or indices of the neurons to keep; all by default.
            gain: a number, or one for each sequence of the batch [B], in place of the reservoir's own.
        """
        told = np.asarray(inputs, dtype=self.dtype)
        kept = None if record is None else self.connectome.select(record)
        now = self.initial_state(None if told.ndim == 2 else told.shape[0]) if state is None else state
        drive = told @ self.input_weights + self.bias
        states = []
        for t in range(told.shape[-2]):
            now = self._advance(now, drive[..., t, :], self.gain if gain is None else gain)
            states.append(now.activity if kept is None else now.activity[..., kept])
        return np.stack(states, axis=-2), now
