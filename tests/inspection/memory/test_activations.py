"""Activations and logits against the peak of memory that transformers takes without a cache, as torch's profiler sees it."""

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


def peak(model_type: str, settings: dict[str, Any], *, tokens: int = TOKENS, rows: str = "one", dtype: str = "bfloat16") -> int:
    """Bytes at the peak of a forward pass, beyond the weights, with logits of one row or of all; or of generating a token."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    config = transformers.AutoConfig.for_model(model_type, **settings)
    attention = "eager" if model_type == "gemma2" else "sdpa"
    made = transformers.AutoModelForCausalLM.from_config(
        config, dtype=getattr(torch, dtype), attn_implementation=attention
    ).eval()
    told = {"input_ids": torch.arange(tokens)[None], "use_cache": False}
    told |= {"one": {"logits_to_keep": 1}, "all": {}, "generated": {"max_new_tokens": 1, "do_sample": False}}[rows]
    model = made.generate if rows == "generated" else made
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


LOGITS: dict[str, dict[str, Any]] = {"llama": {}, "qwen3": {}, "gpt_neox": {}, "gemma2": {"final_logit_softcapping": 30.0}}
LOGITS |= {"cohere": {"logit_scale": 0.0625}, "granite": {"logits_scaling": 2.0}}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", ["bfloat16", "float32"])
@pytest.mark.parametrize(
    "model_type", [pytest.param(name, marks=() if name == "llama" else pytest.mark.slow) for name in LOGITS]
)
def test_logits_are_the_peak_where_they_are_all_that_is_large(model_type: str, dtype: str) -> None:
    settings = {**SIZES, **LOGITS[model_type], "vocab_size": 50_000, "num_hidden_layers": 1, "pad_token_id": 0}
    settings |= {"bos_token_id": 1, "eos_token_id": 2}
    config = {"model_type": model_type, "torch_dtype": dtype, **settings}
    for rows, option in (("all", "all"), ("generated", "last")):
        estimate = estimate_memory(config, context=8, logits=option)
        logits = next(item.size for item in estimate.items if item.name == "logits")
        assert logits == pytest.approx(peak(model_type, settings, tokens=8, rows=rows, dtype=dtype), rel=0.06)
