"""`attend` against explicit loops, torch's own module, and itself on other paths."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.testing import assert_close
from torch.utils._python_dispatch import TorchDispatchMode

from ordinate.attention import Causal, Documents, Padding, Window, attend
from ordinate.errors import ArgumentError, ArgumentTypeError, RefusedError, ShapeError
from ordinate.position import ALiBi, NoPosition, Rotary, Sinusoidal, indices


def heads(batch=2, query_heads=4, shared=4, tokens=6, keys=6, dim=8, dtype=torch.float64, seed=0):
    generator = torch.Generator().manual_seed(seed)

    def draw(*shape):
        return torch.randn(*shape, dtype=torch.float64, generator=generator).to(dtype)

    return draw(batch, query_heads, tokens, dim), draw(batch, shared, keys, dim), draw(batch, shared, keys, dim)


def by_loops(query, key, value, allowed=lambda b, i, j: True, bias=lambda h, i, j: 0.0):
    """The formula, one number at a time."""
    batch, query_heads, tokens, dim = query.shape
    group = query_heads // key.shape[1]
    output = torch.zeros(batch, query_heads, tokens, value.shape[-1], dtype=torch.float64)
    for b in range(batch):
        for h in range(query_heads):
            for i in range(tokens):
                exps = {}
                for j in range(key.shape[2]):
                    if allowed(b, i, j):
                        product = sum(float(a) * float(c) for a, c in zip(query[b, h, i], key[b, h // group, j], strict=True))
                        exps[j] = math.exp(product / math.sqrt(dim) + bias(h, i, j))
                for j, e in exps.items():
                    output[b, h, i] += e / sum(exps.values()) * value[b, h // group, j]
    return output


@pytest.mark.parametrize("impl", ["reference", "sdpa", "auto"])
@pytest.mark.parametrize("shared", [1, 2, 4])
def test_attention_is_its_formula_for_all_ways_to_share_heads(impl, shared):
    q, k, v = heads(shared=shared, tokens=3, keys=5)
    assert_close(attend(q, k, v, impl=impl), by_loops(q, k, v), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("impl", ["reference", "sdpa", "auto"])
def test_masks_and_biases_act_by_position(impl):
    q, k, v = heads(tokens=2, keys=5)
    slopes = [1 / 4, 1 / 16, 1 / 64, 1 / 256]
    out = attend(
        q,
        k,
        v,
        query_positions=torch.tensor([3, 4]),
        key_positions=torch.arange(5),
        encoding=ALiBi(4),
        mask=Causal() & Window(window_keys=3),
        impl=impl,
    )
    want = by_loops(q, k, v, lambda b, i, j: 0 <= i + 3 - j < 3, lambda h, i, j: -slopes[h] * (i + 3 - j))
    assert_close(out, want, rtol=1e-6, atol=1e-7)  # slopes are float32, and exact


def test_attention_without_positions_is_torch_multihead_attention():
    torch.manual_seed(0)
    theirs = nn.MultiheadAttention(32, 4, batch_first=True).double()
    x = torch.randn(2, 7, 32, dtype=torch.float64)
    q, k, v = (
        part.unflatten(-1, (4, 8)).transpose(1, 2)
        for part in nn.functional.linear(x, theirs.in_proj_weight, theirs.in_proj_bias).chunk(3, dim=-1)
    )
    ours = theirs.out_proj(attend(q, k, v).transpose(1, 2).flatten(-2))
    assert_close(ours, theirs(x, x, x)[0], rtol=1e-10, atol=1e-12)


@settings(deadline=None, max_examples=25)
@given(st.integers(1, 12), st.integers(0, 5), st.sampled_from(["reference", "sdpa"]))
def test_without_positions_a_permutation_of_tokens_permutes_the_output(tokens, seed, impl):
    q, k, v = heads(tokens=tokens, keys=tokens, seed=seed)
    order = torch.randperm(tokens, generator=torch.Generator().manual_seed(seed))
    shuffled = attend(q[:, :, order], k[:, :, order], v[:, :, order], impl=impl)
    assert_close(shuffled, attend(q, k, v, impl=impl)[:, :, order], rtol=1e-10, atol=1e-12)


@settings(deadline=None, max_examples=25)
@given(st.integers(2, 10), st.integers(0, 5))
def test_with_positions_that_travel_along_a_permutation_still_changes_nothing(tokens, seed):
    """Order is in the positions alone, not in where a token stands in the tensor."""
    q, k, v = heads(tokens=tokens, keys=tokens, seed=seed)
    order = torch.randperm(tokens, generator=torch.Generator().manual_seed(seed))
    settings = {"encoding": [Rotary(8, layout="half"), ALiBi(4)], "mask": Causal()}
    straight = attend(q, k, v, query_positions=torch.arange(tokens), **settings)
    shuffled = attend(q[:, :, order], k[:, :, order], v[:, :, order], query_positions=order, **settings)
    assert_close(shuffled, straight[:, :, order], rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("mask", [None, Causal(), Causal() & Window(3), Window(3, both_sides=True)])
@pytest.mark.parametrize("encoding", [None, NoPosition(), Rotary(8, layout="half"), ALiBi(4), Sinusoidal(8), Sinusoidal(32)])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_implementations_agree_forward_and_backward(mask, encoding, dtype):
    tolerance = {torch.float64: 1e-6, torch.float32: 1e-5, torch.bfloat16: 5e-2}[dtype]
    if encoding is not None and encoding.__class__ is Sinusoidal and encoding.dim == 32:
        inputs = heads(dtype=dtype)  # H D side by side fits only as many key-value heads
    else:
        inputs = heads(shared=2, dtype=dtype)
    results = []
    for impl in ("reference", "sdpa"):
        given = [x.clone().requires_grad_() for x in inputs]
        out = attend(*given, query_positions=indices.consecutive(6), encoding=encoding, mask=mask, impl=impl)
        assert out.dtype is dtype
        out.square().sum().backward()
        results.append([out, *(x.grad for x in given)])
    for ours, theirs in zip(*results, strict=True):
        assert_close(ours, theirs, rtol=tolerance, atol=tolerance)


def test_an_encoding_that_adds_acts_on_queries_and_keys_but_not_on_values():
    q, k, v = heads()
    steps = torch.arange(6)
    vectors = Sinusoidal(8).encode(steps, dtype=torch.float64)
    assert_close(
        attend(q, k, v, query_positions=steps, encoding=Sinusoidal(8)),
        attend(q + vectors, k + vectors, v),
        rtol=1e-6,
        atol=1e-6,
    )


def test_weights_on_request_sum_to_one_over_visible_keys():
    q, k, v = heads()
    out, weights = attend(q, k, v, query_positions=torch.arange(6), mask=Causal(), return_weights=True)
    assert weights.shape == (2, 4, 6, 6)
    assert_close(weights.sum(-1), torch.ones(2, 4, 6, dtype=torch.float64))
    assert weights.triu(1).abs().max() == 0
    assert_close(out, weights @ v)


def test_weights_from_an_implementation_that_has_none_are_refused():
    with pytest.raises(RefusedError, match="impl: expected an implementation that forms weights, got sdpa"):
        attend(*heads(), impl="sdpa", return_weights=True)


def test_half_precision_does_not_round_a_bias_under_auto():
    """At distance 1,000 a bfloat16 bias is off by up to 4: enough to swap neighbours."""
    q, k, v = heads(batch=1, query_heads=1, shared=1, tokens=1, keys=1001, dim=64, dtype=torch.bfloat16)
    settings = {"query_positions": torch.tensor([1000]), "key_positions": torch.arange(1001), "encoding": ALiBi(1)}
    exact = attend(q.double(), k.double(), v.double(), impl="reference", **settings)
    assert_close(attend(q, k, v, **settings).double(), exact, rtol=1e-2, atol=1e-2)


def test_a_row_that_is_all_padding_is_an_error_or_zeros_as_asked():
    q, k, v = heads()
    mask = Padding(torch.tensor([[1, 1, 1, 1, 1, 1], [0, 0, 0, 0, 0, 0]]))
    with pytest.raises(ArgumentError, match=r"mask: expected at least one visible key .* got none for query 0 of row 1"):
        attend(q, k, v, mask=mask)
    for impl in ("reference", "sdpa"):
        out = attend(q, k, v, mask=mask, impl=impl, empty_rows="zeros")
        assert out[1].abs().max() == 0
        assert_close(out[0], attend(q, k, v)[0])


def test_causal_takes_the_fast_kernel_only_when_positions_rise_together():
    """Same answer whether the kernel masks by index or we mask by position; a reversed row is where they part."""
    q, k, v = heads()
    backwards = torch.arange(5, -1, -1)
    ours = attend(q, k, v, query_positions=backwards, mask=Causal(), impl="sdpa")
    assert_close(ours, by_loops(q, k, v, lambda b, i, j: j >= i), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("culprit", ["query", "key", "value"])
def test_nan_is_traced_to_the_argument_it_came_in_by(culprit):
    inputs = dict(zip(("query", "key", "value"), heads(), strict=True))
    inputs[culprit][0, 0, 0, 0] = float("nan")
    with pytest.raises(ArgumentError, match=f"{culprit}: expected numbers, got NaN in 1 of"):
        attend(**inputs)


Q, K, V = heads()
STEPS = torch.arange(6)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: attend(Q[0], K, V), ShapeError, r"query: expected a tensor \[B H T D\]"),
        (lambda: attend(Q, K[:, :3], V[:, :3]), ShapeError, "divides the 4 query heads, got 3 heads"),
        (lambda: attend(Q, K, V[:, :, :5]), ShapeError, r"value: expected a tensor \[B G S V\] with B=2, G=4, S=6"),
        (lambda: attend(Q, K[..., :4], V), ShapeError, "key: .* with B=2, D=8"),
        (lambda: attend(Q, K.float(), V), ArgumentTypeError, "key: expected the dtype of query"),
        (lambda: attend(Q.long(), K, V), ArgumentTypeError, "query: expected a floating dtype"),
        (lambda: attend(Q, K, V, mask=Causal()), ArgumentError, "query_positions: expected the positions of the queries"),
        (lambda: attend(Q, K, V, encoding=ALiBi(4)), ArgumentError, "query_positions"),
        (lambda: attend(Q[:, :, :1], K, V, query_positions=STEPS[:1], mask=Causal()), ArgumentError, "positions of all 6 keys"),
        (lambda: attend(Q, K, V, query_positions=STEPS[:5], mask=Causal()), ShapeError, "each of the 6 tokens"),
        (lambda: attend(Q, K, V, query_positions=STEPS.bfloat16(), mask=Causal()), ArgumentTypeError, "bfloat16"),
        (lambda: attend(Q, K, V, query_positions=STEPS.repeat(3, 1), mask=Causal()), ShapeError, "B=2"),
        (lambda: attend(Q, K, V, query_positions=STEPS, encoding=ALiBi(3)), ShapeError, "a bias for 4 heads, got 3"),
        (lambda: attend(Q, K, V, query_positions=STEPS, encoding=Rotary(16, layout="half")), ShapeError, "D=16"),
        (lambda: attend(Q, K, V, query_positions=STEPS, encoding=Sinusoidal(12)), ShapeError, "8 or 32 channels"),
        (lambda: attend(Q, K, V, encoding="rotary"), ArgumentTypeError, "encoding: expected an encoding"),
        (lambda: attend(Q, K, V, query_positions=STEPS, encoding=NoPosition), ArgumentTypeError, "a class"),
        (lambda: attend(Q, K, V, mask=torch.ones(6, 6, dtype=torch.bool)), ArgumentTypeError, "mask: expected a Mask"),
        (lambda: attend(Q, K, V, mask=Padding(torch.ones(2, 5, dtype=torch.bool))), ShapeError, "cover every key"),
        (lambda: attend(Q, K, V, mask=Documents(torch.zeros(3, dtype=torch.long))), ShapeError, "cover every key"),
        (lambda: attend(Q, K, V, impl="flash"), ArgumentError, "impl: expected"),
        (lambda: attend(Q, K, V, scale=float("inf")), ArgumentError, "scale: expected a finite number"),
    ],
)
def test_what_does_not_fit_is_refused_in_words(call, error, words):
    with pytest.raises(error, match=words):
        call()


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("keys", [1, 4, 7, 16])
@pytest.mark.parametrize("impl", ["auto", "reference", "sdpa", "blocked"])
@pytest.mark.parametrize("encoding", [None, Rotary(8, layout="half"), ALiBi(4)], ids=str)
def test_a_query_that_is_no_number_is_refused_whatever_the_kernel_makes_of_it(bad, keys, impl, encoding):
    """torch's CPU kernel gives a row of zeros where all scores of a query are NaN."""
    for dtype in (torch.float32, torch.float64, torch.bfloat16):
        q, k, v = heads(tokens=keys, keys=keys, dtype=dtype)
        q[0, 0, 0, 0] = bad
        kind = "NaN" if math.isnan(bad) else "infinity"
        with pytest.raises(ArgumentError, match=f"query: expected numbers, got {kind} in 1 of"):
            attend(q, k, v, query_positions=indices.consecutive(keys), encoding=encoding, impl=impl)


def test_zeros_among_the_values_are_no_error():
    q, k, v = heads()
    assert attend(q, k, torch.zeros_like(v)).abs().max() == 0


class Looks(TorchDispatchMode):
    """Counts what makes the host wait for a device: single numbers read out, and lists."""

    def __init__(self, monkeypatch):
        super().__init__()
        self.count, whole = 0, torch.Tensor.tolist
        monkeypatch.setattr(torch.Tensor, "tolist", lambda tensor: (setattr(self, "count", self.count + 1), whole(tensor))[1])

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        names = ("aten::_local_scalar_dense", "aten::nonzero", "aten::equal", "aten::is_nonzero")
        self.count += function.name().split(".")[0] in names
        return function(*args, **(kwargs or {}))


MASKED = {
    "causal": (Causal(), STEPS, STEPS),
    "causal, equal positions": (Causal(), STEPS, STEPS.clone()),
    "causal, backwards": (Causal(), STEPS.flip(0), STEPS.flip(0)),
    "window": (Window(3), STEPS, STEPS),
    "wide window": (Window(100), STEPS, STEPS),
    "documents": (Causal() & Documents(torch.tensor([0, 0, 0, 1, 1, 1])), STEPS, STEPS),
    "padding": (Padding(torch.tensor([[True] * 6, [True] * 4 + [False] * 2])), STEPS, STEPS),
}


@pytest.mark.parametrize("impl", ["auto", "reference", "blocked"])
@pytest.mark.parametrize("encoding", [None, ALiBi(4)], ids=str)
@pytest.mark.parametrize("name", MASKED)
def test_a_masked_call_looks_at_the_device_once(name, encoding, impl, monkeypatch):
    """Beside the two looks for NaN, which are for CPUs alone, and the blocks' own look at positions."""
    mask, at, by = MASKED[name]
    counts = []
    for rule in (mask, None):
        with monkeypatch.context() as patch, Looks(patch) as looks:
            attend(Q, K, V, query_positions=at, key_positions=by, encoding=encoding, mask=rule, impl=impl)
        counts.append(looks.count)
    assert counts[0] - counts[1] <= 1
    assert counts[1] <= 2 + (impl == "blocked" and encoding is not None)
