"""D6. The article: mean pooling is attention pooling with all weights 1/N.

What varies is the pooling and the padding. A query of zero gives every token the same score, so each real token of a row of N
has the weight 1/N. The mean is also taken by hand, token by token.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

from ordinate.attention import AttentionPooling, MeanPooling
from ordinate.lab.claim import Claim, Inputs
from ordinate.lab.figures import SERIES, canvas, to_svg
from ordinate.lab.measurement import Check, Figure, Measurement, Role, Table, Verdict

__all__ = ["CLAIM", "Pool", "by_attention", "mean_pooling", "measure"]

CLAIM = Claim(
    id="D6",
    title="Mean pooling is attention pooling",
    place="D389-412, D657-678",
    statement="Mean pooling z = (1/N) sum x_i is a weighted sum in which every weight is 1/N.",
    setup="none stated",
    varies="the pooling, the query, and how much of each row is padding",
    band="weights and outputs equal to 1e-14",
    seeds=10,
    budget_seconds=5,
)

_DIM, _LENGTHS = 16, (5, 12, 1, 12)

Pool = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]


def by_attention(size: float) -> Pool:
    """Pooling by attention, the query drawn with that length; 0 gives every token the same score."""
    pooling = AttentionPooling(_DIM, projections=False).double()
    with torch.no_grad():
        pooling.queries.copy_(size * torch.randn(1, _DIM, generator=torch.Generator().manual_seed(0)) / _DIM**0.5)
    return lambda x, mask: pooling(x, mask, return_weights=True)


def measure(inputs: Inputs) -> Measurement:
    """Claim D6 on our two poolings."""
    mean = MeanPooling()
    return mean_pooling(lambda x, mask: mean(x, mask, return_weights=True), by_attention(0.0), by_attention(4.0), inputs.seeds)


def mean_pooling(mean: Pool, uniform: Pool, learned: Pool, seeds: Sequence[int]) -> Measurement:
    """Claim D6 on any poolings.

    Args:
        mean: rows [B, T, 16] and a mask [B, T] to vectors [B, 16] and weights [B, 1, 1, T]; claimed to be the case of
        uniform: pooling by attention with one score for all tokens.
        learned: pooling by attention with a query that tells tokens apart.
        seeds: of the rows.
    """
    mask = torch.arange(max(_LENGTHS)) < torch.tensor(_LENGTHS)[:, None]
    outputs = weights = by_hand = with_query = 0.0
    with torch.no_grad():
        for seed in seeds:
            x = torch.randn(*mask.shape, _DIM, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
            pooled, attended = mean(x, mask), uniform(x, mask)
            outputs = max(outputs, _apart(pooled[0], attended[0]))
            share = mask.double() / torch.tensor(_LENGTHS)[:, None]
            weights = max(weights, _apart(attended[1][:, 0, 0], share), _apart(pooled[1][:, 0, 0], share))
            counted = torch.stack([sum(row[:length]) / length for row, length in zip(x, _LENGTHS, strict=True)])
            by_hand = max(by_hand, _apart(pooled[0], counted))
            with_query = max(with_query, _apart(pooled[0], learned(x, mask)[0]))
        maps = learned(x, mask)[1][1, 0, 0], uniform(x, mask)[1][1, 0, 0]
    checks = [
        Check.at_most("largest difference of the two outputs", outputs, 1e-14),
        Check.at_most("largest difference of a weight from 1/N", weights, 1e-15),
        Check.at_most("largest difference from the mean by hand", by_hand, 1e-14),
        Check.at_least("largest difference with a query that tells tokens apart", with_query, 0.1, role=Role.CONTROL),
    ]
    return Measurement(
        checks=checks,
        key_figure=f"outputs differ by {outputs:.1g} at most, weights from 1/N by {weights:.1g}",
        meaning={
            Verdict.REPRODUCED: "Mean pooling is the case of equal scores, with padding too, where N counts the real tokens "
            "alone. So pooling by attention can do whatever the mean can, and it starts there: with a query near zero an "
            "untrained module is nearly the mean. What it can do beyond that is claim D7.",
        },
        inputs=f"rows of {', '.join(map(str, _LENGTHS))} real tokens of {max(_LENGTHS)}, {_DIM} channels, drawn {len(seeds)} "
        "times, float64",
        tables=[
            Table(
                "Largest differences over the draws",
                ("compared", "difference"),
                [
                    ("the two poolings", outputs),
                    ("weights and 1/N", weights),
                    ("mean and its count by hand", by_hand),
                    ("with a query", with_query),
                ],
            )
        ],
        figures=[_picture(*maps)],
    )


def _apart(one: Tensor, other: Tensor) -> float:
    difference = (one - other).abs().max().item()
    return difference if np.isfinite(difference) else float("inf")


def _picture(learned: Tensor, uniform: Tensor) -> Figure:
    with canvas(height=2.6) as (figure, axes):
        tokens = np.arange(len(learned))
        axes.bar(
            tokens - 0.2, uniform.numpy(), 0.36, color=SERIES[0]["color"], edgecolor="white", label="query of zero, or the mean"
        )
        axes.bar(
            tokens + 0.2,
            learned.numpy(),
            0.36,
            color=SERIES[1]["color"],
            hatch="///",
            edgecolor="white",
            label="a query that tells apart",
        )
        axes.axhline(1 / len(learned), color="#1b1c1e", linewidth=0.7, linestyle=":")
        axes.set(
            title="Weights of a row of twelve",
            xlabel="token",
            ylabel="weight",
            xticks=tokens,
            ylim=(0, 1.35 * float(learned.max())),
        )
        axes.grid(axis="y")
        axes.legend(loc="upper right")
    return Figure(
        "weights",
        to_svg(figure),
        caption="The weights of one row under a query of zero, all 1/12 (dotted), and under another.",
        alt="Twelve level bars at one twelfth beside twelve uneven ones.",
    )
