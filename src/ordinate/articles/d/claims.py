"""The claims of article D, an engineer's posts on sinusoids and pooling: what they say, condensed. Imports nothing heavy."""

from __future__ import annotations

from ordinate.lab.claim import Claim

__all__ = ["ARTICLE", "CLAIMS"]

ARTICLE = "D: an engineer's posts on sinusoids, pooling, reservoirs and logic gates"

CLAIMS = (
    Claim(
        id="D1",
        title="Counting is no good position",
        article=ARTICLE,
        statement="The raw integer as position grows without bound; steps of 1/(length - 1) mean different things in different "
        "sentences; sigmoids flatten.",
        varies="the way of counting, the position, and the length of the sentence",
        band="as by hand: 10,000 at position 10,000; steps of .25 and .0101; a step of 3e-5 at position 10",
        seeds=(0,),
        budget_seconds=5,
        measure="ordinate.articles.d.d1_counting:measure",
    ),
    Claim(
        id="D2",
        title="A worked example of the formula",
        article=ARTICLE,
        statement="For position 3 and d = 3 the encoding is sin(3/1) = .14, cos(3/436) = .99, sin(3/1.4) = .03.",
        varies="the channel; denominators and values as printed, and as the formula gives them",
        band="values to half a unit in the last printed digit, denominators to 0.5 %",
        seeds=(0,),
        budget_seconds=5,
        measure="ordinate.articles.d.d2_worked_example:measure",
    ),
    Claim(
        id="D3",
        title="Which frequencies serve near tokens",
        article=ARTICLE,
        statement="Low frequencies serve near tokens and high frequencies far ones, says one sentence; a later one says the "
        "reverse.",
        varies="the half of the pairs that is looked at, and the distance that is to be told",
        band="the half that serves near tokens tells neighbours apart better, by at least 0.2 of all cases",
        seeds=tuple(range(5)),
        budget_seconds=10,
        measure="ordinate.articles.d.d3_low_and_high:measure",
    ),
    Claim(
        id="D4",
        title="A shift is a rotation",
        article=ARTICLE,
        statement="For a sine and its cosine the matrix M(offset) that shifts the position is a 2 by 2 rotation, free of t; in "
        "d dimensions it is block diagonal.",
        varies="the pair, the offset, and the stretch of positions that the matrix is found from",
        band="matrices found from positions equal the rotation to 1e-9 wherever t is; outside the blocks 1e-6",
        seeds=(0,),
        budget_seconds=10,
        measure="ordinate.articles.d.d4_rotation:measure",
    ),
    Claim(
        id="D5",
        title="A softmax by hand",
        article=ARTICLE,
        statement="The scores [14, 12] give the weights [.88, .12].",
        varies="the two scores",
        band="both weights to half a unit in the second digit",
        seeds=(0,),
        budget_seconds=5,
        measure="ordinate.articles.d.d5_softmax:measure",
    ),
    Claim(
        id="D6",
        title="Mean pooling is attention pooling",
        article=ARTICLE,
        statement="Mean pooling is attention pooling with all weights 1/N.",
        varies="the pooling, the query, and how much of each row is padding",
        band="weights and outputs equal to 1e-14",
        seeds=tuple(range(10)),
        budget_seconds=5,
        measure="ordinate.articles.d.d6_mean_pooling:measure",
    ),
    Claim(
        id="D7",
        title="Pooling by attention is more accurate",
        article=ARTICLE,
        statement="Moving from mean pooling to multi-head attention pooling raised accuracy clearly.",
        varies="the pooling, everything else alike; two of forty tokens matter, or all forty alike; five seeds",
        band="95 % interval of the gain wholly above 5 points where two tokens matter; below 2 points where all do",
        seeds=tuple(range(5)),
        budget_seconds=25,
        measure="ordinate.articles.d.d7_pooling:measure",
    ),
    Claim(
        id="D8",
        title="What learns in attention",
        article=ARTICLE,
        statement="Softmax and inner product have no parameters; W_Q, W_K, W_V, W_O and the pooling query have them.",
        varies="the part of the layer",
        band="the counts by hand, exactly; each learned part has a gradient",
        seeds=(0,),
        budget_seconds=5,
        measure="ordinate.articles.d.d8_what_learns:measure",
    ),
    Claim(
        id="D9",
        title="Why scores are divided by sqrt(d)",
        article=ARTICLE,
        statement="Without 1/sqrt(d_k) the softmax saturates as d grows.",
        varies="the channels of a head from 4 to 1,024, and the factor on the scores",
        band="unscaled, under a tenth of the greatest entropy at d = 1,024; scaled, within 5 % of each other",
        seeds=(0,),
        budget_seconds=5,
        measure="ordinate.articles.d.d9_scaling:measure",
    ),
    Claim(
        id="D10",
        title="Heads, shared or not",
        article=ARTICLE,
        statement="Multi-head attention has keys and values of its own for every head and is the most expressive, multi-query "
        "attention shares one for all, grouped-query attention lies between; the cache shrinks accordingly.",
        varies="the number of key-value heads, of 32 query heads",
        band="bytes a token in proportion to the key-value heads, exactly; one head a group equals torch's multi-head layer to "
        "1e-12",
        seeds=(0,),
        budget_seconds=40,
        measure="ordinate.articles.d.d10_heads:measure",
    ),
    Claim(
        id="D23",
        title="Three kinds of symmetry",
        article=ARTICLE,
        statement="Convolution follows a shift, global pooling ignores it, attention follows a permutation.",
        varies="the layer, and the shift or the order of its input",
        band="equal to 1e-12 on toy inputs",
        seeds=tuple(range(10)),
        budget_seconds=5,
        measure="ordinate.articles.d.d23_symmetry:measure",
    ),
    Claim(
        id="D24",
        title="One-hot and embedded",
        article=ARTICLE,
        statement="One-hot, apple [0,1,0] and orange [0,1,0] have inner product 0. Embedded, apple [.1,.9,.1] and orange "
        "[.2,.9,.1] come near 1, apple and chimpanzee [-.9,.4,-.9] near -1.",
        varies="the pair of words, and the vectors: as printed, with the one-hots told apart",
        band="inner product exactly; near means within 0.1",
        seeds=(0,),
        budget_seconds=10,
        measure="ordinate.articles.d.d24_one_hot:measure",
    ),
)
