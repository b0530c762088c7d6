"""The header of a GGUF file, read as a stream: metadata and the few tensors that say something about position.

It stands apart from its neighbours, which know what keys mean. The package `gguf` could read headers too, but keeps every token
of the vocabulary as an array of its own: a header with 150,000 tokens and 280,000 merges took it 24.5 s and 700 MB, where this
file takes 0.16 s and a window of one megabyte. The tests use it as witness.

Layout of the bytes: the GGUF specification, https://github.com/ggml-org/ggml/blob/master/docs/gguf.md; version 1 counted with
32 bits, 2 and 3 count with 64, version 3 may be big-endian.
"""

from __future__ import annotations

import os
import re
import stat
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import IO, Any

from ordinate.errors import DataError

__all__ = ["MAGIC", "Header", "Skipped", "Tensor", "read_header"]

MAGIC = b"GGUF"

_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9
_TENSOR_BYTES = {0: 4, 1: 2, 24: 1, 25: 2, 26: 4, 27: 8, 28: 8, 30: 2}  # the plain types of ggml, bytes of an element
_FLOATS = {0: "f", 1: "e", 28: "d"}

# what no real file comes near: the largest models have some 60 keys, 50,000 tensors and 600,000 merges
_MOST_KEYS, _MOST_TENSORS, _MOST_STRINGS, _LONGEST_NAME = 2**16, 2**20, 2**22, 2**16
_KEPT_TEXT, _KEPT_NUMBERS = 2**20, 2**13
_WINDOW = 2**20
_TELLING = re.compile(r"rope_|position_embd|blk\.\d+\.(attn|rope)_|token_embd\.|\.position_embd|v\.position")


@dataclass(frozen=True)
class Skipped:
    """A value too long to matter here, a vocabulary say: what it was and how many items it had."""

    sort: str
    items: int


@dataclass(frozen=True)
class Tensor:
    """A tensor's entry: its shape innermost first as ggml counts, its ggml type, and its values where they were read."""

    shape: tuple[int, ...]
    ggml_type: int
    offset: int
    values: tuple[float, ...] | None = None


@dataclass(frozen=True)
class Header:
    """All that a GGUF header says, without its vocabulary.

    Args:
        version: 1, 2 or 3.
        byte_order: "little" or "big".
        metadata: value by key, in the file's order; lists for arrays, `Skipped` for those left out.
        tensors: entries of the tensors that bear on position.
        num_tensors: how many there are in all.
        sizes: ggml type and how many numbers, of every tensor.
    """

    version: int
    byte_order: str
    metadata: Mapping[str, Any]
    tensors: Mapping[str, Tensor] = field(default_factory=dict)
    num_tensors: int = 0
    sizes: Mapping[str, tuple[int, int]] = field(default_factory=dict)


class _Window:
    """A megabyte of the stream at a time, with an account of where it stands and how much there can be left."""

    def __init__(self, stream: IO[bytes], name: str, consumed: int) -> None:
        self.stream, self.name = stream, name
        self.data, self.at, self.start = b"", 0, consumed
        status = os.fstat(stream.fileno()) if hasattr(stream, "fileno") and _has_number(stream) else None
        self.size = status.st_size if status is not None and stat.S_ISREG(status.st_mode) else None

    @property
    def position(self) -> int:
        return self.start + self.at

    def cut(self) -> DataError:
        return DataError(
            self.name,
            expected="a whole GGUF file",
            got=f"an end at byte {self.position + len(self.data) - self.at:,}, in the middle of the header",
            hint="fetch the file again",
        )

    def take(self, count: int) -> bytes:
        if self.at + count > len(self.data):
            self.refill(count)
        piece = self.data[self.at : self.at + count]
        self.at += count
        return piece

    def refill(self, count: int) -> None:
        """Slide the window on so that it holds `count` more bytes."""
        kept = self.data[self.at :]
        self.start, self.at = self.position, 0
        self.data = kept + self.stream.read(max(_WINDOW, count) - len(kept))
        if len(self.data) < count:
            raise self.cut()

    def skip(self, count: int) -> None:
        left = len(self.data) - self.at
        if count <= left:
            self.at += count
            return
        target = self.position + count
        if self.size is not None:
            if target > self.size:
                raise self.cut()
            self.stream.seek(target)
        else:
            count -= left
            while count:
                piece = self.stream.read(min(count, _WINDOW))
                if not piece:
                    raise self.cut()
                count -= len(piece)
        self.data, self.at, self.start = b"", 0, target

    def holds(self, count: int) -> bool:
        """Whether as many bytes can still come."""
        return self.size is None or count <= self.size - self.position


def _has_number(stream: IO[bytes]) -> bool:
    try:
        stream.fileno()
    except OSError:  # a stream in memory
        return False
    return True


class _Reader:
    """The grammar of the header over a window."""

    def __init__(self, window: _Window, order: str, wide: bool) -> None:
        self.window, self.order = window, order
        self.count_format = struct.Struct(order + ("Q" if wide else "I"))
        self.scalars = {kind: struct.Struct(order + code) for kind, code in _SCALARS.items()}

    def wrong(self, expected: str, got: str) -> DataError:
        shown = [
            text if len(text) <= 120 and text.isprintable() else f"{ascii(text[:100])[1:-1]}..." for text in (expected, got)
        ]
        return DataError(self.window.name, expected=shown[0], got=shown[1], hint="the file is damaged: fetch it again")

    def number(self, code: struct.Struct) -> Any:
        return code.unpack(self.window.take(code.size))[0]

    def count(self) -> int:
        return int(self.number(self.count_format))

    def text(self, what: str, limit: int | None = None) -> str | Skipped:
        length = self.count()
        if not self.window.holds(length):
            raise self.wrong(f"{what} that fits the file", f"one of {length:,} bytes")
        if limit is not None and length > limit:
            raise self.wrong(f"{what} of at most {limit:,} bytes", f"{length:,}")
        if length > _KEPT_TEXT:
            self.window.skip(length)
            return Skipped("string", length)
        return self.window.take(length).decode("utf-8", "replace")

    def name(self, what: str) -> str:
        """A key; what cannot be printed in one line is escaped, for keys stand in messages."""
        text = self.text(what, _LONGEST_NAME)
        assert isinstance(text, str)  # the limit is below what is skipped
        return text if text.isprintable() else ascii(text)

    def value(self, key: str) -> Any:
        kind = self.number(self.scalars[4])
        if kind in self.scalars:
            return self.number(self.scalars[kind])
        if kind == _STRING:
            return self.text(f"a text for {key}")
        if kind == _ARRAY:
            return self.array(key)
        raise self.wrong(f"one of the 13 types of GGUF for {key}", f"type {kind}")

    def array(self, key: str) -> Any:
        kind, items = self.number(self.scalars[4]), self.count()
        if kind in self.scalars:
            code = self.scalars[kind]
            if not self.window.holds(items * code.size):
                raise self.wrong(f"an array for {key} that fits the file", f"{items:,} items")
            if items > _KEPT_NUMBERS or key.startswith("tokenizer."):
                self.window.skip(items * code.size)
                return Skipped("array", items)
            return [self.number(code) for _ in range(items)]
        if kind == _STRING:
            smallest = self.count_format.size
            if items > _MOST_STRINGS or not self.window.holds(items * smallest):
                raise self.wrong(f"a list of at most {_MOST_STRINGS:,} texts for {key}", f"{items:,}")
            self.pass_texts(items)
            return Skipped("array of strings", items)
        raise self.wrong(f"an array of numbers or texts for {key}", f"items of type {kind}")

    def pass_texts(self, items: int) -> None:
        """Step over a vocabulary; written flat because it is the whole cost of reading a header."""
        window, length = self.window, self.count_format
        width, unpack = length.size, length.unpack_from
        data, at = window.data, window.at
        for _ in range(items):
            if at + width > len(data):
                window.at = at
                window.refill(width)
                data, at = window.data, 0
            at += width + unpack(data, at)[0]
            if at > len(data):
                window.at = len(data)
                window.skip(at - len(data))
                data, at = window.data, window.at
        window.at = at


def read_header(stream: IO[bytes], name: str) -> Header:
    """Read the header that follows the four magic bytes, in one pass and in constant memory.

    Args:
        stream: a binary stream that stands right after `MAGIC`; a regular file is skipped through by seeking.
        name: what messages call the file.

    Raises:
        DataError: another version, counts that cannot be, a key twice, an unknown type, an end before the header's or the
            tensors' end.
    """
    window = _Window(stream, name, len(MAGIC))
    raw = window.take(4)
    order = "<" if int.from_bytes(raw, "little") <= 0xFFFF else ">"
    version = int.from_bytes(raw, "little" if order == "<" else "big")
    if version not in (1, 2, 3):
        newer = version < 100
        hint = "a newer ordinate may know it" if newer else "after the letters GGUF comes no header: fetch the file again"
        raise DataError(name, expected="GGUF version 1, 2 or 3", got=version, hint=hint)
    reader = _Reader(window, order, wide=version > 1)
    num_tensors, num_keys = reader.count(), reader.count()
    # a key takes at least a length, a type and one byte of value; a tensor a length, a rank, a type and an offset
    if num_keys > _MOST_KEYS or not window.holds(num_keys * (reader.count_format.size + 5)):
        raise reader.wrong(f"at most {_MOST_KEYS:,} keys, and room for them", f"{num_keys:,}")
    if num_tensors > _MOST_TENSORS or not window.holds(num_tensors * (reader.count_format.size + 16)):
        raise reader.wrong(f"at most {_MOST_TENSORS:,} tensors, and room for them", f"{num_tensors:,}")
    metadata: dict[str, Any] = {}
    for _ in range(num_keys):
        key = reader.name("a key")
        if key in metadata:
            raise reader.wrong("every key once", f"{key!r} twice")
        metadata[key] = reader.value(key)
    tensors, last_byte, counted = _read_tensors(reader, num_tensors)
    alignment = metadata.get("general.alignment", 32)
    if isinstance(alignment, bool) or not isinstance(alignment, int) or not 0 < alignment <= 2**20:
        raise reader.wrong("an alignment of at most a megabyte", repr(alignment))
    data_start = -(-window.position // alignment) * alignment
    if num_tensors and not window.holds(data_start + last_byte - window.position):
        got = f"{window.size:,} bytes, where tensors reach to byte {data_start + last_byte:,} or further"
        raise DataError(name, expected="a whole GGUF file", got=got, hint="fetch the file again")
    tensors = {key: _with_values(window, order, data_start, key, tensor) for key, tensor in tensors.items()}
    return Header(version, "little" if order == "<" else "big", metadata, tensors, num_tensors, counted)


def _read_tensors(reader: _Reader, num_tensors: int) -> tuple[dict[str, Tensor], int, dict[str, tuple[int, int]]]:
    """The telling tensors, the least end of all of them behind the start of the data, and the type and size of each."""
    counted: dict[str, tuple[int, int]] = {}
    tensors: dict[str, Tensor] = {}
    last_byte = 0
    number, wide = reader.scalars[4], reader.scalars[10]
    for _ in range(num_tensors):
        key = reader.name("a tensor's name")
        rank = reader.number(number)
        if rank > 4:
            raise reader.wrong(f"at most 4 axes for {key}", f"{rank}")
        shape = tuple(int(reader.count()) for _ in range(rank))
        ggml_type, offset = reader.number(number), reader.number(wide)
        elements = 1
        for axis in shape:
            elements *= axis
        if key in counted:
            raise reader.wrong("every tensor once", f"{key!r} twice")
        counted[key] = ggml_type, elements
        last_byte = max(last_byte, offset + elements * _TENSOR_BYTES.get(ggml_type, 0))
        if _TELLING.match(key):
            tensors[key] = Tensor(shape, ggml_type, offset)
    return tensors, last_byte, counted


def _with_values(window: _Window, order: str, data_start: int, key: str, tensor: Tensor) -> Tensor:
    """The divisors of frequencies are data, not metadata: llama.cpp keeps Llama 3's and LongRoPE's in small tensors."""
    readable = key.startswith("rope_") and len(tensor.shape) == 1 and tensor.shape[0] <= _KEPT_NUMBERS
    if not readable or tensor.ggml_type not in _FLOATS or window.size is None:
        return tensor
    code = _FLOATS[tensor.ggml_type]
    window.stream.seek(data_start + tensor.offset)
    raw = window.stream.read(tensor.shape[0] * struct.calcsize(order + code))
    values = struct.unpack(f"{order}{tensor.shape[0]}{code}", raw)
    return Tensor(tensor.shape, tensor.ggml_type, tensor.offset, tuple(float(value) for value in values))
