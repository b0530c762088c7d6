import pytest
import torch
from torch.testing import assert_close

from ordinate.errors import ArgumentError, ShapeError
from ordinate.position import MultiHeadRotary, Rotary, indices


def test_each_head_is_rotary_on_its_axis_and_heads_left_over_do_not_turn():
    torch.manual_seed(0)
    positions = indices.multimodal([3, (1, 2, 3), 2])
    x = torch.randn(2, 10, len(positions), 8, dtype=torch.float64)
    module = MultiHeadRotary(8, layout="half", sections=(2, 1, 1), num_key_value_heads=5)
    plain = Rotary(8, layout="half")
    owner = [0, 0, 0, 0, 1, 1, 2, 2]  # two query heads share a key-value head
    expected = torch.stack([plain.rotate(x[:, [h]], positions[:, a])[:, 0] for h, a in enumerate(owner)], 1)
    found = module.rotate_query(x, positions)
    assert_close(found, torch.cat((expected, x[:, 8:]), 1))
    batched = positions.expand(2, -1, -1) + torch.tensor([0, 5])[:, None, None]
    assert_close(module.rotate_query(x, batched)[1], module.rotate_query(x, positions + 5)[1])


def test_text_is_plain_rotary():
    x, steps = torch.randn(1, 3, 6, 8), torch.arange(6)
    module = MultiHeadRotary(8, layout="interleaved", sections=(1, 1, 1))
    assert_close(module.rotate_key(x, steps), Rotary(8, layout="interleaved").rotate(x, steps))


def test_what_does_not_fit_is_said():
    with pytest.raises(ArgumentError, match="num_key_value_heads"):
        MultiHeadRotary(8, layout="half", sections=(2, 2), num_key_value_heads=3)
    with pytest.raises(ArgumentError, match="two axes or more"):
        MultiHeadRotary(8, layout="half", sections=(2,))
    with pytest.raises(ShapeError, match="multiple of 3 heads"):
        MultiHeadRotary(8, layout="half", sections=(1, 1, 1)).rotate_key(torch.randn(1, 4, 2, 8), torch.arange(2))
