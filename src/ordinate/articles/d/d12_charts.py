"""The chart of D12: who carries the leading mode, and what is left of the radius without some cells."""

from __future__ import annotations

from collections.abc import Mapping

from ordinate.lab.figures import GRID, INK, SERIES, canvas, to_svg
from ordinate.lab.measurement import Figure

__all__ = ["picture"]


def picture(by_kind: Mapping[str, float], without: Mapping[str, float], radius: float) -> Figure:
    """The chart.

    Args:
        by_kind: share of the leading mode by kind of cell, largest first.
        without: the radius without some cells, by their name.
        radius: with all.
    """
    shown = list(by_kind.items())[:8]
    with canvas(2, height=3.0, widths=(1.2, 1)) as (figure, (left, right)):
        left.barh(range(len(shown)), [share for _, share in shown], color=SERIES[0]["color"], height=0.7)
        left.set_yticks(range(len(shown)), [kind or "not annotated" for kind, _ in shown])
        left.set(title="Leading mode", xlabel="share of the squared length", xlim=(0, 1), ylim=(len(shown) - 0.4, -0.6))
        for place, (_, share) in enumerate(shown):
            left.annotate(f"{share:.1%}", (share, place), xytext=(4, 0), textcoords="offset points", va="center")
        names = list(without)
        right.barh(
            range(len(names)), list(without.values()), color=SERIES[1]["color"], hatch="//", edgecolor="white", height=0.6
        )
        right.axvline(radius, color=INK, linewidth=1.0, linestyle=":")
        right.set_yticks(range(len(names)), [f"without\n{name.replace(' with ', chr(10) + 'with ')}" for name in names])
        right.set(title="Spectral radius", xlabel="radius; dotted, with all cells", ylim=(len(names) - 0.4, -0.6))
        for axes in (left, right):
            axes.grid(axis="x", color=GRID)
        svg = to_svg(figure)
    return Figure(
        "leading-mode",
        svg,
        caption="Left, the share of each kind of cell in the leading mode of the directed matrix. Right, the spectral "
        "radius once "
        "some cells are taken out; dotted, the radius with all of them.",
        alt="Two panels of bars. Left, one kind of cell has by far the longest bar. Right, the bars without the mushroom "
        "body reach "
        "the dotted line, the one without local neurons stays far below it.",
    )
