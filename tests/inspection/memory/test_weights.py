"""Weights are summed from headers: against files that the formats' own packages write, and their own tables of types."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ordinate.errors import DataError, MissingDataError
from ordinate.inspection import estimate_memory, read_document
from ordinate.inspection.memory.weights import GGML_TYPES, Weights, weights_beside

gguf = pytest.importorskip("gguf")
safetensors = pytest.importorskip("safetensors.numpy")

CONFIG = {"model_type": "llama", "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2}
TENSORS = {
    "model.embed_tokens.weight": np.zeros((100, 64), np.float16),
    "model.layers.0.mlp.up_proj.weight": np.zeros((96, 64), np.float16),
    "model.norm.weight": np.zeros(64, np.float32),
}


def folder(directory: Path) -> Path:
    (directory / "config.json").write_text(json.dumps(CONFIG))
    return directory


def weights(path: Path) -> Weights:
    found = weights_beside(read_document(path))
    assert found is not None
    return found


def sharded(directory: Path, **index: Any) -> Path:
    names = list(TENSORS)
    shards = {"a.safetensors": names[:2], "b.safetensors": names[2:]}
    for shard, inside in shards.items():
        safetensors.save_file({name: TENSORS[name] for name in inside}, directory / shard)
    weight_map = {name: shard for shard, inside in shards.items() for name in inside}
    (directory / "model.safetensors.index.json").write_text(json.dumps({"weight_map": weight_map, **index}))
    return folder(directory)


def test_one_file_is_the_sum_of_its_tensors(tmp_path: Path) -> None:
    safetensors.save_file(TENSORS, folder(tmp_path) / "model.safetensors")
    found = weights(tmp_path)
    assert found.total == sum(tensor.nbytes for tensor in TENSORS.values())
    assert found.by_type == {"F16": 2 * 64 * 196, "F32": 4 * 64}
    assert found.by_group == {"embedding": 2 * 6400, "layers": 2 * 6144, "other": 256}
    assert found.tied


def test_shards_are_summed_over_the_index(tmp_path: Path) -> None:
    found = weights(sharded(tmp_path))
    assert (found.total, found.files) == (sum(tensor.nbytes for tensor in TENSORS.values()), 2)
    estimate = estimate_memory(tmp_path, context=16)
    assert estimate.size_of("weights") == found.total


def test_a_missing_shard_and_a_lost_tensor_are_one_line(tmp_path: Path) -> None:
    sharded(tmp_path)
    listed = json.loads((tmp_path / "model.safetensors.index.json").read_text())["weight_map"]
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {**listed, "x": "a.safetensors"}}))
    with pytest.raises(DataError, match="1 that none contains, x first"):
        weights(tmp_path)
    (tmp_path / "b.safetensors").unlink()
    with pytest.raises(MissingDataError, match=r"no b\.safetensors"):
        weights(tmp_path)
    (tmp_path / "model.safetensors.index.json").write_text("[]")
    with pytest.raises(DataError, match="weight_map"):
        weights(tmp_path)


@pytest.mark.parametrize(
    "data", [b"", b"abc", b"\xff" * 64, b"\x08\x00\x00\x00\x00\x00\x00\x00[1,2,3]", b"\x02" + b"\0" * 7 + b"{}"]
)
def test_what_is_no_safetensors_file_is_refused_or_empty(tmp_path: Path, data: bytes) -> None:
    (folder(tmp_path) / "model.safetensors").write_bytes(data)
    if data.endswith(b"{}"):
        assert weights(tmp_path).total == 0
        return
    with pytest.raises(DataError, match="safetensors"):
        weights(tmp_path)


def test_a_file_that_is_cut_off_is_refused(tmp_path: Path) -> None:
    path = folder(tmp_path) / "model.safetensors"
    safetensors.save_file(TENSORS, path)
    path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(DataError, match="too few for its tensors"):
        weights(tmp_path)


def written(path: Path, *, part: int = 0, parts: int = 1) -> Path:
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_block_count(2)
    writer.add_embedding_length(64)
    writer.add_head_count(4)
    writer.add_context_length(128)
    if parts > 1:
        writer.add_uint16("split.no", part)
        writer.add_uint16("split.count", parts)
    if part == 0:
        writer.add_tensor("token_embd.weight", np.zeros((100, 64), np.float16))
    quantized = gguf.quants.quantize(np.ones((96, 64), np.float32), gguf.GGMLQuantizationType.Q8_0)
    writer.add_tensor(f"blk.{part}.ffn_up.weight", quantized, raw_dtype=gguf.GGMLQuantizationType.Q8_0)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def test_quantized_tensors_count_their_blocks(tmp_path: Path) -> None:
    found = weights(written(tmp_path / "model.gguf"))
    assert found.by_type == {"F16": 2 * 6400, "Q8_0": 96 * 64 * 34 // 32}
    assert found.tied
    assert estimate_memory(tmp_path / "model.gguf").engine == "llama.cpp"


def test_the_files_of_a_split_model_are_summed_and_a_missing_one_is_named(tmp_path: Path) -> None:
    first, second = (written(tmp_path / f"m-{n + 1:05d}-of-00002.gguf", part=n, parts=2) for n in range(2))
    assert weights(first).total == weights(second).total == 2 * 6400 + 2 * (96 * 64 * 34 // 32)
    assert weights(tmp_path).files == 2
    second.unlink()
    with pytest.raises(MissingDataError, match=r"no m-00002-of-00002\.gguf"):
        weights(first)


def test_sizes_of_types_are_those_of_the_formats_package() -> None:
    sizes = {int(kind): size for kind, size in gguf.constants.GGML_QUANT_SIZES.items()}
    ours = {kind: (block, size) for kind, (_, block, size) in GGML_TYPES.items()}
    assert {kind: sizes[kind] for kind in ours if kind in sizes} == {kind: size for kind, size in ours.items() if kind in sizes}
    assert len(set(sizes) & set(ours)) >= 29
