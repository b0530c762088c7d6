"""Free runs last as long as the model is right, and no longer."""

from __future__ import annotations

import numpy as np
import pytest

from ordinate.reservoir import Connectome, Reservoir
from ordinate.reservoir.connectome.gain import normalise
from ordinate.reservoir.datasets import LORENZ_EXPONENT, ChaoticSeries
from ordinate.reservoir.tasks.base import Setting, Size
from ordinate.reservoir.tasks.free_run import FreeRunTask
from ordinate.reservoir.tasks.registry import task_named

SIZE = Size(washout=50, train=600, validation=100, test=200)


def rotation(length, seed, pace=0.1):
    angles = pace * np.arange(length) + seed
    return ChaoticSeries(np.column_stack((np.cos(angles), np.sin(angles))), 0.1, 0.5)


def echo():
    """Two linear units that hold the last input: any linear map of it can be read."""
    return Reservoir(Connectome(np.zeros((2, 2))), input_weights=np.eye(2), activation="identity", dtype=np.float64)


def test_a_series_that_the_readout_can_continue_exactly_is_valid_to_the_end():
    task = FreeRunTask("rotation", "", 2, rotation, (0.0, 0.0), (1.0, 1.0))
    settings = [Setting(1.0, 1.0), Setting(1.0, 0.25)]
    result = task.outcomes(echo(), task.draw(SIZE, 0), SIZE, settings, (1e-9, 1e3), None)
    for outcome in result:
        assert outcome.test == pytest.approx(6.0, abs=0.06)
        assert outcome.ridge == 1e-9  # a penalty of 1,000 shrinks the circle


def test_where_the_series_changes_after_training_the_run_is_valid_for_as_long_as_theory_says():
    """The circle turns 1.5 times as fast past the training stretch: the angle between the two passes .4 at a known step."""

    def changing(length, seed):
        angles = np.cumsum(np.where(np.arange(length) < 650, 0.1, 0.15)) + seed
        return ChaoticSeries(np.column_stack((np.cos(angles), np.sin(angles))), 0.1, 0.5)

    task = FreeRunTask("changing", "", 2, changing, (0.0, 0.0), (1.0, 1.0))
    (result,) = task.outcomes(echo(), task.draw(SIZE, 0), SIZE, [Setting()], (1e-9,), None)
    # 2 sin(.05 n / 2) passes .4 · 1 at n = 8.05 (the series' spread is 1): 8 steps are valid
    assert result.test == pytest.approx(8 * 0.1 * 0.5, abs=0.051)


def test_a_network_stays_on_the_lorenz_attractor_for_lyapunov_times_and_a_linear_map_does_not():
    task = task_named("lorenz-free")
    size = Size(washout=50, train=1500, validation=100, test=300)
    data = task.draw(size, 0)
    assert data.lyapunov_exponent == LORENZ_EXPONENT
    assert np.abs(data.values.mean(axis=0)).max() < 0.5
    assert data.values.std(axis=0) == pytest.approx(1, abs=0.25)
    generator = np.random.default_rng(0)
    network = Reservoir(
        normalise(Connectome.synthetic(), "spectral_radius", 1.0),
        input_weights=generator.uniform(-1, 1, (3, 100)),
        bias=0.2 * generator.uniform(-1, 1, 100),
        impl="scipy",
    )
    (result,) = task.outcomes(network, data, size, [Setting(0.5, 0.3)], (1e-6,), None)
    linear = Reservoir(Connectome(np.zeros((3, 3))), input_weights=np.eye(3), activation="identity", dtype=np.float64)
    (plain,) = task.outcomes(linear, data, size, [Setting()], (1e-6,), None)
    assert result.test > 2
    assert plain.test < 0.5


@pytest.mark.slow
def test_a_network_stays_on_mackey_glass_longer_than_the_last_value_would():
    task = task_named("mackey-glass-free")
    size = Size(washout=100, train=2000, validation=200, test=300)
    data = task.draw(size, 0)
    generator = np.random.default_rng(0)
    network = Reservoir(
        normalise(Connectome.synthetic(num_pairs=150), "spectral_radius", 1.0),
        input_weights=generator.uniform(-1, 1, (1, 300)),
        bias=0.5 * generator.uniform(-1, 1, 300),
        leak_rate=0.5,
        dtype=np.float64,
    )
    (result,) = task.outcomes(network, data, size, [Setting(0.9, 0.5)], (1e-9,), None)
    assert result.test > 0.3
