"""Where a rotation's tokens stand among others: offsets, caches, padding, packing, neighbours, earlier calls.

Most of these compare the subject with itself, so that a wrong base does not hide whether its cache is right.
"""

from __future__ import annotations

import torch
from torch import Tensor

from ordinate.verify.adapters.rotary import RotarySubject
from ordinate.verify.precision import rotation_error
from ordinate.verify.properties.rotary_case import SMALL, RotaryCase, allowed, heads
from ordinate.verify.references.ladders import magnitude
from ordinate.verify.references.rotation import frequencies, pairs
from ordinate.verify.seen import Compared, Property, Seen, unsupported

__all__ = ["CONTEXT"]

Both = tuple[Tensor, Tensor]


def _compared(what: str, got: Both, expected: Both, inputs: Both, positions: Tensor, case: RotaryCase) -> list[Compared]:
    shown = positions.tolist() if positions.ndim == 1 else range(positions.shape[-1])
    axes = ("row", "head", ("position" if positions.ndim == 1 else "token", shown), "channel")
    return [
        Compared(f"{name} {what}", g, e.double(), 2 * allowed(x, positions, case), axes)
        for name, g, e, x in zip(("queries", "keys"), got, expected, inputs, strict=True)
    ]


def _cut(both: Both, start: int, end: int) -> Both:
    return both[0][:, :, start:end], both[1][:, :, start:end]


def _distance(subject: RotarySubject, case: RotaryCase) -> Seen:
    query, key = heads(case.stated, 6, batch=1)
    steps = torch.arange(6)
    near = _scores(subject.fresh().at(query, key, steps))
    shifts = [1, 100] if case.trained is not None else [1, 100, 4096]
    if case.trained is not None:
        shifts = [shift for shift in shifts if shift + 6 <= case.trained]
    compared = []
    for shift in shifts:
        far = _scores(subject.fresh().at(query, key, steps + shift))
        axes = ("row", "head", ("query", range(6)), ("key", range(6)))
        what = f"score after a shift by {shift}, beside the score before"
        compared.append(Compared(what, far, near, _score_bound(query, key, steps, shift, case), axes))
    note = f"shifted by {', '.join(map(str, shifts))}: at most {max((one.worst for one in compared), default=0):.1g} apart"
    return Seen(compared, note=note)


def _scores(both: Both) -> Tensor:
    return both[0].double() @ both[1].double().transpose(-1, -2)


def _score_bound(query: Tensor, key: Tensor, steps: Tensor, shift: int, case: RotaryCase) -> Tensor:
    """Sum over pairs of the lengths of both times the errors of both: [1, H, T, T]."""
    known = case.known
    error = rotation_error(steps + shift, frequencies(known), torch.float32, known.angles)
    error = error + rotation_error(steps, frequencies(known), torch.float32, known.angles)
    error = error * magnitude(known.scaling) ** 2
    first, second = pairs(known)
    lengths = [(x[..., first].double().square() + x[..., second].double().square()).sqrt() for x in (query, key)]
    return (lengths[0] * error) @ lengths[1].transpose(-1, -2) + lengths[0] @ (lengths[1] * error).transpose(-1, -2) + 1e-5


def _decode(subject: RotarySubject, case: RotaryCase) -> Seen:
    """A prefill, then tokens one by one on the same object; keys as they would lie in a cache."""
    length = SMALL if case.trained is None else case.long
    first = 7 if case.trained is None else case.trained - 3
    inputs, steps = heads(case.stated, length, batch=1), torch.arange(length)
    whole, running = subject.fresh().turn(*inputs, steps), subject.fresh()
    parts = [running.turn(*_cut(inputs, 0, first), steps[:first])]
    parts += [running.turn(*_cut(inputs, t, t + 1), steps[t : t + 1]) for t in range(first, length)]
    got = torch.cat([q for q, _ in parts], 2), torch.cat([k for _, k in parts], 2)
    what = f"of {first} tokens at once and the rest one by one, beside the whole row"
    return Seen(_compared(what, got, whole, inputs, steps, case))


def _offset(subject: RotarySubject, case: RotaryCase) -> Seen:
    """The same length at several offsets on one object: what is cached for one must not be given for another."""
    length = 48 if case.trained is None else min(48, case.trained)
    inputs, steps = heads(case.stated, length, batch=1), torch.arange(length)
    whole, running, compared = subject.fresh().turn(*inputs, steps), subject.fresh(), []
    for start in (0, 5, 37, 5):
        end = min(start + 4, length)
        got = running.turn(*_cut(inputs, start, end), steps[start:end])
        part = _cut(inputs, start, end)
        compared += _compared(
            f"of {end - start} tokens that start at {start}", got, _cut(whole, start, end), part, steps[start:end], case
        )
    return Seen(compared, note="chunks of four tokens at offsets 0, 5, 37 and 5 again are those of the whole row")


def _padding(subject: RotarySubject, case: RotaryCase) -> Seen:
    inputs = heads(case.stated, 9)
    mask = torch.ones(2, 9, dtype=torch.long)
    mask[1, :4] = 0
    positions = (mask.cumsum(-1) - 1).clamp_min(0)
    padded = subject.fresh().turn(*inputs, positions)
    alone = subject.fresh().turn(inputs[0][1:, :, 4:], inputs[1][1:, :, 4:], torch.arange(5))
    got = padded[0][1:, :, 4:], padded[1][1:, :, 4:]
    real = inputs[0][1:, :, 4:], inputs[1][1:, :, 4:]
    return Seen(
        _compared("of a row behind four tokens of padding, beside the row alone", got, alone, real, torch.arange(5), case)
    )


def _packing(subject: RotarySubject, case: RotaryCase) -> Seen:
    if not subject.scattered:
        raise unsupported("it takes no positions, so packed documents cannot restart")
    query, key = heads(case.stated, 5)
    inputs = torch.cat((query, query), 2), torch.cat((key, key), 2)
    packed = subject.fresh().turn(*inputs, torch.arange(10) % 5)
    return Seen(
        _compared(
            "of the second of two equal documents", _cut(packed, 5, 10), _cut(packed, 0, 5), (query, key), torch.arange(5), case
        )
    )


def _neighbour(subject: RotarySubject, case: RotaryCase) -> Seen:
    inputs, steps = heads(case.stated, 9), torch.arange(9)
    alone = subject.fresh().turn(inputs[0][:1], inputs[1][:1], steps)
    row = inputs[0][:1], inputs[1][:1]
    other = (inputs[0].clone(), inputs[1].clone())
    other[0][1] *= 1000
    compared = _compared("of a row beside large numbers", _first(subject.fresh().turn(*other, steps)), alone, row, steps, case)
    far = torch.stack((steps, steps + case.long))
    try:
        beside = subject.fresh().turn(*inputs, far)
    except Exception as problem:
        if type(problem).__name__ == "Unsupported" or case.trained is not None:
            return Seen(compared, note="beside another row of the same positions (it takes no others)")
        raise
    what = f"of a row beside one that reaches position {int(far.max())}"
    return Seen(compared + _compared(what, _first(beside), alone, row, steps, case))


def _first(both: Both) -> Both:
    return both[0][:1], both[1][:1]


def _earlier(subject: RotarySubject, case: RotaryCase) -> Seen:
    short, steps = heads(case.stated, SMALL), torch.arange(SMALL)
    running = subject.fresh()
    first = running.turn(*short, steps)
    for length in (case.long, 3):
        running.turn(*heads(case.stated, length, batch=1, seed=2), torch.arange(length))
    again = running.turn(*short, steps)
    return Seen(
        _compared(f"of a short row after one of {case.long} tokens, beside the same before", again, first, short, steps, case)
    )


def _earlier_dtype(subject: RotarySubject, case: RotaryCase) -> Seen:
    length = 264  # past the 256 whole numbers that bfloat16 holds
    inputs, steps = heads(case.stated, length, batch=1), torch.arange(length)
    if case.trained is not None and case.trained < length:
        raise unsupported("the trained context is shorter than what shows this")
    running, compared = subject.fresh(), []
    running.turn(inputs[0].bfloat16(), inputs[1].bfloat16(), steps)
    for cut in (length, length - 3):
        part = _cut(inputs, 0, cut)
        expected = subject.fresh().turn(*part, steps[:cut])
        got = running.turn(*part, steps[:cut])
        what = f"in float32 after {length} tokens in bfloat16, beside the same without"
        compared += _compared(f"of {cut} tokens {what}", got, expected, part, steps[:cut], case)
    return Seen(compared)


def _equal_sizes(subject: RotarySubject, case: RotaryCase) -> Seen:
    size = case.stated.num_heads
    inputs, steps = heads(case.stated, SMALL, batch=size), torch.arange(SMALL)
    whole = subject.fresh().turn(*inputs, steps)
    cut = _cut(inputs, 0, size)
    got = subject.fresh().turn(*cut, steps[:size])
    what = f"of {size} rows with {size} heads and {size} tokens, beside a longer row"
    return Seen(_compared(what, got, _cut(whole, 0, size), cut, steps[:size], case))


def _one_token(subject: RotarySubject, case: RotaryCase) -> Seen:
    inputs, steps = heads(case.stated, SMALL), torch.arange(SMALL)
    whole = subject.fresh().turn(*inputs, steps)
    got = subject.fresh().turn(*_cut(inputs, 0, 1), steps[:1])
    compared = _compared("of a row of one token", got, _cut(whole, 0, 1), _cut(inputs, 0, 1), steps[:1], case)
    return Seen(compared)


CONTEXT = (
    Property("distance-alone", "A score depends on the distance alone", _distance),
    Property("prefill-equals-decode", "A row at once and token by token give the same", _decode),
    Property("offsets", "A chunk that starts at an offset is that part of the row", _offset),
    Property("left-padding", "Padding on the left changes nothing for real tokens", _padding),
    Property("packing", "Two equal documents packed in one row give equal rows", _packing),
    Property("batch-neighbour", "A row does not depend on what stands beside it", _neighbour),
    Property("earlier-calls", "A result does not depend on earlier calls of other lengths", _earlier),
    Property("earlier-dtypes", "A result does not depend on earlier calls in another dtype", _earlier_dtype),
    Property("equal-sizes", "As many heads as tokens as rows confuse no axis", _equal_sizes),
    Property("one-token", "A row of one token is the first of a longer row", _one_token),
)
