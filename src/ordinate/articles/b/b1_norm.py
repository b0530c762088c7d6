"""B1. The article: every position vector has norm sqrt(d/2), so embeddings are scaled by sqrt(d).

What varies is the position, the width and what the vectors are added to. sin^2 + cos^2 = 1 for each of the d/2 pairs gives the
norm. Embeddings drawn as in Vaswani et al. 2017, N(0, 1/d), have norm 1; real word vectors are measured beside them.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from ordinate.articles.sentence import sentence_vectors
from ordinate.data import word_vectors
from ordinate.lab.claim import Claim, Inputs
from ordinate.lab.figures import SERIES, canvas, to_svg
from ordinate.lab.measurement import Check, Figure, Measurement, Role, Table, Verdict
from ordinate.position import Sinusoidal, indices

__all__ = ["CLAIM", "measure", "norms"]

CLAIM = Claim(
    id="B1",
    title="All position vectors are equally long",
    place="B24",
    statement=(
        "The L2 norm of a position vector is sqrt(d/2); word embeddings are multiplied by sqrt(d) to bring both to one scale."
    ),
    remark="Whether the scales really meet is measured on embeddings as Vaswani et al. draw them and on GloVe vectors.",
    setup="none stated",
    setup_detail="d = 16, 64 and 512",
    varies="the position, the width, and what the vectors are added to",
    band="norms to 1e-12; unscaled embeddings shorter than positions, scaled ones longer",
    budget_seconds=5,
    words="the animal did not cross the street because it was too tired",
)

_WIDTHS = (16, 64, 512)
_WIDTH, _POSITIONS, _WORDS = 512, 5000, 2000

Encode = Callable[[int, Tensor], Tensor]


def measure(inputs: Inputs) -> Measurement:
    """Claim B1 on the encoding of the paper, drawn embeddings and the words of article A's sentence."""
    generator = torch.Generator().manual_seed(inputs.seeds[0])
    drawn = torch.randn(_WORDS, _WIDTH, dtype=torch.float64, generator=generator) / math.sqrt(_WIDTH)
    words = sentence_vectors(inputs.vectors or word_vectors())
    return norms(lambda width, positions: Sinusoidal(width).encode(positions, dtype=torch.float64), drawn, words)


def norms(encode: Encode, drawn: Tensor, words: Tensor) -> Measurement:
    """Claim B1 on any encoding.

    Args:
        encode: a width D and integer positions [T] to vectors [T, D].
        drawn: embeddings [N, 512] as a model draws them.
        words: word vectors [T, D] of any width.
    """
    positions = indices.consecutive(_POSITIONS)
    lengths = {width: encode(width, positions).norm(dim=-1) for width in _WIDTHS}
    off = {width: float((results - math.sqrt(width / 2)).abs().max()) for width, results in lengths.items()}
    place = math.sqrt(_WIDTH / 2)
    unscaled = float(drawn.norm(dim=-1).median())
    scaled = unscaled * math.sqrt(_WIDTH)
    of_words = float(words.norm(dim=-1).median())
    of_place = math.sqrt(words.shape[-1] / 2)
    checks = [
        *(Check.at_most(f"|norm - sqrt(d/2)|, d = {width}, positions 0 to 4,999", off[width], 1e-12) for width in _WIDTHS),
        Check.at_most("length of a drawn embedding over that of a position, d = 512", unscaled / place, 0.1),
        Check.at_least("the same after scaling by sqrt(d)", scaled / place, 1.0),
        Check.near("length of a GloVe vector over that of a position", of_words / of_place, 1.0, 0.5, role=Role.LIMIT),
        Check.at_least(
            "spread of the norms of drawn vectors",
            float(drawn.norm(dim=-1).max() - drawn.norm(dim=-1).min()),
            0.01,
            role=Role.CONTROL,
        ),
    ]
    return Measurement(
        checks=checks,
        key_figure=f"norm 16 at d = 512 to {off[512]:.0e}; drawn embeddings {unscaled:.2f}, scaled {scaled:.1f}",
        meaning={
            Verdict.REPRODUCED: "The position only turns the vector. A freshly drawn embedding of length "
            f"{unscaled:.2f} would be lost beside a position of length 16; scaled by sqrt(512) it is {scaled / place:.2f} "
            f"times as long. Real GloVe vectors of {words.shape[-1]} channels need no scaling: their median length "
            f"{of_words:.1f} is already that of a position, {of_place:.1f}.",
        },
        inputs=f"sinusoidal encoding, positions 0 to {_POSITIONS - 1:,}; {len(drawn):,} embeddings drawn from N(0, 1/d); the "
        f"sentence's {len(words)} word vectors",
        tables=[
            Table(
                "Median lengths",
                ("vectors", "channels", "length", "length over that of a position"),
                [
                    ("positions", _WIDTH, place, 1.0),
                    ("drawn embeddings", _WIDTH, unscaled, unscaled / place),
                    ("drawn embeddings, scaled by sqrt(d)", _WIDTH, scaled, scaled / place),
                    ("GloVe words of the sentence", words.shape[-1], of_words, of_words / of_place),
                ],
            )
        ],
        figures=[_picture(lengths[_WIDTH], drawn)],
    )


def _picture(place: Tensor, drawn: Tensor) -> Figure:
    plain = drawn.norm(dim=-1)
    with canvas(height=2.9) as (figure, axes):
        for values, series, label in (
            (plain, SERIES[1], "embeddings as drawn"),
            (place, SERIES[0], "positions"),
            (plain * math.sqrt(_WIDTH), SERIES[2], "embeddings scaled by sqrt(d)"),
        ):
            axes.plot(values[:500], label=label, color=series["color"], linestyle=series["linestyle"], linewidth=1.2)
        axes.set(title="Lengths at d = 512", xlabel="position, or number of the word", ylabel="norm", yscale="log")
        axes.set_yticks([1, 2, 5, 10, 20], ["1", "2", "5", "10", "20"])
        axes.grid(axis="y")
        axes.legend(loc="center right")
    return Figure(
        "norms",
        to_svg(figure),
        caption="The length of each position vector, a flat line at 16, between embeddings as drawn and as scaled.",
        alt="Three curves over 500 positions or words: drawn embeddings near 1, positions at 16, scaled ones near 23.",
    )
