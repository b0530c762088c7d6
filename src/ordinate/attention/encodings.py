"""What attention takes as an encoding, and how encodings act on queries and keys before they meet.

An encoding may add to queries and keys, turn them, bias the scores, or compute them; a sequence of encodings is allowed. Those
that add or turn act first, in their order, and what concerns the scores sees the result.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from ordinate.errors import ArgumentTypeError, RefusedError, ShapeError
from ordinate.position.additive.absolute import NoPosition
from ordinate.position.indices import check_axis_positions, check_positions
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
    rotates_heads,
    rotates_queries_and_keys,
)
from ordinate.position.rotary.rotation import PairRotation, RotaryEncoding

__all__ = [
    "Encoding",
    "acts_on_heads",
    "acts_on_scores",
    "as_encodings",
    "cached_width",
    "check_token_positions",
    "encode_heads",
    "encode_key",
    "encode_query",
    "own_scale",
    "position_axes",
    "shared_rotation",
]

Encoding = AddsToEmbeddings | RotatesHeads | RotatesQueriesAndKeys | BiasesScores | ComputesScores


def as_encodings(encoding: Encoding | Sequence[Encoding] | None, *, head_dim: int | None = None) -> tuple[Encoding, ...]:
    """One encoding, several or none as a tuple.

    Args:
        encoding: as `attend` takes it.
        head_dim: channels of the heads that it will act on, where they are known.

    Raises:
        ArgumentTypeError: something without any of the methods of an encoding, or a class in the place of an instance.
        ShapeError: a rotary encoding for heads of another width.
    """
    if encoding is None:
        return ()
    encodings = tuple(encoding) if isinstance(encoding, list | tuple) else (encoding,)
    for one in encodings:
        if not (acts_on_heads(one) or acts_on_scores(one)) or isinstance(one, type | str):  # a str has an encode of its own
            raise ArgumentTypeError(
                "encoding",
                expected="an encoding (it has encode, rotate, bias or scores; see ordinate.position.protocols)",
                got=one.__name__ + ", a class" if isinstance(one, type) else type(one).__name__,
                hint="for example Rotary(head_dim, layout='half')",
            )
        if head_dim is not None and isinstance(one, RotaryEncoding) and one.head_dim != head_dim:
            raise ShapeError("encoding", expected=f"one for heads of {head_dim} channels", got=repr(one))
    return encodings


def acts_on_heads(encoding: object) -> bool:
    """Whether an encoding adds to queries and keys, or turns them."""
    return adds_to_embeddings(encoding) or rotates_heads(encoding) or rotates_queries_and_keys(encoding)


def acts_on_scores(encoding: object) -> bool:
    """Whether an encoding biases or computes the scores, or has a term on the output's side."""
    return biases_scores(encoding) or computes_scores(encoding) or adds_to_values(encoding)


def own_scale(encodings: Sequence[Encoding]) -> float | None:
    """The factor on query-key products that an encoding brings along (DeBERTa's counts its terms), or None."""
    return next((one.own_scale for one in encodings if hasattr(one, "own_scale")), None)


def position_axes(encodings: Sequence[object]) -> int | None:
    """How many numbers a position has; None where it is one number.

    Raises:
        RefusedError: encodings that disagree.
    """
    axes = {getattr(one, "axes", None) for one in encodings}
    if len(axes) > 1:
        raise RefusedError(
            "encoding",
            expected="encodings whose positions have the same axes",
            got=", ".join(f"{type(one).__name__} with {getattr(one, 'axes', 1)}" for one in encodings),
            hint="apply one of them to queries and keys before attend",
        )
    return axes.pop() if axes else None


def check_token_positions(name: str, positions: Tensor, axes: int | None, *, length: int, batch: int) -> None:
    """Raise unless there is one finite position for each of `length` tokens; [T] with axes is text, the same on every axis."""
    if axes is None or (isinstance(positions, Tensor) and positions.ndim == 1):
        check_positions(name, positions, length=length, batch=batch)
    else:
        check_axis_positions(name, positions, axes, length=length, batch=batch)


def encode_heads(encodings: Sequence[Encoding], query: Tensor, key: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
    """Queries [B, H, T, D] and keys [B, G, T, D] of the same tokens, after every encoding that adds or turns."""
    for one in encodings:
        if adds_to_embeddings(one):
            vectors = one.encode(positions)
            query, key = query + _over_heads("query", vectors, query), key + _over_heads("key", vectors, key)
        if rotates_queries_and_keys(one):
            query, key = one.rotate_query(query, positions), one.rotate_key(key, positions)
        elif hasattr(one, "rotate_both"):
            query, key = one.rotate_both(query, key, positions)
        elif rotates_heads(one):
            query, key = one.rotate(query, positions), one.rotate(key, positions)
    return query, key


def encode_query(encodings: Sequence[Encoding], query: Tensor, positions: Tensor) -> Tensor:
    """Queries [B, H, T, D] alone, where the keys stand elsewhere."""
    for one in encodings:
        if adds_to_embeddings(one):
            query = query + _over_heads("query", one.encode(positions), query)
        if rotates_queries_and_keys(one):
            query = one.rotate_query(query, positions)
        elif rotates_heads(one):
            query = one.rotate(query, positions)
    return query


def encode_key(encodings: Sequence[Encoding], key: Tensor, positions: Tensor) -> Tensor:
    """Keys [B, G, S, D] alone."""
    for one in encodings:
        if adds_to_embeddings(one):
            key = key + _over_heads("key", one.encode(positions), key)
        if rotates_queries_and_keys(one):
            key = one.rotate_key(key, positions)
        elif rotates_heads(one):
            key = one.rotate(key, positions)
    return key


def shared_rotation(encodings: Sequence[Encoding], positions: Tensor, dtype: torch.dtype) -> PairRotation | None:
    """The rotation at these positions, its tables made once for queries, keys and all layers; None where more is to be done.

    Args:
        encodings: of the layers.
        positions: checked.
        dtype: of queries and keys; the work is done in float32 or wider.
    """
    acting = [one for one in encodings if acts_on_heads(one) and not isinstance(one, NoPosition)]
    if len(acting) != 1 or not isinstance(acting[0], RotaryEncoding):
        return None
    return acting[0].rotation(positions, dtype=torch.promote_types(dtype, torch.float32))


def cached_width(encodings: Sequence[Encoding], heads: int, head_dim: int, weight: Tensor) -> int:
    """Channels of a key as a cache holds it: an encoding may widen it (PoPE)."""
    axes = position_axes(encodings)
    first = torch.zeros((1,) if axes is None else (1, axes), dtype=torch.int64, device=weight.device)
    with torch.no_grad():
        return encode_key(encodings, weight.new_zeros(1, heads, 1, head_dim), first).shape[-1]


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
