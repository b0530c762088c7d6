"""The picture of a growth: accuracy against gates, and which pixels the circuit reads."""

from __future__ import annotations

from pathlib import Path

from ordinate.atomic_io import picture_kind, save_figure
from ordinate.logic.circuit_figures import draw_accuracy, draw_pixels
from ordinate.logic.growth import GrownCircuit

__all__ = ["save_growth_picture"]


def save_growth_picture(grown: GrownCircuit, size: tuple[int, int], path: str | Path) -> None:
    """Draw validation accuracy against gates, and the pixels in use, side by side.

    Args:
        grown: a circuit and its rounds.
        size: height and width of the images.
        path: its ending says the format, such as `.svg` or `.png`.

    Raises:
        ArgumentError: another ending, or another size.
        OutputError: a place that cannot be written to.
    """
    from matplotlib.figure import Figure

    picture_kind(path)  # before anything is drawn
    figure = Figure(figsize=(8, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(1.5, 1))
    draw_accuracy(left, {"validation, round by round": [(told.gates, told.validation_accuracy) for told in grown.rounds]})
    left.grid(axis="y", linewidth=0.5)
    draw_pixels(right, grown.circuit, size)
    save_figure(figure, path)
