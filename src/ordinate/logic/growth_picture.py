"""Pictures of a grown circuit: accuracy against gates, and which pixels its gates read."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ordinate.errors import ArgumentError
from ordinate.logic.circuit import Circuit
from ordinate.logic.growth import GrownCircuit
from ordinate.whole_files import picture_kind, save_figure

__all__ = ["pixel_use", "save_growth_picture"]


def pixel_use(circuit: Circuit, size: tuple[int, int]) -> np.ndarray:
    """How many gates read each pixel, int64 [height, width].

    Args:
        circuit: whose inputs are the pixels, row by row.
        size: height and width.

    Raises:
        ArgumentError: another number of pixels than the circuit has inputs.

    >>> pixel_use(Circuit(4, [8, 6], [0, 4], [3, 3], votes=[([5], [1]), ([4], [1])]), (2, 2)).tolist()
    [[1, 0], [0, 2]]
    """
    if size[0] * size[1] != circuit.num_inputs:
        raise ArgumentError(
            "size", expected=f"height and width of {circuit.num_inputs} pixels", got=size, todo="give the size of an image"
        )
    reads = np.concatenate((circuit.inputs_a, circuit.inputs_b))
    return np.bincount(reads[reads < circuit.num_inputs], minlength=circuit.num_inputs).reshape(size)


def save_growth_picture(grown: GrownCircuit, size: tuple[int, int], path: str | Path) -> None:
    """Draw validation accuracy against gates, and the pixels in use, side by side.

    Args:
        grown: a circuit and its rounds.
        size: height and width of the images.
        path: ends in `.svg` or `.png`.

    Raises:
        ArgumentError: another ending, or another size.
        OutputError: a place that cannot be written to.
    """
    from matplotlib.figure import Figure

    picture_kind(path)  # before anything is drawn
    figure = Figure(figsize=(8, 3.2), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(1.5, 1))
    left.plot(
        [told.gates for told in grown.rounds], [told.validation_accuracy for told in grown.rounds], marker="o", markersize=3
    )
    left.set(xlabel="two-input gates", ylabel="validation accuracy", title="Accuracy against gates")
    left.grid(axis="y", linewidth=0.5)
    image = right.imshow(pixel_use(grown.circuit, size), cmap="cividis", interpolation="none")
    right.set(title="Gates that read each pixel", xticks=[], yticks=[])
    figure.colorbar(image, ax=right, shrink=0.85)
    save_figure(figure, path)
