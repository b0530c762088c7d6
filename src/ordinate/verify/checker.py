"""The checker: one for every kind of subject, made of an adapter, a list of properties and a table of known faults.

From what failed to a likely cause (`diagnose`): every known fault is asked the same questions, its numbers compared. A fault
explains a failed property where it fails there too with the same numbers. It is a cause only if it fails nowhere that the
subject holds; it is a complete one if it explains all that failed. Two faults at once are two causes, each for its part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from ordinate.verify.adapters.calling import Subject
from ordinate.verify.faults.table import KnownFault
from ordinate.verify.observation import Observation, Property, Result, observe, observe_all, select_properties
from ordinate.verify.verdict import Cause, Verdict

__all__ = ["Checker", "diagnose"]


def _the_settings(subject: Any, settings: Any) -> Any:
    return settings


def _the_case_alone(subject: Any, case: Any) -> tuple[Any, ...]:
    return (case,)


def _nothing(*_: Any) -> tuple[str, ...]:
    return ()


@dataclass(frozen=True)
class Checker:
    """How subjects of one kind are checked.

    Args:
        kind: the kind's name in verdicts.
        properties: what every correct subject does, in the order in which it is asked.
        faults: the known faults of this kind.
        from_fault: (a wrong implementation, its settings, the subject) -> an adapted subject that is asked for no more than
            the subject can be asked for.
        case: (subject, settings) -> what the properties are asked with; by default the settings.
        variants: (subject, case) -> settings that every known fault is tried with; by default the case.
        may_refuse: case -> ids of properties where raising is a right answer.
        by_settings: (subject, case, results) -> failed properties that right code fails too under these settings.
        identified: (subject, case) -> what the subject was identified as, for the verdict.
        confirm: (subject, suspect, case) -> whether a fault's numbers are the subject's where no property looks.
        can_diagnose: subject -> whether its numbers can resemble those of a fault at all.
        on_device: properties besides, where the subject does not run on the CPU.
        essential: properties without which the subject is nothing of the kind, each with the sentence that says so.
    """

    kind: str
    properties: tuple[Property, ...]
    faults: tuple[KnownFault, ...] = ()
    from_fault: Callable[[Any, Any, Any], Subject] | None = None
    case: Callable[[Any, Any], Any] = _the_settings
    variants: Callable[[Any, Any], Iterable[Any]] = _the_case_alone
    may_refuse: Callable[[Any], Sequence[str]] = _nothing
    by_settings: Callable[[Any, Any, Sequence[Result]], Sequence[str]] = _nothing
    identified: Callable[[Any, Any], dict[str, Any]] = lambda subject, case: {}
    confirm: Callable[[Any, Any, Any], bool] = lambda subject, suspect, case: True
    can_diagnose: Callable[[Any], bool] = lambda subject: True
    on_device: tuple[Property, ...] = ()
    essential: Mapping[str, str] = field(default_factory=dict)

    def verdict(
        self,
        subject: Any,
        settings: Any,
        name: str,
        only: Sequence[str] | None = None,
        skip: Sequence[str] = (),
        strict_storage: bool = False,
    ) -> Verdict:
        """The verdict on an adapted subject.

        Raises:
            ArgumentError: `only` or `skip` names a property that there is not.
        """
        known = {"cpu": self.properties, "meta": self.on_device}.get(
            subject.callee.device.type, (*self.properties, *self.on_device)
        )
        properties = select_properties(known, only, skip)
        case = self.case(subject, settings)
        results = observe_all(properties, subject, case, self.may_refuse(case), self.essential)
        compared = results if self.can_diagnose(subject) else results[:1]
        causes = diagnose(
            compared,
            self._suspects(subject, case),
            case,
            self.by_settings(subject, case, results),
            lambda suspect: self.confirm(subject, suspect, case),
        )
        return Verdict(
            subject=name,
            kind=self.kind,
            adapter=subject.description,
            assumed=subject.assumed,
            identified=self.identified(subject, case),
            outcomes=tuple(one.outcome(tuple(c.id for c in causes if one.asked.id in c.explains)) for one in results),
            causes=tuple(causes),
            strict_storage=strict_storage,
        )

    def _suspects(self, subject: Any, case: Any) -> Iterator[tuple[KnownFault, Callable[[], Subject]]]:
        for fault in self.faults:
            for settings in self.variants(subject, case):
                yield fault, lambda fault=fault, s=settings: self.from_fault(fault.implement(s), s, subject)  # type: ignore[misc]


SCREENED = 8


def diagnose(
    results: Sequence[Result],
    suspects: Iterable[tuple[KnownFault, Callable[[], Any]]],
    case: Any,
    by_settings: Sequence[str] = (),
    confirm: Callable[[Any], bool] = lambda suspect: True,
    keep: int = 3,
) -> list[Cause]:
    """The causes of what failed, the likeliest first.

    Args:
        results: all properties of the subject.
        suspects: known faults, each with what makes a subject of it.
        case: what the properties are asked with.
        by_settings: failed properties that right code fails too, with the settings identified in place of those stated.
        confirm: whether a suspect that explains something gives the subject's numbers elsewhere too.
        keep: how many to name at most.
    """
    failed = [one for one in results if one.status == "failed" and one.observation is not None and one.asked.cheap]
    passed = [one for one in results if one.status == "passed" and one.asked.cheap]
    if not failed:
        return []
    causes: dict[str, tuple[Cause, int]] = {}
    for fault, make in suspects:
        try:
            suspect = make()
        except Exception:
            continue  # a fault that has no meaning for these settings
        asked = [one for one in failed if not fault.properties or one.asked.id in fault.properties]
        explained, contradicted = _explains(asked, fault, suspect, case)
        if not any((name in by_settings) == fault.of_settings for name in explained):
            continue
        if any(observe(one.asked, suspect, case).status == "failed" for one in passed):
            continue
        if not fault.rounds and not confirm(suspect):
            continue
        cause = Cause(fault.id, fault.says, fault.read_at(), tuple(explained), len(explained) == len(failed))
        known = causes.get(fault.id)
        if known is None or len(explained) > len(known[0].explains):
            causes[fault.id] = cause, contradicted
    ranked = sorted(causes.values(), key=lambda pair: (not pair[0].complete, -len(pair[0].explains), pair[1]))
    return _needed([cause for cause, _ in ranked])[:keep]


def _explains(failed: Sequence[Result], fault: KnownFault, suspect: Any, case: Any) -> tuple[list[str], int]:
    """Ids of what the fault explains, and how many failed properties it contradicts (fails there too, in other numbers)."""
    explained: list[str] = []
    contradicted = 0
    for number, one in enumerate(failed):
        if number == SCREENED and not explained:
            return [], contradicted  # what resembles none of the first will not resemble the rest
        own = observe(one.asked, suspect, case)
        if own.status != "failed" or own.observation is None or one.observation is None:
            continue
        if _same(one.observation, own.observation, fault.rounds):
            explained.append(one.asked.id)
        else:
            contradicted += 1
    return explained, contradicted


def _same(one: Observation, other: Observation, rounds: bool) -> bool:
    """Equal as far as the arithmetic of two implementations can be: what a property allows, twice; NaN equals NaN.

    Where the fault `rounds` to a narrow format, one number in a hundred may be off by a rounding of bfloat16: two
    implementations round to different neighbours where they differ in the last bit.
    """
    if [fact.holds for fact in one.facts] != [fact.holds for fact in other.facts]:
        return False
    if len(one.comparisons) != len(other.comparisons) or len(one.traces) != len(other.traces):
        return False
    pairs = [
        (a.got, b.got, a.allowed if a.got.shape == a.expected.shape else 0.0)
        for a, b in zip(one.comparisons, other.comparisons, strict=True)
    ]
    pairs += [(a, b, 0.0) for a, b in zip(one.traces, other.traces, strict=True)]
    for a, b, allowed in pairs:
        if a.shape != b.shape or not torch.equal(a.isnan(), b.isnan()):
            return False
        if a.numel() == 0:
            continue
        x, y = a.detach().double().nan_to_num(), b.detach().double().nan_to_num()
        scale = min(1.0, float(x.abs().max())) + y.abs()
        bound = torch.as_tensor(allowed, dtype=torch.float64)
        # what must not differ at all for one subject still differs by float32 angles between two
        tolerance = 2 * bound + 1e-6 * y.abs() if bool((bound > 0).all()) else 2e-5 * scale
        if torch.bfloat16 in (a.dtype, b.dtype) or torch.float16 in (a.dtype, b.dtype):
            tolerance = tolerance + 2.0**-7 * y.abs()
        off = (x - y).abs() > tolerance
        if not bool(off.any()):
            continue
        narrow = (x - y).abs()[off] <= 2.0**-7 * scale[off]
        if not rounds or float(off.double().mean()) > 0.01 or not bool(narrow.all()):
            return False
    return True


def _needed(ranked: list[Cause]) -> list[Cause]:
    """Without those that explain nothing that a better one does not."""
    covered: set[str] = set()
    kept: list[Cause] = []
    for cause in ranked:
        ties = [other for other in kept if other.explains == cause.explains]
        if set(cause.explains) - covered or ties:
            kept.append(cause)
            covered |= set(cause.explains)
    return kept
