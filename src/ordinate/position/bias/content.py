"""What score terms made of queries and keys share: checks, grouped heads, and the choice between two exact ways.

The general way takes any positions at all: it forms the product of every query with every row of a table and gathers by
distance. Where queries and keys stand in unbroken order, skewing (`ordinate.position.bias.skew`) gives the same numbers with
memory linear in the number of tokens. Whether they do is seen from the values of the positions, so it is looked at in eager
mode; a compiled or exported graph takes the general way unless `impl="skew"` is named.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from ordinate.arguments import check_integer
from ordinate.errors import ArgumentError, RefusedError, ShapeError
from ordinate.position.base import under_transform, values_at_hand
from ordinate.position.bias.distance import distances
from ordinate.position.bias.skew import distance_range, products, share_one_offset, skewed_scores
from ordinate.position.indices import check_positions
from ordinate.shapes import check_shape

__all__ = [
    "OrderedKeys",
    "Way",
    "check_content",
    "check_key_heads",
    "check_way",
    "grouped_product",
    "key_value_heads",
    "scores_by_row",
    "takes_skew",
    "usual_scale",
]

Way = Literal["auto", "skew", "general"]


def check_way(impl: str) -> None:
    """Raise unless `impl` names one of the ways."""
    if impl not in ("auto", "skew", "general"):
        raise ArgumentError("impl", expected="'auto', 'skew' or 'general'", got=impl, hint="leave it out for 'auto'")


def check_content(
    query: Tensor | None,
    key: Tensor | None,
    query_positions: Tensor,
    key_positions: Tensor,
    *,
    num_heads: int | None = None,
    head_dim: int | None = None,
    needs_key: bool = True,
    continuous: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """Check what a content term is made of and return it in float32 or wider.

    Raises:
        ArgumentError: no query, or no key where one is needed.
        ShapeError: other sizes than the module was built for, positions that fit neither tokens nor batch.
        ArgumentTypeError: positions in half precision, or fractional ones where `continuous` is false.
    """
    for name, tensor in (("query", query), ("key", key if needs_key else query)):
        if tensor is None:
            raise ArgumentError(
                name, expected="the tensor itself: this term depends on content", got=None, hint="pass query and key"
            )
    assert query is not None
    wanted = {letter: size for letter, size in (("H", num_heads), ("D", head_dim)) if size is not None}
    sizes = check_shape("query", query, "B H T D", **wanted)
    check_positions("query_positions", query_positions, length=sizes["T"], batch=sizes["B"], continuous=continuous)
    keys = None
    if key is not None:
        of_key = check_shape("key", key, "B G S D", B=sizes["B"], D=sizes["D"])
        check_positions("key_positions", key_positions, length=of_key["S"], batch=sizes["B"], continuous=continuous)
        if of_key["G"] == 0 or sizes["H"] % of_key["G"]:
            raise ArgumentError(
                "key",
                expected=f"a number of key-value heads that divides the {sizes['H']} query heads",
                got=of_key["G"],
                hint="queries share key-value heads in equal groups",
            )
        keys = key.to(torch.promote_types(key.dtype, torch.float32))
    else:
        check_positions("key_positions", key_positions, batch=sizes["B"], continuous=continuous)
    return query.to(torch.promote_types(query.dtype, torch.float32)), keys


def key_value_heads(num_heads: int, head_dim: int, given: int | None) -> int:
    """Heads G of the keys, H where None is `given`.

    Raises:
        ArgumentError: sizes below 1, heads that do not divide.
    """
    check_integer("num_heads", num_heads, minimum=1)
    check_integer("head_dim", head_dim, minimum=1)
    if given is None:
        return num_heads
    check_integer("num_key_value_heads", given, minimum=1)
    if num_heads % given:
        raise ArgumentError("num_key_value_heads", expected=f"a number that divides the {num_heads} query heads", got=given)
    return given


def check_key_heads(key: Tensor, heads: int) -> None:
    """Raise `ShapeError` unless key [B, G, S, D] has so many heads."""
    if key.shape[1] != heads:
        raise ShapeError("key", expected=f"{heads} key-value heads", got=f"{key.shape[1]}")


def usual_scale(query: Tensor) -> float:
    """1 / sqrt(D)."""
    return 1.0 / math.sqrt(query.shape[-1])


def grouped_product(query: Tensor, key: Tensor) -> Tensor:
    """query [B, H, T, D] times key [B, G, S, D] over channels: [B, H, T, S], each key-value head serving H / G in a row."""
    batch, heads, queries, _ = query.shape
    groups, keys = key.shape[1:3]
    if groups == heads:
        return query @ key.transpose(-1, -2)
    folded = query.reshape(batch, groups, heads // groups * queries, -1) @ key.transpose(-1, -2)
    return folded.reshape(batch, heads, queries, keys)


def takes_skew(impl: Way, query_positions: Tensor, key_positions: Tensor) -> bool:
    """Whether to skew, for these positions.

    Raises:
        RefusedError: impl="skew", and positions that are not in unbroken order (looked at in eager mode).
    """
    if impl == "general" or query_positions.shape[-1] == 0 or key_positions.shape[-1] == 0:
        return False
    if under_transform():
        if impl == "skew":
            raise RefusedError(
                "impl", expected="no transform of functions (vmap, grad, jvp) around 'skew'", got=impl, hint="take 'auto'"
            )
        return False
    if torch.compiler.is_compiling() or query_positions.is_meta:
        return impl == "skew"
    if impl == "auto" and query_positions.shape[-1] == 1:  # a decode step: one row is gathered as cheaply as it is skewed
        return False
    unbroken = share_one_offset(query_positions, key_positions)
    if impl == "skew" and not unbroken:
        raise RefusedError(
            "impl",
            expected="positions that rise by one from token to token, with one offset for the whole batch",
            got="padding, packed documents or another order, which 'skew' would score wrongly",
            hint="take impl='general' or 'auto'",
        )
    return unbroken


def scores_by_row(
    query: Tensor,
    table: Tensor,
    rows: Callable[[Tensor], Tensor],
    query_positions: Tensor,
    key_positions: Tensor,
    distance: Tensor | None,
) -> Tensor:
    """query_i . table[rows(i - j)] for every pair: [B, H, T, S].

    Args:
        query: [B, H, T, D].
        table: [H, R, D], or [1, R, D] where the heads share it.
        rows: distances (any shape) to rows of the table.
        query_positions, key_positions: as in `skew.distance_range`; looked at where `distance` is None.
        distance: query minus key position, [T, S] or [B, T, S], for the general way; None to skew.
    """
    if distance is None:
        return skewed_scores(query, table[:, rows(distance_range(query_positions, key_positions))])
    index = rows(distance).unsqueeze(-3)
    return products(query, table).gather(-1, index.expand(*query.shape[:3], index.shape[-1]))


@dataclass(frozen=True)
class OrderedKeys:
    """Keys in the order of their positions, and which of them each query reaches: for terms made of all tokens between.

    Args:
        keys: [B, G, S, D]. Where a row repeats a position (packed documents) they stay as they stand.
        positions: of the keys, [S] or [B, S].
        reach: [B or 1, T], the last key that the query sees, its own in self-attention; -1 for none.
        counted: bool [B or 1, T, S], keys that a query sees and that are not ahead of it.
        seen: bool [B or 1, S], keys that some query sees (padding is not); None for all.
    """

    keys: Tensor
    positions: Tensor
    reach: Tensor
    counted: Tensor
    seen: Tensor | None
    _order: Tensor | None

    @classmethod
    def of(cls, keys: Tensor, query_positions: Tensor, key_positions: Tensor, visible: Tensor | None) -> OrderedKeys:
        """From keys [B, G, S, D] where they stand, positions, and which pairs are visible, or None for all."""
        order = _rising(key_positions)
        if order is not None:
            rows = order.expand(keys.shape[0], -1)
            keys = keys.gather(2, rows[:, None, :, None].expand_as(keys))
            key_positions = key_positions.gather(-1, order)
            if visible is not None and visible.shape[-1] > 1:
                each = rows if visible.shape[0] > 1 or order.ndim > 1 else rows[:1]
                visible = visible.expand(len(each), -1, -1, -1)
                visible = visible.gather(-1, each[:, None, None].expand(visible.shape))
        counted = distances(query_positions, key_positions) >= 0
        counted = counted if counted.ndim == 3 else counted.unsqueeze(0)
        seen = None
        if visible is not None:
            counted = counted & visible.any(1)
            seen = visible.any(1).any(-2)
        reach = torch.where(counted, torch.arange(keys.shape[2], device=keys.device), -1)
        return cls(keys, key_positions, reach.amax(-1) if keys.shape[2] else reach.sum(-1), counted, seen, order)

    def own(self, of_key: Tensor) -> Tensor:
        """What the key that each query reaches has: [B, G, S, W] to [B, G, T, W]."""
        place = self.reach.clamp_min(0).expand(of_key.shape[0], -1)[:, None, :, None]
        return of_key.gather(2, place.expand(-1, of_key.shape[1], -1, of_key.shape[3]))

    def back(self, scores: Tensor) -> Tensor:
        """Scores [B, H, T, S] with the keys where they stood."""
        if self._order is None:
            return scores
        place = self._order.argsort(-1).expand(scores.shape[0], -1)
        return scores.gather(-1, place[:, None, None].expand_as(scores))


def _rising(positions: Tensor) -> Tensor | None:
    """The places of keys by rising position, where no row repeats one; None where they stand so."""
    if values_at_hand(positions) and bool((positions.diff(dim=-1) > 0).all()):
        return None
    rising, order = positions.sort(dim=-1, stable=True)
    once = (rising != rising.roll(1, -1)).all(-1, keepdim=True)
    return torch.where(once, order, torch.arange(positions.shape[-1], device=positions.device))
