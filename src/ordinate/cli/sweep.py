"""`ordinate sweep`: train short, test long, with every encoding."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ordinate.cli.options import AsJson

if TYPE_CHECKING:
    from ordinate.sweep.cell import Cell
    from ordinate.sweep.presets import Preset
    from ordinate.sweep.store import Store
    from ordinate.sweep.summary import Table

__all__ = ["sweep"]


def sweep(
    quick: Annotated[bool, typer.Option("--quick", help="Lookup and k-back alone: under 3 minutes on 2 cores.")] = False,
    family: Annotated[
        str | None, typer.Option("--family", metavar="NAME", help="What papers of 2025 and 2026 claim: recent, states or drop.")
    ] = None,
    full: Annotated[bool, typer.Option("--full", help="All tasks and studies, 4 layers, 5 seeds: for a cluster.")] = False,
    task: Annotated[
        list[str] | None, typer.Option("--task", metavar="NAME,NAME,...", help="Only these tasks; repeatable.")
    ] = None,
    encoding: Annotated[
        list[str] | None,
        typer.Option(
            "--encoding",
            metavar="NAME,NAME,...",
            help="Only these encodings, or your classes: module:object, file.py:object; repeatable.",
        ),
    ] = None,
    study: Annotated[
        list[str] | None, typer.Option("--study", metavar="NAME,NAME,...", help="lengths, extension or probe; repeatable.")
    ] = None,
    seeds: Annotated[int | None, typer.Option("--seeds", metavar="N", help="How many seeds.")] = None,
    first_seed: Annotated[int | None, typer.Option("--first-seed", metavar="N", min=0, help="Count seeds from N.")] = None,
    length: Annotated[str | None, typer.Option("--length", metavar="N", help="Tokens of a row in training.")] = None,
    test: Annotated[
        str | None,
        typer.Option("--test", metavar="N,N,...", help="Tokens of a row in tests: multiples of --length, that first."),
    ] = None,
    steps: Annotated[int | None, typer.Option("--steps", metavar="N", help="Steps of every training.")] = None,
    corpus: Annotated[
        Path | None, typer.Option("--corpus", metavar="PATH", help="Text: a file or folder; else Python's own library.")
    ] = None,
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder of the results, one file a cell.")] = Path("sweep"),
    jobs: Annotated[int | None, typer.Option("--jobs", metavar="N", help="Processes; one a core by default.")] = None,
    engine: Annotated[str, typer.Option("--engine", metavar="NAME", help="local, dask or ray.")] = "local",
    address: Annotated[str | None, typer.Option("--address", metavar="URL", help="Of a cluster's scheduler.")] = None,
    template: Annotated[
        str | None,
        typer.Option("--template", metavar="NAME", help="Print a class to start from: adds, rotates, biases, scores."),
    ] = None,
    shard: Annotated[str | None, typer.Option("--shard", metavar="I/N", help="Run only the I-th of N shares.")] = None,
    measured: Annotated[
        bool, typer.Option("--measured", help="Run nothing; the dated tables of --family that travel with the package.")
    ] = False,
    show: Annotated[bool, typer.Option("--show", help="Run nothing; tables of all results in DIR.")] = False,
    as_json: AsJson = False,
    csv: Annotated[Path | None, typer.Option("--csv", metavar="FILE", help="Also write the tables as CSV.")] = None,
    figures: Annotated[Path | None, typer.Option("--figure", metavar="DIR", help="Folder of the charts, as SVG.")] = None,
) -> None:
    """Train a small decoder with each encoding at L tokens and test it at L, 2L, 4L and 8L: mean, spread, and the cut context.

    Results are kept as they come: the same command goes on where it was stopped. Exit 0, 2 for wrong use, 130 when interrupted.
    """
    from ordinate.cli.numbers import token_count
    from ordinate.errors import ArgumentError
    from ordinate.sweep.presets import DEFAULT, FAMILIES, FULL, QUICK
    from ordinate.sweep.store import Store, travelling_records

    trained = None if length is None else token_count(length, "--length")
    if family is not None:
        from ordinate.arguments import check_choice

        check_choice("--family", family, FAMILIES)
    if template is not None:
        from ordinate.arguments import check_choice
        from ordinate.cli.tables import emit
        from ordinate.sweep.own_class import TEMPLATES

        emit(TEMPLATES[check_choice("--template", template, TEMPLATES)])
        return
    if quick + full + (family is not None) > 1:
        raise ArgumentError("--quick, --full, --family", expected="one of them", got="several", hint="leave the others out")
    store = Store(out)
    if measured:
        if family is None:
            raise ArgumentError("--measured", expected="a --family", got="none", hint=f"one of {', '.join(FAMILIES)}")
        source, records = travelling_records(family)
        typer.echo(f"measured: {source}", err=True)
    elif show:
        records = store.read()
        if not records:
            raise ArgumentError("--out", expected="a folder with results", got=str(out), hint="run `ordinate sweep` first")
    else:
        preset = (FAMILIES[family] if family else QUICK if quick else FULL if full else DEFAULT).but(
            tasks=_names(task),
            encodings=_names(encoding),
            studies=_names(study),
            seeds=seeds,
            first_seed=first_seed,
            train_lengths=None if trained is None else (trained,),
            factors=_factors(test, trained),
        )
        if steps is not None:
            preset = preset.but(steps={}, usual_steps=steps, extension_steps=steps)
        cells = _cells(preset, corpus)
        mine = cells
        if shard is not None:
            from ordinate.sweep.engine import share

            mine = share(cells, shard)
        _run(mine, store, corpus=corpus, jobs=jobs, engine=engine, address=address)
        records = store.read(cells)
    _report(records, as_json=as_json, csv=csv, figures=figures)


def _names(names: Sequence[str] | None) -> tuple[str, ...] | None:
    return tuple(name for text in names for name in text.split(",")) if names else None


def _factors(test: str | None, length: int | None) -> tuple[int, ...] | None:
    from ordinate.cli.numbers import token_count
    from ordinate.errors import ArgumentError
    from ordinate.sweep.cell import check_lengths
    from ordinate.sweep.presets import DEFAULT

    if test is None:
        return None
    trained = length or DEFAULT.train_lengths[0]
    try:
        lengths = tuple(token_count(part, "--test") for part in test.split(","))
    except ValueError:
        raise ArgumentError(
            "--test", expected="whole numbers with commas between", got=test, hint="for example 64,128,256,512"
        ) from None
    check_lengths(trained, lengths)
    return tuple(n // trained for n in lengths)


def _cells(preset: Preset, corpus: Path | None) -> list[Cell]:
    """The cells, every name and the corpus looked at before anything is trained."""
    from ordinate.sweep.corpus import read_corpus
    from ordinate.sweep.encodings import entry
    from ordinate.sweep.own_class import is_own, source_digest
    from ordinate.sweep.tasks import make_task

    preset = preset.but(encodings=tuple(entry(name).name for name in preset.encodings))  # an alias is the same cell
    sources = {name: source_digest(name) for name in preset.encodings if is_own(name)}
    for name in (name for name, source in sources.items() if not source):
        typer.echo(f"{name}: its source cannot be read, so its cells are always run again", err=True)
    text = read_corpus(corpus) if preset.reads_text else None
    cells = preset.cells(text.digest if text else "", sources)
    for task, trained, tested in sorted({(cell.task, cell.train_length, cell.test_lengths) for cell in cells}):
        make_task(task, trained, tested[-1], text)
        if task == "text" and text is not None and len(text.train) < preset.batch_rows * trained:
            from ordinate.errors import ArgumentError

            raise ArgumentError(
                "--corpus",
                expected=f"at least one batch to train on, {preset.batch_rows * trained} bytes",
                got=f"{len(text.train)} in {text.name}",
                hint="give a longer text",
            )
    return cells


def _run(
    cells: Sequence[Cell], store: Store, *, corpus: Path | None, jobs: int | None, engine: str, address: str | None
) -> None:
    """Run what is missing, with a bar on standard error."""
    from ordinate.cli.progress import bar
    from ordinate.sweep.engine import run_cells

    there = sum(store.has_result_of(cell) for cell in cells)
    if there:
        typer.echo(f"{there} of {len(cells)} cells are in {store.folder} already", err=True)
    finished = there
    try:
        with bar("cells") as report:
            report(there, len(cells))

            def advance(record: dict[str, Any]) -> None:
                nonlocal finished
                finished += 1
                settings = record["settings"]
                name = f"{settings['task']} {settings['encoding']} seed {settings['seed']}"
                report(finished, len(cells), name)

            run_cells(
                cells,
                store,
                corpus=None if corpus is None else str(corpus),
                jobs=jobs,
                engine=engine,
                address=address,
                done=advance,
            )
    except KeyboardInterrupt:
        typer.echo(
            f"interrupted: {finished} of {len(cells)} cells are kept in {store.folder}; the same command goes on from there",
            err=True,
        )
        raise typer.Exit(130) from None


def _report(records: Sequence[dict[str, Any]], *, as_json: bool, csv: Path | None, figures: Path | None) -> None:
    from ordinate.atomic_io import atomic_write
    from ordinate.cli.tables import answer_json
    from ordinate.sweep.summary import summarise
    from ordinate.sweep.tables import extension_rows, probe_rows, to_csv, to_json

    tables = summarise(records)
    if csv is not None:
        atomic_write(csv, to_csv(tables))
        typer.echo(f"tables: {csv}", err=True)
    if figures is not None:
        from ordinate.sweep.figures import sweep_figures

        drawn = sweep_figures(tables, records)
        for figure in drawn:
            atomic_write(figures / f"{figure.name}.svg", figure.svg)
        typer.echo(f"{len(drawn)} charts in {figures}", err=True)
    if as_json:
        others = [r for r in records if r["settings"]["study"] != "lengths"]
        answer_json({"tables": to_json(tables), "others": others})
        return
    _print(tables, extension_rows(records), probe_rows(records), records)


def _print(
    tables: Sequence[Table],
    extension: tuple[list[str], list[list[str]]],
    probe: tuple[list[str], list[list[str]]],
    records: Sequence[dict[str, Any]],
) -> None:
    from rich.markup import escape
    from rich.text import Text

    from ordinate.cli.tables import answer, grid
    from ordinate.sweep.tables import LEGEND, headings, line_cells, notes

    for table in tables:
        better = "more is better" if table.higher_is_better else "less is better"
        grid_table = grid(*headings(table))
        for line in table.lines:
            grid_table.add_row(*map(escape, line_cells(table, line)))
        last = table.chance.get(table.lengths[-1], math.nan)
        chance = "" if math.isnan(last) else f", chance {last:.2f}"
        heading = f"[bold]{table.task}[/], {table.unit} ({better}{chance}), trained at {table.train_length}: {table.model}"
        answer(Text.from_markup(heading), grid_table, *(Text(f"  {note}", style="dim") for note in notes(table)), Text(""))
    for title, (columns, rows) in (
        ("A trained rotary model stretched, bits per byte (less is better)", extension),
        ("The position, read by a linear probe out of a model without encodings, held-out R²", probe),
    ):
        if rows:
            grid_table = grid(*columns)
            for row in rows:
                grid_table.add_row(*map(escape, row))
            answer(Text(title, style="bold"), grid_table, Text(""))
    for warning in dict.fromkeys(said for r in records for said in r["result"].get("warnings", [])):
        answer(Text(f"note: {warning}", style="dim"))
    if tables:
        answer(Text(LEGEND, style="dim"))
