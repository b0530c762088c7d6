"""Known faults of biases: ALiBi's slopes, and where a bias is cut from its table. Faults of T5's buckets stand in `buckets`."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

from ordinate.position.alibi import ALiBi, alibi_slopes
from ordinate.position.buckets import T5Bias
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

    return wrong


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
