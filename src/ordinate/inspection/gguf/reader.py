"""A GGUF file's header as an inspection: keys, the few telling tensors, and what llama.cpp's code adds to them.

It makes the very records that the reader of configs makes, so everything downstream is shared. Provenance names GGUF keys and
tensors; "family" stands for llama.cpp's code of that architecture.
"""

from __future__ import annotations

import os

from ordinate.errors import DataError
from ordinate.inspection.gguf.architectures import ARCHITECTURES, Architecture
from ordinate.inspection.gguf.header import Header
from ordinate.inspection.gguf.keys import Keys
from ordinate.inspection.gguf.stack import Stack
from ordinate.inspection.provenance import Value, unknown
from ordinate.inspection.reading import read_document
from ordinate.inspection.record import SEVERITIES, Inspection

__all__ = ["inspect_gguf", "inspect_header"]


def inspect_gguf(source: str | os.PathLike[str]) -> Inspection:
    """What the GGUF file `source` says about position, from its header alone.

    Args:
        source: the file, or a directory that holds one; the weights are never read, whatever their size.

    Raises:
        DataError: not GGUF, or damaged.
        MissingDataError: not there, or no right to read it.
    """
    document = read_document(source)
    if document.header is None:
        raise DataError(document.name, expected="a GGUF file", got="JSON", todo="call inspect_config")
    return inspect_header(document.header, document.name)


def inspect_header(header: Header, name: str) -> Inspection:
    """What a GGUF header says about position.

    Args:
        header: as `read_document` gives it.
        name: what the answer calls the file.
    """
    told = header.metadata.get("general.architecture")
    if not isinstance(told, str):
        model_type = unknown("the file has no general.architecture")
        keys = Keys(header, "")
    else:
        model_type = Value(told, "file", "general.architecture")
        keys = Keys(header, told)
    architecture = ARCHITECTURES.get(told, Architecture("unknown")) if isinstance(told, str) else Architecture("unknown")
    if architecture.kind == "unknown":
        keys.find(
            "unknown-architecture",
            "warning",
            f"what {told!r} does with positions is not known here",
            {"general.architecture": told},
            "look at llama_model_rope_type in llama.cpp, and report the architecture",
        )
    part = Stack(keys, architecture, model_type).part()
    findings = sorted(keys.findings, key=lambda finding: -SEVERITIES.index(finding.severity))
    return Inspection(name, model_type, (part,), tuple(findings))
