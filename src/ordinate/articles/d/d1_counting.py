"""D1. The article: raw integers grow without bound, 1/(pos - 1) means different things in different texts, sigmoids flatten.

What varies is the way of counting. 1/(pos - 1) is printed as a function of the position, which is infinite at position 1; the
article's examples divide by the length less 1. Both readings are measured, and a third that its picture suggests, equal steps
of 1/(length - 1). Beside them the sinusoid, whose values stay within 1 and mean the same in every text.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from ordinate.lab.claim import Claim, Inputs
from ordinate.lab.figures import SERIES, canvas, to_svg
from ordinate.lab.measurement import Check, Figure, Measurement, Role, Verdict
from ordinate.position import Sinusoidal, indices

__all__ = ["CLAIM", "counting", "measure"]

CLAIM = Claim(
    id="D1",
    title="Counting is no good position",
    place="D1124-1165",
    statement=(
        "The number of the token as its position grows without bound. 1/(pos - 1) stays within 1 (the 100th token gets "
        "1/99), but the first token gets 1/3 = 0.33 in a text of 4 tokens and 1/9 = 0.11 in one of 10, where one place "
        "should have one value. A sigmoid changes less and less."
    ),
    remark=(
        "1/(pos - 1) has two readings, and both are measured: as printed, by position, it is infinite at position 1; "
        "the examples of .33 and .11 divide by the length less 1."
    ),
    setup="same",
    varies="the way of counting, the reading of 1/(pos - 1), the position, and the length of the text",
    band="as by hand",
    budget_seconds=5,
)

_FAR, _SHORT, _LONG, _DIM = 10_000, 5, 100, 64

Count = Callable[[Tensor], Tensor]
CountWithin = Callable[[Tensor, int], Tensor]


def measure(inputs: Inputs) -> Measurement:
    """Claim D1 on the three ways as the article has them."""
    return counting(
        lambda positions: positions.double(),
        lambda positions, length: 1 / (positions.double() - 1),
        lambda positions, length: torch.full(positions.shape, 1 / (length - 1), dtype=torch.float64),
        lambda positions: positions.double().sigmoid(),
    )


def counting(integer: Count, by_position: CountWithin, by_length: CountWithin, sigmoid: Count) -> Measurement:
    """Claim D1 on any ways to count; positions begin at 1.

    Args:
        integer: positions [T] to a number each, claimed to grow without bound.
        by_position: 1/(pos - 1) read as printed, of positions and a text's length.
        by_length: the same read as the examples have it.
        sigmoid: positions to a number each, claimed to flatten.
    """
    far = torch.tensor([_FAR, 10 * _FAR])
    grown = integer(far)
    first = {
        name: [float(count(torch.tensor([1]), length)[0]) for length in (4, 10)]
        for name, count in (("position", by_position), ("length", by_length))
    }
    places = torch.arange(1, _LONG + 1)
    largest = {
        name: max(float(count(places[:length], length).max()) for length in (2, 4, 10, _LONG))
        for name, count in (("position", by_position), ("length", by_length))
    }
    hundredth = float(by_position(torch.tensor([_LONG]), _LONG)[0])
    flat = [float(sigmoid(torch.tensor([step + 1])) - sigmoid(torch.tensor([step]))) for step in (0, 10)]
    rounded = sigmoid(indices.consecutive(1000)).float()
    last_moving = int((rounded.diff() != 0).nonzero().max())
    by_hand = 1 / (1 + math.exp(-11)) - 1 / (1 + math.exp(-10))

    sinusoid = Sinusoidal(_DIM)
    bound = float(sinusoid.encode(torch.arange(0, _FAR, 7), dtype=torch.float64).abs().max())
    late = sinusoid.encode(torch.tensor([0, 1, _FAR, _FAR + 1]), dtype=torch.float64)
    late_step = float((late[3] - late[2]).norm() / (late[1] - late[0]).norm())
    checks = [
        Check.near("raw integer of the 100th token", float(integer(torch.tensor([_LONG]))[0]), _LONG, 0),
        Check.near("growth of the raw integer from position 10,000 to 100,000", float(grown[1] / grown[0]), 10, 1e-9),
        Check.near("1/(pos - 1) of the 100th token, read by position", hundredth, 1 / 99, 1e-12),
        Check.at_most("largest value of 1/(pos - 1), read by position", largest["position"], 1),
        Check.near("first token of a text of 4, read by position", first["position"][0], 0.33, 0.005),
        Check.near("first token of a text of 10, read by position", first["position"][1], 0.11, 0.005),
        Check.at_most("largest value, read by length", largest["length"], 1, role=Role.DETAIL_FIXED),
        Check.near("first token of a text of 4, read by length", first["length"][0], 0.33, 0.005, role=Role.DETAIL_FIXED),
        Check.near("first token of a text of 10, read by length", first["length"][1], 0.11, 0.005, role=Role.DETAIL_FIXED),
        Check.near("step of the sigmoid from position 10 to 11", flat[1], by_hand, 1e-12),
        Check.at_most("step of the sigmoid at position 10 over that at position 0", flat[1] / flat[0], 1e-3),
        Check.at_most("last position where a float32 sigmoid still moves", last_moving, 20, role=Role.GENERALISATION),
        Check.at_most("largest value of the sinusoid", bound, 1.0, role=Role.CONTROL),
        Check.near("step of the sinusoid at position 10,000 over that at 0", late_step, 1.0, 1e-9, role=Role.CONTROL),
    ]
    return Measurement(
        checks=checks,
        key_figure=f"1/(pos - 1) is {largest['position']:g} at position 1 as printed; read by length, {first['length'][0]:.2f} "
        f"and {first['length'][1]:.2f}; a sigmoid still moves at {last_moving} and never after",
        meaning={
            Verdict.CORRECTED: "The objections hold, the formula needs a word. As printed, 1/(pos - 1) is a function of the "
            f"position, and the first token gets {first['position'][0]:g} whatever the text; the examples of .33 and .11 "
            "divide by the length less 1. Read so, the value stays within 1, and one place has another value in every text, "
            "which is the objection. An integer of 10,000 beside word vectors of length 5 or so would be all that a layer "
            "sees. A sigmoid is bounded and means the same everywhere, but it stops: in float32 every position past "
            f"{last_moving} has the value 1. The sinusoid has none of these faults.",
        },
        inputs=f"positions 1 to {10 * _FAR:,}; texts of 4, 10 and {_LONG} tokens; a sinusoid of {_DIM} channels beside them",
        figures=[_grows(integer), _shrinks(), _flattens(sigmoid)],
    )


def _grows(integer: Callable[[Tensor], Tensor]) -> Figure:
    steps = torch.logspace(0, 4, 60).long().unique()
    with canvas(height=2.5) as (figure, axes):
        axes.plot(steps.numpy(), integer(steps).numpy(), color=SERIES[0]["color"], linewidth=1.6, label="raw integer")
        waves = Sinusoidal(_DIM).encode(steps, dtype=torch.float64).abs().amax(-1)
        axes.plot(
            steps.numpy(), waves.numpy(), color=SERIES[1]["color"], linestyle="--", linewidth=1.6, label="largest sinusoid"
        )
        axes.set(title="It grows", xlabel="position (tokens)", ylabel="value", xscale="log", yscale="log")
        axes.grid(axis="y")
        axes.legend(loc="upper left")
    return Figure(
        "grows",
        to_svg(figure),
        caption="The raw integer, and the largest channel of a sinusoid, by position; both axes logarithmic.",
        alt="A straight rising line from 1 to 10,000, above a level one at 1.",
    )


def _shrinks() -> Figure:
    with canvas(height=2.5) as (figure, axes):
        for row, (length, series) in enumerate(zip((_SHORT, 20, _LONG), SERIES, strict=False)):
            values = np.arange(length) / (length - 1)
            axes.plot(
                values, np.full(length, row), color=series["color"], marker=series["marker"], linestyle="none", markersize=5
            )
        axes.axvline(0.5, color="#1b1c1e", linewidth=0.7, linestyle=":")
        axes.set_yticks(range(3), [f"{length} tokens" for length in (_SHORT, 20, _LONG)])
        axes.set(
            title="A value means something else in each text", xlabel="value: equal steps of 1/(length - 1)", ylim=(-0.5, 2.5)
        )
    return Figure(
        "shrinks",
        to_svg(figure),
        caption="Every token of three texts at its value, in equal steps as the article's picture of five tokens. The "
        "dotted line, .5, meets the third word of five and none of a hundred.",
        alt="Three rows of dots from 0 to 1: five dots far apart, twenty closer, a hundred that nearly touch.",
    )


def _flattens(sigmoid: Callable[[Tensor], Tensor]) -> Figure:
    steps = indices.consecutive(31)
    with canvas(2, height=2.5) as (figure, (left, right)):
        left.plot(sigmoid(steps).numpy(), **SERIES[0])
        left.set(title="It flattens", xlabel="position (tokens)", ylabel="sigmoid(position)", ylim=(0.45, 1.05))
        right.plot(np.maximum(sigmoid(steps).float().diff().numpy(), 1e-9), **SERIES[0], label="in float32")
        right.axhline(2.0**-24, color=SERIES[1]["color"], linestyle="--", label="least step below 1")
        right.set(title="Step to the next position", xlabel="position (tokens)", ylabel="difference", yscale="log")
        right.legend(loc="upper right")
        for axes in (left, right):
            axes.grid(axis="y")
    return Figure(
        "flattens",
        to_svg(figure),
        caption="A sigmoid of the position, and its step to the next position in float32; steps of zero are drawn at the "
        "bottom.",
        alt="A curve that is level from about position 5 on, and steps that fall in a straight line on a logarithmic axis "
        "until they are zero from position 18 on.",
    )
