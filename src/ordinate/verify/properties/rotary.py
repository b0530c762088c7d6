"""The properties of rotations, and what a rotation is, read off its own numbers.

A rotation is linear, so its matrix at a position says all. The matrix is measured by turning unit vectors; frequencies follow
from angles at 1, 2, 4, ... by unwrapping. Properties about other tokens (offsets, caches, padding, neighbours, earlier calls)
compare the subject with itself, so that a wrong base does not hide whether its cache is right.
"""

from __future__ import annotations

import math
import pickle
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ordinate.verify.adapters.calling import Callee
from ordinate.verify.adapters.rotary import RotarySubject
from ordinate.verify.limits import TimeLimitExceeded
from ordinate.verify.observation import (
    Comparison,
    Fact,
    Observation,
    Property,
    Unsupported,
    describe_error,
    finite_fact,
    unchanged_facts,
)
from ordinate.verify.precision import rotation_error
from ordinate.verify.properties.shared import (
    bfloat16_and_back,
    compile_property,
    copied,
    emptied,
    holds_tensors,
    left_padded,
    module_of,
    only_torch,
    state_dict_property,
)
from ordinate.verify.references.frequency_schedules import cos_sin_factor, trained_context
from ordinate.verify.references.rotation import Layout, RotarySettings, angles, frequencies, pairs, rotated

__all__ = ["ON_DEVICE", "ROTARY", "RotaryCase", "matrices", "measured", "same_far_out"]

PROBED = (0, 1, 2, 3, 4, 5, 6, 7, 8, 16, 32, 64)

"""Positions at which the matrix is looked at: near ones, where float32 is as good as float64, then doublings to unwrap by."""

NOISE = 4e-6  # of matrix entries up to position 64: 64 * 4 * 2^-24 of the angle, and roundings


@dataclass(frozen=True)
class Identified:
    """What the numbers say. `layout` None: the pairs are of no known layout; `frequencies` [P] are signed by `sign`."""

    layout: Layout | None
    rotated_channels: str
    rotary_dim: int
    sign: int
    mixed_signs: bool
    frequencies: Tensor
    factor: float
    leak: float
    leak_at: tuple[int, int] | None
    moved: int

    def base(self, rotary_dim: int) -> float | None:
        """The base of the geometric sequence through the frequencies, or None where they form none."""
        count = len(self.frequencies)
        if count < 2 or bool((self.frequencies <= 0).any()):
            return None
        logs = self.frequencies.log()
        steps = torch.arange(count, dtype=torch.float64) * 2 / rotary_dim
        slope = float((steps * logs).sum() / (steps * steps).sum())
        if float((logs - slope * steps).abs().max()) > 2e-3:
            return None
        return math.exp(-slope)

    def to_dict(self, rotary_dim: int) -> dict[str, Any]:
        """As plain JSON types."""
        base = self.base(rotary_dim)
        return {
            "layout": self.layout or "unknown",
            "rotary_dim": self.rotary_dim,
            "rotated_channels": self.rotated_channels,
            "direction": "mixed" if self.mixed_signs else "plus the angle" if self.sign > 0 else "minus the angle",
            "base": None if base is None else float(f"{base:.5g}"),
            "factor": round(self.factor, 6),
        }


def unit_vectors(settings: RotarySettings, tokens: int) -> Tensor:
    """The D unit vectors spread over batch and heads, each at every token: [ceil(D / H), H, T, D]."""
    rows = math.ceil(settings.head_dim / settings.num_heads)
    eye = torch.eye(settings.head_dim)
    eye = torch.cat((eye, eye[: rows * settings.num_heads - settings.head_dim]))
    return eye.reshape(rows, settings.num_heads, 1, settings.head_dim).repeat(1, 1, tokens, 1)


def matrices(turned: Tensor, settings: RotarySettings) -> Tensor:
    """[T, D in, D out] from the turned unit vectors."""
    rows = turned.flatten(0, 1)[: settings.head_dim]
    return rows.transpose(0, 1).double()


def identify(turned: Tensor, settings: RotarySettings) -> Identified:
    """What turned the unit vectors at `PROBED`, [rows, H, T, D]."""
    matrix = matrices(turned, settings)
    channels = torch.arange(settings.head_dim)
    off_diagonal = matrix.abs().clone()
    off_diagonal[:, channels, channels] = 0
    reach = off_diagonal.amax(0)
    reach = torch.maximum(reach, reach.T)
    partner = reach.argmax(-1)
    turning = reach.amax(-1) > NOISE
    others = reach.clone()
    others[channels, partner] = 0
    leak = float(others.max())
    leak_at = None if leak <= NOISE else divmod(int(others.argmax()), settings.head_dim)
    layout, place, rotary_dim = _find_layout(partner, turning, settings)
    probe = settings.replace(layout=layout or settings.layout_or_half, rotary_dim=rotary_dim, rotated_channels=place)
    first, second = pairs(probe)
    cosines, sines = matrix[:, first, first], matrix[:, first, second]
    factor = float((cosines[1].square() + sines[1].square()).sqrt().median())
    measured = torch.atan2(sines, cosines)
    rates = measured[PROBED.index(1)].clone()
    for index, position in enumerate(PROBED):
        if position in (2, 4, 8, 16, 32, 64):
            rates += torch.remainder(measured[index] - position * rates + math.pi, 2 * math.pi).sub(math.pi) / position
    clear = rates.abs() > NOISE
    positive, negative = bool((rates[clear] > 0).any()), bool((rates[clear] < 0).any())
    sign = -1 if negative and not positive else 1
    return Identified(
        layout, place, rotary_dim, sign, positive and negative, sign * rates, factor, leak, leak_at, int(turning.sum())
    )


def _find_layout(partner: Tensor, turning: Tensor, settings: RotarySettings) -> tuple[Layout | None, str, int]:
    """Layout, which channels turn, and how many: the combination whose pairs agree with every channel that turns."""
    best: tuple[int, Layout, str, int] | None = None
    for rotary_dim in dict.fromkeys((settings.rotary_dim, settings.head_dim, int(turning.sum()) // 2 * 2)):
        if rotary_dim < 2:
            continue
        for place in ("first", "last") if rotary_dim < settings.head_dim else ("first",):
            for layout in ("half", "interleaved"):
                probe = settings.replace(layout=layout, rotary_dim=rotary_dim, rotated_channels=place)
                first, second = pairs(probe)
                expected = torch.full_like(partner, -1)
                expected[first], expected[second] = second, first
                if bool((expected[turning] == partner[turning]).all()) and bool(turning.any()):
                    score = int((turning & (expected >= 0)).sum()) * 2 - rotary_dim
                    if best is None or score > best[0]:
                        best = (score, probe.layout_or_half, place, rotary_dim)
    if best is None:
        return None, settings.rotated_channels, settings.rotary_dim
    return best[1], best[2], best[3]


SMALL = 12

"""Tokens of an ordinary probe."""


@dataclass(frozen=True)
class RotaryCase:
    """The settings as stated, and `known`: the same with layout, direction and base as identified where nothing was stated."""

    stated: RotarySettings
    known: RotarySettings

    @classmethod
    def of(cls, stated: RotarySettings, identified: Identified | None) -> RotaryCase:
        """What is known after looking at a subject."""
        if identified is None:
            return cls(stated, stated)
        base = stated.base if stated.base is not None else identified.base(stated.rotary_dim) or 10000.0
        known = stated.replace(
            layout=identified.layout or stated.layout_or_half, sign=identified.sign, base=base, stated_layout=stated.layout
        )
        return cls(stated, known)

    @property
    def trained(self) -> int | None:
        """Tokens past which the frequencies change with the length; None where they never do."""
        return trained_context(self.stated.scaling)

    @property
    def long(self) -> int:
        """Tokens of a long row: past the trained context where there is one."""
        return 40 if self.trained is None else self.trained + 8


def heads(settings: RotarySettings, tokens: int, *, batch: int = 2, seed: int = 1) -> tuple[Tensor, Tensor]:
    """Queries and keys [B, H, T, D], float32."""
    generator = torch.Generator().manual_seed(seed)
    query, key = torch.randn(2, batch, settings.num_heads, tokens, settings.head_dim, generator=generator)
    return query, key


def measured(subject: RotarySubject, case: RotaryCase) -> tuple[Tensor, Identified]:
    """The unit vectors turned at `PROBED` [rows, H, T, D], and what that says; once for all properties."""
    if subject.measured is None:
        x = unit_vectors(case.stated, len(PROBED))
        query, _ = subject.fresh().at(x, x.clone(), torch.tensor(PROBED))
        subject.measured = query, identify(query, case.stated)
    result: tuple[Tensor, Identified] = subject.measured
    return result


def allowed(
    x: Tensor, positions: Tensor, case: RotaryCase, dtype: torch.dtype = torch.float32, rates: Tensor | None = None
) -> Tensor:
    """Difference allowed of x [B, H, T, D] turned at positions [T] or [B, T]: the pair's length times `rotation_error`.

    Channels that do not turn are allowed what rounding to `dtype` costs; `rates` are the frequencies, by default those known.
    """
    known = case.known
    far = positions if positions.ndim == 1 else positions.amax(0)
    error = cos_sin_factor(known.scaling) * rotation_error(
        far, frequencies(known) if rates is None else rates, dtype, known.angles
    )
    first, second = pairs(known)
    length = (x[..., first].double().square() + x[..., second].double().square()).sqrt()
    result = x.double().abs() * torch.finfo(dtype).eps + 1e-12
    result[..., first] = result[..., second] = length * error + 1e-12
    return result


# near positions ---------------------------------------------------------------------------------------------------------

AXES = ("row", "head", "token", "channel")


def _answers(subject: RotarySubject, case: RotaryCase) -> Observation:
    steps, facts, traces = torch.arange(SMALL), [], []
    for dtype in (torch.float32, torch.bfloat16, torch.float16, torch.float64):
        query, key = (x.to(dtype) for x in heads(case.stated, SMALL))
        fresh = subject.fresh()
        try:
            results = fresh.turn(query, key, steps)
        except Exception as error:
            if isinstance(error, Unsupported) and dtype is not torch.float32 and subject.callee.arrays != "torch":
                continue  # its library has no such dtype
            if dtype is torch.float32 or isinstance(error, Unsupported):
                raise
            facts.append(Fact(False, f"{dtype}: it raises {describe_error(error, 160)}"))
            continue
        for name, x, result in (("queries", query, results[0]), ("keys", key, results[1])):
            if fresh.callee.foreign_types:
                facts.append(Fact(False, f"{name} came back as {fresh.callee.foreign_types[0]}, not as a tensor"))
            facts.append(Fact(result.shape == x.shape, f"{name} of shape {tuple(x.shape)} came back as {tuple(result.shape)}"))
            facts.append(Fact(result.dtype == dtype, f"{name} of {dtype} came back as {result.dtype}"))
            facts.append(Fact(result.device == x.device, f"{name} on {x.device} came back on {result.device}"))
            facts.append(finite_fact(result, f"numbers of {name} in {dtype}"))
        if dtype is torch.float32:
            traces = [results[0], results[1]]
    return Observation(facts=facts, traces=traces, note="float32, bfloat16, float16 and float64 come back as they went in")


def _linear(subject: RotarySubject, case: RotaryCase) -> Observation:
    (a, b), steps = heads(case.stated, SMALL), torch.arange(SMALL)
    sums = subject.fresh().turn(2 * a - 3 * b, a.clone(), steps)[0]
    apart = [subject.fresh().turn(x.clone(), a.clone(), steps)[0] for x in (a, b)]  # clones: it may write over its input
    bound = allowed(2 * a.abs() + 3 * b.abs(), steps, case) * 2
    # whichever channels it turns, and with whichever frequencies, a sum costs roundings of the whole vector's length
    length = (2 * a.abs() + 3 * b.abs()).double().norm(dim=-1, keepdim=True)
    bound = torch.maximum(bound, 8 * torch.finfo(torch.float32).eps * length)
    return Observation(
        [Comparison("f(2a - 3b) beside 2f(a) - 3f(b)", sums, (2 * apart[0] - 3 * apart[1]).double(), bound, AXES)]
    )


def _leak(subject: RotarySubject, case: RotaryCase) -> Observation:
    unit_vectors_turned, identified = measured(subject, case)
    matrix = matrices(unit_vectors_turned, case.stated)
    says = f"each channel reaches itself and one other; elsewhere at most {identified.leak:.1g}"
    if identified.leak_at is not None:
        source, target = identified.leak_at
        says = f"channel {source} also reaches channel {target} ({identified.leak:.3g}), beside its partner"
    return Observation(facts=[Fact(identified.leak_at is None, says)], traces=[matrix])


def _norm(subject: RotarySubject, case: RotaryCase) -> Observation:
    query, key = heads(case.stated, SMALL)
    steps = torch.arange(SMALL)
    result = subject.fresh().turn(query, key, steps)[0].double()
    factor = cos_sin_factor(case.stated.scaling)
    if case.stated.rotary_dim < case.stated.head_dim and factor != 1.0:
        expected = rotated(query, steps, case.known).norm(dim=-1)
    else:
        expected = factor * query.double().norm(dim=-1)
    bound = allowed(query, steps, case).norm(dim=-1)
    what = "length of a head's vector" + ("" if factor == 1.0 else f", {factor:.6g} times that of the input")
    return Observation([Comparison(what, result.norm(dim=-1), expected, bound, AXES[:3])], traces=[result])


def _layout(subject: RotarySubject, case: RotaryCase) -> Observation:
    unit_vectors_turned, identified = measured(subject, case)
    matrix = matrices(unit_vectors_turned, case.stated)
    stated = case.stated
    if identified.moved == 0:
        return Observation(facts=[Fact(False, "no channel turns: positions have no effect")], traces=[matrix])
    if identified.layout is None:
        return Observation(facts=[Fact(False, "the pairs are those of no known layout")], traces=[matrix])
    facts = [
        Fact(
            stated.layout in (None, identified.layout),
            f"it is {identified.layout!r}" + (f", {stated.layout!r} was stated" if stated.layout else ""),
        ),
        Fact(
            identified.rotary_dim == stated.rotary_dim,
            f"{identified.rotary_dim} channels turn, {stated.rotary_dim} were stated",
        ),
        Fact(
            identified.rotated_channels == stated.rotated_channels or stated.rotary_dim == stated.head_dim,
            f"the {identified.rotated_channels} channels turn, the {stated.rotated_channels} were stated",
        ),
    ]
    note = f"{identified.layout!r}, {identified.rotary_dim} of {stated.head_dim} channels" + (
        "" if stated.layout else " (none was stated)"
    )
    return Observation(facts=facts, traces=[matrix], note=note)


def _direction(subject: RotarySubject, case: RotaryCase) -> Observation:
    unit_vectors_turned, identified = measured(subject, case)
    way = "plus" if identified.sign > 0 else "minus"
    says = (
        "some pairs turn by plus the angle, some by minus" if identified.mixed_signs else f"all pairs turn by {way} the angle"
    )
    return Observation(facts=[Fact(not identified.mixed_signs, says)], traces=[matrices(unit_vectors_turned, case.stated)])


def _frequencies(subject: RotarySubject, case: RotaryCase) -> Observation:
    unit_vectors_turned, identified = measured(subject, case)
    matrix = matrices(unit_vectors_turned, case.stated)
    expected = frequencies(case.known, max(PROBED) + 1)
    if len(identified.frequencies) != len(expected):
        says = f"{len(identified.frequencies)} pairs turn, {len(expected)} were expected"
        return Observation(facts=[Fact(False, says)], traces=[matrix])
    bound = NOISE / 8 + 16 * 2.0**-24 * expected
    base = identified.base(identified.rotary_dim)
    note = "" if base is None else f"the frequencies of base {base:.5g}"
    comparison = Comparison("radians per position", identified.frequencies, expected, bound, ("pair",))
    return Observation([comparison], traces=[matrix], note=note)


def _by_position(subject: RotarySubject, case: RotaryCase) -> Observation:
    unit_vectors_turned, identified = measured(subject, case)
    matrix = matrices(unit_vectors_turned, case.stated)
    steps = torch.tensor(PROBED)
    settings = case.known.replace(
        layout=identified.layout or case.known.layout,
        sign=identified.sign,
        rotary_dim=identified.rotary_dim,
        rotated_channels=identified.rotated_channels,
    )
    theta = settings.sign * steps.double().unsqueeze(-1) * identified.frequencies
    eye = torch.eye(case.stated.head_dim)[:, None].expand(-1, len(PROBED), -1)[None]
    expected = rotated(eye, steps, settings, theta=theta, factor=identified.factor)[0].transpose(0, 1)
    bound = torch.full_like(expected, NOISE) + 1e-6 * steps[:, None, None]
    axes = (("position", PROBED), "channel in", "channel out")
    return Observation(
        [Comparison("matrix entry beside a rotation by position times frequency", matrix, expected, bound, axes)]
    )


def _factor(subject: RotarySubject, case: RotaryCase) -> Observation:
    unit_vectors_turned, identified = measured(subject, case)
    got, expected = torch.tensor([identified.factor]), torch.tensor([cos_sin_factor(case.stated.scaling)], dtype=torch.float64)
    comparison = Comparison("length of a pair after turning by that before", got, expected, 1e-5, (None,))
    return Observation([comparison], traces=[matrices(unit_vectors_turned, case.stated)])


def _alike(subject: RotarySubject, case: RotaryCase) -> Observation:
    (query, _), steps = heads(case.stated, SMALL), torch.arange(SMALL)
    as_query, as_key = subject.fresh().turn(query, query.clone(), steps)
    bound = 2 * allowed(query, steps, case)
    axes = ("row", "head", ("position", range(SMALL)), "channel")
    return Observation(
        [Comparison("a vector turned as a key, beside the same as a query", as_key, as_query.double(), bound, axes)]
    )


def _untouched(subject: RotarySubject, case: RotaryCase) -> Observation:
    (query, key), steps = heads(case.stated, SMALL), torch.arange(SMALL)
    inputs = query, key, steps
    before = [x.clone() for x in inputs]
    subject.fresh().turn(query, key, steps)
    names = ("the query was", "the key was", "positions were")
    return unchanged_facts(names, inputs, before, "queries, keys and positions are as they were")


def _strides(subject: RotarySubject, case: RotaryCase) -> Observation:
    (query, key), steps = heads(case.stated, SMALL), torch.arange(SMALL)
    across = [x.transpose(1, 2).contiguous().transpose(1, 2) for x in (query, key)]
    return same(subject, "a transposed view, beside the same numbers in order", across, (query, key), steps, case)


def same(
    subject: RotarySubject, what: str, one: list[Tensor], other: tuple[Tensor, Tensor], steps: Tensor, case: RotaryCase
) -> Observation:
    """Two inputs that must give the same numbers at the same positions."""
    got = subject.fresh().turn(one[0], one[1], steps)
    expected = subject.fresh().turn(*other, steps)
    axes = ("row", "head", ("token", range(steps.shape[-1])), "channel")
    return Observation(
        [
            Comparison(f"{name}: {what}", g, e.double(), 2 * allowed(x, steps, case), axes)
            for name, g, e, x in zip(("queries", "keys"), got, expected, other, strict=True)
        ]
    )


# among other tokens -----------------------------------------------------------------------------------------------------

Both = tuple[Tensor, Tensor]


def _compared(what: str, got: Both, expected: Both, inputs: Both, positions: Tensor, case: RotaryCase) -> list[Comparison]:
    labels = positions.tolist() if positions.ndim == 1 else range(positions.shape[-1])
    axes = ("row", "head", ("position" if positions.ndim == 1 else "token", labels), "channel")
    return [
        Comparison(f"{name} {what}", g, e.double(), 2 * allowed(x, positions, case), axes)
        for name, g, e, x in zip(("queries", "keys"), got, expected, inputs, strict=True)
    ]


def _cut(both: Both, start: int, end: int) -> Both:
    return both[0][:, :, start:end], both[1][:, :, start:end]


def _distance(subject: RotarySubject, case: RotaryCase) -> Observation:
    query, key = heads(case.stated, 6, batch=1)
    steps = torch.arange(6)
    near = _scores(subject.fresh().at(query, key, steps))
    shifts = [1, 100] if case.trained is not None else [1, 100, 4096]
    last = case.stated.positions if case.trained is None else case.trained
    shifts = [shift for shift in shifts if shift + 6 <= last]
    comparisons, ended = [], ""
    for shift in shifts:
        try:
            far = _scores(subject.fresh().at(query, key, steps + shift))
        except Exception as error:  # a table ends somewhere, and then it is right to say so
            if shift <= 256 or isinstance(error, Unsupported):
                raise
            ended = f"; at {shift} it raises {describe_error(error, 100)}"
            break
        axes = ("row", "head", ("query", range(6)), ("key", range(6)))
        what = f"score after a shift by {shift}, beside the score before"
        comparisons.append(Comparison(what, far, near, _score_bound(query, key, steps, shift, case), axes))
    largest = max((one.largest_difference for one in comparisons), default=0)
    note = f"shifted by {', '.join(map(str, shifts[: len(comparisons)]))}: at most {largest:.1g} apart{ended}"
    return Observation(comparisons, note=note)


def _scores(both: Both) -> Tensor:
    return both[0].double() @ both[1].double().transpose(-1, -2)


def _score_bound(query: Tensor, key: Tensor, steps: Tensor, shift: int, case: RotaryCase) -> Tensor:
    """Sum over pairs of the lengths of both times the errors of both: [1, H, T, T]."""
    known = case.known
    error = rotation_error(steps + shift, frequencies(known), torch.float32, known.angles)
    error = error + rotation_error(steps, frequencies(known), torch.float32, known.angles)
    error = error * cos_sin_factor(known.scaling) ** 2
    first, second = pairs(known)
    lengths = [(x[..., first].double().square() + x[..., second].double().square()).sqrt() for x in (query, key)]
    return (lengths[0] * error) @ lengths[1].transpose(-1, -2) + lengths[0] @ (lengths[1] * error).transpose(-1, -2) + 1e-5


def _decode(subject: RotarySubject, case: RotaryCase) -> Observation:
    """A prefill, then tokens one by one on the same object; keys as they would lie in a cache."""
    length = SMALL if case.trained is None else case.long
    first = 7 if case.trained is None else case.trained - 3
    inputs, steps = heads(case.stated, length, batch=1), torch.arange(length)
    whole, running = subject.fresh().turn(*inputs, steps), subject.fresh()
    parts = [running.turn(*_cut(inputs, 0, first), steps[:first])]
    parts += [running.turn(*_cut(inputs, t, t + 1), steps[t : t + 1]) for t in range(first, length)]
    got = torch.cat([q for q, _ in parts], 2), torch.cat([k for _, k in parts], 2)
    what = f"of {first} tokens at once and the rest one by one, beside the whole row"
    return Observation(_compared(what, got, whole, inputs, steps, case))


def _offset(subject: RotarySubject, case: RotaryCase) -> Observation:
    """The same length at several offsets on one object: what is cached for one must not be given for another."""
    length = 48 if case.trained is None else min(48, case.trained)
    inputs, steps = heads(case.stated, length, batch=1), torch.arange(length)
    whole, running, comparisons = subject.fresh().turn(*inputs, steps), subject.fresh(), []
    for start in (0, 5, 37, 5):
        end = min(start + 4, length)
        got = running.turn(*_cut(inputs, start, end), steps[start:end])
        part = _cut(inputs, start, end)
        comparisons += _compared(
            f"of {end - start} tokens that start at {start}", got, _cut(whole, start, end), part, steps[start:end], case
        )
    return Observation(comparisons, note="chunks of four tokens at offsets 0, 5, 37 and 5 again are those of the whole row")


def _padding(subject: RotarySubject, case: RotaryCase) -> Observation:
    inputs = heads(case.stated, 9)
    _, positions = left_padded()
    padded = subject.fresh().turn(*inputs, positions)
    alone = subject.fresh().turn(inputs[0][1:, :, 4:], inputs[1][1:, :, 4:], torch.arange(5))
    got = padded[0][1:, :, 4:], padded[1][1:, :, 4:]
    real = inputs[0][1:, :, 4:], inputs[1][1:, :, 4:]
    return Observation(
        _compared("of a row behind four tokens of padding, beside the row alone", got, alone, real, torch.arange(5), case)
    )


def _packing(subject: RotarySubject, case: RotaryCase) -> Observation:
    if not subject.scattered:
        raise Unsupported("it takes no positions, so packed documents cannot restart")
    query, key = heads(case.stated, 5)
    inputs = torch.cat((query, query), 2), torch.cat((key, key), 2)
    packed = subject.fresh().turn(*inputs, torch.arange(10) % 5)
    return Observation(
        _compared(
            "of the second of two equal documents", _cut(packed, 5, 10), _cut(packed, 0, 5), (query, key), torch.arange(5), case
        )
    )


def _neighbour(subject: RotarySubject, case: RotaryCase) -> Observation:
    inputs, steps = heads(case.stated, 9), torch.arange(9)
    alone = subject.fresh().turn(inputs[0][:1], inputs[1][:1], steps)
    row = inputs[0][:1], inputs[1][:1]
    other = (inputs[0].clone(), inputs[1].clone())
    other[0][1] *= 1000
    comparisons = _compared(
        "of a row beside large numbers", _first(subject.fresh().turn(*other, steps)), alone, row, steps, case
    )
    far = torch.stack((steps, steps + case.long))
    try:
        beside = subject.fresh().turn(*inputs, far)
    except Exception as error:
        if isinstance(error, Unsupported) or case.trained is not None:
            return Observation(comparisons, note="beside another row of the same positions (it takes no others)")
        raise
    what = f"of a row beside one that reaches position {int(far.max())}"
    return Observation(comparisons + _compared(what, _first(beside), alone, row, steps, case))


def _first(both: Both) -> Both:
    return both[0][:1], both[1][:1]


def _earlier(subject: RotarySubject, case: RotaryCase) -> Observation:
    short, steps = heads(case.stated, SMALL), torch.arange(SMALL)
    running = subject.fresh()
    first = running.turn(*short, steps)
    for length in (case.long, 3):
        running.turn(*heads(case.stated, length, batch=1, seed=2), torch.arange(length))
    again = running.turn(*short, steps)
    return Observation(
        _compared(f"of a short row after one of {case.long} tokens, beside the same before", again, first, short, steps, case)
    )


def _earlier_dtype(subject: RotarySubject, case: RotaryCase) -> Observation:
    length = 264  # past the 256 whole numbers that bfloat16 holds
    inputs, steps = heads(case.stated, length, batch=1), torch.arange(length)
    if case.trained is not None and case.trained < length:
        raise Unsupported("the trained context is shorter than what shows this")
    running, comparisons = subject.fresh(), []
    running.turn(inputs[0].bfloat16(), inputs[1].bfloat16(), steps)
    for cut in (length, length - 3):
        part = _cut(inputs, 0, cut)
        expected = subject.fresh().turn(*part, steps[:cut])
        got = running.turn(*part, steps[:cut])
        what = f"in float32 after {length} tokens in bfloat16, beside the same without"
        comparisons += _compared(f"of {cut} tokens {what}", got, expected, part, steps[:cut], case)
    return Observation(comparisons)


def _equal_sizes(subject: RotarySubject, case: RotaryCase) -> Observation:
    size = case.stated.num_heads
    inputs, steps = heads(case.stated, SMALL, batch=size), torch.arange(SMALL)
    whole = subject.fresh().turn(*inputs, steps)
    cut = _cut(inputs, 0, size)
    got = subject.fresh().turn(*cut, steps[:size])
    what = f"of {size} rows with {size} heads and {size} tokens, beside a longer row"
    return Observation(_compared(what, got, _cut(whole, 0, size), cut, steps[:size], case))


def _one_token(subject: RotarySubject, case: RotaryCase) -> Observation:
    inputs, steps = heads(case.stated, SMALL), torch.arange(SMALL)
    whole = subject.fresh().turn(*inputs, steps)
    got = subject.fresh().turn(*_cut(inputs, 0, 1), steps[:1])
    comparisons = _compared("of a row of one token", got, _cut(whole, 0, 1), _cut(inputs, 0, 1), steps[:1], case)
    if subject.form.takes != "nothing":  # decoding: one token in every row of the batch, behind others
        got = subject.fresh().turn(*_cut(inputs, 5, 6), steps[5:6])
        comparisons += _compared("of one token a row", got, _cut(whole, 5, 6), _cut(inputs, 5, 6), steps[5:6], case)
    return Observation(comparisons)


# precision, modules, gradients ------------------------------------------------------------------------------------------

FAR = (0, 255, 256, 257, 511, 4095, 4097, 32_767, 65_537, 131_071)

"""Positions at which the formats in use run out: 256 in bfloat16, 2,048 in float16, 32,768 in int16, 65,536 in uint16."""


def _reachable(subject: RotarySubject, case: RotaryCase) -> list[int]:
    last = case.stated.positions
    if case.trained is not None:
        last = min(last, case.trained - 1)
    if subject.form.takes == "nothing":
        last = min(last, 4097)
    return [position for position in FAR if position <= last]


def _needs_near(subject: RotarySubject, case: RotaryCase) -> None:
    _, identified = measured(subject, case)
    expected = frequencies(case.known)
    near = len(identified.frequencies) == len(expected) and torch.allclose(
        identified.frequencies, expected, atol=1e-5, rtol=1e-3
    )
    if not near or identified.layout is None:
        raise Unsupported("near positions are off already, so far ones say nothing")


def _pairs_of(query: Tensor, case: RotaryCase) -> Tensor:
    first, second = pairs(case.known)
    return torch.complex(query[..., first].double(), query[..., second].double())


def _far(subject: RotarySubject, case: RotaryCase) -> Observation:
    """Angle by angle: the unit pair (1, 0) is turned, so what comes back is cosine and sine."""
    _needs_near(subject, case)
    x = torch.zeros(1, case.stated.num_heads, 1, case.stated.head_dim)
    x[..., pairs(case.known)[0]] = 1.0
    rows, reached, ended = [], [], ""
    fresh = subject.fresh()
    for position in _reachable(subject, case):
        try:
            query, _ = fresh.at(x, x.clone(), torch.tensor([position]))
        except Exception as error:
            if position <= 256 or isinstance(error, Unsupported):
                raise
            ended = f"; at {position} it raises {describe_error(error, 100)}"
            break
        rows.append(_pairs_of(query, case)[0, 0, 0])
        reached.append(position)
    steps = torch.tensor(reached)
    got, factor = torch.stack(rows), cos_sin_factor(case.stated.scaling)
    expected = torch.polar(torch.full_like(got.real, factor), angles(case.known, steps, 1))
    bound = factor * rotation_error(steps, frequencies(case.known), torch.float32, case.known.angles)
    axes = (("position", reached), "pair")
    comparisons = [
        Comparison(f"{name} of the angle", part(got), part(expected), bound, axes)
        for name, part in (("cosine", torch.real), ("sine", torch.imag))
    ]
    off = (got - expected).abs().amax(-1) / factor
    errors = [(position, float(e)) for position, e in zip(reached, off, strict=True) if position in (4095, 32_767, 131_071)]
    note = "angle error " + ", ".join(f"{e:.1g} at {position:,}" for position, e in errors or [(reached[-1], float(off[-1]))])
    formed = "as angles in float32 may have" if float(off[-1]) > 1e-6 else "as of angles formed in float64"
    return Observation(comparisons, note=f"{note}, {formed}{ended}")


def _half(subject: RotarySubject, case: RotaryCase) -> Observation:
    _needs_near(subject, case)
    query, key = (x.bfloat16() for x in heads(case.stated, 1, batch=1))
    last = _reachable(subject, case)
    reached, results = [], []
    fresh = subject.fresh()
    for position in last:
        try:
            result = fresh.at(query, key, torch.tensor([position]))
        except Exception as error:
            if position <= 256 or isinstance(error, Unsupported):
                raise
            break
        reached.append(position)
        results.append(result[0])
    steps = torch.tensor(reached)
    got = torch.cat(results, 2)
    inputs = query.expand(-1, -1, len(reached), -1)
    expected = rotated(inputs, steps, case.known, theta=angles(case.known, steps, 1))
    bound = allowed(inputs, steps, case, torch.bfloat16) + inputs.double().abs() * 2.0**-7
    axes = ("row", "head", ("position", reached), "channel")
    comparison = Comparison("a query in bfloat16 beside its rotation in float64", got, expected, bound, axes)
    return Observation(
        [comparison],
        note=f"largest difference {comparison.largest_difference:.2g} up to position {reached[-1]:,}, rounding of values alone",
    )


def _cast(subject: RotarySubject, case: RotaryCase) -> Observation:
    if not holds_tensors(module_of(subject.callee)):
        return Observation(facts=[Fact(True, "the module holds no tensor that a cast could change")])
    last = max(_reachable(subject, case))
    try:
        inputs, steps, expected = _at_some(subject, case, last)
    except Exception as error:  # a table that ends before
        if last <= 257 or isinstance(error, Unsupported):
            raise
        inputs, steps, expected = _at_some(subject, case, 257)
    got = subject.calling(bfloat16_and_back(subject.callee)).at(*inputs, steps)
    axes = ("row", "head", ("position", steps.tolist()), "channel")
    bound = 2 * allowed(inputs[0], steps, case)
    return Observation(
        [Comparison("queries after module.bfloat16().float(), beside before", got[0], expected[0].double(), bound, axes)]
    )


def _at_some(subject: RotarySubject, case: RotaryCase, last: int) -> tuple[Both, Tensor, Both]:
    """Inputs, positions near and far up to the last, and both turned."""
    steps = torch.tensor([p for p in (0, 1, 7, 257, 4097, 30_000) if p <= last])
    inputs = heads(case.stated, len(steps), batch=1)
    return inputs, steps, subject.fresh().at(*inputs, steps)


def _beside(subject: RotarySubject, callee: Callee, case: RotaryCase, what: str, exactly: bool = False) -> Observation:
    inputs, steps = heads(case.stated, SMALL, batch=1), torch.arange(SMALL)
    expected, got = subject.fresh().turn(*inputs, steps), subject.calling(callee).turn(*inputs, steps)
    axes = ("row", "head", ("position", steps.tolist()), "channel")
    bound = 0.0 if exactly else 2 * allowed(inputs[0], steps, case)
    return Observation([Comparison(what, got[0], expected[0].double(), bound, axes)])


def _meta(subject: RotarySubject, case: RotaryCase) -> Observation:
    what = "queries after to('meta'), to_empty and load_state_dict, beside before"
    return _beside(subject, emptied(subject.callee), case, what)


def _copies(subject: RotarySubject, case: RotaryCase) -> Observation:
    return _beside(subject, copied(subject.callee), case, "queries of a copy", exactly=True)


def _pickled(subject: RotarySubject, case: RotaryCase) -> Observation:
    if not subject.callee.copies:
        raise Unsupported("a function has no state to pickle")
    try:
        saved = pickle.dumps(subject.callee.owner)
    except Exception as error:
        raise Unsupported(f"it cannot be pickled: {' '.join(str(error).split())[:100]}") from None
    return _beside(subject, subject.callee.with_owner(pickle.loads(saved)), case, "queries of a pickle", exactly=True)


def _gradients(subject: RotarySubject, case: RotaryCase) -> Observation:
    """The gradient of <w, f(x)> is the rotation of w backwards; both are seen through f alone: <w, f(x)> = <grad, x>."""
    only_torch(subject)
    (query, key), steps = heads(case.stated, SMALL, batch=1), torch.arange(SMALL)
    weight, probe = heads(case.stated, SMALL, batch=1, seed=5)
    query = query.requires_grad_()
    result = subject.fresh().turn(query, key, steps)[0]
    if not result.requires_grad:
        return Observation(facts=[Fact(False, "the result carries no gradient")])
    (gradient,) = torch.autograd.grad((weight * result).sum(), query)
    moved = subject.fresh().turn(probe, key, steps)[0]
    got = (gradient * probe).double().sum((0, 1, 3))
    expected = (weight * moved).double().sum((0, 1, 3)).detach()
    bound = (weight.double().abs() * allowed(probe, steps, case)).sum((0, 1, 3)) * 4 + 1e-4
    what = "the gradient's product with a vector, beside the same through the function"
    return Observation([Comparison(what, got, expected, bound, (("position", range(SMALL)),))])


def _at_length(subject: RotarySubject, compiled: RotarySubject, case: RotaryCase, length: int) -> Comparison:
    inputs, steps = heads(case.stated, length), torch.arange(length)
    expected, got = subject.fresh().turn(*inputs, steps)[0], compiled.turn(*inputs, steps)[0]
    axes = ("row", "head", ("position", range(length)), "channel")
    return Comparison(f"compiled queries of {length} tokens", got, expected.double(), 2 * allowed(inputs[0], steps, case), axes)


def same_far_out(subject: RotarySubject, suspect: RotarySubject, case: RotaryCase) -> bool:
    """Whether both turn a vector alike at far positions, where slow pairs have turned too, as far as both answer."""
    if subject.measured is None:
        return True
    identified = subject.measured[1].frequencies
    known = frequencies(case.known)
    rates = torch.maximum(known, identified) if known.shape == identified.shape else known.amax().expand_as(known)
    x = torch.ones(1, case.stated.num_heads, 1, case.stated.head_dim)
    subject, suspect = subject.fresh(), suspect.fresh()
    for position in _reachable(subject, case):
        steps = torch.tensor([position])
        try:
            one, other = (both.at(x, x.clone(), steps)[0].double() for both in (subject, suspect))
        except (Exception, TimeLimitExceeded):
            return True
        if known.shape != identified.shape:
            bound = torch.full_like(one, float(rotation_error(steps, rates, torch.float32).max()))
        else:
            bound = allowed(x, steps, case, rates=rates)
        if not bool(((one - other).abs() <= 8 * bound + 1e-6 * other.abs()).all()):
            return False
    return True


# what devices show ------------------------------------------------------------------------------------------------------

Turned = tuple[list[Tensor], Both, Tensor]


def _on_device(subject: RotarySubject, case: RotaryCase) -> Turned:
    """Inputs on the device, both turned there at positions from 0, and the positions; the meta device has no numbers."""
    if subject.callee.device.type == "meta":
        raise Unsupported("the meta device has no numbers")
    inputs, steps = [x.to(subject.callee.device) for x in heads(case.stated, SMALL)], torch.arange(SMALL)
    return inputs, subject.fresh().turn(inputs[0], inputs[1], steps), steps


def _launches(subject: RotarySubject, case: RotaryCase) -> Observation:
    """No token and one token, of one row and of none."""
    inputs = [x.to(subject.callee.device) for x in heads(case.stated, SMALL)]
    facts = []
    for what, rows, tokens in (("rows", 2, SMALL), ("one token", 2, 1), ("one token of one row", 1, 1), ("no token", 2, 0)):
        query, key = (x[:rows, :, :tokens] for x in inputs)
        try:
            turned = subject.fresh().turn(query, key, torch.arange(tokens))
        except Unsupported:
            raise
        except Exception as error:
            facts.append(Fact(False, f"it raises for {what}: {describe_error(error, 160)}"))
            continue
        right = all(one.shape == query.shape and one.dtype == query.dtype for one in turned)
        facts.append(Fact(right, f"{what} {tuple(query.shape)} came back as {tuple(turned[0].shape)}, {turned[0].dtype}"))
    return Observation(facts=facts, note="shapes and dtypes of launches of 24 tokens to none are right")


def _again(subject: RotarySubject, case: RotaryCase) -> Observation:
    inputs, whole, steps = _on_device(subject, case)
    again = [subject.fresh().turn(inputs[0], inputs[1], steps) for _ in range(3)]
    same = all(torch.equal(one, other) for both in again for one, other in zip(both, whole, strict=True))
    return Observation(facts=[Fact(same, "the same call gives other bits")], note="three more calls give the same bits")


def _addresses(subject: RotarySubject, case: RotaryCase) -> Observation:
    """Inputs 4 bytes past an alignment of 16, tokens before heads, channels out of wider rows, one row for the whole batch."""
    inputs, whole, steps = _on_device(subject, case)
    made = {
        "at an odd address": [torch.cat((x.new_zeros(1), x.flatten()))[1:].view(x.shape) for x in inputs],
        "with tokens before heads": [x.transpose(1, 2).contiguous().transpose(1, 2) for x in inputs],
        "out of wider rows": [torch.cat((x, x[..., :3]), -1)[..., : x.shape[-1]] for x in inputs],
    }
    comparisons = []
    for what, (query, key) in made.items():
        got = subject.fresh().turn(query, key, steps)
        comparisons += _compared(what, got, whole, _on_cpu(inputs), steps, case)
    row = [x[:1] for x in inputs]
    shared = subject.fresh().turn(row[0].expand(2, -1, -1, -1), row[1].expand(2, -1, -1, -1), steps)
    alone = [one[:1].expand(2, -1, -1, -1) for one in whole]
    beside = _on_cpu([x.expand(2, -1, -1, -1) for x in row])
    return Observation(
        [*comparisons, *_compared("of one row for the batch", shared, (alone[0], alone[1]), beside, steps, case)]
    )


MANY_ROWS = 1 << 16
"""Past the 65,535 blocks that CUDA allows in the second and third axis of a launch."""


def _rows(subject: RotarySubject, case: RotaryCase) -> Observation:
    """One row beside many, and the last of more rows and heads than a launch has blocks."""
    inputs, whole, steps = _on_device(subject, case)
    row = [x[:1] for x in inputs]
    alone = _compared("of one row alone", subject.fresh().turn(row[0], row[1], steps), _first(whole), _on_cpu(row), steps, case)
    many = [x[:1, :, 1:2].expand(MANY_ROWS // x.shape[1] + 1, -1, -1, -1).contiguous() for x in inputs]
    got = subject.fresh().turn(many[0], many[1], steps[1:2] if subject.scattered else steps[:1])
    one = subject.fresh().turn(many[0][:1], many[1][:1], steps[1:2] if subject.scattered else steps[:1])
    last = (got[0][-1:], got[1][-1:])
    return Observation([*alone, *_compared(f"of the last of {len(many[0])} rows", last, one, _on_cpu([x[:1] for x in many]),
                                           steps[1:2], case)])  # fmt: skip


def _head_sizes(subject: RotarySubject, case: RotaryCase) -> Observation:
    """Heads of other sizes than powers of two, by the reference."""
    known = case.known
    if subject.callee.device.type == "meta":
        raise Unsupported("the meta device has no numbers")
    if subject.callee.module is not None or known.scaling is not None or known.rotary_dim != known.head_dim:
        raise Unsupported("it is made for heads of one size")
    comparisons, steps = [], torch.arange(SMALL)
    for head_dim in (24, 40, 80, 96):
        other = known.replace(head_dim=head_dim, rotary_dim=head_dim)
        resized = RotarySubject(subject.callee.fresh(), subject.form, other)
        x = heads(other, SMALL)[0]
        try:
            got = resized.turn(x.to(subject.callee.device), x.to(subject.callee.device), steps)[0]
        except Exception as error:
            raise Unsupported(f"it refuses heads of {head_dim}: {describe_error(error, 80)}") from None
        axes = ("row", "head", ("position", steps.tolist()), "channel")
        bound = 2 * allowed(x, steps, RotaryCase(other, other))
        comparisons.append(Comparison(f"heads of {head_dim} channels", got, rotated(x, steps, other), bound, axes))
    return Observation(comparisons)


def _streams(subject: RotarySubject, case: RotaryCase) -> Observation:
    """On a stream of its own, behind work that is still running there, the subject waits for its inputs."""
    inputs, whole, steps = _on_device(subject, case)
    module = torch.get_device_module(subject.callee.device)
    if not hasattr(module, "Stream") or subject.callee.device.type == "cpu":
        raise Unsupported("the device has no streams")
    stream = module.Stream(subject.callee.device)
    stream.wait_stream(module.current_stream(subject.callee.device))
    with module.stream(stream):
        late = [torch.full_like(x, float("nan")) for x in inputs]
        busy = torch.ones(2048, 2048, device=subject.callee.device)
        for _ in range(20):
            busy = (busy @ busy).clamp(max=1.0)
        for x, arriving in zip(late, inputs, strict=True):
            x.copy_(arriving + 0 * busy[0, 0])
        got = subject.fresh().turn(late[0], late[1], steps)
    stream.synchronize()
    return Observation(_compared("on another stream", got, whole, _on_cpu(inputs), steps, case))


def _on_cpu(inputs: list[Tensor]) -> Both:
    return inputs[0].cpu(), inputs[1].cpu()


ON_DEVICE = (
    Property("launches", "Launches of no token, of one and of more come back in the right shape", _launches),
    Property("repeats", "The same call gives the same bits", _again),
    Property("addresses", "Alignments and strides have no effect", _addresses),
    Property("many-rows", "One row and more rows than a launch has blocks are turned alike", _rows),
    Property("head-sizes", "Heads off the powers of two are turned as published", _head_sizes),
    Property("streams", "On another stream it waits for its inputs", _streams),
)
"""What is asked besides where the subject does not run on the CPU."""

ROTARY = (
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
    Property("distance-alone", "A score depends on the distance alone", _distance),
    Property("prefill-equals-decode", "A row at once and token by token give the same", _decode),
    Property("offsets", "A chunk that starts at an offset is that part of the row", _offset),
    Property("left-padding", "Padding on the left changes nothing for real tokens", _padding),
    Property("packing", "Two equal documents packed in one row give equal rows", _packing),
    Property("batch-neighbour", "A row does not depend on what stands beside it", _neighbour),
    Property("earlier-calls", "A result does not depend on earlier calls of other lengths", _earlier),
    Property("earlier-dtypes", "A result does not depend on earlier calls in another dtype", _earlier_dtype),
    Property("equal-sizes", "As many heads as tokens as rows confuse no axis", _equal_sizes),
    Property("one-token", "One token a row is that of a longer row", _one_token),
    Property("far-positions", "Angles at far positions are as exact as their arithmetic allows", _far),
    Property("half-precision", "A call in bfloat16 loses the rounding of values alone, however far out", _half),
    Property("module-cast", "A cast of the module and back spoils no angle", _cast, storage=True),
    Property("meta-device", "Built on the meta device and loaded, it is the same", _meta, storage=True),
    state_dict_property,
    Property("copies", "A copy gives every bit again", _copies),
    Property("pickle", "A pickle gives every bit again", _pickled),
    Property("gradients", "The gradient is that of the rotation", _gradients),
    compile_property(_at_length),
)
