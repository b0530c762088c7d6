"""Masks look at positions; here they are compared with loops over pairs of tokens."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from ordinate.attention import Causal, Documents, Padding, Window
from ordinate.errors import ArgumentError, ArgumentTypeError, ShapeError
from ordinate.position import indices

positions = st.lists(st.integers(0, 50), min_size=1, max_size=8)


def pairs(rule, queries, keys):
    return [[rule(q, k) for k in keys] for q in queries]


@given(positions, positions, st.integers(1, 6))
def test_rules_on_positions_are_those_on_pairs_of_tokens(queries, keys, window):
    q, k = torch.tensor(queries), torch.tensor(keys)
    assert Causal().visible(q, k)[0, 0].tolist() == pairs(lambda i, j: j <= i, queries, keys)
    assert Window(window).visible(q, k)[0, 0].tolist() == pairs(lambda i, j: j in range(i - window + 1, i + 1), queries, keys)
    both = Window(window, both_sides=True).visible(q, k)[0, 0].tolist()
    assert both == pairs(lambda i, j: j in range(i - window + 1, i + window), queries, keys)


@given(st.integers(1, 30), st.integers(1, 10))
def test_a_window_shows_as_many_keys_as_its_name_says(window, queries_past):
    row = Window(window_keys=window).visible(torch.tensor([40]), torch.arange(41 + queries_past))
    assert int(row.sum()) == window


def test_a_query_of_one_token_over_a_long_cache_sees_all_of_it():
    visible = Causal().visible(indices.appended(1000, 1), indices.consecutive(1001))
    assert visible.shape == (1, 1, 1, 1001)
    assert visible.all()


def test_rows_may_have_positions_of_their_own():
    visible = Causal().visible(torch.tensor([[0], [2]]), torch.arange(3))
    assert visible[:, 0, 0].tolist() == [[True, False, False], [True, True, True]]


def test_masks_compose_like_sets():
    q = k = indices.from_lengths([3, 2])
    documents = Documents(indices.documents([3, 2]))
    packed = (Causal() & documents).visible(q, k)[0, 0].int()
    assert packed.tolist() == [[1, 0, 0, 0, 0], [1, 1, 0, 0, 0], [1, 1, 1, 0, 0], [0, 0, 0, 1, 0], [0, 0, 0, 1, 1]]
    assert torch.equal((~Causal()).visible(q, k), ~Causal().visible(q, k))
    assert (Causal() | ~Causal()).visible(q, k).all()
    assert not (documents & ~documents).visible(q, k).any()


def test_documents_cover_the_cache_too():
    visible = Documents(torch.tensor([1]), torch.tensor([0, 0, 1, 1])).visible(torch.tensor([1]), torch.tensor([0, 1, 0, 1]))
    assert visible[0, 0].tolist() == [[False, False, True, True]]


def test_padding_hides_keys_row_by_row():
    visible = Padding(torch.tensor([[0, 1, 1], [1, 1, 1]])).visible(torch.arange(3), torch.arange(3))
    assert visible.shape == (2, 1, 1, 3)
    assert visible[:, 0, 0].tolist() == [[False, True, True], [True, True, True]]


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: Window(0), ArgumentError, "window_keys: expected an integer of at least 1"),
        (lambda: Window(2.0), ArgumentTypeError, "window_keys: expected an integer"),
        (lambda: Padding(torch.zeros(3)), ArgumentTypeError, "not an additive mask"),
        (lambda: Padding(torch.tensor([0, 2])), ArgumentError, "only 0 and 1"),
        (lambda: Padding(torch.ones(2, 2, 2, dtype=torch.bool)), ShapeError, r"a tensor \[S \| B S\]"),
        (lambda: Documents(torch.zeros(3)), ArgumentTypeError, "one document number a token"),
        (lambda: Causal() & torch.ones(3), ArgumentTypeError, r"goes into Padding\(key_mask\)"),
    ],
)
def test_a_mask_that_makes_no_sense_is_refused_in_words(make, error, words):
    with pytest.raises(error, match=words):
        make()
