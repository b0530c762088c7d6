"""The chart of D7: accuracy of each pooling, seed by seed, and where the weights go."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence

import numpy as np
from torch import Tensor

from ordinate.lab.figures import SERIES, canvas, to_svg
from ordinate.lab.measurement import Figure

__all__ = ["picture"]


def picture(accuracies: Mapping[str, Sequence[Mapping[str, float]]], weights: Sequence[tuple[Tensor, Tensor]]) -> Figure:
    """The chart.

    Args:
        accuracies: for task and control, accuracy by pooling for each seed.
        weights: for each seed the last pooling's weights of tokens that matter, and of the others.
    """
    names = list(accuracies["task"][0])
    labels = [
        name.replace(", ", ",\n").replace(" after a network", "\nafter a network\n").replace("\n on", "\non") for name in names
    ]
    with canvas(3, height=3.1, widths=(1.25, 1, 1)) as (figure, (left, middle, right)):
        for axes, runs, title in (
            (left, accuracies["task"], "Two of forty matter"),
            (middle, accuracies["control"], "All matter alike"),
        ):
            for row, (name, series) in enumerate(zip(names, SERIES, strict=False)):
                values = [run[name] for run in runs]
                axes.plot(
                    values,
                    row + np.linspace(-0.14, 0.14, len(values)),
                    linestyle="none",
                    marker=series["marker"],
                    color=series["color"],
                    markersize=5,
                    alpha=0.75,
                )
                mean = statistics.fmean(values)
                axes.plot([mean, mean], [row - 0.32, row + 0.32], color=series["color"], linewidth=1.6)
            axes.axvline(0.5, color="#1b1c1e", linewidth=0.7, linestyle=":")
            axes.set(title=title, xlabel="accuracy", xlim=(0.47, 1.02), ylim=(len(names) - 0.4, -0.6))
            axes.set_yticks(range(len(names)), labels if axes is left else [""] * len(names))
            axes.grid(axis="x")
        shares = [(float(matter.mean()), float(other.mean()) if len(other) else 0.0) for matter, other in weights]
        for place, series in enumerate((SERIES[0], SERIES[1])):
            values = [share[place] for share in shares]
            right.plot(
                np.full(len(values), place) + np.linspace(-0.1, 0.1, len(values)),
                values,
                linestyle="none",
                marker=series["marker"],
                color=series["color"],
                markersize=5,
                alpha=0.75,
            )
        right.axhline(1 / 40, color="#1b1c1e", linewidth=0.7, linestyle=":")
        right.set_xticks([0, 1], ["a token that\nmatters", "another\ntoken"])
        right.set(title="Weight, four heads", ylabel="mean weight of a token", xlim=(-0.5, 1.5), ylim=(0, None))
        right.grid(axis="y")
        svg = to_svg(figure)
    return Figure(
        "accuracy",
        svg,
        caption="Accuracy by pooling, a mark for each seed and a bar for their mean, where two of forty tokens matter and "
        "where all do; dotted, guessing. Right, the mean weight of a token under four heads where two matter; dotted, 1/40.",
        alt="Three panels. Left, the mean lies little above one half, the other three poolings far to the right. Middle, all "
        "lie together near 1. Right, tokens that matter have many times the weight of others.",
    )
