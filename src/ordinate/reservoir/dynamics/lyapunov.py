"""Lyapunov exponents of a driven reservoir: how fast nearby states draw apart or together under one input.

The largest one below 0 means that the network forgets where it began; the input is part of the system, so the exponents belong
to a network and a drive. Computed from the tangent dynamics with repeated QR (Benettin et al. 1980, doi 10.1007/BF02128236).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import special

from ordinate.arguments import check_integer
from ordinate.errors import ArgumentError, RefusedError
from ordinate.reservoir.dynamics.leaky import LeakyRate
from ordinate.reservoir.dynamics.reservoir import Reservoir
from ordinate.reservoir.seeds import generator_of

__all__ = ["lyapunov_exponents"]

Array = npt.NDArray[np.float64]

_SLOPES: dict[str, Callable[[Array], Array]] = {
    "tanh": lambda x: 1 / np.cosh(np.clip(x, -300, 300)) ** 2,
    "sigmoid": lambda x: special.expit(x) * special.expit(-x),
    "relu": lambda x: (x > 0).astype(np.float64),
    "identity": np.ones_like,
}


def lyapunov_exponents(
    reservoir: Reservoir, inputs: npt.ArrayLike, count: int = 1, *, washout: int = 100, seed: int = 0
) -> npt.NDArray[np.float64]:
    """The largest Lyapunov exponents of a network under a drive, per step, the largest first.

    The tangent map of a step is `v -> (1 - a) v + a f'(arriving) (gain v W)`; `count` directions are carried along and made
    orthonormal after each step, and the logarithms of their growth are averaged.

    Args:
        reservoir: of leaky rate units with a named activation that has a slope, without noise and feedback.
        inputs: the drive, [T, F].
        count: how many exponents, at most N.
        washout: steps at the start that are not averaged, in which the directions align.
        seed: of the first directions.

    Returns:
        [count], in units of 1 / step; -inf for directions that vanish.

    Raises:
        RefusedError: other dynamics, feedback or noise.
        ArgumentError: fewer steps than the washout, or inputs of another shape.

    Source: Benettin, Galgani, Giorgilli and Strelcyn 1980, doi 10.1007/BF02128236.

    >>> from ordinate.reservoir import Connectome
    >>> halving = Reservoir(Connectome([[0.5]]), input_weights=[[1.0]], activation="identity", dtype=float)
    >>> float(lyapunov_exponents(halving, [[0.0]] * 200)[0].round(6)) == float(np.log(0.5).round(6))
    True
    """
    dynamics = reservoir.dynamics
    if not isinstance(dynamics, LeakyRate) or dynamics.activation not in _SLOPES:
        raise RefusedError(
            "reservoir", expected=f"leaky rate units with {', '.join(_SLOPES)}", got=f"{dynamics}", hint="use echo_state"
        )
    if reservoir.noise or reservoir.feedback_weights is not None:
        raise RefusedError("reservoir", expected="neither noise nor feedback", got="some", hint="make one without")
    check_integer("count", count, minimum=1, maximum=reservoir.num_neurons)
    check_integer("washout", washout, minimum=0)
    signal = np.asarray(inputs, dtype=np.float64)
    if signal.ndim != 2 or signal.shape[1] != reservoir.num_channels or len(signal) <= washout:
        raise ArgumentError(
            "inputs", expected=f"[T, {reservoir.num_channels}], T above the washout of {washout}", got=str(list(signal.shape))
        )
    slope = _SLOPES[str(dynamics.activation)]
    leak, bias = np.asarray(dynamics.leak_rate, dtype=np.float64), np.asarray(dynamics.bias, dtype=np.float64)
    incoming: Any = reservoir.connectome.incoming.astype(np.float64)
    drive = signal @ np.asarray(reservoir.input_weights, dtype=np.float64) + bias
    state = np.zeros(reservoir.num_neurons)
    directions, _ = np.linalg.qr(generator_of(seed).standard_normal((reservoir.num_neurons, count)))
    growth = np.zeros(count)
    for step, outside in enumerate(drive):
        arriving = reservoir.gain * (incoming @ state) + outside
        state = (1 - leak) * state + leak * dynamics.function(arriving)
        carried = (leak * slope(arriving))[:, None] * (reservoir.gain * (incoming @ directions))
        if not (leak == 1).all():
            carried += np.reshape(1 - leak, (-1, 1)) * directions
        directions, triangle = np.linalg.qr(carried)
        if step >= washout:
            with np.errstate(divide="ignore"):
                growth += np.log(np.abs(np.diag(triangle)))
    return np.asarray(growth / (len(drive) - washout))
