"""Checks of keys: those that lie, those that nothing reads, those that look positional and are not known."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ordinate.arguments import did_you_mean
from ordinate.inspection.findings.checked_part import CheckedPart
from ordinate.inspection.reader.roles import ROLES
from ordinate.inspection.records import Finding

__all__ = ["CHECKS", "CHECKS_OF_ANY_FORMAT"]

ROTARY_KEYS = (
    "rope_theta",
    "rope_scaling",
    "rope_parameters",
    "partial_rotary_factor",
    "rotary_pct",
    "rotary_dim",
    "rotary_emb_base",
)

NAMES = """
    max_position_embeddings n_positions max_sequence_length max_seq_len max_seq_length seq_length n_ctx model_max_length
    original_max_position_embeddings initial_context_length original_context_length context_length max_source_positions
    max_target_positions max_encoder_position_embeddings max_decoder_position_embeddings max_2d_position_embeddings
    rope_theta rope_scaling rope_parameters rope_ratio rope_interleave rope_local_base_freq partial_rotary_factor
    partial_rotary_factors rotary_pct rotary_dim rotary_emb_base rotary_base rope_base rotary_embedding_base rotary
    global_rope_theta local_rope_theta compress_rope_theta layer_rope_theta rope_pct rotary_fraction qk_rope_head_dim
    qk_nope_head_dim use_dynamic_ntk position_embedding_type position_embeddings_type position_encoding_2d
    position_buckets position_biased_input max_relative_positions pos_att_type relative_attention
    relative_attention_num_buckets relative_attention_max_distance no_rope_layers no_rope_layer_interval sliding_window
    sliding_window_size sliding_window_pattern _sliding_window_pattern sliding_window_attention_size use_sliding_window
    max_window_layers attention_window_size local_attention window_size window_block_indexes fullatt_block_indexes alibi
    offset_alibi axial_pos_embds axial_pos_shape axial_pos_embds_dim sinusoidal_pos_embds sinusoidal_embeddings
    learned_pos_emb static_position_embeddings extra_pos_embeddings num_conv_pos_embeddings
    num_conv_pos_embedding_groups left_max_position_embeddings right_max_position_embeddings num_position_embeddings
    position_embedding_size use_absolute_position_embeddings use_absolute_embeddings use_relative_position_bias
    use_shared_relative_position_bias use_mid_position_embeddings use_mem_rope index_topk_pattern use_mrope
    use_position_ids reset_position_ids indexer_rope_interleave original_rope time_encoding_scale use_rotary_embedding
    position_id_per_seconds pos_emb use_logn_attn rope pt_hw_seq_len intp_freq tokens_per_second image_pos_embed
    visual_temporal_embedding use_learned_position_embeddings rotary_value position_bias_num_buckets
    position_bias_max_distance max_text_len positional_embedding_temperature positional_encoding_temperature
    positional_encoding_type use_positional_encoding use_positional_embedding max_ep_len interpolate_factor is_native
    max_rel_pos max_rel_2d_pos swa_rope_theta use_pos_embed max_length min_length max_new_tokens context_size
    attention_context_left attention_context_right window_kernel_size prefix_dense_sliding_window_pattern long_factor
    short_factor max_num_tiles pos_conv_depth conv_pos_kernel_size num_relative_features reset_position_index_per_cell
    max_text_positions max_speech_positions encoder_max_relative_position chunk_size_feed_forward
    global_attn_every_n_layers text_encoder_context_length text_encoder_n_ctx cross_attention_layers
    max_grid_col_position_embeddings max_grid_row_position_embeddings pretrained_window_sizes indexer_types
    index_rope_interleave sliding_windows max_trained_positions max_context_length rope_freq_constant
    rotary_emb_fraction rotary_emb_interleaved rotary_emb_scale_base alibi_bias_max max_pos_embeddings axes_dims_rope
    axes_dim_rope rope_axes_dim rope_dim rope_dim_list rope_max_seq_len pos_embed_seq_len rope_scale rope_base
    pos_embed_max_size extra_pos_embed_type use_rotary_positional_embeddings use_learned_positional_embeddings
    time_position_encoding_type pos_embed_max_pos audio_pos_embed_max_pos rope_double_precision rope_type
    orig_max_position_embeddings rope_local_theta mrope_section
    use_keyframes_abs_pos_embedding rope_temporal_skip_len time_theta rope_freq_dim use_layer3d_rope theta
"""
KNOWN = frozenset(NAMES.split())
"""Keys that a reader here reads, or that are known to say nothing about position."""

POSITIONAL = re.compile(r"rope|rotary|alibi|yarn|ntk|position(?!_wise)|pos_emb|sliding_window|nope|relative_att|theta$")


def position_type_misleads(checked: CheckedPart) -> Iterator[Finding]:
    """`position_embedding_type` says another encoding than the family's code applies."""
    name = checked.keys.get("position_embedding_type")
    if not isinstance(name, str) or not checked.part.layers:
        return
    kinds = {one.kind.value for layer in checked.part.layers for one in layer.encodings}
    rotating = {kind for kind in kinds if kind is not None and kind.startswith(("rope", "mrope"))}
    if rotating and name in ("absolute", "relative_key", "relative_key_query"):
        yield Finding(
            "position-type-misleads",
            "warning",
            f'position_embedding_type says "{name}", but this model rotates; nothing reads the key',
            checked.present("position_embedding_type"),
            "leave the key out; readers that trust it build a learned table",
        )
    elif kinds == {"sinusoidal", "learned"} or "detr" in str(checked.part.model_type.value):
        return
    elif name in ("alibi", "rope", "rotary") and checked.stated_type in BERT_LIKE:
        yield Finding(
            "stock-class-ignores-position-type",
            "warning",
            f'stock {checked.stated_type} builds a learned table whatever position_embedding_type says ("{name}")',
            {"model_type": checked.stated_type, **checked.present("position_embedding_type")},
            "load it with the code the checkpoint brings along (auto_map)",
        )


BERT_LIKE = {"bert", "roberta", "xlm-roberta", "electra", "ernie"}


def keys_dead(checked: CheckedPart) -> Iterator[Finding]:
    """Keys of a rotation in a part that does not rotate, and other keys that this file gives no effect."""
    kinds = {one.kind.value for layer in checked.part.layers for one in layer.encodings}
    if checked.part.layers and not checked.turns and kinds and not any(str(kind).startswith("rope") for kind in kinds):
        dead = checked.present(*ROTARY_KEYS)
        if dead:
            names = " and ".join(sorted(str(kind) for kind in kinds))
            yield Finding(
                "keys-dead",
                "info",
                f"keys of a rotation in a model that does not rotate (its encoding: {names})",
                dead,
                "nothing reads them; a reader that does gets the model wrong",
            )
    if kinds == {"none"} and checked.present("max_position_embeddings"):
        yield Finding(
            "keys-dead",
            "info",
            "max_position_embeddings limits nothing: no layer encodes position",
            checked.present("max_position_embeddings"),
            "take it as a hint at the trained length",
        )
    if "t5-bucket" in kinds and "learned" not in kinds and checked.present("n_positions"):
        yield Finding(
            "keys-dead",
            "info",
            "n_positions limits nothing: biases depend on distances, which are clipped",
            checked.present("n_positions"),
            "take it as the trained length",
        )
    if checked.keys.get("use_sliding_window") is False and checked.present("sliding_window"):
        yield Finding(
            "keys-dead",
            "info",
            "sliding_window has no effect: use_sliding_window is false",
            checked.present("sliding_window", "use_sliding_window"),
            "readers that look at sliding_window alone build windows",
        )
    if checked.turns and checked.scaled is None and checked.present("original_max_position_embeddings"):
        yield Finding(
            "keys-dead",
            "info",
            "original_max_position_embeddings has no effect: nothing is scaled",
            checked.present("original_max_position_embeddings"),
            "leave it out",
        )
    if checked.keys.get("relative_attention") is False and checked.present("position_buckets"):
        yield Finding(
            "keys-dead",
            "info",
            "position_buckets has no effect: relative_attention is false",
            checked.present("position_buckets", "relative_attention"),
            "leave it out",
        )


def window_never_binds(checked: CheckedPart) -> Iterator[Finding]:
    """A window as wide as the claimed context hides nothing."""
    claimed = checked.part.contexts.claimed
    for layer in checked.part.layers:
        window = layer.window_keys
        if (
            window.known
            and window.value is not None
            and claimed.known
            and claimed.source == "file"
            and window.value >= claimed.value
        ):
            yield Finding(
                "window-never-binds",
                "info",
                f"a window of {window.value} keys hides nothing inside the claimed {claimed.value} tokens",
                {**checked.stated(window), **checked.stated(claimed)},
                "count the layers as unwindowed",
            )


def long_factors_unused(checked: CheckedPart) -> Iterator[Finding]:
    """LongRoPE whose claimed context is no longer than the original one never takes its long divisors."""
    turn, claimed = checked.scaled, checked.part.contexts.claimed
    if turn is None or turn.rule.value != "longrope" or not claimed.known:
        return
    original = turn.settings["original_context"]
    long, short = turn.settings["long_factor"], turn.settings["short_factor"]
    if original.known and claimed.value <= original.value and long.value != short.value:
        yield Finding(
            "long-factors-unused",
            "info",
            f"long_factor is never used inside the claimed {claimed.value} tokens, and cos and sin carry a factor of 1",
            {**checked.stated(claimed), **checked.stated(original)},
            "restore max_position_embeddings if it was edited down from the model's own",
        )


def keys_unknown(checked: CheckedPart) -> Iterator[Finding]:
    """Keys that look positional and that no reader here knows, in the section and in the dictionaries inside it."""
    unread = {}
    for path, key, value in _walk(checked.keys, ""):
        of_position = not key.endswith(("_token_id", "_token_index"))
        if value is not None and of_position and POSITIONAL.search(key) and key not in KNOWN and not isinstance(value, Mapping):
            unread[checked.section.at(path)] = value
    read = {one.base.detail for one in checked.turns}
    nested = {path: value for path, value in _nested_bases(checked).items() if path not in read}
    unread |= nested
    if unread:
        names = []
        for path in sorted(unread):
            hint = did_you_mean(path.rsplit(".", 1)[-1], POSITION_KEYS)
            names.append(f"{path} ({hint})" if hint else path)
        yield Finding(
            "keys-unknown",
            "warning" if nested else "info",
            "keys that look positional and are not known here: " + ", ".join(names),
            {path: unread[path] for path in sorted(unread)},
            "what they change is not in this reading",
        )


READ_INSIDE = {
    *("rope_parameters", "rope_scaling", "linear_attn_config", "per_layer_config", "chronos_config", "quantization_config"),
    *("label2id", "id2label", "task_specific_params"),
}
"""Dictionaries whose keys are read, or say nothing about position."""

POSITION_KEYS = (
    *ROTARY_KEYS,
    *("max_position_embeddings", "original_max_position_embeddings", "sliding_window", "rope_interleave"),
)


def _walk(keys: Mapping[Any, Any], path: str, depth: int = 0) -> Iterator[tuple[str, str, Any]]:
    """Path, key and value of everything in a section that is no part of its own."""
    for key, value in keys.items():
        if not isinstance(key, str):
            continue
        at = f"{path}.{key}" if path else key
        yield at, key, value
        if isinstance(value, Mapping) and depth < 4 and key not in ROLES and key not in READ_INSIDE:
            yield from _walk(value, at, depth + 1)


def _nested_bases(checked: CheckedPart) -> dict[str, Any]:
    """Bases of a rotation in dictionaries where no reader looks."""
    return {
        checked.section.at(path): value
        for path, key, value in _walk(checked.keys, "")
        if "." in path and key in ("rope_theta", "rotary_emb_base", "rope_base") and value is not None
    }


CHECKS = (position_type_misleads, keys_dead, window_never_binds, long_factors_unused, keys_unknown)
CHECKS_OF_ANY_FORMAT = (window_never_binds, long_factors_unused)
