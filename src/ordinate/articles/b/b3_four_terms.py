"""B3. The article: (x + p) . (x' + p') splits into content, two mixed terms and position.

What varies is the pair of tokens and whether words are scaled. Beyond the sum, which is algebra, the shares are measured: how
much of the variance of the scores each term carries on real vectors, which is what later encodings drop or keep.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from ordinate.articles.sentence import SENTENCE, sentence_vectors
from ordinate.data import word_vectors
from ordinate.lab.claim import Claim, Inputs
from ordinate.lab.figures import SERIES, canvas, heat_map, to_svg
from ordinate.lab.measurement import Check, Figure, Measurement, Role, Table, Verdict
from ordinate.position import Sinusoidal, indices

__all__ = ["CLAIM", "four_terms", "measure"]

CLAIM = Claim(
    id="B3",
    title="A score has four terms",
    place="B61-84",
    statement=(
        "With positions added, a score (X_t + PE(t))(X_t' + PE(t')) splits into content with content, two mixed terms "
        "whose meaning is unknown, and position with position; projections in a row are one matrix W."
    ),
    remark=(
        "The four terms leave the projections out, as the article does; it prints W^V where W^K is meant. The shares are ours."
    ),
    setup="none stated",
    setup_detail="GloVe vectors of one sentence",
    varies="the pair of tokens of a sentence, and whether the words are scaled by sqrt(d)",
    band="the four add up to the score within 1e-12; none may be left out: each carries at least 1 % of the variance",
    budget_seconds=5,
    words="the animal did not cross the street because it was too tired",
)

_NAMES = ("content . content", "content . position", "position . content", "position . position")


def measure(inputs: Inputs) -> Measurement:
    """Claim B3 on article A's sentence."""
    vectors = inputs.vectors or word_vectors()
    words = sentence_vectors(vectors)
    places = Sinusoidal(words.shape[-1]).encode(indices.consecutive(len(words)), dtype=torch.float64)
    return four_terms(words, places, source=vectors.source)


def four_terms(words: Tensor, places: Tensor, source: str = "given vectors") -> Measurement:
    """Claim B3 on any vectors.

    Args:
        words: [T, D], float64.
        places: position vectors [T, D].
        source: of the words, for the report.
    """
    terms = _terms(words, places)
    scores = (words + places) @ (words + places).T
    off = float((sum(terms) - scores).abs().max())
    shares, scaled = _shares(terms), _shares(_terms(words * math.sqrt(words.shape[-1]), places))
    chained, folded, bent = _projected(words)
    without_mixed = float((terms[0] + terms[3] - scores).abs().max())
    checks = [
        Check.at_most("largest difference between the four terms and the score", off, 1e-12),
        *(Check.at_least(f"share of the variance, {name}", share, 0.01) for name, share in zip(_NAMES, shares, strict=True)),
        Check.at_most("scores by four projections in a row, less those by their product W", _apart(chained, folded), 1e-12),
        Check.at_least("the same with a rectifier between the projections", _apart(bent, folded), 0.1, role=Role.CONTROL),
        Check.at_least("difference from the score if the mixed terms are dropped", without_mixed, 0.1, role=Role.CONTROL),
    ]
    return Measurement(
        checks=checks,
        key_figure=f"content {shares[0]:.0%}, mixed {shares[1] + shares[2]:.0%}, position {shares[3]:.0%} of the variance",
        meaning={
            Verdict.REPRODUCED: f"The split is algebra and holds to {off:.0e}. On these words content carries "
            f"{shares[0]:.0%} of the variance, the two mixed terms {shares[1] + shares[2]:.0%}, position with position "
            f"{shares[3]:.0%}; with words scaled by sqrt(d), as in the paper, position with position falls to "
            f"{scaled[3]:.2%}. The mixed terms are what later encodings treat apart: Transformer-XL and DeBERTa give them "
            "vectors of their own, T5 and ALiBi drop them and learn or fix the last one.",
        },
        inputs=f"{len(words)} tokens; {source}; sinusoids of the same width; no projections",
        tables=[
            Table(
                "Share of the summed variances over all pairs",
                ("term", "words as they are", "words scaled by sqrt(d)"),
                [(name, a, b) for name, a, b in zip(_NAMES, shares, scaled, strict=True)],
            )
        ],
        figures=[_picture(terms), _space(words, places)],
    )


def _terms(words: Tensor, places: Tensor) -> list[Tensor]:
    return [words @ words.T, words @ places.T, places @ words.T, places @ places.T]


def _projected(words: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Scores by W_Q, W_i^Q, W_i^K and W_K one after the other, by their product, and with a rectifier after the first."""
    generator, width = torch.Generator().manual_seed(0), words.shape[-1]
    to_query, of_head, to_key, of_key_head = (
        torch.randn(width, columns, generator=generator, dtype=words.dtype) / width**0.5
        for columns in (width, width // 2, width, width // 2)
    )
    keys = words @ to_key @ of_key_head
    product = to_query @ of_head @ (to_key @ of_key_head).T
    return words @ to_query @ of_head @ keys.T, words @ product @ words.T, (words @ to_query).relu() @ of_head @ keys.T


def _apart(one: Tensor, other: Tensor) -> float:
    """The largest difference, as a share of the largest score."""
    return float((one - other).abs().max() / other.abs().max())


def _shares(terms: list[Tensor]) -> list[float]:
    variances = torch.stack([term.var() for term in terms])
    return (variances / variances.sum()).tolist()


def _space(words: Tensor, places: Tensor) -> Figure:
    """The words in the plane of their two largest principal components, and where positions move them."""
    centre = words.mean(0)
    axes_of_words = torch.linalg.svd(words - centre, full_matrices=False).Vh[:2].T
    with canvas(2, height=3.6) as (figure, panels):
        for panel, scale, title in zip(
            panels,
            (1.0, math.sqrt(words.shape[-1])),
            ("Words as they are", "Words times sqrt(d), as in the paper"),
            strict=True,
        ):
            start = ((words - centre) * scale @ axes_of_words).numpy()
            end = start + (places @ axes_of_words).numpy()
            panel.plot(*start.T, linestyle="none", marker="o", color=SERIES[0]["color"], markersize=4)
            for (x, y), (u, v), word in zip(start, end, SENTENCE, strict=False):
                panel.annotate(
                    "", (u, v), (x, y), arrowprops={"arrowstyle": "->", "color": SERIES[1]["color"], "linewidth": 1.1}
                )
                panel.annotate(word, (x, y), (3, 3), textcoords="offset points", fontsize=7.5)
            panel.set(title=title, xlabel="first principal component", ylabel="second" if scale == 1.0 else "")
            panel.margins(0.12)
    return Figure(
        "space",
        to_svg(figure),
        caption="Words in space and the vector that their position adds (arrows), in the plane in which the words differ most. "
        "The arrow depends on the place alone; it is small only where words are scaled.",
        alt="Two scatters of the sentence's words with an arrow at each. Left, arrows are as long as distances between words; "
        "right, they are short.",
    )


def _picture(terms: list[Tensor]) -> Figure:
    labels = list(SENTENCE) if len(terms[0]) == len(SENTENCE) else None
    highest = max(float(term.abs().max()) for term in terms)
    with canvas(4, height=3.3) as (figure, axes):
        for place, (one, term, name) in enumerate(zip(axes, terms, _NAMES, strict=True)):
            heat_map(
                one,
                term.numpy(),
                label="product",
                lower=-highest,
                upper=highest,
                x_labels=labels,
                y_labels=labels if place == 0 else None,
            )
            one.set_title(name.replace(" . ", " ·\n"), fontsize=8.5)
            if place:
                one.set_yticks([])
    return Figure(
        "terms",
        to_svg(figure),
        caption="The four terms for every pair of the sentence's tokens, on one scale.",
        alt="Four heat maps of twelve by twelve products. Content with content has large values on and off the diagonal, the "
        "two mixed ones are each other's transpose and smaller, position with position is a smooth band along the diagonal.",
    )
