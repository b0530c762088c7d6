"""The three charts of A5: the weights of "it", how one of them depends on the encoding's width, and what is general."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ordinate.articles.a.a5_other_sentences import Factors
from ordinate.articles.a.sentence import SENTENCE
from ordinate.lab.figures import GRID, INK, SERIES, canvas, to_svg
from ordinate.lab.measurement import Figure

__all__ = ["bars_by_distance", "change_by_distance", "change_by_width"]

_IT = SENTENCE.index("it")


def bars_by_distance(without: Sequence[float], cut: Sequence[float], right: Sequence[float]) -> Figure:
    """Bars of the weights of "it" on each token, three encodings beside each other."""
    places = np.arange(len(SENTENCE))
    with canvas(height=3.6) as (figure, axes):
        for shift, heights, series, hatch, label in (
            (-0.27, without, 0, "", "without positions"),
            (0.0, cut, 1, "///", "64-wide encoding cut to 50"),
            (0.27, right, 2, "...", "50-wide encoding"),
        ):
            axes.bar(
                places + shift,
                heights,
                0.27,
                label=label,
                color=SERIES[series]["color"],
                hatch=hatch,
                edgecolor="white",
                linewidth=0.4,
            )
        axes.set_xticks(places, [f"{word}\n{_IT - place}" for place, word in enumerate(SENTENCE)])
        axes.tick_params(axis="x", length=0)
        axes.grid(axis="y")
        axes.set(
            title='What "it" attends to',
            xlabel='token, and its distance from "it" (positive: before it)',
            ylabel="attention weight",
        )
        axes.legend(loc="upper left")
        svg = to_svg(figure)
    return Figure(
        "bars",
        svg,
        caption='Attention of "it" to each token of the sentence, in order. "animal" stands seven tokens before.',
        alt="Grouped bars, one group a token. "
        + "; ".join(f"{word} {without[place]:.3f}, {cut[place]:.3f}, {right[place]:.3f}" for place, word in enumerate(SENTENCE))
        + ".",
    )


def change_by_width(by_width: dict[int, float], without: float, right_width: int, cut_width: int) -> Figure:
    """The weight on "animal" against the width that the encoding was made for before it was cut to the vectors."""
    nearest = min(by_width, key=lambda width: abs(by_width[width] - without))
    with canvas(height=3.0) as (figure, axes):
        axes.axhline(without, color=INK, linewidth=1.0, linestyle=(0, (4, 2)), label="without positions")
        axes.plot(list(by_width), list(by_width.values()), color=SERIES[0]["color"], linewidth=1.6, label="with positions")
        for width, series, label in (
            (right_width, 2, f"made for the {right_width} channels of the vectors"),
            (cut_width, 1, f"made for {cut_width}, as in the article"),
        ):
            style = {**SERIES[series], "linestyle": "none", "markersize": 8}
            axes.plot([width], [by_width[width]], label=label, **style)
        axes.grid(axis="y")
        axes.set(
            title='Weight of "it" on "animal", by width of the encoding',
            xlabel=f"channels the encoding was made for, cut to {right_width}",
            ylabel="attention weight",
            ylim=(0, 1.5 * max(*by_width.values(), without)),  # room for the legend
        )
        axes.legend(loc="upper right")
        svg = to_svg(figure)
    return Figure(
        "width",
        svg,
        caption="The wider the encoding was, the more of its slow channels are cut away; what is left turns fast, and "
        f"positions seven apart agree less. The curve comes nearest to the weight without positions at width {nearest}.",
        alt=f"A curve of the weight with positions, {by_width[right_width]:.4f} at width {right_width}, "
        f"{by_width[cut_width]:.4f} at {cut_width} and {by_width[max(by_width)]:.4f} at {max(by_width)}, and a horizontal line "
        f"at {without:.4f}, the weight without them.",
    )


def change_by_distance(orders: Factors, prose: Factors | None) -> Figure:
    """By what factor positions change a weight, against the distance: median and the middle eight tenths."""
    panels = [(f'"it" in {orders.sentences:,} orders of the sentence', orders, 11)]
    if prose is not None:
        panels.append((f"All tokens of {prose.sentences} prose sentences", prose, 23))
    with canvas(len(panels), height=3.3) as (figure, axes):
        for panel, (title, factors, farthest) in zip(np.atleast_1d(axes), panels, strict=True):
            away = np.abs(factors.distances)
            reach = np.arange(1, min(farthest, away.max()) + 1)
            low, middle, high = np.transpose([np.percentile(factors.factors[away == n], (10, 50, 90)) for n in reach])
            panel.axhline(1, color=INK, linewidth=1.0, linestyle=(0, (4, 2)), label="unchanged")
            panel.fill_between(reach, low, high, color=GRID, alpha=0.55, linewidth=0, label="eight in ten")
            panel.plot(reach, middle, label="median", **SERIES[0])
            panel.set_yscale("log")
            panel.minorticks_off()
            panel.set_yticks([0.125, 0.25, 0.5, 1, 2, 4], ["1/8", "1/4", "1/2", "1", "2", "4"])
            panel.grid(axis="y")
            panel.set(title=title, xlabel="distance (tokens, either side)", ylabel="weight with / without positions")
            panel.set_ylim(0.1, 5)
            panel.legend(loc="upper right", ncols=3, columnspacing=1, handlelength=1.6)
        svg = to_svg(figure)
    return Figure(
        "distance",
        svg,
        caption="What adding positions (the encoding that fits the vectors) does to a weight, by distance. The median says "
        "what is general: neighbours gain, the rest loses. The width of the band says how much of any single case is luck.",
        alt="The median factor falls from "
        f"{orders.median(1, 1):.2f} at distance 1 to {orders.median(11, 11):.2f} at distance 11 in reordered sentences"
        + (f", and from {prose.median(1, 1):.2f} to {prose.median(20, 20):.2f} at distance 20 in prose" if prose else "")
        + ", with a wide band around it.",
    )
