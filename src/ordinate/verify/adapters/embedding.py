"""Position embeddings in the field's shapes: functions of positions, of a length, or of the embeddings they are added to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ordinate.errors import ArgumentError
from ordinate.verify.adapters.native import Native
from ordinate.verify.adapters.roles import Plan, plans
from ordinate.verify.adapters.trying import best_of
from ordinate.verify.references.sinusoids import EmbeddingSettings
from ordinate.verify.seen import unsupported

__all__ = ["EmbeddingSubject", "adapt_embedding"]

_KNOWN = ("positions", "x", "offset", "length", "head_dim")
_GUESSES = (("positions",), ("x",), ("length", "head_dim"), ("length",), ("x", "positions"), ("x", "offset"))


@dataclass(frozen=True)
class EmbeddingShape:
    """One way of calling an embedding.

    Args:
        plan: its arguments by role.
        order: "BTD" or "TBD", the axes of what it takes.
        adds: whether it returns its input plus the vectors, or the vectors.
        positions: "T" or "BT"; "any" hands them on as they are.
        scales: by what it multiplies its input first.
    """

    plan: Plan
    order: str = "BTD"
    adds: bool = False
    positions: str = "T"
    scales: float = 1.0

    def __str__(self) -> str:
        told = f"{self.plan}"
        if "x" in self.plan.roles:
            told += f" with axes {' '.join(self.order)}, " + ("adds to its input" if self.adds else "returns the vectors")
        return told + (f", input times {self.scales:.4g}" if self.scales != 1.0 else "")


class EmbeddingSubject:
    """An embedding in one shape: `encode(positions [T] or [B, T])` to [T, D] or [B, T, D]."""

    def __init__(
        self, native: Native, shape: EmbeddingShape, settings: EmbeddingSettings, assumed: tuple[str, ...] = ()
    ) -> None:
        self.native, self.shape, self.settings, self.assumed = native, shape, settings, assumed
        self.remembered: dict[str, Any] = {}

    @classmethod
    def direct(cls, made: Any, settings: EmbeddingSettings, like: EmbeddingSubject | None = None) -> EmbeddingSubject:
        """A known fault, which takes (positions, x), asked for no more than `like`."""
        subject = cls(Native(made), EmbeddingShape(Plan(("positions", "x"), (None, None)), positions="any"), settings)
        if like is not None:
            subject.remembered["as"] = like.shape
        return subject

    def fresh(self) -> EmbeddingSubject:
        """The same subject with state of its own."""
        return self.of(self.native.fresh())

    def of(self, native: Native) -> EmbeddingSubject:
        """Another subject called in the same way."""
        other = EmbeddingSubject(native, self.shape, self.settings, self.assumed)
        other.remembered = {key: value for key, value in self.remembered.items() if key == "as"}
        return other

    @property
    def words(self) -> str:
        """How it is called."""
        return str(self.shape)

    def encode(self, positions: Tensor, dtype: torch.dtype = torch.float32, batch: int = 2) -> Tensor:
        """The vectors alone, [T, D] or [B, T, D]."""
        x = torch.zeros(
            positions.shape[0] if positions.ndim == 2 else batch, positions.shape[-1], self.settings.dim, dtype=dtype
        )
        return self.added_to(x, positions)

    def added_to(self, x: Tensor, positions: Tensor) -> Tensor:
        """What it adds to embeddings x [B, T, D] at positions [T] or [B, T]: [T, D], or [B, T, D] where rows differ."""
        shape = self.remembered.get("as", self.shape)
        self._can(shape, positions)
        rows = positions.ndim == 2
        given: dict[str, Any] = {
            "positions": self._positions(positions, x.shape[0]),
            "x": x if self.shape.order == "BTD" else x.transpose(0, 1),
            "offset": int(positions.flatten()[0]) if positions.numel() else 0,
            "length": positions.shape[-1],
            "head_dim": self.settings.dim,
        }
        before = x.clone()
        answer = self.native.tensor(self.native.call(*self.shape.plan.arguments(given))).detach()
        if "x" in self.shape.plan.roles and "as" not in self.remembered and answer.ndim == 3 and self.shape.order == "TBD":
            answer = answer.transpose(0, 1)
        if answer.ndim == 3 and answer.shape[0] not in (1, x.shape[0]):
            raise unsupported(f"it returned shape {tuple(answer.shape)} for {tuple(x.shape)}")
        if answer.shape[-1] != self.settings.dim or answer.shape[-2] != positions.shape[-1]:
            raise unsupported(
                f"it returned shape {tuple(answer.shape)} for {positions.shape[-1]} positions of {self.settings.dim} channels"
            )
        if self.shape.adds:
            answer = answer - (self.shape.scales * before).to(answer.dtype)
        if answer.ndim == 3 and not rows:
            if answer.shape[0] > 1 and not torch.equal(answer.nan_to_num(), answer[:1].expand_as(answer).nan_to_num()):
                return answer
            return answer[0]
        return answer.expand(positions.shape[0], -1, -1) if rows and answer.ndim == 2 else answer

    def _positions(self, positions: Tensor, batch: int) -> Tensor:
        if self.shape.positions == "BT" and positions.ndim == 1:
            return positions.expand(batch, -1)
        return positions[0] if self.shape.positions == "T" and positions.ndim == 2 else positions

    def _can(self, shape: EmbeddingShape, positions: Tensor) -> None:
        if "positions" in shape.plan.roles:
            if shape.positions == "T" and positions.ndim == 2 and not bool((positions == positions[:1]).all()):
                raise unsupported("its positions are one row for the whole batch")
            return
        row = positions[0] if positions.ndim == 2 else positions
        if positions.ndim == 2 and not bool((positions == row).all()):
            raise unsupported("it takes no positions that differ from row to row")
        if not bool((row == row[:1] + torch.arange(len(row))).all()):
            raise unsupported("it takes no positions, only consecutive tokens")
        if "offset" not in shape.plan.roles and row.numel() and int(row[0]) != 0:
            raise unsupported("it takes neither positions nor an offset: every row starts at 0")


def adapt_embedding(
    subject: Any, settings: EmbeddingSettings, *, order: str | None = None, seconds: float = 10.0
) -> EmbeddingSubject:
    """The subject in one shape, found by trying.

    Raises:
        ArgumentError: no way fits; the message shows what was tried.
    """
    if order not in (None, "BTD", "TBD"):
        raise ArgumentError("order", expected="'BTD', 'TBD' or nothing", got=order, hint="leave it out to have it found")
    native = Native(subject, seconds)
    shapes = (
        EmbeddingShape(plan, axes, positions=form)
        for plan in _plans(native)
        for axes in (([order] if order else ["BTD", "TBD"]) if "x" in plan.roles else ["BTD"])
        for form in (("BT", "T") if "positions" in plan.roles else ("T",))
    )
    return best_of(
        (EmbeddingSubject(native, shape, settings) for shape in shapes),
        lambda candidate: _score(candidate, settings),
        enough=2,
        expected="an embedding that can be called with positions, embeddings or a length",
        hint="wrap it as fn(positions) -> [T, D]",
    )[1]


def _plans(native: Native) -> list[Plan]:
    """By name and by guess; a lone tensor may be positions, whatever it is called (`input` of torch's Embedding)."""
    found = plans(native.targets[0], _KNOWN, _GUESSES)
    return found + [Plan(("positions",), plan.names) for plan in found if plan.roles == ("x",)]


def _score(candidate: EmbeddingSubject, settings: EmbeddingSettings) -> tuple[int, EmbeddingSubject]:
    """2: the same for every row, another for every token; 1: it answers. What it does with its input is found on the way."""
    steps, roles = torch.arange(5), candidate.shape.plan.roles
    zeros = torch.zeros(2, 5, settings.dim)
    base = candidate.fresh().added_to(zeros, steps)
    shape = candidate.shape
    if "x" in roles:
        ones = candidate.fresh().added_to(zeros + 1.0, steps)
        moved = float((ones - base).double().mean())
        if abs(moved) > 1e-6:
            shape = EmbeddingShape(shape.plan, shape.order, True, shape.positions, round(moved, 6))
    found = EmbeddingSubject(candidate.native, shape, settings, _assumed(shape))
    vectors = base.double()
    alike = vectors.ndim == 2
    varies = alike and bool((vectors[1:] - vectors[:-1]).abs().amax(-1).gt(1e-7).all())
    return (2 if varies else 1), found


def _assumed(shape: EmbeddingShape) -> tuple[str, ...]:
    return (f"the axes are {' '.join(shape.order)}",) if "x" in shape.plan.roles else ()
