"""The command `ordinate`: joins the command files and turns the house's errors into one line and exit code 2.

Every command file imports only typer at module level, so that `ordinate --help` starts without torch.
"""

from __future__ import annotations

import sys
from typing import Annotated, NoReturn

import typer

from ordinate import __version__
from ordinate.cli import lab
from ordinate.errors import OrdinateError

__all__ = ["app", "main"]

app = typer.Typer(
    name="ordinate",
    help="Tells a sequence model where things are, and shows that it does: every claim is a check that runs.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("lab")(lab.lab)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"ordinate {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    pass


def main() -> NoReturn:
    """Run the command line: exit 0 fine, 1 findings, 2 wrong use, 130 interrupted."""
    try:
        code = app(standalone_mode=False)
    except OrdinateError as problem:
        print(f"ordinate: {problem}", file=sys.stderr)
        code = 2
    sys.exit(code or 0)
