"""The parts of a model's memory as one stacked bar, with the memory that there is. matplotlib is imported when it is drawn."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ordinate.atomic_io import save_figure
from ordinate.inspection.memory.estimate import MemoryEstimate

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw_memory", "write_memory_figure"]

COLOURS = {"weights": "#5f6368", "cache": "#1a73e8", "state": "#12a4af", "working memory": "#f9ab00"}


def draw_memory(estimate: MemoryEstimate, limit: int | None = None) -> Figure:
    """One bar, its parts from left to right; a line at `limit` bytes.

    >>> from ordinate.inspection import estimate_memory
    >>> config = {"model_type": "llama", "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2}
    >>> len(draw_memory(estimate_memory(config, context=1024)).axes)
    1
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 2.2), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    unit = 2**30 if estimate.total >= 2**30 else 2**20
    start = 0.0
    for item in estimate.items:
        if item.size:
            width = item.size / unit
            axes.barh(
                0, width, left=start, color=COLOURS[item.group], edgecolor="white", label=f"{item.name} {item.place}".strip()
            )
            start += width
    if limit is not None:
        axes.axvline(
            limit / unit,
            color="#d93025",
            linewidth=1.2,
            label=f"limit: {limit / unit:,.4g} {'GiB' if unit == 2**30 else 'MiB'}",
        )
    axes.set_yticks([])
    axes.set_xlabel("GiB" if unit == 2**30 else "MiB")
    axes.set_title(f"{estimate.source}: {estimate.sequences} x {estimate.context:,} tokens, {estimate.engine}", fontsize=9)
    if start or limit is not None:  # nothing known draws nothing
        axes.legend(fontsize=7, frameon=False, ncols=3, loc="upper center", bbox_to_anchor=(0.5, -0.35))
    return figure


def write_memory_figure(estimate: MemoryEstimate, path: str | os.PathLike[str], limit: int | None = None) -> None:
    """Draw into a file; its suffix says the format (svg, png, pdf).

    Raises:
        ArgumentError: a suffix that is none of them.
        OutputError: a place that cannot be written to.
    """
    save_figure(draw_memory(estimate, limit), os.fspath(path), name="--figure")
