"""Positions as `attend` takes them: checked, and in the order that a mask compares.

It stands apart because a position may be one number or several, and everything in attention but this file is free of that.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from ordinate.attention.masks import Mask, Window, rules
from ordinate.errors import ArgumentError, RefusedError
from ordinate.position.axes import on_every_axis, reading_order
from ordinate.position.indices import check_positions
from ordinate.position.rotary.axis_rotation import check_axis_positions

__all__ = ["given_positions", "mask_order", "position_axes"]


def given_positions(
    query_positions: Tensor | None,
    key_positions: Tensor | None,
    shape: tuple[int, int, int, int],
    *,
    needed: bool,
    axes: int | None,
) -> tuple[Tensor, Tensor]:
    """Positions of queries and keys, checked against the sizes (B, H, T, S); of no tokens where none are `needed` or given."""
    batch, _, length, keys = shape
    if query_positions is None:
        if needed or key_positions is not None:
            raise ArgumentError(
                "query_positions",
                expected="the positions of the queries, [T] or [B, T]",
                got=None,
                hint="pass indices.consecutive(T), or indices.appended(cached, T) behind a cache",
            )
        nothing = torch.zeros(0, dtype=torch.int64)
        return nothing, nothing
    _check_positions("query_positions", query_positions, axes, length=length, batch=batch)
    if key_positions is None:
        if keys != length:
            raise ArgumentError(
                "key_positions",
                expected=f"the positions of all {keys} keys, since there are {length} queries",
                got=None,
                hint="pass indices.consecutive(S) where the cache starts at 0",
            )
        return query_positions, query_positions
    _check_positions("key_positions", key_positions, axes, length=keys, batch=batch)
    return query_positions, key_positions


def position_axes(encodings: Sequence[object]) -> int | None:
    """How many numbers a position has, as the encodings say; None where it is one number."""
    said = {getattr(one, "axes", None) for one in encodings}
    if len(said) > 1:
        raise RefusedError(
            "encoding",
            expected="encodings whose positions have the same axes",
            got=", ".join(f"{type(one).__name__} with {getattr(one, 'axes', 1)}" for one in encodings),
            hint="apply one of them to queries and keys before attend",
        )
    return said.pop() if said else None


def _check_positions(name: str, positions: Tensor, axes: int | None, *, length: int, batch: int) -> None:
    if axes is None or (isinstance(positions, Tensor) and positions.ndim == 1):  # text, the same on every axis
        check_positions(name, positions, length=length, batch=batch)
    else:
        check_axis_positions(name, positions, axes, length=length, batch=batch)


def mask_order(query_positions: Tensor, key_positions: Tensor, mask: Mask | None, axes: int | None) -> tuple[Tensor, Tensor]:
    """What the mask compares: the positions, or the order in which positions with axes are read."""
    both_text = query_positions.ndim == 1 and key_positions.ndim == 1
    if axes is None or mask is None or not mask.needs_positions or both_text:
        return query_positions, key_positions
    if any(isinstance(rule, Window) for rule in rules(mask)):
        raise RefusedError(
            "mask",
            expected="rules that compare positions with axes (Causal), or that hold a tensor of their own",
            got="a Window, which counts positions along one axis",
            hint="make windows with Documents, one number for each window",
        )
    lifted = (on_every_axis(each, axes) if each.ndim == 1 else each for each in (query_positions, key_positions))
    return reading_order(*lifted)
