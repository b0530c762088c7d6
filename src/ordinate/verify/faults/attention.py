"""Known faults of attention with positions."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor

from ordinate.attention.attend import attend
from ordinate.attention.masks import Causal, Padding, Window
from ordinate.attention.reference import reference_attention
from ordinate.position.indices import appended, from_mask
from ordinate.verify.faults.table import KnownFault
from ordinate.verify.references.attention import AttentionSettings, attention, positioned, visible

__all__ = ["ATTENTION_FAULTS"]

Settings = AttentionSettings
# (query, key, value, query_positions, key_positions, mask of keys) -> output
Attention = Callable[[Tensor, Tensor, Tensor, Tensor, Tensor, "Tensor | None"], Tensor]
Make = Callable[[Settings], Any]

# what wrong attention shares with right attention -----------------------------------------------------------------------


def _settings(change: Callable[[Settings], Settings]) -> Make:
    """Right code with other settings."""
    return lambda s: lambda q, k, v, qp, kp, mask: attention(q, k, v, qp, kp, change(s), mask).to(q.dtype)


def _mask(change: Callable[[Tensor], Tensor | None]) -> Make:
    """Right code with another mask of keys."""
    return lambda s: (
        lambda q, k, v, qp, kp, mask: attention(q, k, v, qp, kp, s, None if mask is None else change(mask)).to(q.dtype)
    )


def _visibility(change: Callable[[Tensor, Tensor], Tensor]) -> Make:
    """Right code with another visibility: `change(distance, visible)`, both [B or 1, 1, T, S]."""

    def make(s: Settings) -> Attention:
        def wrong(q: Tensor, k: Tensor, v: Tensor, qp: Tensor, kp: Tensor, mask: Tensor | None) -> Tensor:
            distance = qp.unsqueeze(-1) - kp.unsqueeze(-2)
            distance = distance[None, None] if distance.ndim == 2 else distance.unsqueeze(1)
            return attention(q, k, v, qp, kp, s, seen=change(distance, visible(qp, kp, s, mask))).to(q.dtype)

        return wrong

    return make


def _rotated(
    query: Callable[[Tensor, Tensor, Tensor, Settings], Tensor], key: Callable[[Tensor, Tensor, Tensor, Settings], Tensor]
) -> Make:
    """Attention whose queries and keys are rotated otherwise: `query(q, qp, kp, s)` and `key(k, qp, kp, s)`."""

    def make(s: Settings) -> Attention:
        def wrong(q: Tensor, k: Tensor, v: Tensor, qp: Tensor, kp: Tensor, mask: Tensor | None) -> Tensor:
            turned, plain = (query(q, qp, kp, s), key(k, qp, kp, s)), s.replace(encoding="none")
            return attention(*turned, v, qp, kp, plain, mask).to(v.dtype)

        return wrong

    return make


def _weights(weigh: Callable[[Tensor, Tensor], Tensor]) -> Make:
    """Attention with other weights: `weigh(scores, visible)`."""

    def make(s: Settings) -> Attention:
        def wrong(q: Tensor, k: Tensor, v: Tensor, qp: Tensor, kp: Tensor, mask: Tensor | None) -> Tensor:
            keys, values = (x.repeat_interleave(q.shape[1] // k.shape[1], 1) for x in (k, v))
            scores = s.factor * positioned(q, qp, s) @ positioned(keys, kp, s).transpose(-1, -2)
            return (weigh(scores, visible(qp, kp, s, mask)) @ values.double()).to(q.dtype)

        return wrong

    return make


def _top_left_mask(s: Settings) -> Attention:
    def wrong(q: Tensor, k: Tensor, v: Tensor, qp: Tensor, kp: Tensor, mask: Tensor | None) -> Tensor:
        seen = torch.ones(q.shape[2], k.shape[2], dtype=torch.bool).tril()[None, None]
        return attention(q, k, v, qp, kp, s, seen=seen if mask is None else seen & mask.bool()[:, None, None]).to(q.dtype)

    return wrong


def _repeated_groups(s: Settings) -> Attention:
    def wrong(q: Tensor, k: Tensor, v: Tensor, qp: Tensor, kp: Tensor, mask: Tensor | None) -> Tensor:
        times = q.shape[1] // k.shape[1]
        return attention(q, k.repeat(1, times, 1, 1), v.repeat(1, times, 1, 1), qp, kp, s, mask).to(q.dtype)

    return wrong


def _values_turned(s: Settings) -> Attention:
    rotary = s.replace(encoding="rotary")
    return lambda q, k, v, qp, kp, mask: attention(q, k, positioned(v, kp, rotary), qp, kp, s, mask).to(q.dtype)


def _padding_takes_positions(s: Settings) -> Attention:
    def wrong(q: Tensor, k: Tensor, v: Tensor, qp: Tensor, kp: Tensor, mask: Tensor | None) -> Tensor:
        counted = torch.arange(q.shape[2]).expand_as(qp) if qp.ndim == 2 else qp
        return attention(q, k, v, counted, kp, s, mask).to(q.dtype)

    return wrong


def _right_query(q: Tensor, qp: Tensor, kp: Tensor, s: Settings) -> Tensor:
    return positioned(q, qp, s)


def _right_key(k: Tensor, qp: Tensor, kp: Tensor, s: Settings) -> Tensor:
    return positioned(k, kp, s)


def _decoded_query_at_zero(q: Tensor, qp: Tensor, kp: Tensor, s: Settings) -> Tensor:
    decoding = qp.shape[-1] < kp.shape[-1]
    return positioned(q, qp - qp[..., :1] if decoding else qp, s)


def _cached_keys_again(k: Tensor, qp: Tensor, kp: Tensor, s: Settings) -> Tensor:
    keys = positioned(k, kp, s)
    if qp.shape[-1] == kp.shape[-1]:
        return keys
    cached = kp < qp[..., :1] if kp.ndim == 1 else (kp < qp[..., :1])[:, None]
    return torch.where(cached.unsqueeze(-1), positioned(keys, kp, s), keys)


def _everything_visible(s: Settings) -> Attention:
    if s.encoding == "alibi":  # where nothing is causal the reference's ALiBi is symmetric
        everything: Attention = _visibility(lambda distance, seen: torch.ones_like(seen))(s)
        return everything
    without: Attention = _settings(lambda s: s.replace(causal=False))(s)
    return without


def _reversed_mask(mask: Tensor) -> Tensor:
    return mask if bool(mask.all()) else 1 - mask


def _causal(s: Settings) -> bool:
    return s.causal


def _rotary(s: Settings) -> bool:
    return s.encoding == "rotary"


def _windowed(s: Settings) -> bool:
    return s.window_keys is not None


ROTARY, FORMULA = {"encoding": "rotary"}, {"encoding": "none"}
WINDOW = {"encoding": "none", "window_keys": 4}
_row = partial(KnownFault, kind="attention", visible_with=FORMULA)

# fmt: off
ATTENTION_FAULTS: tuple[KnownFault, ...] = (
    _row("sees-one-ahead", "boundary", says="one token of the future visible",
        make=_visibility(lambda distance, seen: seen | (distance == -1)), read=Causal, needs=_causal,
        reported="triu(diagonal=2), >= for >"),
    _row("sees-everything", "boundary", says="no causal mask at all", make=_everything_visible, read=Causal, needs=_causal,
        reported="is_causal lost on its way"),
    _row("blind-to-itself", "boundary", says="a query that does not see its own token",
        make=_visibility(lambda distance, seen: seen & (distance != 0)), read=Causal, reported="triu(diagonal=0)"),
    _row("mask-from-the-top-left", "offset and cache",
        says="the causal mask aligned with the first key in decoding, so that a new query sees only the oldest keys",
        make=_top_left_mask, read=Causal, needs=_causal, reported="torch's is_causal where there are more keys than queries"),
    _row("scale-missing", "parsing", says="products without 1 / sqrt(D)", make=_settings(lambda s: s.replace(scale=1.0)),
        read=attend),
    _row("scale-without-root", "parsing", says="products divided by D instead of its root",
        make=_settings(lambda s: s.replace(scale=1.0 / s.head_dim)), read=attend),
    _row("groups-dealt-out", "layout",
        says="shared keys dealt out in turn (repeat) where consecutive heads share one (repeat_interleave)",
        make=_repeated_groups, read=reference_attention, needs=lambda s: s.num_kv_heads < s.num_heads,
        visible_with={"num_kv_heads": 2}, reported="k.repeat(1, n, 1, 1)"),
    _row("positions-without-effect", "layout", says="attention without any position: order has no effect but for the mask",
        make=_settings(lambda s: s.replace(encoding="none")), read=attend, visible_with=ROTARY,
        reported="a course whose tests pass it"),
    _row("values-turned", "layout", says="values rotated with queries and keys", make=_values_turned, read=attend,
        needs=lambda s: s.encoding in ("rotary", None), visible_with=ROTARY),
    _row("attention-queries-not-turned", "layout", says="keys rotated, queries not",
        make=_rotated(lambda q, qp, kp, s: q, _right_key), read=attend, needs=_rotary, visible_with=ROTARY),
    _row("attention-keys-not-turned", "layout", says="queries rotated, keys not",
        make=_rotated(_right_query, lambda k, qp, kp, s: k), read=attend, needs=_rotary, visible_with=ROTARY),
    _row("decoded-query-at-zero", "offset and cache",
        says="new queries turned from position 0 on, over keys at their own positions",
        make=_rotated(_decoded_query_at_zero, _right_key), read=appended, needs=_rotary, visible_with=ROTARY,
        reported="arange(T) in decoding"),
    _row("cached-keys-turned-again", "offset and cache", says="keys of a cache turned once more in decoding",
        make=_rotated(_right_query, _cached_keys_again), read=appended, needs=_rotary, visible_with=ROTARY,
        reported="rotated keys cached, and rotated when read"),
    _row("padding-visible", "padding and packing", says="padding that is attended to: the mask of keys has no effect",
        make=_mask(lambda mask: None), read=Padding),
    _row("mask-of-keys-reversed", "padding and packing",
        says="padding visible and real keys hidden: the mask means the opposite", make=_mask(_reversed_mask), read=Padding,
        reported="key_padding_mask of torch, where True is padding"),
    _row("padding-takes-positions", "padding and packing",
        says="positions of a padded row counted with its padding while other rows' keys are not",
        make=_padding_takes_positions, read=from_mask, needs=lambda s: s.encoding is not None, visible_with=ROTARY,
        reported="transformers#22161"),
    _row("first-mask-for-all", "padding and packing", says="the first row's mask for every row",
        make=_mask(lambda mask: mask[:1].expand_as(mask)), read=Padding, reported="attention_mask[0]"),
    _row("softmax-over-queries", "layout", says="softmax over the queries: weights of one key sum to 1",
        make=_weights(lambda scores, seen: scores.masked_fill(~seen, float("-inf")).softmax(-2).nan_to_num()),
        read=reference_attention, reported="dim=-2, dim=1"),
    _row("window-one-wider", "boundary", says="a window of one key more than stated",
        make=_settings(lambda s: s.replace(window_keys=(s.window_keys or 0) + 1)), read=Window, needs=_windowed,
        visible_with=WINDOW, reported="window of w and of w + 1 keys in one library"),
    _row("window-one-narrower", "boundary", says="a window of one key less than stated",
        make=_settings(lambda s: s.replace(window_keys=(s.window_keys or 0) - 1)), read=Window, needs=_windowed,
        visible_with=WINDOW),
    _row("window-ignored", "parsing", says="all keys before the query visible though a window was stated",
        make=_settings(lambda s: s.replace(window_keys=None)), read=Window, needs=_windowed, visible_with=WINDOW,
        reported="sliding_window not read"),
    _row("hidden-by-a-finite-number", "numeric",
        says="hidden keys given -5 instead of minus infinity, so that they still weigh",
        make=_weights(lambda scores, seen: (scores - 5.0 * (~seen).double()).softmax(-1)), read=reference_attention,
        reported="-1e4 after scaling, in other units"),
)
# fmt: on
