"""Models that set state spaces, recurrences or convolutions beside attention, or in its place.

Their attention layers rotate, or need not: a recurrence tells order by itself. Read in the modeling files of transformers 5.24.
"""

from __future__ import annotations

from ordinate.inspection.families.decoders import HALF, NOTHING, decoder, only_windowed, unless_nulled
from ordinate.inspection.reader.heads import heads_by_window, multi_head
from ordinate.inspection.reader.layer_kinds import at_indices, by_index, by_letters, every, periodic
from ordinate.inspection.reader.rotary import RotaryRule, rope
from ordinate.inspection.reader.row_types import Family, LayerGroup
from ordinate.inspection.reader.section import Section
from ordinate.inspection.reader.states import (
    compressed_convolution,
    delta_rule,
    four_convolutions,
    lightning,
    mamba,
    mamba2,
    recurrent_gemma,
    rwkv,
    short_convolution,
)
from ordinate.inspection.reader.temperatures import inkling_temperature
from ordinate.inspection.records import Attention, Encoding, Value

__all__ = ["HYBRIDS"]

FULL, SLIDING, LINEAR = "full_attention", "sliding_attention", "linear_attention"
LETTERS = {"M": LINEAR, "*": FULL, "-": "mlp", "E": "moe"}


def _memory_rope(group: LayerGroup) -> Value:
    flag = group.section.flag("use_mem_rope")
    return Value(bool(flag.value), flag.source, flag.detail)


def _granite_hybrid(group: LayerGroup) -> Value:
    name = group.section.text("position_embedding_type")
    return Value(name.value == "rope", name.source if name.known else "family", name.detail)


def _lara(index: int, count: int) -> str:
    return (LINEAR, SLIDING, LINEAR, FULL, SLIDING)[index % 5]


def _lfm3(index: int, count: int) -> str:
    return FULL if index % 4 == 2 else SLIDING if index % 4 == 0 and index > 0 else "conv"


def _double_heads(section: Section, kind: str, hidden_size: Value) -> Attention:
    """Zamba's shared blocks attend over the stream and the embeddings side by side: twice the width."""
    width = hidden_size
    if hidden_size.known:
        width = Value(2 * hidden_size.value, "derived", f"2 x {hidden_size.value}, stream and embeddings")
    return multi_head()(section, kind, width)


def _zamba(section: Section, count: int) -> list[str]:
    """Zamba: a shared attention block beside some of the recurrent layers."""
    period, offset = section.integer("attn_layer_period").value or 6, section.integer("attn_layer_offset", least=0).value or 4
    return ["hybrid" if index % period == offset else LINEAR for index in range(count)]


def _alike(names: str, family: Family) -> dict[str, Family]:
    return dict.fromkeys(names.split(), family)


def _by_distance(group: LayerGroup) -> Encoding:
    """Inkling: each token mixes `d_rel` learned profiles into a bias for each distance back, nothing past the last."""
    reach = group.section.integer("sliding_window_size" if group.kind == "hybrid_sliding" else "rel_extent")
    profiles = group.section.width("d_rel")
    settings = {"distances": reach, "profiles": profiles}
    if reach.known and profiles.known and group.indices:
        formula = f"{len(group.indices)} layers x {profiles.value} profiles x {reach.value} distances"
        settings["parameters"] = Value(len(group.indices) * profiles.value * reach.value, "derived", formula)
    note = "each token mixes learned profiles into a bias for each distance; none beyond the last"
    return Encoding(Value("learned", "family", group.origin), "scores", settings=settings, note=note)


def _inkling(index: int, count: int) -> str:
    return "hybrid_sliding" if (index + 1) % 6 else "hybrid"


def _inkling_layers(section: Section, count: int) -> list[str]:
    listed = section.numbers("local_layer_ids")
    local = {int(index) for index in listed.value} if listed.known else None
    return [_inkling(i, count) if local is None else "hybrid_sliding" if i in local else "hybrid" for i in range(count)]


INKLING = decoder(
    _by_distance,
    pattern=_inkling_layers,
    attention=heads_by_window,
    state=four_convolutions,
    stateful=("hybrid", "hybrid_sliding"),
    temperature=inkling_temperature,
)

BAMBA = at_indices("attn_layer_indices", FULL, LINEAR, without=LINEAR)

HYBRIDS: dict[str, Family] = {
    "qwen3_next": decoder(rope(HALF), pattern=every(("full_attention_interval",), 4, often=LINEAR), state=delta_rule),
    **_alike(
        "qwen3_5_text qwen3_5_moe_text",
        decoder(
            rope(RotaryRule("half", arrangement="interleaved")),
            pattern=every(("full_attention_interval",), 4, often=LINEAR),
            state=delta_rule,
        ),
    ),
    "qwen4_exp_text": decoder(
        rope(RotaryRule("half", arrangement="interleaved")),
        pattern=every(("full_attention_interval",), 4, often=LINEAR, seldom="indexed_attention"),
        state=delta_rule,
    ),
    "bamba": decoder(
        rope(RotaryRule("half", share=0.5)),
        pattern=at_indices("attn_layer_indices", FULL, LINEAR, without=LINEAR),
        state=mamba2,
    ),
    "falcon_h1": decoder(rope(HALF), pattern=by_index(lambda index, count: "hybrid"), state=mamba2),
    "granitemoehybrid": decoder(
        rope(HALF, rotates=_granite_hybrid), pattern=by_index(lambda index, count: LINEAR), state=mamba2
    ),
    "minimax": decoder(rope(HALF), pattern=every((), 2, often=LINEAR, shift=0), state=lightning),
    **_alike(
        "lfm2 lfm2_moe",
        decoder(rope(HALF), pattern=at_indices("full_attn_idxs", FULL, "conv", without=FULL), state=short_convolution),
    ),
    "lfm3": decoder(rope(HALF), pattern=by_index(_lfm3), state=short_convolution),
    "lara_mini": decoder(rope(HALF, rotates=only_windowed), pattern=by_index(_lara), state=delta_rule),
    "olmo_hybrid": decoder(rope(HALF, rotates=unless_nulled), pattern=every((), 4, often=LINEAR), state=delta_rule),
    "recurrent_gemma": decoder(
        rope(RotaryRule("half", share=0.5)),
        window=("attention_window_size",),
        pattern=every((), 3, often=LINEAR, seldom=SLIDING),
        state=recurrent_gemma,
    ),
    "zamba2": decoder(
        rope(HALF, rotates=_memory_rope), pattern=by_index(lambda index, count: "hybrid"), attention=_double_heads, state=mamba2
    ),
    "zaya": decoder(rope(HALF), pattern=by_index(lambda index, count: "hybrid"), state=compressed_convolution),
    "jamba": decoder(NOTHING, pattern=periodic("attn_layer_period", "attn_layer_offset"), state=mamba),
    "nemotron_h": decoder(NOTHING, pattern=by_letters("hybrid_override_pattern", LETTERS, "mlp"), state=mamba2),
    "zamba": decoder(NOTHING, pattern=_zamba, attention=_double_heads, state=mamba),
    **_alike("mamba falcon_mamba", decoder(NOTHING, pattern=by_index(lambda i, n: LINEAR), claimed=(), state=mamba)),
    "mamba2": decoder(NOTHING, pattern=by_index(lambda i, n: LINEAR), claimed=(), state=mamba2),
    "rwkv": decoder(NOTHING, pattern=by_index(lambda i, n: LINEAR), claimed=(), state=rwkv),
    **_alike("inkling_text inkling2_text inkling2_loop_text", INKLING),
    "xlstm": decoder(NOTHING, pattern=by_index(lambda i, n: LINEAR), claimed=()),
}
