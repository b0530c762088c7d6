"""Differences are judged as scipy's paired t-test judges them, and corrected as Holm does."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from ordinate.errors import ArgumentError, ShapeError
from ordinate.reservoir.tasks.comparison import holm, interval, paired, verdict

SCORES = st.lists(st.floats(-100, 100), min_size=2, max_size=8)


@settings(deadline=None)
@given(st.integers(2, 8), st.integers(0, 1000))
def test_intervals_and_p_are_scipys(count, seed):
    first, second = np.random.default_rng(seed).normal(size=(2, count))
    mean, lower, upper, p = paired(first, second)
    result = stats.ttest_rel(first, second)
    assert p == pytest.approx(result.pvalue, rel=1e-9)
    assert (lower, upper) == pytest.approx(tuple(result.confidence_interval(0.95)), rel=1e-9)
    assert mean == pytest.approx(first.mean() - second.mean(), abs=1e-12)
    expected = stats.t.interval(0.95, count - 1, first.mean(), stats.sem(first))
    assert interval(first)[1:] == pytest.approx(expected, rel=1e-9)


def test_equal_scores_are_not_different_and_a_constant_difference_is_certain():
    assert paired([1.0, 2.0, 3.0], [1.0, 2.0, 3.0]) == (0.0, 0.0, 0.0, 1.0)
    assert paired([2.0, 3.0, 4.0], [1.0, 2.0, 3.0]) == (1.0, 1.0, 1.0, 0.0)


def test_holm_multiplies_the_smallest_by_all_the_next_by_one_less_and_keeps_the_order():
    """Worked by hand: sorted .005 .01 .03 .04 gives 4 · .005, 3 · .01, 2 · .03, then not less than that."""
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.6, 0.7]) == pytest.approx([1.0, 1.0])
    assert holm([]) == []


@settings(deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_holm_never_lowers_a_p_and_never_passes_bonferroni(p):
    for before, after in zip(p, holm(p), strict=True):
        assert before <= after <= min(1.0, len(p) * before) + 1e-12


def test_under_no_difference_one_card_in_twenty_at_most_names_any():
    """2,000 cards of ten comparisons without a difference: uncorrected, four in ten would name one."""
    differences = np.random.default_rng(0).normal(size=(5, 2000, 10))
    p = stats.ttest_1samp(differences, 0).pvalue
    wrong = sum(min(holm(row.tolist())) < 0.05 for row in p)
    uncorrected = (p.min(axis=1) < 0.05).sum()
    assert wrong / 2000 < 0.065
    assert uncorrected / 2000 > 0.3


def test_the_word_follows_sign_direction_and_level():
    assert verdict(0.3, 0.01, True) == verdict(-0.3, 0.01, False) == "connectome better"
    assert verdict(0.3, 0.01, False) == verdict(-0.3, 0.01, True) == "connectome worse"
    assert verdict(9.9, 0.05, True) == "not different"


@pytest.mark.parametrize(
    ("call", "error", "told"),
    [
        (lambda: interval([1.0]), ArgumentError, "two or more finite numbers, got \\[1.0\\]; take more seeds"),
        (lambda: interval([1.0, np.nan]), ArgumentError, "two or more finite numbers"),
        (lambda: paired([1.0, 2.0], [1.0]), ShapeError, "second: expected 2 scores"),
    ],
)
def test_too_few_scores_are_refused_with_a_reason(call, error, told):
    with pytest.raises(error, match=told):
        call()
