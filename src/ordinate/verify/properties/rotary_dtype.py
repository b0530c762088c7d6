"""How a rotation bears far positions, half precision, casts, an empty device, copies, gradients and compilation."""

from __future__ import annotations

import pickle

import torch
from torch import Tensor

from ordinate.verify.adapters.native import Native
from ordinate.verify.adapters.rotary import RotarySubject
from ordinate.verify.precision import rotation_error
from ordinate.verify.properties.compiling import one_compilation
from ordinate.verify.properties.modules import cast_and_back, copied, emptied, holds_tensors, module_of, state_fact
from ordinate.verify.properties.rotary_case import SMALL, RotaryCase, allowed, heads, measured
from ordinate.verify.references.ladders import magnitude
from ordinate.verify.references.rotation import angles, frequencies, pairs, turned
from ordinate.verify.seen import Compared, Fact, Property, Seen, unsupported

__all__ = ["DTYPE"]

FAR = (0, 255, 256, 257, 511, 4095, 4097, 32_767, 65_537, 131_071)
"""Positions at which the formats in use run out: 256 in bfloat16, 2,048 in float16, 32,768 in int16, 65,536 in uint16."""


def _reachable(subject: RotarySubject, case: RotaryCase) -> list[int]:
    last = case.stated.positions
    if case.trained is not None:
        last = min(last, case.trained - 1)
    if subject.shape.takes == "nothing":
        last = min(last, 4097)
    return [position for position in FAR if position <= last]


def _needs_near(subject: RotarySubject, case: RotaryCase) -> None:
    _, found = measured(subject, case)
    expected = frequencies(case.known)
    near = len(found.frequencies) == len(expected) and torch.allclose(found.frequencies, expected, atol=1e-5, rtol=1e-3)
    if not near or found.layout is None:
        raise unsupported("near positions are off already, so far ones say nothing")


def _pairs_of(query: Tensor, case: RotaryCase) -> Tensor:
    first, second = pairs(case.known)
    return torch.complex(query[..., first].double(), query[..., second].double())


def _far(subject: RotarySubject, case: RotaryCase) -> Seen:
    """Angle by angle: the unit pair (1, 0) is turned, so what comes back is cosine and sine."""
    _needs_near(subject, case)
    x = torch.zeros(1, case.stated.num_heads, 1, case.stated.head_dim)
    x[..., pairs(case.known)[0]] = 1.0
    rows, reached, ended = [], [], ""
    fresh = subject.fresh()
    for position in _reachable(subject, case):
        try:
            query, _ = fresh.at(x, x.clone(), torch.tensor([position]))
        except Exception as problem:
            if position <= 256 or type(problem).__name__ == "Unsupported":
                raise
            ended = f"; at {position} it raises {type(problem).__name__}: {' '.join(str(problem).split())[:100]}"
            break
        rows.append(_pairs_of(query, case)[0, 0, 0])
        reached.append(position)
    steps = torch.tensor(reached)
    got, factor = torch.stack(rows), magnitude(case.stated.scaling)
    expected = torch.polar(torch.full_like(got.real, factor), angles(case.known, steps, 1))
    bound = factor * rotation_error(steps, frequencies(case.known), torch.float32, case.known.angles)
    axes = (("position", reached), "pair")
    compared = [
        Compared(f"{name} of the angle", part(got), part(expected), bound, axes)
        for name, part in (("cosine", torch.real), ("sine", torch.imag))
    ]
    error = (got - expected).abs().amax(-1) / factor
    shown = [(position, float(e)) for position, e in zip(reached, error, strict=True) if position in (4095, 32_767, 131_071)]
    note = "angle error " + ", ".join(f"{e:.1g} at {position:,}" for position, e in shown or [(reached[-1], float(error[-1]))])
    formed = "as angles in float32 may have" if float(error[-1]) > 1e-6 else "as of angles formed in float64"
    return Seen(compared, note=f"{note}, {formed}{ended}")


def _half(subject: RotarySubject, case: RotaryCase) -> Seen:
    _needs_near(subject, case)
    query, key = (x.bfloat16() for x in heads(case.stated, 1, batch=1))
    last = _reachable(subject, case)
    reached, results = [], []
    fresh = subject.fresh()
    for position in last:
        try:
            result = fresh.at(query, key, torch.tensor([position]))
        except Exception as problem:
            if position <= 256 or type(problem).__name__ == "Unsupported":
                raise
            break
        reached.append(position)
        results.append(result[0])
    steps = torch.tensor(reached)
    got = torch.cat(results, 2)
    inputs = query.expand(-1, -1, len(reached), -1)
    expected = turned(inputs, steps, case.known, theta=angles(case.known, steps, 1))
    bound = allowed(inputs, steps, case, torch.bfloat16) + inputs.double().abs() * 2.0**-7
    axes = ("row", "head", ("position", reached), "channel")
    compared = Compared("a query in bfloat16 beside its rotation in float64", got, expected, bound, axes)
    return Seen(
        [compared], note=f"largest difference {compared.worst:.2g} up to position {reached[-1]:,}, rounding of values alone"
    )


def _cast(subject: RotarySubject, case: RotaryCase) -> Seen:
    if not holds_tensors(module_of(subject.native)):
        return Seen(facts=[Fact(True, "the module holds no tensor that a cast could change")])
    steps = torch.tensor([p for p in (0, 1, 7, 257, 4097, 30_000) if p <= max(_reachable(subject, case))])
    inputs = heads(case.stated, len(steps), batch=1)
    expected = subject.fresh().at(*inputs, steps)
    got = subject.of(cast_and_back(subject.native)).at(*inputs, steps)
    axes = ("row", "head", ("position", steps.tolist()), "channel")
    bound = 2 * allowed(inputs[0], steps, case)
    return Seen([Compared("queries after module.bfloat16().float(), beside before", got[0], expected[0].double(), bound, axes)])


def _beside(subject: RotarySubject, native: Native, case: RotaryCase, what: str, exactly: bool = False) -> Seen:
    inputs, steps = heads(case.stated, SMALL, batch=1), torch.arange(SMALL)
    expected, got = subject.fresh().turn(*inputs, steps), subject.of(native).turn(*inputs, steps)
    axes = ("row", "head", ("position", steps.tolist()), "channel")
    bound = 0.0 if exactly else 2 * allowed(inputs[0], steps, case)
    return Seen([Compared(what, got[0], expected[0].double(), bound, axes)])


def _meta(subject: RotarySubject, case: RotaryCase) -> Seen:
    what = "queries after to('meta'), to_empty and load_state_dict, beside before"
    return _beside(subject, emptied(subject.native), case, what)


def _state(subject: RotarySubject, case: RotaryCase) -> Seen:
    return Seen(facts=[state_fact(subject.native)])


def _copies(subject: RotarySubject, case: RotaryCase) -> Seen:
    return _beside(subject, copied(subject.native), case, "queries of a copy", exactly=True)


def _pickled(subject: RotarySubject, case: RotaryCase) -> Seen:
    if not subject.native.copies:
        raise unsupported("a function has no state to pickle")
    try:
        saved = pickle.dumps(subject.native.owner)
    except Exception as problem:
        raise unsupported(f"it cannot be pickled: {' '.join(str(problem).split())[:100]}") from None
    return _beside(subject, subject.native.with_owner(pickle.loads(saved)), case, "queries of a pickle", exactly=True)


def _gradients(subject: RotarySubject, case: RotaryCase) -> Seen:
    """The gradient of <w, f(x)> is the rotation of w backwards; both are seen through f alone: <w, f(x)> = <grad, x>."""
    (query, key), steps = heads(case.stated, SMALL, batch=1), torch.arange(SMALL)
    weight, probe = heads(case.stated, SMALL, batch=1, seed=5)
    query = query.requires_grad_()
    result = subject.fresh().turn(query, key, steps)[0]
    if not result.requires_grad:
        return Seen(facts=[Fact(False, "the result carries no gradient")])
    (gradient,) = torch.autograd.grad((weight * result).sum(), query)
    moved = subject.fresh().turn(probe, key, steps)[0]
    got = (gradient * probe).double().sum((0, 1, 3))
    expected = (weight * moved).double().sum((0, 1, 3)).detach()
    bound = (weight.double().abs() * allowed(probe, steps, case)).sum((0, 1, 3)) * 4 + 1e-4
    what = "the gradient's product with a vector, beside the same through the function"
    return Seen([Compared(what, got, expected, bound, (("position", range(SMALL)),))])


def _compiled(subject: RotarySubject, case: RotaryCase) -> Seen:
    native = subject.native.fresh()
    running = subject.of(native)

    def at(length: int) -> list[Compared]:
        inputs, steps = heads(case.stated, length), torch.arange(length)
        expected, got = subject.fresh().turn(*inputs, steps)[0], running.turn(*inputs, steps)[0]
        axes = ("row", "head", ("position", range(length)), "channel")
        bound = 2 * allowed(inputs[0], steps, case)
        return [Compared(f"compiled queries of {length} tokens", got, expected.double(), bound, axes)]

    return one_compilation(native, at)


DTYPE = (
    Property("far-positions", "Angles at far positions are as exact as their arithmetic allows", _far),
    Property("half-precision", "A call in bfloat16 loses the rounding of values alone, however far out", _half),
    Property("module-cast", "A cast of the module and back spoils no angle", _cast),
    Property("meta-device", "Built on the meta device and loaded, it is the same", _meta),
    Property("state-dict", "The state dict holds what is learned and no table", _state),
    Property("copies", "A copy gives every bit again", _copies),
    Property("pickle", "A pickle gives every bit again", _pickled),
    Property("gradients", "The gradient is that of the rotation", _gradients),
    Property("compile", "One compilation serves every length", _compiled, cheap=False),
)
