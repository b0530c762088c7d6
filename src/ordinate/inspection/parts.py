"""Which sections of a config are parts of a model, and which family reads each.

The top level is a part of its own where it holds a stack's sizes and no section does; composite models keep their stacks in
sections, some three levels down. A section's family is what it names itself, else what its parent's family puts there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ordinate.inspection.families import GENERIC_ROTARY, family_of, family_of_architecture, generic_unknown
from ordinate.inspection.reader.assembly import assemble
from ordinate.inspection.reader.roles import ROLES
from ordinate.inspection.reader.row_types import Family, PartSource
from ordinate.inspection.reader.section import Findings, Section
from ordinate.inspection.records import Finding, Source, Value, unknown

__all__ = ["find_parts"]

OWN_SIZES = ("num_attention_heads", "n_head", "n_heads", "num_heads", "num_hidden_layers", "n_layer", "n_layers", "num_layers")
ROTARY_KEYS = (
    "rope_theta",
    "rope_scaling",
    "rope_parameters",
    "rotary_dim",
    "rotary_emb_base",
    "rotary_pct",
    "partial_rotary_factor",
)
DEPTH = 4


def find_parts(raw: Mapping[str, Any]) -> tuple[list[PartSource], list[Finding]]:
    """All parts of a config, the one that reads tokens first, at least one; and what was odd about the model types."""
    findings = Findings()
    parts = _descend(raw, "", "", None, findings, 0)
    if not parts:
        parts = [_part("text", raw, "", *_family(raw, "", None, findings), findings)]
    images_first = _is_open_clip(raw)
    order = {"vision": 0, "text": 1} if images_first else {"text": 0}
    return sorted(parts, key=lambda part: order.get(part.name, 2)), findings


def _descend(
    raw: Mapping[str, Any], path: str, role: str, mapped: str | None, findings: Findings, depth: int
) -> list[PartSource]:
    family, model_type = _family(raw, path, mapped, findings)
    children = [key for key in raw if key in ROLES and isinstance(raw[key], Mapping) and depth < DEPTH]
    parts: list[PartSource] = []
    for key in children:
        name = ROLES[key]
        child = family.parts.get(key) if family is not None else None
        if child is None and _is_open_clip(raw):
            child = "open_clip_vision" if name == "vision" else "open_clip_text"
        own = _descend(raw[key], f"{path}.{key}" if path else key, name, child, findings, depth + 1)
        parts += [_one_side(part, key) for part in own]
    if role and not parts and not _holds_stack(raw, family):
        return []
    reads_text = any(part.name == "text" for part in parts)
    sized = any(raw.get(key) is not None for key in OWN_SIZES)
    flat = family
    if family is not None and not family.stacks and not family.unknown and sized and not reads_text:
        text = family.parts.get("text_config") or family.parts.get("thinker_config")
        flat = family_of(text) if text is not None else family
        if text is not None:
            model_type = Value(text, "family", f"{model_type.value} holds its text settings at the top level")
    owns = flat is not None and bool(flat.stacks or flat.unknown) and not reads_text
    if owns and flat is not None:
        parts.insert(0, _part(role or flat.name, raw, path, flat, model_type, findings))
    if not parts and family is not None and family.parts:
        for key, child in family.parts.items():
            if key in ROLES:
                own = _descend({}, f"{path}.{key}" if path else key, ROLES[key], child, findings, depth + 1)
                parts += [_one_side(part, key) for part in own]
    if not parts:
        parts.append(_part(role or "text", raw, path, family, model_type, findings))
    return [_renamed(part, role) for part in parts]


def _one_side(part: PartSource, key: str) -> PartSource:
    """Of a family with an encoder and a decoder, a section called after one side holds that side alone."""
    side = next((side for side in ("encoder", "decoder") if key.endswith(side)), "")
    kept = tuple(stack for stack in part.family.stacks if stack.name == side)
    if not kept or part.section.path.rsplit(".", 1)[-1] != key:
        return part
    return replace(part, family=replace(part.family, stacks=kept))


def _renamed(part: PartSource, role: str) -> PartSource:
    """A stack inside a talker or a vocoder is the talker's, not the model's text."""
    if role in ("", "text") or part.name == role or part.name not in ("text", "vision"):
        return part
    return PartSource(role if part.name == "text" else f"{role} {part.name}", part.section, part.family, part.model_type)


def _holds_stack(raw: Mapping[str, Any], family: Family | None) -> bool:
    return family is not None or any(raw.get(key) is not None for key in OWN_SIZES)


def _attention_of(block: Mapping[str, Any]) -> Mapping[str, Any]:
    attention = block.get("attention")
    return attention if isinstance(attention, Mapping) else {}


def _with_blocks(raw: Mapping[str, Any], path: str) -> tuple[Mapping[str, Any], dict[str, tuple[Source, str]]]:
    """The settings with the heads of each layer as a list, where the file keeps them in `block_configs` (DeciLM, Nemotron)."""
    blocks, heads = raw.get("block_configs"), raw.get("num_attention_heads")
    if not isinstance(blocks, list) or not blocks or not all(isinstance(block, Mapping) for block in blocks):
        return raw, {}
    groups: list[Any] = []
    for block in blocks:
        attention = _attention_of(block)
        stated, shared = attention.get("num_key_value_heads"), attention.get("n_heads_in_group")
        if attention.get("no_op") or attention.get("replace_with_linear"):
            groups.append(0)
        elif type(stated) is int:
            groups.append(stated)
        elif type(shared) is int and shared > 0 and type(heads) is int:
            groups.append(heads // shared)
        else:
            return raw, {}
    extended = {**raw, "num_key_value_heads": groups, "num_hidden_layers": len(groups)}
    windows = [size if type(size := _attention_of(block).get("window_length")) is int else 0 for block in blocks]
    if 0 in groups or any(windows):
        there = ["sliding_attention" if window else "full_attention" for window in windows]
        extended["layer_types"] = [kind if group else "no_attention" for kind, group in zip(there, groups, strict=True)]
    if any(windows):
        extended.setdefault("sliding_window", max(windows))
    at = f"{path}.block_configs" if path else "block_configs"
    detail = f"{at}: num_attention_heads / attention.n_heads_in_group"
    place = f"{path}." if path else ""
    sources: dict[str, tuple[Source, str]] = {f"{place}num_key_value_heads": ("derived", detail)}
    sources[f"{place}num_hidden_layers"] = ("derived", f"entries of {at}")
    return extended, sources


def _with_width(raw: Mapping[str, Any], path: str, row: Family) -> tuple[Mapping[str, Any], dict[str, tuple[Source, str]]]:
    """The settings of a class of diffusers with the stream's width, heads x their width where no key states it."""
    merged = {**row.defaults, **raw}
    heads, head = merged.get("num_attention_heads"), merged.get("attention_head_dim")
    if any(key in merged for key in ("hidden_size", "dim", "model_dim")) or type(heads) is not int or type(head) is not int:
        return raw, {}
    sources: dict[str, tuple[Source, str]] = {
        f"{path}.hidden_size" if path else "hidden_size": ("derived", f"{heads} heads x {head}")
    }
    return {**raw, "hidden_size": heads * head}, sources


def _part(
    name: str, raw: Mapping[str, Any], path: str, family: Family | None, model_type: Value, findings: Findings
) -> PartSource:
    row = family if family is not None else _by_keys(raw, path, model_type, findings)
    settings, translated = _with_blocks(raw, path)
    if "_class_name" in raw:
        settings, translated = _with_width(raw, path, row)
    section = Section(
        settings,
        path,
        row.defaults,
        row.origin or str(model_type.value),
        spellings=row.spellings,
        assumed="" if family is not None else "gaps" if row is GENERIC_ROTARY else "all",
        sources=translated,
    )
    return PartSource(name, section, row, model_type)


def _is_open_clip(raw: Mapping[str, Any]) -> bool:
    return "model_type" not in raw and isinstance(raw.get("vision_cfg"), Mapping) and isinstance(raw.get("text_cfg"), Mapping)


def _family(raw: Mapping[str, Any], path: str, mapped: str | None, findings: Findings) -> tuple[Family | None, Value]:
    """The row that reads a section, and how the model type is known: stated, by class, or from the parent."""
    at = f"{path}.model_type" if path else "model_type"
    stated = raw.get("model_type")
    if stated is not None and not isinstance(stated, str):
        findings.note("wrong-type", "error", f"{at} should be text", {at: stated}, "name the model type")
        stated = None
    classes = raw.get("architectures")
    architecture = classes[0] if isinstance(classes, list) and classes and isinstance(classes[0], str) else None
    by_class = family_of_architecture(architecture) if architecture else None
    if by_class is not None and by_class in OVERRULING:
        return family_of(by_class), Value(by_class, "derived", f"architectures names {architecture}")
    if stated:
        own = family_of(stated)
        if mapped is not None and (own is None or not own.stacks) and stated != mapped:
            return family_of(mapped), Value(mapped, "family", f"the parent's family puts it here ({at} says {stated})")
        if own is not None:
            rival = family_of(by_class) if by_class is not None and mapped is None and by_class != stated else None
            if rival is not None and by_class is not None and _encodes_otherwise(own, rival, raw):
                findings.note(
                    "class-contradicts-type",
                    "warning",
                    f'model_type is "{stated}", but the class {architecture} is of {by_class}, encoding position otherwise',
                    {at: stated, "architectures": architecture},
                    "make them agree; the class is taken here, since its code is what the weights were made with",
                )
                return rival, Value(by_class, "derived", f"architectures names {architecture}")
            return _without_disputed(own, rival, at, stated, str(architecture), findings), Value(stated, "file", at)
        if by_class is not None:
            findings.note(
                "model-type-unknown",
                "warning",
                f'no model type "{stated}" is known; the class {architecture} tells that it is {by_class}',
                {at: stated, "architectures": architecture},
                f'write "{by_class}"; a loader without the checkpoint\'s code refuses "{stated}"',
            )
            return family_of(by_class), Value(by_class, "derived", f"architectures names {architecture}")
        return None, Value(stated, "file", at)
    if mapped is not None:
        return family_of(mapped), Value(mapped, "family", "the parent's family puts it here")
    written = raw.get("_class_name")
    if isinstance(written, str):
        return family_of(written), Value(written, "file", f"{path}._class_name" if path else "_class_name")
    if by_class is not None:
        return family_of(by_class), Value(by_class, "derived", f"architectures names {architecture}")
    for key, model_type in TELLING:
        if raw.get(key) is not None:
            return family_of(model_type), Value(model_type, "derived", f"no model_type, but {key} is {model_type}'s key")
    return None, unknown("neither model_type nor a known class in the file")


def _encodes_otherwise(own: Family, rival: Family, raw: Mapping[str, Any]) -> bool:
    """Whether two rows would read another kind of encoding out of the same settings."""
    kinds = []
    for row in (own, rival):
        section = Section(raw, "", row.defaults, row.origin)
        part = assemble(PartSource(row.name, section, row, unknown("")), section)
        kinds.append({one.kind.value for layer in part.layers for one in layer.encodings} or {part.kind})
    return None not in kinds[0] | kinds[1] and not kinds[0] & kinds[1]


def _without_disputed(own: Family, rival: Family | None, at: str, stated: str, architecture: str, findings: Findings) -> Family:
    """The row without the defaults that the class named in `architectures` would take otherwise."""
    if rival is None or not own.stacks or not rival.stacks or own.stacks == rival.stacks:
        return own
    if rival.defaults.get("max_position_embeddings") is None or rival.origin.split()[0] in own.parts.values():
        return own
    findings.note(
        "class-contradicts-type",
        "warning",
        f'model_type is "{stated}", but the class {architecture} belongs to another model type',
        {at: stated, "architectures": architecture},
        "make them agree; where a key is missing, the two take different defaults",
    )
    disputed = {key for key in own.defaults if own.defaults[key] != rival.defaults.get(key)}
    kept = {key: value for key, value in own.defaults.items() if key not in disputed}
    if "rope_parameters" in disputed:
        kept["rope_theta_unknown"] = f"no base in the file, and {stated} and {architecture} take different ones"
    return replace(own, defaults=kept)


OVERRULING = {"jina_bert", "chronos2", "new"}
"""Classes of checkpoints whose model_type is borrowed from a model that encodes position in another way."""

TELLING = (("pos_att_type", "deberta-v2"), ("relative_attention", "deberta-v2"), ("alibi_bias_max", "mpt"))
"""Keys that only one family writes, for files without a model type."""


def _by_keys(raw: Mapping[str, Any], path: str, model_type: Value, findings: Findings) -> Family:
    """For a type without a row: what the keys tell by themselves."""
    named = f'"{model_type.value}"' if model_type.known else "a file without a model type"
    rotary = [key for key in ROTARY_KEYS if raw.get(key) is not None]
    at = f"{path}.model_type" if path else "model_type"
    findings.note(
        "model-type-unknown",
        "warning",
        f"no row of the table describes {named}" + (f"; {rotary[0]} tells that it rotates" if rotary else ""),
        {at: model_type.value},
        "add a row for it; until then the layout is unknown" if rotary else "add a row for it",
    )
    if rotary:
        return GENERIC_ROTARY
    return generic_unknown(f"the position code of {named} has not been read, and no key tells")
