"""The echo-state property, tested: does a network driven by one input forget where it began?

A spectral radius below 1 neither promises it for large states nor is needed for it under drive (Yildiz, Jaeger and Kiebel 2012,
doi 10.1016/j.neunet.2012.07.005), so it is measured: the same input from two initial states, and the distance between them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ordinate.errors import ArgumentError, RefusedError, ShapeError
from ordinate.reservoir.dynamics.interface import State
from ordinate.reservoir.dynamics.reservoir import Reservoir, growth_expected
from ordinate.reservoir.seeds import generator_of

__all__ = ["EchoState", "contraction_rates", "echo_state"]

Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class EchoState:
    """What came of two initial states under one input.

    Args:
        distances: root mean square difference of the states before the first step and after each, [T + 1].
        holds: whether the last distance is below the tolerance times the first.
        rate: the mean change of the logarithm of the distance in a step; negative where states draw together.
    """

    distances: npt.NDArray[np.float64]
    holds: bool
    rate: float


def echo_state(
    reservoir: Reservoir,
    inputs: npt.ArrayLike,
    *,
    states: tuple[State, State] | None = None,
    tolerance: float = 1e-4,
    seed: int = 0,
) -> EchoState:
    """Drive a network by the same input from two initial states, and see whether they become one.

    Args:
        reservoir: without noise, which would be different for the two.
        inputs: [T, F].
        states: the two initial states; by default drawn evenly from -1 to 1 for each neuron, which dynamics with hidden state
            do not allow.
        tolerance: the distance, relative to the first, that counts as none; float32 cannot show less than 1e-7.
        seed: of the two states.

    Raises:
        ArgumentError: a reservoir with noise, or no steps.
        RefusedError: dynamics with hidden state without `states`.

    Source: Jaeger 2001, GMD report 148, definition 1.

    >>> from ordinate.reservoir.connectome.connectome import Connectome
    >>> from ordinate.reservoir.connectome.gain import normalise
    >>> calm = Reservoir(normalise(Connectome.synthetic(), "spectral_radius", 0.5), inputs=["sensory"])
    >>> echo_state(calm, [[0.1]] * 40).holds
    True
    """
    signal = np.asarray(inputs, dtype=reservoir.dtype)
    distances = _distances(reservoir, signal, np.array([reservoir.gain]), states, seed)[0]
    return EchoState(distances, bool(distances[-1] <= tolerance * distances[0]), float(_rate(distances)))


def contraction_rates(reservoir: Reservoir, inputs: Array, gains: Array, *, seed: int = 0) -> npt.NDArray[np.float64]:
    """The rate of `echo_state` at each of several gains [G], in one batch."""
    return np.array([_rate(distances) for distances in _distances(reservoir, inputs, gains, None, seed)])


def _distances(
    reservoir: Reservoir, inputs: Array, gains: Array, states: tuple[State, State] | None, seed: int
) -> npt.NDArray[np.float64]:
    """[G, T + 1]."""
    if reservoir.noise:
        raise ArgumentError("reservoir", expected="no noise", got=f"noise {reservoir.noise:g}", hint="make one without")
    if inputs.ndim != 2 or not len(inputs):
        expected = f"[T, {reservoir.num_channels}], T at least 1"
        raise ShapeError("inputs", expected=expected, got=str(list(inputs.shape)))
    first, second = _drawn(reservoir, seed) if states is None else states
    count = gains.size

    def paired(a: Array, b: Array) -> Array:  # [2 G, ...]: all first states, then all second ones
        return np.concatenate([np.broadcast_to(a, (count, *a.shape)), np.broadcast_to(b, (count, *b.shape))])

    now = State(
        paired(first.activity, second.activity), tuple(paired(a, b) for a, b in zip(first.hidden, second.hidden, strict=True))
    )
    with growth_expected():
        driven = reservoir.run(
            np.broadcast_to(inputs, (2 * count, *inputs.shape)), state=now, gain=np.concatenate([gains, gains])
        )
    every = np.concatenate([now.activity[:, None], driven], axis=1).astype(np.float64)
    return np.sqrt(((every[:count] - every[count:]) ** 2).mean(axis=-1))


def _drawn(reservoir: Reservoir, seed: int) -> tuple[State, State]:
    if reservoir.initial_state().hidden:
        raise RefusedError(
            "states",
            expected="two initial states, for these dynamics keep more than activity",
            got="none",
            hint="run the reservoir on two different inputs and take its states",
        )
    drawn = generator_of(seed).uniform(-1, 1, (2, reservoir.num_neurons)).astype(reservoir.dtype)
    return State(drawn[0]), State(drawn[1])


def _rate(distances: npt.NDArray[np.float64]) -> float:
    """Up to where rounding hides the difference."""
    floor = 1e-6 * distances[0]
    lost = np.flatnonzero(distances <= floor)
    last = int(lost[0]) if lost.size else distances.size - 1
    return float(np.log(max(distances[last], np.finfo(float).tiny) / distances[0]) / last) if last else 0.0
