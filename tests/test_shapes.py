"""The shape check: what it returns, and what it says."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from ordinate.errors import ArgumentTypeError, ShapeError
from ordinate.shapes import LEGEND, check_shape


@given(st.lists(st.integers(0, 4), min_size=4, max_size=4))
def test_the_sizes_come_back_by_letter(sizes):
    assert check_shape("x", torch.zeros(sizes), "B H T D") == dict(zip("BHTD", sizes, strict=True))


def test_alternatives_and_a_leading_ellipsis():
    assert check_shape("p", torch.zeros(3), "T | B T") == {"T": 3}
    assert check_shape("p", torch.zeros(2, 3), "T | B T") == {"B": 2, "T": 3}
    assert check_shape("x", torch.zeros(5, 2, 3), "... T D") == {"T": 2, "D": 3}
    with pytest.raises(ShapeError):
        check_shape("x", torch.zeros(3), "... T D")


def test_the_message_gives_argument_expectation_shape_and_legend():
    with pytest.raises(ShapeError) as told:
        check_shape("keys", torch.zeros(2, 3), "B G S D", D=64)
    assert str(told.value) == (
        "keys: expected a tensor [B G S D] with D=64, got shape (2, 3); the axes are B batch, "
        "G key-value heads (H is a multiple of G), S key tokens, D channels of a head, or of the embedding"
    )
    with pytest.raises(ShapeError, match="D=64, got shape"):
        check_shape("keys", torch.zeros(1, 1, 1, 32), "B G S D", D=64)


def test_what_has_no_shape_is_a_type_error():
    with pytest.raises(ArgumentTypeError, match=r"x: expected a tensor \[T\], got list"):
        check_shape("x", [1, 2], "T")


def test_every_letter_of_the_legend_is_one_letter():
    assert all(len(letter) == 1 and letter.isupper() for letter in LEGEND)
