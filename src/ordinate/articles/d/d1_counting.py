"""D1. The article: raw integers grow without bound, 1/(length - 1) means different things, sigmoids flatten.

What varies is the way of counting. All three are measured beside the sinusoid, whose values stay within 1, whose steps mean the
same in every sentence, and which still moves at position 10,000.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from ordinate.lab.claim import Claim, Inputs
from ordinate.lab.figures import SERIES, canvas, to_svg
from ordinate.lab.measurement import Check, Figure, Measurement, Role, Table, Verdict
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


def measure(inputs: Inputs) -> Measurement:
    """Claim D1 on the three ways as the article has them."""
    return counting(
        lambda positions: positions.double(),
        lambda positions, length: positions.double() / (length - 1),
        lambda positions: positions.double().sigmoid(),
    )


def counting(
    integer: Callable[[Tensor], Tensor], share: Callable[[Tensor, int], Tensor], sigmoid: Callable[[Tensor], Tensor]
) -> Measurement:
    """Claim D1 on any three ways to count.

    Args:
        integer: positions [T] to a number each, claimed to grow without bound.
        share: positions and the sentence's length to a number each, claimed to mean different things.
        sigmoid: positions to a number each, claimed to flatten.
    """
    far = torch.tensor([_FAR, 10 * _FAR])
    grown = integer(far)
    steps = {length: float(share(torch.tensor([1]), length) - share(torch.tensor([0]), length)) for length in (_SHORT, _LONG)}
    half = {length: _where(share, length) for length in (_SHORT, _LONG)}
    flat = [float(sigmoid(torch.tensor([step + 1])) - sigmoid(torch.tensor([step]))) for step in (0, 10)]
    rounded = sigmoid(indices.consecutive(1000)).float()
    last_moving = int((rounded.diff() != 0).nonzero().max())
    by_hand = 1 / (1 + math.exp(-11)) - 1 / (1 + math.exp(-10))

    sinusoid = Sinusoidal(_DIM)
    bound = float(sinusoid.encode(torch.arange(0, _FAR, 7), dtype=torch.float64).abs().max())
    late = sinusoid.encode(torch.tensor([0, 1, _FAR, _FAR + 1]), dtype=torch.float64)
    late_step = float((late[3] - late[2]).norm() / (late[1] - late[0]).norm())
    checks = [
        Check.near("raw integer at position 10,000", float(grown[0]), _FAR, 0),
        Check.near("growth of the raw integer from position 10,000 to 100,000", float(grown[1] / grown[0]), 10, 1e-9),
        Check.near("step of 1/(length - 1), sentence of 5", steps[_SHORT], 0.25, 1e-12),
        Check.near("step of 1/(length - 1), sentence of 100", steps[_LONG], 0.0101, 5e-5),
        Check.near("token at the value .5, sentence of 5", half[_SHORT], 2, 0),
        Check.at_least("token at the value .5 or next to it, sentence of 100", half[_LONG], 49),
        Check.near("step of the sigmoid from position 10 to 11", flat[1], by_hand, 1e-12),
        Check.at_most("step of the sigmoid at position 10 over that at position 0", flat[1] / flat[0], 1e-3),
        Check.at_most("last position where a float32 sigmoid still moves", last_moving, 20, role=Role.GENERALISATION),
        Check.at_most("largest value of the sinusoid", bound, 1.0, role=Role.CONTROL),
        Check.near("step of the sinusoid at position 10,000 over that at 0", late_step, 1.0, 1e-9, role=Role.CONTROL),
    ]
    return Measurement(
        checks=checks,
        key_figure=f"{float(grown[0]):,.0f} at position 10,000; steps of {steps[_SHORT]:.2f} and {steps[_LONG]:.4f}; a sigmoid "
        f"still moves at {last_moving} and never after",
        meaning={
            Verdict.REPRODUCED: "All three objections hold. An integer of 10,000 beside word vectors of length 5 or so would "
            "be all that a layer sees. Divided by the length, the same number .5 is the third word of five and the fiftieth of "
            "a hundred, and the neighbour is 25 times as far away in the short sentence. A sigmoid is bounded and means the "
            f"same everywhere, but it stops: in float32 every position past {last_moving} has the value 1. The sinusoid has "
            "none of the three faults, which is the argument for it.",
        },
        inputs=f"positions 0 to {10 * _FAR:,}; sentences of {_SHORT} and {_LONG} tokens; a sinusoid of {_DIM} channels beside "
        "them",
        figures=[_grows(integer), _shrinks(share), _flattens(sigmoid)],
        tables=[
            Table(
                "Step from one position to the next",
                ("way of counting", "at position 0", "at position 10"),
                [
                    ("raw integer", 1.0, float(integer(torch.tensor([11])) - integer(torch.tensor([10])))),
                    ("1/(length - 1), 100 tokens", steps[_LONG], float(_step(lambda p: share(p, _LONG), 10))),
                    ("sigmoid", flat[0], flat[1]),
                ],
            )
        ],
    )


def _where(share: Callable[[Tensor, int], Tensor], length: int) -> int:
    """The token whose value is nearest to one half."""
    return int((share(indices.consecutive(length), length) - 0.5).abs().argmin())


def _step(value: Callable[[Tensor], Tensor], position: int) -> Tensor:
    return value(torch.tensor([position + 1])) - value(torch.tensor([position]))


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
        svg = to_svg(figure)
    return Figure(
        "grows",
        svg,
        caption="The raw integer, and the largest channel of a sinusoid, by position; both axes logarithmic.",
        alt="A straight rising line from 1 to 10,000, above a level one at 1.",
    )


def _shrinks(share: Callable[[Tensor, int], Tensor]) -> Figure:
    with canvas(height=2.5) as (figure, axes):
        for row, (length, series) in enumerate(zip((_SHORT, 20, _LONG), SERIES, strict=False)):
            values = share(indices.consecutive(length), length).numpy()
            axes.plot(
                values, np.full(length, row), color=series["color"], marker=series["marker"], linestyle="none", markersize=5
            )
        axes.axvline(0.5, color="#1b1c1e", linewidth=0.7, linestyle=":")
        axes.set_yticks(range(3), [f"{length} tokens" for length in (_SHORT, 20, _LONG)])
        axes.set(title="It means something else in each sentence", xlabel="value, position / (length - 1)", ylim=(-0.5, 2.5))
        svg = to_svg(figure)
    return Figure(
        "shrinks",
        svg,
        caption="Every token of three sentences at its value. The dotted line, .5, meets the third word of five and none of a "
        "hundred.",
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
        svg = to_svg(figure)
    return Figure(
        "flattens",
        svg,
        caption="A sigmoid of the position, and its step to the next position in float32; steps of zero are drawn at the "
        "bottom.",
        alt="A curve that is level from about position 5 on, and steps that fall in a straight line on a logarithmic axis "
        "until they are zero from position 18 on.",
    )
