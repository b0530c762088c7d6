"""D2. The article: position 3, d = 3: sin(3/1) = .14, cos(3/436) = .99, sin(3/1.4) = .03.

What varies is the channel. The article gives each channel j a denominator of its own, 10000^(2 j / d), sines and cosines in
turn; at d = 3 these are 1, 464.16 and 215,443. In the paper (Vaswani et al. 2017, arXiv 1706.03762, section 3.5) a sine and the
cosine after it share one; at d = 4 its channels are sin 3, cos 3 and sin(3/100), whose sizes are the printed values.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import torch

from ordinate.lab.claim import Claim, Inputs
from ordinate.lab.figures import SERIES, canvas, to_svg
from ordinate.lab.measurement import Check, Figure, Measurement, Role, Table, Verdict
from ordinate.position import Sinusoidal

__all__ = ["CLAIM", "PRINTED_DENOMINATORS", "PRINTED_VALUES", "measure", "own_denominator", "worked_example"]

CLAIM = Claim(
    id="D2",
    title="A worked example of the formula",
    place="D1224-1237",
    statement="For position 3: sin(3/1) = 0.14, cos(3/436) = 0.99, sin(3/1.4) = 0.03.",
    remark=(
        "Two readings are tested: the denominators as the printed formula gives them at d = 3, and the formula of the "
        "paper at d = 4, where the channels are sin 3, cos 3 and sin .03."
    ),
    setup="same",
    varies="the channel, and how the example is read",
    band="values to half a unit in the last printed digit",
    budget_seconds=5,
)

PRINTED_DENOMINATORS, PRINTED_VALUES = (1.0, 436.0, 1.4), (0.14, 0.99, 0.03)
_RIGHT_DENOMINATORS, _RIGHT_VALUES = (1.0, 464.16, 215_443.0), (0.14112, 0.99998, 1.4e-5)
_HALF_DIGITS = (5e-6, 5e-6, 5e-7)  # half a unit in the last digit of the right values
_POSITION, _DIM = 3, 3
_NAMES = ("sin", "cos", "sin")


def own_denominator(channel: int) -> float:
    """10000^(2 j / d), the article's formula."""
    return 10000.0 ** (2 * channel / _DIM)


def measure(inputs: Inputs) -> Measurement:
    """Claim D2 on the article's formula and its printed numbers."""
    four = Sinusoidal(4).encode(torch.tensor([_POSITION]), dtype=torch.float64)[0, :3].tolist()
    return worked_example(own_denominator, PRINTED_DENOMINATORS, PRINTED_VALUES, four)


def worked_example(
    denominator: Callable[[int], float],
    printed_denominators: Sequence[float],
    printed_values: Sequence[float],
    four_channels: Sequence[float],
) -> Measurement:
    """Claim D2 on any formula and any printed numbers.

    Args:
        denominator: of each channel.
        printed_denominators, printed_values: what is claimed, for three channels.
        four_channels: the first three channels of the paper's encoding at d = 4.
    """
    denominators = [denominator(channel) for channel in range(_DIM)]
    angles = [_POSITION / below for below in denominators]
    values = [math.sin(angles[0]), math.cos(angles[1]), math.sin(angles[2])]
    from_printed = [
        wave(_POSITION / below) for wave, below in zip((math.sin, math.cos, math.sin), printed_denominators, strict=True)
    ]
    paper = Sinusoidal(_DIM).encode(torch.tensor([_POSITION]), dtype=torch.float64)[0].tolist()
    checks = []
    for channel, name in enumerate(_NAMES):
        printed, right = printed_denominators[channel], _RIGHT_DENOMINATORS[channel]
        checks += [
            Check.near(f"denominator of channel {channel}", denominators[channel], printed, 0.005 * printed),
            Check.near(f"{name} in channel {channel}", values[channel], printed_values[channel], 0.005),
            Check.near(
                f"denominator of channel {channel}, put right",
                denominators[channel],
                right,
                right * 1e-5,
                role=Role.DETAIL_FIXED,
            ),
            Check.near(
                f"{name} in channel {channel}, put right",
                values[channel],
                _RIGHT_VALUES[channel],
                _HALF_DIGITS[channel],
                role=Role.DETAIL_FIXED,
            ),
        ]
    checks += [
        *(
            Check.near(
                f"size of {name} in the paper at d = 4", abs(value), printed_values[channel], 0.005, role=Role.DETAIL_FIXED
            )
            for channel, (name, value) in enumerate(zip(("sin 3", "cos 3", "sin(3/100)"), four_channels, strict=True))
        ),
        Check.near("channel 1 in the paper, cos 3", paper[1], math.cos(3), 1e-12, role=Role.LIMIT),
        Check.near("channel 2 in the paper, sin(3 / 464.16)", paper[2], math.sin(3 / 10000 ** (2 / 3)), 1e-12, role=Role.LIMIT),
        Check.at_least(
            "range of the three values, so that a wrong one would be seen", max(values) - min(values), 0.5, role=Role.CONTROL
        ),
    ]
    return Measurement(
        checks=checks,
        key_figure=f"sin 3, |cos 3|, sin .03 at d = 4: {', '.join(f'{abs(x):.2f}' for x in four_channels)}; at d = 3 "
        f"{values[0]:.5f}, {values[1]:.5f}, {values[2]:.1e} with denominators 1, {denominators[1]:.2f} and "
        f"{denominators[2]:,.0f}",
        meaning={
            Verdict.CORRECTED: "The three values are right for another example: the paper's encoding of position 3 at d = 4, "
            f"where the channels are {four_channels[0]:.2f}, {four_channels[1]:.2f} and {four_channels[2]:.2f}; one sign was "
            "lost, and the denominators printed beside them belong to neither. Read as printed, with d = 3 and a "
            "denominator of "
            "its own for each channel, the first channel is right. The second denominator, 10000^(2/3), is 464.16, "
            "where 436 is printed, and the third, 10000^(4/3), is 215,443, where 1.4 is printed; that looks like the "
            "leading digits of the angle, 3/215,443 = 1.4e-5. With them the example reads .14, 1.00 and .00: .14112, .99998 "
            f"and 1.4e-5. From the printed denominators the last two values would be {from_printed[1]:.5f} and "
            f"{from_printed[2]:.2f}, so those do not belong to them either. One more remark: giving each channel a denominator "
            "of its own is not the paper's formula, where a sine and the cosine beside it share one; there the three channels "
            f"are {paper[0]:.4f}, {paper[1]:.4f} and {paper[2]:.4f}. The sharing is what makes a shift a rotation (claim D4).",
        },
        inputs="position 3, three channels",
        tables=[
            Table(
                "Position 3, d = 3",
                ("channel", "denominator, article", "denominator, formula", "value, article", "value, formula", "value, paper"),
                [
                    (
                        f"{channel}, {name}",
                        f"{printed_denominators[channel]:g}",
                        f"{denominators[channel]:,.2f}",
                        printed_values[channel],
                        values[channel],
                        paper[channel],
                    )
                    for channel, name in enumerate(_NAMES)
                ],
            )
        ],
        figures=[_picture(denominators, values, printed_denominators, printed_values)],
    )


def _picture(
    denominators: Sequence[float],
    values: Sequence[float],
    printed_denominators: Sequence[float],
    printed_values: Sequence[float],
) -> Figure:
    with canvas(2, height=2.8) as (figure, (left, right)):
        for axes, printed, computed, title in (
            (left, printed_denominators, denominators, "Denominators"),
            (right, printed_values, values, "Values"),
        ):
            axes.plot(
                printed,
                np.arange(_DIM) - 0.12,
                linestyle="none",
                marker="s",
                markersize=6,
                markerfacecolor="none",
                markeredgewidth=1.6,
                markeredgecolor=SERIES[1]["color"],
                label="as printed",
            )
            axes.plot(
                computed,
                np.arange(_DIM) + 0.12,
                linestyle="none",
                marker="o",
                markersize=6,
                color=SERIES[0]["color"],
                label="formula",
            )
            axes.set_yticks(range(_DIM), [f"{name}, channel {channel}" for channel, name in enumerate(_NAMES)])
            axes.set(title=title, ylim=(2.5, -0.5))
            axes.grid(axis="x")
        left.set(xlabel="denominator", xscale="log")
        right.set(xlabel="value of the channel", xlim=(-0.08, 1.08))
        right.set_yticklabels([])
        left.legend(loc="upper right")
    return Figure(
        "example",
        to_svg(figure),
        caption="The article's numbers and those of its formula, by channel; denominators on a logarithmic axis.",
        alt="Pairs of marks for three channels. Channel 0 agrees; denominators of channel 1 differ a little and those of "
        "channel 2 by five orders of magnitude; the values of channels 1 and 2 lie near each other but not on each other.",
    )
