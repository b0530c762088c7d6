"""The tensors of a checkpoint folder by their names, whichever of its safetensors files they are in.

Files are mapped into memory: shapes come from headers, and bytes are read when a tensor is asked for, so a model never stands
in memory twice. Layout of a folder: `model.safetensors`, or several files with `model.safetensors.index.json` (Hugging Face).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from torch import Tensor

from ordinate.errors import DataError, MissingDataError
from ordinate.safetensors_io import open_tensors

__all__ = ["Shards"]


class Shards:
    """Every tensor of a folder: `names`, `shape(name)`, `tensor(name)`.

    Raises:
        MissingDataError: no safetensors file, or one that the index names is not there.
        DataError: a truncated file, an index that cannot be read or that names a tensor its file does not have.
    """

    def __init__(self, directory: str | Path) -> None:
        self.directory = Path(directory)
        index = self.directory / "model.safetensors.index.json"
        single = self.directory / "model.safetensors"
        if index.is_file():
            where = self._weight_map(index)
            files = {name: open_tensors(self.directory / name) for name in sorted(set(where.values()))}
            self._files = {name: files[where[name]] for name in sorted(where)}
            held = {name: set(file.keys()) for name, file in files.items()}
            lost = [name for name, shard in where.items() if name not in held[shard]]
            if lost:
                raise DataError(
                    str(index),
                    expected="an index whose files have the tensors it says",
                    got=f"none of the name {', '.join(sorted(lost))}",
                    hint="fetch the folder again: index and files are of different checkpoints",
                )
            for shard, names in held.items():
                for name in names - set(where):
                    self._files[name] = files[shard]
        elif single.is_file():
            file = open_tensors(single)
            self._files = dict.fromkeys(sorted(file.keys()), file)
        else:
            other = sorted(path.name for path in self.directory.glob("*.bin"))
            raise MissingDataError(
                str(self.directory),
                expected="model.safetensors, or model.safetensors.index.json and its files",
                got=f"{', '.join(other)}, which are pickles" if other else "neither",
                hint="convert pickles with save_pretrained of transformers" if other else "look at the path",
            )

    @property
    def names(self) -> list[str]:
        """Of every tensor, in order."""
        return list(self._files)

    def shape(self, name: str) -> tuple[int, ...]:
        """Of one tensor, from the header."""
        return tuple(self._files[name].get_slice(name).get_shape())

    def kind(self, name: str) -> str:
        """How numbers are stored: "F32", "BF16", "I8", ..."""
        return str(self._files[name].get_slice(name).get_dtype())

    def tensor(self, name: str) -> Tensor:
        """One tensor, backed by the mapped file."""
        tensor: Tensor = self._files[name].get_tensor(name)
        return tensor

    def _weight_map(self, index: Path) -> dict[str, str]:
        try:
            told: Any = json.loads(index.read_text())["weight_map"]
            where = {str(name): str(shard) for name, shard in told.items()}
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise DataError(
                str(index), expected="JSON with a weight_map", got=f"none ({error})", hint="fetch it again"
            ) from error
        outside = sorted(shard for shard in set(where.values()) if Path(shard).name != shard)
        if outside:
            raise DataError(
                str(index), expected="files in this folder", got=", ".join(outside), hint="do not trust this folder"
            )
        return where
