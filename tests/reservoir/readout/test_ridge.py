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


def test_a_huge_offset_without_intercept_predicts_no_worse_than_the_mean_direction() -> None:
    """Inputs of 1e9 ± 1: normal equations cannot see the ± 1, so what is left is a fit along the offset."""
    generator = np.random.default_rng(0)
    x, y = 1e9 + generator.normal(size=(500, 5)), 1 + 0.1 * generator.normal(size=(500, 1))
    readout = RidgeReadout(1e-6, fit_intercept=False).partial_fit(x, y)
    assert np.abs(readout.predict(x) - y.mean()).max() < 1e-3
    assert readout.rank == 1
    assert readout.condition_number > 1e13


@pytest.mark.parametrize("size", [1e-160, 1e-300, 1e160, 1e300])
def test_tiny_and_huge_inputs_give_the_exact_weights(size: float) -> None:
    x = np.random.default_rng(0).normal(size=(200, 3))
    weights = np.array([[1.0], [-2.0], [3.0]])
    fitted, intercept = RidgeReadout(0.0).partial_fit(size * x, x @ weights + 0.5).solve()
    assert fitted * size == pytest.approx(weights, rel=1e-9)
    assert intercept == pytest.approx([0.5])


def test_columns_of_very_different_scales_are_fitted_as_by_singular_values() -> None:
    from sklearn.linear_model import Ridge

    generator = np.random.default_rng(1)
    x = generator.normal(size=(300, 3)) * [1.0, 1e8, 1e-8]
    y = x @ [[1.0], [1e-8], [1e8]]
    assert np.abs(RidgeReadout(0.0).partial_fit(x, y).predict(x) - y).max() < 1e-10
    oracle = Ridge(1e-6, solver="svd").fit(x, y)
    assert RidgeReadout(1e-6).partial_fit(x, y).predict(x) == pytest.approx(
        oracle.predict(x).reshape(-1, 1), rel=1e-6, abs=1e-9
    )


@pytest.mark.parametrize("scales", [[1.0, 1.0, 1e-30], [1.0, 1e-8, 1e-150], [1e4, 1.0, 1e-12]])
def test_the_penalty_of_a_column_near_zero_leaves_the_others_alone(scales: list[float]) -> None:
    from sklearn.linear_model import Ridge

    generator = np.random.default_rng(4)
    x = generator.normal(size=(200, 3))
    y = x @ [[1.0], [2.0], [3.0]] + 1
    readout = RidgeReadout(1e-6).partial_fit(x * scales, y)
    oracle = Ridge(1e-6, solver="svd").fit(x * scales, y).predict(x * scales).reshape(-1, 1)
    assert readout.predict(x * scales) == pytest.approx(oracle, rel=1e-6, abs=1e-9)
    assert readout.rank == 3


def test_what_is_no_array_of_real_numbers_is_refused() -> None:
    for states in (np.full((4, 2), "1"), np.full((4, 2), 1j), [[1.0], [2.0, 3.0]]):
        with pytest.raises(TypeError, match="expected an array of real numbers"):
            RidgeReadout().partial_fit(states, np.zeros((4, 1)))


def test_of_weights_that_predict_the_same_those_of_least_norm_are_taken_whatever_the_scale() -> None:
    x = np.random.default_rng(2).normal(size=(100, 3)) * [1.0, 64.0, 1.0]
    x = np.concatenate([x, x[:, :2] * [1.0, 2.0]], axis=1)
    y = x[:, :1] + x[:, 1:2]
    fitted, _ = RidgeReadout(0.0, fit_intercept=False).partial_fit(x, y).solve()
    assert fitted == pytest.approx(np.linalg.pinv(x) @ y, abs=1e-9)


def test_a_column_that_grows_after_the_first_block_is_rescaled() -> None:
    generator = np.random.default_rng(3)
    x = generator.normal(size=(200, 2))
    x[:100] *= 1e-200
    y = x @ [[2.0], [-1.0]]
    readout = RidgeReadout(0.0).partial_fit(x[:100], y[:100]).partial_fit(x[100:], y[100:])
    assert readout.solve()[0] == pytest.approx(np.array([[2.0], [-1.0]]))
    merged = RidgeReadout(0.0).partial_fit(x[:100], y[:100]).merge(RidgeReadout(0.0).partial_fit(x[100:], y[100:]))
    assert merged.solve()[0] == pytest.approx(np.array([[2.0], [-1.0]]))


def test_weights_that_are_not_finite_are_refused() -> None:
    with pytest.raises(RefusedError, match="expected finite weights"):
        RidgeReadout(0.0).partial_fit([[1e-320], [2e-320]], [[1e10], [2e10]]).solve()
