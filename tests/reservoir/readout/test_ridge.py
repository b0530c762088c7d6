"""The streamed ridge is scikit-learn's, whatever the blocks, in memory that does not grow with time."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import Ridge

from ordinate.errors import ArgumentError, ArgumentTypeError, RefusedError, ShapeError
from ordinate.reservoir.readout.ridge import RidgeReadout


def data(steps=200, neurons=12, targets=2, seed=0, offset=0.0):
    generator = np.random.default_rng(seed)
    return generator.normal(offset, 1, (steps, neurons)), generator.normal(size=(steps, targets))


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 1000), st.floats(1e-6, 1e3), st.booleans(), st.lists(st.integers(1, 199), max_size=4))
def test_however_the_states_are_cut_into_blocks_the_weights_are_scikit_learns(seed, ridge, intercept, cuts):
    x, y = data(seed=seed, offset=3.0)
    ours = RidgeReadout(ridge, fit_intercept=intercept)
    for block, expected in zip(np.split(x, sorted(cuts)), np.split(y, sorted(cuts)), strict=True):
        if len(block):
            ours.partial_fit(block, expected)
    theirs = Ridge(alpha=ridge, fit_intercept=intercept, solver="svd").fit(x, y)
    weights, offset = ours.solve()
    np.testing.assert_allclose(weights, theirs.coef_.T, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(offset, theirs.intercept_, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(ours.predict(x), theirs.predict(x), rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("neurons", [8, 40], ids=["more steps than neurons", "more neurons than steps"])
def test_without_a_penalty_it_is_the_least_squares_solution_of_least_norm(neurons):
    x, y = data(steps=20, neurons=neurons)
    weights, offset = RidgeReadout(0.0, fit_intercept=False).partial_fit(x, y).solve()
    np.testing.assert_allclose(weights, np.linalg.lstsq(x, y, rcond=None)[0], atol=1e-10)
    np.testing.assert_array_equal(offset, 0)


def test_states_far_from_zero_keep_their_digits():
    """E[xx'] - mean mean' would lose all of them: the offset squared is 1e12 times the variance."""
    x, y = data(steps=20_000, neurons=3, offset=1e6)
    y = x @ [[1.0, 0.0], [2.0, -1.0], [0.0, 3.0]]
    weights, _ = RidgeReadout(1e-9).partial_fit(x, y).solve()
    np.testing.assert_allclose(weights, [[1, 0], [2, -1], [0, 3]], atol=1e-6)


def test_merging_two_halves_is_fitting_the_whole():
    x, y = data(offset=2.0)
    whole = RidgeReadout(0.1).partial_fit(x, y)
    halves = RidgeReadout(0.1).partial_fit(x[:50], y[:50]).merge(RidgeReadout(0.1).partial_fit(x[50:], y[50:]))
    np.testing.assert_allclose(halves.solve()[0], whole.solve()[0], rtol=1e-10)
    np.testing.assert_allclose(halves.solve()[1], whole.solve()[1], rtol=1e-9)
    assert halves.steps == whole.steps == 200
    nothing_yet = RidgeReadout(0.1)
    np.testing.assert_allclose(nothing_yet.merge(whole).merge(RidgeReadout(0.1)).solve()[0], whole.solve()[0], rtol=1e-12)


def test_memory_does_not_grow_with_time():
    """Ten times the steps, given block by block: the peak stays, and the sums are N² + NK + N + K numbers."""

    def peak(blocks):
        readout, generator = RidgeReadout(), np.random.default_rng(0)
        tracemalloc.start()
        for _ in range(blocks):
            block = generator.normal(size=(500, 60))
            readout.partial_fit(block, block[:, :1])
        result = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert readout.num_bytes == 8 * (60 * 60 + 60 + 60 + 1)
        return result

    peak(2)
    assert peak(40) < 1.1 * peak(4)


def test_a_long_block_is_taken_in_parts_so_float32_states_are_never_doubled_whole():
    x = np.random.default_rng(0).normal(size=(60_000, 20)).astype(np.float32)
    readout = RidgeReadout()
    tracemalloc.start()
    readout.partial_fit(x, x[:, :1])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < x.nbytes  # the whole in float64 would be twice as much


def test_batches_of_sequences_and_a_path_of_ridges():
    x, y = data()
    batched = RidgeReadout(0.5).partial_fit(x.reshape(4, 50, 12), y.reshape(4, 50, 2))
    np.testing.assert_allclose(batched.solve()[0], RidgeReadout(0.5).partial_fit(x, y).solve()[0], rtol=1e-12)
    assert batched.predict(x.reshape(4, 50, 12)).shape == (4, 50, 2)
    path = batched.solve_path([0.5, 1e6])
    np.testing.assert_allclose(path[0][0], batched.solve()[0], rtol=1e-12)
    assert np.abs(path[1][0]).max() < 1e-3


def test_a_penalty_below_the_rounding_of_the_moments_still_gives_finite_weights():
    x = np.ones((50, 5)) * np.linspace(0, 1e3, 50)[:, None]  # rank one
    readout = RidgeReadout(1e-12).partial_fit(x, x[:, :1])
    np.testing.assert_allclose(readout.predict(x), x[:, :1], atol=1e-3)


def test_fitting_on_changes_the_solution_and_leaves_the_given_arrays_alone():
    x, y = data()
    before = x.copy()
    readout = RidgeReadout().partial_fit(x[:100], y[:100])
    first = readout.solve()[0].copy()
    readout.partial_fit(x[100:], y[100:])
    assert np.abs(readout.solve()[0] - first).max() > 1e-3
    np.testing.assert_array_equal(x, before)


@pytest.mark.parametrize(
    ("call", "error", "told"),
    [
        (lambda: RidgeReadout(-1.0), ArgumentError, "ridge: expected a finite number of at least 0, got -1.0"),
        (lambda: RidgeReadout(float("nan")), ArgumentError, "ridge"),
        (lambda: RidgeReadout(True), ArgumentTypeError, "ridge"),
        (lambda: RidgeReadout().solve(), RefusedError, "none so far; call partial_fit first"),
        (lambda: RidgeReadout().partial_fit(np.ones(3), np.ones(3)), ShapeError, r"states: expected \[T, columns\]"),
        (lambda: RidgeReadout().partial_fit(np.ones((0, 3)), np.ones((0, 1))), ShapeError, "none of them 0"),
        (lambda: RidgeReadout().partial_fit(np.ones((1, 50_000)), np.ones((1, 1))), RefusedError, "at most 40,000 .* 19 GiB"),
        (lambda: RidgeReadout().partial_fit(np.ones((3, 2)), np.ones((4, 1))), ShapeError, "one row for each of 3 states"),
        (lambda: RidgeReadout().partial_fit(np.full((3, 2), np.nan), np.ones((3, 1))), ArgumentError, "states: .*less gain"),
        (lambda: RidgeReadout().partial_fit(np.ones((3, 2)), np.full((3, 1), np.inf)), ArgumentError, "targets: .*finite"),
        (
            lambda: RidgeReadout().partial_fit(np.ones((3, 2)), np.ones((3, 1))).partial_fit(np.ones((3, 4)), np.ones((3, 1))),
            ShapeError,
            "states: expected 2 columns, as before, got 4",
        ),
        (lambda: RidgeReadout().partial_fit(np.eye(3), np.ones((3, 1))).predict(np.ones((2, 4))), ShapeError, "3 neurons"),
        (
            lambda: RidgeReadout().merge(RidgeReadout(fit_intercept=False).partial_fit(np.eye(3), np.ones((3, 1)))),
            ArgumentError,
            "fit_intercept",
        ),
    ],
)
def test_what_cannot_be_fitted_is_refused_with_a_reason(call, error, told):
    with pytest.raises(error, match=told):
        call()
