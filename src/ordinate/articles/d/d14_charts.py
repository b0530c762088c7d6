"""The charts of D14: where given drives take each body, where the brain takes the light one, and the fly in the simulator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ordinate.lab.figures import GRID, INK, SERIES, canvas, to_svg
from ordinate.lab.measurement import Figure
from ordinate.reservoir.body.drive import Drive
from ordinate.reservoir.body.figures import draw_path
from ordinate.reservoir.body.kinematic import Pose

__all__ = ["paths", "photograph"]


def paths(given: Mapping[str, Mapping[str, Sequence[Pose]]], towards: Drive, away: Drive) -> Figure:
    """Paths from above.

    Args:
        given: poses by body and by pair of drives.
        towards: a drive to a target by the brain.
        away: the same with the other axons.
    """
    with canvas(2, height=3.9, widths=(1, 1.2)) as (figure, (left, right)):
        for body, (name, pairs) in enumerate(given.items()):
            for (pair, poses), series in zip(pairs.items(), SERIES, strict=False):
                left.plot(
                    [pose.x_mm for pose in poses],
                    [pose.y_mm for pose in poses],
                    color=series["color"],
                    marker=series["marker"],
                    markersize=3,
                    linestyle=("-", (0, (1, 1.5)))[body],
                    label=f"{pair}, {name}" if len(given) > 1 else pair,
                )
        left.plot(0, 0, marker="o", color=INK, markersize=5)
        left.set(title="Given drives, half a second", xlabel="ahead, mm", ylabel="to the left, mm")
        left.set_aspect("equal", adjustable="datalim")
        left.grid(color=GRID)
        figure.legend(handles=left.get_legend_handles_labels()[0], loc="outside lower left", ncols=3, fontsize=7)
        for driven, series in ((towards, SERIES[2]), (away, SERIES[3])):
            draw_path(
                right, driven, label=f"axons {driven.settings['axons']}", color=series["color"], linestyle=series["linestyle"]
            )
        right.set_title("Driven by the brain, star: what it senses")
        right.legend()
        svg = to_svg(figure)
    return Figure(
        "paths",
        svg,
        caption="Left, half a second under given drives, seen from above. Right, the light body steered by the connectome in a "
        "closed loop, with output axons on their own side and crossed; arrows show where it looks, a second apart.",
        alt="Two maps. Left, one path bends left, one right, one runs straight. Right, one path bends to the star and ends "
        "there, "
        "the other turns its back on it.",
    )


def photograph(picture: Any, body: str) -> Figure:
    """A picture from the simulator.

    Args:
        picture: rows by columns by three colours.
        body: whose.
    """
    with canvas(height=3.4, width=4.6) as (figure, axes):
        axes.imshow(picture)
        axes.set_axis_off()
        axes.set_title(body)
        svg = to_svg(figure)
    return Figure(
        "simulator",
        svg,
        caption="The fly in the physics simulator. `ordinate reservoir drive --body neuromechfly` films it.",
        alt="A fruit fly on six legs, on a floor of grey squares.",
    )
