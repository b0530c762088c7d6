"""D5. The article: scores [14, 12] give weights [.88, .12].

What varies are the two scores. Softmax sees their difference alone, so the first weight is 1 / (1 + e^-2) = .8808. Attention
itself is asked: one query and two keys whose products are the scores.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import torch

from ordinate.attention import attend
from ordinate.lab.claim import Claim, Inputs
from ordinate.lab.figures import SERIES, canvas, to_svg
from ordinate.lab.measurement import Check, Figure, Measurement, Role, Table, Verdict

__all__ = ["CLAIM", "SCORES", "by_attention", "measure", "softmax"]

CLAIM = Claim(
    id="D5",
    title="A softmax by hand",
    place="D716-742",
    statement="The scores [14, 12] become the attention weights [0.88, 0.12], and z_1 = 0.88 v_1 + 0.12 v_2.",
    setup="same",
    varies="the two scores",
    band="both weights to half a unit in the second digit",
    budget_seconds=5,
)

SCORES = (14.0, 12.0)

Weigh = Callable[[Sequence[float]], list[float]]


def by_attention(scores: Sequence[float]) -> list[float]:
    """The weights of attention whose products of query and keys are these scores."""
    keys = torch.tensor(scores, dtype=torch.float64).reshape(1, 1, -1, 1)
    query = torch.ones(1, 1, 1, 1, dtype=torch.float64)
    _, weights = attend(query, keys, torch.zeros_like(keys), scale=1.0, return_weights=True)
    return weights.flatten().tolist()


def measure(inputs: Inputs) -> Measurement:
    """Claim D5 on the article's scores and the package's attention."""
    return softmax(by_attention, SCORES)


def softmax(weigh: Weigh, scores: Sequence[float]) -> Measurement:
    """Claim D5 on any weighing of two scores.

    Args:
        weigh: scores to weights.
        scores: two numbers.
    """
    first, second = weigh(scores)
    lifted = weigh([score + 1000 for score in scores])
    halved = weigh([score / math.sqrt(2) for score in scores])
    even = weigh([scores[0], scores[0]])
    values = np.array([[1.0, 0.0], [0.0, 1.0]])
    mixed = np.array([first, second]) @ values
    checks = [
        Check.near("first weight", first, 0.88, 0.005),
        Check.near("second weight", second, 0.12, 0.005),
        Check.at_most(
            "z_1 of v_1 = (1, 0) and v_2 = (0, 1), away from (.88, .12)", float(np.abs(mixed - [0.88, 0.12]).max()), 0.005
        ),
        Check.near("first weight, by hand 1 / (1 + e^-2)", first, 1 / (1 + math.exp(-2)), 1e-12, role=Role.GENERALISATION),
        Check.near("first weight with 1,000 added to both scores", lifted[0], 0.88, 0.005, role=Role.GENERALISATION),
        Check.near("first weight of two equal scores", even[0], 0.5, 1e-12, role=Role.CONTROL),
        Check.at_most("first weight with scores divided by sqrt(2)", halved[0], 0.85, role=Role.LIMIT),
    ]
    return Measurement(
        checks=checks,
        key_figure=f"weights {first:.4f} and {second:.4f}",
        meaning={
            Verdict.REPRODUCED: "The weights are right to all printed digits. They depend on the difference of the scores and "
            "on nothing else: with 1,000 added to both they are the same, which is why software may subtract the largest score "
            f"first. A factor does matter: divided by sqrt(2) the same scores give {halved[0]:.2f} and {halved[1]:.2f}, and "
            "that is what the scaling by sqrt(d) is there for (claim D9).",
        },
        inputs="two scores",
        tables=[
            Table(
                "Weights of two scores",
                ("scores", "first weight", "second weight"),
                [
                    ("14, 12", first, second),
                    ("1,014, 1,012", *lifted),
                    ("14 and 12 over sqrt(2)", *halved),
                    ("14, 14", *even),
                ],
            )
        ],
        figures=[_picture(weigh, scores)],
    )


def _picture(weigh: Weigh, scores: Sequence[float]) -> Figure:
    differences = np.linspace(-6, 6, 121)
    with canvas(height=2.8) as (figure, axes):
        axes.plot(
            differences,
            [weigh([difference, 0.0])[0] for difference in differences],
            color=SERIES[0]["color"],
            linewidth=1.6,
            label="weight of the first",
        )
        axes.plot(
            differences,
            [weigh([difference, 0.0])[1] for difference in differences],
            color=SERIES[1]["color"],
            linewidth=1.6,
            linestyle="--",
            label="weight of the second",
        )
        apart = scores[0] - scores[1]
        for weight, series in zip(weigh(scores), SERIES, strict=False):
            axes.plot(apart, weight, linestyle="none", marker=series["marker"], markersize=7, color=series["color"])
            axes.annotate(f"{weight:.2f}", (apart, weight), xytext=(8, -3), textcoords="offset points", va="center")
        axes.set(title="Two scores, two weights", xlabel="first score less second", ylabel="weight")
        axes.grid(axis="y")
        axes.legend(loc="center left")
    return Figure(
        "weights",
        to_svg(figure),
        caption="The two weights by the difference of the scores; marked, the article's pair.",
        alt="Two mirrored S-shaped curves that cross at one half where the scores are equal; at a difference of two they stand "
        "at .88 and .12.",
    )
