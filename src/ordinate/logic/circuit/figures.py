"""Pictures of circuits: the gates level by level, accuracy against gates, and which pixels are read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ordinate.atomic_io import picture_kind, save_figure
from ordinate.errors import ArgumentError
from ordinate.logic.circuit.circuit import Circuit

__all__ = ["draw_accuracy", "draw_circuit", "draw_pixels", "pixel_uses", "save_circuit_picture", "save_growth_picture"]

_COLOURS = {"AND": "#0072b2", "OR": "#d55e00", "XOR": "#009e73", "other": "#8a8f98"}
_KIND = {1: "AND", 2: "AND", 4: "AND", 8: "AND", 6: "XOR", 9: "XOR", 7: "OR", 11: "OR", 13: "OR", 14: "OR"}
_DRAWN_GATES = 400  # past that wires are drawn thinner than anybody can follow, so only levels and kinds are drawn


def pixel_uses(circuit: Circuit) -> npt.NDArray[np.int64]:
    """How often each number that comes in (or bit, where no thresholds travel along) is read by a node or a vote.

    >>> pixel_uses(Circuit(3, [8], [0], [2], votes=[([3, 2], [1, 1])])).tolist()
    [1, 0, 2]
    """
    reads = np.concatenate([circuit.inputs_a, circuit.inputs_b, *(vote.signals for vote in circuit.votes)])
    bits = np.bincount(reads[reads < circuit.num_inputs], minlength=circuit.num_inputs)
    if circuit.inputs is None:
        return bits
    return np.bincount(circuit.inputs.feature, weights=bits, minlength=circuit.inputs.num_features).astype(np.int64)


def draw_circuit(axes: Any, circuit: Circuit) -> None:
    """Gates as points by level from left to right, coloured by kind, wires between, classes at the right.

    Args:
        axes: of matplotlib.
        circuit: any; wires are left out where there are more than 400 gates.
    """
    level = np.zeros(circuit.num_inputs + circuit.num_nodes, np.int64)
    for place, (a, b) in enumerate(zip(circuit.inputs_a, circuit.inputs_b, strict=True), circuit.num_inputs):
        level[place] = 1 + max(level[a], level[b])
    last = int(level.max()) + 1
    height = np.zeros(len(level))
    read = np.zeros(len(level), bool)
    for part in (circuit.inputs_a, circuit.inputs_b, *(vote.signals for vote in circuit.votes)):
        read[part] = True
    for one in range(last):
        members = np.flatnonzero((level == one) & (read | (np.arange(len(level)) >= circuit.num_inputs)))
        height[members] = (np.arange(len(members)) + 0.5) / max(1, len(members))
    classes = (np.arange(circuit.num_classes) + 0.5) / circuit.num_classes
    if circuit.num_nodes <= _DRAWN_GATES:
        segments = [
            ((level[source], height[source]), (level[node], height[node]))
            for node in range(circuit.num_inputs, len(level))
            for source in (circuit.inputs_a[node - circuit.num_inputs], circuit.inputs_b[node - circuit.num_inputs])
        ]
        for start, end in segments:
            axes.plot(*zip(start, end, strict=True), color="#c6c9ce", linewidth=0.5, zorder=1)
        for place, vote in enumerate(circuit.votes):
            for signal, weight in zip(vote.signals, vote.weights, strict=True):
                axes.plot(
                    (level[signal], last),
                    (height[signal], classes[place]),
                    color="#1b1c1e",
                    alpha=0.25,
                    linewidth=0.4,
                    linestyle="-" if weight > 0 else (0, (2, 2)),
                    zorder=1,
                )
    inputs = np.flatnonzero(read[: circuit.num_inputs])
    axes.scatter(level[inputs], height[inputs], s=5, color="#1b1c1e", zorder=2, label="input")
    kinds = np.array([_KIND.get(int(table), "other") for table in circuit.tables])
    for kind, colour in _COLOURS.items():
        members = circuit.num_inputs + np.flatnonzero(kinds == kind)
        if len(members):
            axes.scatter(level[members], height[members], s=14, color=colour, zorder=2, label=f"{kind}, {len(members):,}")
    for place, label in enumerate(circuit.labels):
        axes.annotate(str(label), (last, classes[place]), ha="left", va="center", xytext=(4, 0), textcoords="offset points")
    axes.set(xlabel="level of gates; classes at the right", xlim=(-0.4, last + 0.5), ylim=(1, 0), yticks=[])
    axes.legend(loc="upper center", ncols=5, bbox_to_anchor=(0.5, -0.14), frameon=False)


def draw_pixels(axes: Any, circuit: Circuit, size: tuple[int, int]) -> None:
    """How often each pixel is read.

    Args:
        axes: of matplotlib.
        circuit: of images of this size.
        size: height and width.

    Raises:
        ArgumentError: another number of pixels.
    """
    uses = pixel_uses(circuit)
    if len(uses) != size[0] * size[1]:
        raise ArgumentError("size", expected=f"{len(uses)} pixels", got=size)
    image = axes.imshow(uses.reshape(size), cmap="cividis", interpolation="none", vmin=0, aspect="equal")
    axes.set(xticks=[], yticks=[], xlabel=f"{int((uses > 0).sum())} of {len(uses)} pixels are read")
    axes.figure.colorbar(image, ax=axes, location="bottom", shrink=0.8, pad=0.08, label="times read")


def draw_accuracy(axes: Any, curves: Mapping[str, Sequence[tuple[int, float]]]) -> None:
    """Accuracy against gates, gates on a logarithmic axis.

    Args:
        axes: of matplotlib.
        curves: by name, pairs of gates and accuracy.
    """
    styles = (("#0072b2", "o", "-"), ("#d55e00", "s", (0, (5, 2))), ("#009e73", "^", (0, (1, 1.5))), ("#cc79a7", "D", "-"))
    for (name, points), (colour, marker, line) in zip(curves.items(), styles * (1 + len(curves) // 4), strict=False):
        gates, accuracy = zip(*points, strict=True)
        axes.plot(gates, accuracy, color=colour, marker=marker, linestyle=line, markersize=4.5, label=name)
    axes.set(xscale="log", xlabel="two-input gates", ylabel="accuracy")
    axes.legend(frameon=False)


def save_circuit_picture(circuit: Circuit, path: str | Path, *, size: tuple[int, int] | None = None) -> None:
    """Write the picture of a circuit, and beside it the pixels it reads, as SVG, PNG or PDF.

    Args:
        circuit: any.
        path: its ending says the format.
        size: height and width of the images; without it there is no picture of pixels.

    Raises:
        ArgumentError: a size that does not fit, or an ending that is none of a picture.
        OutputError: a place that cannot be written to.
    """

    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    picture_kind(path)  # before anything is drawn
    figure = Figure(figsize=(9, 4.5) if size else (7, 4.5), layout="constrained")
    FigureCanvasAgg(figure)
    if size is None:
        draw_circuit(figure.subplots(), circuit)
    else:
        left, right = figure.subplots(1, 2, width_ratios=(2, 1))
        draw_circuit(left, circuit)
        draw_pixels(right, circuit, size)
    save_figure(figure, path)


def save_growth_picture(circuit: Circuit, curve: Sequence[tuple[int, float]], size: tuple[int, int], path: str | Path) -> None:
    """Draw validation accuracy against gates while a circuit grew, and the pixels that it reads, side by side.

    Args:
        circuit: the grown one.
        curve: gates and validation accuracy after each round.
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
    draw_accuracy(left, {"validation, round by round": curve})
    left.grid(axis="y", linewidth=0.5)
    draw_pixels(right, circuit, size)
    save_figure(figure, path)
