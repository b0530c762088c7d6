"""The rotation at the speed of memory, on a CPU: in blocks that stay in cache, into memory that is already there.

Three facts shape it. A call of torch costs microseconds, so blocks must not be small. A pass over memory that has left the
cache costs as much as the arithmetic, so they must not be large. And a pair of layout "interleaved" is a complex number as it
lies, turned by one multiplication, while the halves of layout "half" need two products and one sum:

    out = x * (cos, cos) + (-b sin, a sin),   x = (a, b)

Half precision is widened into a block of scratch, turned there in float32 and rounded once on the way out.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from ordinate.huge_pages import in_large_pages
from ordinate.position.rotation_inputs import lies_as_complex

__all__ = ["BlockedRotation", "rotate_blocks"]

_BLOCK_BYTES = 2 << 20  # of the working dtype
_kept = threading.local()


class BlockedRotation(torch.autograd.Function):
    """`rotate_blocks` into new memory, with a gradient: the rotation back by the same angles, as fast and as often as wanted.

    Only the tables are kept for the backward pass, never the input.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, cos: Tensor, sin: Tensor, layout: str, start: int) -> Tensor:
        ctx.save_for_backward(cos, sin)
        ctx.layout, ctx.start = layout, start
        return rotate_blocks(x, in_large_pages(torch.empty_like(x)), cos, sin, layout, start)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None, None, None]:
        cos, sin = ctx.saved_tensors
        return BlockedRotation.apply(grad, cos, -sin, ctx.layout, ctx.start), None, None, None, None


def rotate_blocks(x: Tensor, out: Tensor, cos: Tensor, sin: Tensor, layout: str, start: int) -> Tensor:
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
    direct = x.dtype == cos.dtype and x.stride(-1) == 1 == out.stride(-1)
    with _scratch(cos.dtype) as (wide, crossed):
        cut = _Cut(x.shape, wide.numel())
        tables = zip(*map(cut.tables, (torch.cat((cos, cos), dim=-1), sin, -sin)), strict=True)
        blocks = zip(*map(cut.blocks, (x, *x.chunk(2, dim=-1), out)), tables, strict=True)
        for block, first, second, target, (both, plus, minus) in blocks:
            cross, ahead, behind = cut.shaped(crossed, block)
            if direct:
                source, goal = block, target
            else:
                source, first, second = cut.shaped(wide, block)
                goal = source.copy_(block)
            torch.mul(second, minus, out=ahead)
            torch.mul(first, plus, out=behind)
            torch.addcmul(cross, source, both, out=goal)
            if not direct:
                target.copy_(goal)


def _turn_complex(x: Tensor, out: Tensor, cos: Tensor, sin: Tensor) -> None:
    turn = torch.complex(cos, sin)
    direct = x.dtype == cos.dtype and lies_as_complex(x) and lies_as_complex(out)
    with _scratch(cos.dtype) as (wide, _):
        cut = _Cut(x.shape, wide.numel())
        for source, target, angles in zip(cut.blocks(x), cut.blocks(out), cut.tables(turn), strict=True):
            if direct:
                torch.mul(source.view(turn.dtype), angles, out=target.view(turn.dtype))
            else:
                widened = cut.shaped(wide, source)[0].copy_(source)
                widened.view(turn.dtype).mul_(angles)
                target.copy_(widened)


class _Cut:
    """How [B, H, T, D] falls into blocks of about `elements`: whole rows, or else tokens of one row, all heads together."""

    def __init__(self, shape: torch.Size, elements: int) -> None:
        batch, heads, tokens, channels = shape
        self.tokens = min(tokens, max(1, elements // (heads * channels)))
        self.rows = min(batch, max(1, elements // (heads * channels * tokens)))
        self.row_blocks = -(-batch // self.rows)
        self.shapes: dict[tuple[int, torch.Size], tuple[Tensor, Tensor, Tensor]] = {}

    def blocks(self, x: Tensor) -> list[Tensor]:
        return [block for rows in x.split(self.rows) for block in rows.split(self.tokens, dim=2)]

    def tables(self, table: Tensor) -> list[Tensor]:
        """Of a table [T, P] or [B, T, P], the part that belongs to each block."""
        if table.ndim == 3 and table.shape[0] == 1:
            table = table[0]
        if table.ndim == 2:
            return list(table.split(self.tokens)) * self.row_blocks
        return self.blocks(table.unsqueeze(1))

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
    held = _kept.__dict__.pop("scratch", None)  # taken out while in use, so that a call within a call finds none
    if held is None:
        with torch.inference_mode(False):
            held = in_large_pages(torch.empty(2 * _BLOCK_BYTES, dtype=torch.uint8))
    try:
        first, second = held.view(dtype).chunk(2)
        yield first, second
    finally:
        _kept.scratch = held
