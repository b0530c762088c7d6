"""Attention in the field's shapes: queries, keys and values with or without positions, and in two orders of axes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ordinate.errors import ArgumentError
from ordinate.verify.adapters.calling import Call, Callee, Subject, best_of, calls
from ordinate.verify.observation import Unsupported
from ordinate.verify.references.attention import AttentionSettings

__all__ = ["AttentionSubject", "adapt_attention"]

_KNOWN = ("query", "key", "value", "positions", "query_positions", "key_positions", "offset", "key_mask", "causal")
_GUESSES = (
    ("query", "key", "value"),
    ("query", "key", "value", "positions"),
    ("query", "key", "value", "query_positions", "key_positions"),
)


@dataclass(frozen=True)
class AttentionForm:
    """One way of calling attention; `order` is "BHTD" or "BTHD"."""

    call: Call
    order: str = "BHTD"

    def __str__(self) -> str:
        return f"{self.call} with axes {' '.join(self.order)}"


class AttentionSubject(Subject):
    """Attention: `attend(query, key, value, query_positions, key_positions, key_mask)`, heads first."""

    @classmethod
    def from_fault(cls, wrong: Any, settings: AttentionSettings, like: AttentionSubject) -> AttentionSubject:
        """A known fault, which takes everything by place, asked for no more than `like`."""
        call = Call.by_place("query", "key", "value", "query_positions", "key_positions", "key_mask")
        subject = cls(Callee(wrong), AttentionForm(call), settings)
        subject.asked_as = like.form
        return subject

    def attend(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        query_positions: Tensor,
        key_positions: Tensor,
        key_mask: Tensor | None = None,
    ) -> Tensor:
        """[B, H, T, D]; raises where the positions or the mask cannot be said."""
        self._check_expressible(query_positions, key_positions, key_mask)
        values: dict[str, Any] = {
            "query": self._in_order(query),
            "key": self._in_order(key),
            "value": self._in_order(value),
            "positions": query_positions,
            "query_positions": query_positions,
            "key_positions": key_positions,
            "offset": int(query_positions.flatten()[0]),
            "key_mask": key_mask,
            "causal": self.settings.causal,
        }
        answer = self.callee.call(*self.form.call.arguments(values))
        answer = self.callee.tensor(answer[0] if isinstance(answer, tuple) else answer)
        if answer.ndim == 3 and answer.shape[-1] == query.shape[1] * value.shape[-1]:
            answer = answer.reshape(*answer.shape[:2], query.shape[1], -1).transpose(1, 2)  # heads side by side
        elif self.form.order == "BTHD":
            answer = answer.transpose(1, 2)
        if tuple(answer.shape) != (*query.shape[:3], value.shape[-1]):
            raise Unsupported(f"it returned shape {tuple(answer.shape)} for queries {tuple(query.shape)}")
        return answer

    def _check_expressible(self, query_positions: Tensor, key_positions: Tensor, key_mask: Tensor | None) -> None:
        roles = self.roles
        if key_mask is not None and "key_mask" not in roles and not bool(key_mask.all()):
            raise Unsupported("it takes no mask of keys")
        if "query_positions" in roles:
            return
        if "positions" in roles and query_positions.shape[-1] == key_positions.shape[-1]:
            return
        rows = key_positions if key_positions.ndim == 2 else key_positions[None]
        asked = query_positions if query_positions.ndim == 2 else query_positions[None]
        counted = torch.arange(rows.shape[-1])
        if not bool((rows == counted).all()):
            raise Unsupported("it takes no positions of keys, which are counted from 0")
        if not bool((asked == counted[len(counted) - asked.shape[-1] :]).all()):
            raise Unsupported("it takes no positions of queries, which stand at the end of the keys")

    def _in_order(self, x: Tensor) -> Tensor:
        return x if self.form.order == "BHTD" else x.transpose(1, 2)


def adapt_attention(subject: Any, settings: AttentionSettings, *, order: str | None = None, **calling: Any) -> AttentionSubject:
    """The adapted subject; how to call it is found out by trying.

    Raises:
        ArgumentError: no way fits; the message shows what was tried.
    """
    if order not in (None, "BHTD", "BTHD"):
        raise ArgumentError("order", expected="'BHTD', 'BTHD' or nothing", got=order)
    callee = Callee(subject, **calling)
    candidates = (
        AttentionSubject(callee, AttentionForm(call, axes), settings, () if order else (f"the axes are {' '.join(axes)}",))
        for call in calls(callee.targets[0], _KNOWN, _GUESSES)
        if {"query", "key", "value"} <= set(call.roles)
        for axes in ([order] if order else ["BHTD", "BTHD"])
    )
    return best_of(
        candidates,
        lambda candidate: (_score(candidate.fresh(), settings), candidate),
        enough=2,
        expected="attention that can be called with queries, keys and values",
        hint="wrap it as fn(q, k, v) with axes [B, H, T, D]",
    )[1]


def _score(candidate: AttentionSubject, settings: AttentionSettings) -> int:
    """2: heads do not mix, tokens do; 1: it answers in the right shape."""
    generator = torch.Generator().manual_seed(0)
    q = torch.randn(2, settings.num_heads, 5, settings.head_dim, generator=generator)
    k, v = torch.randn(2, 2, settings.num_kv_heads, 5, settings.head_dim, generator=generator)
    steps, mask = torch.arange(5), torch.ones(2, 5, dtype=torch.long)
    before = candidate.attend(q, k, v, steps, steps, mask)
    other = v.clone()
    other[:, :, 0] += 1.0  # the first token, which the last query sees
    moved = (candidate.attend(q, k, other, steps, steps, mask) - before).abs().amax((0, 3))
    across = v.clone()
    across[:, 0] += 1.0  # the first head
    leaked = (candidate.attend(q, k, across, steps, steps, mask) - before).abs().amax((0, 2, 3))
    shared = settings.num_heads // settings.num_kv_heads
    apart = bool((leaked[shared:] < 1e-6).all()) if settings.num_kv_heads > 1 else True
    return 2 if apart and bool((moved[:, -1] > 0).all()) else 1
