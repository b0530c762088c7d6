"""Connectomes from lists of edges, one a line: CSV, plain or gzipped, and Parquet.

That is how large reconstructions are published (FlyWire, hemibrain, MICrONS): a presynaptic id, a postsynaptic id, a count.
No matrix is ever dense. A second table may say what is known of each neuron.
"""

from __future__ import annotations

import csv
import gzip
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from ordinate.errors import ArgumentError, DataError, MissingDataError, MissingExtraError

__all__ = ["read_edges"]

Column = npt.NDArray[Any]

# what such columns are called in the wild, the first that is there
_PRE = ("pre", "source", "from", "pre_root_id", "bodyId_pre", "pre_pt_root_id", "presynaptic")

_POST = ("post", "target", "to", "post_root_id", "bodyId_post", "post_pt_root_id", "postsynaptic")

_COUNT = ("count", "weight", "synapses", "syn_count", "n_syn")

_ID = ("id", "neuron", "root_id", "bodyId", "pt_root_id")


def read_edges(
    path: str | Path,
    *,
    pre: str | None = None,
    post: str | None = None,
    count: str | None = None,
    neurons: str | Path | None = None,
    duplicates: str = "refuse",
    name: str | None = None,
) -> dict[str, Any]:
    """The fields of a connectome, from a table of edges.

    Args:
        path: `.csv`, `.csv.gz` or `.parquet`, with a header.
        pre: the column of presynaptic ids; by default one of the usual names, such as "pre" or "pre_root_id".
        post: the column of postsynaptic ids.
        count: the column of synapse counts; by default one of the usual names, or 1 an edge where there is none.
        neurons: a table of neurons: an id, and any of the columns `side`, `mate` (an id), `kind`, `labels` (separated by `;`).
            Its neurons are kept in its order, also those without edges; an edge to any other is an error.
        duplicates: an edge listed twice is an error ("refuse"), or its counts are added ("sum"), as where a table lists them
            by neuropil.
        name: for messages and figures; the file's name by default.

    Raises:
        MissingDataError: no such file.
        MissingExtraError: a Parquet file without pyarrow.
        DataError: a column that is not there, counts that are negative or no numbers, duplicate edges or neurons, an edge to
            an unknown neuron, a mate that is not mutual, or a damaged file.
        ArgumentError: another word for `duplicates`.
    """
    if duplicates not in ("refuse", "sum"):
        raise ArgumentError("duplicates", expected='"refuse" or "sum"', got=duplicates)
    place = Path(path)
    table = _table(place)
    senders, receivers = _column(table, pre, _PRE, "pre", place), _column(table, post, _POST, "post", place)
    column = _column(table, count, _COUNT, "count", place, needed=count is not None)
    counts = np.ones(len(senders), dtype=np.int64) if column is None else _counts(column, place)
    if not len(senders):
        raise DataError(str(place), expected="at least one edge", got="a header alone", hint="fetch it again")
    annotations: dict[str, Any] = {}
    if neurons is None:
        ids = np.unique(np.concatenate([senders, receivers]))
    else:
        annotations = _annotations(Path(neurons))
        ids = annotations["ids"]
    annotations["ids"] = ids
    rows, columns = _places(senders, ids, place), _places(receivers, ids, place)
    keys = rows * ids.size + columns
    if duplicates == "refuse" and np.unique(keys).size != keys.size:
        distinct, times = np.unique(keys, return_counts=True)
        one, other = divmod(int(distinct[np.argmax(times)]), ids.size)
        raise DataError(
            str(place),
            expected="each edge once",
            got=f"{ids[one]} -> {ids[other]} {times.max()} times",
            hint='pass duplicates="sum" where counts are split, by neuropil for example',
        )
    weights = sparse.csr_array(sparse.coo_array((counts, (rows, columns)), shape=(ids.size, ids.size)))
    return {"weights": weights, **annotations, "name": name or place.name}


def _table(place: Path) -> Mapping[str, Column]:
    if not place.is_file():
        raise MissingDataError(
            str(place), expected="a .csv, .csv.gz or .parquet file", got="no such file", hint="check the path"
        )
    if place.suffix == ".parquet":
        try:
            from pyarrow import parquet
        except ImportError:
            raise MissingExtraError(
                "path", expected="the package pyarrow, for Parquet files", got="not installed", hint="pip install pyarrow"
            ) from None
        try:
            content = parquet.read_table(place)
        except Exception as problem:  # whatever pyarrow raises about a damaged file
            raise DataError(str(place), expected="a Parquet file", got=str(problem), hint="fetch it again") from problem
        return {column: content[column].to_numpy() for column in content.column_names}
    try:
        with (
            gzip.open(place, "rt", newline="")
            if place.suffix == ".gz"
            else place.open(newline="", encoding="utf-8-sig") as lines
        ):
            rows = list(csv.reader(lines))
    except (gzip.BadGzipFile, EOFError, zlib.error, UnicodeDecodeError) as problem:
        raise DataError(str(place), expected="a whole table", got=str(problem), hint="fetch it again") from problem
    if not rows:
        raise DataError(str(place), expected="a header and rows", got="an empty file", hint="fetch it again")
    header = [word.strip() for word in rows[0]]
    body = [row for row in rows[1:] if row]
    for number, row in enumerate(body, start=2):
        if len(row) != len(header):
            raise DataError(
                f"{place}, line {number}", expected=f"{len(header)} fields", got=f"{len(row)}", hint="mend or remove the line"
            )
    return {word: np.array([row[at].strip() for row in body], dtype=str) for at, word in enumerate(header)}


def _column(
    table: Mapping[str, Column], named: str | None, usual: tuple[str, ...], what: str, place: Path, *, needed: bool = True
) -> Any:
    column = named if named is not None else next((word for word in usual if word in table), None)
    if column in table:
        return _ids(table[str(column)]) if what != "count" else table[str(column)]
    if not needed:
        return None
    raise DataError(
        str(place),
        expected=f"the column {named}" if named else f"a column of {what} ids, such as {', '.join(usual[:3])}",
        got=f"columns {', '.join(table)}",
        hint=f"name it: {what}=...",
    )


def _ids(column: Column) -> Column:
    """Whole numbers where all are, words otherwise."""
    if column.dtype.kind in "iu":
        return column.astype(np.int64)
    words = column.astype(str)
    try:
        return words.astype(np.int64)
    except ValueError:
        return words


def _counts(column: Column, place: Path) -> Column:
    try:
        numbers = column.astype(np.float64)
    except ValueError as problem:
        raise DataError(str(place), expected="numbers for counts", got=str(problem), hint="mend the column") from None
    wrong = ~(numbers >= 0) | np.isinf(numbers)
    if wrong.any():
        at = int(np.flatnonzero(wrong)[0])
        raise DataError(
            f"{place}, row {at + 1}", expected="a count, 0 or more", got=f"{numbers[at]:g}", hint="mend or remove the row"
        )
    return numbers.astype(np.int64) if (numbers == np.floor(numbers)).all() else numbers


def _places(looked_up: Column, ids: Column, place: Path) -> npt.NDArray[np.int64]:
    order = np.argsort(ids, kind="stable")
    if looked_up.dtype.kind != ids.dtype.kind:
        looked_up, ids = looked_up.astype(str), ids.astype(str)
        order = np.argsort(ids, kind="stable")
    at = np.minimum(np.searchsorted(ids, looked_up, sorter=order), ids.size - 1)
    places = order[at]
    missing = ids[places] != looked_up
    if missing.any():
        raise DataError(
            str(place),
            expected="edges between the neurons listed",
            got=f"{looked_up[missing][0]}, which is not, and {int(missing.sum()) - 1} more",
            hint="add it to the table of neurons, or remove the edge",
        )
    return np.asarray(places, dtype=np.int64)


def _annotations(place: Path) -> dict[str, Any]:
    table = _table(place)
    ids = _column(table, None, _ID, "id", place)
    distinct, times = np.unique(ids, return_counts=True)
    if distinct.size != ids.size:
        raise DataError(
            str(place),
            expected="each neuron once",
            got=f"{distinct[np.argmax(times)]} {times.max()} times",
            hint="merge its rows",
        )
    fields: dict[str, Any] = {"ids": ids}
    for word in ("side", "kind"):
        if word in table:
            fields[word] = table[word].astype(str)
    if "side" in fields:
        fields["side"] = np.where(fields["side"] == "", "unknown", fields["side"])
    if "labels" in table:
        fields["labels"] = tuple(frozenset({one.strip() for one in str(row).split(";")} - {""}) for row in table["labels"])
    if "mate" in table:
        words = table["mate"].astype(str)
        has = ~np.isin(words, ("", "-1", "nan", "None"))
        fields["mate"] = np.full(ids.size, -1)
        fields["mate"][has] = _places(_ids(words[has]), ids, place)
    return fields
