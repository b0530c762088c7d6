"""The rotation of pairs of channels, which every rotary encoding ends in.

(a, b) -> (a cos - b sin, a sin + b cos), for pairs (i, i + rotary_dim/2) in layout "half" and (2i, 2i + 1) in layout
"interleaved". `reference_rotation` is the formula in plain operations, and the oracle of the quicker ways below it:

- a few tokens cost calls, not memory, so `_rotate_few_tokens` makes as few calls of torch as possible;
- many tokens cost memory traffic, so `_rotate_blocks` works on blocks that stay in a CPU's cache, in memory kept for it;
- very many cost it most, so with numba `compiled_rotation.rotate_rows` makes one pass of it all.

`PairRotation` holds the tables of one set of positions, for queries, keys and all layers, and picks the way for each tensor.
Sources: Su et al. 2021, arXiv 2104.09864, eq. 34 ("interleaved"); Black et al. 2022, arXiv 2204.06745 ("half").
"""

from __future__ import annotations

import functools
import importlib.util
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Literal, cast

import torch
from torch import Tensor, nn

from ordinate.arguments import check_integer
from ordinate.errors import ArgumentError, ArgumentTypeError, MissingExtraError, RefusedError, ShapeError
from ordinate.extras import install_command
from ordinate.frequencies import check_rotary_dim
from ordinate.huge_pages import in_large_pages
from ordinate.position.base import PositionEncoding, under_transform
from ordinate.shapes import check_shape

__all__ = [
    "Implementation",
    "Layout",
    "PairRotation",
    "RotaryEncoding",
    "RotatedChannels",
    "angle_tables",
    "check_head",
    "check_layout",
    "check_out",
    "check_rotated_channels",
    "reference_rotation",
    "rotate_pairs",
    "working_dtype",
]

Layout = Literal["half", "interleaved"]
RotatedChannels = Literal["first", "last"]
Implementation = Literal["auto", "reference", "blocked", "numba", "compiled"]

FEW_ELEMENTS = 1 << 16  # up to here the number of calls decides, and not the memory
MANY_ELEMENTS = 1 << 21  # from here on a kernel of numba's is worth loading
_FEW_PAIRS = 1 << 10  # up to here twice the cosines cost less than a call that spreads them
_BLOCK_BYTES = 2 << 20  # of the working dtype
_WORKING = {
    torch.float64: torch.float64,
    torch.float32: torch.float32,
    torch.bfloat16: torch.float32,
    torch.float16: torch.float32,
}
_scratch_of_thread = threading.local()


def rotate_pairs(
    x: Tensor,
    cos: Tensor,
    sin: Tensor,
    *,
    layout: Layout,
    rotated_channels: RotatedChannels = "first",
    out: Tensor | None = None,
    impl: Implementation = "auto",
) -> Tensor:
    """Turn 2 P channels of every head; the rest pass as they are.

    Tables are made once for all layers, and for queries and keys: `cos, sin = rotary.tables(positions)`.

    Args:
        x: [B, H, T, D], float32, float64, bfloat16 or float16; half precision is turned in float32 and rounded once.
        cos, sin: [T, P] or [B, T, P], one number a pair.
        layout: which channels make a pair.
        rotated_channels: whether the first or the last 2 P channels turn.
        out: where the result goes, of the shape and dtype of `x`: other memory, or `x` itself to turn it in place.
        impl: "reference" is the formula in plain operations; "blocked" works in blocks that stay in a CPU's cache, with a
            gradient of its own; "numba" makes one pass over bfloat16 or float32 (the extra `fast`; compiled once, seconds,
            and kept on disk); "compiled" hands the formula to `torch.compile`, seconds on the first call; "auto" takes what is
            quickest of the first three, and the formula in a graph that is being captured.

    Returns:
        A tensor of the shape and dtype of `x`, or `out`.

    Raises:
        ShapeError: tables that fit neither the tokens nor the channels of `x`; an `out` of another shape.
        ArgumentError: an unknown layout or impl, more pairs than channels.
        ArgumentTypeError: dtypes that cannot be turned; an `out` of another dtype.
        RefusedError: an `out` where a gradient is wanted, whose elements share memory with each other, or with `x` without
            being `x`; "blocked" or "numba" on another device, under a transform of functions, or with tables that want a
            gradient; "numba" for another dtype, or channels that are not side by side in memory.
        MissingExtraError: "numba" without numba.

    Source: Su et al. 2021, arXiv 2104.09864, eq. 34 ("interleaved"); Black et al. 2022, arXiv 2204.06745 ("half").

    >>> quarter_turn = torch.tensor([[0.0]]), torch.tensor([[1.0]])
    >>> rotate_pairs(torch.tensor([[[[1.0, 2.0]]]]), *quarter_turn, layout="half")
    tensor([[[[-2.,  1.]]]])
    """
    check_layout(layout)
    check_rotated_channels(rotated_channels)
    _check_tables(x, cos, sin)
    wide = working_dtype(x)
    if out is not None:
        check_out(out, x)
    start = 0 if rotated_channels == "first" else x.shape[-1] - 2 * cos.shape[-1]
    if cos.dtype is not wide or sin.dtype is not wide:
        cos, sin = cos.to(wide), sin.to(wide)
    return PairRotation(cos, sin, layout=layout, start=start)(x, out, impl)


def angle_tables(
    positions: Tensor, frequencies: Tensor, *, factor: float = 1.0, dtype: torch.dtype = torch.float32
) -> tuple[Tensor, Tensor]:
    """cos and sin of position times frequency, formed in float64 and rounded once.

    Args:
        positions: [T] or [B, T], integers or float32/float64.
        frequencies: float64 radians per position, [P], or [B, P] where rows differ.
        factor: multiplies both tables.
        dtype: of the result.

    Returns:
        cos and sin, each [T, P] or [B, T, P].

    >>> angle_tables(torch.tensor([0, 1]), torch.tensor([1.0, 0.1], dtype=torch.float64))[1]
    tensor([[0.0000, 0.0000],
            [0.8415, 0.0998]])
    """
    rows = frequencies if frequencies.ndim == 1 else frequencies.unsqueeze(-2)
    angles = positions.double().unsqueeze(-1) * rows
    cos, sin = angles.cos(), angles.sin()
    if factor != 1.0:
        cos, sin = cos * factor, sin * factor
    if dtype is torch.float32:
        return cos.float(), sin.float()  # half the cost of .to(dtype), which shows where one token is rotated
    return cos.to(dtype), sin.to(dtype)


class PairRotation:
    """The rotation at one set of positions, its tables made: call it on the queries, the keys and every layer.

    Encodings make it (`rotary.rotation(positions)`); nothing is checked here.

    Args:
        cos, sin: [T, P] or [B, T, P], float32 or float64.
        layout: which channels make a pair.
        start: the first channel that turns; 2 P do.

    >>> turn = PairRotation(torch.tensor([[0.0]]), torch.tensor([[1.0]]), layout="half")
    >>> turn(torch.tensor([[[[1.0, 2.0]]]]))
    tensor([[[[-2.,  1.]]]])
    """

    __slots__ = ("_cos", "_few", "_sin", "layout", "start")

    def __init__(self, cos: Tensor, sin: Tensor, *, layout: str, start: int = 0) -> None:
        self._cos: Tensor | None = cos
        self._sin: Tensor | None = sin
        self._few: tuple[Tensor, ...] | None = None
        self.layout, self.start = layout, start

    @classmethod
    def at(
        cls,
        positions: Tensor,
        inv_freq: Tensor,
        *,
        layout: str,
        start: int = 0,
        factor: float = 1.0,
        dtype: torch.dtype = torch.float32,
        spread: Tensor | None = None,
    ) -> PairRotation:
        """The rotation by position times frequency.

        Args:
            positions: [T] or [B, T].
            inv_freq: float64 radians per position, [P], or [B, P] where rows differ.
            layout, start: as in the class.
            factor: on cos and sin.
            dtype: of the work, float32 or float64.
            spread: `spread_frequencies(inv_freq, layout)` where it is at hand; it saves calls where tokens are few.
        """
        if spread is None or positions.numel() * inv_freq.shape[-1] > _FEW_PAIRS:
            cos, sin = angle_tables(positions, inv_freq, factor=factor, dtype=dtype)
            return cls(cos, sin, layout=layout, start=start)
        turn = cls.__new__(cls)
        turn._cos, turn._sin, turn._few = None, None, _few_token_tables(positions, spread, factor, dtype)
        turn.layout, turn.start = layout, start
        return turn

    @property
    def tables(self) -> tuple[Tensor, Tensor]:
        """cos and sin, each [T, P] or [B, T, P]."""
        if self._cos is None or self._sin is None:
            few = cast("tuple[Tensor, ...]", self._few)
            few = tuple(table.squeeze(1) if table.ndim == 4 else table for table in few)
            if len(few) == 2:
                pairs = few[0].shape[-1] // 2
                self._cos, self._sin = few[0][..., pairs:], few[1][..., pairs:]
            else:
                self._cos, self._sin = few[0].real, few[0].imag
        return self._cos, self._sin

    def to(self, dtype: torch.dtype) -> PairRotation:
        """The same rotation with tables in `dtype`, float32 or float64."""
        cos, sin = self.tables
        return self if cos.dtype is dtype else PairRotation(cos.to(dtype), sin.to(dtype), layout=self.layout, start=self.start)

    def __call__(self, x: Tensor, out: Tensor | None = None, impl: str = "auto") -> Tensor:
        """x [B, H, T, D] turned, into `out` or new memory; `impl` as in `rotate_pairs`."""
        if impl in ("auto", "blocked", "numba"):
            obstacle = self._obstacle(x)
            if obstacle is None and impl == "auto" and 0 < x.numel() <= FEW_ELEMENTS:
                few = self._few_tables()
                if few[0].numel():
                    return _rotate_few_tokens(x, few, self.start, out)
            elif obstacle is None:
                return _memory_rotation(x, *self.tables, self.layout, self.start, out, impl)
            elif impl != "auto":
                raise RefusedError("impl", expected="plain tensors on a CPU, in eager mode", got=obstacle)
        elif impl == "compiled":
            return _compiled_rotation()(x, *self.tables, self.layout, self.start, out)
        elif impl != "reference":
            raise ArgumentError("impl", expected="'auto', 'reference', 'blocked', 'numba' or 'compiled'", got=impl)
        return reference_rotation(x, *self.tables, self.layout, self.start, out)

    def few_tokens(self, query: Tensor, key: Tensor) -> tuple[Tensor, Tensor] | None:
        """Both turned, two tensors of one class on a CPU; None where they are not few, or something is in the way."""
        if not (0 < query.numel() <= FEW_ELEMENTS and 0 < key.numel() <= FEW_ELEMENTS) or self._obstacle(query) is not None:
            return None
        few = self._few_tables()
        if not few[0].numel():
            return None
        return _rotate_few_tokens(query, few, self.start, None), _rotate_few_tokens(key, few, self.start, None)

    def _few_tables(self) -> tuple[Tensor, ...]:
        if self._few is None:
            self._few = _spread_tables(*self.tables, self.layout)
        return self._few

    def _obstacle(self, x: Tensor) -> str | None:
        """Why work in place on memory will not do here: a graph is captured, a transform looks on, the memory is elsewhere."""
        if torch.compiler.is_compiling() or torch._C._get_tracing_state() is not None:
            return "a graph that is being captured"
        if under_transform():
            return "a transform of functions (vmap, grad, jvp)"
        if not x.is_cpu:
            return f"a tensor on {x.device}"
        if type(x) is not Tensor and type(x) is not nn.Parameter:
            return f"a {type(x).__name__}"
        tables = self._few if self._cos is None or self._sin is None else (self._cos, self._sin)
        if tables is not None and (tables[0].requires_grad or tables[-1].requires_grad) and torch.is_grad_enabled():
            return "tables that want a gradient"
        return None


def reference_rotation(x: Tensor, cos: Tensor, sin: Tensor, layout: str, start: int = 0, out: Tensor | None = None) -> Tensor:
    """The formula, in operations that every device, transform and dtype has: the oracle of the quicker ways."""
    if cos.ndim == 3:
        cos, sin = cos.unsqueeze(1), sin.unsqueeze(1)
    pairs = cos.shape[-1]
    turned = x[..., start : start + 2 * pairs].to(cos.dtype)
    if layout == "half":
        first, second = turned[..., :pairs], turned[..., pairs:]
    else:
        first, second = turned[..., 0::2], turned[..., 1::2]
    ahead, behind = first * cos - second * sin, first * sin + second * cos
    joined = torch.cat((ahead, behind), dim=-1) if layout == "half" else torch.stack((ahead, behind), dim=-1).flatten(-2)
    result = torch.cat((x[..., :start], joined.to(x.dtype), x[..., start + 2 * pairs :]), dim=-1)
    return result if out is None else out.copy_(result)


@functools.cache
def _compiled_rotation() -> Callable[..., Tensor]:
    """The formula through `torch.compile`, one graph for every length."""
    return torch.compile(reference_rotation, dynamic=True)


# A few tokens. Layout "half" is x * (cos, cos) + (b, a) * (-sin, sin) for x = (a, b), with tables that have a number for each
# channel; they come from the cosine and sine of (-f, f) times the position, so that spreading them costs no call. In layout
# "interleaved" pairs are complex numbers as they lie, times exp(i f position).


def spread_frequencies(inv_freq: Tensor, layout: str) -> Tensor:
    """What `_few_token_tables` takes, from float64 [P]: (-f, f) [2 P], or i f as complex numbers [P]."""
    if layout == "half":
        return torch.cat((-inv_freq, inv_freq))
    return torch.complex(torch.zeros_like(inv_freq), inv_freq)


def _few_token_tables(positions: Tensor, spread: Tensor, factor: float, dtype: torch.dtype) -> tuple[Tensor, ...]:
    """Tables for positions [T] or [B, T], formed in float64 and rounded once to `dtype`.

    (cos, sin) by channel [T, 2 P] for "half", one complex table [T, P] for "interleaved"; rows get an axis for heads.
    """
    angles = positions.double().unsqueeze(-1) * spread
    tables = [angles.exp()] if angles.is_complex() else [angles.cos(), angles.sin()]
    if factor != 1.0:
        tables = [table * factor for table in tables]
    if dtype is torch.float32:
        tables = [table.cfloat() if table.is_complex() else table.float() for table in tables]  # type: ignore[attr-defined]
    if positions.ndim == 2:
        tables = [table.unsqueeze(1) for table in tables]
    return tuple(tables)


def _spread_tables(cos: Tensor, sin: Tensor, layout: str) -> tuple[Tensor, ...]:
    """The same tables from cos and sin, each [T, P] or [B, T, P]."""
    if cos.ndim == 3:
        cos, sin = cos.unsqueeze(1), sin.unsqueeze(1)
    if layout == "half":
        return torch.cat((cos, cos), dim=-1), torch.cat((-sin, sin), dim=-1)
    return (torch.complex(cos, sin),)


def _rotate_few_tokens(x: Tensor, tables: tuple[Tensor, ...], start: int, out: Tensor | None) -> Tensor:
    """x, its channels from `start` on turned by tables that broadcast to [B, H, T, 2 P] or, complex, [B, H, T, P]."""
    by_channel = len(tables) == 2
    channels = tables[0].shape[-1] if by_channel else 2 * tables[0].shape[-1]
    turned = x if channels == x.shape[-1] else x[..., start : start + channels]
    if turned.dtype is torch.bfloat16 or turned.dtype is torch.float16:
        turned = turned.float()
    if by_channel:
        result = turned.roll(channels // 2, -1).mul_(tables[1]).addcmul_(turned, tables[0])
    else:
        result = _times_complex(turned, tables[0])
    if result.dtype is not x.dtype:
        result = result.type_as(x)
    if out is None and channels == x.shape[-1]:
        return result
    if out is None:
        return torch.cat((x[..., :start], result, x[..., start + channels :]), dim=-1)
    if out is not x and channels != x.shape[-1]:
        out.copy_(x)
    out[..., start : start + channels] = result
    return out


def _times_complex(x: Tensor, turn: Tensor) -> Tensor:
    """Pairs of neighbouring channels times complex numbers."""
    if not _lies_as_complex(x):
        x = x.clone(memory_format=torch.contiguous_format)
    if x.requires_grad and torch.is_grad_enabled():  # a change of dtype by `view` would cut the gradient
        return torch.view_as_real(torch.view_as_complex(x.unflatten(-1, (-1, 2))) * turn).flatten(-2)
    product: Tensor = x.view(turn.dtype) * turn
    return product.view(x.dtype)


def _lies_as_complex(x: Tensor) -> bool:
    """Whether neighbouring channels can be seen as complex numbers where they are."""
    return x.stride(-1) == 1 and x.storage_offset() % 2 == 0 and not any(stride % 2 for stride in x.stride()[:-1])


# Many tokens. A call of torch costs microseconds, so blocks must not be small. A pass over memory that has left the cache costs
# as much as the arithmetic, so they must not be large. Half precision is widened into a block of scratch memory, turned there
# in float32 and rounded once on the way out.


def _memory_rotation(x: Tensor, cos: Tensor, sin: Tensor, layout: str, start: int, out: Tensor | None, impl: str) -> Tensor:
    if out is not None:
        with torch.no_grad():
            return _write(x, out, cos, sin, layout, start, impl)
    result: Tensor = _MemoryRotation.apply(x, cos, sin, layout, start, impl)
    return result


def _write(x: Tensor, out: Tensor, cos: Tensor, sin: Tensor, layout: str, start: int, impl: str) -> Tensor:
    """Write the rotated x into `out`, in blocks or by numba's kernel."""
    if impl == "numba" or (impl == "auto" and x.numel() >= MANY_ELEMENTS):
        obstacle = None
        if x.dtype not in (torch.bfloat16, torch.float32):
            obstacle = f"a tensor of {x.dtype}"
        elif x.stride(-1) != 1 or out.stride(-1) != 1:
            obstacle = "channels that are apart in memory"
        if obstacle is None and _has_numba():
            from ordinate.position.rotary.compiled_rotation import rotate_rows

            return rotate_rows(x, out, cos, sin, layout, start) if x.numel() else out
        if impl == "numba" and obstacle is None:
            raise MissingExtraError("impl", expected="numba to be installed", got="'numba'", hint=install_command("fast"))
        if impl == "numba":
            raise RefusedError("impl", expected="bfloat16 or float32, channels side by side", got=obstacle)
    return _rotate_blocks(x, out, cos, sin, layout, start)


@functools.cache
def _has_numba() -> bool:
    return importlib.util.find_spec("numba") is not None


class _MemoryRotation(torch.autograd.Function):
    """`_write` into new memory, with a gradient: the rotation back by the same angles, as fast and as often as wanted.

    Only the tables are kept for the backward pass, never the input.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, cos: Tensor, sin: Tensor, layout: str, start: int, impl: str) -> Tensor:
        ctx.save_for_backward(cos, sin)
        ctx.layout, ctx.start, ctx.impl = layout, start, impl
        return _write(x, in_large_pages(torch.empty_like(x)), cos, sin, layout, start, impl)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None, None, None, None]:
        cos, sin = ctx.saved_tensors
        impl = "auto" if ctx.impl == "numba" else ctx.impl  # a gradient may lie in memory in any way
        return _MemoryRotation.apply(grad, cos, -sin, ctx.layout, ctx.start, impl), None, None, None, None, None


def _rotate_blocks(x: Tensor, out: Tensor, cos: Tensor, sin: Tensor, layout: str, start: int) -> Tensor:
    """Write x, its channels `start` to `start + 2 P` turned, into `out`, which may be `x` itself.

    Args:
        x, out: [B, H, T, D] on a CPU, of one shape and dtype.
        cos, sin: [T, P] or [B, T, P] in the dtype of the work, float32 or wider.
        layout: "half" or "interleaved".
        start: the first channel that turns.
    """
    end = start + 2 * cos.shape[-1]
    if out is not x:
        for rest in (slice(0, start), slice(end, None)):
            if x[..., rest].shape[-1]:
                out[..., rest].copy_(x[..., rest])
    if cos.numel() and x.numel():
        (_turn_halves if layout == "half" else _turn_complex)(x[..., start:end], out[..., start:end], cos, sin)
    return out


def _turn_halves(x: Tensor, out: Tensor, cos: Tensor, sin: Tensor) -> None:
    """out = x * (cos, cos) + (-b sin, a sin) for x = (a, b): two products and one sum a block."""
    direct = x.dtype == cos.dtype and x.stride(-1) == 1 == out.stride(-1)
    with _scratch(cos.dtype) as (wide, crossed):
        blocks = _Blocks(x.shape, wide.numel())
        tables = zip(*map(blocks.of_table, (torch.cat((cos, cos), dim=-1), sin, -sin)), strict=True)
        pieces = zip(*map(blocks.of, (x, *x.chunk(2, dim=-1), out)), tables, strict=True)
        for block, first, second, target, (both, plus, minus) in pieces:
            cross, ahead, behind = blocks.shaped(crossed, block)
            if direct:
                source, goal = block, target
            else:
                source, first, second = blocks.shaped(wide, block)
                goal = source.copy_(block)
            torch.mul(second, minus, out=ahead)
            torch.mul(first, plus, out=behind)
            torch.addcmul(cross, source, both, out=goal)
            if not direct:
                target.copy_(goal)


def _turn_complex(x: Tensor, out: Tensor, cos: Tensor, sin: Tensor) -> None:
    """One complex product a block."""
    turn = torch.complex(cos, sin)
    direct = x.dtype == cos.dtype and _lies_as_complex(x) and _lies_as_complex(out)
    with _scratch(cos.dtype) as (wide, _):
        blocks = _Blocks(x.shape, wide.numel())
        for source, target, angles in zip(blocks.of(x), blocks.of(out), blocks.of_table(turn), strict=True):
            if direct:
                torch.mul(source.view(turn.dtype), angles, out=target.view(turn.dtype))
            else:
                widened = blocks.shaped(wide, source)[0].copy_(source)
                widened.view(turn.dtype).mul_(angles)
                target.copy_(widened)


class _Blocks:
    """How [B, H, T, D] falls into blocks of about `elements`: whole rows, or else tokens of one row, all heads together."""

    def __init__(self, shape: torch.Size, elements: int) -> None:
        batch, heads, tokens, channels = shape
        self.tokens = min(tokens, max(1, elements // (heads * channels)))
        self.rows = min(batch, max(1, elements // (heads * channels * tokens)))
        self.row_blocks = -(-batch // self.rows)
        self.shapes: dict[tuple[int, torch.Size], tuple[Tensor, Tensor, Tensor]] = {}

    def of(self, x: Tensor) -> list[Tensor]:
        return [block for rows in x.split(self.rows) for block in rows.split(self.tokens, dim=2)]

    def of_table(self, table: Tensor) -> list[Tensor]:
        """Of a table [T, P] or [B, T, P], the part that belongs to each block."""
        if table.ndim == 3 and table.shape[0] == 1:
            table = table[0]
        if table.ndim == 2:
            return list(table.split(self.tokens)) * self.row_blocks
        return self.of(table.unsqueeze(1))

    def shaped(self, scratch: Tensor, like: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Scratch in the shape of a block and in its order in memory, and the two halves of its channels."""
        key = scratch.data_ptr(), like.shape
        if key not in self.shapes:
            size = like.numel()
            flat = scratch[:size] if size <= scratch.numel() else scratch.new_empty(size)  # one token of very many heads
            rows, heads, tokens, channels = like.shape
            if like.stride(1) < like.stride(2):  # heads beside each other, as projections leave them
                block = flat.view(rows, tokens, heads, channels).transpose(1, 2)
            else:
                block = flat.view(like.shape)
            first, second = block.chunk(2, dim=-1)
            self.shapes[key] = block, first, second
        return self.shapes[key]


@contextmanager
def _scratch(dtype: torch.dtype) -> Iterator[tuple[Tensor, Tensor]]:
    """Working memory for two blocks, kept by the thread: new memory costs more than the work done in it."""
    memory = _scratch_of_thread.__dict__.pop("memory", None)  # taken out while in use: a call within a call finds none
    if memory is None:
        with torch.inference_mode(False):
            memory = in_large_pages(torch.empty(2 * _BLOCK_BYTES, dtype=torch.uint8))
    try:
        first, second = memory.view(dtype).chunk(2)
        yield first, second
    finally:
        _scratch_of_thread.memory = memory


class RotaryEncoding(PositionEncoding):
    """What encodings that turn pairs of channels share: `rotate`, `rotate_both` and `forward`, from one method `rotation`.

    A subclass has `head_dim`, `rotation` and `_check`.
    """

    head_dim: Any

    def rotation(self, positions: Tensor, *, dtype: torch.dtype = torch.float32) -> PairRotation:
        """The rotation at `positions`, its tables made once for queries, keys and all layers."""
        raise NotImplementedError

    def _check(self, name: str, x: Tensor, positions: Tensor) -> None:
        """Raise unless x [B, H, T, D] and its positions fit."""
        raise NotImplementedError

    def tables(self, positions: Tensor, *, dtype: torch.dtype = torch.float32) -> tuple[Tensor, Tensor]:
        """cos and sin for `positions`, each [T, P] or [B, T, P]; they go to `ordinate.position.rotate_pairs`."""
        return self.rotation(positions, dtype=dtype).tables

    def rotate(self, x: Tensor, positions: Tensor, *, out: Tensor | None = None) -> Tensor:
        """x [B, H, T, D] turned at its positions; same shape and dtype, worked in float32 or wider.

        Args:
            x: queries or keys, before their product.
            positions: of its tokens.
            out: where the result goes: memory like that of `x`, or `x` itself to turn it in place.

        Raises:
            ShapeError: another head_dim, positions that fit neither tokens nor batch.
            RefusedError: an `out` where a gradient is wanted, or whose elements share memory, among themselves or with `x`.
        """
        self._check("x", x, positions)
        if out is not None:
            check_out(out, x)
        return self.rotation(positions, dtype=working_dtype(x))(x, out)

    def rotate_both(self, query: Tensor, key: Tensor, positions: Tensor, *, in_place: bool = False) -> tuple[Tensor, Tensor]:
        """query [B, H, T, D] and key [B, G, T, D] of the same tokens, turned with one making of the tables.

        The same as `rotate(query, positions), rotate(key, positions)`, quicker.

        Args:
            query, key: before their product.
            positions: of their tokens.
            in_place: turn both where they are.

        Raises:
            ShapeError, RefusedError: as in `rotate`; in place, a query and a key that share memory.
        """
        self._check("query", query, positions)
        self._check("key", key, positions)
        if in_place:
            check_both_in_place(query, key)
        return turn_both(self.rotation(positions, dtype=common_dtype(query, key)), query, key, in_place)

    def forward(self, x: Tensor, positions: Tensor) -> Tensor:
        """x [B, H, T, D] turned at its positions: `rotate`."""
        return self.rotate(x, positions)


def common_dtype(query: Tensor, key: Tensor) -> torch.dtype:
    """The wider of the two working dtypes."""
    wide = working_dtype(query)
    return wide if key.dtype is query.dtype else torch.promote_types(wide, working_dtype(key))


def turn_both(turn: PairRotation, query: Tensor, key: Tensor, in_place: bool = False) -> tuple[Tensor, Tensor]:
    """Queries and keys turned by one rotation, made in the wider of their working dtypes."""
    turn_key = turn
    if key.dtype is query.dtype and not in_place and type(key) is type(query) and key.is_cpu and query.is_cpu:
        turned = turn.few_tokens(query, key)  # what the two have in common is looked at once
        if turned is not None:
            return turned
    if key.dtype is not query.dtype:
        turn, turn_key = turn.to(working_dtype(query)), turn.to(working_dtype(key))
    return turn(query, query if in_place else None), turn_key(key, key if in_place else None)


# What a rotation accepts. To rotate one token takes a few microseconds, so each check is first one comparison; only where it
# fails is the message put together.


def check_layout(layout: str) -> None:
    """Raise unless `layout` is one of the two."""
    if layout not in ("half", "interleaved"):
        raise ArgumentError(
            "layout",
            expected="'half' (pairs i, i + rotary_dim/2: Llama, Qwen, Mistral, GPT-NeoX) "
            "or 'interleaved' (pairs 2i, 2i + 1: GPT-J, GLM, Cohere, the RoPE paper)",
            got=layout,
            hint="a checkpoint fixes it and the wrong one is silent: look at how its code splits the channels",
        )


def check_head(head_dim: int, rotary_dim: int | None) -> tuple[int, int]:
    """The channels of a head and how many of them turn: all, where `rotary_dim` is None.

    Raises:
        ArgumentError: an odd number, or more than the head has.
        ArgumentTypeError: not ints.
    """
    head_dim = check_integer("head_dim", head_dim)
    if rotary_dim is None:
        check_rotary_dim("head_dim", head_dim)
        return head_dim, head_dim
    check_rotary_dim("rotary_dim", rotary_dim)
    if rotary_dim > head_dim:
        raise ArgumentError("rotary_dim", expected=f"at most head_dim ({head_dim})", got=rotary_dim)
    return head_dim, rotary_dim


def check_rotated_channels(rotated_channels: str) -> None:
    """Raise unless `rotated_channels` is "first" or "last"."""
    if rotated_channels not in ("first", "last"):
        raise ArgumentError(
            "rotated_channels",
            expected="'first' (GPT-NeoX, Phi, GLM) or 'last' (DeepSeek's latent attention)",
            got=rotated_channels,
            hint="it says which channels turn where rotary_dim is less than head_dim",
        )


def working_dtype(x: Tensor) -> torch.dtype:
    """The dtype in which `x` is turned: float32, or float64 for float64.

    Raises:
        ArgumentTypeError: integers, complex numbers, eight-bit floats, sparse tensors.
    """
    if x.layout is not torch.strided:
        raise ArgumentTypeError("x", expected="a dense tensor", got=str(x.layout), hint="call .to_dense()")
    wide = _WORKING.get(x.dtype)
    if wide is None:
        raise ArgumentTypeError(
            "x",
            expected="float64, float32, bfloat16 or float16",
            got=str(x.dtype),
            hint="rotate before quantising, or convert with .to(torch.bfloat16)",
        )
    return wide


def _check_tables(x: Tensor, cos: Tensor, sin: Tensor) -> None:
    """Raise unless cos and sin, both [T, P] or both [B, T, P], fit x [B, H, T, D] with at most D / 2 pairs."""
    if isinstance(x, Tensor) and isinstance(cos, Tensor) and isinstance(sin, Tensor) and x.ndim == 4:
        batch, _, tokens, channels = x.shape
        shape = cos.shape
        whole = len(shape) == 2 or (len(shape) == 3 and shape[0] in (1, batch))
        if whole and shape == sin.shape and shape[-2] == tokens and 2 * shape[-1] <= channels:
            return
    sizes = check_shape("x", x, "B H T D")
    tables = check_shape("cos", cos, "T P | B T P", T=sizes["T"])
    check_shape("sin", sin, "T P | B T P", T=sizes["T"], P=tables["P"])
    if 2 * tables["P"] > sizes["D"]:
        raise ArgumentError(
            "cos",
            expected=f"at most {sizes['D'] // 2} pairs for {sizes['D']} channels",
            got=tables["P"],
            hint="pass one cosine a pair, not one a channel",
        )
    raise ShapeError(
        "cos",
        expected=f"cos and sin both [T, P], or both [B, T, P] with B={sizes['B']}",
        got=f"shapes {tuple(cos.shape)} and {tuple(sin.shape)}",
        hint="make both with one call of angle_tables, or of an encoding's tables",
    )


def check_out(out: Tensor, x: Tensor) -> None:
    """Raise unless `out` can hold the rotated `x`: like `x`, either `x` itself or apart from it, and without a gradient."""
    if not isinstance(out, Tensor):
        raise ArgumentTypeError("out", expected="a tensor like x", got=type(out).__name__)
    if out.shape != x.shape:
        raise ShapeError("out", expected=f"shape {tuple(x.shape)}, that of x", got=f"shape {tuple(out.shape)}")
    if out.dtype != x.dtype or out.device != x.device:
        raise ArgumentTypeError("out", expected=f"{x.dtype} on {x.device}, as x", got=f"{out.dtype} on {out.device}")
    if torch.is_grad_enabled() and (x.requires_grad or out.requires_grad):
        raise RefusedError(
            "out",
            expected="no gradient wanted where memory is reused",
            got="a tensor that requires a gradient",
            hint="leave out away, or work under torch.no_grad()",
        )
    if not _has_memory(x):
        return
    if _overlaps_itself(out):
        raise RefusedError(
            "out",
            expected="one place in memory for each element",
            got="a tensor whose elements share memory",
            hint="call .contiguous()",
        )
    if out is not x and not _same_view(out, x) and _share_memory(out, x):
        raise RefusedError(
            "out",
            expected="x itself, or memory apart from that of x",
            got="memory that overlaps x",
            hint="pass out=x to rotate in place",
        )


def check_both_in_place(query: Tensor, key: Tensor) -> None:
    """Raise unless both can be turned where they are: without a gradient, and no element twice."""
    check_out(query, query)
    check_out(key, key)
    if _has_memory(query) and _has_memory(key) and _share_memory(query, key):
        raise RefusedError(
            "key",
            expected="memory apart from that of the query, since each is turned where it is",
            got="memory that overlaps the query",
            hint="leave in_place out, or rotate the one tensor once",
        )


def _has_memory(x: Tensor) -> bool:
    return not torch.compiler.is_compiling() and type(x) in (Tensor, nn.Parameter) and x.device.type != "meta"


def _same_view(a: Tensor, b: Tensor) -> bool:
    """Whether two tensors are the same elements in the same order."""
    return a.data_ptr() == b.data_ptr() and a.stride() == b.stride()


def _overlaps_itself(x: Tensor) -> bool:
    """Whether two elements of a tensor lie at one address."""
    if x.is_contiguous():
        return False
    return _addresses_meet([(stride, 1 - size, size - 1) for stride, size in zip(x.stride(), x.shape, strict=True)], 0, True)


def _share_memory(a: Tensor, b: Tensor) -> bool:
    """Whether some element of one tensor is an element of the other, both of one dtype."""
    if a.numel() == 0 or b.numel() == 0 or a.untyped_storage().data_ptr() != b.untyped_storage().data_ptr():
        return False
    if a.element_size() != b.element_size():
        return True
    terms = [(stride, 0, size - 1) for stride, size in zip(a.stride(), a.shape, strict=True)]
    terms += [(stride, 1 - size, 0) for stride, size in zip(b.stride(), b.shape, strict=True)]
    return _addresses_meet(terms, int(b.storage_offset() - a.storage_offset()), False)


def _addresses_meet(terms: list[tuple[int, int, int]], target: int, other_than_zero: bool, steps: int = 20_000) -> bool:
    """Whether sum(stride * d) = target has a solution with every d in [low, high]; past `steps` tries the answer is yes.

    Large strides first, so that what the smaller ones can reach leaves one or two values for each d.
    """
    merged: dict[int, tuple[int, int]] = {}
    for stride, low, high in terms:
        if other_than_zero and high > 0 and (stride == 0 or stride in merged):
            return True
        if stride and (low or high):
            before = merged.get(stride, (0, 0))
            merged[stride] = before[0] + low, before[1] + high
    strides = sorted(merged, reverse=True)
    reach = [(0, 0)]
    for stride in reversed(strides):
        low, high = merged[stride]
        reach.append((reach[-1][0] + stride * low, reach[-1][1] + stride * high))
    reach.reverse()  # reach[i]: what strides[i:] can add up to

    def search(index: int, left: int, nonzero: bool) -> bool:
        nonlocal steps
        steps -= 1
        if steps < 0:
            return True
        if index == len(strides):
            return left == 0 and (nonzero or not other_than_zero)
        stride, (low, high), (least, most) = strides[index], merged[strides[index]], reach[index + 1]
        first, last = max(low, -((most - left) // stride)), min(high, (left - least) // stride)
        return any(search(index + 1, left - stride * d, nonzero or d != 0) for d in range(first, last + 1))

    return search(0, target, False)
