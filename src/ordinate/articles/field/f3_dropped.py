"""F3. Gelberg et al. 2025 (arXiv 2512.12167, abstract): a model whose positions are dropped after training carries further.

What varies is what is done with a trained rotary model at four times its length: nothing, the scalings of C12, or taking the
rotation out and training on shortly at the old length. The trainings are those of C12. What it has to beat is a cut context.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from ordinate.articles.c.c12_extending import extended
from ordinate.articles.sweep_runs import mean_sd
from ordinate.lab.claim import Claim, Inputs
from ordinate.lab.figures import canvas, rows_of_marks, to_svg
from ordinate.lab.measurement import Check, Figure, Measurement, Role, Table, Verdict

__all__ = ["CLAIM", "dropped", "measure"]

CLAIM = Claim(
    id="F3",
    title="Dropping positions after training",
    place="Gelberg et al. 2025, arXiv 2512.12167, abstract",
    statement=(
        "After a short recalibration without position embeddings a pretrained model extends its context without training at "
        "the longer length, keeps its abilities at the original one, and far outperforms scalings of RoPE."
    ),
    remark="Scalings are taken as they are, without training at the longer length, as the dropped model is.",
    setup="smaller",
    setup_detail="two layers trained for some seconds at 32 tokens; the paper pretrains and adapts large language models",
    varies="what is done with a trained rotary model at four times its length",
    band="dropped at least 0.05 bits better than the best scaling, and at most 0.05 bits lost at the trained length",
    seeds=2,
    budget_seconds=20,
    shares="text models",
)


def measure(inputs: Inputs) -> Measurement:
    """Claim F3 on C12's trainings, short ones or with --full long ones."""
    steps = 1000 if inputs.full else 100
    return dropped([extended(seed, steps, full=inputs.full) for seed in inputs.seeds], inputs.seeds, steps)


def dropped(runs: Sequence[Mapping[str, Any]], seeds: Sequence[int], steps: int) -> Measurement:
    """Claim F3 on any extensions, as `ordinate.sweep.extension.extend` tells them, one a seed."""
    longest = max(runs[0]["extended"], key=int)
    names = [name for name in runs[0]["extended"][longest] if name != "dropped"]
    zero = {name: [run["extended"][longest][name]["zero_shot"] for run in runs] for name in names}
    tuned = [run["extended"][longest]["dropped"]["fine_tuned"] for run in runs]
    bare = [run["extended"][longest]["dropped"]["zero_shot"] for run in runs]
    cut = [run["truncated"][longest] for run in runs]
    best = min((name for name in names if name != "none"), key=lambda name: fmean(zero[name]))
    ahead = [a - b for a, b in zip(zero[best], tuned, strict=True)]
    here = [run["dropped_at_train_length"] - run["at_train_length"] for run in runs]
    beside_cut = [a - b for a, b in zip(tuned, cut, strict=True)]
    unscaled = [a - b for a, b in zip(zero["none"], cut, strict=True)]
    limit = Role.LIMIT  # the paper speaks of large models
    checks = [
        Check.at_least("bits that dropping saves against the best scaling", fmean(ahead), 0.05, unit="bits", role=limit),
        Check.at_most("bits that dropping costs at the trained length", fmean(here), 0.05, unit="bits", role=limit),
        Check.at_least("bits lost unscaled against a cut", fmean(unscaled), 0.1, unit="bits", role=Role.CONTROL),
        Check.at_most("bits lost dropped against a cut context", fmean(beside_cut), 0.0, unit="bits", role=limit),
    ]
    return Measurement(
        checks=checks,
        key_figure=f"dropped and recalibrated {mean_sd(beside_cut, '+')} bits against a cut context, the best scaling ({best}) "
        f"{mean_sd([a - b for a, b in zip(zero[best], cut, strict=True)], '+')}; at the trained length {mean_sd(here, '+')}",
        meaning={
            Verdict.NOT_TESTABLE: "The claim is about large language models, which are not here. In this small one dropping "
            f"costs {mean_sd(here, '+')} bits per byte at the trained length after {runs[0]['fine_tuned_steps']} steps of "
            f"recalibration, and at {longest} tokens it is {mean_sd(ahead, '+')} bits from the best scaling ({best}; above "
            f"0 speaks for dropping). Without recalibration it is at {mean_sd(bare)}. A model of two layers and some "
            "hundred steps has had no time to learn places from the causal mask alone.",
        },
        inputs=f"text of Python's standard library, a rotary model of 2 layers trained at 32 tokens for {steps} steps; seeds "
        f"{', '.join(map(str, seeds))}",
        tables=[
            Table(
                f"Bits per byte at {longest} tokens, none trained at that length",
                ("what is done", "bits"),
                [
                    *((name, mean_sd(values)) for name, values in zero.items()),
                    ("dropped, as it is", mean_sd(bare)),
                    (f"dropped, {runs[0]['fine_tuned_steps']} steps at the trained length", mean_sd(tuned)),
                    ("context cut", mean_sd(cut)),
                ],
            )
        ],
        figures=[_picture({**zero, "dropped, recalibrated": tuned, "context cut": cut}, longest)],
    )


def _picture(bits: Mapping[str, Sequence[float]], longest: str) -> Figure:
    with canvas(1, height=0.9 + 0.26 * len(bits), width=5.6) as (figure, axes):
        series = [1 if name.startswith("dropped") else 2 if name == "context cut" else 0 for name in bits]
        rows_of_marks(axes, bits, f"bits per byte at {longest} tokens, none trained there", series=series)
    return Figure(
        "dropped",
        to_svg(figure),
        caption="Bits per byte of the same last targets at four times the trained length, a mark a seed.",
        alt="; ".join(f"{name} {fmean(values):.2f}" for name, values in bits.items()),
    )
