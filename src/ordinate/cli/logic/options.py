"""Options that several logic commands take."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["Classes", "DataFolder", "OtherData"]

DataFolder = Annotated[
    Path | None, typer.Option("--data", metavar="DIR", help="Folder of MNIST's IDX files; else the embedded 8x8 digits.")
]
OtherData = Annotated[bool, typer.Option("--other-data", help="The IDX files are not MNIST: do not ask for its MD5.")]
Classes = Annotated[str | None, typer.Option("--classes", help="Digits to tell apart, such as 0,1; else all ten.")]
