"""A2. The article: low channels of a sinusoid swing fast, high ones slowly, like the digits of a binary number.

What varies is the channel. Measured are the sign changes of each sine over positions 0 to 99, which a sine of frequency w makes
floor(99 w / pi) times, and how much slower each is than the one before. The encoding is that of Vaswani et al. 2017, arXiv
1706.03762, section 3.5.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from ordinate.lab.claim import Claim, Inputs
from ordinate.lab.figures import SERIES, canvas, heat_map, to_svg
from ordinate.lab.measurement import Check, Figure, Measurement, Role, Table, Verdict
from ordinate.position import Sinusoidal, indices

__all__ = ["CLAIM", "measure", "sinusoid_picture"]

CLAIM = Claim(
    id="A2",
    title="A sinusoid is like a binary number",
    place="A46-48",
    statement=(
        "Drawn for 64 channels and positions 0 to 99, low channels of the sinusoidal encoding have narrow stripes and "
        "high ones wide stripes, like the digits of a binary number."
    ),
    remark="Counting sign changes, and the factor from one sine to the next, are ours.",
    setup="same",
    varies="the channel, and the position",
    band="sign changes never rise from one sine to the next, from 31 in the first to none in the last",
    budget_seconds=5,
)

_WIDTH, _POSITIONS = 64, 100
_LONG = 20_000  # enough for a slow sine to be counted


def measure(inputs: Inputs) -> Measurement:
    """Claim A2 on the encoding of the paper."""
    return sinusoid_picture(lambda positions: Sinusoidal(_WIDTH).encode(positions, dtype=torch.float64))


def sinusoid_picture(encode: Callable[[Tensor], Tensor]) -> Measurement:
    """Claim A2 on any encoding of 64 channels.

    Args:
        encode: integer positions [T] to vectors [T, 64], sines on even channels.
    """
    table = encode(indices.consecutive(_POSITIONS)).numpy()
    changes = _sign_changes(table)
    sines = changes[0::2]
    rises = int((np.diff(sines) > 0).sum())

    long_counts = _sign_changes(encode(indices.consecutive(_LONG)).numpy())[0::2]
    counted = long_counts >= 50  # below, one change more or less would move the ratio by percents
    last = int(np.flatnonzero(counted)[-1]) if counted[0] else 0
    ratio = float((long_counts[0] / long_counts[last]) ** (1 / last)) if last else math.nan

    # sin(pos) changes sign at each multiple of pi that it passes: 3.14, 6.28, ... 97.4
    expected_first = math.floor((_POSITIONS - 1) / math.pi)
    checks = [
        Check.near("sign changes of the first sine, positions 0 to 99", sines[0], expected_first, 0),
        Check.near("sign changes of the last sine, positions 0 to 99", sines[-1], 0, 0),
        Check.at_most("sines that change sign more often than the one before", rises, 0),
        Check.near(
            "each sine is slower than the one before by the factor",
            ratio,
            10000 ** (2 / _WIDTH),
            0.01,
            role=Role.GENERALISATION,
        ),
    ]
    return Measurement(
        checks=checks,
        key_figure=f"sign changes fall from {sines[0]} to {sines[-1]} over the 32 sines, with {rises} exceptions",
        meaning={
            Verdict.REPRODUCED: "The picture holds: each pair of channels is a clock hand, and each turns slower than the one "
            f"before by the same factor, {ratio:.3f} here. A binary counter does the same with the factor 2, so about "
            f"{math.log(2) / math.log(ratio):.1f} pairs do the work of one binary digit. The likeness has two limits: a sine "
            "passes smoothly where a digit jumps, and of these 32 pairs those that swing less than once over 100 positions "
            "say little more than whether the position is small or large.",
        },
        inputs=f"sinusoidal encoding, {_WIDTH} channels, positions 0 to {_POSITIONS - 1} (for the factor, to {_LONG - 1:,})",
        tables=[
            Table(
                "Sign changes of single sines",
                ("channel", "frequency, radians a position", "positions for one turn", "changes, positions 0 to 99"),
                [
                    (channel, 10000 ** (-channel / _WIDTH), 2 * math.pi * 10000 ** (channel / _WIDTH), int(changes[channel]))
                    for channel in (0, 8, 16, 24, 32, 48, 62)
                ],
            )
        ],
        figures=[_picture(table, sines)],
    )


def _sign_changes(table: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """How often each column of [T, D] changes sign; zero counts as positive, so sin(0) is no change."""
    positive = table >= 0
    return (positive[1:] != positive[:-1]).sum(axis=0)


def _picture(table: npt.NDArray[np.float64], sines: npt.NDArray[np.int64]) -> Figure:
    with canvas(3, height=4.0, widths=(1.7, 0.8, 1.1)) as (figure, (left, middle, right)):
        heat_map(left, table, label="value of the channel", lower=-1, upper=1)
        left.set(title="Sinusoid", xlabel="channel", ylabel="position (tokens)")

        digits = (np.arange(_POSITIONS)[:, None] >> np.arange(7)) & 1
        heat_map(middle, digits, label="digit", lower=0, upper=1)
        middle.set(title="Binary number", xlabel="digit, last one first", xticks=range(7), yticks=[])

        right.plot(np.arange(0, _WIDTH, 2), sines, **SERIES[0], label="sine channels")
        right.plot(
            np.arange(7) * _WIDTH / 7, [(_POSITIONS - 1) // 2**digit for digit in range(7)], **SERIES[1], label="binary digits"
        )
        right.set_yscale("symlog", linthresh=1)
        right.set_yticks([0, 1, 3, 10, 30, 100], ["0", "1", "3", "10", "30", "100"])
        right.grid(axis="y")
        right.set(title="Sign changes", xlabel="channel (and digit)", ylabel="changes, positions 0 to 99")
        right.legend(loc="upper right")
    return Figure(
        "picture",
        to_svg(figure),
        caption="Left, the encoding of positions 0 to 99: stripes are narrow in low channels and wide in high ones. Middle, "
        "the same positions as binary numbers. Right, how often a channel changes sign and how often a digit flips.",
        alt=f"Two heat maps side by side with position downwards, and a falling curve of sign changes by channel, from "
        f"{sines[0]} in channel 0 to {sines[-1]} in channel 62, beside that of binary digits, from 99 to 1.",
    )
