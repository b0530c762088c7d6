"""F2. Li et al. 2026 (arXiv 2602.05258): RoPE whose slow pairs are clipped is, by its title, a free lunch for long contexts.

What varies is the encoding and the length of the test. Beside the score with the whole context stands that of the same
targets when the context is cut to the training length: what does not beat the cut has carried nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean

from ordinate.articles.sweep_runs import mean_sd, scores_of, small_cell
from ordinate.lab.claim import Claim, Inputs
from ordinate.lab.figures import SERIES, canvas, to_svg
from ordinate.lab.measurement import Check, Figure, Measurement, Role, Table, Verdict

__all__ = ["CLAIM", "clipped", "measure"]

CLAIM = Claim(
    id="F2",
    title="Clipped RoPE carries further",
    place="Li et al. 2026, arXiv 2602.05258, title",
    statement="RoPE with clipped slow frequencies is a free lunch for long contexts: it carries further at no cost.",
    remark="Of the paper the title and the authors' code were read. No cost is read as: no loss at the trained length.",
    setup="smaller",
    setup_detail="trained from scratch at 32 tokens with two layers; the paper adapts large language models",
    varies="plain and clipped RoPE, the length of the test, and whether the context is cut",
    band="clipped at least 0.05 bits better than plain at four times the length, at most 0.05 worse at the trained one",
    seeds=2,
    budget_seconds=20,
    shares="text models",
)

_LENGTHS = ("32", "64", "128")


def measure(inputs: Inputs) -> Measurement:
    """Claim F2 on short trainings, or with --full on ones ten times as long."""
    steps = 1000 if inputs.full else 100
    results = {
        name: [scores_of(small_cell("text", name, seed, steps=steps)) for seed in inputs.seeds]
        for name in ("rope", "clipped-rope")
    }
    return clipped(results, inputs.seeds, steps)


def clipped(
    results: Mapping[str, Sequence[Mapping[str, Mapping[str, float]]]], seeds: Sequence[int], steps: int
) -> Measurement:
    """Claim F2 on any scores of "rope" and "clipped-rope", one a seed, as `evaluate` tells them."""

    def gain(length: str) -> list[float]:
        pairs = zip(results["rope"], results["clipped-rope"], strict=True)
        return [plain[length]["last"] - other[length]["last"] for plain, other in pairs]

    lost = {name: [one["128"]["last"] - one["128"]["cut"] for one in runs] for name, runs in results.items()}
    names = list(results)
    saved, plain = fmean(gain("128")), fmean(lost["rope"])
    limit = Role.LIMIT  # the paper speaks of large models
    checks = [
        Check.at_least("bits that clipping saves at four times the length", saved, 0.05, unit="bits", role=limit),
        Check.at_most("bits that clipping costs at the trained length", -fmean(gain("32")), 0.05, unit="bits", role=limit),
        Check.at_least("bits lost by plain RoPE against a cut context", plain, 0.1, unit="bits", role=Role.CONTROL),
        Check.at_most("bits lost by clipped RoPE against a cut context", fmean(lost[names[1]]), 0.0, unit="bits", role=limit),
    ]
    against = {name: mean_sd(values, "+") for name, values in lost.items()}
    return Measurement(
        checks=checks,
        key_figure=f"at four times the trained length, against a cut context: plain RoPE {against['rope']} bits, clipped "
        f"{against['clipped-rope']}; at the trained length clipping changes {mean_sd([-x for x in gain('32')], '+')}",
        meaning={
            Verdict.NOT_TESTABLE: "The claim is about large models, which are not here. In this small one clipping the "
            f"pairs that never turn once in training saves {mean_sd(gain('128'), '+')} bits per byte at four times the length "
            f"and costs {mean_sd([-x for x in gain('32')], '+')} at the trained one. Against a cut context it stands at "
            f"{against['clipped-rope']} bits: what is further is measured from plain RoPE, not from leaving tokens out.",
        },
        inputs=f"text of Python's standard library, 32 tokens, 2 layers of 64 channels in heads of 16, {steps} steps; seeds "
        f"{', '.join(map(str, seeds))}",
        tables=[
            Table(
                "Bits per byte of the same last targets",
                ("encoding", *(f"at {length}" for length in _LENGTHS), "context cut"),
                [
                    (
                        name,
                        *(mean_sd([one[length]["last"] for one in runs]) for length in _LENGTHS),
                        mean_sd([one["128"]["cut"] for one in runs]),
                    )
                    for name, runs in results.items()
                ],
            )
        ],
        figures=[_picture(results)],
    )


def _picture(results: Mapping[str, Sequence[Mapping[str, Mapping[str, float]]]]) -> Figure:
    with canvas(1, height=2.7, width=5.0) as (figure, axes):
        for (name, runs), series in zip(results.items(), SERIES, strict=False):
            for number, one in enumerate(runs):
                axes.plot((1, 2, 4), [one[length]["last"] for length in _LENGTHS], label="_" if number else name, **series)
                axes.plot((1, 2, 4), [one[length]["cut"] for length in _LENGTHS], **{**series, "linestyle": ":", "alpha": 0.5})
        axes.set_xticks((1, 2, 4), ("L", "2L", "4L"))
        axes.set(xlabel="context", ylabel="bits per byte", title="Trained at L = 32; dotted, context cut to L")
        axes.grid(axis="y")
        axes.legend()
    return Figure(
        "clipped",
        to_svg(figure),
        caption="Bits per byte of the same last targets, a line a seed; dotted, with the context cut to the training length.",
        alt="; ".join(
            f"{name}: " + ", ".join(f"{fmean([one[length]['last'] for one in runs]):.2f}" for length in _LENGTHS)
            for name, runs in results.items()
        ),
    )
