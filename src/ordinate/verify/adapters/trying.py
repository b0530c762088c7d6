"""Trying the ways in which a subject could be called, and keeping the one that makes most sense."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from typing import Any, Protocol, TypeVar

from ordinate.errors import ArgumentError
from ordinate.verify.limits import Overtime
from ordinate.verify.seen import Unsupported

__all__ = ["SILENT", "Candidate", "best_of"]

SILENT = "silent"
"""Under this name a subject remembers that it answers no call at all, and in which words."""


class Candidate(Protocol):
    """A subject in one of its possible shapes."""

    remembered: dict[str, Any]

    @property
    def words(self) -> str:
        """How it is called."""
        ...


Shaped = TypeVar("Shaped", bound=Candidate)


def best_of(
    candidates: Iterable[Shaped], score: Callable[[Shaped], tuple[int, Shaped]], *, enough: int, expected: str, hint: str
) -> tuple[int, Shaped]:
    """The candidate with the highest score, the first among equals; `score` may hand back a better informed one.

    A subject that raises the same in every shape, or does not answer in time, has not been called wrongly: it is handed back
    as it is, silent, so that its own words become a failed property.

    Raises:
        ArgumentError: no way fits; the message shows what was tried.
    """
    tried: list[str] = []
    raised: set[str] = set()
    best: tuple[int, Shaped] | None = None
    first: Shaped | None = None
    for candidate in candidates:
        first = first or candidate
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # a wrong guess may well be warned about
                found = score(candidate)
        except Overtime as problem:
            candidate.remembered[SILENT] = str(problem)
            return 0, candidate
        except Exception as problem:
            told = f"{type(problem).__name__}: {' '.join(str(problem).split())[:160]}"
            tried.append(f"{candidate.words}: {told}")
            raised.add(f"it raises {told}" if not isinstance(problem, Unsupported) else "")
            continue
        if best is None or found[0] > best[0]:
            best = found
        if found[0] >= enough:
            break
    if best is not None:
        return best
    if first is not None and len(raised) == 1 and "" not in raised:
        first.remembered[SILENT] = raised.pop()
        return 0, first
    raise ArgumentError("subject", expected=expected, got="; ".join(dict.fromkeys(tried[:6])) or "no way to call it", hint=hint)
