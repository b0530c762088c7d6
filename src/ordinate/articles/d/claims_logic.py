"""The claims of article D's posts on logic-gate networks: what they say, condensed. Imports nothing heavy."""

from __future__ import annotations

from ordinate.lab.claim import Claim

__all__ = ["CLAIMS"]

_ARTICLE = "D: an engineer's posts on sinusoids, pooling, reservoirs and logic gates"

CLAIMS: tuple[Claim, ...] = (
    Claim(
        id="D16",
        title="Sixteen gates, relaxed",
        article=_ARTICLE,
        statement="There are sixteen two-input gates; t-norms relax them: AND is ab, OR a + b - ab, XOR a + b - 2ab, "
        "NAND 1 - ab.",
        varies="the gate and its two inputs",
        band="exactly at the corners, printed forms to 1e-14, the expectation over independent bits to 1e-14",
        seeds=(0,),
        budget_seconds=5,
        measure="ordinate.articles.d.d16_gates:measure",
    ),
    Claim(
        id="D17",
        title="Making a network discrete",
        article=_ARTICLE,
        statement="The accuracies of the relaxed and of the discrete network differ by under .1 %.",
        varies="the depth, and what training sees: relaxed gates or discrete ones",
        band="under .1 % at every depth",
        seeds=(0,),
        budget_seconds=30,
        measure="ordinate.articles.d.d17_discretising:measure",
    ),
    Claim(
        id="D18",
        title="Two digits",
        article=_ARTICLE,
        statement="0 against 1 of MNIST takes 973 gates for 99.27 %.",
        varies="whether gates are wired at random and trained, or grown one by one",
        band="at least 99.27 % less .3 on MNIST; on 8 by 8 digits less 1.5 of the 90 test images",
        seeds=(0,),
        budget_seconds=15,
        measure="ordinate.articles.d.d18_two_digits:measure",
    ),
    Claim(
        id="D19",
        title="Ten digits",
        article=_ARTICLE,
        statement="Ten digits of MNIST: 2,961 gates reach 66.9 %, 12,207 gates 94.85 %.",
        varies="the number of gates, and whether their wiring is drawn at random or grown",
        band="66.9 % within 5 points and 94.85 % within 1 on MNIST; thousands of gates for the accuracy of the larger",
        seeds=(0,),
        budget_seconds=30,
        measure="ordinate.articles.d.d19_ten_digits:measure",
    ),
    Claim(
        id="D20",
        title="A million images a second",
        article=_ARTICLE,
        statement="A trained logic network classifies over a million images a second on one core.",
        varies="whether packing, counting and comparing are timed with the gates, and what runs them",
        band="at least a million a second, bytes in and classes out",
        seeds=(0,),
        budget_seconds=30,
        measure="ordinate.articles.d.d20_speed:measure",
    ),
    Claim(
        id="D21",
        title="On a small chip",
        article=_ARTICLE,
        statement="973 gates might share an iCE40 UltraPlus with a soft processor; 12,207 gates do not fit.",
        varies="the number of gates",
        band="at least 1,000 of 5,280 cells left; more than 5,280 needed",
        seeds=(0,),
        budget_seconds=15,
        measure="ordinate.articles.d.d21_chip:measure",
    ),
    Claim(
        id="D22",
        title="Depth, temperature, gap",
        article=_ARTICLE,
        statement="Gradients vanish with depth; temperature and the gap between relaxed and discrete must be watched.",
        varies="how gates begin and are parametrised, at 12 layers; the temperature of the counts",
        band="under a thousandth of the last layer's gradient at the first; gaps that differ by half a point or more",
        seeds=(0, 1, 2),
        budget_seconds=15,
        measure="ordinate.articles.d.d22_depth:measure",
    ),
    Claim(
        id="D25",
        title="Tables",
        article=_ARTICLE,
        statement="On tabular data logic networks match logistic regression and small nets, at nanoseconds a row.",
        varies="the model, on the same folds of the breast-cancer table",
        band="within 1 point of both; under 1,000 ns a row",
        seeds=(0,),
        budget_seconds=25,
        measure="ordinate.articles.d.d25_tables:measure",
    ),
)
