"""A folder of results, one JSON file a cell, named by the hash of its settings.

Files are written atomically; two writers of one cell write the same thing. Results from many machines are merged by copying
their files together. A killed run leaves at most a hidden file, which nobody reads.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from ordinate.arguments import check_choice
from ordinate.atomic_io import atomic_write, staging_folder
from ordinate.errors import ArgumentError, DataError, OutputError
from ordinate.sweep.cell import FORMAT, STUDIES, Cell
from ordinate.sweep.encodings import ENCODINGS

__all__ = ["Store", "travelling_records"]


class Store:
    """The results in a folder.

    Args:
        folder: is created when the first result is written.

    >>> import tempfile
    >>> store, cell = Store(tempfile.mkdtemp()), Cell("k-back", "rope", 0)
    >>> store.has(cell)
    False
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)

    def path(self, cell: Cell) -> Path:
        """The file of a cell."""
        return self.folder / f"{cell.key}.json"

    def has(self, cell: Cell) -> bool:
        """Whether the cell is done."""
        return self.path(cell).is_file()

    def has_result_of(self, cell: Cell) -> bool:
        """Whether the cell is done and its name says so for good: what has no source to be read is run again."""
        return cell.reusable and self.has(cell)

    def prove_writable(self) -> None:
        """Raise before any training if nothing could be kept.

        Raises:
            OutputError: the folder cannot be created or written to.
        """
        with staging_folder(self.folder, name="--out"):
            pass

    def write(self, record: dict[str, Any]) -> Path:
        """Put a record where its key says.

        Raises:
            OutputError: the disk is full, or rights are missing.
        """
        target = self.folder / f"{record['key']}.json"
        try:
            return atomic_write(target, json.dumps(record, indent=1, ensure_ascii=False, allow_nan=False) + "\n", name="--out")
        except OutputError as error:
            kept = "finished cells are kept, and the same command goes on from there"
            raise OutputError(error.argument, expected=error.expected, got=error.got, hint=kept) from error

    def read(self, cells: Sequence[Cell] | None = None) -> list[dict[str, Any]]:
        """The records of these cells that are done, in their order; of all there are, by task, encoding and seed.

        Raises:
            DataError: a file that is no result, of another version, or not of the cell its name says.
        """
        if cells is not None:
            return [_record(self.path(cell)) for cell in cells if self.has(cell)]
        return sorted((_record(path) for path in self._paths()), key=_place)

    def _paths(self) -> Iterator[Path]:
        return iter(sorted(self.folder.glob("*.json"))) if self.folder.is_dir() else iter(())


def travelling_records(family: str) -> tuple[str, list[dict[str, Any]]]:
    """A family of cells as it was measured and travels with the package: where and when, and the records, without losses.

    Raises:
        ArgumentError: nothing was kept of this family.
    """
    kept = json.loads(resources.files("ordinate.sweep").joinpath("measured_families.json").read_text(encoding="utf-8"))
    check_choice("--family", family, kept)
    return kept[family]["source"], kept[family]["records"]


def _place(record: dict[str, Any]) -> tuple[Any, ...]:
    """The order of a sweep: encodings as the table has them, others behind."""
    settings = record["settings"]
    names = list(ENCODINGS)
    known = settings["encoding"] in ENCODINGS
    return (
        list(STUDIES).index(settings["study"]),
        settings["task"],
        settings["train_length"],
        names.index(settings["encoding"]) if known else len(names),
        settings["encoding"],
        settings["seed"],
    )


def _record(path: Path) -> dict[str, Any]:
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as problem:
        raise DataError(str(path), expected="a result in JSON", got=str(problem), hint="delete it and run again") from None
    version = record.get("format") if isinstance(record, dict) else None
    if version != FORMAT:
        raise DataError(
            str(path),
            expected=f"a result of version {FORMAT}",
            got="no version" if version is None else str(version),
            hint="move it away; results of different versions do not compare",
        )
    try:
        key = Cell.from_dict(record["settings"]).key
        result = record["result"]["status"]
    except (KeyError, TypeError, ArgumentError) as problem:
        raise DataError(
            str(path), expected="settings and a result", got=f"others ({problem})", hint="delete it and run again"
        ) from None
    if key != path.stem or not result:
        raise DataError(
            str(path),
            expected=f"the name of its settings, {key}.json",
            got=path.name,
            hint="its settings were edited: delete it",
        )
    assert isinstance(record, dict)
    return record
