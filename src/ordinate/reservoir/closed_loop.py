"""Closed loops: what a read-out puts out comes back into the network, as its next input or as feedback."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ordinate.errors import ArgumentError, ShapeError
from ordinate.reservoir.dynamics import Seed, State, generator_of
from ordinate.reservoir.reservoir import Reservoir

__all__ = ["Generated", "generate"]

Array = npt.NDArray[Any]


class Generated(NamedTuple):
    """What a closed loop gives.

    Args:
        outputs: of the read-out, [T, O] or [B, T, O].
        states: recorded activity, [T, R] or [B, T, R].
        state: after the last step.
    """

    outputs: Array
    states: Array
    state: State


def generate(
    reservoir: Reservoir,
    readout: Callable[[Array], Array],
    steps: int,
    *,
    state: State | Array,
    inputs: npt.ArrayLike | None = None,
    record: Any = None,
    gain: npt.ArrayLike | None = None,
    seed: Seed = None,
) -> Generated:
    """Run in closed loop: what a read-out puts out comes back into the network.

    Without `feedback_weights` the output is the next input: `y(t) = readout(x(t)), x(t+1) = step(x(t), y(t))`, and
    `outputs[t]` is y(t), so that a network driven by u(0) .. u(T-1) goes on with its forecast of u(T). With them, inputs
    (if there are channels) come from outside and the output is fed back: `x(t+1) = step(x(t), u(t), feedback=y(t))`, and
    `outputs[t]` is y(t+1), the answer to u(t).

    Args:
        readout: from the recorded activity, [R] or [B, R], to outputs, [O] or [B, O].
        steps: how many.
        state: where to start, such as after teacher forcing.
        inputs: with `feedback_weights`, [steps, F] or [B, steps, F].
        record: as in `run`; it is what the read-out sees.
        gain: as in `run`.
        seed: as in `run`.

    Raises:
        ArgumentError: inputs in a loop that makes its own.
        ShapeError: outputs that do not fit what they are fed into.
        RefusedError: a state that diverges.
    """
    now = State(np.asarray(state, dtype=reservoir.dtype)) if not isinstance(state, State) else state
    kept = reservoir.kept(record)
    lead = now.activity.shape[:-1]
    generator = generator_of(seed)
    fed_back = reservoir.feedback_weights is not None
    if inputs is not None and not fed_back:
        raise ArgumentError("inputs", expected="none, for the outputs are the inputs", got="some", hint="leave them out")
    shown = np.zeros((*lead, steps, 0), dtype=reservoir.dtype) if inputs is None else np.asarray(inputs, dtype=reservoir.dtype)
    if shown.shape[-2:] != (steps, reservoir.num_channels if fed_back else 0) or shown.shape[:-2] != lead:
        raise ShapeError(
            "inputs",
            expected=f"{[*lead, steps, reservoir.num_channels]}",
            got=str(list(shown.shape)),
            hint="one input a step and channel",
        )
    wanted = (*lead, len(reservoir.feedback_weights) if reservoir.feedback_weights is not None else reservoir.num_channels)
    outputs: list[Array] = []
    states: list[Array] = []

    def put_out(current: State) -> Array:
        told = np.asarray(readout(current.activity[..., kept]), dtype=reservoir.dtype)
        if told.shape != wanted:
            raise ShapeError(
                "readout",
                expected=f"outputs {list(wanted)}",
                got=str(list(told.shape)),
                hint="one output a channel it feeds",
            )
        return told

    output = put_out(now)
    for t in range(steps):
        if fed_back:
            now = reservoir.run_checked(shown[..., t : t + 1, :], now, None, gain, output[..., None, :], generator, at=t)[1]
            output = put_out(now)
            outputs.append(output)
        else:
            outputs.append(output)
            now = reservoir.run_checked(output[..., None, :], now, None, gain, None, generator, at=t)[1]
            output = put_out(now)
        states.append(now.activity[..., kept])
    if not steps:
        return Generated(np.zeros((*lead, 0, wanted[-1])), np.zeros((*lead, 0, kept.size), dtype=reservoir.dtype), now)
    return Generated(np.stack(outputs, axis=-2), np.stack(states, axis=-2), now)
