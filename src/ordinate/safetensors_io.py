"""Files of tensors in the safetensors format, opened lazily: bytes are mapped, and read when a tensor is asked for.

Checkpoints, saved caches and logic networks are kept in such files. Format: https://github.com/huggingface/safetensors.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from ordinate.atomic_io import atomic_write, output_error
from ordinate.errors import DataError, MissingDataError

__all__ = ["open_tensors", "read_tensors", "write_tensors"]


def open_tensors(path: str | Path) -> Any:
    """An open safetensors file (`keys()`, `get_slice(name)`, `get_tensor(name)`, `metadata()`); its tensors are memory-mapped.

    Raises:
        MissingDataError: no such file.
        DataError: a truncated file, or one of another format.
    """
    if not Path(path).is_file():
        raise MissingDataError(str(path), expected="a safetensors file", got="none")
    try:
        return safe_open(str(path), framework="pt")
    except (SafetensorError, OSError, ValueError) as error:
        raise DataError(str(path), expected="a complete safetensors file", got=f"one that cannot be read ({error})") from error


def read_tensors(path: str | Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Every tensor of a file, and its metadata. Raises as `open_tensors`."""
    file = open_tensors(path)
    return {name: file.get_tensor(name) for name in file.keys()}, file.metadata() or {}  # noqa: SIM118 (not a dict)


def write_tensors(path: str | Path, tensors: Mapping[str, Tensor], metadata: Mapping[str, str], *, name: str = "path") -> None:
    """Write tensors and metadata; the file is complete or unchanged, and equal content gives equal bytes.

    Args:
        path: where the file goes.
        tensors: by name; each is made contiguous first.
        metadata: text by name.
        name: the argument or option that the message should name.

    Raises:
        OutputError: the file cannot be written.

    >>> import tempfile, torch
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_tensors(f"{folder}/a.safetensors", {"weight": torch.ones(2)}, {"format": "pt"})
    ...     read_tensors(f"{folder}/a.safetensors")
    ({'weight': tensor([1., 1.])}, {'format': 'pt'})
    """
    contiguous = {key: tensor.contiguous() for key, tensor in tensors.items()}

    def write(draft: Path) -> None:
        try:
            save_file(contiguous, str(draft), metadata=dict(metadata))
            _sort_metadata(draft)
        except SafetensorError as error:
            raise output_error(path, error, name=name) from error

    atomic_write(path, write, name=name)


def _sort_metadata(path: Path) -> None:
    """Put a file's metadata in the order of their names: the library writes them in another order each time."""
    with path.open("r+b") as file:
        length = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(length))
        header["__metadata__"] = dict(sorted(header.get("__metadata__", {}).items()))
        text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
        if len(text) <= length:  # the format allows spaces behind the header
            file.seek(8)
            file.write(text.ljust(length))
