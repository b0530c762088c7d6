"""The claims of article B, a long explanation of sinusoids that leads to relative encodings. Imports nothing heavy."""

from __future__ import annotations

from ordinate.articles.a.claims import SENTENCE
from ordinate.lab.claim import Claim

__all__ = ["CLAIMS"]

_ARTICLE = "B: why sinusoids, towards relative positions"

CLAIMS = (
    Claim(
        id="B1",
        title="All position vectors are equally long",
        article=_ARTICLE,
        statement="Every vector of the sinusoidal encoding has the norm sqrt(d/2); embeddings are therefore multiplied by "
        "sqrt(d), or positions would drown the words.",
        varies="the position, the width, and what the vectors are added to",
        band="norms to 1e-12; unscaled embeddings shorter than positions, scaled ones longer",
        seeds=(0,),
        budget_seconds=5,
        measure="ordinate.articles.b.b1_norm:measure",
        words=SENTENCE,
    ),
    Claim(
        id="B2",
        title="The inner product is a sum of cosines",
        article=_ARTICLE,
        statement="PE(t) . PE(t') = sum over i of cos(w_i (t - t')): it depends on the distance alone, and it is symmetric, so "
        "it cannot tell before from after.",
        varies="the pair of positions, and the width",
        band="equal to the sum of cosines, and symmetric, to 1e-11",
        seeds=(0,),
        budget_seconds=5,
        measure="ordinate.articles.b.b2_inner_product:measure",
    ),
    Claim(
        id="B3",
        title="A score has four terms",
        article=_ARTICLE,
        statement="With positions added, (x + p) . (x' + p') falls into content with content, content with position, position "
        "with content, and position with position.",
        varies="the pair of tokens of a sentence, and whether the words are scaled by sqrt(d)",
        band="the four add up to the score within 1e-12; none may be left out: each carries at least 1 % of the variance",
        seeds=(0,),
        budget_seconds=5,
        measure="ordinate.articles.b.b3_four_terms:measure",
        words=SENTENCE,
    ),
    Claim(
        id="B4",
        title="One sine is not enough",
        article=_ARTICLE,
        statement="A single low frequency is flat near its turning points and comes back to the same value; sines and cosines "
        "of a ladder of frequencies together make every position unique.",
        varies="the code: one sine, one sine with its cosine, a ladder of sines, a ladder of both; over 3,000 positions",
        band="the nearest two positions: under 1e-3 apart for one sine, as far as neighbours are (to 1e-9) for the ladder",
        seeds=(0,),
        budget_seconds=10,
        measure="ordinate.articles.b.b4_one_sine:measure",
    ),
    Claim(
        id="B5",
        title="Skewing saves a factor of n",
        article=_ARTICLE,
        statement="Relative scores S = Q E^T need O(n^2 d) memory if a vector is laid out for every pair, and O(n d) with the "
        "skewing trick; both give the same numbers.",
        varies="the way the scores are formed, and the number of tokens from 128 to 1,024",
        band="equal to 1e-10; beyond the scores themselves memory grows like n^2 (exponent 1.9 to 2.1) and at most like n^1.2",
        seeds=(0,),
        budget_seconds=20,
        measure="ordinate.articles.b.b5_skewing:measure",
    ),
    Claim(
        id="B6",
        title="The picture of the formula",
        article=_ARTICLE,
        statement="Drawn as sin(y / 10000^(x / 500)) on a grid of 501 by 501, waves run fast on the left and are still on the "
        "right.",
        varies="x, the place in the ladder, and y, the position",
        band="159 sign changes down the first column, none down the last, never more to the right than to the left",
        seeds=(0,),
        budget_seconds=5,
        measure="ordinate.articles.b.b6_picture:measure",
    ),
    Claim(
        id="B7",
        title="Sinusoids do as well as a learned table",
        article=_ARTICLE,
        statement="Sinusoids are as good as a learned table of positions (Vaswani 2017).",
        varies="what is added to the embeddings, the seed, and the length of the test",
        band="sinusoids at most 0.05 bits per byte behind the table at the training length; both used by the model",
        seeds=(0, 1, 2),
        budget_seconds=15,
        measure="ordinate.articles.b.b7_sinusoid_or_learned:measure",
    ),
)
