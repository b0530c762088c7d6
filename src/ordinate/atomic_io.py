"""Files that are there whole or not at all: written under another name, then renamed.

They stand on the ground floor because every room writes some: circuits, checkpoints, pictures, films, tables.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ordinate.errors import ArgumentError, OutputError

__all__ = ["atomic_write", "picture_kind", "save_figure"]


def atomic_write(path: str | Path, content: str | bytes | Callable[[Path], Any]) -> Path:
    """Write a draft beside `path`, with the same ending, and rename it; the folder is made where it is missing.

    Args:
        path: where the file goes.
        content: text (UTF-8), bytes, or a function that writes the draft whose path it is given.

    Raises:
        OutputError: a place that cannot be written to.
    """
    target = Path(path)
    draft = target.with_name(f".{target.stem}.{os.getpid()}.part{target.suffix}")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            if isinstance(content, str):
                draft.write_text(content, encoding="utf-8")
            elif isinstance(content, bytes):
                draft.write_bytes(content)
            else:
                content(draft)
            os.replace(draft, target)
        finally:
            draft.unlink(missing_ok=True)
    except OutputError:
        raise
    except OSError as problem:
        raise OutputError("path", expected="a file that can be written", got=str(path), hint=str(problem)) from None
    return target


def picture_kind(path: str | Path) -> str:
    """The format that the end of a name asks for: "png", "svg" or "pdf".

    Raises:
        ArgumentError: a name that ends in none of them.
    """
    kind = Path(path).suffix.removeprefix(".").lower()
    if kind not in ("png", "svg", "pdf"):
        raise ArgumentError("path", expected="a name that ends in .png, .svg or .pdf", got=str(path), hint="choose one")
    return kind


def save_figure(figure: Any, path: str | Path) -> Path:
    """Write a matplotlib figure as png, svg or pdf, by the end of its name.

    Raises:
        ArgumentError: a name that ends in none of them.
        OutputError: a place that cannot be written to.
    """
    kind = picture_kind(path)
    undated = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind)
    return atomic_write(path, lambda draft: figure.savefig(draft, format=kind, dpi=160, metadata=undated))
