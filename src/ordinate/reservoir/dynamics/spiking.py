"""Leaky integrate-and-fire neurons: with a connectome, a liquid-state machine.

A rate unit says how active a neuron is; these say when it fires. What is read out is each neuron's synaptic trace, its spikes
behind a low-pass filter, which is also what arrives at the next one; or the spikes themselves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ordinate.arguments import check_choice, check_number
from ordinate.errors import ArgumentError
from ordinate.reservoir.dynamics.interface import State, Wiring

__all__ = ["LeakyIntegrateAndFire"]

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class LeakyIntegrateAndFire:
    """Leaky integrate-and-fire neurons, integrated exactly between steps.

    With the current `I = gain (r W) + u W_in + bias` held for a step of h ms:

        v <- v_rest + (v - v_rest) e^(-h / membrane) + (1 - e^(-h / membrane)) I
        a neuron at threshold, and not refractory, fires (s = 1) and goes to v_reset
        r <- r e^(-h / synapse) + s

    Args:
        step_ms: h, the length of a step.
        membrane_ms: time constant of the membrane.
        synapse_ms: time constant of the synaptic trace r.
        threshold: of v, above rest; currents have its unit (a resistance of 1).
        reset: v after a spike.
        refractory_ms: how long after a spike v stays at reset.
        bias: a current into every neuron, one number or [N].
        record: "trace" (r) or "spikes" (s): what `activity` holds.

    Raises:
        ArgumentError: a time constant or step that is not positive, a reset at or above the threshold, another record.

    Source: Maass, Natschläger and Markram 2002, doi 10.1162/089976602760407955; exact integration: Rotter and Diesmann 1999,
    doi 10.1007/s004220050570.

    >>> from ordinate.reservoir import Connectome, Reservoir
    >>> alone = Connectome([[0.0]])
    >>> fires = LeakyIntegrateAndFire(membrane_ms=20.0, refractory_ms=0.0, record="spikes")
    >>> spikes = Reservoir(alone, input_weights=[[1.0]], dynamics=fires).run([[2.0]] * 60)[:, 0]
    >>> spikes.nonzero()[0].tolist()  # every 14 ms: 20 ln 2 = 13.86
    [13, 27, 41, 55]
    """

    step_ms: float = 1.0
    membrane_ms: float = 30.0
    synapse_ms: float = 10.0
    threshold: float = 1.0
    reset: float = 0.0
    refractory_ms: float = 2.0
    bias: float | Array = 0.0
    record: str = "trace"

    def __post_init__(self) -> None:
        for name in ("step_ms", "membrane_ms", "synapse_ms"):
            check_number(name, getattr(self, name), above=0)
        check_number("refractory_ms", self.refractory_ms, minimum=0)
        if not self.reset < self.threshold:
            raise ArgumentError("reset", expected=f"below the threshold {self.threshold:g}", got=self.reset)
        check_choice("record", self.record, ("trace", "spikes"))

    @property
    def refractory_steps(self) -> int:
        """Steps in which v stays at reset, rounded."""
        return round(self.refractory_ms / self.step_ms)

    def start(self, wiring: Wiring, shape: tuple[int, ...]) -> State:
        """At rest (v = 0), silent. Hidden: v, the trace r, and steps of refractoriness left."""
        zeros = np.zeros(shape, dtype=wiring.dtype)
        return State(zeros, (zeros, zeros, np.zeros(shape, dtype=np.int32)))

    def step(self, wiring: Wiring, state: State, drive: Array, gain: Array, generator: np.random.Generator | None) -> State:
        """One step of the formulas above."""
        voltage, trace, waiting = state.hidden
        kept = np.asarray(np.exp(-self.step_ms / self.membrane_ms), dtype=wiring.dtype)
        fading = np.asarray(np.exp(-self.step_ms / self.synapse_ms), dtype=wiring.dtype)
        reset = np.asarray(self.reset, dtype=wiring.dtype)
        current = wiring.propagate(trace) * gain + drive + np.asarray(self.bias, dtype=wiring.dtype)
        free = waiting == 0
        risen = np.where(free, kept * voltage + (1 - kept) * current, reset)
        fired = free & (risen >= self.threshold)
        spikes = fired.astype(wiring.dtype)
        traced = fading * trace + spikes
        left = np.where(fired, self.refractory_steps, np.maximum(waiting - 1, 0)).astype(np.int32)
        return State(traced if self.record == "trace" else spikes, (np.where(fired, reset, risen), traced, left))
