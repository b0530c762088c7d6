"""Circuits in JSON: a schema with a version, read strictly, written whole or not at all."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ordinate.atomic_io import atomic_write
from ordinate.errors import DataError, MissingDataError, OrdinateError
from ordinate.logic.circuit import Circuit
from ordinate.logic.input_thresholds import InputThresholds

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
        raise DataError(source, expected=f"a circuit (format {FORMAT!r})", got=got, hint="write it with Circuit.save")
    if document.get("version") != VERSION:
        raise DataError(
            source, expected=f"version {VERSION}", got=document.get("version"), hint="read it with the release that wrote it"
        )
    for name in sorted(_FIELDS - document.keys()):
        raise DataError(source, expected=f"the field {name!r}", got="none", hint="write it with Circuit.save")
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
    except OrdinateError as problem:
        raise DataError(
            f"{source}, {problem.argument}", expected=problem.expected, got=problem.got, hint=problem.hint
        ) from problem
    except (KeyError, TypeError, ValueError, OverflowError) as problem:
        told = f"the field {problem} missing" if isinstance(problem, KeyError) else str(problem)
        raise DataError(source, expected="a whole circuit", got=told, hint="write it with Circuit.save") from problem


def _whole_number(value: Any, name: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise DataError(name, expected="a whole number", got=value, hint="write it with Circuit.save")
    return value


def load(path: str | Path) -> Circuit:
    """Read a circuit. Raises as `Circuit.load`."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
        raise MissingDataError(str(path), expected="a circuit file", got="none", hint="look at the path") from None
    except (OSError, UnicodeDecodeError) as problem:
        raise DataError(str(path), expected="a circuit in JSON", got=str(problem), hint="look at the file") from None
    try:
        document = json.loads(text, parse_constant=_refuse)
    except ValueError as problem:
        raise DataError(str(path), expected="a circuit in JSON", got=str(problem), hint="write it with Circuit.save") from None
    return from_document(document, str(path))


def _refuse(name: str) -> float:
    raise DataError("circuit", expected="finite numbers", got=name, hint="look at where the circuit was made")


def save(circuit: Circuit, path: str | Path) -> None:
    """Write a circuit. Raises as `Circuit.save`."""
    atomic_write(path, json.dumps(to_document(circuit), separators=(",", ":"), ensure_ascii=False, allow_nan=False) + "\n")
