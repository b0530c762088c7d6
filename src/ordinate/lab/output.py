"""The folder of a report: found writable before any work, filled in one go, and never left half written.

Everything is first written into a hidden folder inside the destination and then renamed into place, figures first and the page
last; figures carry their content's hash in their names, so an interruption leaves the old report whole. Files that no report
wrote are never touched.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from ordinate.atomic_io import output_error, staging_folder
from ordinate.errors import OrdinateError, OutputError
from ordinate.lab.runner import ClaimResult

__all__ = ["destination", "publish", "republish"]

PAGE_FILE = "index.html"


@contextmanager
def destination(out: Path) -> Iterator[Path]:
    """A hidden folder inside `out` to write into, which proves that `out` can be written to; gone afterwards.

    Raises:
        OutputError: `out` cannot be made or written to.
    """
    with staging_folder(out, name="--out") as staging:
        yield staging


def publish(results: Sequence[ClaimResult], staging: Path, out: Path) -> Path:
    """Write rows, figures and the page made from them into `staging`, then move all into `out`.

    Returns:
        The page.

    Raises:
        OutputError: the disk is full, or rights changed meanwhile.
    """
    from ordinate.lab.report import ROWS_FILE, render

    files = {name: text for outcome in results for name, text in outcome.files.items()}
    try:
        for name, text in files.items():
            _write(staging / name, text)
        rows = [outcome.row for outcome in results]
        _write(staging / ROWS_FILE, json.dumps(rows, indent=1, ensure_ascii=False, allow_nan=False) + "\n")
        _write(staging / PAGE_FILE, render(staging))

        stale = _figures_of(out) - set(files)
        for name in (*files, ROWS_FILE, PAGE_FILE):
            (out / name).parent.mkdir(exist_ok=True)
            os.replace(staging / name, out / name)
        for name in stale:
            (out / name).unlink(missing_ok=True)
    except OSError as problem:
        if isinstance(problem, OrdinateError):
            raise
        raise _unwritable(out, problem) from problem
    return out / PAGE_FILE


def republish(out: Path) -> Path:
    """Make the page again from the rows and figures that are in `out`; returns the page.

    Raises:
        MissingDataError, DataError: `out` holds no rows, or damaged ones.
        OutputError: `out` cannot be written to.
    """
    from ordinate.lab.report import render

    page = render(out)
    with destination(out) as staging:
        try:
            _write(staging / PAGE_FILE, page)
            os.replace(staging / PAGE_FILE, out / PAGE_FILE)
        except OSError as problem:
            raise _unwritable(out, problem) from problem
    return out / PAGE_FILE


def _figures_of(folder: Path) -> set[str]:
    """Names of the figure files that an earlier report in this folder wrote; empty where there is none that can be read."""
    from ordinate.lab.report import read_rows

    try:
        named = {figure["file"] for row in read_rows(folder) for figure in row["figures"]}
    except (OrdinateError, KeyError, TypeError):
        return set()
    return {name for name in named if Path(name).parent == Path("figures")}


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _unwritable(out: Path, problem: OSError) -> OutputError:
    return output_error(out, problem, name="--out", expected="a folder that can be written to")
