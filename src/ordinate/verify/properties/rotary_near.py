"""What a rotation is at near positions: linear, by pairs, of constant length, by position times a frequency."""

from __future__ import annotations

import torch
from torch import Tensor

from ordinate.verify.adapters.rotary import RotarySubject
from ordinate.verify.identify import NOISE, PROBED, matrices
from ordinate.verify.properties.rotary_case import SMALL, RotaryCase, allowed, heads, measured
from ordinate.verify.references.ladders import magnitude
from ordinate.verify.references.rotation import frequencies, turned
from ordinate.verify.seen import Compared, Fact, Property, Seen, Unsupported

__all__ = ["NEAR"]

AXES = ("row", "head", "token", "channel")


def _answers(subject: RotarySubject, case: RotaryCase) -> Seen:
    steps, facts, traces = torch.arange(SMALL), [], []
    for dtype in (torch.float32, torch.bfloat16, torch.float16, torch.float64):
        query, key = (x.to(dtype) for x in heads(case.stated, SMALL))
        fresh = subject.fresh()
        try:
            results = fresh.turn(query, key, steps)
        except Exception as problem:
            if dtype is torch.float32 or isinstance(problem, Unsupported):
                raise
            facts.append(Fact(False, f"{dtype}: it raises {type(problem).__name__}: {' '.join(str(problem).split())[:160]}"))
            continue
        for name, x, result in (("queries", query, results[0]), ("keys", key, results[1])):
            if fresh.native.spoken:
                facts.append(Fact(False, f"{name} came back as {fresh.native.spoken[0]}, not as a tensor"))
            facts.append(Fact(result.shape == x.shape, f"{name} of shape {tuple(x.shape)} came back as {tuple(result.shape)}"))
            facts.append(Fact(result.dtype == dtype, f"{name} of {dtype} came back as {result.dtype}"))
            facts.append(Fact(result.device == x.device, f"{name} on {x.device} came back on {result.device}"))
            numbers = int((~result.isfinite()).sum()) if not result.is_meta else 0
            facts.append(Fact(numbers == 0, f"{numbers} of {result.numel()} numbers of {name} in {dtype} are not finite"))
        if dtype is torch.float32:
            traces = [results[0], results[1]]
    return Seen(facts=facts, traces=traces, note="float32, bfloat16, float16 and float64 come back as they went in")


def _linear(subject: RotarySubject, case: RotaryCase) -> Seen:
    (a, b), steps = heads(case.stated, SMALL), torch.arange(SMALL)
    sums = subject.fresh().turn(2 * a - 3 * b, a, steps)[0]
    apart = 2 * subject.fresh().turn(a, b, steps)[0] - 3 * subject.fresh().turn(b, a, steps)[0]
    bound = allowed(2 * a.abs() + 3 * b.abs(), steps, case) * 2
    return Seen([Compared("f(2a - 3b) beside 2f(a) - 3f(b)", sums, apart.double(), bound, AXES)])


def _leak(subject: RotarySubject, case: RotaryCase) -> Seen:
    turned_units, found = measured(subject, case)
    matrix = matrices(turned_units, case.stated)
    words = f"each channel reaches itself and one other; elsewhere at most {found.leak:.1g}"
    if found.leak_at is not None:
        words = f"channel {found.leak_at[0]} also reaches channel {found.leak_at[1]} ({found.leak:.3g}), beside its partner"
    return Seen(facts=[Fact(found.leak_at is None, words)], traces=[matrix])


def _norm(subject: RotarySubject, case: RotaryCase) -> Seen:
    query, key = heads(case.stated, SMALL)
    steps = torch.arange(SMALL)
    result = subject.fresh().turn(query, key, steps)[0].double()
    factor = magnitude(case.stated.scaling)
    if case.stated.rotary_dim < case.stated.head_dim and factor != 1.0:
        expected = turned(query, steps, case.known).norm(dim=-1)
    else:
        expected = factor * query.double().norm(dim=-1)
    bound = allowed(query, steps, case).norm(dim=-1)
    what = "length of a head's vector" + ("" if factor == 1.0 else f", {factor:.6g} times that of the input")
    return Seen([Compared(what, result.norm(dim=-1), expected, bound, AXES[:3])], traces=[result])


def _layout(subject: RotarySubject, case: RotaryCase) -> Seen:
    turned_units, found = measured(subject, case)
    matrix = matrices(turned_units, case.stated)
    stated = case.stated
    if found.moved == 0:
        return Seen(facts=[Fact(False, "no channel turns: positions have no effect")], traces=[matrix])
    if found.layout is None:
        return Seen(facts=[Fact(False, "the pairs are those of no known layout")], traces=[matrix])
    facts = [
        Fact(
            stated.layout in (None, found.layout),
            f"it is {found.layout!r}" + (f", {stated.layout!r} was stated" if stated.layout else ""),
        ),
        Fact(
            found.rotary_dim == stated.rotary_dim,
            f"{found.rotary_dim} channels turn, {stated.rotary_dim} were stated",
        ),
        Fact(
            found.rotated_channels == stated.rotated_channels or stated.rotary_dim == stated.head_dim,
            f"the {found.rotated_channels} channels turn, the {stated.rotated_channels} were stated",
        ),
    ]
    note = f"{found.layout!r}, {found.rotary_dim} of {stated.head_dim} channels" + (
        "" if stated.layout else " (none was stated)"
    )
    return Seen(facts=facts, traces=[matrix], note=note)


def _direction(subject: RotarySubject, case: RotaryCase) -> Seen:
    turned_units, found = measured(subject, case)
    way = "plus" if found.sign > 0 else "minus"
    words = "some pairs turn by plus the angle, some by minus" if found.mixed_signs else f"all pairs turn by {way} the angle"
    return Seen(facts=[Fact(not found.mixed_signs, words)], traces=[matrices(turned_units, case.stated)])


def _frequencies(subject: RotarySubject, case: RotaryCase) -> Seen:
    turned_units, found = measured(subject, case)
    matrix = matrices(turned_units, case.stated)
    expected = frequencies(case.known, max(PROBED) + 1)
    if len(found.frequencies) != len(expected):
        words = f"{len(found.frequencies)} pairs turn, {len(expected)} were expected"
        return Seen(facts=[Fact(False, words)], traces=[matrix])
    bound = NOISE / 8 + 16 * 2.0**-24 * expected
    base = found.base(found.rotary_dim)
    note = "" if base is None else f"the ladder of base {base:.5g}"
    compared = Compared("radians per position", found.frequencies, expected, bound, ("pair",))
    return Seen([compared], traces=[matrix], note=note)


def _by_position(subject: RotarySubject, case: RotaryCase) -> Seen:
    turned_units, found = measured(subject, case)
    matrix = matrices(turned_units, case.stated)
    steps = torch.tensor(PROBED)
    settings = case.known.but(
        layout=found.layout or case.known.layout,
        sign=found.sign,
        rotary_dim=found.rotary_dim,
        rotated_channels=found.rotated_channels,
    )
    theta = settings.sign * steps.double().unsqueeze(-1) * found.frequencies
    eye = torch.eye(case.stated.head_dim)[:, None].expand(-1, len(PROBED), -1)[None]
    expected = turned(eye, steps, settings, theta=theta, factor=found.factor)[0].transpose(0, 1)
    bound = torch.full_like(expected, NOISE) + 1e-6 * steps[:, None, None]
    axes = (("position", PROBED), "channel in", "channel out")
    return Seen([Compared("matrix entry beside a rotation by position times frequency", matrix, expected, bound, axes)])


def _factor(subject: RotarySubject, case: RotaryCase) -> Seen:
    turned_units, found = measured(subject, case)
    got, expected = torch.tensor([found.factor]), torch.tensor([magnitude(case.stated.scaling)], dtype=torch.float64)
    compared = Compared("length of a pair after turning by that before", got, expected, 1e-5, (None,))
    return Seen([compared], traces=[matrices(turned_units, case.stated)])


def _alike(subject: RotarySubject, case: RotaryCase) -> Seen:
    (query, _), steps = heads(case.stated, SMALL), torch.arange(SMALL)
    as_query, as_key = subject.fresh().turn(query, query.clone(), steps)
    bound = 2 * allowed(query, steps, case)
    axes = ("row", "head", ("position", range(SMALL)), "channel")
    return Seen([Compared("a vector turned as a key, beside the same as a query", as_key, as_query.double(), bound, axes)])


def _untouched(subject: RotarySubject, case: RotaryCase) -> Seen:
    (query, key), steps = heads(case.stated, SMALL), torch.arange(SMALL)
    before = query.clone(), key.clone(), steps.clone()
    subject.fresh().turn(query, key, steps)
    facts = [
        Fact(torch.equal(now, then), f"{name} was changed in place")
        for name, now, then in zip(("the query", "the key", "positions"), (query, key, steps), before, strict=True)
    ]
    return Seen(facts=facts, traces=[query, key], note="queries, keys and positions are as they were")


def _strides(subject: RotarySubject, case: RotaryCase) -> Seen:
    (query, key), steps = heads(case.stated, SMALL), torch.arange(SMALL)
    across = [x.transpose(1, 2).contiguous().transpose(1, 2) for x in (query, key)]
    return same(subject, "a transposed view, beside the same numbers in order", across, (query, key), steps, case)


def same(
    subject: RotarySubject, what: str, one: list[Tensor], other: tuple[Tensor, Tensor], steps: Tensor, case: RotaryCase
) -> Seen:
    """Two inputs that must give the same numbers at the same positions."""
    got = subject.fresh().turn(one[0], one[1], steps)
    expected = subject.fresh().turn(*other, steps)
    axes = ("row", "head", ("token", range(steps.shape[-1])), "channel")
    return Seen(
        [
            Compared(f"{name}: {what}", g, e.double(), 2 * allowed(x, steps, case), axes)
            for name, g, e, x in zip(("queries", "keys"), got, expected, other, strict=True)
        ]
    )


NEAR = (
    Property("answers-in-kind", "What comes back has the shape, dtype and device of what went in, and is finite", _answers),
    Property("linear", "A sum of vectors is turned as the sum of the turned vectors", _linear),
    Property("no-leak", "A channel reaches its partner and no other", _leak),
    Property("norm", "Turning changes no length", _norm),
    Property("layout", "Pairs, and the channels that turn, are those stated", _layout),
    Property("direction", "All pairs turn the same way round", _direction),
    Property("frequencies", "Pair i turns by the published frequency, scaled as stated", _frequencies),
    Property("by-position", "The angle is the position times the frequency, 0 at position 0", _by_position),
    Property("factor", "Cosine and sine carry the factor of the scaling and no other", _factor),
    Property("queries-and-keys-alike", "A key is turned as a query at the same position", _alike),
    Property("input-untouched", "Inputs are as before the call", _untouched),
    Property("strides", "A view in other strides gives the same", _strides),
)
