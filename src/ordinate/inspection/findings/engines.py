"""What transformers 5 silently does with this very file, where that is not what the file says.

Each of these was seen by running transformers 5.24 on such a file; a slow test runs them again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ordinate.inspection.findings.checked_part import CheckedPart
from ordinate.inspection.records import Finding

__all__ = ["CHECKS"]

ADOPTS_FLAT_TEXT = {"fuyu", "glm5_next", "hunyuan_vl", "paddleocr_vl", "qwen2_5_vl", "qwen2_vl"}
"""Composite types whose class takes text settings from the top level of an old file."""

KEEPS_OWN_PARAMETERS = {"apertus", "apertus1p5_text", "higgs_audio_v2"}
"""Types whose default rope_parameters, base included, stand where the file has no dictionary of its own."""

DERIVES_NULL_HEAD = {"llama", "mistral", "mixtral", "gpt_oss", "deepseek_v3", "ministral", "ministral3", "apertus", "seed_oss"}
"""Types whose class computes a head for an explicit null."""


def base_lost(checked: CheckedPart) -> Iterator[Finding]:
    """With both dictionaries in the file transformers drops rope_parameters whole, the base with it."""
    parameters, legacy = checked.keys.get("rope_parameters"), checked.keys.get("rope_scaling")
    if not isinstance(parameters, Mapping) or not isinstance(legacy, Mapping) or not legacy:
        return
    lost = {key: value for key, value in parameters.items() if key not in legacy and key not in ("rope_type", "type")}
    if lost:
        yield Finding(
            "transformers-drops-rope-parameters",
            "warning",
            "transformers 5 takes rope_scaling and drops rope_parameters: " + ", ".join(sorted(map(str, lost))) + " is lost",
            {checked.section.at(f"rope_parameters.{key}"): value for key, value in lost.items()}
            | checked.present("rope_scaling"),
            "merge the two into rope_parameters; this reader takes what each alone says",
        )


def base_overruled(checked: CheckedPart) -> Iterator[Finding]:
    """Types with a full default dictionary keep its base where the file has only rope_theta."""
    stated = checked.part.model_type.value
    if stated not in KEEPS_OWN_PARAMETERS or checked.keys.get("rope_theta") is None:
        return
    if any(isinstance(checked.keys.get(key), Mapping) for key in ("rope_parameters", "rope_scaling")):
        return
    yield Finding(
        "transformers-drops-base",
        "warning",
        f"transformers 5 ignores rope_theta for {stated} unless a rope dictionary stands beside it",
        checked.present("rope_theta"),
        "write rope_parameters with rope_theta and the scaling",
    )


def null_head(checked: CheckedPart) -> Iterator[Finding]:
    """An explicit null head fails in three scalings, for types whose class does not compute one."""
    turn = checked.scaled
    if "head_dim" not in checked.keys or checked.keys["head_dim"] is not None or turn is None:
        return
    if turn.rule.value not in ("yarn", "dynamic", "longrope") or checked.part.model_type.value in DERIVES_NULL_HEAD:
        return
    yield Finding(
        "transformers-fails-on-null-head",
        "warning",
        f"transformers 5 fails on head_dim null under {turn.rule.value} scaling: it multiplies the null",
        {checked.section.at("head_dim"): None, turn.rule.detail: turn.rule.value},
        "leave head_dim out, or write the number",
    )


def flat_text_ignored(checked: CheckedPart) -> Iterator[Finding]:
    """A composite type whose text settings stand at the top level: most classes then build their default text model."""
    stated = checked.stated_type
    if not checked.main or checked.part.path or stated == checked.part.model_type.value or not stated:
        return
    if checked.part.model_type.source != "family" or stated in ADOPTS_FLAT_TEXT:
        return
    yield Finding(
        "transformers-ignores-flat-text",
        "warning",
        f'transformers 5 reads no text settings at the top level of a "{stated}" file: it builds the default text model',
        {"model_type": stated, **checked.present("hidden_size", "num_hidden_layers", "rope_theta")},
        "move them into text_config",
    )


def type_conflict_taken(checked: CheckedPart) -> Iterator[Finding]:
    """transformers takes rope_type where type says otherwise; nothing is said."""
    parameters = checked.keys.get("rope_scaling")
    if not isinstance(parameters, Mapping):
        return
    old, new = parameters.get("type"), parameters.get("rope_type")
    if isinstance(old, str) and isinstance(new, str) and old != new and "mrope" in (old, new) and checked.turns:
        yield Finding(
            "two-spellings-of-type",
            "info",
            f'rope_scaling holds type "{old}" and rope_type "{new}"; both mean the same here',
            {checked.section.at("rope_scaling.type"): old, checked.section.at("rope_scaling.rope_type"): new},
            "keep rope_type",
        )


def depends_on_length(checked: CheckedPart) -> Iterator[Finding]:
    """Frequencies that change with the row's length: what was cached before the change no longer fits."""
    turn = checked.scaled
    if turn is None or not turn.depends_on_length or turn.rule.value not in ("dynamic", "longrope", "stepped-ntk"):
        return
    claimed, original = checked.part.contexts.claimed, turn.settings.get("original_context")
    if original is None or not original.known or (claimed.known and claimed.value <= original.value):
        return
    yield Finding(
        "frequencies-depend-on-length",
        "info",
        f"frequencies change past {original.value} tokens; transformers 5 picks them by the longest row of a batch, and keys "
        "cached before the change keep the old ones",
        {turn.rule.detail: turn.rule.value, **checked.stated(original)},
        "decide the length before the first token, or refuse to cross it with a cache",
    )


def nested_base_ignored(checked: CheckedPart) -> Iterator[Finding]:
    """DBRX keeps its base in attn_config, where the class of transformers 5 does not look."""
    for turn in checked.turns[:1]:
        if turn.base.source == "file" and turn.base.detail.endswith("attn_config.rope_theta"):
            yield Finding(
                "transformers-drops-base",
                "warning",
                f"transformers 5.24's class of {checked.part.model_type.value} reads no base in attn_config: it takes 10,000",
                {turn.base.detail: turn.base.value},
                "write rope_parameters with rope_theta beside attn_config",
            )


CHECKS = (nested_base_ignored, base_lost, base_overruled, null_head, flat_text_ignored, type_conflict_taken, depends_on_length)
