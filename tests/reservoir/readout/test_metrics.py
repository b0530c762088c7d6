"""Metrics say what they are divided by, and agree with scikit-learn and with the definitions by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.metrics import mean_squared_error, r2_score

from ordinate.errors import ArgumentError, ShapeError
from ordinate.reservoir.readout import metrics

SERIES = arrays(np.float64, (20, 2), elements=st.floats(-10, 10))


@settings(max_examples=30, deadline=None)
@given(SERIES, SERIES)
def test_rmse_and_r_squared_are_those_of_scikit_learn(target, predicted):
    assert metrics.rmse(target, predicted) == pytest.approx(mean_squared_error(target, predicted) ** 0.5, abs=1e-12)
    if (target.var(axis=0) > 1e-6).all():
        expected = r2_score(target, predicted, multioutput="uniform_average")
        assert metrics.r_squared(target, predicted) == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_the_three_normalisations_differ_as_their_names_say():
    target, predicted = np.array([1.0, 2.0, 3.0, 6.0]), np.array([1.5, 2.5, 2.5, 5.5])
    assert metrics.nrmse_by_std(target, predicted) == pytest.approx(0.5 / 3.5**0.5)
    assert metrics.nrmse_by_range(target, predicted) == pytest.approx(0.5 / 5)
    assert metrics.nrmse_by_mean(target, predicted) == pytest.approx(0.5 / 3)


def test_the_mean_of_the_target_scores_1_by_std_whatever_its_scale():
    target = np.random.default_rng(0).normal(3, [[1e-3, 1e3]], (50, 2))
    assert metrics.nrmse_by_std(target, np.broadcast_to(target.mean(axis=0), target.shape)) == pytest.approx(1)


@settings(max_examples=30, deadline=None)
@given(st.floats(0.1, 100), st.floats(-100, 100))
def test_by_std_and_by_range_do_not_see_a_change_of_units(scale, shift):
    generator = np.random.default_rng(1)
    target, predicted = generator.normal(size=(2, 30))
    for metric in (metrics.nrmse_by_std, metrics.nrmse_by_range):
        changed = metric(scale * target + shift, scale * predicted + shift)
        assert changed == pytest.approx(metric(target, predicted), rel=1e-6)


def test_a_free_run_is_valid_until_its_error_passes_the_threshold_or_is_no_number():
    target = np.sin(np.arange(40.0))
    late = target.copy()
    late[25:] += 0.5  # the std is about .7, so .4 of it is .28
    assert metrics.valid_steps(target, late) == 25
    assert metrics.valid_steps(target, late, threshold=0.9) == 40
    late[10] = np.nan
    assert metrics.valid_steps(target, late) == 10
    late[5] = np.inf
    assert metrics.valid_steps(target, late) == 5


def test_valid_time_does_not_see_a_constant_added_to_the_series():
    target = np.sin(np.arange(40.0))
    late = target + np.where(np.arange(40) >= 25, 0.5, 0.0)
    settings = {"step": 0.1, "lyapunov_exponent": 2.0}
    assert metrics.valid_time(target, late, **settings) == pytest.approx(25 * 0.1 * 2)
    assert metrics.valid_time(target + 100, late + 100, **settings) == pytest.approx(25 * 0.1 * 2)


@pytest.mark.parametrize(
    ("call", "error", "told"),
    [
        (lambda: metrics.rmse([1.0, 2.0], [1.0]), ShapeError, r"predicted: expected the target's shape \(2,\)"),
        (lambda: metrics.rmse([], []), ShapeError, "at least one step"),
        (lambda: metrics.nrmse_by_std([1.0, np.nan], [1.0, 2.0]), ArgumentError, "target: expected finite"),
        (lambda: metrics.nrmse_by_range([1.0, 2.0], [1.0, np.inf]), ArgumentError, "predicted: expected finite"),
        (lambda: metrics.nrmse_by_std([1.0, 1.0], [1.0, 2.0]), ArgumentError, "target that varies"),
        (lambda: metrics.nrmse_by_mean([-1.0, 1.0], [1.0, 2.0]), ArgumentError, "mean is not 0"),
        (lambda: metrics.valid_steps([0.0, 1.0], [0.0, 1.0], threshold=0), ArgumentError, "threshold"),
        (lambda: metrics.valid_steps([0.0, np.nan], [0.0, 1.0]), ArgumentError, "target: expected finite"),
        (lambda: metrics.valid_time([0.0, 1.0], [0.0, 1.0], step=0, lyapunov_exponent=1), ArgumentError, "step"),
        (lambda: metrics.valid_time([0.0, 1.0], [0.0, 1.0], step=1, lyapunov_exponent=-1), ArgumentError, "lyapunov"),
        (lambda: metrics.accuracy(["a"], ["a", "b"]), ShapeError, "predicted"),
    ],
)
def test_what_cannot_be_compared_is_refused_with_a_reason(call, error, told):
    with pytest.raises(error, match=told):
        call()


@pytest.mark.parametrize("unit", [1e-300, 1e-200, 1e200, 1e300])
def test_no_unit_is_too_small_or_too_large(unit):
    target, predicted = np.array([0.0, 2.0, 1.0]), np.array([1.0, 1.0, 1.0])
    assert metrics.rmse(unit * target, unit * predicted) == pytest.approx(unit * (2 / 3) ** 0.5, rel=1e-12, abs=0)
    assert metrics.nrmse_by_std(unit * target, unit * predicted) == pytest.approx(1, rel=1e-12)
    assert metrics.r_squared(unit * target, unit * predicted) == pytest.approx(0, abs=1e-12)
    assert metrics.valid_steps(unit * target, unit * target) == 3


def test_text_complex_numbers_and_ragged_rows_are_refused():
    for values in (["1", "2"], [1j, 2.0], [[1.0], [2.0, 3.0]]):
        with pytest.raises(TypeError, match="target: expected an array of real numbers"):
            metrics.rmse(values, [1.0, 2.0])
