"""The properties of attention that knows where its tokens are."""

from __future__ import annotations

import torch
from torch import Tensor

from ordinate.verify.adapters.attention import AttentionSubject
from ordinate.verify.observation import Comparison, Fact, Observation, Property, Unsupported, finite_fact, unchanged_facts
from ordinate.verify.properties.shared import compile_property, only_torch
from ordinate.verify.references.attention import AttentionSettings, attention

__all__ = ["ATTENTION"]

TOKENS = 9
TOLERANCE = 3e-5  # softmax of float32 scores of a few units, and a sum of nine products
AXES = ("row", "head", ("query", range(64)), "channel")


def _inputs(s: AttentionSettings, tokens: int = TOKENS, batch: int = 2, seed: int = 1) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    query = torch.randn(batch, s.num_heads, tokens, s.head_dim, generator=generator)
    key, value = torch.randn(2, batch, s.num_kv_heads, tokens, s.head_dim, generator=generator)
    return query, key, value


def _whole(
    subject: AttentionSubject, inputs: tuple[Tensor, Tensor, Tensor], positions: Tensor, mask: Tensor | None = None
) -> Tensor:
    if mask is None:
        mask = torch.ones(inputs[0].shape[0], inputs[0].shape[2], dtype=torch.long)
    return subject.attend(*inputs, positions, positions, mask)


def _answers(subject: AttentionSubject, s: AttentionSettings) -> Observation:
    steps, fresh = torch.arange(TOKENS), subject.fresh()
    result = _whole(fresh, _inputs(s), steps)
    facts = [finite_fact(result)]
    if fresh.callee.foreign_types:
        facts.append(Fact(False, f"it came back as {fresh.callee.foreign_types[0]}, not as a tensor"))
    facts.append(Fact(result.dtype == torch.float32, f"float32 came back as {result.dtype}"))
    return Observation(facts=facts, traces=[result], note="finite, in the shape and dtype of the queries")


def _published(subject: AttentionSubject, s: AttentionSettings) -> Observation:
    if s.encoding is None:
        raise Unsupported("no encoding was stated")
    inputs, steps = _inputs(s), torch.arange(TOKENS)
    got, expected = _whole(subject.fresh(), inputs, steps), attention(*inputs, steps, steps, s)
    return Observation([Comparison("output beside the formula", got, expected, TOLERANCE, AXES)])


def _causal(subject: AttentionSubject, s: AttentionSettings) -> Observation:
    if not s.causal:
        raise Unsupported("it is not causal")
    inputs, steps = _inputs(s), torch.arange(TOKENS)
    before = _whole(subject.fresh(), inputs, steps)
    other = tuple(x.clone() for x in inputs)
    for x in other:
        x[:, :, 5:] += 3.0
    after = _whole(subject.fresh(), (other[0], other[1], other[2]), steps)
    return Observation(
        [Comparison("output before the sixth token was changed", after[:, :, :5], before[:, :, :5].double(), TOLERANCE, AXES)],
        traces=[before],
    )


def _order(subject: AttentionSubject, s: AttentionSettings) -> Observation:
    """Two past tokens exchanged must change what the last query gets; without positions it does not."""
    if s.encoding == "none":
        raise Unsupported("no encoding is wanted")
    query, key, value = _inputs(s)
    steps, swapped = torch.arange(TOKENS), torch.arange(TOKENS)
    swapped[[1, 4]] = swapped[[4, 1]]
    before = _whole(subject.fresh(), (query, key, value), steps)
    after = _whole(subject.fresh(), (query, key[:, :, swapped], value[:, :, swapped]), steps)
    moved = float((after - before)[:, :, -1].abs().max())
    return Observation(
        facts=[Fact(moved > 1e-4, f"two past tokens exchanged move the last output by {moved:.1g}")], traces=[before, after]
    )


def _values(subject: AttentionSubject, s: AttentionSettings) -> Observation:
    """Equal values come back as they are: weights sum to 1, and no rotation or mask touches values."""
    query, key, value = _inputs(s)
    steps, same = torch.arange(TOKENS), value[:, :, :1].expand_as(value).contiguous()
    got = _whole(subject.fresh(), (query, key, same), steps)
    expected = same[:, :, :1].repeat_interleave(s.num_heads // s.num_kv_heads, 1).double().expand_as(got)
    return Observation([Comparison("output where all values are one", got, expected, TOLERANCE, AXES)])


def _grouped(subject: AttentionSubject, s: AttentionSettings) -> Observation:
    if s.num_heads == s.num_kv_heads or s.num_kv_heads == 1:
        raise Unsupported("no groups of heads share keys")
    (query, key, value), steps = _inputs(s), torch.arange(TOKENS)
    got = _whole(subject.fresh(), (query, key, value), steps)
    shared = s.num_heads // s.num_kv_heads
    expected = []
    for group in range(s.num_kv_heads):  # each group asked alone: its keys repeated for all heads
        keys, values = (x[:, group : group + 1].expand(-1, s.num_kv_heads, -1, -1) for x in (key, value))
        alone = _whole(subject.fresh(), (query, keys, values), steps)
        expected.append(alone[:, group * shared : (group + 1) * shared])
    return Observation(
        [Comparison("output beside each group of heads alone", got, torch.cat(expected, 1).double(), TOLERANCE, AXES)]
    )


def _shift(subject: AttentionSubject, s: AttentionSettings) -> Observation:
    inputs, steps = _inputs(s), torch.arange(TOKENS)
    near, far = _whole(subject.fresh(), inputs, steps), _whole(subject.fresh(), inputs, steps + 100)
    return Observation([Comparison("output after a shift of all positions by 100", far, near.double(), 1e-3, AXES)])


def _decode(subject: AttentionSubject, s: AttentionSettings) -> Observation:
    if not s.causal:
        raise Unsupported("it is not causal")
    (query, key, value), steps = _inputs(s), torch.arange(TOKENS)
    whole, running, parts = _whole(subject.fresh(), (query, key, value), steps), subject.fresh(), []
    for t in (5, 6, TOKENS - 1):
        past = torch.ones(2, t + 1, dtype=torch.long)
        parts.append(
            running.attend(
                query[:, :, t : t + 1], key[:, :, : t + 1], value[:, :, : t + 1], steps[t : t + 1], steps[: t + 1], past
            )
        )
    picked = torch.tensor([5, 6, TOKENS - 1])
    axes = ("row", "head", ("query", picked.tolist()), "channel")
    return Observation(
        [
            Comparison(
                "output of single queries behind their keys", torch.cat(parts, 2), whole[:, :, picked].double(), TOLERANCE, axes
            )
        ]
    )


def _chunk(subject: AttentionSubject, s: AttentionSettings) -> Observation:
    if not s.causal:
        raise Unsupported("it is not causal")
    (query, key, value), steps = _inputs(s), torch.arange(TOKENS)
    whole = _whole(subject.fresh(), (query, key, value), steps)
    got = subject.fresh().attend(query[:, :, 5:], key, value, steps[5:], steps, torch.ones(2, TOKENS, dtype=torch.long))
    axes = ("row", "head", ("query", range(5, TOKENS)), "channel")
    return Observation(
        [Comparison("output of the last four queries over all keys", got, whole[:, :, 5:].double(), TOLERANCE, axes)]
    )


def _padding(subject: AttentionSubject, s: AttentionSettings) -> Observation:
    inputs = _inputs(s)
    mask = torch.ones(2, TOKENS, dtype=torch.long)
    mask[0, :2] = 0
    mask[1, :4] = 0
    positions = (
        (mask.cumsum(-1) - 1).clamp_min(0)
        if "query_positions" in subject.roles or "positions" in subject.roles
        else torch.arange(TOKENS)
    )
    padded = _whole(subject.fresh(), inputs, positions, mask)[1:, :, 4:]
    alone = _whole(
        subject.fresh(), (inputs[0][1:, :, 4:], inputs[1][1:, :, 4:], inputs[2][1:, :, 4:]), torch.arange(TOKENS - 4)
    )
    return Observation([Comparison("output of a row behind four tokens of padding", padded, alone.double(), TOLERANCE, AXES)])


def _neighbour(subject: AttentionSubject, s: AttentionSettings) -> Observation:
    inputs, steps = _inputs(s), torch.arange(TOKENS)
    other = tuple(x.clone() for x in inputs)
    for x in other:
        x[1] *= 50
    got = _whole(subject.fresh(), (other[0], other[1], other[2]), steps)[:1]
    alone = _whole(subject.fresh(), (inputs[0][:1], inputs[1][:1], inputs[2][:1]), steps)
    return Observation([Comparison("output of a row beside large numbers", got, alone.double(), TOLERANCE, AXES)])


def _earlier(subject: AttentionSubject, s: AttentionSettings) -> Observation:
    inputs, steps, running = _inputs(s), torch.arange(TOKENS), subject.fresh()
    first = _whole(running, inputs, steps)
    _whole(running, _inputs(s, 20, seed=2), torch.arange(20))
    _whole(running, _inputs(s, 3, seed=3), torch.arange(3))
    return Observation(
        [Comparison("output after a longer call", _whole(running, inputs, steps), first.double(), TOLERANCE, AXES)]
    )


def _equal_sizes(subject: AttentionSubject, s: AttentionSettings) -> Observation:
    if not s.causal:
        raise Unsupported("it is not causal, so a row cut short is another row")
    size = s.num_heads
    inputs, steps = _inputs(s, TOKENS, size), torch.arange(TOKENS)
    whole = _whole(subject.fresh(), inputs, steps)[:, :, :size]
    cut = (inputs[0][:, :, :size], inputs[1][:, :, :size], inputs[2][:, :, :size])
    got = _whole(subject.fresh(), cut, steps[:size])
    return Observation(
        [Comparison(f"output of {size} rows of {size} tokens with {size} heads", got, whole.double(), TOLERANCE, AXES)]
    )


def _untouched(subject: AttentionSubject, s: AttentionSettings) -> Observation:
    inputs = _inputs(s)
    before = [x.clone() for x in inputs]
    _whole(subject.fresh(), inputs, torch.arange(TOKENS))
    names = ("the query was", "the key was", "the value was")
    return unchanged_facts(names, inputs, before, "queries, keys and values are as they were")


def _gradients(subject: AttentionSubject, s: AttentionSettings) -> Observation:
    """The gradients of a weighted sum of outputs, beside those of the formula in float64."""
    only_torch(subject)
    if s.encoding is None:
        raise Unsupported("no encoding was stated")
    steps, weight = torch.arange(TOKENS), _inputs(s, seed=5)[0]
    inputs = tuple(x.requires_grad_() for x in _inputs(s))
    result = _whole(subject.fresh(), (inputs[0], inputs[1], inputs[2]), steps)
    if not result.requires_grad:
        return Observation(facts=[Fact(False, "the result carries no gradient")])
    got = torch.autograd.grad((weight * result).sum(), inputs, allow_unused=True)
    wide = tuple(x.detach().double().requires_grad_() for x in inputs)
    formula = attention(wide[0], wide[1], wide[2], steps, steps, s)
    expected = torch.autograd.grad((weight.double() * formula).sum(), wide)
    names = ("query", "key", "value")
    facts = [Fact(one is not None, f"no gradient reaches the {name}") for name, one in zip(names, got, strict=True)]
    comparisons = [
        Comparison(
            f"gradient of the {name} beside the formula's",
            one,
            wanted,
            10 * TOLERANCE,
            ("row", "head", ("token", range(64)), "channel"),
        )
        for name, one, wanted in zip(names, got, expected, strict=True)
        if one is not None
    ]
    return Observation(comparisons, facts)


def _at_length(subject: AttentionSubject, compiled: AttentionSubject, s: AttentionSettings, length: int) -> Comparison:
    inputs, steps = _inputs(s, length), torch.arange(length)
    got, expected = _whole(compiled, inputs, steps), _whole(subject.fresh(), inputs, steps)
    return Comparison(f"compiled output of {length} tokens", got, expected.double(), 2 * TOLERANCE, AXES)


ATTENTION = (
    Property("answers-in-kind", "What comes back is finite and of the shape and dtype of the queries", _answers),
    Property("causality", "No output depends on a token ahead", _causal),
    Property("order-matters", "Past tokens exchanged give another output", _order),
    Property("published-rule", "The output is that of the formula", _published),
    Property("values-as-they-are", "Weights sum to 1, and values are neither turned nor biased", _values),
    Property("shared-heads", "Query heads share keys in consecutive groups", _grouped),
    Property("distance-alone", "A shift of all positions changes nothing", _shift),
    Property("prefill-equals-decode", "A query behind a cache gets the row's output", _decode),
    Property("chunked-prefill", "Some queries over more keys get the row's outputs", _chunk),
    Property("left-padding", "Padding on the left changes nothing for real tokens", _padding),
    Property("batch-neighbour", "A row does not depend on what stands beside it", _neighbour),
    Property("earlier-calls", "A result does not depend on earlier calls", _earlier),
    Property("equal-sizes", "As many heads as tokens as rows confuse no axis", _equal_sizes),
    Property("input-untouched", "Inputs are as before the call", _untouched),
    Property("gradients", "The gradients are those of the formula", _gradients),
    compile_property(_at_length),
)
