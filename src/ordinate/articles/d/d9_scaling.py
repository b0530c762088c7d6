"""D9. The article: without 1/sqrt(d_k) softmax saturates as d grows.

What varies is d and the factor on the scores. With queries and keys of independent entries of variance 1 a score has the
variance d (Vaswani et al. 2017, arXiv 1706.03762, note 4). Measured are the entropy of the weights and the largest weight, and
how much gradient gets through the softmax: sum_j w_j (1 - w_j), which is 0 where one weight is 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from ordinate.attention import attend
from ordinate.lab.claim import Claim, Inputs
from ordinate.lab.figures import SERIES, canvas, to_svg
from ordinate.lab.measurement import Check, Figure, Measurement, Role, Table, Verdict

__all__ = ["CLAIM", "measure", "scaling"]

CLAIM = Claim(
    id="D9",
    title="Why scores are divided by sqrt(d)",
    place="D465-468, D712-714",
    statement="Inner products grow with the number of channels; dividing by sqrt(d_k) keeps the softmax from extremes.",
    setup="none stated",
    varies="the channels of a head from 4 to 1,024, and the factor on the scores",
    band="unscaled, under a tenth of the greatest entropy at d = 1,024; scaled, within 5 % of each other",
    budget_seconds=5,
)

_CHANNELS, _KEYS, _QUERIES = (4, 8, 16, 32, 64, 128, 256, 512, 1024), 64, 2000


def measure(inputs: Inputs) -> Measurement:
    """Claim D9 on the usual factor."""
    return scaling(lambda channels: 1.0, lambda channels: 1 / math.sqrt(channels), inputs.seeds[0])


def scaling(without: Callable[[int], float], with_factor: Callable[[int], float], seed: int) -> Measurement:
    """Claim D9 on any two factors.

    Args:
        without: d to the factor under which softmax is claimed to saturate.
        with_factor: d to the factor under which it is claimed not to.
        seed: of queries and keys.
    """
    entropy: dict[str, list[float]] = {"without": [], "with": []}
    largest: dict[str, list[float]] = {"without": [], "with": []}
    through: dict[str, list[float]] = {"without": [], "with": []}
    spread = []
    generator = torch.Generator().manual_seed(seed)
    for channels in _CHANNELS:
        query = torch.randn(1, 1, _QUERIES, channels, generator=generator)
        key = torch.randn(1, 1, _KEYS, channels, generator=generator)
        spread.append(float((query @ key.mT).std()) * with_factor(channels))
        for name, factor in (("without", without), ("with", with_factor)):
            weights = attend(query, key, key, scale=factor(channels), impl="reference", return_weights=True)[1].double()
            entropy[name].append(float(_entropy(weights).mean()) / math.log(_KEYS))
            largest[name].append(float(weights.amax(-1).mean()))
            through[name].append(float((weights * (1 - weights)).sum(-1).mean()))
    falls = int((np.diff(entropy["without"]) < 0).sum())
    changed = max(entropy["with"]) / min(entropy["with"]) - 1
    checks = [
        Check.at_most("entropy without the factor at d = 1,024, of the greatest", entropy["without"][-1], 0.1),
        Check.near("steps of d at which the entropy falls, of 8", falls, len(_CHANNELS) - 1, 0),
        Check.at_most("largest over least entropy with the factor, less 1", changed, 0.05),
        Check.at_most(
            "departure of the scaled scores' standard deviation from 1, any d",
            max(abs(one - 1) for one in spread),
            0.1,
            role=Role.GENERALISATION,
        ),
        Check.at_most(
            "gradient through the softmax without the factor, d = 1,024", through["without"][-1], 0.15, role=Role.GENERALISATION
        ),
        Check.at_least(
            "entropy without the factor at d = 4, where it is not saturated", entropy["without"][0], 0.5, role=Role.CONTROL
        ),
    ]
    return Measurement(
        checks=checks,
        key_figure=f"entropy falls from {entropy['without'][0]:.0%} to {entropy['without'][-1]:.0%} of the greatest without "
        f"the factor, stays at {min(entropy['with']):.0%} with it",
        meaning={
            Verdict.REPRODUCED: f"Scores spread like sqrt(d), so at d = 1,024 the largest of {_KEYS} weights is "
            f"{largest['without'][-1]:.2f} on average and the layer picks one token; with the factor it is "
            f"{largest['with'][-1]:.2f}, whatever d. What is lost is not the picking but the learning: the gradient that gets "
            f"through falls from {through['without'][0]:.2f} to {through['without'][-1]:.2f}. The factor fits vectors of "
            "independent entries, as at the start of training; a trained layer makes its scores as large as it needs them.",
        },
        inputs=f"{_QUERIES:,} drawn queries and {_KEYS} keys for each d",
        tables=[
            Table(
                "Weights by d",
                (
                    "d",
                    "entropy without",
                    "entropy with",
                    "largest weight without",
                    "largest weight with",
                    "gradient without",
                    "gradient with",
                ),
                [
                    (channels, *(part[name][row] for part in (entropy, largest, through) for name in ("without", "with")))
                    for row, channels in enumerate(_CHANNELS)
                ],
            )
        ],
        figures=[_picture(entropy, through)],
    )


def _entropy(weights: Tensor) -> Tensor:
    """In nats; 0 log 0 is 0."""
    return -torch.xlogy(weights, weights).sum(-1)


def _picture(entropy: dict[str, list[float]], through: dict[str, list[float]]) -> Figure:
    with canvas(2, height=2.9) as (figure, (left, right)):
        for axes, part, title, label in (
            (left, entropy, "Entropy of the weights", "share of the greatest"),
            (right, through, "Gradient through the softmax", "sum of w (1 - w)"),
        ):
            for (name, values), series in zip(part.items(), (SERIES[1], SERIES[0]), strict=True):
                axes.plot(_CHANNELS, values, **series, label=f"{name} 1/sqrt(d)")
            axes.set(title=title, xlabel="channels d of a head", ylabel=label, xscale="log", ylim=(0, 1.05))
            axes.set_xticks(_CHANNELS[::2], [f"{channels:,}" for channels in _CHANNELS[::2]])
            axes.minorticks_off()
            axes.grid(axis="y")
        left.legend(loc="center right", bbox_to_anchor=(1.0, 0.62))
    return Figure(
        "entropy",
        to_svg(figure),
        caption="Entropy of the weights, of the greatest that is possible, and the gradient that gets through, by d.",
        alt="Two panels, each with a level line with the factor and a line that falls towards 0 without it as d grows from 4 "
        "to 1,024.",
    )
