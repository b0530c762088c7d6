"""Names of subjects and of properties."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ordinate.errors import ArgumentError
from ordinate.verify.seen import Property

__all__ = ["chosen", "name_of"]


def name_of(subject: Any) -> str:
    """`module:qualified.name` of a function or of an object's class."""
    thing = subject if hasattr(subject, "__qualname__") else type(subject)
    return f"{thing.__module__}:{thing.__qualname__}"


def chosen(laws: Sequence[Property], only: Sequence[str] | None) -> list[Property]:
    """The properties named by `only`, in the order of the table; all where it is None."""
    if only is None:
        return list(laws)
    known = {law.id for law in laws}
    unknown = [name for name in only if name not in known]
    if unknown:
        raise ArgumentError("only", expected=f"among {sorted(known)}", got=unknown, hint="spell it so")
    return [law for law in laws if law.id in only]
