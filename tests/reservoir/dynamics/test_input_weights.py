"""Input weights reach whom they name, and random ones are those of their seed."""

from __future__ import annotations

import numpy as np
import pytest

from ordinate.errors import ArgumentError
from ordinate.reservoir import Connectome
from ordinate.reservoir.dynamics.input_weights import channel_weights, random_input_weights

BRAIN = Connectome.synthetic()


def test_a_channel_reaches_exactly_whom_it_names():
    weights = channel_weights(BRAIN, ["sensory & left", [3, 5, 3]])
    assert np.flatnonzero(weights[0]).tolist() == BRAIN.select("sensory & left").tolist()
    assert np.flatnonzero(weights[1]).tolist() == [3, 5]
    assert set(weights.ravel()) == {0.0, 1.0}


def test_random_weights_keep_their_bounds_density_and_seed():
    weights = random_input_weights(BRAIN, 40, neurons="interneuron", scale=0.5, density=0.25, seed=7)
    assert np.array_equal(weights, random_input_weights(BRAIN, 40, neurons="interneuron", scale=0.5, density=0.25, seed=7))
    assert (np.flatnonzero(weights.any(axis=0)) == BRAIN.select("interneuron")).all()
    drawn = weights[:, BRAIN.select("interneuron")]
    assert (drawn != 0).mean() == pytest.approx(0.25, abs=0.03)
    assert np.abs(weights).max() <= 0.5
    assert drawn[drawn != 0].std() == pytest.approx(0.5 / np.sqrt(3), rel=0.1)


@pytest.mark.parametrize("told", [{"num_channels": 0}, {"num_channels": 1, "scale": 0}, {"num_channels": 1, "density": 0}])
def test_impossible_settings_are_refused(told):
    with pytest.raises(ArgumentError):
        random_input_weights(BRAIN, **told)
