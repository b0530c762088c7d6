"""Options that many commands have, spelt once: the same name, the same letter case, the same line of help everywhere.

`--out` is where the result goes, `--figure` where a drawing goes, `--data` where data come from. Every option with a value says
what kind of value that is in the words of `METAVARS`; `tests/cli/test_options.py` holds all commands to it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["METAVARS", "AsJson", "Figure", "Listed"]

METAVARS = {
    "FILE": "a file",
    "DIR": "a folder",
    "PATH": "a file or a folder",
    "PATH_OR_MODULE": "a file, a folder or an installed module",
    "N": "a whole number; of tokens also 128k, 131,072, 1M",
    "X": "a number",
    "X,Y": "two numbers",
    "NAME": "one of the names that the help lists",
    "N,N,...": "whole numbers, separated by commas",
    "X,X,...": "numbers, separated by commas",
    "NAME,NAME,...": "names, separated by commas",
    "COLUMN": "a column of a table",
    "QUERY": "cells of a connectome: words joined by & | !",
    "ID": "properties that `ordinate verify` names, separated by commas",
    "TYPE": "a type of numbers",
    "SIZE": "memory: 24GiB, 80GB",
    "SECONDS": "seconds",
    "AXES": "letters of axes, such as BTHD",
    "JSON": "a JSON object",
    "I/N": "the I-th of N shares",
    "URL": "an address",
    "TEXT": "text, of the form that the help shows",
}
"""The kinds of values, as `--help` shows them."""

AsJson = Annotated[bool, typer.Option("--json", help="Print the whole answer as JSON.")]
Figure = Annotated[Path | None, typer.Option("--figure", metavar="FILE", help="Draw it: .png, .svg or .pdf.")]
Listed = Annotated[bool, typer.Option("--list", help="List what there is and run nothing.")]
