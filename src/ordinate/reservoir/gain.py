"""How strong the recurrence is: connectomes scaled to a gain, and the gain at which a network does what is wanted.

Scaling multiplies the weights that are there; edges that are absent stay absent.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from ordinate.errors import ArgumentError, RefusedError
from ordinate.reservoir.connectome import Connectome
from ordinate.reservoir.echo_state import EchoState, contraction_rates, echo_state
from ordinate.reservoir.reservoir import Reservoir
from ordinate.reservoir.spectrum import LeadingMode, leading_eigenvalue, leading_mode, spectral_radius

__all__ = [
    "NORMALISATIONS",
    "EchoState",
    "LeadingMode",
    "TunedGain",
    "echo_state",
    "leading_mode",
    "normalise",
    "spectral_radius",
    "tune_gain",
]

Array = npt.NDArray[Any]

NORMALISATIONS = ("spectral_radius", "output", "input", "effective_radius")


def normalise(connectome: Connectome, by: str, value: float, *, leak_rate: float | None = None) -> Connectome:
    """Scale the weights so that a chosen measure of gain is `value`.

    Args:
        connectome: whose weights are scaled; signs stay as they are.
        by: "spectral_radius": the largest absolute eigenvalue of W. "output": for each neuron, the sum of the absolute weights
            it sends (rows). "input": for each neuron, the sum of those it receives (columns). "effective_radius": the largest
            absolute eigenvalue of `(1 - a) I + a W`, which is what leaky units iterate near rest.
        value: the measure afterwards, positive. Neurons that send (or receive) nothing keep doing so.
        leak_rate: a, for "effective_radius" only.

    Raises:
        ArgumentError: another `by`, a value that is not positive, or a leak rate missing or superfluous.
        RefusedError: a radius asked of a nilpotent matrix, or an effective radius that no factor reaches.

    Source: effective radius: Jaeger et al. 2007, doi 10.1016/j.neunet.2007.04.016, section 2.

    >>> round(normalise(Connectome.synthetic(), "spectral_radius", 0.9).spectral_radius(), 6)
    0.9
    """
    if by not in NORMALISATIONS:
        raise ArgumentError("by", expected=f"one of {', '.join(NORMALISATIONS)}", got=by, hint="choose one")
    if not (np.isfinite(value) and value > 0):
        raise ArgumentError("value", expected="a positive number", got=value, hint="choose another")
    if (leak_rate is not None) != (by == "effective_radius"):
        raise ArgumentError(
            "leak_rate", expected='one, for "effective_radius" and nothing else', got=leak_rate, hint="give it or leave it out"
        )
    name = f"{connectome.name}, {by.replace('_', ' ')} {value:g}"
    if by in ("spectral_radius", "effective_radius"):
        factor = value / _radius(connectome) if leak_rate is None else _effective_factor(connectome, value, leak_rate)
        return connectome.with_weights(connectome.weights * factor, name=name)
    axis = 1 if by == "output" else 0
    sums = np.asarray(abs(connectome.weights.astype(np.float64)).sum(axis=axis)).ravel()
    factors = sparse.diags_array(np.divide(value, sums, out=np.zeros_like(sums), where=sums > 0))
    return connectome.with_weights(factors @ connectome.weights if axis else connectome.weights @ factors, name=name)


def _radius(connectome: Connectome) -> float:
    radius = connectome.spectral_radius()
    if radius == 0:
        raise RefusedError(
            "connectome",
            expected="a matrix with a cycle",
            got="a nilpotent one: its spectral radius is 0, and no factor changes that",
            hint='normalise by "output" or "input"',
        )
    return radius


def _effective_factor(connectome: Connectome, value: float, leak_rate: float) -> float:
    """The factor s of W at which `(1 - a) I + a s W` has the radius asked for.

    The radius is the largest of |1 - a + a s λ| over the eigenvalues λ, a convex function of s. Solving for the λ that leads
    now, and looking again who leads then, is Newton's method on it, and ends after a few rounds.
    """
    if not 0 < leak_rate <= 1:
        raise ArgumentError("leak_rate", expected="above 0, up to 1", got=leak_rate, hint="choose another")
    kept = 1 - leak_rate
    if value <= kept:
        raise RefusedError(
            "value",
            expected=f"an effective radius above 1 - leak_rate = {kept:g}, which the leak alone has",
            got=f"{value:g}",
            hint="take a larger value or a larger leak rate",
        )
    radius = _radius(connectome)
    identity = sparse.eye_array(connectome.num_neurons, format="csr")
    factor = (value + kept) / (leak_rate * radius)  # where even an eigenvalue against the leak has arrived
    for _ in range(50):
        leading = leading_eigenvalue(kept * identity + leak_rate * factor * connectome.weights)
        if abs(abs(leading) - value) <= 1e-9 * value:
            break
        own = (leading - kept) / factor  # a λ of W
        # |kept + s own| = value, the larger root
        square, half, rest = abs(own) ** 2, kept * own.real, kept**2 - value**2
        factor = float((-half + np.sqrt(half**2 - square * rest)) / square)
    return factor


@dataclass(frozen=True)
class TunedGain:
    """The gain that `tune_gain` found.

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
        target: what the measure shall be.
        measure: "activity": the mean absolute activity over the second half of the run. "contraction": the rate of
            `echo_state`, whose 0 is the edge of the echo-state property. Or a function of states [T, R].
        between: the smallest and the largest gain to look at.
        record: a query or indices of the neurons that count; all by default.
        seed: for noise, and for the two states of "contraction".

    Raises:
        ArgumentError: a measure of another name, or bounds that are not 0 < low < high.
        RefusedError: a target that no gain in between reaches; the message says what was reached.

    >>> reservoir = Reservoir(normalise(Connectome.synthetic(), "output", 1.0), inputs=["sensory"])
    >>> tuned = tune_gain(reservoir, [[0.5]] * 20, 0.2, between=(0.1, 10.0))
    >>> round(tuned.reached, 4)
    0.2
    """
    low, high = between
    if not 0 < low < high:
        raise ArgumentError("between", expected="0 < low < high", got=repr(between), hint="choose others")
    if isinstance(measure, str) and measure not in ("activity", "contraction"):
        raise ArgumentError("measure", expected='"activity", "contraction" or a function', got=measure, hint="choose one")
    told = np.asarray(inputs, dtype=reservoir.dtype)

    def measured(gains: Array) -> Array:
        if measure == "contraction":
            return contraction_rates(reservoir, told, gains, seed=seed)
        states = reservoir.run(
            np.broadcast_to(told, (gains.size, *told.shape)),
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
