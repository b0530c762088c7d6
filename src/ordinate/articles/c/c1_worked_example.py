"""C1. The article: [.51, -.22, .88, .14] + [0, 1, 0, 1] = [.51, .78, .88, 1.14], and the same word at position 5 differs.

What varies is the position. At position 0 every angle is 0, so sines are 0 and cosines 1, whatever the width; at position 5 the
four channels are sin 5, cos 5, sin 0.05 and cos 0.05.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

from ordinate.lab.claim import Claim, Inputs
from ordinate.lab.figures import SERIES, canvas, to_svg
from ordinate.lab.measurement import Check, Figure, Measurement, Role, Table, Verdict
from ordinate.position import Sinusoidal

__all__ = ["CLAIM", "WORD", "measure", "worked_example"]

CLAIM = Claim(
    id="C1",
    title="A worked example of adding",
    place="C29-38",
    statement=(
        'The vector [0.51, -0.22, 0.88, 0.14] of "DataCamp" at position 0 becomes, with [0.00, 1.00, 0.00, 1.00] added, '
        "[0.51, 0.78, 0.88, 1.14]; the same word at position 5 becomes another vector."
    ),
    setup="same",
    varies="the position of one word, 0 and 5",
    band="each of the four numbers to 1e-12; at position 5 at least 0.1 away",
    budget_seconds=5,
)

WORD = (0.51, -0.22, 0.88, 0.14)
_PRINTED = (0.51, 0.78, 0.88, 1.14)
_LATER = 5


def measure(inputs: Inputs) -> Measurement:
    """Claim C1 on the encoding of the paper."""
    return worked_example(lambda positions: Sinusoidal(4).encode(positions, dtype=torch.float64), WORD)


def worked_example(encode: Callable[[Tensor], Tensor], word: Sequence[float]) -> Measurement:
    """Claim C1 on any encoding and word.

    Args:
        encode: integer positions [T] to vectors [T, 4].
        word: four numbers.
    """
    embedding = torch.tensor(word, dtype=torch.float64)
    first, later = (embedding + place for place in encode(torch.tensor([0, _LATER])))
    apart = float((later - first).norm())
    by_hand = [math.sin(5), math.cos(5), math.sin(0.05), math.cos(0.05)]
    checks = [
        *(
            Check.near(f"channel {channel} at position 0", float(first[channel]), printed, 1e-12)
            for channel, printed in enumerate(_PRINTED)
        ),
        Check.at_least("distance between the word at position 0 and at position 5", apart, 0.1),
        *(
            Check.near(f"channel {channel} at position 5", float(later[channel]), word[channel] + angle, 1e-12, role=Role.LIMIT)
            for channel, angle in enumerate(by_hand)
        ),
        Check.at_least(
            "length of the word's vector, so that something is added to it", float(embedding.norm()), 0.1, role=Role.CONTROL
        ),
    ]
    return Measurement(
        checks=checks,
        key_figure=f"[{', '.join(f'{x:.2f}' for x in first)}] at position 0, "
        f"[{', '.join(f'{x:.2f}' for x in later)}] at position 5",
        meaning={
            Verdict.REPRODUCED: "The addition is right. At position 0 the encoding is 0, 1, 0, 1, ... in any width, so the "
            f"first word of every text is moved by the same vector. At position 5 the word has moved on by {apart:.2f}, nearly "
            "all of it in the first pair of channels: the second pair turns a hundred times slower. The word itself is nowhere "
            "marked off from the place; whoever reads the sum must be able to tell the two apart.",
        },
        inputs="the article's word vector of four channels, positions 0 and 5",
        tables=[
            Table(
                "The word, its places, and the sums",
                ("channel", "word", "sum at 0, article", "sum at 0, here", "sum at 5, here"),
                [
                    (channel, word[channel], _PRINTED[channel], float(first[channel]), float(later[channel]))
                    for channel in range(4)
                ],
            )
        ],
        figures=[_picture(embedding, first, later)],
    )


def _picture(embedding: Tensor, first: Tensor, later: Tensor) -> Figure:
    with canvas(height=2.8) as (figure, axes):
        for place, (values, series, hatch, label) in enumerate(
            (
                (embedding, SERIES[0], "", "the word alone"),
                (first, SERIES[1], "///", "at position 0"),
                (later, SERIES[2], "...", "at position 5"),
            )
        ):
            axes.bar(
                np.arange(4) + 0.27 * (place - 1),
                values.numpy(),
                0.24,
                color=series["color"],
                hatch=hatch,
                edgecolor="white",
                linewidth=0.5,
                label=label,
            )
        axes.axhline(0, color="#1b1c1e", linewidth=0.7)
        axes.set(title="One word, two places", xlabel="channel", ylabel="value", xticks=range(4), ylim=(-0.6, 1.85))
        axes.grid(axis="y")
        axes.legend(loc="upper left", ncols=3)
    return Figure(
        "word",
        to_svg(figure),
        caption="The word's four channels alone, at position 0 and at position 5.",
        alt="Three bars for each of four channels. Channels 0 and 1 differ strongly between positions 0 and 5, channels 2 and "
        "3 hardly.",
    )
