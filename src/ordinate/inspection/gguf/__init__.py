"""GGUF files: `header` reads the bytes, the other files say what the keys mean, `reader` puts the answer together."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ordinate.inspection.record import Inspection

__all__ = ["inspect_gguf"]


def inspect_gguf(source: str | os.PathLike[str]) -> Inspection:
    """What the GGUF file `source` says about position, from its header alone.

    Args:
        source: the file, or a directory that holds one; the weights are never read, whatever their size.

    Raises:
        DataError: not GGUF, or damaged.
        MissingDataError: not there, or no right to read it.
    """
    from ordinate.errors import DataError
    from ordinate.inspection.gguf.reader import inspect_header  # here, because `reading` needs `header` first
    from ordinate.inspection.reading import read_document

    document = read_document(source)
    if document.header is None:
        raise DataError(document.name, expected="a GGUF file", got="JSON", hint="call inspect_config")
    return inspect_header(document.header, document.name)
