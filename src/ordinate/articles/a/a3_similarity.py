"""A3. The article: cosine similarity of sinusoids falls with the distance, not monotonically, in bands along the diagonal.

What varies is the pair of positions. Measured are the article's six distances, how often the mean rises again, and how far a
diagonal is from constant; the closed form is cos(x, y) = (2 / D) sum_i cos(w_i (x - y)), as all vectors have norm sqrt(D / 2).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from ordinate.lab.claim import Claim, Inputs
from ordinate.lab.figures import SERIES, canvas, heat_map, to_svg
from ordinate.lab.measurement import Check, Figure, Measurement, Role, Table, Verdict
from ordinate.position import Sinusoidal, indices

__all__ = ["CLAIM", "measure", "similarity"]

CLAIM = Claim(
    id="A3",
    title="Near positions are similar",
    place="A50-70",
    statement=(
        "The mean cosine similarity of positions at distance 1, 5, 10, 20, 40 and 79 is 0.9662, 0.7345, 0.6579, 0.5900, "
        "0.4812 and 0.4664: it falls as a whole but not monotonically, in bands parallel to the diagonal."
    ),
    remark="That the cosine depends on the distance alone, and the closed form, are ours.",
    setup="same",
    setup_detail="150 positions, as in the article's matrix",
    varies="the pair of positions, out of 150, with 64 channels",
    band="each of the six numbers to four digits; along a diagonal equal to 1e-12",
    budget_seconds=5,
)

_WIDTH, _POSITIONS = 64, 150
_PUBLISHED = {1: 0.9662, 5: 0.7345, 10: 0.6579, 20: 0.5900, 40: 0.4812, 79: 0.4664}
_OTHER_WIDTHS = (16, 50, 128, 512)

Encode = Callable[[int, Tensor], Tensor]


def measure(inputs: Inputs) -> Measurement:
    """Claim A3 on the encoding of the paper, against random vectors as a control."""
    generator = torch.Generator().manual_seed(inputs.seeds[0])
    noise = torch.randn(_POSITIONS, _WIDTH, dtype=torch.float64, generator=generator)
    return similarity(lambda width, positions: Sinusoidal(width).encode(positions, dtype=torch.float64), noise)


def similarity(encode: Encode, control: Tensor) -> Measurement:
    """Claim A3 on any encoding.

    Args:
        encode: a width D and integer positions [T] to vectors [T, D].
        control: vectors [150, D] whose similarity should not depend on the distance alone.
    """
    positions = indices.consecutive(_POSITIONS)
    cosines = _cosines(encode(_WIDTH, positions))
    diagonals = [np.diagonal(cosines, distance) for distance in range(_POSITIONS)]
    mean = np.array([diagonal.mean() for diagonal in diagonals])
    rises = int((np.diff(mean) > 0).sum())
    far = encode(_WIDTH, positions + 1_000_000)  # the same distances, a million tokens on

    checks = [
        Check.near(f"mean cosine at distance {distance}", mean[distance], published, 5e-5)
        for distance, published in _PUBLISHED.items()
    ]
    checks += [
        Check.at_least("fall from distance 1 to distance 79", mean[1] - mean[79], 0.1),
        Check.at_least("distances at which the mean rises again", rises, 1),
        Check.at_most("spread along a diagonal", _spread(cosines), 1e-12),
        Check.at_most(
            "change when all positions move on by 1,000,000",
            np.abs(_cosines(far) - cosines).max(),
            1e-8,  # a float64 angle of 1e6 radians is good to 1e-10
            role=Role.GENERALISATION,
        ),
        Check.at_most(
            "spread along a diagonal, widths " + ", ".join(map(str, _OTHER_WIDTHS)),
            max(_spread(_cosines(encode(width, positions))) for width in _OTHER_WIDTHS),
            1e-12,
            role=Role.GENERALISATION,
        ),
        Check.at_least("spread along a diagonal, random vectors", _spread(_cosines(control)), 0.05, role=Role.CONTROL),
    ]
    return Measurement(
        checks=checks,
        key_figure=f"cosine {mean[1]:.4f} at distance 1, {mean[79]:.4f} at 79; the mean rises again at {rises} distances",
        meaning={
            Verdict.REPRODUCED: "All six numbers come out to four digits. The similarity is a function of the distance and of "
            "nothing else, here and a million tokens on, which is why the bands run parallel to the diagonal. It is also "
            f"symmetric, so by itself it cannot tell before from after, and it never gets small: {mean.min():.2f} is the "
            "least over these distances, because the slow channels hardly move and agree for all positions.",
        },
        inputs=f"sinusoidal encoding, {_WIDTH} channels, positions 0 to {_POSITIONS - 1}",
        tables=[
            Table(
                "Mean cosine by distance",
                ("distance, tokens", "article", "here", "spread along the diagonal"),
                [
                    (distance, published, float(mean[distance]), float(np.ptp(diagonals[distance])))
                    for distance, published in _PUBLISHED.items()
                ],
            )
        ],
        figures=[_picture(cosines, mean)],
    )


def _cosines(vectors: Tensor) -> npt.NDArray[np.float64]:
    unit = torch.nn.functional.normalize(vectors, dim=-1)
    return (unit @ unit.T).numpy()


def _spread(cosines: npt.NDArray[np.float64]) -> float:
    """The widest range of values along one diagonal."""
    return max(float(np.ptp(np.diagonal(cosines, distance))) for distance in range(len(cosines)))


def _picture(cosines: npt.NDArray[np.float64], mean: npt.NDArray[np.float64]) -> Figure:
    with canvas(2, height=3.9, widths=(1, 1.25)) as (figure, (left, right)):
        heat_map(left, cosines, label="cosine similarity", upper=1)
        left.set(title="Position by position", xlabel="position (tokens)", ylabel="position (tokens)")
        right.plot(mean, color=SERIES[0]["color"], linewidth=1.6, label="measured mean")
        right.plot(
            list(_PUBLISHED),
            list(_PUBLISHED.values()),
            linestyle="none",
            marker="s",
            markersize=6,
            markerfacecolor="none",
            markeredgecolor=SERIES[1]["color"],
            markeredgewidth=1.6,
            label="the article's six points",
        )
        right.grid(axis="y")
        right.set(
            title="Mean by distance",
            xlabel="distance (tokens)",
            ylabel="cosine similarity",
            ylim=(min(0.34, float(mean.min()) - 0.01), 1.02),
        )
        right.legend(loc="upper right")
    return Figure(
        "similarity",
        to_svg(figure),
        caption="Left, the cosine similarity of every two of 150 positions: bands parallel to the diagonal. Right, its mean at "
        "each distance, with the article's six points: a fall with ripples.",
        alt=f"A heat map with bright bands along the diagonal, and a curve that falls steeply from 1 at distance 0 to about "
        f"{mean[10]:.2f} at distance 10, then slowly and with ripples to {mean[79]:.2f} at distance 79.",
    )
