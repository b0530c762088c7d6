"""The picture of a card: every score as a mark, every mean with its interval, a panel for each task.

Plain matplotlib without a window, imported when a picture is asked for. Colours are Okabe and Ito's, each with its own marker.
"""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ordinate.atomic_io import picture_kind, save_figure
from ordinate.reservoir.tasks import task_named
from ordinate.reservoir.tasks_card import Card
from ordinate.reservoir.tasks_comparison import interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["WIRING_MARKS", "draw_task", "save_chart"]

WIRING_MARKS = {
    "connectome": ("#d55e00", "o"),
    "rewired": ("#0072b2", "s"),
    "shuffled": ("#cc79a7", "D"),
    "mirrored": ("#e69f00", "v"),
    "random": ("#009e73", "^"),
}
"""Colour and marker of each wiring."""


def draw_task(axes: Axes, card: Card, task: str, *, named_rows: bool = True) -> None:
    """Scores of one task: a row for each signs and normalisation, in it a line for each wiring; a star where it differs.

    Args:
        axes: of matplotlib.
        card: what was measured.
        task: one of the card's.
        named_rows: write what the rows are.
    """
    plan = card.plan
    rows = list(product(plan.signs, plan.normalisations))
    wirings = ("connectome", *plan.nulls)
    told = {(one.signs, one.normalisation, one.null): one.verdict for one in card.comparisons if one.task == task}
    for row, (signs, normalisation) in enumerate(rows):
        for number, wiring in enumerate(wirings):
            height = row + (number - (len(wirings) - 1) / 2) * 0.24
            colour, marker = WIRING_MARKS[wiring]
            values = card.scores[task, signs, normalisation, wiring]
            mean, lower, upper = interval(values)
            axes.plot(values, [height] * len(values), linestyle="none", marker=marker, color=colour, markersize=3.5, alpha=0.55)
            axes.plot([lower, upper], [height, height], color=colour, linewidth=1.4)
            axes.plot([mean], [height], marker="|", markersize=9, color=colour, label=wiring if row == 0 else None)
            if told.get((signs, normalisation, wiring), "not different") != "not different":
                axes.annotate("*", (max(upper, *values), height), xytext=(4, -4), textcoords="offset points", color=colour)
    metric = task_named(task).metric.replace("_", " ")
    better = "right" if task_named(task).higher_is_better else "left"
    axes.set(title=task_named(task).title, xlabel=f"{metric}, better to the {better}", ylim=(len(rows) - 0.5, -0.5))
    axes.margins(x=0.08)
    labels = [f"{signs},\n{normalisation.replace('_', ' ')}" for signs, normalisation in rows]
    axes.set_yticks(range(len(rows)), labels if named_rows else [""] * len(rows))
    axes.grid(axis="x", linewidth=0.5, alpha=0.6)


def save_chart(card: Card, path: Path) -> None:
    """Write the picture of a card as .png, .svg or .pdf; the file is there whole or not at all.

    Args:
        card: what was measured.
        path: where to; the suffix says in what format.

    Raises:
        ArgumentError: another suffix.
        OutputError: a place that cannot be written to.
    """
    from matplotlib.figure import Figure

    picture_kind(path)  # before anything is drawn
    tasks = card.plan.tasks
    rows = len(card.plan.signs) * len(card.plan.normalisations)
    figure = Figure(figsize=(1.6 + 2.9 * len(tasks), 1.6 + 0.75 * rows), layout="constrained")
    panels: Any = figure.subplots(1, len(tasks), squeeze=False)[0]
    for number, (axes, task) in enumerate(zip(panels, tasks, strict=True)):
        draw_task(axes, card, task, named_rows=number == 0)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
    figure.suptitle(f"{card.connectome}; * differs after Holm's correction", fontsize=9)
    save_figure(figure, path)
