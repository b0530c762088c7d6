"""Known faults of attention with positions, over all families."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from ordinate.attention.attend import attend
from ordinate.attention.masks import Causal, Padding, Window
from ordinate.attention.reference import reference_attention
from ordinate.position.indices import appended, from_mask
from ordinate.verify.references.attention import AttentionSettings, attention, positioned, visible
from ordinate.verify.signatures.signature import signature

__all__: list[str] = []

Wrong = Callable[[Tensor, Tensor, Tensor, Tensor, Tensor, "Tensor | None"], Tensor]
ROTARY = {"encoding": "rotary"}
FORMULA = {"encoding": "none"}


def _right(s: AttentionSettings) -> Wrong:
    return lambda q, k, v, qp, kp, mask: attention(q, k, v, qp, kp, s, mask).to(q.dtype)


def _seeing(s: AttentionSettings, see: Callable[[Tensor, Tensor], Tensor]) -> Wrong:
    """Attention with other visibility: `see(distance, visible)`, both [B or 1, 1, T, S]."""

    def wrong(q: Tensor, k: Tensor, v: Tensor, qp: Tensor, kp: Tensor, mask: Tensor | None) -> Tensor:
        distance = qp.unsqueeze(-1) - kp.unsqueeze(-2)
        distance = distance[None, None] if distance.ndim == 2 else distance.unsqueeze(1)
        seen = see(distance, visible(qp, kp, s, mask))
        return attention(q, k, v, qp, kp, s, seen=seen).to(q.dtype)

    return wrong


@signature(
    "sees-one-ahead",
    family="boundary",
    kind="attention",
    read=Causal,
    shown=FORMULA,
    says="one token of the future visible",
    seen="triu(diagonal=2), >= for >",
)
def _(s: AttentionSettings) -> Wrong:
    assert s.causal
    return _seeing(s, lambda distance, seen: seen | (distance == -1))


@signature(
    "sees-everything",
    family="boundary",
    kind="attention",
    read=Causal,
    shown=FORMULA,
    says="no causal mask at all",
    seen="is_causal lost on its way",
)
def _(s: AttentionSettings) -> Wrong:
    assert s.causal
    return _right(s.but(causal=False)) if s.encoding != "alibi" else _seeing(s, lambda distance, seen: torch.ones_like(seen))


@signature(
    "blind-to-itself",
    family="boundary",
    kind="attention",
    read=Causal,
    shown=FORMULA,
    says="a query that does not see its own token",
    seen="triu(diagonal=0)",
)
def _(s: AttentionSettings) -> Wrong:
    return _seeing(s, lambda distance, seen: seen & (distance != 0))


@signature(
    "mask-from-the-top-left",
    family="offset and cache",
    kind="attention",
    read=Causal,
    shown=FORMULA,
    says="the causal mask aligned with the first key in decoding, so that a new query sees only the oldest keys",
    seen="torch's is_causal where there are more keys than queries",
)
def _(s: AttentionSettings) -> Wrong:
    assert s.causal

    def wrong(q: Tensor, k: Tensor, v: Tensor, qp: Tensor, kp: Tensor, mask: Tensor | None) -> Tensor:
        seen = torch.ones(q.shape[2], k.shape[2], dtype=torch.bool).tril()[None, None]
        return attention(q, k, v, qp, kp, s, seen=seen if mask is None else seen & mask.bool()[:, None, None]).to(q.dtype)

    return wrong


@signature(
    "scale-missing",
    family="parsing",
    kind="attention",
    read=attend,
    shown=FORMULA,
    says="products without 1 / sqrt(D)",
    seen="",
)
def _(s: AttentionSettings) -> Wrong:
    return _right(s.but(scale=1.0))


@signature(
    "scale-without-root",
    family="parsing",
    kind="attention",
    read=attend,
    shown=FORMULA,
    says="products divided by D instead of its root",
    seen="",
)
def _(s: AttentionSettings) -> Wrong:
    return _right(s.but(scale=1.0 / s.head_dim))


@signature(
    "groups-dealt-out",
    family="layout",
    kind="attention",
    read=reference_attention,
    shown={"num_kv_heads": 2},
    says="shared keys dealt out in turn (repeat) where consecutive heads share one (repeat_interleave)",
    seen="k.repeat(1, n, 1, 1)",
)
def _(s: AttentionSettings) -> Wrong:
    assert s.num_kv_heads < s.num_heads

    def wrong(q: Tensor, k: Tensor, v: Tensor, qp: Tensor, kp: Tensor, mask: Tensor | None) -> Tensor:
        times = q.shape[1] // k.shape[1]
        return attention(q, k.repeat(1, times, 1, 1), v.repeat(1, times, 1, 1), qp, kp, s, mask).to(q.dtype)

    return wrong


@signature(
    "positions-without-effect",
    family="layout",
    kind="attention",
    read=attend,
    shown=ROTARY,
    says="attention without any position: order has no effect but for the mask",
    seen="a course whose tests pass it",
)
def _(s: AttentionSettings) -> Wrong:
    return _right(s.but(encoding="none"))


@signature(
    "values-turned",
    family="layout",
    kind="attention",
    read=attend,
    shown=ROTARY,
    says="values rotated with queries and keys",
    seen="",
)
def _(s: AttentionSettings) -> Wrong:
    assert s.encoding in ("rotary", None)
    rotary = s.but(encoding="rotary")
    return lambda q, k, v, qp, kp, mask: attention(q, k, positioned(v, kp, rotary), qp, kp, s, mask).to(q.dtype)


@signature(
    "attention-queries-not-turned",
    family="layout",
    kind="attention",
    read=attend,
    shown=ROTARY,
    says="keys rotated, queries not",
    seen="",
)
def _(s: AttentionSettings) -> Wrong:
    assert s.encoding == "rotary"
    return lambda q, k, v, qp, kp, mask: _scored(q, positioned(k, kp, s), v, qp, kp, s, mask)


@signature(
    "attention-keys-not-turned",
    family="layout",
    kind="attention",
    read=attend,
    shown=ROTARY,
    says="queries rotated, keys not",
    seen="",
)
def _(s: AttentionSettings) -> Wrong:
    assert s.encoding == "rotary"
    return lambda q, k, v, qp, kp, mask: _scored(positioned(q, qp, s), k, v, qp, kp, s, mask)


def _scored(q: Tensor, k: Tensor, v: Tensor, qp: Tensor, kp: Tensor, s: AttentionSettings, mask: Tensor | None) -> Tensor:
    return attention(q, k, v, qp, kp, s.but(encoding="none"), mask).to(v.dtype)


@signature(
    "decoded-query-at-zero",
    family="offset and cache",
    kind="attention",
    read=appended,
    shown=ROTARY,
    says="new queries turned from position 0 on, over keys at their own positions",
    seen="arange(T) in decoding",
)
def _(s: AttentionSettings) -> Wrong:
    assert s.encoding == "rotary"

    def wrong(q: Tensor, k: Tensor, v: Tensor, qp: Tensor, kp: Tensor, mask: Tensor | None) -> Tensor:
        behind = q.shape[2] < k.shape[2]
        start = qp - qp[..., :1] if behind else qp
        return _scored(positioned(q, start, s), positioned(k, kp, s), v, qp, kp, s, mask)

    return wrong


@signature(
    "cached-keys-turned-again",
    family="offset and cache",
    kind="attention",
    read=appended,
    shown=ROTARY,
    says="keys of a cache turned once more in decoding",
    seen="rotated keys cached, and rotated when read",
)
def _(s: AttentionSettings) -> Wrong:
    assert s.encoding == "rotary"

    def wrong(q: Tensor, k: Tensor, v: Tensor, qp: Tensor, kp: Tensor, mask: Tensor | None) -> Tensor:
        keys = positioned(k, kp, s)
        if q.shape[2] < k.shape[2]:
            again = positioned(keys, kp, s)
            cached = kp < qp[..., :1] if kp.ndim == 1 else (kp < qp[..., :1])[:, None]
            keys = torch.where(cached.unsqueeze(-1), again, keys)
        return _scored(positioned(q, qp, s), keys, v, qp, kp, s, mask)

    return wrong


@signature(
    "padding-visible",
    family="padding and packing",
    kind="attention",
    read=Padding,
    shown=FORMULA,
    says="padding that is attended to: the mask of keys has no effect",
    seen="",
)
def _(s: AttentionSettings) -> Wrong:
    return lambda q, k, v, qp, kp, mask: attention(q, k, v, qp, kp, s).to(q.dtype)


@signature(
    "mask-of-keys-reversed",
    family="padding and packing",
    kind="attention",
    read=Padding,
    shown=FORMULA,
    says="padding visible and real keys hidden: the mask means the opposite",
    seen="key_padding_mask of torch, where True is padding",
)
def _(s: AttentionSettings) -> Wrong:
    def wrong(q: Tensor, k: Tensor, v: Tensor, qp: Tensor, kp: Tensor, mask: Tensor | None) -> Tensor:
        flipped = mask if mask is None or bool(mask.all()) else 1 - mask
        return attention(q, k, v, qp, kp, s, flipped).to(q.dtype)

    return wrong


@signature(
    "padding-takes-positions",
    family="padding and packing",
    kind="attention",
    read=from_mask,
    shown=ROTARY,
    says="positions of a padded row counted with its padding while other rows' keys are not",
    seen="transformers#22161",
)
def _(s: AttentionSettings) -> Wrong:
    assert s.encoding is not None
    return lambda q, k, v, qp, kp, mask: attention(
        q, k, v, torch.arange(q.shape[2]).expand_as(qp) if qp.ndim == 2 else qp, kp, s, mask
    ).to(q.dtype)


@signature(
    "first-mask-for-all",
    family="padding and packing",
    kind="attention",
    read=Padding,
    shown=FORMULA,
    says="the first row's mask for every row",
    seen="attention_mask[0]",
)
def _(s: AttentionSettings) -> Wrong:
    return lambda q, k, v, qp, kp, mask: attention(q, k, v, qp, kp, s, None if mask is None else mask[:1].expand_as(mask)).to(
        q.dtype
    )


@signature(
    "softmax-over-queries",
    family="layout",
    kind="attention",
    read=reference_attention,
    shown=FORMULA,
    says="softmax over the queries: weights of one key sum to 1",
    seen="dim=-2, dim=1",
)
def _(s: AttentionSettings) -> Wrong:
    def wrong(q: Tensor, k: Tensor, v: Tensor, qp: Tensor, kp: Tensor, mask: Tensor | None) -> Tensor:
        shared = q.shape[1] // k.shape[1]
        keys, values = (x.repeat_interleave(shared, 1) for x in (k, v))
        scores = s.factor * positioned(q, qp, s) @ positioned(keys, kp, s).transpose(-1, -2)
        weights = scores.masked_fill(~visible(qp, kp, s, mask), float("-inf")).softmax(-2).nan_to_num()
        return (weights @ values.double()).to(q.dtype)

    return wrong


@signature(
    "window-one-wider",
    family="boundary",
    kind="attention",
    read=Window,
    shown={"encoding": "none", "window_keys": 4},
    says="a window of one key more than stated",
    seen="window of w and of w + 1 keys in one library",
)
def _(s: AttentionSettings) -> Wrong:
    assert s.window_keys is not None
    return _right(s.but(window_keys=s.window_keys + 1))


@signature(
    "window-one-narrower",
    family="boundary",
    kind="attention",
    read=Window,
    shown={"encoding": "none", "window_keys": 4},
    says="a window of one key less than stated",
    seen="",
)
def _(s: AttentionSettings) -> Wrong:
    assert s.window_keys is not None
    return _right(s.but(window_keys=s.window_keys - 1))


@signature(
    "window-ignored",
    family="parsing",
    kind="attention",
    read=Window,
    shown={"encoding": "none", "window_keys": 4},
    says="all keys before the query visible though a window was stated",
    seen="sliding_window not read",
)
def _(s: AttentionSettings) -> Wrong:
    assert s.window_keys is not None
    return _right(s.but(window_keys=None))


@signature(
    "hidden-by-a-finite-number",
    family="numeric",
    kind="attention",
    read=reference_attention,
    shown=FORMULA,
    says="hidden keys given -5 instead of minus infinity, so that they still weigh",
    seen="-1e4 after scaling, in other units",
)
def _(s: AttentionSettings) -> Wrong:
    def wrong(q: Tensor, k: Tensor, v: Tensor, qp: Tensor, kp: Tensor, mask: Tensor | None) -> Tensor:
        shared = q.shape[1] // k.shape[1]
        keys, values = (x.repeat_interleave(shared, 1) for x in (k, v))
        scores = s.factor * positioned(q, qp, s) @ positioned(keys, kp, s).transpose(-1, -2)
        weights = (scores - 5.0 * (~visible(qp, kp, s, mask)).double()).softmax(-1)
        return (weights @ values.double()).to(q.dtype)

    return wrong
