"""Parsed connectomes, kept under the hash of what they were parsed from, so that the second load takes a fraction of a second.

The larval tables are 35 MB of text for 110,677 numbers. What is kept is a plain `.npz` without pickles; a file that cannot be
read, or came from other bytes, is written anew, and a folder that cannot be written is no error: the tables are parsed again.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from ordinate.atomic_io import atomic_write

__all__ = ["CACHE_VARIABLE", "Fields", "cache_folder", "cached", "load", "save"]

Fields = dict[str, Any]
"""The arguments of `Connectome`, by name."""

CACHE_VARIABLE = "ORDINATE_CACHE"
"""The environment variable that names another folder for parsed data."""


_LARGE = 1 << 28
"""Bytes from which a file is recognised by name, size, time and both ends, for hashing it would take longer than the cache."""


def cache_folder() -> Path:
    """Where parsed connectomes are kept: `$ORDINATE_CACHE`, or `ordinate` in the user's cache folder."""
    named = os.environ.get(CACHE_VARIABLE)
    if named:
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "ordinate"


def cached(source: Path, read: Callable[[], Fields], *, tables: Sequence[str], folder: bool | str | Path, form: str) -> Fields:
    """What `read` returns, kept for the next time under the hash of the bytes of `source` and the form of parsing.

    Args:
        source: a file, or a folder of which `tables` are read.
        read: parses it.
        tables: the files of a folder that matter.
        folder: whether to keep anything, or where.
        form: changes whenever parsing does, so that older results are not taken.
    """
    if folder is False:
        return read()
    place = (cache_folder() if folder is True else Path(folder)) / f"{form}-{_hash(source, tables)}.npz"
    try:
        return load(place)
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        fields = read()
    with contextlib.suppress(OSError):  # a read-only home is a reason to be slow, not to fail
        save(fields, place)
    return fields


def _hash(source: Path, tables: Sequence[str]) -> str:
    digest = hashlib.sha256()
    for path in [source] if source.is_file() else [source / name for name in tables]:
        if path.is_file():
            with path.open("rb") as file:
                about = path.stat()
                if about.st_size > _LARGE:
                    digest.update(f"{path.name} {about.st_size} {about.st_mtime_ns}".encode())
                    digest.update(file.read(1 << 20))
                    file.seek(-(1 << 20), os.SEEK_END)
                    digest.update(file.read())
                else:
                    digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()[:32]


def save(fields: Mapping[str, Any], path: str | Path) -> None:
    """Write the fields of a connectome as an `.npz` of plain arrays.

    Args:
        fields: `weights` (sparse, by rows), `ids`, `side`, `mate`, `kind`, `labels`, `name` and `assumptions`.
        path: where to; the file is written atomically.
    """
    weights = sparse.csr_array(fields["weights"])
    distinct = list(dict.fromkeys(fields["labels"]))
    number = {words: at for at, words in enumerate(distinct)}
    texts = {
        "name": fields["name"],
        "assumptions": list(fields["assumptions"]),
        "labels": [sorted(words) for words in distinct],
    }
    arrays = {name: fields[name] for name in ("ids", "side", "mate", "kind")}
    arrays |= {"data": weights.data, "indices": weights.indices, "indptr": weights.indptr}
    arrays["label_of"] = np.array([number[words] for words in fields["labels"]], dtype=np.int64)
    arrays["texts"] = np.frombuffer(json.dumps(texts).encode(), dtype=np.uint8)

    def write(draft: Path) -> None:
        with draft.open("wb") as file:
            np.savez(file, **arrays)

    atomic_write(path, write)


def load(path: str | Path) -> Fields:
    """Read what `save` wrote."""
    with Path(path).open("rb") as stream, np.load(stream, allow_pickle=False) as file:
        texts: dict[str, Any] = json.loads(file["texts"].tobytes())
        count = file["indptr"].size - 1
        distinct = [frozenset(words) for words in texts["labels"]]
        return {
            "weights": sparse.csr_array((file["data"], file["indices"], file["indptr"]), shape=(count, count)),
            **{name: file[name] for name in ("ids", "side", "mate", "kind")},
            "labels": tuple(distinct[at] for at in file["label_of"].tolist()),
            "name": texts["name"],
            "assumptions": tuple(texts["assumptions"]),
        }
