"""Properties, what is observed of them, and how a subject is asked.

A property is a function from a subject to an `Observation`: tensors beside those expected, facts, and how far apart the tensors
may be. The same function runs on every known fault, so that a subject's numbers can be compared with those of the fault.
Whatever a subject does when it is asked (it raises, it hangs, it cannot be asked that) becomes a `Result`, never a crash.
"""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

import ordinate
from ordinate.arguments import did_you_mean
from ordinate.errors import ArgumentError
from ordinate.resolve import is_interrupt
from ordinate.verify.limits import TimeLimitExceeded
from ordinate.verify.verdict import Outcome, Status

__all__ = [
    "Comparison",
    "Fact",
    "NoExceptionError",
    "Observation",
    "Property",
    "Result",
    "Unsupported",
    "describe_error",
    "finite_fact",
    "listening",
    "observe",
    "observe_all",
    "select_properties",
    "unchanged_facts",
]


_NOT_THE_SUBJECT = (str(Path(torch.__file__).parent), str(Path(ordinate.__file__).parent), "<frozen")


class NoExceptionError(Exception):
    """The subject raised something that is no `Exception`, such as SystemExit, which must not end the check."""

    def __init__(self, original: BaseException) -> None:
        super().__init__()
        self.original = original


class Unsupported(Exception):  # noqa: N818  (no error: an answer)
    """This subject cannot be asked that; the property does not apply to it."""


@dataclass(frozen=True)
class Comparison:
    """A tensor that was returned, the tensor expected, and the difference allowed.

    Args:
        what: what the numbers are.
        got: from the subject.
        expected: float64, of the same shape.
        allowed: absolute difference allowed, a number or a tensor that broadcasts.
        axes: for each axis its name, or its name and the labels along it (positions, say); `None` hides an axis.
    """

    what: str
    got: Tensor
    expected: Tensor
    allowed: Tensor | float
    axes: Sequence[str | tuple[str, Sequence[Any]] | None]

    @property
    def deviates(self) -> bool:
        """Whether some number is further off than allowed, or is none."""
        return bool(self._off().any()) if self.got.shape == self.expected.shape else True

    @property
    def largest_difference(self) -> float:
        """The largest difference; infinite where a number is missing or shapes differ."""
        if self.got.shape != self.expected.shape:
            return float("inf")
        difference = (self.got.double() - self.expected).abs()
        return 0.0 if difference.numel() == 0 else float(difference.nan_to_num(nan=float("inf")).max())

    def _off(self) -> Tensor:
        difference = (self.got.double() - self.expected).abs()
        same = self.got.double() == self.expected  # infinities agree with themselves
        return ~same & ~(difference <= self.allowed)

    def counterexample(self) -> dict[str, Any]:
        """The first place, labelled axes before the others, where the numbers differ too much."""
        if self.got.shape != self.expected.shape:
            return {"what": self.what, "shape": list(self.got.shape), "expected shape": list(self.expected.shape)}
        order = [axis for axis, name in enumerate(self.axes) if isinstance(name, tuple)]
        order += [axis for axis in range(self.got.ndim) if axis not in order]
        place = min(self._off().nonzero().tolist(), key=lambda index: [index[axis] for axis in order])
        example: dict[str, Any] = {"what": self.what}
        for name, index in zip(self.axes, place, strict=True):
            if isinstance(name, tuple):
                example[name[0]] = name[1][index]
            elif name is not None:
                example[name] = index
        at = tuple(place)
        allowed = torch.as_tensor(self.allowed, dtype=torch.float64).expand(self.got.shape)
        example.update(got=float(self.got[at]), expected=float(self.expected[at]), allowed=float(allowed[at]))
        return example


@dataclass(frozen=True)
class Fact:
    """Something that holds or does not, and has no number."""

    holds: bool
    says: str


@dataclass(frozen=True)
class Observation:
    """What was observed of one property.

    Args:
        comparisons: numbers beside those expected.
        facts: what is not a number.
        note: the evidence where all is well.
        traces: tensors that are not judged, but that a known fault must return too.
    """

    comparisons: Sequence[Comparison] = ()
    facts: Sequence[Fact] = ()
    note: str = ""
    traces: Sequence[Tensor] = ()

    @property
    def holds(self) -> bool:
        """Whether the property holds."""
        return all(fact.holds for fact in self.facts) and not any(one.deviates for one in self.comparisons)

    def evidence(self) -> tuple[str, dict[str, Any] | None]:
        """The evidence as a sentence, and the counterexample if there is one."""
        for fact in self.facts:
            if not fact.holds:
                return fact.says, None
        for one in self.comparisons:
            if one.deviates:
                example = one.counterexample()
                return f"{_sentence(example)}; largest difference {one.largest_difference:.2g}", example
        if self.note:
            return self.note, None
        if self.comparisons:
            worst = max(self.comparisons, key=lambda one: one.largest_difference)
            return f"largest difference {worst.largest_difference:.2g} ({worst.what})", None
        return "; ".join(fact.says for fact in self.facts), None


def _sentence(example: dict[str, Any]) -> str:
    parts = [f"{name} {value}" for name, value in example.items() if name not in ("what", "got", "expected", "allowed")]
    where = f" at {', '.join(parts)}" if parts else ""
    if "got" not in example:
        return f"{example['what']}: shape {example['shape']} where {example['expected shape']} was expected"
    return f"{example['what']}{where}: {example['got']:.6g}, expected {example['expected']:.6g} within {example['allowed']:.1g}"


@dataclass(frozen=True)
class Property:
    """What every correct subject of a kind does.

    Args:
        id: a stable name.
        says: the property as a sentence.
        observe: (subject, case) -> what was observed; raises `Unsupported` where the subject cannot be asked.
        cheap: whether it is worth running on every known fault.
        storage: whether it is about how numbers are kept and not about mathematics.
    """

    id: str
    says: str
    observe: Callable[[Any, Any], Observation] = field(compare=False)
    cheap: bool = True
    storage: bool = False


@dataclass(frozen=True)
class Result:
    """What came of asking: the status, the observation (None where there is none), and then the reason."""

    asked: Property
    status: Status
    observation: Observation | None
    reason: str = ""

    def outcome(self, causes: tuple[str, ...] = ()) -> Outcome:
        """For the verdict."""
        evidence, example = (self.reason, None) if self.observation is None else self.observation.evidence()
        return Outcome(self.asked.id, self.asked.says, self.status, evidence, example, causes, self.asked.storage)


def observe(asked: Property, subject: Any, case: Any, may_refuse: bool = False) -> Result:
    """Ask `subject` whether the property holds.

    Args:
        asked: a property of its kind.
        subject: adapted to its kind.
        case: the settings.
        may_refuse: whether to raise is a right answer, as where a scaling depends on the row's length.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the subject's warnings are its own affair
            state = torch.random.get_rng_state()
            try:
                observation = asked.observe(subject, case)
            finally:
                torch.random.set_rng_state(state)
    except Unsupported as answer:
        return Result(asked, "not applicable", None, str(answer))
    except TimeLimitExceeded as answer:
        return Result(asked, "failed", None, str(answer))
    except BaseException as error:  # SystemExit and the subject's own kinds too
        if is_interrupt(error):
            raise
        says = f"it raises {describe_error(error, with_line=True)}"
        if may_refuse:
            return Result(asked, "not applicable", None, f"it refuses: {says}")
        return Result(asked, "failed", None, says)
    return Result(asked, "passed" if observation.holds else "failed", observation)


def observe_all(
    properties: Sequence[Property], subject: Any, case: Any, may_refuse: Iterable[str] = (), essential: Mapping[str, str] = {}
) -> list[Result]:
    """Every property, in that order.

    After a first one that got no answer at all the others are not asked, nor after an `essential` one that failed by more than
    a tenth of the numbers: its sentence says what the subject is not. A smaller failure may be the arithmetic's.
    """

    def refutes(one: Result) -> bool:
        if one.status != "failed" or one.asked.id not in essential or one.observation is None:
            return False
        return any(each.largest_difference > 0.1 * float(each.expected.abs().max()) for each in one.observation.comparisons)

    results: list[Result] = []
    for number, asked in enumerate(properties, 1):
        _announce(f"{asked.id} ({number} of {len(properties)})")
        first = results[0] if results else None
        if first is None and subject.no_answer:
            results.append(Result(asked, "failed", None, subject.no_answer))
        elif first is not None and first.status == "failed" and first.observation is None:
            results.append(Result(asked, "not applicable", None, "it does not answer an ordinary call"))
        elif refuted := [one.asked.id for one in results if refutes(one)]:
            results.append(Result(asked, "not applicable", None, essential[refuted[0]]))
        else:
            results.append(observe(asked, subject, case, asked.id in may_refuse))
    for number, one in enumerate(results):
        if refutes(one):
            assert one.observation is not None
            evidence = f"{essential[one.asked.id]}: {one.observation.evidence()[0]}"
            results[number] = Result(one.asked, "failed", None, evidence)
    return results


def select_properties(
    properties: Sequence[Property], only: Sequence[str] | None = None, skip: Sequence[str] = ()
) -> list[Property]:
    """The properties named by `only` (all where it is None) without those named by `skip`, in the order of the table.

    Raises:
        ArgumentError: a name that no property has.
    """
    known = [one.id for one in properties]
    for argument, names in (("only", only or ()), ("skip", skip)):
        for name in names:
            if name not in known:
                raise ArgumentError(argument, expected=f"among {known}", got=name, hint=did_you_mean(name, known))
    return [one for one in properties if (only is None or one.id in only) and one.id not in skip]


def describe_error(error: BaseException, length: int = 300, with_line: bool = False) -> str:
    """Kind and message on one line, and the innermost line of the subject: `ValueError: too long (rope.py:12)`."""
    frames = traceback.extract_tb(error.__traceback__) if with_line else []
    own = [frame for frame in frames if not frame.filename.startswith(_NOT_THE_SUBJECT)] or frames
    where = f" ({own[-1].filename.rsplit('/', 1)[-1]}:{own[-1].lineno})" if own else ""
    error = error.original if isinstance(error, NoExceptionError) else error
    try:
        message = " ".join(str(error).split())[:length]
    except BaseException as other:
        if is_interrupt(other):
            raise
        message = "(its message cannot be read)"
    return f"{type(error).__name__}: {message}{where}"


_announce: Callable[[str], None] = lambda line: None  # noqa: E731


@contextmanager
def listening(announce: Callable[[str], None]) -> Iterator[None]:
    """Within this, `announce` is called with each property that is about to be checked."""
    global _announce
    before, _announce = _announce, announce
    try:
        yield
    finally:
        _announce = before


def finite_fact(values: Tensor, of: str = "") -> Fact:
    """Whether every number is finite."""
    missing = 0 if values.is_meta else int((~values.isfinite()).sum())
    return Fact(missing == 0, f"{missing} of {values.numel()} {of or 'numbers'} are not finite")


def unchanged_facts(names: Sequence[str], now: Sequence[Tensor], before: Sequence[Tensor], note: str) -> Observation:
    """Whether inputs are bit for bit as they were before the call."""
    facts = [Fact(torch.equal(a, b), f"{name} changed in place") for name, a, b in zip(names, now, before, strict=True)]
    return Observation(facts=facts, note=note, traces=now)
