"""Position embeddings in the field's shapes: functions of positions, of a length, or of the embeddings they are added to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ordinate.errors import ArgumentError
from ordinate.verify.adapters.calling import Call, Callee, Subject, best_of, calls, consecutive, same_in_every_row
from ordinate.verify.observation import Unsupported
from ordinate.verify.references.sinusoids import EmbeddingSettings

__all__ = ["EmbeddingSubject", "adapt_embedding"]

_KNOWN = ("positions", "x", "offset", "length", "head_dim")
_GUESSES = (("positions",), ("x",), ("length", "head_dim"), ("length",), ("x", "positions"), ("x", "offset"))


@dataclass(frozen=True)
class EmbeddingForm:
    """One way of calling an embedding.

    Args:
        call: its arguments by role.
        order: "BTD" or "TBD", the axes of what it takes.
        adds: whether it returns its input plus the vectors, or the vectors.
        positions: "T" or "BT"; "any" hands them on as they are.
        scales: by what it multiplies its input first.
    """

    call: Call
    order: str = "BTD"
    adds: bool = False
    positions: str = "T"
    scales: float = 1.0

    def __str__(self) -> str:
        text = f"{self.call}"
        if "x" in self.call.roles:
            text += f" with axes {' '.join(self.order)}, " + ("adds to its input" if self.adds else "returns the vectors")
        return text + (f", input times {self.scales:.4g}" if self.scales != 1.0 else "")


class EmbeddingSubject(Subject):
    """An embedding: `encode(positions [T] or [B, T])` to [T, D] or [B, T, D]."""

    @classmethod
    def from_fault(cls, wrong: Any, settings: EmbeddingSettings, like: EmbeddingSubject) -> EmbeddingSubject:
        """A known fault, which takes (positions, x), asked for no more than `like`."""
        subject = cls(Callee(wrong), EmbeddingForm(Call.by_place("positions", "x"), positions="any"), settings)
        subject.asked_as = like.form
        return subject

    def encode(self, positions: Tensor, dtype: torch.dtype = torch.float32, batch: int = 2) -> Tensor:
        """The vectors alone, [T, D] or [B, T, D]."""
        x = torch.zeros(
            positions.shape[0] if positions.ndim == 2 else batch, positions.shape[-1], self.settings.dim, dtype=dtype
        )
        return self.added_to(x, positions)

    def added_to(self, x: Tensor, positions: Tensor) -> Tensor:
        """What it adds to embeddings x [B, T, D] at positions [T] or [B, T]: [T, D], or [B, T, D] where rows differ."""
        self._check_expressible(positions)
        rows = positions.ndim == 2
        values: dict[str, Any] = {
            "positions": self._positions(positions, x.shape[0]),
            "x": x if self.form.order == "BTD" else x.transpose(0, 1),
            "offset": int(positions.flatten()[0]) if positions.numel() else 0,
            "length": positions.shape[-1],
            "head_dim": self.settings.dim,
        }
        before = x.clone()
        answer = self.callee.tensor(self.callee.call(*self.form.call.arguments(values))).detach()
        if "x" in self.form.call.roles and self.asked_as is None and answer.ndim == 3 and self.form.order == "TBD":
            answer = answer.transpose(0, 1)
        if answer.ndim == 3 and answer.shape[0] not in (1, x.shape[0]):
            raise Unsupported(f"it returned shape {tuple(answer.shape)} for {tuple(x.shape)}")
        if answer.shape[-1] != self.settings.dim or answer.shape[-2] != positions.shape[-1]:
            raise Unsupported(
                f"it returned shape {tuple(answer.shape)} for {positions.shape[-1]} positions of {self.settings.dim} channels"
            )
        if self.form.adds:
            answer = answer - (self.form.scales * before).to(answer.dtype)
        if answer.ndim == 3 and not rows:
            if answer.shape[0] > 1 and not torch.equal(answer.nan_to_num(), answer[:1].expand_as(answer).nan_to_num()):
                return answer
            return answer[0]
        return answer.expand(positions.shape[0], -1, -1) if rows and answer.ndim == 2 else answer

    def _positions(self, positions: Tensor, batch: int) -> Tensor:
        if self.form.positions == "BT" and positions.ndim == 1:
            return positions.expand(batch, -1)
        return positions[0] if self.form.positions == "T" and positions.ndim == 2 else positions

    def _check_expressible(self, positions: Tensor) -> None:
        if "positions" in self.roles:
            if self.asked_form.positions == "T" and not same_in_every_row(positions):
                raise Unsupported("its positions are one row for the whole batch")
            return
        row = positions[0] if positions.ndim == 2 else positions
        if not same_in_every_row(positions):
            raise Unsupported("it takes no positions that differ from row to row")
        if not consecutive(row):
            raise Unsupported("it takes no positions, only consecutive tokens")
        if "offset" not in self.roles and row.numel() and int(row[0]) != 0:
            raise Unsupported("it takes neither positions nor an offset: every row starts at 0")


def adapt_embedding(subject: Any, settings: EmbeddingSettings, *, order: str | None = None, **calling: Any) -> EmbeddingSubject:
    """The adapted subject; how to call it is found out by trying.

    Raises:
        ArgumentError: no way fits; the message shows what was tried.
    """
    if order not in (None, "BTD", "TBD"):
        raise ArgumentError("order", expected="'BTD', 'TBD' or nothing", got=order)
    callee = Callee(subject, **calling)
    forms = (
        EmbeddingForm(call, axes, positions=form)
        for call in _calls(callee)
        for axes in (([order] if order else ["BTD", "TBD"]) if "x" in call.roles else ["BTD"])
        for form in (("BT", "T") if "positions" in call.roles else ("T",))
    )
    return best_of(
        (EmbeddingSubject(callee, form, settings) for form in forms),
        lambda candidate: _score(candidate, settings),
        enough=2,
        expected="an embedding that can be called with positions, embeddings or a length",
        hint="wrap it as fn(positions) -> [T, D]",
    )[1]


def _calls(callee: Callee) -> list[Call]:
    """By name and by guess; a lone tensor may be positions, whatever it is called (`input` of torch's Embedding)."""
    ways = calls(callee.targets[0], _KNOWN, _GUESSES)
    return ways + [Call(("positions",), call.names) for call in ways if call.roles == ("x",)]


def _score(candidate: EmbeddingSubject, settings: EmbeddingSettings) -> tuple[int, EmbeddingSubject]:
    """2: the same for every row, another for every token; 1: it answers, and what it does with its input."""
    steps, form = torch.arange(5), candidate.form
    zeros = torch.zeros(2, 5, settings.dim)
    base = candidate.fresh().added_to(zeros, steps)
    if "x" in form.call.roles:
        ones = candidate.fresh().added_to(zeros + 1.0, steps)
        moved = float((ones - base).double().mean())
        if abs(moved) > 1e-6:
            form = EmbeddingForm(form.call, form.order, True, form.positions, round(moved, 6))
    informed = EmbeddingSubject(candidate.callee, form, settings, _assumed(form))
    vectors = base.double()
    alike = vectors.ndim == 2
    varies = alike and bool((vectors[1:] - vectors[:-1]).abs().amax(-1).gt(1e-7).all())
    return (2 if varies else 1), informed


def _assumed(form: EmbeddingForm) -> tuple[str, ...]:
    return (f"the axes are {' '.join(form.order)}",) if "x" in form.call.roles else ()
