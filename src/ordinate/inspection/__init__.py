"""What a model's file says about position, read without torch: inspection, comparison, extension, memory."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ordinate.inspection.comparison import Difference, difference
    from ordinate.inspection.extension.plan import Extension, extend
    from ordinate.inspection.files import Document, read_document
    from ordinate.inspection.inspect import inspect_config, inspect_document, inspect_gguf
    from ordinate.inspection.memory.estimate import MemoryEstimate, estimate_memory
    from ordinate.inspection.records import Finding, Inspection, LayerKind, Part, Rotation, Value

_HOMES = {
    "comparison": ("Difference", "difference"),
    "extension.plan": ("Extension", "extend"),
    "files": ("Document", "read_document"),
    "memory.estimate": ("MemoryEstimate", "estimate_memory"),
    "inspect": ("inspect_config", "inspect_document", "inspect_gguf"),
    "records": ("Finding", "Inspection", "LayerKind", "Part", "Rotation", "Value"),
}

__all__ = [
    "Difference",
    "Document",
    "Extension",
    "Finding",
    "Inspection",
    "LayerKind",
    "MemoryEstimate",
    "Part",
    "Rotation",
    "Value",
    "difference",
    "estimate_memory",
    "extend",
    "inspect_config",
    "inspect_document",
    "inspect_gguf",
    "read_document",
]


def __getattr__(name: str) -> Any:  # so that a reading does not wait for what only comparisons need
    for module, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
