"""Recursive least squares is ridge regression state by state, and FORCE tames a chaotic network."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from ordinate.errors import ArgumentError, RefusedError, ShapeError
from ordinate.reservoir import Connectome, Reservoir
from ordinate.reservoir.readout.metrics import nrmse_by_std
from ordinate.reservoir.readout.online import RecursiveLeastSquares, force


@pytest.mark.parametrize("ridge", [1e-3, 1.0, 50.0])
def test_after_t_states_the_weights_are_those_of_the_normal_equations(ridge):
    generator = np.random.default_rng(0)
    x, y = generator.normal(size=(80, 10)), generator.normal(size=(80, 3))
    readout = RecursiveLeastSquares(10, 3, ridge=ridge)
    for steps in (1, 30, 80):  # also with fewer states than neurons
        readout = RecursiveLeastSquares(10, 3, ridge=ridge)
        readout.fit(x[:steps], y[:steps])
        expected = np.linalg.solve(x[:steps].T @ x[:steps] + ridge * np.eye(10), x[:steps].T @ y[:steps])
        np.testing.assert_allclose(readout.weights, expected, atol=1e-9)


def test_forgetting_weighs_the_past_by_a_power_of_its_age():
    generator = np.random.default_rng(1)
    x, y = generator.normal(size=(60, 5)), generator.normal(size=(60, 1))
    readout = RecursiveLeastSquares(5, 1, ridge=0.5, forgetting=0.9)
    readout.fit(x, y)
    weight = 0.9 ** np.arange(59, -1, -1)[:, None]
    expected = np.linalg.solve(x.T @ (weight * x) + 0.9**60 * 0.5 * np.eye(5), x.T @ (weight * y))
    np.testing.assert_allclose(readout.weights, expected, atol=1e-9)


def test_the_error_that_comes_back_is_from_before_the_update():
    readout = RecursiveLeastSquares(2, 1, ridge=1e-6)
    assert readout.update([1.0, 0.0], [3.0]) == pytest.approx(3.0)
    assert readout.update([1.0, 0.0], [3.0]) == pytest.approx(0.0, abs=1e-5)
    assert readout.predict([[1.0, 0.0], [0.0, 1.0]])[:, 0] == pytest.approx([3.0, 0.0], abs=1e-5)


def chaotic(gain=1.5, neurons=200, seed=0):
    """Sussillo and Abbott's network: sparse normal weights of spectral radius `gain`, slow units, uniform feedback."""
    generator = np.random.default_rng(seed)
    mask = generator.random((neurons, neurons)) < 0.1
    weights = np.where(mask, generator.normal(0, gain / np.sqrt(0.1 * neurons), (neurons, neurons)), 0)
    return Reservoir(
        Connectome(sparse.csr_array(weights)),
        feedback_weights=generator.uniform(-1, 1, (1, neurons)),
        leak_rate=0.1,
        dtype=np.float64,
    )


def wave(steps):
    t = 2 * np.pi * np.arange(steps) / 120
    return (np.sin(t) + 0.5 * np.sin(2 * t) + 0.25 * np.sin(3 * t))[:, None]


def test_force_makes_a_chaotic_network_produce_a_wave_after_learning_has_stopped():
    reservoir, readout = chaotic(), RecursiveLeastSquares(200, 1, ridge=1.0)
    start = reservoir.initial_state()
    start = start._replace(activity=np.random.default_rng(2).uniform(-0.5, 0.5, 200))
    untrained = reservoir.generate(readout.predict, 200, state=start)
    np.testing.assert_array_equal(untrained.outputs, 0)

    trained = force(reservoir, readout, wave(2400), state=start, every=2)
    assert (trained.weight_changes[1::2] == 0).all()
    assert trained.weight_changes[-200:].max() < 0.05 * trained.weight_changes[:200].max()
    test = reservoir.generate(readout.predict, 360, state=trained.state)
    assert nrmse_by_std(wave(2760)[2400:], test.outputs) < 0.15


def test_with_nothing_to_learn_the_loop_is_the_reservoirs_own_closed_loop():
    """With targets that equal the outputs the error is 0, so the weights stay, and both loops must agree step by step."""
    generator = np.random.default_rng(4)
    inputs = generator.normal(size=(30, 2))
    reservoir = Reservoir(
        Connectome(generator.normal(0, 0.3, (10, 10))),
        input_weights=generator.normal(size=(2, 10)),
        feedback_weights=generator.normal(size=(1, 10)),
        dtype=np.float64,
    )
    readout = RecursiveLeastSquares(10)
    readout.weights[:] = generator.normal(0, 0.2, (10, 1))
    free = reservoir.generate(readout.predict, 30, state=reservoir.initial_state(), inputs=inputs)
    learned = force(reservoir, readout, free.outputs, inputs=inputs)
    np.testing.assert_allclose(learned.outputs, free.outputs, atol=1e-10)
    np.testing.assert_allclose(learned.state.activity, free.state.activity, atol=1e-10)
    assert learned.weight_changes.max() < 1e-10


@pytest.mark.filterwarnings("ignore:activity of neuron:RuntimeWarning")
def test_a_state_that_grows_without_bound_is_stopped_with_a_message():
    reservoir = Reservoir(
        Connectome(np.full((2, 2), 1e30)), feedback_weights=np.ones((1, 2)), activation="identity", bias=1.0, dtype=np.float64
    )
    with pytest.raises(RefusedError, match="step"), np.errstate(all="ignore"):
        force(reservoir, RecursiveLeastSquares(2), np.zeros((40, 1)))


@pytest.mark.parametrize(
    ("call", "error", "told"),
    [
        (lambda: RecursiveLeastSquares(0), ArgumentError, "num_states: expected an integer of at least 1"),
        (lambda: RecursiveLeastSquares(2, 0), ArgumentError, "num_outputs"),
        (lambda: RecursiveLeastSquares(2, ridge=0), ArgumentError, "ridge: expected a finite number above 0"),
        (lambda: RecursiveLeastSquares(2, forgetting=1.1), ArgumentError, r"forgetting: expected a finite number above 0"),
        (lambda: RecursiveLeastSquares(2).update([1.0], [1.0]), ShapeError, r"state: expected shape \(2,\)"),
        (lambda: RecursiveLeastSquares(2).update([1.0, np.nan], [1.0]), ArgumentError, "state: expected finite"),
        (lambda: RecursiveLeastSquares(2).update([1.0, 1.0], [np.inf]), ArgumentError, "target: expected finite"),
        (lambda: RecursiveLeastSquares(2).fit(np.ones((3, 2)), np.ones((4, 1))), ShapeError, "states, targets"),
        (lambda: RecursiveLeastSquares(2).predict(np.ones((3, 3))), ShapeError, "2 neurons"),
        (lambda: force(chaotic(neurons=9), RecursiveLeastSquares(9), np.ones(5)), ShapeError, r"targets: expected \[T, 1\]"),
        (lambda: force(chaotic(neurons=9), RecursiveLeastSquares(9), np.ones((5, 1)), every=0), ArgumentError, "every"),
        (lambda: force(chaotic(neurons=9), RecursiveLeastSquares(8), np.ones((5, 1))), ShapeError, r"weights \(9, 1\)"),
        (
            lambda: force(chaotic(neurons=9), RecursiveLeastSquares(9), np.ones((5, 1)), inputs=np.ones((5, 1))),
            ShapeError,
            r"inputs: expected \[5, 0\]",
        ),
        (
            lambda: force(Reservoir(Connectome(np.eye(2)), inputs=[[0]]), RecursiveLeastSquares(2), np.ones((5, 1))),
            ArgumentError,
            "reservoir: expected one with feedback_weights",
        ),
    ],
)
def test_what_cannot_be_learned_is_refused_with_a_reason(call, error, told):
    with pytest.raises(error, match=told):
        call()


def test_a_state_whose_square_is_no_number_is_refused_and_spoils_nothing():
    learner = RecursiveLeastSquares(2)
    with pytest.raises(ArgumentError, match="numbers whose squares are finite"):
        learner.update([1e200, 1.0], [1.0])
    assert not learner.weights.any()
