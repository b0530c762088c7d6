"""A7. The article: trained weights should absorb the stripes of the raw sinusoids' similarity.

What varies is what the sinusoids go through: nothing, as in the article's picture; projections before training; projections
trained on text; projections trained to look seven tokens back. Measured is how far the similarity climbs again on its way
from distance 0 outwards, as a share of its range: 0 where it only falls.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from ordinate.articles.trained_terms import four_terms_of, profile, sinusoid_cell, trained_and_fresh
from ordinate.lab.claim import Claim, Inputs
from ordinate.lab.figures import canvas, heat_map, to_svg
from ordinate.lab.measurement import Check, Figure, Measurement, Role, Table, Verdict
from ordinate.position import Sinusoidal

__all__ = ["CLAIM", "climbing", "measure", "stripes"]

CLAIM = Claim(
    id="A7",
    title="Training absorbs the stripes",
    place="A61-70",
    statement=(
        "The similarity of raw sinusoids falls with distance but has stripes where it recovers; passed through trained "
        "weights, this pattern should be absorbed."
    ),
    remark="The article expects this and does not try it. The two tasks, the model and the bands are ours.",
    setup="none stated",
    setup_detail="a decoder of two layers and 64 channels, on text and on a task where one distance matters",
    varies="what the sinusoids go through: nothing, fresh projections, trained ones of two tasks",
    band="climbing at most half of the raw similarity's, on either task",
    budget_seconds=20,
    shares="position terms",
)

_FARTHEST = 48
_TASKS = {"text": "trained on text", "k-back": "trained to look 7 back"}


def measure(inputs: Inputs) -> Measurement:
    """Claim A7 on short trainings, or with --full on ones eight times as long."""
    raw = Sinusoidal(64).encode(torch.arange(64), dtype=torch.float64)
    profiles = {"raw": _by_distance(raw @ raw.T / 32)[None]}
    similarity = {"raw": raw @ raw.T / 32}
    for task, name in _TASKS.items():
        trained, fresh, _, tokens = trained_and_fresh(sinusoid_cell(task, inputs.seeds[0], inputs))
        if "before training" not in profiles:
            profiles["before training"] = profile(four_terms_of(fresh, tokens), _FARTHEST)
        terms = four_terms_of(trained, tokens)
        profiles[name], similarity[name] = profile(terms, _FARTHEST), terms[3].mean(0)[0]
    return stripes({name: climbing(lines) for name, lines in profiles.items()}, similarity)


def climbing(lines: Tensor) -> list[float]:
    """For each line [H, N] from distance 0 outwards: all its rises added up, as a share of its range.

    >>> climbing(torch.tensor([[3.0, 2.0, 1.0], [2.0, 1.0, 2.0]]))
    [0.0, 1.0]
    """
    result: list[float] = (lines.diff(dim=1).clamp_min(0).sum(1) / (lines.amax(1) - lines.amin(1))).tolist()
    return result


def stripes(climbs: Mapping[str, Sequence[float]], similarity: Mapping[str, Tensor]) -> Measurement:
    """Claim A7 on any climbs: by what the sinusoids went through, one a head; and on matrices to draw."""
    mean = {name: statistics.fmean(values) for name, values in climbs.items()}
    text, back = _TASKS.values()
    checks = [
        Check.at_most("climbing after training on text, as a share of the raw one's", mean[text] / mean["raw"], 0.5),
        Check.at_most(
            "climbing after training to look 7 back, as a share of the raw one's",
            mean[back] / mean["raw"],
            0.5,
            role=Role.GENERALISATION,
        ),
        Check.at_most(
            "climbing after training on text alone, as a share of the raw one's",
            mean[text] / mean["raw"],
            0.5,
            role=Role.DETAIL_FIXED,
        ),
        Check.at_least("climbing of the raw similarity", mean["raw"], 0.1, role=Role.CONTROL),
    ]
    return Measurement(
        checks=checks,
        key_figure=f"climbing of the similarity: raw {mean['raw']:.2f}, before training {mean['before training']:.2f}, "
        f"text {mean[text]:.2f}, look 7 back {mean[back]:.2f}",
        meaning={
            Verdict.CORRECTED: "Whether the stripes go depends on what is learned. On text, where near tokens matter most, the "
            f"projections do smooth them: the climbing falls from {mean['raw']:.2f} to {mean[text]:.2f} of the range, and the "
            f"heads look near. Where one distance matters they make more of them ({mean[back]:.2f}): the stripe seven tokens "
            "back is the answer. So trained weights do not absorb the pattern as such; they keep the waves that serve and "
            "silence the others.",
            Verdict.REPRODUCED: "The trained projections smooth the stripes on both tasks.",
            Verdict.REFUTED: f"Even on text the trained projections leave {mean[text]:.2f} of the range as climbing.",
        },
        inputs="the first layer of decoders of two layers and 64 channels, mean over heads; distances 0 to 48",
        tables=[
            Table(
                "All rises from distance 0 to 48, as a share of the range, by head",
                ("sinusoids went through", "mean", "least", "most"),
                [(name, mean[name], min(values), max(values)) for name, values in climbs.items()],
            )
        ],
        figures=[_picture(similarity)],
    )


def _by_distance(matrix: Tensor) -> Tensor:
    return torch.stack([matrix.diagonal(-distance).mean() for distance in range(_FARTHEST + 1)])


def _picture(similarity: Mapping[str, Tensor]) -> Figure:
    with canvas(len(similarity), height=3.3) as (figure, axes):
        for one, (name, values) in zip(axes, similarity.items(), strict=True):
            heat_map(one, values[:56, :56].numpy(), label="cosine" if name == "raw" else "score from positions alone")
            one.set_title(name, fontsize=8.5)
            one.set_xlabel("position")
        axes[0].set_ylabel("position")
    return Figure(
        "stripes",
        to_svg(figure),
        caption="Position against position: the raw sinusoids, and what the first head makes of them after two trainings.",
        alt="Three square maps. Raw: bright diagonal with faint stripes along it. Text: a smooth fall away from the diagonal. "
        "Look 7 back: strong stripes along the diagonal, the brightest seven below it.",
    )
