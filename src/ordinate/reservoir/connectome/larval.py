"""The brain of a larval fruit fly: 2,952 neurons, 110,677 edges, 352,611 synapses.

Winding et al. 2023, "The connectome of an insect brain", Science 379, doi 10.1126/science.add9330, Supplementary Data S1: one
zip of tables. The hemisphere of a neuron is the column of annotations.csv in which its id stands. What the tables do not say is
listed in `ASSUMPTIONS` and in each connectome.
"""

from __future__ import annotations

import csv
import io
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from ordinate.errors import DataError, MissingDataError
from ordinate.file_kinds import kind_of_file
from ordinate.reservoir.connectome.cache import Fields, cached
from ordinate.reservoir.connectome.orientation import Orientation, prove_orientation

__all__ = ["ASSUMPTIONS", "larval_orientation", "read_larval"]

ASSUMPTIONS = (
    "all synapses excite: the data hold no transmitter (ordinate.reservoir.signs gives others)",
    "a side is the hemisphere of the cell body; a descending neuron is taken to command that side of the body, "
    "although the data do not say where its axon goes",
)

ARCHIVE = "Supplementary-Data-S1.zip"

_TABLES = ("all-all_connectivity_matrix.csv", "annotations.csv", "inputs.csv", "outputs.csv")

_NO_PAIR = "no pair"

_NO_LABEL = "no official annotation"


def read_larval(path: str | Path, *, cache: bool | str | Path = True) -> Fields:
    """The fields of the connectome of a larval fruit fly's brain, from the supplement of its paper.

    Args:
        path: Supplementary-Data-S1.zip, or the folder it unpacks to, or the folder that holds either.
        cache: whether the parsed tables are kept, under their hash, in the user's cache folder; or another folder.

    Raises:
        MissingDataError: nothing at `path`, or a table missing.
        DataError: a damaged zip or table, ids that do not match, or a matrix whose rows are not presynaptic.

    Source: Winding et al. 2023, doi 10.1126/science.add9330.
    """
    where = _found(Path(path))
    return cached(where, lambda: _read(where), tables=_TABLES, folder=cache, form="larval-1")


def larval_orientation(path: str | Path, *, cache: bool | str | Path = True) -> Orientation:
    """The proof that rows of the larval matrix are presynaptic, in numbers: how many neurons contradict each reading.

    The loader makes the same comparison and refuses a matrix that does not fit.

    Args:
        path: as in `read_larval`.
        cache: as in `read_larval`.

    Raises:
        As `read_larval`.
    """
    fields = read_larval(path, cache=cache)
    opened = _tables(_found(Path(path)))
    outputs, inputs = (_totals(opened, f"{word}.csv", fields["ids"]) for word in ("outputs", "inputs"))
    return prove_orientation(fields["weights"], outputs=outputs, inputs=inputs, source=_TABLES[0])


def _found(path: Path) -> Path:
    for candidate in (path, path / ARCHIVE, path / ARCHIVE.removesuffix(".zip")):
        if candidate.is_file() or (candidate / _TABLES[0]).is_file():
            return candidate
    raise MissingDataError(
        str(path),
        expected=f"{ARCHIVE}, or a folder with {_TABLES[0]}",
        got="neither" if path.exists() else "nothing there",
        hint="fetch the supplement of doi 10.1126/science.add9330",
    )


def _read(where: Path) -> Fields:
    opened = _tables(where)
    ids, weights = _matrix(opened)
    outputs, inputs = _totals(opened, "outputs.csv", ids), _totals(opened, "inputs.csv", ids)
    prove_orientation(weights, outputs=outputs, inputs=inputs, source=_TABLES[0])
    return _annotated(opened, ids, weights)


def _tables(where: Path) -> Callable[[str], bytes]:
    """A function from a table's name to its bytes."""
    if where.is_dir():

        def from_folder(name: str) -> bytes:
            try:
                return (where / name).read_bytes()
            except FileNotFoundError:
                raise MissingDataError(name, expected=f"a table in {where}", got="none", hint="unpack the zip again") from None

        return from_folder

    def from_archive(name: str) -> bytes:
        try:
            with zipfile.ZipFile(where) as archive:
                members = [member for member in archive.namelist() if PurePosixPath(member).name == name]
                if not members:
                    raise MissingDataError(name, expected=f"a table in {where}", got="none", hint="fetch the supplement again")
                return archive.read(members[0])
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as problem:
            kind = kind_of_file(where)
            if kind not in (None, "a zip archive"):
                raise DataError(str(where), expected="a connectome of a known kind", got=kind) from None
            raise DataError(
                str(where), expected="a whole zip", got=f"a damaged one ({problem})", hint="fetch it again"
            ) from problem

    return from_archive


def _matrix(opened: Callable[[str], bytes]) -> tuple[npt.NDArray[np.int64], sparse.csr_array]:
    name = _TABLES[0]
    lines = opened(name).split(b"\n")
    header = lines[0].strip().split(b",")[1:]
    rows = [line for line in lines[1:] if line.strip()]
    ids = _integers(header, f"{name}, line 1")
    if len(rows) != len(header):
        raise DataError(
            name, expected="a square matrix", got=f"{len(rows)} rows and {len(header)} columns", hint="fetch it again"
        )
    data, columns, starts = [], [], [0]
    for at, row in enumerate(rows):
        first, _, rest = row.partition(b",")
        begins, ends = _fields(rest.rstrip())
        filled = np.flatnonzero(~_are_zero(rest, begins, ends))
        try:
            values = np.array([float(rest[begins[column] : ends[column]]) for column in filled], dtype=np.float64)
        except ValueError as problem:
            raise DataError(f"{name}, line {at + 2}", expected="numbers", got=str(problem), hint="fetch it again") from None
        if first.strip() != header[at]:
            raise DataError(
                f"{name}, line {at + 2}",
                expected=f"row {header[at].decode()}, for rows and columns are the same neurons",
                got=first.decode(errors="replace")[:40],
                hint="align rows and columns",
            )
        if begins.size != len(header):
            raise DataError(
                f"{name}, line {at + 2}", expected=f"{len(header)} values", got=f"{begins.size}", hint="fetch it again"
            )
        if not (values >= 0).all() or (values != np.floor(values)).any():
            bad = values[~(values >= 0) | (values != np.floor(values))][0]
            raise DataError(f"{name}, line {at + 2}", expected="counts of synapses", got=f"{bad}", hint="fetch it again")
        data.append(values)
        columns.append(filled)
        starts.append(starts[-1] + values.size)
    counts = np.concatenate(data)
    matrix = sparse.csr_array(
        (counts.astype(np.int32), np.concatenate(columns), np.array(starts)), shape=(len(rows), len(rows))
    )
    return ids, matrix


def _fields(line: bytes) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Where each field between commas begins and ends."""
    commas = np.flatnonzero(np.frombuffer(line, dtype=np.uint8) == ord(","))
    return np.concatenate([[0], commas + 1]), np.append(commas, len(line))


def _are_zero(line: bytes, begins: npt.NDArray[np.int64], ends: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """Which fields are written `0.0`: all but 1.3 % of 8.7 million, and not worth reading as numbers one by one."""
    letters = np.frombuffer(line + b"   ", dtype=np.uint8)
    spelt = (letters[begins + at] == ord(letter) for at, letter in enumerate("0.0"))
    return np.asarray((ends - begins == 3) & np.logical_and.reduce(list(spelt)))


def _integers(fields: list[bytes], where: str) -> npt.NDArray[np.int64]:
    try:
        return np.array([int(one) for one in fields], dtype=np.int64)
    except ValueError as problem:
        raise DataError(where, expected="whole numbers", got=str(problem), hint="fetch it again") from None


def _totals(opened: Callable[[str], bytes], name: str, ids: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """Axonal plus dendritic synapses of each neuron; NaN where the table lacks it."""
    rows = list(csv.reader(io.StringIO(opened(name).decode("utf-8-sig"))))
    try:
        counts = {int(row[0]): float(row[1]) + float(row[2]) for row in rows[1:] if row}
    except (ValueError, IndexError) as problem:
        raise DataError(name, expected="an id and two counts a line", got=str(problem), hint="fetch it again") from None
    totals = np.array([counts.get(int(one), np.nan) for one in ids])
    if np.isnan(totals).mean() > 0.1:
        raise DataError(
            name, expected="the ids of the matrix", got=f"{np.isnan(totals).sum()} of {ids.size} missing", hint="fetch it again"
        )
    return totals


def _annotated(opened: Callable[[str], bytes], ids: npt.NDArray[np.int64], weights: sparse.csr_array) -> Fields:
    name = "annotations.csv"
    place = {int(one): at for at, one in enumerate(ids)}
    side = np.full(ids.size, "unknown")
    kind = np.full(ids.size, "", dtype="U32")
    mate = np.full(ids.size, -1)
    labels: list[frozenset[str]] = [frozenset()] * ids.size
    table = csv.DictReader(io.StringIO(opened(name).decode("utf-8-sig")))
    for row in table:
        pair: list[int] = []
        for hemisphere in ("left", "right"):
            entry = _column(row, f"{hemisphere}_id", name, table.line_num)
            if entry != _NO_PAIR and not entry.isdecimal():
                raise DataError(
                    f"{name}, line {table.line_num}", expected=f"an id or '{_NO_PAIR}'", got=repr(entry), hint="fetch it again"
                )
            at = -1 if entry == _NO_PAIR else place.get(int(entry), -1)
            pair.append(at)
            if at < 0:
                continue
            if side[at] != "unknown":
                raise DataError(f"{name}, line {table.line_num}", expected="each id once", got=entry, hint="remove one of them")
            side[at], kind[at] = hemisphere, _column(row, "celltype", name, table.line_num)
            words = _column(row, "additional_annotations", name, table.line_num).split(";")
            labels[at] = frozenset({word.strip() for word in words} - {"", _NO_LABEL})
        if min(pair) >= 0:
            mate[pair[0]], mate[pair[1]] = pair[1], pair[0]
    return {
        "weights": weights,
        "ids": ids,
        "side": side,
        "mate": mate,
        "kind": kind,
        "labels": tuple(labels),
        "name": "larval Drosophila",
        "assumptions": ASSUMPTIONS,
    }


def _column(row: dict[str, Any], column: str, name: str, line: int) -> str:
    value = row.get(column)
    if value is None:
        raise DataError(f"{name}, line {line}", expected=f"the column {column}", got="none", hint="fetch it again")
    return str(value).strip()
