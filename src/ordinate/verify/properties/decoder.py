"""The properties of a whole decoder, seen through its logits."""

from __future__ import annotations

import torch
from torch import Tensor

from ordinate.verify.adapters.decoder import DecoderSettings, DecoderSubject
from ordinate.verify.observation import Comparison, Fact, Observation, Property, Unsupported, finite_fact, unchanged_facts
from ordinate.verify.properties.shared import left_padded

__all__ = ["DECODER"]


def _tokens(s: DecoderSettings, length: int, batch: int = 2, seed: int = 1) -> Tensor:
    return torch.randint(1, s.vocabulary, (batch, length), generator=torch.Generator().manual_seed(seed))


def _same(what: str, got: Tensor, expected: Tensor, s: DecoderSettings) -> Observation:
    bound = s.allowed * (1 + float(expected.abs().max()))
    axes = ("row", ("token", range(got.shape[1])), "logit")
    return Observation([Comparison(what, got, expected.double(), bound, axes)])


def _answers(subject: DecoderSubject, s: DecoderSettings) -> Observation:
    result = subject.fresh().logits(_tokens(s, s.tokens))
    return Observation(facts=[finite_fact(result, "logits")], traces=[result], note="finite logits")


def _padded(subject: DecoderSubject, s: DecoderSettings) -> tuple[Tensor, Tensor | None]:
    """A mask whose second row begins with padding, and its positions for a decoder that takes them."""
    mask, positions = left_padded(s.tokens)
    return mask, positions if subject.names.get("positions") else None


def _causal(subject: DecoderSubject, s: DecoderSettings) -> Observation:
    tokens = _tokens(s, s.tokens)
    other = tokens.clone()
    other[:, 6:] = _tokens(s, s.tokens - 6, seed=9)
    got, expected = subject.fresh().logits(other)[:, :6], subject.fresh().logits(tokens)[:, :6]
    return _same("logits before the first changed token", got, expected, s)


def _order(subject: DecoderSubject, s: DecoderSettings) -> Observation:
    tokens = _tokens(s, s.tokens)
    tokens[:, 2], tokens[:, 5] = 1, 2
    swapped = tokens.clone()
    swapped[:, 2], swapped[:, 5] = 2, 1
    moved = float((subject.fresh().logits(tokens) - subject.fresh().logits(swapped))[:, -1].abs().max())
    return Observation(facts=[Fact(moved > 1e-5, f"two past tokens exchanged move the last logits by {moved:.1g}")])


def _padding(subject: DecoderSubject, s: DecoderSettings) -> Observation:
    tokens = _tokens(s, s.tokens)
    mask, positions = _padded(subject, s)
    tokens[1, :4] = 0
    padded = subject.fresh().logits(tokens, positions, mask)[1:, 4:]
    alone = subject.fresh().logits(tokens[1:, 4:])
    how = "with their positions" if positions is not None else "with a mask alone"
    return _same(f"logits behind four tokens of padding, given {how}", padded, alone, s)


def _padding_alone(subject: DecoderSubject, s: DecoderSettings) -> Observation:
    """What many callers do: a mask and no positions. A model that leaves positions to the caller fails this, and says so."""
    if not subject.names.get("positions"):
        raise Unsupported("it takes no positions: the mask alone is looked at above")
    tokens = _tokens(s, s.tokens)
    mask, _ = _padded(subject, s)
    padded = subject.fresh().logits(tokens, None, mask)[1:, 4:]
    return _same(
        "logits behind four tokens of padding, given a mask and no positions", padded, subject.fresh().logits(tokens[1:, 4:]), s
    )


def _decode(subject: DecoderSubject, s: DecoderSettings) -> Observation:
    tokens = _tokens(s, s.tokens)
    got = subject.fresh().decoded(tokens, 7)
    return _same("logits of seven tokens at once and the rest one by one", got, subject.fresh().logits(tokens), s)


def _decode_long(subject: DecoderSubject, s: DecoderSettings) -> Observation:
    tokens = _tokens(s, s.long, batch=1)
    got = subject.fresh().decoded(tokens, s.long - 4)
    return _same(
        f"logits of the last four of {s.long} tokens, one by one", got[:, -4:], subject.fresh().logits(tokens)[:, -4:], s
    )


def _decode_padded(subject: DecoderSubject, s: DecoderSettings) -> Observation:
    tokens = _tokens(s, s.tokens)
    mask, positions = _padded(subject, s)
    got = subject.fresh().decoded(tokens, 7, positions, mask)[1:, 7:]
    return _same("logits of single tokens behind a padded prefill", got, subject.fresh().logits(tokens[1:, 4:])[:, 3:], s)


def _decode_padded_alone(subject: DecoderSubject, s: DecoderSettings) -> Observation:
    if not subject.names.get("positions"):
        raise Unsupported("it takes no positions: the mask alone is looked at above")
    tokens = _tokens(s, s.tokens)
    mask, _ = _padded(subject, s)
    got = subject.fresh().decoded(tokens, 7, None, mask)[1:, 7:]
    what = "logits of single tokens behind a padded prefill, given a mask and no positions"
    return _same(what, got, subject.fresh().logits(tokens[1:, 4:])[:, 3:], s)


def _neighbour(subject: DecoderSubject, s: DecoderSettings) -> Observation:
    """A short row padded on the right beside a long one: what stands behind it must not reach it."""
    tokens = _tokens(s, s.long)
    mask = torch.ones_like(tokens)
    mask[0, s.tokens :] = 0
    key_mask = mask if subject.names.get("key_mask") else None
    beside = subject.fresh().logits(tokens, None, key_mask)[:1, : s.tokens]
    alone = subject.fresh().logits(tokens[:1, : s.tokens])
    return _same(f"logits of a row of {s.tokens} tokens beside one of {s.long}", beside, alone, s)


def _earlier(subject: DecoderSubject, s: DecoderSettings) -> Observation:
    tokens, running = _tokens(s, s.tokens), subject.fresh()
    first = running.logits(tokens)
    running.logits(_tokens(s, s.long, seed=3))
    return _same(f"logits after a call of {s.long} tokens", running.logits(tokens), first, s)


def _untouched(subject: DecoderSubject, s: DecoderSettings) -> Observation:
    tokens = _tokens(s, s.tokens)
    before = tokens.clone()
    subject.fresh().logits(tokens)
    return unchanged_facts(("the tokens were",), (tokens,), (before,), "tokens are as they were")


DECODER = (
    Property("answers-in-kind", "Tokens [B, T] give finite logits [B, T, V]", _answers),
    Property("causality", "No logit depends on a token ahead", _causal),
    Property("order-matters", "Past tokens exchanged give other logits", _order),
    Property("prefill-equals-decode", "A row at once and token by token through the cache give the same", _decode),
    Property("long-decode", "So does a long row", _decode_long),
    Property("left-padding", "Padding on the left changes nothing for real tokens", _padding),
    Property("left-padding-by-mask", "So it does where the caller gives a mask and no positions", _padding_alone),
    Property("padded-decode", "Tokens decoded behind a padded prefill are those of the row alone", _decode_padded),
    Property("padded-decode-by-mask", "So they are where the caller gives a mask and no positions", _decode_padded_alone),
    Property("batch-neighbour", "A row does not depend on a longer one beside it", _neighbour),
    Property("earlier-calls", "A result does not depend on earlier calls of other lengths", _earlier),
    Property("input-untouched", "Tokens are as before the call", _untouched),
)
