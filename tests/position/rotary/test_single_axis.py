import copy
import math
import pickle
import warnings

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from ordinate.errors import ArgumentError, ArgumentTypeError, RefusedError, ShapeError
from ordinate.position import Rotary, rotate_pairs
from ordinate.position.frequencies import DynamicNTK, Linear, LongRoPE, SteppedNTK, YaRN

LAYOUTS = ["half", "interleaved"]
TABLE_ERROR = 6e-8  # half a unit in the last place of a float32 below 1
FAR = [0, 1, 4095, 131071, 1_000_000, 10_000_000, 16777216, 16777217]


def exact(position: float, base: float = 10000.0, dim: int = 128) -> torch.Tensor:
    """cos and sin [2, P] by the C library's own functions, in double precision."""
    angles = [position * base ** (-2 * i / dim) for i in range(dim // 2)]
    return torch.tensor([[math.cos(a) for a in angles], [math.sin(a) for a in angles]], dtype=torch.float64)


def test_both_layouts_turn_the_published_example():
    x, steps = torch.arange(1.0, 9.0).reshape(1, 1, 1, 8), torch.tensor([3])
    half = [-1.6955925369, 0.1375517383, 2.7886815998, 3.975982036, -4.8088424749, 6.3230593481, 7.0868367369, 8.011963982]
    pairs = [-1.2722325127, -1.8388649851, 1.6839286407, 4.7079065765, 4.8177771675, 6.1472777035, 6.975968536, 8.0209639685]
    for layout, expected in (("half", half), ("interleaved", pairs)):
        found = Rotary(8, layout=layout).rotate(x.double(), steps).flatten()
        assert_close(found, torch.tensor(expected, dtype=torch.float64), rtol=0, atol=1e-9)


@pytest.mark.parametrize("cast", [lambda m: m, torch.nn.Module.bfloat16, torch.nn.Module.half, copy.deepcopy])
@pytest.mark.parametrize("position", [*FAR, 30_000])
def test_tables_are_rounded_once_at_any_distance_and_after_any_cast(cast, position):
    cos, sin = cast(Rotary(128, layout="half")).tables(torch.tensor([position]))
    assert (torch.cat((cos, sin)).double() - exact(position)).abs().max() <= TABLE_ERROR


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("position", FAR)
def test_a_single_token_is_turned_as_exactly_as_the_tables_are(layout, position):
    """The short way for few tokens makes its own tables: unit pairs show them."""
    x = torch.zeros(1, 1, 1, 128)
    first = slice(0, 64) if layout == "half" else slice(0, None, 2)
    second = slice(64, None) if layout == "half" else slice(1, None, 2)
    x[..., first] = 1.0
    found = Rotary(128, layout=layout).rotate(x, torch.tensor([position])).flatten()
    assert (torch.stack((found[first], found[second])).double() - exact(position)).abs().max() <= TABLE_ERROR


@pytest.mark.parametrize("layout", LAYOUTS)
def test_neighbours_far_out_differ(layout):
    rotary, x = Rotary(128, layout=layout), torch.ones(1, 1, 2, 128)
    for pair in ([16777216, 16777217], [256, 257]):
        for dtype in (torch.float32, torch.bfloat16):
            turned = rotary.rotate(x.to(dtype), torch.tensor(pair))
            assert not torch.equal(turned[:, :, 0], turned[:, :, 1])


def test_a_half_precision_call_changes_no_later_one():
    rotary, x, steps = Rotary(64, layout="half"), torch.randn(1, 2, 1024, 64), torch.arange(1024)
    before = rotary.rotate(x, steps)
    rotary.rotate(x.bfloat16(), steps)
    rotary.bfloat16()
    assert torch.equal(rotary.rotate(x, steps), before)


@pytest.mark.parametrize(
    "dtype", [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float32, torch.float64]
)
def test_positions_of_every_dtype_mean_the_same(dtype):
    rotary, x = Rotary(16, layout="interleaved"), torch.randn(1, 2, 3, 16)
    steps = torch.tensor([0, 100, 127])
    assert torch.equal(rotary.rotate(x, steps.to(dtype)), rotary.rotate(x, steps))
    assert torch.equal(rotary.tables(steps.to(dtype))[0], rotary.tables(steps)[0])


def test_the_last_position_of_a_narrow_dtype_does_not_wrap():
    for dtype in (torch.uint8, torch.int16, torch.int32):
        last = torch.iinfo(dtype).max
        cos, sin = Rotary(128, layout="half").tables(torch.tensor([last], dtype=dtype))
        assert (torch.cat((cos, sin)).double() - exact(last)).abs().max() <= TABLE_ERROR


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("rotated_channels", ["first", "last"])
def test_only_the_rotary_channels_turn_and_the_ladder_is_theirs(layout, rotated_channels):
    partial = Rotary(20, layout=layout, rotary_dim=8, rotated_channels=rotated_channels)
    x, steps = torch.randn(2, 3, 5, 20), torch.arange(5) * 77
    turned = slice(0, 8) if rotated_channels == "first" else slice(12, 20)
    rest = slice(8, 20) if rotated_channels == "first" else slice(0, 12)
    found = partial.rotate(x, steps)
    assert torch.equal(found[..., rest], x[..., rest])
    assert_close(found[..., turned], Rotary(8, layout=layout).rotate(x[..., turned], steps), rtol=0, atol=1e-6)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("tokens", [1, 3000])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64], ids=str)
def test_both_at_once_is_each_alone(layout, tokens, dtype):
    rotary = Rotary(32, layout=layout, rotary_dim=24, scaling=YaRN(4.0, 512))
    q, k = torch.randn(1, 8, tokens, 32).to(dtype), torch.randn(1, 2, tokens, 32).to(dtype)
    steps = torch.arange(tokens) + 5
    expected = rotary.rotate(q, steps), rotary.rotate(k, steps)
    assert_close(rotary.rotate_both(q, k, steps), expected, rtol=0, atol=0 if dtype is torch.bfloat16 else 1e-6)
    in_place = q.clone(), k.clone()
    assert rotary.rotate_both(*in_place, steps, in_place=True)[0] is in_place[0]
    assert_close(in_place, expected, rtol=0, atol=0 if dtype is torch.bfloat16 else 1e-6)


def test_both_at_once_may_differ_in_dtype():
    rotary, q, k = Rotary(8, layout="half"), torch.randn(1, 2, 3, 8, dtype=torch.float64), torch.randn(1, 2, 3, 8)
    steps = torch.arange(3)
    assert_close(rotary.rotate_both(q, k, steps), (rotary.rotate(q, steps), rotary.rotate(k, steps)), rtol=0, atol=0)


def test_tables_of_the_module_turn_as_the_module_does():
    rotary, x, steps = Rotary(16, layout="half", scaling=YaRN(4.0, 32)), torch.randn(2, 3, 50, 16), torch.arange(50)
    assert_close(rotate_pairs(x, *rotary.tables(steps), layout="half"), rotary.rotate(x, steps), rtol=0, atol=1e-6)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("tokens", [3, 2000])
def test_out_takes_the_result_and_x_itself_is_turned_in_place(layout, tokens):
    rotary, x, steps = Rotary(64, layout=layout, rotary_dim=48), torch.randn(1, 2, tokens, 64), torch.arange(tokens)
    expected = rotary.rotate(x, steps)
    cache = torch.zeros(1, 2, tokens + 10, 64)
    slot = cache[:, :, 4 : 4 + tokens]
    assert rotary.rotate(x, steps, out=slot) is slot
    assert_close(cache[:, :, 4 : 4 + tokens], expected)
    assert cache[:, :, :4].count_nonzero() == cache[:, :, 4 + tokens :].count_nonzero() == 0
    assert rotary.rotate(x, steps, out=x) is x
    assert_close(x, expected)


# ---- lengths


def test_dynamic_scaling_is_chosen_row_by_row():
    """A row of 80 tokens beside a right-padded neighbour of 200 is turned as if alone."""
    rotary = Rotary(16, layout="half", scaling=DynamicNTK(2.0, 64))
    x = torch.randn(2, 2, 200, 16)
    mask = torch.ones(2, 200, dtype=torch.bool)
    mask[0, 80:] = False
    steps = (mask.long().cumsum(-1) - 1).clamp_min(0)
    beside = rotary.rotate(x, steps)[0, :, :80]
    assert_close(beside, rotary.rotate(x[:1, :, :80], torch.arange(80))[0])
    assert not torch.allclose(beside, rotary.rotate(x[:1, :, :80], torch.arange(80), length=200)[0], atol=1e-3)


@pytest.mark.parametrize("scaling", [DynamicNTK(2.0, 16), SteppedNTK(16), LongRoPE([1.0] * 4, [2.0] * 4, 16, 256)], ids=repr)
def test_prefill_equals_decode_with_one_length_and_is_refused_without(scaling):
    rotary, x = Rotary(8, layout="half", scaling=scaling), torch.randn(1, 2, 24, 8)
    whole = rotary.rotate(x, torch.arange(24), length=24)
    assert_close(whole, rotary.rotate(x, torch.arange(24)))
    for t in range(24):
        one = x[:, :, t : t + 1]
        assert_close(rotary.rotate(one, torch.tensor([t]), length=24), whole[:, :, t : t + 1])
    with pytest.raises(
        RefusedError, match=r"length: expected the row's total length, .* fix one length for prefill and decode"
    ):
        rotary.rotate(x[:, :, 16:17], torch.tensor([16]))


def test_longrope_switches_after_the_original_context():
    scaling = LongRoPE([1.0] * 4, [2.0] * 4, 4096, 131072)
    rotary, plain = Rotary(8, layout="half", scaling=scaling), Rotary(8, layout="half")
    factor = 1.1902380714238083
    for length, stretch in ((4096, 1), (4097, 2)):
        cos, _ = rotary.tables(torch.tensor([1000]), length=length)
        expected, _ = plain.tables(torch.tensor([1000]) / stretch)
        assert_close(cos, (expected * factor).float())


def test_a_length_past_the_claim_of_longrope_warns_once_for_each_module():
    rotary = Rotary(8, layout="half", scaling=LongRoPE([1.0] * 4, [2.0] * 4, 16, 64))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rotary.tables(torch.arange(64))
    with pytest.warns(UserWarning, match="a row of 65 tokens passes the 64 that this LongRoPE was searched for") as told:
        rotary.tables(torch.arange(65))
    assert told[0].filename == __file__  # it points at the caller
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rotary.tables(torch.arange(70))
    other = Rotary(8, layout="half", scaling=LongRoPE([1.0] * 4, [2.0] * 4, 16, 64))
    with pytest.warns(UserWarning, match="a row of 80 tokens"):
        other.rotate(torch.randn(1, 1, 3, 8), torch.arange(3), length=80)


# ---- moving cached keys

SCALED = [None, Linear(4.0), YaRN(4.0, 32), DynamicNTK(2.0, 16), LongRoPE([1.0] * 4, [2.0] * 4, 16, 1000)]


@pytest.mark.parametrize("scaling", SCALED, ids=repr)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("settings", [{}, {"rotary_dim": 8, "rotated_channels": "last"}])
def test_cached_keys_move_to_other_positions(scaling, layout, settings):
    rotary = Rotary(8 if not settings else 12, layout=layout, scaling=scaling, **settings)
    keys = torch.randn(2, 3, 20, rotary.head_dim, dtype=torch.float64)
    here = torch.stack((torch.arange(20), torch.randint(0, 900, (20,))))
    there = torch.arange(20) * 3
    lengths = {"from_length": 900, "to_length": 900} if rotary.needs_re_rotation(1, 900) else {}
    length = {"length": 900} if lengths else {}
    moved = rotary.re_rotate(rotary.rotate(keys, here, **length), here, there, **lengths)
    assert_close(moved, rotary.rotate(keys, there, **length), rtol=0, atol=1e-12)


@pytest.mark.parametrize("scaling", [DynamicNTK(2.0, 16), SteppedNTK(16), LongRoPE([1.0] * 4, [2.0] * 4, 16, 1000)], ids=repr)
def test_keys_of_a_short_row_become_comparable_with_queries_of_a_longer_one(scaling):
    rotary, steps = Rotary(8, layout="half", scaling=scaling), torch.arange(16)
    assert rotary.needs_re_rotation(16, 17)
    assert not rotary.needs_re_rotation(15, 16)
    keys = torch.randn(1, 2, 16, 8, dtype=torch.float64)
    cached = rotary.rotate(keys, steps)
    wanted = rotary.rotate(keys, steps, length=17)
    assert (cached - wanted).abs().max() > 1e-3
    assert_close(rotary.re_rotate(cached, steps, steps, from_length=16, to_length=17), wanted, rtol=0, atol=1e-12)


def test_a_cache_is_moved_in_place():
    rotary, steps = Rotary(64, layout="half"), torch.arange(2000)
    keys = torch.randn(1, 2, 2000, 64)
    cache = rotary.rotate(keys, steps + 500)
    assert rotary.re_rotate(cache, steps + 500, steps, out=cache) is cache
    assert_close(cache, rotary.rotate(keys, steps), rtol=0, atol=5e-6)


@given(start=st.integers(0, 10**6), shift=st.integers(-(10**6), 10**6))
def test_moving_there_and_back_is_the_identity(start, shift):
    rotary, steps = Rotary(16, layout="interleaved"), torch.arange(4) + start
    keys = torch.randn(1, 1, 4, 16, dtype=torch.float64)
    there = rotary.re_rotate(keys, steps, steps + shift)
    assert_close(rotary.re_rotate(there, steps + shift, steps), keys, rtol=0, atol=1e-12)


# ---- the module


def test_settings_are_read_only_and_change_the_result():
    x, steps = torch.randn(1, 1, 4, 16), torch.arange(4)
    plain = Rotary(16, layout="half")
    for changed in (
        Rotary(16, layout="interleaved"),
        Rotary(16, layout="half", rotary_dim=8),
        Rotary(16, layout="half", base=500.0),
        Rotary(16, layout="half", scaling=Linear(2.0)),
    ):
        assert not torch.allclose(changed.rotate(x, steps), plain.rotate(x, steps))
    partial = Rotary(16, layout="half", rotary_dim=8, rotated_channels="last")
    assert not torch.allclose(partial.rotate(x, steps), Rotary(16, layout="half", rotary_dim=8).rotate(x, steps))
    for name in ("head_dim", "layout", "rotary_dim", "base", "scaling", "rotated_channels"):
        with pytest.raises(AttributeError):
            setattr(plain, name, getattr(plain, name))


def test_what_was_computed_on_a_device_is_neither_pickled_nor_in_the_state():
    rotary = Rotary(128, layout="half")
    bare = pickle.dumps(rotary)
    rotary.rotate(torch.randn(1, 1, 2, 128), torch.arange(2))
    assert pickle.dumps(rotary) == bare
    assert not rotary.state_dict()
    assert not list(rotary.buffers())


def test_fake_tensors_leave_nothing_behind():
    from torch._subclasses import FakeTensorMode

    rotary = Rotary(16, layout="half")
    with FakeTensorMode() as mode:
        fake = rotary.rotate(mode.from_tensor(torch.randn(1, 2, 3, 16)), torch.arange(3))
        assert fake.shape == (1, 2, 3, 16)
    x, steps = torch.randn(1, 2, 3, 16), torch.arange(3)
    assert_close(rotary.rotate(x, steps), Rotary(16, layout="half").rotate(x, steps))


ROTARY, X, STEPS = Rotary(8, layout="half"), torch.randn(2, 3, 4, 8), torch.arange(4)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: Rotary(8, layout="neox"), ArgumentError, "layout: expected 'half'"),
        (lambda: Rotary(7, layout="half"), ArgumentError, "head_dim: .* got 7; use 6"),
        (lambda: Rotary(8.0, layout="half"), ArgumentTypeError, "head_dim: expected an integer"),
        (lambda: Rotary(8, layout="half", rotary_dim=3), ArgumentError, "rotary_dim: .* got 3; use 2"),
        (lambda: Rotary(8, layout="half", rotary_dim=0), ArgumentError, "rotary_dim: .* got 0"),
        (
            lambda: Rotary(8, layout="half", rotary_dim=10),
            ArgumentError,
            r"rotary_dim: expected at most head_dim \(8\), got 10",
        ),
        (lambda: Rotary(8, layout="half", base=0), ArgumentError, "base"),
        (lambda: Rotary(8, layout="half", base=-1.0), ArgumentError, "base"),
        (
            lambda: Rotary(8, layout="half", scaling="yarn"),
            ArgumentTypeError,
            "scaling: expected a record .* got str; for example",
        ),
        (lambda: Rotary(8, layout="half", scaling=Linear), ArgumentTypeError, "scaling: expected a record .* got Linear"),
        (lambda: Rotary(8, layout="half", rotated_channels="all"), ArgumentError, "rotated_channels: .* got all"),
        (lambda: Rotary(8, layout="half", scaling=LongRoPE([1.0], [1.0], 16, 64)), ArgumentError, "short_factor: expected 4"),
        (
            lambda: ROTARY.rotate(X[..., :6], STEPS),
            ShapeError,
            r"x: expected a tensor \[B H T D\] with D=8, got shape \(2, 3, 4, 6\)",
        ),
        (lambda: ROTARY.rotate(X[0], STEPS), ShapeError, "x: expected"),
        (lambda: ROTARY.rotate(X, STEPS[:3]), ShapeError, "positions: expected one position for each of the 4 tokens"),
        (lambda: ROTARY.rotate(X, STEPS.expand(3, 4)), ShapeError, r"positions: expected \[T\], or \[B, T\] with B=2"),
        (
            lambda: ROTARY.rotate(X, STEPS.bfloat16()),
            ArgumentTypeError,
            "positions: .* got torch.bfloat16; keep positions out of",
        ),
        (lambda: ROTARY.rotate(X, STEPS / 0), ArgumentError, "positions: expected finite positions"),
        (lambda: ROTARY.rotate(X, 4), ArgumentTypeError, "positions: .* got int"),
        (lambda: ROTARY.rotate(X.long(), STEPS), ArgumentTypeError, "x: expected float64, .* got torch.int64"),
        (lambda: ROTARY.rotate(X, STEPS, out=X[:, :, :3]), ShapeError, "out"),
        (lambda: ROTARY.rotate_both(X, X[:1], STEPS.expand(2, 4)), ShapeError, "positions"),
        (
            lambda: ROTARY.rotate_both(X, X.clone().requires_grad_(), STEPS, in_place=True),
            RefusedError,
            "out: expected no gradient",
        ),
        (lambda: ROTARY.re_rotate(X, STEPS, STEPS[:2]), ShapeError, "positions"),
    ],
)
def test_bad_input_is_named(call, error, words):
    with pytest.raises(error, match=words):
        call()


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("scaling", [None, YaRN(4.0, 32), DynamicNTK(2.0, 16)], ids=repr)
def test_both_at_once_and_moving_keys_compile_to_one_graph_for_every_length(layout, scaling):
    rotary, graphs = Rotary(16, layout=layout, scaling=scaling, rotary_dim=8, rotated_channels="last"), []

    def counting(graph, example_inputs):
        graphs.append(graph)
        return graph.forward

    def step(q, k, steps):
        q, k = rotary.rotate_both(q, k, steps)
        return q, k, rotary.re_rotate(k, steps, steps + 3, from_length=100, to_length=200)

    torch._dynamo.reset()
    compiled = torch.compile(step, backend=counting, fullgraph=True, dynamic=True)
    for tokens in (8, 9, 64):
        q, k, steps = torch.randn(1, 4, tokens, 16), torch.randn(1, 2, tokens, 16), torch.arange(tokens)
        assert_close(compiled(q, k, steps), step(q, k, steps), rtol=1e-5, atol=1e-5)
    assert len(graphs) == 1


def test_a_row_without_tokens_and_a_batch_without_rows_are_turned_to_nothing():
    longrope = Rotary(16, layout="half", scaling=LongRoPE([1.0] * 8, [2.0] * 8, 16, 256))
    for rotary in (longrope, Rotary(16, layout="half"), Rotary(16, layout="half", scaling=DynamicNTK(2.0, 16))):
        for shape in ((0, 3, 5, 16), (2, 3, 0, 16), (2, 0, 5, 16)):
            steps = torch.zeros(shape[0], shape[2], dtype=torch.int64)
            assert rotary.rotate(torch.zeros(shape), steps).shape == shape


def test_what_inference_mode_made_meets_a_gradient_later():
    """The frequencies are kept between calls; inference mode must not leave tensors that autograd refuses."""
    rotary, x = Rotary(16, layout="half"), torch.randn(1, 2, 5, 16, dtype=torch.float64)
    with torch.inference_mode():
        rotary.rotate(x, torch.arange(5))
    positions = torch.arange(5, dtype=torch.float64).requires_grad_()
    assert torch.autograd.gradcheck(lambda positions: rotary.rotate(x, positions), (positions,))
