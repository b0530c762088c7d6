"""Positions of rows, padded rows, packed documents and tokens behind a cache, against counts made by hand or by a loop."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from ordinate.errors import ArgumentError, ArgumentTypeError, ShapeError
from ordinate.position import indices


def test_consecutive_counts_from_a_start_for_all_rows_or_for_each():
    assert indices.consecutive(4).tolist() == [0, 1, 2, 3]
    assert indices.consecutive(3, start=-1).tolist() == [-1, 0, 1]
    assert indices.consecutive(2, start=torch.tensor([5, 0])).tolist() == [[5, 6], [0, 1]]
    assert indices.consecutive(0).shape == (0,)
    assert indices.consecutive(3).dtype is torch.int64
    assert indices.consecutive(2, start=torch.tensor([7], dtype=torch.int32)).dtype is torch.int64


def test_appended_tokens_stand_behind_what_each_row_has_cached():
    mask = torch.tensor([[0, 0, 1, 1], [1, 1, 1, 1]])
    assert indices.appended(mask.sum(-1), 2).tolist() == [[2, 3], [4, 5]]
    assert indices.appended(7, 1).tolist() == [7]


def test_left_padding_positions_come_from_the_mask_of_each_row():
    """Case left-padding; the second row shows that rows do not share an offset."""
    mask = torch.tensor([[0, 0, 1, 1, 1], [1, 1, 1, 1, 1]])
    assert indices.from_mask(mask).tolist() == [[0, 0, 0, 1, 2], [0, 1, 2, 3, 4]]


def test_right_padding_repeats_the_last_real_position():
    assert indices.from_mask(torch.tensor([True, True, False, False])).tolist() == [0, 1, 1, 1]


def test_a_hole_in_the_mask_takes_no_position():
    assert indices.from_mask(torch.tensor([1, 0, 1, 1])).tolist() == [0, 0, 1, 2]


def test_packed_positions_restart_in_every_document():
    """Case packed-positions, from boundaries and from lengths alike."""
    assert indices.from_cumulative([0, 3, 5]).tolist() == [0, 1, 2, 0, 1]
    assert indices.from_lengths([3, 2]).tolist() == [0, 1, 2, 0, 1]
    assert indices.documents([3, 2]).tolist() == [0, 0, 0, 1, 1]


def test_empty_documents_and_empty_rows_have_no_positions():
    assert indices.from_lengths([2, 0, 1]).tolist() == [0, 1, 0]
    assert indices.documents([2, 0, 1]).tolist() == [0, 0, 2]
    assert indices.from_lengths([]).shape == indices.documents([]).shape == (0,)
    assert indices.from_cumulative([0]).shape == (0,)


@given(st.lists(st.lists(st.integers(-2, 2), min_size=5, max_size=5), min_size=1, max_size=3))
def test_documents_in_any_order_count_their_own_tokens(rows):
    expected = [[row[:place].count(owner) for place, owner in enumerate(row)] for row in rows]
    assert indices.from_documents(torch.tensor(rows)).tolist() == expected
    assert indices.from_documents(torch.tensor(rows[0])).tolist() == expected[0]
    assert indices.from_documents(torch.zeros(2, 0, dtype=torch.int32)).shape == (2, 0)


@given(st.lists(st.integers(0, 9), max_size=8))
def test_packing_is_the_rows_end_to_end(lengths):
    rows = [position for length in lengths for position in range(length)]
    owners = [number for number, length in enumerate(lengths) for _ in range(length)]
    bounds = [sum(lengths[:count]) for count in range(len(lengths) + 1)]
    assert indices.from_lengths(lengths).tolist() == rows
    assert indices.from_cumulative(bounds).tolist() == rows
    assert indices.documents(lengths).tolist() == owners


@given(st.lists(st.booleans(), min_size=1, max_size=12))
def test_every_real_token_counts_the_real_tokens_before_it(mask):
    found = indices.from_mask(torch.tensor(mask)).tolist()
    for token, real in enumerate(mask):
        if real:
            assert found[token] == sum(mask[:token])
    assert min(found) >= 0  # padding too can index a table


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: indices.consecutive(-1), ArgumentError, r"length: expected 0 or more"),
        (lambda: indices.consecutive(2.0), ArgumentTypeError, r"length: expected a whole number of tokens, got 2.0"),
        (lambda: indices.consecutive(True), ArgumentTypeError, r"length: expected a whole number"),
        (lambda: indices.consecutive(2, start=0.5), ArgumentTypeError, r"start: expected an int or an integer tensor"),
        (lambda: indices.consecutive(2, start=torch.tensor([0.5])), ArgumentTypeError, r"start: .*torch.float32"),
        (lambda: indices.consecutive(2, start=torch.zeros(2, 2).long()), ShapeError, r"start: expected a tensor \[B\]"),
        (lambda: indices.appended(torch.tensor([3, -1]), 1), ArgumentError, r"cached_lengths: .*mask.sum"),
        (
            lambda: indices.from_mask(torch.tensor([0.0, 1.0])),
            ArgumentTypeError,
            r"mask: expected an integer tensor, got torch.f",
        ),
        (lambda: indices.from_mask(torch.tensor([0, 2])), ArgumentError, r"mask: expected only 0 \(padding\) and 1 \(token\)"),
        (lambda: indices.from_mask(torch.ones(1, 1, 1, 1).bool()), ShapeError, r"mask: expected a tensor \[T \| B T\]"),
        (lambda: indices.from_lengths([2, -1]), ArgumentError, r"lengths: .*from_cumulative"),
        (lambda: indices.from_lengths([1.5]), ArgumentTypeError, r"lengths: expected an integer tensor"),
        (lambda: indices.from_cumulative([1, 3]), ArgumentError, r"cumulative_lengths: .*start at 0 and never fall"),
        (lambda: indices.from_cumulative([0, 3, 2]), ArgumentError, r"cumulative_lengths: .*start at 0 and never fall"),
    ],
)
def test_what_is_no_count_or_mask_is_refused_in_words(call, error, words):
    with pytest.raises(error, match=words):
        call()


@pytest.mark.parametrize(
    ("positions", "error", "words"),
    [
        ([0, 1], ArgumentTypeError, "expected an integer tensor"),
        (torch.zeros(3, dtype=torch.bfloat16), ArgumentTypeError, "keep positions out of the model's dtype"),
        (torch.zeros(3, dtype=torch.bool), ArgumentTypeError, "expected positions as integers, float32 or float64"),
        (torch.zeros(2, 2, 2), ShapeError, r"\[T \| B T\]"),
        (torch.zeros(4).long(), ShapeError, "one position for each of the 3 tokens"),
        (torch.zeros(5, 3).long(), ShapeError, "B=2"),
        (torch.tensor([0.0, float("nan"), 1.0]), ArgumentError, "expected finite positions, got NaN or infinity"),
    ],
)
def test_positions_that_do_not_fit_are_refused_in_words(positions, error, words):
    with pytest.raises(error, match=words):
        indices.check_positions("positions", positions, length=3, batch=2)


def test_fractional_positions_are_refused_only_where_a_table_is_indexed():
    indices.check_positions("positions", torch.tensor([0.5]))
    with pytest.raises(ArgumentTypeError, match=r"expected positions as integers, got torch.float32"):
        indices.check_positions("positions", torch.tensor([0.5]), continuous=False)
