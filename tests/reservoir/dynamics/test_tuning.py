"""Normalising reaches its value, touches nothing else, and refuses what cannot be reached."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ordinate.errors import ArgumentError, RefusedError
from ordinate.reservoir import Connectome, Reservoir
from ordinate.reservoir.connectome.gain import normalise
from ordinate.reservoir.connectome.signs import random_signs
from ordinate.reservoir.dynamics.echo_state import echo_state
from ordinate.reservoir.dynamics.tuning import tune_gain

BRAIN = Connectome.synthetic()


@pytest.mark.parametrize("by", ["spectral_radius", "output", "input"])
@given(value=st.floats(0.01, 50))
@settings(max_examples=10, deadline=None)
def test_the_measure_is_the_value_afterwards(by, value):
    built = normalise(BRAIN, by, value)
    dense = np.abs(built.weights.toarray())
    if by == "spectral_radius":
        assert np.abs(np.linalg.eigvals(dense)).max() == pytest.approx(value)
    else:
        sums = dense.sum(axis=1 if by == "output" else 0)
        assert sums[sums > 0] == pytest.approx(value)


@pytest.mark.parametrize("by", ["spectral_radius", "output", "input"])
def test_absent_edges_stay_absent_and_signs_stay(by):
    signed = random_signs(BRAIN, seed=0)
    built = normalise(signed, by, 0.7)
    assert (np.sign(built.weights.toarray()) == np.sign(signed.weights.toarray())).all()


@pytest.mark.parametrize("leak_rate", [1.0, 0.3, 0.05])
@pytest.mark.parametrize("signed", [False, True])
def test_the_effective_radius_is_that_of_the_leaky_update(leak_rate, signed):
    brain = random_signs(BRAIN, seed=1) if signed else BRAIN
    built = normalise(brain, "effective_radius", 1.1, leak_rate=leak_rate)
    update = (1 - leak_rate) * np.eye(100) + leak_rate * built.weights.toarray()
    assert np.abs(np.linalg.eigvals(update)).max() == pytest.approx(1.1, rel=1e-6)


def test_without_leak_the_effective_radius_is_the_radius():
    one, other = (
        normalise(BRAIN, by, 0.8, **extra) for by, extra in (("spectral_radius", {}), ("effective_radius", {"leak_rate": 1.0}))
    )
    assert one.weights.data == pytest.approx(other.weights.data)


@pytest.mark.parametrize(
    ("arguments", "settings_", "said"),
    [
        (("radius", 1.0), {}, "by: expected one of spectral_radius, output, input, effective_radius, got 'radius'"),
        (("output", 0.0), {}, "a finite number above 0"),
        (("output", float("nan")), {}, "a finite number above 0"),
        (("output", 1.0), {"leak_rate": 0.5}, "leak_rate"),
        (("effective_radius", 1.0), {}, "leak_rate"),
        (("effective_radius", 1.0), {"leak_rate": 1.5}, "above 0 and of at most 1"),
    ],
)
def test_wrong_settings_are_refused(arguments, settings_, said):
    with pytest.raises(ArgumentError) as refused:
        normalise(BRAIN, *arguments, **settings_)
    assert said in str(refused.value)


def test_a_nilpotent_matrix_has_no_radius_to_scale():
    chain = Connectome(np.triu(np.ones((5, 5)), k=1))
    for by, result in (("spectral_radius", {}), ("effective_radius", {"leak_rate": 0.9})):
        with pytest.raises(RefusedError, match=r"a nilpotent one: its spectral radius is 0.*normalise by \"output\""):
            normalise(chain, by, 0.9, **result)
    assert normalise(chain, "output", 1.0).num_edges == 10


def test_an_effective_radius_below_the_leak_cannot_be():
    with pytest.raises(RefusedError, match=r"above 1 - leak_rate = 0\.7"):
        normalise(BRAIN, "effective_radius", 0.5, leak_rate=0.3)


def driven(value: float, **settings_) -> Reservoir:
    return Reservoir(normalise(BRAIN, "spectral_radius", value), inputs=["sensory"], **settings_)


def test_a_weak_network_forgets_its_start_and_a_strong_one_does_not():
    quiet = np.full((150, 1), 0.01)
    weak, strong = echo_state(driven(0.5), quiet), echo_state(driven(3.0, activation="identity", dtype="float64"), quiet)
    assert weak.holds
    assert weak.rate < 0
    assert not strong.holds
    assert strong.rate == pytest.approx(np.log(3), abs=0.05), "a linear network parts at the logarithm of its radius"
    assert weak.distances.shape == (151,)


def test_what_an_echo_state_test_cannot_mean_is_refused():
    with pytest.raises(ArgumentError, match="no noise"):
        echo_state(driven(0.5, noise=0.1), [[0.0]])
    with pytest.raises(ArgumentError, match="T at least 1"):
        echo_state(driven(0.5), np.zeros((0, 1)))


def test_a_gain_is_found_at_which_activity_is_as_wanted():
    inputs = np.full((30, 1), 0.3)
    reservoir = driven(1.0)
    tuned = tune_gain(reservoir, inputs, 0.2, between=(0.1, 20))
    states = reservoir.run(inputs, gain=tuned.gain)
    assert np.abs(states[15:]).mean() == pytest.approx(0.2, abs=1e-4)
    assert tuned.reached == pytest.approx(0.2, abs=1e-4)


def test_a_measure_of_ones_own_and_the_edge_of_the_echo_state_property():
    linear = driven(1.0, activation="identity", dtype="float64")
    edge = tune_gain(linear, np.zeros((60, 1)), 0.0, measure="contraction", between=(0.5, 2))
    assert edge.gain == pytest.approx(1, abs=0.1), "at radius 1"
    own = tune_gain(driven(1.0), np.full((20, 1), 0.3), 0.9, measure=lambda states: float(states.max()), between=(0.1, 30))
    assert own.reached == pytest.approx(0.9, abs=1e-4)


def test_a_target_out_of_reach_is_told_with_what_was_reached():
    with pytest.raises(RefusedError, match=r"what gains 0.1 \.\. 10 reach"):
        tune_gain(driven(1.0), np.full((10, 1), 0.3), 2.0, between=(0.1, 10))
    with pytest.raises(ArgumentError, match="between"):
        tune_gain(driven(1.0), [[0.1]], 0.1, between=(1, 1))
    with pytest.raises(ArgumentError, match="measure"):
        tune_gain(driven(1.0), [[0.1]], 0.1, measure="energy")
