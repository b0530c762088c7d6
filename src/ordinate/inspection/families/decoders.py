"""Language models that rotate queries and keys, and the ways in which their kinds of layer differ.

Each row was read in the modeling file of that name in transformers 5.24 (the name of the function that pairs channels gives
the layout: `rotate_half` halves, `[..., ::2]` interleaves), or in the code that a checkpoint brings along.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ordinate.inspection.reader.heads import heads_by_window, multi_head
from ordinate.inspection.reader.layer_kinds import all_windowed, at_indices, by_index, every, leading
from ordinate.inspection.reader.rotary import NO_ROTATION, RotaryRule, rope
from ordinate.inspection.reader.row_types import Family, LayerGroup, Reader, Stack
from ordinate.inspection.reader.score_encodings import alibi
from ordinate.inspection.reader.section import Section
from ordinate.inspection.reader.temperatures import llama4_temperature, ministral_temperature
from ordinate.inspection.records import Attention, Encoding, Value

__all__ = ["DECODERS"]

FULL, SLIDING = "full_attention", "sliding_attention"
HALF, PAIRS = RotaryRule("half"), RotaryRule("interleaved")
TWO_BASES = RotaryRule("half", local_base=("rope_local_base_freq",), scales=(FULL,))
NOTHING: Reader = lambda group: NO_ROTATION  # noqa: E731


def decoder(reader: Reader, origin: str = "", **stack: Any) -> Family:
    """A causal language model whose layers all take `reader`."""
    stack.setdefault("attention", multi_head())
    return Family((Stack((reader,), causal=True, **stack),), origin=origin)


def encoder(reader: Reader, origin: str = "", **stack: Any) -> Family:
    """A stack that sees all its tokens at once and keeps no cache."""
    stack.setdefault("attention", multi_head())
    return Family((Stack((reader,), **stack),), origin=origin)


def only_windowed(group: LayerGroup) -> Value:
    """Layers with a window turn, the others do not (Cohere 2, EXAONE 4 and its kin)."""
    windowed = group.kind == SLIDING or group.kind.endswith("/dense")
    stated = "sliding_window" not in group.section.raw or group.section.has("sliding_window")
    detail = f"{group.origin} rotates only layers with a window"
    return Value(windowed or not stated, "family", detail if stated else f"{group.origin}: no window, so all layers rotate")


def rotating_flag(group: LayerGroup) -> Value:
    """`no_rope_layers` holds 1 where a layer DOES rotate (Llama 4, SmolLM3); the kind was split by it."""
    return Value(
        not group.kind.endswith(NOPE), "derived", f"no_rope_layers (1 = rotates), or every fourth layer: {group.origin}"
    )


def _by_bases(group: LayerGroup) -> Value:
    """`layer_rope_theta` holds 0 or null where a layer does not rotate (Granite with windows, Muse)."""
    return Value(not group.kind.endswith(NOPE), "derived", f"layer_rope_theta (0 or null = none): {group.origin}")


def unless_nulled(group: LayerGroup) -> Value:
    """The dictionary of a kind of layer may be null: then it does not rotate."""
    value = group.section.raw.get("rope_parameters", group.section.defaults.get("rope_parameters"))
    if not isinstance(value, dict) or not value:
        nulled = "rope_parameters" in group.section.raw
        return Value(not nulled, "file" if nulled else "family", "rope_parameters is null" if nulled else group.origin)
    if group.kind in value:
        return Value(value[group.kind] is not None, "file", group.section.at(f"rope_parameters.{group.kind}"))
    return Value(True, "family", group.origin)


NOPE = "/nope"


def _rotating(section: Section, count: int) -> list[bool]:
    """Whether each layer rotates, by `no_rope_layers` (1 = it does), or in three of four."""
    flags = section.numbers("no_rope_layers")
    if flags.known and len(flags.value) == count:
        return [bool(flag) for flag in flags.value]
    interval = section.integer("no_rope_layer_interval").value or 4
    return [(index + 1) % interval != 0 for index in range(count)]


def _chunked(section: Section, count: int) -> list[str] | None:
    """Llama 4: layers that rotate see chunks, unless the file takes chunks away."""
    if "attention_chunk_size" in section.raw and not section.has("attention_chunk_size"):
        return None
    return ["chunked_attention" if turns else FULL for turns in _rotating(section, count)]


def by_no_rope_layers(section: Section, kinds: list[str]) -> list[str]:
    flags = _rotating(section, len(kinds))
    return [kind if turns else f"{kind}{NOPE}" for kind, turns in zip(kinds, flags, strict=True)]


def _by_layer_rope_theta(section: Section, kinds: list[str]) -> list[str]:
    entry = section.find("layer_rope_theta")
    if entry is None or not isinstance(entry[1], list) or len(entry[1]) != len(kinds):
        return kinds
    return [kind if base else f"{kind}{NOPE}" for kind, base in zip(kinds, entry[1], strict=True)]


def _falcon_groups(section: Section) -> Value | None:
    """Falcon counts key-value heads by two flags."""
    if section.flag("new_decoder_architecture").value:
        return section.integer("num_kv_heads")
    if section.flag("multi_query").value:
        return Value(1, "file" if section.has("multi_query") else "family", section.at("multi_query"))
    return None


def _by_layer_rope_theta_or_full(section: Section, kinds: list[str]) -> list[str]:
    """Muse: without the list, layers without a window do not rotate."""
    if section.has("layer_rope_theta"):
        return _by_layer_rope_theta(section, kinds)
    return [f"{kind}{NOPE}" if kind == FULL else kind for kind in kinds]


def _leading_dense(section: Section, kinds: list[str]) -> list[str]:
    """Cohere 2 MoE: leading dense layers rotate with or without a window, where `prefix_dense_sliding_window_pattern` is 1."""
    listed = section.find("mlp_layer_types")
    forced = section.raw.get("prefix_dense_sliding_window_pattern", 1) == 1
    if listed is None or not isinstance(listed[1], list) or len(listed[1]) != len(kinds) or not forced:
        return kinds
    return [f"{kind}/dense" if mlp == "dense" and kind == FULL else kind for kind, mlp in zip(kinds, listed[1], strict=True)]


def _unless_alibi(group: LayerGroup) -> Encoding | None:
    return None if group.section.flag("alibi").value else rope(HALF)(group)


def _wide_global_heads(section: Section, kind: str, hidden_size: Value) -> Attention:
    """Gemma 4: layers without a window have wider heads (`global_head_dim`, 512), and may have fewer key-value heads."""
    usual = multi_head()(section, kind, hidden_size)
    if kind != FULL:
        return usual
    raw = {**section.raw, "head_dim": None, "num_key_value_heads": None}
    for ours, key in (("head_dim", "global_head_dim"), ("num_key_value_heads", "num_global_key_value_heads")):
        raw[ours] = section.raw.get(key, _override(section, ours))
        raw[ours] = section.raw.get(ours) if raw[ours] is None and ours == "num_key_value_heads" else raw[ours]
    defaults = {**section.defaults, "head_dim": 512}
    return multi_head()(replace(section, raw=_without_nulls(raw), defaults=defaults), kind, hidden_size)


def _override(section: Section, key: str) -> Any:
    """What `per_layer_config` sets for some layers, where it sets but one value."""
    value = section.raw.get("per_layer_config")
    values = [one[key] for one in value.values() if isinstance(one, dict) and key in one] if isinstance(value, dict) else []
    return values[0] if values and all(value == values[0] for value in values) else None


def _without_nulls(raw: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in raw.items() if value is not None}


def _alike(names: str, family: Family) -> dict[str, Family]:
    return dict.fromkeys(names.split(), family)


PLAIN_HALF = decoder(rope(HALF))
GEMMA_PATTERN = every(("sliding_window_pattern", "_sliding_window_pattern"), 6)
MODERN = RotaryRule("half", local_base=("local_rope_theta",), global_base=("global_rope_theta",))

DECODERS: dict[str, Family] = {
    **_alike(
        "llama apertus apertus1p5_text arcee aria_text bitnet csm csm_depth_decoder_model diffllama doge emu3_text_model "
        "exaone flex_olmo gemma glm4_moe gpt_neox gpt_neox_japanese granite granite4_vision_text granitemoe "
        "granitemoeshared granite_docling_text hrm_text hunyuan_v1_dense hunyuan_v1_moe hy_v3 hyperclovax internlm3 "
        "iquestcoder jais2 jetmoe llava_llama minimax_m2 minimax_m3_vl_text molmo2_text nemotron olmo olmo2 olmoe "
        "persimmon phi qwen3_omni_moe_text qwen3_omni_moe_talker_text sarvam_moe seed_oss solar_open stablelm "
        "deepseek_ocr2_text chameleon evolla EvollaModel gradium_phonon_tts higgs_audio_v2 pocket_tts idefics "
        "qwen3_omni_moe_talker_code_predictor timesfm2_5 dia_decoder",
        PLAIN_HALF,
    ),
    "dbrx": decoder(rope(HALF)),
    **_alike(
        "mistral mixtral ministral phi3 phimoe phi4_multimodal starcoder2 voxtral_realtime_text moshi "
        "kyutai_speech_to_text mimi mimi_encoder mimi_decoder pocket_tts_audio_tokenizer pocket_tts_audio_tokenizer_encoder "
        "pocket_tts_audio_tokenizer_decoder muse_glimmer_assistant unlimited_ocr_text blt_patcher",
        decoder(rope(HALF), pattern=all_windowed),
    ),
    **_alike("qwen2 qwen2_moe qwen3 qwen3_moe dots1 deepseek_ocr2_encoder", decoder(rope(HALF), pattern=leading)),
    **_alike(
        "qwen2_vl_text qwen2_5_vl_text qwen2_5_omni_text qwen2_5_omni_talker paddleocr_vl_text glm4v_moe_text glm_image_text "
        "hunyuan_vl_text",
        decoder(rope(HALF), pattern=leading),
    ),
    **_alike("qwen3_vl_text qwen3_vl_moe_text cosmos3_edge_text", decoder(rope(RotaryRule("half", arrangement="interleaved")))),
    **_alike("glm4v_text glm_ocr_text cohere glm glm4 helium ernie4_5 ernie4_5_moe", decoder(rope(PAIRS))),
    **_alike("blt_global_transformer blt_local_decoder blt_local_encoder", decoder(rope(PAIRS))),
    # the Ernie vision model deals its frequencies out to height and width in turn: the set of them is the plain schedule's
    "ernie4_5_vl_moe_text": decoder(rope(RotaryRule("interleaved", arrangement="alternating"))),
    "nanochat": decoder(rope(RotaryRule("half", turns_back=True))),
    "gpt_oss": decoder(rope(HALF), pattern=every((), 2)),
    **_alike("gptj codegen", decoder(rope(RotaryRule("interleaved", fixed_base=10000.0)))),
    "falcon": Family(
        (
            Stack(
                (_unless_alibi, alibi(before_scaling=True, when=lambda group: bool(group.section.flag("alibi").value))),
                attention=multi_head(kv_rule=_falcon_groups, kv_heads=("num_kv_heads", "n_head_kv"), head_dim=()),
                causal=True,
            ),
        )
    ),
    # two bases, a window in most layers
    **_alike("gemma2 vaultgemma t5_gemma_module", decoder(rope(HALF), pattern=every((), 2))),
    **_alike("gemma3_text t5gemma2_text t5gemma2_decoder", decoder(rope(TWO_BASES), pattern=GEMMA_PATTERN)),
    "gemma3n_text": decoder(rope(TWO_BASES), pattern=every((), 5)),
    **_alike(
        "gemma4_text gemma4_unified_text diffusion_gemma_text",
        decoder(rope(HALF), pattern=GEMMA_PATTERN, attention=_wide_global_heads),
    ),
    "embedding_gemma2_text": encoder(
        rope(HALF), pattern=GEMMA_PATTERN, attention=_wide_global_heads, window_of=lambda width: 2 * width + 1
    ),
    "cwm": decoder(rope(HALF), pattern=every((), 4, shift=0)),
    "olmo3": decoder(rope(RotaryRule("half", scales=(FULL,))), pattern=every((), 4)),
    **_alike("mellum laguna", decoder(rope(HALF))),
    "mimo_v2_flash": decoder(
        rope(RotaryRule("half", share=0.334)),
        pattern=by_index(lambda i, n: FULL if i == 0 or (i + 1) % 6 == 0 else SLIDING),
        attention=heads_by_window,
    ),
    "neomme": decoder(rope(HALF), pattern=by_index(lambda i, n: FULL if (i + 1) % 6 == 0 or i == n - 1 else SLIDING)),
    "ultrabert": encoder(rope(HALF), pattern=every((), 3), window_of=lambda width: 2 * width + 1),
    "dory": decoder(rope(HALF), pattern=by_index(lambda i, n: "mlp" if i % 2 else FULL if (i // 2 + 1) % 4 == 0 else SLIDING)),
    "step3p5": decoder(rope(HALF), attention=heads_by_window),
    "moshi_depth": decoder(NOTHING, pattern=all_windowed),
    # a window decides who turns
    "afmoe": decoder(rope(HALF, rotates=only_windowed), pattern=every(("global_attn_every_n_layers",), 4)),
    "cohere2": decoder(rope(PAIRS, rotates=only_windowed), pattern=every(("sliding_window_pattern",), 4)),
    "cohere2_moe": decoder(
        rope(PAIRS, rotates=only_windowed), pattern=every(("sliding_window_pattern",), 4), mark=_leading_dense
    ),
    "cohere_compass_text": decoder(
        rope(RotaryRule("interleaved", arrangement="interleaved"), rotates=unless_nulled),
        pattern=every(("sliding_window_pattern",), 4),
    ),
    **_alike("exaone4 exaone_moe", decoder(rope(HALF, rotates=only_windowed), pattern=every(("sliding_window_pattern",), 4))),
    "kolibri1": decoder(rope(HALF, rotates=only_windowed), pattern=every((), 5)),
    "flint": decoder(
        rope(HALF, rotates=only_windowed),
        pattern=by_index(lambda i, n: FULL if i < 2 or i % 4 == 1 or i == n - 1 else SLIDING),
    ),
    # a list or a dictionary decides who turns
    "smollm3": decoder(rope(HALF, rotates=rotating_flag), mark=by_no_rope_layers),
    "llama4_text": decoder(
        rope(PAIRS, rotates=rotating_flag), pattern=_chunked, mark=by_no_rope_layers, temperature=llama4_temperature
    ),
    "ministral3": decoder(rope(HALF), pattern=all_windowed, temperature=ministral_temperature),
    **_alike(
        "granite_swa granitemoe_swa",
        decoder(rope(HALF, rotates=_by_bases), pattern=every((), 4, shift=0), mark=_by_layer_rope_theta),
    ),
    **_alike(
        "muse_glimmer_text muse_spark_text",
        decoder(
            rope(HALF, rotates=_by_bases),
            pattern=by_index(lambda i, n: FULL if (n - 1 - i) % 4 == 0 else SLIDING),
            mark=_by_layer_rope_theta_or_full,
        ),
    ),
    "beam": decoder(
        rope(HALF, rotates=unless_nulled),
        pattern=by_index(lambda i, n: FULL if (i + 1) % 6 == 0 or i == n - 1 else SLIDING),
    ),
    # cross-attention layers between the others see an image, not positions
    "mllama_text_model": decoder(rope(HALF), pattern=at_indices("cross_attention_layers", "cross_attention", FULL)),
    "gemma4_assistant": Family(parts={"text_config": "gemma4_text"}),
    "nougat": Family(parts={"encoder": "donut-swin", "decoder": "mbart"}),
    # encoders that rotate
    **_alike(
        "eurobert esmc gte jina_embeddings_v3 dia_encoder qwen2_5_omni_dit lasr_encoder glmasr_encoder neucodec "
        "xcodec2 dots3_note_audio_encoder nemotron3_diarization_audio nemotron3_5_transcribe_asr_audio "
        "nemotron3_5_transcribe_word_timestamp",
        encoder(rope(HALF)),
    ),
    "nomic_bert": replace(encoder(rope(HALF)), trained=("max_trained_positions",)),
    **_alike("pe_audio_encoder pe_video_encoder pe_audio_video_encoder", encoder(rope(PAIRS))),
    "openai_privacy_filter": encoder(
        rope(PAIRS), pattern=by_index(lambda index, count: SLIDING), window_of=lambda width: 2 * width + 1
    ),
    "modernbert": encoder(
        rope(MODERN),
        pattern=every(("global_attn_every_n_layers",), 3, shift=0),
        window=("local_attention",),
        window_of=lambda width: 2 * (width // 2) + 1,
    ),
    "modernbert-decoder": decoder(
        rope(MODERN),
        pattern=every(("global_attn_every_n_layers",), 3, shift=0),
        window=("local_attention",),
        window_of=lambda width: width // 2,
    ),
}
