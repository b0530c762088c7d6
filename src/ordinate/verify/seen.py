"""What looking at one property yields: tensors beside those expected, facts, and how far apart they may be.

A property is a function from a subject to a `Seen`. The same function runs on every known fault, so that a subject's numbers
can be compared with the numbers of the fault.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

__all__ = ["Compared", "Fact", "Property", "Seen", "Unsupported", "unsupported"]


class Unsupported(Exception):  # noqa: N818  (no error: an answer)
    """This subject cannot be asked that; the property does not apply to it."""


def unsupported(reason: str) -> Unsupported:
    """What to raise where a subject cannot be asked."""
    return Unsupported(reason)


@dataclass(frozen=True)
class Compared:
    """A tensor that came, the tensor expected, and the difference allowed.

    Args:
        what: what the numbers are, in words.
        got: from the subject.
        expected: float64, of the same shape.
        allowed: absolute difference allowed, a number or a tensor that broadcasts.
        axes: for each axis its name, or its name and what stands along it (positions, say); `None` hides an axis.
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
    def worst(self) -> float:
        """The largest difference; infinite where a number is missing or shapes differ."""
        if self.got.shape != self.expected.shape:
            return float("inf")
        off = (self.got.double() - self.expected).abs()
        return 0.0 if off.numel() == 0 else float(off.nan_to_num(nan=float("inf")).max())

    def _off(self) -> Tensor:
        difference = (self.got.double() - self.expected).abs()
        same = self.got.double() == self.expected  # infinities agree with themselves
        return ~same & ~(difference <= self.allowed)

    def counterexample(self) -> dict[str, Any]:
        """The first place, in the order of the axes from the last but one back, where the numbers differ too much."""
        if self.got.shape != self.expected.shape:
            return {"what": self.what, "shape": list(self.got.shape), "expected shape": list(self.expected.shape)}
        places = self._off().nonzero().tolist()
        order = [axis for axis, name in enumerate(self.axes) if isinstance(name, tuple)]
        order += [axis for axis in range(self.got.ndim) if axis not in order]
        place = min(places, key=lambda index: [index[axis] for axis in order])
        told: dict[str, Any] = {"what": self.what}
        for name, index in zip(self.axes, place, strict=True):
            if isinstance(name, tuple):
                told[name[0]] = name[1][index]
            elif name is not None:
                told[name] = index
        at = tuple(place)
        allowed = torch.as_tensor(self.allowed, dtype=torch.float64).expand(self.got.shape)
        told.update(got=float(self.got[at]), expected=float(self.expected[at]), allowed=float(allowed[at]))
        return told


@dataclass(frozen=True)
class Fact:
    """Something that is or is not so, and has no number."""

    holds: bool
    words: str


@dataclass(frozen=True)
class Seen:
    """What was seen of one property.

    Args:
        compared: numbers beside those expected.
        facts: what is not a number.
        note: a sentence for the evidence where all is well.
        traces: tensors that are not judged, but that a known fault has to give too.
    """

    compared: Sequence[Compared] = ()
    facts: Sequence[Fact] = ()
    note: str = ""
    traces: Sequence[Tensor] = ()

    @property
    def holds(self) -> bool:
        """Whether the property holds."""
        return all(fact.holds for fact in self.facts) and not any(one.deviates for one in self.compared)

    @property
    def fingerprint(self) -> list[Tensor]:
        """All tensors that came."""
        return [one.got for one in self.compared] + list(self.traces)

    def told(self) -> tuple[str, dict[str, Any] | None]:
        """The evidence in words, and the counterexample if there is one."""
        for fact in self.facts:
            if not fact.holds:
                return fact.words, None
        for one in self.compared:
            if one.deviates:
                example = one.counterexample()
                return f"{_words(example)}; largest difference {one.worst:.2g}", example
        if self.note:
            return self.note, None
        if self.compared:
            worst = max(self.compared, key=lambda one: one.worst)
            return f"largest difference {worst.worst:.2g} ({worst.what})", None
        return "; ".join(fact.words for fact in self.facts), None


@dataclass(frozen=True)
class Property:
    """A law that every correct subject of a kind obeys.

    Args:
        id: a stable name in words.
        says: the law as a sentence.
        look: (subject, settings) -> what was seen; raises `Unsupported` where the subject cannot be asked.
        cheap: whether it is worth running on every known fault.
    """

    id: str
    says: str
    look: Callable[[Any, Any], Seen] = field(compare=False)
    cheap: bool = True


def _words(example: dict[str, Any]) -> str:
    parts = []
    for name, value in example.items():
        if name not in ("what", "got", "expected", "allowed"):
            parts.append(f"{name} {value}")
    where = f" at {', '.join(parts)}" if parts else ""
    if "got" not in example:
        return f"{example['what']}: shape {example['shape']} where {example['expected shape']} was expected"
    return f"{example['what']}{where}: {example['got']:.6g}, expected {example['expected']:.6g} within {example['allowed']:.1g}"
