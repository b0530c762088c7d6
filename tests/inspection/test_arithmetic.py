"""What a cache costs and what position takes of the parameters, against hand-made sums and the library's own caches."""

from __future__ import annotations

import math
from typing import Any

import pytest

from ordinate.inspection import inspect_config
from ordinate.inspection.records import Cache, incomplete_pairs, wavelengths

LLAMA_8B: dict[str, Any] = {
    "model_type": "llama",
    "hidden_size": 4096,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "num_hidden_layers": 32,
    "max_position_embeddings": 131072,
    "torch_dtype": "bfloat16",
}


def cache(told: dict[str, Any]) -> Cache:
    found = inspect_config(told).cache
    assert found is not None
    return found


def test_llama_31_8b_takes_16_gibibytes_at_its_context() -> None:
    assert cache(LLAMA_8B).bytes_at_claimed.value == 16 * 2**30 == 17179869184  # case kv-llama31


def test_one_key_value_head_takes_an_eighth_of_eight() -> None:
    multi_query = cache({**LLAMA_8B, "num_key_value_heads": 1})
    assert multi_query.bytes_per_token.value * 8 == cache(LLAMA_8B).bytes_per_token.value


def test_heads_for_every_query_take_four_times_a_fourth() -> None:
    multi_head = cache({**LLAMA_8B, "num_key_value_heads": 32})
    assert multi_head.bytes_per_token.value == 4 * cache(LLAMA_8B).bytes_per_token.value


def test_a_latent_and_a_rotated_key_are_all_that_deepseek_v3_keeps() -> None:
    told = {
        "model_type": "deepseek_v3",
        "kv_lora_rank": 512,
        "qk_rope_head_dim": 64,
        "num_hidden_layers": 61,
        "max_position_embeddings": 131072,
    }
    assert cache(told).bytes_at_claimed.value == 61 * (512 + 64) * 2 * 131072 == 9210691584  # case kv-mla


def test_a_sparse_indexer_keeps_its_keys_too() -> None:
    told = {"kv_lora_rank": 512, "qk_rope_head_dim": 64, "num_hidden_layers": 1}
    plain = cache({"model_type": "deepseek_v3", **told})
    assert cache({"model_type": "deepseek_v32", "index_head_dim": 128, **told}).bytes_per_token.value == (
        plain.bytes_per_token.value + 128 * 2
    )


def test_windows_stop_growing() -> None:
    told = {
        "model_type": "gemma3_text",
        "hidden_size": 1024,
        "head_dim": 128,
        "num_attention_heads": 8,
        "num_key_value_heads": 2,
        "num_hidden_layers": 12,
        "sliding_window": 512,
        "max_position_embeddings": 32768,
    }
    found, width = cache(told), 2 * 2 * 128 * 2
    assert found.bytes_at(100) == 12 * width * 100
    assert found.bytes_at(32768) == width * (2 * 32768 + 10 * 512) == found.bytes_at_claimed.value


def test_layers_that_read_anothers_cache_keep_none() -> None:
    told = {
        "model_type": "gemma3n_text",
        "num_hidden_layers": 10,
        "num_kv_shared_layers": 4,
        "head_dim": 64,
        "num_key_value_heads": 2,
    }
    assert cache(told).bytes_per_token.value == 6 * 2 * 2 * 64 * 2


def test_compressing_layers_keep_one_of_four_or_of_128_beside_a_window() -> None:
    told = {
        "model_type": "deepseek_v4",
        "num_hidden_layers": 3,
        "compress_ratios": [0, 4, 128],
        "head_dim": 512,
        "num_key_value_heads": 1,
        "index_head_dim": 128,
        "sliding_window": 128,
        "max_position_embeddings": 65536,
    }
    window = 128 * 512
    expected = window + (window + 65536 * (512 + 128) // 4) + (window + 65536 * 512 // 128)
    assert cache(told).bytes_at_claimed.value == 2 * expected


def test_layers_with_a_state_do_not_grow_and_are_counted_once() -> None:
    told = {
        "model_type": "jamba",
        "hidden_size": 1024,
        "num_attention_heads": 8,
        "num_key_value_heads": 8,
        "num_hidden_layers": 16,
        "attn_layer_period": 8,
        "attn_layer_offset": 4,
    }
    found = cache(told)
    state = 14 * 2048 * (4 * 2 + 16 * 4)  # 2 x 1024 channels: 4 columns in 16 bits, 16 states in float32 (Gu and Dao 2023)
    assert found.bytes_at(1000) == 2 * 2 * 8 * 128 * 2 * 1000 + state


@pytest.mark.parametrize(("dtype", "size"), [("bfloat16", 2), ("float32", 4), ("torch.float16", 2)])
def test_the_files_dtype_sizes_the_cache(dtype: str, size: int) -> None:
    found = cache({**LLAMA_8B, "torch_dtype": dtype})
    assert (found.bytes_per_value.value, found.bytes_per_value.source) == (size, "derived")


def test_a_missing_dtype_is_assumed_and_said_to_be() -> None:
    told = {key: value for key, value in LLAMA_8B.items() if key != "torch_dtype"}
    assert (cache(told).bytes_per_value.value, cache(told).bytes_per_value.source) == (2, "assumed")


def test_encoders_keep_no_cache() -> None:
    assert inspect_config({"model_type": "bert"}).cache is None


@pytest.mark.slow
def test_the_cache_is_as_large_as_the_one_that_transformers_fills() -> None:
    import torch
    from transformers import Gemma2Config, Gemma2Model, Qwen2Config, Qwen2Model

    sizes = {"hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2, "num_hidden_layers": 2, "vocab_size": 32}
    for kind, model in ((Qwen2Config, Qwen2Model), (Gemma2Config, Gemma2Model)):
        config = kind(**sizes, head_dim=16, intermediate_size=64, pad_token_id=0)
        with torch.no_grad():
            held = model(config)(torch.ones(1, 24, dtype=torch.long), use_cache=True).past_key_values
        filled = sum(layer.keys.numel() + layer.values.numel() for layer in held.layers)
        assert cache({**config.to_dict(), "dtype": "float16"}).bytes_at(24) == 2 * filled


def test_a_wave_takes_two_pi_over_its_frequency() -> None:
    assert wavelengths([1.0, 0.5, 0.0]) == (2 * math.pi, 4 * math.pi, math.inf)


def test_slow_pairs_are_those_that_never_complete_a_turn() -> None:
    turn = inspect_config({**LLAMA_8B, "rope_theta": 10000.0}).layers[0].rotation
    assert turn is not None
    expected = sum(2 * math.pi * 10000 ** (2 * pair / 128) > 4096 for pair in range(64))
    assert turn.incomplete_pairs(4096) == expected == 18
    assert incomplete_pairs([1.0, 0.01, 0.0], 600) == 2


@pytest.mark.parametrize(
    ("told", "count"),
    [
        ({"model_type": "gpt2", "n_positions": 1024, "n_embd": 768}, 1024 * 768),
        ({"model_type": "opt", "max_position_embeddings": 2048, "hidden_size": 768}, 2050 * 768),
        ({"model_type": "albert", "max_position_embeddings": 512, "embedding_size": 128}, 512 * 128),
        ({"model_type": "vit", "image_size": 224, "patch_size": 16, "hidden_size": 768}, 197 * 768),
        ({"model_type": "t5", "num_heads": 8, "relative_attention_num_buckets": 32}, 2 * 32 * 8),
        ({"model_type": "umt5", "num_heads": 8, "num_layers": 3, "num_decoder_layers": 3}, 2 * 3 * 32 * 8),
        ({"model_type": "bart", "max_position_embeddings": 1024, "d_model": 1024}, 2 * 1026 * 1024),
        ({"model_type": "llama"}, 0),
        ({"model_type": "bloom"}, 0),
    ],
    ids=lambda value: value["model_type"] if isinstance(value, dict) else "",
)
def test_parameters_on_position_are_counted(told: dict[str, Any], count: int) -> None:
    assert inspect_config(told).parameters_on_position.value == count


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "told", "names"),
    [
        ("GPT2Model", {"n_positions": 64, "n_embd": 32, "n_head": 2, "n_layer": 2}, r"wpe"),
        ("OPTModel", {"max_position_embeddings": 64, "hidden_size": 32, "num_attention_heads": 2}, r"embed_positions"),
        ("BertModel", {"max_position_embeddings": 64, "hidden_size": 32, "num_attention_heads": 2}, r"position_embeddings"),
        ("AlbertModel", {"max_position_embeddings": 64, "embedding_size": 16}, r"position_embeddings"),
        ("ViTModel", {"image_size": 32, "patch_size": 8, "hidden_size": 32, "num_attention_heads": 2}, r"position_embeddings"),
        ("T5Model", {"d_model": 32, "num_heads": 2, "num_layers": 2}, r"relative_attention_bias"),
        ("UMT5Model", {"d_model": 32, "num_heads": 2, "num_layers": 2}, r"relative_attention_bias"),
        ("MPNetModel", {"hidden_size": 32, "num_attention_heads": 2}, r"position_embeddings|relative_attention_bias"),
        (
            "DebertaV2Model",
            {"relative_attention": True, "position_buckets": 8, "hidden_size": 48},
            r"rel_embeddings|position_emb",
        ),
        ("Wav2Vec2Model", {"hidden_size": 48, "num_conv_pos_embeddings": 8}, r"pos_conv_embed.*(original1|bias)"),
        ("VitsModel", {"hidden_size": 32, "window_size": 4}, r"text_encoder.*emb_rel"),
    ],
)
def test_the_library_spends_as_many_parameters(kind: str, told: dict[str, Any], names: str) -> None:
    import re

    import torch
    import transformers

    config = getattr(transformers, kind.replace("Model", "Config"))(**told)
    with torch.device("meta"):
        model = getattr(transformers, kind)(config)
    spent = sum(weight.numel() for name, weight in model.named_parameters() if re.search(names, name))
    assert inspect_config(config.to_dict()).parameters_on_position.value == spent
