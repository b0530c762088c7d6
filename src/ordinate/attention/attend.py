"""`attend`: scaled dot-product attention that knows where its tokens are.

One public function. It checks what came, lets the encoding act on queries, keys and scores, makes the mask from positions, and
hands over to one of several implementations that give the same numbers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, overload

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from ordinate.attention.choice import Implementation, choose
from ordinate.attention.linear_memory import linear_memory_attention
from ordinate.attention.masks import Causal, Mask, _mask, check_mask
from ordinate.attention.positions import given_positions, mask_order, position_axes
from ordinate.attention.reference import reference_attention
from ordinate.attention.terms import ScoreTerm, sum_of_biases
from ordinate.errors import ArgumentError, ArgumentTypeError, ShapeError
from ordinate.position.protocols import (
    AddsToEmbeddings,
    BiasesScores,
    ComputesScores,
    RotatesHeads,
    RotatesQueriesAndKeys,
    adds_to_embeddings,
    adds_to_values,
    biases_scores,
    computes_scores,
    reads_mask,
    rotates_heads,
    rotates_queries_and_keys,
)
from ordinate.shapes import check_shape

__all__ = ["Encoding", "Implementation", "attend"]

Encoding = AddsToEmbeddings | RotatesHeads | RotatesQueriesAndKeys | BiasesScores | ComputesScores


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
        encoding: one encoding of any face, or a sequence of them. One that rotates turns queries and keys; one that biases is
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
    encodings = _encodings(encoding)
    if mask is not None:
        _mask("mask", mask)
    chosen = choose(encodings, dtype=query.dtype, impl=impl, return_weights=return_weights).impl
    if empty_rows not in ("error", "zeros"):
        raise ArgumentError("empty_rows", expected="'error' or 'zeros'", got=empty_rows, hint="leave it out for 'error'")
    if scale is None:
        own = [one.own_scale for one in encodings if hasattr(one, "own_scale")]
        scale = own[0] if own else 1.0 / math.sqrt(query.shape[-1])
    elif not math.isfinite(scale):
        raise ArgumentError("scale", expected="a finite factor", got=scale, hint="leave it out for 1 / sqrt(D)")

    axes = position_axes(encodings)
    needed = bool(encodings) or bool(mask and mask.needs_positions)
    positions = given_positions(query_positions, key_positions, shape, needed=needed, axes=axes)
    order = mask_order(*positions, mask, axes)
    given = {"query": query, "key": key, "value": value}
    query, key, terms, product = _apply_encodings(encodings, query, key, *positions, scale=scale)
    on_values = [one for one in encodings if adds_to_values(one)]
    if chosen == "blocked" or chosen == "flex":
        output = linear_memory_attention(
            query,
            key,
            value,
            scale=scale,
            terms=terms,
            product=product,
            mask=mask,
            positions=order,
            impl=chosen,
            zero_empty_rows=empty_rows == "zeros",
        )
        _refuse_nan(output, given)
        return output
    visible = None
    if mask is not None and any(reads_mask(one) for one in encodings):
        visible = _visible(mask, *order, shape, empty_rows)
    bias, scores = sum_of_biases(terms, visible), None if product is None else product.form()
    if bias is not None and bias.shape[1] != 1 and bias.shape[1] != query.shape[1]:
        raise ShapeError(
            "encoding", expected=f"a bias for {query.shape[1]} heads", got=f"{bias.shape[1]}", hint="build it with num_heads=H"
        )

    plainly_causal = bias is None and scores is None and isinstance(mask, Causal) and _same_rising(*order)
    if mask is not None and visible is None and not plainly_causal:
        visible = _visible(mask, *order, shape, empty_rows)
    if chosen == "sdpa":
        output = _sdpa(query, key, value, scale=scale, bias=bias, visible=visible, causal=plainly_causal)
        weights = None
    else:
        if plainly_causal:
            visible = mask.visible(*order)  # type: ignore[union-attr]
        output, weights = reference_attention(query, key, value, scale=scale, bias=bias, visible=visible, scores=scores)
        for one in on_values:
            output = output + one.value_term(weights, *positions).to(output.dtype)
    _refuse_nan(output, given)
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


def _encodings(encoding: Encoding | Sequence[Encoding] | None) -> tuple[Encoding, ...]:
    if encoding is None:
        return ()
    given = tuple(encoding) if isinstance(encoding, list | tuple) else (encoding,)
    for one in given:
        known = adds_to_embeddings(one) or rotates_heads(one) or rotates_queries_and_keys(one) or biases_scores(one)
        if not (known or computes_scores(one)) or isinstance(one, type | str):  # a str has an encode of its own
            raise ArgumentTypeError(
                "encoding",
                expected="an encoding (it has encode, rotate, bias or scores; see ordinate.position.protocols)",
                got=one.__name__ + ", a class" if isinstance(one, type) else type(one).__name__,
                hint="for example Rotary(head_dim, layout='half')",
            )
    return given


def _apply_encodings(
    encodings: tuple[Encoding, ...],
    query: Tensor,
    key: Tensor,
    query_positions: Tensor,
    key_positions: Tensor,
    *,
    scale: float,
) -> tuple[Tensor, Tensor, list[ScoreTerm], ScoreTerm | None]:
    """Queries, keys, biases yet to be formed, and what computes the scores if one does: every encoding in the order given."""
    terms: list[ScoreTerm] = []
    product: ScoreTerm | None = None
    for one in encodings:
        if adds_to_embeddings(one):
            query = query + _over_heads("query", one.encode(query_positions), query)
            key = key + _over_heads("key", one.encode(key_positions), key)
        if rotates_queries_and_keys(one):
            query, key = one.rotate_query(query, query_positions), one.rotate_key(key, key_positions)
        elif rotates_heads(one):
            query, key = one.rotate(query, query_positions), one.rotate(key, key_positions)
        if biases_scores(one):
            seen = (query, key) if one.needs_content else (None, None)
            terms.append(ScoreTerm(one, query_positions, key_positions, query=seen[0], key=seen[1], scale=scale))
        if computes_scores(one):
            if product is not None:
                raise ArgumentError("encoding", expected="one that computes scores", got="two", hint="drop one of them")
            product = ScoreTerm(one, query_positions, key_positions, query, key, scale)
    return query, key, terms, product


def _over_heads(name: str, vectors: Tensor, heads: Tensor) -> Tensor:
    """Vectors [T, W] or [B, T, W] as something to add to [B, H, T, D]: W is D, or H D side by side."""
    count, width = heads.shape[1], heads.shape[-1]
    vectors = vectors.to(heads.dtype)
    if vectors.shape[-1] == width:
        return vectors.unsqueeze(-3)
    if vectors.shape[-1] == count * width:
        return vectors.unflatten(-1, (count, width)).transpose(-2, -3)
    raise ShapeError(
        "encoding",
        expected=f"vectors of {width} or {count * width} channels for {name} [B, {count}, T, {width}]",
        got=f"{vectors.shape[-1]}",
        hint="an encoding of the model's width is added to embeddings before the projections",
    )


def _same_rising(query_positions: Tensor, key_positions: Tensor) -> bool:
    """Whether queries and keys are the same tokens in rising order, so that causal by position is causal by index."""
    if query_positions.shape != key_positions.shape or torch.compiler.is_compiling():
        return False
    same = query_positions is key_positions or torch.equal(query_positions, key_positions)
    return same and bool((query_positions.diff(dim=-1) > 0).all())


def _visible(
    mask: Mask,
    query_positions: Tensor,
    key_positions: Tensor,
    shape: tuple[int, int, int, int],
    empty_rows: Literal["error", "zeros"],
) -> Tensor:
    visible = mask.visible(query_positions, key_positions)
    check_mask(mask, visible, shape)
    if empty_rows == "error" and not torch.compiler.is_compiling():
        empty = ~visible.any(-1)
        if bool(empty.any()):
            where = empty.nonzero()[0].tolist()
            raise ArgumentError(
                "mask",
                expected="at least one visible key for every query",
                got=f"none for query {where[-1]} of row {where[0]}",
                hint="drop rows that are all padding, or pass empty_rows='zeros'",
            )
    return visible


def _sdpa(
    query: Tensor, key: Tensor, value: Tensor, *, scale: float, bias: Tensor | None, visible: Tensor | None, causal: bool
) -> Tensor:
    """torch's kernel. A row without a visible key comes out as zeros, as in the reference."""
    added: Tensor | None = visible
    if bias is not None:
        added = bias.to(query.dtype)
        if visible is not None:
            added = added.masked_fill(~visible, float("-inf"))
    if added is not None:
        added = added.expand(*added.shape[:2], query.shape[2], key.shape[2])
    output = scaled_dot_product_attention(
        query, key, value, attn_mask=added, is_causal=causal, scale=scale, enable_gqa=query.shape[1] != key.shape[1]
    )
    if visible is not None:
        output = output.masked_fill(~visible.any(-1, keepdim=True), 0.0)
    return output


def _refuse_nan(output: Tensor, given: dict[str, Tensor]) -> None:
    """NaN anywhere in the inputs reaches the output: look there first, it is the smaller tensor."""
    if torch.compiler.is_compiling() or output.device.type != "cpu" or not bool(output.isnan().any()):
        return
    for name, tensor in given.items():
        if bool(tensor.isnan().any()):
            raise ArgumentError(
                name,
                expected="numbers",
                got=f"NaN in {int(tensor.isnan().sum())} of {tensor.numel()} values",
                hint="look upstream; masked keys count too, since 0 times NaN is NaN",
            )
    raise ArgumentError(
        "query", expected="scores that stay finite", got="NaN in the output from inputs without NaN", hint="look for infinities"
    )
