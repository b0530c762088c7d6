"""A cause is named where the numbers are the fault's to the precision of the arithmetic, and nowhere else."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from ordinate.verify import check_rotary


def rotation(base: float, dim: int, change: Callable[[Tensor], Tensor]) -> Callable[[Tensor, Tensor], Tensor]:
    """A rotation in float32 whose frequencies were changed."""
    frequencies = change(base ** -(torch.arange(0, dim, 2).double() / dim)).float()

    def rotate(x: Tensor, positions: Tensor) -> Tensor:
        theta = positions.float()[..., None] * frequencies
        theta = theta if theta.ndim == 2 else theta[:, None]
        a, b = x.chunk(2, -1)
        return torch.cat((a * theta.cos() - b * theta.sin(), a * theta.sin() + b * theta.cos()), -1).to(x.dtype)

    return rotate


def slowest_doubled(count: int) -> Callable[[Tensor], Tensor]:
    return lambda frequencies: torch.cat((frequencies[:-count], 2 * frequencies[-count:]))


@pytest.mark.in_turn(4)
@pytest.mark.parametrize(("base", "dim"), [(1e4, 64), (1e4, 128), (1e6, 64), (1e6, 128)])
@pytest.mark.parametrize("count", [1, 8])
def test_slow_pairs_that_turn_twice_as_fast_are_no_known_fault(base, dim, count):
    verdict = check_rotary(rotation(base, dim, slowest_doubled(count)), base=base, head_dim=dim, skip=["compile"])
    assert not verdict.passed
    assert verdict.causes == ()
    assert "no known fault" in verdict.summary


@pytest.mark.in_turn(2)
@pytest.mark.parametrize(("base", "dim"), [(1e4, 64), (1e6, 128)])
@pytest.mark.parametrize(
    ("cause", "change"),
    [
        ("last-pair-left-out", lambda rates: torch.cat((rates[:-1], 0 * rates[-1:]))),
        ("exponent-halved", lambda rates: rates.sqrt()),
        ("ladder-reversed", lambda rates: rates.flip(0)),
        ("degrees", lambda rates: rates * torch.pi / 180),
    ],
)
def test_a_fault_in_float32_is_named_at_other_widths_and_bases(base, dim, cause, change):
    verdict = check_rotary(rotation(base, dim, change), base=base, head_dim=dim, skip=["compile"])
    assert verdict.causes[0].id == cause


def test_one_token_a_row_with_later_rows_unwritten_is_named():
    right = rotation(1e4, 64, lambda rates: rates)

    def kernel(x: Tensor, positions: Tensor) -> Tensor:
        result = torch.zeros_like(x)
        rows = 1 if x.shape[2] == 1 else len(x)  # a grid with one block a row, launched for one row
        result[:rows] = right(x, positions)[:rows]
        return result

    verdict = check_rotary(kernel, skip=["compile"])
    assert [outcome.id for outcome in verdict.failed] == ["one-token"]
    assert verdict.causes[0].id == "later-rows-unwritten"


def test_a_partial_rotation_over_the_whole_head_is_named():
    frequencies = 10000.0 ** -(torch.arange(0, 64, 2).double() / 64)
    frequencies[8:] = 0
    verdict = check_rotary(rotation(1e4, 64, lambda rates: frequencies), rotary_dim=16, skip=["compile"])
    assert verdict.causes[0].id == "partial-as-proportional"
