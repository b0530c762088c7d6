"""The properties of biases: compared through softmax, so that a constant added to a row counts for nothing."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ordinate.verify.adapters.bias import BiasSubject
from ordinate.verify.observation import Comparison, Fact, Observation, Property, Unsupported
from ordinate.verify.properties.shared import compile_property, left_padded, module_properties
from ordinate.verify.references.biases import BiasSettings, bias, bucket, slopes

__all__ = ["BIAS", "BUCKETS"]

TOKENS = 10


def _relative(values: Tensor, settings: BiasSettings, queries: Tensor, keys: Tensor) -> Tensor:
    """What softmax sees: each row minus its value at the query's own place (or its first visible key), hidden keys at 0."""
    result = values.double()
    visible = queries.unsqueeze(-1) >= keys.unsqueeze(-2)
    if not settings.causal:
        visible = torch.ones_like(visible)
    own = (queries.unsqueeze(-1) == keys.unsqueeze(-2)).to(torch.int8).argmax(-1)
    index = own.expand(*result.shape[:-1]) if own.ndim == 1 else own.unsqueeze(1).expand(*result.shape[:-1])
    result = result - result.gather(-1, index.unsqueeze(-1))
    return result.masked_fill(~(visible if visible.ndim == 2 else visible.unsqueeze(1)), 0.0)


def _axes(keys: Tensor) -> tuple[Any, ...]:
    return ("row", "head", "query", ("key", keys.tolist() if keys.ndim == 1 else range(keys.shape[-1])))


def _bound(expected: Tensor, unit: float = 2.0**-24, extent: float = 0.0) -> Tensor:
    """Each value rounded, and the two that are subtracted: relative to the largest number in the row."""
    return 8 * unit * (expected.abs() + extent) + 1e-7


def _answers(subject: BiasSubject, settings: BiasSettings) -> Observation:
    steps = torch.arange(TOKENS)
    fresh = subject.fresh()
    values = fresh(steps, steps)
    visible = steps.unsqueeze(-1) >= steps if settings.causal else torch.ones(TOKENS, TOKENS, dtype=torch.bool)
    facts = [Fact(bool(values[..., visible].isfinite().all()), "a visible pair has a bias that is not finite")]
    if fresh.callee.foreign_types:
        facts.append(Fact(False, f"it came back as {fresh.callee.foreign_types[0]}, not as a tensor"))
    facts.append(Fact(not values.is_meta and values.device.type == "cpu", f"it came back on {values.device}"))
    return Observation(
        facts=facts,
        traces=[_relative(values.nan_to_num(), settings, steps, steps)],
        note="every visible pair has a finite bias",
    )


def _published(subject: BiasSubject, settings: BiasSettings) -> Observation:
    steps = torch.arange(TOKENS)
    got = _relative(subject.fresh()(steps, steps), settings, steps, steps)
    if settings.rule == "t5":
        return _by_buckets(subject, settings)
    if settings.rule is None:
        raise Unsupported("no rule was stated")
    expected = _relative(bias(steps, steps, settings)[None], settings, steps, steps).expand_as(got)
    return Observation([Comparison("bias minus the query's own", got, expected, _bound(expected, 2.0**-22), _axes(steps))])


def _by_buckets(subject: BiasSubject, settings: BiasSettings) -> Observation:
    """Distances of one bucket share a bias; the next bucket has another."""
    reach = settings.max_distance + 8
    steps = torch.arange(reach)
    values = subject.fresh()(steps, steps)[0, 0].double()
    row = values[-1].flip(0)  # distances 0, 1, 2, ...
    expected, jumps = row.clone(), []
    numbers = [bucket(distance, settings) for distance in range(reach)]
    for distance in range(1, reach):
        if numbers[distance] == numbers[distance - 1]:
            expected[distance] = expected[distance - 1]
        elif float(row[distance]) == float(row[distance - 1]):
            jumps.append(distance)
    ahead = values[0]
    if settings.bidirectional:
        jumps += [-distance for distance in range(1, 4) if float(ahead[distance]) == float(row[distance])]
    comparison = Comparison("bias beside that of the same bucket", row, expected, 1e-6, (("distance", range(reach)),))
    says = (
        f"distances {jumps[:4]} share a bias with the bucket before, or with the other direction"
        if jumps
        else "each bucket has its own"
    )
    return Observation([comparison], [Fact(not jumps, says)], traces=[ahead])


def _numbers(subject: BiasSubject, settings: BiasSettings) -> Observation:
    reach = settings.max_distance + 8
    distances = list(range(-reach if settings.bidirectional else -3, reach + 1))
    queries, keys = torch.tensor([reach]), reach - torch.tensor(distances)
    got = subject.fresh()(queries, keys)[0, 0, 0]
    expected = torch.tensor([bucket(distance, settings) for distance in distances], dtype=torch.float64)
    return Observation([Comparison("bucket", got, expected, 0.0, (("distance", distances),))])


def _distance(subject: BiasSubject, settings: BiasSettings) -> Observation:
    steps = torch.arange(TOKENS)
    values = _relative(subject.fresh()(steps, steps), settings, steps, steps)
    expected = values.clone()
    for query in range(TOKENS):
        for key in range(TOKENS):
            other = TOKENS - 1 - (query - key) if query >= key else 0
            source = values[..., TOKENS - 1, other] if query >= key else values[..., 0, key - query]
            expected[..., query, key] = source if query >= key or not settings.causal else 0.0
    return Observation(
        [
            Comparison(
                "bias minus the query's own, beside that of the same distance",
                values,
                expected,
                _bound(expected, 2.0**-22, TOKENS),
                _axes(steps),
            )
        ]
    )


def _shifted(subject: BiasSubject, settings: BiasSettings) -> Observation:
    steps = torch.arange(TOKENS)
    near = _relative(subject.fresh()(steps, steps), settings, steps, steps)
    far = _relative(subject.fresh()(steps + 1000, steps + 1000), settings, steps, steps)
    return Observation(
        [Comparison("bias after a shift of all positions by 1,000", far, near, _bound(near, 2.0**-22, 1000.0), _axes(steps))]
    )


def _decode(subject: BiasSubject, settings: BiasSettings) -> Observation:
    steps, running = torch.arange(TOKENS), subject.fresh()
    whole = _relative(subject.fresh()(steps, steps), settings, steps, steps)
    comparisons = []
    for last in (4, TOKENS - 1):
        keys = steps[: last + 1]
        got = _relative(running(keys[last:], keys), settings, keys[last:], keys)
        expected = whole[:, :, last : last + 1, : last + 1]
        comparisons.append(
            Comparison(f"bias of one query behind {last} keys", got, expected, _bound(expected, 2.0**-22, TOKENS), _axes(keys))
        )
    return Observation(comparisons)


def _padding(subject: BiasSubject, settings: BiasSettings) -> Observation:
    mask, positions = left_padded()
    values = subject.fresh()(positions, positions, key_mask=mask)
    if values.shape[0] != 2:
        raise Unsupported("it has one bias for all rows")
    steps = torch.arange(5)
    got = _relative(values[1:, :, 4:, 4:], settings, steps, steps)
    expected = _relative(subject.fresh()(steps, steps), settings, steps, steps)
    return Observation(
        [
            Comparison(
                "bias of a row behind four tokens of padding", got, expected, _bound(expected, 2.0**-22, 9.0), _axes(steps)
            )
        ]
    )


def _earlier(subject: BiasSubject, settings: BiasSettings) -> Observation:
    steps, running = torch.arange(TOKENS), subject.fresh()
    first = _relative(running(steps, steps), settings, steps, steps)
    running(torch.arange(40), torch.arange(40))
    running(torch.arange(3), torch.arange(3))
    again = _relative(running(steps, steps), settings, steps, steps)
    return Observation(
        [Comparison("bias after a longer call, beside before", again, first, _bound(first, 2.0**-22, 40.0), _axes(steps))]
    )


def _equal_sizes(subject: BiasSubject, settings: BiasSettings) -> Observation:
    size = settings.num_heads
    steps, longer = torch.arange(size), torch.arange(size + 5)
    whole = _relative(subject.fresh()(longer, longer), settings, longer, longer)[..., :size, :size]
    got = _relative(subject.fresh()(steps, steps), settings, steps, steps)
    return Observation(
        [Comparison(f"bias of {size} tokens with {size} heads", got, whole, _bound(whole, 2.0**-22, size + 5.0), _axes(steps))]
    )


def _far(subject: BiasSubject, settings: BiasSettings) -> Observation:
    if settings.rule != "alibi":
        raise Unsupported("only ALiBi's bias grows with the distance")
    length = 2048
    keys = torch.arange(length)
    got = _relative(subject.fresh()(keys[-1:], keys), settings, keys[-1:], keys)[..., -16:]
    expected = _relative(bias(keys[-1:], keys, settings)[None], settings, keys[-1:], keys)[..., -16:].expand_as(got)
    whole = torch.tensor(slopes(settings.num_heads, settings.slopes), dtype=torch.float64).reshape(-1, 1, 1) * length
    bound = 8 * 2.0**-24 * (expected.abs() + whole) + 1e-7  # the absolute form carries the whole length, and its rounding
    return Observation([Comparison("bias of the last 16 of 2,048 keys", got, expected, bound, _axes(keys[-16:]))])


def _half(subject: BiasSubject, settings: BiasSettings) -> Observation:
    if settings.rule != "alibi":
        raise Unsupported("only ALiBi's bias grows with the distance")
    keys = torch.arange(2048)
    got = _relative(subject.fresh()(keys[-1:], keys, torch.bfloat16), settings, keys[-1:], keys)[..., -16:]
    expected = _relative(bias(keys[-1:], keys, settings)[None], settings, keys[-1:], keys)[..., -16:].expand_as(got)
    bound = 2.0**-7 * expected.abs() + 1e-6  # formed from the distance: a slope, a product, each rounded
    return Observation([Comparison("bias in bfloat16 of the last 16 of 2,048 keys", got, expected, bound, _axes(keys[-16:]))])


def _beside(before: BiasSubject, after: BiasSubject, settings: BiasSettings, what: str) -> Observation:
    steps = torch.arange(TOKENS)
    b, a = (_relative(one(steps, steps), settings, steps, steps) for one in (before, after))
    return Observation([Comparison(what, a, b, _bound(b, 2.0**-22, TOKENS), _axes(steps))])


def _at_length(subject: BiasSubject, compiled: BiasSubject, settings: BiasSettings, length: int) -> Comparison:
    steps = torch.arange(length)
    expected, got = (_relative(one(steps, steps), settings, steps, steps) for one in (subject.fresh(), compiled))
    bound = 2 * _bound(expected, 2.0**-22, length)
    return Comparison(f"compiled bias of {length} tokens", got, expected, bound, _axes(steps))


BIAS = (
    Property("answers-in-kind", "Every visible pair has a finite bias", _answers),
    Property("published-rule", "Slopes or buckets are the published ones", _published),
    Property("distance-alone", "Through softmax the bias depends on the distance alone", _distance),
    Property("shift", "A shift of all positions changes nothing", _shifted),
    Property("prefill-equals-decode", "A query behind a cache has the row's last bias", _decode),
    Property("left-padding", "Padding on the left changes nothing for real tokens", _padding),
    Property("earlier-calls", "A result does not depend on earlier calls", _earlier),
    Property("equal-sizes", "As many heads as tokens confuse no axis", _equal_sizes),
    Property("far-positions", "Near keys of a far query are distinguished exactly", _far),
    Property("half-precision", "In bfloat16 near keys of a far query are distinguished", _half),
    *module_properties("bias", _beside, "no slope or bucket"),
    compile_property(_at_length),
)

BUCKETS = (Property("published-rule", "Every distance falls into its published bucket", _numbers),)
