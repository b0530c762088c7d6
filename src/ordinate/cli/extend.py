"""`ordinate extend`: how to run a model at more tokens than it was made for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ordinate.cli.options import AsJson

if TYPE_CHECKING:
    from rich.console import RenderableType

    from ordinate.inspection.extension.plan import Extension
    from ordinate.inspection.files import Document

__all__ = ["extend"]

_SUITS = {"yes": "green", "possible": "yellow", "no": "red"}


def extend(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A model's file, as for `ordinate inspect`.")],
    to: Annotated[str, typer.Option("--to", metavar="N", help="Tokens the model should run at: 131072, 131,072, 128k, 1M.")],
    method: Annotated[
        str | None,
        typer.Option(
            "--method", metavar="NAME", help="linear, ntk, dynamic, yarn, longrope or drop; the best suited is taken."
        ),
    ] = None,
    dialect: Annotated[
        str | None,
        typer.Option(
            "--dialect", metavar="NAME", help="Print only this edit: transformers-4, transformers-5, vllm or llama.cpp."
        ),
    ] = None,
    trained: Annotated[
        str | None, typer.Option("--trained", metavar="N", help="The trained context, where the file's is wrong or unknown.")
    ] = None,
    write: Annotated[bool, typer.Option("--write", help="Edit the file in place; the old one stays as FILE.bak.")] = False,
    as_json: AsJson = False,
) -> None:
    """Say which scalings suit a model, the exact edit for each program, what it costs, and prove the edit by re-reading it.

    Exit 0 when the model runs at N tokens as it is or with the edit, 1 when nothing makes it, 2 for wrong use. The file is only
    changed with --write.
    """
    from typing import cast

    from ordinate.arguments import check_choice
    from ordinate.cli.numbers import token_count
    from ordinate.cli.tables import answer, answer_json, emit
    from ordinate.inspection.extension.dialects import DIALECTS, Dialect
    from ordinate.inspection.extension.methods import METHODS, Method
    from ordinate.inspection.extension.plan import extend as plan
    from ordinate.inspection.files import read_document
    from ordinate.inspection.inspect import inspect_document

    for option, value, allowed in (("--method", method, METHODS), ("--dialect", dialect, DIALECTS)):
        if value is not None:
            check_choice(option, value, allowed)
    length = token_count(to, "--to")
    start = None if trained is None else token_count(trained, "--trained")
    document = read_document(file)
    chosen = cast("Method | None", method)
    extension = plan(document, inspect_document(document), length, method=chosen, trained=start)
    if as_json:
        answer_json(extension.to_dict())
    elif dialect is not None and extension.spellings:
        emit(_only(extension, cast("Dialect", dialect)) + "\n")
    else:
        answer(*_report(extension))
    if write:
        _write(extension, document)
    wanted = extension.assessment.need in ("length", "scaling")
    if extension.assessment.need == "impossible" or (wanted and not any(each.text for each in extension.spellings)):
        raise typer.Exit(1)


def _only(extension: Extension, dialect: str) -> str:
    from ordinate.errors import RefusedError

    spelling = next((each for each in extension.spellings if each.dialect == dialect), None)
    if spelling is None or spelling.refused:
        got = "flags only: this is a GGUF file" if spelling is None else spelling.refused
        raise RefusedError("--dialect", expected=f"an edit that {dialect} can say", got=got)
    if spelling.since:
        typer.echo(spelling.since, err=True)
    return spelling.text


def _write(extension: Extension, document: Document) -> None:
    from ordinate.errors import RefusedError
    from ordinate.inspection.extension.plan import write

    if document.path is None or document.config is None:
        got = "standard input" if document.path is None else "a GGUF file"
        raise RefusedError("--write", expected="a config on disk", got=got, hint="leave --write out")
    if extension.assessment.need in ("nothing", "unscalable"):
        typer.echo(f"nothing to write: {extension.assessment.why}", err=True)
        return
    kept = write(extension, document.path)
    typer.echo(f"written: {document.path} ({extension.own}); the old file is {kept}", err=True)


def _report(extension: Extension) -> list[RenderableType]:
    from rich.markup import escape
    from rich.text import Text

    from ordinate.cli.tables import findings_table, format_bytes, grid

    def heading(text: str) -> Text:
        return Text.from_markup(f"\n[bold]{text}[/]")

    needs = {
        "nothing": "[green]nothing to do[/]",
        "unscalable": "[yellow]it runs, and nothing in it can be scaled[/]",
        "length": "[yellow]only the stated context grows[/]",
        "scaling": "[yellow]its rotations have to be stretched[/]",
        "impossible": "[bold red]it cannot[/]",
    }
    top = grid("", "", header=False)
    top.add_row("file", escape(extension.source))
    top.add_row(f"at {extension.length:,} tokens", needs[extension.assessment.need])
    top.add_row("", escape(extension.assessment.why))
    if extension.cache_bytes is not None:
        top.add_row("cache of one sequence", format_bytes(extension.cache_bytes))
    parts: list[RenderableType] = [top]
    if extension.assessment.options:
        table = grid("method", "suits", "why", "tuning it usually needs")
        for option in extension.assessment.options:
            mark = " <" if extension.chosen is option else ""
            tuning = option.tuning if option.suits != "no" else ""
            table.add_row(
                f"{option.method}{mark}", f"[{_SUITS[option.suits]}]{option.suits}[/]", escape(option.why), escape(tuning)
            )
        parts += [heading("methods"), table]
    for spelling in extension.spellings:
        parts.append(heading(spelling.dialect + (", the file's own" if spelling.dialect == extension.own else "")))
        parts.append(Text(spelling.text or f"not there: {spelling.refused}"))
        if spelling.since:
            parts.append(Text(spelling.since, style="dim"))
    if extension.chosen is not None and extension.after is not None:
        parts += [heading("frequencies"), _frequencies(extension)]
    if extension.cost is not None:
        parts += [heading(f"on a short input ({extension.cost.length:,} tokens), without tuning"), _cost(extension)]
    if extension.proof:
        parts += [heading("read again"), Text("\n".join(f"- {line}" for line in extension.proof))]
    worrying = [finding for finding in extension.before.findings if finding.severity != "info"]
    if worrying:
        parts += [heading("the file as it is has findings"), findings_table(worrying)]
    return parts


def _frequencies(extension: Extension) -> RenderableType:
    import math

    from ordinate.cli.tables import format_value, grid

    frequencies = extension.to_dict()["inverse_frequencies"]
    before, after = frequencies["before"] or [], frequencies["after"] or []
    table = grid("pair", "before, radians a token", "after", "divided by", "wavelength after, tokens")
    count = min(len(before), len(after))
    rows = sorted({0, *(round(step * (count - 1) / 8) for step in range(9))}) if count else []
    for pair in rows:
        ratio = before[pair] / after[pair] if after[pair] else math.inf
        wave = 2 * math.pi / after[pair] if after[pair] else math.inf
        table.add_row(
            str(pair),
            format_value(before[pair]),
            format_value(after[pair]),
            f"{ratio:.4g}",
            format_value(wave) if wave < math.inf else "none",
        )
    return table


def _cost(extension: Extension) -> RenderableType:
    from ordinate.cli.tables import grid

    cost = extension.cost
    assert cost is not None  # the caller asked
    table = grid("", "", header=False)
    if cost.untouched:
        table.add_row("nothing moves", "the row is computed exactly as before")
        return table
    table.add_row("pairs that move by more than 1 %", f"{cost.pairs_moved} of {cost.pairs}")
    table.add_row("largest divisor of a frequency", f"{cost.largest_divisor:.4g}")
    table.add_row("all scores are multiplied by", f"{cost.score_factor:.4f}")
    far = ", ".join(f"{each.distance:,}: {each.cosine:.3f}" for each in cost.agreement)
    table.add_row("mean cosine with the old rotation, by distance", far)
    return table
