"""The compiled activations are those of float64 to float32's rounding, and tiles hold any batch."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special

from ordinate.reservoir.dynamics.compiled import ACTIVATIONS, TILES, _tiles


@pytest.mark.parametrize(
    ("name", "function", "tolerance"),
    [
        ("tanh", np.tanh, 3e-7),
        ("sigmoid", special.expit, 3e-7),
        ("relu", lambda x: np.maximum(x, 0), 0),
        ("identity", lambda x: x, 0),
    ],
)
def test_activations_agree_with_float64(name, function, tolerance):
    x = np.concatenate([np.linspace(-12, 12, 4001), [-1e30, -100, 0, 1e-30, 100, 1e30]]).astype(np.float32)
    result = np.array([ACTIVATIONS[name](value) for value in x])
    assert np.abs(result - function(x.astype(np.float64))).max() <= tolerance


def test_tanh_keeps_the_precision_of_small_arguments():
    """Relative, not absolute: near 0 tanh x is x, and a rational function must not lose that."""
    x = np.geomspace(1e-20, 1e-2, 100).astype(np.float32)
    result = np.array([ACTIVATIONS["tanh"](value) for value in x])
    assert result == pytest.approx(np.tanh(x.astype(np.float64)), rel=5e-7)


@pytest.mark.parametrize("batch", range(1, 70))
def test_tiles_hold_every_batch_and_waste_less_than_a_tile(batch):
    tiles = _tiles(batch)
    assert batch <= sum(tiles) < batch + 16
    assert set(tiles) <= {1, *TILES}
    assert all(width == 16 for width in tiles[:-1])
