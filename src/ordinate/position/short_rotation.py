"""The rotation of a token or a few, in as few calls of torch as may be: at that size calls cost, memory does not.

Layout "half": x * (cos, cos) + (b, a) * (-sin, sin) for x = (a, b), with tables that have a number for each channel; they come
from the cosine and sine of (-f, f) times the position, so that spreading them costs no call. Layout "interleaved": pairs are
complex numbers as they lie, times exp(i f position).
"""

from __future__ import annotations

import torch
from torch import Tensor

from ordinate.position.rotation_inputs import lies_as_complex

__all__ = ["short_ladder", "short_rotation", "short_tables", "turn_short"]

Tables = tuple[Tensor, ...]  # (cos, sin) by channel for "half", (turn,) complex by pair for "interleaved"


def short_ladder(frequencies: Tensor, layout: str) -> Tensor:
    """What `short_tables` takes the place of frequencies, float64 [P]: (-f, f) [2 P], or i f as complex numbers [P]."""
    if layout == "half":
        return torch.cat((-frequencies, frequencies))
    return torch.complex(torch.zeros_like(frequencies), frequencies)


def short_tables(positions: Tensor, ladder: Tensor, factor: float, dtype: torch.dtype) -> Tables:
    """Tables for positions [T] or [B, T], formed in float64 and rounded once to `dtype`."""
    angles = positions.double().unsqueeze(-1) * ladder
    tables = [angles.exp()] if ladder.is_complex() else [angles.cos(), angles.sin()]
    if factor != 1.0:
        tables = [table * factor for table in tables]
    if dtype is torch.float32:
        tables = [table.cfloat() if table.is_complex() else table.float() for table in tables]  # type: ignore[attr-defined]
    if positions.ndim == 2:
        tables = [table.unsqueeze(1) for table in tables]
    return tuple(tables)


def short_rotation(x: Tensor, cos: Tensor, sin: Tensor, layout: str, start: int = 0, out: Tensor | None = None) -> Tensor:
    """As `reference_rotation`, from tables [T, P] or [B, T, P]."""
    if cos.ndim == 3:
        cos, sin = cos.unsqueeze(1), sin.unsqueeze(1)
    if layout == "half":
        return turn_short(x, (torch.cat((cos, cos), dim=-1), torch.cat((-sin, sin), dim=-1)), start, out)
    return turn_short(x, (torch.complex(cos, sin),), start, out)


def turn_short(x: Tensor, tables: Tables, start: int, out: Tensor | None) -> Tensor:
    """x, its channels from `start` on turned by tables that broadcast to [B, H, T, 2 P] or, complex, [B, H, T, P]."""
    by_channel = len(tables) == 2
    channels = tables[0].shape[-1] if by_channel else 2 * tables[0].shape[-1]
    turned = x if channels == x.shape[-1] else x[..., start : start + channels]
    if turned.dtype is torch.bfloat16 or turned.dtype is torch.float16:
        turned = turned.float()
    if by_channel:
        result = turned.roll(channels // 2, -1).mul_(tables[1]).addcmul_(turned, tables[0])
    else:
        result = _times(turned, tables[0])
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


def _times(x: Tensor, turn: Tensor) -> Tensor:
    """Pairs of neighbouring channels times complex numbers."""
    if not lies_as_complex(x):
        x = x.clone(memory_format=torch.contiguous_format)
    if x.requires_grad and torch.is_grad_enabled():  # a change of dtype by `view` would cut the gradient
        return torch.view_as_real(torch.view_as_complex(x.unflatten(-1, (-1, 2))) * turn).flatten(-2)
    product: Tensor = x.view(turn.dtype) * turn
    return product.view(x.dtype)
