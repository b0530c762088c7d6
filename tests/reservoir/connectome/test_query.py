"""Queries match whole words, obey their operators, and say what is wrong with them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ordinate.errors import ArgumentError, UnknownNameError
from ordinate.reservoir import Connectome
from ordinate.reservoir.connectome.query import words_of

BRAIN = Connectome(
    np.eye(6),
    side=["left", "left", "right", "right", "unknown", "left"],
    kind=["sensory", "PN", "sensory", "PN", "", "PN"],
    labels=[{"olfactory"}, {"olfactory 2nd_order PN"}, {"visual"}, {"47a&33b PN"}, (), ("olfactory 2nd_order PN", "mPN")],
)


def test_a_word_is_matched_whole():
    """ "olfactory" is a sense; "olfactory 2nd_order PN" is a projection neuron that a match of parts would take along."""
    assert BRAIN.select("olfactory").tolist() == [0]
    assert BRAIN.select("olfactory 2nd_order PN").tolist() == [1, 5]


@pytest.mark.parametrize(
    ("query", "chosen"),
    [
        ("left", [0, 1, 5]),
        ("sensory & left", [0]),
        ("sensory | PN & left", [0, 1, 2, 5]),  # & binds before |
        ("(sensory | PN) & left", [0, 1, 5]),
        ("!left", [2, 3, 4]),
        ("! (left | right)", [4]),
        ("!!left", [0, 1, 5]),
        ('"47a&33b PN"', [3]),
        ("  mPN  ", [5]),
        ("unknown", [4]),
    ],
)
def test_operators_do_what_they_say(query, chosen):
    assert BRAIN.select(query).tolist() == chosen


@given(st.lists(st.integers(0, 5), min_size=1))
def test_indices_come_back_sorted_and_once(result):
    assert BRAIN.select(result).tolist() == sorted(set(result))


def test_a_mask_and_no_neurons_where_that_is_allowed():
    assert BRAIN.select(np.array([True, False, False, True, False, False])).tolist() == [0, 3]
    assert BRAIN.select([], allow_empty=True).tolist() == []
    assert BRAIN.select("nobody has this", allow_empty=True).tolist() == []


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("sensory & right & olfactory", "at least one neuron"),
        ([], "at least one neuron"),
        ("sensory &", "no word"),
        ("& left", "a stray '&'"),
        ("(left", "a parenthesis that is not closed"),
        ("left & right)", "a stray ')'"),
        ("", "no word"),
        ('"left', "got"),
        ([6], "indices from 0 to 5"),
        ([-1], "indices from 0 to 5"),
        ([0.5], "indices from 0 to 5"),
    ],
)
def test_queries_that_cannot_be_are_refused_with_the_reason(query, said):
    with pytest.raises(ArgumentError) as refused:
        BRAIN.select(query)
    assert said in str(refused.value)


def test_an_unknown_word_is_told_with_a_near_one():
    with pytest.raises(UnknownNameError, match='got olfactry; did you mean "olfactory"'):
        BRAIN.select("olfactry & left")


def test_the_words_of_a_neuron_are_its_side_kind_and_labels():
    assert words_of(BRAIN, 5) == {"left", "PN", "mPN", "olfactory 2nd_order PN"}
    assert words_of(BRAIN, 4) == {"unknown"}
