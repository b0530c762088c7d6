"""Heads of a kind of layer, and how many numbers one token leaves in its cache.

Multi-head, grouped-query and multi-query layers cache a key and a value of D channels for each of G heads: 2 G D numbers.
Multi-head latent attention (DeepSeek-AI 2024, arXiv 2405.04434, section 2.1) caches one latent and one rotated key for all
heads. Recurrent layers keep a state of constant size instead.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ordinate.inspection.reader.section import Section
from ordinate.inspection.records import Attention, Value, unknown

__all__ = ["HEADS", "HEAD_DIM", "KV_HEADS", "NO_STATES", "heads_by_window", "latent", "layer_without_attention", "multi_head"]

HEADS = ("num_attention_heads", "n_head", "n_heads", "num_heads", "attention_heads", "heads", "encoder_attention_heads")
KV_HEADS = (
    "num_key_value_heads",
    "num_kv_heads",
    "n_kv_heads",
    "n_head_kv",
    "num_attention_groups",
    "attn_config.kv_n_heads",
)
OTHER_KV_HEADS = ("n_kv_head", "num_kv_head", "kv_heads", "num_query_groups", "multi_query_group_num", "kv_num_heads")
"""More spellings, read where no family says which of them its code takes."""
HEAD_DIM = ("head_dim", "kv_channels", "d_kv", "d_head", "attention_head_size", "attention_head_dim", "head_width")
UNGROUPED = frozenset(
    [
        "bloom",
        "opt",
        "xglm",
        "persimmon",
        "gptj",
        "codegen",
        "gpt_neo",
        "gpt2",
        "gpt_neox",
        "biogpt",
        "gpt_neox_japanese",
        "imagegpt",
        "hrm_text",
        "ctrl",
    ]
)
"""Types whose class in transformers 5.24 has as many key-value heads as query heads, whatever the file says."""
NO_STATE = Value(0, "family", "nothing is kept apart from keys and values")
NO_STATES = (NO_STATE, NO_STATE)


def multi_head(
    heads: tuple[str, ...] = HEADS,
    kv_heads: tuple[str, ...] = KV_HEADS,
    head_dim: tuple[str, ...] = HEAD_DIM,
    *,
    kv_rule: Callable[[Section], Value | None] = lambda section: None,
    derive_head_dim: bool = True,
) -> Callable[[Section, str, Value], Attention]:
    """A reader of plain heads.

    Args:
        heads, kv_heads, head_dim: the keys, in order of preference.
        kv_rule: where a family counts its key-value heads by another rule; None from it means no such rule here.
        derive_head_dim: take width / heads where no key states the head.
    """

    def read(section: Section, kind: str, hidden_size: Value) -> Attention:
        num_heads = section.width(*heads)
        stated = section.width(*head_dim)
        if not num_heads.known and stated.known and hidden_size.known and hidden_size.value % stated.value == 0:
            formula = f"{hidden_size.value} / {stated.value} channels of a head"
            num_heads = Value(hidden_size.value // stated.value, "derived", formula)
        ungrouped = section.origin.partition(" in ")[0] in UNGROUPED and section.raw.get("num_key_value_heads") is not None
        read_keys = () if ungrouped else kv_heads
        if ungrouped:
            section.note_ignored({"num_key_value_heads": section.raw["num_key_value_heads"]}, num_heads.value)
        num_kv_heads = kv_rule(section) or section.width(*read_keys, *(OTHER_KV_HEADS if section.assumed else ()))
        if not num_kv_heads.known and section.assumed and section.find("multi_query") == ("multi_query", True):
            num_kv_heads = Value(1, "assumed", section.at("multi_query"))
        if not num_kv_heads.known and not section.has(*read_keys):
            num_kv_heads = _as_many(num_heads, section)
        dim = stated
        nulled = dim.source == "family" and any(key in section.raw for key in head_dim)  # null asks for the derived width
        if derive_head_dim and (nulled or not dim.known):
            dim = _derived_head_dim(section, num_heads, hidden_size)
        value_dim = section.width("v_head_dim") if section.has("v_head_dim") or "v_head_dim" in section.defaults else dim
        _check_groups(section, num_heads, num_kv_heads)
        width = unknown("heads or their width are unknown")
        if num_kv_heads.known and dim.known and value_dim.known:
            numbers = num_kv_heads.value * (dim.value + value_dim.value)
            formula = f"{num_kv_heads.value} key-value heads x ({dim.value} key + {value_dim.value} value channels)"
            width = Value(numbers, "derived", formula)
        return Attention(_sort(num_heads, num_kv_heads), num_heads, num_kv_heads, dim, value_dim, width, *NO_STATES)

    return read


def _as_many(num_heads: Value, section: Section) -> Value:
    """As many key-value heads as query heads: a family's own rule, or an assumption where no family is known."""
    if not num_heads.known:
        return unknown("the number of heads is unknown")
    if section.assumed:
        return Value(num_heads.value, "assumed", "as many as query heads: no key of the file says otherwise")
    return Value(num_heads.value, "family", f"as many as query heads where no key says otherwise: {section.origin}")


def _derived_head_dim(section: Section, num_heads: Value, hidden_size: Value) -> Value:
    if not num_heads.known or not hidden_size.known:
        return unknown("neither stated nor derivable: width or heads are unknown")
    if hidden_size.value % num_heads.value:
        section.note(
            "head-dim-underivable",
            "warning",
            f"{hidden_size.value} channels do not divide into {num_heads.value} heads, and no key states the head",
            {hidden_size.detail: hidden_size.value, num_heads.detail: num_heads.value},
            "state head_dim in the file",
        )
        return unknown(f"{hidden_size.value} / {num_heads.value} is not whole, and no key states the head")
    return Value(hidden_size.value // num_heads.value, "derived", f"{hidden_size.value} / {num_heads.value} heads")


def _check_groups(section: Section, num_heads: Value, num_kv_heads: Value) -> None:
    if num_heads.known and num_kv_heads.known and num_heads.value % num_kv_heads.value:
        section.note(
            "groups-uneven",
            "warning",
            f"{num_heads.value} query heads cannot share {num_kv_heads.value} key-value heads evenly",
            {num_heads.detail: num_heads.value, num_kv_heads.detail: num_kv_heads.value},
            "query heads are a multiple of key-value heads",
        )


def _sort(num_heads: Value, num_kv_heads: Value) -> Value:
    if not num_heads.known or not num_kv_heads.known:
        return unknown("heads are unknown")
    name = "multi-head" if num_heads.value == num_kv_heads.value else "grouped-query"
    if num_kv_heads.value == 1 and num_heads.value > 1:
        name = "multi-query"
    return Value(name, "derived", f"{num_heads.value} query heads on {num_kv_heads.value} key-value heads")


def heads_by_window(section: Section, kind: str, hidden_size: Value) -> Attention:
    """Plain heads, where layers with a window have heads of their own (MiMo and Inkling: `swa_...`; Step 3.5)."""
    usual = multi_head()(section, kind, hidden_size)
    if not kind.startswith(("sliding", "hybrid_sliding")):
        return usual
    keys = {
        "num_attention_heads": ("swa_num_attention_heads", "num_sliding_attention_heads"),
        "num_key_value_heads": ("swa_num_key_value_heads",),
        "head_dim": ("swa_head_dim",),
        "v_head_dim": ("swa_v_head_dim",),
    }
    raw, sources = dict(section.raw), dict(section.sources)
    for ours, others in keys.items():
        own = section.find(*others)
        if own is not None:
            raw[ours] = own[1]
            if own[0] in sources:
                sources[ours] = sources[own[0]]
    return multi_head()(replace(section, raw=raw, sources=sources), kind, hidden_size)


def latent(*, indexer: bool = False, rotated: bool = True) -> Callable[[Section, str, Value], Attention]:
    """A reader of multi-head latent attention.

    Args:
        indexer: whether each layer also caches the keys of a sparse indexer (`index_head_dim` channels).
        rotated: whether the shared key of `qk_rope_head_dim` channels is kept apart, as in all known models.
    """

    def read(section: Section, kind: str, hidden_size: Value) -> Attention:
        num_heads = section.width(*HEADS)
        nope, rope = section.width("qk_nope_head_dim", least=0), section.width("qk_rope_head_dim", least=0)
        head = unknown("qk_nope_head_dim or qk_rope_head_dim is unknown")
        if nope.known and rope.known:
            formula = f"qk_nope_head_dim {nope.value} + qk_rope_head_dim {rope.value}"
            head = Value(nope.value + rope.value, "derived", formula)
            stated = section.find("head_dim")
            if stated is not None and stated[1] not in (head.value, rope.value):
                section.note(
                    "head-dim-misleads",
                    "info",
                    f"head_dim {stated[1]} is not the width of a query head: that is {head.value}",
                    {section.at("head_dim"): stated[1], section.at("qk_nope_head_dim"): nope.value},
                    "read qk_nope_head_dim + qk_rope_head_dim instead; readers that trust head_dim size the cache wrongly",
                )
        rank = section.width("kv_lora_rank")
        keys = section.width("index_head_dim") if indexer else None
        width = unknown("kv_lora_rank or qk_rope_head_dim is unknown")
        if rank.known and rope.known:
            formula = f"latent {rank.value} + rotated key {rope.value}"
            numbers = rank.value + rope.value
            if keys is not None and keys.known:
                formula, numbers = f"{formula} + indexer key {keys.value}", numbers + keys.value
            width = Value(numbers, "derived", formula)
        sort = Value("multi-head latent", "family", section.origin)
        return Attention(sort, num_heads, _as_many(num_heads, section), head, section.width("v_head_dim"), width, *NO_STATES)

    return read


def layer_without_attention(sort: str, state: tuple[Value, Value], origin: str) -> Attention:
    """Heads of a layer that has none: a recurrence, a convolution, a feed-forward layer."""
    absent = unknown(f"no attention in this layer ({sort})")
    nothing = Value(0, "family", "no keys or values are cached")
    return Attention(Value(sort, "family", origin), absent, absent, absent, absent, nothing, *state)
