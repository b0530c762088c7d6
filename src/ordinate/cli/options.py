"""Options that many commands have, spelt once: the same name, the same letter case, the same line of help everywhere.

`--out` is where the result goes, `--figure` where a drawing goes, `--data` where data come from; metavars are FILE, DIR and N.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["AsJson", "Figure", "Listed", "Seed"]

AsJson = Annotated[bool, typer.Option("--json", help="Print the whole answer as JSON.")]
Figure = Annotated[Path | None, typer.Option("--figure", metavar="FILE", help="Draw it: .png, .svg or .pdf.")]
Listed = Annotated[bool, typer.Option("--list", help="List what there is and run nothing.")]
Seed = Annotated[int, typer.Option("--seed", metavar="N", min=0, help="Of everything that is drawn at random.")]
