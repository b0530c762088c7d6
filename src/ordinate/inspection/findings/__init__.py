"""What deserves a look in a file as a whole, beyond what its readers find on the way.

Every check is a generator of findings about one part of the file, read; a new check is one function in one of the files beside
this one. Severities: "info" is worth knowing, "warning" is probably wrong or read differently by others, "error" cannot be
meant.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ordinate.inspection.findings import contexts, engines, keys, layers
from ordinate.inspection.findings.checked_part import CheckedPart
from ordinate.inspection.reader.row_types import PartSource
from ordinate.inspection.records import Finding, Part

__all__ = ["CHECKS", "CHECKS_OF_GGUF", "check_parts"]

CHECKS = (*contexts.CHECKS, *keys.CHECKS, *layers.CHECKS, *engines.CHECKS)
CHECKS_OF_GGUF = (*contexts.CHECKS, *keys.CHECKS_OF_ANY_FORMAT)
"""Those that do not look at keys of a config or at what transformers does with them."""


def check_parts(
    raw: Mapping[str, Any], name: str, sources: Sequence[PartSource], parts: Sequence[Part], *, gguf: bool = False
) -> Iterator[Finding]:
    """Run every check over every part."""
    for index, (source, part) in enumerate(zip(sources, parts, strict=True)):
        checked = CheckedPart(raw, name, source, part, index == 0)
        for check in CHECKS_OF_GGUF if gguf else CHECKS:
            yield from check(checked)
