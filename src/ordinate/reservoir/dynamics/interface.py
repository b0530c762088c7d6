"""The state of a network, and the form of every dynamics.

A dynamics is a frozen record of settings with two pure functions, `start` and `step`. Nothing is remembered between calls, so a
run can be cut, repeated or branched anywhere.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from ordinate.errors import ArgumentTypeError

__all__ = ["Dynamics", "State", "Wiring", "real_array"]

Array = npt.NDArray[Any]


def real_array(name: str, values: npt.ArrayLike, dtype: npt.DTypeLike = np.float64) -> Array:
    """The values as an array of floats.

    Raises:
        ArgumentTypeError: text, complex numbers, or rows that are not equally long.
    """
    try:
        array = np.asarray(values)
        if np.iscomplexobj(array) or array.dtype.kind in "USMm":
            raise TypeError(f"an array of {array.dtype}")
        with np.errstate(over="ignore"):  # what does not fit is infinite, and said so by whoever asks for finite numbers
            return np.asarray(array, dtype=dtype)
    except (TypeError, ValueError) as problem:
        raise ArgumentTypeError(name, expected="an array of real numbers", got=str(problem)) from None


class State(NamedTuple):
    """What a network is in at one moment.

    Args:
        activity: what is recorded and read out, [N] or [B, N].
        hidden: what else the dynamics keep; empty for rate units.

    >>> State(np.zeros(3)).hidden
    ()
    """

    activity: Array
    hidden: tuple[Array, ...] = ()


class Wiring(Protocol):
    """What dynamics may know of a network."""

    @property
    def num_neurons(self) -> int:
        """Neurons N."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of every state."""

    def propagate(self, activity: Array) -> Array:
        """Hand activity [..., N] from each neuron to those that it synapses on."""


class Dynamics(Protocol):
    """The form of every dynamics: a state to begin with, and a pure step."""

    def start(self, wiring: Any, shape: tuple[int, ...]) -> State:
        """The state at rest, of a shape [N] or [B, N]."""

    def step(self, wiring: Any, state: State, drive: Array, gain: Array, generator: np.random.Generator | None) -> State:
        """The state after one step, from what comes from outside (`drive`, shaped as the activity) and from the others."""
