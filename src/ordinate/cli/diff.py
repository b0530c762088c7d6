"""`ordinate diff`: whether two model files tell positions alike."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ordinate.cli.options import AsJson

if TYPE_CHECKING:
    from rich.console import RenderableType

    from ordinate.inspection.comparison import Difference

__all__ = ["diff"]

_STYLES = {"same": "green", "different": "bold red", "unknown": "yellow"}


def diff(
    a: Annotated[str, typer.Argument(metavar="A", help="A model's file, as for `ordinate inspect`.")],
    b: Annotated[
        str, typer.Argument(metavar="B", help="The file to compare with: a draft's target, or the config after an edit.")
    ],
    as_json: AsJson = False,
) -> None:
    """Compare two models position by position, and say whether one could read the other's cache.

    Exit 0 when both tell positions alike, 1 when they do not or one does not say, 2 when a file cannot be read.
    """
    from ordinate.cli.tables import answer, answer_json
    from ordinate.errors import ArgumentError
    from ordinate.inspection.comparison import difference
    from ordinate.inspection.files import read_document
    from ordinate.inspection.inspect import inspect_document

    if a == b == "-":
        raise ArgumentError("-", expected="standard input for one of the two", got="both", hint="name a file")
    result = difference(inspect_document(read_document(a)), inspect_document(read_document(b)))
    if as_json:
        answer_json(result.to_dict())
    else:
        answer(*_report(result))
    if result.positions != "same":
        raise typer.Exit(1)


def _report(result: Difference) -> list[RenderableType]:
    from rich.markup import escape
    from rich.text import Text

    from ordinate.cli.tables import format_known, format_source, grid

    verdicts = grid("", "", header=False)
    verdicts.add_row("a", escape(result.a))
    verdicts.add_row("b", escape(result.b))
    verdicts.add_row("positions", f"[{_STYLES[result.positions]}]{result.positions}[/]")
    verdicts.add_row("caches", f"[{_STYLES[result.caches]}]{'compatible' if result.caches == 'same' else result.caches}[/]")
    for reason in result.reasons:
        verdicts.add_row("", f"[dim]{escape(reason)}[/]")
    parts: list[RenderableType] = [verdicts]
    if result.changes:
        table = grid("where", "what", "a", "b", "touches")
        for change in result.changes:
            sides = [
                "[dim]nothing of the kind[/]" if value is None else f"{format_known(value)}\n{format_source(value)}"
                for value in (change.a, change.b)
            ]
            table.add_row(escape(change.where), change.aspect, *sides, ", ".join(change.effects))
        parts += [Text.from_markup("\n[bold]what differs[/]"), table]
    if result.agreement:
        table = grid("where", "distance", "mean cosine between keys turned by a and by b")
        for each in result.agreement:
            table.add_row(escape(each.where), f"{each.distance:,}", f"{each.cosine:+.4f}")
        parts += [Text.from_markup("\n[bold]how fast the rotations part[/]"), table]
    return parts
