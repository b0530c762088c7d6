"""A known fault: a small wrong implementation, what its result equals, and where this package does the same thing right."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ordinate
from ordinate.errors import RefusedError

__all__ = ["FAMILIES", "KnownFault"]

FAMILIES = ("parsing", "numeric", "offset and cache", "padding and packing", "layout", "boundary", "device and dtype")


@dataclass(frozen=True)
class KnownFault:
    """One row of the table of known faults.

    Args:
        id: a stable name.
        family: one of `FAMILIES`.
        kind: the kind of subject that has it: "rotary", "bias", "buckets", "embedding", "attention", "decoder".
        says: what the result equals, as a noun phrase after "your result equals".
        make: settings -> the wrong implementation.
        read: the object of this package that does it right.
        needs: whether the fault has a meaning under these settings.
        visible_with: settings under which it can be seen at all, beyond the usual ones.
        reported: where it was met.
        of_settings: whether the fault is that right code has another setting than the one stated.
        properties: the only properties that it can explain; empty means any.
    """

    id: str
    family: str
    kind: str
    says: str
    make: Callable[[Any], Any] = field(compare=False)
    read: Any = field(compare=False)
    needs: Callable[[Any], bool] = field(default=lambda settings: True, compare=False)
    visible_with: Mapping[str, Any] = field(default_factory=dict)
    reported: str = ""
    of_settings: bool = False
    properties: tuple[str, ...] = ()

    @property
    def rounds(self) -> bool:
        """Whether it may round to a narrow format, where implementations differ in the last bit of that."""
        return self.family in ("numeric", "device and dtype") or "dtype" in self.id

    def implement(self, settings: Any) -> Any:
        """The wrong implementation.

        Raises:
            RefusedError: the fault has no meaning under these settings.
        """
        if not self.needs(settings):
            raise RefusedError("settings", expected=f"settings under which {self.id} has a meaning")
        return self.make(settings)

    def read_at(self) -> str:
        """File and line to read, from the package's folder on: `ordinate/position/rotary.py:38`."""
        thing: Any = self.read.fget if isinstance(self.read, property) else self.read
        path = Path(inspect.getsourcefile(thing) or "").resolve()
        line = inspect.getsourcelines(thing)[1]
        return f"{path.relative_to(Path(ordinate.__file__).resolve().parents[1])}:{line}"
