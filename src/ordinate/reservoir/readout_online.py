"""Readouts that learn while the reservoir runs: recursive least squares, and FORCE, which learns in closed loop.

With no forgetting, recursive least squares is ridge regression one state at a time: after T states its weights are those of the
normal equations, to rounding. FORCE is the same rule where the readout's own output is fed back as an input, so that the
reservoir is trained on the very errors that it will make.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ordinate.errors import ArgumentError, RefusedError, ShapeError
from ordinate.reservoir.reservoir import Reservoir, State

__all__ = ["ForceRun", "RecursiveLeastSquares", "force", "free_run"]

FloatArray = npt.NDArray[np.float64]


class RecursiveLeastSquares:
    """Weights [N, K] that minimise Σ_s forgetting^(t-s) |y(s) - W' x(s)|² + forgetting^t ridge |W|², updated state by state.

    k = P x / (forgetting + x' P x), W += k (y - W' x)', P = (P - k x' P) / forgetting, from W = 0 and P = I / ridge. There is
    no intercept: give the reservoir's states a column of ones where one is wanted (it is then penalised like any other).

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
        for name, value in (("num_states", num_states), ("num_outputs", num_outputs)):
            if value < 1:
                raise ArgumentError(name, expected="at least 1", got=value, todo="count neurons and outputs")
        if not 0 < ridge < np.inf:
            raise ArgumentError(
                "ridge", expected="a finite number above 0", got=ridge, todo="1 is a slow start, 1e-3 a fast one"
            )
        if not 0 < forgetting <= 1:
            raise ArgumentError("forgetting", expected="in (0, 1]", got=forgetting, todo="1 forgets nothing, 0.999 slowly")
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
        x, y = np.asarray(state, dtype=np.float64), np.asarray(target, dtype=np.float64)
        for name, values, wanted in (("state", x, self.weights.shape[:1]), ("target", y, self.weights.shape[1:])):
            if values.shape != wanted:
                raise ShapeError(name, expected=f"shape {wanted}", got=f"shape {values.shape}", todo="give one step")
            if not np.isfinite(values).all():
                raise ArgumentError(
                    name, expected="finite numbers", got="NaN or infinity", todo="a diverging reservoir needs less gain"
                )
        error = y - x @ self.weights
        spread = self.inverse @ x
        gain = spread / (self.forgetting + x @ spread)
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
                "states, targets", expected="[T, N] and [T, K]", got=f"{x.shape} and {y.shape}", todo="give one row a step"
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
                todo="read the same neurons",
            )
        return np.asarray(x @ self.weights)


@dataclass(frozen=True, eq=False)
class ForceRun:
    """What a closed-loop run left behind.

    Args:
        outputs: z, [T, K], as fed back.
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
    """FORCE: at each step the output z = W' x is fed back as the reservoir's last K inputs, while W learns by least squares.

    Args:
        reservoir: with F + K inputs: the F external ones first, then the K outputs.
        readout: of as many states and of K outputs; it is changed in place.
        targets: what the outputs are to be, [T, K].
        inputs: external inputs [T, F], or None where there are none.
        state: to start from; by default the reservoir at rest.
        every: learn at every so many steps; outputs are fed back at each.

    Raises:
        ShapeError: targets or inputs of the wrong shape.
        ArgumentError: `every` below 1.
        RefusedError: the state diverged.

    Source: Sussillo and Abbott 2009, doi 10.1016/j.neuron.2009.07.018, equations 3 to 5.
    """
    wanted = np.asarray(targets, dtype=np.float64)
    num_outputs = readout.weights.shape[1]
    if wanted.ndim != 2 or wanted.shape[1] != num_outputs or len(wanted) == 0:
        raise ShapeError(
            "targets", expected=f"[T, {num_outputs}]", got=f"shape {wanted.shape}", todo="one row a step, one column an output"
        )
    if every < 1:
        raise ArgumentError("every", expected="at least 1", got=every, todo="1 learns at every step")
    return _closed_loop(reservoir, readout, len(wanted), inputs, state, wanted, every)


def free_run(
    reservoir: Reservoir,
    readout: RecursiveLeastSquares,
    steps: int,
    *,
    inputs: npt.ArrayLike | None = None,
    state: State | None = None,
) -> ForceRun:
    """The same closed loop with learning turned off.

    Args:
        reservoir: with F + K inputs: the F external ones first, then the K outputs.
        readout: as `force` left it; it is not changed.
        steps: T.
        inputs: external inputs [T, F], or None where there are none.
        state: to start from, such as `ForceRun.state`; by default the reservoir at rest.

    Raises:
        ShapeError: inputs of the wrong shape.
        ArgumentError: fewer than one step.
        RefusedError: the state diverged.
    """
    if steps < 1:
        raise ArgumentError("steps", expected="at least 1", got=steps, todo="ask for more")
    return _closed_loop(reservoir, readout, steps, inputs, state, None, 1)


def _closed_loop(
    reservoir: Reservoir,
    readout: RecursiveLeastSquares,
    steps: int,
    inputs: npt.ArrayLike | None,
    state: State | None,
    wanted: FloatArray | None,
    every: int,
) -> ForceRun:
    external = np.zeros((steps, 0)) if inputs is None else np.asarray(inputs, dtype=np.float64)
    if external.ndim != 2 or len(external) != steps:
        raise ShapeError("inputs", expected=f"[{steps}, F]", got=f"shape {external.shape}", todo="one row a step")
    state = reservoir.initial_state() if state is None else state
    outputs, changes = np.zeros((steps, readout.weights.shape[1])), np.zeros(steps)
    output = np.asarray(state.activity @ readout.weights)
    for step in range(steps):
        state = reservoir.step(state, np.concatenate((external[step], output)))
        activity = np.asarray(state.activity, dtype=np.float64)
        if not np.isfinite(activity).all():
            raise RefusedError(
                "reservoir", expected="a finite state", got=f"NaN or infinity at step {step}", todo="lower its gain"
            )
        if wanted is not None and step % every == 0:
            before = readout.weights.copy()
            readout.update(activity, wanted[step])
            changes[step] = np.linalg.norm(readout.weights - before)
        output = activity @ readout.weights
        outputs[step] = output
    return ForceRun(outputs, state, changes)
