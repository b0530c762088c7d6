import math

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from ordinate.attention import Causal, attend
from ordinate.errors import ArgumentError, ArgumentTypeError, RefusedError
from ordinate.position import TransformerXLRelative, build
from ordinate.spec import PositionSpec
from tests.position.bias.test_relative import each_row, heads, in_double


def explicit(xl: TransformerXLRelative, q: Tensor, k: Tensor, queries: Tensor, keys: Tensor, clamp: float = math.inf) -> Tensor:
    """Section 3.3 of the paper, pair by pair with Python's own sine and cosine: terms (b), (c) and (d), without the scale."""
    size, pairs = xl.hidden_size, xl.hidden_size // 2

    def sinusoid(distance: float) -> list[float]:
        angles = [distance * 10000.0 ** (-2 * p / size) for p in range(pairs)]
        if xl.layout == "half":
            return [math.sin(a) for a in angles] + [math.cos(a) for a in angles]
        return [f(a) for a in angles for f in (math.sin, math.cos)]

    weight = xl.projection.weight.unflatten(0, (xl.num_heads, xl.head_dim))
    out = torch.zeros(*q.shape[:3], k.shape[2], dtype=torch.float64)
    for b in range(q.shape[0]):
        row_q = queries[b if queries.ndim == 2 else ...].tolist()
        row_k = keys[b if keys.ndim == 2 else ...].tolist()
        for t, i in enumerate(row_q):
            for s, j in enumerate(row_k):
                r = torch.tensor(sinusoid(max(-clamp, min(clamp, i - j))), dtype=torch.float64)
                for h in range(xl.num_heads):
                    content = xl.content_bias[h] @ k[b, h, s]
                    out[b, h, t, s] = content + (q[b, h, t] + xl.position_bias[h]) @ (weight[h] @ r)
    return out.detach()


def weighty(**settings: object) -> TransformerXLRelative:
    xl = TransformerXLRelative(3, 4, **({"layout": "half"} | settings)).double()
    torch.manual_seed(5)
    for parameter in xl.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    return xl


@each_row
@pytest.mark.parametrize("layout", ["half", "interleaved"])
def test_any_positions_give_the_terms_of_the_paper(queries, keys, layout):
    q, k = heads(queries.shape[-1], keys.shape[-1])
    xl = weighty(layout=layout)
    expected = explicit(xl, q, k, queries, keys)
    # an angle of 2^40 radians is rounded to 1e-4; skewing never forms one, it forms that of the distance
    far = 1e-2 if int(queries.max()) > 2**32 else 1e-10
    xl.impl = "general"
    assert_close(xl.bias(queries, keys, q, k, scale=1.0), expected, rtol=0, atol=far)
    xl.impl = "auto"
    assert_close(xl.bias(queries, keys, q, k), expected / 2.0, rtol=0, atol=1e-10)


@each_row
def test_clamped_distances_look_alike_past_the_clamp(queries, keys):
    q, k = heads(queries.shape[-1], keys.shape[-1])
    xl = weighty(max_distance=2)
    assert_close(xl.bias(queries, keys, q, k, scale=1.0), explicit(xl, q, k, queries, keys, clamp=2), rtol=0, atol=1e-10)


def test_skewing_and_the_product_of_sinusoids_agree_with_gradients():
    found = []
    for impl in ("skew", "general"):
        xl = weighty(impl=impl)
        q, k = (x.requires_grad_() for x in heads(150, 170, batch=1))
        bias = xl.bias(torch.arange(20, 170), torch.arange(170), q, k)
        bias.sin().sum().backward()
        found.append((bias, q.grad, k.grad, *(p.grad for p in xl.parameters())))
    assert_close(found[0], found[1], rtol=1e-9, atol=1e-9)


def test_in_attention_all_four_terms_are_there():
    q, k = heads(6, 6)
    steps, xl = torch.arange(6), weighty()
    _, weights = attend(q, k, k, query_positions=steps, encoding=xl, return_weights=True)
    assert_close(weights, ((q @ k.transpose(-1, -2) + explicit(xl, q, k, steps, steps)) / math.sqrt(4)).softmax(-1))


def test_fractional_positions_lie_between_whole_ones():
    q, k = heads(1, 2)
    xl, half = weighty(), torch.tensor([0.5], dtype=torch.float64)
    keys = torch.tensor([0.0, 0.25], dtype=torch.float64)
    assert_close(xl.bias(half, keys, q, k, scale=1.0), explicit(xl, q, k, half, keys), rtol=0, atol=1e-12)


def test_heads_in_groups_share_keys():
    q, k = heads(5, 5, num_heads=4)
    xl = in_double(TransformerXLRelative(4, 4, layout="half"))
    spread = k[:, :2].repeat_interleave(2, dim=1)
    for positions in (torch.arange(5), torch.tensor([0, 0, 1, 2, 3])):
        assert_close(xl.bias(positions, positions, q, k[:, :2]), xl.bias(positions, positions, q, spread))


@pytest.mark.parametrize(
    ("settings", "error", "words"),
    [
        ({"hidden_size": 7}, ArgumentError, "hidden_size: expected an even number of channels, got 7"),
        ({"layout": "both"}, ArgumentError, "layout: expected 'interleaved' or 'half'"),
        ({"base": 0.0}, ArgumentError, "base: expected a finite number above 1"),
        ({"max_distance": 0}, ArgumentError, "max_distance: expected an integer of at least 1"),
        ({"impl": "rel_shift"}, ArgumentError, "impl: expected 'auto', 'skew' or 'general'"),
        ({"hidden_size": "8"}, ArgumentTypeError, "hidden_size: expected an integer"),
    ],
)
def test_settings_that_make_no_sense_are_refused_in_words(settings, error, words):
    with pytest.raises(error, match=words):
        weighty(**settings)


def test_input_that_does_not_fit_is_refused_in_words():
    q, k = heads(4, 4)
    steps = torch.arange(4)
    with pytest.raises(ArgumentError, match="key: expected the tensor itself"):
        weighty().bias(steps, steps, q)
    with pytest.raises(RefusedError, match="'skew' would score wrongly"):
        weighty(impl="skew").bias(steps.flip(0), steps, q, k)
    with pytest.raises(ArgumentError, match="max_distance clamps to whole distances"):
        weighty(max_distance=3).bias(steps / 2, steps, q, k)


def test_every_setting_is_in_the_repr_and_in_a_spec():
    spec = {"num_heads": 3, "head_dim": 4, "layout": "interleaved", "hidden_size": 8, "base": 500.0, "max_distance": 6}
    told = "TransformerXLRelative(3, 4, layout='interleaved', hidden_size=8, base=500.0, max_distance=6)"
    assert repr(build(PositionSpec("transformer-xl", spec))) == told


def test_xlnet_gives_the_same_attention_in_every_layer_with_and_without_a_memory():
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    config = transformers.XLNetConfig(vocab_size=40, d_model=24, n_layer=2, n_head=3, d_inner=16, mem_len=9, dropout=0.0)
    model = transformers.XLNetModel(config).double().eval()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    streams: list[tuple[Tensor, Tensor | None]] = []
    for layer in model.layer:
        layer.rel_attn.register_forward_hook(
            lambda module, args, kwargs, out: streams.append((args[0], kwargs.get("mems"))), with_kwargs=True
        )
    tokens = torch.randint(40, (2, 16))
    first = model(tokens[:, :9], use_mems=True, output_attentions=True)
    second = model(tokens[:, 9:], mems=first.mems, use_mems=True, output_attentions=True)
    for stream, weights, layer in zip(streams, (*first.attentions, *second.attentions), [*model.layer] * 2, strict=True):
        hidden, memory = stream
        together = hidden if memory is None or memory.ndim < 2 else torch.cat((memory, hidden))
        attention, length = layer.rel_attn, len(together)
        ours = TransformerXLRelative(3, 8, layout="half").double()
        ours.projection.weight.data.copy_(attention.r.flatten(1).T)
        ours.content_bias.data.copy_(attention.r_w_bias)
        ours.position_bias.data.copy_(attention.r_r_bias)
        q, k = (torch.einsum("tbc,chd->bhtd", x, w) for x, w in ((hidden, attention.q), (together, attention.k)))
        keys = torch.arange(length)
        _, found = attend(
            q, k, k, query_positions=keys[length - len(hidden) :], key_positions=keys, encoding=ours, return_weights=True
        )
        # their angles are formed in float32
        assert_close(found, weights, rtol=0, atol=2e-6)


def test_a_conformer_gives_the_same_attention():
    """Wav2Vec2-BERT's `relative`: interleaved sinusoids of 2T - 1 distances, no mask."""
    transformers = pytest.importorskip("transformers")
    from transformers.models.wav2vec2_bert.modeling_wav2vec2_bert import (
        Wav2Vec2BertRelPositionalEmbedding,
        Wav2Vec2BertSelfAttention,
    )

    torch.manual_seed(0)
    config = transformers.Wav2Vec2BertConfig(
        hidden_size=32, num_attention_heads=4, position_embeddings_type="relative", attn_implementation="eager"
    )
    theirs = Wav2Vec2BertSelfAttention(config).double().eval()
    for parameter in theirs.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    hidden = torch.randn(2, 21, 32, dtype=torch.float64)
    _, expected = theirs(hidden, relative_position_embeddings=Wav2Vec2BertRelPositionalEmbedding(config)(hidden).double())
    ours = TransformerXLRelative(4, 8, layout="interleaved").double()
    ours.projection.weight.data.copy_(theirs.linear_pos.weight)
    ours.content_bias.data.copy_(theirs.pos_bias_u)
    ours.position_bias.data.copy_(theirs.pos_bias_v)
    q, k = (project(hidden).unflatten(-1, (4, 8)).transpose(1, 2) for project in (theirs.linear_q, theirs.linear_k))
    _, found = attend(q, k, k, query_positions=torch.arange(21), encoding=ours, return_weights=True)
    assert_close(found, expected, rtol=0, atol=2e-6)  # their table is float32
    masked = attend(q, k, k, query_positions=torch.arange(21), encoding=ours, mask=Causal())
    assert masked.isfinite().all()
