"""Language models that rotate queries and keys, and the ways in which their kinds of layer differ.

Each row was read in the modeling file of that name in transformers 5.24 (the name of the function that pairs channels gives
the layout: `rotate_half` halves, `[..., ::2]` interleaves), or in the code that a checkpoint brings along.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ordinate.inspection.frame import Family, Frame, Reader, Stack
from ordinate.inspection.heads import latent, multi_head
from ordinate.inspection.pattern import (
    all_windowed,
    at_indices,
    by_letters,
    every,
    leading,
    periodic,
)
from ordinate.inspection.provenance import Value
from ordinate.inspection.rotary import NO_ROTATION, RotaryRule, rope
from ordinate.inspection.scaling import ScalingRead, read_scaling
from ordinate.inspection.section import Section

__all__ = ["DECODERS"]

FULL, SLIDING, LINEAR = "full_attention", "sliding_attention", "linear_attention"
HALF, PAIRS = RotaryRule("half"), RotaryRule("interleaved")
LATENT = RotaryRule("interleaved", slice_key="qk_rope_head_dim", mscale_on_scores=True)
LATENT_FLAG = RotaryRule(layout_key="rope_interleave", slice_key="qk_rope_head_dim", mscale_on_scores=True)
LATENT_HALF = RotaryRule("half", slice_key="qk_rope_head_dim", mscale_on_scores=True)
TWO_BASES = RotaryRule("half", local_base=("rope_local_base_freq",), scales=(FULL,))
NOTHING: Reader = lambda frame: NO_ROTATION  # noqa: E731


def decoder(reader: Reader, origin: str = "", **stack: Any) -> Family:
    """A causal language model whose layers all take `reader`."""
    stack.setdefault("attention", multi_head())
    return Family((Stack((reader,), causal=True, **stack),), origin=origin)


def encoder(reader: Reader, origin: str = "", **stack: Any) -> Family:
    """A stack that sees all its tokens at once and keeps no cache."""
    stack.setdefault("attention", multi_head())
    return Family((Stack((reader,), **stack),), origin=origin)


def _only_windowed(frame: Frame) -> Value:
    """Layers with a window turn, the others do not (Cohere 2, EXAONE 4 and its kin)."""
    windowed = frame.kind == SLIDING
    stated = "sliding_window" not in frame.section.raw or frame.section.has("sliding_window")
    detail = f"{frame.origin} rotates only layers with a window"
    return Value(windowed or not stated, "family", detail if stated else f"{frame.origin}: no window, so all layers rotate")


def _by_flags(frame: Frame) -> Value:
    """`no_rope_layers` holds 1 where a layer DOES rotate (Llama 4, SmolLM3); the kind was split by it."""
    return Value(
        not frame.kind.endswith(NOPE), "derived", f"no_rope_layers (1 = rotates), or every fourth layer: {frame.origin}"
    )


def _by_bases(frame: Frame) -> Value:
    """`layer_rope_theta` holds 0 or null where a layer does not rotate (Granite with windows, Muse)."""
    return Value(not frame.kind.endswith(NOPE), "derived", f"layer_rope_theta (0 or null = none): {frame.origin}")


def _unless_nulled(frame: Frame) -> Value:
    """The dictionary of a kind of layer may be null: then it does not rotate."""
    held = frame.section.raw.get("rope_parameters", frame.section.defaults.get("rope_parameters"))
    if not isinstance(held, dict) or not held:
        nulled = "rope_parameters" in frame.section.raw
        return Value(not nulled, "file" if nulled else "family", "rope_parameters is null" if nulled else frame.origin)
    if frame.kind in held:
        return Value(held[frame.kind] is not None, "file", frame.section.at(f"rope_parameters.{frame.kind}"))
    return Value(True, "family", frame.origin)


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


def _by_no_rope_layers(section: Section, kinds: list[str]) -> list[str]:
    flags = _rotating(section, len(kinds))
    return [kind if turns else f"{kind}{NOPE}" for kind, turns in zip(kinds, flags, strict=True)]


def _by_layer_rope_theta(section: Section, kinds: list[str]) -> list[str]:
    found = section.find("layer_rope_theta")
    if found is None or not isinstance(found[1], list) or len(found[1]) != len(kinds):
        return kinds
    return [kind if base else f"{kind}{NOPE}" for kind, base in zip(kinds, found[1], strict=True)]


def _falcon_groups(section: Section) -> Value | None:
    """Falcon counts key-value heads by two flags."""
    if section.flag("new_decoder_architecture").value:
        return section.integer("num_kv_heads")
    if section.flag("multi_query").value:
        return Value(1, "file" if section.has("multi_query") else "family", section.at("multi_query"))
    return None


def _chatglm_groups(section: Section) -> Value | None:
    return section.integer("multi_query_group_num") if section.flag("multi_query_attention").value else None


def _compressed_scaling(frame: Frame) -> ScalingRead:
    """DeepSeek-V4 scales only layers that compress, and leaves cos and sin alone there."""
    if frame.kind == SLIDING:
        return ScalingRead(Value("none", "family", f"{frame.origin} scales only layers that compress"))
    read = read_scaling(frame.section, "compress", claimed=frame.claimed)
    factor = Value(1.0, "family", f"{frame.origin}: cos and sin are left alone")
    if read.rule.value != "yarn" or read.record is None or "attention_factor" in read.settings:
        return read
    return ScalingRead(read.rule, {**read.settings, "attention_factor": factor}, replace(read.record, attention_factor=1.0))  # type: ignore[type-var]


def _compress_base(frame: Frame) -> Any:
    return rope(
        RotaryRule(
            "interleaved",
            base=("rope_theta",) if frame.kind == SLIDING else ("compress_rope_theta",),
            count=("qk_rope_head_dim",),
            share=0.125,
            last=True,
            scaling=_compressed_scaling,
        )
    )(frame)


def _ratios(section: Section, count: int) -> list[str] | None:
    ratios = section.numbers("compress_ratios")
    names = {0: SLIDING, 4: "compressed_sparse_attention", 128: "heavily_compressed_attention"}
    if not ratios.known or len(ratios.value) < count:
        return None
    return [names.get(int(ratio), "compressed_sparse_attention") for ratio in ratios.value[:count]]


def _memory_rope(frame: Frame) -> Value:
    flag = frame.section.flag("use_mem_rope")
    return Value(bool(flag.value), flag.source, flag.detail)


def _granite_hybrid(frame: Frame) -> Value:
    name = frame.section.text("position_embedding_type")
    return Value(name.value == "rope", name.source, name.detail)


def _alike(names: str, family: Family) -> dict[str, Family]:
    return dict.fromkeys(names.split(), family)


PLAIN_HALF = decoder(rope(HALF))
LINEAR_HYBRID = decoder(rope(HALF), pattern=every(("full_attention_interval",), 4, often=LINEAR))

DECODERS: dict[str, Family] = {
    **_alike(
        "llama apertus apertus1p5_text arcee aria_text bitnet csm csm_depth_decoder_model diffllama doge emu3_text_model "
        "exaone flex_olmo gemma glm4_moe gpt_neox gpt_neox_japanese granite granite4_vision_text granitemoe "
        "granitemoeshared granite_docling_text hrm_text hunyuan_v1_dense hunyuan_v1_moe hy_v3 hyperclovax internlm3 "
        "iquestcoder jais2 jetmoe llava_llama minimax_m2 minimax_m3_vl_text molmo2_text nemotron olmo olmo2 olmoe "
        "persimmon phi qwen3_omni_moe_text qwen3_omni_moe_talker_text sarvam_moe seed_oss solar_open stablelm "
        "deepseek_ocr2_text dbrx chameleon evolla EvollaModel gradium_phonon_tts higgs_audio_v2 pocket_tts "
        "qwen3_omni_moe_talker_code_predictor timesfm2_5 blt_patcher",
        PLAIN_HALF,
    ),
    **_alike(
        "mistral mixtral ministral ministral3 phi3 phimoe phi4_multimodal starcoder2 voxtral_realtime_text",
        decoder(rope(HALF), pattern=all_windowed),
    ),
    **_alike("qwen2 qwen2_moe qwen3 qwen3_moe dots1 deepseek_ocr2_encoder", decoder(rope(HALF), pattern=leading)),
    **_alike(
        "qwen2_vl_text qwen2_5_vl_text qwen2_5_omni_text qwen2_5_omni_talker paddleocr_vl_text glm4v_moe_text glm_image_text "
        "hunyuan_vl_text",
        decoder(rope(HALF), pattern=leading),
    ),
    **_alike("qwen3_vl_text qwen3_vl_moe_text cosmos3_edge_text", decoder(rope(RotaryRule("half", sections_interleaved=True)))),
    **_alike("glm4v_text glm_ocr_text", decoder(rope(PAIRS))),
    **_alike("cohere glm glm4 helium ernie4_5 ernie4_5_moe", decoder(rope(PAIRS))),
    **_alike("blt_global_transformer blt_local_decoder blt_local_encoder", decoder(rope(PAIRS))),
    "nanochat": decoder(rope(RotaryRule("half", turns_back=True))),
    # the Ernie vision model permutes its frequencies over axes: the set of them is the plain ladder's
    "ernie4_5_vl_moe_text": decoder(rope(RotaryRule("interleaved", sections=True))),
    "openai_privacy_filter": encoder(
        rope(PAIRS), pattern=lambda section, count: [SLIDING] * count, window_of=lambda w: 2 * w + 1
    ),
    "gpt_oss": decoder(rope(HALF), pattern=every((), 2)),
    "gptj": decoder(rope(RotaryRule("interleaved", fixed_base=10000.0))),
    "codegen": decoder(rope(RotaryRule("interleaved", fixed_base=10000.0))),
    "falcon": decoder(rope(HALF), attention=multi_head(kv_rule=_falcon_groups, head_dim=())),
    # two bases, a window in most layers
    **_alike("gemma2 vaultgemma t5_gemma_module", decoder(rope(HALF), pattern=every((), 2))),
    **_alike(
        "gemma3_text t5gemma2_text t5gemma2_decoder",
        decoder(rope(TWO_BASES), pattern=every(("sliding_window_pattern", "_sliding_window_pattern"), 6)),
    ),
    "gemma3n_text": decoder(rope(TWO_BASES), pattern=every((), 5)),
    **_alike("cwm", decoder(rope(HALF), pattern=every((), 4, shift=0))),
    "olmo3": decoder(rope(RotaryRule("half", scales=(FULL,))), pattern=every((), 4)),
    **_alike("mellum laguna neomme mimo_v2_flash ultrabert embedding_gemma2_text dory", decoder(rope(HALF))),
    # a window decides who turns
    "afmoe": decoder(rope(HALF, rotates=_only_windowed), pattern=every(("global_attn_every_n_layers",), 4)),
    **_alike("cohere2", decoder(rope(PAIRS, rotates=_only_windowed), pattern=every(("sliding_window_pattern",), 4))),
    **_alike("exaone4 exaone_moe", decoder(rope(HALF, rotates=_only_windowed), pattern=every(("sliding_window_pattern",), 4))),
    **_alike("kolibri1 flint lara_mini", decoder(rope(HALF, rotates=_only_windowed))),
    # a list or a dictionary decides who turns
    "smollm3": decoder(rope(HALF, rotates=_by_flags), mark=_by_no_rope_layers),
    "llama4_text": decoder(rope(PAIRS, rotates=_by_flags), pattern=_chunked, mark=_by_no_rope_layers),
    **_alike(
        "granite_swa granitemoe_swa muse_glimmer_text muse_spark_text",
        decoder(rope(HALF, rotates=_by_bases), mark=_by_layer_rope_theta),
    ),
    **_alike("beam olmo_hybrid", decoder(rope(HALF, rotates=_unless_nulled))),
    # state spaces, convolutions and recurrences beside attention
    **_alike("qwen3_next", LINEAR_HYBRID),
    **_alike(
        "qwen3_5_text qwen3_5_moe_text",
        decoder(
            rope(RotaryRule("half", sections_interleaved=True)), pattern=every(("full_attention_interval",), 4, often=LINEAR)
        ),
    ),
    "bamba": decoder(rope(HALF), pattern=at_indices("attn_layer_indices", FULL, LINEAR, without=LINEAR)),
    "falcon_h1": decoder(rope(HALF), pattern=lambda section, count: ["hybrid"] * count),
    "granitemoehybrid": decoder(rope(HALF, rotates=_granite_hybrid)),
    "minimax": decoder(rope(HALF), pattern=every((), 2, often=LINEAR)),
    **_alike("lfm2 lfm2_moe", decoder(rope(HALF), pattern=at_indices("full_attn_idxs", FULL, "conv", without=FULL))),
    "lfm3": decoder(rope(HALF)),
    "recurrent_gemma": decoder(
        rope(RotaryRule("half", share=0.5)),
        window=("attention_window_size",),
        pattern=every((), 3, often=LINEAR, seldom=SLIDING),
    ),
    "zamba2": decoder(rope(HALF, rotates=_memory_rope)),
    "zaya": decoder(rope(HALF)),
    "jamba": decoder(NOTHING, pattern=periodic("attn_layer_period", "attn_layer_offset")),
    "nemotron_h": decoder(
        NOTHING, pattern=by_letters("hybrid_override_pattern", {"M": LINEAR, "*": FULL, "-": "mlp", "E": "moe"}, "mlp")
    ),
    "zamba": decoder(NOTHING),
    **_alike(
        "mamba mamba2 falcon_mamba rwkv xlstm", decoder(NOTHING, pattern=lambda section, count: [LINEAR] * count, claimed=())
    ),
    # latent attention
    **_alike("deepseek_v2 longcat_flash", decoder(rope(LATENT), attention=latent())),
    **_alike(
        "deepseek_v3 glm4_moe_lite mistral4 youtu axk1 sarvam_mla kimi_k2", decoder(rope(LATENT_FLAG), attention=latent())
    ),
    **_alike("deepseek_v32 glm_moe_dsa", decoder(rope(LATENT), attention=latent(indexer=True))),
    "axk2": decoder(rope(LATENT), attention=latent(indexer=True)),
    "hy_v4": decoder(rope(LATENT_HALF), attention=latent(indexer=True)),
    "minicpm3": decoder(rope(LATENT_HALF), attention=latent()),
    "bailing_hybrid": decoder(rope(LATENT), attention=latent()),
    "kimi_linear": decoder(NOTHING, attention=latent()),
    "mistral_large4_text": decoder(rope(LATENT, rotates=_by_flags), attention=latent(indexer=True), mark=_by_no_rope_layers),
    "deepseek_v4": decoder(_compress_base, pattern=_ratios),
    # cross-attention layers between the others see an image, not positions
    "mllama_text_model": decoder(rope(HALF), pattern=at_indices("cross_attention_layers", "cross_attention", FULL)),
    "idefics": decoder(rope(HALF)),
    # encoders that rotate
    **_alike("eurobert esmc gte nomic_bert jina_embeddings_v3", encoder(rope(HALF))),
    "modernbert": encoder(
        rope(RotaryRule("half", local_base=("local_rope_theta",), global_base=("global_rope_theta",))),
        pattern=every(("global_attn_every_n_layers",), 3, shift=0),
        window=("local_attention",),
        window_of=lambda width: 2 * (width // 2) + 1,
    ),
    "modernbert-decoder": decoder(
        rope(RotaryRule("half", local_base=("local_rope_theta",), global_base=("global_rope_theta",))),
        pattern=every(("global_attn_every_n_layers",), 3, shift=0),
        window=("local_attention",),
        window_of=lambda width: width // 2,
    ),
    **_alike("dia_encoder qwen2_5_omni_dit lasr_encoder glmasr_encoder", encoder(rope(HALF))),
    **_alike("dia_decoder", decoder(rope(HALF))),
    "moshi": decoder(rope(HALF), pattern=all_windowed),
    "kyutai_speech_to_text": decoder(rope(HALF), pattern=all_windowed),
}
