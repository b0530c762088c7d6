"""The relaxed gates of a layer on signals image by image, as compiled loops.

Eight images are turned over into a tile that fits the cache, where every signal of a gate is one vector; what comes out is
turned back eight gates at a time. So nothing is kept but the inputs, and memory is read and written in order. Imported only
where numba is (the extra `fast`), for float32 on a CPU; results agree with `reference` to rounding.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from ordinate.logic.kernels.eight_images import add_input_gradients, add_sums, evaluate_gate, turn_square

__all__ = ["backward", "forward", "turned"]

_jit = numba.njit(fastmath={"contract", "reassoc", "nsz"}, error_model="numpy", nogil=True, cache=True, boundscheck=False)


@_jit  # type: ignore[untyped-decorator]
def _fetch(source: Any, start: Any, left: Any, tile: Any, place: Any) -> None:
    """Up to eight columns of up to eight rows of source into a tile, one column after another; what is missing is zero."""
    rows, columns = source.shape
    if start + 8 <= rows and left + 8 <= columns:
        turn_square(source, start * columns + left, columns, tile, place, 8)
        return
    for column in range(min(8, columns - left)):
        for row in range(8):
            tile[place + 8 * column + row] = source[start + row, left + column] if start + row < rows else np.float32(0)


@_jit  # type: ignore[untyped-decorator]
def _deliver(tile: Any, place: Any, target: Any, start: Any, left: Any) -> None:
    """The other way round."""
    rows, columns = target.shape
    if start + 8 <= rows and left + 8 <= columns:
        turn_square(tile, place, 8, target, start * columns + left, columns)
        return
    for column in range(min(8, columns - left)):
        for row in range(min(8, rows - start)):
            target[start + row, left + column] = tile[place + 8 * column + row]


@_jit  # type: ignore[untyped-decorator]
def forward(x: Any, coefficients: Any, wiring: Any, out: Any) -> None:
    """Fill out [B, gates] from x [B, F], coefficients [gates, 4] and wiring [2, gates]."""
    images, gates = out.shape
    tile, few = np.empty(8 * x.shape[1] + 64, np.float32), np.empty(64, np.float32)
    for start in range(0, images, 8):
        for left in range(0, x.shape[1], 8):
            _fetch(x, start, left, tile, 8 * left)
        for left in range(0, gates, 8):
            for gate in range(left, min(left + 8, gates)):
                a0, a1, a2, a3 = coefficients[gate, 0], coefficients[gate, 1], coefficients[gate, 2], coefficients[gate, 3]
                evaluate_gate(tile, 8 * wiring[0, gate], 8 * wiring[1, gate], a0, a1, a2, a3, few, 8 * (gate - left))
            _deliver(few, 0, out, start, left)


@_jit  # type: ignore[untyped-decorator]
def backward(gradient: Any, x: Any, coefficients: Any, wiring: Any, to_x: Any, sums: Any) -> None:
    """Fill to_x [B, F] and sums [gates, 4] from the gradient [B, gates]; either may have no rows, and is then left out."""
    images, gates = gradient.shape
    tile, few = np.empty(8 * x.shape[1] + 64, np.float32), np.empty(64, np.float32)
    onto = np.empty(8 * x.shape[1] + 64 if len(to_x) else 0, np.float32)
    sums[:] = 0
    for start in range(0, images, 8):
        for left in range(0, x.shape[1], 8):
            _fetch(x, start, left, tile, 8 * left)
        onto[:] = 0
        for left in range(0, gates, 8):
            _fetch(gradient, start, left, few, 0)
            for gate in range(left, min(left + 8, gates)):
                first, second, at = 8 * wiring[0, gate], 8 * wiring[1, gate], 8 * (gate - left)
                if len(sums):
                    add_sums(tile, first, second, few, at, sums, 4 * gate)
                if len(to_x):
                    a1, a2, a3 = coefficients[gate, 1], coefficients[gate, 2], coefficients[gate, 3]
                    add_input_gradients(tile, first, second, a1, a2, a3, few, at, onto)
        if len(to_x):
            for left in range(0, x.shape[1], 8):
                _deliver(onto, 8 * left, to_x, start, left)


@_jit  # type: ignore[untyped-decorator]
def turned(x: Any, out: Any) -> None:
    """Fill out [columns, rows] with x [rows, columns] turned over."""
    rows, columns = x.shape
    for left in range(0, columns, 8):
        for top in range(0, rows, 8):
            if top + 8 <= rows and left + 8 <= columns:
                turn_square(x, top * columns + left, columns, out, left * rows + top, rows)
            else:
                for column in range(left, min(left + 8, columns)):
                    for row in range(top, min(top + 8, rows)):
                        out[column, row] = x[row, column]
