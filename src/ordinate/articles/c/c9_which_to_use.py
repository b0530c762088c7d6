"""C9. The article's advice: RoPE for longer sequences, ALiBi where extrapolation comes first.

What varies is the encoding; measured is what each loses past its training length against the same model with its context cut.
The advice for ALiBi is held as it stands. That for RoPE is held for RoPE as it is trained, and, as a detail to be fixed, with
its frequencies scaled and a short fine-tune, which is how long-context models with RoPE are made.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean

from ordinate.articles.c.c12_extending import extended
from ordinate.articles.sweep_runs import mean_sd, records_of, scores_of, small_cell
from ordinate.lab.claim import Claim, Inputs
from ordinate.lab.figures import INK, SERIES, canvas, rows_of_marks, to_svg
from ordinate.lab.measurement import Check, Figure, Measurement, Role, Table, Verdict
from ordinate.sweep.presets import DEFAULT
from ordinate.sweep.summary import summarise
from ordinate.sweep.tables import headings, line_cells

__all__ = ["CLAIM", "measure", "which_to_use"]

CLAIM = Claim(
    id="C9",
    title="Which encoding to use",
    place="C153-163",
    statement=(
        "Sinusoids for a baseline without parameters, a learned table where the length is fixed, RoPE past the training "
        "length, relative encodings or RoPE where grammar depends on distance, ALiBi where extrapolation comes first."
    ),
    remark="Advice is compared with our measurements; the bands are ours.",
    setup="smaller",
    setup_detail="models of 32 tokens, trained for seconds; with --full the default sweep",
    varies="the encoding, and for RoPE whether its frequencies are scaled and tuned for the longer context",
    band="at four times the training length at most 0.1 bits per byte behind a cut context",
    seeds=2,
    budget_seconds=20,
    shares="text models",
)


def measure(inputs: Inputs) -> Measurement:
    """Claim C9 on the trainings of C8 and C12, or with --full beside all of the default sweep."""
    steps = 400 if inputs.full else 100
    lost = {}
    for name in ("alibi", "rope"):
        runs = [scores_of(small_cell("text", name, seed, steps=steps)) for seed in inputs.seeds]
        lost[name] = [one["128"]["last"] - one["128"]["cut"] for one in runs]
    stretched = [extended(seed, 1000 if inputs.full else steps, full=inputs.full) for seed in inputs.seeds]
    names = [name for name in stretched[0]["extended"]["128"] if name != "none"]
    by_name = {
        name: [one["extended"]["128"][name]["fine_tuned"] - one["truncated"]["128"] for one in stretched] for name in names
    }
    best = min(names, key=lambda name: fmean(by_name[name]))
    lost[f"rope, {best}, fine-tuned"] = by_name[best]
    tables = []
    if inputs.full:
        cells = DEFAULT.cells(small_cell("text", "none", 0, steps=1).corpus)
        tables = [
            Table(f"{table.task}: {table.model}", headings(table), [line_cells(table, line) for line in table.lines])
            for table in summarise(records_of(cells, inputs))
        ]
    return which_to_use(lost, inputs.seeds, steps, tables)


def which_to_use(
    lost: Mapping[str, Sequence[float]], seeds: Sequence[int], steps: int, tables: Sequence[Table] = ()
) -> Measurement:
    """Claim C9 on any losses.

    Args:
        lost: bits lost at four times the training length against a cut context, by seed, of "alibi", "rope", and as the last
            the best scaled and tuned RoPE.
        seeds: of the trainings.
        steps: of training, for the reader.
        tables: of a sweep, shown beside.
    """
    alibi, rope, scaled = lost["alibi"], lost["rope"], list(lost.values())[-1]
    fixed = list(lost)[-1]
    checks = [
        Check.at_most("extrapolation with ALiBi: bits lost at four times the training length", fmean(alibi), 0.1, unit="bits"),
        Check.at_most("longer sequences with RoPE: bits lost at four times the training length", fmean(rope), 0.1, unit="bits"),
        Check.at_most("extrapolation with ALiBi: bits lost", fmean(alibi), 0.1, unit="bits", role=Role.DETAIL_FIXED),
        Check.at_most(
            "longer sequences with RoPE, scaled and tuned: bits above RoPE as trained",
            fmean(scaled) - fmean(rope),
            -0.1,
            unit="bits",
            role=Role.DETAIL_FIXED,
        ),
        Check.at_most("bits that anything gains over a cut context", min(map(fmean, lost.values())), -0.02, role=Role.LIMIT),
    ]
    return Measurement(
        checks=checks,
        key_figure=f"bits lost at four times the training length: ALiBi {mean_sd(alibi, '+')}, RoPE "
        f"{mean_sd(rope, '+')}, {fixed} {mean_sd(scaled, '+')}",
        meaning={
            Verdict.CORRECTED: f"ALiBi does carry past its training length ({mean_sd(alibi, '+')} bits per byte against a cut "
            f"context), though it gains nothing there. RoPE as it is trained does not ({mean_sd(rope, '+')}): the advice "
            "holds for RoPE whose frequencies are scaled and that is tuned briefly at the longer length "
            f"({mean_sd(scaled, '+')}), as long-context models are made. Neither beats cutting the context at this size, so "
            "the first advice is to measure that.",
            Verdict.REPRODUCED: "Both encodings carry past their training length, as advised.",
            Verdict.REFUTED: "The advice does not hold here even with RoPE scaled and tuned.",
        },
        inputs=f"text of Python's standard library, trained at 32 tokens for {steps} steps, tested at 128; seeds "
        f"{', '.join(map(str, seeds))}",
        tables=[
            Table(
                "The article's advice beside what was measured",
                ("advice", "bits lost at 128 tokens against a cut context"),
                [("RoPE for longer sequences", mean_sd(rope, "+")), (f"the same: {fixed}", mean_sd(scaled, "+")),
                 ("ALiBi where extrapolation comes first", mean_sd(alibi, "+"))],
            ),
            *tables,
        ],
        figures=[_picture(lost)],
    )  # fmt: skip


def _picture(lost: Mapping[str, Sequence[float]]) -> Figure:
    with canvas(1, height=2.2, width=5.4) as (figure, axes):
        rows_of_marks(axes, lost, "bits lost against a cut context")
        for place, (values, series) in enumerate(zip(lost.values(), SERIES, strict=False)):
            axes.plot([fmean(values)] * 2, [place - 0.3, place + 0.3], color=series["color"], linewidth=1.6)
        axes.axvline(0, color=INK, linewidth=0.7, linestyle=":")
        axes.set_title("Four times the training length")
    return Figure(
        "advice",
        to_svg(figure),
        caption="Bits per byte above those of the same model with its context cut, a mark a seed, a bar for their mean; "
        "dotted, nothing lost.",
        alt="; ".join(f"{name} {fmean(values):+.2f}" for name, values in lost.items()),
    )
