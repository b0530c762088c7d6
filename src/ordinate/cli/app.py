"""The command `ordinate`: joins the command files and turns the house's errors into one line and exit code 2.

Every command file imports only typer at module level, so that `ordinate --help` starts without torch, and is imported when its
command is asked for. Help is plain text for the same reason: rich alone would double the time to start; commands import it for
their tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from ordinate import __version__
from ordinate.cli.groups import lazy_group
from ordinate.errors import OrdinateError

__all__ = ["COMMANDS", "app", "main"]

COMMANDS = {
    "lab": "Measure the articles' claims and write a report.",
    "inspect": "Say what a model's file says about position.",
    "diff": "Compare two models' positions, and whether caches fit.",
    "extend": "Say how to run a model at more tokens, and prove the edit.",
    "verify": "Hold position code to its laws, and name the fault.",
    "golden": "Print golden vectors that a port can be held to.",
    "sweep": "Train short, test long: measure which encoding carries.",
    "choose": "Which encoding, from what was measured.",
    "reservoir": "A connectome as a recurrent network: left, right, a body.",
    "logic": "Networks of logic gates: from images to a circuit on a chip.",
}
"""Each command with its line of help: the function, or the group of commands, of that name in the file of that name."""


class _House(lazy_group("ordinate.cli", COMMANDS)):  # type: ignore[misc]
    """Runs commands: what goes wrong in the house's own words is one line on standard error, never a traceback."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except OrdinateError as problem:
            typer.echo(f"ordinate: {' '.join(str(problem).split())}", err=True)
            raise typer.Exit(2) from None
        except KeyboardInterrupt:
            typer.echo("ordinate: interrupted", err=True)
            raise typer.Exit(130) from None


app = typer.Typer(
    cls=_House,
    name="ordinate",
    help="Tells a sequence model where things are, and shows that it does: every claim is a check that runs.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


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


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and leave with its exit code: 0 fine, 1 findings, 2 wrong use, 130 interrupted.

    Args:
        arguments: without the program's name; by default those of the process.
    """
    app(args=None if arguments is None else list(arguments))
