"""The rotation at the speed of memory, on a CPU: in blocks that stay in cache, into memory that is already there.

Three facts shape it. A call of torch costs microseconds, so blocks must not be small. A pass over memory that has left the
cache costs as much as the arithmetic, so they must not be large. And a pair of layout "interleaved" is a complex number as it
lies, turned by one multiplication, while the halves of layout "half" need two products and one sum:

    out = x * (cos, cos) + (-b sin, a sin),   x = (a, b)

Half precision is widened into a block of scratch, turned there in float32 and rounded once on the way out.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from ordinate.position.fresh_memory import in_large_pages

__all__ = ["BlockedRotation", "rotate_blocks"]

BLOCK_ELEMENTS = 1 << 19


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
    scratch = _Scratch(cos.dtype)
    for source, target, block_cos, block_sin in _blocks(x[..., start:end], out[..., start:end], cos, sin):
        direct = source.dtype == cos.dtype and _lies_well(source, layout) and _lies_well(target, layout)
        here, there = source, target
        if not direct:
            here = there = scratch.block("wide", source.shape)
            here.copy_(source)
        if layout == "half":
            _turn_halves(here, there, block_cos, block_sin, scratch.block("crossed", source.shape))
        else:
            torch.mul(_as_complex(here), torch.complex(block_cos, block_sin), out=_as_complex(there))
        if not direct:
            target.copy_(there)
    return out


def _turn_halves(x: Tensor, out: Tensor, cos: Tensor, sin: Tensor, crossed: Tensor) -> None:
    pairs = cos.shape[-1]
    torch.mul(x[..., pairs:], -sin, out=crossed[..., :pairs])
    torch.mul(x[..., :pairs], sin, out=crossed[..., pairs:])
    torch.addcmul(crossed, x, torch.cat((cos, cos), dim=-1), out=out)


def _as_complex(x: Tensor) -> Tensor:
    return torch.view_as_complex(x.unflatten(-1, (-1, 2)))


def _lies_well(x: Tensor, layout: str) -> bool:
    """Whether channels are neighbours, and pairs of layout "interleaved" whole complex numbers."""
    if layout == "interleaved" and (x.storage_offset() % 2 or any(stride % 2 for stride in x.stride()[:-1])):
        return False
    return x.stride(-1) == 1


class _Scratch:
    """Blocks of working memory, made once for a whole call; the first block of a call is its largest."""

    def __init__(self, dtype: torch.dtype) -> None:
        self.dtype = dtype
        self.held: dict[str, Tensor] = {}

    def block(self, name: str, shape: torch.Size) -> Tensor:
        if name not in self.held:
            self.held[name] = in_large_pages(torch.empty(shape, dtype=self.dtype))
        return self.held[name][: shape[0], :, : shape[2]]


def _blocks(x: Tensor, out: Tensor, cos: Tensor, sin: Tensor) -> Iterator[tuple[Tensor, Tensor, Tensor, Tensor]]:
    """x and out [b, H, t, 2 P] with tables [t, P] or [b, 1, t, P], block by block: whole rows, or tokens of one row."""
    batch, heads, tokens, channels = x.shape
    block_tokens = min(tokens, max(1, BLOCK_ELEMENTS // (heads * channels)))
    block_rows = min(batch, max(1, BLOCK_ELEMENTS // (heads * channels * tokens)))
    by_row = cos.ndim == 3
    if by_row:
        cos, sin = cos.unsqueeze(1), sin.unsqueeze(1)
    row_tables = zip(cos.split(block_rows), sin.split(block_rows), strict=True) if by_row else None
    for x_rows, out_rows in zip(x.split(block_rows), out.split(block_rows), strict=True):
        cos_rows, sin_rows = next(row_tables) if row_tables is not None else (cos, sin)
        yield from zip(
            x_rows.split(block_tokens, dim=2),
            out_rows.split(block_tokens, dim=2),
            cos_rows.split(block_tokens, dim=-2),
            sin_rows.split(block_tokens, dim=-2),
            strict=True,
        )
