"""Circuits in JSON: a schema with a version, read strictly, written atomically."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ordinate.atomic_io import atomic_write
from ordinate.errors import ArgumentError, DataError, MissingDataError, OrdinateError
from ordinate.file_kinds import kind_of_file
from ordinate.logic.circuit.circuit import Circuit
from ordinate.logic.circuit.input_thresholds import InputThresholds

__all__ = ["FORMAT", "VERSION", "from_document", "load", "read_json", "save", "to_document"]

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
            **({} if inputs.dtype is None else {"dtype": inputs.dtype}),
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
        raise DataError(source, expected=f"a circuit (format {FORMAT!r})", got=got or "JSON without a format")
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
            document["num_inputs"],
            document["nodes"]["table"],
            document["nodes"]["a"],
            document["nodes"]["b"],
            votes=[(vote["signal"], vote["weight"]) for vote in document["votes"]],
            bias=document["bias"],
            tau=document["tau"],
            inputs=None if inputs is None else _thresholds(inputs),
            labels=document["labels"],
            notes=document["notes"],
        )
    except OrdinateError as error:
        raise DataError(f"{source}, {error.argument}", expected=error.expected, got=error.got, hint=error.hint) from error
    except (KeyError, TypeError, ValueError, OverflowError, AttributeError) as error:
        reason = f"the field {error} missing" if isinstance(error, KeyError) else str(error)
        raise DataError(source, expected="a circuit", got=reason) from error


def _thresholds(document: Any) -> InputThresholds:
    unknown = document.keys() - {"num_features", "feature", "threshold", "dtype"}
    if unknown:
        raise ArgumentError("inputs", expected="only known fields", got=f"{sorted(unknown)[0]!r}")
    return InputThresholds(document["num_features"], document["feature"], document["threshold"], document.get("dtype"))


def load(path: str | Path) -> Circuit:
    """Read a circuit. Raises as `Circuit.load`."""
    return from_document(read_json(path, "a circuit"), str(path))


def read_json(path: str | Path, what: str) -> Any:
    """The content of a JSON file; circuits, networks and checkpoints of growth are read so.

    Args:
        path: of a regular file.
        what: what it should be, for the message.

    Raises:
        MissingDataError: no such file.
        DataError: not readable, not UTF-8, not JSON, a key twice, NaN or infinity, too deeply nested.
    """
    source = Path(path)
    if not source.exists() or source.is_dir():
        raise MissingDataError(str(path), expected=f"{what} in a file", got="no such file")
    if not source.is_file():
        raise DataError(str(path), expected=f"{what} in a regular file", got="a device or a pipe")
    try:
        return json.loads(
            source.read_text(encoding="utf-8"), parse_constant=_refuse_constant, object_pairs_hook=_refuse_repetition
        )
    except (OSError, ValueError) as error:  # UnicodeDecodeError and JSONDecodeError are ValueErrors
        raise DataError(str(path), expected=f"{what} in JSON", got=_found(source, str(error))) from None
    except RecursionError:
        raise DataError(str(path), expected=f"{what} in JSON", got="brackets nested too deeply") from None


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} where a finite number should be")


def _refuse_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        raise ValueError("a key that stands twice")
    return result


def save(circuit: Circuit, path: str | Path) -> None:
    """Write a circuit. Raises as `Circuit.save`."""
    atomic_write(path, json.dumps(to_document(circuit), separators=(",", ":"), ensure_ascii=False, allow_nan=False) + "\n")


def _found(path: Path, trouble: str) -> str:
    """What kind of file it is instead, or what the parser says where it is meant to be JSON."""
    kind = kind_of_file(path)
    return trouble if kind in (None, "JSON") else kind
