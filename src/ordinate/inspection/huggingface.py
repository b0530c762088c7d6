"""From a Hugging Face config of any age to an `Inspection`: the raw file is read, never another library's parsed config.

A file holds one stack or several (text, vision, audio), flat or nested. Each section is found, its family looked up in the
table of `families`, and the family's readers are run over it. Findings are made along the way by what reads, and at the end
by `findings` over the whole.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from ordinate.errors import ArgumentTypeError
from ordinate.inspection.assembly import assemble
from ordinate.inspection.findings import judge
from ordinate.inspection.provenance import Value, unknown
from ordinate.inspection.record import SEVERITIES, Inspection
from ordinate.inspection.section import Log
from ordinate.inspection.sections import find_parts

__all__ = ["inspect_config"]


def inspect_config(source: str | os.PathLike[str] | Mapping[str, Any], *, name: str | None = None) -> Inspection:
    """Read what a model's config says about position.

    Every value of the result carries where it comes from; what cannot be known is said to be unknown. A value that cannot
    be meant (a base of 0, a text where a number belongs) is a finding of severity "error" that names the key, and all that
    depends on it is unknown: other parts of the file are still told.

    Args:
        source: the dictionary of a `config.json`, or what names one: a file, a directory, "-" for standard input, a hub id.
        name: what to call it in findings and tables; by default the file's name.

    Raises:
        ArgumentTypeError: neither a dictionary nor a name.
        DataError, MissingDataError: a file that cannot be read, see `ordinate.inspection.reading`.

    >>> told = {"model_type": "llama", "hidden_size": 4096, "num_attention_heads": 32, "num_hidden_layers": 32}
    >>> inspection = inspect_config({**told, "rope_theta": 500000.0})
    >>> inspection.layers[0].rotation.base
    Value(value=500000.0, source='file', detail='rope_theta')
    >>> inspection.spec.to_dict()["settings"]
    {'layout': 'half', 'base': 500000.0, 'head_dim': 128}
    """
    if isinstance(source, Mapping):
        return _inspect(source, name or "<dict>")
    if not isinstance(source, str | os.PathLike):
        raise ArgumentTypeError(
            "source", expected="a dictionary or the name of a file", got=type(source).__name__, hint="pass config.json"
        )
    from ordinate.inspection.reading import read_document

    document = read_document(source)
    if document.config is None:
        from ordinate.inspection.gguf import inspect_gguf

        return inspect_gguf(source)
    return _inspect(document.config, name or document.name)


def _inspect(raw: Mapping[str, Any], name: str) -> Inspection:
    log = Log()
    found = find_parts(raw, log)
    parts = tuple(assemble(part, found[0].section, log) for part in found)
    stated = raw.get("model_type")
    model_type = Value(stated, "file", "model_type") if isinstance(stated, str) else unknown("no model_type in the file")
    judge(raw, name, found, parts)
    findings = sorted(log.findings, key=lambda finding: -SEVERITIES.index(finding.severity))
    return Inspection(name, model_type, parts, tuple(findings))
