"""Parsed connectomes, kept under the hash of what they were parsed from, so that the second load takes a fraction of a second.

The larval tables are 35 MB of text for 110,677 numbers. What is kept is a plain `.npz` without pickles; a file that cannot be
read, or was made from other bytes, is made anew, and a folder that cannot be written is no error: the tables are parsed again.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from ordinate.atomic_io import atomic_write
from ordinate.reservoir.connectome import Connectome

__all__ = ["CACHE_VARIABLE", "cache_folder", "cached", "load", "save"]

CACHE_VARIABLE = "ORDINATE_CACHE"
"""The environment variable that names another folder for parsed data."""


def cache_folder() -> Path:
    """Where parsed connectomes are kept: `$ORDINATE_CACHE`, or `ordinate` in the user's cache folder."""
    told = os.environ.get(CACHE_VARIABLE)
    if told:
        return Path(told)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "ordinate"


def cached(
    source: Path, make: Callable[[], Connectome], *, tables: Sequence[str], folder: bool | str | Path, form: str
) -> Connectome:
    """What `make` gives, kept for the next time under the hash of the bytes of `source` and the form of parsing.

    Args:
        source: a file, or a folder of which `tables` are read.
        make: parses it.
        tables: the files of a folder that matter.
        folder: whether to keep anything, or where.
        form: changes whenever parsing does, so that older results are not taken.
    """
    if folder is False:
        return make()
    place = (cache_folder() if folder is True else Path(folder)) / f"{form}-{_hash(source, tables)}.npz"
    try:
        return load(place)
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        made = make()
    with contextlib.suppress(OSError):  # a read-only home is a reason to be slow, not to fail
        save(made, place)
    return made


def _hash(source: Path, tables: Sequence[str]) -> str:
    digest = hashlib.sha256()
    for path in [source] if source.is_file() else [source / name for name in tables]:
        if path.is_file():
            with path.open("rb") as opened:
                digest.update(hashlib.file_digest(opened, "sha256").digest())
    return digest.hexdigest()[:32]


def save(connectome: Connectome, path: str | Path) -> None:
    """Write a connectome atomically as an `.npz` of plain arrays."""
    told = json.dumps(
        {
            "name": connectome.name,
            "assumptions": list(connectome.assumptions),
            "labels": [sorted(words) for words in connectome.labels],
        }
    )

    def write(draft: Path) -> None:
        with draft.open("wb") as file:
            np.savez(
                file,
                data=connectome.weights.data,
                indices=connectome.weights.indices,
                indptr=connectome.weights.indptr,
                ids=connectome.ids,
                side=connectome.side,
                mate=connectome.mate,
                kind=connectome.kind,
                told=np.frombuffer(told.encode(), dtype=np.uint8),
            )

    atomic_write(path, write)


def load(path: str | Path) -> Connectome:
    """Read what `save` wrote."""
    with Path(path).open("rb") as opened, np.load(opened, allow_pickle=False) as file:
        told: dict[str, Any] = json.loads(file["told"].tobytes())
        count = file["indptr"].size - 1
        return Connectome(
            sparse.csr_array((file["data"], file["indices"], file["indptr"]), shape=(count, count)),
            ids=file["ids"],
            side=file["side"],
            mate=file["mate"],
            kind=file["kind"],
            labels=tuple(frozenset(words) for words in told["labels"]),
            name=told["name"],
            assumptions=tuple(told["assumptions"]),
        )
