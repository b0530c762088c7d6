"""Layers of attention against torch's own module, against themselves on other paths, and over the whole catalogue."""

import copy

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from ordinate.attention import Causal, Documents, KVCache, Mask, MultiHeadAttention, Padding, Window
from ordinate.attention.encodings import shared_rotation
from ordinate.attention.norm import RMSNorm
from ordinate.errors import ArgumentError, ArgumentTypeError, RefusedError, ShapeError
from ordinate.position import ALiBi, NoPosition, PoPE, Rotary, ShawRelative, Sinusoidal, XPos, indices
from ordinate.position.frequencies import DynamicNTK, YaRN
from tests.position.members import HEAD_DIM, HEADS, MEMBERS

DIM, TOKENS = HEADS * HEAD_DIM, 15
CACHED = [member for member in MEMBERS if "decode" not in member.exempt]


def made(seed=0, **settings):
    torch.manual_seed(seed)
    return MultiHeadAttention(DIM, HEADS, **settings).double().eval()


def stream(batch=2, tokens=TOKENS, dim=DIM, seed=1):
    return torch.randn(batch, tokens, dim, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def in_chunks(layer, x, positions, cache, mask, cuts, token_mask=None):
    """What the layer gives for x in pieces that go through a cache; positions [T], or [T, A]."""
    pieces, rows = [], positions.ndim - (1 if cache.axes is None else 2)
    for start, stop in zip([0, *cuts], [*cuts, x.shape[1]], strict=True):
        part = positions[:, start:stop] if rows else positions[start:stop]
        real = None if token_mask is None else token_mask[:, start:stop]
        pieces.append(layer(x[:, start:stop], part, mask=mask, cache=cache, token_mask=real))
    return torch.cat(pieces, dim=1)


def test_self_attention_without_positions_is_torch_multihead_attention():
    layer, theirs = made(bias=True, output_bias=True), nn.MultiheadAttention(DIM, HEADS, batch_first=True).double()
    for ours, weights in ((layer.query_key_value, (theirs.in_proj_weight, theirs.in_proj_bias)),):
        ours.weight.data.copy_(weights[0])
        ours.bias.data.copy_(weights[1])
    layer.output.load_state_dict(theirs.out_proj.state_dict())
    x = stream()
    want, want_weights = theirs(x, x, x, average_attn_weights=False)
    found, weights = layer(x, indices.consecutive(TOKENS), return_weights=True)
    assert_close(found, want, rtol=1e-10, atol=1e-12)
    assert_close(weights, want_weights, rtol=1e-10, atol=1e-12)
    assert_close(layer(x, indices.consecutive(TOKENS)), want, rtol=1e-10, atol=1e-12)


def test_cross_attention_is_torch_multihead_attention_with_other_widths():
    layer = made(memory_dim=24, bias=True, output_bias=True)
    theirs = nn.MultiheadAttention(DIM, HEADS, kdim=24, vdim=24, batch_first=True).double()
    layer.query.weight.data.copy_(theirs.q_proj_weight)
    layer.key_value.weight.data.copy_(torch.cat((theirs.k_proj_weight, theirs.v_proj_weight)))
    query_bias, rest = theirs.in_proj_bias.split((DIM, 2 * DIM))
    layer.query.bias.data.copy_(query_bias)
    layer.key_value.bias.data.copy_(rest)
    layer.output.load_state_dict(theirs.out_proj.state_dict())
    x, memory = stream(tokens=3), stream(tokens=7, dim=24)
    real = torch.tensor([[1] * 7, [0, 0, 1, 1, 0, 1, 1]]).bool()
    want = theirs(x, memory, memory, key_padding_mask=~real)[0]
    assert_close(layer(x, torch.arange(3), memory=memory, mask=Padding(real)), want, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("shared", [1, 2])
def test_shared_heads_are_all_heads_with_repeated_weights(shared):
    few, all_of_them = made(num_key_value_heads=shared), made()
    query, key, value = few.query_key_value.weight.data.split((DIM, shared * HEAD_DIM, shared * HEAD_DIM))
    repeated = [
        part.unflatten(0, (shared, HEAD_DIM)).repeat_interleave(HEADS // shared, 0).flatten(0, 1) for part in (key, value)
    ]
    all_of_them.query_key_value.weight.data.copy_(torch.cat((query, *repeated)))
    all_of_them.output.load_state_dict(few.output.state_dict())
    x = stream()
    for tokens in (TOKENS, 1):
        steps = indices.consecutive(tokens)
        assert_close(few(x[:, :tokens], steps), all_of_them(x[:, :tokens], steps), rtol=1e-10, atol=1e-12)


def test_query_key_norm_is_that_of_every_head():
    layer = made(query_key_norm=True, encoding=Rotary(HEAD_DIM, layout="half"))
    nn.init.normal_(layer.query_norm.weight)
    nn.init.normal_(layer.key_norm.weight)
    x, steps = stream(), indices.consecutive(TOKENS)
    heads = (part.unflatten(-1, (HEADS, HEAD_DIM)).transpose(1, 2) for part in layer.query_key_value(x).chunk(3, -1))
    query, key, value = heads
    query = query / query.square().mean(-1, keepdim=True).add(1e-6).sqrt() * layer.query_norm.weight
    key = key / key.square().mean(-1, keepdim=True).add(1e-6).sqrt() * layer.key_norm.weight
    rotary = layer.encodings[0]
    weights = (rotary.rotate(query, steps) @ rotary.rotate(key, steps).mT / HEAD_DIM**0.5).softmax(-1)
    assert_close(layer(x, steps), layer.output((weights @ value).transpose(1, 2).flatten(2)), rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_our_rms_norm_is_torch_s(dtype):
    ours, theirs = RMSNorm(48, 1e-5).to(dtype), nn.RMSNorm(48, 1e-5).to(dtype)
    nn.init.normal_(ours.weight)
    theirs.load_state_dict(ours.state_dict())
    tolerance = {torch.float64: 1e-12, torch.float32: 1e-6, torch.bfloat16: 0}[dtype]
    for scale in (1e-4, 1.0, 1e3):
        given = [(scale * torch.randn(3, 5, 48)).to(dtype).requires_grad_()]
        given.append(given[0].detach().clone().requires_grad_())
        for norm, x in zip((ours, theirs), given, strict=True):
            norm(x).square().sum().backward()
        assert_close(ours(given[0]), theirs(given[1]), rtol=tolerance, atol=tolerance)
        assert_close(given[0].grad, given[1].grad, rtol=1e3 * tolerance, atol=1e3 * tolerance)
    assert ours(torch.zeros(1, 48, dtype=dtype)).abs().max() == 0


@pytest.mark.parametrize("layout", ["half", "interleaved"])
@pytest.mark.parametrize("rotary_dim", [None, 8])
@pytest.mark.parametrize("channels", ["first", "last"])
@pytest.mark.parametrize("rows", [False, True])
def test_a_rotation_shared_by_layers_is_that_of_the_encoding(layout, rotary_dim, channels, rows):
    rotary = Rotary(HEAD_DIM, layout=layout, rotary_dim=rotary_dim, rotated_channels=channels, scaling=YaRN(4.0, 32))
    steps = torch.randint(0, 900, (2, 6) if rows else (6,), generator=torch.Generator().manual_seed(0))
    for dtype, tolerance in ((torch.float64, 1e-14), (torch.float32, 1e-6), (torch.bfloat16, 0)):
        x = torch.randn(2, HEADS, 6, HEAD_DIM).to(dtype)
        assert_close(shared_rotation([rotary], steps, dtype)(x), rotary.rotate(x, steps), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("member", CACHED, ids=[member.name for member in CACHED])
def test_chunks_and_single_steps_through_a_cache_give_what_the_whole_row_gives(member):
    """For every encoding of the catalogue."""
    layer = made(encoding=member.make().double())
    x, steps = stream(), member.positions(indices.consecutive(TOKENS))
    with torch.inference_mode():
        whole = layer(x, steps, mask=Causal())
        cache = layer.new_cache(2, capacity=TOKENS)
        assert_close(in_chunks(layer, x, steps, cache, Causal(), [6, 7, 8, 12]), whole, rtol=1e-9, atol=1e-9)


PLAIN = [None, NoPosition(), Rotary(HEAD_DIM, layout="half"), XPos(HEAD_DIM, layout="half"), PoPE(HEAD_DIM, HEADS)]
PLAIN += [ALiBi(HEADS), Sinusoidal(HEAD_DIM), [Rotary(HEAD_DIM, layout="interleaved"), ALiBi(HEADS)]]


@pytest.mark.parametrize("encoding", PLAIN, ids=str)
@pytest.mark.parametrize("shared", [1, 2, 4])
def test_windows_padding_and_rows_of_their_own_lengths_through_a_cache(encoding, shared):
    layer = made(encoding=copy.deepcopy(encoding), num_key_value_heads=shared, query_key_norm=shared == 2)
    x, steps, cuts = stream(), indices.consecutive(TOKENS), [5, 6, 10, 11]
    real = torch.ones(2, TOKENS, dtype=torch.bool)
    real[1, :7] = False
    own = indices.from_mask(real)
    with torch.inference_mode():
        window = layer(x, steps, mask=Window(4))
        for room, mask in (
            ({"capacity": TOKENS}, Window(4)),
            ({"window_keys": 4}, Window(4)),
            ({"window_keys": 4}, Causal()),  # the cache lets go of the same keys as the mask would hide
        ):
            assert_close(in_chunks(layer, x, steps, layer.new_cache(2, **room), mask, cuts), window, rtol=1e-9, atol=1e-9)
        padded = layer(x, own, mask=Causal(), token_mask=real)
        alone = layer(x[1:, 7:], indices.consecutive(8), mask=Causal())
        assert_close(padded[1:, 7:], alone, rtol=1e-9, atol=1e-9)
        through = in_chunks(layer, x, own, layer.new_cache(2, capacity=TOKENS), Causal(), cuts, real)
        assert_close(through[real], padded[real], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("rows", [1, 2])
def test_sinks_stay_visible_behind_a_window(rows):
    layer = made(encoding=ALiBi(HEADS))
    x, steps = stream(batch=rows), indices.consecutive(TOKENS)
    kept = Window(3) | (Causal() & Padding(torch.arange(TOKENS) < 2))
    with torch.inference_mode():
        whole = layer(x, steps, mask=kept)
        cache = layer.new_cache(rows, window_keys=3, sink_keys=2)
        assert_close(in_chunks(layer, x, steps, cache, Causal(), [4, 5, 6, 11]), whole, rtol=1e-9, atol=1e-9)


def test_masks_compose_in_a_layer():
    layer = made(encoding=Rotary(HEAD_DIM, layout="half"))
    x = stream(tokens=9)
    packed = layer(x, indices.from_lengths([4, 5]), mask=Causal() & Documents(indices.documents([4, 5])))
    assert_close(packed[:, :4], layer(x[:, :4], indices.consecutive(4), mask=Causal()), rtol=1e-9, atol=1e-10)
    assert_close(packed[:, 4:], layer(x[:, 4:], indices.consecutive(5), mask=Causal()), rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("encoding", [None, Rotary(HEAD_DIM, layout="half"), ALiBi(HEADS)], ids=str)
@pytest.mark.parametrize("mask", [None, Causal(), Window(5)])
def test_named_implementations_agree_with_auto_forward_and_backward(encoding, mask):
    results = []
    for impl in ("auto", "reference", "sdpa", "blocked"):
        layer = made(encoding=encoding, num_key_value_heads=2, impl=impl)
        x = stream().requires_grad_()
        out = layer(x, indices.consecutive(TOKENS), mask=mask)
        out.square().sum().backward()
        results.append([out, x.grad, *(parameter.grad for parameter in layer.parameters())])
    for other in results[1:]:
        for ours, theirs in zip(results[0], other, strict=True):
            assert_close(ours, theirs, rtol=1e-7, atol=1e-7)


class OddHeadsLookBack(Mask):
    """Odd heads see what is before them, even heads all."""

    def visible(self, query_positions, key_positions):
        back = key_positions.unsqueeze(-2) <= query_positions.unsqueeze(-1)
        of_heads = torch.stack([back if head % 2 else torch.ones_like(back) for head in range(HEADS)], dim=-3)
        return of_heads if of_heads.ndim == 4 else of_heads.unsqueeze(0)


def test_a_rule_may_differ_from_head_to_head():
    layer, steps, x = made(num_key_value_heads=2), indices.consecutive(TOKENS), stream()
    _, weights = layer(x, steps, mask=OddHeadsLookBack(), return_weights=True)
    future = torch.ones(TOKENS, TOKENS).triu(1).bool()
    assert (weights[:, :, future].sum(-1) > 0).tolist() == [[True, False, True, False]] * 2
    layer.impl = "reference"
    want = layer(x, steps, mask=OddHeadsLookBack())
    layer.impl = "auto"
    assert_close(layer(x, steps, mask=OddHeadsLookBack()), want, rtol=1e-9, atol=1e-9)
    with torch.inference_mode():
        cache = layer.new_cache(2, capacity=TOKENS)
        assert_close(in_chunks(layer, x, steps, cache, OddHeadsLookBack() & Causal(), [14]), layer(x, steps, mask=Causal()))


def test_a_memory_is_read_once_and_remembered():
    layer = made(memory_dim=24, encoding=[Rotary(HEAD_DIM, layout="half"), ALiBi(HEADS, symmetric=True)])
    x, memory = stream(tokens=4), stream(tokens=7, dim=24)
    real = torch.tensor([[1] * 7, [1, 1, 1, 1, 0, 0, 0]]).bool()
    with torch.inference_mode():
        whole = layer(x, torch.arange(4), memory=memory, memory_positions=torch.arange(7), mask=Padding(real))
        cache = layer.new_cache(2, capacity=7)
        layer.remember(cache, memory, token_mask=real)
        again = [layer(x[:, t : t + 1], torch.tensor([t]), cache=cache) for t in range(4)]
    assert_close(torch.cat(again, dim=1), whole, rtol=1e-9, atol=1e-9)


def test_a_beam_search_through_a_cache_finds_what_one_without_finds():
    layer, head = made(encoding=Rotary(HEAD_DIM, layout="half")), torch.randn(DIM, 11, dtype=torch.float64)
    table = torch.randn(11, DIM, dtype=torch.float64)
    width, steps = 3, 8

    def grow(scores, logits):
        """The best continuations of all beams: their scores, which beam each came from, and its new token."""
        total = scores.unsqueeze(1) + logits.log_softmax(-1)
        best = total.flatten().topk(width)
        return best.values, best.indices // 11, best.indices % 11

    with torch.inference_mode():
        rows, scores = torch.zeros(width, 1, dtype=torch.int64), torch.tensor([0.0] + [-1e9] * (width - 1), dtype=torch.float64)
        for _ in range(steps):
            out = layer(table[rows], indices.consecutive(rows.shape[1]), mask=Causal())[:, -1] @ head
            scores, beams, new = grow(scores, out)
            rows = torch.cat((rows[beams], new.unsqueeze(1)), dim=1)

        cache = layer.new_cache(width, capacity=steps)
        found, kept = torch.zeros(width, 1, dtype=torch.int64), torch.tensor([0.0] + [-1e9] * (width - 1), dtype=torch.float64)
        for _ in range(steps):
            out = layer(table[found[:, -1:]], cache.following(1), mask=Causal(), cache=cache)[:, -1] @ head
            kept, beams, new = grow(kept, out)
            cache.select(beams)
            found = torch.cat((found[beams], new.unsqueeze(1)), dim=1)
    assert torch.equal(found, rows)
    assert len(set(rows[:, 1].tolist())) > 1 or len({tuple(row) for row in rows.tolist()}) == width
    assert_close(kept, scores)


def test_a_padded_query_that_sees_nothing_is_zero_before_the_output_projection():
    layer = made()
    real = torch.tensor([[False, True, True], [True, True, True]])
    out = layer(stream(tokens=3), torch.tensor([[-1, 0, 1], [0, 1, 2]]), mask=Causal(), token_mask=real)
    assert out[0, 0].abs().max() == 0
    assert out.isfinite().all()


SELF, CROSS = made(encoding=Rotary(HEAD_DIM, layout="half")), made(memory_dim=24)
X, STEPS, MEMORY = stream(), indices.consecutive(TOKENS), stream(dim=24)


def cached(**settings):
    with torch.inference_mode():
        return SELF(X, STEPS, mask=Causal(), cache=KVCache(**({"batch": 2, "dtype": torch.float64} | settings)))


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: MultiHeadAttention(64, 6, head_dim=8, num_key_value_heads=4), ArgumentError, "divides the 6 query heads"),
        (lambda: MultiHeadAttention(64, 6), ArgumentError, r"divides dim \(64\)"),
        (lambda: MultiHeadAttention(64, 0), ArgumentError, "num_heads: expected an integer of at least 1"),
        (lambda: SELF(X[..., :5], STEPS), ShapeError, r"x: expected a tensor \[B T D\] with D=64"),
        (lambda: SELF(X, STEPS[:4]), ShapeError, "one position for each of the 15 tokens"),
        (lambda: SELF(X, STEPS.half()), ArgumentTypeError, "positions"),
        (lambda: SELF(X, STEPS, memory=MEMORY), ArgumentError, "build the layer with memory_dim"),
        (lambda: SELF(X, STEPS, token_mask=torch.ones(2, 3)), ShapeError, "token_mask"),
        (lambda: SELF(X, STEPS, mask=torch.ones(15, 15)), ArgumentTypeError, "mask: expected a Mask"),
        (lambda: SELF(X, STEPS, mask=Padding(torch.ones(2, 3).bool())), ShapeError, "cover every key"),
        (lambda: SELF(X, STEPS, mask=~Causal() & Causal()), ArgumentError, "at least one visible key for every query"),
        (lambda: CROSS(X, STEPS), ArgumentError, "memory: .* got neither"),
        (lambda: CROSS(X, STEPS, memory=MEMORY, mask=Causal()), ArgumentError, "memory_positions"),
        (lambda: SELF.remember(SELF.new_cache(2, capacity=3), MEMORY), ArgumentError, "got self-attention"),
        (lambda: SELF(X, STEPS, mask=Causal(), cache=SELF.new_cache(2, capacity=20)), RefusedError, "without a gradient"),
        (lambda: cached(num_key_value_heads=4, head_dim=16, capacity=9), ArgumentError, "at most 9 tokens a row, got 15"),
        (
            lambda: cached(batch=3, num_key_value_heads=4, head_dim=16, capacity=20),
            ShapeError,
            "layers and batch of the model: 1 and 2, got 1 and 3",
        ),
        (lambda: cached(num_key_value_heads=2, head_dim=16, capacity=20), ShapeError, "G=2"),
        (
            lambda: cached(num_key_value_heads=4, head_dim=16, capacity=20, dtype=torch.float32),
            ArgumentTypeError,
            "cache: expected the model's torch.float64 on cpu, got torch.float32 on cpu",
        ),
        (
            lambda: cached(num_key_value_heads=4, head_dim=16, capacity=20, device="meta"),
            ArgumentTypeError,
            "cache: .* got torch.float64 on meta",
        ),
        (lambda: cached(num_key_value_heads=4, head_dim=16, capacity=20, num_layers=2), ShapeError, "got 2 and 2"),
    ],
)
def test_what_does_not_fit_is_refused_in_words(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_a_scaling_that_depends_on_length_is_refused_past_the_trained_context_of_a_cache():
    layer = made(encoding=Rotary(HEAD_DIM, layout="half", scaling=DynamicNTK(2.0, 8)))
    cache = layer.new_cache(2, capacity=TOKENS)
    with torch.inference_mode():
        layer(X[:, :8], STEPS[:8], mask=Causal(), cache=cache)
        with pytest.raises(RefusedError, match="length"):
            layer(X[:, 8:9], STEPS[8:9], mask=Causal(), cache=cache)


def test_a_layer_and_its_encoding_can_be_saved_copied_and_compiled():
    layer = made(encoding=ShawRelative(HEAD_DIM, 4))
    twin = copy.deepcopy(layer)
    assert twin.encodings[0] is twin.encoding_modules[0]
    twin.load_state_dict(layer.state_dict())
    assert_close(twin(X, STEPS, mask=Causal()), layer(X, STEPS, mask=Causal()))
    compiled = torch.compile(SELF, backend="eager", fullgraph=True, dynamic=True)
    assert_close(compiled(X, STEPS, mask=Causal()), SELF(X, STEPS, mask=Causal()))
