"""Two inspections compared: what counts as a difference of positions, and when caches fit."""

from __future__ import annotations

import math
from typing import Any

import pytest

from ordinate.inspection import inspect_config
from ordinate.inspection.comparison import Difference, difference
from ordinate.inspection.gguf_header import Header, Tensor
from ordinate.inspection.inspect import inspect_header
from tests.external import CONFIGS, needs

LLAMA: dict[str, Any] = {
    "model_type": "llama",
    "hidden_size": 2048,
    "num_attention_heads": 16,
    "num_key_value_heads": 4,
    "num_hidden_layers": 8,
    "max_position_embeddings": 8192,
    "rope_theta": 500000.0,
}


def compared(a: dict[str, Any], b: dict[str, Any]) -> Difference:
    return difference(inspect_config(a, name="a"), inspect_config(b, name="b"))


def aspects(found: Difference) -> list[str]:
    return [change.aspect for change in found.changes]


def test_a_file_is_the_same_as_itself() -> None:
    found = compared(LLAMA, LLAMA)
    assert (found.positions, found.caches, found.changes, found.agreement) == ("same", "same", (), ())


def test_two_spellings_of_one_rule_are_no_difference() -> None:
    old = LLAMA | {"rope_scaling": {"type": "linear", "factor": 4.0}}
    new = {key: value for key, value in LLAMA.items() if key != "rope_theta"}
    new["rope_parameters"] = {"rope_type": "linear", "factor": 4.0, "rope_theta": 500000.0}
    assert compared(old, new).positions == "same"
    assert compared(LLAMA, LLAMA | {"rope_scaling": {"rope_type": "linear", "factor": 1.0}}).positions == "same"


@pytest.mark.parametrize(
    ("edit", "aspect"),
    [
        ({"rope_theta": 10000.0}, "base"),
        ({"rope_scaling": {"rope_type": "linear", "factor": 2.0}}, "scaling"),
        ({"rope_scaling": {"rope_type": "yarn", "factor": 2.0, "original_max_position_embeddings": 4096}}, "scaling"),
        ({"model_type": "cohere", "logit_scale": 1.0}, "layout"),
        ({"model_type": "mistral", "sliding_window": 1024}, "window"),
        ({"model_type": "gpt_neox", "rotary_pct": 0.25}, "rotated channels"),
        ({"model_type": "nemotron_h"}, "encoding"),
    ],
)
def test_what_moves_a_position_is_a_difference(edit: dict[str, Any], aspect: str) -> None:
    found = compared(LLAMA, LLAMA | edit)
    assert found.positions == "different"
    assert any(aspect in other for other in [*aspects(found), *(change.message for change in found.changes)])
    assert found.caches == "different"


def test_a_larger_claim_alone_moves_nothing() -> None:
    found = compared(LLAMA, LLAMA | {"max_position_embeddings": 16384})
    assert (found.positions, found.caches) == ("same", "same")
    assert set(aspects(found)) <= {"claimed context", "trained context"}
    assert {effect for change in found.changes for effect in change.effects} == {"context"}


def test_dynamic_scaling_is_told_apart_past_the_trained_context_and_spoils_the_cache() -> None:
    found = compared(LLAMA, LLAMA | {"rope_scaling": {"rope_type": "dynamic", "factor": 2.0}})
    assert found.positions == "different"
    assert any("from a row of 8,193 tokens on" in change.message for change in found.changes)
    assert any("changes frequencies with the row's length" in reason for reason in found.reasons)


def test_heads_touch_the_cache_and_not_the_positions() -> None:
    found = compared(LLAMA, LLAMA | {"num_key_value_heads": 2})
    assert (found.positions, found.caches) == ("same", "different")


def test_a_draft_of_fewer_layers_is_compared_kind_by_kind() -> None:
    draft = LLAMA | {"num_hidden_layers": 1, "hidden_size": 1024, "num_attention_heads": 8}
    found = compared(draft, LLAMA)
    assert found.positions == "same"
    assert found.caches == "different"
    assert "layers" in aspects(found)
    wrong = compared(draft | {"rope_theta": 10000.0}, LLAMA)
    assert (wrong.positions, "base" in aspects(wrong)) == ("different", True)


def test_the_agreement_of_two_ladders_is_the_mean_cosine_of_what_they_differ_by() -> None:
    found = compared(LLAMA, LLAMA | {"rope_theta": 10000.0})
    by_distance = {each.distance: each.cosine for each in found.agreement}
    assert max(by_distance) == 4**6
    for distance in (1, 256):
        cosines = [math.cos(distance * (500000.0 ** (-i / 64) - 10000.0 ** (-i / 64))) for i in range(64)]
        assert by_distance[distance] == pytest.approx(math.fsum(cosines) / 64, rel=1e-12)


def test_what_one_side_does_not_know_is_unknown_and_not_the_same() -> None:
    found = compared(LLAMA, {"model_type": "never-heard-of", "hidden_size": 2048, "num_hidden_layers": 8})
    assert found.positions != "same"


def test_layers_of_another_kind_are_found_by_their_index() -> None:
    cohere = LLAMA | {"model_type": "cohere2", "sliding_window": 1024, "sliding_window_pattern": 4}
    found = compared(cohere, cohere | {"sliding_window_pattern": 2})
    assert found.positions == "different"


def test_a_conversion_agrees_with_its_checkpoint_although_rows_were_reordered() -> None:
    keys = {
        "block_count": 8,
        "embedding_length": 2048,
        "attention.head_count": 16,
        "attention.head_count_kv": 4,
        "context_length": 8192,
        "rope.freq_base": 500000.0,
        "rope.dimension_count": 128,
    }
    metadata = {"general.architecture": "llama"} | {f"llama.{key}": value for key, value in keys.items()}
    converted = inspect_header(Header(3, "little", metadata), "model.gguf")
    found = difference(inspect_config(LLAMA), converted)
    assert (found.positions, found.caches) == ("same", "different")
    assert [change.effects for change in found.changes if change.aspect == "layout"] == [("cache",)]
    halved = Header(3, "little", metadata, {"rope_freqs.weight": Tensor((64,), 0, 0, (2.0,) * 64)})
    assert difference(inspect_config(LLAMA), inspect_header(halved, "model.gguf")).positions == "different"


def test_encoders_have_no_cache_to_exchange() -> None:
    bert = {"model_type": "bert", "hidden_size": 768, "num_attention_heads": 12, "num_hidden_layers": 12}
    found = compared(bert, bert | {"max_position_embeddings": 1024})
    assert found.caches == "different"
    assert "neither keeps a cache" in found.reasons
    assert found.positions == "different"  # other rows


def test_every_real_config_is_the_same_as_itself_and_differs_from_another_family() -> None:
    files = sorted(CONFIGS.glob("*.json"))
    other = inspect_config(LLAMA)
    for path in files:
        inspection = inspect_config(path)
        mirrored = difference(inspection, inspection)
        assert mirrored.positions == "same", path.name
        assert mirrored.changes == (), path.name
        across = difference(inspection, other)
        assert across.positions in ("different", "unknown"), path.name
        assert across.to_dict()["schema"] == "ordinate.difference/1"


CONVERTED: dict[str, tuple[str, dict[str, Any]]] = {
    "Qwen2-72B-Instruct.json": (
        "qwen2",
        {
            "block_count": 80,
            "context_length": 32768,
            "embedding_length": 8192,
            "attention.head_count": 64,
            "attention.head_count_kv": 8,
            "rope.freq_base": 1000000.0,
        },
    ),
    "DeepSeek-V3.json": (
        "deepseek2",
        {
            "block_count": 61,
            "context_length": 163840,
            "embedding_length": 7168,
            "attention.head_count": 128,
            "attention.head_count_kv": 1,
            "attention.kv_lora_rank": 512,
            "attention.key_length": 576,
            "attention.value_length": 512,
            "attention.key_length_mla": 192,
            "attention.value_length_mla": 128,
            "rope.dimension_count": 64,
            "rope.freq_base": 10000.0,
            "rope.scaling.type": "yarn",
            "rope.scaling.factor": 40.0,
            "rope.scaling.original_context_length": 4096,
            "rope.scaling.yarn_log_multiplier": 0.10000000149011612,
        },
    ),
    "gemma-3-27b-it.json": (
        "gemma3",
        {
            "block_count": 62,
            "context_length": 131072,
            "embedding_length": 5376,
            "attention.head_count": 32,
            "attention.head_count_kv": 16,
            "attention.key_length": 128,
            "attention.value_length": 128,
            "attention.sliding_window": 1024,
            "rope.freq_base": 1000000.0,
            "rope.scaling.type": "linear",
            "rope.scaling.factor": 8.0,
        },
    ),
    "gpt-oss-20b.json": (
        "gpt-oss",
        {
            "block_count": 24,
            "context_length": 131072,
            "embedding_length": 2880,
            "attention.head_count": 64,
            "attention.head_count_kv": 8,
            "attention.key_length": 64,
            "attention.value_length": 64,
            "attention.sliding_window": 128,
            "rope.freq_base": 150000.0,
            "rope.scaling.type": "yarn",
            "rope.scaling.factor": 32.0,
            "rope.scaling.original_context_length": 4096,
        },
    ),
}


@needs("configs")
@pytest.mark.parametrize("name", CONVERTED)
def test_real_models_and_what_their_conversion_writes_tell_positions_alike(name: str) -> None:
    architecture, keys = CONVERTED[name]
    metadata = {"general.architecture": architecture} | {f"{architecture}.{key}": value for key, value in keys.items()}
    found = difference(inspect_config(CONFIGS / name), inspect_header(Header(3, "little", metadata), "model.gguf"))
    moved = [(change.where, change.message) for change in found.changes if "positions" in change.effects]
    if name == "gpt-oss-20b.json":  # llama.cpp rounds the ends of YaRN's ramp, the model does not
        assert {where for where, _ in moved} == {"text, full attention", "text, sliding attention"}
        assert all("truncate=False" in told for _, told in moved)
    else:
        assert [where for where, _ in moved if where != "vision"] == []


def test_layers_that_share_a_cache_are_a_difference_of_caches() -> None:
    config = {"model_type": "gemma4_text", "hidden_size": 1536, "num_attention_heads": 8, "num_hidden_layers": 10}
    alone, sharing = (inspect_config({**config, "num_kv_shared_layers": shared}) for shared in (0, 4))
    result = difference(alone, sharing)
    assert (result.positions, result.caches) == ("same", "different")
    assert [change.aspect for change in result.changes] == ["layers with a cache of their own"]


@pytest.mark.parametrize("tuning", [4, True])
def test_a_temperature_that_is_switched_off_is_a_difference_of_positions(tuning: object) -> None:
    config = {"model_type": "llama4_text", "hidden_size": 1024, "num_attention_heads": 8, "num_hidden_layers": 8}
    on, off = (inspect_config({**config, "attn_temperature_tuning": value}) for value in (tuning, False))
    assert difference(on, off).positions == "different"
