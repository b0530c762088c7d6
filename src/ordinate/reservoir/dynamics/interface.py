"""The state of a network, and the form of every dynamics.

A dynamics is a frozen record of settings with two pure functions, `start` and `step`. Nothing is remembered between calls, so a
run can be cut, repeated or branched anywhere.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

__all__ = ["Dynamics", "State", "Wiring"]

Array = npt.NDArray[Any]


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
