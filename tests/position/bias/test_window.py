"""Swin's, BEiT's and Swin v2's biases against transformers and timm, and those models' attention on random weights."""

import pytest
import torch
from torch.testing import assert_close

from ordinate.attention import attend
from ordinate.errors import ArgumentError, ArgumentTypeError, PositionRangeError, ShapeError
from ordinate.position import ContinuousWindowBias2D, WindowBias2D, indices
from tests.position.timm_files import timm_layers

transformers = pytest.importorskip("transformers")

CLASS_TOKEN = torch.tensor([[-1, -1]])


def with_class_token(height, width):
    return torch.cat((CLASS_TOKEN, indices.grid(height, width)))


def filled(bias, table):
    """`bias` with the parameter of a library's table."""
    bias.load_state_dict({"weight": table.detach().clone()})
    return bias


@pytest.mark.parametrize("window", [(7, 7), (3, 5), (1, 4), (1, 1)])
def test_a_table_gives_swin_s_bias(window):
    from transformers.models.swin.modeling_swin import SwinRelativePositionBias

    theirs = SwinRelativePositionBias(3, window)
    torch.nn.init.normal_(theirs.relative_position_bias_table)
    ours = filled(WindowBias2D(3, window), theirs.relative_position_bias_table)
    assert torch.equal(ours.bias(indices.grid(*window), indices.grid(*window)), theirs()[0])


@pytest.mark.parametrize(("window", "class_token"), [((4, 4), True), ((3, 5), True), ((3, 5), False)])
def test_a_table_gives_timm_s_bias_with_and_without_a_class_token(window, class_token):
    theirs = timm_layers("pos_embed_rel").RelPosBias(window, 3, prefix_tokens=int(class_token))
    ours = filled(WindowBias2D(3, window, class_token=class_token), theirs.relative_position_bias_table)
    positions = with_class_token(*window) if class_token else indices.grid(*window)
    assert torch.equal(ours.bias(positions, positions), theirs.get_bias()[0])


def test_a_class_token_may_stand_anywhere_and_looks_are_told_apart():
    bias = WindowBias2D(1, (2, 2), class_token=True)
    with torch.no_grad():
        bias.weight.copy_(torch.arange(12.0)[:, None])
    positions = torch.tensor([[1, 1], [-1, -1], [0, 0]])
    # offsets fill rows 0 to 8; then class to patch, patch to class, class to itself
    assert bias.bias(positions, positions)[0].tolist() == [[4.0, 10.0, 8.0], [9.0, 11.0, 9.0], [0.0, 10.0, 4.0]]


def test_beit_end_to_end_on_a_square_grid():
    torch.manual_seed(0)
    config = transformers.BeitConfig(
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=4,
        intermediate_size=32,
        image_size=24,
        patch_size=6,
        use_relative_position_bias=True,
    )
    model = transformers.BeitModel(config).eval()
    layer = next(module for module in model.modules() if hasattr(module, "relative_position_bias"))
    torch.nn.init.normal_(layer.relative_position_bias.relative_position_bias_table)
    attention = next(module for name, module in layer.named_modules() if hasattr(module, "q_proj"))
    seen = {}

    def hook(module, given, named, outputs):
        seen.update(hidden=given[0] if given else named["hidden_states"], out=outputs[0])

    attention.register_forward_hook(hook, with_kwargs=True)
    with torch.no_grad():
        model(torch.randn(2, 3, 24, 24))
    q, k, v = (
        project(seen["hidden"]).unflatten(-1, (4, 8)).transpose(1, 2)
        for project in (attention.q_proj, attention.k_proj, attention.v_proj)
    )
    ours = filled(WindowBias2D(4, (4, 4), class_token=True), layer.relative_position_bias.relative_position_bias_table)
    out = attend(q, k, v, query_positions=with_class_token(4, 4), encoding=ours)
    assert_close(attention.o_proj(out.transpose(1, 2).flatten(-2)), seen["out"], rtol=1e-4, atol=1e-5)


def test_beit_of_transformers_swaps_the_sides_of_a_window_that_is_not_square():
    """It reads the table as width by height before it stretches it, so that at its own window it is not even the identity.

    The index, which it makes itself, gathers from the table as it stands: that is the value below, and timm agrees.
    """
    from transformers.models.beit.modeling_beit import BeitRelativePositionBias

    config = transformers.BeitConfig(image_size=(18, 30), patch_size=6, num_attention_heads=2)
    theirs = BeitRelativePositionBias(config)
    torch.nn.init.normal_(theirs.relative_position_bias_table)
    ours = filled(WindowBias2D(2, (3, 5), class_token=True), theirs.relative_position_bias_table)
    bias = ours.bias(with_class_token(3, 5), with_class_token(3, 5))
    gathered = theirs.relative_position_bias_table[theirs.generate_relative_position_index((3, 5))].permute(2, 0, 1)
    assert torch.equal(bias, gathered)
    assert (theirs((3, 5))[0] - gathered).abs().max() > 0.1


def test_swin_end_to_end_in_shifted_windows():
    torch.manual_seed(0)
    config = transformers.SwinConfig(
        image_size=32, patch_size=4, embed_dim=16, depths=[2], num_heads=[2], window_size=4, hidden_dropout_prob=0.0
    )
    model = transformers.SwinModel(config).eval()
    attention = [module for module in model.modules() if type(module).__name__ == "SwinAttention"][1]
    table = attention.relative_position_bias.relative_position_bias_table
    torch.nn.init.normal_(table)
    seen = {}

    def hook(module, given, named, outputs):
        seen.update(hidden=given[0] if given else named["hidden_states"], out=outputs[0])
        seen["mask"] = named["attention_mask"] if "attention_mask" in named else given[1]

    attention.register_forward_hook(hook, with_kwargs=True)
    with torch.no_grad():
        model(torch.randn(1, 3, 32, 32))
    q, k, v = (
        project(seen["hidden"]).unflatten(-1, (2, 8)).transpose(1, 2)
        for project in (attention.q_proj, attention.k_proj, attention.v_proj)
    )
    assert seen["mask"].shape == (4, 16, 16)
    assert bool((seen["mask"] != 0).any())
    same_region = (seen["mask"] == 0).unsqueeze(1)
    ours = filled(WindowBias2D(2, (4, 4)), table)
    scores = q @ k.mT / 8**0.5 + ours.bias(indices.grid(4, 4), indices.grid(4, 4))
    out = scores.masked_fill(~same_region, float("-inf")).softmax(-1) @ v
    plain = attend(q[:1], k[:1], v[:1], query_positions=indices.grid(4, 4), encoding=ours)  # a window of one region
    assert bool(same_region[0].all())
    assert_close(attention.o_proj(plain.transpose(1, 2).flatten(-2)), seen["out"][:1], rtol=1e-4, atol=1e-5)
    assert_close(attention.o_proj(out.transpose(1, 2).flatten(-2)), seen["out"], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("window", "trained"), [((4, 4), None), ((6, 6), (4, 4)), ((3, 5), None), ((3, 5), (8, 12))])
def test_the_continuous_bias_is_swin_v2_s_in_transformers_and_timm(window, trained):
    from transformers.models.swinv2.modeling_swinv2 import Swinv2SelfAttention

    theirs = Swinv2SelfAttention(transformers.Swinv2Config(), 16, 2, window, pretrained_window_size=trained or [0, 0])
    ours = ContinuousWindowBias2D(2, window, trained_window=trained)
    weights = theirs.continuous_position_bias_mlp.state_dict()
    ours.mlp.load_state_dict(weights)
    table = theirs.continuous_position_bias_mlp(theirs.relative_coords_table).view(-1, 2)
    area = window[0] * window[1]
    expected = 16 * torch.sigmoid(table[theirs.relative_position_index.view(-1)].view(area, area, 2).permute(2, 0, 1))
    found = ours.bias(indices.grid(*window), indices.grid(*window))
    assert_close(found, expected, rtol=1e-5, atol=1e-5)

    timm = timm_layers("pos_embed_rel").RelPosMlp(window, 2, 512, mode="swin", pretrained_window_size=trained or (0, 0)).eval()
    timm.mlp.load_state_dict({name.replace("0.", "fc1.").replace("2.", "fc2."): value for name, value in weights.items()})
    assert_close(found, timm.get_bias()[0], rtol=1e-5, atol=1e-5)


def test_swin_v2_end_to_end_with_its_cosine_scores():
    from transformers.models.swinv2.modeling_swinv2 import Swinv2SelfAttention

    torch.manual_seed(0)
    theirs = Swinv2SelfAttention(transformers.Swinv2Config(), 16, 2, 4).eval()
    with torch.no_grad():
        theirs.logit_scale.copy_(torch.tensor([1.0, 2.0]).view(2, 1, 1))
    hidden = torch.randn(3, 16, 16)
    with torch.no_grad():
        expected = theirs(hidden)[0]
    ours = ContinuousWindowBias2D(2, (4, 4))
    ours.mlp.load_state_dict(theirs.continuous_position_bias_mlp.state_dict())
    q, k, v = (project(hidden).unflatten(-1, (2, 8)).transpose(1, 2) for project in (theirs.query, theirs.key, theirs.value))
    normalise = torch.nn.functional.normalize
    q, k = normalise(q, dim=-1) * theirs.logit_scale.exp(), normalise(k, dim=-1)
    out = attend(q, k, v, query_positions=indices.grid(4, 4), encoding=ours, scale=1.0)
    assert_close(out.transpose(1, 2).flatten(-2), expected, rtol=1e-4, atol=1e-5)


def test_a_window_one_patch_wide_is_finite():
    """transformers and timm divide by width - 1 = 0 there, which is NaN."""
    from transformers.models.swinv2.modeling_swinv2 import Swinv2SelfAttention

    theirs = Swinv2SelfAttention(transformers.Swinv2Config(), 16, 2, (2, 1))
    assert not theirs.relative_coords_table.isfinite().all()
    row = indices.grid(2, 1)
    assert ContinuousWindowBias2D(2, (2, 1)).bias(row, row).isfinite().all()


@pytest.mark.parametrize("make", [lambda: WindowBias2D(2, (6, 9)), lambda: ContinuousWindowBias2D(2, (6, 9), hidden_dim=8)])
def test_the_bias_depends_on_the_offset_alone_along_both_axes(make):
    bias = make()
    small = indices.grid(2, 3)
    moved = small + torch.tensor([3, 5])
    assert torch.equal(bias.bias(small, small), bias.bias(moved, moved))
    across = small + torch.tensor([0, 1])
    assert (bias.bias(small, across) - bias.bias(small, small)).abs().max() > 1e-4


@pytest.mark.parametrize(("before", "after"), [((4, 4), (6, 6)), ((3, 5), (5, 7)), ((4, 4), (4, 4)), ((6, 6), (3, 3))])
def test_a_resized_table_is_timm_s_by_bicubic_interpolation(before, after):
    resize = timm_layers("pos_embed_rel").resize_rel_pos_bias_table_simple
    old = WindowBias2D(3, before, class_token=True)
    new = old.resized(after)
    assert new.window == after
    rows = (2 * after[0] - 1) * (2 * after[1] - 1)
    if before[0] == before[1]:  # timm's simple form assumes a square source
        assert_close(new.weight, resize(old.weight, after, (rows + 3, 3)), rtol=1e-5, atol=1e-6)
    assert torch.equal(new.weight[-3:], old.weight[-3:])
    centre = old.weight[(2 * before[0] - 1) * (2 * before[1] - 1) // 2]
    assert_close(new.weight[rows // 2], centre, rtol=1e-4, atol=1e-6)  # offset 0 stays where it is


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: WindowBias2D(0, (7, 7)), ArgumentError, "num_heads: expected an integer of at least 1"),
        (lambda: WindowBias2D(4, 7), ArgumentTypeError, r"window: expected \(height, width\), two ints, got 7"),
        (lambda: WindowBias2D(4, (7, 0)), ArgumentError, "window: expected sides of at least 1 patch"),
        (lambda: ContinuousWindowBias2D(4, (7, 7), trained_window=(7,)), ArgumentTypeError, "trained_window: expected"),
        (
            lambda: ContinuousWindowBias2D(4, (7, 7), hidden_dim=0),
            ArgumentError,
            "hidden_dim: expected an integer",
        ),
        (
            lambda: WindowBias2D(4, (2, 3)).bias(indices.grid(3, 3), indices.grid(2, 3)),
            PositionRangeError,
            r"query_positions: expected coordinates below the window's height \(2\), got 2",
        ),
        (
            lambda: WindowBias2D(4, (3, 3)).bias(indices.grid(3, 3), indices.grid(3, 4)),
            PositionRangeError,
            r"key_positions: expected coordinates below the window's width \(3\), got 3",
        ),
        (
            lambda: WindowBias2D(4, (3, 3)).bias(with_class_token(3, 3), indices.grid(3, 3)),
            PositionRangeError,
            "a negative position is the class token's: build the bias with class_token=True",
        ),
        (
            lambda: WindowBias2D(4, (3, 3)).bias(torch.arange(9), torch.arange(9)),
            ShapeError,
            r"query_positions: expected positions with 2 axes, \[T, 2\] or \[B, T, 2\], got shape \(9,\)",
        ),
        (
            lambda: WindowBias2D(4, (3, 3)).bias(indices.grid(3, 3, coordinates="centred"), indices.grid(3, 3)),
            ArgumentTypeError,
            "query_positions: expected positions as integers",
        ),
    ],
)
def test_bad_settings_and_positions_are_errors_that_say_what_to_do(call, error, message):
    with pytest.raises(error, match=message):
        call()
