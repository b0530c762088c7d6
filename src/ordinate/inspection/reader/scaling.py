"""How a file says that rotary frequencies are scaled, in every dialect: a rule, its settings, the record that computes.

Dialects: `rope_scaling` with `type` or `rope_type` (transformers 4), `rope_parameters` flat or one a kind of layer
(transformers 5), both at once, `use_dynamic_ntk` (the first Qwen). One dictionary is merged per kind of layer first, then
turned into a record of `ordinate.frequencies`. Two spellings that disagree are a finding, and neither is taken silently.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ordinate.errors import OrdinateError
from ordinate.frequencies import (
    SCALINGS,
    DynamicNTK,
    Linear,
    Llama3,
    LongRoPE,
    NTKAware,
    Proportional,
    Scaling,
    SteppedNTK,
    YaRN,
)
from ordinate.inspection.reader.section import Section
from ordinate.inspection.records import Value, unknown

__all__ = ["PLAIN", "ScalingRead", "dialects", "read_scaling"]

PLAIN = {"default", "none", "mrope", "axial", ""}
"""Names that mean no scaling: multi-axis models write "mrope" where a rule would stand."""

ALIASES = {"su": "longrope", "longrope": "longrope", "ntk-aware": "ntk", "dynamic_ntk": "dynamic", "deepseek_yarn": "yarn"}


@dataclass(frozen=True)
class ScalingRead:
    """What was read: `rule` as in `ordinate.frequencies.SCALINGS`, "none" or unknown; `record` where the settings make one."""

    rule: Value
    settings: Mapping[str, Value] = field(default_factory=dict)
    record: Scaling | None = None


def dialects(section: Section, kind: str) -> list[Section]:
    """The dictionaries of the file that speak about rotation for layers of this kind, the newest dialect first."""
    settings = []
    for key in ("rope_parameters", "rope_scaling"):
        dictionary = section.sub(key)
        if dictionary is None:
            if section.has(key):
                section.dictionary_expected(key)
            continue
        nested = dictionary.sub(kind)
        if nested is not None:
            settings.append(nested)
        elif not any(isinstance(value, Mapping) for value in dictionary.raw.values()):
            settings.append(dictionary)
        elif any(not isinstance(value, Mapping) and value is not None for value in dictionary.raw.values()):
            settings.append(dictionary)  # keys of its own beside the per-kind dictionaries
    return settings


def read_scaling(
    section: Section,
    kind: str,
    *,
    claimed: Value,
    trained: Value | None = None,
    mscale_on_scores: bool = False,
) -> ScalingRead:
    """Read the scaling that applies to layers of `kind`.

    Args:
        section: the settings of the part.
        kind: the layers' kind, a key of nested dictionaries.
        claimed, trained: contexts, for rules that read them where the dictionary is silent.
        mscale_on_scores: whether the family's attention multiplies scores by YaRN's magnitude squared (DeepSeek's does).
    """
    rules = [(dictionary, _rule(dictionary)) for dictionary in dialects(section, kind)]
    scaled = [(dictionary, rule) for dictionary, rule in rules if rule.known and rule.value != "none"]
    doubtful = next((rule for _, rule in rules if not rule.known), None)
    if doubtful is not None:
        return ScalingRead(doubtful)
    if not scaled:
        return _unscaled(section, kind, rules, trained, claimed)
    if len(scaled) > 1:
        _compare_dialects(section, scaled[0], scaled[1])
    dictionary, rule = scaled[0]
    reader = READERS.get(rule.value)
    if reader is None:
        section.note(
            "unknown-scaling",
            "warning",
            f'{rule.detail} names a scaling this reader does not know: "{rule.value}"',
            {rule.detail: rule.value},
            f"known are {', '.join(sorted(READERS))}; frequencies are unknown until the rule is",
        )
        return ScalingRead(unknown(f'{rule.detail}: no rule "{rule.value}" is known'))
    settings, make = reader(dictionary, section, claimed, mscale_on_scores)
    lacking = [name for name, value in settings.items() if not value.known]
    try:
        record = make(settings)
        name = next(name for name, kind in SCALINGS.items() if type(record) is kind)
        if name != rule.value:
            rule = Value(name, "derived", f'{rule.detail} says "{rule.value}", its settings make it {name}')
        _note_unusual(section, rule, settings, record)
        return ScalingRead(rule, settings, record)
    except (OrdinateError, ArithmeticError, KeyError, TypeError, ValueError) as error:
        reason = f"it lacks {' and '.join(lacking)}" if lacking else str(error)
        stated = {value.detail: value.value for value in settings.values() if value.source == "file"}
        section.note(
            "scaling-unusable",
            "error",
            f"the {rule.value} scaling cannot be computed: {reason}",
            {rule.detail: rule.value, **stated},
            "correct the setting; frequencies are unknown until then",
        )
        return ScalingRead(rule, settings)


def _note_unusual(section: Section, rule: Value, settings: Settings, record: Scaling) -> None:
    """Settings that no formula intends and that every loader computes all the same."""
    strange = []
    factor = getattr(record, "factor", 1.0)
    if factor < 1:
        strange.append(f"a factor of {factor:g} raises frequencies instead of lowering them")
    if isinstance(record, Llama3) and record.high_freq_factor <= record.low_freq_factor:
        strange.append("high_freq_factor is not above low_freq_factor: a sharp cut, with no passage between")
    if isinstance(record, YaRN) and record.beta_fast < record.beta_slow:
        strange.append("beta_fast is below beta_slow: the ramp runs backwards")
    if strange:
        stated = {value.detail: value.value for value in settings.values() if value.source == "file"}
        section.note(
            "scaling-unusual",
            "info",
            f"{'; '.join(strange)}; computed as the model's own code computes it",
            {rule.detail: rule.value, **stated},
            "leave it as it is if the model was trained so",
        )


def _rule(dictionary: Section) -> Value:
    """The rule's name in one dictionary; unknown where its two spellings disagree."""
    names = {key: dictionary.raw[key] for key in ("rope_type", "type") if isinstance(dictionary.raw.get(key), str)}
    for key in ("rope_type", "type"):
        if dictionary.has(key) and key not in names:
            dictionary.text(key)  # notes the wrong type
    meant = {_meaning(name) for name in names.values()}
    if len(meant) > 1:
        evidence = {dictionary.at(key): name for key, name in names.items()}
        dictionary.note(
            "scaling-type-conflict",
            "error",
            " and ".join(f'{path} "{name}"' for path, name in evidence.items()) + " name different scalings",
            evidence,
            "keep one spelling; transformers takes rope_type, readers of old files take type",
        )
        return unknown(" and ".join(evidence) + " disagree")
    if not names:
        if dictionary.has("long_factor") or dictionary.has("short_factor"):
            return Value("longrope", "assumed", f"{dictionary.path} holds long_factor or short_factor but no type")
        if dictionary.has("factor"):
            return unknown(f"{dictionary.path} holds a factor but no type")
        return Value("none", "derived", f"{dictionary.path} names no scaling")
    key = next(iter(names))
    return Value(meant.pop(), "file", dictionary.at(key))


def _meaning(name: str) -> str:
    lowered = name.lower()
    return "none" if lowered in PLAIN else ALIASES.get(lowered, lowered)


def _unscaled(
    section: Section, kind: str, rules: list[tuple[Section, Value]], trained: Value | None, claimed: Value
) -> ScalingRead:
    if section.find("use_dynamic_ntk") == ("use_dynamic_ntk", True):
        return _first_qwen(section, trained)
    if rules:
        return ScalingRead(rules[0][1])
    default = section.defaults.get("rope_parameters")
    if isinstance(default, Mapping) and isinstance(default.get(kind), Mapping):
        default = default[kind]
    if isinstance(default, Mapping) and _meaning(str(default.get("rope_type", "default"))) != "none":
        dictionary = Section(default, section.at("rope_parameters"), {}, section.origin, section.findings)
        rule = Value(_meaning(str(default["rope_type"])), "family", f"default of {section.origin}")
        settings, make = READERS[rule.value](dictionary, section, claimed, False)
        ours = {name: Value(value.value, "family", rule.detail) for name, value in settings.items() if value.known}
        return ScalingRead(rule, ours, make(ours))
    return ScalingRead(Value("none", "derived", "no scaling in the file"))


def _first_qwen(section: Section, trained: Value | None) -> ScalingRead:
    rule = Value("stepped-ntk", "file", section.at("use_dynamic_ntk"))
    if trained is None or not trained.known:
        return ScalingRead(rule)
    return ScalingRead(rule, {"original_context": trained}, SteppedNTK(trained.value))


def _compare_dialects(section: Section, first: tuple[Section, Value], second: tuple[Section, Value]) -> None:
    """Note where rope_parameters and rope_scaling both scale and do not say the same."""
    differing = {}
    if first[1].value != second[1].value:
        differing = {first[1].detail: first[1].value, second[1].detail: second[1].value}
    for key in sorted(set(first[0].raw) & set(second[0].raw) - {"type", "rope_type"}):
        if first[0].raw[key] != second[0].raw[key]:
            differing |= {first[0].at(key): first[0].raw[key], second[0].at(key): second[0].raw[key]}
    if differing:
        section.note(
            "dialects-disagree",
            "warning",
            "rope_parameters and rope_scaling describe different scalings",
            differing,
            "keep one; transformers 5 takes rope_scaling and drops rope_parameters whole, this reader takes rope_parameters",
        )


Settings = dict[str, Value]
Made = tuple[Settings, Callable[[Settings], Scaling]]


def _known(settings: Settings) -> dict[str, Any]:
    return {name: value.value for name, value in settings.items() if value.known}


def _original(dictionary: Section, section: Section, claimed: Value) -> Value:
    """The context before scaling: in the dictionary, beside it, or else the claimed one, as transformers takes it."""
    inside = dictionary.integer("original_max_position_embeddings")
    if inside.known and dictionary.has("original_max_position_embeddings"):
        beside = section.integer("original_max_position_embeddings")
        if beside.source == "file" and beside.value != inside.value and dictionary is not section:
            section.note(
                "spellings-disagree",
                "warning",
                "two original contexts disagree",
                {inside.detail: inside.value, beside.detail: beside.value},
                "keep one; the one beside the scaling is taken here, Phi-3 takes the other",
            )
        return inside
    for key in ("original_max_position_embeddings", "initial_context_length", "original_context_length"):
        beside = section.integer(key)
        if beside.source == "file":
            return beside
    section.note(
        "original-context-missing",
        "warning",
        f"{dictionary.path} scales, but the context before scaling stands nowhere",
        {dictionary.path: dictionary.raw.get("rope_type", dictionary.raw.get("type")), **_evidence(claimed)},
        "add original_max_position_embeddings; readers otherwise take the claimed context, which shifts the whole ramp",
    )
    if claimed.known:
        return Value(
            claimed.value, "assumed", f"no original context in the file: {claimed.detail} taken, as {section.loader} does"
        )
    return unknown("no original context in the file")


def _evidence(value: Value) -> dict[str, Any]:
    return {value.detail: value.value} if value.source == "file" else {}


def _linear(dictionary: Section, section: Section, claimed: Value, mscale_on_scores: bool) -> Made:
    return {"factor": dictionary.number("factor", above=0)}, lambda settings: Linear(**_known(settings))


def _ntk(dictionary: Section, section: Section, claimed: Value, mscale_on_scores: bool) -> Made:
    return {"factor": dictionary.number("factor", "alpha", above=0)}, lambda settings: NTKAware(**_known(settings))


def _dynamic(dictionary: Section, section: Section, claimed: Value, mscale_on_scores: bool) -> Made:
    alpha = dictionary.number("alpha", above=0)
    if alpha.source == "file":  # Hunyuan: base * alpha^(d/(d-2)) at every length
        return {"factor": alpha}, lambda settings: NTKAware(**_known(settings))
    original = dictionary.integer("original_max_position_embeddings")
    if not original.known:
        reason = f"dynamic scaling starts at the claimed context: {claimed.detail}"
        original = Value(claimed.value, "derived", reason) if claimed.known else claimed
    return {"factor": dictionary.number("factor", above=0), "original_context": original}, lambda settings: DynamicNTK(
        **_known(settings)
    )


def _yarn(dictionary: Section, section: Section, claimed: Value, mscale_on_scores: bool) -> Made:
    original = _original(dictionary, section, claimed)
    factor = dictionary.number("factor", above=0)
    if not factor.known and not dictionary.has("factor") and original.known and claimed.known:
        factor = Value(
            claimed.value / original.value, "derived", f"claimed {claimed.value} / original {original.value}: no factor"
        )
    settings: Settings = {"factor": factor, "original_context": original}
    for name, least in (("beta_fast", 0.0), ("beta_slow", 0.0), ("mscale", 0.0), ("mscale_all_dim", 0.0)):
        value = dictionary.number(name, least=least)
        if value.known:
            settings[name] = value
    for name in ("attention_factor", "attn_factor"):
        value = dictionary.number(name, above=0)
        if value.known:
            settings["attention_factor"] = value
            break
    if dictionary.has("truncate"):
        settings["truncate"] = dictionary.flag("truncate")

    def make(settings: Settings) -> YaRN:
        known = _known(settings)
        for beta in ("beta_fast", "beta_slow"):
            if known.get(beta) == 0:  # transformers takes 0 for absent
                del known[beta]
        if not mscale_on_scores and "mscale_all_dim" in known:
            # outside DeepSeek's attention the magnitude is only on cos and sin, the scores stay
            ratio = YaRN(**known).cos_sin_factor if known.get("mscale") and known["mscale_all_dim"] else None
            known = {name: value for name, value in known.items() if name not in ("mscale", "mscale_all_dim")}
            if ratio is not None:
                known.setdefault("attention_factor", ratio)
        return YaRN(**known)

    return settings, make


def _longrope(dictionary: Section, section: Section, claimed: Value, mscale_on_scores: bool) -> Made:
    beside = section.integer("original_max_position_embeddings")
    original = beside if beside.source == "file" else _original(dictionary, section, claimed)
    settings: Settings = {
        "short_factor": dictionary.numbers("short_factor"),
        "long_factor": dictionary.numbers("long_factor"),
        "original_context": original,
        "claimed_context": claimed,
    }
    for name in ("factor", "attention_factor"):
        value = dictionary.number(name, above=0)
        if value.known:
            settings[name] = value

    def make(settings: Settings) -> LongRoPE:
        known = _known(settings)
        factor = known.pop("factor", None)
        start = known["original_context"]
        known.setdefault("claimed_context", start)
        if factor is not None and "attention_factor" not in known:  # a stated factor goes before the ratio of the contexts
            known["attention_factor"] = math.sqrt(1 + math.log(factor) / math.log(start)) if factor > 1 else 1.0
        known["claimed_context"] = max(known["claimed_context"], start)
        return LongRoPE(**known)

    return settings, make


def _llama3(dictionary: Section, section: Section, claimed: Value, mscale_on_scores: bool) -> Made:
    settings = {
        "factor": dictionary.number("factor", above=0),
        "low_freq_factor": dictionary.number("low_freq_factor", above=0),
        "high_freq_factor": dictionary.number("high_freq_factor", above=0),
        "original_context": _original(dictionary, section, claimed),
    }
    return settings, lambda settings: Llama3(**_known(settings))


def _proportional(dictionary: Section, section: Section, claimed: Value, mscale_on_scores: bool) -> Made:
    fraction = dictionary.number("partial_rotary_factor", above=0)
    if not fraction.known:
        fraction = Value(1.0, "assumed", "no partial_rotary_factor beside rope_type proportional: transformers takes 1")
    settings = {"fraction": fraction}
    factor = dictionary.number("factor", above=0)
    if factor.known:
        settings["factor"] = factor
    return settings, lambda settings: Proportional(**_known(settings))


READERS: dict[str, Callable[[Section, Section, Value, bool], Made]] = {
    "linear": _linear,
    "ntk": _ntk,
    "dynamic": _dynamic,
    "yarn": _yarn,
    "longrope": _longrope,
    "llama3": _llama3,
    "proportional": _proportional,
}
