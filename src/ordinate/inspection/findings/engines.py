"""What transformers 5 silently does with this very file, where that is not what the file says.

Each of these was seen by running transformers 5.24 on such a file; a slow test runs them again.
"""

from __future__ import annotations

from collections.abc import Mapping

from ordinate.inspection.findings.case import Case

__all__ = ["CHECKS"]

ADOPTS_FLAT_TEXT = {"fuyu", "glm5_next", "hunyuan_vl", "paddleocr_vl", "qwen2_5_vl", "qwen2_vl"}
"""Composite types whose class takes text settings from the top level of an old file."""

KEEPS_OWN_PARAMETERS = {"apertus", "apertus1p5_text", "higgs_audio_v2"}
"""Types whose default rope_parameters, base included, stand where the file has no dictionary of its own."""

DERIVES_NULL_HEAD = {"llama", "mistral", "mixtral", "gpt_oss", "deepseek_v3", "ministral", "ministral3", "apertus", "seed_oss"}
"""Types whose class computes a head for an explicit null."""


def base_lost(case: Case) -> None:
    """With both dictionaries in the file transformers drops rope_parameters whole, the base with it."""
    held, legacy = case.keys.get("rope_parameters"), case.keys.get("rope_scaling")
    if not isinstance(held, Mapping) or not isinstance(legacy, Mapping) or not legacy:
        return
    lost = {key: value for key, value in held.items() if key not in legacy and key not in ("rope_type", "type")}
    if lost:
        case.note(
            "transformers-drops-rope-parameters",
            "warning",
            "transformers 5 takes rope_scaling and drops rope_parameters: " + ", ".join(sorted(map(str, lost))) + " is lost",
            {case.section.at(f"rope_parameters.{key}"): value for key, value in lost.items()} | case.present("rope_scaling"),
            "merge the two into rope_parameters; this reader takes what each alone says",
        )


def base_overruled(case: Case) -> None:
    """Types with a full default dictionary keep its base where the file has only rope_theta."""
    stated = case.part.model_type.value
    if stated not in KEEPS_OWN_PARAMETERS or case.keys.get("rope_theta") is None:
        return
    if any(isinstance(case.keys.get(key), Mapping) for key in ("rope_parameters", "rope_scaling")):
        return
    case.note(
        "transformers-drops-base",
        "warning",
        f"transformers 5 ignores rope_theta for {stated} unless a rope dictionary stands beside it",
        case.present("rope_theta"),
        "write rope_parameters with rope_theta and the scaling",
    )


def null_head(case: Case) -> None:
    """An explicit null head fails in three scalings, for types whose class does not compute one."""
    turn = case.scaled
    if "head_dim" not in case.keys or case.keys["head_dim"] is not None or turn is None:
        return
    if turn.rule.value not in ("yarn", "dynamic", "longrope") or case.part.model_type.value in DERIVES_NULL_HEAD:
        return
    case.note(
        "transformers-fails-on-null-head",
        "warning",
        f"transformers 5 fails on head_dim null under {turn.rule.value} scaling: it multiplies the null",
        {case.section.at("head_dim"): None, turn.rule.detail: turn.rule.value},
        "leave head_dim out, or write the number",
    )


def flat_text_ignored(case: Case) -> None:
    """A composite type whose text settings stand at the top level: most classes then build their default text model."""
    stated = case.stated_type
    if not case.main or case.part.path or stated == case.part.model_type.value or not stated:
        return
    if case.part.model_type.source != "family" or stated in ADOPTS_FLAT_TEXT:
        return
    case.note(
        "transformers-ignores-flat-text",
        "warning",
        f'transformers 5 reads no text settings at the top level of a "{stated}" file: it builds the default text model',
        {"model_type": stated, **case.present("hidden_size", "num_hidden_layers", "rope_theta")},
        "move them into text_config",
    )


def type_conflict_taken(case: Case) -> None:
    """transformers takes rope_type where type says otherwise; nothing is said."""
    held = case.keys.get("rope_scaling")
    if not isinstance(held, Mapping):
        return
    old, new = held.get("type"), held.get("rope_type")
    if isinstance(old, str) and isinstance(new, str) and old != new and "mrope" in (old, new) and case.turns:
        case.note(
            "two-spellings-of-type",
            "info",
            f'rope_scaling holds type "{old}" and rope_type "{new}"; both mean the same here',
            {case.section.at("rope_scaling.type"): old, case.section.at("rope_scaling.rope_type"): new},
            "keep rope_type",
        )


def depends_on_length(case: Case) -> None:
    """Frequencies that change with the row's length: what was cached before the change no longer fits."""
    turn = case.scaled
    if turn is None or not turn.depends_on_length or turn.rule.value not in ("dynamic", "longrope", "stepped-ntk"):
        return
    claimed, original = case.part.contexts.claimed, turn.settings.get("original_context")
    if original is None or not original.known or (claimed.known and claimed.value <= original.value):
        return
    case.note(
        "frequencies-depend-on-length",
        "info",
        f"frequencies change past {original.value} tokens; transformers 5 picks them by the longest row of a batch, and keys "
        "cached before the change keep the old ones",
        {turn.rule.detail: turn.rule.value, **case.stated(original)},
        "decide the length before the first token, or refuse to cross it with a cache",
    )


CHECKS = (base_lost, base_overruled, null_head, flat_text_ignored, type_conflict_taken, depends_on_length)
