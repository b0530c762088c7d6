import pytest
import torch
from torch.testing import assert_close

from ordinate.errors import ArgumentTypeError, ShapeError
from ordinate.position import TextLayoutBias


def test_layoutlmv3_adds_it_so():
    modeling = pytest.importorskip("transformers.models.layoutlmv3.modeling_layoutlmv3")
    config = pytest.importorskip("transformers").LayoutLMv3Config(
        hidden_size=32, num_attention_heads=4, num_hidden_layers=1, intermediate_size=16
    )
    theirs = modeling.LayoutLMv3Encoder(config).double()
    ours = TextLayoutBias(4, 8).double()
    names = (("row", "rel_pos_bias"), ("x", "rel_pos_x_bias"), ("y", "rel_pos_y_bias"))
    with torch.no_grad():
        for mine, name in names:
            torch.nn.init.normal_(getattr(theirs, name).weight)
            getattr(ours, mine).weight.copy_(getattr(theirs, name).weight.T)
    places, boxes = torch.arange(30).expand(2, -1), torch.randint(0, 1001, (2, 30, 4))
    expected = theirs._compute_position_bias(places, boxes)
    positions = torch.stack((places, boxes[..., 0], boxes[..., 3]), dim=-1)
    found = ours.bias(positions, positions)
    # a float32 logarithm may put an offset one bucket too low
    assert ((found - expected).abs().amax((0, 1)) < 1e-9).double().mean() > 0.97


def test_each_axis_has_a_table_of_its_own():
    ours = TextLayoutBias(2, 16, num_buckets=8, max_distance=16, layout_buckets=8, max_offset=32)
    here, there = torch.tensor([[5, 100, 40]]), torch.tensor([[3, 100, 41]])
    rows = [ours.row.buckets(torch.tensor(2)), ours.x.buckets(torch.tensor(0)), ours.y.buckets(torch.tensor(-1))]
    expected = sum(table.weight[row] for table, row in zip((ours.row, ours.x, ours.y), rows, strict=True)) / 4
    assert_close(ours.bias(here, there)[:, 0, 0], expected)


def test_positions_without_a_box_are_refused():
    with pytest.raises(ShapeError, match="query_positions: expected positions with 3 axes"):
        TextLayoutBias(2, 16).bias(torch.arange(4), torch.arange(4))
    with pytest.raises(ArgumentTypeError, match="query_positions: expected positions as integers"):
        TextLayoutBias(2, 16).bias(torch.zeros(4, 3), torch.zeros(4, 3))
