"""Tables of edges that are too large to read whole: batch by batch through pyarrow (the extra `connectomes`).

CSV, TSV and semicolons, plain or gzipped, Parquet, and Feather. Ids become places in the list of neurons by a hash table, so a
row costs some tens of nanoseconds, and only rows between neurons of the list are kept.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from ordinate.errors import DataError, MissingDataError, MissingExtraError, OrdinateError
from ordinate.extras import install_command

__all__ = ["Accumulated", "accumulate", "column_names", "delimiter_of", "distinct_ids", "read_table", "table_kind"]

_ROWS = 1 << 20

_KINDS = {".csv": "csv", ".tsv": "csv", ".txt": "csv", ".parquet": "parquet", ".feather": "feather", ".arrow": "feather"}


def arrow() -> Any:
    """pyarrow, or the error that says how to get it."""
    try:
        import pyarrow
        import pyarrow.compute
        import pyarrow.csv
        import pyarrow.feather
        import pyarrow.parquet
    except ImportError:
        raise MissingExtraError(
            "connectomes", expected="the package pyarrow", got="none installed", hint=install_command("connectomes")
        ) from None
    return pyarrow


def table_kind(path: Path) -> str:
    """The kind of a table by the end of its name: "csv", "parquet", "feather", or "" for another.

    >>> table_kind(Path("edges.tsv.gz")), table_kind(Path("a.parquet")), table_kind(Path("a.zip"))
    ('csv', 'parquet', '')
    """
    suffixes = [part.lower() for part in path.suffixes if part.lower() != ".gz"]
    return _KINDS.get(suffixes[-1] if suffixes else "", "")


def delimiter_of(line: str) -> str:
    """What separates the fields of a header: the most frequent of comma, tabulator and semicolon, spaces where there is none.

    >>> delimiter_of("pre;post;count")
    ';'
    """
    separator = max(",\t;", key=line.count)
    return separator if separator in line or " " not in line.strip() else " "


def column_names(path: Path) -> list[str]:
    """The columns of a table.

    Raises:
        MissingDataError: no such file.
        DataError: a damaged file.
    """
    if not path.is_file():
        raise MissingDataError(str(path), expected="a table", got="no such file", hint="check the path")
    if table_kind(path) == "csv":
        header = _first_line(path)
        if not header.strip():
            raise DataError(str(path), expected="a header and rows", got="an empty file", hint="fetch it again")
        return [word.strip().strip('"') for word in header.split(delimiter_of(header))]
    with _damage(path):
        pyarrow = arrow()
        if table_kind(path) == "parquet":
            return list(pyarrow.parquet.read_schema(path).names)
        with pyarrow.memory_map(str(path)) as source:
            return list(pyarrow.ipc.open_file(source).schema.names)


def read_table(path: Path) -> dict[str, npt.NDArray[Any]]:
    """A whole table, such as one of neurons: numbers as they are, everything else as text, "" where empty."""
    names = column_names(path)
    parts: dict[str, list[npt.NDArray[Any]]] = {name: [] for name in names}
    for batch in _batches(path, names):
        for name in names:
            parts[name].append(_plain(batch[name]))
    return {name: np.concatenate(columns) if columns else np.zeros(0, dtype=str) for name, columns in parts.items()}


def distinct_ids(path: Path, columns: tuple[str, str]) -> npt.NDArray[Any]:
    """Every id that stands in one of two columns, sorted."""
    pyarrow = arrow()
    known: npt.NDArray[Any] | None = None
    for batch in _batches(path, list(columns)):
        new = np.unique(np.concatenate([_plain(pyarrow.compute.unique(batch[name])) for name in columns]))
        known = new if known is None else np.union1d(known, new)
    if known is None or not known.size:
        raise DataError(str(path), expected="at least one edge", got="a header alone", hint="fetch it again")
    return known


@dataclass(frozen=True, eq=False)
class Accumulated:
    """What a table of edges comes to.

    Args:
        weights: [N, N], rows presynaptic.
        rows: of the table.
        outside: rows that name a neuron that is not in the list.
        outside_synapses: the counts of those.
        zeros: pairs whose counts add up to 0.
        weak: pairs below the least number of synapses.
        repeated: rows whose pair stands in an earlier one.
    """

    weights: sparse.csr_array
    rows: int
    outside: int
    outside_synapses: float
    zeros: int
    weak: int
    repeated: int

    def sentences(self) -> tuple[str, ...]:
        """What was left out or added up, for the assumptions of a connectome."""
        said = []
        if self.outside:
            said.append(
                f"{self.outside:,} of {self.rows:,} rows with {self.outside_synapses:,.0f} synapses "
                "name a neuron that is not in the table of neurons: left out"
            )
        said += left_out(self.zeros, self.weak)
        if self.repeated:
            said.append(f"{self.repeated:,} rows repeat a pair: their counts are added")
        return tuple(said)


def accumulate(
    path: Path,
    pre: str,
    post: str,
    count: str | None,
    ids: npt.NDArray[Any],
    *,
    signed: bool = False,
    min_synapses: float = 1,
    row_signs: tuple[Sequence[str], Callable[[list[npt.NDArray[Any]]], npt.NDArray[np.int64]]] | None = None,
) -> Accumulated:
    """Read a table of edges batch by batch into a sparse matrix.

    Args:
        path: the table.
        pre, post: columns of ids.
        count: column of synapse counts; None counts 1 a row.
        ids: the neurons, distinct, in the order of the matrix.
        signed: accept negative counts.
        min_synapses: pairs with a smaller sum are left out.
        row_signs: further columns, and a function from their values to a sign of each row.

    Raises:
        DataError: ids or counts that are missing, counts that are no numbers, negative ones unless `signed`.
    """
    pyarrow = arrow()
    compute = pyarrow.compute
    places = pyarrow.array(ids if ids.dtype.kind in "iu" else ids.astype(str))
    rows, outside, outside_synapses = 0, 0, 0.0
    kept: list[tuple[npt.NDArray[Any], ...]] = []
    further, signs_of = row_signs or ((), None)
    for batch in _batches(path, [name for name in (pre, post, count, *further) if name is not None]):
        where = []
        for name in (pre, post):
            column = batch[name]
            if column.null_count:
                raise DataError(str(path), expected=f"an id in every row of {name}", got=f"{column.null_count} empty ones")
            place = compute.index_in(_cast(column, places.type, path, name), value_set=places)
            where.append(compute.fill_null(place, -1).to_numpy(zero_copy_only=False))
        counts = np.ones(len(batch), dtype=np.int64) if count is None else _counts(batch[count], path, rows, signed)
        if signs_of is not None:
            counts = counts * signs_of([_plain(batch[name]) for name in further])
        inside = (where[0] >= 0) & (where[1] >= 0)
        rows += len(batch)
        lost = len(batch) - int(inside.sum())
        if lost:
            outside += lost
            outside_synapses += float(np.abs(counts[~inside]).sum())
            where, counts = [place[inside] for place in where], counts[inside]
        kept.append((*where, _narrow(counts)))
    weights, listed = _matrix(kept, ids.size)
    repeated = listed - weights.nnz
    zeros, weak = int((weights.data == 0).sum()), 0
    if min_synapses > 1:
        strong = np.abs(weights.data) >= min_synapses
        weak = int(weights.nnz - zeros - strong.sum())
        weights.data = np.where(strong, weights.data, 0)
    weights.eliminate_zeros()
    return Accumulated(weights, rows, outside, outside_synapses, zeros, weak, repeated)


def _matrix(kept: list[tuple[npt.NDArray[Any], ...]], count: int) -> tuple[sparse.csr_array, int]:
    if not kept:
        return sparse.csr_array((count, count), dtype=np.int64), 0
    pre = np.concatenate([part[0] for part in kept])
    post = np.concatenate([part[1] for part in kept])
    counts = np.concatenate([part[2] for part in kept])
    kept.clear()
    if counts.dtype == np.int32 and np.abs(counts, dtype=np.int64).sum() >= 2**31:
        counts = counts.astype(np.int64)
    weights = sparse.csr_array(sparse.coo_array((counts, (pre, post)), shape=(count, count)))
    weights.sum_duplicates()
    return weights, int(pre.size)


def _narrow(counts: npt.NDArray[Any]) -> npt.NDArray[Any]:
    fits = counts.dtype.kind == "i" and counts.size and max(counts.max(), -counts.min()) < 2**31
    return counts.astype(np.int32) if fits else counts


def _counts(column: Any, path: Path, before: int, signed: bool) -> npt.NDArray[Any]:
    if column.null_count:
        raise DataError(str(path), expected="a count in every row", got=f"{column.null_count} empty ones")
    values = column.to_numpy(zero_copy_only=False)
    if values.dtype.kind not in "iuf":
        try:
            values = np.asarray(values, dtype=str).astype(np.float64)
        except ValueError as error:
            raise DataError(str(path), expected="numbers for counts", got=str(error), hint="mend the column") from None
    wrong = ~np.isfinite(values) | ((values < 0) & (not signed))
    if wrong.any():
        at = int(np.flatnonzero(wrong)[0])
        raise DataError(
            f"{path}, row {before + at + 1}",
            expected="a count" if signed else "a count, 0 or more",
            got=f"{values[at]:g}",
            hint="" if signed else "signed counts of a table are read by from_edges(signed=True)",
        )
    if values.dtype.kind == "f" and (values == np.floor(values)).all():
        values = values.astype(np.int64)
    return np.asarray(values if values.dtype.kind == "f" else values.astype(np.int64))


def _cast(column: Any, kind: Any, path: Path, name: str) -> Any:
    if column.type == kind:
        return column
    try:
        return column.cast(kind)
    except Exception as error:  # pyarrow's own kinds of errors
        raise DataError(
            str(path), expected=f"ids of type {kind} in {name}", got=str(column.type), hint=str(error)[:80]
        ) from None


def _plain(column: Any) -> npt.NDArray[Any]:
    pyarrow = arrow()
    if isinstance(column, pyarrow.DictionaryArray):
        column = column.dictionary_decode()
    numbers = pyarrow.types.is_integer(column.type) or pyarrow.types.is_floating(column.type)
    if numbers and not column.null_count:
        return np.asarray(column.to_numpy(zero_copy_only=False))
    text = column if pyarrow.types.is_string(column.type) else column.cast(pyarrow.string())
    return np.asarray(pyarrow.compute.fill_null(text, "").to_numpy(zero_copy_only=False)).astype(str)


def opened(path: Path) -> Any:
    """A table of text, opened for reading, whether it is packed by gzip or not, whatever its name says."""
    with path.open("rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
    return (gzip.open if packed else open)(path, "rt", newline="", encoding="utf-8-sig")


def left_out(zeros: int, weak: int) -> list[str]:
    """Sentences about pairs that make no edge, for the assumptions of a connectome."""
    said = []
    if zeros:
        said.append(f"{zeros:,} pairs have a count of 0: no edge")
    if weak:
        said.append(f"{weak:,} pairs below the least number of synapses: left out")
    return said


def _first_line(path: Path) -> str:
    with _damage(path), opened(path) as lines:
        return str(next(iter(lines), "")).rstrip("\r\n")


def _batches(path: Path, names: list[str]) -> Iterator[Any]:
    """Record batches with these columns."""
    pyarrow = arrow()
    with _damage(path):
        if table_kind(path) == "parquet":
            with pyarrow.parquet.ParquetFile(path) as file:
                yield from file.iter_batches(batch_size=_ROWS, columns=names)
        elif table_kind(path) == "feather":
            with pyarrow.memory_map(str(path)) as source:
                schema = pyarrow.ipc.open_file(source).schema
                options = pyarrow.ipc.IpcReadOptions(included_fields=[schema.get_field_index(name) for name in names])
                file = pyarrow.ipc.open_file(source, options=options)
                for number in range(file.num_record_batches):
                    batch = file.get_batch(number)
                    for start in range(0, len(batch), _ROWS):
                        yield batch.slice(start, _ROWS)
        else:
            reader = pyarrow.csv.open_csv(
                str(path),
                read_options=pyarrow.csv.ReadOptions(block_size=1 << 25),
                parse_options=pyarrow.csv.ParseOptions(delimiter=delimiter_of(_first_line(path))),
                convert_options=pyarrow.csv.ConvertOptions(include_columns=names, strings_can_be_null=False),
            )
            yield from reader


class _damage:  # noqa: N801
    """Turn what readers raise about damaged files into one of this package's errors."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        known = (OSError, ValueError, KeyError, EOFError, NotImplementedError)
        if error is None or isinstance(error, OrdinateError) or not isinstance(error, known):
            return
        raise DataError(str(self.path), expected="a whole table", got=" ".join(str(error).split())[:200]) from error
