"""Estimates against what programs printed when they loaded real models: the numbers of public logs, by engine.

`PUBLISHED` names the thread of each number on GitHub; those of `LOADS` were written down without one and were not found again.
"""

from __future__ import annotations

from pathlib import Path
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


QWEN_9B = {
    **HYBRID_64,
    "hidden_size": 4096,
    "num_attention_heads": 16,
    "num_hidden_layers": 32,
    "linear_num_value_heads": 32,
    "mamba_ssm_dtype": "float32",
}
GEMMA_E4B = {
    "model_type": "gemma4_text",
    "hidden_size": 2560,
    "num_attention_heads": 8,
    "num_key_value_heads": 2,
    "head_dim": 256,
    "num_hidden_layers": 42,
    "global_head_dim": 512,
    "sliding_window": 512,
    "num_kv_shared_layers": 18,
    "max_position_embeddings": 131072,
}
LFM_350M = {**LFM_2, "hidden_size": 1024, "num_attention_heads": 16}
SMOL = {"model_type": "llama", "hidden_size": 960, "num_attention_heads": 15, "num_key_value_heads": 5, "num_hidden_layers": 32}
QWEN_2B = {**QWEN_30B, "model_type": "qwen3", "num_attention_heads": 16, "num_key_value_heads": 8, "num_hidden_layers": 28}
QWEN_72B = {**QWEN_7B, "hidden_size": 8192, "num_attention_heads": 64, "num_key_value_heads": 64, "num_hidden_layers": 80}

PUBLISHED: list[tuple[str, str, dict[str, Any], str, dict[str, Any], str, float, float]] = [
    # what, thread on GitHub, config, engine, options, group, MiB, by how much the printed number is rounded
    ("64-layer hybrid, three sequences", "ggml-org/llama.cpp#23792", HYBRID_64, "llama.cpp",
     {"sequences": 3}, "state", 448.88, 0.005),
    ("Mistral 7B, 2,048", "fedora-copr/logdetective#106", LLAMA_8B, "llama.cpp", {"context": 2048}, "cache", 256, 0),
    ("Mistral 7B, 32,768", "fedora-copr/logdetective#106", LLAMA_8B, "llama.cpp", {"context": 32768}, "cache", 4096, 0),
    *(
        (f"Qwen3.5 9B, {tokens:,}", "jaylfc/taOS#144", QWEN_9B, "llama.cpp", {"context": tokens}, "both", size, 0.5)
        for tokens, size in ((4096, 178), (8192, 306), (16384, 562), (32768, 1074), (65536, 2098), (131072, 4146))
    ),
    ("Qwen3.5 9B", "lmstudio-ai/lmstudio-bug-tracker#1563", QWEN_9B, "llama.cpp", {}, "state", 50.251, 0.0015),
    ("Gemma 4 E4B, 4,096", "qualcomm/GenieX#1346", GEMMA_E4B, "llama.cpp",
     {"context": 4096, "batch": 1024}, "cache", 60 + 64, 0.005),
    ("LFM2.5 350M, 2,048", "gianlucamazza/xllama#181", LFM_350M, "llama.cpp", {"context": 2048}, "cache", 24, 0.5),
    ("LFM2.5 350M, 2,048, q8_0", "gianlucamazza/xllama#181", LFM_350M, "llama.cpp",
     {"context": 2048, "cache_type": "q8_0"}, "cache", 12.75, 0.005),
    ("SmolLM2 360M, 2,048", "gianlucamazza/xllama#181", SMOL, "llama.cpp", {"context": 2048}, "cache", 80, 0.5),
    ("SmolLM2 360M, 2,048, q8_0", "gianlucamazza/xllama#181", SMOL, "llama.cpp",
     {"context": 2048, "cache_type": "q8_0"}, "cache", 42.5, 0.05),
    ("Qwen3 1.7B, 175,856", "vllm-project/vllm#33263", QWEN_2B, "vllm", {"context": 175856}, "cache", 18.78 * 1024, 5.12),
    ("Qwen3 30B-A3B, 122,420, under SGLang", "kvcache-ai/ktransformers#1971", QWEN_30B, "transformers",
     {"context": 122420}, "cache", 11.2 * 1024, 10.24),
    ("Llama 3.1 8B, 128,000", "huggingface/blog#2345", LLAMA_8B, "transformers", {"context": 128000}, "cache", 15.62 * 1024, 6),
    ("Llama 3.1 70B, 128,000", "huggingface/blog#2345", LLAMA_70B, "transformers",
     {"context": 128000}, "cache", 39.06 * 1024, 6),
]  # fmt: skip


@pytest.mark.parametrize(
    ("config", "engine", "options", "group", "expected", "rounding"),
    [load[2:] for load in PUBLISHED],
    ids=[f"{load[0]}, {load[1]}" for load in PUBLISHED],
)
def test_a_published_load_is_estimated_to_the_digits_that_it_prints(
    config: dict[str, Any], engine: str, options: dict[str, Any], group: str, expected: float, rounding: float
) -> None:
    estimate = estimate_memory(config, engine=engine, **options)
    found = sum(estimate.size_of(each) for each in (("cache", "state") if group == "both" else (group,)))
    assert found / MIB == pytest.approx(expected, abs=rounding, rel=1e-12)


def test_the_page_of_the_docs_lists_every_published_load() -> None:
    page = (Path(__file__).parents[3] / "docs" / "memory.md").read_text(encoding="utf-8")
    for what, thread, *_ in PUBLISHED:
        assert f"| {what} | {thread} |" in page


NEMOTRON_9B = {"model_type": "nemotron_h", "hidden_size": 4480, "num_attention_heads": 40, "num_key_value_heads": 8}
NEMOTRON_9B |= {"head_dim": 128, "hybrid_override_pattern": "M-M*-", "num_hidden_layers": 5, "mamba_num_heads": 128}
NEMOTRON_9B |= {"mamba_head_dim": 80, "n_groups": 8, "ssm_state_size": 128, "conv_kernel": 4}
PAGES: list[tuple[str, str, dict[str, Any], int]] = [
    # what, where vLLM's line "Setting attention block size to N tokens" stands, config, N
    ("Nemotron Nano 9B v2", "vllm-project/vllm#24280", NEMOTRON_9B, 672),
    ("Qwen3.5 9B", "vllm-project/vllm#37467", QWEN_9B, 528),
    ("Qwen3.5 27B", "docs.lmcache.ai/recipes/qwen3_5.html", {**HYBRID_64, "mamba_ssm_dtype": "float32"}, 784),
]


@pytest.mark.parametrize(("config", "tokens"), [page[2:] for page in PAGES], ids=[page[0] for page in PAGES])
def test_pages_of_hybrids_have_as_many_tokens_as_vllm_says(config: dict[str, Any], tokens: int) -> None:
    one, page, more = (estimate_memory(config, context=n, engine="vllm").size_of("cache") for n in (1, tokens, tokens + 1))
    assert one == page
    assert more == 2 * page


def test_a_cell_of_older_llama_cpp_takes_what_a_token_does() -> None:
    # intel/AI-Playground#325: 18 layers, 2,016 cells, 70.88 MiB; LostRuins/koboldcpp#724: 32,848 cells, 82,120 MiB
    longer, shorter = (estimate_memory(GPT_OSS, context=n).size_of("cache") for n in (1001, 1000))
    assert 2016 * (longer - shorter) / MIB == pytest.approx(70.88, abs=0.005)
    assert 32848 * estimate_memory(QWEN_72B, context=1).size_of("cache") / MIB == pytest.approx(82120, abs=0.005)


def test_a_token_of_the_mixture_of_120_billion_takes_73728_bytes() -> None:
    longer, shorter = (estimate_memory(GPT_OSS, context=n).size_of("cache") for n in (64, 63))
    assert longer - shorter == 73728


def test_only_layers_without_a_window_grow_past_it() -> None:
    at, after = (estimate_memory(GPT_OSS, context=n).size_of("cache") for n in (1000, 1001))
    assert after - at == 73728 // 2
