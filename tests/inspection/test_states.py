"""Cache and states against the caches that transformers itself makes for small random models, to the byte."""

from __future__ import annotations

from typing import Any

import pytest

from ordinate.inspection import estimate_memory, inspect_config

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

SMALL = {
    "hidden_size": 64,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "intermediate_size": 96,
    "vocab_size": 128,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
LATENT = {"num_key_value_heads": 4, "q_lora_rank": None, "kv_lora_rank": 16, "v_head_dim": 8}
LATENT |= {"qk_nope_head_dim": 8, "qk_rope_head_dim": 8}
HEADS = {"mamba_n_heads": 8, "mamba_d_head": 16, "mamba_d_state": 32}
MIXTURE = {"num_experts": 2, "num_experts_per_tok": 1, "moe_intermediate_size": 32}
FAMILIES: dict[str, dict[str, Any]] = {
    "qwen3_next": {"num_hidden_layers": 4, "head_dim": 16, "linear_num_key_heads": 4, "linear_num_value_heads": 8, **MIXTURE},
    "qwen3_5_text": {"num_hidden_layers": 4, "head_dim": 16, "linear_key_head_dim": 32},
    "olmo_hybrid": {"num_hidden_layers": 4, "linear_num_key_heads": 4, "linear_num_value_heads": 4},
    "bailing_hybrid": {"num_hidden_layers": 6, "mlp_layer_types": ["dense"] * 6, **LATENT},
    "minimax": {"num_hidden_layers": 2, "head_dim": 16, "num_local_experts": 2},
    "jamba": {
        "num_hidden_layers": 4,
        "attn_layer_period": 4,
        "attn_layer_offset": 1,
        "num_experts": 2,
        "mamba_dt_rank": 4,
        "use_mamba_kernels": False,
    },
    "bamba": {"num_hidden_layers": 4, "attn_layer_indices": [1], "mamba_n_groups": 1, **HEADS},
    "mamba": {"num_hidden_layers": 2},
    "mamba2": {"num_hidden_layers": 2, "num_heads": 8, "head_dim": 16, "n_groups": 2, "state_size": 32},
    "granitemoehybrid": {
        "num_hidden_layers": 2,
        "layer_types": ["mamba", "attention"],
        "num_local_experts": 2,
        "num_experts_per_tok": 1,
        **HEADS,
    },
    "falcon_h1": {"num_hidden_layers": 2, "mamba_d_ssm": 128, **HEADS},
    "nemotron_h": {"num_hidden_layers": 3, "hybrid_override_pattern": "M*-", "mamba_num_heads": 8, "mamba_head_dim": 16},
    "lfm2": {"num_hidden_layers": 4, "full_attn_idxs": [1]},
    "zaya": {"num_hidden_layers": 2},
    "inkling_text": {
        "num_hidden_layers": 6,
        "head_dim": 16,
        "swa_head_dim": 16,
        "swa_num_attention_heads": 4,
        "swa_num_key_value_heads": 4,
        "sliding_window_size": 4,
        "n_routed_experts": 4,
        "n_shared_experts": 1,
        "num_experts_per_tok": 1,
        "moe_intermediate_size": 32,
        "mlp_layer_types": ["dense"] * 6,
        "layer_types": ["hybrid_sliding", "hybrid"] * 3,
    },
    "inkling2_loop_text": {
        "num_hidden_layers": 6,
        "head_dim": 16,
        "swa_head_dim": 16,
        "swa_num_attention_heads": 4,
        "swa_num_key_value_heads": 2,
        "sliding_window_size": 4,
        "n_routed_experts": 4,
        "num_experts_per_tok": 1,
        "moe_intermediate_size": 32,
        "loop_layer_index_start": 2,
        "loop_layer_index_end": 4,
        "loop_num_passes": 3,
        "n_layers_per_attn_res_block": 2,
        "layer_types": ["hybrid_sliding", "hybrid"] * 3,
    },
    # in bfloat16 transformers keeps the keys of its indexer in float32, which the estimate does not know
    "dots3_note_text": {
        "dtype": "float32",
        "num_hidden_layers": 3,
        "layer_types": ["indexed_attention", "indexed_attention", "sliding_attention"],
        "sliding_window": 4,
        "mlp_layer_types": ["dense"] * 3,
        "index_head_dim": 16,
        "index_n_heads": 2,
        "index_topk": 4,
        "n_routed_experts": 2,
        "num_experts_per_tok": 1,
        "moe_intermediate_size": 32,
        **LATENT,
        "q_lora_rank": 16,
        "swa_num_attention_heads": 2,
        "swa_num_key_value_heads": 2,
        "swa_kv_lora_rank": 24,
        "swa_head_dim": 16,
        "swa_qk_nope_head_dim": 8,
        "swa_v_head_dim": 8,
        "swa_q_lora_rank": 16,
    },
    "deepseek_v32": {
        "num_hidden_layers": 2,
        "index_head_dim": 16,
        "index_n_heads": 2,
        "index_topk": 4,
        "first_k_dense_replace": 2,
        "n_routed_experts": 2,
        "num_experts_per_tok": 1,
        "n_group": 1,
        "topk_group": 1,
        "moe_intermediate_size": 32,
        **LATENT,
        "q_lora_rank": 16,
    },
    "glm_moe_dsa": {
        "num_hidden_layers": 4,
        "index_head_dim": 16,
        "index_n_heads": 2,
        "index_topk": 4,
        "first_k_dense_replace": 4,
        "mlp_layer_types": ["dense"] * 4,
        "indexer_types": ["full", "shared", "full", "shared"],
        **LATENT,
        "q_lora_rank": 16,
    },
    "glm5_next_text": {
        "num_hidden_layers": 4,
        "layer_types": ["linear_attention", "full_attention"] * 2,
        "index_head_dim": 16,
        "index_n_heads": 2,
        "index_topk": 8,
        "index_kpool": 4,
        "mlp_layer_types": ["dense"] * 4,
        "linear_num_heads": 2,
        "linear_head_dim": 16,
        **LATENT,
        "q_lora_rank": 16,
        "qk_rope_head_dim": 0,
    },
    "zamba2": {"num_hidden_layers": 4, "layers_block_type": ["mamba", "hybrid"] * 2, "n_mamba_heads": 8, "num_mem_blocks": 1},
    "falcon": {"num_hidden_layers": 2, "multi_query": False, "new_decoder_architecture": False},
    "gpt_bigcode": {"num_hidden_layers": 2, "multi_query": False},
    "bloom": {"num_hidden_layers": 2, "num_key_value_heads": 2},
    "hrm_text": {"num_hidden_layers": 2},
    "llama": {"num_hidden_layers": 2},
    "mistral": {"num_hidden_layers": 2, "sliding_window": 4},
    "gemma3_text": {"num_hidden_layers": 6, "head_dim": 16, "sliding_window": 4},
    "deepseek_v3": {
        "num_hidden_layers": 2,
        "first_k_dense_replace": 2,
        "n_routed_experts": 2,
        "num_experts_per_tok": 1,
        "n_group": 1,
        "topk_group": 1,
        "moe_intermediate_size": 32,
        **LATENT,
        "q_lora_rank": 16,
    },
}
EVERYDAY = ("qwen3_5_text", "mamba2", "lfm2", "mistral")


def measured(model_type: str, settings: dict[str, Any], tokens: int) -> int:
    """Bytes of everything that the cache of a small model holds after `tokens` tokens."""
    dtype = getattr(torch, settings["dtype"])
    config = transformers.AutoConfig.for_model(model_type, **settings)
    model = transformers.AutoModel.from_config(config, dtype=dtype).eval()
    with torch.no_grad():
        output = model(input_ids=torch.arange(3, 3 + tokens)[None], use_cache=True)
    cache = getattr(output, "past_key_values", None)
    cache = output.cache_params if cache is None else cache
    total = 0
    for layer in cache.layers:
        for value in vars(layer).values():
            tensors = value.values() if isinstance(value, dict) else value if isinstance(value, list) else [value]
            kept = [tensor for tensor in tensors if isinstance(tensor, torch.Tensor) and tensor.ndim > 1]
            total += sum(tensor.numel() * tensor.element_size() for tensor in kept)
    return total + sum(each.numel() * each.element_size() for each in getattr(cache, "linear_cache", []) if len(each))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "model_type", [pytest.param(name, marks=() if name in EVERYDAY else pytest.mark.slow) for name in FAMILIES]
)
def test_the_cache_of_a_model_has_the_bytes_that_the_estimate_says(model_type: str) -> None:
    settings = {"dtype": "bfloat16", **SMALL, **FAMILIES[model_type]}
    estimate = estimate_memory({"model_type": model_type, **settings}, context=7)
    assert all(item.size is not None for item in estimate.items if item.group in ("cache", "state"))
    assert estimate.size_of("cache") + estimate.size_of("state") == measured(model_type, settings, 7)


def test_until_a_state_is_known_the_total_is_a_lower_bound() -> None:
    cache = inspect_config({"model_type": "xlstm", "num_hidden_layers": 2, "hidden_size": 64}).cache
    assert cache is not None
    assert cache.at_least
