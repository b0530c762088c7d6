"""`ordinate choose`: which encoding, in a few questions."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ordinate.cli.options import AsJson

if TYPE_CHECKING:
    from ordinate.sweep.advice import Question

__all__ = ["choose"]


def choose(
    trained: Annotated[str | None, typer.Option("--trained", metavar="N", help="Tokens of a row in training.")] = None,
    needed: Annotated[str | None, typer.Option("--needed", metavar="N", help="Tokens the model should run at.")] = None,
    extend: Annotated[
        bool | None, typer.Option("--extend/--train", help="A RoPE model is trained already, or one is to be trained.")
    ] = None,
    need: Annotated[str | None, typer.Option("--need", metavar="NAME", help="text, recall or place.")] = None,
    case: Annotated[
        str | None,
        typer.Option("--case", metavar="NAME", help="Instead of lengths: no-parameters, fixed-length, grammar, memory, ..."),
    ] = None,
    cache_tokens: Annotated[
        str | None, typer.Option("--cache-tokens", metavar="N", help="Tokens whose keys and values fit; all by default.")
    ] = None,
    results: Annotated[
        Path | None, typer.Option("--results", metavar="DIR", help="Your own sweep; else the one in the package.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Say which position encoding suits, from measurements and papers, with the article's advice beside it where it differs.

    In a terminal, what is left out is asked for. Exit 0, or 2 for wrong use.
    """
    from ordinate.cli.numbers import token_count
    from ordinate.errors import ArgumentError
    from ordinate.sweep.advice import advise, advise_case, measured

    if case is not None:
        if trained is not None or needed is not None:
            raise ArgumentError("--case, --trained, --needed", expected="a case, or lengths", got="both")
        answer = advise_case(case, measured(results))
    else:
        asking = sys.stdin.isatty() and not as_json
        tokens = {"--trained": trained, "--needed": needed, "--cache-tokens": cache_tokens}
        counts = [None if text is None else token_count(text, name) for name, text in tokens.items()]
        answer = advise(_question(counts[0], counts[1], extend, need, counts[2], asking=asking), measured(results))
    if as_json:
        from ordinate.cli.tables import answer_json

        answer_json(answer.to_dict())
        return
    from rich.text import Text

    from ordinate.cli.tables import answer as show
    from ordinate.cli.tables import grid

    table = grid("", "", header=False)
    for title, lines in (
        ("why", answer.reasons),
        ("measured", answer.measured),
        ("papers", answer.papers),
        ("the article", (answer.article,) if answer.article else ()),
    ):
        for number, line in enumerate(lines):
            table.add_row(Text("" if number else title, style="bold"), Text(line))
    show(Text(answer.advice, style="bold"), table)


def _question(
    trained: int | None, needed: int | None, extend: bool | None, need: str | None, cache_tokens: int | None, *, asking: bool
) -> Question:
    """The question; what is left out is asked for where somebody is `asking`."""
    from ordinate.errors import ArgumentError
    from ordinate.sweep.advice import NEEDS, Question

    if trained is None or needed is None:
        if not asking:
            raise ArgumentError("--trained, --needed", expected="both lengths", hint="for example --trained 2048 --needed 8192")
        trained = trained or typer.prompt("Tokens of a row in training", type=int, err=True)
        needed = needed or typer.prompt("Tokens the model should run at", type=int, err=True)
    if extend is None:
        extend = typer.confirm("Is a RoPE model trained already", default=False, err=True) if asking else False
    if need is None:
        options = "; ".join(f"{name}: {what}" for name, what in NEEDS.items())
        need = typer.prompt(f"What is needed most ({options})", default="text", err=True) if asking else "text"
    if cache_tokens is None and asking:
        cache_tokens = typer.prompt("Tokens whose cache fits", default=needed, type=int, err=True)
    return Question(trained, needed, extend=extend, need=need, cache_tokens=cache_tokens)
