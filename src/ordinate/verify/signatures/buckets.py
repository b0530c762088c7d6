"""Known faults of T5's buckets: which distances share a number."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from ordinate.position.buckets import T5Bias, bucket_borders
from ordinate.verify.references.biases import BiasSettings, bucket
from ordinate.verify.signatures.signature import signature

__all__: list[str] = []

Wrong = Callable[[Tensor, Tensor], Tensor]


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
