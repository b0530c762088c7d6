"""What a mask hides, worked out once for all layers, with one look at the device.

A kernel is quickest without a mask, then with its own causal one, then with a tensor [B, H, T, S]. Which of them is right is
seen from the positions; whether a query is left without any key comes out of the same look.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ordinate.attention.masks import Causal, Mask, Window, check_visible, rules
from ordinate.attention.transforms import readable
from ordinate.errors import ArgumentError, RefusedError
from ordinate.position.axes import on_every_axis, reading_order

__all__ = ["Visibility", "mask_order", "refuse_empty", "resolve_visibility"]


@dataclass(frozen=True)
class Visibility:
    """Which keys the queries of all heads see.

    Args:
        causal: the kernel's own causal mask says it: query i sees keys 0 to i.
        pairs: bool that broadcasts to [B, H, T, S], or None where nothing is hidden or `causal` says it.
        empty: bool that broadcasts to [B, H, T, 1], queries without a visible key; None where there are none.
    """

    causal: bool = False
    pairs: Tensor | None = None
    empty: Tensor | None = None


def mask_order(query_positions: Tensor, key_positions: Tensor, mask: Mask | None, axes: int | None) -> tuple[Tensor, Tensor]:
    """What the mask compares: the positions, or the order in which positions with axes are read.

    Raises:
        RefusedError: a window over positions with axes.
    """
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
    with_axes = (on_every_axis(each, axes) if each.ndim == 1 else each for each in (query_positions, key_positions))
    return reading_order(*with_axes)


def resolve_visibility(
    mask: Mask | None,
    order: tuple[Tensor, Tensor],
    shape: tuple[int, int, int, int],
    *,
    may_be_empty: bool | Tensor,
    causal_kernel: bool,
    aligned: bool = False,
    behind: bool = False,
) -> Visibility:
    """What `mask` hides of the pairs [B, H, T, S].

    Args:
        mask: all rules together, or None.
        order: of queries and keys, what the mask compares.
        shape: B, H, T, S.
        may_be_empty: whether a query may see no key; or bool [B, 1, T, 1], which of them may.
        causal_kernel: whether the caller can use `causal`.
        aligned: queries and keys are known to be the same tokens in rising order.
        behind: the queries are known to stand behind all keys but their own, in rising order.

    Raises:
        ShapeError: a mask for other sizes.
        ArgumentError: a query without a visible key that may not be so.
    """
    if mask is None:
        return Visibility()
    tokens, keys = shape[2:]
    if isinstance(mask, Causal):
        if behind and tokens == 1:
            return Visibility()
        if aligned and causal_kernel:
            return Visibility(causal=True)
    looks = readable(*order) and tokens > 0 and keys > 0
    at, by = order
    maybe_causal = looks and causal_kernel and at.shape == by.shape
    if maybe_causal and isinstance(mask, Causal):
        none_behind, some_before = (by.amax(-1) <= at.amin(-1)).all(), (at.amin(-1) < by.amin(-1)).any()
        same_rising, all_visible, some_empty = torch.stack((_same_rising(at, by), none_behind, some_before)).tolist()
        if same_rising or all_visible:
            return Visibility(causal=same_rising)
        pairs = check_visible(mask, mask.visible(at, by), shape)
        return Visibility(pairs=pairs, empty=refuse_empty(_empty(pairs), may_be_empty) if some_empty else None)
    pairs = check_visible(mask, mask.visible(at, by), shape)
    empty = _empty(pairs)
    if not looks:
        return Visibility(pairs=pairs, empty=empty)
    flags = [pairs.all(), empty.any()]
    if maybe_causal and isinstance(mask, Window) and not mask.both_sides:
        flags.append(_same_rising(at, by) & (at.amax() - by.amin() < mask.window_keys))  # wider than the row: only order counts
    all_visible, some_empty, *is_causal = torch.stack(flags).tolist()
    if all_visible or is_causal == [True]:
        return Visibility(causal=not all_visible)
    return Visibility(pairs=pairs, empty=refuse_empty(empty, may_be_empty) if some_empty else None)


def refuse_empty(empty: Tensor, may_be_empty: bool | Tensor) -> Tensor:
    """`empty`, bool [B or 1, H or 1, T, 1], if all of these queries may see no key; it is known that there are some.

    Raises:
        ArgumentError: one of them may not.
    """
    if may_be_empty is True:
        return empty
    refused = empty if may_be_empty is False else empty & ~may_be_empty
    where = refused.nonzero()
    if len(where):
        row, _, query, _ = where[0].tolist()
        raise ArgumentError(
            "mask",
            expected="at least one visible key for every query",
            got=f"none for query {query} of row {row}",
            hint="drop rows that are all padding, or pass empty_rows='zeros'"
            if may_be_empty is False
            else "drop rows that are all padding, or mark padding with token_mask",
        )
    return empty


def _empty(pairs: Tensor) -> Tensor:
    return ~pairs.any(-1, keepdim=True)


def _same_rising(at: Tensor, by: Tensor) -> Tensor:
    """Whether these are the same tokens in rising order, so that causal by position is causal by index."""
    rising = (at.diff(dim=-1) > 0).all()
    return rising if at is by else rising & (at == by).all()
