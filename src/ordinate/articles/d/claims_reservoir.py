"""The claims of article D's posts on connectome reservoirs: what they say, condensed. Imports nothing heavy."""

from __future__ import annotations

from ordinate.articles.d.claims import ARTICLE
from ordinate.lab.claim import Claim

__all__ = ["CLAIMS"]

CLAIMS: tuple[Claim, ...] = (
    Claim(
        id="D11",
        title="A spectral radius of .9",
        article=ARTICLE,
        statement="With the spectral radius of the larval connectome at .9 the descending neurons are nearly silent, and "
        "left and "
        "right are indistinguishable.",
        varies="how counts are scaled: one factor for all, or one for each neuron",
        band="activity at least 10 times smaller; contrast of left and right at most half",
        seeds=(0,),
        budget_seconds=20,
        measure="ordinate.articles.d.d11_radius:measure",
    ),
    Claim(
        id="D12",
        title="Who dominates the radius",
        article=ARTICLE,
        statement="The mushroom body dominates the spectral radius of the larval connectome.",
        varies="which cells are there",
        band="at least half of the leading mode in the mushroom body, and a radius at least a tenth smaller without it",
        seeds=(0,),
        budget_seconds=10,
        measure="ordinate.articles.d.d12_dominates:measure",
    ),
    Claim(
        id="D13",
        title="Senses drive the other side",
        article=ARTICLE,
        statement="With weights normalised by row, stimulating the right senses drives the left descending neurons more: "
        ".0161 against "
        ".0099, and .0114 against .0117 for the left senses.",
        varies="the direction in which signals run, null models, gain, duration, threshold, normalisation, and which senses",
        band="an index above 0 in the article's setting and in half of the others; the article's numbers to their last digit",
        seeds=(0,),
        budget_seconds=30,
        measure="ordinate.articles.d.d13_crossing:measure",
    ),
    Claim(
        id="D14",
        title="Two numbers steer a fly",
        article=ARTICLE,
        statement="Two numbers, left and right, steer a fly in a physics simulator.",
        varies="the two numbers, given or from the connectome; the body",
        band="at least 25 degrees to either side in half a second; 45 degrees apart for stimuli on either side",
        seeds=(0,),
        budget_seconds=60,
        measure="ordinate.articles.d.d14_body:measure",
    ),
    Claim(
        id="D15",
        title="Fixed random recurrence, and a real wiring",
        article=ARTICLE,
        statement="In a reservoir the recurrence is fixed and random and only the read-out is learned; a real wiring may "
        "differ from a random one.",
        varies="the wiring (connectome, rewired, random, none), signs, normalisation, task and seed; gain and input scaling "
        "are tuned for each wiring",
        band="random recurrence: NARMA10 error at most .7 and a memory of at least 2 inputs; at least one comparison with "
        "random wiring that differs after correction",
        seeds=(0, 1, 2, 3, 4),
        budget_seconds=30,
        measure="ordinate.articles.d.d15_theory:measure",
    ),
)
