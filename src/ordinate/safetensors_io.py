"""Files of tensors in the safetensors format, opened lazily: bytes are mapped, and read when a tensor is asked for.

They stand on the ground floor because checkpoints, saved caches and logic networks are all kept in such files.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from ordinate.errors import DataError, MissingDataError, OutputError

__all__ = ["open_tensors", "read_tensors", "write_tensors"]


def open_tensors(path: str | Path) -> Any:
    """An open safetensors file (`keys()`, `get_slice(name)`, `get_tensor(name)`, `metadata()`); its tensors are memory-mapped.

    Raises:
        MissingDataError: no such file.
        DataError: a truncated file, or one of another format.
    """
    if not Path(path).is_file():
        raise MissingDataError(str(path), expected="a safetensors file", got="none", hint="look at the path")
    try:
        return safe_open(str(path), framework="pt")
    except (SafetensorError, OSError, ValueError) as error:
        raise DataError(
            str(path), expected="a whole safetensors file", got=f"one that cannot be read ({error})", hint="fetch it again"
        ) from error


def read_tensors(path: str | Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Every tensor of a file, and its metadata. Raises as `open_tensors`."""
    file = open_tensors(path)
    return {name: file.get_tensor(name) for name in file.keys()}, file.metadata() or {}  # noqa: SIM118 (not a dict)


def write_tensors(path: str | Path, tensors: Mapping[str, Tensor], metadata: Mapping[str, str]) -> None:
    """Write tensors, made contiguous, and metadata.

    Raises:
        OutputError: a place that cannot be written to.
    """
    try:
        save_file({name: tensor.contiguous() for name, tensor in tensors.items()}, str(path), metadata=dict(metadata))
    except (OSError, SafetensorError) as error:
        raise OutputError(str(path), expected="a place for a file", got=str(error), hint="make its folder first") from error
