"""The properties of position embeddings: which sinusoid it is, and that a vector is that of its position in every call."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ordinate.verify.adapters.embedding import EmbeddingSubject
from ordinate.verify.observation import Comparison, Fact, Observation, Property, Unsupported, finite_fact, unchanged_facts
from ordinate.verify.precision import UNIT, angle_error
from ordinate.verify.properties.shared import compile_property, left_padded, module_properties
from ordinate.verify.references.sinusoids import EmbeddingSettings, rates, sinusoid

__all__ = ["EMBEDDING", "EmbeddingCase", "identify_arrangement"]

TOKENS = 12


@dataclass(frozen=True)
class EmbeddingCase:
    """The settings as stated, and as identified where nothing was stated."""

    stated: EmbeddingSettings
    known: EmbeddingSettings


def identify_arrangement(subject: EmbeddingSubject, stated: EmbeddingSettings) -> EmbeddingSettings:
    """The arrangement and scale whose numbers are nearest to the subject's first rows."""
    steps = torch.arange(TOKENS)
    values = subject.fresh().encode(steps).double()
    if values.ndim == 3:
        values = values[0]
    best = None
    for option in stated.arrangements() or stated.replace(layout=None).arrangements():
        plain = sinusoid(steps, option.replace(scale=1.0))
        scale = float((values * plain).sum() / (plain * plain).sum()) if stated.scale is None else stated.scale
        off = float((values - scale * plain).abs().max())
        if best is None or off < best[0] - 1e-9:
            best = off, option.replace(scale=float(f"{scale:.6g}"))
    assert best is not None
    return best[1]


def _bound(positions: Tensor, known: EmbeddingSettings, dtype: torch.dtype = torch.float32) -> Tensor:
    """Angles in float32 and the rounding of sine and cosine, for the fastest pair."""
    error = angle_error(positions, rates(known)).amax(-1, keepdim=True)
    scale = abs(known.scale or 1.0)
    return scale * (error + 4 * UNIT[dtype] + 4 * UNIT[torch.float32]) + 1e-7


def _answers(subject: EmbeddingSubject, case: EmbeddingCase) -> Observation:
    steps, fresh = torch.arange(TOKENS), subject.fresh()
    values = fresh.encode(steps)
    facts = [finite_fact(values)]
    if fresh.callee.foreign_types:
        facts.append(Fact(False, f"it came back as {fresh.callee.foreign_types[0]}, not as a tensor"))
    facts.append(Fact(values.ndim == 2, "rows of a batch at the same positions get different vectors"))
    if "x" in subject.roles:
        for dtype in (torch.bfloat16, torch.float64):
            try:
                got = subject.fresh().encode(steps, dtype).dtype
            except Unsupported:
                continue  # its library has no such dtype
            facts.append(Fact(got == dtype, f"for {dtype} it came back as {got}"))
    return Observation(facts=facts, traces=[values], note="finite, one vector a position, in the dtype of what it is added to")


def _published(subject: EmbeddingSubject, case: EmbeddingCase) -> Observation:
    if case.stated.rule is None:
        raise Unsupported("no rule was stated")
    steps = torch.arange(TOKENS)
    got, expected = subject.fresh().encode(steps), sinusoid(steps, case.known)
    known = case.known
    note = f"{known.layout}, {known.schedule}, {'sines' if known.sines_first else 'cosines'} first, times {known.scale:.4g}"
    axes = (("position", range(TOKENS)), "channel")
    return Observation([Comparison("embedding", got, expected, _bound(steps, known), axes)], note=note)


def _comparison(what: str, got: Tensor, expected: Tensor, positions: Tensor, case: EmbeddingCase) -> Comparison:
    axes = (("position", positions.tolist()), "channel")
    return Comparison(what, got, expected.double(), 2 * _bound(positions, case.known), axes)


def _same(what: str, got: Tensor, expected: Tensor, positions: Tensor, case: EmbeddingCase) -> Observation:
    return Observation([_comparison(what, got, expected, positions, case)])


def _offset(subject: EmbeddingSubject, case: EmbeddingCase) -> Observation:
    steps, running = torch.arange(48), subject.fresh()
    whole = subject.fresh().encode(steps)
    comparisons = []
    for start in (0, 5, 37, 5):
        part = steps[start : start + 4]
        got = running.encode(part)
        comparisons.append(_comparison(f"four vectors from {start} on", got, whole[start : start + 4], part, case))
    return Observation(comparisons)


def _decode(subject: EmbeddingSubject, case: EmbeddingCase) -> Observation:
    steps, running = torch.arange(TOKENS), subject.fresh()
    parts = [running.encode(steps[:7])] + [running.encode(steps[t : t + 1]) for t in range(7, TOKENS)]
    return _same("vectors of a prefill and of single tokens", torch.cat(parts), subject.fresh().encode(steps), steps, case)


def _padding(subject: EmbeddingSubject, case: EmbeddingCase) -> Observation:
    _, positions = left_padded()
    got = subject.fresh().encode(positions)
    steps = torch.arange(5)
    return _same("vectors behind four tokens of padding", got[1, 4:], subject.fresh().encode(steps), steps, case)


def _packing(subject: EmbeddingSubject, case: EmbeddingCase) -> Observation:
    if "positions" not in subject.roles:
        raise Unsupported("it takes no positions, so packed documents cannot restart")
    got = subject.fresh().encode(torch.arange(10) % 5)
    return _same("vectors of the second of two documents", got[5:], got[:5], torch.arange(5), case)


def _earlier(subject: EmbeddingSubject, case: EmbeddingCase) -> Observation:
    steps, running = torch.arange(TOKENS), subject.fresh()
    first = running.encode(steps)
    running.encode(torch.arange(40))
    running.encode(torch.arange(3))
    return _same("vectors after a longer call", running.encode(steps), first, steps, case)


def _earlier_dtype(subject: EmbeddingSubject, case: EmbeddingCase) -> Observation:
    if "x" not in subject.roles:
        raise Unsupported("it is given no dtype")
    steps, running = torch.arange(300), subject.fresh()
    expected = subject.fresh().encode(steps)
    running.encode(steps, torch.bfloat16)
    return _same("vectors in float32 after a call in bfloat16", running.encode(steps), expected, steps, case)


def _equal_sizes(subject: EmbeddingSubject, case: EmbeddingCase) -> Observation:
    steps = torch.arange(6)
    got = subject.fresh().encode(steps, batch=6)
    if got.ndim == 3:
        got = got[0]
    return _same("vectors of six rows of six tokens", got, subject.fresh().encode(steps, batch=1), steps, case)


def _untouched(subject: EmbeddingSubject, case: EmbeddingCase) -> Observation:
    steps, x = torch.arange(TOKENS), torch.randn(2, TOKENS, case.stated.dim, generator=torch.Generator().manual_seed(0))
    before = x.clone(), steps.clone()
    subject.fresh().added_to(x, steps)
    names = ("the embeddings were", "positions were")
    return unchanged_facts(names, (x, steps), before, "embeddings and positions are as they were")


def _far(subject: EmbeddingSubject, case: EmbeddingCase) -> Observation:
    if case.stated.rule is None:
        raise Unsupported("no rule was stated")
    asked = [p for p in (255, 256, 257, 2047, 2049, 4999, 65_537) if p < case.stated.positions]
    reached, rows, ended = [], [], ""
    for position in asked:
        try:
            if "positions" in subject.roles or "offset" in subject.roles:
                rows.append(subject.fresh().encode(torch.tensor([position]))[-1:])
            else:
                rows.append(subject.fresh().encode(torch.arange(position + 1), batch=1)[-1:])
        except Unsupported:
            raise
        except Exception as error:
            ended = f"; at {position} it raises {type(error).__name__}"
            break
        reached.append(position)
    steps = torch.tensor(reached)
    got, expected = torch.cat(rows), sinusoid(steps, case.known)
    axes = (("position", reached), "channel")
    comparison = Comparison("embedding", got, expected, _bound(steps, case.known), axes)
    return Observation(
        [comparison], note=f"off by {comparison.largest_difference:.1g} at most, up to position {reached[-1]:,}{ended}"
    )


def _half(subject: EmbeddingSubject, case: EmbeddingCase) -> Observation:
    if case.stated.rule is None or "x" not in subject.roles:
        raise Unsupported("it is given no dtype")
    steps = torch.arange(520)
    got, expected = subject.fresh().encode(steps, torch.bfloat16)[-270:], sinusoid(steps, case.known)[-270:]
    axes = (("position", steps[-270:].tolist()), "channel")
    return Observation(
        [Comparison("embedding in bfloat16", got, expected, _bound(steps[-270:], case.known, torch.bfloat16), axes)]
    )


def _beside(before: EmbeddingSubject, after: EmbeddingSubject, case: EmbeddingCase, what: str) -> Observation:
    steps = torch.arange(300) if case.stated.positions >= 300 else torch.arange(TOKENS)
    return _same(what, after.encode(steps), before.encode(steps), steps, case)


def _at_length(subject: EmbeddingSubject, compiled: EmbeddingSubject, case: EmbeddingCase, length: int) -> Comparison:
    steps = torch.arange(length)
    got, expected = compiled.encode(steps), subject.fresh().encode(steps)
    return _comparison(f"compiled vectors of {length} tokens", got, expected, steps, case)


EMBEDDING = (
    Property("answers-in-kind", "One finite vector a position, in the dtype of what it is added to", _answers),
    Property("published-rule", "The vectors are sines and cosines of the published schedule", _published),
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
    *module_properties("vectors", _beside, "nothing"),
    compile_property(_at_length),
)
