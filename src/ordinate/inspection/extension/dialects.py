"""The same stretch in the words of each program: transformers 4 and 5, vLLM, llama.cpp.

transformers 4 keeps `rope_scaling` beside `rope_theta`; transformers 5 keeps one `rope_parameters`, with a dictionary for each
kind of layer where bases differ; vLLM takes the latter as an override, nested as the config is; llama.cpp takes flags. Whatever
else stands in those dictionaries (sections, partial factors, bases) is kept.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ordinate.frequencies import DynamicNTK, Linear, Scaling, YaRN
from ordinate.inspection.extension.editing import REMOVED, Edit
from ordinate.inspection.extension.methods import Option, far_layers
from ordinate.inspection.families import library
from ordinate.inspection.records import LayerKind, Part

__all__ = ["CONFIGS", "DIALECTS", "Dialect", "Spelling", "llama_cpp", "own_dialect", "reads_scaling", "spell", "vllm"]

Dialect = Literal["transformers-4", "transformers-5", "vllm", "llama.cpp"]
CONFIGS: tuple[Dialect, ...] = ("transformers-4", "transformers-5")
DIALECTS: tuple[Dialect, ...] = (*CONFIGS, "vllm", "llama.cpp")

# what a scaling's dictionary says about the scaling; the rest of it is about something else and stays
_OF_SCALING = {
    *("type", "rope_type", "factor", "alpha", "original_max_position_embeddings", "finetuned"),
    *("beta_fast", "beta_slow", "attention_factor", "attn_factor", "extrapolation_factor", "truncate"),
    *("mscale", "mscale_all_dim", "short_mscale", "long_mscale", "short_factor", "long_factor"),
    *("low_freq_factor", "high_freq_factor"),
}


_NO_DROP = "no setting takes rotations out: train on without them first, with the model's code changed"


@dataclass(frozen=True)
class Spelling:
    """The stretch in one dialect.

    Args:
        dialect: whose words.
        shown: what to write or to run; "" where the dialect cannot say it.
        refused: why it cannot.
        edits: for configs, the members to change.
        since: the releases for which that is right.
    """

    dialect: Dialect
    text: str
    refused: str = ""
    edits: tuple[Edit, ...] = ()
    since: str = ""


def releases(dialect: Dialect, raw: Mapping[str, Any], option: Option | None) -> str:
    """For which releases of its program an edit is right, and what holds for the one that the file names.

    What transformers 4 computes was run for every minor release from 4.42 to 4.57 (`modeling_rope_utils.py` of the wheels).
    """
    scaling = None if option is None else option.scaling
    if scaling is None:
        return ""
    if dialect == "transformers-5":
        return "for transformers 5.0 and later"
    if dialect == "vllm":
        return "for vLLM since pull request 28542 (November 2025), which brought rope_parameters"
    if dialect == "llama.cpp":
        return ""
    named = _release(raw)
    said = "" if named is None else f"; the file names {raw['transformers_version']}"
    if not isinstance(scaling, YaRN):
        if _names_type(raw):
            return f"for the transformers {raw['transformers_version']} that the file names, and later ones of 4"
        return "for transformers 4.43 and later; before, rope_type was called type"
    if named is not None and named < (4, 43):
        return f"for transformers 4.51 and later{said}, which has no YaRN: no edit makes it"
    older = f"leave max_position_embeddings at {scaling.original_context:,}, as the ramp is formed from it"
    if named is not None and named < (4, 51):
        return f"for transformers 4.51 and later{said}: in 4.43 to 4.50 {older}"
    return f"for transformers 4.51 and later; in 4.43 to 4.50 {older}"


def _release(raw: Mapping[str, Any]) -> tuple[int, int] | None:
    """Major and minor number of the release of transformers that wrote the file."""
    match = re.match(r"(\d+)\.(\d+)", str(raw.get("transformers_version", "")))
    return None if match is None else (int(match[1]), int(match[2]))


def _names_type(raw: Mapping[str, Any]) -> bool:
    """Whether the file is of a release that calls the kind of a scaling `type`."""
    named = _release(raw)
    return named is not None and named < (4, 43)


def own_dialect(raw: Mapping[str, Any], part: Part) -> Dialect:
    """The dialect that a config is written in."""
    section = _descend(raw, _path(part))
    return "transformers-5" if isinstance(section.get("rope_parameters"), Mapping) else "transformers-4"


def spell(dialect: Dialect, raw: Mapping[str, Any], part: Part, option: Option | None, length: int) -> Spelling:
    """The edit of a config.

    Args:
        dialect: "transformers-4" or "transformers-5".
        raw: the config.
        part: the part whose positions are stretched.
        option: how; None where only the stated context grows.
        length: tokens.
    """
    path = _path(part)
    edits: list[Edit] = []
    trouble = "" if option is None else _unread(dialect, part, option)
    if trouble:
        return Spelling(dialect, "", trouble)
    if option is not None:
        section = _descend(raw, path)
        if dialect == "transformers-4":
            result = _edit_4(section, path, part, option, old=_names_type(raw) and not isinstance(option.scaling, YaRN))
        else:
            result = _edit_5(section, path, part, option)
        if isinstance(result, str):
            return Spelling(dialect, "", result)
        edits.extend(result)
    if option is None or not isinstance(option.scaling, DynamicNTK):  # dynamic scaling starts at the stated context
        edits.append(Edit(_claimed_path(raw, part), length))
    return Spelling(dialect, _shown(edits), edits=tuple(edits))


def reads_scaling(part: Part) -> bool | None:
    """Whether transformers' code of this family reads a scaling at all; None for code that comes with the checkpoint."""
    known = library().get(part.model_type.value)
    return None if known is None else "rope_parameters" in known["defaults"]


def _unread(dialect: Dialect, part: Part, option: Option) -> str:
    """Why the family's code would not read this dialect, or ""."""
    reads = reads_scaling(part)
    if option.method == "drop":
        return _NO_DROP
    if reads is False:
        return f"transformers' code of {part.model_type.value} reads no scaling: its frequencies are fixed"
    if reads is None and dialect == "transformers-5":
        return "the code of this family comes with its checkpoint and is older than rope_parameters"
    return ""


def _path(part: Part) -> tuple[str, ...]:
    return tuple(part.path.split(".")) if part.path else ()


def _descend(raw: Mapping[str, Any], path: tuple[str, ...]) -> Mapping[str, Any]:
    for key in path:
        present = raw.get(key)
        raw = present if isinstance(present, Mapping) else {}
    return raw


def _claimed_path(raw: Mapping[str, Any], part: Part) -> tuple[str, ...]:
    """The member that states the context: the one the reader took, if it took one as it stands."""
    claimed = part.contexts.claimed
    if claimed.source == "file":
        path = tuple(claimed.detail.split("."))
        if _descend(raw, path[:-1]).get(path[-1]) == claimed.value:
            return path
    return (*_path(part), "max_position_embeddings")


def _shown(edits: list[Edit]) -> str:
    """The members to change as one JSON object, and what to take out."""
    whole: dict[str, Any] = {}
    removed = []
    for edit in edits:
        if edit.value is REMOVED:
            removed.append(".".join(edit.path))
            continue
        place = whole
        for key in edit.path[:-1]:
            place = place.setdefault(key, {})
        place[edit.path[-1]] = edit.value
    text = json.dumps(whole, indent=2)
    return text + (f"\nand take out {', '.join(removed)}" if removed else "")


def scaling_words(scaling: Scaling | None, kept: Mapping[str, Any]) -> dict[str, Any]:
    """A record as transformers spells it, with what the file states of its shape; defaults are left out."""
    if isinstance(scaling, Linear):
        return {"rope_type": "linear", "factor": _number(scaling.factor)}
    if isinstance(scaling, DynamicNTK):
        return {"rope_type": "dynamic", "factor": _number(scaling.factor)}
    if isinstance(scaling, YaRN):
        return {
            "rope_type": "yarn",
            "factor": _number(scaling.factor),
            "original_max_position_embeddings": scaling.original_context,
            **kept,
        }
    return {}


def _number(value: float) -> float:
    """A factor without noise: 4.0, and 3.0517578125 as it is."""
    return float(round(value, 12))


def _restated(present: Mapping[str, Any], words: dict[str, Any], spelled: list[str]) -> dict[str, Any]:
    """A dictionary with another scaling in it, its type under the keys `spelled`, and all else as it was."""
    rule = words.get("rope_type")
    named = {} if rule is None else dict.fromkeys(spelled, rule)
    kept = {key: value for key, value in present.items() if key not in _OF_SCALING}
    return {**named, **{key: value for key, value in words.items() if key != "rope_type"}, **kept}


def _edit_4(section: Mapping[str, Any], path: tuple[str, ...], part: Part, option: Option, *, old: bool) -> list[Edit] | str:
    turning = _turning(part)
    parameters = section.get("rope_parameters")
    edits: list[Edit] = []
    base = option.base if option.base is not None else None
    present: Mapping[str, Any] = section["rope_scaling"] if isinstance(section.get("rope_scaling"), Mapping) else {}
    if isinstance(parameters, Mapping):
        if _nested(parameters):
            return "transformers 4 has no dictionary for each kind of layer; use transformers 5"
        present = {key: value for key, value in parameters.items() if key not in ("rope_theta", "partial_rotary_factor")}
        for key in ("rope_theta", "partial_rotary_factor"):
            if key in parameters and not (key == "rope_theta" and base is not None):
                edits.append(Edit((*path, key), parameters[key]))
        edits.append(Edit((*path, "rope_parameters"), REMOVED))
    if base is not None:
        edits.append(Edit(_base_path(section, path, turning[0]), base))
        if isinstance(parameters, Mapping) and present:
            edits.append(Edit((*path, "rope_scaling"), dict(present)))
        return edits
    spelled = [key for key in ("rope_type", "type") if key in present] or ([] if old else ["rope_type"])
    if old and "type" not in spelled:  # the only word they know
        spelled.append("type")
    edits.append(Edit((*path, "rope_scaling"), _restated(present, scaling_words(option.scaling, option.kept), spelled)))
    return edits


def _edit_5(section: Mapping[str, Any], path: tuple[str, ...], part: Part, option: Option) -> list[Edit] | str:
    present = section.get("rope_parameters") or section.get("rope_scaling")
    present = present if isinstance(present, Mapping) else {}
    if _nested(present):
        edited = _edit_nested(dict(present), part, option)
    elif _keeps_one_each(part):
        edited = _edit_nested(_build_nested(present, part), part, option)
    elif len({layer.rotation.base.value for layer in _turning(part) if layer.rotation is not None}) > 1:
        return "this family keeps its two bases in a way of its own"
    else:
        edited = _restate(present, _turning(part)[0], option)
    edits = [Edit((*path, "rope_parameters"), edited)]
    if "rope_scaling" in section:
        edits.append(Edit((*path, "rope_scaling"), REMOVED))  # transformers 5 would take it instead
    if option.base is not None:
        beside = _base_path(section, path, _turning(part)[0])
        if beside[-1] in section:
            edits.append(Edit(beside, option.base))
    return edits


def _keeps_one_each(part: Part) -> bool:
    """Whether transformers 5 keeps one dictionary for each of these kinds of layer."""
    known = library().get(part.model_type.value)
    usual = known["defaults"].get("rope_parameters", {}) if known is not None else {}
    return _nested(usual) and all(_key(layer) in usual for layer in _turning(part))


def _key(layer: LayerKind) -> str:
    return layer.name.replace(" ", "_")


def _turning(part: Part) -> list[LayerKind]:
    """Kinds of layer that rotate, those that are stretched first."""
    far = far_layers(part)
    return far + [layer for layer in part.layers if layer.rotation is not None and layer not in far]


def _nested(parameters: Mapping[str, Any]) -> bool:
    return any(isinstance(value, Mapping) for value in parameters.values())


def _restate(present: Mapping[str, Any], layer: LayerKind, option: Option) -> dict[str, Any]:
    rotation = layer.rotation
    assert rotation is not None  # only layers that turn are stretched
    base = option.base if option.base is not None else rotation.base.value
    words = scaling_words(option.scaling, option.kept) if option.base is None else {}
    if words:
        return {**_restated(present, words, ["rope_type"]), "rope_theta": base}
    rule = present.get("rope_type", present.get("type", "default"))
    return {
        "rope_type": rule,
        **{key: value for key, value in present.items() if key not in ("type", "rope_type")},
        "rope_theta": base,
    }


def _edit_nested(parameters: dict[str, Any], part: Part, option: Option) -> dict[str, Any]:
    """The dictionaries of kinds that see everything change, those of windowed kinds stay."""
    for layer in far_layers(part):
        if isinstance(parameters.get(_key(layer)), Mapping):
            parameters[_key(layer)] = _restate(parameters[_key(layer)], layer, option)
    return parameters


def _build_nested(present: Mapping[str, Any], part: Part) -> dict[str, Any]:
    """One dictionary a kind of layer, from a file that keeps one scaling and perhaps two bases side by side."""
    built: dict[str, Any] = {}
    for layer in _turning(part):
        rotation = layer.rotation
        assert rotation is not None  # only layers that turn are listed
        scaled = {
            "rope_type": rotation.rule.value,
            **{key: value for key, value in present.items() if key not in ("type", "rope_type")},
        }
        built[_key(layer)] = {
            **(scaled if rotation.scaling is not None and present else {"rope_type": "default"}),
            "rope_theta": rotation.base.value,
        }
    return built


def _base_path(section: Mapping[str, Any], path: tuple[str, ...], layer: LayerKind) -> tuple[str, ...]:
    """The member beside the dictionaries that states the base."""
    rotation = layer.rotation
    if rotation is not None and rotation.base.source == "file":
        key = rotation.base.detail.split(".")[-1]
        if key in section:
            return (*path, key)
    return (*path, "rope_theta")


def vllm(raw: Mapping[str, Any], part: Part, option: Option | None, length: int) -> Spelling:
    """The override for `vllm serve`, in the config's own nesting.

    Source: https://docs.vllm.ai/en/stable/features/context_extension/
    """
    reach = f"--max-model-len {length}"
    claims = {"max_position_embeddings": length}
    path = _path(part)
    if option is None:
        return Spelling("vllm", f"--hf-overrides {_quoted(_wrapped(path, claims))} {reach}")
    if option.method == "drop":
        return Spelling("vllm", "", _NO_DROP)
    if isinstance(option.scaling, DynamicNTK) and option.base is None:
        text = "vLLM's dynamic scaling is computed once, for factor x the stated context, and ignores the length of the row"
        return Spelling("vllm", "", f"{text}; use yarn or ntk there")
    edits = _edit_5(_descend(raw, path), path, part, option)
    if isinstance(edits, str):
        return Spelling("vllm", "", edits)
    parameters = next(edit.value for edit in edits if edit.path[-1] == "rope_parameters")
    # vLLM multiplies the context by the factor itself, but knows nothing of a larger base
    stated = {"rope_parameters": parameters, **(claims if option.base is not None else {})}
    return Spelling("vllm", f"--hf-overrides {_quoted(_wrapped(path, stated))} {reach}")


def _wrapped(path: tuple[str, ...], value: dict[str, Any]) -> dict[str, Any]:
    for key in reversed(path):
        value = {key: value}
    return value


def _quoted(value: dict[str, Any]) -> str:
    return shlex.quote(json.dumps(value))


def llama_cpp(part: Part, option: Option | None, length: int) -> Spelling:
    """The flags of llama-server and llama-cli; they act on layers that see everything and on windowed ones as the model's code
    decides.

    Source: `llama-server --help`, section common params.
    """
    reach = f"-c {length}"
    if option is None:
        return Spelling("llama.cpp", reach)
    if option.method == "drop":
        return Spelling("llama.cpp", "", _NO_DROP)
    if option.base is not None:
        return Spelling("llama.cpp", f"--rope-freq-base {option.base:.10g} {reach}")
    scaling = option.scaling
    if isinstance(scaling, Linear):
        return Spelling("llama.cpp", f"--rope-scaling linear --rope-scale {scaling.factor:.10g} {reach}")
    if isinstance(scaling, YaRN):
        flags = f"--rope-scaling yarn --rope-scale {scaling.factor:.10g} --yarn-orig-ctx {scaling.original_context}"
        for flag, value, usual in (("fast", scaling.beta_fast, 32), ("slow", scaling.beta_slow, 1)):
            flags += f" --yarn-beta-{flag} {value:.10g}" if value != usual else ""
        if not scaling.truncate:
            return Spelling("llama.cpp", "", "llama.cpp always rounds the ends of YaRN's ramp, and this model does not")
        return Spelling("llama.cpp", f"{flags} {reach}")
    return Spelling("llama.cpp", "", "llama.cpp computes frequencies once, so it has no dynamic scaling; use yarn or ntk there")
