"""What encodings over several axes share: rotations of pairs that belong to one axis, sections, and the check of positions."""

import math
import re

import pytest
import torch
from torch.testing import assert_close

from ordinate.errors import ArgumentError, ArgumentTypeError
from ordinate.position import AxialRotary, MultimodalRotary, indices
from ordinate.position.indices import check_axis_positions
from ordinate.position.rotary.axis_rotation import AxisFrequencies, check_sections


def test_each_pair_turns_with_its_axis():
    cos, sin = AxisFrequencies([1, 0, 0], [3.0, 1.0, 0.1]).rotation(torch.tensor([[2, 5]]), "half", torch.float64).tables
    assert_close(cos, torch.tensor([[math.cos(15), math.cos(2), math.cos(0.2)]], dtype=torch.float64))
    assert_close(sin, torch.tensor([[math.sin(15), math.sin(2), math.sin(0.2)]], dtype=torch.float64))
    halved, _ = AxisFrequencies([0, 1], [1.0, 3.0], 0.5).rotation(torch.tensor([[2, 5]]), "half", torch.float64).tables
    assert_close(halved, torch.tensor([[math.cos(2) / 2, math.cos(15) / 2]], dtype=torch.float64))


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_queries_and_keys_turned_together_are_as_turned_apart(dtype):
    positions = indices.multimodal([2, (1, 2, 2), 1])
    q, k = torch.randn(2, 4, 7, 16, dtype=dtype), torch.randn(2, 2, 7, 16, dtype=dtype)
    multimodal = MultimodalRotary(16, layout="half", sections=(2, 3, 3))
    axial = AxialRotary(16, layout="interleaved")
    for rotary, at in ((multimodal, positions), (multimodal, torch.arange(7)), (axial, positions[:, 1:])):
        both = rotary.rotate_both(q, k, at)
        assert all(torch.equal(a, rotary.rotate(b, at)) for a, b in zip(both, (q, k), strict=True))


def test_sections_may_leave_pairs_over_only_where_they_may():
    assert check_sections([2, 3], 8, exact=False) == (2, 3)
    with pytest.raises(ArgumentError, match=re.escape("that sum to 8 (half the rotated channels), got (2, 3), which sum to 5")):
        check_sections([2, 3], 8, exact=True)


def test_fractional_positions_are_refused_only_where_a_table_is_indexed():
    positions = indices.grid(2, 2, coordinates="centred")
    check_axis_positions("positions", positions, 2)
    with pytest.raises(ArgumentTypeError, match=re.escape("expected positions as integers, got torch.float64")):
        check_axis_positions("positions", positions, 2, continuous=False)
