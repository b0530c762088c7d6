"""What a check of a finished reading gets to see."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ordinate.inspection.reader.row_types import PartSource
from ordinate.inspection.reader.section import Section
from ordinate.inspection.records import Part, Rotation, Value

__all__ = ["CheckedPart"]


@dataclass(frozen=True)
class CheckedPart:
    """One part of a file, read, beside its raw section.

    Args:
        raw: the whole file.
        name: what the file is called.
        source: the section with its family.
        part: what was read.
        main: whether it is the part that reads tokens.
    """

    raw: Mapping[str, Any]
    name: str
    source: PartSource
    part: Part
    main: bool

    @property
    def section(self) -> Section:
        """The part's settings."""
        return self.source.section

    @property
    def keys(self) -> Mapping[str, Any]:
        """The part's raw settings."""
        return self.source.section.raw

    @property
    def stated_type(self) -> str:
        """The file's model type, "" where it states none."""
        stated = self.raw.get("model_type")
        return stated if isinstance(stated, str) else ""

    @property
    def turns(self) -> list[Rotation]:
        """How its kinds of layer rotate."""
        return [layer.rotation for layer in self.part.layers if layer.rotation is not None]

    @property
    def scaled(self) -> Rotation | None:
        """The first rotation with a scaling."""
        return next((turn for turn in self.turns if turn.rule.value not in ("none", None)), None)

    def present(self, *keys: str) -> dict[str, Any]:
        """Those of `keys` that the section holds, by their paths."""
        return {self.section.at(key): self.keys[key] for key in keys if self.keys.get(key) is not None}

    def stated(self, value: Value | None) -> dict[str, Any]:
        """A value that stands in the file, by its path."""
        return {value.detail: value.value} if value is not None and value.source == "file" else {}
