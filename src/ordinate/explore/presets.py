"""What the page knows of a model: the facts of an inspection that its pictures and its arithmetic need.

A preset is a config as its authors published it, in the keys that matter. Its facts are read by `ordinate.inspection`, as
those of any file are.
"""

from __future__ import annotations

from typing import Any

from ordinate.inspection.records import Inspection, LayerKind
from ordinate.records import plain

__all__ = ["PRESETS", "facts"]

PRESETS: dict[str, dict[str, Any]] = {
    "Llama 3.1 8B": {
        "model_type": "llama", "hidden_size": 4096, "num_attention_heads": 32, "num_key_value_heads": 8,
        "num_hidden_layers": 32, "max_position_embeddings": 131072, "rope_theta": 500000.0, "torch_dtype": "bfloat16",
        "rope_scaling": {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                         "original_max_position_embeddings": 8192},
    },
    "Qwen3 8B, YaRN to 131,072": {
        "model_type": "qwen3", "hidden_size": 4096, "head_dim": 128, "num_attention_heads": 32, "num_key_value_heads": 8,
        "num_hidden_layers": 36, "max_position_embeddings": 131072, "rope_theta": 1000000.0, "torch_dtype": "bfloat16",
        "rope_scaling": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768},
    },
    "Mistral 7B v0.1 (window of 4,096)": {
        "model_type": "mistral", "hidden_size": 4096, "num_attention_heads": 32, "num_key_value_heads": 8,
        "num_hidden_layers": 32, "max_position_embeddings": 32768, "rope_theta": 10000.0, "sliding_window": 4096,
        "torch_dtype": "bfloat16",
    },
    "GPT-J 6B (64 of 256 channels)": {
        "model_type": "gptj", "n_embd": 4096, "n_head": 16, "n_layer": 28, "n_positions": 2048, "rotary_dim": 64,
        "torch_dtype": "float16",
    },
    "BLOOM 7B1 (ALiBi)": {
        "model_type": "bloom", "hidden_size": 4096, "n_head": 32, "n_layer": 30, "torch_dtype": "float16",
    },
    "GPT-2 (learned table)": {
        "model_type": "gpt2", "n_embd": 768, "n_head": 12, "n_layer": 12, "n_positions": 1024, "torch_dtype": "float32",
    },
}  # fmt: skip
"""Configs of released models."""


def facts(inspection: Inspection, name: str | None = None) -> dict[str, Any]:
    """The part of an inspection that the page uses, in plain JSON types.

    >>> from ordinate.inspection import inspect_config
    >>> facts(inspect_config(PRESETS["Llama 3.1 8B"]), "Llama")["layers"][0]["rotation"]["base"]
    500000.0
    """
    cache = inspection.cache
    trained, claimed = inspection.contexts.trained.value, inspection.contexts.claimed.value
    groups = () if cache is None or not cache.bytes_per_token.known else cache.groups
    return plain(
        {
            "name": name or inspection.source,
            "model_type": inspection.model_type.value,
            "encoding": inspection.kind or "unknown",
            "trained": trained,
            "claimed": claimed,
            "layers": [_layer(layer) for layer in inspection.layers],
            "cache": {
                "bytes_per_value": 2 if cache is None else cache.bytes_per_value.value or 2,
                "groups": [
                    {"layers": one.layers, "width": one.width, "window": one.window, "state": one.state} for one in groups
                ],
            },
            "findings": [
                {"severity": finding.severity, "message": finding.message, "hint": finding.hint}
                for finding in inspection.findings
            ],
        }
    )


def _layer(layer: LayerKind) -> dict[str, Any]:
    turn = layer.rotation
    known = turn is not None and turn.inverse_frequencies() is not None
    return {
        "name": layer.name,
        "count": len(layer.indices),
        "window": layer.window_keys.value,
        "heads": layer.attention.num_heads.value,
        "kv_heads": layer.attention.num_kv_heads.value,
        "head_dim": layer.attention.head_dim.value,
        "rotation": None
        if turn is None or not known
        else {
            "layout": turn.layout.value,
            "rotary_dim": turn.rotary_dim.value,
            "base": turn.base.value,
            "rule": turn.rule.value,
            "settings": {key: value.value for key, value in turn.settings.items()},
            "sections": None if turn.sections is None else turn.sections.value,
        },
    }
