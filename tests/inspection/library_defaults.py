"""What the config classes of transformers take for keys that a file leaves out, gathered from the classes themselves.

`families/library.json` is this table. Run this file to write it anew after an update of the library; a slow test holds the
two together. Only declared defaults are taken (a dataclass field's own), never values that a constructor derives from others,
so that `head_dim` stays open where the code divides. Rope parameters are the one exception: constructors fill them.
"""

from __future__ import annotations

import dataclasses
import inspect
import json
import logging
import re
import warnings
from pathlib import Path
from typing import Any

NAMES = """
    hidden_size n_embd d_model dim embed_dim width embedding_size input_embedding_size encoder_hidden_size
    num_hidden_layers n_layer n_layers num_layers depth layers encoder_layers decoder_layers num_encoder_layers
    num_decoder_layers encoder_num_hidden_layers decoder_num_hidden_layers num_attention_heads n_head n_heads
    num_heads attention_heads encoder_attention_heads decoder_attention_heads num_encoder_attention_heads
    num_decoder_attention_heads encoder_num_attention_heads decoder_num_attention_heads num_key_value_heads
    num_kv_heads encoder_num_key_value_heads decoder_num_key_value_heads head_dim kv_channels d_kv d_head
    attention_head_size attention_head_dim v_head_dim qk_nope_head_dim qk_rope_head_dim kv_lora_rank index_head_dim
    sliding_window sliding_window_size attention_window_size local_attention attention_chunk_size window_size
    use_sliding_window max_window_layers max_position_embeddings n_positions n_ctx max_seq_len max_source_positions
    max_target_positions max_encoder_position_embeddings max_decoder_position_embeddings
    original_max_position_embeddings rotary_dim rope_theta compress_rope_theta rope_interleave no_rope_layer_interval
    model_max_length fullatt_block_indexes global_attn_every_n_layers sliding_window_pattern attn_layer_period
    attn_layer_offset use_mem_rope position_embedding_type position_embeddings_type rotary_embedding_base image_size
    patch_size num_position_embeddings num_patches use_absolute_position_embeddings is_native
    relative_attention_num_buckets relative_attention_max_distance relative_attention position_biased_input
    position_buckets max_relative_positions share_att_key num_buckets max_bucket_distance num_conv_pos_embeddings
    num_conv_pos_embedding_groups left_max_position_embeddings right_max_position_embeddings multi_query
    new_decoder_architecture alibi num_hash_buckets max_2d_position_embeddings axial_pos_embds
    use_learned_position_embeddings sinusoidal_pos_embds sinusoidal_embeddings clamp_len depths layer_group_size
    num_sliding_attention_heads swa_num_attention_heads swa_num_key_value_heads H_cycles L_cycles
    memory_attention_hidden_size global_head_dim use_abs_pos cross_attention_layers max_text_positions
    max_speech_positions num_kv_shared_layers linear_num_key_heads linear_num_value_heads linear_key_head_dim
    linear_value_head_dim linear_conv_kernel_dim linear_num_heads linear_head_dim short_conv_kernel_size mamba_expand
    expand mamba_d_state state_size mamba_d_conv conv_kernel mamba_n_heads mamba_num_heads n_mamba_heads mamba_n_groups
    mamba_ngroups n_groups ssm_state_size mamba_d_ssm mamba_d_head mamba_head_dim mamba_headdim conv_L_cache
    conv_kernel_size lru_width conv1d_width attention_hidden_size attn_temperature_tuning floor_scale attn_scale
    log_scaling_n_floor log_scaling_alpha swa_head_dim d_rel rel_extent num_self_attention_heads
    num_self_attends_per_block d_latents speech_encoder_layers speech_encoder_attention_heads t2u_encoder_layers
    t2u_encoder_attention_heads t2u_decoder_layers t2u_decoder_attention_heads t2u_max_position_embeddings
    resampler_depth resampler_n_heads resampler_head_dim projection_dim use_rotary_embedding loop_num_passes
    loop_layer_index_start loop_layer_index_end seq_len use_positional_encoding mm_posemb_size mm_embed_dim
    num_attention_layers num_blocks patch_embeds_hidden_size
"""
KEYS = NAMES.split()

SPELLINGS = [
    *("partial_rotary_factor", "rotary_pct", "rope_pct", "rotary_fraction", "rotary_emb_fraction", "rotary_dim"),
    *("rotary_emb_base", "rotary_base", "rope_base", "rotary_embedding_base", "rope_freq_constant"),
]
"""Keys of older files for the share of channels that turn and for the base; a class reads few of them and ignores the rest."""


def spellings(kind: type) -> list[str]:
    """Those of `SPELLINGS` that the configuration or the modeling code of a type mentions."""
    folder = Path(inspect.getfile(kind)).parent
    settings, code = (
        "\n".join(path.read_text(encoding="utf-8") for path in folder.glob(f"{start}_*.py"))
        for start in ("configuration", "modeling")
    )
    return [key for key in SPELLINGS if re.search(rf"\b{key}\b", settings) or re.search(rf"(config\.|[\"']){key}\b", code)]


def gather() -> dict[str, Any]:
    """The table, by model type: `defaults` of keys, and `parts`: which sections are parts, with the type each takes."""
    warnings.simplefilter("ignore")
    logging.disable(logging.ERROR)
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING, CONFIG_MAPPING_NAMES

    table = {}
    for model_type in sorted(CONFIG_MAPPING_NAMES):
        kind = CONFIG_MAPPING[model_type]
        declared = {field.name: field.default for field in dataclasses.fields(kind)} if dataclasses.is_dataclass(kind) else {}
        defaults = {key: declared[key] for key in KEYS if _is_plain(declared.get(key))}
        try:
            told = json.loads(json.dumps(kind().to_dict(), default=str))
        except Exception:  # a class that cannot be made from its own defaults
            told = {}
        if isinstance(told.get("rope_parameters"), dict) and told["rope_parameters"]:
            defaults["rope_parameters"] = told["rope_parameters"]
        for key in ("attn_config",):
            if isinstance(told.get(key), dict):
                kept = {name: value for name, value in told[key].items() if name in ("alibi", "alibi_bias_max", "kv_n_heads")}
                defaults[key] = kept
        parts = {key: value["model_type"] for key, value in told.items() if isinstance(value, dict) and value.get("model_type")}
        table[model_type] = {"defaults": defaults, "parts": parts}
        if found := spellings(kind):
            table[model_type]["spellings"] = found
    return table


def _is_plain(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return all(isinstance(item, int | float) for item in value)
    return isinstance(value, bool | int | float | str)


def as_text(table: dict[str, Any]) -> str:
    """One model type a line, so that an update reads as a diff."""
    rows = (f"{json.dumps(name)}: {json.dumps(row, sort_keys=True)}" for name, row in table.items())
    return "{\n" + ",\n".join(rows) + "\n}\n"


LIBRARY = Path(__file__).parents[2] / "src" / "ordinate" / "inspection" / "families" / "library.json"

if __name__ == "__main__":
    LIBRARY.write_text(as_text(gather()), encoding="utf-8")
