"""Biases in the field's shapes: functions of positions, of lengths, of a key mask, of distances, or of the number of heads."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from ordinate.verify.adapters.calling import Call, Callee, Subject, best_of, calls
from ordinate.verify.observation import Unsupported
from ordinate.verify.references.biases import BiasSettings, slopes

__all__ = ["BiasSubject", "adapt_bias"]

_KNOWN = (
    "query_positions",
    "key_positions",
    "query_length",
    "key_length",
    "length",
    "num_heads",
    "key_mask",
    "distance",
    "dtype",
)
_GUESSES = (
    ("query_positions", "key_positions"),
    ("query_length", "key_length"),
    ("num_heads", "length"),
    ("length", "num_heads"),
    ("length",),
    ("num_heads",),
    ("distance",),
)


@dataclass(frozen=True)
class BiasForm:
    """One way of calling a bias, and what it returns: "bias", "slopes" or "buckets"; `sign` of the distance it takes."""

    call: Call
    returns: str = "bias"
    sign: int = 1

    def __str__(self) -> str:
        signed = "" if "distance" not in self.call.roles else " with query - key" if self.sign > 0 else " with key - query"
        return f"{self.call}{signed}, gives {self.returns}"


class BiasSubject(Subject):
    """A bias: `bias(query_positions [T], key_positions [S])` to [B or 1, H, T, S]."""

    @classmethod
    def from_fault(cls, wrong: Any, settings: BiasSettings, like: BiasSubject) -> BiasSubject:
        """A known fault, which takes (query_positions, key_positions), asked for no more than `like`."""
        call = Call.by_place("query_positions", "key_positions", "dtype")
        subject = cls(Callee(_WithDtype(wrong)), BiasForm(call, like.form.returns), settings)
        subject.asked_as = like.form
        subject.callee.wrapped = like.callee.module is None and not isinstance(wrong, nn.Module)
        return subject

    def __call__(
        self,
        query_positions: Tensor,
        key_positions: Tensor,
        dtype: torch.dtype = torch.float32,
        key_mask: Tensor | None = None,
    ) -> Tensor:
        """The bias; `key_mask` [B, S] says which keys are real where positions alone cannot."""
        self._check_expressible(query_positions, key_positions, dtype)
        distance = query_positions.unsqueeze(-1) - key_positions.unsqueeze(-2)
        values = {
            "query_positions": query_positions,
            "key_positions": key_positions,
            "query_length": query_positions.shape[-1],
            "key_length": key_positions.shape[-1],
            "length": key_positions.shape[-1],
            "num_heads": self.settings.num_heads,
            "key_mask": torch.ones(1, key_positions.shape[-1], dtype=torch.long) if key_mask is None else key_mask,
            "distance": self.form.sign * distance,
            "dtype": dtype,
        }
        answer = self.callee.tensor(self.callee.call(*self.form.call.arguments(values))).detach()
        if self.form.returns == "slopes" and "distance" not in self.form.call.roles and answer.ndim < 3:
            rates = answer.double().abs().reshape(-1, 1, 1)
            return -rates * (distance.double()[None, None] if distance.ndim == 2 else distance.double().unsqueeze(1))
        if self.form.returns == "buckets":
            return answer.reshape(1, 1, *distance.shape[-2:])
        return _four_axes(answer, self.settings.num_heads, query_positions.shape[-1], key_positions.shape[-1])

    def _check_expressible(self, query_positions: Tensor, key_positions: Tensor, dtype: torch.dtype) -> None:
        roles = self.roles
        if dtype != torch.float32 and "dtype" not in roles:
            raise Unsupported("it takes no dtype")
        if "query_positions" in roles or "distance" in roles or self.asked_form.returns == "slopes":
            return
        if max(query_positions.ndim, key_positions.ndim) == 2 and "key_mask" not in roles:
            raise Unsupported("it takes no positions that differ from row to row")
        row = key_positions[-1] if key_positions.ndim == 2 else key_positions
        if key_positions.ndim == 1 and (int(row[0]) != 0 or not bool((row.diff() == 1).all())):
            raise Unsupported("it takes lengths, so keys are counted from 0")
        asked = query_positions[-1] if query_positions.ndim == 2 else query_positions
        aligned = bool((asked == row[len(row) - len(asked) :]).all())
        if not aligned or (len(asked) != len(row) and "query_length" not in roles and "key_mask" not in roles):
            raise Unsupported("it takes one length, as many queries as keys")


class _WithDtype(nn.Module):
    """A fault with or without a dtype of its own: without, its result is rounded to the one asked for."""

    def __init__(self, wrong: Any) -> None:
        super().__init__()
        called = wrong.forward if isinstance(wrong, nn.Module) else wrong
        self.wrong, self.rounds = wrong, "dtype" in inspect.signature(called).parameters

    def forward(self, query_positions: Tensor, key_positions: Tensor, dtype: torch.dtype) -> Tensor:
        if self.rounds:
            return self.wrong(query_positions, key_positions, dtype)
        answer: Tensor = self.wrong(query_positions, key_positions)
        return answer.to(dtype) if answer.is_floating_point() else answer


def _four_axes(answer: Tensor, num_heads: int, tokens: int, keys: int) -> Tensor:
    """[B or 1, H, T, S] from the shapes that broadcast to it."""
    shape = tuple(answer.shape)
    if answer.ndim == 4:
        result = answer
    elif answer.ndim == 3 and shape[0] != num_heads and shape[0] % num_heads == 0:
        result = answer.reshape(-1, num_heads, *shape[1:])  # rows and heads in one axis, as Bloom has them
    elif answer.ndim == 3:
        result = answer.unsqueeze(0)
    elif answer.ndim == 2:
        result = answer[None, None]
    else:
        raise Unsupported(f"it returned a tensor of shape {shape}")
    if result.shape[1] not in (1, num_heads) or result.shape[2] not in (1, tokens) or result.shape[3] not in (1, keys):
        raise Unsupported(
            f"it returned a tensor of shape {shape}, no bias for {num_heads} heads, {tokens} queries, {keys} keys"
        )
    return result.expand(-1, max(result.shape[1], num_heads), tokens, keys)


def adapt_bias(subject: Any, settings: BiasSettings, **calling: Any) -> BiasSubject:
    """The adapted subject; how to call it is found out by trying.

    Raises:
        ArgumentError: no way fits; the message shows what was tried.
    """
    callee = Callee(subject, **calling)
    forms = (form for call in calls(callee.targets[0], _KNOWN, _GUESSES) for form in _forms(call, settings))
    candidates = (BiasSubject(callee, form, settings, _assumed(form)) for form in forms)
    return best_of(
        candidates,
        lambda candidate: (_score(candidate.fresh(), settings), candidate),
        enough=2,
        expected="a bias that can be called with positions, lengths, a key mask, distances or heads",
        hint="wrap it as fn(query_positions, key_positions) -> [H, T, S]",
    )[1]


def _assumed(form: BiasForm) -> tuple[str, ...]:
    if "length" in form.call.roles or "query_length" in form.call.roles:
        return ("the last query stands at the last key",)
    if "key_mask" in form.call.roles:
        return ("the mask is of keys, ones for real tokens",)
    return ()


def _forms(call: Call, settings: BiasSettings) -> list[BiasForm]:
    if call.roles == ("num_heads",):
        return [BiasForm(call, "slopes")]
    if "distance" in call.roles:
        returns = ("buckets", "bias") if settings.rule == "t5" else ("bias",)
        return [BiasForm(call, what, sign) for what in returns for sign in (1, -1)]
    return [BiasForm(call)]


def _score(candidate: BiasSubject, settings: BiasSettings) -> int:
    """2: falls with the distance as expected of the rule; 1: answers in the right shape."""
    steps = torch.arange(6)
    answer = candidate(steps, steps)
    if candidate.form.returns == "slopes" and answer.shape[1] != settings.num_heads:
        raise Unsupported(f"it returned {answer.shape[1]} slopes")
    if candidate.form.returns == "buckets":
        if answer.is_floating_point():
            raise Unsupported("it returned fractions, no buckets")
        ahead, behind = answer[0, 0, 0, 5], answer[0, 0, 5, 0]
        return 2 if int(ahead) > int(behind) or not settings.bidirectional else 1
    if settings.rule == "alibi":
        rate = torch.tensor(slopes(settings.num_heads, settings.slopes)).double()
        row = answer[0, :, -1].double()
        return 2 if torch.allclose(row[:, -1] - row[:, -2], rate, rtol=0.02) else 1
    return 1
