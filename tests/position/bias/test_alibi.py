"""ALiBi against the published slopes, four other implementations, and three models end to end on random weights."""

import itertools
import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from ordinate.attention import Causal, Padding, attend
from ordinate.errors import ArgumentError, ArgumentTypeError
from ordinate.position import ALiBi, alibi_slopes, indices

transformers = pytest.importorskip("transformers")


@pytest.mark.parametrize(
    ("num_heads", "expected"),
    [
        (8, [0.5, 0.25, 0.125, 0.0625, 0.03125, 0.015625, 0.0078125, 0.00390625]),
        (
            12,
            [
                *(0.5, 0.25, 0.125, 0.0625, 0.03125, 0.015625, 0.0078125, 0.00390625),
                *(0.7071067811865476, 0.35355339059327384, 0.17677669529663695, 0.08838834764831849),
            ],
        ),
        (1, [2**-8]),
        (2, [2**-4, 2**-8]),
    ],
)
def test_slopes_are_the_published_ones(num_heads, expected):
    """Cases alibi-slopes-8 and alibi-slopes-12; seen in mlx#3071, transformers#28380."""
    assert_close(alibi_slopes(num_heads), tuple(expected), rtol=1e-15, atol=0)
    assert_close(ALiBi(num_heads).slopes, torch.tensor(expected))


def test_slopes_of_every_head_count_are_those_of_bloom_mpt_falcon_and_x_transformers():
    from transformers.models.bloom.modeling_bloom import _get_alibi_slopes
    from transformers.models.mpt.modeling_mpt import build_mpt_alibi_tensor

    library = pytest.importorskip("x_transformers.x_transformers")
    for num_heads in [*range(1, 41), 48, 52, 64, 71, 96, 112, 128]:
        ours = ALiBi(num_heads).slopes
        assert_close(ours, _get_alibi_slopes(num_heads, torch.device("cpu")), rtol=1e-5, atol=0)
        # MPT forms both ladders at once, from the next power of two; its row holds slope * (j - (length - 1))
        assert_close(ours, -build_mpt_alibi_tensor(num_heads, 2)[:, 0, 0].float(), rtol=1e-6, atol=0)
        assert_close(ours, torch.tensor(library.AlibiPositionalBias._get_slopes(num_heads)), rtol=1e-6, atol=0)


@given(num_heads=st.integers(1, 256))
def test_slopes_fall_within_each_ladder_and_none_is_repeated(num_heads):
    slopes = alibi_slopes(num_heads)
    lower = 1 << int(math.log2(num_heads))
    assert len(set(slopes)) == num_heads
    assert list(slopes[:lower]) == sorted(slopes[:lower], reverse=True)
    assert list(slopes[lower:]) == sorted(slopes[lower:], reverse=True)
    geometric = alibi_slopes(num_heads, "geometric")
    ratios = [b / a for a, b in itertools.pairwise(geometric)]
    assert all(ratio == pytest.approx(2 ** (-8 / num_heads)) for ratio in ratios)


def test_the_bias_is_minus_slope_times_distance_and_nothing_on_the_diagonal():
    """Case alibi-sign: query 3, key 1, slope 1/2 is -1."""
    bias = ALiBi(8).bias(torch.tensor([3]), torch.tensor([1, 3, 5]))
    assert bias[0].tolist() == [[-1.0, 0.0, 1.0]]
    assert ALiBi(8, symmetric=True).bias(torch.tensor([3]), torch.tensor([1, 3, 5]))[0].tolist() == [[-1.0, 0.0, -1.0]]


@pytest.mark.parametrize("start", [0, 1000, 2_000_000])
def test_a_bfloat16_bias_tells_neighbours_apart_wherever_they_stand(start):
    """Case alibi-bf16. The absolute form, slope times key position, has 641 distinct values among 2,048 keys in bfloat16."""
    from transformers.models.bloom.modeling_bloom import build_alibi_tensor

    positions = indices.consecutive(3, start=start)
    assert ALiBi(8).bfloat16().bias(positions[2:], positions)[0].bfloat16().tolist() == [[-1.0, -0.5, 0.0]]
    theirs = build_alibi_tensor(torch.ones(1, 2048, dtype=torch.long), 8, torch.bfloat16)[0, 0]
    assert theirs.unique().numel() == 641
    ours = ALiBi(8).bias(torch.tensor([2047]), torch.arange(1792, 2048))[0, 0].bfloat16()
    assert ours.unique().numel() == 256


def test_max_exponent_is_mpt_s_alibi_bias_max_which_transformers_forgets_to_pass():
    """MPT-7B-StoryWriter has alibi_bias_max 16. transformers 5's MptModel calls the builder without it, so it runs with 8."""
    from transformers.models.mpt import MptConfig, MptModel
    from transformers.models.mpt.modeling_mpt import build_mpt_alibi_tensor

    for num_heads in (8, 12, 32):
        ours = ALiBi(num_heads, max_exponent=16).bias(torch.tensor([5]), torch.arange(6))
        assert_close(ours, build_mpt_alibi_tensor(num_heads, 6, alibi_bias_max=16))
    config = MptConfig(
        d_model=16, n_heads=4, n_layers=1, vocab_size=20, max_seq_len=8, attn_config={"alibi": True, "alibi_bias_max": 16}
    )
    seen = {}
    model = MptModel(config).eval()
    model.blocks[0].attn.register_forward_pre_hook(
        lambda module, args, kwargs: seen.update(kwargs, **dict(zip(("hidden_states", "position_bias"), args, strict=False))),
        with_kwargs=True,
    )
    model(torch.arange(6)[None])
    assert_close(-seen["position_bias"][:, 0, -2].float(), ALiBi(4).slopes)


@pytest.mark.parametrize("symmetric", [False, True])
def test_the_score_form_is_that_of_x_transformers_for_any_positions(symmetric):
    library = pytest.importorskip("x_transformers.x_transformers")
    at, by = torch.tensor([[7, 3], [0, 9]]), torch.tensor([[1, 2, 7], [5, 5, 0]])
    theirs = library.AlibiPositionalBias(6).forward_custom_pos(at.float(), by.float())  # always symmetric
    ours = ALiBi(6, symmetric=symmetric).bias(at, by)
    past = (at[:, :, None] >= by[:, None, :])[:, None].expand_as(ours)
    assert_close(ours[past], theirs[past])
    assert_close(ours[~past], theirs[~past] if symmetric else -theirs[~past])


def test_learned_slopes_start_at_the_rule_and_learn():
    alibi = ALiBi(4, learned=True)
    assert_close(alibi.slopes.detach(), ALiBi(4).slopes)
    positions = torch.arange(5)
    alibi.bias(positions, positions).sum().backward()
    distance_sum = (positions[:, None] - positions[None]).sum().float()
    assert_close(alibi.learned_slopes.grad, -distance_sum.expand(4))
    with torch.no_grad():
        alibi.learned_slopes.zero_()
    alibi.reset_parameters()
    assert_close(alibi.slopes.detach(), ALiBi(4).slopes)
    assert not list(ALiBi(4).parameters())


def captured_attention(model, attention, *args, **kwargs):
    """Hidden states that went into a model's attention module, and what came out."""
    seen = {}

    def hook(module, inputs, named, outputs):
        seen["in"] = inputs[0] if inputs else named["hidden_states"]
        seen["out"] = outputs[0]

    handle = attention.register_forward_hook(hook, with_kwargs=True)
    with torch.no_grad():
        model(*args, **kwargs)
    handle.remove()
    return seen["in"], seen["out"]


@pytest.mark.parametrize("num_heads", [4, 6])
def test_bloom_end_to_end_with_a_left_padded_row(num_heads):
    torch.manual_seed(0)
    model = transformers.BloomModel(
        transformers.BloomConfig(vocab_size=50, hidden_size=8 * num_heads, n_layer=2, n_head=num_heads)
    ).eval()
    tokens, mask = torch.randint(50, (2, 12)), torch.ones(2, 12, dtype=torch.long)
    mask[1, :5] = 0
    attention = model.h[1].self_attention
    hidden, theirs = captured_attention(model, attention, tokens, attention_mask=mask)
    fused = attention.query_key_value(hidden).view(2, 12, num_heads, 3, 8)
    q, k, v = (fused[..., part, :].transpose(1, 2) for part in range(3))
    seen = attend(
        q,
        k,
        v,
        query_positions=indices.from_mask(mask),
        encoding=ALiBi(num_heads),
        mask=Causal() & Padding(mask),
        empty_rows="zeros",
    )
    real = mask.bool()
    residual = captured_residual(model, model.h[1], tokens, mask)
    ours = attention.dense(seen.transpose(1, 2).flatten(-2)) + residual  # BLOOM adds its residual inside
    assert_close(ours[real], theirs[real], rtol=1e-4, atol=1e-5)


def captured_residual(model, block, tokens, mask):
    seen = {}
    handle = block.self_attention.register_forward_pre_hook(
        lambda module, inputs, named: seen.update(residual=inputs[1] if len(inputs) > 1 else named["residual"]),
        with_kwargs=True,
    )
    with torch.no_grad():
        model(tokens, attention_mask=mask)
    handle.remove()
    return seen["residual"]


@pytest.mark.parametrize("num_heads", [4, 6])
def test_mpt_end_to_end(num_heads):
    from transformers.models.mpt import MptConfig, MptModel

    torch.manual_seed(0)
    config = MptConfig(d_model=8 * num_heads, n_heads=num_heads, n_layers=2, vocab_size=50, max_seq_len=32)
    model = MptModel(config).eval()
    attention = model.blocks[1].attn
    hidden, theirs = captured_attention(model, attention, torch.randint(50, (2, 12)))
    q, k, v = (part.unflatten(-1, (num_heads, 8)).transpose(1, 2) for part in attention.Wqkv(hidden).chunk(3, dim=-1))
    seen = attend(q, k, v, query_positions=indices.consecutive(12), encoding=ALiBi(num_heads), mask=Causal())
    assert_close(attention.out_proj(seen.transpose(1, 2).flatten(-2)), theirs, rtol=1e-4, atol=1e-5)


def test_falcon_end_to_end_with_its_own_slopes():
    """Falcon adds the bias before it divides by sqrt(head_dim), and rounds slopes and their products to bfloat16."""
    torch.manual_seed(0)
    config = transformers.FalconConfig(
        vocab_size=50,
        hidden_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        alibi=True,
        multi_query=True,
        new_decoder_architecture=False,
        bias=False,
    )
    model = transformers.FalconModel(config).eval()
    attention = model.h[1].self_attention
    hidden, theirs = captured_attention(model, attention, torch.randint(50, (2, 12)))
    fused = attention.query_key_value(hidden).unflatten(-1, (6, 16)).transpose(1, 2)
    divided = [slope / 4 for slope in alibi_slopes(4)]  # sqrt(16), exact in bfloat16 for these slopes
    seen = attend(
        fused[:, :4],
        fused[:, 4:5],
        fused[:, 5:],
        query_positions=indices.consecutive(12),
        encoding=ALiBi(4, slopes=divided),
        mask=Causal(),
    )
    assert_close(attention.dense(seen.transpose(1, 2).flatten(-2)), theirs, rtol=1e-4, atol=1e-5)


def test_falcon_s_rounding_ties_keys_that_are_far_out_and_ours_does_not():
    from transformers.models.falcon.modeling_falcon import build_alibi_tensor

    theirs = build_alibi_tensor(torch.ones(1, 2000, dtype=torch.long), 8, torch.float32)[0, 0]
    assert theirs[1998] == theirs[1999]  # one token apart, yet the same bias: absolute positions in bfloat16
    ours = ALiBi(8).bias(torch.tensor([1999]), torch.tensor([1998, 1999]))[0, 0]
    assert ours.tolist() == [-0.5, 0.0]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: ALiBi(0), ArgumentError, "num_heads: expected an integer of at least 1, got 0"),
        (lambda: ALiBi(2.0), ArgumentTypeError, "num_heads: expected an integer"),
        (lambda: ALiBi(True), ArgumentTypeError, "num_heads: expected an integer"),
        (lambda: ALiBi(4, rule="linear"), ArgumentError, "rule: expected 'reference' or 'geometric', got linear"),
        (lambda: ALiBi(4, max_exponent=0), ArgumentError, "max_exponent: expected a finite number above 0, got 0"),
        (lambda: ALiBi(4, slopes=[1.0, 2.0]), ArgumentError, "slopes: expected 4 finite numbers"),
        (lambda: ALiBi(2, slopes=[1.0, math.nan]), ArgumentError, "slopes: expected 2 finite numbers"),
        (
            lambda: ALiBi(4).bias(torch.arange(3).bfloat16(), torch.arange(3)),
            ArgumentTypeError,
            "query_positions: expected positions as integers, float32 or float64, got torch.bfloat16",
        ),
    ],
)
def test_bad_settings_are_errors_that_say_what_to_do(call, error, message):
    with pytest.raises(error, match=message):
        call()
