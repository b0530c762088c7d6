"""Pictures of left and right: the table, the index among draws of null models, homologous pairs, and a sweep over settings.

Plain matplotlib without a window, in the colours of `drive_figures`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ordinate.reservoir.laterality.experiment import Laterality, Sweep

__all__ = ["draw_nulls", "draw_sweep", "draw_table", "laterality_figure", "sweep_figure"]


_INK, _GRID = "#1b1c1e", "#c6c9ce"

_LINES: tuple[dict[str, Any], ...] = (
    {"color": "#0072b2", "marker": "o", "linestyle": "-"},
    {"color": "#d55e00", "marker": "s", "linestyle": (0, (5, 2))},
    {"color": "#009e73", "marker": "^", "linestyle": (0, (1, 1.5))},
    {"color": "#cc79a7", "marker": "D", "linestyle": (0, (5, 1.5, 1, 1.5))},
    {"color": "#56b4e9", "marker": "v", "linestyle": (0, (8, 2))},
    {"color": "#e69f00", "marker": "P", "linestyle": (0, (3, 1))},
)


def draw_table(axes: Any, table: Any) -> None:
    """A two-by-two table as bars: for each side stimulated, the answer on the left and on the right."""
    for side, (name, shift) in enumerate((("left", -0.19), ("right", 0.19))):
        style = _LINES[side]
        bars = axes.bar(
            np.arange(2) + shift,
            table[:, side],
            width=0.34,
            color=style["color"],
            hatch=("", "//")[side],
            edgecolor="white",
            linewidth=0.6,
            label=f"{name} output cells",
        )
        axes.bar_label(bars, fmt="%.4f", fontsize=7.5, padding=2)
    axes.set_xticks([0, 1], ["left senses\nstimulated", "right senses\nstimulated"])
    axes.set_ylabel("mean activity")
    axes.margins(y=0.28)
    axes.legend(frameon=False, fontsize=8, loc="upper center", ncols=2)


def draw_nulls(axes: Any, result: Laterality) -> None:
    """The crossing index as a line, among the draws of each null model as points."""
    axes.axvline(0.0, color=_INK, linewidth=0.7, linestyle=":")
    axes.axvline(result.index, color=_INK, linewidth=1.6)
    names = []
    for row, one in enumerate(result.nulls):
        style = _LINES[row % len(_LINES)]
        spread = np.linspace(-0.22, 0.22, len(one.values)) if len(one.values) > 1 else [0.0]
        axes.plot(
            one.values,
            row + np.asarray(spread),
            linestyle="none",
            marker=style["marker"],
            color=style["color"],
            markersize=4,
            alpha=0.7,
        )
        names.append(one.name if np.isnan(one.z) else f"{one.name}\nz = {one.z:+.1f}")
    axes.set_yticks(range(len(names)), names)
    axes.set(xlabel="crossing index: own side < 0 < other side", ylim=(len(names) - 0.5, -0.5))
    axes.grid(axis="x", color=_GRID, linewidth=0.5)


def draw_sweep(axes: Any, swept: Sweep, normalisation: int, threshold: int, *, null: str | None = None) -> None:
    """The crossing index over durations, a line for each gain, with the mean and two standard deviations of a null model."""
    axes.axhline(0.0, color=_INK, linewidth=0.7, linestyle=":")
    index = swept.index[:, normalisation, threshold]
    for place, gain in enumerate(swept.gains):
        style = _LINES[place % len(_LINES)]
        axes.plot(swept.steps, index[0, place], label=f"gain {gain:g}", markersize=4, linewidth=1.4, **style)
        if null is not None:
            drawn = swept.draws(null)[:, normalisation, threshold, place]
            mean, spread = drawn.mean(axis=0), drawn.std(axis=0, ddof=1) if len(drawn) > 1 else 0.0
            axes.fill_between(swept.steps, mean - 2 * spread, mean + 2 * spread, color=style["color"], alpha=0.12, linewidth=0)
    axes.set(xlabel="steps", ylabel="crossing index")
    axes.set_title(
        f"{swept.normalisations[normalisation]}, edges of {swept.thresholds[threshold]:g} or more", loc="left", fontsize=9
    )
    axes.grid(color=_GRID, linewidth=0.5)


def laterality_figure(result: Laterality) -> Any:
    """The table, and beside it null models where there are some, as a matplotlib figure."""
    from matplotlib.figure import Figure

    panels = 2 if result.nulls else 1
    figure = Figure(figsize=(4.1 * panels, 3.4), layout="constrained")
    left, *others = figure.subplots(1, panels, squeeze=False)[0]
    draw_table(left, result.table)
    left.set_title(f"{result.stimulus} to {result.readout}, index {result.index:+.3f}", loc="left", fontsize=10)
    for axes in others:
        draw_nulls(axes, result)
    return figure


def sweep_figure(swept: Sweep) -> Any:
    """A panel for each normalisation and threshold, as a matplotlib figure."""
    from matplotlib.figure import Figure

    columns, rows = len(swept.normalisations), len(swept.thresholds)
    figure = Figure(figsize=(3.4 * columns + 0.6, 2.7 * rows), layout="constrained")
    panels = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True)
    null = swept.null_names[0] if swept.null_names else None
    for row in range(rows):
        for column in range(columns):
            draw_sweep(panels[row, column], swept, column, row, null=null)
            panels[row, column].label_outer()
    panels[0, 0].legend(frameon=False, fontsize=8)
    if null is not None:
        figure.suptitle(f"shaded: mean and two standard deviations of {null} networks", fontsize=8.5, x=0.01, ha="left")
    return figure
