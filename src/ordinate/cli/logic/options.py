"""Options that several logic commands take."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["Classes", "DataFolder", "OtherData", "check_solver"]

DataFolder = Annotated[
    Path | None, typer.Option("--data", metavar="DIR", help="Folder of MNIST's IDX files; else the embedded 8x8 digits.")
]
OtherData = Annotated[bool, typer.Option("--other-data", help="The IDX files are not MNIST: do not ask for its MD5.")]
Classes = Annotated[
    str | None, typer.Option("--classes", metavar="N,N,...", help="Digits to tell apart, such as 0,1; else all ten.")
]


def check_solver(option: str, without: str) -> None:
    """Ask for the SAT solver before any work.

    Args:
        option: that asks for it, for the message.
        without: what to pass to do without it.

    Raises:
        MissingExtraError: python-sat is not installed.
    """
    from importlib.util import find_spec

    from ordinate.errors import MissingExtraError
    from ordinate.extras import install_command

    if find_spec("pysat") is None:
        hint = f"{install_command('sat')}, or pass {without}"
        raise MissingExtraError(option, expected="python-sat, the solver", got="none installed", hint=hint)
