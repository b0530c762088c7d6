"""A cache as one safetensors file: keys and values of the tokens held, their positions, and the settings as JSON metadata."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ordinate.attention.ledger import Ledger
from ordinate.errors import DataError
from ordinate.safetensors_io import read_tensors, write_tensors

__all__ = ["load", "save"]

_NAME = "ordinate.KVCache"


def save(path: str | Path, keys: Sequence[Tensor], values: Sequence[Tensor], ledger: Ledger, growing: bool) -> None:
    """Write what a cache holds; slots that are empty in every row are left out."""
    held = min(max(ledger.counts), ledger.capacity)
    tensors = {
        name: torch.stack([layer[:, :, :held] for layer in layers]) for name, layers in (("keys", keys), ("values", values))
    }
    if ledger.positions is not None and ledger.last is not None:
        tensors |= {"positions": ledger.positions[:, :held], "last": ledger.last}
    told = {
        "capacity": None if ledger.window_keys else ledger.capacity,
        "window_keys": ledger.window_keys,
        "sink_keys": ledger.sink_keys,
        "axes": ledger.axes,
        "growing": growing,
        "counts": ledger.counts,
    }
    write_tensors(path, tensors, {_NAME: json.dumps(told)})


def load(path: str | Path) -> tuple[dict[str, Any], dict[str, Tensor], list[int]]:
    """Settings for a `KVCache`, its tensors, and the counts of its rows. Raises as `KVCache.load`."""
    tensors, metadata = read_tensors(path)
    try:
        told = json.loads(metadata[_NAME])
        keys, values, counts = tensors["keys"], tensors["values"], told.pop("counts")
    except (KeyError, ValueError) as error:
        raise DataError(
            str(path), expected="a file that KVCache.save wrote", got=f"one without {error}", hint="models go to Decoder"
        ) from error
    sizes = {"num_layers": keys.shape[0], "batch": keys.shape[1], "num_key_value_heads": keys.shape[2]}
    return told | sizes | {"head_dim": keys.shape[4], "value_dim": values.shape[4], "dtype": keys.dtype}, tensors, counts
