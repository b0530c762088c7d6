"""The chart of D11: each descending neuron's answer to its own side and to the other, under both ways of scaling."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ordinate.lab.figures import GRID, INK, SERIES, canvas, to_svg
from ordinate.lab.measurement import Figure
from ordinate.reservoir.laterality.experiment import Laterality

__all__ = ["picture"]


def picture(found: Mapping[str, Laterality]) -> Figure:
    """The chart.

    Args:
        found: laterality by the name of the scaling; activity must not be 0 everywhere.
    """
    with canvas(2, height=3.3) as (figure, panels):
        for axes, (name, one), series in zip(panels, found.items(), SERIES, strict=False):
            size = np.abs(one.activity)
            own = np.where(one.is_right, size[1], size[0])
            other = np.where(one.is_right, size[0], size[1])
            largest = float(max(own.max(), other.max()))
            axes.plot([0, largest], [0, largest], color=INK, linewidth=0.7, linestyle=":")
            axes.plot(own, other, linestyle="none", marker=series["marker"], color=series["color"], markersize=4, alpha=0.6)
            axes.set(
                title=f"{name}: mean {size.mean():.4f}, index {one.index:+.3f}",
                xlabel="answer to the own side",
                ylabel="answer to the other side",
                xlim=(0, 1.05 * largest),
                ylim=(0, 1.05 * largest),
            )
            axes.grid(color=GRID)
        svg = to_svg(figure)
    return Figure(
        "scaling",
        svg,
        caption="One mark an output cell: its activity when its own side is stimulated and when the other one is. On the "
        "dotted "
        "line both are alike. The axes of the panels differ in scale.",
        alt="Two scatter plots. In the left one, with axes many times shorter, the marks lie farther from the diagonal, "
        "most of them "
        "below it; in the right one they hug it.",
    )
