"""Families that transformers does not register: their code comes with the checkpoint, or from another library.

Read in the files that the repositories name in `auto_map` (configuration and modeling), or in the papers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ordinate.inspection.families.decoders import HALF, encoder
from ordinate.inspection.families.encoders import flagged, named, only_if, pair
from ordinate.inspection.reader.heads import multi_head
from ordinate.inspection.reader.input_encodings import fixed, image_table, learned
from ordinate.inspection.reader.layer_kinds import all_windowed, at_flags, every
from ordinate.inspection.reader.rotary import NO_ROTATION, RotaryRule, rope
from ordinate.inspection.reader.row_types import Family, LayerGroup, Reader, Stack
from ordinate.inspection.reader.score_encodings import alibi
from ordinate.inspection.reader.section import Section
from ordinate.inspection.reader.states import lightning, mamba
from ordinate.inspection.reader.temperatures import logn_temperature
from ordinate.inspection.records import Attention, Encoding, State, Value, unknown

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


def _hymba_settings(section: Section) -> Section:
    """Hymba's own names for widths of heads, and its NTK-aware base: base x (2 claimed / trained - 1)^(d / (d - 2))."""
    raw, sources = dict(section.raw), dict(section.sources)
    hidden, heads, expand = (section.raw.get(key) for key in ("hidden_size", "num_attention_heads", "mamba_expand"))
    own = section.raw.get("kq_head_dim")
    if type(hidden) is int and type(heads) is int and heads > 0:
        head = own if type(own) is int and own > 0 else hidden // heads
        raw["head_dim"] = head
        if expand in (1, 2, 3, 4) and isinstance(expand, int):
            raw["v_head_dim"] = expand * hidden // heads
        claimed, trained = section.integer("max_position_embeddings"), section.integer("orig_max_position_embeddings")
        base = section.number("rope_theta", above=1)
        if section.raw.get("rope_type") == "ntk" and claimed.known and trained.known and base.known and head > 2:
            stretch = 2 * claimed.value / trained.value - 1
            raw["rope_theta"] = float(base.value * max(stretch, 1e-9) ** (head / (head - 2)))
            formula = f"{base.value:g} x (2 x {claimed.value} / {trained.value} - 1)^({head} / {head - 2}): rope_type ntk"
            sources["rope_theta"] = ("derived", formula)
    return replace(section, raw=raw, sources=sources)


def _hymba_heads(section: Section, kind: str, hidden_size: Value) -> Attention:
    return multi_head()(_hymba_settings(section), kind, hidden_size)


def _hymba(group: LayerGroup) -> Encoding | None:
    if not group.section.flag("rope").value:
        return NO_ROTATION
    return rope(HALF)(replace(group, section=_hymba_settings(group.section)))


def _hymba_layers(section: Section, count: int) -> list[str]:
    """Attention beside a state space in each layer; a window in all but the layers of `global_attn_idx`."""
    listed = section.numbers("global_attn_idx")
    whole = {int(index) for index in listed.value} if listed.known else set()
    return ["hybrid" if i in whole or not section.has("sliding_window") else "hybrid_sliding" for i in range(count)]


def _plamo2_layers(section: Section, count: int) -> list[str]:
    """One layer of each `mamba_step` attends, with a window unless `full_attention_idx` names it."""
    step = section.integer("mamba_step").value or 2
    listed = section.numbers("full_attention_idx")
    whole = {int(index) for index in listed.value} if listed.known else set()
    attends = [i == count - 1 if count <= step // 2 else i % step == step // 2 for i in range(count)]
    if section.find("mamba_enabled") == ("mamba_enabled", False):
        attends = [True] * count
    windowed = ["full_attention" if i in whole else "sliding_attention" for i in range(count)]
    return [kind if attending else "linear_attention" for kind, attending in zip(windowed, attends, strict=True)]


def _plamo2_state(section: Section, kind: str, hidden_size: Value) -> State | str:
    """A matrix a head in float32; the convolution runs over the input alone."""
    heads, head = section.width("mamba_num_heads"), section.width("hidden_size_per_head")
    states, kernel = section.width("mamba_d_state"), section.width("mamba_d_conv")
    if not (heads.known and head.known and states.known and kernel.known):
        return "the size of the state is unknown: no mamba_num_heads, hidden_size_per_head, mamba_d_state or mamba_d_conv"
    inner = heads.value * head.value
    formula = f"{inner} channels x {kernel.value} + {inner} x {states.value} states in float32"
    return State(inner * kernel.value, inner * states.value, formula, kernel.value)


def _rwkv7_state(section: Section, kind: str, hidden_size: Value) -> State | str:
    """A square matrix a head in float32, and the last token of attention and of the feed-forward layer."""
    head = section.width("head_dim", "head_size")
    if not head.known or not hidden_size.known:
        return "the size of the state is unknown: no head_dim or hidden_size"
    formula = f"2 x {hidden_size.value} + {hidden_size.value} x {head.value} in float32"
    return State(2 * hidden_size.value, hidden_size.value * head.value, formula)


NEOBERT = rope(RotaryRule("interleaved", fixed_base=10000.0))


def _rwkv7_layers(section: Section, count: int) -> list[str]:
    """Recurrences, but for the layers that `attn` lists: those attend, within a window where it states one."""
    listed = section.numbers("attn.layers").value or ()
    kind = "sliding_attention" if section.has("attn.window_size") else "full_attention"
    return [kind if index in listed else "linear_attention" for index in range(count)]


def _rwkv7(group: LayerGroup) -> Encoding | None:
    if group.kind == "linear_attention":
        return fixed("none", "nowhere", "a recurrence tells order by itself")(group)
    return rope(RotaryRule("half", base=("attn.rope_theta",)))(group)


def _gte(group: LayerGroup) -> Encoding | None:
    """GTE's own NTK: base x s and all frequencies divided by s^(2/d), or with `mixed_b` an exponent for each pair.

    Read in modeling.py of Alibaba-NLP/new-impl (NTKScalingRotaryEmbedding, which names kexue.fm/archives/9706).
    """
    encoding = rope(HALF)(group)
    scaling = group.section.raw.get("rope_scaling")
    turn = encoding.rotation if encoding is not None else None
    if encoding is None or turn is None or not isinstance(scaling, Mapping) or turn.rule.value != "ntk":
        return encoding
    factor, mixed = scaling.get("factor"), scaling.get("mixed_b")
    plain = turn.unscaled_frequencies()
    if not isinstance(factor, int | float) or isinstance(factor, bool) or factor <= 1 or plain is None:
        return encoding
    pairs = len(plain)
    if isinstance(mixed, int | float) and 0 < mixed <= 8:
        exponents = [((index + 1) / pairs) ** mixed for index in range(pairs)]
    else:
        exponents = [(index + 1) / pairs for index in range(pairs)]
    written = tuple(each / factor**exponent for each, exponent in zip(plain, exponents, strict=True))
    note = "the family's own rule: pair i of d/2 is slower by factor^((i + 1) / (d/2)), from the first pair on"
    settings = {key: Value(scaling[key], "file", f"rope_scaling.{key}") for key in ("factor", "mixed_b") if key in scaling}
    own = replace(turn, rule=Value("ntk of GTE", "family", group.origin), settings=settings, scaling=None, written=written)
    return replace(encoding, rotation=own, spec=None, note=note)


def _ernie(group: LayerGroup) -> Encoding | None:
    """ERNIE 4.5 VL: the last `freq_allocation` pairs turn by time, the others by height and width in turn."""
    section, head = group.section, group.attention.head_dim
    time = section.integer("freq_allocation")
    if head.known and time.known and not section.has("mrope_section") and 0 < time.value < head.value // 2:
        side = (head.value // 2 - time.value) // 2
        section = replace(section, raw={**section.raw, "mrope_section": [side, side, time.value]})
    return rope(RotaryRule("interleaved", arrangement="alternating"))(replace(group, section=section))


_GATED = fixed(
    "forget-gates", "scores", "log gates are summed from the key to the query; they read the layer's input, a number a head"
)
_MOVED = fixed("path", "scores", "a Householder-like matrix a token, read off the layer's input, moves the keys before it")

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
    "plamo2": replace(
        _remote(
            rope(HALF),
            "PLaMo 2, read in vLLM's plamo2.py",
            attention=multi_head(head_dim=("hidden_size_per_head",)),
            window=("attention_window_size",),
            pattern=_plamo2_layers,
            state=_plamo2_state,
        ),
        defaults={
            "rope_theta": 10000.0,
            "hidden_size_per_head": 128,
            "attention_window_size": 2048,
            "mamba_step": 2,
            "mamba_d_state": 64,
            "mamba_d_conv": 4,
            "mamba_num_heads": 64,
        },
    ),
    "plamo3": replace(
        _remote(
            rope(RotaryRule("half", local_base=("rope_local_theta",), scales=("full_attention",))),
            "PLaMo 3, read in vLLM's plamo3.py",
            pattern=every(("sliding_window_pattern",), None),
        ),
        defaults={},
    ),
    "rwkv7": _remote(
        _rwkv7,
        "RWKV 7, read in flash-linear-attention (fla/layers/rwkv7.py at commit 0315a70)",
        pattern=_rwkv7_layers,
        attention=multi_head(("attn.num_heads",), ("attn.num_kv_heads",), ("attn.head_dim",)),
        window=("attn.window_size",),
        claimed=(),
        state=_rwkv7_state,
    ),
    "forgetting_transformer": _remote(_GATED, "the Forgetting Transformer, read in flash-linear-attention's configuration"),
    "forgetting_transformer-project_fox": Family(
        (
            Stack(
                (
                    only_if(named("full", "bias_only", "fixed", key="fgate_type", default="full"), _GATED),
                    only_if(flagged("use_rope"), rope(RotaryRule("half", base=("rope_base",)))),
                ),
                attention=multi_head(),
                causal=True,
            ),
        ),
        defaults={"rope_theta": 500000.0, "use_rope": False, "fgate_type": "full"},
        origin="the Forgetting Transformer, read in its authors' configuration and model",
    ),
    "path_attn": Family(
        (Stack((_MOVED, only_if(flagged("use_forget_gate"), _GATED)), attention=multi_head(), causal=True),),
        defaults={"use_forget_gate": False},
        origin="PaTH, read in flash-linear-attention's configuration and model",
    ),
    "hymba": _remote(
        _hymba,
        "modeling_hymba.py",
        attention=_hymba_heads,
        pattern=_hymba_layers,
        state=mamba,
        stateful=("hybrid", "hybrid_sliding"),
    ),
    "ernie4_5_moe_vl": replace(
        _remote(_ernie, "modeling_ernie4_5_vl.py"),
        parts={"vision_config": "ernie4_5_vl_moe_vision"},
        defaults={"rope_theta": 500000.0, "freq_allocation": 20},
    ),
    "ovis2_5": Family(
        parts={"llm_config": "qwen3", "text_config": "qwen3"},
        origin="Ovis 2.5, whose vision tower has not been read",
    ),
    "ouro": replace(
        _remote(rope(HALF), "modeling_ouro.py, read in vLLM's ouro.py"), defaults={"rope_theta": 10000.0, "total_ut_steps": 4}
    ),
    "internvl_chat": Family(parts={"vision_config": "intern_vit_6b"}, origin="modeling_internvl_chat.py"),
    "neobert": replace(
        encoder(
            lambda group: (learned("max_length", extra=1) if group.section.raw.get("rope") is False else NEOBERT)(group),
            "model.py of NeoBERT",
            claimed=("max_length",),
        ),
        defaults={"hidden_size": 768, "num_hidden_layers": 28, "num_attention_heads": 12},
    ),
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
    "new": encoder(
        lambda group: (learned("max_position_embeddings") if named("absolute", default="rope")(group) else _gte)(group),
        "modeling.py of Alibaba-NLP/new-impl",
    ),
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
