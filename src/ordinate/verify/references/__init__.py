"""The published rules, written once more: small float64 formulas that share no line with `ordinate.position`.

A verifier that took its expectations from the encodings of this package would be silent about a fault that both have.
"""

from __future__ import annotations

import dataclasses
from typing import Any, Self

__all__ = ["Settings"]


@dataclasses.dataclass(frozen=True)
class Settings:
    """What a subject is meant to be."""

    def replace(self, **changes: Any) -> Self:
        """The same with some settings changed."""
        return dataclasses.replace(self, **changes)
