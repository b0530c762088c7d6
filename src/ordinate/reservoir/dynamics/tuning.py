"""The gain at which a driven network does what is wanted, by running many gains as one batch."""

from __future__ import annotations

import reprlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ordinate.errors import ArgumentError, RefusedError
from ordinate.reservoir.dynamics.echo_state import contraction_rates
from ordinate.reservoir.dynamics.reservoir import Reservoir, growth_expected

__all__ = ["TunedGain", "tune_gain"]

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class TunedGain:
    """The result of `tune_gain`.

    Args:
        gain: a factor of the recurrent weights.
        reached: the measure at that gain.
        target: what was asked for.
    """

    gain: float
    reached: float
    target: float


def tune_gain(
    reservoir: Reservoir,
    inputs: npt.ArrayLike,
    target: float,
    *,
    measure: str | Callable[[Array], float] = "activity",
    between: tuple[float, float] = (1e-3, 1e3),
    record: Any = None,
    seed: int = 0,
) -> TunedGain:
    """Find the gain at which a driven network does what is wanted.

    Sixteen gains run side by side as one batch, and the search goes on between the two that straddle the target.

    Args:
        reservoir: whose own gain is replaced in the search.
        inputs: [T, F], what it is driven by.
        target: the value that the measure should reach.
        measure: "activity": the mean absolute activity over the second half of the run. "contraction": the rate of
            `echo_state`, whose 0 is the edge of the echo-state property. Or a function of states [T, R].
        between: the smallest and the largest gain to look at.
        record: a query or indices of the neurons that count; all by default.
        seed: for noise, and for the two states of "contraction".

    Raises:
        ArgumentError: a measure of another name, or bounds that are not 0 < low < high.
        RefusedError: a target that no gain in between reaches; the message says what was reached.

    >>> from ordinate.reservoir import Connectome, normalise
    >>> reservoir = Reservoir(normalise(Connectome.synthetic(), "output", 1.0), inputs=["sensory"])
    >>> tuned = tune_gain(reservoir, [[0.5]] * 20, 0.2, between=(0.1, 10.0))
    >>> round(tuned.reached, 4)
    0.2
    """
    low, high = between
    if not 0 < low < high:
        raise ArgumentError("between", expected="0 < low < high", got=reprlib.repr(between))
    if isinstance(measure, str) and measure not in ("activity", "contraction"):
        raise ArgumentError("measure", expected='"activity", "contraction" or a function', got=measure)
    signal = np.asarray(inputs, dtype=reservoir.dtype)

    def measured(gains: Array) -> Array:
        if measure == "contraction":
            return contraction_rates(reservoir, signal, gains, seed=seed)
        with growth_expected():
            states = reservoir.run(
                np.broadcast_to(signal, (gains.size, *signal.shape)),
                gain=gains,
                record=record,
                seed=seed if reservoir.noise else None,
            )
        if callable(measure):
            return np.array([measure(one) for one in states], dtype=np.float64)
        return np.abs(states[:, states.shape[1] // 2 :]).mean(axis=(1, 2), dtype=np.float64)

    gains = np.geomspace(low, high, 16)
    for _ in range(8):
        values = measured(gains)
        above = values >= target
        crossing = np.flatnonzero(above[1:] != above[:-1])
        if not crossing.size:
            raise RefusedError(
                "target",
                expected=f"what gains {low:g} .. {high:g} reach, {np.nanmin(values):.4g} .. {np.nanmax(values):.4g}",
                got=f"{target:g}",
                hint="change the target or widen `between`",
            )
        at = int(crossing[0])
        if gains[at + 1] / gains[at] - 1 < 1e-5:
            break
        gains = np.geomspace(gains[at], gains[at + 1], 16)
    best = int(np.argmin(np.abs(values - target)))
    return TunedGain(float(gains[best]), float(values[best]), float(target))
