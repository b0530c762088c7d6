"""The claims of article A, an experimenter's notebook: what it says, condensed, with its numbers. Imports nothing heavy."""

from __future__ import annotations

from ordinate.lab.claim import Claim

__all__ = ["CLAIMS", "SENTENCE"]

SENTENCE = ("the", "animal", "did", "not", "cross", "the", "street", "because", "it", "was", "too", "tired")

_ARTICLE = "A: an experimenter's notebook on attention and sinusoids"

CLAIMS = (
    Claim(
        id="A1",
        title="Attention is blind to order",
        article=_ARTICLE,
        statement="Shuffle the tokens of a sentence and attention without positions gives the same weights, only permuted: "
        "put back in order they differ by 5.55e-17 at most, the outputs by 8.88e-16.",
        varies="the order of the twelve tokens: as written, and shuffled",
        band="rounding error of float64: weights, at most 1, within two units in the last place (4.4e-16), outputs, at most "
        "about 4, within 5e-15",
        seeds=tuple(range(20)),
        budget_seconds=5,
        measure="ordinate.articles.a.a1_order_blind:measure",
        words=SENTENCE,
    ),
    Claim(
        id="A2",
        title="A sinusoid is like a binary number",
        article=_ARTICLE,
        statement="Drawn for 64 channels and positions 0 to 99, the low channels of the sinusoidal encoding swing fast and the "
        "high ones slowly, like the last and the first digits of a binary number.",
        varies="the channel, and the position",
        band="sign changes never rise from one sine to the next, from 31 in the first to none in the last",
        seeds=(0,),
        budget_seconds=5,
        measure="ordinate.articles.a.a2_sinusoid_picture:measure",
    ),
    Claim(
        id="A3",
        title="Near positions are similar",
        article=_ARTICLE,
        statement="The cosine similarity of two positions at distance 1, 5, 10, 20, 40, 79 is .9662, .7345, .6579, .5900, "
        ".4812, .4664: it falls, but not monotonically, in bands parallel to the diagonal.",
        varies="the pair of positions, out of 80, with 64 channels",
        band="each of the six numbers to four digits; along a diagonal equal to 1e-12",
        seeds=(0,),
        budget_seconds=5,
        measure="ordinate.articles.a.a3_similarity:measure",
    ),
    Claim(
        id="A4",
        title="A shift is a linear map",
        article=_ARTICLE,
        statement="A matrix M_k fitted by least squares on 60 positions carries PE(pos) to PE(pos + k): on positions held out "
        "it errs by 1e-14 to 1e-12, for k = 1, 2, 5, 10, 20, 30, 50.",
        varies="the shift k, the sixty positions of the fit, and fit against closed form",
        band="the largest error on held-out positions, in the median of the draws at most 1e-11: a decade above the article's "
        "range, as it depends on which sixty were drawn",
        seeds=tuple(range(25)),
        budget_seconds=10,
        measure="ordinate.articles.a.a4_linear_shift:measure",
    ),
    Claim(
        id="A5",
        title='What "it" attends to without projections',
        article=_ARTICLE,
        statement='In "the animal did not cross the street because it was too tired", "it" attends to "animal" with .0310 '
        "without positions and with .0310 with them: unchanged. Its weight on itself goes from .18 to .34, and its "
        'neighbours "because" and "too" gain.',
        varies="the encoding added to the vectors: none, a 64-wide one cut to 50 channels, one made for 50 channels; then the "
        "order of the tokens, and the sentence",
        band='"animal" to four digits, "it" to two; "unchanged" means within 5 %, and should hold for the encoding that has '
        "the width of the vectors, and for most orders of the words",
        seeds=(0,),
        budget_seconds=20,
        measure="ordinate.articles.a.a5_it_without_projections:measure",
        words=SENTENCE,
    ),
)
