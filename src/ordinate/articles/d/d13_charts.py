"""The charts of D13: both directions side by side, and the index over all settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ordinate.lab.figures import GRID, INK, SERIES, canvas, to_svg
from ordinate.lab.measurement import Figure
from ordinate.reservoir import Laterality
from ordinate.reservoir.laterality.experiment import Sweep

__all__ = ["both_directions", "over_settings"]


def both_directions(ahead: Laterality, back: Laterality | None, body: Laterality) -> Figure:
    """Tables as bars, backwards and pre to post.

    Args:
        ahead: the senses, pre to post.
        back: the senses, backwards; None where nothing arrives.
        body: the ascending senses, pre to post.
    """
    shown = [(name, one) for name, one in (("Backwards", back), ("Pre to post", ahead), ("Ascending", body)) if one is not None]
    with canvas(len(shown), height=3.2) as (figure, panels):
        for axes, (name, one) in zip(panels, shown, strict=True):
            for side, (read, shift) in enumerate((("left", -0.19), ("right", 0.19))):
                bars = axes.bar(
                    np.arange(2) + shift,
                    one.table[:, side],
                    width=0.34,
                    color=SERIES[side]["color"],
                    hatch=("", "//")[side],
                    edgecolor="white",
                    linewidth=0.6,
                    label=f"{read} neurons",
                )
                axes.bar_label(bars, fmt="%.4f", fontsize=6.5, padding=2)
            axes.set_xticks([0, 1], ["left\nstimulated", "right\nstimulated"])
            axes.set_title(f"{name}, {one.settings['steps']} steps\nindex {one.index:+.3f}")
            axes.margins(y=0.24)
        panels[0].set_ylabel("mean activity")
        panels[0].legend(loc="upper left", fontsize=7)
        svg = to_svg(figure)
    return Figure(
        "directions",
        svg,
        caption="Mean activity of the descending neurons of each side when either side is stimulated. Backwards, signals "
        "run from "
        "postsynaptic to presynaptic cells, which gives the article's numbers; pre to post is the way synapses work. Right, "
        "the "
        "body senses. The axes differ in scale.",
        alt="Three panels of paired bars. Backwards, the right senses raise the left neurons more. Pre to post, each side "
        "raises "
        "its own neurons a little more. Ascending, each side raises the other side's neurons more than twice as much.",
    )


def over_settings(swept: Mapping[str, Sequence[Sweep]]) -> Figure:
    """The index over durations, a line for each gain and threshold, a panel for each normalisation.

    Args:
        swept: sweeps by the cells stimulated, one for each normalisation.
    """
    columns = max(len(several) for several in swept.values())
    with canvas(columns, len(swept), height=2.3 * len(swept)) as (figure, panels):
        grid = np.asarray(panels).reshape(len(swept), columns)
        for row, (senses, several) in zip(grid, swept.items(), strict=True):
            for axes, one in zip(row, several, strict=True):
                axes.axhline(0, color=INK, linewidth=0.7, linestyle=":")
                for b, threshold in enumerate(one.thresholds):
                    for c, gain in enumerate(one.gains):
                        axes.plot(
                            one.steps,
                            one.index[0, 0, b, c],
                            **{**SERIES[c], "markersize": 3, "linewidth": 1.0},
                            alpha=1.0 if b == 0 else 0.45,
                            label=f"gain {gain:g}" if b == 0 and threshold == one.thresholds[0] else None,
                        )
                axes.set(title=f"{senses}, {one.normalisations[0].replace('_', ' ')}", ylim=(-0.85, 0.95))
                axes.grid(color=GRID)
                axes.label_outer()
            row[0].set_ylabel("crossing index")
        for axes in grid[-1]:
            axes.set_xlabel("steps")
        for axes in grid[0]:
            axes.legend(fontsize=6.5, loc="upper right")
        svg = to_svg(figure)
    return Figure(
        "settings",
        svg,
        caption="The crossing index over durations, a line for each gain and, paler, for edges of more synapses. Above 0 "
        "the other "
        "side answers more.",
        alt="Two rows of panels. In the upper row, of the senses, all lines run below zero and rise towards it with the "
        "steps; in "
        "the lower row, of the ascending senses, they run above zero and fall towards it.",
    )
