"""The chart of D15: the card of every task, signs and normalisation, seed by seed."""

from __future__ import annotations

from ordinate.lab.figures import canvas, to_svg
from ordinate.lab.measurement import Figure
from ordinate.reservoir.tasks.card import Card, draw_task
from ordinate.reservoir.tasks.registry import task_named

__all__ = ["picture"]


def picture(card: Card) -> Figure:
    """The chart.

    Args:
        card: what was measured.
    """
    tasks = card.plan.tasks
    rows = len(card.plan.signs) * len(card.plan.normalisations)
    with canvas(len(tasks), height=1.5 + 0.72 * rows) as (figure, axes):
        panels = list(axes) if len(tasks) > 1 else [axes]
        for number, (panel, task) in enumerate(zip(panels, tasks, strict=True)):
            draw_task(panel, card, task, named_rows=number == 0)
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=len(labels))
        svg = to_svg(figure)
    titles = ", ".join(task_named(task).title for task in tasks)
    return Figure(
        "card",
        svg,
        caption=f"Test scores on {titles}: a mark for each seed, a bar for the 95 % interval of their mean. A star where a "
        "null differs from the connectome after Holm's correction; without one they are not different.",
        alt=f"{len(tasks)} panels, one a task. Rows are signs and normalisations; in each row lie the scores of the connectome "
        f"and of {' and '.join(card.plan.nulls)} wiring, near each other where no star stands.",
    )
