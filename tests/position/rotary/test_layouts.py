import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.testing import assert_close

from ordinate.errors import ArgumentError, ArgumentTypeError, ShapeError
from ordinate.position import Rotary, convert_layout
from ordinate.position.rotary.layouts import layout_order

LAYOUTS = ("half", "interleaved")


def test_half_from_interleaved_is_the_permutation_of_evens_then_odds():
    assert layout_order(8, source="interleaved", target="half").tolist() == [0, 2, 4, 6, 1, 3, 5, 7]
    assert layout_order(8, source="half", target="interleaved").tolist() == [0, 4, 1, 5, 2, 6, 3, 7]


@given(
    heads=st.integers(1, 5),
    pairs=st.integers(1, 8),
    rest=st.integers(0, 5),
    last=st.booleans(),
    dim=st.sampled_from([0, 1, -1]),
    source=st.sampled_from(LAYOUTS),
)
def test_there_and_back_is_the_identity_bit_for_bit(heads, pairs, rest, last, dim, source):
    size, target = heads * (2 * pairs + rest), LAYOUTS[1 - LAYOUTS.index(source)]
    shape = [3, 3]
    shape[dim] = size
    tensor = torch.randn(shape)
    settings = {"num_heads": heads, "rotary_dim": 2 * pairs, "rotated_channels": "last" if last else "first", "dim": dim}
    there = convert_layout(tensor, source=source, target=target, **settings)
    assert torch.equal(convert_layout(there, source=target, target=source, **settings), tensor)
    assert torch.equal(there.sort(dim).values, tensor.sort(dim).values)


@pytest.mark.parametrize("rotary_dim", [16, 6])
@pytest.mark.parametrize("rotated_channels", ["first", "last"])
@pytest.mark.parametrize(("source", "target"), [LAYOUTS, LAYOUTS[::-1]])
def test_rotating_the_converted_is_converting_the_rotated(source, target, rotary_dim, rotated_channels):
    x, steps = torch.randn(2, 3, 5, 16, dtype=torch.float64), torch.arange(5) * 1000

    def convert(x):
        return convert_layout(x, source=source, target=target, rotary_dim=rotary_dim, rotated_channels=rotated_channels)

    before, after = (
        Rotary(16, layout=layout, rotary_dim=rotary_dim, rotated_channels=rotated_channels) for layout in (source, target)
    )
    assert_close(after.rotate(convert(x), steps), convert(before.rotate(x, steps)), rtol=0, atol=1e-14)


@pytest.mark.parametrize(("source", "target"), [LAYOUTS, LAYOUTS[::-1]])
def test_converted_projections_give_the_same_scores(source, target):
    """Weights and biases of queries and keys, partial rotary, fewer heads for keys than for queries."""
    hidden, heads, groups, head_dim, rotary_dim = 24, 4, 2, 12, 8
    torch.manual_seed(0)
    x, steps = torch.randn(1, 7, hidden, dtype=torch.float64), torch.arange(7)
    queries, keys = (nn.Linear(hidden, n * head_dim).double() for n in (heads, groups))

    def scores(layout):
        rotary = Rotary(head_dim, layout=layout, rotary_dim=rotary_dim)
        q = rotary.rotate(queries(x).unflatten(-1, (heads, head_dim)).transpose(1, 2), steps)
        k = rotary.rotate(keys(x).unflatten(-1, (groups, head_dim)).transpose(1, 2), steps)
        return q @ k.repeat_interleave(heads // groups, dim=1).mT

    before = scores(source)
    with torch.no_grad():
        for projection, n in ((queries, heads), (keys, groups)):
            for parameter in (projection.weight, projection.bias):
                settings = {"num_heads": n, "rotary_dim": rotary_dim, "dim": 0}
                parameter.copy_(convert_layout(parameter, source=source, target=target, **settings))
    assert_close(scores(target), before, rtol=1e-12, atol=1e-12)
    assert (scores(source) - before).abs().max() > 0.01  # the wrong layout is silent, not harmless


def test_weights_are_moved_as_the_conversion_of_llama_moves_them():
    """`permute` of transformers' convert_llama_weights_to_hf.py: Meta's interleaved rows become halves."""
    heads, head_dim, hidden = 3, 8, 5
    weight = torch.randn(heads * head_dim, hidden)
    theirs = weight.view(heads, head_dim // 2, 2, hidden).transpose(1, 2).reshape(heads * head_dim, hidden)
    assert torch.equal(convert_layout(weight, source="interleaved", target="half", num_heads=heads, dim=0), theirs)


def test_the_same_layout_changes_nothing_and_shares_nothing():
    weight = torch.randn(8, 4)
    same = convert_layout(weight, source="half", target="half", dim=0)
    assert torch.equal(same, weight)
    assert same.data_ptr() != weight.data_ptr()


@pytest.mark.parametrize("dtype", [torch.int8, torch.bfloat16, torch.float64])
def test_the_dtype_is_kept(dtype):
    assert convert_layout(torch.ones(8, dtype=dtype), source="half", target="interleaved").dtype is dtype


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: convert_layout(torch.ones(8), source="neox", target="half"), ArgumentError, "layout: .* got neox"),
        (lambda: convert_layout(torch.ones(8), source="half", target="gptj"), ArgumentError, "layout: .* got gptj"),
        (
            lambda: convert_layout([1.0] * 8, source="half", target="half"),
            ArgumentTypeError,
            "tensor: expected a tensor, got list",
        ),
        (lambda: convert_layout(torch.ones(7), source="half", target="interleaved"), ArgumentError, "head_dim: .* got 7"),
        (
            lambda: convert_layout(torch.ones(8), source="half", target="interleaved", num_heads=3),
            ShapeError,
            r"tensor: expected 3 heads along axis -1, got shape \(8,\)",
        ),
        (
            lambda: convert_layout(torch.ones(8), source="half", target="interleaved", num_heads=0),
            ArgumentError,
            "num_heads: expected an integer of at least 1, got 0",
        ),
        (
            lambda: convert_layout(torch.ones(8), source="half", target="interleaved", rotary_dim=10),
            ArgumentError,
            r"rotary_dim: expected at most head_dim \(8\), got 10",
        ),
        (lambda: convert_layout(torch.ones(8), source="half", target="half", dim=1), ShapeError, "dim: expected an axis"),
        (
            lambda: convert_layout(torch.ones(8), source="half", target="half", rotated_channels="middle"),
            ArgumentError,
            "rotated_channels: .* got middle",
        ),
    ],
)
def test_bad_input_is_named(call, error, words):
    with pytest.raises(error, match=words):
        call()
