"""Known faults of ALiBi and of T5's buckets, over all families."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

from ordinate.position.alibi import ALiBi, alibi_slopes
from ordinate.position.buckets import T5Bias, bucket_borders
from ordinate.verify.references.biases import BiasSettings, bucket, slopes
from ordinate.verify.signatures.signature import signature

__all__: list[str] = []

Wrong = Callable[[Tensor, Tensor], Tensor]


def _distance(query: Tensor, key: Tensor) -> Tensor:
    return query.double().unsqueeze(-1) - key.double().unsqueeze(-2)


def _linear(s: BiasSettings, rates: list[float], change: Callable[[Tensor], Tensor] = lambda bias: bias) -> Wrong:
    _alibi(s)
    column = torch.tensor(rates, dtype=torch.float64).reshape(-1, 1, 1)

    def wrong(query: Tensor, key: Tensor) -> Tensor:
        distance = _distance(query, key)
        distance = distance.abs() if s.symmetric else distance
        return change(-column * (distance if distance.ndim == 2 else distance.unsqueeze(1)))

    return wrong


def _alibi(s: BiasSettings) -> None:
    assert s.rule == "alibi"


@signature(
    "slopes-geometric",
    family="boundary",
    kind="bias",
    read=alibi_slopes,
    shown={"num_heads": 12},
    says="slopes 2^(-8 h / n) for a number of heads that is no power of two, where the reference interleaves two ladders",
    seen="mlx#3071, transformers#28380",
)
def _(s: BiasSettings) -> Wrong:
    assert s.slopes == "reference"
    return _linear(s, slopes(s.num_heads, "geometric"))


@signature(
    "slopes-of-next-power",
    family="boundary",
    kind="bias",
    read=alibi_slopes,
    shown={"num_heads": 12},
    says="the first slopes of the next higher power of two",
    seen="",
)
def _(s: BiasSettings) -> Wrong:
    return _linear(s, slopes(1 << (s.num_heads - 1).bit_length())[: s.num_heads])


@signature(
    "slopes-from-one",
    family="boundary",
    kind="bias",
    read=alibi_slopes,
    says="slopes from 1 on, 2^(-8 (h - 1) / n): an index that starts at 0",
    seen="",
)
def _(s: BiasSettings) -> Wrong:
    return _linear(s, [2.0 ** (-8 * head / s.num_heads) for head in range(s.num_heads)])


@signature(
    "slopes-of-eight-heads",
    family="parsing",
    kind="bias",
    read=alibi_slopes,
    shown={"num_heads": 16},
    says="slopes 2^-h whatever the number of heads",
    seen="",
)
def _(s: BiasSettings) -> Wrong:
    return _linear(s, [2.0 ** -(head + 1) for head in range(s.num_heads)])


@signature(
    "slopes-reversed", family="layout", kind="bias", read=alibi_slopes, says="the slopes in reverse order of the heads", seen=""
)
def _(s: BiasSettings) -> Wrong:
    return _linear(s, slopes(s.num_heads)[::-1])


@signature(
    "distance-sign",
    family="layout",
    kind="bias",
    read=ALiBi,
    says="key minus query for the distance: far keys are favoured",
    seen="attention-gym#86",
)
def _(s: BiasSettings) -> Wrong:
    return _linear(s, [-rate for rate in slopes(s.num_heads)])


@signature(
    "bias-scaled",
    family="numeric",
    kind="bias",
    read=ALiBi,
    says="the bias divided by the root of the head, added before scaling",
    seen="Falcon, by design of its checkpoints",
)
def _(s: BiasSettings) -> Wrong:
    return _linear(s, [rate / math.sqrt(s.head_dim) for rate in slopes(s.num_heads)])


@signature(
    "slopes-in-bfloat16",
    family="numeric",
    kind="bias",
    read=ALiBi.slopes,
    shown={"num_heads": 12},
    says="slopes rounded to bfloat16",
    seen="Falcon, by design of its checkpoints",
)
def _(s: BiasSettings) -> Wrong:
    return _linear(s, torch.tensor(slopes(s.num_heads)).bfloat16().tolist())


@signature(
    "bias-of-absolute-positions-in-bfloat16",
    family="numeric",
    kind="bias",
    read=ALiBi.of_distance,
    says="slope times the key's absolute position, in bfloat16 whatever is asked for",
    seen="a model in bfloat16",
)
def _(s: BiasSettings) -> Wrong:
    return _absolute(s, lambda values, dtype: values.bfloat16())


@signature(
    "bias-of-absolute-positions-in-float16",
    family="numeric",
    kind="bias",
    read=ALiBi.of_distance,
    shown={"num_heads": 12},
    says="slope times the key's absolute position, rounded to float16",
    seen="",
)
def _(s: BiasSettings) -> Wrong:
    return _absolute(s, lambda values, dtype: values.half())


@signature(
    "bias-of-absolute-positions-in-input-dtype",
    family="numeric",
    kind="bias",
    read=ALiBi.of_distance,
    says="slope times the key's absolute position, rounded to the dtype asked for: in bfloat16 641 of 2,048 are distinct",
    seen="transformers 5.24, Bloom, reproduced",
)
def _(s: BiasSettings) -> Wrong:
    return _absolute(s, lambda values, dtype: values.to(dtype))


def _absolute(s: BiasSettings, rounded: Callable[[Tensor, torch.dtype], Tensor]) -> Wrong:
    _alibi(s)
    column = torch.tensor(slopes(s.num_heads)).reshape(-1, 1, 1)

    def wrong(query: Tensor, key: Tensor, dtype: torch.dtype = torch.float32) -> Tensor:
        if key.ndim == 2:
            return rounded(column * key.float()[:, None, None, :], dtype).expand(-1, -1, query.shape[-1], -1)
        return rounded(column * key.float(), dtype).expand(-1, query.shape[-1], -1)

    return wrong  # type: ignore[return-value]


@signature(
    "future-not-told-from-past",
    family="boundary",
    kind="bias",
    read=ALiBi,
    shown={"causal": False},
    says="the absolute distance where the signed one was stated",
    seen="",
)
def _(s: BiasSettings) -> Wrong:
    assert not s.symmetric
    return _linear(s.but(symmetric=True), slopes(s.num_heads))


@signature(
    "distance-off-by-one",
    family="boundary",
    kind="bias",
    read=ALiBi.of_distance,
    says="the distance counted from 1 for all keys but the query's own",
    seen="",
)
def _(s: BiasSettings) -> Wrong:
    _alibi(s)
    column = torch.tensor(slopes(s.num_heads), dtype=torch.float64).reshape(-1, 1, 1)

    def wrong(query: Tensor, key: Tensor) -> Tensor:
        distance = _distance(query, key)
        return -column * (distance + (distance > 0).double())

    return wrong


@signature(
    "query-counted-from-zero",
    family="offset and cache",
    kind="bias",
    read=T5Bias,
    shown={"rule": "t5"},
    says="the first row of the bias in decoding, as if the new token stood at 0",
    seen="bias[:, :T] for the last T queries",
)
def _(s: BiasSettings) -> Wrong:
    assert s.rule == "t5"  # ALiBi's rows differ by a constant, which softmax does not see

    def wrong(query: Tensor, key: Tensor) -> Tensor:
        steps = torch.arange(query.shape[-1])
        return _right(s)(steps if query.ndim == 1 else steps.expand_as(query), key)

    return wrong


@signature(
    "grown-table-cut-at-the-start",
    family="offset and cache",
    kind="bias",
    read=T5Bias,
    shown={"rule": "t5"},
    says="a bias kept from a longer call and cut from its start, where the new queries stand at its end",
    seen="",
)
class _Grown:
    def __init__(self, s: BiasSettings) -> None:
        assert s.rule == "t5"
        self.right, self.longest = _right(s), 0

    def __call__(self, query: Tensor, key: Tensor) -> Tensor:
        self.longest = max(self.longest, key.shape[-1])
        steps = torch.arange(self.longest)
        return self.right(steps, steps)[..., : query.shape[-1], : key.shape[-1]]


@signature(
    "padding-counts",
    family="padding and packing",
    kind="bias",
    read=T5Bias,
    shown={"rule": "t5"},
    says="keys counted from the start of the row, padding included, while queries are counted without it",
    seen="",
)
def _(s: BiasSettings) -> Wrong:
    assert s.rule == "t5"
    right = _right(s)
    return lambda query, key: right(query, torch.arange(key.shape[-1]).expand_as(key))


@signature(
    "slopes-in-a-buffer",
    family="device and dtype",
    kind="bias",
    read=ALiBi.slopes,
    shown={"num_heads": 12},
    says="slopes in a buffer outside the state dict: a cast rounds them, an empty device loses them",
    seen="x-transformers, AlibiPositionalBias",
)
class _Buffered(nn.Module):
    persistent = False

    def __init__(self, s: BiasSettings) -> None:
        super().__init__()
        _alibi(s)
        self.s = s
        self.register_buffer("slopes", torch.tensor(slopes(s.num_heads, s.slopes)), persistent=self.persistent)
        self.slopes: Tensor

    def forward(self, query: Tensor, key: Tensor) -> Tensor:
        distance = _distance(query, key)
        distance = distance.abs() if self.s.symmetric else distance
        return -self.slopes.double().reshape(-1, 1, 1) * (distance if distance.ndim == 2 else distance.unsqueeze(1))


@signature(
    "slopes-in-the-state-dict",
    family="device and dtype",
    kind="bias",
    read=ALiBi.slopes,
    shown={"num_heads": 12},
    says="slopes in the state dict: a cast rounds them, and a checkpoint of another number of heads does not load",
    seen="",
)
class _Saved(_Buffered):
    persistent = True


def _right(s: BiasSettings) -> Wrong:
    if s.rule == "alibi":
        return _linear(s, slopes(s.num_heads, s.slopes))
    return _table(s, lambda distance: bucket(distance, s))


def _table(s: BiasSettings, number: Callable[[int], int]) -> Wrong:
    """A bias by buckets with weights of its own; what is compared is which distances share one."""
    assert s.rule == "t5"
    weights = torch.randn(4 * s.num_buckets, s.num_heads, generator=torch.Generator().manual_seed(0))

    def wrong(query: Tensor, key: Tensor) -> Tensor:
        distance = (query.unsqueeze(-1) - key.unsqueeze(-2)).long()
        numbers = {int(d): number(int(d)) for d in distance.unique()}
        indices = distance.clone().apply_(lambda d: numbers[d])
        return weights[indices].movedim(-1, -3)

    return wrong


def _buckets(s: BiasSettings, number: Callable[[int], int]) -> Wrong:
    """Numbers of buckets, no weights."""
    assert s.rule == "t5"
    return lambda query, key: (query.unsqueeze(-1) - key.unsqueeze(-2)).long().apply_(number)


@signature(
    "buckets-mirrored",
    family="layout",
    kind="buckets",
    read=T5Bias.buckets,
    shown={"rule": "t5"},
    says="buckets of key minus query where query minus key belongs (or the reverse)",
    seen="transformers#8518",
)
def _(s: BiasSettings) -> Wrong:
    return _buckets(s, lambda distance: bucket(-distance, s))


@signature(
    "buckets-one-directional",
    family="parsing",
    kind="buckets",
    read=T5Bias.buckets,
    shown={"rule": "t5"},
    says="a decoder's buckets in an encoder: keys ahead share bucket 0",
    seen="",
)
def _(s: BiasSettings) -> Wrong:
    assert s.bidirectional
    return _buckets(s, lambda distance: bucket(distance, s.but(bidirectional=False)))


@signature(
    "buckets-two-directional",
    family="parsing",
    kind="buckets",
    read=T5Bias.buckets,
    shown={"rule": "t5", "bidirectional": False},
    says="an encoder's buckets in a decoder: half of the table is never used",
    seen="",
)
def _(s: BiasSettings) -> Wrong:
    assert not s.bidirectional
    return _buckets(s, lambda distance: bucket(distance, s.but(bidirectional=True)))


@signature(
    "buckets-by-bfloat16",
    family="numeric",
    kind="buckets",
    read=bucket_borders,
    shown={"rule": "t5"},
    says="borders found by a logarithm in bfloat16",
    seen="distances cast to the dtype of the model",
)
def _(s: BiasSettings) -> Wrong:
    return _buckets(s, lambda distance: _rounded_bucket(distance, s))


def _rounded_bucket(distance: int, s: BiasSettings) -> int:
    count, first = s.num_buckets, 0
    if s.bidirectional:
        count //= 2
        first, distance = (count, -distance) if distance < 0 else (0, distance)
    distance, exact = max(distance, 0), count // 2
    if distance < exact:
        return first + distance
    share = torch.tensor(distance / exact).bfloat16().log() / math.log(s.max_distance / exact) * (count - exact)
    return first + min(exact + int(share), count - 1)


@signature(
    "buckets-exact-part-too-long",
    family="boundary",
    kind="buckets",
    read=bucket_borders,
    shown={"rule": "t5"},
    says="all buckets of a direction exact, none that widens",
    seen="",
)
def _(s: BiasSettings) -> Wrong:
    half = s.num_buckets // 2 if s.bidirectional else s.num_buckets

    def number(distance: int) -> int:
        first, far = (half, -distance) if distance < 0 and s.bidirectional else (0, max(distance, 0))
        return first + min(far, half - 1)

    return _buckets(s, number)


@signature(
    "max-distance-ignored",
    family="parsing",
    kind="buckets",
    read=T5Bias,
    shown={"rule": "t5", "max_distance": 256},
    says="a max_distance of 128 though another was stated",
    seen="",
)
def _(s: BiasSettings) -> Wrong:
    assert s.max_distance != 128
    return _buckets(s, lambda distance: bucket(distance, s.but(max_distance=128)))


@signature(
    "own-token-in-the-wrong-half",
    family="boundary",
    kind="buckets",
    read=T5Bias.buckets,
    shown={"rule": "t5"},
    says="distance 0 in the half of keys ahead",
    seen=">= for > at the query's own place",
)
def _(s: BiasSettings) -> Wrong:
    assert s.bidirectional
    return _buckets(s, lambda distance: bucket(distance, s) if distance else s.num_buckets // 2)
