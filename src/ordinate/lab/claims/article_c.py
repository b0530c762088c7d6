"""The claims of article C, a practical guide to all encodings: what it says, condensed. Imports nothing heavy."""

from __future__ import annotations

from ordinate.lab.claim import Claim

__all__ = ["CLAIMS"]

_ARTICLE = "C: a practical guide to all encodings"

CLAIMS = (
    Claim(
        id="C1",
        title="A worked example of adding",
        article=_ARTICLE,
        statement="The word vector [.51, -.22, .88, .14] at position 0 becomes, with [0, 1, 0, 1] added, [.51, .78, .88, "
        "1.14]; the same word at position 5 becomes another vector.",
        varies="the position of one word, 0 and 5",
        band="each of the four numbers to 1e-12; at position 5 at least 0.1 away",
        seeds=(0,),
        budget_seconds=5,
        measure="ordinate.lab.claims.c1_worked_example:measure",
    ),
    Claim(
        id="C2",
        title="Without positions a sentence is a bag of words",
        article=_ARTICLE,
        statement='"the dog bit the man" and "the man bit the dog" are the same to a model without positions.',
        varies="the order of the five words, the attention, and what tells it about order",
        band="pooled outputs equal to 1e-13; at least 0.001 apart once something tells the order",
        seeds=tuple(range(10)),
        budget_seconds=5,
        measure="ordinate.lab.claims.c2_bag_of_words:measure",
    ),
    Claim(
        id="C3",
        title="Sinusoids cost nothing and never end",
        article=_ARTICLE,
        statement="Sinusoids are bounded by 1, have no parameters and are defined for any length; one computes them once, "
        "registers them as a buffer and adds them to embeddings [batch, sequence, d].",
        varies="the position, up to 100 million, and the precision in which angles are formed",
        band="bounded by 1, no parameter, within 1e-6 of the exact value wherever one looks",
        seeds=(0,),
        budget_seconds=10,
        measure="ordinate.lab.claims.c3_sinusoids:measure",
    ),
    Claim(
        id="C4",
        title="High channels look like stripes",
        article=_ARTICLE,
        statement="In the picture of the first fifty positions the high channels look like stripes: the sines are near 0 and "
        "the cosines near 1, though not exactly.",
        varies="the channel, of 512, and the position, 0 to 49",
        band="in the last quarter of the channels sines below 0.05 and cosines above 0.998, yet no two positions alike",
        seeds=(0,),
        budget_seconds=5,
        measure="ordinate.lab.claims.c4_fifty_positions:measure",
    ),
    Claim(
        id="C5",
        title="A learned table ends",
        article=_ARTICLE,
        statement="A learned table of 2,048 positions cannot take token 2,049.",
        varies="the position, within the table and past its end; then the size, by interpolation",
        band="every position of the table is taken, each one past it refused",
        seeds=(0,),
        budget_seconds=5,
        measure="ordinate.lab.claims.c5_learned_table:measure",
    ),
    Claim(
        id="C6",
        title="Relative encodings: blind to a shift, paid a head",
        article=_ARTICLE,
        statement="Relative encodings do not change when the whole text is shifted; they cost memory for every head.",
        varies="the encoding, the shift from 1 to 100,000, and the number of heads from 1 to 16",
        band="outputs equal to 1e-9; one more head adds at least one number for every pair of tokens, 4 bytes",
        seeds=(0,),
        budget_seconds=10,
        measure="ordinate.lab.claims.c6_relative:measure",
    ),
    Claim(
        id="C7",
        title="RoPE turns, sinusoids push",
        article=_ARTICLE,
        statement="RoPE keeps the norm of a vector, and the score of two tokens depends on their distance alone; adding a "
        "sinusoid changes norm and direction.",
        varies="the position up to a million, the shift of both tokens, and the encoding",
        band="norms to 1e-12, scores to 1e-8; with sinusoids norms move by at least 5 %",
        seeds=tuple(range(5)),
        budget_seconds=5,
        measure="ordinate.lab.claims.c7_rope:measure",
    ),
    Claim(
        id="C11",
        title="Two and three dimensions, and time",
        article=_ARTICLE,
        statement="Images need an encoding of x and of y, time series one of timestamps and seasons, and text, images and "
        "video can stand in one space of positions.",
        varies="what the position is: a cell of a 4 by 7 grid, a timestamp, a place in a row of text, image and video",
        band="what should depend on offsets or on the calendar alone does so to 1e-9; a count of tokens must not",
        seeds=(0,),
        budget_seconds=10,
        measure="ordinate.lab.claims.c11_axes:measure",
    ),
)
