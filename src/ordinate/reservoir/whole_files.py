"""Files that are there whole or not at all: written under another name, then renamed."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ordinate.errors import ArgumentError, OutputError

__all__ = ["picture_kind", "save_figure", "write_whole"]


def write_whole(path: str | Path, write: Callable[[Path], Any]) -> Path:
    """Let `write` make a draft beside `path`, with the same ending, and rename it.

    Raises:
        OutputError: a place that cannot be written to.
    """
    target = Path(path)
    draft = target.with_name(f".{target.stem}.part{target.suffix}")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            write(draft)
            os.replace(draft, target)
        finally:
            draft.unlink(missing_ok=True)
    except OSError as problem:
        raise OutputError("path", expected="a file that can be written", got=str(path), todo=str(problem)) from None
    return target


def picture_kind(path: str | Path) -> str:
    """The format that the end of a name asks for: "png" or "svg".

    Raises:
        ArgumentError: a name that ends in neither.
    """
    kind = Path(path).suffix.removeprefix(".").lower()
    if kind not in ("png", "svg"):
        raise ArgumentError("path", expected="a name that ends in .png or .svg", got=str(path), todo="choose one")
    return kind


def save_figure(figure: Any, path: str | Path) -> Path:
    """Write a matplotlib figure as png or svg, by the end of its name.

    Raises:
        ArgumentError: a name that ends in neither.
        OutputError: a place that cannot be written to.
    """
    kind = picture_kind(path)
    undated = {"Date": None} if kind == "svg" else None
    return write_whole(path, lambda draft: figure.savefig(draft, format=kind, dpi=160, metadata=undated))
