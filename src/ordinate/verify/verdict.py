"""What a check answers: each property with its outcome, the evidence, and the likely cause where one is known.

It stands apart from everything that runs a subject, and imports no torch: the command line and the pytest plugin print it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

__all__ = ["SCHEMA", "Cause", "Outcome", "Status", "Verdict"]

SCHEMA = "ordinate.verdict/1"
"""Name and version of what `Verdict.to_dict` tells; the number grows when a field changes its meaning or goes."""

Status = Literal["passed", "failed", "not applicable"]


@dataclass(frozen=True)
class Cause:
    """A known fault whose result is the subject's result.

    Args:
        id: the signature's stable name, for example "offset-missing-from-cache-key".
        says: what the subject's result equals, in words.
        read: file and line of this package where the same thing is done right.
        explains: ids of the failed properties in which the subject's numbers are those of the fault.
        complete: whether it explains every failed property, and fails nowhere else.
    """

    id: str
    says: str
    read: str
    explains: tuple[str, ...]
    complete: bool

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types."""
        return {
            "id": self.id,
            "says": self.says,
            "read": self.read,
            "explains": list(self.explains),
            "complete": self.complete,
        }


@dataclass(frozen=True)
class Outcome:
    """One property of one subject.

    Args:
        id: the property's stable name, for example "prefill-equals-decode".
        says: the property as a sentence.
        status: "passed", "failed" or "not applicable".
        evidence: what was measured, or why it does not apply.
        counterexample: where it fails, at the smallest position that shows it: expected, got, allowed difference.
        causes: ids of the signatures that explain it, the likeliest first.
    """

    id: str
    says: str
    status: Status
    evidence: str
    counterexample: Mapping[str, Any] | None = None
    causes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types."""
        return {
            "id": self.id,
            "says": self.says,
            "status": self.status,
            "evidence": self.evidence,
            "counterexample": None if self.counterexample is None else dict(self.counterexample),
            "causes": list(self.causes),
        }


@dataclass(frozen=True)
class Verdict:
    """All properties of one subject, in the order in which they were looked at.

    Args:
        subject: its name.
        kind: "rotary", "bias", "embedding", "attention", "decoder", "model", "axial".
        adapter: how it was called.
        assumed: what nobody said and was taken for granted, a sentence each.
        identified: what it was identified as: layout, base, direction ...
        outcomes: the properties.
        causes: the known faults that explain what failed, the likeliest first.
        wall_seconds: the whole run.
    """

    subject: str
    kind: str
    adapter: str
    assumed: tuple[str, ...]
    identified: Mapping[str, Any]
    outcomes: tuple[Outcome, ...]
    causes: tuple[Cause, ...] = ()
    wall_seconds: float = field(default=0.0, compare=False)

    @property
    def passed(self) -> bool:
        """Whether nothing failed, and something was looked at."""
        return not self.failed and any(outcome.status == "passed" for outcome in self.outcomes)

    @property
    def failed(self) -> tuple[Outcome, ...]:
        """The properties that failed."""
        return tuple(outcome for outcome in self.outcomes if outcome.status == "failed")

    def outcome(self, name: str) -> Outcome:
        """The outcome of the property with that id."""
        return next(outcome for outcome in self.outcomes if outcome.id == name)

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types; `docs/verify.md` describes it."""
        return {
            "schema": SCHEMA,
            "subject": self.subject,
            "kind": self.kind,
            "passed": self.passed,
            "adapter": self.adapter,
            "assumed": list(self.assumed),
            "identified": dict(self.identified),
            "outcomes": [outcome.to_dict() for outcome in self.outcomes],
            "causes": [cause.to_dict() for cause in self.causes],
            "wall_seconds": round(self.wall_seconds, 3),
        }

    def __str__(self) -> str:
        """The verdict as plain lines: what failed with its evidence and cause, then what was assumed."""
        counted = {status: sum(o.status == status for o in self.outcomes) for status in ("passed", "failed", "not applicable")}
        lines = [f"{self.subject}: " + ", ".join(f"{number} {status}" for status, number in counted.items() if number)]
        for outcome in self.failed:
            lines.append(f"  failed  {outcome.id}: {outcome.says}")
            lines.append(f"          {outcome.evidence}")
        for cause in self.causes:
            lines.append(f"  cause   {cause.says} [{cause.id}]; read {cause.read}")
            lines.append(f"          explains {', '.join(cause.explains)}" + ("" if cause.complete else " (not everything)"))
        if self.failed and not self.causes:
            lines.append("  cause   no known fault gives these numbers")
        lines.append(f"  called  {self.adapter}")
        lines += [f"  assumed {sentence}" for sentence in self.assumed]
        return "\n".join(lines)
