"""What score terms made of queries and keys share: checks, grouped heads, and the choice between two exact ways.

The general way takes any positions at all: it forms the product of every query with every row of a table and gathers by
distance. Where queries and keys stand in unbroken order, skewing (`ordinate.position.bias.skew`) gives the same numbers with
memory linear in the number of tokens. Whether they do is seen from the values of the positions, so it is looked at in eager
mode; a compiled or exported graph takes the general way unless `impl="skew"` is named.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal

import torch
from torch import Tensor

from ordinate.errors import ArgumentError, RefusedError
from ordinate.position.base import under_transform
from ordinate.position.bias.skew import distance_range, products, share_one_offset, skewed_scores
from ordinate.position.indices import check_positions
from ordinate.shapes import check_shape

__all__ = [
    "Way",
    "check_content",
    "check_way",
    "grouped_product",
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
