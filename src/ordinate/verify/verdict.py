"""What a check answers: each property with its outcome, the evidence, and the likely cause where one is known.

It stands apart from everything that runs a subject, and imports no torch: the command line and the pytest plugin print it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal, get_args

from ordinate.arguments import did_you_mean
from ordinate.errors import ArgumentError, DataError
from ordinate.records import plain

__all__ = ["SCHEMA", "Cause", "Outcome", "Status", "Verdict"]

SCHEMA = "ordinate.verdict/1"
"""Name and version of what `Verdict.to_dict` returns; the number grows when a field changes its meaning or goes."""

Status = Literal["passed", "failed", "not applicable"]


def _finite(record: Mapping[str, Any]) -> dict[str, Any]:
    """As plain JSON types, where a number that is not finite is null and a note says what it was."""
    missing = [f"{name} is {value}" for name, value in record.items() if isinstance(value, float) and not math.isfinite(value)]
    result = {name: plain(value) for name, value in record.items()}
    return {**result, "note": f"{', '.join(missing)}, which JSON cannot hold"} if missing else result


def _record(instance: Any) -> dict[str, Any]:
    record = {field.name: getattr(instance, field.name) for field in fields(instance)}
    return {name: _finite(value) if isinstance(value, Mapping) else plain(value) for name, value in record.items()}


@dataclass(frozen=True)
class Cause:
    """A known fault whose result is the subject's result.

    Args:
        id: the fault's stable name, for example "offset-missing-from-cache-key".
        says: what the subject's result equals, in words.
        read: file and line of this package where the same thing is done right.
        explains: ids of the failed properties in which the subject's numbers are those of the fault.
        complete: whether it explains every failed property, and fails nowhere else.

    >>> Cause("sign", "the rotation by minus the angle", "rotary/rotation.py", ("direction",), complete=True).explains
    ('direction',)
    """

    id: str
    says: str
    read: str
    explains: tuple[str, ...]
    complete: bool

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types."""
        return _record(self)


@dataclass(frozen=True)
class Outcome:
    """One property of one subject.

    Args:
        id: the property's stable name, for example "prefill-equals-decode".
        says: the property as a sentence.
        status: "passed", "failed" or "not applicable".
        evidence: what was measured, or why it does not apply.
        counterexample: where it fails, at the smallest position that shows it: expected, got, allowed difference.
        causes: ids of the known faults that explain it, the likeliest first.
        storage: whether it is about how numbers are kept (casts, an empty device, the state dict) and not about mathematics.

    >>> Outcome("norm", "a rotation keeps lengths", "passed", "largest difference 1e-7").to_dict()["status"]
    'passed'
    """

    id: str
    says: str
    status: Status
    evidence: str
    counterexample: Mapping[str, Any] | None = None
    causes: tuple[str, ...] = ()
    storage: bool = False

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types; a number that is not finite is null, and the counterexample has a `note` that says so."""
        return _record(self)


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
        strict_storage: whether fragile storage is a failure like wrong mathematics.

    >>> outcomes = (Outcome("norm", "", "passed", ""), Outcome("direction", "", "failed", "turns the other way"))
    >>> verdict = Verdict("mine", "rotary", "fn(x, positions)", (), {}, outcomes)
    >>> verdict.passed, [outcome.id for outcome in verdict.failed]
    (False, ['direction'])
    """

    subject: str
    kind: str
    adapter: str
    assumed: tuple[str, ...]
    identified: Mapping[str, Any]
    outcomes: tuple[Outcome, ...]
    causes: tuple[Cause, ...] = ()
    wall_seconds: float = field(default=0.0, compare=False)
    strict_storage: bool = False

    @property
    def passed(self) -> bool:
        """Whether something was looked at and nothing failed, fragile storage aside unless it is held strictly."""
        counted = self.failed if self.strict_storage else self.wrong
        return not counted and any(outcome.status == "passed" for outcome in self.outcomes)

    @property
    def failed(self) -> tuple[Outcome, ...]:
        """The properties that failed."""
        return tuple(outcome for outcome in self.outcomes if outcome.status == "failed")

    @property
    def wrong(self) -> tuple[Outcome, ...]:
        """The properties that failed, without those of storage."""
        return tuple(outcome for outcome in self.failed if not outcome.storage)

    @property
    def summary(self) -> str:
        """The verdict in one line: whether it passed, the likeliest cause where one is known, and how much was looked at."""
        count = sum(outcome.status != "not applicable" for outcome in self.outcomes)
        fragile = len(self.failed) - len(self.wrong)
        if self.passed:
            return f"passed, {count} properties" + (f", {fragile} of them fragile in storage" if fragile else "")
        counted = self.failed if self.strict_storage else self.wrong
        cause = next((c for c in self.causes if {one.id for one in counted} & set(c.explains)), None)
        if not counted:
            return "failed: nothing could be looked at"
        what = f"its result equals {cause.says}" if cause else "no known fault gives these numbers"
        if len(counted) == 1 and cause is None and not self.causes:
            return f"failed: {counted[0].evidence}; {what}"
        return f"failed, {len(counted)} of {count} properties: {what}"

    def against_expected(self, expected: Iterable[str]) -> tuple[list[str], list[str]]:
        """Ids of properties that failed and were not expected to, and of those that were expected to fail and passed.

        Raises:
            ArgumentError: an id that no property has.
        """
        known = {outcome.id for outcome in self.outcomes}
        for name in expected:
            if name not in known:
                hint = did_you_mean(name, known)
                raise ArgumentError("expected_failures", expected=f"among {sorted(known)}", got=name, hint=hint)
        counted = self.failed if self.strict_storage else self.wrong
        failed = {outcome.id for outcome in self.failed}
        return [one.id for one in counted if one.id not in expected], [name for name in expected if name not in failed]

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
            "identified": _finite(self.identified),
            "outcomes": [outcome.to_dict() for outcome in self.outcomes],
            "causes": [cause.to_dict() for cause in self.causes],
            "wall_seconds": round(self.wall_seconds, 3),
            "strict_storage": self.strict_storage,
        }

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Verdict:
        """The verdict that `to_dict` wrote; `passed` is not read but follows from the outcomes.

        Raises:
            KeyError, TypeError, DataError: what is no such record.
        """
        outcomes = tuple(Outcome(**{**one, "causes": tuple(one["causes"])}) for one in record["outcomes"])
        causes = tuple(Cause(**{**one, "explains": tuple(one["explains"])}) for one in record["causes"])
        if record["schema"] != SCHEMA or not outcomes or any(one.status not in get_args(Status) for one in outcomes):
            raise DataError("record", expected=f"a verdict of schema {SCHEMA} with outcomes")
        texts = str(record["subject"]), str(record["kind"]), str(record["adapter"])
        assumed, wall = tuple(record["assumed"]), float(record["wall_seconds"])
        strict = bool(record["strict_storage"])
        return cls(*texts, assumed, dict(record["identified"]), outcomes, causes, wall, strict)

    def __str__(self) -> str:
        """The verdict as plain lines: what failed with its evidence and cause, then what was assumed."""
        lines = [f"{self.subject}: {self.summary}"]
        for outcome in (*self.wrong, *(one for one in self.failed if one.storage)):
            lines.append(f"  {'fragile' if outcome.storage else 'failed '} {outcome.id}: {outcome.says}")
            lines.append(f"          {outcome.evidence}")
        for cause in self.causes:
            lines.append(f"  cause   {cause.says} [{cause.id}]; read {cause.read}")
            lines.append(f"          explains {', '.join(cause.explains)}" + ("" if cause.complete else " (not everything)"))
        if self.failed and not self.causes:
            lines.append("  cause   no known fault gives these numbers")
        lines.append(f"  called  {self.adapter}")
        lines += [f"  assumed {sentence}" for sentence in self.assumed]
        return "\n".join(lines)
