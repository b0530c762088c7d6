import math
import os
import shutil
import subprocess
import sys
import threading

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close
from torch.utils._python_dispatch import TorchDispatchMode

from ordinate.errors import ArgumentError, ArgumentTypeError, RefusedError, ShapeError
from ordinate.huge_pages import in_large_pages
from ordinate.position import Rotary, rotate_pairs
from ordinate.position.rotary import rotation as module
from ordinate.position.rotary.rotation import PairRotation, angle_tables, reference_rotation, spread_frequencies

LAYOUTS = ["half", "interleaved"]
WORKING = {torch.float64: torch.float64, torch.float32: torch.float32}
# what one rounding of the result, after work in float32, may cost
TOLERANCE = {torch.float64: 1e-14, torch.float32: 5e-7, torch.bfloat16: 1.6e-2, torch.float16: 2e-3}


def tables(tokens: int, pairs: int, batch: int | None = None, dtype=torch.float32) -> tuple[torch.Tensor, torch.Tensor]:
    shape = (tokens,) if batch is None else (batch, tokens)
    generator = torch.Generator().manual_seed(1)
    steps = torch.randint(0, 100_000, shape, generator=generator)
    return angle_tables(steps, 10000.0 ** (-torch.arange(pairs, dtype=torch.float64) / pairs), dtype=dtype)


def explicit(x, cos, sin, layout, start):
    """One pair after the other, in float64: nothing shared with the code under test."""
    out, pairs = x.double().clone(), cos.shape[-1]
    if cos.ndim == 2:
        cos, sin = cos.expand(x.shape[0], -1, -1), sin.expand(x.shape[0], -1, -1)
    for pair in range(pairs):
        a, b = (start + pair, start + pair + pairs) if layout == "half" else (start + 2 * pair, start + 2 * pair + 1)
        c, s = cos[:, None, :, pair].double(), sin[:, None, :, pair].double()
        out[..., a] = x[..., a].double() * c - x[..., b].double() * s
        out[..., b] = x[..., a].double() * s + x[..., b].double() * c
    return out


def arranged(x: torch.Tensor, how: str) -> torch.Tensor:
    """The same values, lying otherwise in memory."""
    if how == "tokens first":
        return x.transpose(1, 2).contiguous().transpose(1, 2)
    if how == "channels apart":
        return x.mT.contiguous().mT
    if how == "odd offset":
        return torch.nn.functional.pad(x, (1, 2))[..., 1:-2]
    if how == "of a larger tensor":
        return torch.cat((x, x), dim=2)[:, :, : x.shape[2]]
    return x.contiguous()


ARRANGEMENTS = ["contiguous", "tokens first", "channels apart", "odd offset", "of a larger tensor"]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
@pytest.mark.parametrize("impl", ["reference", "auto", "blocked", "numba"])
@pytest.mark.parametrize("arrangement", ARRANGEMENTS)
@pytest.mark.parametrize(
    ("channels", "pairs", "rotated_channels"), [(8, 4, "first"), (13, 3, "first"), (13, 3, "last"), (2, 1, "last")]
)
def test_every_implementation_gives_the_pairs_turned_one_by_one(
    layout, dtype, impl, arrangement, channels, pairs, rotated_channels, monkeypatch
):
    if impl == "numba":
        pytest.importorskip("numba")
        if dtype not in (torch.float32, torch.bfloat16) or arrangement == "channels apart":
            x = arranged(torch.randn(1, 1, 2, 8).to(dtype), arrangement)
            with pytest.raises(RefusedError, match="impl: expected bfloat16 or float32, channels side by side"):
                rotate_pairs(x, *tables(2, 4, dtype=WORKING.get(dtype, torch.float32)), layout=layout, impl=impl)
            return
    monkeypatch.setattr(module, "_BLOCK_BYTES", 400)  # many blocks, the last one smaller
    monkeypatch.setattr(module, "_scratch_of_thread", threading.local())
    x = arranged(torch.randn(3, 2, 11, channels).to(dtype), arrangement)
    start = 0 if rotated_channels == "first" else channels - 2 * pairs
    for batch in (None, 3, 1):
        cos, sin = tables(11, pairs, batch, WORKING.get(dtype, torch.float32))
        expected = explicit(x, cos, sin, layout, start)
        settings = {"layout": layout, "rotated_channels": rotated_channels, "impl": impl}
        found = rotate_pairs(x, cos, sin, **settings)
        assert found.dtype is dtype
        assert_close(found.double(), expected, rtol=0, atol=4 * TOLERANCE[dtype])
        elsewhere = torch.full_like(x, math.nan)
        assert rotate_pairs(x, cos, sin, **settings, out=elsewhere) is elsewhere
        assert_close(elsewhere.double(), expected, rtol=0, atol=4 * TOLERANCE[dtype])
        in_place = x.clone()
        assert rotate_pairs(in_place, cos, sin, **settings, out=in_place) is in_place
        assert_close(in_place.double(), expected, rtol=0, atol=4 * TOLERANCE[dtype])


@given(
    batch=st.integers(0, 3),
    heads=st.integers(0, 3),
    tokens=st.integers(0, 9),
    pairs=st.integers(0, 5),
    rest=st.integers(0, 3),
    layout=st.sampled_from(LAYOUTS),
    impl=st.sampled_from(["auto", "blocked"]),
)
def test_any_shape_works_empty_ones_too(batch, heads, tokens, pairs, rest, layout, impl):
    x = torch.randn(batch, heads, tokens, 2 * pairs + rest, dtype=torch.float64)
    cos, sin = torch.randn(2, tokens, pairs, dtype=torch.float64)
    expected = reference_rotation(x, cos, sin, layout)
    assert_close(rotate_pairs(x, cos, sin, layout=layout, impl=impl), expected, rtol=0, atol=1e-14)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_token_beside_many_is_turned_as_alone(layout):
    """Blocks, their edges and the short way for few tokens do not show, beyond the last bit of float32."""
    x, (cos, sin) = torch.randn(1, 4, 3000, 64), tables(3000, 32)
    whole = rotate_pairs(x, cos, sin, layout=layout)
    assert x[:, :, :1].numel() <= module.FEW_ELEMENTS < x.numel()
    for t in (0, 1, 2047, 2048, 2999):
        alone = rotate_pairs(x[:, :, t : t + 1], cos[t : t + 1], sin[t : t + 1], layout=layout)
        assert_close(alone, whole[:, :, t : t + 1], rtol=0, atol=5e-7)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("impl", ["auto", "blocked", "numba"])
def test_a_nan_stays_in_its_pair(layout, impl):
    """Padding may hold anything; nothing leaks into a neighbour by a product with zero."""
    if impl == "numba":
        pytest.importorskip("numba")
    x, (cos, sin) = torch.randn(1, 2, 6, 8), tables(6, 4)
    x[0, 1, 3, 1] = math.nan
    x[0, 0, 5, 2] = math.inf
    spoiled = ~rotate_pairs(x, cos, sin, layout=layout, impl=impl).isfinite()
    partner = {"half": (5, 6), "interleaved": (0, 3)}[layout]
    assert {tuple(place) for place in spoiled.nonzero().tolist()} == {
        (0, 1, 3, 1),
        (0, 1, 3, partner[0]),
        (0, 0, 5, 2),
        (0, 0, 5, partner[1]),
    }


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("impl", ["auto", "blocked", "reference"])
def test_gradients_of_first_and_second_order_are_those_of_finite_differences(layout, impl):
    x = torch.randn(2, 2, 3, 7, dtype=torch.float64, requires_grad=True)
    cos, sin = tables(3, 3, 2, torch.float64)

    def turn(x):
        return rotate_pairs(x, cos, sin, layout=layout, impl=impl, rotated_channels="last")

    assert torch.autograd.gradcheck(turn, x)
    assert torch.autograd.gradgradcheck(turn, x)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_gradient_of_blocks_is_that_of_the_formula_and_keeps_no_input(layout):
    x = torch.randn(1, 8, 2000, 16, requires_grad=True)
    cos, sin = tables(2000, 8)
    weight = torch.randn_like(x)
    kept: list[torch.Tensor] = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: kept.append(t) or t, lambda t: t):
        turned = rotate_pairs(x, cos, sin, layout=layout, impl="blocked")
    assert max(tensor.numel() for tensor in kept) == cos.numel()
    (found,) = torch.autograd.grad(turned, x, weight)
    (expected,) = torch.autograd.grad(rotate_pairs(x, cos, sin, layout=layout, impl="reference"), x, weight)
    assert_close(found, expected, rtol=0, atol=2e-6)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_tables_that_are_learned_get_their_gradient(layout):
    x = torch.randn(1, 2, 3, 8, dtype=torch.float64)
    cos, sin = (table.requires_grad_() for table in tables(3, 4, dtype=torch.float64))
    assert torch.autograd.gradcheck(lambda cos, sin: rotate_pairs(x, cos, sin, layout=layout), (cos, sin))


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated")  # torch's own, where jvp is first used
@pytest.mark.parametrize("layout", LAYOUTS)
def test_transforms_of_functions_see_plain_operations(layout):
    x, (cos, sin) = torch.randn(3, 1, 2, 4000, 16), tables(4000, 8)

    def turn(x):
        return rotate_pairs(x, cos, sin, layout=layout)

    expected = torch.stack([reference_rotation(one, cos, sin, layout) for one in x])
    assert_close(torch.vmap(turn)(x), expected)
    value, tangent = torch.func.jvp(turn, (x[0],), (x[1],))
    assert_close(value, expected[0])
    assert_close(tangent, expected[1])
    gradient = torch.func.grad(lambda x: turn(x).square().sum())(x[0])
    assert_close(gradient, 2 * x[0], rtol=1e-5, atol=1e-5)  # a turn keeps the norm


def test_inference_mode_and_training_share_the_working_memory():
    x, (cos, sin) = torch.randn(1, 8, 2000, 16), tables(2000, 8)
    expected = reference_rotation(x, cos, sin, "half")
    module._scratch_of_thread.__dict__.clear()
    with torch.inference_mode():
        assert_close(rotate_pairs(x, cos, sin, layout="half"), expected)
    assert_close(rotate_pairs(x.requires_grad_(), cos, sin, layout="half"), expected)


class Allocations(TorchDispatchMode):
    """Bytes of every new storage that an operation makes."""

    def __init__(self):
        super().__init__()
        self.seen, self.made = {}, []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        known = {
            t.untyped_storage()._cdata for t in torch.utils._pytree.tree_leaves((args, kwargs)) if isinstance(t, torch.Tensor)
        }
        result = function(*args, **(kwargs or {}))
        for tensor in torch.utils._pytree.tree_leaves(result):
            storage = tensor.untyped_storage()
            if storage._cdata not in known and storage._cdata not in self.seen:
                self.seen[storage._cdata] = tensor  # held, so that no address is given twice
                self.made.append(storage.nbytes())
        return result


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_memory_is_the_output_alone_and_none_in_place(layout, dtype):
    x, (cos, sin) = torch.randn(1, 32, 2048, 128).to(dtype), tables(2048, 64)
    size = x.numel() * x.element_size()
    rotate_pairs(x, cos, sin, layout=layout, out=x)  # the thread's working memory is made once
    with Allocations() as in_place:
        rotate_pairs(x, cos, sin, layout=layout, out=x)
    assert sum(in_place.made) <= 2 * 4 * cos.numel() + 4 * sin.numel()  # tables in the order the work wants them
    assert sum(in_place.made) < size / 10
    with Allocations() as allocating:
        rotate_pairs(x, cos, sin, layout=layout)
    assert max(allocating.made) == size
    assert sum(allocating.made) < 1.1 * size


def test_nothing_is_compiled_unasked():
    code = (
        "import sys, torch; from ordinate.position import Rotary\n"
        "Rotary(64, layout='half').rotate(torch.randn(1, 8, 512, 64), torch.arange(512))\n"
        "print('torch._inductor.compile_fx' in sys.modules, 'torch._dynamo.eval_frame' in sys.modules)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120).stdout
    assert out.split() == ["False", "False"]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:`torch.jit")  # torch's own, on the way to its compiler
@pytest.mark.parametrize("layout", LAYOUTS)
def test_compiled_on_request_equals_the_formula(layout):
    if not (shutil.which("g++") or shutil.which("clang++")):
        pytest.skip("torch.compile needs a C++ compiler")
    for tokens in (5, 300):
        x, (cos, sin) = torch.randn(1, 4, tokens, 32), tables(tokens, 16)
        found = rotate_pairs(x, cos, sin, layout=layout, impl="compiled")
        assert_close(found, reference_rotation(x, cos, sin, layout), rtol=0, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("layout", LAYOUTS)
def test_past_two_to_the_31_elements_no_index_overflows(layout):
    heads = 2**13 + 1
    if os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") < 9 << 30:
        pytest.skip("needs 5 GiB of free memory")
    x = in_large_pages(torch.empty(1, heads, 2048, 128, dtype=torch.bfloat16))
    assert x.numel() > 2**31
    pattern = torch.randn(1, 1, 2048, 128).bfloat16()
    x.copy_(pattern)
    cos, sin = tables(2048, 64)
    rotate_pairs(x, cos, sin, layout=layout, out=x)
    expected = reference_rotation(pattern, cos, sin, layout)
    for head in (0, heads // 2, heads - 1):
        assert_close(x[:, head : head + 1], expected, rtol=0, atol=0.04)


X, COS, SIN = torch.randn(2, 3, 4, 8), torch.ones(4, 4), torch.zeros(4, 4)


def turn(x=X, cos=COS, sin=SIN, layout="half", **settings):
    return rotate_pairs(x, cos, sin, layout=layout, **settings)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (
            lambda: turn(layout="neox"),
            ArgumentError,
            "layout: expected 'half' .* or 'interleaved' .* got neox; a checkpoint fixes it",
        ),
        (lambda: turn(rotated_channels="middle"), ArgumentError, "rotated_channels: expected 'first' .* or 'last'"),
        (
            lambda: turn(impl="fast"),
            ArgumentError,
            "impl: expected 'auto', 'reference', 'blocked', 'numba' or",
        ),
        (lambda: turn(X[0]), ShapeError, r"x: expected a tensor \[B H T D\], got shape \(3, 4, 8\); the axes are B batch"),
        (lambda: turn(cos=COS[:3]), ShapeError, r"cos: expected a tensor \[T P \| B T P\] with T=4, got shape \(3, 4\)"),
        (lambda: turn(sin=SIN[:, :3]), ShapeError, r"sin: .* with T=4, P=4, got shape \(4, 3\)"),
        (lambda: turn(cos=torch.ones(3, 4, 4), sin=torch.ones(3, 4, 4)), ShapeError, r"both \[B, T, P\] with B=2"),
        (
            lambda: turn(cos=COS.expand(2, 4, 4)),
            ShapeError,
            r"cos: expected cos and sin both .* got shapes \(2, 4, 4\) and \(4, 4\)",
        ),
        (
            lambda: turn(cos=torch.ones(4, 8), sin=torch.ones(4, 8)),
            ArgumentError,
            "cos: expected at most 4 pairs .* got 8; pass one cosine a pair",
        ),
        (lambda: turn(X.long()), ArgumentTypeError, "x: expected float64, float32, bfloat16 or float16, got torch.int64"),
        (lambda: turn(X.to(torch.float8_e4m3fn)), ArgumentTypeError, "got torch.float8_e4m3fn; rotate before quantising"),
        (lambda: turn(X.to_sparse()), ArgumentTypeError, "got torch.sparse_coo; call .to_dense()"),
        (lambda: turn([[1.0]]), ArgumentTypeError, r"x: expected a tensor \[B H T D\], got list"),
        (lambda: turn(out=X[:1]), ShapeError, r"out: expected shape \(2, 3, 4, 8\), that of x, got shape \(1, 3, 4, 8\)"),
        (lambda: turn(out=X.double()), ArgumentTypeError, "out: expected torch.float32 on cpu, as x, got torch.float64 on cpu"),
        (lambda: turn(out="x"), ArgumentTypeError, "out: expected a tensor like x, got str"),
        (lambda: turn(X.clone().requires_grad_(), out=torch.empty_like(X)), RefusedError, "out: expected no gradient"),
        (
            lambda: turn(out=torch.empty(1).expand_as(X)),
            RefusedError,
            "out: expected one place in memory for each element, got a tensor whose elements share",
        ),
        (
            lambda: turn(X.to("meta"), COS.to("meta"), SIN.to("meta"), impl="blocked"),
            RefusedError,
            "impl: .* got a tensor on meta",
        ),
        (lambda: turn(cos=COS.clone().requires_grad_(), impl="blocked"), RefusedError, "got tables that want a gradient"),
        (lambda: torch.vmap(lambda x: turn(x, impl="blocked"))(X[None]), RefusedError, "got a transform of functions"),
    ],
)
def test_bad_input_is_named(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_an_out_that_overlaps_x_is_refused_and_one_beside_it_is_not():
    memory = torch.randn(2, 3, 9, 8)
    with pytest.raises(
        RefusedError, match=r"out: expected x itself, or memory apart .* got memory that overlaps x; pass out=x"
    ):
        turn(memory[:, :, :4], out=memory[:, :, 1:5])
    rows = torch.randn(4, 3, 4, 8)
    expected = turn(rows[:2])
    assert_close(turn(rows[:2], out=rows[2:]), expected)
    view = rows[:2]
    assert_close(turn(view, out=rows[:2]), expected)  # another view of the very same elements


def test_out_works_where_no_gradient_is_wanted():
    x = X.clone().requires_grad_()
    with torch.no_grad():
        assert_close(turn(x, out=torch.empty_like(x)), turn(X))


# Blocks, and the memory they work in


def case(shape=(2, 4, 500, 16), dtype=torch.float32):
    x = torch.randn(shape).to(dtype)
    return x, *torch.randn(2, shape[2], shape[3] // 2)


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(module, "_BLOCK_BYTES", 1024)
    monkeypatch.setattr(module, "_scratch_of_thread", threading.local())


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_one_token_of_more_heads_than_a_block_holds(small_blocks, layout, dtype):
    x, cos, sin = case((2, 300, 3, 16), dtype)
    expected = reference_rotation(x, cos, sin, layout)
    assert_close(
        module._rotate_blocks(x, torch.empty_like(x), cos, sin, layout, 0),
        expected,
        rtol=0,
        atol=0.05 if dtype.itemsize == 2 else 1e-5,
    )


@pytest.mark.parametrize("layout", LAYOUTS)
def test_many_short_rows_share_a_block(small_blocks, layout, monkeypatch):
    x, cos, sin = case((300, 2, 2, 4))
    blocks = module._Blocks(x.shape, 256)
    assert blocks.rows > 1
    assert 300 % blocks.rows  # the last block is smaller
    assert_close(module._rotate_blocks(x, torch.empty_like(x), cos, sin, layout, 0), reference_rotation(x, cos, sin, layout))
    per_row = torch.randn(2, 300, 2, 2)
    assert_close(module._rotate_blocks(x, torch.empty_like(x), *per_row, layout, 0), reference_rotation(x, *per_row, layout))


def test_working_memory_is_kept_by_the_thread_and_not_shared():
    x, cos, sin = case()
    module._rotate_blocks(x, torch.empty_like(x), cos, sin, "half", 0)
    mine = module._scratch_of_thread.memory
    module._rotate_blocks(x, torch.empty_like(x), cos, sin, "half", 0)
    assert module._scratch_of_thread.memory is mine
    seen = []

    def elsewhere():
        found = module._rotate_blocks(x, torch.empty_like(x), cos, sin, "half", 0)
        seen.append((found, module._scratch_of_thread.memory is mine))

    threads = [threading.Thread(target=elsewhere) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expected = reference_rotation(x, cos, sin, "half")
    for found, shared in seen:
        assert_close(found, expected)
        assert not shared


def test_a_call_within_a_call_has_working_memory_of_its_own():
    with module._scratch(torch.float32) as (outer, _), module._scratch(torch.float32) as (inner, _):
        assert outer.data_ptr() != inner.data_ptr()


def test_a_failure_gives_the_working_memory_back():
    x, cos, sin = case()
    module._rotate_blocks(x, torch.empty_like(x), cos, sin, "half", 0)
    mine = module._scratch_of_thread.memory
    with pytest.raises(RuntimeError):
        module._rotate_blocks(x, torch.empty_like(x), cos, sin[:, :3], "half", 0)
    assert module._scratch_of_thread.memory is mine


# A few tokens


def few_tokens(x, cos, sin, layout, start=0):
    return module._rotate_few_tokens(x, module._spread_tables(cos, sin, layout), start, None)


FREQUENCIES = 10000.0 ** (-torch.arange(4, dtype=torch.float64) / 4)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("positions", [torch.tensor([3, 70_000]), torch.tensor([[3, 70_000], [5, 1]])], ids=["T", "BT"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_its_tables_turn_by_the_angle_and_carry_the_factor(layout, positions, dtype):
    tables = module._few_token_tables(positions, spread_frequencies(FREQUENCIES, layout), 1.5, dtype)
    x = torch.randn(2, 3, 2, 8, dtype=dtype)
    angles = positions.double().unsqueeze(-1) * FREQUENCIES
    expected = reference_rotation(x.double(), 1.5 * angles.cos(), 1.5 * angles.sin(), layout)
    assert_close(
        module._rotate_few_tokens(x, tables, 0, None).double(), expected, rtol=0, atol=1e-6 if dtype is torch.float32 else 1e-14
    )


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_turn_by_nothing_changes_no_bit(layout):
    x = torch.randn(2, 3, 2, 8)
    tables = module._few_token_tables(
        torch.zeros(2, dtype=torch.int64), spread_frequencies(FREQUENCIES, layout), 1.0, torch.float32
    )
    assert torch.equal(module._rotate_few_tokens(x, tables, 0, None), x)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_exponential_that_serves_interleaved_pairs_is_as_exact_as_cosine_and_sine(layout):
    for position in (1, 131071, 16777217, 2**31 - 1):
        tables = module._few_token_tables(torch.tensor([position]), spread_frequencies(FREQUENCIES, layout), 1.0, torch.float64)
        cos, sin = (tables[0][0, 4:], tables[1][0, 4:]) if layout == "half" else (tables[0][0].real, tables[0][0].imag)
        for pair, frequency in enumerate(FREQUENCIES.tolist()):
            assert cos[pair].item() == pytest.approx(math.cos(position * frequency), abs=1e-15)
            assert sin[pair].item() == pytest.approx(math.sin(position * frequency), abs=1e-15)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("strides", [(64, 32, 8, 1), (63, 21, 9, 1), (7, 5, 3, 2)])
def test_any_strides_will_do_for_single_tokens_too(layout, strides):
    """A size of one may have any stride, an odd one too, and still be called contiguous."""
    for shape in ((1, 1, 1, 8), (2, 3, 2, 8)):
        x = torch.as_strided(torch.randn(500), shape, strides)
        cos, sin = torch.randn(2, shape[2], 4)
        assert_close(few_tokens(x, cos, sin, layout), reference_rotation(x, cos, sin, layout))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_gradient_of_a_few_tokens_reaches_x(layout):
    x = torch.randn(1, 2, 1, 9, dtype=torch.float64, requires_grad=True)
    cos, sin = torch.randn(2, 1, 4, dtype=torch.float64)
    assert torch.autograd.gradcheck(lambda x: few_tokens(x, cos, sin, layout, 1), (x,))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("positions", [torch.arange(3), torch.arange(6).view(2, 3)], ids=["T", "BT"])
def test_tables_of_a_few_tokens_are_those_of_many(layout, positions):
    settings = {"layout": layout, "factor": 1.5, "dtype": torch.float64}
    few = PairRotation.at(positions, FREQUENCIES, **settings, spread=spread_frequencies(FREQUENCIES, layout))
    many = PairRotation.at(positions, FREQUENCIES, **settings)
    for table, expected in zip(few.tables, many.tables, strict=True):
        assert_close(table, expected, rtol=0, atol=1e-15)


# numba


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("threads", [1, 3])
def test_very_many_tokens_go_to_numba_and_agree_with_the_formula_to_the_last_bit_of_bfloat16(layout, threads, monkeypatch):
    pytest.importorskip("numba")
    monkeypatch.setattr(module, "MANY_ELEMENTS", 1 << 17)
    monkeypatch.setattr(torch, "get_num_threads", lambda: threads)
    from ordinate.position.rotary import compiled_rotation

    calls = []
    rows = compiled_rotation.rotate_rows
    monkeypatch.setattr(compiled_rotation, "rotate_rows", lambda *arguments: calls.append(1) or rows(*arguments))
    x, (cos, sin) = torch.randn(2, 5, 500, 32).bfloat16().requires_grad_(), tables(500, 12)
    found = rotate_pairs(x, cos, sin, layout=layout, rotated_channels="last")
    wide = reference_rotation(x.float(), cos, sin, layout, 8)
    assert calls
    assert_close(found.float(), wide, rtol=2**-8, atol=2**-20)  # one rounding to 8 bits
    (gradient,) = torch.autograd.grad(found, x, torch.ones_like(found))
    expected = reference_rotation(torch.ones_like(wide), cos, -sin, layout, 8)
    assert_close(gradient.float(), expected, rtol=2**-8, atol=2**-20)


def test_rounding_to_bfloat16_is_torchs():
    """Ties, subnormals, infinities and the largest numbers, turned by an angle of 0."""
    pytest.importorskip("numba")
    bits = torch.arange(-(2**15), 2**15, dtype=torch.int32).to(torch.int16)
    x = bits.view(torch.bfloat16)[None, None, :, None].expand(1, 1, -1, 2).contiguous()
    finite = x.isfinite().all(-1, keepdim=True).expand_as(x)
    cos, sin = torch.full((2**16, 1), 1.0009765625), torch.zeros(2**16, 1)
    found = rotate_pairs(x, cos, sin, layout="half", impl="numba")
    expected = reference_rotation(x, cos, sin, "half")
    assert torch.equal(found[finite], expected[finite])


# Memory that is shared


def test_elements_of_out_that_share_memory_are_refused():
    x = torch.randn(2, 3, 5, 16)
    for strides in ((120, 40, 8, 1), (240, 80, 0, 1), (0, 80, 16, 1), (240, 16, 16, 1)):
        with pytest.raises(RefusedError, match="out: expected one place in memory for each element"):
            turn(x, torch.ones(5, 8), torch.zeros(5, 8), out=torch.empty(1000).as_strided(x.shape, strides))


def test_whether_two_views_share_an_element_is_what_a_set_of_addresses_says():
    """Against the plain enumeration of every address, over views that overlap, interlock, or lie apart."""
    generator = torch.Generator().manual_seed(0)

    def some_view():
        shape = [int(n) for n in torch.randint(1, 4, (4,), generator=generator)]
        strides = [int(n) for n in torch.randint(0, 9, (4,), generator=generator)]
        return memory.as_strided(shape, strides, int(torch.randint(0, 12, (), generator=generator)))

    memory, counts = torch.empty(100), [0, 0, 0, 0]
    addresses = torch.arange(100)
    for _ in range(600):
        a, b = some_view(), some_view()
        places = [addresses.as_strided(v.shape, v.stride(), v.storage_offset()).flatten().tolist() for v in (a, b)]
        itself, shared = len(set(places[0])) < len(places[0]), bool(set(places[0]) & set(places[1]))
        assert module._overlaps_itself(a) == itself
        assert module._share_memory(a, b) == shared
        counts[itself] += 1
        counts[2 + shared] += 1
    assert min(counts) > 50


@pytest.mark.parametrize("layout", LAYOUTS)
def test_queries_and_keys_of_one_projection_turn_where_they_are(layout):
    """Views of one fused tensor interlock without sharing an element."""
    rotary, fused = Rotary(8, layout=layout), torch.randn(2, 5, (4 + 2 + 2) * 8)
    q, k, _ = (part.unflatten(-1, (-1, 8)).transpose(1, 2) for part in fused.split((32, 16, 16), dim=-1))
    expected = rotary.rotate(q, torch.arange(5)), rotary.rotate(k, torch.arange(5))
    found = rotary.rotate_both(q, k, torch.arange(5), in_place=True)
    assert found[0] is q
    assert found[1] is k
    assert_close(found, expected, rtol=0, atol=1e-6)


def test_one_tensor_is_not_turned_twice_where_it_is():
    rotary, y = Rotary(8, layout="half"), torch.randn(1, 2, 5, 8)
    for other in (y, y[:], y[:, 1:]):
        with pytest.raises(RefusedError, match="key: expected memory apart from that of the query"):
            rotary.rotate_both(y, other, torch.arange(5), in_place=True)
    rotary.rotate_both(y, y, torch.arange(5))  # into new memory it is only a rotation made twice
