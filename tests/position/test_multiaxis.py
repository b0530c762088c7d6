"""What encodings over several axes share: tables put together axis by axis, sections, and the check of positions."""

import math
import re

import pytest
import torch
from torch.testing import assert_close

from ordinate.errors import ArgumentError, ArgumentTypeError
from ordinate.position import indices
from ordinate.position.multiaxis import axis_tables, check_axis_positions, check_sections


def test_tables_take_each_pair_from_its_axis_in_the_order_told():
    cos, sin = axis_tables(torch.tensor([[2, 5]]), [[1.0, 0.1], [3.0]], [2, 0, 1], dtype=torch.float64)
    assert_close(cos, torch.tensor([[math.cos(15), math.cos(2), math.cos(0.2)]], dtype=torch.float64))
    assert_close(sin, torch.tensor([[math.sin(15), math.sin(2), math.sin(0.2)]], dtype=torch.float64))
    halved, _ = axis_tables(torch.tensor([[2, 5]]), [[1.0], [3.0]], [0, 1], factor=0.5, dtype=torch.float64)
    assert_close(halved, torch.tensor([[math.cos(2) / 2, math.cos(15) / 2]], dtype=torch.float64))


def test_sections_may_leave_pairs_over_only_where_they_may():
    assert check_sections([2, 3], 8, exact=False) == (2, 3)
    with pytest.raises(ArgumentError, match=re.escape("that sum to 8 (half the rotated channels), got (2, 3), which sum to 5")):
        check_sections([2, 3], 8, exact=True)


def test_fractional_positions_are_refused_only_where_a_table_is_indexed():
    positions = indices.grid(2, 2, coordinates="centred")
    check_axis_positions("positions", positions, 2)
    with pytest.raises(ArgumentTypeError, match=re.escape("expected positions as integers, got torch.float64")):
        check_axis_positions("positions", positions, 2, continuous=False)
