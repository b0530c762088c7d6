"""C8. The article: ALiBi, trained at 1,024 tokens, works at twice that.

What varies is the encoding and the length of the test; scored are the same last targets at every length. "Works" means that
the longer context is no worse than cutting it to the training length; whether anything is gained from it is another question.
RoPE must fail here, or the measurement could not have noticed a failure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import fmean
from typing import Any

from ordinate.articles.sweep_runs import mean_sd, scores_of, small_cell
from ordinate.lab.claim import Claim, Inputs
from ordinate.lab.figures import INK, SERIES, canvas, to_svg
from ordinate.lab.measurement import Check, Figure, Measurement, Role, Table, Verdict
from ordinate.sweep.cell import Cell

__all__ = ["CLAIM", "alibi", "measure"]

CLAIM = Claim(
    id="C8",
    title="ALiBi: train short, test long",
    place="C137-149",
    statement="A model trained on 1,024 tokens with ALiBi writes coherent text at twice that length.",
    remark="Compared with the same model with its context cut, in bits per byte.",
    setup="smaller",
    setup_detail="trained on 32 tokens for seconds; with --full on 1,024 tokens",
    varies="the encoding, the seed, and the length of the test; the scored targets stay the same",
    band=("at twice the training length at most 0.05 bits per byte behind a cut context; RoPE at four times it at least 0.1"),
    seeds=2,
    budget_seconds=15,
    shares="text models",
)

_ARTICLE_LENGTH = 1024

Losses = Mapping[str, Sequence[Mapping[str, float]]]
"""By encoding, for each seed: bits of the last targets by length, less those with the context cut to the training length."""


def measure(inputs: Inputs) -> Measurement:
    """Claim C8 on trainings at 32 tokens, or with --full at the article's 1,024."""
    steps, length = (300, _ARTICLE_LENGTH) if inputs.full else (100, 32)
    seeds = inputs.seeds[:1] if inputs.full else inputs.seeds

    def cell(name: str, seed: int) -> Cell:
        small = small_cell("text", name, seed, steps=steps)
        lengths = (length, 2 * length, 4 * length)
        return replace(small, train_length=length, test_lengths=lengths, batch_rows=4, tested_rows=16) if inputs.full else small

    scores = {name: [scores_of(cell(name, seed)) for seed in seeds] for name in ("alibi", "rope")}
    losses = {name: [{n: s["last"] - s["cut"] for n, s in one.items()} for one in runs] for name, runs in scores.items()}
    return alibi(losses, scores, seeds, steps)


def alibi(losses: Losses, scores: Mapping[str, Sequence[Mapping[str, Any]]], seeds: Sequence[int], steps: int) -> Measurement:
    """Claim C8 on any losses.

    Args:
        losses: of "alibi", of "rope" as the control, and of others to be shown.
        scores: where they come from: `last` and `cut` by length.
        seeds: of the trainings.
        steps: of training, for the reader.
    """
    at = {name: {n: [one[n] for one in runs] for n in runs[0]} for name, runs in losses.items()}
    here, twice, fourfold = sorted(at["alibi"], key=int)
    stated = Role.AS_STATED if int(here) >= _ARTICLE_LENGTH else Role.LIMIT
    checks = [
        Check.at_most(
            f"bits lost by ALiBi at {int(twice):,} tokens, trained at {int(here):,}",
            fmean(at["alibi"][twice]),
            0.05,
            unit="bits",
            role=stated,
        ),
        Check.at_least("bits lost by RoPE at four times it", fmean(at["rope"][fourfold]), 0.1, unit="bits", role=Role.CONTROL),
        Check.at_most("bits lost by ALiBi at four times it", fmean(at["alibi"][fourfold]), 0.1, unit="bits", role=Role.LIMIT),
        Check.at_most("bits lost by ALiBi at twice it, gain", fmean(at["alibi"][twice]), -0.02, unit="bits", role=Role.LIMIT),
    ]
    return Measurement(
        checks=checks,
        key_figure=f"at twice the training length ALiBi {mean_sd(at['alibi'][twice], '+')} bits per byte against a "
        f"cut context, RoPE {mean_sd(at['rope'][twice], '+')}",
        meaning={
            Verdict.REPRODUCED: "A model with ALiBi takes twice and four times the context it was trained on without harm "
            f"({mean_sd(at['alibi'][twice], '+')} and {mean_sd(at['alibi'][fourfold], '+')} bits per byte against the same "
            f"model with the context cut), where RoPE loses {mean_sd(at['rope'][twice], '+')} and "
            f"{mean_sd(at['rope'][fourfold], '+')}. It does not gain from the longer context either: its slopes fade out "
            "what is far, so what works is a sliding window, and cutting the context does the same for less.",
            Verdict.NOT_TESTABLE: f"The article speaks of {_ARTICLE_LENGTH:,} tokens and of coherent text; here "
            f"{here} tokens were trained for seconds, which shows the mechanism and no more. ALiBi loses "
            f"{mean_sd(at['alibi'][twice], '+')} bits per byte at twice the length against the same model with its context "
            f"cut, RoPE {mean_sd(at['rope'][twice], '+')}. With --full the length is the article's.",
            Verdict.REFUTED: f"ALiBi loses {mean_sd(at['alibi'][twice], '+')} bits per byte at twice the training "
            "length against a cut context.",
        },
        inputs=f"text of Python's standard library, trained at {here} tokens, 2 layers of 64 channels, {steps} steps; "
        f"seeds {', '.join(map(str, seeds))}",
        tables=[
            Table(
                "Bits per byte of the same last targets, mean ± spread over seeds",
                ("encoding", f"at {here}, or cut to it", f"at {twice}", f"at {fourfold}", f"whole window at {fourfold}"),
                [
                    (
                        name,
                        *(mean_sd([one[n]["last"] for one in runs]) for n in (here, twice, fourfold)),
                        mean_sd([one[fourfold]["whole"] for one in runs]),
                    )
                    for name, runs in scores.items()
                ],
            )
        ],
        figures=[_picture(at)],
        untested=[("coherent text", "bits per byte are measured; nobody reads what a model of this size writes")],
    )


def _picture(at: Mapping[str, Mapping[str, Sequence[float]]]) -> Figure:
    with canvas(1, height=2.9, width=4.6) as (figure, axes):
        for (name, runs), series in zip(at.items(), SERIES, strict=False):
            for seed in range(len(next(iter(runs.values())))):
                axes.plot((1, 2, 4), [runs[n][seed] for n in runs], label="_" if seed else name, **{**series, "linewidth": 1.0})
        axes.axhline(0, color=INK, linewidth=0.7, linestyle=":")
        axes.set_xticks((1, 2, 4), ("L", "2L", "4L"))
        axes.set(xlabel="context", ylabel="bits lost against a cut context", title=f"Trained at L = {next(iter(at['alibi']))}")
        axes.grid(axis="y")
        axes.legend()
    return Figure(
        "lost",
        to_svg(figure),
        caption="Bits per byte above those of the same model with its context cut to L, same last targets, a line a seed; "
        "dotted, nothing lost.",
        alt="; ".join(f"{name} loses " + ", ".join(f"{fmean(v):.2f}" for v in runs.values()) for name, runs in at.items()),
    )
