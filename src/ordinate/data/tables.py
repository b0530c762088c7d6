"""Tables of numbers with a label column: CSV, TSV, Parquet and npz files, read strictly.

Every column but the label is a feature and must hold numbers, or be named as one of categories. A missing value (an empty
field, `NA`, `NaN`, `?`, null) is refused by its column's name unless a way to fill it is named; a column of text is refused by
its name. Nothing is guessed.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from ordinate.arguments import check_choice, did_you_mean
from ordinate.errors import ArgumentError, DataError, MissingDataError, MissingExtraError
from ordinate.extras import install_command

__all__ = ["FILLINGS", "Table", "fill_values", "read_table"]

Filling = Literal["refuse", "median", "mean", "zero", "keep"]
FILLINGS = ("refuse", "median", "mean", "zero")
"""What is done about missing values; medians and means are those of the column in the file."""

_MISSING = {"", "na", "n/a", "nan", "null", "none", "?"}


@dataclass(frozen=True, eq=False)
class Table:
    """Rows of numbers with labels.

    Args:
        x: numbers [N, features]; integers where all columns are, else float64.
        y: labels [N], int64 or text; of length 0 where no label was asked for.
        features: names of the columns of x; a category's column is called `column=value`.
        label: name of the label column, or None.
        source: the file.
        categories: for each column of text that became several, the values that have one, in their order.
    """

    x: npt.NDArray[Any]
    y: npt.NDArray[Any]
    features: tuple[str, ...]
    label: str | None
    source: str
    categories: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.x)


def read_table(
    path: str | Path,
    label: str | None,
    *,
    missing: Filling = "refuse",
    drop: Sequence[str] = (),
    categories: Sequence[str] | Mapping[str, Sequence[str]] = (),
    columns: Sequence[str] | None = None,
) -> Table:
    """Read a table by the end of its name: `.csv`, `.tsv` (or `.txt`, by tabs), `.parquet`, `.npz`.

    The first line of a text file names the columns. In an npz file `label` is the array of labels; the features are the only
    two-dimensional array, or all arrays of one dimension.

    Args:
        path: the file.
        label: name of the label column; None reads the numbers alone.
        missing: "refuse"; how missing numbers are filled: "median", "mean" or "zero"; or "keep", which leaves NaN.
        drop: columns that are left out.
        categories: columns of text of which every value becomes a column of 0 and 1; a mapping says which values, and another
            one is then 0 in all of them.
        columns: those to read, in this order, others are ignored; by default all.

    Raises:
        MissingDataError: no such file.
        DataError: damaged, of another format, without rows, with rows of several lengths, text or missing values.
        ArgumentError: a label or a column that is not there.
        MissingExtraError: a Parquet file, and pyarrow is not installed.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = (Path(folder) / "t.csv").write_text("width,colour,kind\\n1.5,red,cat\\n3,blue,dog\\n")
    ...     table = read_table(Path(folder) / "t.csv", "kind", categories=["colour"])
    >>> table.x.tolist(), table.y.tolist(), table.features
    ([[1.5, 0.0, 1.0], [3.0, 1.0, 0.0]], ['cat', 'dog'], ('width', 'colour=blue', 'colour=red'))
    """
    check_choice("missing", missing, (*FILLINGS, "keep"))
    source = Path(path)
    if not source.is_file():
        raise MissingDataError(str(path), expected="a table in a file", got="no such file")
    suffix = source.suffix.lower()
    if suffix in (".csv", ".tsv", ".txt"):
        read = _read_text(source, "," if suffix == ".csv" else "\t")
    elif suffix == ".parquet":
        read = _read_parquet(source)
    elif suffix == ".npz":
        read = _read_npz(source, label)
    else:
        raise ArgumentError("table", expected="a name that ends in .csv, .tsv, .txt, .parquet or .npz", got=str(path))
    asked = [("drop", drop), ("categories", categories), ("columns", columns or ()), ("label", [label] if label else [])]
    for argument, name in ((argument, name) for argument, names in asked for name in names):
        if name not in read:
            raise ArgumentError(
                argument,
                expected=f"a column of {source.name}",
                got=name,
                hint=did_you_mean(name, read) or f"its columns are {', '.join(list(read)[:20])}",
            )
    y = np.zeros(0, np.int64) if label is None else _labels(read[label], label, str(path))
    chosen = [name for name in read if name != label and name not in drop] if columns is None else list(columns)
    rows = len(next(iter(read.values())))
    if not chosen or not rows:
        raise DataError(str(path), expected="rows and a column beside the label", got=f"{rows} rows, {len(chosen)} columns")
    names: list[str] = []
    numbers: list[npt.NDArray[Any]] = []
    values_of: dict[str, tuple[str, ...]] = {}
    for name in chosen:
        if name not in categories:
            names.append(name)
            numbers.append(_numbers(read[name], name, str(path), missing))
            continue
        text = [str(value) for value in _listed(read[name])]
        values_of[name] = tuple(categories[name] if isinstance(categories, Mapping) else sorted(set(text)))
        for value in values_of[name]:
            names.append(f"{name}={value}")
            numbers.append(np.array([one == value for one in text], np.int32))
    return Table(np.stack(numbers, 1), y, tuple(names), label, str(path), values_of)


def fill_values(x: npt.NDArray[Any], missing: str) -> npt.NDArray[np.float64]:
    """What the missing numbers of each column are filled with.

    Args:
        x: rows [N, features] with NaN where a number is missing.
        missing: "median", "mean" or "zero".

    Raises:
        DataError: a column without any number.

    >>> fill_values(np.array([[1.0, np.nan], [3.0, 5.0]]), "mean").tolist()
    [2.0, 5.0]
    """
    empty = np.isnan(x).all(0) if x.dtype.kind == "f" else np.zeros(x.shape[1], bool)
    if empty.any():
        raise DataError(f"column {int(empty.argmax())}", expected="a number in some row", got="missing numbers only")
    if missing == "zero":
        return np.zeros(x.shape[1])
    return np.asarray(np.nanmedian(x, 0) if missing == "median" else np.nanmean(x, 0), np.float64)


def _read_text(path: Path, delimiter: str) -> dict[str, list[str]]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = [row for row in csv.reader(file, delimiter=delimiter, strict=True) if row]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise DataError(str(path), expected="a table in UTF-8", got=str(error)) from None
    if not rows:
        raise DataError(str(path), expected="a line of column names", got="an empty file")
    names = [name.strip() for name in rows[0]]
    if len(set(names)) < len(names) or "" in names:
        raise DataError(str(path), expected="a different name for each column in the first line", got=", ".join(names)[:200])
    if all(_is_number(name) for name in names):
        raise DataError(str(path), expected="names of columns in the first line", got="numbers", hint="add a line of names")
    for place, row in enumerate(rows[1:], 2):
        if len(row) != len(names):
            raise DataError(f"{path}, row {place}", expected=f"{len(names)} fields, as in the first", got=len(row))
    return {name: [row[place].strip() for row in rows[1:]] for place, name in enumerate(names)}


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _read_parquet(path: Path) -> dict[str, Any]:
    try:
        from pyarrow import parquet
    except ImportError as error:
        raise MissingExtraError(
            "table", expected="pyarrow, for Parquet files", got="none installed", hint=install_command("tables")
        ) from error
    try:
        table = parquet.read_table(path)
        return {name: table.column(name).to_pylist() for name in table.column_names}
    except (OSError, ValueError) as error:  # pyarrow's errors derive from these
        raise DataError(str(path), expected="a Parquet table", got=str(error).splitlines()[0]) from None


def _read_npz(path: Path, label: str | None) -> dict[str, Any]:
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
    except (OSError, ValueError, KeyError, EOFError, AttributeError) as error:
        raise DataError(str(path), expected="arrays in an npz file", got=str(error).splitlines()[0]) from None
    wide = [name for name, array in arrays.items() if array.ndim == 2 and name != label]
    if len(wide) > 1:
        raise DataError(str(path), expected="one array of two dimensions", got=", ".join(wide))
    columns: dict[str, Any] = {name: array for name, array in arrays.items() if array.ndim == 1 or name == label}
    if wide:
        if label is None:
            columns = {}
        elif set(columns) - {label}:
            raise DataError(str(path), expected=f"only {label} beside {wide[0]}", got=", ".join(sorted(set(columns) - {label})))
        columns |= {f"{wide[0]}[{place}]": column for place, column in enumerate(arrays[wide[0]].T)}
    lengths = {len(column) for column in columns.values()}
    if len(lengths) > 1:
        raise DataError(str(path), expected="arrays of one length", got=", ".join(map(str, sorted(lengths))))
    return columns


def _listed(values: Any) -> list[Any]:
    return values.reshape(-1).tolist() if isinstance(values, np.ndarray) else list(values)


def _missing(value: Any) -> bool:
    return (
        value is None or (isinstance(value, str) and value.lower() in _MISSING) or (isinstance(value, float) and value != value)
    )


def _labels(values: Any, label: str, source: str) -> npt.NDArray[Any]:
    listed = _listed(values)
    for place, value in enumerate(listed, 1):
        if _missing(value):
            raise DataError(f"{source}, {label}", expected="a label in every row", got=f"none in row {place}")
    try:
        numbers = [_exact(value) for value in listed]
    except (TypeError, ValueError):
        return np.array([str(value) for value in listed])
    if all(math.isfinite(number) and number == int(number) for number in numbers):
        try:
            return np.array([int(number) for number in numbers], np.int64)
        except OverflowError:  # past 64 bits a number is but a name
            return np.array([str(value) for value in listed])
    raise DataError(f"{source}, {label}", expected="labels that are integers or text", got="fractions", hint="this is no class")


def _exact(value: Any) -> int | float:
    """A number, an integer of any size as it is."""
    try:
        return int(value) if isinstance(value, str) else float(value)
    except ValueError:
        return float(value)


def _numbers(values: Any, name: str, source: str, missing: Filling) -> npt.NDArray[Any]:
    if isinstance(values, np.ndarray) and values.dtype.kind in "biu":
        return values.astype(np.uint8) if values.dtype.kind == "b" else values
    listed = _listed(values)
    column, gaps, whole = np.empty(len(listed)), [], True
    for place, value in enumerate(listed):
        if _missing(value):
            gaps.append(place)
            continue
        try:
            column[place] = float(value)
        except (TypeError, ValueError):
            raise DataError(
                f"{source}, column {name}",
                expected="numbers",
                got=f"{value!r} in row {place + 1}",
                hint="drop the column, or name it as one of categories",
            ) from None
        if not math.isfinite(column[place]):
            raise DataError(f"{source}, column {name}", expected="finite numbers", got=f"{value} in row {place + 1}")
        whole = whole and "." not in str(value) and "e" not in str(value).lower()
        if abs(column[place]) > 2**53 and isinstance(value, str) and _exact(value) != float(column[place]):
            raise DataError(
                f"{source}, column {name}",
                expected="numbers that 64 bits of floating point hold, integers up to 2^53",
                got=f"{value} in row {place + 1}",
                hint="subtract what all of them have in common, or name the column as one of categories",
            )
    if gaps:
        if missing == "keep":
            column[gaps] = np.nan
            return column
        if missing == "refuse" or len(gaps) == len(listed):
            raise DataError(
                f"{source}, column {name}",
                expected="a number in every row",
                got=f"{len(gaps)} missing, the first in row {gaps[0] + 1}",
                hint="name a way to fill them: median, mean or zero",
            )
        known = np.delete(column, gaps)
        column[gaps] = {"median": np.median(known), "mean": known.mean(), "zero": 0.0}[missing]
        whole = whole and missing == "zero"
    if whole and (np.abs(column) < 2**31).all():
        return column.astype(np.int32)
    return column
