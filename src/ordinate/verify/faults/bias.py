"""Known faults of biases: ALiBi's slopes, T5's buckets, and where a bias is cut from its table."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from ordinate.position.bias.alibi import ALiBi, alibi_slopes
from ordinate.position.bias.t5 import T5Bias, bucket_borders
from ordinate.verify.faults.table import KnownFault
from ordinate.verify.references.biases import BiasSettings, bucket, slopes

__all__ = ["BIAS_FAULTS", "BUCKET_FAULTS"]

Settings = BiasSettings
Bias = Callable[[Tensor, Tensor], Tensor]  # (query_positions, key_positions) -> [H, T, S]
Make = Callable[[Settings], Any]

# what wrong biases share with right ones --------------------------------------------------------------------------------


def _distance(query: Tensor, key: Tensor, s: Settings) -> Tensor:
    distance = query.double().unsqueeze(-1) - key.double().unsqueeze(-2)
    return (distance.abs() if s.symmetric else distance).unsqueeze(-3)


def _slopes(rates: Callable[[Settings], list[float]]) -> Make:
    """ALiBi with other slopes."""

    def make(s: Settings) -> Bias:
        column = torch.tensor(rates(s), dtype=torch.float64).reshape(-1, 1, 1)
        return lambda query, key: -column * _distance(query, key, s)

    return make


def _of_distance(change: Callable[[Tensor], Tensor]) -> Make:
    """ALiBi of a changed distance."""

    def make(s: Settings) -> Bias:
        column = torch.tensor(slopes(s.num_heads), dtype=torch.float64).reshape(-1, 1, 1)
        return lambda query, key: -column * change(_distance(query, key, s))

    return make


def _of_key_position(rounded: Callable[[Tensor, torch.dtype], Tensor]) -> Make:
    """Slope times the key's absolute position, rounded."""

    def make(s: Settings) -> Callable[[Tensor, Tensor, torch.dtype], Tensor]:
        column = torch.tensor(slopes(s.num_heads)).reshape(-1, 1, 1)

        def wrong(query: Tensor, key: Tensor, dtype: torch.dtype = torch.float32) -> Tensor:
            at_key = key.float()[:, None, None, :] if key.ndim == 2 else key.float()
            result = rounded(column * at_key, dtype)
            return result.expand(*result.shape[:-2], query.shape[-1], result.shape[-1])

        return wrong

    return make


def _t5(s: Settings) -> Bias:
    """A bias by buckets with weights of its own; what is compared is which distances share one."""
    weights = torch.randn(4 * s.num_buckets, s.num_heads, generator=torch.Generator().manual_seed(0))

    def right(query: Tensor, key: Tensor) -> Tensor:
        distance = (query.unsqueeze(-1) - key.unsqueeze(-2)).long()
        numbers = {int(d): bucket(int(d), s) for d in distance.unique()}
        return weights[distance.clone().apply_(lambda d: numbers[d])].movedim(-1, -3)

    return right


def _t5_at(positions: Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]) -> Make:
    """T5's bias at other positions of queries and keys."""

    def make(s: Settings) -> Bias:
        right = _t5(s)
        return lambda query, key: right(*positions(query, key))

    return make


class _GrownTable:
    """A bias kept from a longer call and cut from its start."""

    def __init__(self, s: Settings) -> None:
        self.right, self.longest = _t5(s), 0

    def __call__(self, query: Tensor, key: Tensor) -> Tensor:
        self.longest = max(self.longest, key.shape[-1])
        steps = torch.arange(self.longest)
        return self.right(steps, steps)[..., : query.shape[-1], : key.shape[-1]]


class _BufferedSlopes(nn.Module):
    def __init__(self, s: Settings, persistent: bool = False) -> None:
        super().__init__()
        self.s = s
        self.register_buffer("slopes", torch.tensor(slopes(s.num_heads, s.slopes)), persistent=persistent)
        self.slopes: Tensor

    def forward(self, query: Tensor, key: Tensor) -> Tensor:
        return -self.slopes.double().reshape(-1, 1, 1) * _distance(query, key, self.s)


def _numbers(number: Callable[[int, Settings], int]) -> Make:
    """Numbers of buckets, no weights."""
    return lambda s: lambda query, key: (query.unsqueeze(-1) - key.unsqueeze(-2)).long().apply_(lambda d: number(d, s))


def _bucket_by_bfloat16(distance: int, s: Settings) -> int:
    count, first = s.num_buckets, 0
    if s.bidirectional:
        count //= 2
        first, distance = (count, -distance) if distance < 0 else (0, distance)
    distance, exact = max(distance, 0), count // 2
    if distance < exact:
        return first + distance
    share = torch.tensor(distance / exact).bfloat16().log() / math.log(s.max_distance / exact) * (count - exact)
    return first + min(exact + int(share), count - 1)


def _bucket_all_exact(distance: int, s: Settings) -> int:
    half = s.num_buckets // 2 if s.bidirectional else s.num_buckets
    first, far = (half, -distance) if distance < 0 and s.bidirectional else (0, max(distance, 0))
    return first + min(far, half - 1)


def _from_zero(query: Tensor, key: Tensor) -> tuple[Tensor, Tensor]:
    steps = torch.arange(query.shape[-1])
    return (steps if query.ndim == 1 else steps.expand_as(query)), key


def _of_query_length(s: Settings) -> Bias:
    """In decoding a bias of one key, broadcast over all of them."""
    right = _slopes(lambda s: slopes(s.num_heads, s.slopes))(s)

    def wrong(query: Tensor, key: Tensor) -> Tensor:
        if query.shape[-1] != 1 or key.shape[-1] == 1:
            result: Tensor = right(query, key)
            return result
        first = torch.zeros(1, dtype=torch.long)
        one: Tensor = right(first, first)
        return one.expand(*one.shape[:-1], key.shape[-1])

    return wrong


def _is_alibi(s: Settings) -> bool:
    return s.rule == "alibi"


def _is_t5(s: Settings) -> bool:
    return s.rule == "t5"  # ALiBi's rows differ by a constant, which softmax does not see


TWELVE = {"num_heads": 12}
T5 = {"rule": "t5"}
_alibi = partial(KnownFault, kind="bias", needs=_is_alibi)
_t5_bias = partial(KnownFault, kind="bias", needs=_is_t5, visible_with=T5, read=T5Bias)
_bucket = partial(KnownFault, kind="buckets", needs=_is_t5, visible_with=T5)

# fmt: off
BIAS_FAULTS: tuple[KnownFault, ...] = (
    _alibi("slopes-geometric", "boundary",
        says="slopes 2^(-8 h / n) for a number of heads that is no power of two, where the reference interleaves two sequences",
        make=_slopes(lambda s: slopes(s.num_heads, "geometric")), read=alibi_slopes,
        needs=lambda s: _is_alibi(s) and s.slopes == "reference", visible_with=TWELVE,
        reported="mlx#3071, transformers#28380"),
    _alibi("slopes-of-next-power", "boundary", says="the first slopes of the next higher power of two",
        make=_slopes(lambda s: slopes(1 << (s.num_heads - 1).bit_length())[: s.num_heads]), read=alibi_slopes,
        visible_with=TWELVE),
    _alibi("slopes-from-one", "boundary", says="slopes from 1 on, 2^(-8 (h - 1) / n): an index that starts at 0",
        make=_slopes(lambda s: [2.0 ** (-8 * head / s.num_heads) for head in range(s.num_heads)]), read=alibi_slopes),
    _alibi("slopes-of-eight-heads", "parsing", says="slopes 2^-h whatever the number of heads",
        make=_slopes(lambda s: [2.0 ** -(head + 1) for head in range(s.num_heads)]), read=alibi_slopes,
        visible_with={"num_heads": 16}),
    _alibi("slopes-reversed", "layout", says="the slopes in reverse order of the heads",
        make=_slopes(lambda s: slopes(s.num_heads)[::-1]), read=alibi_slopes),
    _alibi("distance-sign", "layout", says="key minus query for the distance: far keys are favoured",
        make=_slopes(lambda s: [-rate for rate in slopes(s.num_heads)]), read=ALiBi, reported="attention-gym#86"),
    _alibi("bias-scaled", "numeric", says="the bias divided by the root of the head, added before scaling",
        make=_slopes(lambda s: [rate / math.sqrt(s.head_dim) for rate in slopes(s.num_heads)]), read=ALiBi,
        reported="Falcon, by design of its checkpoints"),
    _alibi("slopes-in-bfloat16", "numeric", says="slopes rounded to bfloat16",
        make=_slopes(lambda s: torch.tensor(slopes(s.num_heads)).bfloat16().tolist()), read=ALiBi.slopes, visible_with=TWELVE,
        reported="Falcon, by design of its checkpoints"),
    _alibi("bias-of-absolute-positions-in-bfloat16", "numeric",
        says="slope times the key's absolute position, in bfloat16 whatever is asked for",
        make=_of_key_position(lambda values, dtype: values.bfloat16()), read=ALiBi.of_distance,
        reported="a model in bfloat16"),
    _alibi("bias-of-absolute-positions-in-float16", "numeric",
        says="slope times the key's absolute position, rounded to float16",
        make=_of_key_position(lambda values, dtype: values.half()), read=ALiBi.of_distance, visible_with=TWELVE),
    _alibi("bias-of-absolute-positions-in-input-dtype", "numeric",
        says="slope times the key's absolute position, rounded to the dtype asked for: in bfloat16 641 of 2,048 are distinct",
        make=_of_key_position(lambda values, dtype: values.to(dtype)), read=ALiBi.of_distance,
        reported="transformers 5.24, Bloom, reproduced"),
    _alibi("future-not-told-from-past", "boundary", says="the absolute distance where the signed one was stated",
        make=_of_distance(lambda distance: distance.abs()), read=ALiBi, needs=lambda s: _is_alibi(s) and not s.symmetric,
        visible_with={"causal": False}),
    _alibi("distance-off-by-one", "boundary", says="the distance counted from 1 for all keys but the query's own",
        make=_of_distance(lambda distance: distance + (distance > 0).double()), read=ALiBi.of_distance),
    _t5_bias("query-counted-from-zero", "offset and cache",
        says="the first row of the bias in decoding, as if the new token stood at 0", make=_t5_at(_from_zero),
        reported="bias[:, :T] for the last T queries"),
    _t5_bias("grown-table-cut-at-the-start", "offset and cache",
        says="a bias kept from a longer call and cut from its start, where the new queries stand at its end",
        make=_GrownTable),
    _t5_bias("padding-counts", "padding and packing",
        says="keys counted from the start of the row, padding included, while queries are counted without it",
        make=_t5_at(lambda query, key: (query, torch.arange(key.shape[-1]).expand_as(key)))),
    _alibi("bias-of-query-length", "offset and cache",
        says="a bias built from the query's length in decoding, the same for every key", make=_of_query_length, read=ALiBi,
        reported="bias[:, :q_len, :q_len] broadcast over the cache"),
    _alibi("slopes-in-a-buffer", "device and dtype",
        says="slopes in a buffer outside the state dict: a cast rounds them, an empty device loses them",
        make=_BufferedSlopes, read=ALiBi.slopes, visible_with=TWELVE, reported="x-transformers, AlibiPositionalBias"),
    _alibi("slopes-in-the-state-dict", "device and dtype",
        says="slopes in the state dict: a cast rounds them, and a checkpoint of another number of heads does not load",
        make=partial(_BufferedSlopes, persistent=True), read=ALiBi.slopes, visible_with=TWELVE),
)
# fmt: on

# fmt: off
BUCKET_FAULTS: tuple[KnownFault, ...] = (
    _bucket("buckets-mirrored", "layout", says="buckets of key minus query where query minus key belongs (or the reverse)",
        make=_numbers(lambda distance, s: bucket(-distance, s)), read=T5Bias.buckets, reported="transformers#8518"),
    _bucket("buckets-one-directional", "parsing", says="a decoder's buckets in an encoder: keys ahead share bucket 0",
        make=_numbers(lambda distance, s: bucket(distance, s.replace(bidirectional=False))), read=T5Bias.buckets,
        needs=lambda s: _is_t5(s) and s.bidirectional),
    _bucket("buckets-two-directional", "parsing", says="an encoder's buckets in a decoder: half of the table is never used",
        make=_numbers(lambda distance, s: bucket(distance, s.replace(bidirectional=True))), read=T5Bias.buckets,
        needs=lambda s: _is_t5(s) and not s.bidirectional, visible_with={**T5, "bidirectional": False}),
    _bucket("buckets-by-bfloat16", "numeric", says="borders found by a logarithm in bfloat16",
        make=_numbers(_bucket_by_bfloat16), read=bucket_borders, reported="distances cast to the dtype of the model"),
    _bucket("buckets-exact-part-too-long", "boundary", says="all buckets of a direction exact, none that widens",
        make=_numbers(_bucket_all_exact), read=bucket_borders),
    _bucket("max-distance-ignored", "parsing", says="a max_distance of 128 though another was stated",
        make=_numbers(lambda distance, s: bucket(distance, s.replace(max_distance=128))), read=T5Bias,
        needs=lambda s: _is_t5(s) and s.max_distance != 128, visible_with={**T5, "max_distance": 256}),
    _bucket("own-token-in-the-wrong-half", "boundary", says="distance 0 in the half of keys ahead",
        make=_numbers(lambda distance, s: bucket(distance, s) if distance else s.num_buckets // 2), read=T5Bias.buckets,
        needs=lambda s: _is_t5(s) and s.bidirectional, reported=">= for > at the query's own place"),
)
# fmt: on
