"""Measures of left and right on activity whose answer is known."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from ordinate.reservoir.laterality.measures import carriers, crossing_index, pairs, side_bias, two_by_two

RIGHT = np.array([False, False, True, True])
positive = arrays(np.float64, (2, 4), elements=st.floats(0.01, 10))


def test_the_table_has_rows_of_stimuli_and_columns_of_readouts() -> None:
    activity = np.array([[1.0, 3.0, -10.0, 20.0], [5.0, 7.0, 0.0, 1.0]])
    assert two_by_two(activity, RIGHT).tolist() == [[2.0, 15.0], [6.0, 0.5]]


@pytest.mark.parametrize(
    ("table", "index"),
    [
        ([[0, 1], [1, 0]], 1.0),
        ([[1, 0], [0, 1]], -1.0),
        ([[1, 1], [1, 1]], 0.0),
        ([[1, 3], [3, 1]], 0.5),
        ([[4, 1], [1, 2]], -0.5),
    ],
)
def test_the_index_is_the_share_by_which_the_other_side_answers_more(table: list[list[float]], index: float) -> None:
    assert float(crossing_index(np.array(table, dtype=float))) == pytest.approx(index)


def test_the_bias_is_the_side_that_answers_more_whatever_is_stimulated() -> None:
    assert float(side_bias(np.array([[1.0, 2.0], [1.0, 4.0]]))) == pytest.approx(0.5)


def test_silence_has_no_index() -> None:
    assert math.isnan(crossing_index(np.zeros((2, 2)))[()])
    assert np.isnan(side_bias(np.zeros((3, 2, 2)))).all()


@given(positive)
def test_measures_stay_within_one_and_swapping_the_sides_keeps_the_index_and_turns_the_bias(activity: np.ndarray) -> None:
    table, swapped = two_by_two(activity, RIGHT), two_by_two(activity[::-1], ~RIGHT)
    assert abs(crossing_index(table)) <= 1
    assert crossing_index(swapped) == pytest.approx(crossing_index(table))
    assert side_bias(swapped) == pytest.approx(-side_bias(table))


@given(positive, st.floats(0.1, 10))
def test_a_louder_brain_has_the_same_index(activity: np.ndarray, factor: float) -> None:
    assert crossing_index(two_by_two(factor * activity, RIGHT)) == pytest.approx(crossing_index(two_by_two(activity, RIGHT)))


@given(positive)
def test_a_side_that_is_louder_under_both_stimuli_is_bias_and_not_crossing(activity: np.ndarray) -> None:
    one = activity.copy()
    one[0], one[1] = activity[0], activity[0]  # both stimuli do the same
    index = crossing_index(two_by_two(one, RIGHT))
    assert index == pytest.approx(0.0, abs=1e-12)


def test_pairs_are_counted_and_tested_as_scipy_does() -> None:
    generator = np.random.default_rng(0)
    activity = generator.random((2, 20))
    activity[0, 10:] += 0.3  # the right cells answer the left stimulus more
    result = pairs(activity, np.arange(10), np.arange(10, 20))
    assert result is not None
    crossed, same = (activity[1, :10] + activity[0, 10:]) / 2, (activity[0, :10] + activity[1, 10:]) / 2
    assert result.count == 10
    assert result.crossing == int((crossed > same).sum())
    assert result.mean_difference == pytest.approx((crossed - same).mean())
    assert result.wilcoxon_p == pytest.approx(stats.wilcoxon(crossed, same).pvalue)
    interval = stats.ttest_rel(crossed, same).confidence_interval(0.95)
    assert result.interval == pytest.approx((interval.low, interval.high))
    assert result.effect_size == pytest.approx(stats.ttest_rel(crossed, same).statistic / math.sqrt(10))


def test_pairs_that_do_not_differ_speak_for_nothing() -> None:
    result = pairs(np.ones((2, 6)), np.arange(3), np.arange(3, 6))
    assert result is not None
    assert (result.wilcoxon_p, result.crossing, result.effect_size) == (1.0, 0, 0.0)
    assert pairs(np.ones((2, 2)), np.array([0]), np.array([1])) is None


def test_one_cell_that_makes_all_of_it_carries_it_alone() -> None:
    activity = np.ones((2, 8))
    activity[0, 7] = 11.0  # a right cell that answers the left stimulus
    result = carriers(activity, np.arange(8) >= 4)
    assert result is not None
    assert (result.half, result.most, result.cells) == (1, 1, (7,))
    assert result.effective == pytest.approx(1.0)
    assert result.index_without == pytest.approx(0.0)


def test_an_even_difference_is_carried_by_half_of_the_cells() -> None:
    activity = np.ones((2, 8))
    activity[0, 4:], activity[1, :4] = 2.0, 2.0
    result = carriers(activity, np.arange(8) >= 4)
    assert result is not None
    assert (result.half, result.most) == (4, 8)
    assert result.effective == pytest.approx(8.0)


def test_cells_that_work_against_it_must_be_outweighed() -> None:
    activity = np.ones((2, 4))
    activity[0, 2] = 5.0  # crosses by 4
    activity[1, 3] = 3.0  # the other way by 2: net 2, and one cell makes twice that
    result = carriers(activity, RIGHT)
    assert result is not None
    assert (result.half, result.most, result.cells) == (1, 1, (2,))
    assert result.index_without < 0


def test_an_ipsilateral_answer_has_carriers_too() -> None:
    activity = np.ones((2, 4))
    activity[0, 0] = 9.0
    result = carriers(activity, RIGHT)
    assert result is not None
    assert result.cells == (0,)


def test_a_side_with_more_cells_does_not_count_more() -> None:
    activity = np.ones((2, 4))
    activity[0, 3], activity[1, 0] = 2.0, 2.0
    is_right = np.array([False, False, False, True])
    result = carriers(activity, is_right)
    assert result is not None
    assert result.cells == (3,)  # one of one on the right outweighs one of three on the left


def test_nothing_carries_no_difference() -> None:
    assert carriers(np.ones((2, 4)), RIGHT) is None
