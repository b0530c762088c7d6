"""From a file to its inspection, whatever its format: the parts are found, each is read by its family's row, then checked.

The raw file is read, never another library's parsed config. A config holds one stack or several (text, vision, audio), flat or
nested; a GGUF header is translated into the same shape first. Findings come from the parts' readers and from `findings`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from ordinate.errors import ArgumentTypeError, DataError
from ordinate.inspection.files import Document, read_document
from ordinate.inspection.findings import check_parts
from ordinate.inspection.gguf_header import Header
from ordinate.inspection.parts import find_parts
from ordinate.inspection.reader.assembly import assemble
from ordinate.inspection.reader.row_types import PartSource
from ordinate.inspection.records import SEVERITIES, Finding, Inspection, Value, unknown

__all__ = ["inspect_config", "inspect_document", "inspect_gguf", "inspect_header"]


def inspect_config(source: str | os.PathLike[str] | Mapping[str, Any], *, name: str | None = None) -> Inspection:
    """Read what a model's config says about position.

    Every value of the result carries where it comes from; what cannot be known is said to be unknown. A value that cannot
    be meant (a base of 0, a text where a number belongs) is a finding of severity "error" that names the key, and all that
    depends on it is unknown: other parts of the file are still read.

    Args:
        source: the dictionary of a `config.json`, or what names one: a file, a directory, "-" for standard input, a hub id.
            A GGUF file is as good.
        name: what to call it in findings and tables; by default the file's name.

    Raises:
        ArgumentTypeError: neither a dictionary nor a name.
        DataError, MissingDataError: a file that cannot be read, see `ordinate.inspection.files`.

    >>> config = {"model_type": "llama", "hidden_size": 4096, "num_attention_heads": 32, "num_hidden_layers": 32}
    >>> inspection = inspect_config({**config, "rope_theta": 500000.0})
    >>> inspection.layers[0].rotation.base
    Value(value=500000.0, source='file', detail='rope_theta')
    >>> inspection.spec.to_dict()["settings"]
    {'layout': 'half', 'base': 500000.0, 'head_dim': 128}
    """
    if isinstance(source, Mapping):
        return _inspect_mapping(source, name or "<dict>")
    if not isinstance(source, str | os.PathLike):
        raise ArgumentTypeError("source", expected="a dictionary or the name of a file", got=type(source).__name__)
    document = read_document(source)
    return inspect_document(document, name=name)


def inspect_gguf(source: str | os.PathLike[str]) -> Inspection:
    """Read what a GGUF file says about position, from its header alone.

    Args:
        source: the file, or a directory that holds one; the weights are never read, whatever their size.

    Raises:
        DataError: not GGUF, or damaged.
        MissingDataError: not there, or no right to read it.

    >>> import struct, tempfile
    >>> words = [struct.pack("<Q", len(word)) + word for word in (b"general.architecture", b"llama")]
    >>> header = b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + words[0] + struct.pack("<I", 8) + words[1]
    >>> with tempfile.NamedTemporaryFile(suffix=".gguf") as file:
    ...     _ = file.write(header)
    ...     file.flush()
    ...     inspection = inspect_gguf(file.name)
    >>> inspection.kind
    'rope'
    """
    document = read_document(source)
    if document.header is None:
        raise DataError(document.name, expected="a GGUF file", got="JSON", hint="call inspect_config")
    return inspect_header(document.header, document.name)


def inspect_document(document: Document, *, name: str | None = None) -> Inspection:
    """Read what a config or GGUF header that `read_document` fetched says about position.

    Args:
        document: the file's content.
        name: what to call it; by default the document's name.

    >>> from pathlib import Path
    >>> document = Document("edited", Path("config.json"), {"model_type": "llama", "rope_theta": 500000.0})
    >>> inspect_document(document).layers[0].rotation.base.value
    500000.0
    """
    if document.header is not None:
        return inspect_header(document.header, name or document.name)
    inspection = _inspect_mapping(document.config or {}, name or document.name)
    if document.pipeline is None:
        return inspection
    kind, part, encoders = document.pipeline
    named = f"text encoders: {', '.join(encoders)}" if encoders else "it has no text encoder"
    note = Finding(
        "pipeline-part",
        "info",
        f"of {kind} the part {part} is read; {named}",
        {"_class_name": kind},
        "name a part's folder to read it",
    )
    return replace(inspection, findings=(*inspection.findings, note))


def inspect_header(header: Header, name: str) -> Inspection:
    """Read what a GGUF header says about position; `name` is what the answer calls the file."""
    from ordinate.inspection.gguf_translation import translate  # most files are configs

    source, findings = translate(header)
    return _inspect(header.metadata, name, source.model_type, [source], findings, gguf=True)


def _inspect_mapping(raw: Mapping[str, Any], name: str) -> Inspection:
    sources, findings = find_parts(raw)
    named = next((key for key in ("model_type", "_class_name") if isinstance(raw.get(key), str)), None)
    model_type = Value(raw[named], "file", named) if named else unknown("no model_type in the file")
    return _inspect(raw, name, model_type, sources, findings)


def _inspect(
    raw: Mapping[str, Any],
    name: str,
    model_type: Value,
    sources: list[PartSource],
    findings: Iterable[Finding],
    *,
    gguf: bool = False,
) -> Inspection:
    parts = tuple(assemble(source, sources[0].section) for source in sources)
    collected = [*findings]
    for source in sources:
        collected += source.section.findings
    collected += check_parts(raw, name, sources, parts, gguf=gguf)
    unique = [finding for place, finding in enumerate(collected) if finding not in collected[:place]]
    unique.sort(key=lambda finding: -SEVERITIES.index(finding.severity))
    return Inspection(name, model_type, parts, tuple(unique))
