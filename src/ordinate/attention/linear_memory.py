"""The two implementations that make no [T, S] tensor, behind one door: checks, then blocks or FlexAttention."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor

from ordinate.attention.blocked import blocked_attention
from ordinate.attention.flex import flex_attention_output
from ordinate.attention.masks import Mask, check_mask
from ordinate.attention.terms import ScoreTerm, on_token_axis
from ordinate.errors import ArgumentError, ShapeError

__all__ = ["linear_memory_attention"]


def linear_memory_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    scale: float,
    terms: Sequence[ScoreTerm],
    product: ScoreTerm | None,
    mask: Mask | None,
    positions: tuple[Tensor, Tensor],
    impl: Literal["blocked", "flex"],
    zero_empty_rows: bool,
) -> Tensor:
    """Output [B, H, T, V] in the dtype of `query`.

    Args:
        query, key, value: [B, H, T, D], [B, G, S, D] and [B, G, S, V], after encodings have turned them.
        scale: factor on the products.
        terms: biases; each is formed part by part.
        product: what computes the scores in place of the product, or None.
        mask: which keys are visible.
        positions: of queries and keys, for the mask.
        impl: which of the two.
        zero_empty_rows: give zeros for a query that sees no key, where the error is not wanted.

    Raises:
        ShapeError: a bias for another number of heads, a mask for other tokens.
        ArgumentError: a query that sees no key.
        RefusedError: what the implementation cannot carry out.
    """
    batch, heads, length, _ = query.shape
    keys = key.shape[2]
    if length and keys:
        corner = slice(0, 1), slice(0, 1)
        for term in terms:
            made_for = term.part(*corner).form().shape[1] if term.query is None else heads
            if made_for not in (1, heads):
                raise ShapeError(
                    "encoding", expected=f"a bias for {heads} heads", got=f"{made_for}", hint="build it with num_heads=H"
                )
        if mask is not None:
            for queries, some_keys, shape in (
                (corner[0], slice(None), (batch, heads, 1, keys)),
                (slice(None), corner[1], (batch, heads, length, 1)),
            ):
                at = on_token_axis(positions[0], queries), on_token_axis(positions[1], some_keys)
                check_mask(mask, mask.part(queries, some_keys).visible(*at), shape)
    if impl == "flex":
        output, seen = flex_attention_output(
            query, key, value, scale=scale, terms=terms, product=product, mask=mask, positions=positions
        )
    else:
        output, seen = blocked_attention(
            query, key, value, scale=scale, terms=terms, product=product, mask=mask, positions=positions
        )
    if mask is not None and not zero_empty_rows and not torch.compiler.is_compiling() and not bool(seen.all()):
        where = (~seen).nonzero()[0].tolist()
        raise ArgumentError(
            "mask",
            expected="at least one visible key for every query",
            got=f"none for query {where[-1]} of row {where[0]}",
            hint="drop rows that are all padding, or pass empty_rows='zeros'",
        )
    return output
