"""Integrate-and-fire neurons fire when the equation says, rest when they must, and drive each other through their traces."""

from __future__ import annotations

import numpy as np
import pytest

from ordinate.errors import ArgumentError, RefusedError
from ordinate.reservoir import Connectome, LeakyIntegrateAndFire, Reservoir
from ordinate.reservoir.connectome.gain import normalise
from ordinate.reservoir.dynamics.echo_state import echo_state

ALONE = Connectome([[0.0]])


def spikes_of(current: float, steps: int, **settings) -> list[int]:
    neuron = LeakyIntegrateAndFire(record="spikes", **settings)
    result = Reservoir(ALONE, input_weights=[[1.0]], dynamics=neuron, dtype=np.float64).run(np.full((steps, 1), current))
    return np.flatnonzero(result[:, 0]).tolist()


@pytest.mark.parametrize("current", [1.2, 2.0, 5.0])
@pytest.mark.parametrize("refractory_ms", [0.0, 3.0])
def test_it_fires_at_the_intervals_of_the_closed_form(current, refractory_ms):
    """From reset to threshold under a constant current takes tau ln(I / (I - 1)), then it waits."""
    step, tau = 0.01, 10.0
    at = spikes_of(current, 6_000, step_ms=step, membrane_ms=tau, refractory_ms=refractory_ms)
    interval = tau * np.log(current / (current - 1)) + refractory_ms
    assert np.diff(at) * step == pytest.approx(interval, abs=2 * step)


def test_below_threshold_it_never_fires():
    assert spikes_of(0.999, 5000) == []


def test_the_trace_is_the_spikes_behind_a_filter_and_arrives_one_step_later():
    chain = Connectome([[0.0, 3.0], [0.0, 0.0]])
    settings = {"membrane_ms": 5.0, "synapse_ms": 8.0, "refractory_ms": 1.0}
    inputs = np.full((60, 1), 1.5)
    traces, spikes = (
        Reservoir(chain, inputs=[[0]], dynamics=LeakyIntegrateAndFire(record=record, **settings), dtype=np.float64).run(inputs)
        for record in ("trace", "spikes")
    )
    assert set(np.unique(spikes)) == {0.0, 1.0}
    filtered = np.zeros(2)
    for t in range(60):
        filtered = filtered * np.exp(-1 / 8) + spikes[t]
        assert traces[t] == pytest.approx(filtered)
    assert np.flatnonzero(spikes[:, 1])[0] > np.flatnonzero(spikes[:, 0])[0], "the second follows the first"


def test_a_batch_is_its_sequences_and_a_cut_run_the_whole_one():
    brain = normalise(Connectome.synthetic(), "output", 1.0)
    reservoir = Reservoir(brain, inputs=["sensory"], dynamics=LeakyIntegrateAndFire())
    inputs = np.random.default_rng(0).uniform(0, 3, (3, 80, 1))
    whole = reservoir.run(inputs)
    assert whole.any()
    assert whole[1] == pytest.approx(reservoir.run(inputs[1]), abs=1e-6)
    first, state = reservoir.advance(inputs[:, :33])
    assert np.array_equal(np.concatenate([first, reservoir.run(inputs[:, 33:], state=state)], axis=1), whole)


def test_an_echo_state_test_asks_for_the_states_it_cannot_draw():
    brain = normalise(Connectome.synthetic(), "output", 0.5)
    reservoir = Reservoir(brain, inputs=["sensory"], dynamics=LeakyIntegrateAndFire())
    with pytest.raises(RefusedError, match="keep more than activity"):
        echo_state(reservoir, [[1.0]])
    states = tuple(reservoir.advance(np.full((30, 1), level))[1] for level in (0.0, 3.0))
    assert echo_state(reservoir, np.full((300, 1), 0.2), states=states).holds


@pytest.mark.parametrize(
    "told",
    [{"step_ms": 0}, {"membrane_ms": -1}, {"synapse_ms": np.nan}, {"refractory_ms": -1}, {"reset": 1.0}, {"record": "v"}],
)
def test_impossible_settings_are_refused(told):
    with pytest.raises(ArgumentError, match=next(iter(told))):
        LeakyIntegrateAndFire(**told)
