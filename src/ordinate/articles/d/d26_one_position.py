"""D26. The article: the values of one position over the dimensions, and how they are added to an embedding.

What varies is the dimension. At position 10 sines and cosines alternate; where a wave is slow beside the position, sines stay
near 0 and cosines near 1. The dimension from which that holds depends on the width d, which the article does not name: with
10 / 10000^(j/d) < 0.1 it is j > d/2. The formula is that of Vaswani et al. 2017, arXiv 1706.03762, section 3.5.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from ordinate.lab.claim import Claim, Inputs
from ordinate.lab.figures import SERIES, boxes, canvas, heat_map, to_svg
from ordinate.lab.measurement import Check, Figure, Measurement, Role, Verdict
from ordinate.position import Sinusoidal

__all__ = ["CLAIM", "measure", "one_position"]

CLAIM = Claim(
    id="D26",
    title="One position over the dimensions",
    place="D1239-1268",
    statement=(
        "The i-th value of an embedding gets the i-th frequency added. At pos = 10 the values over the dimensions j jump up "
        "and down, because sine and cosine alternate; from about the 20th dimension on they converge."
    ),
    remark="The article does not say how wide its encoding is. From the 20th dimension on, sines under 0.1 fit a width of 40.",
    setup="same",
    setup_detail="the width, which the article does not name, is 40 here",
    varies="the dimension, and the width",
    band="sines below 0.1 and cosines above 0.99 from the 20th dimension on, not before",
    budget_seconds=5,
)

_POSITION, _WIDTH, _FROM = 10, 40, 20

Encode = Callable[[int, Tensor], Tensor]


def measure(inputs: Inputs) -> Measurement:
    """Claim D26 on the encoding of the paper, and a drawn embedding."""
    embedding = torch.randn(_WIDTH, generator=torch.Generator().manual_seed(inputs.seeds[0]), dtype=torch.float64)
    return one_position(lambda width, positions: Sinusoidal(width).encode(positions, dtype=torch.float64), embedding)


def one_position(encode: Encode, embedding: Tensor) -> Measurement:
    """Claim D26 on any encoding.

    Args:
        encode: a width D and integer positions [T] to vectors [T, D].
        embedding: [40], what the encoding is added to.
    """
    values = encode(_WIDTH, torch.tensor([_POSITION]))[0]
    sines, cosines = values[0::2], values[1::2]
    begins = {width: _converges_from(encode(width, torch.tensor([_POSITION]))[0]) for width in (_WIDTH, 512)}
    checks = [
        Check.near("dimension from which the values converge, d = 40", begins[_WIDTH], _FROM, 2),
        Check.at_least("turns of the line over the last 20 dimensions, of 18", _turns(values[_FROM:]), 18),
        Check.at_least("turns of the line over all dimensions, of 38", _turns(values), 30),
        Check.at_most(
            "change of the embedding less the encoding", float(((embedding + values) - embedding - values).abs().max()), 1e-12
        ),
        Check.at_least(
            "range of the values before they converge", float(np.ptp(values[:_FROM].numpy())), 1.0, role=Role.CONTROL
        ),
        Check.near("dimension from which they converge, d = 512", begins[512], 256, 4, role=Role.LIMIT),
    ]
    return Measurement(
        checks=checks,
        key_figure=f"at position 10 values converge from dimension {begins[_WIDTH]} of {_WIDTH}, and {begins[512]} of 512",
        meaning={
            Verdict.REPRODUCED: "The line over the dimensions jumps at every step, as sine and cosine stand beside each other, "
            "and behind some dimension the sines stay near 0 and the cosines near 1. That dimension is no property of the "
            f"encoding: at position 10 it is half the width, {begins[_WIDTH]} of {_WIDTH} and {begins[512]} of 512, and it "
            "moves on as positions grow. So the last dimensions are not idle, they are for longer texts.",
        },
        inputs=f"sinusoidal encoding, {_WIDTH} channels, position {_POSITION}",
        figures=[_where(), _robot(encode), _line(values, sines, cosines), _added(embedding, values)],
    )


def _where() -> Figure:
    places = {
        "tokens\n[T]": (0.08, 0.3),
        "embedding\n[T, d]": (0.27, 0.3),
        "+": (0.43, 0.3),
        "encoding of the\npositions [T, d]": (0.43, 0.85),
        "attention\namong all tokens": (0.62, 0.3),
        "network on\neach token": (0.81, 0.3),
        "next\nlayers": (0.95, 0.3),
    }
    row = [name for name in places if not name.startswith("encoding")]
    arrows = [(one, other, "") for one, other in itertools.pairwise(row)]
    with canvas(height=1.6) as (figure, axes):
        boxes(
            axes,
            places,
            [*arrows, ("encoding of the\npositions [T, d]", "+", "")],
            accents=("+", "encoding of the\npositions [T, d]"),
        )
    return Figure(
        "where",
        to_svg(figure),
        caption="Where positions enter: added to the embeddings, once, before the first layer. Attention has no other way to "
        "know of them.",
        alt="A row of boxes: tokens, embedding, plus, attention, network, next layers; the encoding of the positions leads "
        "into the plus.",
    )


def _robot(encode: Encode) -> Figure:
    words = ("i", "am", "a", "robot")
    width = 12
    drawn = torch.randn(len(words), width, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    places = encode(width, torch.arange(len(words)))
    with canvas(3, height=2.5) as (figure, axes):
        for panel, (name, values) in zip(
            axes, {"embedding": drawn, "encoding": places, "sum": drawn + places}.items(), strict=True
        ):
            labels = words if panel is axes[0] else [""] * len(words)
            heat_map(panel, values.numpy(), label="value", y_labels=labels, lower=-2.5, upper=2.5)
            panel.set(title=name, xlabel="channel")
    return Figure(
        "tokens",
        to_svg(figure),
        caption='One encoding a token: "i am a robot" with embeddings of twelve drawn channels, the encodings of positions '
        "0 to 3, and their sums.",
        alt="Three maps of four rows and twelve columns. In the encoding the first columns differ from row to row and the last "
        "alternate between 0 and 1 in every row.",
    )


def _turns(values: Tensor) -> int:
    signs = torch.sign(values.diff())
    return int((signs[1:] != signs[:-1]).sum())


def _converges_from(values: Tensor) -> int:
    """The first dimension behind which every sine is below 0.1 and every cosine above 0.99."""
    away = (values[0::2].abs() >= 0.1) | (values[1::2] <= 0.99)
    return 2 * (int(away.nonzero().max()) + 1) if away.any() else 0


def _line(values: Tensor, sines: Tensor, cosines: Tensor) -> Figure:
    with canvas(height=2.9) as (figure, axes):
        axes.plot(values.numpy(), color="#1b1c1e", linewidth=0.7)
        axes.plot(range(0, _WIDTH, 2), sines.numpy(), label="sine", **{**SERIES[0], "linestyle": "none"})
        axes.plot(range(1, _WIDTH, 2), cosines.numpy(), label="cosine", **{**SERIES[1], "linestyle": "none"})
        axes.axvline(_FROM - 0.5, color="#1b1c1e", linewidth=0.7, linestyle=":")
        axes.set(title="The vector of position 10", xlabel="dimension j", ylabel="value")
        axes.grid(axis="y")
        axes.legend(loc="lower right")
    return Figure(
        "values",
        to_svg(figure),
        caption="The encoding of position 10 over its dimensions: sine and cosine alternate, and behind the dotted line, the "
        "20th dimension, they stay near 0 and 1.",
        alt="A line that jumps up and down, irregularly at first, then between a row of marks that falls to 0 and one that "
        "rises to 1.",
    )


def _added(embedding: Tensor, values: Tensor) -> Figure:
    rows = np.stack([embedding.numpy(), values.numpy(), (embedding + values).numpy()])
    with canvas(height=2.6) as (figure, axes):
        heat_map(axes, rows, label="value", y_labels=["embedding", "encoding", "sum"], lower=-2.5, upper=2.5)
        axes.set(title="Dimension by dimension, the encoding is added", xlabel="dimension")
        axes.xaxis.set_label_position("top")
        axes.xaxis.tick_top()
    return Figure(
        "added",
        to_svg(figure),
        caption="An embedding, the encoding of position 10, and their sum, which is what enters the first layer.",
        alt="Three rows of forty coloured cells; each cell of the last row is the sum of the two above it.",
    )
