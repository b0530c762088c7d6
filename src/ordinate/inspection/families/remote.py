"""Families that transformers does not register: their code comes with the checkpoint, or from another library.

Read in the files that the repositories name in `auto_map` (configuration and modeling), or in the papers.
"""

from __future__ import annotations

from dataclasses import replace

from ordinate.inspection.biases import alibi
from ordinate.inspection.families.decoders import HALF, encoder
from ordinate.inspection.families.encoders import pair
from ordinate.inspection.frame import Family, Frame, Stack
from ordinate.inspection.heads import multi_head
from ordinate.inspection.provenance import Value, unknown
from ordinate.inspection.record import Encoding
from ordinate.inspection.rotary import RotaryRule, rope
from ordinate.inspection.section import Section
from ordinate.inspection.tables import fixed, image_table, learned

__all__ = ["REMOTE"]


def _groups(section: Section) -> Value | None:
    return section.integer("multi_query_group_num") if section.flag("multi_query_attention").value else None


def _chatglm(frame: Frame) -> Encoding | None:
    """ChatGLM: the first version turns two halves by two positions, the later ones half of the head."""
    if frame.section.flag("position_encoding_2d").value:
        rule = RotaryRule(
            "half", fixed_base=10000.0, axes=("position in the text", "position in the block"), sharing="ladder each"
        )
    else:
        rule = RotaryRule("interleaved", base=("rope_theta",), base_times="rope_ratio", share=0.5)
    return rope(rule)(frame)


def _perception(frame: Frame) -> Encoding | None:
    return rope(RotaryRule(None, share=1.0))(frame)


def _step(frame: Frame) -> Encoding | None:
    """Step 3.5 lists a base and a share a layer; a file without the lists does not tell either."""
    encoding = rope(HALF)(frame)
    rotation = encoding.rotation if encoding is not None else None
    if encoding is None or rotation is None or frame.section.has("partial_rotary_factors", "rope_parameters"):
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

REMOTE: dict[str, Family] = {
    "qwen": Family(
        (Stack((rope(HALF),), attention=multi_head(), causal=True),),
        defaults=TEXT,
        origin="modeling_qwen.py of Qwen-7B",
        trained=("seq_length",),
    ),
    "chatglm": Family(
        (Stack((_chatglm,), attention=multi_head(kv_rule=_groups), causal=True, layers=("num_layers", "num_hidden_layers")),),
        defaults=TEXT,
        origin="modeling_chatglm.py of THUDM",
    ),
    "internlm": Family(
        (Stack((rope(HALF),), attention=multi_head(), causal=True),), defaults=TEXT, origin="modeling_internlm.py"
    ),
    "internlm2": Family(
        (Stack((rope(HALF),), attention=multi_head(), causal=True),), defaults=TEXT, origin="modeling_internlm2.py"
    ),
    "deepseek": Family(
        (Stack((rope(HALF),), attention=multi_head(), causal=True),),
        defaults=TEXT,
        origin="modeling_deepseek.py of DeepSeekMoE",
    ),
    "minicpm": Family(
        (Stack((rope(HALF),), attention=multi_head(), causal=True),), defaults=TEXT, origin="modeling_minicpm.py"
    ),
    "minicpmv": Family(
        (Stack((rope(HALF),), attention=multi_head(), causal=True),),
        defaults=TEXT,
        parts={"vision_config": "siglip_vision_model"},
        origin="modeling_minicpmv.py",
    ),
    "mimo": Family(
        (Stack((rope(HALF),), attention=multi_head(), causal=True),),
        defaults={"rope_theta": 10000.0},
        origin="modeling_mimo.py",
    ),
    "yuan": Family((Stack((rope(HALF),), attention=multi_head(), causal=True),), defaults=TEXT, origin="yuan_hf_model.py"),
    "molmo": Family((Stack((rope(HALF),), attention=multi_head(), causal=True),), defaults=TEXT, origin="modeling_molmo.py"),
    "baichuan": Family(
        (Stack((rope(HALF),), attention=multi_head(), causal=True),),
        defaults=TEXT,
        origin="modeling_baichuan.py of the 7B model",
    ),
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
