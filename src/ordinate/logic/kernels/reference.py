"""What every compiled function computes, in plain numpy and float64: the formulas, gate by gate, without any cleverness.

Petersen et al. 2022 (arXiv 2210.08277): a gate relaxed to inputs in [0, 1] is z = a0 + a1 x + a2 y + a3 x y. With g = dL/dz,

    dL/da = (sum g, sum g x, sum g y, sum g x y),   dL/dx = g (a1 + a3 y),   dL/dy = g (a2 + a3 x).

Nothing runs these but tests and readers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = [
    "add_input_gradients",
    "add_sums",
    "evaluate_gate",
    "gates_backward",
    "gates_forward",
    "pooling_forward",
    "trees_forward",
    "turn_square",
    "word_program",
]

Array = npt.NDArray[Any]


def gates_forward(x: Array, coefficients: Array, wiring: Array) -> Array:
    """The outputs [gates, B] of gates with `coefficients` [gates, 4] and `wiring` [2, gates] on signals x [F, B].

    >>> gates_forward(np.array([[0.0, 1.0], [1.0, 1.0]]), np.array([[0, 1, 1, -2]]), np.array([[0], [1]]))
    array([[1., 0.]])
    """
    x, coefficients = x.astype(np.float64), coefficients.astype(np.float64)
    first, second = x[wiring[0]], x[wiring[1]]
    a0, a1, a2, a3 = coefficients.T[..., None]
    return np.asarray(a0 + a1 * first + a2 * second + a3 * first * second)


def gates_backward(gradient: Array, x: Array, coefficients: Array, wiring: Array) -> tuple[Array, Array]:
    """The gradients of x [F, B] and of the coefficients [gates, 4], from the gradient [gates, B] of the outputs."""
    x, coefficients, gradient = (part.astype(np.float64) for part in (x, coefficients, gradient))
    first, second = x[wiring[0]], x[wiring[1]]
    _, a1, a2, a3 = coefficients.T[..., None]
    to_x = np.zeros_like(x)
    np.add.at(to_x, wiring[0], gradient * (a1 + a3 * second))
    np.add.at(to_x, wiring[1], gradient * (a2 + a3 * first))
    parts = (gradient, gradient * first, gradient * second, gradient * first * second)
    return to_x, np.stack([part.sum(1) for part in parts], 1)


def trees_forward(x: Array, coefficients: Array, leaves: Array) -> Array:
    """The roots [kernels places, B] of trees with coefficients [kernels, gates, 4] and leaves [kernels, places, 2^depth].

    Gates of a tree are numbered level by level from the leaves up, and each reads two neighbours of the level below.
    """
    roots = []
    for kernel, places in enumerate(leaves):
        for place in places:
            values, gate = list(x[place].astype(np.float64)), 0
            while len(values) > 1:
                level = []
                for first, second in zip(values[::2], values[1::2], strict=True):
                    a0, a1, a2, a3 = coefficients[kernel, gate].astype(np.float64)
                    level.append(a0 + a1 * first + a2 * second + a3 * first * second)
                    gate += 1
                values = level
            roots.append(values[0])
    return np.array(roots)


def pooling_forward(x: Array, size: int, stride: int) -> Array:
    """The largest value of each window of x [channels, height, width, B], as [channels, rows, columns, B]."""
    windows = np.lib.stride_tricks.sliding_window_view(x, (size, size), axis=(1, 2))[:, ::stride, ::stride]
    return np.asarray(windows.max((-1, -2)))


def word_program(tables: Array, a: Array, b: Array, out: Array, outputs: Array, words: Array, num_slots: int) -> Array:
    """The output words [outputs, W] of a straight line of operations on words [num_inputs, W], each a truth table."""
    slots = np.zeros((num_slots, words.shape[1]), np.uint64)
    slots[: len(words)] = words
    for table, first, second, target in zip(tables.tolist(), a, b, out, strict=True):
        x, y = slots[first].copy(), slots[second].copy()
        slots[target] = 0
        for row, minterm in enumerate((~x & ~y, ~x & y, x & ~y, x & y)):
            if table >> row & 1:
                slots[target] |= minterm
    return slots[outputs]


# --- the four steps of `eight_images`, on flat arrays of numbers; each writes where the vector code writes


def turn_square(source: Array, start: int, pitch: int, target: Array, place: int, step: int) -> None:
    """Eight rows of eight numbers of `source`, `pitch` apart, as the columns of eight rows of `target`, `step` apart."""
    for row in range(8):
        for column in range(8):
            target[place + column * step + row] = source[start + row * pitch + column]


def evaluate_gate(
    tile: Array, first: int, second: int, a0: float, a1: float, a2: float, a3: float, out: Array, place: int
) -> None:
    """One gate on eight images: z into `out` at `place`, from `tile` at `first` and `second`."""
    x, y = tile[first : first + 8], tile[second : second + 8]
    out[place : place + 8] = a0 + a1 * x + a2 * y + a3 * x * y


def add_sums(tile: Array, first: int, second: int, gradient: Array, at: int, sums: Array, place: int) -> None:
    """The sums of g, g x, g y and g x y over eight images, added to the four numbers of `sums` at `place`."""
    x, y, g = tile[first : first + 8], tile[second : second + 8], gradient[at : at + 8]
    sums[place : place + 4] += [g.sum(), (g * x).sum(), (g * y).sum(), (g * x * y).sum()]


def add_input_gradients(
    tile: Array, first: int, second: int, a1: float, a2: float, a3: float, gradient: Array, at: int, target: Array
) -> None:
    """g (a1 + a3 y) added to `target` at `first` and g (a2 + a3 x) at `second`, which may be the same place."""
    x, y, g = tile[first : first + 8].copy(), tile[second : second + 8].copy(), gradient[at : at + 8]
    target[first : first + 8] += g * (a1 + a3 * y)
    target[second : second + 8] += g * (a2 + a3 * x)
