"""`LogicNetwork`: layers in a row, and the two files they are kept in.

A network of the name `net.json` is two files: `net.json` says which layers of which settings, `net.safetensors` holds
parameters and wirings. The first names the schema's version and the second's hash, so that files that do not belong together
are refused.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from ordinate.atomic_io import atomic_files
from ordinate.errors import ArgumentError, ArgumentTypeError, DataError, MissingDataError
from ordinate.logic.circuit.files import read_json
from ordinate.logic.network.layers import GroupSum, LogicConv2d, LogicDense, OrPooling2d, Thresholds
from ordinate.logic.network.lut_layer import LutDense
from ordinate.safetensors_io import read_tensors, write_tensors

__all__ = ["NETWORK_SCHEMA", "LogicNetwork"]

NETWORK_SCHEMA = 1
"""Version of the JSON that describes a network."""


class LogicNetwork(nn.Sequential):
    """Layers in a row: thresholds, logic layers, poolings, and a `GroupSum` at the end.

    Args:
        layers: from input to scores; `nn.Flatten` and `nn.Unflatten` may stand between them.

    Attributes:
        notes: what travels along in its file: the `labels` of the classes, the columns of a table.

    Raises:
        ArgumentError: no layer.
        ArgumentTypeError: something that is no module.

    >>> network = LogicNetwork(LogicDense(8, 20, seed=1), LogicDense(20, 10, seed=2), GroupSum(2, tau=2.0)).eval()
    >>> network(torch.zeros(3, 8)).shape, network.num_gates
    (torch.Size([3, 2]), 30)
    """

    def __init__(self, *layers: nn.Module) -> None:
        if not layers:
            raise ArgumentError("layers", expected="at least one layer", got="none")
        for place, layer in enumerate(layers):
            if not isinstance(layer, nn.Module):
                raise ArgumentTypeError(f"layers[{place}]", expected="a module", got=repr(layer))
        super().__init__(*layers)
        self.notes: dict[str, Any] = {}

    @property
    def num_gates(self) -> int:
        """Learned gates and tables; those of a convolution are counted once a kernel, not once a place."""
        return sum(
            layer.num_gates_per_place if isinstance(layer, LogicConv2d) else layer.out_features
            for layer in self
            if isinstance(layer, LogicDense | LogicConv2d | LutDense)
        )

    @torch.no_grad()
    def predict(self, x: Tensor) -> Tensor:
        """The class of the largest score of the discrete network, int64 (...); the first of equals."""
        was_training = self.training
        self.eval()
        classes = self(x).argmax(-1)
        self.train(was_training)
        return classes

    def save(self, path: str | Path) -> None:
        """Write `path` (JSON) and, beside it, the tensors (`.safetensors`).

        Args:
            path: ends in `.json`.

        Raises:
            ArgumentError: another ending, or a layer that cannot be written.
            OutputError: a place that cannot be written to.
        """
        path = _json_path(path)
        layers = [{"kind": type(layer).__name__, "settings": _settings(layer)} for layer in self]
        tensors = path.with_suffix(".safetensors")
        with atomic_files(path.parent) as staging:
            draft = staging / tensors.name
            write_tensors(draft, self.state_dict(), {"format": "pt", "ordinate_logic_network": str(NETWORK_SCHEMA)})
            record = {
                "schema": "ordinate.logic.network",
                "version": NETWORK_SCHEMA,
                "layers": layers,
                "tensors": tensors.name,
                "sha256": hashlib.sha256(draft.read_bytes()).hexdigest(),
                **({"notes": self.notes} if self.notes else {}),
            }
            (staging / path.name).write_text(json.dumps(record, indent=1, allow_nan=False) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: str | Path) -> LogicNetwork:
        """A network as it was saved: the same settings, the same bits of every tensor, in evaluation.

        Raises:
            MissingDataError: no such file, or its tensors are not beside it.
            DataError: damaged files, another schema or version, tensors of another network.
        """
        path = _json_path(path)
        record = _read_record(path)
        tensors = path.with_name(record["tensors"])
        if not tensors.is_file():
            raise MissingDataError(
                str(tensors), expected=f"the tensors of {path.name}", got="no such file", hint="keep both files in one folder"
            )
        if hashlib.sha256(tensors.read_bytes()).hexdigest() != record["sha256"]:
            raise DataError(str(tensors), expected=f"the file that {path.name} was saved with", got="another hash")
        state, _ = read_tensors(tensors)
        most = sum(tensor.numel() for tensor in state.values())
        try:
            network = cls(*(_layer(layer, most) for layer in record["layers"]))
            network.load_state_dict(state)
            network.notes = dict(record.get("notes", {}))
        except (KeyError, TypeError, ValueError, RuntimeError, AttributeError, OverflowError, MemoryError) as error:
            raise DataError(str(path), expected="layers that fit their tensors", got=str(error).splitlines()[0]) from None
        return network.eval()


def _json_path(path: str | Path) -> Path:
    path = Path(path)
    if path.suffix != ".json":
        raise ArgumentError("path", expected="a name that ends in .json", got=str(path), hint="the tensors get .safetensors")
    return path


def _read_record(path: Path) -> dict[str, Any]:
    record = read_json(path, "a saved network")
    if not isinstance(record, dict) or record.get("schema") != "ordinate.logic.network":
        raise DataError(str(path), expected="a file of schema ordinate.logic.network", got="another file")
    if record.get("version") != NETWORK_SCHEMA:
        raise DataError(
            str(path), expected=f"version {NETWORK_SCHEMA}", got=record.get("version"), hint="use the ordinate that saved it"
        )
    if not all(isinstance(record.get(key), kind) for key, kind in (("layers", list), ("tensors", str), ("sha256", str))):
        raise DataError(str(path), expected="layers, tensors and sha256", got="some are missing")
    if not record["tensors"] or Path(record["tensors"]).name != record["tensors"]:
        raise DataError(str(path), expected="tensors in a file beside it", got=record["tensors"])
    return record


def _settings(layer: nn.Module) -> dict[str, Any]:
    if isinstance(layer, nn.Flatten):
        return {"start_dim": layer.start_dim, "end_dim": layer.end_dim}
    if isinstance(layer, nn.Unflatten):
        return {"dim": layer.dim, "unflattened_size": list(layer.unflattened_size)}
    if isinstance(layer, LogicDense | LutDense | LogicConv2d | OrPooling2d | GroupSum | Thresholds):
        return layer.settings()
    raise ArgumentError("layers", expected="layers of ordinate.logic, Flatten or Unflatten", got=type(layer).__name__)


def _layer(record: dict[str, Any], most: int) -> nn.Module:
    """The layer of a record, without its tensors; nothing larger than `most`, the numbers in the file, is allocated."""
    kind, settings = record["kind"], dict(record["settings"])
    sizes = [settings.get("out_features", 1), settings.get("out_channels", 1), *(settings.get("values") or ())]
    if not all(isinstance(size, int) and 0 < size <= most for size in sizes) or not 0 < settings.get("depth", 1) < 32:
        raise ValueError(f"{kind} of sizes {sizes}, more than its tensors hold")
    field = settings.get("in_channels", 1) * settings.get("receptive_field", 1) ** 2
    if not (field <= 2**24 and field * settings.get("out_channels", 1) <= 2**30):
        raise ValueError(f"{kind} with receptive fields of {field} signals, more than its tensors hold")
    if kind in ("LogicDense", "LutDense"):
        wiring, reads = settings["wiring"], settings.get("k", 2)
        if wiring != "learned":  # the state dict has the wiring itself
            settings["wiring"] = torch.zeros(reads, settings["out_features"], dtype=torch.int64)
        layer = (LogicDense if kind == "LogicDense" else LutDense)(**settings)
        if isinstance(layer, LutDense):
            layer._settings["wiring"] = wiring
        else:
            layer._wiring_name = wiring
        return layer
    if kind == "Thresholds":
        return Thresholds._blank(settings)
    if kind == "Unflatten":
        return nn.Unflatten(settings["dim"], tuple(settings["unflattened_size"]))
    kinds = {"LogicConv2d": LogicConv2d, "OrPooling2d": OrPooling2d, "GroupSum": GroupSum, "Flatten": nn.Flatten}
    return kinds[kind](**settings)
