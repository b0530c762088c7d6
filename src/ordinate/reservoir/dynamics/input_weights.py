"""Input weights: which neurons hear which channel, and how loudly."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from ordinate.arguments import check_integer, check_number
from ordinate.errors import ArgumentTypeError
from ordinate.reservoir.connectome.connectome import Connectome
from ordinate.reservoir.seeds import generator_of

__all__ = ["channel_weights", "random_input_weights"]

Array = npt.NDArray[Any]


def channel_weights(connectome: Connectome, inputs: Iterable[Any]) -> Array:
    """Input weights [F, N]: 1 from each channel to the neurons it names, 0 elsewhere.

    Args:
        connectome: N neurons.
        inputs: one query, or list of indices, a channel.

    Raises:
        ArgumentTypeError: one string in place of a list.
        ArgumentError: a query that selects nobody.

    >>> channel_weights(Connectome.synthetic(), ["sensory & left", "sensory & right"]).sum(axis=1)
    array([10., 10.])
    """
    if isinstance(inputs, str):
        raise ArgumentTypeError(
            "inputs", expected="a list of queries, one a channel", got="one string", hint=f"pass [{inputs!r}]"
        )
    queries = list(inputs)
    weights = np.zeros((len(queries), connectome.num_neurons))
    for channel, neurons in enumerate(queries):
        weights[channel, connectome.select(neurons, argument="inputs")] = 1
    return weights


def random_input_weights(
    connectome: Connectome,
    num_channels: int,
    *,
    neurons: Any = None,
    scale: float = 1.0,
    density: float = 1.0,
    seed: int | np.random.Generator = 0,
) -> Array:
    """Input weights [F, N] drawn evenly from -scale to scale, as echo-state networks have them.

    Args:
        connectome: N neurons.
        num_channels: F.
        neurons: a query or indices of the neurons that hear anything; all by default.
        scale: the largest weight.
        density: the chance that a neuron hears a channel.
        seed: the same seed gives the same bits.

    Raises:
        ArgumentError: fewer than 1 channel, a density outside (0, 1], or a scale that is not positive.

    >>> random_input_weights(Connectome.synthetic(), 2, neurons="sensory", scale=0.5).shape
    (2, 100)
    """
    check_integer("num_channels", num_channels, minimum=1)
    check_number("scale", scale, above=0)
    check_number("density", density, above=0, maximum=1)
    hearing = np.arange(connectome.num_neurons) if neurons is None else connectome.select(neurons, argument="neurons")
    generator = generator_of(seed)
    weights = np.zeros((num_channels, connectome.num_neurons))
    shape = (num_channels, hearing.size)
    weights[:, hearing] = generator.uniform(-scale, scale, shape) * (generator.random(shape) < density)
    return weights
