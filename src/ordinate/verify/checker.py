"""The checker: one for every kind of subject, made of an adapter, a list of properties and a table of known faults."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ordinate.verify.adapters.calling import Subject
from ordinate.verify.diagnosis import diagnose
from ordinate.verify.faults.table import KnownFault
from ordinate.verify.observation import Property, Result, observe_all, select_properties
from ordinate.verify.verdict import Verdict

__all__ = ["Checker"]


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
