"""Circuits of random gates, where a test needs some circuit of a size."""

from __future__ import annotations

import numpy as np

from ordinate.logic import Circuit, InputThresholds

__all__ = ["layered"]

_GENUINE = (1, 2, 4, 6, 7, 8, 9, 11, 13, 14)


def layered(gates: int, seed: int, *, layers: int = 3, num_inputs: int = 784, classes: int = 10) -> Circuit:
    """Layers of gates that each read two different random signals of the layer before; the last layer votes in equal groups.

    >>> layered(300, 0)
    Circuit(784 inputs, 300 gates, 0 inverters, 0 constants, 100 votes for 10 classes, tau=1)
    """
    generator = np.random.default_rng(seed)
    widths = [gates // layers] * layers
    widths[0] += gates - sum(widths)
    tables, a, b, before, start = [], [], [], num_inputs, 0
    for width in widths:
        first = generator.integers(0, before, width)
        tables.append(generator.choice(_GENUINE, width))
        a.append(start + first)
        b.append(start + (first + generator.integers(1, before, width)) % before)
        start, before = start + before, width
    voting = np.arange(start, start + widths[-1])
    return Circuit(
        num_inputs,
        np.concatenate(tables),
        np.concatenate(a),
        np.concatenate(b),
        votes=[(group, np.ones(len(group), np.int64)) for group in np.array_split(voting, classes)],
        inputs=InputThresholds.uniform(num_inputs, 95),
    )
