"""One property asked of one subject: exceptions, silence and all else that it may do become an outcome, never a crash."""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from ordinate.verify.adapters.trying import SILENT
from ordinate.verify.limits import Overtime
from ordinate.verify.seen import Property, Seen, Unsupported
from ordinate.verify.verdict import Outcome, Status

__all__ = ["Observed", "observe", "observed_in_turn"]


@dataclass(frozen=True)
class Observed:
    """What came of asking: the outcome's status, what was seen (None where it raised), and the words for that."""

    law: Property
    status: Status
    seen: Seen | None
    words: str = ""

    def outcome(self, causes: tuple[str, ...] = ()) -> Outcome:
        """For the verdict."""
        evidence, example = (self.words, None) if self.seen is None else self.seen.told()
        return Outcome(self.law.id, self.law.says, self.status, evidence, example, causes)


def observe(law: Property, subject: Any, case: Any, refusable: bool = False) -> Observed:
    """Ask `subject` whether `law` holds.

    Args:
        law: a property of its kind.
        subject: in the one shape of its kind.
        case: the settings.
        refusable: whether to refuse (to raise) is a right answer, as where a scaling depends on the row's length.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the subject's warnings are its own affair
            state = torch.random.get_rng_state()
            try:
                seen = law.look(subject, case)
            finally:
                torch.random.set_rng_state(state)
    except Unsupported as answer:
        return Observed(law, "not applicable", None, str(answer))
    except Overtime as answer:
        return Observed(law, "failed", None, str(answer))
    except Exception as problem:
        told = f"it raises {_told(problem)}"
        if refusable:
            return Observed(law, "not applicable", None, f"it refuses: {told}")
        return Observed(law, "failed", None, told)
    return Observed(law, "passed" if seen.holds else "failed", seen)


def observed_in_turn(laws: Sequence[Property], subject: Any, case: Any, refusable: Sequence[str] = ()) -> list[Observed]:
    """Every law, in the order given. After a first one that got no answer at all the others are not asked."""
    observed: list[Observed] = []
    silent = subject.remembered.get(SILENT)
    for law in laws:
        if silent and not observed:
            observed.append(Observed(law, "failed", None, silent))
            continue
        first = observed[0] if observed else None
        if first is not None and first.status == "failed" and first.seen is None:
            observed.append(Observed(law, "not applicable", None, "it does not answer an ordinary call"))
        else:
            observed.append(observe(law, subject, case, law.id in refusable))
    return observed


def _told(problem: Exception) -> str:
    """Kind, message and the innermost line: `ValueError: too long (rope.py:12)`."""
    frames = traceback.extract_tb(problem.__traceback__)
    where = f" ({frames[-1].filename.rsplit('/', 1)[-1]}:{frames[-1].lineno})" if frames else ""
    return f"{type(problem).__name__}: {' '.join(str(problem).split())[:300]}{where}"
