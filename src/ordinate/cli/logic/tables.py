"""What `grow`, `train` and `run` do with a table of numbers: options, parts that never mix, and what they report."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from ordinate.data.tables import Table
    from ordinate.logic import Circuit, InputThresholds

__all__ = ["BitsOption", "LabelOption", "MissingOption", "SpacingOption", "TableOption", "TableParts", "TestOption"]
__all__ += ["best_codes", "check_table", "table_accuracy", "table_parts"]

TableOption = Annotated[
    Path | None,
    typer.Option("--table", metavar="FILE", help="Learn from a table instead of images: .csv, .tsv, .parquet or .npz."),
]
LabelOption = Annotated[str | None, typer.Option("--label", metavar="COLUMN", help="Column of --table that holds the class.")]
TestOption = Annotated[
    Path | None, typer.Option("--test-table", metavar="FILE", help="Table to test on; else a fifth of --table is kept apart.")
]
MissingOption = Annotated[
    str, typer.Option("--missing", help="Missing numbers of a table: refuse, or fill with median, mean or zero.")
]
BitsOption = Annotated[
    str, typer.Option("--bits", help="Thresholds for each column of a table, or auto: chosen by validation accuracy.")
]
SpacingOption = Annotated[
    str, typer.Option("--spacing", help="Thresholds evenly by rows (quantile) or by value (uniform), for a table.")
]


@dataclass(frozen=True, eq=False)
class TableParts:
    """A table in three parts that never mix.

    Args:
        train, validation, test: rows [N, features] and class numbers [N].
        labels: of the classes.
        features: names of the columns.
        source: where it comes from, in one line.
    """

    train: tuple[Any, Any]
    validation: tuple[Any, Any]
    test: tuple[Any, Any]
    labels: tuple[int | str, ...]
    features: tuple[str, ...]
    source: str


def _read(table: Path, label: str | None, missing: str) -> Table:
    from ordinate.data.tables import read_table
    from ordinate.errors import ArgumentError

    if label is None:
        raise ArgumentError("--label", expected="the column of --table that holds the class", got="none")
    return read_table(table, label, missing=missing)  # type: ignore[arg-type]


def table_parts(table: Path, label: str | None, test: Path | None, missing: str, seed: int) -> TableParts:
    """The parts of a table, class by class: a fifth to test unless a table is named for it, an eighth of the rest to validate.

    Raises:
        ArgumentError: no label, one class only, a test table of other columns or classes.
        DataError, MissingDataError: as `ordinate.data.tables.read_table`.
    """
    import numpy as np

    from ordinate.errors import ArgumentError
    from ordinate.logic.classifier import split_rows

    known = _read(table, label, missing)
    classes, numbers = np.unique(known.y, return_inverse=True)
    if len(classes) < 2:
        raise ArgumentError("--label", expected="a column of at least two classes", got=f"only {classes[0]}")
    rows = np.arange(len(known))
    if test is None:
        rows, kept = split_rows(numbers, 0.2, seed)
        tested = known.x[kept], numbers[kept]
    else:
        other = _read(test, label, missing)
        check_table(other, known.features, "--test-table")
        unknown = other.y[~np.isin(other.y, classes)]
        if len(unknown):
            raise ArgumentError("--test-table", expected=f"the classes {', '.join(map(str, classes))}", got=str(unknown[0]))
        tested = other.x, np.searchsorted(classes, other.y)
    learned, validated = split_rows(numbers[rows], 0.125, seed + 1)
    learned, validated = rows[learned], rows[validated]
    names: tuple[int | str, ...] = tuple(classes.tolist())
    return TableParts(
        (known.x[learned], numbers[learned]),
        (known.x[validated], numbers[validated]),
        tested,
        names,
        known.features,
        f"{known.source}, {len(known):,} rows, {len(known.features)} features",
    )


def check_table(table: Table, features: Any, option: str) -> None:
    """Refuse a table of other columns. Raises ArgumentError."""
    from ordinate.errors import ArgumentError

    if tuple(table.features) != tuple(features):
        got = ", ".join(table.features)
        raise ArgumentError(option, expected=f"the columns {', '.join(features)[:300]}", got=got[:300])


def best_codes(
    parts: TableParts, bits: str, spacing: str, learn: Callable[[InputThresholds], tuple[Circuit, Any]]
) -> tuple[Circuit, Any, int]:
    """Learn with the asked number of thresholds a column, or with several and keep the best by validation accuracy.

    Raises:
        ArgumentError: bits that are neither a positive number nor auto.
    """
    from ordinate.arguments import check_choice
    from ordinate.errors import ArgumentError
    from ordinate.logic import InputThresholds

    check_choice("--spacing", spacing, ("quantile", "uniform"))
    if bits != "auto" and not (bits.isdecimal() and 0 < int(bits) <= 1024):
        raise ArgumentError("--bits", expected="an integer from 1 to 1024, or auto", got=bits)
    best: tuple[float, Circuit, Any, int] | None = None
    for count in (1, 2, 4, 8, 16) if bits == "auto" else (int(bits),):
        circuit, record = learn(InputThresholds.thermometer(parts.train[0], count, spacing=spacing))  # type: ignore[arg-type]
        score = table_accuracy(circuit, parts.validation)
        if best is None or score > best[0]:
            best = score, circuit, record, count
    assert best is not None
    return best[1], best[2], best[3]


def table_accuracy(circuit: Circuit, part: tuple[Any, Any]) -> float:
    """The share of rows whose class number the circuit gives."""
    assert circuit.inputs is not None
    return float((circuit.predict(circuit.inputs.bits(part[0])) == part[1]).mean())
