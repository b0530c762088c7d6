"""What kind of file somebody passed, in words, for messages that name the file instead of what a parser stumbled over.

The first bytes decide, for text the first character and the name of the file; nothing is parsed.
"""

from __future__ import annotations

from pathlib import Path

__all__ = ["kind_of_bytes", "kind_of_file"]

_MAGIC = {
    b"GGUF": "a GGUF file",
    b"\x93NUMPY": "a NumPy array (.npy)",
    b"\x89HDF\r\n\x1a\n": "an HDF5 file",
    b"PAR1": "a Parquet file",
    b"ARROW1": "a Feather file",
    b"PK\x03\x04": "a zip archive",
    b"7z\xbc\xaf\x27\x1c": "a 7z archive",
    b"BZh": "a bzip2 file",
    b"\xfd7zXZ\x00": "an xz file",
    b"\x28\xb5\x2f\xfd": "a zstandard file",
    b"SQLite format 3\x00": "a SQLite database",
    b"\x7fELF": "a compiled program",
    b"\x1f\x8b": "a gzip file",
    b"%PDF": "a PDF",
    b"\x89PNG": "a picture",
    b"\xff\xd8\xff": "a picture",
    b"BC\xc0\xde": "LLVM bitcode",
    **{bytes((0x80, protocol)): "a pickle" for protocol in range(2, 6)},
}
_SUFFIXES = {
    ".csv": "a table (csv)",
    ".tsv": "a table (tsv)",
    ".py": "a Python file",
    ".onnx": "an ONNX model",
    ".pt": "a PyTorch file",
    ".pth": "a PyTorch file",
    ".xlsx": "an Excel workbook",
}
"""What the name says where the first bytes do not, or say less."""


def kind_of_bytes(start: bytes, suffix: str = "") -> str | None:
    """What a file that begins so is, or None where its beginning says nothing.

    Args:
        start: the first bytes, 64 or more where there are so many.
        suffix: of the file's name, with its dot; of text it decides between the kinds of tables.

    >>> kind_of_bytes(b"\\x93NUMPY\\x01")
    'a NumPy array (.npy)'
    >>> kind_of_bytes((72).to_bytes(8, "little") + b'{"a": {}}')
    'a safetensors file'
    """
    for magic, kind in _MAGIC.items():
        if start.startswith(magic):
            return _SUFFIXES.get(suffix, kind) if kind in ("a zip archive", "a pickle") else kind
    if len(start) > 8 and start[8:9] == b"{" and int.from_bytes(start[:8], "little") < 2**30:
        return "a safetensors file"
    text = start.lstrip(b"\xef\xbb\xbf \t\r\n")
    if text.startswith(b"<"):
        return "GraphML" if suffix == ".graphml" or b"graphml" in start.lower() else "XML or HTML"
    if text.startswith((b"{", b"[")):
        return "JSON"
    if suffix in (".txt", ".yaml", ".yml", ".toml", ".md", ".ini"):
        return f"a text file ({suffix})"
    if suffix in _SUFFIXES:
        return _SUFFIXES[suffix]
    return "a binary file of an unknown kind" if b"\0" in start and not start.startswith((b"\xff\xfe", b"\xfe\xff")) else None


def kind_of_file(path: Path) -> str | None:
    """What the file or folder at a path is, or None where it cannot be said."""
    if path.is_dir():
        return "a folder"
    try:
        with path.open("rb") as stream:
            return kind_of_bytes(stream.read(256), path.suffix.lower())
    except OSError:
        return None
