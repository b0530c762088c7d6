"""C10. The article: a model recalls facts in the middle of its context worse than those at its ends.

What varies is where in the context a needle lies, the length of the context, and the encoding. Models are trained for the
very recall at 32 tokens and tested up to four times that. A dip in the middle must show against both ends; that recall can
depend on depth at all is shown by RoPE past its training length.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import fmean

from ordinate.articles.sweep_runs import records_of, scores_of, small_cell
from ordinate.lab.claim import Claim, Inputs
from ordinate.lab.figures import canvas, heat_map, to_svg
from ordinate.lab.measurement import Check, Figure, Measurement, Role, Table, Verdict
from ordinate.sweep.presets import DEFAULT

__all__ = ["CLAIM", "lost_in_the_middle", "measure"]

CLAIM = Claim(
    id="C10",
    title="Lost in the middle",
    place="C208-212",
    statement=(
        "Language models recall facts at the beginning and the end of a huge document well and those in the middle less "
        "well, it is thought because attention anchors to early and recent tokens."
    ),
    setup="smaller",
    setup_detail="a model of two layers and 32 tokens: the claim is about large language models",
    varies="the place of the needle, the length of the context, and the encoding",
    band="recall in the middle half at least 5 points under both ends",
    budget_seconds=20,
    shares="recall models",
)

Recall = Mapping[str, Mapping[int, Sequence[float]]]
"""By encoding and length, the mean accuracy by eighths of the context, from its beginning."""


def measure(inputs: Inputs) -> Measurement:
    """Claim C10 on short trainings, or with --full on the default sweep's lookup."""
    if inputs.full:
        from ordinate.sweep.summary import summarise

        preset = DEFAULT.but(tasks=("lookup",))
        (table,) = summarise(records_of(preset.cells(), inputs))
        length = preset.train_lengths[0]
        return lost_in_the_middle(table.depth, length, f"{table.model}, {preset.seeds} seeds")
    recall: dict[str, dict[int, list[float]]] = {}
    for name in ("rope", "alibi"):
        by_depth = [scores_of(small_cell("lookup", name, seed, steps=120, tested_rows=128)) for seed in inputs.seeds]
        recall[name] = {
            int(n): [fmean(list(column)) for column in zip(*(one[n]["depth"] for one in by_depth), strict=True)]
            for n in by_depth[0]
        }
    training = f"2 layers of 64 channels, 120 steps of 16 rows; seeds {', '.join(map(str, inputs.seeds))}"
    return lost_in_the_middle(recall, 32, training)


def lost_in_the_middle(recall: Recall, train_length: int, model: str) -> Measurement:
    """Claim C10 on any recall.

    Args:
        recall: at least of "rope", at the training length and past it.
        train_length: tokens in training.
        model: what was trained, in words.
    """
    longest = max(recall["rope"])
    dips = {name: {n: _dip(row) for n, row in by_depth.items()} for name, by_depth in recall.items()}
    # the mean over encodings: the largest of many noisy dips would always be one
    average = {n: fmean([by_depth[n] for by_depth in dips.values()]) for n in recall["rope"]}
    here, far = average[train_length], max(dip for n, dip in average.items() if n > train_length)
    rope = recall["rope"][longest]
    checks = [
        Check.at_least("dip in the middle at the training length, mean of the encodings", here, 0.05, role=Role.LIMIT),
        Check.at_least("the same where it is largest past that length", far, 0.05, role=Role.LIMIT),
        Check.at_least(
            "recall of RoPE, best part less worst, past the training length", max(rope) - min(rope), 0.2, role=Role.CONTROL
        ),
        Check.at_least(
            "recall at the training length, least of the encodings",
            min(fmean(by_depth[train_length]) for by_depth in recall.values()),
            0.5,
            role=Role.CONTROL,
        ),
        Check.at_least("recall of RoPE at the end less at the beginning, past it", rope[-1] - rope[0], 0.2, role=Role.LIMIT),
    ]
    return Measurement(
        checks=checks,
        key_figure=f"RoPE at {longest // train_length} times its training length: {rope[0]:.0%} at the beginning, "
        f"{_middle(rope):.0%} in the middle, {rope[-1]:.0%} at the end",
        meaning={
            Verdict.NOT_TESTABLE: "The claim is about large language models and huge documents, which are not here. Small "
            f"decoders that are trained for recall {'have' if max(here, far) >= 0.05 else 'have no'} dip in the middle. "
            "Within the training length recall is as good at every depth; past it, it falls with the distance from the end, "
            f"so the beginning is lost, not the middle (RoPE {rope[0]:.0%} there, {rope[-1]:.0%} at the end). The dip that "
            "is reported of large language models (Liu et al. 2023, arXiv 2307.03172) would then come from what they are "
            "trained on rather than from attention or the encoding as such; models of this size cannot tell.",
        },
        inputs=f"lookup among fillers, trained at {train_length} tokens, {model}",
        tables=[
            Table(
                "Recall by place of the needle, and the dip: the worse end less the middle half",
                ("encoding", "tokens", "beginning", "middle", "end", "dip"),
                [
                    (name, float(n), row[0], _middle(row), row[-1], _dip(row))
                    for name, by_depth in recall.items()
                    for n, row in by_depth.items()
                ],
            )
        ],
        figures=[_picture(recall)],
        untested=[("large language models", "their weights and documents are not in this package; the claim is about them")],
    )


def _middle(row: Sequence[float]) -> float:
    """Mean of the middle half."""
    quarter = len(row) // 4
    return fmean(row[quarter : len(row) - quarter])


def _dip(row: Sequence[float]) -> float:
    return min(row[0], row[-1]) - _middle(row)


def _picture(recall: Recall) -> Figure:
    columns = min(4, len(recall))
    rows = math.ceil(len(recall) / columns)
    with canvas(columns, rows, height=1.4 + 1.4 * rows) as (figure, grid):
        panels = [grid] if len(recall) == 1 else list(grid.flat)
        for panel, (name, by_depth) in zip(panels, recall.items(), strict=False):
            heat_map(
                panel, list(by_depth.values()), label="recall", y_labels=[str(n) for n in by_depth], lower=0, upper=1, bar=False
            )
            panel.set_xticks([0, len(next(iter(by_depth.values()))) - 1], ["beginning", "end"])
            panel.set(title=name, xlabel="place of the needle", ylabel="tokens" if panel is panels[0] else "")
        for panel in panels[len(recall) :]:
            panel.set_axis_off()
        figure.colorbar(panels[0].images[0], ax=panels, location="bottom", shrink=0.5, aspect=40, label="recall")
    return Figure(
        "depth",
        to_svg(figure),
        caption="Recall by place of the needle in the context (across) and length of the context (down).",
        alt="; ".join(
            f"{name} at {max(by_depth)} tokens: " + ", ".join(f"{x:.2f}" for x in by_depth[max(by_depth)])
            for name, by_depth in recall.items()
        ),
    )
