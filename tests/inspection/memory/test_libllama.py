"""The estimate for llama.cpp against what libllama itself allocates for models of all its architectures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ordinate.inspection import estimate_memory
from ordinate.inspection.families.llama_cpp import ARCHITECTURES
from tests.inspection.memory import libllama

PRINTED = 0.005
"""MiB that libllama's two digits may be off by, for each buffer that it prints."""
BOUNDED = """
    gemma gemma2 gemma3 gpt-oss gpt2 gptneox olmo2 phi2 phi3 qwen qwen2 qwen3 qwen3moe smollm3 starcoder2 falcon-h1
    granitehybrid jamba kimi-linear mamba mamba2 nemotron_h plamo2 qwen3next qwen35 rwkv6 rwkv7
"""
"""Architectures whose buffer for computing the bounds hold; sparse indexers, capped scores and more streams take more."""
UNMEASURED = """
    apertus plm rwkv6qwen2 bert clip deepseek2-ocr chameleon dflash dream eagle3 eurobert gemma4-assistant gptj
    gemma-embedding jina-bert-v2 jina-bert-v3 llada llada-moe modern-bert neo-bert nomic-bert nomic-bert-moe rnd1
    t5encoder wavtokenizer-dec
"""
"""Encoders and diffusion models have no cache there; the others do not load from a header alone."""


def test_every_architecture_is_measured_or_named_here() -> None:
    assert set(ARCHITECTURES) == set(libllama.MODELS) | set(UNMEASURED.split())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("settings", "options"),
    [
        ({"n_ctx": 4096}, {"context": 4096}),
        ({"n_ctx": 8192, "n_seq_max": 4, "n_ubatch": 128}, {"context": 2048, "sequences": 4, "batch": 128}),
        ({"n_ctx": 8192, "n_seq_max": 4, "kv_unified": True}, {"context": 2048, "sequences": 4, "layout": "unified"}),
    ],
)
@pytest.mark.parametrize("name", sorted(libllama.MODELS))
def test_cache_and_state_are_what_libllama_allocates(
    name: str, settings: dict[str, Any], options: dict[str, Any], tmp_path: Path
) -> None:
    if name == "t5" and "sequences" in options:
        pytest.skip("llama.cpp runs one sequence of T5")
    pytest.importorskip("gguf")
    pytest.importorskip("llama_cpp")
    path = tmp_path / "model.gguf"
    libllama.write_header(path, name, libllama.MODELS[name])
    found = libllama.measure(name, settings)
    assert "error" not in found, found
    estimate = estimate_memory(path, engine="llama.cpp", **options)
    for kind, group in (("KV", "cache"), ("state", "state")):
        assert estimate.size_of(group) / 2**20 == pytest.approx(found[kind], abs=PRINTED * found["buffers"])
    working = {item.name: (item.size or 0) / 2**20 for item in estimate.items if item.group == "working memory"}
    if name != "llama-embed":  # which sees both sides, and is given no more tokens than its micro-batch
        assert working.get("attention mask", 0) <= found["compute"]
    if name in BOUNDED.split() and "n_ubatch" not in settings:  # small micro-batches leave copies of states on top
        assert found["compute"] + found["output"] <= sum(working.values())
