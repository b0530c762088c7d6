"""Families that transformers does not register: their code comes with the checkpoint, or from another library.

Read in the files that the repositories name in `auto_map` (configuration and modeling), or in the papers.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ordinate.inspection.families.decoders import HALF, encoder
from ordinate.inspection.families.encoders import pair
from ordinate.inspection.reader.heads import multi_head
from ordinate.inspection.reader.input_encodings import fixed, image_table, learned
from ordinate.inspection.reader.layer_kinds import all_windowed, at_flags
from ordinate.inspection.reader.rotary import RotaryRule, rope
from ordinate.inspection.reader.row_types import Family, LayerGroup, Reader, Stack
from ordinate.inspection.reader.score_encodings import alibi
from ordinate.inspection.reader.section import Section
from ordinate.inspection.reader.states import lightning
from ordinate.inspection.reader.temperatures import logn_temperature
from ordinate.inspection.records import Attention, Encoding, Value, unknown

__all__ = ["REMOTE"]


def _groups(section: Section) -> Value | None:
    return section.integer("multi_query_group_num") if section.flag("multi_query_attention").value else None


def _chatglm(group: LayerGroup) -> Encoding | None:
    """ChatGLM: the first version turns two halves by two positions, the later ones half of the head."""
    if group.section.flag("position_encoding_2d").value:
        rule = RotaryRule(
            "half", fixed_base=10000.0, axes=("position in the text", "position in the block"), sharing="ladder each"
        )
    else:
        rule = RotaryRule("interleaved", base=("rope_theta",), base_times="rope_ratio", share=0.5)
    return rope(rule)(group)


def _perception(group: LayerGroup) -> Encoding | None:
    return rope(RotaryRule(None, share=1.0))(group)


def _step(group: LayerGroup) -> Encoding | None:
    """Step 3.5 lists a base and a share a layer; a file without the lists does not tell either."""
    encoding = rope(HALF)(group)
    rotation = encoding.rotation if encoding is not None else None
    if encoding is None or rotation is None or group.section.has("partial_rotary_factors", "rope_parameters"):
        return encoding
    silent = unknown("this family lists partial_rotary_factors a layer, and the file has none")
    return replace(encoding, rotation=replace(rotation, rotary_dim=silent), spec=None)


TEXT = {"rope_theta": 10000.0}

_OPEN_CLIP_VISION = Family(
    (
        Stack(
            (
                rope(RotaryRule("interleaved", fixed_base=10000.0, axes=("height", "width"), sharing="ladder each")),
                image_table(prefix=1),
            ),
            attention=multi_head(),
            hidden=("width",),
            layers=("layers",),
            claimed=(),
        ),
    ),
    name="vision",
    defaults={"rope_theta": 10000.0, "head_width": 64},
    origin="open_clip's EVA vision tower",
)


def _remote(reader: Reader, origin: str, **stack: Any) -> Family:
    """A causal model whose code comes with the checkpoint; the base is 10,000 where its file is silent."""
    stack.setdefault("attention", multi_head())
    return Family((Stack((reader,), causal=True, **stack),), defaults=TEXT, origin=origin)


def _baichuan(group: LayerGroup) -> Encoding | None:
    """Baichuan's 7B rotates, its 13B has slopes: one model type, and only the 7B states a claimed context."""
    if group.section.has("max_position_embeddings"):
        return rope(HALF)(group)
    return alibi()(group)


def _open_elm_heads(section: Section, kind: str, hidden_size: Value) -> Attention:
    """OpenELM widens layer by layer: heads are lists."""
    return multi_head(heads=("num_heads",), kv_heads=("num_kv_heads",), derive_head_dim=False)(section, kind, hidden_size)


def _alike(names: str, family: Family) -> dict[str, Family]:
    return dict.fromkeys(names.split(), family)


MINIMAX = at_flags("attn_type_list", "full_attention", "linear_attention")
SIGLIP = {"vision_config": "siglip_vision_model"}

REMOTE: dict[str, Family] = {
    "qwen": Family(
        (Stack((rope(HALF),), attention=multi_head(), causal=True, temperature=logn_temperature),),
        defaults=TEXT,
        origin="modeling_qwen.py of Qwen-7B",
        trained=("seq_length",),
    ),
    "chatglm": Family(
        (Stack((_chatglm,), attention=multi_head(kv_rule=_groups), causal=True, layers=("num_layers", "num_hidden_layers")),),
        defaults=TEXT,
        origin="modeling_chatglm.py of THUDM",
    ),
    "internlm": _remote(rope(HALF), "modeling_internlm.py"),
    "internlm2": _remote(rope(HALF), "modeling_internlm2.py"),
    "deepseek": _remote(rope(HALF), "modeling_deepseek.py of DeepSeekMoE"),
    "minicpm": _remote(rope(HALF), "modeling_minicpm.py"),
    "minicpmv": replace(_remote(rope(HALF), "modeling_minicpmv.py"), parts=SIGLIP),
    "mimo": _remote(rope(HALF), "modeling_mimo.py"),
    "yuan": _remote(rope(HALF), "yuan_hf_model.py"),
    "molmo": _remote(rope(HALF), "modeling_molmo.py"),
    "baichuan": _remote(_baichuan, "modeling_baichuan.py", claimed=("max_position_embeddings", "model_max_length")),
    **_alike("aquila orion xverse skywork Yi telechat", _remote(rope(HALF), "the checkpoint's copy of Llama's attention")),
    "stablelm_epoch": _remote(rope(RotaryRule("half", share=0.25)), "modeling_stablelm_epoch.py"),
    **_alike(
        "phi-msft mixformer-sequential", _remote(rope(HALF), "modeling_phi.py of phi-1.5", hidden=("n_embd", "hidden_size"))
    ),
    "phi3_v": replace(_remote(rope(HALF), "modeling_phi3_v.py", pattern=all_windowed), defaults={**TEXT}),
    **_alike("RefinedWeb RefinedWebModel", _remote(rope(HALF), "modelling_RW.py, Falcon's first code")),
    **_alike("btlm jais", _remote(alibi(), "the checkpoint's GPT-2 with slopes")),
    **_alike("llava_mistral llava_qwen llava_qwen2", _remote(rope(HALF), "LLaVA's own code over Llama's attention")),
    **_alike("dream arctic grok-1", _remote(rope(HALF), "the checkpoint's copy of Llama's attention")),
    "llada": _remote(rope(HALF), "modeling_llada.py"),
    "plamo": _remote(rope(HALF), "modeling_plamo.py"),
    "bailing_moe": _remote(rope(HALF), "modeling_bailing_moe.py"),
    "bailing_moe_v2": _remote(rope(HALF), "modeling_bailing_moe_v2.py"),
    "phi4mm": _remote(rope(HALF), "modeling_phi4mm.py", pattern=all_windowed),
    "internvl_chat": Family(parts={"vision_config": "intern_vit_6b"}, origin="modeling_internvl_chat.py"),
    "neobert": encoder(rope(RotaryRule("interleaved", fixed_base=10000.0)), "model.py of NeoBERT"),
    **_alike("deci nemotron-nas", _remote(rope(HALF), "modeling_decilm.py: Llama with heads that differ from layer to layer")),
    "codeshell": _remote(rope(HALF), "modeling_codeshell.py", attention=multi_head(kv_heads=("num_query_groups",))),
    "openelm": _remote(rope(HALF), "modeling_openelm.py", attention=_open_elm_heads, layers=("num_transformer_layers",)),
    **_alike(
        "minimax_text_01 MiniMaxText01",
        _remote(
            rope(HALF),
            "modeling_minimax_text_01.py",
            pattern=at_flags("attn_type_list", "full_attention", "linear_attention"),
            state=lightning,
        ),
    ),
    "xlm-roberta-flash": encoder(rope(HALF), "modeling_xlm_roberta.py of xlm-roberta-flash-implementation"),
    "kimi_vl": Family(parts={"text_config": "deepseek_v3"}, origin="modeling_kimi_vl.py"),
    "deepseek_vl_v2": Family(parts={"language_config": "deepseek_v2"}, origin="DeepSeek-VL2"),
    "new": encoder(rope(HALF), "modeling.py of Alibaba-NLP/new-impl"),
    "jina_bert": encoder(alibi(symmetric=True), "modeling_bert.py of jina-bert-implementation"),
    "chronos2": Family(
        (Stack((rope(HALF),), attention=multi_head(derive_head_dim=False), claimed=("chronos_config.context_length",)),),
        defaults=TEXT,
        origin="chronos-forecasting's Chronos2Model: time attention rotates, group attention has no positions",
    ),
    "flowstate": Family(
        (
            Stack(
                (fixed("none", "nowhere", "a state space: order is in the recurrence"),),
                layers=("encoder_num_layers",),
                claimed=(),
            ),
        ),
        name="time series",
        origin="granite-tsfm's FlowState",
    ),
    "falcon_perception": Family(
        (
            Stack(
                (
                    _perception,
                    fixed("rope2d", "queries and keys", "image tokens turn by two axes, in code that a config does not show"),
                ),
                attention=multi_head(),
                causal=True,
            ),
        ),
        origin="falcon_perception (code of the checkpoint, not read)",
    ),
    "step3p7": Family(
        (Stack((_step,), attention=multi_head(), causal=True),),
        defaults={"rope_parameters": {}},
        origin="step3p5",
    ),
    "open_clip_vision": _OPEN_CLIP_VISION,
    "open_clip_text": Family(
        (
            Stack(
                (learned("context_length"),),
                attention=multi_head(),
                hidden=("width",),
                layers=("layers",),
                claimed=("context_length",),
            ),
        ),
        name="text",
        origin="open_clip's text tower",
    ),
    "intern_vit_6b": Family(
        (Stack((image_table(prefix=1),), attention=multi_head(), claimed=()),), name="vision", origin="modeling_intern_vit.py"
    ),
    "florence2": Family(parts={"text_config": "florence2_text"}, name="text"),
    "florence2_text": pair(
        (
            learned("max_position_embeddings", extra=2, skipped=2),
            fixed("learned", "input", "image tokens: learned rows and columns (image_pos_embed)"),
            fixed("sinusoidal", "input", "image tokens: cosines over frames (visual_temporal_embedding)"),
        ),
        (learned("max_position_embeddings", extra=2, skipped=2),),
    ),
    "davit": Family(
        (Stack((fixed("conv", "input", "depthwise convolutions between the stages tell neighbours"),), layers=(), claimed=()),),
        name="vision",
        origin="modeling_florence2.py",
    ),
}
