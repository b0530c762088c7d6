"""What all layers of one forward share: positions, rotation tables, what each query may see, where keys come from.

A model plans once and its layers attend many times. The plan also decides the path: where an encoding only turns or adds to
queries and keys, the kernel is called directly with a mask made once; everything else goes through `attend` layer by layer.
New keys and values may be joined by those of a cache, or by those of the other processes among which a row is split.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from ordinate.attention.attend import (
    Encoding,
    Implementation,
    _over_heads,
    _same_rising,
    attend,
)
from ordinate.attention.cache import Chunk, KVCache
from ordinate.attention.masks import Causal, Mask, Padding, Window, _mask, check_mask
from ordinate.attention.positions import _check_positions, mask_order, position_axes
from ordinate.errors import ArgumentError
from ordinate.position import NoPosition, Rotary
from ordinate.position.axes import on_every_axis
from ordinate.position.protocols import (
    adds_to_embeddings,
    adds_to_values,
    biases_scores,
    computes_scores,
    rotates_heads,
    rotates_queries_and_keys,
)
from ordinate.position.rotary.rotation import rotate_pairs

__all__ = ["Given", "Plan", "Turn", "arrange", "cached_width", "plans"]

Extend = Callable[[int, Tensor, Tensor], tuple[Tensor, Tensor]]
Gather = Callable[[Tensor, int], Tensor]


def _as_they_are(layer: int, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
    return key, value


class Turn:
    """One rotation for queries and keys of all layers, its tables made once.

    Where the pairs are (i, i + D/2) and all channels turn, x cos + roll(x, D/2) (-sin, sin) is the same in three operations.
    """

    def __init__(self, rotary: Rotary, positions: Tensor, dtype: torch.dtype) -> None:
        self.cos, self.sin = rotary.tables(positions, dtype=torch.promote_types(dtype, torch.float32))
        self.layout, self.channels = rotary.layout, rotary.rotated_channels
        self.half = rotary.rotary_dim // 2
        self.rolls = rotary.layout == "half" and rotary.rotary_dim == rotary.head_dim
        if self.rolls:
            cos, sin = torch.cat((self.cos, self.cos), dim=-1), torch.cat((-self.sin, self.sin), dim=-1)
            self.along, self.across = (x if x.ndim == 2 else x.unsqueeze(1) for x in (cos, sin))

    def __call__(self, heads: Tensor) -> Tensor:
        """heads [B, H, T, D], turned; same dtype."""
        if not self.rolls:
            return rotate_pairs(heads, self.cos, self.sin, layout=self.layout, rotated_channels=self.channels)
        wide = heads if heads.dtype is self.along.dtype else heads.to(self.along.dtype)
        turned = torch.addcmul(wide * self.along, wide.roll(self.half, -1), self.across)
        return turned if wide is heads else turned.to(heads.dtype)


@dataclass(frozen=True, eq=False)
class Given(Mask):
    """Visibility that a cache or a plan has worked out, bool [B or 1, T or 1, S]."""

    pairs: Tensor
    needs_positions = False

    def visible(self, query_positions: Tensor, key_positions: Tensor) -> Tensor:
        return self.pairs.unsqueeze(1)

    def part(self, queries: slice, keys: slice) -> Mask:
        return Given(self.pairs[:, slice(None) if self.pairs.shape[1] == 1 else queries, keys])


class _ScoresOnly:
    """An encoding of several faces whose other faces have acted already."""

    def __init__(self, encoding: Encoding) -> None:
        self._encoding = encoding

    def __getattr__(self, name: str) -> object:
        if name in ("encode", "rotate", "rotate_query", "rotate_key"):
            raise AttributeError(name)
        return getattr(self._encoding, name)


@dataclass(frozen=True, eq=False)
class Plan:
    """One forward's worth of decisions; made by `plans`.

    Args:
        positions, key_positions: of the queries, and of all keys once they are extended.
        encodings: in the order given.
        mask: all rules together.
        direct: whether layers call the kernel; then `visible` ([B, 1, T, S] or None) and `causal` say what it hides.
        unseen: bool [B, 1, T, 1] where a padded query sees nothing and shall come out as zeros, or None.
        turn: the rotation, where that is all there is to do to queries and keys.
        extend: keys and values of a layer to those that its queries see.
    """

    positions: Tensor
    key_positions: Tensor
    encodings: tuple[Encoding, ...]
    mask: Mask | None
    direct: bool
    visible: Tensor | None
    causal: bool
    unseen: Tensor | None
    turn: Turn | None = None
    extend: Extend = _as_they_are
    cache: KVCache | None = None
    chunk: Chunk | None = None

    def encode_query(self, query: Tensor) -> Tensor:
        """Queries [B, H, T, D] after every encoding that adds or turns."""
        return _encode("query", query, self.encodings, self.positions)

    def encode_key(self, key: Tensor, positions: Tensor) -> Tensor:
        """Keys [B, G, S, D] at their own positions after every encoding that adds or turns."""
        return _encode("key", key, self.encodings, positions)

    def attend(
        self, query: Tensor, key: Tensor, value: Tensor, *, scale: float, impl: Implementation, return_weights: bool
    ) -> tuple[Tensor, Tensor | None]:
        """Output [B T, H V] for encoded queries and extended keys and values; weights where they are asked for."""
        if self.direct and not return_weights:
            return self._kernel(query, key, value, scale), None
        left = [_ScoresOnly(one) if _acts(one) else one for one in self.encodings if _scores(one)]
        settings = {
            "query_positions": self.positions,
            "key_positions": self.key_positions,
            "encoding": left or None,
            "mask": self.mask,
            "scale": scale,
            "impl": impl,
            "empty_rows": "error" if self.unseen is None else "zeros",
        }
        if return_weights:
            output, weights = attend(query, key, value, return_weights=True, **settings)  # type: ignore[call-overload]
        else:
            output, weights = attend(query, key, value, **settings), None  # type: ignore[call-overload]
        return _side_by_side(output), weights

    def _kernel(self, query: Tensor, key: Tensor, value: Tensor, scale: float) -> Tensor:
        batch, heads, length, dim = query.shape
        shared = key.shape[1]
        if length == 1:  # the queries that share a key-value head are its queries, one below the other: no head is repeated
            query = query.reshape(batch, shared, heads // shared, dim)
        output = scaled_dot_product_attention(
            query,
            key,
            value,
            attn_mask=self.visible,
            is_causal=self.causal,
            scale=scale,
            enable_gqa=length != 1 and heads != shared,
        )
        if self.unseen is not None:
            output = output.masked_fill(self.unseen, 0.0)
        return output.reshape(batch, -1) if length == 1 else _side_by_side(output)

    def close(self) -> None:
        """Every layer is done: the cache counts the new tokens."""
        if self.cache is not None and self.chunk is not None:
            self.cache.close(self.chunk)


def plans(
    encodings: tuple[Encoding, ...],
    masks: Sequence[Mask | None],
    positions: Tensor | None,
    *,
    batch: int,
    tokens: int,
    dtype: torch.dtype,
    impl: Implementation = "auto",
    token_mask: Tensor | None = None,
    cache: KVCache | None = None,
    gather: Gather | None = None,
) -> list[Plan]:
    """Plans of a self-attention forward, one for each mask among the layers; the last layer closes one of them.

    Args:
        encodings: of the layers.
        masks: the rules that layers differ in.
        positions: of the new tokens, [T] or [B, T], or with the encoding's axes last; None for those that follow in the cache.
        batch, tokens: rows B and new tokens T.
        dtype: of queries and keys.
        impl: of the layers; "auto" and "sdpa" may call the kernel directly.
        token_mask: bool [B, T], true where a new token is real, or None.
        cache: where keys and values of earlier tokens are.
        gather: what joins a tensor with its shards on other processes, along the axis named.

    Raises:
        ArgumentError: positions that fall in a cache, a full cache, a query that sees no key.
        ShapeError, ArgumentTypeError: positions that fit neither tokens nor batch; a mask that is a plain tensor.
    """
    for mask in masks:
        if mask is not None:
            _mask("mask", mask)
    axes = position_axes(encodings)
    if positions is not None:
        if axes is not None and positions.ndim == 1:
            positions = on_every_axis(positions, axes)
        _check_positions("positions", positions, axes, length=tokens, batch=batch)
    chunk, extra = None, None
    extend: Extend = _as_they_are
    real = None
    if cache is not None:
        chunk = cache.open_following(tokens) if positions is None else cache.open(positions, token_mask=token_mask)
        positions, there, extra, extend = chunk.new_positions, chunk.positions, chunk.visible, _through(cache, chunk)
    else:
        assert positions is not None
        there, real = positions, token_mask
        if gather is not None:
            there, extend = gather(positions, -1 if axes is None else -2), _across(gather)
            real = None if token_mask is None else gather(token_mask, -1)
    acting = [one for one in encodings if _acts(one) and not isinstance(one, NoPosition)]
    turn = Turn(acting[0], positions, dtype) if len(acting) == 1 and type(acting[0]) is Rotary else None
    made = []
    for mask in masks:
        if real is not None:
            mask = Padding(real.bool()) if mask is None else mask & Padding(real.bool())
        settled = settle(
            encodings,
            mask,
            positions,
            there,
            batch=batch,
            impl=impl,
            token_mask=token_mask,
            extra=extra,
            last=chunk is not None,
        )
        made.append(Plan(positions, there, encodings, *settled, turn=turn, extend=extend, cache=cache, chunk=chunk))
    return made


def arrange(
    encodings: tuple[Encoding, ...],
    mask: Mask | None,
    positions: Tensor,
    key_positions: Tensor,
    *,
    batch: int,
    impl: Implementation,
    extra: Tensor | None = None,
) -> Plan:
    """The plan of cross-attention, for queries and keys at these positions; `extra` is what a cache leaves visible."""
    settled = settle(encodings, mask, positions, key_positions, batch=batch, impl=impl, extra=extra)
    return Plan(positions, key_positions, encodings, *settled)


def settle(
    encodings: tuple[Encoding, ...],
    mask: Mask | None,
    positions: Tensor,
    key_positions: Tensor,
    *,
    batch: int,
    impl: Implementation,
    token_mask: Tensor | None = None,
    extra: Tensor | None = None,
    last: bool = False,
) -> tuple[Mask | None, bool, Tensor | None, bool, Tensor | None]:
    """`mask`, `direct`, `visible`, `causal` and `unseen` of a `Plan`.

    Args:
        extra: what the cache leaves visible, bool [B or 1, T or 1, S].
        last: the queries stand behind all other keys, as new tokens in a cache do.
    """
    axes = position_axes(encodings)
    direct = impl in ("auto", "sdpa") and not any(_scores(one) for one in encodings)
    order = mask_order(positions, key_positions, mask, axes)
    if isinstance(mask, Window) and not mask.both_sides and _within(mask, order):
        mask = Causal()
    visible, unseen, causal = None, None, False
    if direct:
        sees_all = last and isinstance(mask, Causal) and order[0].shape[-1] == 1
        causal = isinstance(mask, Causal) and extra is None and not sees_all and _same_rising(*order)
        visible = None if extra is None else extra.unsqueeze(1)
        if mask is not None and not causal and not sees_all:
            allowed = mask.visible(*order)
            direct = allowed.ndim < 4 or allowed.shape[1] == 1
            if direct:
                check_mask(mask, allowed, (batch, 1, _tokens(positions, axes), _tokens(key_positions, axes)))
                visible = allowed if visible is None else allowed & visible
            else:  # a rule that differs from head to head: `attend` sees to it
                visible = None
        if visible is not None:
            visible, unseen = _settled(visible, token_mask)
    elif token_mask is not None:
        unseen = ~token_mask.bool()[:, None, :, None]
    if extra is not None:
        mask = Given(extra) if mask is None else mask & Given(extra)
    return mask, direct, visible, causal, unseen


def cached_width(encodings: tuple[Encoding, ...], heads: int, head_dim: int, weight: Tensor) -> int:
    """Channels of a key as a cache holds it: an encoding may widen it (PoPE)."""
    axes = position_axes(encodings)
    first = torch.zeros((1,) if axes is None else (1, axes), dtype=torch.int64, device=weight.device)
    with torch.no_grad():
        return _encode("key", weight.new_zeros(1, heads, 1, head_dim), encodings, first).shape[-1]


def _encode(name: str, heads: Tensor, encodings: tuple[Encoding, ...], positions: Tensor) -> Tensor:
    for one in encodings:
        if adds_to_embeddings(one):
            heads = heads + _over_heads(name, one.encode(positions), heads)
        if rotates_queries_and_keys(one):
            heads = one.rotate_query(heads, positions) if name == "query" else one.rotate_key(heads, positions)
        elif rotates_heads(one):
            heads = one.rotate(heads, positions)
    return heads


def _settled(visible: Tensor, token_mask: Tensor | None) -> tuple[Tensor | None, Tensor | None]:
    """The mask for the kernel, None where it hides nothing, and which padded queries see nothing; a real one is an error."""
    if torch.compiler.is_compiling():
        return visible, ~visible.any(-1, keepdim=True)
    if visible.shape[-2] == 1 and bool(visible.all()):
        return None, None
    empty = ~visible.any(-1, keepdim=True)
    if not bool(empty.any()):
        return visible, None
    real_and_empty = empty if token_mask is None else empty & token_mask.bool()[:, None, :, None]
    if bool(real_and_empty.any()):
        where = real_and_empty.nonzero()[0].tolist()
        raise ArgumentError(
            "mask",
            expected="at least one visible key for every query",
            got=f"none for query {where[2]} of row {where[0]}",
            hint="drop rows that are all padding, or mark padding with token_mask",
        )
    return visible, empty


def _within(window: Window, order: tuple[Tensor, Tensor]) -> bool:
    """Whether the window is wider than all positions together, so that only the order counts."""
    if torch.compiler.is_compiling() or order[0].numel() == 0 or order[1].numel() == 0:
        return False
    return bool(order[0].max() - order[1].min() < window.window_keys)


def _side_by_side(output: Tensor) -> Tensor:
    """[B, H, T, V] to [B T, H V]."""
    return output.transpose(1, 2).flatten(2).flatten(0, 1)


def _acts(encoding: Encoding) -> bool:
    """Whether an encoding adds to queries and keys, or turns them."""
    return adds_to_embeddings(encoding) or rotates_heads(encoding) or rotates_queries_and_keys(encoding)


def _scores(encoding: Encoding) -> bool:
    """Whether an encoding has a say in scores or on the output's side."""
    return biases_scores(encoding) or computes_scores(encoding) or adds_to_values(encoding)


def _tokens(positions: Tensor, axes: int | None) -> int:
    return positions.shape[-1] if axes is None else positions.shape[-2]


def _through(cache: KVCache, chunk: Chunk) -> Extend:
    def extend(layer: int, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        if layer == 0:  # the other layers are like the first
            cache.check(key, value)
        return cache.write(layer, chunk, key, value)

    return extend


def _across(gather: Gather) -> Extend:
    def extend(layer: int, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        both = gather(torch.cat((key, value), dim=-1), 2)
        return both[..., : key.shape[-1]], both[..., key.shape[-1] :]

    return extend
