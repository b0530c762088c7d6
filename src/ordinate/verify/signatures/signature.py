"""A known fault: a small wrong implementation, the words for it, and where this package does the same thing right."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ordinate

__all__ = ["FAMILIES", "SIGNATURES", "Signature", "signature"]

FAMILIES = ("parsing", "numeric", "offset and cache", "padding and packing", "layout", "boundary", "device and dtype")

SIGNATURES: dict[str, Signature] = {}
"""Every known fault by its id, in the order of the files that tell them."""


@dataclass(frozen=True)
class Signature:
    """One fault.

    Args:
        id: a stable name in words.
        family: one of `FAMILIES`.
        kind: the kind of subject that has it: "rotary", "bias", "embedding", "attention".
        says: what the result equals, as a noun phrase after "your result equals".
        make: settings -> the wrong implementation.
        read: the object of this package that does it right.
        shown: settings under which it can be seen at all, beyond the usual ones.
        seen: where it was met in the wild.
        of_settings: whether the fault is that right code has another setting than the one stated.
        laws: the only properties that it can explain; empty means any.
    """

    id: str
    family: str
    kind: str
    says: str
    make: Callable[[Any], Any] = field(compare=False)
    read: Any = field(compare=False)
    shown: Mapping[str, Any] = field(default_factory=dict)
    seen: str = ""
    of_settings: bool = False
    laws: tuple[str, ...] = ()

    def read_at(self) -> str:
        """File and line to read, from the package's folder on: `ordinate/position/rotary.py:38`."""
        thing: Any = self.read.fget if isinstance(self.read, property) else self.read
        path = Path(inspect.getsourcefile(thing) or "").resolve()
        line = inspect.getsourcelines(thing)[1]
        return f"{path.relative_to(Path(ordinate.__file__).resolve().parents[1])}:{line}"


def signature(
    name: str,
    *,
    family: str,
    kind: str,
    says: str,
    read: Any,
    shown: Mapping[str, Any] | None = None,
    seen: str = "",
    of_settings: bool = False,
    laws: tuple[str, ...] = (),
) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    """Enter the decorated maker into `SIGNATURES`."""

    def enter(make: Callable[[Any], Any]) -> Callable[[Any], Any]:
        assert name not in SIGNATURES, name
        assert family in FAMILIES, family
        SIGNATURES[name] = Signature(name, family, kind, says, make, read, dict(shown or {}), seen, of_settings, laws)
        return make

    return enter
