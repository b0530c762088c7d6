"""Memory capacity is 0 without memory, the length of a delay line with one, and never counts chance."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ordinate.errors import ArgumentError, ShapeError
from ordinate.reservoir import Connectome, Reservoir
from ordinate.reservoir.tasks.base import RIDGES, Setting, Size, evaluate
from ordinate.reservoir.tasks.memory import delayed, memory_capacity, memory_curve
from ordinate.reservoir.tasks.registry import task_named

SIZE = Size(washout=60, train=400, validation=200, test=600)


def capacity(reservoir, seed, size=SIZE):
    task = task_named("memory")
    return evaluate([(task, task.draw(size, seed))], reservoir, size, [Setting()])[0].test


def test_the_correction_is_exact_over_all_orders_of_a_few_steps():
    """If nothing relates two series, every order of one is as likely: over all of them the mean is 0, not 1 / (n - 1)."""
    generator = np.random.default_rng(0)
    for n in (3, 4, 5, 6):
        target, predicted = generator.normal(size=(2, n))
        orders = np.array(list(itertools.permutations(predicted)))
        corrected = [memory_curve(target[:, None], order[:, None])[0] for order in orders]
        plain = [np.corrcoef(target, order)[0, 1] ** 2 for order in orders]
        assert np.mean(corrected) == pytest.approx(0, abs=1e-12)
        assert np.mean(plain) == pytest.approx(1 / (n - 1))


def test_a_memoryless_network_scores_0_where_the_plain_sum_does_not():
    """Forty units without a synapse see the present only. Twenty seeds; the plain sum over 60 delays is some 60 / 599."""
    generator = np.random.default_rng(1)
    task, outcome, plain, on_training = task_named("memory"), [], [], []
    for seed in range(20):
        reservoir = Reservoir(
            Connectome(np.zeros((40, 40))), input_weights=generator.normal(size=(1, 40)), bias=generator.normal(size=40)
        )
        inputs, targets = task.draw(SIZE, seed)
        outcome.append(capacity(reservoir, seed))
        states = np.column_stack((reservoir.run(inputs), np.ones(len(inputs))))
        train, _, test = SIZE.stretches
        weights = np.linalg.lstsq(states[train], targets[train], rcond=1e-9)[0]
        for part, result in ((test, plain), (train, on_training)):
            reconstructed = states[part] @ weights
            result.append(sum(np.corrcoef(targets[part, k], reconstructed[:, k])[0, 1] ** 2 for k in range(60)))
    error = np.std(outcome) / 20**0.5
    assert error < 0.02
    assert abs(np.mean(outcome)) < 3 * error
    assert np.mean(plain) > 0.05
    assert np.mean(on_training) > 0.5


@pytest.mark.parametrize("length", [5, 12, 25])
def test_a_delay_line_remembers_as_many_inputs_as_it_is_long(length):
    """Unit i holds the input of i steps ago, so delays 1 to N - 1 are told exactly and no other at all."""
    line = Connectome(np.diag(np.ones(length - 1), k=1))
    reservoir = Reservoir(line, inputs=[[0]], activation="identity", dtype=np.float64)
    assert capacity(reservoir, seed=0) == pytest.approx(length - 1, abs=0.06)


def test_no_network_of_n_linear_units_remembers_more_than_n_inputs():
    generator = np.random.default_rng(2)
    weights = generator.normal(size=(15, 15))
    ring = Connectome(0.95 * weights / np.abs(np.linalg.eigvals(weights)).max())
    reservoir = Reservoir(ring, input_weights=generator.normal(size=(1, 15)), activation="identity", dtype=np.float64)
    result = capacity(reservoir, 0, Size(washout=100, train=2000, validation=500, test=2000))
    assert 8 < result < 15


@settings(deadline=None)
@given(st.floats(0.1, 10), st.floats(-5, 5), st.booleans())
def test_the_curve_does_not_see_scale_sign_or_offset_of_the_reconstruction(scale, offset, flipped):
    generator = np.random.default_rng(3)
    target, predicted = generator.normal(size=(2, 50, 3))
    changed = (-scale if flipped else scale) * predicted + offset
    np.testing.assert_allclose(memory_curve(target, changed), memory_curve(target, predicted), atol=1e-9)


def test_delays_count_from_one_and_a_constant_reconstruction_tells_nothing():
    u = np.arange(1.0, 6.0)
    np.testing.assert_array_equal(delayed(u, 3)[:, 0], [0, 1, 2, 3, 4])
    np.testing.assert_array_equal(delayed(u, 3)[:, 2], [0, 0, 0, 1, 2])
    assert delayed(u, 9).shape == (5, 9)
    assert memory_capacity(np.random.default_rng(0).normal(size=(20, 4)), np.zeros((20, 4))) == 0


@pytest.mark.parametrize(
    ("call", "error", "told"),
    [
        (lambda: delayed(np.ones((5, 2)), 1), ShapeError, "one channel"),
        (lambda: delayed(np.ones(5), 0), ArgumentError, "max_delay: expected an integer of at least 1"),
        (lambda: memory_curve(np.ones((2, 1)), np.ones((2, 1))), ShapeError, "n above 2"),
        (lambda: memory_curve(np.ones((5, 1)), np.ones((5, 2))), ShapeError, "predicted"),
        (lambda: memory_curve(np.ones((5, 1)), np.ones((5, 1))), ArgumentError, "finite inputs that vary"),
        (lambda: memory_curve(np.eye(5), np.eye(5) * np.nan), ArgumentError, "NaN"),
    ],
)
def test_what_has_no_memory_capacity_is_refused_with_a_reason(call, error, told):
    with pytest.raises(error, match=told):
        call()


def test_penalties_are_tried_in_ascending_order():
    assert list(RIDGES) == sorted(RIDGES)
