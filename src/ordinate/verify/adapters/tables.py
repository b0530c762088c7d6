"""Tables of cosine and sine in the forms that rotations take them in, and rotations by tables that a module makes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ordinate.verify.references.ladders import magnitude
from ordinate.verify.references.rotation import RotarySettings, angles, pairs
from ordinate.verify.seen import unsupported

__all__ = ["FORMS", "given_tables", "is_tables", "turned_by_tables"]


@dataclass(frozen=True)
class Form:
    """A form of tables: `single` where cosine and sine come in one tensor."""

    single: bool
    says: str


FORMS = {
    "full-half": Form(False, "[T, D], each pair's value at i and at i + D/2"),
    "full-interleaved": Form(False, "[T, D], each pair's value at 2i and 2i + 1"),
    "half-width": Form(False, "[T, D/2], one value a pair"),
    "complex": Form(True, "[T, D/2], cos + i sin"),
    "stacked": Form(True, "[T, D/2, 2], cosine and sine of each pair"),
    "packed": Form(True, "[T, D], all cosines before all sines"),
    "packed-sine-first": Form(True, "[T, 2 D], full width, sines before cosines"),
    "angles-half": Form(True, "[T, D], angles, each pair's at i and at i + D/2"),
    "angles-interleaved": Form(True, "[T, D], angles, each pair's at 2i and 2i + 1"),
    "angles": Form(True, "[T, D/2], angles"),
}


def given_tables(form: str, axes: str, positions: Tensor, settings: RotarySettings, like: Tensor) -> dict[str, Tensor]:
    """Tables for positions [T] or [B, T], by role: cos and sin, or table. Formed in float64, rounded to the dtype of `like`."""
    theta, factor = angles(settings.but(sign=1), positions), magnitude(settings.scaling)
    wide = like.dtype if like.dtype in (torch.float64, torch.bfloat16, torch.float16) else torch.float32
    if form == "complex":
        return {"table": _axes(torch.polar(torch.full_like(theta, factor), theta).to(torch.complex64), axes, like)}
    if form.startswith("angles"):
        table = theta.to(torch.float32)
        return {"table": _axes(table if form == "angles" else _full(table, form.removeprefix("angles-")), axes, like)}
    cos, sin = (factor * theta.cos()).to(wide), (factor * theta.sin()).to(wide)
    if form == "stacked":
        # stacked before the axes are laid out, so that [..., 2] stays last
        return {"table": _axes(torch.stack((cos, sin), -1), axes, like, extra=1)}
    if form == "packed":
        return {"table": _axes(torch.cat((cos, sin), -1), axes, like)}
    if form == "packed-sine-first":
        return {"table": _axes(torch.cat((_full(sin, "interleaved"), _full(cos, "interleaved")), -1), axes, like)}
    if form.startswith("full"):
        cos, sin = (_full(table, form.removeprefix("full-")) for table in (cos, sin))
    return {"cos": _axes(cos, axes, like), "sin": _axes(sin, axes, like)}


def _full(table: Tensor, layout: str) -> Tensor:
    return torch.cat((table, table), -1) if layout == "half" else table.repeat_interleave(2, -1)


def _axes(table: Tensor, axes: str, like: Tensor, extra: int = 0) -> Tensor:
    """[T, ...] or [B, T, ...] with the axes that were asked for."""
    rows = table.ndim - extra == 3
    if axes == "BTD":
        return table if rows else table.expand(like.shape[0], *table.shape)
    if rows:
        raise unsupported("its tables are one row for the whole batch")
    places = {"TD": table, "1TD": table[None], "T1D": table[:, None], "1T1D": table[None, :, None]}
    return places[axes]


def is_tables(answer: Any, shape: tuple[int, ...]) -> bool:
    """Whether what came back is tables and not turned queries and keys: a pair without heads, or one complex tensor."""
    if isinstance(answer, Tensor):
        return answer.is_complex() and answer.shape[-1] != shape[-1]
    if isinstance(answer, tuple | list) and len(answer) == 2 and all(isinstance(one, Tensor) for one in answer):
        return answer[0].shape == answer[1].shape and tuple(answer[0].shape) != tuple(shape)
    return False


def turned_by_tables(answer: Any, x: Tensor, settings: RotarySettings) -> Tensor:
    """x [B, H, T, D] turned by tables that the subject made, in the tables' own precision."""
    if isinstance(answer, Tensor):
        cos, sin = answer.real, answer.imag
    else:
        cos, sin = answer
    while cos.ndim > 3 and 1 in cos.shape[:-1]:  # axes for broadcasting over heads
        place = next(axis for axis, size in enumerate(cos.shape[:-1]) if size == 1)
        cos, sin = cos.squeeze(place), sin.squeeze(place)
    layout = settings.as_built
    if cos.shape[-1] == settings.rotary_dim:
        halves = _equal(cos[..., : cos.shape[-1] // 2], cos[..., cos.shape[-1] // 2 :])
        neighbours = _equal(cos[..., 0::2], cos[..., 1::2])
        if halves == neighbours and not halves:
            raise unsupported("its tables are full-width, but neither halves nor neighbours are equal")
        layout = settings.as_built if halves and neighbours else "half" if halves else "interleaved"
        keep = slice(0, cos.shape[-1] // 2) if layout == "half" else slice(0, None, 2)
        cos, sin = cos[..., keep], sin[..., keep]
    if cos.shape[-2] != x.shape[2] or 2 * cos.shape[-1] > x.shape[-1]:
        raise unsupported(f"its tables have shape {tuple(cos.shape)} for {x.shape[2]} tokens of {x.shape[3]} channels")
    first, second = pairs(settings.but(layout=layout, rotary_dim=2 * cos.shape[-1]))
    wide = torch.promote_types(cos.dtype, torch.promote_types(x.dtype, torch.float32))
    cos, sin = (table.to(wide).unsqueeze(1) if table.ndim == 3 else table.to(wide) for table in (cos, sin))
    result = x.to(wide).clone()
    a, b = x[..., first].to(wide), x[..., second].to(wide)
    result[..., first], result[..., second] = a * cos - b * sin, a * sin + b * cos
    return result.to(x.dtype)


def _equal(one: Tensor, other: Tensor) -> bool:
    """Bit for bit, where NaN is as good as NaN."""
    return torch.equal(one.nan_to_num(nan=9.0), other.nan_to_num(nan=9.0))
