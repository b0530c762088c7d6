"""Weights are summed from headers: against files that the formats' own packages write, and their own tables of types."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ordinate.errors import ArgumentError, DataError, MissingDataError, RefusedError
from ordinate.inspection import estimate_memory, read_document
from ordinate.inspection.memory.weights import GGML_TYPES, Weights, split_places, weights_beside

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


def written(path: Path, *, part: int = 0, parts: int = 1, layers: int = 1) -> Path:
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_block_count(max(layers, 2))
    writer.add_embedding_length(64)
    writer.add_head_count(4)
    writer.add_context_length(128)
    if parts > 1:
        writer.add_uint16("split.no", part)
        writer.add_uint16("split.count", parts)
    if part == 0:
        writer.add_tensor("token_embd.weight", np.zeros((100, 64), np.float16))
    quantized = gguf.quants.quantize(np.ones((96, 64), np.float32), gguf.GGMLQuantizationType.Q8_0)
    for layer in range(part, part + layers):
        writer.add_tensor(f"blk.{layer}.ffn_up.weight", quantized, raw_dtype=gguf.GGMLQuantizationType.Q8_0)
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


GGUF_TENSORS = {
    "token_embd.weight": 1000, "output_norm.weight": 1, "per_layer_token_embd.weight": 7000,
    **{f"blk.{layer}.attn_q.weight": 10 for layer in range(4)},
    **{f"blk.{layer}.ffn_up_exps.weight": 100 for layer in range(4)},
}  # fmt: skip


@pytest.mark.parametrize(
    ("gpu_layers", "cpu_moe", "gpu"),
    [
        (0, 0, 0),
        (1, 0, 1 + 1000),  # the output first, with its copy of the embedding's table
        (2, 0, 1 + 1000 + 110),
        (5, 0, 1 + 1000 + 4 * 110),
        (99, 0, 1 + 1000 + 4 * 110),
        (99, 3, 1 + 1000 + 4 * 110 - 3 * 100),
        (3, 3, 1 + 1000 + 2 * 110 - 100),
    ],
)
def test_layers_and_experts_are_divided_as_llama_cpp_does(gpu_layers: int, cpu_moe: int, gpu: int) -> None:
    whole = Weights(sum(GGUF_TENSORS.values()), 0, {}, {"embedding": 1000, "experts": 400}, 1, True, GGUF_TENSORS)
    places = split_places(whole, gpu_layers, cpu_moe)
    copied = 1000 if gpu_layers else 0
    assert places.sizes == {"GPU": gpu, "CPU": whole.total + copied - gpu}
    assert [places.layers[layer] for layer in range(4)] == ["GPU" if layer > 4 - gpu_layers else "CPU" for layer in range(4)]


def test_the_longest_name_of_a_device_map_decides(tmp_path: Path) -> None:
    safetensors.save_file(TENSORS, folder(tmp_path) / "model.safetensors")
    estimate = estimate_memory(tmp_path, context=16, device_map={"model": 0, "model.layers.0": "cpu", "model.norm": "disk"})
    sizes = {item.place: item.size for item in estimate.items if item.name == "weights"}
    assert sizes == {"GPU 0": 2 * 6400, "CPU": 2 * 6144, "disk": 256}
    cached = {item.place: item.size for item in estimate.items if item.group == "cache"}
    assert cached == {"CPU": 16 * 2 * 64 * 2, "GPU 0": 16 * 2 * 64 * 2}  # the second layer has no tensor here
    working = sum(item.size or 0 for item in estimate.items if item.group == "working memory")
    assert estimate.on_accelerator == 2 * 6400 + 16 * 2 * 64 * 2 + working
    with pytest.raises(ArgumentError, match=r"device_map.*none for model\.norm\.weight"):
        estimate_memory(tmp_path, context=16, device_map={"model.embed_tokens": 0, "model.layers": 0})


def test_as_many_layers_as_fit_are_said_and_cannot_be_one_more(tmp_path: Path) -> None:
    path = written(tmp_path / "model.gguf", layers=6)
    whole = estimate_memory(path, context=64)
    for limit in (1, whole.on_accelerator // 2, whole.total):
        most = whole.fits(limit).gpu_layers
        assert most is not None
        taken = [estimate_memory(path, context=64, gpu_layers=n).on_accelerator for n in range(8)]
        assert most == max(n for n in range(8) if taken[n] <= limit)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"gpu_layers": 3, "engine": "vllm"}, "gpu_layers: expected none, as it is an option of llama.cpp"),
        ({"device_map": {"": 0}, "engine": "llama.cpp"}, "device_map: expected none, as it is an option of transformers"),
        ({"cpu_moe": 3, "engine": "llama.cpp"}, "cpu_moe: expected a file of weights"),
    ],
)
def test_offloading_that_an_engine_does_not_have_is_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(RefusedError, match=words):
        estimate_memory({**CONFIG, "vocab_size": 100}, context=16, **options)
