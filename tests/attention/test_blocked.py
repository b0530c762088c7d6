"""Attention in blocks against the formula, for every encoding, and the sizes of what it makes."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close
from torch.utils._python_dispatch import TorchDispatchMode

import ordinate.attention.blocked
from ordinate.attention import Causal, Documents, Mask, Padding, Window, attend
from ordinate.errors import ArgumentError, RefusedError, ShapeError
from ordinate.position import FIRE, ALiBi, Kerple, T5Bias, indices
from tests.position.members import HEAD_DIM, HEADS, MEMBERS, Member

TOKENS = 70  # two blocks of 32 and a rest


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Blocks of 32 by 32 whatever the number of heads, so that short rows have several."""
    monkeypatch.setattr(ordinate.attention.blocked, "_SCORES_AT_ONCE", 1)


def heads(tokens=TOKENS, keys=None, batch=2, shared=HEADS, values=6, seed=0):
    generator = torch.Generator().manual_seed(seed)

    def draw(*shape):
        return torch.randn(*shape, dtype=torch.float64, generator=generator).requires_grad_()

    keys = tokens if keys is None else keys
    return draw(batch, HEADS, tokens, HEAD_DIM), draw(batch, shared, keys, HEAD_DIM), draw(batch, shared, keys, values)


def both(given, encoding, **settings):
    """Output and gradients, of inputs and whatever the encoding learns, by blocks and by the formula."""
    parameters = [] if encoding is None else [p for p in getattr(encoding, "parameters", list)() if p.requires_grad]
    found = []
    for impl in ("blocked", "reference"):
        output = attend(*given, encoding=encoding, impl=impl, **settings)
        pulled = torch.linspace(-1, 1, output.numel(), dtype=output.dtype).view_as(output)
        grads = torch.autograd.grad((output * pulled).sum(), [*given, *parameters], allow_unused=True)
        found.append([output, *grads])
    return zip(*found, strict=True)


@pytest.mark.parametrize("member", MEMBERS, ids=[member.name for member in MEMBERS])
def test_blocks_give_the_formula_and_its_gradients_for_every_encoding(member: Member):
    torch.manual_seed(0)
    encoding = member.make().double()
    given = heads(values=HEAD_DIM)
    steps = indices.consecutive(TOKENS)
    row = {"query_positions": member.positions(steps), "mask": Causal()}
    if callable(getattr(encoding, "value_term", None)):
        with pytest.raises(RefusedError, match="impl: expected an implementation that forms weights, got blocked"):
            attend(*given, encoding=encoding, impl="blocked", **row)
        return
    for ours, expected in both(given, encoding, **row):
        if expected is None:
            assert ours is None or bool((ours == 0).all())
        else:
            assert_close(ours, expected, rtol=1e-9, atol=1e-9)


ENCODINGS = {
    "none": lambda: None,
    "alibi": lambda: ALiBi(HEADS, learned=True),
    "t5": lambda: T5Bias(HEADS, max_distance=40),
    "fire": lambda: FIRE(HEADS, hidden_dim=4, initial_threshold=20.0),
}
DOCUMENTS = [40, 20, 10]
MASKS = {
    "none": lambda: None,
    "causal": Causal,
    "window": lambda: Window(20),
    "both sides or start": lambda: Window(5, both_sides=True) | Window(64),
    "documents": lambda: Causal() & Documents(indices.documents(DOCUMENTS)),
    "padding": lambda: Causal() & Padding(torch.arange(TOKENS) >= torch.tensor([[0], [37]])),
    "not": lambda: ~Window(3) & Causal(),
}
POSITIONS = {
    "unbroken": lambda: indices.consecutive(TOKENS, start=1000),
    "packed": lambda: indices.from_lengths(DOCUMENTS),
    "rows": lambda: indices.consecutive(TOKENS, start=torch.tensor([0, 9])),
    "backwards": lambda: indices.consecutive(TOKENS).flip(0),
    "every third": lambda: indices.consecutive(TOKENS) * 3,
}


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("positions", POSITIONS)
def test_blocks_give_the_formula_for_every_mask_and_order_of_positions(encoding, mask, positions):
    torch.manual_seed(0)
    bias = ENCODINGS[encoding]()
    row = {"query_positions": POSITIONS[positions](), "mask": MASKS[mask](), "empty_rows": "zeros"}
    for ours, expected in both(heads(shared=2), None if bias is None else bias.double(), **row):
        assert_close(ours, expected, rtol=1e-9, atol=1e-9)


@settings(max_examples=25, deadline=None)
@given(
    tokens=st.integers(1, 70),
    cached=st.integers(0, 70),
    shared=st.sampled_from([1, 2, 4]),
    batch=st.integers(1, 3),
    kernel=st.sampled_from(["log", "power"]),
)
def test_blocks_give_the_formula_for_all_sizes(tokens, cached, shared, batch, kernel):
    torch.manual_seed(0)
    keys = indices.consecutive(tokens + cached)
    row = {"query_positions": keys[cached:], "key_positions": keys, "mask": Causal(), "scale": 0.3}
    given = heads(tokens, tokens + cached, batch=batch, shared=shared)
    for ours, expected in both(given, Kerple(HEADS, kernel=kernel).double(), **row):
        assert_close(ours, expected, rtol=1e-9, atol=1e-9)


def test_gradients_are_those_of_finite_differences():
    torch.manual_seed(0)
    bias = T5Bias(HEADS, num_buckets=8, max_distance=30).double()
    given = heads(40, batch=1, shared=2)
    steps = indices.consecutive(40)

    def run(q, k, v, weight):
        with torch.no_grad():
            bias.weight.copy_(weight)
        return attend(q, k, v, query_positions=steps, encoding=bias, mask=Causal(), impl="blocked")

    assert torch.autograd.gradcheck(lambda q, k, v: run(q, k, v, bias.weight.detach()), given, fast_mode=True)
    run(*given, bias.weight.detach()).square().sum().backward()
    step = torch.randn_like(bias.weight)
    with torch.no_grad():
        start = bias.weight.clone()
        ahead, behind = (run(*given, start + sign * 1e-5 * step).square().sum() for sign in (1, -1))
    assert_close((bias.weight.grad * step).sum(), (ahead - behind) / 2e-5, rtol=1e-6, atol=1e-6)


class Sizes(TorchDispatchMode):
    """The most numbers that any one tensor holds while the mode is on."""

    def __init__(self):
        super().__init__()
        self.largest = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        for one in result if isinstance(result, tuple | list) else (result,):
            if isinstance(one, torch.Tensor):
                self.largest = max(self.largest, one.numel())
        return result


@pytest.mark.parametrize("make", [ENCODINGS["alibi"], ENCODINGS["t5"], ENCODINGS["fire"]])
def test_no_tensor_has_a_number_for_each_pair_of_tokens_forward_or_backward(make, monkeypatch):
    """Of two sizes, the largest tensor of the larger is at most twice that of the smaller."""
    monkeypatch.setattr(ordinate.attention.blocked, "_SCORES_AT_ONCE", HEADS * 128 * 128)
    largest = []
    for tokens in (512, 1024):
        given = [x.float().detach().requires_grad_() for x in heads(tokens, batch=1)]
        row = {"query_positions": indices.consecutive(tokens), "encoding": make(), "mask": Causal()}
        with Sizes() as sizes:
            attend(*given, impl="blocked", **row).sum().backward()
        largest.append(sizes.largest)
    assert largest[1] <= 2 * largest[0]
    assert largest[1] < 1024 * 1024 / 4
    with Sizes() as whole:
        attend(*given, impl="reference", **row)
    assert whole.largest >= HEADS * 1024 * 1024  # so the probe does see such a tensor


def test_half_precision_is_worked_in_float32():
    q, k, v = (x.detach().bfloat16() for x in heads(shared=2))
    row = {"query_positions": indices.consecutive(TOKENS), "encoding": ALiBi(HEADS), "mask": Causal()}
    exact = attend(q.double(), k.double(), v.double(), impl="reference", **row)
    blocked = attend(q, k, v, impl="blocked", **row)
    assert blocked.dtype is torch.bfloat16
    assert_close(blocked, exact.bfloat16())


def test_large_scores_neither_overflow_nor_vanish():
    q, k, v = (x.detach().float() for x in heads())
    q = q * 1e4
    row = {"query_positions": indices.consecutive(TOKENS), "mask": Causal()}
    assert_close(attend(q, k, v, impl="blocked", **row), attend(q, k, v, impl="reference", **row), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("shape", [(0, 5), (5, 0), (0, 0)])
def test_no_queries_or_no_keys(shape):
    q, k, v = heads(*shape)
    out = attend(
        q,
        k,
        v,
        query_positions=indices.consecutive(shape[0]),
        key_positions=indices.consecutive(shape[1]),
        encoding=ALiBi(HEADS),
        impl="blocked",
    )
    assert out.shape == (2, HEADS, shape[0], 6)
    assert bool((out == 0).all())


def test_a_query_that_sees_no_key_is_an_error_or_zeros():
    q, k, v = heads()
    mask = Causal() & Padding(torch.arange(TOKENS) >= torch.tensor([[0], [40]]))
    row = {"query_positions": indices.consecutive(TOKENS), "mask": mask, "impl": "blocked"}
    with pytest.raises(
        ArgumentError, match="mask: expected at least one visible key for every query, got none for query 0 of row 1"
    ):
        attend(q, k, v, **row)
    out = attend(q, k, v, empty_rows="zeros", **row)
    assert bool((out[1, :, :40] == 0).all())
    out.sum().backward()
    assert all(x.grad.isfinite().all() for x in (q, k, v))


def test_in_a_compiled_function_the_loop_stays_outside_the_graph():
    """New lengths add turns to the loop, not graphs."""
    graphs = []

    def counting(graph, example_inputs):
        graphs.append(graph)
        return graph.forward

    def run(q, k, v):
        steps = indices.consecutive(q.shape[2])
        return attend(2 * q, k, v, query_positions=steps, encoding=ALiBi(HEADS), mask=Causal(), impl="blocked") + 1

    torch._dynamo.reset()
    compiled = torch.compile(run, backend=counting)
    for tokens in (40, 70, 130):
        q, k, v = (x.detach() for x in heads(tokens))
        assert_close(compiled(q, k, v), run(q, k, v))
        if tokens == 70:
            after_two_lengths = len(graphs)
    assert len(graphs) == after_two_lengths


class EveryOther(Mask):
    """A rule of somebody's own that cannot be asked for a part."""

    def visible(self, query_positions, key_positions):
        return ((query_positions[:, None] - key_positions[None]) % 2 == 0)[None, None]


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"encoding": ALiBi(3)}, ShapeError, "encoding: expected a bias for 4 heads, got 3"),
        ({"mask": Padding(torch.ones(9, dtype=torch.bool))}, ShapeError, "mask: expected visibility that broadcasts"),
        ({"mask": Documents(torch.zeros(9, dtype=torch.int64))}, ShapeError, "mask: expected visibility that broadcasts"),
        (
            {"mask": EveryOther()},
            RefusedError,
            "mask: expected a rule that can be asked for a part of the pairs, got EveryOther",
        ),
        ({"return_weights": True}, RefusedError, "impl: expected an implementation that forms weights, got blocked"),
    ],
)
def test_what_blocks_cannot_do_is_an_error_and_no_fallback(change, error, message):
    q, k, v = heads()
    with pytest.raises(error, match=message):
        attend(q, k, v, **{"query_positions": indices.consecutive(TOKENS), "impl": "blocked", **change})


@pytest.mark.parametrize("sizes", [(0, 4, 5, 6), (2, 0, 5, 6), (2, 4, 5, 0), (0, 0, 0, 0)], ids=str)
def test_no_rows_no_heads_or_no_channels_give_an_empty_result_with_gradients(sizes):
    batch, count, keys, values = sizes
    q, k = (torch.randn(batch, count or 0, keys, 8, requires_grad=True) for _ in range(2))
    if not count:
        k = torch.randn(batch, 1, keys, 8, requires_grad=True)
    v = torch.randn(batch, k.shape[1], keys, values, requires_grad=True)
    row = {"query_positions": indices.consecutive(keys), "mask": Causal()}
    out = attend(q, k, v, impl="blocked", **row)
    assert out.shape == attend(q, k, v, impl="reference", **row).shape
    out.sum().backward()
    assert all(x.grad is not None and x.grad.abs().sum() == 0 for x in (q, k, v))


def test_a_second_derivative_is_refused_and_not_silently_zero():
    q, k, v = heads(40)
    out = attend(q, k, v, query_positions=indices.consecutive(40), mask=Causal(), impl="blocked")
    with pytest.raises(RefusedError, match=r"impl: expected one derivative.*got 'blocked' with create_graph=True"):
        torch.autograd.grad(out.square().sum(), (q, k, v), create_graph=True)
