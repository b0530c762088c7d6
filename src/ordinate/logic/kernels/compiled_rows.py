"""The relaxed gates of a layer on signals by rows, as compiled loops: each gate reads its two rows once.

Imported only where numba is (the extra `fast`), for float32 on a CPU; compiled at the first call of a process and kept beside
this file. The formulas are those of `reference`; sums run in another order, so results agree to rounding.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

__all__ = ["backward", "forward"]

_jit = numba.njit(fastmath={"contract", "reassoc", "nsz"}, error_model="numpy", nogil=True, cache=True, boundscheck=False)


@_jit  # type: ignore[untyped-decorator]
def forward(x: Any, coefficients: Any, wiring: Any, out: Any) -> None:
    """Fill out [gates, B] from x [F, B], coefficients [gates, 4] and wiring [2, gates]."""
    for gate in range(out.shape[0]):
        a0, a1, a2, a3 = coefficients[gate, 0], coefficients[gate, 1], coefficients[gate, 2], coefficients[gate, 3]
        first, second, z = x[wiring[0, gate]], x[wiring[1, gate]], out[gate]
        for place in range(out.shape[1]):
            z[place] = a0 + a1 * first[place] + second[place] * (a2 + a3 * first[place])


@_jit  # type: ignore[untyped-decorator]
def backward(gradient: Any, x: Any, coefficients: Any, wiring: Any, to_x: Any, sums: Any) -> None:
    """Add to to_x [F, B] and fill sums [gates, 4]; either may be empty, and is then left out."""
    batch = gradient.shape[1]
    for gate in range(gradient.shape[0]):
        a1, a2, a3 = coefficients[gate, 1], coefficients[gate, 2], coefficients[gate, 3]
        first, second, g = x[wiring[0, gate]], x[wiring[1, gate]], gradient[gate]
        if len(sums):
            s0 = s1 = s2 = s3 = np.float32(0)
            for place in range(batch):
                by_first = g[place] * first[place]
                s0 += g[place]
                s1 += by_first
                s2 += g[place] * second[place]
                s3 += by_first * second[place]
            sums[gate, 0], sums[gate, 1], sums[gate, 2], sums[gate, 3] = s0, s1, s2, s3
        if len(to_x):
            to_first = to_x[wiring[0, gate]]
            for place in range(batch):
                to_first[place] += g[place] * (a1 + a3 * second[place])
            to_second = to_x[wiring[1, gate]]
            for place in range(batch):
                to_second[place] += g[place] * (a2 + a3 * first[place])
