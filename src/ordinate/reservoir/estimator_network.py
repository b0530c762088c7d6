"""The network behind an estimator: a random sparse one of so many units, or a given connectome, brought to its settings.

Every random number comes from `random_state`, in a fixed order, and there is no random number that the parameters do not name:
with `bias=0` there is no bias, with `input_noise=0` no noise.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from ordinate.errors import ArgumentError, ArgumentTypeError
from ordinate.reservoir.connectome import Connectome
from ordinate.reservoir.dynamics import State
from ordinate.reservoir.gain import normalise
from ordinate.reservoir.reservoir import Reservoir

__all__ = ["EchoStateEstimator", "random_connectome"]

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
    if isinstance(units, bool) or not isinstance(units, int | np.integer) or units < 1:
        raise ArgumentError("units", expected="a whole number of at least 1", got=units, hint="100 is a start")
    if not 0 < connectivity <= 1:
        raise ArgumentError("connectivity", expected="a share in (0, 1]", got=connectivity, hint="0.1 is usual")
    generator = np.random.default_rng(seed)
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
        given: dict[str, Any] = self.get_params(deep=False)
        _check_settings(given)
        seed = int(check_random_state(given["random_state"]).randint(np.iinfo(np.int32).max))
        generator = np.random.default_rng(seed)
        connectome = given["connectome"]
        if connectome is None:
            connectome = random_connectome(given["units"], given["connectivity"], generator)
        elif not isinstance(connectome, Connectome):
            raise ArgumentTypeError(
                "connectome",
                expected="a Connectome or None",
                got=type(connectome).__name__,
                hint="Connectome(weights) makes one",
            )
        if given["spectral_radius"] is not None:
            connectome = normalise(connectome, "spectral_radius", given["spectral_radius"])
        weights = np.zeros((num_channels, connectome.num_neurons))
        stimulated = np.arange(connectome.num_neurons) if given["stimulus"] is None else connectome.select(given["stimulus"])
        drawn = generator.uniform(-1, 1, (num_channels, len(stimulated)))
        weights[:, stimulated] = given["input_scaling"] * drawn
        bias = given["bias"] * generator.uniform(-1, 1, connectome.num_neurons)
        self.reservoir_ = Reservoir(
            connectome,
            input_weights=weights,
            leak_rate=given["leak_rate"],
            activation=given["activation"],
            bias=bias,
            dtype=np.dtype(given["dtype"]),
        )
        self.read_neurons_ = (
            np.arange(connectome.num_neurons) if given["readout"] is None else connectome.select(given["readout"])
        )
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


def _check_settings(given: dict[str, Any]) -> None:
    washout = given["washout"]
    if isinstance(washout, bool) or not isinstance(washout, int | np.integer) or washout < 0:
        raise ArgumentError("washout", expected="a whole number of steps, at least 0", got=washout, hint="100 is usual")
    for name in ("input_scaling", "bias", "input_noise"):
        value = given.get(name, 0.0)
        if not (isinstance(value, int | float | np.number) and 0 <= value < np.inf):
            raise ArgumentError(name, expected="a finite number of at least 0", got=value, hint="0 turns it off")
    radius = given["spectral_radius"]
    if radius is not None and not 0 < radius < np.inf:
        raise ArgumentError(
            "spectral_radius", expected="a number above 0, or None", got=radius, hint="None leaves the weights as they are"
        )
