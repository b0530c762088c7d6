"""Connectomes from lists of edges, one a line: CSV, TSV, Parquet, Feather; and from matrices and graphs.

That is how large reconstructions are published (FlyWire, hemibrain, MICrONS): a presynaptic id, a postsynaptic id, a count.
No matrix is ever dense. A second table may say what is known of each neuron.
"""

from __future__ import annotations

import csv
import gzip
import itertools
import zlib
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from ordinate.arguments import check_choice, check_flag, check_number
from ordinate.errors import DataError, MissingDataError, MissingExtraError
from ordinate.reservoir.connectome.annotations import ID_COLUMNS, annotate, as_ids, listed, places
from ordinate.reservoir.connectome.streaming import (
    accumulate,
    column_names,
    delimiter_of,
    distinct_ids,
    left_out,
    opened,
    read_table,
    table_kind,
)

__all__ = ["DUPLICATES", "graph_fields", "read_columns", "read_edges", "table_fields"]

Column = npt.NDArray[Any]

# what such columns are called in the wild, the first that is there
_PRE = ("pre", "source", "from", "pre_root_id", "bodyId_pre", "body_pre", "pre_pt_root_id", "Presynaptic_ID", "presynaptic")
_POST = tuple(name.replace("pre", "post").replace("Pre", "Post") for name in _PRE)
_POST = (_POST[0], "target", "to", *_POST[3:])

_COUNT = ("count", "weight", "synapses", "syn_count", "n_syn", "Connectivity")

DUPLICATES = ("error", "sum")

_LARGE = 1 << 25
"""Bytes from which a table is read batch by batch; below, errors name the line."""


def read_edges(
    path: str | Path,
    *,
    pre: str | None = None,
    post: str | None = None,
    count: str | None = None,
    neurons: str | Path | None = None,
    duplicates: str = "refuse",
    signed: bool = False,
    min_synapses: float = 1,
    kinds: str | None = None,
    name: str | None = None,
) -> dict[str, Any]:
    """The fields of a connectome, from a table of edges.

    Args:
        path: CSV, TSV or semicolons (`.csv`, `.tsv`, `.txt`, each also `.gz`), `.parquet` or `.feather`, with a header; a
            matrix: sparse of scipy (`.npz`), dense of numpy (`.npy`), or a square table of numbers with or without names; or
            `.graphml`. Rows of a matrix are presynaptic, its weights may be negative, and a diagonal of ones or NaN, as
            correlations have it, is left out.
        pre: the column of presynaptic ids; by default one of the usual names, such as "pre" or "pre_root_id".
        post: the column of postsynaptic ids.
        count: the column of synapse counts; by default one of the usual names, or 1 an edge where there is none.
        neurons: a table of neurons, see `connectome.annotations.annotate`. Its neurons are kept in its order, also those
            without edges; an edge to any other is an error. Beside a matrix its rows are those of the matrix.
        duplicates: an edge listed twice is an error ("error"), or its counts are added ("sum"), as where a table lists them
            by neuropil.
        signed: accept negative counts, as of files that have signs.
        min_synapses: edges with a smaller count are left out, after duplicates are added; of a matrix those with a smaller
            absolute weight, and none by default.
        kinds: the column of the table of neurons that `kind` is taken from.
        name: for messages and figures; the file's name by default.

    Raises:
        MissingDataError: no such file.
        MissingExtraError: a Parquet or Feather file without pyarrow, GraphML without networkx.
        DataError: a column that is not there, counts that are negative or no numbers, duplicate edges or neurons, an edge to
            an unknown neuron, a mate that is not mutual, or a damaged file.
        UnknownNameError: another word for `duplicates`.
    """
    check_choice("duplicates", duplicates, (*DUPLICATES, "refuse"))
    check_flag("signed", signed)
    check_number("min_synapses", min_synapses, minimum=0)
    place = Path(path)
    matrix = _matrix_file(place, pre, post)
    if matrix is not None or place.suffix == ".graphml":
        fields = _of_matrix(matrix, place, neurons, kinds) if matrix else graph_fields(_graphml(place), count=count)
        fields["weights"] = strong_enough(fields["weights"], min_synapses, always=matrix is not None and min_synapses != 1)
        return {**fields, "name": name or place.name}
    if table_kind(place) == "feather" or (place.is_file() and place.stat().st_size > _LARGE and table_kind(place)):
        return _streamed(place, (pre, post, count), neurons, duplicates, signed, min_synapses, kinds, name)
    annotations = {} if neurons is None else annotate(read_columns(Path(neurons)), str(neurons), kinds=kinds)
    return table_fields(
        read_columns(place),
        str(place),
        pre=pre,
        post=post,
        count=count,
        annotations=annotations,
        duplicates=duplicates,
        signed=signed,
        min_synapses=min_synapses,
        name=name or place.name,
    )


def table_fields(
    table: Mapping[str, Column],
    source: str,
    *,
    pre: str | None,
    post: str | None,
    count: str | None,
    annotations: dict[str, Any],
    duplicates: str,
    signed: bool,
    min_synapses: float,
    name: str,
) -> dict[str, Any]:
    """The fields of a connectome from a table of edges in memory; the arguments are those of `read_edges`."""
    chosen = [_column(table, pre, _PRE, "pre", source), _column(table, post, _POST, "post", source)]
    counted = _column(table, count, _COUNT, "count", source, needed=count is not None)
    senders, receivers = (as_ids(table[str(column)], source) for column in chosen)
    counts = np.ones(len(senders), dtype=np.int64) if counted is None else _counts(table[counted], source, signed)
    if not len(senders):
        raise DataError(source, expected="at least one edge", got="a header alone", hint="fetch it again")
    fields = dict(annotations)
    if not fields:
        if senders.dtype.kind != receivers.dtype.kind:
            senders, receivers = senders.astype(str), receivers.astype(str)
        fields["ids"] = np.unique(np.concatenate([senders, receivers]))
    ids = fields["ids"]
    rows, columns = places(senders, ids, source), places(receivers, ids, source)
    keys = rows * ids.size + columns
    distinct = np.unique(keys)
    said = list(fields.pop("assumptions", ()))
    if distinct.size != keys.size:
        if duplicates != "sum":
            distinct, times = np.unique(keys, return_counts=True)
            one, other = divmod(int(distinct[np.argmax(times)]), ids.size)
            raise DataError(
                source,
                expected="each edge once",
                got=f"{ids[one]} -> {ids[other]} {times.max()} times",
                hint='pass duplicates="sum" where counts are split, by neuropil for example',
            )
        said.append(f"{keys.size - distinct.size:,} rows repeat a pair: their counts are added")
    unused = [column for column in table if column not in (*chosen, counted)]
    if unused:
        said.append(f"columns of {Path(source).name} that are not used: {listed(unused)}")
    weights = sparse.csr_array(sparse.coo_array((counts, (rows, columns)), shape=(ids.size, ids.size)))
    strong = strong_enough(weights, min_synapses)
    said += left_out(int((weights.data == 0).sum()), int(np.count_nonzero(weights.data) - np.count_nonzero(strong.data)))
    return {"weights": strong, **fields, "assumptions": tuple(said), "name": name}


def strong_enough(weights: Any, min_synapses: float, *, always: bool = False) -> sparse.csr_array:
    """The matrix without entries below a number of synapses."""
    matrix = sparse.csr_array(weights)
    return matrix if min_synapses <= 1 and not always else sparse.csr_array(matrix.multiply(abs(matrix) >= min_synapses))


def graph_fields(graph: Any, *, count: str | None = None) -> dict[str, Any]:
    """The fields of a connectome from a graph of networkx: edges with a weight, nodes with the attributes `annotate` knows.

    An undirected edge counts both ways; parallel edges are added. `count` is the attribute of edges; by default one of the
    usual names that every edge has, or 1 an edge.
    """
    nodes = list(graph.nodes(data=True))
    ids = as_ids(np.array([str(node) for node, _ in nodes]), "the graph")
    names = sorted({name for _, values in nodes for name in values})
    table = {name: np.array([str(values.get(name, "")) for _, values in nodes]) for name in names if name not in ID_COLUMNS}
    fields = annotate({"id": ids, **table}, "the graph")
    edges = list(graph.edges(data=True))
    usual = next((name for name in _COUNT if edges and all(name in values for *_, values in edges)), None)
    weight = count or usual
    place = {node: at for at, (node, _) in enumerate(nodes)}
    rows, columns = (np.array([place[edge[end]] for edge in edges], dtype=np.int64) for end in (0, 1))
    values = np.array([1 if weight is None else float(values[weight]) for *_, values in edges], dtype=np.float64)
    if not graph.is_directed():
        loop = rows == columns
        rows, columns = np.concatenate([rows, columns[~loop]]), np.concatenate([columns, rows[~loop]])
        values = np.concatenate([values, values[~loop]])
        fields["assumptions"] = (*fields["assumptions"], "the graph has no directions: every edge counts both ways")
    whole = values.astype(np.int64) if (values == np.floor(values)).all() else values
    weights = sparse.csr_array(sparse.coo_array((whole, (rows, columns)), shape=(ids.size, ids.size)))
    return {"weights": weights, "name": str(graph.graph.get("name") or "graph"), **fields}


def _graphml(place: Path) -> Any:
    if not place.is_file():
        raise MissingDataError(str(place), expected="a .graphml file", got="no such file", hint="check the path")
    try:
        networkx: Any = import_module("networkx")
    except ImportError:
        raise MissingExtraError(
            "path", expected="the package networkx, for GraphML", got="none installed", hint="pip install networkx"
        ) from None
    try:
        return networkx.read_graphml(place)
    except Exception as error:  # what the parser raises about damaged files
        raise DataError(str(place), expected="GraphML", got=str(error)[:200], hint="fetch it again") from error


def _matrix_file(place: Path, pre: str | None, post: str | None) -> tuple[Any, list[str] | None] | None:
    """A matrix and the names of its rows, None for a file that holds none: a table of edges, or a graph."""
    if place.suffix in (".npz", ".npy"):
        if not place.is_file():
            raise MissingDataError(str(place), expected=f"a matrix, {place.suffix}", got="no such file", hint="check the path")
        try:
            return (sparse.load_npz(place) if place.suffix == ".npz" else np.load(place, allow_pickle=False)), None
        except Exception as error:  # numpy, zipfile and scipy each have their own
            expected = "a sparse matrix of scipy" if place.suffix == ".npz" else "an array of numpy"
            raise DataError(str(place), expected=expected, got=str(error)[:200]) from error
    if table_kind(place) != "csv" or not place.is_file() or place.stat().st_size > _LARGE or pre or post:
        return None
    names = set(column_names(place))
    if (names & set(_PRE) and names & set(_POST)) or not (rows := _rows(place)):
        return None
    headed = not _are_numbers(rows[0])
    body = rows[headed:]
    named = headed and len(body) == len(rows[0]) - 1  # a column of names before the numbers
    if len(body) < 2 or any(len(row) != len(rows[0]) for row in body) or len(body) != len(rows[0]) - named:
        return None
    try:
        matrix = np.array([[float(word) for word in row[named:]] for row in body])
    except ValueError:
        return None
    return matrix, [word.strip() for word in rows[0][named:]] if headed else None


def _are_numbers(words: list[str]) -> bool:
    try:
        return bool([float(word) for word in words])
    except ValueError:
        return False


def _of_matrix(
    matrix: tuple[Any, list[str] | None], place: Path, neurons: str | Path | None, kinds: str | None
) -> dict[str, Any]:
    """The fields of a connectome from a matrix and the names of its rows."""
    weights, names = matrix
    fields: dict[str, Any] = {} if names is None else {"ids": as_ids(np.array(names), str(place))}
    if neurons is not None:
        known = annotate(read_columns(Path(neurons)), str(neurons), kinds=kinds)
        if names is not None and not np.array_equal(known["ids"].astype(str), fields["ids"].astype(str)):
            raise DataError(
                str(neurons),
                expected=f"the rows of {place.name}, in its order",
                got="other ids",
                hint="sort it as the matrix is",
            )
        fields = known
    if not sparse.issparse(weights):
        weights = np.array(weights)
        if weights.ndim != 2 or weights.shape[0] != weights.shape[1]:
            raise DataError(str(place), expected="a square matrix", got=f"shape {list(weights.shape)}")
        said = list(fields.pop("assumptions", ()))
        own = weights.diagonal().astype(np.float64)
        if (np.isnan(own) | np.isinf(own) | np.isclose(own, 1)).all():
            weights[np.diag_indices(len(weights))] = 0
            said.append("the diagonal, 1 or no number throughout, is left out")
        if np.allclose(weights, weights.T):
            said.append("the matrix is symmetric: every connection runs both ways")
        fields["assumptions"] = tuple(said)
    return {"weights": sparse.csr_array(weights), **fields}


def _streamed(
    place: Path,
    columns: tuple[str | None, str | None, str | None],
    neurons: str | Path | None,
    duplicates: str,
    signed: bool,
    min_synapses: float,
    kinds: str | None,
    name: str | None,
) -> dict[str, Any]:
    header: dict[str, Column] = dict.fromkeys(column_names(place), np.zeros(0))
    pre, post = _column(header, columns[0], _PRE, "pre", str(place)), _column(header, columns[1], _POST, "post", str(place))
    count = _column(header, columns[2], _COUNT, "count", str(place), needed=columns[2] is not None)
    fields: dict[str, Any] = {}
    if neurons is not None:
        fields = annotate(read_columns(Path(neurons)), str(neurons), kinds=kinds)
    else:
        fields["ids"] = distinct_ids(place, (str(pre), str(post)))
    edges = accumulate(place, str(pre), str(post), count, fields["ids"], signed=signed, min_synapses=min_synapses)
    if edges.repeated and duplicates != "sum":
        raise DataError(
            str(place),
            expected="each edge once",
            got=f"{edges.repeated:,} rows that repeat one",
            hint='pass duplicates="sum" where counts are split, by neuropil for example',
        )
    said = (*fields.pop("assumptions", ()), *edges.sentences())
    unused = [column for column in header if column not in (pre, post, count)]
    if unused:
        said = (*said, f"columns of {place.name} that are not used: {listed(unused)}")
    return {"weights": edges.weights, **fields, "assumptions": said, "name": name or place.name}


def read_columns(place: Path) -> Mapping[str, Column]:
    """The columns of a table of edges by their names, whatever its format.

    Raises:
        MissingDataError: no such file.
        DataError: a damaged table.
    """
    if not place.is_file():
        raise MissingDataError(
            str(place),
            expected="a .csv, .csv.gz, .tsv, .parquet or .feather file",
            got="no such file",
            hint="check the path",
        )
    if table_kind(place) in ("feather", "parquet") or place.stat().st_size > _LARGE:
        return read_table(place)
    rows = _rows(place)
    if not rows:
        raise DataError(str(place), expected="a header and rows", got="an empty file", hint="fetch it again")
    header = [word.strip() for word in rows[0]]
    body = rows[1:]
    for number, row in enumerate(body, start=2):
        if len(row) != len(header):
            raise DataError(
                f"{place}, line {number}", expected=f"{len(header)} fields", got=f"{len(row)}", hint="mend or remove the line"
            )
    return {word: np.array([row[at].strip() for row in body], dtype=str) for at, word in enumerate(header)}


def _rows(place: Path) -> list[list[str]]:
    """The rows of a small table of text that hold anything."""
    try:
        with opened(place) as lines:
            first = lines.readline()
            return [row for row in csv.reader(itertools.chain([first], lines), delimiter=delimiter_of(first)) if row]
    except (gzip.BadGzipFile, EOFError, zlib.error, UnicodeDecodeError) as problem:
        raise DataError(str(place), expected="a whole table", got=str(problem), hint="fetch it again") from problem


def _column(
    table: Mapping[str, Column], named: str | None, usual: tuple[str, ...], what: str, source: str, *, needed: bool = True
) -> str | None:
    """The name of the column that is meant."""
    spelt = {word.lower(): word for word in reversed(list(table))}
    column = named if named is not None else next((spelt[word.lower()] for word in usual if word.lower() in spelt), None)
    if column in table:
        return column
    if not needed:
        return None
    raise DataError(
        source,
        expected=f"the column {named}" if named else f"a column of {what} ids, such as {', '.join(usual[:3])}",
        got=f"columns {', '.join(table)}",
        hint=f"name it: {what}=...",
    )


def _counts(column: Column, source: str, signed: bool) -> Column:
    try:
        numbers = column.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(source, expected="numbers for counts", got=str(error), hint="mend the column") from None
    wrong = ~np.isfinite(numbers) | ((numbers < 0) & (not signed))
    if wrong.any():
        at = int(np.flatnonzero(wrong)[0])
        raise DataError(
            f"{source}, row {at + 1}",
            expected="a count" if signed else "a count, 0 or more",
            got=f"{numbers[at]:g}",
            hint="mend or remove the row" if signed or not numbers[at] < 0 else "or pass signed=True",
        )
    return numbers.astype(np.int64) if (numbers == np.floor(numbers)).all() else numbers
