"""Decoders in the field's shapes: from tokens to logits, with positions, a mask of keys and a cache where they take them."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from ordinate.errors import ArgumentError
from ordinate.verify.adapters.calling import ROLES, Callee, Subject, parameters
from ordinate.verify.limits import TimeLimitExceeded
from ordinate.verify.observation import Unsupported, describe_error

__all__ = ["DecoderSettings", "DecoderSubject", "adapt_decoder"]

_CACHES = ("cache", "past_key_values", "kv_cache")


@dataclass(frozen=True)
class DecoderSettings:
    """What probes of a decoder need: `vocabulary` token ids, rows of `tokens`, and how far logits may be apart."""

    vocabulary: int = 64
    tokens: int = 12
    long: int = 40
    allowed: float = 2e-3


class DecoderSubject(Subject):
    """A decoder: `logits(tokens, positions, key_mask)`, and `decoded(tokens, prefill)` through its cache."""

    def __init__(self, callee: Callee, settings: DecoderSettings, names: dict[str, str | None]) -> None:
        roles = [role for role in ("tokens", "positions", "key_mask", "cache") if names.get(role) or role == "tokens"]
        super().__init__(callee, f"({', '.join(roles)})", settings)
        self.names = names

    def logits(self, tokens: Tensor, positions: Tensor | None = None, key_mask: Tensor | None = None) -> Tensor:
        """Logits [B, T, V] of tokens [B, T]."""
        return self._logits(self._run(tokens, positions, key_mask, None), tokens)

    def decoded(
        self,
        tokens: Tensor,
        prefill: int,
        positions: Tensor | None = None,
        key_mask: Tensor | None = None,
        step_positions: Tensor | None = None,
    ) -> Tensor:
        """Logits of a prefill and of the other tokens one by one, all through its cache.

        `step_positions` [B, T] are given to the single tokens in place of `positions`.
        """
        if not self.names.get("cache"):
            raise Unsupported("it has no cache that is known how to use")
        cut = None if positions is None else positions[:, :prefill]
        answer = self._run(tokens[:, :prefill], cut, None if key_mask is None else key_mask[:, :prefill], None, keep=True)
        parts = [self._logits(answer, tokens[:, :prefill])]
        for t in range(prefill, tokens.shape[1]):
            at = positions if step_positions is None else step_positions
            past = self._cache(answer)
            mask = None if key_mask is None else key_mask[:, : t + 1]
            answer = self._run(tokens[:, t : t + 1], None if at is None else at[:, t : t + 1], mask, past, keep=True)
            parts.append(self._logits(answer, tokens[:, t : t + 1]))
        return torch.cat(parts, 1)

    def _run(self, tokens: Tensor, positions: Tensor | None, key_mask: Tensor | None, past: Any, keep: bool = False) -> Any:
        named: dict[str, Any] = {}
        for role, value in (("positions", positions), ("key_mask", key_mask)):
            if value is None:
                continue
            name = self.names.get(role)
            if name is None:
                raise Unsupported("it takes no positions" if role == "positions" else "it takes no mask of keys")
            named[name] = value.bool() if role == "key_mask" and self.names.get("bool mask") else value
        cache = self.names.get("cache")
        if past is not None and cache:
            named[cache] = past
        if keep and self.names.get("keep"):
            named["use_cache"] = True
        with torch.no_grad():
            name = self.names.get("tokens")
            return self.callee.call([] if name else [tokens], {**named, **({name: tokens} if name else {})})

    def _logits(self, answer: Any, tokens: Tensor) -> Tensor:
        part = getattr(answer, "logits", answer)
        part = getattr(part, "last_hidden_state", part)
        logits = self.callee.tensor(part[0] if isinstance(part, tuple | list) else part)
        if logits.ndim != 3 or logits.shape[:2] != tokens.shape:
            raise Unsupported(f"it returned shape {tuple(logits.shape)} for tokens {tuple(tokens.shape)}")
        return logits.detach()

    def _cache(self, answer: Any) -> Any:
        for name in (self.names.get("cache"), *_CACHES):
            cache = getattr(answer, name or "", None)
            if cache is not None:
                return cache
        if isinstance(answer, tuple | list) and len(answer) > 1:
            return answer[1]
        raise Unsupported("it gave no cache back")


def adapt_decoder(subject: Any, settings: DecoderSettings, **calling: Any) -> DecoderSubject:
    """The adapted decoder, by its parameters' names.

    Raises:
        ArgumentError: it does not answer tokens [B, T] with logits [B, T, V].
    """
    callee = Callee(subject, **calling)
    callee.names = () if isinstance(callee.owner, nn.Module) and not inspect.ismethod(subject) else callee.names
    present = {one.name: one for one in parameters(callee.targets[0]) or []}
    named: dict[str, str | None] = {}
    for role in ("positions", "key_mask"):
        named[role] = next((name for name in ROLES[role] if name in present), None)
    tokens = next((name for name in ROLES["tokens"] if name in present), None)
    first = next(iter(present), None)
    named["tokens"] = tokens if tokens is not None and tokens != first else None
    named["cache"] = next((name for name in _CACHES if name in present), None)
    named["keep"] = "use_cache" if "use_cache" in present else None
    named["bool mask"] = None
    if named["key_mask"]:
        named["bool mask"] = "yes" if _wants_bool(DecoderSubject(callee, settings, named)) else None
    adapted = DecoderSubject(callee, settings, named)
    try:
        adapted.fresh().logits(torch.zeros(2, 5, dtype=torch.long))
    except TimeLimitExceeded as error:
        raise ArgumentError("subject", expected="an answer", got=str(error), hint="raise the time limit") from None
    except Exception as error:
        raise ArgumentError(
            "subject",
            expected="a decoder: logits [B, T, V] for tokens [B, T]",
            got=f"called as {adapted.description}: {describe_error(error, 200)}",
            hint="wrap it as fn(tokens, positions, attention_mask)",
        ) from None
    return adapted


def _wants_bool(subject: DecoderSubject) -> bool:
    """Whether a mask of ones and zeros is refused."""
    tokens = torch.ones(2, 5, dtype=torch.long)
    try:
        subject.fresh().logits(tokens, None, tokens)
    except Exception:
        return True
    return False
