"""The metadata of one architecture, each value checked once and told with its key."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ordinate.inspection.gguf.header import Header, Skipped
from ordinate.inspection.provenance import Value
from ordinate.inspection.record import Finding, Severity

__all__ = ["Keys", "is_count"]


class Keys:
    """The metadata of one architecture, each value checked once and told with its key."""

    def __init__(self, header: Header, architecture: str) -> None:
        self.header, self.architecture = header, architecture
        self.findings: list[Finding] = []

    def find(self, id: str, severity: Severity, message: str, evidence: dict[str, Any], hint: str) -> None:  # noqa: A002
        if not any(finding.id == id and finding.evidence == evidence for finding in self.findings):
            self.findings.append(Finding(id, severity, message, evidence, hint))

    def read(self, name: str, fits: Callable[[Any], bool], expected: str) -> Value | None:
        key = f"{self.architecture}.{name}"
        value = self.header.metadata.get(key)
        if value is None:
            return None
        if isinstance(value, Skipped) or not fits(value):
            shown = f"{value.sort} of {value.items} items" if isinstance(value, Skipped) else value
            self.find("out-of-range", "error", f"{key} is not {expected}", {key: shown}, "convert the model again")
            return None
        return Value(value, "file", key)

    def text(self, name: str) -> Value | None:
        return self.read(name, lambda value: isinstance(value, str), "a text")

    def number(self, name: str) -> Value | None:
        return self.read(name, lambda value: _is_number(value) and value >= 0, "a finite number of 0 or more")

    def count(self, name: str, least: int = 1) -> Value | None:
        return self.read(name, lambda value: is_count(value) and value >= least, f"an integer of {least} or more")

    def counts(self, name: str, layers: int) -> tuple[tuple[int, ...], Value] | None:
        """A count for each layer, from one number or a list."""

        def fits(value: Any) -> bool:
            listed = value if isinstance(value, list) else [value]
            return len(listed) >= (layers if isinstance(value, list) else 1) and all(
                is_count(item) and item >= 0 for item in listed
            )

        value = self.read(name, fits, "a count, or one for each layer")
        if value is None:
            return None
        listed = value.value[:layers] if isinstance(value.value, list) else [value.value] * layers
        return tuple(listed), value


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def is_count(value: Any) -> bool:
    """Whether `value` is a whole number that a header may mean as a count: below 2^40, so nothing is allocated on its word."""
    return isinstance(value, int) and not isinstance(value, bool) and value < 2**40
