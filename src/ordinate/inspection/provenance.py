"""A value and where it comes from: the atom of every record of an inspection.

It stands apart because readers, arithmetic and findings all make such values, and because the rule it carries is the room's
first one: nothing is guessed in silence.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

__all__ = ["Source", "Value", "plain", "unknown"]

Source = Literal["file", "family", "derived", "assumed", "unknown"]


@dataclass(frozen=True)
class Value:
    """A value and where it comes from.

    Args:
        value: a plain JSON value; None where the source is "unknown", or where nothing is the answer (no window).
        source: "file" (a key of the file), "family" (fixed by the code of that model type), "derived" (computed from other
            values), "assumed" (a custom, not a fact) or "unknown".
        detail: the key's path for "file", the origin of the default for "family", the formula for "derived", the reason
            for "assumed" and "unknown".

    >>> Value(4, "file", "text_config.num_hidden_layers").to_dict()
    {'value': 4, 'source': 'file', 'detail': 'text_config.num_hidden_layers'}
    """

    value: Any
    source: Source
    detail: str

    @property
    def known(self) -> bool:
        """Whether there is an answer at all."""
        return self.source != "unknown"

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types; an infinity or NaN that stood in the file becomes its name."""
        return {"value": plain(self.value), "source": self.source, "detail": self.detail}


def unknown(reason: str) -> Value:
    """The value that says that there is none, and why."""
    return Value(None, "unknown", reason)


def plain(value: Any) -> Any:
    """The same in plain JSON types: mappings and sequences as dict and list, what JSON has no number for by its name."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value
