"""Pictures of a drive: its path from above, and what was sensed, answered and commanded over time.

Plain matplotlib without a window. Colours are Okabe and Ito's (2008), left blue and solid, right orange and dashed, throughout.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from ordinate.atomic_io import save_figure
from ordinate.reservoir.body.drive import Drive

__all__ = ["draw_path", "draw_traces", "path_figure", "save_figures", "traces_figure"]

LEFT: dict[str, Any] = {"color": "#0072b2", "linestyle": "-", "linewidth": 1.5, "label": "left"}

RIGHT: dict[str, Any] = {"color": "#d55e00", "linestyle": (0, (5, 2)), "linewidth": 1.5, "label": "right"}


_INK, _GRID, _TARGET = "#1b1c1e", "#c6c9ce", "#009e73"


def draw_path(axes: Any, driven: Drive, *, label: str | None = None, **line: Any) -> None:
    """The path from above, with the start, the way the fly looked each second, and the target.

    Args:
        axes: matplotlib's.
        driven: whose path.
        label: for a legend.
        line: how the line is drawn.
    """
    path = driven.path
    (drawn,) = axes.plot(path[:, 0], path[:, 1], label=label, **{"color": LEFT["color"], "linewidth": 1.5, **line})
    every = max(1, round(1.0 / driven.settings["step_seconds"]))
    looks = driven.poses[::every]
    axes.quiver(
        [pose.x_mm for pose in looks],
        [pose.y_mm for pose in looks],
        [math.cos(pose.heading_radians) for pose in looks],
        [math.sin(pose.heading_radians) for pose in looks],
        color=drawn.get_color(),
        angles="xy",
        pivot="mid",
        scale=28,
        width=0.007,
        zorder=3,
    )
    axes.plot(*path[0], marker="o", markersize=5, color=_INK, zorder=4)
    if driven.target is not None:
        axes.plot(driven.target.x_mm, driven.target.y_mm, marker="*", markersize=13, color=_TARGET, linestyle="none", zorder=4)
    axes.set(xlabel="ahead of the start, mm", ylabel="to the left of the start, mm")
    axes.set_aspect("equal", adjustable="datalim")
    axes.grid(color=_GRID, linewidth=0.5)


def draw_traces(rows: Any, driven: Drive) -> None:
    """Senses, answers of the output cells and commands over time, in three axes one below the other."""
    times = np.array([pose.time_seconds for pose in driven.poses[1:]])
    for axes, values, label in zip(
        rows,
        (driven.senses, driven.activity, driven.commands),
        ("sensed", "output cells,\nmean activity", "drive of\nthe legs"),
        strict=True,
    ):
        for side, style in ((0, LEFT), (1, RIGHT)):
            axes.plot(times, values[:, side], **style)
        axes.set_ylabel(label)
        axes.grid(color=_GRID, linewidth=0.5)
        axes.label_outer()
    rows[0].legend(frameon=False, ncols=2, loc="upper right")
    rows[-1].set_xlabel("seconds")


def path_figure(driven: Drive) -> Any:
    """The path as a matplotlib figure."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.2, 4.6), layout="constrained")
    axes = figure.subplots()
    draw_path(axes, driven)
    near = "" if driven.closest_mm is None else f", {driven.closest_mm:.1f} mm from the target at its nearest"
    axes.set_title(f"{driven.walked_mm:.0f} mm in {driven.poses[-1].time_seconds:.1f} s{near}", fontsize=10, loc="left")
    return figure


def traces_figure(driven: Drive) -> Any:
    """Senses, answers and commands as a matplotlib figure, with each output cell below them."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.4, 6.4), layout="constrained")
    rows = figure.subplots(4, 1, sharex=True, gridspec_kw={"height_ratios": (1, 1, 1, 1.5)})
    draw_traces(rows[:3], driven)
    image = rows[3].imshow(
        driven.cells.T,
        aspect="auto",
        interpolation="none",
        cmap="cividis",
        extent=(0.0, driven.poses[-1].time_seconds, driven.cells.shape[1] - 0.5, -0.5),
    )
    figure.colorbar(image, ax=rows[3], label="activity")
    rows[2].set_xlabel("")
    rows[3].axhline(driven.num_left - 0.5, color="white", linewidth=1.0)
    rows[3].set(xlabel="seconds", ylabel="output cells,\nleft above right")
    return figure


def save_figures(driven: Drive, folder: str | Path, formats: tuple[str, ...] = ("png", "svg")) -> list[Path]:
    """Write `path` and `traces` in each format, atomically.

    Raises:
        ArgumentError: a format that is neither png nor svg.
        OutputError: a place that cannot be written to.
    """
    figures = {"path": path_figure(driven), "traces": traces_figure(driven)}
    return [save_figure(figure, Path(folder) / f"{name}.{kind}") for name, figure in figures.items() for kind in formats]
