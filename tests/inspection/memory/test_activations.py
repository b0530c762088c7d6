"""Activations against the peak of the memory that transformers takes in a pass without a cache, as torch's profiler sees it."""

from __future__ import annotations

from typing import Any

import pytest

from ordinate.inspection import estimate_memory

SIZES = {"hidden_size": 256, "num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 32, "intermediate_size": 768}
SIZES |= {"vocab_size": 512, "num_hidden_layers": 4, "max_position_embeddings": 1024}
FAMILIES: dict[str, dict[str, Any]] = {
    **{name: {} for name in ("llama", "qwen3", "mistral", "gemma", "granite", "starcoder2", "gpt_neox", "cohere")},
    "phi3": {"pad_token_id": 0},
}
TOKENS = 256


def peak(model_type: str, settings: dict[str, Any]) -> int:
    """Bytes at the peak of a forward pass, beyond the weights."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    config = transformers.AutoConfig.for_model(model_type, **settings)
    model = transformers.AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16, attn_implementation="sdpa").eval()
    told = {"input_ids": torch.arange(TOKENS)[None], "use_cache": False, "logits_to_keep": 1}
    activities = [torch.profiler.ProfilerActivity.CPU]
    with torch.no_grad():
        model(**told)
        with torch.profiler.profile(activities=activities, profile_memory=True) as profile:
            model(**told)
    events = [event for event in profile.profiler.kineto_results.events() if event.name() == "[memory]"]
    now = most = 0
    for event in sorted(events, key=lambda event: event.start_ns()):
        now += event.nbytes()
        most = max(most, now)
    return most


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "model_type", [pytest.param(name, marks=() if name == "llama" else pytest.mark.slow) for name in FAMILIES]
)
def test_activations_are_what_a_pass_takes_at_its_peak(model_type: str) -> None:
    settings = {**SIZES, **FAMILIES[model_type]}
    estimate = estimate_memory({"model_type": model_type, "torch_dtype": "bfloat16", **settings}, context=TOKENS)
    activations = next(item.size for item in estimate.items if item.name == "activations")
    assert activations == pytest.approx(peak(model_type, settings), rel=0.05)
