"""Text to train on: the bytes of the running Python's own standard library, or of any file or folder of yours.

Every machine that runs this package has the first, it is real, and nobody has to download it. Files are read in a fixed order
and each goes whole into one split, so no file is trained and tested on; a single file is cut in three. Bytes are the tokens:
256 of them, and scores are in bits per byte.
"""

from __future__ import annotations

import functools
import hashlib
import os
import platform
import sysconfig
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from ordinate.errors import DataError, MissingDataError

__all__ = ["SPLITS", "Corpus", "read_corpus"]

SPLITS = ("train", "validation", "test")
# other people's packages, tests, and tables that are written as code
_NOT_TEXT = frozenset({"site-packages", "dist-packages", "test", "tests", "idle_test", "encodings", "pydoc_data"})
_MOST_BYTES = 32_000_000  # of a folder: files that would pass it are left out, or reading would take longer than training
_FEWEST_FILES = 10  # with fewer, one file would be a whole split


@dataclass(frozen=True, eq=False)
class Corpus:
    """Three byte strings and what they are.

    Args:
        name: where the text is from, in words.
        digest: of all three splits, so that a result says what it was measured on.
        train, validation, test: uint8 [bytes].
    """

    name: str
    digest: str
    train: Tensor
    validation: Tensor
    test: Tensor

    def split(self, name: str) -> Tensor:
        """The bytes of "train", "validation" or "test"."""
        part: Tensor = getattr(self, name)
        return part


def read_corpus(path: str | Path | None = None) -> Corpus:
    """The corpus at `path`, or the standard library's Python files.

    Of a folder, files are split in an order drawn from their relative paths: 8 in 10 train, 1 validates, 1 tests. A folder of
    fewer than ten files is read as one file; a file is cut at 8 and 9 tenths.

    Args:
        path: a file, or a folder whose files are all read (hidden ones are not); None for the standard library.

    Raises:
        MissingDataError: nothing is there.
        DataError: nothing but empty files is there.

    >>> corpus = read_corpus()
    >>> corpus.train.dtype, min(len(corpus.train), len(corpus.validation), len(corpus.test)) > 100_000
    (torch.uint8, True)
    """
    return _read(None if path is None else str(Path(path).resolve()))


@functools.lru_cache(maxsize=2)
def _read(path: str | None) -> Corpus:
    if path is None:
        root = Path(sysconfig.get_path("stdlib"))
        files = [file for file in _files(root, _NOT_TEXT) if file.suffix == ".py"]
        return _by_file(f"the standard library of Python {platform.python_version()}", root, files)
    source = Path(path)
    try:
        if source.is_file():
            return _cut(source.name, source.read_bytes())
        if not source.is_dir():
            raise MissingDataError("--corpus", expected="a file or a folder", got=path, hint="check the path, or leave it out")
        files = _files(source)
        if len(files) < _FEWEST_FILES:
            return _cut(source.name, b"\n".join(file.read_bytes() for file in files))
        return _by_file(source.name, source, files)
    except OSError as problem:
        if isinstance(problem, MissingDataError):
            raise
        raise DataError("--corpus", expected="text that can be read", got=str(problem), hint="check the rights") from None


def _files(root: Path, left_out: frozenset[str] = frozenset()) -> list[Path]:
    """Every file under `root` in one order on every machine; hidden ones and folders of these names are left out."""
    paths = []
    for folder, names, files in os.walk(root):
        names[:] = sorted(name for name in names if not name.startswith(".") and name not in left_out)
        paths += [Path(folder, name) for name in files if not name.startswith(".")]
    return sorted((file for file in paths if file.is_file()), key=lambda file: file.relative_to(root).as_posix())


def _by_file(name: str, root: Path, files: Sequence[Path]) -> Corpus:
    def drawn(file: Path) -> bytes:
        return hashlib.sha256(file.relative_to(root).as_posix().encode()).digest()

    tenth = len(files) // 10
    ordered = sorted(files, key=drawn)
    kinds = {
        file: "test" if place < tenth else "validation" if place < 2 * tenth else "train" for place, file in enumerate(ordered)
    }
    parts: dict[str, list[bytes]] = {split: [] for split in SPLITS}
    total = 0
    for file in files:
        text = file.read_bytes()
        if total + len(text) <= _MOST_BYTES:
            parts[kinds[file]].append(text)
            total += len(text)
    return _corpus(name, *(b"\n".join(parts[split]) for split in SPLITS))


def _cut(name: str, text: bytes) -> Corpus:
    first, second = len(text) * 8 // 10, len(text) * 9 // 10
    return _corpus(name, text[:first], text[first:second], text[second:])


def _corpus(name: str, train: bytes, validation: bytes, test: bytes) -> Corpus:
    if not (train and validation and test):
        raise DataError(
            "--corpus",
            expected="text to train, validate and test on",
            got=f"{len(train) + len(validation) + len(test)} bytes in all",
            hint="give a longer file, or a folder of more files",
        )
    digest = hashlib.sha256()
    for part in (train, validation, test):
        digest.update(hashlib.sha256(part).digest())
    tensors = (torch.from_numpy(np.frombuffer(part, dtype=np.uint8).copy()) for part in (train, validation, test))
    return Corpus(name, digest.hexdigest()[:16], *tensors)
