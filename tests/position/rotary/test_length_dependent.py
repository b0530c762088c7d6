import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from ordinate.errors import ArgumentError, ArgumentTypeError, RefusedError, ShapeError
from ordinate.frequencies import DynamicNTK, LongRoPE, SteppedNTK, inverse_frequencies
from ordinate.frequencies.scaling import Settings
from ordinate.position import Rotary
from ordinate.position.rotary.single_axis import row_frequencies, row_lengths

SCALINGS = [DynamicNTK(2.0, 32), DynamicNTK(8.0, 2048), SteppedNTK(32), LongRoPE([1.0] * 8, [3.0] * 8, 32, 10**9)]


def on_tensors(scaling, lengths: torch.Tensor, rotary_dim: int = 16) -> torch.Tensor:
    within, beyond = (
        torch.tensor(inverse_frequencies(rotary_dim, 1e4, scaling, length), dtype=torch.float64)
        for length in (None, scaling.original_context + 1)
    )
    return row_frequencies(scaling, lengths, within, beyond, 1e4)


@pytest.mark.parametrize("scaling", SCALINGS, ids=repr)
@given(lengths=st.lists(st.integers(1, 2**31), min_size=1, max_size=4))
def test_the_rules_on_tensors_are_the_rules_on_numbers(scaling, lengths):
    found = on_tensors(scaling, torch.tensor(lengths))
    expected = [inverse_frequencies(16, 1e4, scaling, length) for length in lengths]
    assert_close(found, torch.tensor(expected, dtype=torch.float64), rtol=1e-13, atol=0)


@pytest.mark.parametrize("doublings", range(26))
def test_steps_come_at_exactly_the_doubled_context(doublings):
    scaling = SteppedNTK(32)
    for length in (32 * 2**doublings, 32 * 2**doublings + 1):
        expected = torch.tensor(inverse_frequencies(16, 1e4, scaling, length), dtype=torch.float64)
        assert_close(on_tensors(scaling, torch.tensor(length)), expected, rtol=1e-13, atol=0)


def test_a_single_pair_is_left_alone():
    assert on_tensors(DynamicNTK(2.0, 32), torch.tensor(1000), rotary_dim=2).tolist() == [1.0]


class Halving(Settings):
    """Somebody else's scaling: frequencies halved past 10 tokens."""

    depends_on_length = True
    original_context = 10

    def inverse_frequencies(self, rotary_dim, base, length=None):
        plain = inverse_frequencies(rotary_dim, base)
        return tuple(f / 2 for f in plain) if (length or 0) > 10 else plain


def test_a_scaling_of_your_own_is_asked_row_by_row():
    rotary = Rotary(8, layout="half", scaling=Halving())
    steps = torch.arange(12).expand(2, -1)
    cos, _ = rotary.tables(steps, length=torch.tensor([10, 12]))
    plain, _ = Rotary(8, layout="half").tables(torch.arange(12))
    half, _ = Rotary(8, layout="half").tables(torch.arange(12) / 2)
    assert torch.equal(cos[0], plain)
    assert torch.equal(cos[1], half)


@pytest.mark.parametrize(
    ("positions", "reached"),
    [
        (torch.tensor([0, 255], dtype=torch.uint8), 256),
        (torch.tensor([0, 127], dtype=torch.int8), 128),
        (torch.tensor([0, 2**31 - 1], dtype=torch.int32), 2**31),
    ],
)
def test_the_length_of_a_row_does_not_wrap_in_a_narrow_dtype(positions, reached):
    assert row_lengths(SCALINGS[0], positions, None).item() == reached


def test_a_row_that_starts_past_zero_within_the_trained_context_needs_no_length():
    assert row_lengths(SCALINGS[0], torch.arange(5, 20), None).item() == 20


@pytest.mark.parametrize(
    ("length", "error", "words"),
    [
        (
            None,
            RefusedError,
            r"length: expected the row's total length, since DynamicNTK\(.*\) changes frequencies past 32 tokens",
        ),
        (0, ArgumentError, "length: expected 1 token or more, got 0"),
        (torch.tensor([5, -1]), ArgumentError, r"length: .* got \[5, -1\]"),
        (12.0, ArgumentTypeError, "length: expected an int, or integers .* got float"),
        (True, ArgumentTypeError, "length"),
        (torch.tensor([1.0, 2.0]), ArgumentTypeError, "length: expected integers, got torch.float32"),
        (torch.tensor([1, 2, 3]), ShapeError, r"length: expected one number, or one a row \[B\], got shape \(3,\)"),
    ],
)
def test_bad_lengths_are_named(length, error, words):
    with pytest.raises(error, match=words):
        row_lengths(SCALINGS[0], torch.arange(30, 40).expand(2, -1), length)
