"""C12. The article: interpolation squeezes positions, YaRN turns frequencies by parts, and so contexts are extended.

What varies is the scaling of a trained rotary model's frequencies at several times its training length, zero-shot and after a
short fine-tune; what each has to beat is the same model with its context cut. That scalings do what the article says to the
frequencies is exact and checked by itself.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from ordinate.articles.sweep_runs import mean_sd, small_cell, trained_on
from ordinate.lab.claim import Claim, Inputs
from ordinate.lab.figures import SERIES, canvas, to_svg
from ordinate.lab.measurement import Check, Figure, Measurement, Role, Table, Verdict
from ordinate.position import Rotary
from ordinate.position.frequencies import Linear, NTKAware, YaRN
from ordinate.sweep.beta_fast import beta_fast_warning
from ordinate.sweep.cell import Cell
from ordinate.sweep.extension import extend
from ordinate.sweep.figures import extension_figure

__all__ = ["CLAIM", "extended", "extending", "measure", "rope_cell"]

CLAIM = Claim(
    id="C12",
    title="Extending a trained context",
    place="C226-230",
    statement=(
        "Position interpolation squeezes positions into the trained range, YaRN adjusts RoPE's frequencies; so contexts "
        "are extended without training from scratch."
    ),
    setup="smaller",
    setup_detail="a model of 32 tokens, extended to 128",
    varies="the scaling of a trained RoPE model, zero-shot and after a short fine-tune, against a cut context",
    band="frequencies to 1e-12; the best scaling at least 0.05 bits per byte better than none",
    seeds=2,
    budget_seconds=20,
    shares="text models",
)

_FACTOR, _CONTEXT = 4.0, 4096  # for the frequencies alone: a head of 64 channels in a context of thousands


def rope_cell(seed: int, steps: int) -> Cell:
    """The cell that is extended: trained at 32 tokens, stretched to twice and four times that."""
    return small_cell("text", "rope", seed, steps=steps, study="extension")


@functools.lru_cache(maxsize=16)
def extended(seed: int, steps: int, *, full: bool = False) -> dict[str, Any]:
    """What `extend` finds for a seed; the quick version stretches to four times alone."""
    cell = rope_cell(seed, steps)
    trained, task = trained_on(cell)
    return extend(trained, cell if full else dataclasses.replace(cell, test_lengths=(32, 128)), task)


def measure(inputs: Inputs) -> Measurement:
    """Claim C12 on a short training stretched fourfold, or with --full on one of 1,000 steps stretched twofold as well."""
    steps = 1000 if inputs.full else 100
    runs = [extended(seed, steps, full=inputs.full) for seed in inputs.seeds]
    return extending(runs, inputs.seeds, steps)


def extending(runs: Sequence[Mapping[str, Any]], seeds: Sequence[int], steps: int) -> Measurement:
    """Claim C12 on any extensions.

    Args:
        found: by seed, as `ordinate.sweep.extension.extend` tells it.
        seeds: of the trainings.
        steps: of training, for the reader.
    """
    longest = max(runs[0]["extended"], key=int)
    names = list(runs[0]["extended"][longest])
    cut = [one["truncated"][longest] for one in runs]

    def against(name: str, how: str) -> list[float]:
        return [one["extended"][longest][name][how] - one["truncated"][longest] for one in runs]

    zero = {name: against(name, "zero_shot") for name in names}
    tuned = {name: against(name, "fine_tuned") for name in names}
    scaled = [name for name in names if name != "none"]
    best_zero = min(scaled, key=lambda name: fmean(zero[name]))
    best_tuned = min(scaled, key=lambda name: fmean(tuned[name]))
    plain = Rotary(64, layout="half").inverse_frequencies()
    ratio = {
        name: Rotary(64, layout="half", scaling=scaling).inverse_frequencies() / plain
        for name, scaling in (
            ("interpolation", Linear(_FACTOR)),
            ("NTK", NTKAware(_FACTOR)),
            ("YaRN", YaRN(_FACTOR, _CONTEXT)),
        )
    }
    checks = [
        Check.at_most(
            "interpolation: frequencies away from a quarter", float((ratio["interpolation"] - 1 / _FACTOR).abs().max()), 1e-12
        ),
        Check.at_most("YaRN: fastest pairs away from untouched", float((ratio["YaRN"][:8] - 1).abs().max()), 1e-12),
        Check.at_most("YaRN: slowest pairs away from a quarter", float((ratio["YaRN"][-4:] - 1 / _FACTOR).abs().max()), 1e-12),
        Check.at_least(
            "bits that the best scaling saves over none, zero-shot",
            fmean(zero["none"]) - fmean(zero[best_zero]),
            0.05,
            unit="bits",
        ),
        Check.at_least(
            "bits that a short fine-tune saves the best scaling",
            fmean(zero[best_zero]) - fmean(tuned[best_tuned]),
            0.0,
            unit="bits",
            role=Role.LIMIT,
        ),
        Check.at_least(
            "bits lost without scaling against a cut context", fmean(zero["none"]), 0.1, unit="bits", role=Role.CONTROL
        ),
        Check.at_most("bits lost zero-shot by the best scaling", fmean(zero[best_zero]), 0.0, unit="bits", role=Role.LIMIT),
        Check.at_most("bits lost fine-tuned by the best scaling", fmean(tuned[best_tuned]), 0.0, unit="bits", role=Role.LIMIT),
    ]
    train_length = int(small_cell("text", "rope", 0, steps=1).train_length)
    warned = beta_fast_warning(YaRN(int(longest) / train_length, train_length))
    rows = [
        {"settings": {"study": "extension", "train_length": train_length}, "result": {"status": "scored", **one}}
        for one in runs
    ]
    figures = [_frequencies({name: values.tolist() for name, values in ratio.items()})]
    if len(runs[0]["extended"]) > 1:
        drawn = extension_figure(rows)
        assert drawn is not None
        figures.append(drawn)
    return Measurement(
        checks=checks,
        key_figure=f"at {int(longest) // train_length} times the trained length, against a cut context: no scaling "
        f"{mean_sd(zero['none'], '+')} bits, {best_zero} {mean_sd(zero[best_zero], '+')}, fine-tuned {best_tuned} "
        f"{mean_sd(tuned[best_tuned], '+')}",
        meaning={
            Verdict.REPRODUCED: "The scalings do to the frequencies what the article says, exactly, and each eases the fall "
            f"of a model that is run past its training. Zero-shot the best here is {best_zero}, still "
            f"{mean_sd(zero[best_zero], '+')} bits per byte against simply cutting the context; after a fine-tune of "
            f"{runs[0]['fine_tuned_steps']} steps the best is {best_tuned} at {mean_sd(tuned[best_tuned], '+')}. So an "
            "extension has to be measured against truncation, which none of the articles does."
            + (f" A warning: {warned}." if warned else ""),
            Verdict.REFUTED: "The scalings change the frequencies as stated, but do not ease the fall past the trained "
            "length here.",
        },
        inputs=f"text of Python's standard library, a rotary model of 2 layers and 64 channels in heads of 32, trained at "
        f"{train_length} tokens for {steps} steps; frequencies of a head of 64 channels, factor 4, context {_CONTEXT:,}; seeds "
        f"{', '.join(map(str, seeds))}",
        tables=[
            Table(
                f"Bits per byte at {longest} tokens, mean ± spread over seeds",
                ("scaling", "zero-shot", "fine-tuned"),
                [
                    *(
                        (
                            name,
                            *(
                                mean_sd([one["extended"][longest][name][how] for one in runs])
                                for how in ("zero_shot", "fine_tuned")
                            ),
                        )
                        for name in names
                    ),
                    ("context cut", mean_sd(cut), ""),
                ],
            )
        ],
        figures=figures,
    )


def _frequencies(ratio: Mapping[str, Sequence[float]]) -> Figure:
    with canvas(1, height=2.7, width=4.8) as (figure, axes):
        for (name, values), series in zip(ratio.items(), SERIES, strict=False):
            axes.plot(range(len(values)), values, label=name, markevery=4, **series)
        axes.set(xlabel="pair of channels, fast to slow", ylabel="frequency after / before", title="Frequencies, factor 4")
        axes.set_ylim(0, 1.08)
        axes.grid(axis="y")
        axes.legend()
    return Figure(
        "frequencies",
        to_svg(figure),
        caption="Each pair's frequency after scaling, as a share of before: interpolation squeezes all alike, NTK more and "
        "more towards slow pairs, YaRN leaves fast pairs alone and squeezes slow ones.",
        alt="Interpolation is flat at a quarter; NTK falls smoothly from 1 to a quarter; YaRN stays at 1, then falls to a "
        "quarter.",
    )
