"""The command `ordinate`: joins the command files.

Every command file imports only typer at module level, so that `ordinate --help` starts without torch, and is imported when its
command is asked for. Help is plain text for the same reason: rich alone would double the time to start; commands import it for
their tables. How a command ends is in `exits`.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from ordinate.cli.exits import exit_code, flush_output, prepare_process, prepare_streams
from ordinate.cli.groups import lazy_group

__all__ = ["COMMANDS", "app", "run"]

COMMANDS = {
    "lab": "Measure the articles' claims and write a report.",
    "inspect": "Say what a model's file says about position.",
    "diff": "Compare two models' positions, and whether caches fit.",
    "extend": "Say how to run a model at more tokens, and prove the edit.",
    "memory": "Say what running a model takes, and whether it fits.",
    "explore": "A page to play with: encodings, memory, a circuit, two sides.",
    "verify": "Check position code against what must hold, and name the fault.",
    "golden": "Print golden vectors that a port can be checked against.",
    "sweep": "Train short, test long: measure which encoding carries.",
    "choose": "Which encoding, from what was measured.",
    "reservoir": "A connectome as a recurrent network: left, right, a body.",
    "logic": "Networks of logic gates: from images to a circuit on a chip.",
}
"""Each command with its line of help: the function, or the group of commands, of that name in the file of that name."""


class _Program(lazy_group("ordinate.cli", COMMANDS, renamed={"sweep": {"--figures": "--figure"}})):  # type: ignore[misc]
    """The whole command line: every error becomes one line on standard error and an exit code."""

    def main(self, *args: Any, standalone_mode: bool = True, **extra: Any) -> Any:
        if not standalone_mode:
            return super().main(*args, standalone_mode=False, **extra)
        try:
            prepare_streams()
            result = super().main(*args, standalone_mode=False, **extra)
            flush_output()
        except Exception as error:
            sys.exit(exit_code(error))
        sys.exit(result if isinstance(result, int) else 0)

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except (KeyboardInterrupt, OSError, EOFError) as error:  # typer would end these in ways of its own
            raise typer.Exit(exit_code(error)) from None


app = typer.Typer(
    cls=_Program,
    name="ordinate",
    help="Tells a sequence model where things are, and shows that it does: every claim is a check that runs.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        from ordinate.cli.version import version_text

        typer.echo(version_text())
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version, torch's and the extras."),
    ] = False,
) -> None:
    pass


def run(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and leave with its exit code, as `ordinate.cli.main` says."""
    prepare_process()
    app(args=None if arguments is None else list(arguments))
