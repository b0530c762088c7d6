"""Circuits in JSON: a schema with a version, read strictly, written atomically."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ordinate.atomic_io import atomic_write
from ordinate.errors import DataError, MissingDataError, OrdinateError
from ordinate.logic.circuit.circuit import Circuit
from ordinate.logic.circuit.input_thresholds import InputThresholds

__all__ = ["FORMAT", "VERSION", "from_document", "load", "save", "to_document"]

FORMAT, VERSION = "ordinate.logic.circuit", 1
_FIELDS = {"format", "version", "num_inputs", "nodes", "votes", "bias", "tau", "inputs", "labels", "notes"}


def to_document(circuit: Circuit) -> dict[str, Any]:
    """The circuit as plain JSON types."""
    inputs = circuit.inputs
    return {
        "format": FORMAT,
        "version": VERSION,
        "num_inputs": circuit.num_inputs,
        "nodes": {"table": circuit.tables.tolist(), "a": circuit.inputs_a.tolist(), "b": circuit.inputs_b.tolist()},
        "votes": [{"signal": vote.signals.tolist(), "weight": vote.weights.tolist()} for vote in circuit.votes],
        "bias": circuit.bias.tolist(),
        "tau": circuit.tau,
        "inputs": None
        if inputs is None
        else {
            "num_features": inputs.num_features,
            "feature": inputs.feature.tolist(),
            "threshold": inputs.threshold.tolist(),
        },
        "labels": list(circuit.labels),
        "notes": dict(circuit.notes),
    }


def from_document(document: Any, source: str = "circuit") -> Circuit:
    """The circuit of a document; nothing in it is guessed, skipped or cut.

    Raises:
        DataError: another format or version, a field that is missing, unknown or wrong, a cycle.
    """
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        got = document.get("format") if isinstance(document, dict) else type(document).__name__
        raise DataError(source, expected=f"a circuit (format {FORMAT!r})", got=got)
    if document.get("version") != VERSION:
        raise DataError(
            source, expected=f"version {VERSION}", got=document.get("version"), hint="read it with the release that wrote it"
        )
    for name in sorted(_FIELDS - document.keys()):
        raise DataError(source, expected=f"the field {name!r}", got="none")
    for name in sorted(document.keys() - _FIELDS):
        raise DataError(source, expected="only known fields", got=f"{name!r}", hint="remove it, or put it into notes")
    try:
        inputs = document["inputs"]
        return Circuit(
            _whole_number(document["num_inputs"], "num_inputs"),
            document["nodes"]["table"],
            document["nodes"]["a"],
            document["nodes"]["b"],
            votes=[(vote["signal"], vote["weight"]) for vote in document["votes"]],
            bias=document["bias"],
            tau=document["tau"],
            inputs=None
            if inputs is None
            else InputThresholds(_whole_number(inputs["num_features"], "num_features"), inputs["feature"], inputs["threshold"]),
            labels=document["labels"],
            notes=document["notes"],
        )
    except OrdinateError as error:
        raise DataError(f"{source}, {error.argument}", expected=error.expected, got=error.got, hint=error.hint) from error
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        reason = f"the field {error} missing" if isinstance(error, KeyError) else str(error)
        raise DataError(source, expected="a circuit", got=reason) from error


def _whole_number(value: Any, name: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise DataError(name, expected="an integer", got=value)
    return value


def load(path: str | Path) -> Circuit:
    """Read a circuit. Raises as `Circuit.load`."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
        raise MissingDataError(str(path), expected="a circuit file", got="none") from None
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(str(path), expected="a circuit in JSON", got=str(error)) from None
    try:
        document = json.loads(text, parse_constant=_refuse)
    except ValueError as error:
        raise DataError(str(path), expected="a circuit in JSON", got=str(error)) from None
    return from_document(document, str(path))


def _refuse(name: str) -> float:
    raise DataError("circuit", expected="finite numbers", got=name)


def save(circuit: Circuit, path: str | Path) -> None:
    """Write a circuit. Raises as `Circuit.save`."""
    atomic_write(path, json.dumps(to_document(circuit), separators=(",", ":"), ensure_ascii=False, allow_nan=False) + "\n")
