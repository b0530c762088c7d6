"""B7. The article, after Vaswani et al. 2017: sinusoids do as well as a learned table of positions.

What varies is what is added to the embeddings; everything else, weights and batches of a seed included, is the same. Compared
are bits per byte of text at the training length, and what happens past it, where the table ends. That the models use their
positions at all is shown by telling them all tokens stand in one place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean

import torch

from ordinate.articles.sweep_runs import mean_sd, records_of, scores_of, small_cell, trained_on
from ordinate.lab.claim import Claim, Inputs
from ordinate.lab.figures import SERIES, canvas, to_svg
from ordinate.lab.measurement import Check, Figure, Measurement, Role, Table, Verdict
from ordinate.sweep.evaluation import score
from ordinate.sweep.presets import DEFAULT

__all__ = ["CLAIM", "measure", "sinusoid_or_learned"]

CLAIM = Claim(
    id="B7",
    title="Sinusoids do as well as a learned table",
    place="B49",
    statement=(
        "The paper reports that the sinusoidal encoding, which is not learned, is not worse than positions learned from "
        "scratch."
    ),
    remark="The band, and the look past the training length, are ours.",
    setup="other data",
    setup_detail="next-byte prediction with a small model; the paper translates",
    varies="what is added to the embeddings, the seed, and the length of the test",
    band="sinusoids at most 0.05 bits per byte behind the table at the training length; both used by the model",
    seeds=3,
    budget_seconds=15,
)

Scores = Mapping[str, Sequence[Mapping[str, float]]]
"""By encoding, for each seed: bits `at` the training length, at twice and four times that (`twice`, `fourfold`), and `lost`
when every token is said to stand in one place; the table's are clamped past its end."""


def measure(inputs: Inputs) -> Measurement:
    """Claim B7 on small trainings, or with --full also on the default sweep's text."""
    steps = 400 if inputs.full else 80
    scores = {name: [_scores(name, seed, steps) for seed in inputs.seeds] for name in ("sinusoidal", "learned")}
    tables = []
    if inputs.full:
        preset = DEFAULT.but(tasks=("text",), encodings=("sinusoidal", "learned"), seeds=5)
        cells = preset.cells(small_cell("text", "none", 0, steps=1).corpus)
        tables.append(_default_table(records_of(cells, inputs)))
    return sinusoid_or_learned(scores, inputs.seeds, steps, tables)


def sinusoid_or_learned(scores: Scores, seeds: Sequence[int], steps: int, tables: Sequence[Table] = ()) -> Measurement:
    """Claim B7 on any scores.

    Args:
        scores: of "sinusoidal" and "learned", by seed.
        seeds: at least two.
        steps: of training, for the reader.
        tables: shown beside.
    """
    behind = [a["at"] - b["at"] for a, b in zip(scores["sinusoidal"], scores["learned"], strict=True)]
    lost = {name: fmean([one["lost"] for one in runs]) for name, runs in scores.items()}
    rise = {name: [one["twice"] - one["at"] for one in runs] for name, runs in scores.items()}
    checks = [
        Check.at_most("bits per byte of sinusoids above those of a learned table", fmean(behind), 0.05, unit="bits"),
        Check.at_least("bits per byte of sinusoids above those of a learned table", fmean(behind), -0.05, role=Role.LIMIT),
        *(
            Check.at_least(f"bits lost by {name} when all tokens stand in one place", value, 0.05, role=Role.CONTROL)
            for name, value in lost.items()
        ),
        Check.at_most("rise of sinusoids at twice the training length", fmean(rise["sinusoidal"]), 0.05, role=Role.LIMIT),
    ]
    return Measurement(
        checks=checks,
        key_figure=f"sinusoids {mean_sd(behind, '+')} bits per byte against a learned table at the training length; "
        f"at twice that {mean_sd(rise['sinusoidal'], '+')}, the table clamped {mean_sd(rise['learned'], '+')}",
        meaning={
            Verdict.REPRODUCED: f"Over {len(seeds)} seeds sinusoids differ from a learned table by {mean_sd(behind, '+')} bits "
            "per byte (less than 0 speaks for sinusoids): no worse, so nothing is lost by not learning positions. Where they "
            "are ahead, that is speed of learning: a table has to be learned vector by vector, and these trainings are "
            "short. The article's further hope, that sinusoids carry past the training length, fails: they lose "
            f"{mean_sd(rise['sinusoidal'], '+')} bits at twice it, while the table has no vector there at all; with its last "
            f"one in the place of the missing ones the loss is {mean_sd(rise['learned'], '+')}.",
            Verdict.REFUTED: f"Over {len(seeds)} seeds sinusoids are {mean_sd(behind, '+')} bits per byte behind a "
            "learned table.",
        },
        inputs=f"text of Python's standard library, 32 tokens, 2 layers of 64 channels, {steps} steps of 16 rows; seeds "
        f"{', '.join(map(str, seeds))}",
        tables=[
            Table(
                "Bits per byte of the last targets, mean ± spread over seeds",
                ("added", "at 32", "at 64", "at 128", "in one place"),
                [
                    (
                        name if name == "sinusoidal" else "learned, clamped past 32",
                        *(mean_sd([one[key] for one in runs]) for key in ("at", "twice", "fourfold")),
                        mean_sd([one["at"] + one["lost"] for one in runs]),
                    )
                    for name, runs in scores.items()
                ],
            ),
            *tables,
        ],
        figures=[_picture(scores)],
    )


def _scores(encoding: str, seed: int, steps: int) -> dict[str, float]:
    cell = small_cell("text", encoding, seed, steps=steps)
    runs, (trained, task) = scores_of(cell), trained_on(cell)
    rows = task.rows(cell.tested_rows, 32, seed, "test")
    one_place = score(trained.model, task, rows, torch.zeros(32, dtype=torch.long)).last
    past = [runs[n]["clamped"] if runs[n]["beyond"] else runs[n]["last"] for n in ("64", "128")]
    here = runs["32"]["last"]
    return {"at": here, "twice": past[0], "fourfold": past[1], "lost": one_place - here}


def _default_table(records: Sequence[Mapping[str, object]]) -> Table:
    from ordinate.sweep.summary import summarise
    from ordinate.sweep.tables import headings, line_cells

    (table,) = summarise(list(records))  # type: ignore[arg-type]
    return Table(f"The default sweep: {table.model}", headings(table), [line_cells(table, line) for line in table.lines])


def _picture(scores: Scores) -> Figure:
    keys = ("at", "twice", "fourfold")
    with canvas(1, height=2.9, width=4.6) as (figure, axes):
        for (name, runs), series in zip(scores.items(), SERIES, strict=False):
            for seed, one in enumerate(runs):
                axes.plot(
                    (1, 2, 4),
                    [one[key] for key in keys],
                    alpha=0.8,
                    label="_" if seed else name,
                    **{**series, "linewidth": 1.0},
                )
        axes.set_xticks((1, 2, 4), ("L", "2L", "4L"))
        axes.set(xlabel="context", ylabel="bits per byte", title="Added positions, trained at L = 32")
        axes.grid(axis="y")
        axes.legend()
    return Figure(
        "added",
        to_svg(figure),
        caption="Bits per byte of the same last targets, a line a seed. Past L the learned table is clamped to its last "
        "vector.",
        alt="; ".join(
            f"{name} " + ", ".join(f"{fmean([one[key] for one in runs]):.2f}" for key in keys) for name, runs in scores.items()
        ),
    )
