"""The style of every chart, so that claims only say what is drawn.

Charts are matplotlib without pyplot (no global state, no window), saved as SVG with real text. Two colours stand for ink and
grid; the report turns them into those of the reader's light or dark page. Data colours are Okabe and Ito's set (Okabe & Ito
2008, "Color Universal Design"), always with a differing marker and line style, and the cividis map (Nuñez et al. 2018,
arXiv 1712.01662), so that print in grey and colour-blind eyes lose nothing.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import matplotlib as mpl
import numpy.typing as npt
from matplotlib.figure import Figure as Canvas

__all__ = ["GRID", "INK", "SERIES", "boxes", "canvas", "heat_map", "rows_of_marks", "to_svg"]

INK = "#1b1c1e"
GRID = "#c6c9ce"
_SERIES_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00")
_SERIES_MARKERS = ("o", "s", "^", "D", "v", "P")
_SERIES_LINES: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (1, 1.5)), (0, (5, 1.5, 1, 1.5)), (0, (8, 2)), (0, (3, 1)))

SERIES: tuple[dict[str, Any], ...] = tuple(
    {"color": colour, "marker": marker, "linestyle": line, "markersize": 4.5, "linewidth": 1.5}
    for colour, marker, line in zip(_SERIES_COLOURS, _SERIES_MARKERS, _SERIES_LINES, strict=True)
)

_STYLE = {
    "font.family": ["sans-serif"],
    "font.sans-serif": ["DejaVu Sans"],  # the one font that matplotlib itself carries: layouts do not differ by machine
    "font.size": 8.5,
    "axes.titlesize": 9.5,
    "axes.titlelocation": "left",
    "axes.titleweight": "bold",
    "axes.labelsize": 8.5,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "axes.linewidth": 0.7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": False,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 0.6,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "lines.solid_capstyle": "round",
    "svg.fonttype": "none",
    "svg.hashsalt": "ordinate",  # the same data give the same bytes
    "image.cmap": "cividis",
}


@contextmanager
def canvas(
    columns: int = 1, rows: int = 1, *, height: float, width: float = 7.4, widths: Sequence[float] | None = None
) -> Iterator[tuple[Canvas, Any]]:
    """A figure in the report's style and its axes; what is drawn inside the `with` has the style, nothing outside has.

    Args:
        columns: axes beside each other.
        rows: axes below each other.
        height: inches.
        width: inches; the report's column is 7.4 wide.
        widths: of the columns, relative to each other.

    Yields:
        The figure and its axes: one, or an array of them as `Figure.subplots` gives.
    """
    with mpl.rc_context(_STYLE):
        figure = Canvas(figsize=(width, height), layout="constrained")
        yield figure, figure.subplots(rows, columns, gridspec_kw={"width_ratios": widths} if widths else None)


def heat_map(
    axes: Any,
    values: npt.ArrayLike,
    *,
    label: str,
    x_labels: Sequence[str] | None = None,
    y_labels: Sequence[str] | None = None,
    lower: float | None = None,
    upper: float | None = None,
    colours: str = "cividis",
    bar: bool = True,
) -> None:
    """A matrix as colours, one cell an entry, with a bar that says what they mean.

    Args:
        axes: where to draw.
        values: [rows, columns].
        label: what the colours stand for, with the unit.
        x_labels: of the columns, where they are words.
        y_labels: of the rows, where they are words.
        lower: the value of the darkest colour; by default the least.
        upper: the value of the lightest colour; by default the greatest.
        colours: a perceptually even map.
        bar: draw the bar.
    """
    image = axes.imshow(values, cmap=colours, vmin=lower, vmax=upper, interpolation="none", aspect="auto")
    if x_labels is not None:
        axes.set_xticks(range(len(x_labels)), x_labels, rotation=90)
    if y_labels is not None:
        axes.set_yticks(range(len(y_labels)), y_labels)
    axes.tick_params(length=0 if x_labels is not None else 3)
    if bar:
        axes.figure.colorbar(image, ax=axes, location="bottom", shrink=0.9, aspect=28, pad=0.02, label=label)


def rows_of_marks(axes: Any, values: Mapping[str, Sequence[float]], label: str, *, series: Sequence[int] | None = None) -> None:
    """A row of marks for each name, first at the top.

    Args:
        axes: where to draw.
        values: by name, one mark each.
        label: of the values, with the unit.
        series: which of `SERIES` each row has; by default one after the other.
    """
    for row, several in enumerate(values.values()):
        style = SERIES[row if series is None else series[row]]
        axes.plot(several, [row] * len(several), linestyle="none", marker=style["marker"], color=style["color"], markersize=6)
    axes.set_yticks(range(len(values)), list(values))
    axes.set(xlabel=label, ylim=(len(values) - 0.5, -0.5))
    axes.grid(axis="x")


def boxes(
    axes: Any, places: Mapping[str, tuple[float, float]], arrows: Sequence[tuple[str, str, str]], *, accents: Sequence[str] = ()
) -> None:
    """A diagram: a text in a box at each place, and arrows between boxes.

    Args:
        axes: where to draw; its frame is left out.
        places: of each text, (x, y) of the middle, both from 0 to 1.
        arrows: text from, text to, and what is written beside; an arrow from a box to itself is a loop above it.
        accents: texts whose boxes stand out.
    """
    axes.set_axis_off()
    axes.set(xlim=(0, 1), ylim=(0, 1))
    drawn = {}
    for text, place in places.items():
        colour = SERIES[1]["color"] if text in accents else GRID
        frame = {"boxstyle": "round,pad=0.45", "facecolor": "none", "edgecolor": colour, "linewidth": 1.2}
        drawn[text] = axes.text(*place, text.split("#")[0], ha="center", va="center", fontsize=8, bbox=frame)
    for start, end, beside in arrows:
        loop = start == end
        here, there = places[start], places[end]
        axes.annotate(
            "",
            (here[0] + 0.03, here[1]) if loop else there,
            (here[0] - 0.03, here[1]) if loop else here,
            arrowprops={
                "arrowstyle": "->",
                "color": INK,
                "linewidth": 0.9,
                "shrinkA": 10 if loop else 0,
                "shrinkB": 10 if loop else 0,
                "patchA": None if loop else drawn[start].get_bbox_patch(),
                "patchB": None if loop else drawn[end].get_bbox_patch(),
                "connectionstyle": "arc3,rad=-2.2" if loop else "arc3",
            },
        )
        if beside:
            middle = ((here[0] + there[0]) / 2, (here[1] + there[1]) / 2)
            aside = (0, 0.2) if loop else (0.012, 0) if abs(here[0] - there[0]) < 0.05 else (0, 0.045)
            axes.text(
                middle[0] + aside[0],
                middle[1] + aside[1],
                beside,
                fontsize=7.5,
                ha="left" if aside[0] else "center",
                va="center",
            )


def to_svg(figure: Canvas) -> str:
    """The figure as SVG text, without a date in it."""
    buffer = io.StringIO()
    nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
    with mpl.rc_context(_STYLE):  # fonts and salt are read as it is written
        figure.savefig(buffer, format="svg", transparent=True, metadata=nothing)
    return buffer.getvalue()
