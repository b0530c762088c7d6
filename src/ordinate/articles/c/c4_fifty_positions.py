"""C4. The article: over fifty positions high channels look like stripes, sines near 0 and cosines near 1, not exactly.

What varies is the channel and the position. A sine of frequency w is at most 49 w over positions 0 to 49, and its cosine at
least 1 - (49 w)^2 / 2; in the last quarter of the channels w is at most 10000^(-3/4) = 0.001.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from ordinate.lab.claim import Claim, Inputs
from ordinate.lab.figures import SERIES, canvas, heat_map, to_svg
from ordinate.lab.measurement import Check, Figure, Measurement, Role, Table, Verdict
from ordinate.position import Sinusoidal, indices

__all__ = ["CLAIM", "fifty_positions", "measure"]

CLAIM = Claim(
    id="C4",
    title="High channels look like stripes",
    place="C64-70",
    statement=(
        "In the picture of 50 positions many high channels look like even stripes, because their sines stay near 0 and "
        "their cosines near 1, though not at 0 and 1."
    ),
    setup="same",
    setup_detail="the article does not give its number of channels; 512 here",
    varies="the channel, of 512, and the position, 0 to 49",
    band="in the last quarter of the channels sines below 0.05 and cosines above 0.998, yet no two positions alike",
    budget_seconds=5,
)

_WIDTH, _POSITIONS = 512, 50


def measure(inputs: Inputs) -> Measurement:
    """Claim C4 on the encoding of the paper."""
    return fifty_positions(lambda positions: Sinusoidal(_WIDTH).encode(positions, dtype=torch.float64))


def fifty_positions(encode: Callable[[Tensor], Tensor]) -> Measurement:
    """Claim C4 on any encoding of 512 channels, sines and cosines in turn.

    Args:
        encode: integer positions [T] to vectors [T, 512].
    """
    table = encode(indices.consecutive(_POSITIONS))
    sines, cosines = table[:, 0::2], table[:, 1::2]
    quarter = 3 * sines.shape[1] // 4
    high_sine, low_cosine = float(sines[:, quarter:].abs().max()), float(cosines[:, quarter:].min())
    last_sine, last_cosine = sines[:, -1], cosines[:, -1]
    low = sines[:, : sines.shape[1] // 8]
    checks = [
        Check.at_most("largest sine in the last quarter of the channels", high_sine, 0.05),
        Check.at_least("least cosine in the last quarter of the channels", low_cosine, 0.998),
        Check.at_least("largest value of the last sine, which should not be 0", float(last_sine.abs().max()), 1e-3),
        Check.at_least("largest distance of the last cosine from 1", float((1 - last_cosine).max()), 1e-6),
        Check.near("different values of the last sine, of 50", _distinct(last_sine), _POSITIONS, 0),
        Check.near(
            "different values of the last cosine in bfloat16, of 50", _distinct(last_cosine.bfloat16()), 1, 0, role=Role.LIMIT
        ),
        Check.at_least(
            "range of the sines in the first eighth of the channels", float(low.max() - low.min()), 1.9, role=Role.CONTROL
        ),
    ]
    return Measurement(
        checks=checks,
        key_figure=f"last quarter: sines up to {high_sine:.3f}, cosines from {low_cosine:.4f}; the last sine reaches "
        f"{float(last_sine.abs().max()):.4f}",
        meaning={
            Verdict.REPRODUCED: "The stripes are there, and they are not quite even: over fifty positions the last sine "
            f"climbs to {float(last_sine.abs().max()):.4f} and its cosine falls by {float((1 - last_cosine).max()):.1e}. In "
            "float32 each position still has its own value of the last sine. In bfloat16, in which models run, the last cosine "
            f"is {_distinct(last_cosine.bfloat16())} value for all fifty: near 1 the format has steps of 0.004, while near 0, "
            f"where the sines are, it keeps {_distinct(last_sine.bfloat16())} of 50 apart. What the high channels are for only "
            "shows over thousands of positions.",
        },
        inputs=f"sinusoidal encoding, {_WIDTH} channels, positions 0 to {_POSITIONS - 1}",
        tables=[
            Table(
                "Single pairs over positions 0 to 49",
                ("channels", "largest sine", "least cosine"),
                [
                    (f"{2 * pair} and {2 * pair + 1}", float(sines[:, pair].max()), float(cosines[:, pair].min()))
                    for pair in (0, 64, 128, 192, 255)
                ],
            )
        ],
        figures=[_picture(table, last_sine, last_cosine)],
    )


def _distinct(values: Tensor) -> int:
    return len(values.unique())


def _picture(table: Tensor, last_sine: Tensor, last_cosine: Tensor) -> Figure:
    with canvas(3, height=3.5, widths=(1.9, 1, 1)) as (figure, (left, middle, right)):
        heat_map(left, table.numpy(), label="value of the channel", lower=-1, upper=1)
        left.set(title="Fifty positions", xlabel="channel", ylabel="position (tokens)")
        middle.plot(1e3 * last_sine.numpy(), color=SERIES[0]["color"], linewidth=1.6)
        middle.set(title="The last sine", xlabel="position (tokens)", ylabel="value, thousandths")
        right.plot(1e6 * (1 - last_cosine.numpy()), color=SERIES[1]["color"], linewidth=1.6, linestyle="--")
        right.set(title="The last cosine", xlabel="position (tokens)", ylabel="1 - value, millionths")
        for axes in (middle, right):
            axes.grid(axis="y")
    return Figure(
        "stripes",
        to_svg(figure),
        caption="Left, all channels of fifty positions. Middle and right, the last pair enlarged: neither is a constant.",
        alt="A heat map with fine waves in the low channels and even vertical stripes from about channel 200 on; a straight "
        "line rising from 0 to 5 thousandths; a parabola rising from 0 to 13 millionths.",
    )
