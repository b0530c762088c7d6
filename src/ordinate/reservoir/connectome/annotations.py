"""What tables of neurons say, in the columns that published connectomes have: sides, kinds, mates, transmitters and labels."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from ordinate.errors import DataError
from ordinate.reservoir.connectome.transmitters import transmitter

__all__ = ["ID_COLUMNS", "TRANSMITTERS", "annotate", "as_ids", "listed", "places", "transmitters"]

Table = Mapping[str, npt.NDArray[Any]]

ID_COLUMNS = ("id", "neuron", "root_id", "bodyId", "pt_root_id", "body", "bodyid", "idx")
_SIDE = ("side", "somaSide", "soma_side")
_KIND = ("kind", "super_class", "superclass", "cell_type", "type")
TRANSMITTERS = ("consensus_nt", "predicted_nt", "nt_type", "top_nt", "nt")
_LABELS = (
    "superclass", "super_class", "class", "subclass", "sub_class", "type", "cell_type", "primary_type", "hemilineage",
    "itoleeHemilineage", "trumanHemilineage", "nerve", "entryNerve", "exitNerve", "flow", "group", "somaNeuromere", "status",
)  # fmt: skip
_FLOAT = re.compile(r"[+-]?\d+(\.0*|(\.\d*)?[eE][+-]?\d+)")
_SIDES = {"l": "left", "left": "left", "lhs": "left", "r": "right", "right": "right", "rhs": "right"}
_NO_SIDE = {"", "unknown", "nan", "none", "na"}


def annotate(table: Table, source: str, *, kinds: str | None = None, id_column: str | None = None) -> dict[str, Any]:
    """The fields of a connectome that a table of neurons fills, with `assumptions` about what it does not say.

    Args:
        table: columns of one length: an id, and any of side, kind, mate (an id), labels (separated by `;`), a transmitter
            (`consensus_nt`, `predicted_nt`, `nt_type`), and the classes that published tables have. Each class becomes the
            labels `value` and `column=value`, so that a query may say "superclass=descending & side=L".
        source: the file, for messages.
        kinds: the column that `kind` is taken from; by default the first of kind, super_class, superclass, cell_type, type.
        id_column: the column of ids.

    Raises:
        DataError: a column that is not there, a neuron twice, a mate that is no neuron.
    """
    name = id_column or next((word for word in ID_COLUMNS if word in table), None)
    for column, wanted in (
        (name, "a column of ids, such as " + ", ".join(ID_COLUMNS[:4])),
        (kinds or name, f"the column {kinds}"),
    ):
        if column not in table:
            raise DataError(source, expected=wanted, got=f"columns {', '.join(table)}", hint="name it")
    ids = as_ids(table[str(name)], source)
    if not ids.size:
        raise DataError(source, expected="at least one neuron", got="a header alone", hint="fetch it again")
    distinct, times = np.unique(ids, return_counts=True)
    if distinct.size != ids.size:
        most = int(np.argmax(times))
        raise DataError(source, expected="each neuron once", got=f"{distinct[most]} {times[most]} times", hint="merge its rows")
    fields: dict[str, Any] = {"ids": ids}
    used = {str(name)}
    said: list[str] = []
    side = next((word for word in _SIDE if word in table), None)
    if side is not None:
        used.add(side)
        words = np.array([word.strip().lower() for word in table[side].astype(str)])
        fields["side"] = np.array([_SIDES.get(word, "unknown") for word in words])
        other = [word for word in np.unique(words) if word not in _SIDES and word not in _NO_SIDE]
        if other:
            said.append(
                f"{int(np.isin(words, other).sum()):,} neurons are on neither side ({', '.join(other[:4])}): unknown here"
            )
    kind = kinds or next((word for word in _KIND if word in table), None)
    if kind is not None:
        used.add(kind)
        fields["kind"] = table[kind].astype(str)
    if "mate" in table:
        used.add("mate")
        words = table["mate"].astype(str)
        has = ~np.isin(words, ("", "-1", "nan", "None"))
        fields["mate"] = np.full(ids.size, -1)
        fields["mate"][has] = places(as_ids(words[has], source), ids, source)
    releases = next((word for word in TRANSMITTERS if word in table), None)
    columns: dict[str, npt.NDArray[Any]] = {}
    if releases is not None:
        used |= {word for word in TRANSMITTERS if word in table}
        columns["nt"] = transmitters(table)
    columns |= {word: table[word].astype(str) for word in _LABELS if word in table}
    used |= set(columns)
    if columns or "labels" in table:
        fields["labels"] = _labels(columns, table.get("labels"), ids.size)
        used.add("labels")
    unused = [word for word in table if word not in used]
    if unused:
        said.append(f"columns of {source} that are not used: {listed(unused)}")
    fields["assumptions"] = tuple(said)
    return fields


def transmitters(table: Table) -> npt.NDArray[np.str_]:
    """The transmitter of each neuron: the first of the columns of a table that names one."""
    result = np.full(len(next(iter(table.values()))), "", dtype="U32")
    for word in reversed([word for word in TRANSMITTERS if word in table]):
        named = np.array([transmitter(one) for one in table[word]], dtype="U32")
        result = np.where(named != "", named, result)
    return result


def listed(columns: Iterable[str]) -> str:
    """Names of columns in a sentence, also of one without."""
    return ", ".join(name or "(without a name)" for name in columns)


def as_ids(column: npt.NDArray[Any], source: str) -> npt.NDArray[Any]:
    """Whole numbers where all are, exactly, also past 2^53; words otherwise.

    Raises:
        DataError: an empty id, or one that was kept as a float and has lost its last digits.
    """
    if column.dtype.kind in "iu":
        return column if column.dtype == np.uint64 and column.size and column.max() > 2**63 - 1 else column.astype(np.int64)
    if column.dtype.kind == "f":
        exact = np.isfinite(column) & (column == np.floor(column)) & (np.abs(column) < 2**53)
        if not exact.all():
            bad = column[~exact][0]
            raise DataError(
                source, expected="an id in every row, whole and below 2^53 where it is kept as a float", got=repr(float(bad)),
                hint="keep ids as integers or text",
            )  # fmt: skip
        return column.astype(np.int64)
    words = np.char.strip(column.astype(str))
    if (words == "").any():
        raise DataError(source, expected="an id in every row", got=f"{int((words == '').sum()):,} empty ones", hint="mend them")
    try:
        return np.array([int(word) for word in words], dtype=np.int64) if words.size else words
    except (ValueError, OverflowError):
        pass
    if any(_FLOAT.fullmatch(word) for word in words):
        try:
            numbers = words.astype(np.float64)
        except ValueError:
            return words
        return as_ids(numbers, source)
    return words


def places(wanted: npt.NDArray[Any], ids: npt.NDArray[Any], source: str) -> npt.NDArray[np.int64]:
    """Where ids stand in a list of neurons.

    Raises:
        DataError: an id that is not in the list.
    """
    if wanted.dtype.kind != ids.dtype.kind:
        wanted, ids = wanted.astype(str), ids.astype(str)
    order = np.argsort(ids, kind="stable")
    at = np.minimum(np.searchsorted(ids, wanted, sorter=order), ids.size - 1)
    result = order[at]
    missing = ids[result] != wanted
    if missing.any():
        raise DataError(
            source,
            expected="edges between the neurons listed",
            got=f"{wanted[missing][0]}, which is not, and {int(missing.sum()) - 1} more",
            hint="add it to the table of neurons, or remove the edge",
        )
    return np.asarray(result, dtype=np.int64)


def _labels(columns: Mapping[str, npt.NDArray[Any]], listed: Any, count: int) -> tuple[frozenset[str], ...]:
    rows = list(zip(*(column.tolist() for column in columns.values()), strict=True)) if columns else [()] * count
    known: dict[tuple[str, ...], frozenset[str]] = {}
    result = []
    for number, row in enumerate(rows):
        words = known.get(row)
        if words is None:
            pairs = [(name, value.strip()) for name, value in zip(columns, row, strict=True) if value.strip()]
            plain = {value for name, value in pairs if name != "nt"}
            words = known[row] = frozenset(plain | {f"{name}={value}" for name, value in pairs})
        if listed is not None:
            words = words | ({one.strip() for one in str(listed[number]).split(";")} - {""})
        result.append(words)
    return tuple(result)
