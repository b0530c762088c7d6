"""From a document to its inspection, whichever kind of file it was."""

from __future__ import annotations

from ordinate.inspection.reading import Document
from ordinate.inspection.record import Inspection

__all__ = ["inspect_document"]


def inspect_document(document: Document) -> Inspection:
    """What a config or a GGUF header that `read_document` fetched says about position, under the document's name."""
    if document.header is not None:
        from ordinate.inspection.gguf.reader import inspect_header

        return inspect_header(document.header, document.name)
    from ordinate.inspection import inspect_config

    return inspect_config(document.config or {}, name=document.name)
