"""Factors on queries that grow with their position, so that attention stays sharp over long texts.

Each reader takes the settings and the kind of layer and returns the factor as a formula of the position p, counted from 0, or
None where these layers have none. `ordinate.position` has the modules.

Sources: Meta 2025, Llama 4 (modeling_llama4.py of transformers 5.24); Mistral AI 2025, Ministral 3 (modeling_ministral3.py); Su
2021 and Bai et al. 2023, arXiv 2309.16609, section 2.5 (the first Qwen's logn); modeling_inkling.py.
"""

from __future__ import annotations

from ordinate.inspection.reader.section import Section
from ordinate.inspection.records import Source, Value, unknown

__all__ = ["inkling_temperature", "llama4_temperature", "logn_temperature", "ministral_temperature"]


def llama4_temperature(section: Section, kind: str) -> Value | None:
    """1 + attn_scale ln(1 + floor((p + 1) / floor_scale)) in layers that do not rotate, on unless the file switches it off."""
    wanted = section.find("attn_temperature_tuning")
    on = section.defaults.get("attn_temperature_tuning", True) if wanted is None else bool(wanted[1])  # released files say 4
    source: Source = "family" if wanted is None else "file"
    detail = section.at("attn_temperature_tuning") if wanted is not None else f"on by default: {section.origin}"
    if not on or not kind.endswith("/nope"):
        return Value(None, source, detail) if not on else None
    scale, floor = section.number("attn_scale"), section.number("floor_scale", above=0)
    if not scale.known or not floor.known:
        scale, floor = (
            value if value.known else Value(default, "family", "") for value, default in ((scale, 0.1), (floor, 8192))
        )
    return Value(f"1 + {scale.value:g} ln(1 + floor((p + 1) / {floor.value:g}))", source, detail)


def ministral_temperature(section: Section, kind: str) -> Value | None:
    """1 + beta ln(1 + floor(p / original context)) in all layers."""
    for place in ("rope_parameters", "rope_scaling"):
        parameters = section.sub(place)
        if parameters is not None and parameters.has("llama_4_scaling_beta"):
            beta, original = parameters.number("llama_4_scaling_beta"), parameters.number("original_max_position_embeddings")
            if not (beta.known and original.known):
                return unknown(f"{parameters.at('llama_4_scaling_beta')} without a usable original context")
            return Value(f"1 + {beta.value:g} ln(1 + floor(p / {original.value:g}))", "file", beta.detail)
    default = section.defaults.get("rope_parameters")
    if isinstance(default, dict) and default.get("llama_4_scaling_beta") and "rope_parameters" not in section.raw:
        formula = f"1 + {default['llama_4_scaling_beta']:g} ln(1 + floor(p / {default['original_max_position_embeddings']:g}))"
        return Value(formula, "family", f"default of {section.origin}")
    return None


def logn_temperature(section: Section, kind: str) -> Value | None:
    """max(1, log base trained of (p + 1)): the first Qwen, where use_logn_attn is on."""
    wanted, trained = section.flag("use_logn_attn"), section.integer("seq_length")
    if not wanted.value:
        return None
    base = f"{trained.value}" if trained.known else "the trained context"
    return Value(f"max(1, ln(p + 1) / ln({base}))", "file" if section.has("use_logn_attn") else "family", wanted.detail)


def inkling_temperature(section: Section, kind: str) -> Value | None:
    """1 + alpha ln(max(1, (p + 1) / floor)) in layers without a window."""
    floor, alpha = section.number("log_scaling_n_floor", above=0), section.number("log_scaling_alpha")
    if not floor.known or not alpha.known or kind in ("sliding_attention", "hybrid_sliding"):
        return None
    return Value(f"1 + {alpha.value:g} ln(max(1, (p + 1) / {floor.value:g}))", floor.source, floor.detail)
