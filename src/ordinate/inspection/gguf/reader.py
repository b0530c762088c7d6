"""A GGUF file's header as an inspection: keys, the few telling tensors, and what llama.cpp's code adds to them.

It makes the very records that the reader of configs makes, so everything downstream is shared. Provenance names GGUF keys and
tensors; "family" stands for llama.cpp's code of that architecture.
"""

from __future__ import annotations

from ordinate.inspection.gguf.architectures import ARCHITECTURES, Architecture
from ordinate.inspection.gguf.header import Header
from ordinate.inspection.gguf.keys import Keys
from ordinate.inspection.gguf.stack import Stack
from ordinate.inspection.provenance import Value, unknown
from ordinate.inspection.record import SEVERITIES, Inspection

__all__ = ["inspect_header"]


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
            "model-type-unknown",
            "warning",
            f"what {told!r} does with positions is not known here",
            {"general.architecture": told},
            "look at llama_model_rope_type in llama.cpp, and report the architecture",
        )
    part = Stack(keys, architecture, model_type).part()
    findings = sorted(keys.findings, key=lambda finding: -SEVERITIES.index(finding.severity))
    return Inspection(name, model_type, (part,), tuple(findings))
