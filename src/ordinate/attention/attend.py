"""`attend`: scaled dot-product attention that knows where its tokens are.

It checks its arguments, makes the plan of one layer (`ordinate.attention.plan`), runs it, and looks whether numbers came out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, overload

import torch
from torch import Tensor

from ordinate.arguments import check_number
from ordinate.attention.backend_selection import Implementation
from ordinate.attention.encodings import Encoding, as_encodings, check_token_positions, own_scale, position_axes
from ordinate.attention.masks import Mask, check_mask
from ordinate.attention.plan import AttentionPlan
from ordinate.attention.transforms import readable
from ordinate.errors import ArgumentError, ArgumentTypeError, ShapeError
from ordinate.shapes import check_shape

__all__ = ["Encoding", "Implementation", "attend", "refuse_non_finite"]


@overload
def attend(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    query_positions: Tensor | None = ...,
    key_positions: Tensor | None = ...,
    encoding: Encoding | Sequence[Encoding] | None = ...,
    mask: Mask | None = ...,
    scale: float | None = ...,
    impl: Implementation = ...,
    empty_rows: Literal["error", "zeros"] = ...,
    return_weights: Literal[False] = ...,
) -> Tensor: ...
@overload
def attend(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    query_positions: Tensor | None = ...,
    key_positions: Tensor | None = ...,
    encoding: Encoding | Sequence[Encoding] | None = ...,
    mask: Mask | None = ...,
    scale: float | None = ...,
    impl: Implementation = ...,
    empty_rows: Literal["error", "zeros"] = ...,
    return_weights: Literal[True],
) -> tuple[Tensor, Tensor]: ...
def attend(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    query_positions: Tensor | None = None,
    key_positions: Tensor | None = None,
    encoding: Encoding | Sequence[Encoding] | None = None,
    mask: Mask | None = None,
    scale: float | None = None,
    impl: Implementation = "auto",
    empty_rows: Literal["error", "zeros"] = "error",
    return_weights: bool = False,
) -> Tensor | tuple[Tensor, Tensor]:
    """softmax(scale Q K^T + bias) V with positions, masks and shared heads.

    Args:
        query: [B, H, T, D].
        key: [B, G, S, D]; G divides H, and key-value head g serves query heads g H/G to (g+1) H/G - 1.
        value: [B, G, S, V].
        query_positions: [T] or [B, T]; needed by encodings and by position-aware masks. Where the encoding has several axes,
            [T, A] or [B, T, A]; a causal mask then goes by the order in which they are read.
        key_positions: [S] or [B, S], of every key, cached ones included; by default those of the queries, where T equals S.
        encoding: one encoding of any kind, or a sequence of them. One that rotates turns queries and keys; one that biases is
            added to the scaled scores; one that adds to embeddings is added to queries and keys but not to values, as in DETR
            (Carion et al. 2020, arXiv 2005.12872), its width being D, or H D and G D side by side. To add it to embeddings as
            in Vaswani et al. 2017, do so before the projections and pass nothing here.
        mask: which keys are visible, see `ordinate.attention.masks`.
        scale: factor on the products, by default the encoding's `own_scale` if it has one, else 1 / sqrt(D).
        impl: "reference" is the formula, float32 or wider; "sdpa" is torch's kernel, in the dtype of the inputs; "auto" takes
            sdpa unless weights are asked for, or a bias meets half precision, which would round it; `choose` says which it
            takes, and why. Two make no [T, S] tensor: "blocked", any device, float32 or wider inside, trains, eager; and
            "flex", torch's FlexAttention, compiled for the encoding on first use (many seconds) and without gradients on a CPU.
        empty_rows: what to do with a query that sees no key: raise (in eager mode), or give zeros.
        return_weights: also return the weights [B, H, T, S], float32 or wider.

    Returns:
        [B, H, T, V] in the dtype of `query`; with `return_weights` the weights too.

    Raises:
        ShapeError: sizes that do not fit, heads that do not divide.
        ArgumentError: positions that are missing, a query that sees no key, NaN in an input (looked for in eager mode on a
            CPU, after NaN has reached the output).
        ArgumentTypeError: differing dtypes, positions in half precision, a mask that is a plain tensor.
        RefusedError: weights from an implementation that has none, gradients from "flex" on a CPU, an encoding that a named
            implementation cannot carry out.

    Source: Vaswani et al. 2017, arXiv 1706.03762, eq. 1; Ainslie et al. 2023, arXiv 2305.13245.

    >>> from ordinate.attention import Causal
    >>> from ordinate.position import Rotary, indices
    >>> q, k, v = torch.randn(3, 1, 4, 10, 16)
    >>> attend(q, k, v, query_positions=indices.consecutive(10), encoding=Rotary(16, layout="half"), mask=Causal()).shape
    torch.Size([1, 4, 10, 16])
    """
    shape = _check_inputs(query, key, value)
    encodings = as_encodings(encoding)
    if mask is not None:
        check_mask(mask)
    if empty_rows not in ("error", "zeros"):
        raise ArgumentError("empty_rows", expected="'error' or 'zeros'", got=repr(empty_rows))
    if scale is None:
        scale = own_scale(encodings) or 1.0 / math.sqrt(max(query.shape[-1], 1))
    else:
        check_number("scale", scale, hint="leave it out for 1 / sqrt(D)")
    needed = bool(encodings) or bool(mask and mask.needs_positions)
    positions = _check_positions(query_positions, key_positions, shape, needed=needed, axes=position_axes(encodings))
    plan = AttentionPlan(
        encodings, mask, *positions, shape, impl=impl, return_weights=return_weights, may_be_empty=empty_rows == "zeros"
    )
    output, weights = plan.attend(*plan.encode(query, key), value, scale=scale)
    refuse_non_finite(output, query=query, key=key, value=value)
    if return_weights:
        assert weights is not None
        return output, weights
    return output


def _check_inputs(query: Tensor, key: Tensor, value: Tensor) -> tuple[int, int, int, int]:
    """Shapes, heads and dtypes fit together; returns (B, H, T, S)."""
    q = check_shape("query", query, "B H T D")
    k = check_shape("key", key, "B G S D", B=q["B"], D=q["D"])
    check_shape("value", value, "B G S V", B=q["B"], G=k["G"], S=k["S"])
    if k["G"] == 0 or q["H"] % k["G"]:
        raise ShapeError(
            "key",
            expected=f"a number of key-value heads that divides the {q['H']} query heads",
            got=f"{k['G']} heads",
            hint="queries share key-value heads in equal groups",
        )
    for name, tensor in (("query", query), ("key", key), ("value", value)):
        if not tensor.is_floating_point():
            raise ArgumentTypeError(
                name, expected="a floating dtype", got=str(tensor.dtype), hint="convert it, with .float() say"
            )
        if tensor.dtype != query.dtype:
            raise ArgumentTypeError(
                name, expected=f"the dtype of query ({query.dtype})", got=str(tensor.dtype), hint="cast one"
            )
    return q["B"], q["H"], q["T"], k["S"]


def _check_positions(
    query_positions: Tensor | None,
    key_positions: Tensor | None,
    shape: tuple[int, int, int, int],
    *,
    needed: bool,
    axes: int | None,
) -> tuple[Tensor, Tensor]:
    """Positions of queries and keys, checked against the sizes (B, H, T, S); of no tokens where nobody needs any."""
    batch, _, length, keys = shape
    if query_positions is None:
        if needed or key_positions is not None:
            raise ArgumentError(
                "query_positions",
                expected="the positions of the queries, [T] or [B, T]",
                hint="pass indices.consecutive(T), or indices.appended(cached, T) behind a cache",
            )
        nothing = torch.zeros(0, dtype=torch.int64)
        return nothing, nothing
    check_token_positions("query_positions", query_positions, axes, length=length, batch=batch)
    if key_positions is None:
        if keys != length:
            raise ArgumentError(
                "key_positions",
                expected=f"the positions of all {keys} keys, since there are {length} queries",
                hint="pass indices.consecutive(S) where the cache starts at 0",
            )
        return query_positions, query_positions
    check_token_positions("key_positions", key_positions, axes, length=keys, batch=batch)
    return query_positions, key_positions


def refuse_non_finite(output: Tensor, **inputs: Tensor) -> None:
    """Raise where NaN or infinity among `inputs` has spoilt the output [B, H, T, V] (in eager mode, on a CPU).

    NaN anywhere in the inputs reaches the output: looked at is the smaller tensor first. On a CPU torch's kernel makes a row of
    zeros of a query whose scores are all NaN, so such rows count too.
    """
    if output.device.type != "cpu" or output.numel() == 0 or not readable(output):
        return
    if bool(torch.isfinite(output.sum())) and not bool((output[..., 0] == 0).any()):
        return
    is_nan = bool(output.isnan().any())
    for name, tensor in inputs.items():
        bad = ~tensor.isfinite()
        if (name != "value" or is_nan) and bool(bad.any()):
            raise ArgumentError(
                name,
                expected="numbers",
                got=f"{'NaN' if bool(tensor.isnan().any()) else 'infinity'} in {int(bad.sum())} of {tensor.numel()} values",
                hint="look upstream; masked keys count too, since 0 times NaN is NaN",
            )
    if is_nan:
        raise ArgumentError("query", expected="scores that stay finite", got="NaN in the output from finite inputs")
