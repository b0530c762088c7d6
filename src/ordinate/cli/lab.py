"""`ordinate lab`: measure the articles' claims and write a report."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ordinate.cli.options import AsJson, Listed
from ordinate.cli.tables import answer_json, emit

if TYPE_CHECKING:
    from ordinate.lab.claim import Claim

__all__ = ["lab"]

_WORTH_PROCESSES = 60  # seconds of budget
_STYLES = {"reproduced": "green", "corrected": "yellow", "refuted": "red", "not testable here": "dim", "failed": "bold magenta"}
_PLAIN = str.maketrans({"✓": "+", "≈": "~", "✗": "-", "²": "^2", "±": "+-", "×": "x", "–": "-", "°": " degrees", "ñ": "n"})


def lab(
    claims: Annotated[list[str] | None, typer.Argument(metavar="CLAIM", help="Such as A3, or A for all of article A.")] = None,
    source: Annotated[
        str, typer.Option("--claims", metavar="PATH_OR_MODULE", help="A file, folder or module with claims of your own.")
    ] = "ordinate.articles",
    out: Annotated[Path, typer.Option("--out", help="Folder of the report.", metavar="DIR")] = Path("report"),
    full: Annotated[bool, typer.Option("--full", help="Also the claims and versions that take longer.")] = False,
    as_json: AsJson = False,
    vectors: Annotated[
        str | None,
        typer.Option(
            "--vectors", metavar="FILE", help='A GloVe or word2vec text file, or "glove" for the extra\'s full table.'
        ),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option("--data", metavar="DIR", help="Folder that holds `mnist` or `larval-drosophila`; else embedded data."),
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option("--jobs", metavar="N", min=1, help="Processes; one a core by default, one for few claims and --full."),
    ] = None,
    seed: Annotated[int | None, typer.Option("--seed", metavar="N", min=0, help="Count seeds from N.")] = None,
    listed: Listed = False,
    schema: Annotated[bool, typer.Option("--schema", help="Print the JSON schema of the rows, and run nothing.")] = False,
    again: Annotated[bool, typer.Option("--render", help="Make DIR's page again from its rows and run nothing.")] = False,
) -> None:
    """Measure claims, by default those of the source articles: a table of verdicts here, figures and numbers in DIR/index.html.

    Exit 0 when every claim was measured, whatever its verdict; 1 when a measurement broke off; 2 for wrong use.
    """
    from ordinate.lab.catalogue import choose, full_results, read_claims

    if schema:
        from importlib import resources

        emit(resources.files("ordinate.lab").joinpath("claims.schema.json").read_text(encoding="utf-8"))
        return
    chosen = choose(read_claims(source), claims or (), full=full)
    if listed:
        _print_list(chosen, as_json)
    elif again:
        from ordinate.lab.output import republish

        typer.echo(f"report: {republish(out)}", err=True)
    else:
        rows = _measure(chosen, out, full=full, vectors=vectors, data=data, seed=seed, jobs=jobs, earlier=full_results(source))
        _print_rows(rows, as_json)
        if any(row["verdict"] == "failed" for row in rows):
            raise typer.Exit(1)


def _measure(
    chosen: Sequence[Claim],
    out: Path,
    *,
    full: bool,
    vectors: str | None,
    data: Path | None,
    seed: int | None,
    jobs: int | None,
    earlier: Mapping[str, Mapping[str, Any]],
) -> list[dict[str, Any]]:
    from rich.console import Console

    from ordinate.data import word_vectors
    from ordinate.lab.claim import Inputs
    from ordinate.lab.output import destination, publish
    from ordinate.lab.runner import check_inputs, run

    with destination(out) as staging:  # first of all: nobody should wait for results that cannot be kept
        inputs = Inputs(vectors=None if vectors is None else word_vectors(vectors), full=full, data=data)
        check_inputs(chosen, inputs)
        if jobs is None:  # another process costs seconds, and what is measured with --full may use all cores itself
            from joblib import cpu_count

            jobs = 1 if full or sum(claim.budget_seconds for claim in chosen) < _WORTH_PROCESSES else cpu_count()
        results = run(chosen, inputs, seed=seed, jobs=jobs, console=Console(stderr=True), full_results=earlier)
        page = publish(results, staging, out)
    typer.echo(f"report: {page}", err=True)
    return [outcome.row for outcome in results]


def _print_rows(rows: Sequence[dict[str, Any]], as_json: bool) -> None:
    if as_json:
        answer_json(rows)
        return
    from rich.markup import escape

    from ordinate.lab.report import SYMBOLS

    symbols = {str(verdict): symbol for verdict, symbol in SYMBOLS.items()}
    _print_table(
        ("claim", "verdict", "key figure", "time"),
        [
            (
                f"[bold]{row['id']}[/] {row['title']}",
                f"[{_STYLES[row['verdict']]}]{symbols[row['verdict']]} {row['verdict']}[/]",
                escape(row["reason"] if row["verdict"] == "failed" else row["key_figure"]),
                f"{row['wall_seconds']:.1f} s" + ("" if row["within_budget"] else f" (budget {row['budget_seconds']:g} s)"),
            )
            for row in rows
        ],
    )


def _print_list(claims: Sequence[Claim], as_json: bool) -> None:
    if as_json:
        from dataclasses import asdict

        answer_json([asdict(claim) for claim in claims])
        return
    from rich.markup import escape

    _print_table(
        ("claim", "what is claimed", "where", "set-up here", "budget"),
        [
            (
                f"[bold]{claim.id}[/] {escape(claim.title)}",
                escape(claim.statement),
                claim.place,
                f"[bold]{claim.setup}[/]" + (f": {escape(claim.setup_detail)}" if claim.setup_detail else ""),
                f"{claim.budget_seconds:g} s" + (" (full)" if claim.full_only else ""),
            )
            for claim in claims
        ],
    )


def _print_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    # a pipe has no width of its own; 80 would fold sentences that a reader of the file can unfold no more
    console = Console(width=None if sys.stdout.isatty() else 160)
    wide = console.width >= 120
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for column in columns:
        whole = ("verdict", "time", "claim") if wide else ("verdict", "time")
        table.add_column(column, justify="right" if column in ("time", "budget") else "left", no_wrap=column in whole)
    for row in rows:
        table.add_row(*map(_encodable, row))
    with console.capture() as captured:
        console.print(table)
    emit(captured.get())


def _encodable(text: str) -> str:
    """The text, or the nearest that a terminal of few letters can show."""
    try:
        text.encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return text.translate(_PLAIN)
    return text
