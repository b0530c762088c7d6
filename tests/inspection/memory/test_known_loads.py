"""Estimates against what programs printed when they loaded real models: the numbers of public logs, by engine."""

from __future__ import annotations

from typing import Any

import pytest

from ordinate.inspection import estimate_memory

MIB = 2**20
LLAMA_8B = {
    "model_type": "llama",
    "hidden_size": 4096,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "num_hidden_layers": 32,
    "max_position_embeddings": 131072,
    "torch_dtype": "bfloat16",
}
LLAMA_7B = {**LLAMA_8B, "num_key_value_heads": 32, "max_position_embeddings": 4096}
LLAMA_70B = {**LLAMA_8B, "hidden_size": 8192, "num_attention_heads": 64, "num_hidden_layers": 80}
QWEN_7B = {
    "model_type": "qwen2",
    "hidden_size": 3584,
    "num_attention_heads": 28,
    "num_key_value_heads": 4,
    "num_hidden_layers": 28,
    "max_position_embeddings": 32768,
}
QWEN_30B = {
    "model_type": "qwen3_moe",
    "hidden_size": 2048,
    "num_attention_heads": 32,
    "num_key_value_heads": 4,
    "head_dim": 128,
    "num_hidden_layers": 48,
    "max_position_embeddings": 40960,
}
PHI_3 = {"model_type": "phi3", "hidden_size": 3072, "num_attention_heads": 32, "num_key_value_heads": 32}
PHI_3 |= {"num_hidden_layers": 32, "max_position_embeddings": 4096}
GPT_OSS = {
    "model_type": "gpt_oss",
    "hidden_size": 2880,
    "num_attention_heads": 64,
    "num_key_value_heads": 8,
    "head_dim": 64,
    "num_hidden_layers": 36,
    "max_position_embeddings": 131072,
    "sliding_window": 128,
}
HYBRID_64 = {
    "model_type": "qwen3_5_text",
    "hidden_size": 5120,
    "num_attention_heads": 24,
    "num_key_value_heads": 4,
    "head_dim": 256,
    "num_hidden_layers": 64,
    "max_position_embeddings": 262144,
    "linear_num_value_heads": 48,
    "linear_num_key_heads": 16,
}
GEMMA_26B = {
    "model_type": "gemma4_text",
    "hidden_size": 2816,
    "num_attention_heads": 16,
    "num_key_value_heads": 8,
    "head_dim": 256,
    "num_hidden_layers": 30,
    "global_head_dim": 512,
    "num_global_key_value_heads": 2,
    "sliding_window": 1024,
    "layer_types": (["sliding_attention"] * 5 + ["full_attention"]) * 5,
    "max_position_embeddings": 262144,
    "num_kv_shared_layers": 0,
}
LFM_2 = {
    "model_type": "lfm2",
    "hidden_size": 2048,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "conv_L_cache": 3,
    "num_hidden_layers": 16,
    "full_attn_idxs": [2, 5, 8, 10, 12, 14],
    "max_position_embeddings": 128000,
}

LOADS: list[tuple[str, dict[str, Any], str, dict[str, Any], float, float]] = [
    # what, config, engine, options, MiB that the log names, by how much its rounding may differ
    ("Llama 3.1 8B", LLAMA_8B, "llama.cpp", {"context": 8192}, 1024, 0),
    ("Llama 3.1 8B, q8_0", LLAMA_8B, "llama.cpp", {"context": 8192, "cache_type": "q8_0"}, 544, 0),
    ("Llama 3.1 8B, q4_0", LLAMA_8B, "llama.cpp", {"context": 8192, "cache_type": "q4_0"}, 288, 0),
    ("Llama 3.1 8B, four slots", LLAMA_8B, "llama.cpp", {"context": 4096, "sequences": 4}, 2048, 0),
    ("Llama 2 7B", LLAMA_7B, "llama.cpp", {"context": 4096}, 2048, 0),
    ("Llama 2 7B, f32", LLAMA_7B, "llama.cpp", {"context": 512, "cache_type": "f32"}, 512, 0),
    ("Llama 3 70B", LLAMA_70B, "llama.cpp", {"context": 8192}, 2560, 0),
    ("Qwen2.5 7B", QWEN_7B, "llama.cpp", {}, 1792, 0),
    ("Qwen3 30B-A3B", QWEN_30B, "llama.cpp", {}, 3840, 0),
    ("Phi-3 mini", PHI_3, "llama.cpp", {}, 1536, 0),
    ("64-layer hybrid, one sequence", HYBRID_64, "llama.cpp", {}, 16384 + 149.625, 0),
    ("64-layer hybrid, two sequences", HYBRID_64, "llama.cpp", {"sequences": 2}, 2 * (16384 + 149.625), 0),
    ("26B-A4B, windows of 1,024, 4k", GEMMA_26B, "llama.cpp", {"context": 4096}, 0.40e9 / MIB, 0.005e9 / MIB),
    ("26B-A4B, windows of 1,024, 32k", GEMMA_26B, "llama.cpp", {"context": 32768}, 0.99e9 / MIB, 0.005e9 / MIB),
    ("26B-A4B, windows of 1,024, 128k", GEMMA_26B, "llama.cpp", {"context": 131072}, 3.00e9 / MIB, 0.005e9 / MIB),
    ("6 of 16 layers attend", LFM_2, "llama.cpp", {"context": 32768}, 384.16, 0.005),
    ("Llama 3.1 8B, 16-token pages", LLAMA_8B, "vllm", {"context": 8192}, 1024, 0),
    ("Llama 3.1 8B, fp8", LLAMA_8B, "vllm", {"context": 8192, "cache_type": "fp8"}, 512, 0),
    ("Llama 3.1 8B", LLAMA_8B, "transformers", {"context": 8192}, 1024, 0),
]


@pytest.mark.parametrize(
    ("config", "engine", "options", "expected", "rounding"),
    [load[1:] for load in LOADS],
    ids=[f"{load[0]}, {load[2]}" for load in LOADS],
)
def test_cache_and_state_are_what_the_log_of_the_load_says(
    config: dict[str, Any], engine: str, options: dict[str, Any], expected: float, rounding: float
) -> None:
    estimate = estimate_memory(config, engine=engine, **options)
    assert (estimate.size_of("cache") + estimate.size_of("state")) / MIB == pytest.approx(expected, abs=rounding, rel=1e-12)


def test_a_token_of_the_mixture_of_120_billion_takes_73728_bytes() -> None:
    longer, shorter = (estimate_memory(GPT_OSS, context=n).size_of("cache") for n in (64, 63))
    assert longer - shorter == 73728


def test_only_layers_without_a_window_grow_past_it() -> None:
    at, after = (estimate_memory(GPT_OSS, context=n).size_of("cache") for n in (1000, 1001))
    assert after - at == 73728 // 2
