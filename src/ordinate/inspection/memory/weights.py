"""Bytes of a model's weights, summed from headers: safetensors, sharded or not, and GGUF, split or not. No weight is read.

Formats: https://github.com/huggingface/safetensors (eight bytes of length, then JSON); the GGUF specification, and the block
sizes of ggml.c (ggml-org/llama.cpp, mid-2026).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ordinate.errors import ArgumentError, DataError, MissingDataError
from ordinate.inspection.files import Document, read_document
from ordinate.inspection.gguf_header import Header

__all__ = ["GGML_TYPES", "HOST", "Places", "Weights", "mapped_places", "split_places", "weights_beside"]

STEMS = ("model", "diffusion_pytorch_model")  # as transformers and diffusers call them
HEADER_LIMIT = 100 * 2**20  # what the format itself allows

SAFETENSORS_BYTES = {
    "F64": 8,
    "I64": 8,
    "U64": 8,
    "C64": 8,
    "F32": 4,
    "I32": 4,
    "U32": 4,
    "F16": 2,
    "BF16": 2,
    "I16": 2,
    "U16": 2,
    "I8": 1,
    "U8": 1,
    "BOOL": 1,
    "F8_E4M3": 1,
    "F8_E5M2": 1,
    "F8_E8M0": 1,
}

GGML_TYPES: dict[int, tuple[str, int, int]] = {
    0: ("F32", 1, 4),
    1: ("F16", 1, 2),
    2: ("Q4_0", 32, 18),
    3: ("Q4_1", 32, 20),
    6: ("Q5_0", 32, 22),
    7: ("Q5_1", 32, 24),
    8: ("Q8_0", 32, 34),
    9: ("Q8_1", 32, 40),
    10: ("Q2_K", 256, 84),
    11: ("Q3_K", 256, 110),
    12: ("Q4_K", 256, 144),
    13: ("Q5_K", 256, 176),
    14: ("Q6_K", 256, 210),
    15: ("Q8_K", 256, 292),
    16: ("IQ2_XXS", 256, 66),
    17: ("IQ2_XS", 256, 74),
    18: ("IQ3_XXS", 256, 98),
    19: ("IQ1_S", 256, 50),
    20: ("IQ4_NL", 32, 18),
    21: ("IQ3_S", 256, 110),
    22: ("IQ2_S", 256, 82),
    23: ("IQ4_XS", 256, 136),
    24: ("I8", 1, 1),
    25: ("I16", 1, 2),
    26: ("I32", 1, 4),
    27: ("I64", 1, 8),
    28: ("F64", 1, 8),
    29: ("IQ1_M", 256, 56),
    30: ("BF16", 1, 2),
    34: ("TQ1_0", 256, 54),
    35: ("TQ2_0", 256, 66),
    39: ("MXFP4", 32, 17),
}
"""ggml's types: name, numbers in a block, bytes of a block."""


@dataclass(frozen=True)
class Weights:
    """The weights of a model.

    Args:
        total: bytes.
        numbers: how many numbers they hold.
        by_type: bytes by type of tensor.
        by_group: bytes by part of the model, where the names of tensors tell it.
        files: how many files hold them.
        tied: whether the output reads the embedding's table, so that it counts once.
        tensors: bytes of every tensor.
    """

    total: int
    numbers: int
    by_type: Mapping[str, int]
    by_group: Mapping[str, int]
    files: int
    tied: bool
    tensors: Mapping[str, int] = field(default_factory=dict, repr=False)

    @property
    def layers(self) -> int:
        """How many layers the names of tensors count."""
        return max((layer for name in self.tensors if (layer := _layer_of(name)) is not None), default=-1) + 1

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types."""
        return {
            "bytes": self.total,
            "numbers": self.numbers,
            "by_type": dict(self.by_type),
            "by_group": dict(self.by_group),
            "files": self.files,
            "tied": self.tied,
        }


@dataclass(frozen=True)
class Places:
    """Where a model's parts lie, when not all of it is on one device.

    Args:
        sizes: bytes of weights by place: "GPU", "GPU 1", "CPU", "disk".
        layers: the place of each layer, and so of its cache.
        work: where logits and activations are.
    """

    sizes: Mapping[str, int]
    layers: Mapping[int, str]
    work: str


HOST = ("CPU", "disk")
"""Places that are no accelerator's memory."""


def split_places(weights: Weights, gpu_layers: int, cpu_moe: int) -> Places:
    """llama.cpp's division: the last layers on the GPU (`--gpu-layers`), experts of the first on the CPU (`--n-cpu-moe`).

    Input embeddings stay on the CPU; the output counts as one layer more, the first that moves, and where it reads the
    embedding's table, that is copied (src/llama-model.cpp and src/llama-model-loader.cpp, read at commit 0c1e570).
    """
    count = weights.layers
    first = max(count + 1 - gpu_layers, 0)
    sizes = dict.fromkeys(("GPU", "CPU"), 0)
    for name, size in weights.tensors.items():
        group, layer = _group_of(name), _layer_of(name)
        if layer is None:
            host = (
                first > count
                or group == "embedding"
                or name.startswith(("per_layer_token_embd", "position_embd", "token_types"))
            )
        else:
            host = layer < first or (group == "experts" and layer < cpu_moe)
        sizes["CPU" if host else "GPU"] += size
    if weights.tied and first <= count:
        sizes["GPU"] += weights.by_group.get("embedding", 0)
    places = {layer: "CPU" if layer < first else "GPU" for layer in range(count)}
    return Places(sizes, places, "GPU" if gpu_layers else "CPU")


def mapped_places(weights: Weights, device_map: Mapping[str, Any]) -> Places:
    """As a map of modules to devices says (transformers' `model.hf_device_map`): the longest name that fits decides.

    Raises:
        ArgumentError: a tensor that no entry covers.
    """
    names = {name: _place(device) for name, device in device_map.items()}
    sizes: dict[str, int] = {}
    layers: dict[int, str] = {}
    for name, size in weights.tensors.items():
        parts = name.split(".")
        module = next((key for n in range(len(parts), -1, -1) if (key := ".".join(parts[:n])) in names), None)
        if module is None:
            raise ArgumentError("device_map", expected="a device for each module", got=f"none for {name}")
        sizes[names[module]] = sizes.get(names[module], 0) + size
        layer = _layer_of(name)
        if layer is not None:
            layers.setdefault(layer, names[module])
    return Places(sizes, layers, next((place for place in names.values() if place not in HOST), "CPU"))


def _place(device: Any) -> str:
    text = str(device).lower().removeprefix("cuda:").removeprefix("xpu:")
    return f"GPU {text}" if text.isdigit() else {"cpu": "CPU", "disk": "disk", "cuda": "GPU 0"}.get(text, text)


def weights_beside(document: Document) -> Weights | None:
    """The weights that a document's file holds, or that lie beside its config; None where there are none.

    Args:
        document: what `read_document` gave.

    Raises:
        MissingDataError: a shard or a file of a split model that is not there.
        DataError: a file that is no safetensors or GGUF file, or an index that names tensors no shard has.
    """
    if document.header is not None:
        return _gguf(document.header, document.path)
    if document.path is None:
        return None
    folder = document.path.parent
    for stem in STEMS:
        index, single = folder / f"{stem}.safetensors.index.json", folder / f"{stem}.safetensors"
        if index.is_file():
            return _sharded(index)
        if single.is_file():
            return _sum([single])
    return None


def _sharded(index: Path) -> Weights:
    try:
        listed = json.loads(index.read_text(encoding="utf-8"))["weight_map"]
        shards = {str(shard) for shard in listed.values()}
    except (ValueError, KeyError, TypeError, AttributeError):
        raise DataError(str(index), expected="an index with a weight_map of tensor names to files", got="none") from None
    paths = [index.parent / shard for shard in sorted(shards)]
    absent = [path.name for path in paths if not path.is_file()]
    if absent:
        names = ", ".join(absent[:3]) + (f" and {len(absent) - 3} more" if len(absent) > 3 else "")
        raise MissingDataError(str(index), expected=f"all {len(paths)} files that it names", got=f"no {names}")
    weights = _sum(paths)
    present = {name for path in paths for name, _, _ in _safetensors(path)}
    lost = sorted(set(listed) - present)
    if lost:
        raise DataError(
            str(index), expected="tensors that its files contain", got=f"{len(lost)} that none contains, {lost[0]} first"
        )
    return weights


def _sum(paths: list[Path]) -> Weights:
    tensors: dict[str, tuple[str, int]] = {}
    numbers = 0
    for path in paths:
        for name, kind, shape in _safetensors(path):
            elements = 1
            for axis in shape:
                elements *= axis
            bits = 4 if kind == "F4" else 6 if kind.startswith("F6") else SAFETENSORS_BYTES.get(kind, 0) * 8
            if not bits:
                raise DataError(str(path), expected="tensors of a known type", got=f"{name} of type {kind}")
            tensors[name] = kind, -(-elements * bits // 8)
            numbers += elements
    return _weights(tensors, numbers, len(paths))


def _weights(tensors: Mapping[str, tuple[str, int]], numbers: int, files: int) -> Weights:
    """The sums over tensors of a type and so many bytes."""
    by_type: dict[str, int] = {}
    by_group: dict[str, int] = {}
    for name, (kind, size) in tensors.items():
        group = _group_of(name)
        by_type[kind] = by_type.get(kind, 0) + size
        by_group[group] = by_group.get(group, 0) + size
    tied = "embedding" in by_group and "output" not in by_group
    sizes = {name: size for name, (_, size) in tensors.items()}
    return Weights(sum(sizes.values()), numbers, by_type, by_group, files, tied, sizes)


def _group_of(name: str) -> str:
    """The part of a model that a tensor belongs to, by its name in safetensors or GGUF files."""
    if "lm_head" in name or re.match(r"output\.|embed_out\.", name):
        return "output"
    if re.search(r"embed_tokens|embed_in\b|word_embeddings|\bwte\b|tok_embeddings|token_embd\b|embeddings\.word", name):
        return "embedding"
    if ".experts." in name or "exps." in name:
        return "experts"
    return "layers" if _layer_of(name) is not None else "other"


def _layer_of(name: str) -> int | None:
    """The number of the layer that a tensor belongs to; None outside of layers."""
    found = re.search(r"\.(\d{1,6})\.", name)
    return None if found is None else int(found[1])


def _safetensors(path: Path) -> Iterator[tuple[str, str, list[int]]]:
    """Name, type and shape of every tensor of a file, from its header."""
    try:
        size = path.stat().st_size
        with path.open("rb") as stream:
            length = int.from_bytes(stream.read(8), "little")
            if not 2 <= length <= min(HEADER_LIMIT, size - 8):
                raise ValueError
            header = json.loads(stream.read(length))
        entries = [(name, entry) for name, entry in header.items() if name != "__metadata__"]
        tensors = [(name, entry["dtype"], [int(axis) for axis in entry["shape"]]) for name, entry in entries]
        end = max((entry["data_offsets"][1] for _, entry in entries), default=0)
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError):
        raise DataError(str(path), expected="a safetensors file", got="a header that cannot be read") from None
    except OSError as error:
        raise MissingDataError(str(path), expected="a file that can be read", got=error.strerror or str(error)) from None
    if not isinstance(end, int) or end + 8 + length > size:
        raise DataError(str(path), expected="a whole safetensors file", got=f"{size:,} bytes, too few for its tensors")
    yield from tensors


def _gguf(header: Header, path: Path | None) -> Weights | None:
    headers = [header, *_other_parts(header, path)]
    tensors: dict[str, tuple[str, int]] = {}
    numbers = 0
    for part in headers:
        for key, (kind, elements) in part.sizes.items():
            if kind not in GGML_TYPES:
                raise DataError(str(path), expected="tensors of a known ggml type", got=f"type {kind}")
            name, block, size = GGML_TYPES[kind]
            tensors[key] = name, -(-elements // block) * size
            numbers += elements
    return _weights(tensors, numbers, len(headers)) if numbers else None


def _other_parts(header: Header, path: Path | None) -> list[Header]:
    """The headers of the other files of a split model."""
    count, number = header.metadata.get("split.count", 1), header.metadata.get("split.no", 0)
    if not isinstance(count, int) or count <= 1 or path is None:
        return []
    match = re.fullmatch(r"(.*)-(\d{5})-of-(\d{5})\.gguf", path.name)
    if match is None or int(match[3]) != count:
        raise DataError(str(path), expected=f"a name that ends in -0000N-of-{count:05d}.gguf", got=path.name)
    headers = []
    for other in range(count):
        if other == number:
            continue
        sibling = path.with_name(f"{match[1]}-{other + 1:05d}-of-{count:05d}.gguf")
        if not sibling.is_file():
            raise MissingDataError(str(path), expected=f"all {count} files of the model", got=f"no {sibling.name}")
        part = read_document(sibling).header
        if part is None:
            raise DataError(str(sibling), expected="a GGUF file", got="another format")
        headers.append(part)
    return headers
