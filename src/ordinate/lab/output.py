"""The folder of a report: found writable before any work, filled in one go, and never left half written.

Everything is first written into a hidden folder inside the destination and then renamed into place, figures first and the page
last; figures carry their content's hash in their names, so an interruption leaves the old report whole. Files that no report
wrote are never touched.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ordinate.atomic_io import output_error, staging_folder
from ordinate.errors import OrdinateError, OutputError
from ordinate.lab.runner import SCHEMA, ClaimResult

__all__ = ["CRATE_FILE", "crate", "destination", "publish", "republish"]

PAGE_FILE = "index.html"
CRATE_FILE = "ro-crate-metadata.json"


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
        _write(staging / CRATE_FILE, json.dumps(crate(rows), indent=1, ensure_ascii=False) + "\n")

        stale = _figures_of(out) - set(files)
        for name in (*files, ROWS_FILE, PAGE_FILE, CRATE_FILE):
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


def crate(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The report's folder as an RO-Crate (1.1, https://w3id.org/ro/crate/1.1): what it holds, what was run, what came out.

    Each claim is a schema.org ClaimReview, named by its section's address in the page; the run is one CreateAction.
    """
    from ordinate.lab.report import ROWS_FILE

    figures = [(row, figure) for row in rows for figure in row["figures"]]
    named = [{"@id": name} for name in (PAGE_FILE, ROWS_FILE, *(figure["file"] for _, figure in figures))]
    reviews = [{"@id": f"{PAGE_FILE}#{row['id']}"} for row in rows]
    started = min((row["started"] for row in rows), default="")
    first: Mapping[str, Any] = rows[0] if rows else {"versions": {}, "machine": {}}
    conditions = "; ".join(f"{name} {value}" for part in ("versions", "machine") for name, value in first[part].items())
    graph: list[dict[str, Any]] = [
        {
            "@id": CRATE_FILE,
            "@type": "CreativeWork",
            "conformsTo": {"@id": "https://w3id.org/ro/crate/1.1"},
            "about": {"@id": "./"},
        },
        {
            "@id": "./",
            "@type": "Dataset",
            "name": f"ordinate lab: {len(rows)} claims measured",
            "description": "Claims, the checks of each, the numbers that were measured, and the verdicts.",
            "datePublished": started,
            "hasPart": named,
            "mentions": [*reviews, {"@id": "#run"}],
        },
        {"@id": PAGE_FILE, "@type": "File", "name": "the report", "encodingFormat": "text/html"},
        {
            "@id": ROWS_FILE,
            "@type": "File",
            "name": f"the rows, {SCHEMA}",
            "encodingFormat": "application/json",
        },
        {
            "@id": "#ordinate",
            "@type": "SoftwareApplication",
            "name": "ordinate",
            "version": first["versions"].get("ordinate", ""),
        },
        {
            "@id": "#run",
            "@type": "CreateAction",
            "name": "ordinate lab",
            "description": conditions,
            "instrument": {"@id": "#ordinate"},
            "startTime": started,
            "result": named,
        },
    ]
    for row, figure in figures:
        kind = "image/svg+xml" if figure["kind"] == "chart" else "application/json"
        about = {"@id": f"{PAGE_FILE}#{row['id']}"}
        graph.append(
            {"@id": figure["file"], "@type": "File", "name": figure["caption"], "encodingFormat": kind, "about": about}
        )
    for row, review in zip(rows, reviews, strict=True):
        graph.append(
            {
                **review,
                "@type": "ClaimReview",
                "name": f"{row['id']} {row['title']}",
                "claimReviewed": row["statement"],
                "reviewBody": row["meaning"],
                "reviewRating": {"@id": f"#{row['id']}-verdict"},
                "isBasedOn": {"@id": ROWS_FILE},
            }
        )
        graph.append({"@id": f"#{row['id']}-verdict", "@type": "Rating", "alternateName": row["verdict"]})
    return {"@context": "https://w3id.org/ro/crate/1.1/context", "@graph": graph}


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
