"""The laws of position embeddings: which sinusoid it is, and that a vector is that of its position wherever it is asked for."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ordinate.verify.adapters.embedding import EmbeddingSubject
from ordinate.verify.adapters.native import Native
from ordinate.verify.precision import UNIT, angle_error
from ordinate.verify.properties.compiling import one_compilation
from ordinate.verify.properties.modules import cast_and_back, copied, emptied, exact_in_half, state_fact
from ordinate.verify.references.sinusoids import EmbeddingSettings, rates, sinusoid
from ordinate.verify.seen import Compared, Fact, Property, Seen, unsupported

__all__ = ["EMBEDDING", "EmbeddingCase", "arranged"]

TOKENS = 12


@dataclass(frozen=True)
class EmbeddingCase:
    """The settings as stated, and as found where nothing was stated."""

    stated: EmbeddingSettings
    known: EmbeddingSettings


def arranged(subject: EmbeddingSubject, stated: EmbeddingSettings) -> EmbeddingSettings:
    """The arrangement and scale whose numbers are nearest to the subject's first rows."""
    steps = torch.arange(TOKENS)
    values = subject.fresh().encode(steps).double()
    if values.ndim == 3:
        values = values[0]
    best = None
    for option in stated.arrangements() or stated.but(layout=None).arrangements():
        plain = sinusoid(steps, option.but(scale=1.0))
        scale = float((values * plain).sum() / (plain * plain).sum()) if stated.scale is None else stated.scale
        off = float((values - scale * plain).abs().max())
        if best is None or off < best[0] - 1e-9:
            best = off, option.but(scale=float(f"{scale:.6g}"))
    assert best is not None
    return best[1]


def _bound(positions: Tensor, known: EmbeddingSettings, dtype: torch.dtype = torch.float32) -> Tensor:
    """Angles in float32 and the rounding of sine and cosine, for the fastest pair."""
    error = angle_error(positions, rates(known)).amax(-1, keepdim=True)
    scale = abs(known.scale or 1.0)
    return scale * (error + 4 * UNIT[dtype] + 4 * UNIT[torch.float32]) + 1e-7


def _answers(subject: EmbeddingSubject, case: EmbeddingCase) -> Seen:
    steps, facts = torch.arange(TOKENS), []
    fresh = subject.fresh()
    values = fresh.encode(steps)
    facts.append(
        Fact(bool(values.isfinite().all()), f"{int((~values.isfinite()).sum())} of {values.numel()} numbers are not finite")
    )
    if fresh.native.spoken:
        facts.append(Fact(False, f"it came back as {fresh.native.spoken[0]}, not as a tensor"))
    facts.append(Fact(values.ndim == 2, "rows of a batch at the same positions get different vectors"))
    roles = subject.remembered.get("as", subject.shape).plan.roles
    if "x" in roles:
        for dtype in (torch.bfloat16, torch.float64):
            got = subject.fresh().encode(steps, dtype).dtype
            facts.append(Fact(got == dtype, f"for {dtype} it came back as {got}"))
    return Seen(facts=facts, traces=[values], note="finite, one vector a position, in the dtype of what it is added to")


def _published(subject: EmbeddingSubject, case: EmbeddingCase) -> Seen:
    if case.stated.rule is None:
        raise unsupported("no rule was stated")
    steps = torch.arange(TOKENS)
    got, expected = subject.fresh().encode(steps), sinusoid(steps, case.known)
    known = case.known
    note = (
        f"{known.layout}, ladder {known.ladder}, {'sines' if known.sines_first else 'cosines'} first, times {known.scale:.4g}"
    )
    axes = (("position", range(TOKENS)), "channel")
    return Seen([Compared("embedding", got, expected, _bound(steps, known), axes)], note=note)


def _same(what: str, got: Tensor, expected: Tensor, positions: Tensor, case: EmbeddingCase) -> Seen:
    axes = (("position", positions.tolist()), "channel")
    return Seen([Compared(what, got, expected.double(), 2 * _bound(positions, case.known), axes)])


def _offset(subject: EmbeddingSubject, case: EmbeddingCase) -> Seen:
    steps, running = torch.arange(48), subject.fresh()
    whole = subject.fresh().encode(steps)
    seen: list[Compared] = []
    for start in (0, 5, 37, 5):
        part = steps[start : start + 4]
        seen += _same(f"four vectors from {start} on", running.encode(part), whole[start : start + 4], part, case).compared
    return Seen(seen)


def _decode(subject: EmbeddingSubject, case: EmbeddingCase) -> Seen:
    steps, running = torch.arange(TOKENS), subject.fresh()
    parts = [running.encode(steps[:7])] + [running.encode(steps[t : t + 1]) for t in range(7, TOKENS)]
    return _same("vectors of a prefill and of single tokens", torch.cat(parts), subject.fresh().encode(steps), steps, case)


def _padding(subject: EmbeddingSubject, case: EmbeddingCase) -> Seen:
    mask = torch.ones(2, 9, dtype=torch.long)
    mask[1, :4] = 0
    positions = (mask.cumsum(-1) - 1).clamp_min(0)
    got = subject.fresh().encode(positions)
    steps = torch.arange(5)
    return _same("vectors behind four tokens of padding", got[1, 4:], subject.fresh().encode(steps), steps, case)


def _packing(subject: EmbeddingSubject, case: EmbeddingCase) -> Seen:
    if "positions" not in subject.remembered.get("as", subject.shape).plan.roles:
        raise unsupported("it takes no positions, so packed documents cannot restart")
    got = subject.fresh().encode(torch.arange(10) % 5)
    return _same("vectors of the second of two documents", got[5:], got[:5], torch.arange(5), case)


def _earlier(subject: EmbeddingSubject, case: EmbeddingCase) -> Seen:
    steps, running = torch.arange(TOKENS), subject.fresh()
    first = running.encode(steps)
    running.encode(torch.arange(40))
    running.encode(torch.arange(3))
    return _same("vectors after a longer call", running.encode(steps), first, steps, case)


def _earlier_dtype(subject: EmbeddingSubject, case: EmbeddingCase) -> Seen:
    if "x" not in subject.remembered.get("as", subject.shape).plan.roles:
        raise unsupported("it is given no dtype")
    steps, running = torch.arange(300), subject.fresh()
    expected = subject.fresh().encode(steps)
    running.encode(steps, torch.bfloat16)
    return _same("vectors in float32 after a call in bfloat16", running.encode(steps), expected, steps, case)


def _equal_sizes(subject: EmbeddingSubject, case: EmbeddingCase) -> Seen:
    steps = torch.arange(6)
    got = subject.fresh().encode(steps, batch=6)
    if got.ndim == 3:
        got = got[0]
    return _same("vectors of six rows of six tokens", got, subject.fresh().encode(steps, batch=1), steps, case)


def _untouched(subject: EmbeddingSubject, case: EmbeddingCase) -> Seen:
    steps, x = torch.arange(TOKENS), torch.randn(2, TOKENS, case.stated.dim, generator=torch.Generator().manual_seed(0))
    before = x.clone(), steps.clone()
    subject.fresh().added_to(x, steps)
    facts = [
        Fact(torch.equal(x, before[0]), "the embeddings were changed in place"),
        Fact(torch.equal(steps, before[1]), "positions were changed"),
    ]
    return Seen(facts=facts, traces=[x], note="embeddings and positions are as they were")


def _far(subject: EmbeddingSubject, case: EmbeddingCase) -> Seen:
    if case.stated.rule is None:
        raise unsupported("no rule was stated")
    asked = [p for p in (255, 256, 257, 2047, 2049, 4999, 65_537) if p < case.stated.positions]
    reached, rows, ended = [], [], ""
    for position in asked:
        try:
            if (
                "positions" in subject.remembered.get("as", subject.shape).plan.roles
                or "offset" in subject.remembered.get("as", subject.shape).plan.roles
            ):
                rows.append(subject.fresh().encode(torch.tensor([position]))[-1:])
            else:
                rows.append(subject.fresh().encode(torch.arange(position + 1), batch=1)[-1:])
        except Exception as problem:
            if type(problem).__name__ == "Unsupported":
                raise
            ended = f"; at {position} it raises {type(problem).__name__}"
            break
        reached.append(position)
    steps = torch.tensor(reached)
    got, expected = torch.cat(rows), sinusoid(steps, case.known)
    axes = (("position", reached), "channel")
    compared = Compared("embedding", got, expected, _bound(steps, case.known), axes)
    return Seen([compared], note=f"off by {compared.worst:.1g} at most, up to position {reached[-1]:,}{ended}")


def _half(subject: EmbeddingSubject, case: EmbeddingCase) -> Seen:
    if case.stated.rule is None or "x" not in subject.remembered.get("as", subject.shape).plan.roles:
        raise unsupported("it is given no dtype")
    steps = torch.arange(520)
    got, expected = subject.fresh().encode(steps, torch.bfloat16)[-270:], sinusoid(steps, case.known)[-270:]
    axes = (("position", steps[-270:].tolist()), "channel")
    return Seen([Compared("embedding in bfloat16", got, expected, _bound(steps[-270:], case.known, torch.bfloat16), axes)])


def _beside(subject: EmbeddingSubject, one: Native, other: Native, what: str, case: EmbeddingCase) -> Seen:
    steps = torch.arange(300) if case.stated.positions >= 300 else torch.arange(TOKENS)
    return _same(what, subject.of(other).encode(steps), subject.of(one).encode(steps), steps, case)


def _cast(subject: EmbeddingSubject, case: EmbeddingCase) -> Seen:
    exact = exact_in_half(subject.native)
    return _beside(subject, exact.fresh(), cast_and_back(exact), "vectors after module.bfloat16().float()", case)


def _meta(subject: EmbeddingSubject, case: EmbeddingCase) -> Seen:
    return _beside(
        subject, subject.native.fresh(), emptied(subject.native), "vectors after to('meta'), to_empty and load_state_dict", case
    )


def _state(subject: EmbeddingSubject, case: EmbeddingCase) -> Seen:
    return Seen(facts=[state_fact(subject.native)])


def _copies(subject: EmbeddingSubject, case: EmbeddingCase) -> Seen:
    return _beside(subject, subject.native.fresh(), copied(subject.native), "vectors of a copy", case)


def _compiled(subject: EmbeddingSubject, case: EmbeddingCase) -> Seen:
    native = subject.native.fresh()
    running = subject.of(native)

    def at(length: int) -> list[Compared]:
        steps = torch.arange(length)
        got, expected = running.encode(steps), subject.fresh().encode(steps)
        return list(_same(f"compiled vectors of {length} tokens", got, expected, steps, case).compared)

    return one_compilation(native, at)


EMBEDDING = (
    Property("answers-in-kind", "One finite vector a position, in the dtype of what it is added to", _answers),
    Property("published-rule", "The vectors are sines and cosines of the published ladder", _published),
    Property("prefill-equals-decode", "Vectors at once and token by token are the same", _decode),
    Property("offsets", "A chunk that starts at an offset has the vectors of its positions", _offset),
    Property("left-padding", "Padding on the left changes nothing for real tokens", _padding),
    Property("packing", "Two equal documents packed in one row get equal vectors", _packing),
    Property("earlier-calls", "A result does not depend on earlier calls of other lengths", _earlier),
    Property("earlier-dtypes", "A result does not depend on earlier calls in another dtype", _earlier_dtype),
    Property("equal-sizes", "As many rows as tokens confuse no axis", _equal_sizes),
    Property("input-untouched", "Inputs are as before the call", _untouched),
    Property("far-positions", "Vectors at far positions are as exact as their arithmetic allows", _far),
    Property("half-precision", "In bfloat16 vectors lose the rounding of values alone", _half),
    Property("module-cast", "A cast of the module and back spoils nothing", _cast),
    Property("meta-device", "Built on the meta device and loaded, it is the same", _meta),
    Property("state-dict", "The state dict holds what is learned and no table", _state),
    Property("copies", "A copy gives the same", _copies),
    Property("compile", "One compilation serves every length", _compiled, cheap=False),
)
