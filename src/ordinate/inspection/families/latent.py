"""Models with multi-head latent attention: a slice of each head turns, the rest carries content.

DeepSeek-AI 2024, arXiv 2405.04434, section 2.1. The slice is rotated before it meets the cache, so it is what a file calls
`qk_rope_head_dim` that the frequencies span, whatever `head_dim` says. Read in the modeling files of transformers 5.24.
"""

from __future__ import annotations

from dataclasses import replace

from ordinate.frequencies import YaRN
from ordinate.inspection.families.decoders import NOTHING, by_no_rope_layers, decoder, rotating_flag
from ordinate.inspection.reader.heads import latent, multi_head
from ordinate.inspection.reader.layer_kinds import by_index, every
from ordinate.inspection.reader.rotary import RotaryRule, rope
from ordinate.inspection.reader.row_types import Family, LayerGroup
from ordinate.inspection.reader.scaling import ScalingRead, read_scaling
from ordinate.inspection.reader.section import Section
from ordinate.inspection.reader.states import kimi_delta
from ordinate.inspection.reader.temperatures import ministral_temperature
from ordinate.inspection.records import Attention, Encoding, Value, unknown

__all__ = ["LATENT"]

SLIDING, LINEAR = "sliding_attention", "linear_attention"
PAIRS = RotaryRule("interleaved", slice_key="qk_rope_head_dim", mscale_on_scores=True)
FLAGGED = RotaryRule(layout_key="rope_interleave", slice_key="qk_rope_head_dim", mscale_on_scores=True)
HALF = RotaryRule("half", slice_key="qk_rope_head_dim", mscale_on_scores=True)
KIMI = by_index(lambda index, count: LINEAR if index % 4 or not index else "full_attention")
INDEXED = by_index(lambda index, count: "indexed_attention")


def _compressed_scaling(group: LayerGroup) -> ScalingRead:
    """DeepSeek-V4 scales only layers that compress, and leaves cos and sin alone there."""
    if group.kind == SLIDING:
        return ScalingRead(Value("none", "family", f"{group.origin} scales only layers that compress"))
    read = read_scaling(group.section, "compress", claimed=group.claimed)
    if not isinstance(read.record, YaRN) or "attention_factor" in read.settings:
        return read
    factor = Value(1.0, "family", f"{group.origin}: cos and sin are left alone")
    return ScalingRead(read.rule, {**read.settings, "attention_factor": factor}, replace(read.record, attention_factor=1.0))


def _compressing(group: LayerGroup) -> Encoding | None:
    own = ("rope_theta",) if group.kind == SLIDING else ("compress_rope_theta",)
    label = "main" if group.kind == SLIDING else "compress"
    rule = RotaryRule(
        "interleaved",
        base=own,
        count=("qk_rope_head_dim",),
        share=0.125,
        last=True,
        label=lambda kind: label,
        scaling=_compressed_scaling,
    )
    return rope(rule)(group)


RATIOS = {0: SLIDING, 4: "compressed_sparse_attention", 128: "heavily_compressed_attention"}


def _ratios(section: Section, count: int) -> list[str] | None:
    """How much each layer compresses; without the list two layers of the first kind, then both in turn."""
    ratios = section.numbers("compress_ratios")
    if ratios.known and len(ratios.value) >= count:
        return [RATIOS.get(int(ratio), "compressed_sparse_attention") for ratio in ratios.value[:count]]
    return [RATIOS[4] if index > 1 and index % 2 else RATIOS[128] for index in range(count)]


def _compressed_heads(section: Section, kind: str, hidden_size: Value) -> Attention:
    """Keys and values are one vector a token; compressing layers keep one of every 4 or 128, beside a window of plain ones."""
    usual = multi_head()(section, kind, hidden_size)
    dim, window, indexer = usual.head_dim, section.integer("sliding_window"), section.integer("index_head_dim")
    ratio = next((ratio for ratio, name in RATIOS.items() if name == kind), 0)
    if not dim.known:
        return usual
    if not ratio:
        return replace(usual, cached_width=Value(dim.value, "derived", f"{dim.value} channels serve as key and value"))
    width, formula = dim.value, f"{dim.value} channels"
    if ratio == 4 and indexer.known:
        width, formula = width + indexer.value, f"({formula} + {indexer.value} of the indexer)"
    kept = Value(-(-width // ratio), "derived", f"{formula} for every {ratio} tokens")
    plain = unknown("the window is unknown")
    if window.known:
        plain = Value(window.value * dim.value, "derived", f"a window of {window.value} x {dim.value} channels")
    return replace(usual, cached_width=kept, state_width=plain)


def _dots(section: Section, kind: str) -> Section:
    """dots3: layers with a window have heads and a latent of their own (`per_layer_config`, or `swa_...` in older files)."""
    if kind != SLIDING:
        return section
    layers = section.raw.get("per_layer_config")
    listed = [one for one in layers.values() if isinstance(one, dict)] if isinstance(layers, dict) else []
    own = {key: section.raw.get(f"swa_{key}", value) for key, value in DOTS_WINDOWED.items()}
    own["qk_rope_head_dim"] = section.raw.get("swa_qk_rope_head_dim")
    for one in listed:
        own |= {key: one[key] for key in own if key in one}
    if own["qk_rope_head_dim"] is None and all(type(own[key]) is int for key in ("head_dim", "qk_nope_head_dim")):
        own["qk_rope_head_dim"] = own["head_dim"] - own["qk_nope_head_dim"]
    own["head_dim"] = None
    return replace(section, raw={**section.raw, **own})


DOTS_WINDOWED = {
    "num_attention_heads": 64,
    "num_key_value_heads": 64,
    "kv_lora_rank": 1024,
    "head_dim": 256,
    "qk_nope_head_dim": 192,
    "v_head_dim": 128,
}
"""Dots3NoteTextConfig's own defaults for layers with a window."""


def _dots_heads(section: Section, kind: str, hidden_size: Value) -> Attention:
    return latent(indexer=kind == "indexed_attention")(_dots(section, kind), kind, hidden_size)


def _dots_rope(group: LayerGroup) -> Encoding | None:
    rule = RotaryRule("interleaved", slice_key="qk_rope_head_dim", local_base=("swa_rope_theta",))
    return rope(rule)(replace(group, section=_dots(group.section, group.kind)))


def _dots_layers(section: Section, count: int) -> list[str]:
    windows = section.raw.get("use_sliding_window", True) is not False
    return [SLIDING if windows and i > 1 and i % 4 != 1 else "full_attention" for i in range(count)]


def _dots_indexed(section: Section, kinds: list[str]) -> list[str]:
    """Older files call layers with an indexer "full_attention"; newer ones, known by `per_layer_config`, say what they are."""
    indexed = section.raw.get("use_dsa", "per_layer_config" not in section.raw) is not False
    return ["indexed_attention" if indexed and kind == "full_attention" else kind for kind in kinds]


EVERY_FOURTH = {"index_topk_freq": 4, "index_skip_topk_offset": 2}
"""Hunyuan 4 where no list says more: layers 0, 1, 5, 9 ... have an indexer."""


def _pooled_indexer(section: Section, kind: str, hidden_size: Value) -> Attention:
    """GLM 5 Next keeps a key, as many gate scores and a flag for the indexer that pools them."""
    plain, keys = latent()(section, kind, hidden_size), section.width("index_head_dim")
    if not kind.startswith("indexed") or not keys.known or not plain.cached_width.known:
        return plain
    numbers = plain.cached_width.value + 2 * keys.value + 1
    formula = f"{plain.cached_width.detail} + 2 x {keys.value} + 1 of the indexer"
    return replace(plain, cached_width=Value(numbers, "derived", formula))


def _own_indexer(section: Section, kind: str, hidden_size: Value) -> Attention:
    return latent(indexer=kind.startswith("indexed"))(section, kind, hidden_size)


def _borrowed_indexers(section: Section, kinds: list[str]) -> list[str]:
    """Layers that reuse what an earlier layer's indexer chose have none, and so no cache for it (GLM 5.2, Hunyuan 4)."""
    listed = section.raw.get("indexer_types") or section.raw.get("index_topk_pattern")
    if isinstance(listed, str | list) and len(listed) >= len(kinds):
        own = [each in ("full", "F") for each in listed]
    else:
        period = max(section.integer("index_topk_freq", least=0).value or 1, 1)
        skipped = section.integer("index_skip_topk_offset", least=0).value
        skipped = 2 if skipped is None else skipped
        own = [max(index - skipped + 1, 0) % period == 0 for index in range(len(kinds))]
    return [
        "sparse_attention" if kind == "indexed_attention" and not has else kind for kind, has in zip(kinds, own, strict=False)
    ]


def _pooled_layers(section: Section, kinds: list[str]) -> list[str]:
    return _borrowed_indexers(section, ["indexed_attention" if kind == "full_attention" else kind for kind in kinds])


def _alike(names: str, family: Family) -> dict[str, Family]:
    return dict.fromkeys(names.split(), family)


LATENT: dict[str, Family] = {
    **_alike("deepseek_v2 longcat_flash", decoder(rope(PAIRS), attention=latent())),
    "mistral4": decoder(rope(FLAGGED), attention=latent(), temperature=ministral_temperature),
    **_alike("deepseek_v3 glm4_moe_lite youtu axk1 sarvam_mla kimi_k2", decoder(rope(FLAGGED), attention=latent())),
    **_alike("deepseek_v32 axk2", decoder(rope(PAIRS), attention=latent(indexer=True), pattern=INDEXED)),
    "glm_moe_dsa": decoder(rope(PAIRS), attention=_own_indexer, pattern=INDEXED, mark=_borrowed_indexers),
    "hy_v4": replace(
        decoder(rope(HALF), attention=_own_indexer, pattern=INDEXED, mark=_borrowed_indexers), defaults=EVERY_FOURTH
    ),
    "hy_v4_vl_text": replace(
        decoder(
            rope(replace(PAIRS, arrangement="interleaved")), attention=_own_indexer, pattern=INDEXED, mark=_borrowed_indexers
        ),
        defaults=EVERY_FOURTH,
    ),
    "minicpm3": decoder(rope(HALF), attention=latent()),
    "bailing_hybrid": decoder(
        rope(PAIRS),
        attention=latent(),
        pattern=every(("layer_group_size",), 6, often=LINEAR),
        state=kimi_delta(head_dim="head_dim"),
    ),
    "kimi_linear": decoder(
        NOTHING,
        attention=latent(),
        pattern=by_index(lambda i, n: LINEAR if i % 4 or not i else "full_attention"),
        claimed=("model_max_length", "max_position_embeddings"),
        state=kimi_delta(),
    ),
    "glm5_next_text": decoder(NOTHING, attention=_pooled_indexer, state=kimi_delta(), mark=_pooled_layers),
    "mistral_large4_text": decoder(
        rope(PAIRS, rotates=rotating_flag), attention=latent(indexer=True), pattern=INDEXED, mark=by_no_rope_layers
    ),
    "dots3_note_text": replace(
        decoder(_dots_rope, attention=_dots_heads, pattern=_dots_layers, mark=_dots_indexed), defaults={"sliding_window": 512}
    ),
    "deepseek_v4": decoder(_compressing, pattern=_ratios, attention=_compressed_heads),
}
