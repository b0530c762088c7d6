"""What `grow`, `train` and `run` do with a table of numbers: options, parts that never mix, and what they report."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from ordinate.logic import Circuit, InputThresholds

__all__ = [
    "BitsOption",
    "CategoriesOption",
    "DropOption",
    "LabelOption",
    "MissingOption",
    "SetOption",
    "SpacingOption",
    "TableOption",
    "TableParts",
    "TestOption",
    "best_codes",
    "check_alone",
    "circuit_rows",
    "table_accuracy",
    "table_parts",
    "table_record",
]

TableOption = Annotated[
    Path | None,
    typer.Option("--table", metavar="FILE", help="A table instead of images: .csv, .tsv, .parquet or .npz."),
]
SetOption = Annotated[
    str | None,
    typer.Option(
        "--set", metavar="NAME", help="--table is a published set: jets-openml, jets-cernbox, nid, mit-bih or cifar10."
    ),
]
LabelOption = Annotated[str | None, typer.Option("--label", metavar="COLUMN", help="Column of --table that holds the class.")]
TestOption = Annotated[
    Path | None, typer.Option("--test-table", metavar="FILE", help="Table to test on; else a fifth of --table is kept apart.")
]
MissingOption = Annotated[
    str,
    typer.Option(
        "--missing",
        "--impute",
        metavar="NAME",
        help="Missing numbers: refuse, or fill with median, mean (of training rows) or zero.",
    ),
]
DropOption = Annotated[list[str] | None, typer.Option("--drop", metavar="COLUMN", help="A column to leave out; repeatable.")]
CategoriesOption = Annotated[
    list[str] | None,
    typer.Option("--categories", metavar="COLUMN", help="A column of text, each value of which becomes a bit; repeatable."),
]
BitsOption = Annotated[
    str,
    typer.Option("--bits", metavar="N", help="Thresholds for each column of a table, or auto: chosen by validation accuracy."),
]
SpacingOption = Annotated[
    str,
    typer.Option("--spacing", metavar="NAME", help="Thresholds evenly by rows (quantile) or by value (uniform), for a table."),
]


@dataclass(frozen=True, eq=False)
class TableParts:
    """A table in three parts that never mix.

    Args:
        train, validation, test: rows [N, features] and class numbers [N].
        labels: of the classes.
        features: names of the columns.
        source: where it comes from, in one line.
        notes: what a circuit is to remember, so that it can be run on other rows: the columns, the label's, the values of
            categories, and what missing numbers are filled with.
    """

    train: tuple[Any, Any]
    validation: tuple[Any, Any]
    test: tuple[Any, Any]
    labels: tuple[int | str, ...]
    features: tuple[str, ...]
    source: str
    notes: dict[str, Any]


def check_alone(**options: Any) -> None:
    """Refuse options that are for images where `--table` is given. Raises RefusedError."""
    from ordinate.errors import RefusedError

    for name, value in options.items():
        if value is not None:
            raise RefusedError(f"--{name}", expected="none beside --table, it is for images", got=str(value))


def table_parts(
    table: Path,
    label: str | None,
    test: Path | None,
    missing: str,
    seed: int,
    *,
    published: str | None = None,
    drop: list[str] | None = None,
    categories: list[str] | None = None,
) -> TableParts:
    """The parts of a table, class by class: a fifth to test unless a table is named for it, an eighth of the rest to validate.

    Missing numbers are filled with what the training rows alone say. A published set has its own test rows where it comes with
    such, and patients to validate on are not learned from.

    Raises:
        ArgumentError: no label, one class only, a test table without some column or of other classes.
        DataError, MissingDataError: as `ordinate.data.tables.read_table`.
    """
    import numpy as np

    from ordinate.arguments import check_choice
    from ordinate.cli.progress import steps
    from ordinate.data.tables import FILLINGS, fill_values, read_table
    from ordinate.errors import ArgumentError
    from ordinate.logic.classifier import split_rows

    check_choice("--missing", missing, FILLINGS)
    keep: Any = missing if missing == "refuse" else "keep"
    other, groups, source = None, None, {}
    if published is not None:
        from ordinate.data.published import read_published

        if label is not None or test is not None:
            name = "--label" if label is not None else "--test-table"
            raise ArgumentError(name, expected="none beside --set, which has its own", got=str(label or test))
        with steps("set") as say:
            say(f"reading {table}")
            whole = read_published(published, table)
        known, other, groups, label = whole.train, whole.test, whole.groups, whole.train.label
        source = {"set": published, "set_complete": whole.complete}
    elif label is None:
        raise ArgumentError("--label", expected="the column of --table that holds the class", got="none")
    else:
        with steps("table") as say:
            say(f"reading {table}")
            known = read_table(table, label, missing=keep, drop=drop or (), categories=categories or ())
    classes, numbers = np.unique(known.y, return_inverse=True)
    if len(classes) < 2:
        raise ArgumentError("--label", expected="a column of at least two classes", got=f"only {classes[0]}")
    columns = list(dict.fromkeys(_column(name, known.categories) for name in known.features))
    rows = np.arange(len(known))
    if test is not None:
        other = read_table(test, label, missing=keep, categories=known.categories, columns=columns)
    if other is None:
        rows, kept = split_rows(numbers, 0.2, seed)
        tested = known.x[kept], numbers[kept]
    else:
        tested = other.x, _numbers_of(other.y, classes.tolist(), "--set" if test is None else "--test-table")
    learned, validated = split_rows(numbers[rows], 0.125, seed + 1)
    learned, validated = rows[learned], rows[validated]
    if len(np.intersect1d(learned, validated)) or (other is None and len(np.intersect1d(rows, kept))):
        counts = ", ".join(f"{(numbers == place).sum()} of {name}" for place, name in enumerate(classes.tolist()))
        hint = "name another table to test on: --test-table" if other is None else "give more rows"
        raise ArgumentError(
            "--table", expected="a class with rows to learn from, to validate and to test on", got=counts, hint=hint
        )
    if groups is not None:
        learned, validated = _by_group(groups, numbers, seed)
    if (known.x[learned] == known.x[learned[:1]]).all():
        raise ArgumentError("--table", expected="a column that varies in the rows to learn from", got="constant columns only")
    notes: dict[str, Any] = {**source, "features": list(known.features), "columns": columns, "label": label}
    if known.categories:
        notes["categories"] = {name: list(values) for name, values in known.categories.items()}
    parts = [known.x[learned], known.x[validated], tested[0]]
    if missing != "refuse":
        fills = fill_values(parts[0], missing)
        notes["missing"] = dict(zip(known.features, fills.tolist(), strict=True))
        parts = [np.where(np.isnan(part), fills, part) if part.dtype.kind == "f" else part for part in parts]
    return TableParts(
        (parts[0], numbers[learned]),
        (parts[1], numbers[validated]),
        (parts[2], tested[1]),
        tuple(classes.tolist()),
        known.features,
        f"{known.source}, {len(known):,} rows, {len(known.features)} features",
        notes,
    )


def _by_group(groups: Any, numbers: Any, seed: int) -> tuple[Any, Any]:
    """Rows to learn from and to validate on, an eighth of the groups, of which none is in both; every class is learned from."""
    import numpy as np

    from ordinate.errors import RefusedError

    shuffled = np.random.default_rng(seed).permutation(np.unique(groups))
    wanted, kept = max(1, len(shuffled) // 8), list[int]()
    for group in shuffled.tolist():
        rest = ~np.isin(groups, [*kept, group])
        if len(kept) < wanted and len(np.unique(numbers[rest])) == len(np.unique(numbers)):
            kept.append(group)
    if not kept:
        raise RefusedError("--set", expected="two patients of every class, one to validate on", got=f"{len(shuffled)} patients")
    return np.flatnonzero(~np.isin(groups, kept)), np.flatnonzero(np.isin(groups, kept))


def _column(feature: str, categories: Any) -> str:
    return next((name for name in categories if feature.startswith(f"{name}=")), feature)


def _numbers_of(labels: Any, classes: Any, option: str) -> Any:
    """The place of each label among the classes. Raises ArgumentError for one that is not there."""
    import numpy as np

    from ordinate.errors import ArgumentError

    place = {str(name): number for number, name in enumerate(classes)}
    unknown = next((one for one in labels.tolist() if str(one) not in place), None)
    if unknown is not None:
        raise ArgumentError(option, expected=f"the classes {', '.join(map(str, classes))[:300]}", got=str(unknown))
    return np.array([place[str(one)] for one in labels.tolist()], np.int64)


def circuit_rows(
    circuit: Circuit,
    table: Path,
    label: str | None,
    missing: str,
    published: str | None = None,
    *,
    everything: bool = False,
) -> tuple[Any, Any]:
    """The rows of a table as a circuit takes them, and the class numbers [N] or None where the table has no label column.

    Columns are found by the names that the circuit remembers, others are not looked at; a circuit that remembers none takes all
    but the label, in the order of the file.

    Args:
        circuit: grown or trained on a table, or any other.
        table: the file.
        label: of the classes; by default the column that the circuit was trained with, if the file has it.
        missing: "refuse", "zero", "median" or "mean" of the file, or "circuit": with what the circuit was trained with.
        published: name of the set that `table` is, of which the test rows are taken where it comes with such.
        everything: of such a set the training rows too.

    Raises:
        ArgumentError: a column that is not there, other classes, "circuit" for one that was trained without missing numbers.
        DataError, MissingDataError: as `ordinate.data.tables.read_table`.
    """
    import numpy as np

    from ordinate.arguments import check_choice
    from ordinate.data.tables import FILLINGS, fill_values, read_table
    from ordinate.errors import ArgumentError, DataError

    notes = circuit.notes
    if published is not None:
        from ordinate.data.published import read_published

        whole = read_published(published, table)
        known = whole.train if whole.test is None else whole.test
        if notes.get("features", list(known.features)) != list(known.features):
            raise DataError(str(table), expected="the columns that the circuit was made for", got=f"those of {published}")
        parts = [known] if whole.test is None or not everything else [whole.train, known]
        labels = np.concatenate([_numbers_of(one.y, circuit.labels, "--set") for one in parts])
        return np.concatenate([one.x for one in parts]), labels
    check_choice("--missing", missing, (*FILLINGS, "circuit"))
    columns, features, fills = (notes.get(name) for name in ("columns", "features", "missing"))
    if missing == "circuit" and not fills:
        raise ArgumentError("--missing", expected="refuse, median, mean or zero: the circuit has no such numbers", got=missing)
    keep: Any = missing if missing == "refuse" else "keep"
    options = {"missing": keep, "columns": columns or features, "categories": notes.get("categories") or ()}
    named = label if label is not None else notes.get("label")
    try:
        known = read_table(table, named, **options)
    except ArgumentError as error:
        if error.argument != "label" or label is not None:
            raise
        known = read_table(table, None, **options)
    wanted = circuit.num_inputs if circuit.inputs is None else circuit.inputs.num_features
    if len(known.features) != wanted:
        raise DataError(str(table), expected=f"{wanted} columns of numbers, as the circuit takes", got=len(known.features))
    x = known.x
    if missing != "refuse" and x.dtype.kind == "f":
        x = np.where(np.isnan(x), list((fills or {}).values()) if missing == "circuit" else fill_values(x, missing), x)
    return x, _numbers_of(known.y, circuit.labels, "--label") if len(known.y) else None


def best_codes(
    parts: TableParts,
    bits: str,
    spacing: str,
    learn: Callable[[InputThresholds], tuple[Circuit, Any]],
    spacings: tuple[str, ...] = ("quantile", "uniform"),
) -> tuple[Circuit, Any, int]:
    """Learn with the asked number of thresholds a column, or with several and keep the best by validation accuracy.

    Raises:
        ArgumentError: bits that are neither a positive number nor auto.
    """
    from ordinate.arguments import check_choice
    from ordinate.errors import ArgumentError
    from ordinate.logic import InputThresholds

    even: Any = "uniform" if check_choice("--spacing", spacing, spacings) == "uniform" else "quantile"
    if bits != "auto" and not (bits.isdecimal() and 0 < int(bits) <= 1024):
        raise ArgumentError("--bits", expected="an integer from 1 to 1024, or auto", got=bits)
    best: tuple[float, Circuit, Any, int] | None = None
    for count in (1, 2, 4, 8, 16) if bits == "auto" else (int(bits),):
        circuit, record = learn(InputThresholds.thermometer(parts.train[0], count, spacing=even))
        score = table_accuracy(circuit, parts.validation)
        if best is None or score > best[0]:
            best = score, circuit, record, count
    assert best is not None
    return replace(best[1], notes={**best[1].notes, **parts.notes}), best[2], best[3]


def table_record(circuit: Circuit, parts: TableParts, used: int) -> dict[str, Any]:
    """What `grow` and `train` print of a table."""
    return {
        "data": parts.source,
        "classes": list(parts.labels),
        "gates": circuit.num_gates,
        "votes": circuit.num_votes,
        "bits_per_feature": used,
        "input_bits": circuit.num_inputs,
        "validation_accuracy": table_accuracy(circuit, parts.validation),
        "test_accuracy": table_accuracy(circuit, parts.test),
        "test_rows": len(parts.test[1]),
    }


def table_accuracy(circuit: Circuit, part: tuple[Any, Any]) -> float:
    """The share of rows whose class number the circuit gives."""
    assert circuit.inputs is not None
    return float((circuit.predict(circuit.inputs.bits(part[0])) == part[1]).mean())
