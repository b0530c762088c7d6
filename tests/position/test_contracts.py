"""What every encoding promises, run on every row of `members.MEMBERS`.

All but the last few contracts go through `attend` in float64, as a user would, so they hold for the encoding and its wiring
together. An exempt row is not skipped: the test shows that the stated reason is real (a clear refusal, or a difference).
"""

import copy
import pickle

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.testing import assert_close

import ordinate.position
import ordinate.position.frequencies
from ordinate.attention import Causal, Documents, Padding, attend
from ordinate.errors import RefusedError
from ordinate.position import indices
from tests.position.members import HEAD_DIM, HEADS, MEMBERS, Member

CAPTURED_SLOWLY = ("grape", "path-integral", "repo", "selective-rotary", "multi-head-rotary")


def first_of_each_class(members: list[Member]) -> pytest.MarkDecorator:
    """The first row of every class: a graph takes long to capture, so what others stand for is left to the slow run."""
    first = list({type(member.make()): member for member in reversed(members)}.values())[::-1]
    rows = [pytest.param(one, id=one.name, marks=[pytest.mark.slow] if one.name in CAPTURED_SLOWLY else []) for one in first]
    return pytest.mark.parametrize("member", rows)


def each(members: list[Member]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("member", members, ids=[member.name for member in members])


TOKENS = 24  # past the trained context (16) of the length-dependent rows


def made(member: Member) -> nn.Module:
    torch.manual_seed(0)
    return member.make().double()


def heads(tokens: int = TOKENS, batch: int = 2, seed: int = 1) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return tuple(torch.randn(3, batch, HEADS, tokens, HEAD_DIM, dtype=torch.float64, generator=generator))


def run(
    member: Member, encoding: nn.Module, q: Tensor, k: Tensor, v: Tensor, steps: Tensor, key_steps=None, mask=None
) -> Tensor:
    key_steps = steps if key_steps is None else key_steps
    return attend(
        q,
        k,
        v,
        query_positions=member.positions(steps),
        key_positions=member.positions(key_steps),
        encoding=encoding,
        mask=Causal() if mask is None else mask,
        impl="reference",
    )


@each(MEMBERS)
def test_scores_depend_on_the_distance_alone_where_the_mathematics_says_so(member):
    encoding, (q, k, v) = made(member), heads(12)
    here = indices.consecutive(12)
    if "shift" in member.exempt:
        with pytest.raises(RefusedError):
            run(member, encoding, q, k, v, here + 100)
        return
    near, far = run(member, encoding, q, k, v, here), run(member, encoding, q, k, v, here + 100)
    if member.shift_invariant:
        assert_close(near, far, rtol=1e-9, atol=1e-9)
    else:
        assert (near - far).abs().max() > 1e-6


@each(MEMBERS)
def test_prefill_equals_decode_token_by_token_or_is_refused(member):
    encoding, (q, k, v) = made(member), heads()
    steps = indices.consecutive(TOKENS)

    def step(t: int) -> Tensor:
        return run(member, encoding, q[:, :, t : t + 1], k[:, :, : t + 1], v[:, :, : t + 1], steps[t : t + 1], steps[: t + 1])

    if "decode" in member.exempt:
        with pytest.raises(RefusedError, match="length"):
            step(TOKENS - 1)
        return
    whole = run(member, encoding, q, k, v, steps)
    for t in range(TOKENS):
        assert_close(step(t), whole[:, :, t : t + 1], rtol=1e-9, atol=1e-9)


@each([member for member in MEMBERS if member.interface == "rotates" and "decode" not in member.exempt])
def test_rotated_keys_can_be_cached_one_at_a_time(member):
    encoding, (_, k, _) = made(member), heads()
    turn = getattr(encoding, "rotate_key", None) or encoding.rotate
    steps = member.positions(indices.consecutive(TOKENS))
    singly = [turn(k[:, :, t : t + 1], steps[t : t + 1]) for t in range(TOKENS)]
    assert_close(torch.cat(singly, dim=2), turn(k, steps), rtol=0, atol=1e-12)


@each(MEMBERS)
def test_an_offset_is_a_position(member):
    encoding, (q, k, v) = made(member), heads()
    steps = indices.consecutive(TOKENS)
    if "offset" in member.exempt:
        with pytest.raises(RefusedError):
            run(member, encoding, q[:, :, 3:], k[:, :, 3:], v[:, :, 3:], steps[3:])
        return
    hidden_prefix = Padding(torch.arange(TOKENS) >= 3) & Causal()
    padded = attend(
        q[:, :, 3:],
        k,
        v,
        query_positions=member.positions(steps[3:]),
        key_positions=member.positions(steps),
        encoding=encoding,
        mask=hidden_prefix,
        impl="reference",
    )
    assert_close(run(member, encoding, q[:, :, 3:], k[:, :, 3:], v[:, :, 3:], steps[3:]), padded, rtol=1e-9, atol=1e-9)


@each(MEMBERS)
def test_left_padding_changes_nothing_for_real_tokens(member):
    encoding, (q, k, v) = made(member), heads(12)
    mask = torch.ones(2, 12, dtype=torch.bool)
    mask[1, :5] = False
    padded = run(member, encoding, q, k, v, indices.from_mask(mask), mask=Causal() & Padding(mask))
    alone = run(member, encoding, q[1:, :, 5:], k[1:, :, 5:], v[1:, :, 5:], indices.consecutive(7))
    assert_close(padded[1:, :, 5:], alone, rtol=1e-9, atol=1e-9)


@each(MEMBERS)
def test_a_row_does_not_depend_on_its_neighbours(member):
    encoding, (q, k, v) = made(member), heads(40)
    mask = torch.ones(2, 40, dtype=torch.bool)
    mask[0, 12:] = False
    steps = indices.from_mask(mask)
    beside = run(member, encoding, q, k, v, steps, mask=Causal() & Padding(mask))
    alone = run(member, encoding, q[:1, :, :12], k[:1, :, :12], v[:1, :, :12], indices.consecutive(12))
    assert_close(beside[:1, :, :12], alone, rtol=1e-9, atol=1e-9)


@each(MEMBERS)
def test_nothing_depends_on_what_was_computed_before(member):
    encoding, (q, k, v) = made(member), heads(12)
    steps = indices.consecutive(12)
    first = run(member, encoding, q, k, v, steps)
    run(member, encoding, *heads(200), indices.consecutive(200))
    assert torch.equal(run(member, encoding, q, k, v, steps), first)


@each(MEMBERS)
def test_two_equal_documents_in_one_row_give_equal_rows(member):
    encoding, (q, k, v) = made(member), heads(10)
    doubled = [torch.cat((x, x), dim=2) for x in (q, k, v)]
    packed = run(
        member, encoding, *doubled, indices.from_lengths([10, 10]), mask=Causal() & Documents(indices.documents([10, 10]))
    )
    assert_close(packed[:, :, :10], packed[:, :, 10:], rtol=0, atol=1e-12)
    assert_close(packed[:, :, :10], run(member, encoding, q, k, v, indices.consecutive(10)), rtol=1e-9, atol=1e-9)


@each([member for member in MEMBERS if member.shift_invariant and "far" not in member.exempt])
def test_half_precision_is_no_worse_far_out_than_near(member):
    """Inputs are exact in bfloat16, so what differs from float64 is the encoding's own rounding and that of the output."""
    encoding, (q, k, v) = made(member), (x.bfloat16().double() for x in heads(12))
    far = indices.consecutive(12, start=200_000)
    wide = run(member, encoding, q, k, v, far)
    narrow = run(member, encoding.float(), q.bfloat16(), k.bfloat16(), v.bfloat16(), far)
    assert narrow.dtype is torch.bfloat16
    assert (narrow.double() - wide).abs().max() < 0.05


@each(MEMBERS)
def test_gradients_are_those_of_finite_differences(member):
    encoding, (q, k, v) = made(member), heads(5, batch=1)
    for parameter in encoding.parameters():
        parameter.requires_grad_()
    inputs = [x.clone().requires_grad_() for x in (q, k, v)]
    steps = indices.consecutive(5)
    assert torch.autograd.gradcheck(lambda q, k, v: run(member, encoding, q, k, v, steps), inputs, fast_mode=True)
    run(member, encoding, *inputs, steps).square().sum().backward()
    for name, parameter in encoding.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name


@each(MEMBERS)
def test_as_many_tokens_as_heads_confuses_no_axis(member):
    """The first HEADS tokens of a causal row do not change when the row is cut there."""
    encoding, (q, k, v) = made(member), heads(12, batch=HEADS)
    steps = indices.consecutive(12)
    cut = run(member, encoding, *(x[:, :, :HEADS] for x in (q, k, v)), steps[:HEADS])
    assert_close(cut, run(member, encoding, q, k, v, steps)[:, :, :HEADS], rtol=1e-9, atol=1e-9)


@each(MEMBERS)
def test_strides_do_not_matter(member):
    encoding, (q, k, v) = made(member), heads(12)
    steps = indices.consecutive(12)
    across = [x.transpose(1, 2).contiguous().transpose(1, 2) for x in (q, k, v)]
    assert not across[0].is_contiguous()
    assert_close(run(member, encoding, *across, steps), run(member, encoding, q, k, v, steps), rtol=0, atol=1e-12)


@each(MEMBERS)
def test_one_token_and_no_token(member):
    encoding = made(member)
    for tokens in (1, 0):
        out = run(member, encoding, *heads(tokens), indices.consecutive(tokens))
        assert out.shape == (2, HEADS, tokens, HEAD_DIM)
        assert out.isfinite().all()


@settings(max_examples=8, deadline=None)
@given(start=st.integers(0, 150), tokens=st.integers(1, 20), seed=st.integers(0, 9))
@each(MEMBERS)
def test_a_causal_row_does_not_see_the_future(member, start, tokens, seed):
    if "offset" in member.exempt:  # within the trained context such a row is like any other
        start, tokens = 0, min(tokens, 16)
    encoding, (q, k, v) = made(member), heads(tokens, batch=1, seed=seed)
    steps = indices.consecutive(tokens, start=start)
    cut = (tokens + 1) // 2
    whole = run(member, encoding, q, k, v, steps)
    part = run(member, encoding, q[:, :, :cut], k[:, :, :cut], v[:, :, :cut], steps[:cut])
    assert_close(part, whole[:, :, :cut], rtol=1e-9, atol=1e-9)


@each(MEMBERS)
def test_repr_is_the_call_that_made_it(member):
    encoding = made(member)
    names = vars(ordinate.position) | vars(ordinate.position.frequencies)
    again = eval(repr(encoding), dict(names))
    assert repr(again) == repr(encoding)
    assert type(again) is type(encoding)
    assert {n: p.shape for n, p in again.state_dict().items()} == {n: p.shape for n, p in encoding.state_dict().items()}


@each(MEMBERS)
def test_pickle_and_deepcopy_keep_every_bit(member):
    encoding, (q, k, v) = made(member), heads(12)
    steps = indices.consecutive(12)
    first = run(member, encoding, q, k, v, steps)
    for other in (copy.deepcopy(encoding), pickle.loads(pickle.dumps(encoding))):
        assert torch.equal(run(member, other, q, k, v, steps), first)


@each(MEMBERS)
def test_a_cast_of_the_module_spoils_no_angle_slope_or_bucket(member):
    """Parameters are first made exact in bfloat16; then a round trip through bfloat16 must change nothing at all."""
    encoding, (q, k, v) = made(member), heads(12)
    with torch.no_grad():
        for parameter in encoding.parameters():
            parameter.copy_(parameter.bfloat16().double())
    steps = indices.consecutive(12) if member.exempt or not member.shift_invariant else indices.consecutive(12, start=30_000)
    before = run(member, encoding, q, k, v, steps)
    assert torch.equal(run(member, encoding.bfloat16().double(), q, k, v, steps), before)


@each(MEMBERS)
def test_the_state_dict_holds_parameters_only_and_the_meta_device_harms_nothing(member):
    encoding = made(member)
    assert set(encoding.state_dict()) == {name for name, _ in encoding.named_parameters()}
    with torch.device("meta"):
        empty = member.make()
    rebuilt = empty.to_empty(device="cpu").double()
    rebuilt.load_state_dict(encoding.state_dict())
    q, k, v = heads(12)
    steps = indices.consecutive(12)
    assert torch.equal(run(member, rebuilt, q, k, v, steps), run(member, encoding, q, k, v, steps))


class Called(nn.Module):
    """An encoding by its own main method, as a module to compile or export."""

    def __init__(self, member: Member) -> None:
        super().__init__()
        self.member, self.encoding = member, made(member).float()

    def forward(self, q: Tensor, k: Tensor, v: Tensor, steps: Tensor) -> Tensor:
        return self.call(q, k, self.member.positions(steps))

    def call(self, q: Tensor, k: Tensor, positions: Tensor) -> Tensor:
        if self.member.interface == "adds" or hasattr(self.encoding, "rotate"):
            return self.encoding(q, positions)
        if hasattr(self.encoding, "rotate_query"):
            return torch.cat(self.encoding(q, k, positions), dim=-1)
        if self.member.interface == "scores":
            return self.encoding(q, k, positions, positions)
        return self.encoding(positions, positions, q, k)


class Wired(Called):
    """An encoding in attention."""

    def forward(self, q: Tensor, k: Tensor, v: Tensor, steps: Tensor) -> Tensor:
        return run(self.member, self.encoding, q, k, v, steps)


def compiles_to_one_graph(module: nn.Module) -> None:
    graphs = []

    def counting(graph, example_inputs):
        graphs.append(graph)
        return graph.forward

    torch._dynamo.reset()
    compiled = torch.compile(module, backend=counting, fullgraph=True, dynamic=True)
    for tokens in (8, 9, 64):
        q, k, v = (x.float() for x in heads(tokens))
        steps = indices.consecutive(tokens)
        assert_close(compiled(q, k, v, steps), module(q, k, v, steps), rtol=1e-5, atol=1e-5)
    assert len(graphs) == 1


def exports_with_a_dynamic_length(module: nn.Module) -> None:
    module.eval()
    tokens = torch.export.Dim("tokens", min=2, max=4096)
    inputs = (*(x.float() for x in heads(8)), indices.consecutive(8))
    program = torch.export.export(module, inputs, dynamic_shapes=({2: tokens}, {2: tokens}, {2: tokens}, {0: tokens}))
    for length in (5, 64):
        q, k, v = (x.float() for x in heads(length))
        steps = indices.consecutive(length)
        assert_close(program.module()(q, k, v, steps), module(q, k, v, steps), rtol=1e-5, atol=1e-5)


@pytest.mark.in_turn(2)
@first_of_each_class(MEMBERS)
def test_one_compiled_graph_serves_every_length(member):
    compiles_to_one_graph(Called(member))


@pytest.mark.in_turn(2, start=1)  # what is not compiled today is exported
@first_of_each_class(MEMBERS)
def test_export_has_a_dynamic_length(member):
    exports_with_a_dynamic_length(Called(member))


@pytest.mark.slow
@each(MEMBERS)
def test_attention_with_it_compiles_to_one_graph_for_every_length(member):
    compiles_to_one_graph(Wired(member))


@pytest.mark.slow
@each(MEMBERS)
def test_attention_with_it_exports_with_a_dynamic_length(member):
    exports_with_a_dynamic_length(Wired(member))


@each(MEMBERS)
def test_calling_the_module_is_its_main_method(member):
    encoding, (q, k, v) = made(member), heads(6)
    positions = member.positions(indices.consecutive(6))
    found = Called(member).double()(q, k, v, indices.consecutive(6))
    if member.interface == "adds":
        expected = q + encoding.encode(positions, dtype=torch.float64)
        assert_close(encoding(q[:, 0], positions), expected[:, 0])
    elif hasattr(encoding, "rotate"):
        expected = encoding.rotate(q, positions)
        both = encoding.rotate_both(q, k, positions)
        assert_close(both, (encoding.rotate(q, positions), encoding.rotate(k, positions)), rtol=0, atol=1e-14)
    elif hasattr(encoding, "rotate_query"):
        expected = torch.cat((encoding.rotate_query(q, positions), encoding.rotate_key(k, positions)), dim=-1)
    elif member.interface == "scores":
        expected = encoding.scores(q, k, positions, positions)
    else:
        expected = encoding.bias(positions, positions, q, k)
    assert torch.equal(found, expected)
