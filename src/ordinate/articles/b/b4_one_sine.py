"""B4. The article: one slow sine is flat at its turns and repeats; sines and cosines of many frequencies are unique.

What varies is the code. Measured is the distance from each position to the nearest other one: a code whose nearest two
positions coincide cannot tell them apart. For many frequencies the nearest are neighbours, sqrt(2 sum_i (1 - cos w_i)) apart.
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

__all__ = ["CLAIM", "measure", "uniqueness"]

CLAIM = Claim(
    id="B4",
    title="One sine is not enough",
    place="B36-43, B40",
    statement=(
        "A sine repeats its values. One slow enough not to repeat (period 200 pi beside 2 pi) hardly changes where its "
        "slope is small; with a cosine beside it every place has a vector of its own."
    ),
    remark="Distances to the nearest other position are ours; so are the pair and the 3,000 positions.",
    setup="none stated",
    varies="the code: one sine, one sine with its cosine, sines of many frequencies, both of many; over 3,000 positions",
    band="the nearest two positions: under 1e-3 apart for one sine, as far as neighbours are (to 1e-9) for both of many",
    budget_seconds=10,
)

_WIDTH, _POSITIONS, _SLOW = 64, 3000, 18  # pair 18 turns once in about 1,100 positions

Encode = Callable[[Tensor], Tensor]


def measure(inputs: Inputs) -> Measurement:
    """Claim B4 on the encoding of the paper."""
    return uniqueness(lambda positions: Sinusoidal(_WIDTH).encode(positions, dtype=torch.float64))


def uniqueness(encode: Encode) -> Measurement:
    """Claim B4 on any encoding of 64 channels, sines and cosines in turn.

    Args:
        encode: integer positions [T] to vectors [T, 64].
    """
    table = encode(indices.consecutive(_POSITIONS))
    slow = 2 * _SLOW
    codes = {
        "one slow sine": table[:, slow : slow + 1],
        "that sine and its cosine": table[:, slow : slow + 2],
        "sines of many frequencies": table[:, 0::2],
        "sines and cosines of many": table,
    }
    nearest = {name: _nearest(code) for name, code in codes.items()}
    frequencies = 10000.0 ** (-np.arange(0, _WIDTH, 2) / _WIDTH)
    neighbours = math.sqrt(float(2 * (1 - np.cos(frequencies)).sum()))
    turn = 2 * math.pi * 10000 ** (slow / _WIDTH)
    steps = (codes["one slow sine"][1:] - codes["one slow sine"][:-1]).abs()
    checks = [
        Check.at_most("nearest two positions, one slow sine", float(nearest["one slow sine"].min()), 1e-3),
        Check.at_most("smallest step of that sine over its largest", float(steps.min() / steps.max()), 0.01),
        Check.near(
            "nearest two positions, sines and cosines of many frequencies",
            float(nearest["sines and cosines of many"].min()),
            neighbours,
            1e-9,
        ),
        Check.at_most(
            "nearest two, that sine and its cosine, over many turns",
            float(nearest["that sine and its cosine"].min()),
            0.01,
            role=Role.LIMIT,
        ),
        Check.at_least(
            "nearest two positions, sines of many frequencies alone",
            float(nearest["sines of many frequencies"].min()),
            0.1,
            role=Role.LIMIT,
        ),
        Check.at_least(
            "range of the slow sine, so that it does tell some apart",
            float(np.ptp(table[:, slow].numpy())),
            1.9,
            role=Role.CONTROL,
        ),
    ]
    rows = [(name, float(distances.min()), float(distances.median())) for name, distances in nearest.items()]
    return Measurement(
        checks=checks,
        key_figure=f"nearest two of {_POSITIONS:,} positions: {rows[0][1]:.0e} apart for one sine, {rows[3][1]:.3f} for "
        "many frequencies",
        meaning={
            Verdict.REPRODUCED: "One slow sine gives many positions the same number, and near its turns it hardly moves. With "
            f"its cosine it is a clock hand: unique within a turn of {turn:,.0f} positions, then it repeats. All hands "
            f"together never come near themselves: over {_POSITIONS:,} positions no two are closer than neighbours are. "
            f"Sines alone keep them {rows[2][1]:.2f} apart at least, so what the cosines add is not mainly uniqueness: it is "
            "that every neighbour is equally far, and that a shift is a rotation.",
        },
        inputs=f"sinusoidal encoding, {_WIDTH} channels, positions 0 to {_POSITIONS - 1:,}",
        tables=[Table("Distance to the nearest other position", ("code", "least", "median"), rows)],
        figures=[_picture(nearest)],
    )


def _nearest(code: Tensor, block: int = 500) -> Tensor:
    """For each row of [N, D] the distance to the nearest other row."""
    distances = []
    for start in range(0, len(code), block):
        apart = torch.cdist(code[start : start + block], code, compute_mode="donot_use_mm_for_euclid_dist")
        apart[torch.arange(len(apart)), torch.arange(start, start + len(apart))] = math.inf
        distances.append(apart.min(dim=-1).values)
    return torch.cat(distances)


def _picture(nearest: dict[str, Tensor]) -> Figure:
    with canvas(2, height=3.1) as (figure, (left, right)):
        places = np.linspace(0, 40, 600)
        left.plot(places, np.sin(places), color=SERIES[0]["color"], linewidth=1.4, label="period 2π")
        left.plot(places, np.sin(places / 100), color=SERIES[1]["color"], linestyle="--", linewidth=1.6, label="period 200π")
        left.set(title="Two sines", xlabel="position (tokens)", ylabel="value")
        left.legend(loc="upper right", ncols=2, bbox_to_anchor=(1, 1.02))
        left.set_ylim(-1.1, 1.45)
        left.grid(axis="y")
        for (name, distances), series in zip(nearest.items(), SERIES, strict=False):
            ordered = np.sort(distances.clamp_min(1e-9).numpy())
            right.plot(
                np.linspace(0, 1, len(ordered)), ordered, color=series["color"], linestyle=series["linestyle"], label=name
            )
        right.set(title="Nearest other position", xlabel="share of the positions", ylabel="distance", yscale="log")
        right.grid(axis="y")
        right.legend(loc="lower right")
    return Figure(
        "nearest",
        to_svg(figure),
        caption="Left, the article's two sines: one repeats after six positions, one a hundred times as slow hardly moves from "
        "one position to the next. Right, how far the nearest other position is, for four codes, positions sorted.",
        alt="A fast sine of six turns beside a slow one that rises a little, and four rising curves on a logarithmic "
        "axis: one sine and one pair lie orders of magnitude below the two with many frequencies, which are nearly level.",
    )
