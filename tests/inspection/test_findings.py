"""Each finding comes where it should, and stays away where the file is as it should be."""

from __future__ import annotations

from typing import Any

import pytest

from ordinate.inspection import inspect_config
from ordinate.inspection.records import Finding

LLAMA: dict[str, Any] = {
    "model_type": "llama",
    "architectures": ["LlamaForCausalLM"],
    "hidden_size": 2048,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "num_hidden_layers": 4,
    "max_position_embeddings": 8192,
    "rope_theta": 500000.0,
}
YARN: dict[str, Any] = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 8192}


def found(told: dict[str, Any], name: str = "config.json") -> dict[str, Finding]:
    return {finding.id: finding for finding in inspect_config(told, name=name).findings}


def llama(**more: Any) -> dict[str, Any]:
    return {**LLAMA, **more}


STABLELM = {"model_type": "stablelm", "hidden_size": 2048, "num_attention_heads": 32, "num_hidden_layers": 4}

CASES: list[tuple[str, str, dict[str, Any], dict[str, Any]]] = [
    # finding, severity, a file that has it, the same file as it should be
    (
        "scaling-type-conflict",
        "error",
        llama(rope_scaling={"type": "linear", "rope_type": "yarn", "factor": 2}),
        llama(rope_scaling={"type": "linear", "rope_type": "linear", "factor": 2}),
    ),
    (
        "dialects-disagree",
        "warning",
        llama(rope_parameters={**YARN, "rope_theta": 5e5}, rope_scaling={"type": "linear", "factor": 2}),
        llama(rope_parameters={**YARN, "rope_theta": 5e5}, max_position_embeddings=32768),
    ),
    (
        "transformers-drops-rope-parameters",
        "warning",
        llama(rope_parameters={"rope_theta": 1e6}, rope_scaling={"type": "linear", "factor": 4}),
        llama(rope_parameters={"rope_theta": 1e6, "rope_type": "linear", "factor": 4}, rope_theta=1e6),
    ),
    (
        "spellings-disagree",
        "warning",
        llama(rope_parameters={"rope_theta": 1e6, "rope_type": "default"}),
        llama(rope_parameters={"rope_theta": 5e5, "rope_type": "default"}),
    ),
    (
        "original-context-missing",
        "warning",
        llama(rope_scaling={"type": "yarn", "factor": 4.0}, max_position_embeddings=32768),
        llama(rope_scaling=YARN, max_position_embeddings=32768),
    ),
    (
        "factor-misfits-contexts",
        "warning",
        llama(rope_scaling=YARN, max_position_embeddings=65536),
        llama(rope_scaling=YARN, max_position_embeddings=32768),
    ),
    (
        "original-above-claimed",
        "warning",
        llama(rope_scaling={**YARN, "original_max_position_embeddings": 16384}),
        llama(rope_scaling=YARN),
    ),
    (
        "digits-mistyped",
        "warning",
        llama(max_position_embeddings=32786),
        llama(max_position_embeddings=32768),
    ),
    (
        "contexts-disagree",
        "warning",
        llama(model_max_length=131072),
        llama(model_max_length=8192),
    ),
    ("base-unusual", "warning", llama(rope_theta=50), llama(rope_theta=5e7)),
    ("out-of-range", "error", llama(rope_theta=0), llama(rope_theta=10000)),
    ("wrong-type", "error", llama(num_hidden_layers=[4]), llama(num_hidden_layers=4)),
    ("number-as-text", "warning", llama(rope_theta="500000"), llama(rope_theta=500000)),
    (
        "position-type-misleads",
        "warning",
        llama(position_embedding_type="absolute"),
        {"model_type": "bert", "position_embedding_type": "absolute"},
    ),
    (
        "stock-class-ignores-position-type",
        "warning",
        {"model_type": "bert", "position_embedding_type": "alibi"},
        {"model_type": "bert", "position_embedding_type": "absolute"},
    ),
    (
        "keys-dead",
        "info",
        {"model_type": "nemotron_h", "hybrid_override_pattern": "M*-", "num_hidden_layers": 3, "rope_theta": 10000},
        {"model_type": "nemotron_h", "hybrid_override_pattern": "M*-", "num_hidden_layers": 3},
    ),
    ("keys-unknown", "info", llama(rope_wobble=3), llama(rope_scaling=None)),
    (
        "head-dim-underivable",
        "warning",
        llama(num_attention_heads=24, num_key_value_heads=8, hidden_size=2050),
        llama(num_attention_heads=24, num_key_value_heads=8, hidden_size=2050, head_dim=128),
    ),
    (
        "head-dim-misleads",
        "info",
        {"model_type": "glm_moe_dsa", "head_dim": 192, "qk_nope_head_dim": 192, "qk_rope_head_dim": 64},
        {"model_type": "glm_moe_dsa", "head_dim": 64, "qk_nope_head_dim": 192, "qk_rope_head_dim": 64},
    ),
    ("groups-uneven", "warning", llama(num_key_value_heads=5), llama(num_key_value_heads=4)),
    (
        "nope-polarity",
        "warning",
        {"model_type": "smollm3", "num_hidden_layers": 8, "no_rope_layers": [0, 0, 0, 1, 0, 0, 0, 1]},
        {"model_type": "smollm3", "num_hidden_layers": 8, "no_rope_layers": [1, 1, 1, 0, 1, 1, 1, 0]},
    ),
    ("model-type-unknown", "warning", {**LLAMA, "model_type": "llamma", "architectures": ["X"]}, LLAMA),
    (
        "class-contradicts-type",
        "warning",
        {**LLAMA, "model_type": "mixtral"},
        {**LLAMA, "model_type": "mixtral", "architectures": ["MixtralForCausalLM"]},
    ),
    (
        "unknown-scaling",
        "warning",
        llama(rope_scaling={"rope_type": "resonance"}),
        llama(rope_scaling={"rope_type": "default"}),
    ),
    (
        "scaling-unusable",
        "error",
        llama(rope_scaling={"rope_type": "linear"}),
        llama(rope_scaling={"rope_type": "linear", "factor": 2.0}),
    ),
    (
        "scaling-length-mismatch",
        "error",
        llama(rope_scaling={**YARN, "rope_type": "longrope", "short_factor": [1.0] * 48, "long_factor": [1.0] * 48}),
        llama(rope_scaling={**YARN, "rope_type": "longrope", "short_factor": [1.0] * 32, "long_factor": [1.0] * 32}),
    ),
    (
        "layer-list-length",
        "warning",
        {"model_type": "gemma2", "num_hidden_layers": 4, "layer_types": ["full_attention"] * 3},
        {"model_type": "gemma2", "num_hidden_layers": 4, "layer_types": ["full_attention"] * 4},
    ),
    ("rotated-channels-odd", "error", {**STABLELM, "partial_rotary_factor": 0.02}, STABLELM),
    ("rotated-channels-exceed-head", "error", {**STABLELM, "partial_rotary_factor": 2}, STABLELM),
    (
        "sections-do-not-add-up",
        "warning",
        {"model_type": "qwen2_vl_text", "rope_scaling": {"type": "mrope", "mrope_section": [16, 24, 25]}},
        {"model_type": "qwen2_vl_text", "rope_scaling": {"type": "mrope", "mrope_section": [16, 24, 24]}},
    ),
    (
        "sections-ignored",
        "warning",
        llama(rope_scaling={"type": "mrope", "mrope_section": [8, 12, 12]}),
        llama(rope_scaling={"type": "default"}),
    ),
    (
        "scaling-partial",
        "info",
        {"model_type": "exaone4", "rope_scaling": {**YARN, "original_max_position_embeddings": 2048}},
        {"model_type": "exaone4"},
    ),
    (
        "window-never-binds",
        "info",
        {"model_type": "mistral", "sliding_window": 8192, "max_position_embeddings": 8192},
        {"model_type": "mistral", "sliding_window": 4096, "max_position_embeddings": 8192},
    ),
    (
        "long-factors-unused",
        "info",
        llama(
            rope_scaling={
                **YARN,
                "factor": 1.0,
                "type": "su",
                "rope_type": "longrope",
                "short_factor": [1.0] * 32,
                "long_factor": [2.0] * 32,
            }
        ),
        llama(
            rope_scaling={
                **YARN,
                "factor": 1.0,
                "type": "su",
                "rope_type": "longrope",
                "short_factor": [1.0] * 32,
                "long_factor": [1.0] * 32,
            }
        ),
    ),
    (
        "frequencies-depend-on-length",
        "info",
        llama(
            rope_scaling={**YARN, "rope_type": "longrope", "short_factor": [1.0] * 32, "long_factor": [2.0] * 32},
            max_position_embeddings=32768,
        ),
        llama(rope_scaling=YARN, max_position_embeddings=32768),
    ),
    (
        "transformers-drops-base",
        "warning",
        {"model_type": "apertus", "rope_theta": 500000.0},
        {"model_type": "apertus", "rope_theta": 500000.0, "rope_scaling": {**YARN, "factor": 8.0}},
    ),
    (
        "transformers-fails-on-null-head",
        "warning",
        {**LLAMA, "model_type": "qwen2", "architectures": None, "head_dim": None, "rope_scaling": YARN},
        {**LLAMA, "model_type": "qwen2", "architectures": None, "rope_scaling": YARN},
    ),
    (
        "transformers-ignores-flat-text",
        "warning",
        {**LLAMA, "model_type": "gemma3", "architectures": None},
        {**LLAMA, "model_type": "qwen2_vl", "architectures": None},
    ),
    (
        "scores-have-a-temperature",
        "info",
        {"model_type": "qwen", "use_logn_attn": True, "seq_length": 2048},
        {"model_type": "qwen", "use_logn_attn": False, "seq_length": 2048},
    ),
    (
        "two-spellings-of-type",
        "info",
        {
            "model_type": "qwen2_vl_text",
            "rope_scaling": {"type": "mrope", "rope_type": "default", "mrope_section": [16, 24, 24]},
        },
        {"model_type": "qwen2_vl_text", "rope_scaling": {"rope_type": "default", "mrope_section": [16, 24, 24]}},
    ),
]


@pytest.mark.parametrize(("name", "severity", "told", "right"), CASES, ids=[case[0] for case in CASES])
def test_a_finding_comes_where_it_should_and_only_there(
    name: str, severity: str, told: dict[str, Any], right: dict[str, Any]
) -> None:
    finding = found(told).get(name)
    assert finding is not None, sorted(found(told))
    assert finding.severity == severity
    assert finding.evidence
    assert finding.hint
    assert name not in found(right)


def test_a_conflict_of_types_names_both_keys_and_takes_neither() -> None:
    told = llama(rope_scaling={"type": "linear", "rope_type": "yarn", "factor": 2})  # case yarn-conflict
    inspection = inspect_config(told)
    evidence = inspection.findings[0].evidence
    assert evidence == {"rope_scaling.rope_type": "yarn", "rope_scaling.type": "linear"}
    turn = inspection.layers[0].rotation
    assert turn is not None
    assert not turn.rule.known
    assert turn.inverse_frequencies() is None


@pytest.mark.parametrize(
    ("name", "promised"),
    [
        ("LWM-Text-1M", True),
        ("some/Model-7B-32K.json", True),
        ("Model-4k.json", False),
        ("nllb-600M", False),
        ("Kimi-K3", False),
    ],
)
def test_a_name_that_promises_more_than_the_file_claims_is_a_finding(name: str, promised: bool) -> None:
    assert ("name-promises-more" in found(LLAMA, name)) is promised


def test_a_factor_within_a_models_headroom_is_no_warning() -> None:
    told = llama(rope_scaling={**YARN, "original_max_position_embeddings": 32768}, max_position_embeddings=40960)
    assert found(told)["factor-misfits-contexts"].severity == "info"


def test_findings_come_worst_first() -> None:
    told = llama(rope_theta=0, position_embedding_type="absolute", rope_wobble=1)
    severities = [finding.severity for finding in inspect_config(told).findings]
    assert severities == sorted(severities, key=["error", "warning", "info"].index)
    assert {"error", "warning", "info"} <= set(severities)


WELL_FORMED: dict[str, dict[str, Any]] = {
    "Llama 3.1": llama(
        hidden_size=4096,
        max_position_embeddings=131072,
        rope_scaling={
            "factor": 8.0,
            "low_freq_factor": 1.0,
            "high_freq_factor": 4.0,
            "original_max_position_embeddings": 8192,
            "rope_type": "llama3",
        },
    ),
    "Llama 3.1 of transformers 5": llama(
        max_position_embeddings=131072,
        rope_theta=None,
        rope_parameters={
            "rope_theta": 500000.0,
            "factor": 8.0,
            "low_freq_factor": 1.0,
            "high_freq_factor": 4.0,
            "original_max_position_embeddings": 8192,
            "rope_type": "llama3",
        },
    ),
    "Qwen3 with YaRN as its card says": {
        "model_type": "qwen3",
        "architectures": ["Qwen3ForCausalLM"],
        "head_dim": 128,
        "hidden_size": 4096,
        "max_position_embeddings": 40960,
        "max_window_layers": 36,
        "num_attention_heads": 32,
        "num_hidden_layers": 36,
        "num_key_value_heads": 8,
        "rope_scaling": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768},
        "rope_theta": 1000000,
        "sliding_window": None,
        "use_sliding_window": False,
    },
    "Kimi K2": {
        "model_type": "kimi_k2",
        "architectures": ["DeepseekV3ForCausalLM"],
        "hidden_size": 7168,
        "kv_lora_rank": 512,
        "max_position_embeddings": 131072,
        "num_attention_heads": 64,
        "num_hidden_layers": 61,
        "num_key_value_heads": 64,
        "qk_nope_head_dim": 128,
        "qk_rope_head_dim": 64,
        "v_head_dim": 128,
        "rope_scaling": {
            "type": "yarn",
            "factor": 32.0,
            "beta_fast": 1.0,
            "beta_slow": 1.0,
            "mscale": 1.0,
            "mscale_all_dim": 1.0,
            "original_max_position_embeddings": 4096,
        },
        "rope_theta": 50000.0,
    },
    "GPT-NeoX": {
        "model_type": "gpt_neox",
        "architectures": ["GPTNeoXForCausalLM"],
        "hidden_size": 6144,
        "num_attention_heads": 64,
        "num_hidden_layers": 44,
        "max_position_embeddings": 2048,
        "rotary_emb_base": 10000,
        "rotary_pct": 0.25,
    },
    "RoBERTa": {
        "model_type": "roberta",
        "architectures": ["RobertaForMaskedLM"],
        "hidden_size": 768,
        "num_attention_heads": 12,
        "num_hidden_layers": 12,
        "max_position_embeddings": 514,
        "position_embedding_type": "absolute",
        "type_vocab_size": 1,
    },
    "Mistral 7B v0.1": {
        "model_type": "mistral",
        "architectures": ["MistralForCausalLM"],
        "hidden_size": 4096,
        "max_position_embeddings": 32768,
        "num_attention_heads": 32,
        "num_hidden_layers": 32,
        "num_key_value_heads": 8,
        "rope_theta": 10000.0,
        "sliding_window": 4096,
    },
    "Qwen2-VL": {
        "model_type": "qwen2_vl",
        "architectures": ["Qwen2VLForConditionalGeneration"],
        "hidden_size": 3584,
        "max_position_embeddings": 32768,
        "max_window_layers": 28,
        "num_attention_heads": 28,
        "num_hidden_layers": 28,
        "num_key_value_heads": 4,
        "rope_theta": 1000000.0,
        "sliding_window": 32768,
        "use_sliding_window": False,
        "vision_config": {"depth": 32, "embed_dim": 1280, "hidden_size": 3584, "num_heads": 16, "patch_size": 14},
        "rope_scaling": {"type": "mrope", "mrope_section": [16, 24, 24]},
    },
    "T5": {"model_type": "t5", "d_kv": 64, "d_model": 512, "num_heads": 8, "num_layers": 6, "n_positions": 512},
    "Whisper": {"model_type": "whisper", "d_model": 512, "encoder_attention_heads": 8, "decoder_attention_heads": 8},
}
"""Shaped like files that millions have downloaded, with nothing wrong in them."""


@pytest.mark.parametrize("name", WELL_FORMED)
def test_a_well_formed_file_raises_no_warning(name: str) -> None:
    assert [finding for finding in inspect_config(WELL_FORMED[name]).findings if finding.severity != "info"] == []
