import math

import pytest
import torch
from torch.testing import assert_close

from ordinate.position.rotation import reference_rotation
from ordinate.position.short_rotation import short_ladder, short_rotation, short_tables, turn_short

LAYOUTS = ["half", "interleaved"]
FREQUENCIES = 10000.0 ** (-torch.arange(4, dtype=torch.float64) / 4)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("positions", [torch.tensor([3, 70_000]), torch.tensor([[3, 70_000], [5, 1]])], ids=["T", "BT"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_its_tables_turn_by_the_angle_and_carry_the_factor(layout, positions, dtype):
    tables = short_tables(positions, short_ladder(FREQUENCIES, layout), 1.5, dtype)
    x = torch.randn(2, 3, 2, 8, dtype=dtype)
    angles = positions.double().unsqueeze(-1) * FREQUENCIES
    expected = reference_rotation(x.double(), 1.5 * angles.cos(), 1.5 * angles.sin(), layout)
    assert_close(turn_short(x, tables, 0, None).double(), expected, rtol=0, atol=1e-6 if dtype is torch.float32 else 1e-14)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_turn_by_nothing_changes_no_bit(layout):
    x = torch.randn(2, 3, 2, 8)
    tables = short_tables(torch.zeros(2, dtype=torch.int64), short_ladder(FREQUENCIES, layout), 1.0, torch.float32)
    assert torch.equal(turn_short(x, tables, 0, None), x)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_exponential_that_serves_interleaved_pairs_is_as_exact_as_cosine_and_sine(layout):
    for position in (1, 131071, 16777217, 2**31 - 1):
        tables = short_tables(torch.tensor([position]), short_ladder(FREQUENCIES, layout), 1.0, torch.float64)
        cos, sin = (tables[0][0, 4:], tables[1][0, 4:]) if layout == "half" else (tables[0][0].real, tables[0][0].imag)
        for pair, frequency in enumerate(FREQUENCIES.tolist()):
            assert cos[pair].item() == pytest.approx(math.cos(position * frequency), abs=1e-15)
            assert sin[pair].item() == pytest.approx(math.sin(position * frequency), abs=1e-15)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("strides", [(64, 32, 8, 1), (63, 21, 9, 1), (7, 5, 3, 2)])
def test_any_strides_will_do_for_single_tokens_too(layout, strides):
    """A size of one may have any stride, an odd one too, and still be called contiguous."""
    for shape in ((1, 1, 1, 8), (2, 3, 2, 8)):
        x = torch.as_strided(torch.randn(500), shape, strides)
        cos, sin = torch.randn(2, shape[2], 4)
        assert_close(short_rotation(x, cos, sin, layout), reference_rotation(x, cos, sin, layout))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_gradient_reaches_x(layout):
    x = torch.randn(1, 2, 1, 9, dtype=torch.float64, requires_grad=True)
    cos, sin = torch.randn(2, 1, 4, dtype=torch.float64)
    assert torch.autograd.gradcheck(lambda x: short_rotation(x, cos, sin, layout, 1), (x,))
