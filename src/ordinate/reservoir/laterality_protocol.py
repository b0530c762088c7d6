"""One stimulus on the left and one on the right: whom they reach, through which weights, and what the output cells answer.

It is what an experiment would be: cells at rest, a step or a pulse to the senses of one side, a recording of the output cells
of both. Nothing here compares; the comparisons are in `laterality_statistics`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ordinate.errors import ArgumentError
from ordinate.reservoir.connectome import Connectome
from ordinate.reservoir.gain import normalise
from ordinate.reservoir.reservoir import Reservoir

__all__ = ["NORMALISATIONS", "answers", "cells", "prepared"]

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]

NORMALISATIONS = ("output", "input", "spectral_radius", "none")


def cells(connectome: Connectome, query: str, argument: str) -> tuple[Indices, Indices]:
    """The cells of a query on the left and on the right.

    Raises:
        ArgumentError: a query that names nobody on one of the sides.
        UnknownNameError: a word that no neuron carries.
    """
    chosen = connectome.select(query)
    left, right = (chosen[connectome.side[chosen] == side] for side in ("left", "right"))
    for side, found in (("left", left), ("right", right)):
        if not found.size:
            raise ArgumentError(
                argument,
                expected="cells on either side",
                got=f"none on the {side} among the {chosen.size} of {query!r}",
                hint="name cells of both sides, without a side in the query",
            )
    return left, right


def prepared(connectome: Connectome, normalisation: str, threshold: float, backwards: bool) -> Connectome:
    """Weak edges left out, weights normalised to 1, and, if asked for, every arrow turned round."""
    made = connectome
    if threshold > 1:
        strong = connectome.weights.multiply(np.abs(connectome.weights) >= threshold)
        made = connectome.with_weights(strong, name=f"{connectome.name}, edges of at least {threshold:g}")
    if normalisation != "none":
        made = normalise(made, normalisation, 1.0)
    return made.reversed() if backwards else made


def answers(
    connectome: Connectome,
    stimulated: tuple[Indices, Indices],
    read: Indices,
    *,
    gains: Sequence[float],
    steps: Sequence[int],
    amplitude: float,
    held: bool,
    activation: str,
    leak_rate: float,
) -> Array:
    """Activity of the cells `read`, [gains, durations, side stimulated, R], of one connectome in one batch."""
    reservoir = Reservoir(connectome, inputs=stimulated, activation=activation, leak_rate=leak_rate)
    longest = max(steps)
    inputs = np.zeros((len(gains), 2, longest, 2), dtype=np.float32)
    for side in (0, 1):
        inputs[:, side, : longest if held else 1, side] = amplitude
    states = reservoir.run(inputs.reshape(-1, longest, 2), record=read, gain=np.repeat(np.asarray(gains, dtype=np.float32), 2))
    moments = states[:, np.asarray(steps) - 1].reshape(len(gains), 2, len(steps), -1)
    return np.asarray(moments.swapaxes(1, 2), dtype=np.float64)
