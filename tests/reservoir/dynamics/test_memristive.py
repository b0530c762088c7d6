"""Voltages obey Kirchhoff, switches obey their chances, and nothing has a direction."""

from __future__ import annotations

import numpy as np
import pytest

from ordinate.errors import ArgumentError, RefusedError
from ordinate.reservoir import Connectome, Memristive, Reservoir

BRAIN = Connectome.synthetic()


def circuit(**settings) -> Reservoir:
    return Reservoir(BRAIN, inputs=["sensory & left"], dynamics=Memristive(ground="descending", **settings), dtype=np.float64)


def test_no_current_is_lost_at_a_free_node():
    """Against a dense solve of the whole Laplacian."""
    reservoir = circuit()
    state = reservoir.initial_state()
    on, (_, _, _, switches, conducting, resting) = state.hidden
    voltage = reservoir.step(state, [0.4]).activity
    joined = np.triu((BRAIN.weights + BRAIN.weights.T).toarray() > 0, k=1)
    one, other = np.nonzero(joined)
    wires = np.zeros((100, 100))
    wires[one, other] = wires[other, one] = (on * conducting + (switches - on) * resting) / switches
    laplacian = np.diag(wires.sum(axis=1)) - wires
    kept_state = np.concatenate([BRAIN.select("sensory & left"), BRAIN.select("descending")])
    free = np.setdiff1d(np.arange(100), kept_state)
    expected = np.zeros(100)
    expected[BRAIN.select("sensory & left")] = 0.4
    expected[free] = np.linalg.lstsq(
        laplacian[np.ix_(free, free)], -laplacian[np.ix_(free, kept_state)] @ expected[kept_state], rcond=None
    )[0]
    assert voltage == pytest.approx(expected, abs=1e-8)
    assert np.abs((laplacian @ voltage)[free]).max() < 1e-10


def test_a_memristor_remembers_what_it_was_shown_and_forgets_under_the_opposite():
    """Input - node - ground: half a volt lies across each, above both thresholds."""
    divider = Connectome([[0, 1, 0], [0, 0, 1], [0, 0, 0]])
    reservoir = Reservoir(divider, inputs=[[0]], dynamics=Memristive(ground=[2], spread=0.0), dtype=np.float64)
    _, driven = reservoir.advance(np.full((50, 1), 1.0))
    start = reservoir.initial_state()
    assert (driven.hidden[0] > 4 * start.hidden[0]).all(), "switches turned on"
    _, back = reservoir.advance(np.full((50, 1), -1.0), state=driven)
    assert (back.hidden[0] < driven.hidden[0] / 4).all()


def test_the_expected_number_of_switches_is_what_random_ones_have_on_average():
    divider = Connectome([[0, 1, 0], [0, 0, 1], [0, 0, 0]])
    result = {"ground": [2], "spread": 0.0}
    expected = Reservoir(divider, inputs=[[0]], dynamics=Memristive(**result)).advance(np.full((5, 1), 0.4))[1]
    drawn = Reservoir(divider, inputs=[[0]], dynamics=Memristive(**result, stochastic=True))
    mean = np.mean([drawn.advance(np.full((5, 1), 0.4), seed=seed)[1].hidden[0] for seed in range(60)], axis=0)
    assert mean == pytest.approx(expected.hidden[0], rel=0.005)
    one, again, other = (drawn.run(np.full((5, 1), 0.4), seed=seed) for seed in (1, 1, 2))
    assert np.array_equal(one, again)
    assert not np.array_equal(one, other)


def test_direction_and_counts_play_no_part():
    turned = Reservoir(BRAIN.reversed(), inputs=["sensory & left"], dynamics=Memristive(ground="descending"), dtype=np.float64)
    inputs = np.sin(np.arange(10))[:, None]
    assert turned.run(inputs) == pytest.approx(circuit().run(inputs), abs=1e-9)


def test_a_batch_is_its_sequences_and_a_cut_run_the_whole_one():
    inputs = np.random.default_rng(0).uniform(-1, 1, (2, 8, 1))
    reservoir = circuit()
    whole = reservoir.run(inputs)
    assert whole[1] == pytest.approx(reservoir.run(inputs[1]), abs=1e-9)
    first, state = reservoir.advance(inputs[:, :3])
    assert np.concatenate([first, reservoir.run(inputs[:, 3:], state=state)], axis=1) == pytest.approx(whole, abs=1e-9)


def test_a_node_that_no_wire_reaches_stays_at_zero():
    island = Connectome([[0, 1, 0, 0], [0, 0, 0, 0], [0, 0, 0, 1], [0, 0, 0, 0]])
    result = Reservoir(island, inputs=[[0]], dynamics=Memristive(ground=[1])).run([[1.0]])
    assert result[0].tolist() == [1.0, 0.0, 0.0, 0.0]


def test_devices_alike_or_spread_by_their_seed():
    one, again, other = (circuit(seed=seed).initial_state().hidden[1] for seed in (0, 0, 1))
    assert np.array_equal(one, again)
    assert not np.array_equal(one, other)
    assert one[3].std() / one[3].mean() == pytest.approx(0.1, rel=0.2)
    assert np.ptp(circuit(spread=0.0).initial_state().hidden[1][3]) == 0


def test_wrong_use_is_refused():
    with pytest.raises(ArgumentError, match="which does"):
        Reservoir(BRAIN, inputs=["sensory"], dynamics=Memristive(ground="sensory")).run([[1.0]])
    with pytest.raises(ArgumentError, match="switches turn at random"):
        circuit(stochastic=True).run([[1.0]])
    with pytest.raises(RefusedError, match="memristors have no weights"):
        circuit().run([[1.0]], gain=2.0)
    for result in ({"on_s": 0}, {"step_s": 1.0}, {"switches_on": -1}, {"spread": 0.5}):
        with pytest.raises(ArgumentError, match=next(iter(result))):
            Memristive(ground=[0], **result)
