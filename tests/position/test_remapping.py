import cmath
import re
from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from ordinate.attention import Causal, attend
from ordinate.errors import ArgumentError, ArgumentTypeError, RefusedError, ShapeError
from ordinate.position import (
    ALiBi,
    DualChunk,
    LeakyReRoPE,
    ReRoPE,
    Rotary,
    SelfExtend,
    StreamingLLM,
    build,
    indices,
)
from ordinate.position.frequencies import DynamicNTK, Linear, LongRoPE
from ordinate.spec import PositionSpec
from tests.position.bias.test_relative import each_row, heads


def rotary(**settings: object) -> Rotary:
    return Rotary(4, **({"layout": "half"} | settings))


# Each distance as its paper writes it, for one query and one key; None where the key is not seen at all.


def self_extend(i: int, j: int) -> float:
    return i - j if i - j < 4 else i // 2 + (4 - 4 // 2) - j // 2


def rerope(i: int, j: int) -> float:
    return min(i - j, 6)


def leaky(i: int, j: int) -> float:
    return i - j if i - j < 3 else 3 + (i - j - 3) / 4


def dual_chunk(i: int, j: int, cap: int = 9) -> float:
    if i // 6 <= j // 6:
        return i % 6 - j % 6
    if i // 6 == j // 6 + 1:
        return min(i % 6 + 6, cap) - j % 6
    return cap - j % 6


def streaming(i: int, j: int) -> float | None:
    if j < 2:
        return min(i, 2 + 3 - 1) - j
    return i - j if i - j < 3 else None


MEMBERS: dict[str, tuple[Callable[[Rotary], torch.nn.Module], Callable[[int, int], float | None]]] = {
    "self-extend": (lambda r: SelfExtend(r, 4, 2), self_extend),
    "rerope": (lambda r: ReRoPE(r, 6), rerope),
    "leaky": (lambda r: LeakyReRoPE(r, 3, 4.0), leaky),
    "dual-chunk": (lambda r: DualChunk(r, 6, 4), dual_chunk),
    "dual-chunk as released": (lambda r: DualChunk(r, 6, 4, farthest=10), lambda i, j: dual_chunk(i, j, cap=10)),
    "streaming": (lambda r: StreamingLLM(r, 2, 3), streaming),
}
each_member = pytest.mark.parametrize(("make", "distance"), MEMBERS.values(), ids=MEMBERS.keys())


def explicit(q: Tensor, k: Tensor, queries: Tensor, keys: Tensor, distance: Callable, frequencies: list[float]) -> Tensor:
    """Each pair turned by its own distance, in complex numbers: Re(q conj(k) e^(i d w)), channels i and i + D/2 as one."""
    pairs = len(frequencies)
    out = torch.zeros(*q.shape[:3], k.shape[2], dtype=torch.float64)
    for b in range(q.shape[0]):
        row_q, row_k = (x[b if x.ndim == 2 else ...].tolist() for x in (queries, keys))
        for t, i in enumerate(row_q):
            for s, j in enumerate(row_k):
                d = distance(i, j)
                for h in range(q.shape[1]):
                    if d is None:
                        out[b, h, t, s] = float("-inf")
                        continue
                    for p, w in enumerate(frequencies):
                        one = complex(q[b, h, t, p], q[b, h, t, p + pairs])
                        other = complex(k[b, h, s, p], k[b, h, s, p + pairs])
                        out[b, h, t, s] += (one * other.conjugate() * cmath.exp(1j * d * w)).real
    return out


@each_row
@each_member
def test_every_pair_is_turned_by_the_distance_of_the_paper(make, distance, queries, keys):
    if int(queries.max()) > 2**32:
        queries, keys = queries - 2**40 + 50, keys - 2**40 + 50  # angles in the oracle are plain float64
    q, k = heads(queries.shape[-1], keys.shape[-1])
    expected = explicit(q, k, queries, keys, distance, [1.0, 0.01])
    assert_close(make(rotary()).scores(q, k, queries, keys), expected / 2.0, rtol=0, atol=1e-12)
    assert_close(make(rotary()).scores(q, k, queries, keys, scale=0.3), expected * 0.3, rtol=0, atol=1e-12)


@each_member
def test_the_rotation_keeps_its_layout_its_base_and_its_scaling(make, distance):
    q, k = heads(9, 9)
    steps = torch.arange(9)
    scaled = make(rotary(base=100.0, scaling=Linear(2.0)))
    assert_close(
        scaled.scores(q, k, steps, steps, 1.0), explicit(q, k, steps, steps, distance, [0.5, 0.05]), rtol=0, atol=1e-12
    )
    order = torch.tensor([0, 2, 1, 3])  # from interleaved pairs to halves
    interleaved = make(rotary(layout="interleaved")).scores(q, k, steps, steps, 1.0)
    assert_close(interleaved, explicit(q[..., order], k[..., order], steps, steps, distance, [1.0, 0.01]), rtol=0, atol=1e-12)


SELF_EXTEND = """
0
1 0
2 1 0
3 2 1 0
4 3 2 1 0
4 4 3 2 1 0
5 5 4 3 2 1 0
5 5 4 4 3 2 1 0
6 6 5 5 4 3 2 1 0
6 6 5 5 4 4 3 2 1 0
"""
"""LongLM#40: window 4, group 2; the sixth row is the case selfextend-row5."""

REROPE = """
0
1 0
2 1 0
3 2 1 0
4 3 2 1 0
5 4 3 2 1 0
6 5 4 3 2 1 0
6 6 5 4 3 2 1 0
6 6 6 5 4 3 2 1 0
6 6 6 6 5 4 3 2 1 0
"""


@pytest.mark.parametrize(
    ("member", "table"),
    [(SelfExtend(rotary(), 4, 2), SELF_EXTEND), (ReRoPE(rotary(), 6), REROPE)],
    ids=["self-extend", "rerope"],
)
def test_distances_are_those_that_the_authors_print(member, table):
    distance = member.distance(torch.arange(10), torch.arange(10)).tolist()
    for row, line in enumerate(table.strip().splitlines()):
        assert distance[row][: row + 1] == [int(number) for number in line.split()]


def test_no_distance_is_longer_than_the_member_promises():
    steps = torch.arange(400)
    past = steps[:, None] >= steps
    for member, most in (
        (SelfExtend(rotary(), 8, 16), 8 + 400 // 16),
        (ReRoPE(rotary(), 8), 8),
        (LeakyReRoPE(rotary(), 8, 16.0), 8 + 392 / 16),
        (DualChunk(rotary(), 12, 4), 15),
        (DualChunk(rotary(), 12, 4, farthest=16), 16),
    ):
        distance = member.distance(steps, steps)[past]
        assert distance.min() >= 0
        assert distance.max() <= most


@pytest.mark.parametrize(
    "same",
    [
        lambda r: SelfExtend(r, 4, 1),
        lambda r: SelfExtend(r, 100, 7),
        lambda r: ReRoPE(r, 100),
        lambda r: LeakyReRoPE(r, 3, 1.0),
        lambda r: DualChunk(r, 100, 5),
        lambda r: StreamingLLM(r, 0, 100),
        lambda r: StreamingLLM(r, 4, 16),
    ],
)
def test_where_nothing_is_far_it_is_plain_rotary_attention(same):
    q, k = heads(20, 20)
    steps = torch.arange(20)
    plain = attend(q, k, k, query_positions=steps, encoding=rotary(), mask=Causal())
    assert_close(attend(q, k, k, query_positions=steps, encoding=same(rotary()), mask=Causal()), plain, rtol=0, atol=1e-12)


def test_leaky_rerope_without_bound_is_rerope():
    q, k = heads(20, 20)
    steps = torch.arange(20)
    bounded = ReRoPE(rotary(), 5).scores(q, k, steps, steps)
    assert_close(LeakyReRoPE(rotary(), 5, 1e12).scores(q, k, steps, steps).tril(), bounded.tril(), rtol=0, atol=1e-9)


def test_streaming_prefill_is_row_by_row_what_decoding_with_a_small_cache_gives():
    """The cache holds keys unrotated; plain rotary attention turns them at their places inside it."""
    q, k = heads(24, 24)
    v, steps = torch.randn(2, 3, 24, 4, dtype=torch.float64), torch.arange(24)
    prefill = attend(q, k, v, query_positions=steps, encoding=StreamingLLM(rotary(), 3, 5), mask=Causal())
    for token in range(24):
        held, places = indices.in_cache(token + 1, sinks=3, window=5)
        decoded = attend(
            q[:, :, token : token + 1],
            k[:, :, held],
            v[:, :, held],
            query_positions=places[-1:],
            key_positions=places,
            encoding=rotary(),
        )
        assert_close(decoded, prefill[:, :, token : token + 1], rtol=0, atol=1e-12)


@each_member
def test_heads_in_groups_share_keys(make, distance):
    q, k = heads(9, 9, num_heads=4)
    steps, spread = torch.arange(9), k[:, :2].repeat_interleave(2, dim=1)
    assert_close(make(rotary()).scores(q, k[:, :2], steps, steps), make(rotary()).scores(q, spread, steps, steps))
    grouped = attend(q, k[:, :2], k[:, :2], query_positions=steps, encoding=make(rotary()), mask=Causal())
    assert_close(grouped, attend(q, spread, spread, query_positions=steps, encoding=make(rotary()), mask=Causal()))


def test_half_precision_is_worked_in_float32():
    q, k = (x.bfloat16() for x in heads(9, 9))
    steps = torch.arange(9) + 100_000
    found = SelfExtend(rotary(), 4, 2).scores(q, k, steps, steps)
    assert found.dtype is torch.float32
    assert_close(found.double(), SelfExtend(rotary(), 4, 2).scores(q.double(), k.double(), steps, steps), rtol=0, atol=1e-5)


def test_a_bias_is_added_to_scores_and_two_sets_of_scores_are_refused():
    q, k = heads(6, 6)
    steps = torch.arange(6)
    member = ReRoPE(rotary(), 3)
    _, weights = attend(q, k, k, query_positions=steps, encoding=[member, ALiBi(3)], mask=Causal(), return_weights=True)
    scores = member.scores(q, k, steps, steps) + ALiBi(3).bias(steps, steps)
    ahead = torch.ones(6, 6, dtype=torch.bool).triu(1)
    assert_close(weights, scores.masked_fill(ahead, float("-inf")).softmax(-1))
    with pytest.raises(ArgumentError, match="encoding: expected one that computes scores, got two"):
        attend(q, k, k, query_positions=steps, encoding=[member, member])
    with pytest.raises(RefusedError, match="forms weights"):
        attend(q, k, k, query_positions=steps, encoding=member, impl="sdpa")


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: SelfExtend(ALiBi(4), 4, 2), ArgumentTypeError, "rotary: expected a Rotary, got ALiBi"),
        (lambda: SelfExtend(rotary(), 0, 2), ArgumentError, "window: expected an integer of at least 1"),
        (lambda: SelfExtend(rotary(), 4, 0), ArgumentError, "group: expected an integer of at least 1"),
        (lambda: SelfExtend(rotary(), 4, 2.0), ArgumentTypeError, "group: expected an integer"),
        (lambda: ReRoPE(rotary(), -1), ArgumentError, "window: expected an integer of at least 1"),
        (
            lambda: ReRoPE(rotary(scaling=DynamicNTK(2.0, 16)), 4),
            ArgumentError,
            "frequencies that do not change with the row's",
        ),
        (lambda: ReRoPE(rotary(scaling=LongRoPE([1.0] * 2, [2.0] * 2, 16, 64)), 4), ArgumentError, "scale by a fixed rule"),
        (lambda: LeakyReRoPE(rotary(), 4, 0.5), ArgumentError, "factor: expected a finite number of at least 1, got 0.5"),
        (lambda: LeakyReRoPE(rotary(), 4, float("inf")), ArgumentError, "take ReRoPE"),
        (lambda: LeakyReRoPE(rotary(), 4, "2"), ArgumentTypeError, "factor: expected a finite number of at least 1"),
        (lambda: DualChunk(rotary(), 4, 6), ArgumentError, re.escape("local: expected at most chunk (4), got 6")),
        (lambda: DualChunk(rotary(), 6, 4, farthest=5), ArgumentError, "farthest: expected an integer of at least 6"),
        (lambda: StreamingLLM(rotary(), -1, 4), ArgumentError, "sinks: expected an integer of at least 0"),
        (lambda: StreamingLLM(rotary(), 4, 0), ArgumentError, "window: expected an integer of at least 1"),
    ],
)
def test_settings_that_make_no_sense_are_refused_in_words(make, error, words):
    with pytest.raises(error, match=words):
        make()


def test_input_that_does_not_fit_is_refused_in_words():
    q, k = heads(4, 4)
    steps, member = torch.arange(4), SelfExtend(rotary(), 4, 2)
    with pytest.raises(ShapeError, match="D=4"):
        member.scores(q[..., :2], k[..., :2], steps, steps)
    with pytest.raises(ArgumentTypeError, match="positions as integers"):
        member.scores(q, k, steps.float(), steps)
    with pytest.raises(ShapeError, match="one position for each of the 4 tokens"):
        member.scores(q, k, steps[:3], steps)


def test_settings_are_in_the_repr_and_in_a_spec():
    nested = PositionSpec("rotary", {"head_dim": 4, "layout": "half"}, Linear(2.0)).to_dict()
    for name, settings, told in (
        ("self-extend", {"window": 4, "group": 2}, "SelfExtend({}, 4, 2)"),
        ("rerope", {"window": 4}, "ReRoPE({}, 4)"),
        ("leaky-rerope", {"window": 4, "factor": 3.0}, "LeakyReRoPE({}, 4, 3.0)"),
        ("dual-chunk", {"chunk": 6, "local": 4, "farthest": 10}, "DualChunk({}, 6, 4, farthest=10)"),
        ("streaming-llm", {"sinks": 4, "window": 6}, "StreamingLLM({}, 4, 6)"),
    ):
        built = build(PositionSpec(name, {"rotary": nested} | settings))
        assert repr(built) == told.format("Rotary(4, layout='half', scaling=Linear(factor=2.0))")
