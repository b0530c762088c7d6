"""`check_decoder`: a whole decoder held to the laws that its logits obey."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from torch import nn

from ordinate.verify.adapters.decoder import DecoderSettings, DecoderSubject, adapt_decoder
from ordinate.verify.matching import diagnose
from ordinate.verify.names import chosen, name_of
from ordinate.verify.observe import observed_in_turn
from ordinate.verify.properties.decoder import DECODER
from ordinate.verify.signatures import SIGNATURES, Signature
from ordinate.verify.verdict import Verdict

__all__ = ["check_decoder", "judge_decoder"]


def check_decoder(
    subject: Any,
    *,
    vocabulary: int = 64,
    tokens: int = 12,
    long: int = 40,
    allowed: float = 2e-3,
    only: Sequence[str] | None = None,
    seconds: float = 30.0,
    name: str | None = None,
) -> Verdict:
    """Hold a decoder to causality, order, padding, and to decoding what it prefills.

    Args:
        subject: a function or module of tokens [B, T], perhaps with `position_ids`, `attention_mask` and a cache
            (`past_key_values` or `cache`, as transformers has them); it returns logits, or an object with `logits`.
        vocabulary: token ids that may be used.
        tokens, long: lengths of an ordinary and of a long row; let `long` pass the trained context of a dynamic scaling.
        allowed: difference allowed, relative to the largest logit: several layers of float32, not one rounding.
        only: ids of the properties to look at.
        seconds: time limit of one call.
        name: what to call it.

    Raises:
        ArgumentTypeError, ArgumentError: as `check_rotary`.

    >>> import torch
    >>> embed = torch.nn.Embedding(64, 8)
    >>> check_decoder(lambda tokens: embed(tokens).cumsum(1), only=["causality", "order-matters"]).failed[0].id
    'order-matters'
    """
    started = time.perf_counter()
    settings = DecoderSettings(vocabulary, tokens, long, allowed)
    training = subject.training if isinstance(subject, nn.Module) else False
    if isinstance(subject, nn.Module):
        subject.eval()
    try:
        adapted = adapt_decoder(subject, settings, seconds=seconds)
        verdict = judge_decoder(adapted, settings, name or name_of(subject), only)
    finally:
        if isinstance(subject, nn.Module):
            subject.train(training)
    return replace(verdict, wall_seconds=time.perf_counter() - started)


def judge_decoder(subject: DecoderSubject, settings: DecoderSettings, name: str, only: Sequence[str] | None = None) -> Verdict:
    """The verdict on a subject in its one shape."""
    observed = observed_in_turn(chosen(DECODER, only), subject, settings)

    def makers() -> Iterator[tuple[Signature, Callable[[], tuple[Any, Any]]]]:
        for signature in SIGNATURES.values():
            if signature.kind == "decoder":
                yield signature, lambda s=signature: (s.make(subject), settings)  # type: ignore[misc]

    causes = diagnose(observed, makers())
    return Verdict(
        subject=name,
        kind="decoder",
        adapter=subject.words,
        assumed=subject.assumed,
        identified={},
        outcomes=tuple(one.outcome(tuple(c.id for c in causes if one.law.id in c.explains)) for one in observed),
        causes=tuple(causes),
    )
