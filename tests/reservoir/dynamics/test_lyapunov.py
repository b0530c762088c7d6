"""Lyapunov exponents against eigenvalues of linear networks, and against the measured growth of a small difference."""

from __future__ import annotations

import numpy as np
import pytest

from ordinate.errors import ArgumentError, RefusedError
from ordinate.reservoir import Connectome, LeakyIntegrateAndFire, Reservoir, lyapunov_exponents

WEIGHTS = np.random.default_rng(0).normal(size=(30, 30)) / np.sqrt(30)
NOISE = np.random.default_rng(1).normal(size=(1500, 1))


@pytest.mark.parametrize("leak", [1.0, 0.3])
def test_of_a_linear_network_they_are_the_logarithms_of_its_eigenvalues_whatever_the_drive(leak):
    weights = np.diag([0.9, 0.6, 0.2]) + np.triu(np.ones((3, 3)), 1) * 0.1
    network = Reservoir(Connectome(weights), input_weights=np.ones((1, 3)), activation="identity", leak_rate=leak, dtype=float)
    expected = np.log(np.sort(np.abs(1 - leak + leak * np.linalg.eigvals(weights)))[::-1])
    assert lyapunov_exponents(network, NOISE, 3) == pytest.approx(expected, abs=2e-3)


@pytest.mark.parametrize("activation", ["tanh", "sigmoid"])
def test_the_largest_is_the_rate_at_which_a_small_difference_changes(activation):
    network = Reservoir(Connectome(1.8 * WEIGHTS), input_weights=np.ones((1, 30)), activation=activation, dtype=float)
    rates, state, other = [], network.initial_state().activity, network.initial_state().activity + 1e-8
    for step, value in enumerate(NOISE):
        state, other = (network.run(value[None], state=one)[0] for one in (state, other))
        distance = np.linalg.norm(other - state)
        if step >= 100:
            rates.append(np.log(distance / 1e-8))
        other = state + (other - state) * (1e-8 / distance)
    assert lyapunov_exponents(network, NOISE)[0] == pytest.approx(np.mean(rates), abs=0.01)


def test_drive_calms_a_network_that_is_chaotic_by_itself():
    network = Reservoir(Connectome(2.5 * WEIGHTS), input_weights=np.ones((1, 30)), dtype=float)
    alone, driven = (lyapunov_exponents(network, scale * NOISE + 1e-3)[0] for scale in (0.0, 3.0))
    assert alone > 0 > driven


def test_what_has_no_tangent_is_refused():
    graph = Connectome(WEIGHTS)
    with pytest.raises(RefusedError, match="leaky rate units"):
        lyapunov_exponents(Reservoir(graph, inputs=[[0]], dynamics=LeakyIntegrateAndFire()), NOISE)
    with pytest.raises(RefusedError, match="noise"):
        lyapunov_exponents(Reservoir(graph, inputs=[[0]], noise=0.1), NOISE)
    with pytest.raises(ArgumentError, match="washout"):
        lyapunov_exponents(Reservoir(graph, inputs=[[0]]), NOISE[:50])
