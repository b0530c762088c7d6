"""Readouts that learn while the reservoir runs: recursive least squares, and FORCE, which learns in closed loop.

With no forgetting, recursive least squares is ridge regression one state at a time: after T states its weights are those of
the normal equations, to rounding. FORCE is the same rule where the readout's own output is fed back, so that the reservoir is
trained on the very errors that it will make.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ordinate.arguments import check_integer, check_number
from ordinate.errors import ArgumentError, ShapeError
from ordinate.reservoir.dynamics.interface import State, real_array
from ordinate.reservoir.dynamics.reservoir import Reservoir

__all__ = ["ForceRun", "RecursiveLeastSquares", "force"]

FloatArray = npt.NDArray[np.float64]


class RecursiveLeastSquares:
    """Weights [N, K] that minimise Σ_s forgetting^(t-s) |y(s) - W' x(s)|² + forgetting^t ridge |W|², updated state by state.

    k = P x / (forgetting + x' P x), W += k (y - W' x)', P = (P - k x' P) / forgetting, from W = 0 and P = I / ridge. There is
    no intercept: give the reservoir's states a column of ones for one (it is then penalised like any other).

    Args:
        num_states: N.
        num_outputs: K.
        ridge: the penalty at the start, above 0; small is fast and nervous.
        forgetting: in (0, 1]; at 1 nothing is forgotten.

    Raises:
        ArgumentError: a size below 1, or a ridge or forgetting outside its interval.

    Source: Haykin 2002, "Adaptive filter theory", chapter 9; in reservoirs Jaeger 2003, "Adaptive nonlinear system
    identification with echo state networks".

    >>> readout = RecursiveLeastSquares(1, 1, ridge=1e-9)
    >>> for x in (1.0, 2.0, 3.0):
    ...     _ = readout.update([x], [2 * x])
    >>> float(readout.weights[0, 0].round(6))
    2.0
    """

    def __init__(self, num_states: int, num_outputs: int = 1, *, ridge: float = 1.0, forgetting: float = 1.0) -> None:
        check_integer("num_states", num_states, minimum=1)
        check_integer("num_outputs", num_outputs, minimum=1)
        check_number("ridge", ridge, above=0, hint="1 is a slow start, 1e-3 a fast one")
        check_number("forgetting", forgetting, above=0, maximum=1, hint="1 forgets nothing, 0.999 slowly")
        self.ridge, self.forgetting = ridge, forgetting
        self.weights: FloatArray = np.zeros((num_states, num_outputs))
        self.inverse: FloatArray = np.eye(num_states) / ridge

    def update(self, state: npt.ArrayLike, target: npt.ArrayLike) -> FloatArray:
        """Learn one state and its target, and return the error [K] from before the update.

        Args:
            state: x, [N].
            target: y, [K].

        Raises:
            ShapeError: other sizes.
            ArgumentError: NaN or infinity: the state diverged, and one such update would spoil every weight.
        """
        x, y = real_array("state", state), real_array("target", target)
        for name, values, fits in (("state", x, self.weights.shape[:1]), ("target", y, self.weights.shape[1:])):
            if values.shape != fits:
                raise ShapeError(name, expected=f"shape {fits}", got=f"shape {values.shape}")
            if not np.isfinite(values).all():
                raise ArgumentError(
                    name, expected="finite numbers", got="NaN or infinity", hint="a diverging reservoir needs less gain"
                )
        with np.errstate(over="ignore", invalid="ignore"):
            error = y - x @ self.weights
            spread = self.inverse @ x
            power = x @ spread
        if not (np.isfinite(power) and np.isfinite(error).all()):
            raise ArgumentError("state", expected="numbers whose squares are finite", got=f"up to {np.abs(x).max():.2g}")
        gain = spread / (self.forgetting + power)
        self.weights += np.outer(gain, error)
        self.inverse -= np.outer(gain, spread)
        if self.forgetting < 1:
            self.inverse /= self.forgetting
        return np.asarray(error)

    def fit(self, states: npt.ArrayLike, targets: npt.ArrayLike) -> FloatArray:
        """`update` for each of T states [T, N] and targets [T, K] in turn; the errors [T, K], each from before its update."""
        x, y = np.asarray(states), np.asarray(targets)
        if x.ndim != 2 or y.ndim != 2 or len(x) != len(y):
            raise ShapeError(
                "states, targets", expected="[T, N] and [T, K]", got=f"{x.shape} and {y.shape}", hint="give one row a step"
            )
        return np.array([self.update(state, target) for state, target in zip(x, y, strict=True)]).reshape(y.shape)

    def predict(self, states: npt.ArrayLike) -> FloatArray:
        """ŷ = W' x, for states [N], [T, N] or [B, T, N]."""
        x = np.asarray(states)
        if x.ndim == 0 or x.shape[-1] != len(self.weights):
            raise ShapeError(
                "states",
                expected=f"{len(self.weights)} neurons on the last axis",
                got=f"shape {x.shape}",
                hint="read the same neurons",
            )
        return np.asarray(x @ self.weights)


@dataclass(frozen=True, eq=False)
class ForceRun:
    """What learning in closed loop left behind.

    Args:
        outputs: z, [T, O], as fed back.
        state: of the reservoir after the last step.
        weight_changes: |ΔW| at each step [T], 0 where nothing was learned: FORCE has converged where it stays near 0.
    """

    outputs: FloatArray
    state: State
    weight_changes: FloatArray


def force(
    reservoir: Reservoir,
    readout: RecursiveLeastSquares,
    targets: npt.ArrayLike,
    *,
    inputs: npt.ArrayLike | None = None,
    state: State | None = None,
    every: int = 1,
) -> ForceRun:
    """FORCE: the output z = W' x is fed back at each step, while W learns by recursive least squares.

    Afterwards `reservoir.generate(readout.predict, steps, state=run.state)` runs the same loop with learning turned off.

    Args:
        reservoir: of N neurons, with feedback weights [O, N].
        readout: of N states and O outputs; it is changed in place.
        targets: what the outputs are to be, [T, O].
        inputs: external inputs [T, F], or None where the reservoir has no input channel.
        state: to start from; by default the reservoir at rest, where without inputs, bias and weights nothing ever moves.
        every: learn at every so many steps; outputs are fed back at each.

    Raises:
        ArgumentError: a reservoir without feedback weights, or `every` below 1.
        ShapeError: a readout, targets or inputs that do not fit the reservoir.
        RefusedError: the state diverged.

    Source: Sussillo and Abbott 2009, doi 10.1016/j.neuron.2009.07.018, equations 3 to 5.

    >>> from ordinate.reservoir import Connectome, Reservoir
    >>> rng = np.random.default_rng(0)
    >>> loop = Reservoir(Connectome(rng.normal(0, 0.12, (100, 100))), feedback_weights=rng.uniform(-1, 1, (1, 100)), bias=0.3)
    >>> wave = np.sin(np.arange(600) / 8)[:, None]
    >>> run = force(loop, RecursiveLeastSquares(100, 1, ridge=0.1), wave)
    >>> float(abs(run.outputs[-50:] - wave[-50:]).mean()) < 0.1
    True
    """
    if reservoir.feedback_weights is None:
        raise ArgumentError(
            "reservoir", expected="one with feedback_weights [O, N]", got="none", hint="Reservoir(..., feedback_weights=...)"
        )
    fits = (reservoir.num_neurons, len(reservoir.feedback_weights))
    if readout.weights.shape != fits:
        raise ShapeError(
            "readout", expected=f"weights {fits}", got=f"{readout.weights.shape}", hint="one row a neuron, one column an output"
        )
    target = real_array("targets", targets)
    if target.ndim != 2 or target.shape[1] != fits[1] or len(target) == 0:
        raise ShapeError(
            "targets", expected=f"[T, {fits[1]}]", got=f"shape {target.shape}", hint="one row a step, one column an output"
        )
    check_integer("every", every, minimum=1)
    external = np.zeros((len(target), 0)) if inputs is None else real_array("inputs", inputs)
    if external.shape != (len(target), reservoir.num_channels):
        raise ShapeError(
            "inputs",
            expected=f"[{len(target)}, {reservoir.num_channels}]",
            got=f"shape {external.shape}",
            hint="one row a step, one column a channel",
        )
    now = reservoir.initial_state() if state is None else state
    outputs, changes = np.zeros(target.shape), np.zeros(len(target))
    output = now.activity @ readout.weights
    for step in range(len(target)):
        now = reservoir.step(now, external[step], feedback=output)
        activity = np.asarray(now.activity, dtype=np.float64)
        if step % every == 0:
            before = readout.weights.copy()
            readout.update(activity, target[step])
            changes[step] = np.linalg.norm(readout.weights - before)
        outputs[step] = output = activity @ readout.weights
    return ForceRun(outputs, now, changes)
