"""What `attend` takes is what `choose` says, and every implementation gives the same numbers."""

import itertools
import sys

import pytest
import torch
from torch.testing import assert_close

from ordinate.attention import Causal, Choice, Documents, Padding, Window, attend, choose
from ordinate.errors import ArgumentError, RefusedError
from ordinate.position import ALiBi, Rotary, SelfExtend, ShawRelative, T5Bias, indices


def heads(tokens=6, keys=6, shared=4, dim=8, dtype=torch.float32):
    generator = torch.Generator().manual_seed(tokens + keys + shared)
    shapes = (2, 4, tokens, dim), (2, shared, keys, dim), (2, shared, keys, dim)
    return [torch.randn(shape, generator=generator).to(dtype) for shape in shapes]


CALLS = {
    "nothing": ({}, "sdpa", "torch's kernel"),
    "rotary": ({"encoding": Rotary(8, layout="half")}, "sdpa", "torch's kernel"),
    "bias": ({"encoding": ALiBi(4)}, "sdpa", "torch's kernel"),
    "weights": ({"return_weights": True}, "reference", "weights were asked for"),
    "values": ({"encoding": ShawRelative(8, 3)}, "reference", "ShawRelative adds to values"),
    "named": ({"impl": "blocked"}, "blocked", "it was named"),
}


@pytest.mark.parametrize("name", CALLS)
def test_attend_takes_what_choose_says(name, monkeypatch):
    module, (settings, impl, reason) = sys.modules["ordinate.attention.plan"], CALLS[name]
    asked = {key: value for key, value in settings.items() if key != "encoding"}
    choice = choose(settings.get("encoding"), **asked)
    assert isinstance(choice, Choice)
    assert choice.impl == impl
    assert reason in choice.reason
    taken = []
    paths = {"reference": "reference_attention", "sdpa": "scaled_dot_product_attention", "blocked": "blocked_attention"}
    for path, function in paths.items():
        inner = getattr(module, function)
        monkeypatch.setattr(module, function, lambda *a, p=path, f=inner, **k: (taken.append(p), f(*a, **k))[1])
    attend(*heads(), query_positions=indices.consecutive(6), **settings)
    assert taken == [impl]


def test_half_precision_keeps_a_bias_out_of_the_kernel():
    assert choose(ALiBi(4), dtype=torch.bfloat16) == Choice(
        "reference", "the bias would be rounded to torch.bfloat16 by the kernel"
    )
    assert choose(Rotary(8, layout="half"), dtype=torch.bfloat16).impl == "sdpa"


def test_a_name_is_taken_or_refused_but_never_replaced():
    with pytest.raises(ArgumentError, match="impl: expected one of"):
        choose(impl="flash")
    for encoding, settings in ((None, {"return_weights": True}), (ShawRelative(8, 3), {})):
        for impl in ("sdpa", "blocked", "flex"):
            with pytest.raises(RefusedError, match=f"an implementation that forms weights, got {impl}"):
                choose(encoding, impl=impl, **settings)
    assert choose(ShawRelative(8, 3), impl="reference").impl == "reference"
    assert hasattr(SelfExtend, "scores")


SIZES = [(17, 17, 4), (17, 17, 1), (5, 21, 2), (1, 33, 2)]  # queries, keys, key-value heads
ENCODINGS = [None, Rotary(8, layout="half"), ALiBi(4), T5Bias(4), [Rotary(8, layout="interleaved"), ALiBi(4)]]


def masks(tokens, keys):
    documents = torch.arange(keys) // 9
    real = torch.arange(keys) % 5 != torch.tensor([[-1], [2]])
    return [None, Causal(), Window(4), Causal() & Padding(real), Causal() & Documents(documents[-tokens:], documents)]


def grid(impl, dtype, tolerance, backward, sizes=SIZES, encodings=ENCODINGS, rules=slice(None)):
    for (tokens, keys, shared), encoding in itertools.product(sizes, encodings):
        for mask in masks(tokens, keys)[rules]:
            results = []
            for each in ("reference", impl):
                inputs = [x.requires_grad_(backward) for x in heads(tokens, keys, shared, dtype=dtype)]
                out = attend(
                    *inputs,
                    query_positions=indices.consecutive(tokens, start=keys - tokens),
                    key_positions=indices.consecutive(keys),
                    encoding=encoding,
                    mask=mask,
                    impl=each,
                )
                if backward:
                    out.square().sum().backward()
                results.append([out.detach(), *(x.grad for x in inputs if backward)])
            for ours, theirs in zip(*results, strict=True):
                assert_close(ours, theirs, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-6), (torch.float32, 1e-5)])  # biases are float32
@pytest.mark.parametrize("impl", ["sdpa", "blocked"])
def test_implementations_agree_forward_and_backward(impl, dtype, tolerance):
    grid(impl, dtype, tolerance, backward=True)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")
@pytest.mark.parametrize("encoding", [None, ENCODINGS[-1]], ids=["nothing", "rotary and bias"])
def test_flex_agrees_forward(encoding):
    """On a CPU it has no backward and works in float32; each kind of bias and mask takes seconds to compile."""
    torch._dynamo.reset()
    with torch.no_grad():
        grid("flex", torch.float32, 2e-5, backward=False, sizes=[(5, 21, 2)], encodings=[encoding], rules=slice(1, 4, 2))
