"""A Hugging Face folder of a Llama, Mistral, Qwen2 or Qwen3 model, as what a `Decoder` with the same numbers is made of.

What the config says about position (frequencies, their scaling, windows, heads) is read by `ordinate.inspection`; the sizes of
the rest are read here. Every tensor is looked at before one is loaded, and all that is wrong is named in one error.
Sources: Touvron et al. 2023, arXiv 2302.13971; Jiang et al. 2023, arXiv 2310.06825; Yang et al. 2024, arXiv 2407.10671.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ordinate.errors import DataError, MissingDataError, RefusedError
from ordinate.inspection import inspect_config
from ordinate.position import build
from ordinate.safetensors_io import open_tensors

__all__ = ["Checkpoint", "TensorFolder", "open_checkpoint"]


@dataclass(frozen=True)
class _Family:
    """What a family's code fixes and its configs do not say: which projections have a bias, whether heads are normalised.

    A bias is True, False, or the name of the key that says so.
    """

    bias: bool | str
    output_bias: bool | str
    feed_forward_bias: bool | str
    query_key_norm: bool = False


_FAMILIES = {
    "llama": _Family("attention_bias", "attention_bias", "mlp_bias"),
    "mistral": _Family(False, False, False),
    "qwen2": _Family(True, False, False),
    "qwen3": _Family("attention_bias", "attention_bias", False, query_key_norm=True),
}

_STORED = {"F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16}

_HARMLESS = re.compile(r"\.rotary_emb\.inv_freq$")  # tables that old Llama checkpoints carry along


class TensorFolder:
    """Every tensor of a folder by its name, whichever of its safetensors files it is in.

    Files are mapped into memory: shapes come from headers, and bytes are read when a tensor is asked for, so a model is never
    in memory twice. A folder has `model.safetensors`, or several files with `model.safetensors.index.json` (Hugging Face).

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
            contents = {name: set(file.keys()) for name, file in files.items()}
            lost = [name for name, shard in where.items() if name not in contents[shard]]
            if lost:
                raise DataError(
                    str(index),
                    expected="an index whose files have the tensors it says",
                    got=f"none of the name {', '.join(sorted(lost))}",
                    hint="fetch the folder again: index and files are of different checkpoints",
                )
            for shard, names in contents.items():
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
            weight_map: Any = json.loads(index.read_text())["weight_map"]
            where = {str(name): str(shard) for name, shard in weight_map.items()}
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


class Checkpoint:
    """A folder of a model: what the decoder's arguments are, and the tensors that fill it.

    Args:
        settings: arguments of `ordinate.attention.Decoder`.
        tensors: of the folder.
    """

    def __init__(self, settings: dict[str, Any], tensors: TensorFolder) -> None:
        self.settings, self.tensors = settings, tensors

    @property
    def dtype(self) -> torch.dtype:
        """As the parameters are stored."""
        return _STORED[self.tensors.kind("model.embed_tokens.weight")]

    def check(self, model: Any) -> None:
        """Raise unless the folder has the tensors that `model` needs, and no others, in the right shapes.

        Raises:
            DataError: it does not; everything that is wrong is named.
        """
        expected = {name: shape for _, parts in _origins(model) for name, shape in parts}
        _check_tensors(self.tensors, expected, tied=model.head is None)

    def fill(self, model: Any) -> None:
        """Copy the tensors into the parameters of a checked `model`."""
        parameters = dict(model.named_parameters())
        with torch.no_grad():
            for parameter, parts in _origins(model):
                row = 0
                for name, shape in parts:
                    parameters[parameter][row : row + shape[0]] = self.tensors.tensor(name)
                    row += shape[0]
        if model.head is None and "lm_head.weight" in self.tensors.names:
            _check_tied(model.embedding.weight, self.tensors.tensor("lm_head.weight"), self.tensors.directory)


def open_checkpoint(directory: str | Path) -> Checkpoint:
    """The checkpoint in a folder with config.json and safetensors files; no tensor is read yet. Raises as `from_pretrained`."""
    directory = Path(directory)
    path = directory / "config.json"
    if not path.is_file():
        raise MissingDataError(
            str(directory), expected="a folder with config.json", got="none", hint="pass the folder, not one of its files"
        )
    return Checkpoint(_settings(_config(path), str(path)), TensorFolder(directory))


def _config(path: Path) -> Mapping[str, Any]:
    from ordinate.inspection.files import read_document

    config = read_document(path).config
    if config is None:
        raise DataError(str(path), expected="a JSON config", got="another format", hint="pass a Hugging Face folder")
    return config


def _settings(config: Mapping[str, Any], where: str) -> dict[str, Any]:
    """The arguments of the `Decoder` that a config describes."""
    kind = config.get("model_type")
    family = _FAMILIES.get(kind) if isinstance(kind, str) else None
    if family is None:
        raise RefusedError("model_type", expected=f"one of {sorted(_FAMILIES)}", got=kind, hint="other families differ in code")
    if config.get("quantization_config"):
        raise RefusedError(
            "quantization_config", expected="tensors of plain numbers", got="a quantised model", hint="take the full one"
        )
    if config.get("hidden_act", "silu") != "silu":
        raise RefusedError("hidden_act", expected="'silu'", got=config["hidden_act"], hint="SwiGLU is what Decoder has")

    seen = inspect_config(dict(config), name=where)
    wrong = [finding for finding in seen.findings if finding.severity == "error"]
    if wrong:
        raise DataError(where, expected="a config that can be meant", got=wrong[0].message, hint=wrong[0].hint)
    if seen.spec is None or any(layer.spec != seen.spec for layer in seen.layers):
        raise RefusedError(
            where, expected="one position encoding for all layers", got=f"{seen.kind}", hint="see ordinate inspect"
        )
    scaling, attention = seen.spec.scaling, seen.layers[0].attention
    windows = {index: layer.window_keys.value for layer in seen.layers for index in layer.indices}
    head_dim = attention.head_dim.value
    softmax_factor = 1.0 if scaling is None else scaling.softmax_factor
    return {
        "vocabulary": _size(config, "vocab_size", where),
        "dim": _size(config, "hidden_size", where),
        "hidden_dim": _size(config, "intermediate_size", where),
        "num_layers": _size(config, "num_hidden_layers", where),
        "num_heads": attention.num_heads.value,
        "num_key_value_heads": attention.num_kv_heads.value,
        "head_dim": head_dim,
        "encoding": build(seen.spec),
        "windows": [windows[index] for index in sorted(windows)],
        "norm_eps": float(config.get("rms_norm_eps", 1e-6)),
        "bias": _flag(config, family.bias),
        "output_bias": _flag(config, family.output_bias),
        "feed_forward_bias": _flag(config, family.feed_forward_bias),
        "query_key_norm": family.query_key_norm,
        "scale": None if softmax_factor == 1 else softmax_factor / head_dim**0.5,
        "tied": bool(config.get("tie_word_embeddings", False)),
    }


def _size(config: Mapping[str, Any], key: str, where: str) -> int:
    size = config.get(key)
    if isinstance(size, bool) or not isinstance(size, int) or size < 1:
        raise DataError(where, expected=f"a positive whole number {key}", got=size, hint="fetch the config again")
    return size


def _flag(config: Mapping[str, Any], key: bool | str) -> bool:
    return bool(config.get(key, False)) if isinstance(key, str) else key


def _origins(model: Any) -> Iterator[tuple[str, Iterator[tuple[str, tuple[int, ...]]]]]:
    """For each parameter of a `Decoder`, the tensors whose rows it is made of, in order, each with its shape."""
    for ours, parameter in model.named_parameters():
        yield ours, _parts(model, ours, tuple(parameter.shape))


_NAMES = {
    "embedding": "model.embed_tokens",
    "norm": "model.norm",
    "head": "lm_head",
    "attention_norm": "input_layernorm",
    "feed_forward_norm": "post_attention_layernorm",
    "attention.output": "self_attn.o_proj",
    "attention.query_norm": "self_attn.q_norm",
    "attention.key_norm": "self_attn.k_norm",
    "feed_forward.down": "mlp.down_proj",
}


def _parts(model: Any, ours: str, shape: tuple[int, ...]) -> Iterator[tuple[str, tuple[int, ...]]]:
    module, kind = ours.rsplit(".", 1)
    prefix = ""
    if module.startswith("blocks."):
        _, number, module = module.split(".", 2)
        prefix = f"model.layers.{number}."
    if module == "attention.query_key_value":
        attention: Any = model.blocks[0].attention
        wide, narrow = attention.num_heads * attention.head_dim, attention.num_key_value_heads * attention.head_dim
        for letter, rows in (("q", wide), ("k", narrow), ("v", narrow)):
            yield f"{prefix}self_attn.{letter}_proj.{kind}", (rows, *shape[1:])
    elif module == "feed_forward.gate_up":
        for name in ("gate", "up"):
            yield f"{prefix}mlp.{name}_proj.{kind}", (shape[0] // 2, *shape[1:])
    else:
        yield f"{prefix}{_NAMES[module]}.{kind}", shape


def _check_tensors(tensors: TensorFolder, expected: Mapping[str, tuple[int, ...]], *, tied: bool) -> None:
    present = {name: tensors.shape(name) for name in tensors.names if not _HARMLESS.search(name)}
    if tied:
        present.pop("lm_head.weight", None)
    wrong = []
    if missing := [name for name in expected if name not in present]:
        wrong.append("missing " + ", ".join(missing))
    if extra := [name for name in present if name not in expected]:
        wrong.append("unexpected " + ", ".join(extra))
    both = [name for name in expected if name in present]
    if misshapen := [name for name in both if present[name] != expected[name]]:
        wrong.append("misshapen " + ", ".join(f"{name} {list(present[name])} for {list(expected[name])}" for name in misshapen))
    if coded := [name for name in both if tensors.kind(name) not in _STORED]:
        wrong.append("not of plain numbers " + ", ".join(f"{name} {tensors.kind(name)}" for name in coded))
    if wrong:
        raise DataError(
            str(tensors.directory),
            expected=f"the {len(expected)} tensors that its config.json describes",
            got="; ".join(wrong),
            hint="config and tensors must belong to one another",
        )


def _check_tied(embedding: Tensor, head: Tensor, directory: Path) -> None:
    if head.shape != embedding.shape or not torch.equal(head.to(embedding), embedding):
        raise DataError(
            str(directory),
            expected="an lm_head.weight equal to the embedding, since tie_word_embeddings is true",
            got="another",
            hint="set tie_word_embeddings to false if the model has a head of its own",
        )
