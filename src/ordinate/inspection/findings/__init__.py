"""What deserves a look in a file as a whole, beyond what its readers note on the way.

Every check is a function from a `Case` (one part of the file, read) to findings; a new check is one function in one of the
files beside this one. Severities: "info" is worth knowing, "warning" is probably wrong or read differently by others, "error"
cannot be meant.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ordinate.inspection.findings import contexts, engines, keys, layers
from ordinate.inspection.findings.case import Case
from ordinate.inspection.record import Part
from ordinate.inspection.sections import Found

__all__ = ["CHECKS", "judge"]

CHECKS = (*contexts.CHECKS, *keys.CHECKS, *layers.CHECKS, *engines.CHECKS)


def judge(raw: Mapping[str, Any], name: str, found: Sequence[Found], parts: Sequence[Part]) -> None:
    """Run every check over every part; what they find goes to the log of the part's section."""
    for index, (place, part) in enumerate(zip(found, parts, strict=True)):
        case = Case(raw, name, place, part, index == 0)
        for check in CHECKS:
            check(case)
