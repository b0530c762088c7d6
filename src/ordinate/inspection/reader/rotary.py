"""From a file to a rotation: which channels turn, in which layout, from which base, under which scaling.

A family's row gives a `RotaryRule`: what its code fixes (the layout above all, which no config states) and under which keys
its file keeps the rest. Base and partial factor are looked for where the newest dialect puts them first.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ordinate.errors import ArgumentError, OrdinateError
from ordinate.frequencies import LongRoPE, inverse_frequencies
from ordinate.inspection.reader.row_types import LayerGroup, Reader
from ordinate.inspection.reader.scaling import ScalingRead, dialects, read_scaling
from ordinate.inspection.reader.section import TOKENS_LIMIT, Section
from ordinate.inspection.records import Encoding, Rotation, Value, unknown
from ordinate.spec import PositionSpec

__all__ = ["NO_ROTATION", "RotaryRule", "rope", "rope_by_axes", "rotation_spec"]

FULL, SLIDING = "full_attention", "sliding_attention"
SHARE_LIMIT = 16
"""No share of a head above 1 makes sense; the few above it in use come from code that divides first."""

SECTION_AXES = {3: ("time", "height", "width"), 4: ("order", "width", "height", "time"), 2: ("height", "width")}


@dataclass(frozen=True)
class RotaryRule:
    """What a family's code fixes about its rotation, and where its file keeps the rest.

    Args:
        layout: "half" or "interleaved"; None where the code has not been read.
        layout_key: a flag of the file that means "interleaved", on where absent.
        partial, count: keys of the share of channels that turn, and of their number.
        local_count: keys of that number in layers with a window.
        slice_key: a key of the number of channels kept apart for turning (latent attention).
        share: the share that turns, where the code fixes it.
        base: keys of the base.
        local_base, global_base: keys of the base of windowed layers, and of the others.
        base_times: a key of a number that multiplies the base.
        fixed_base: the base where the code fixes it.
        scales: the kinds of layer that the file's scaling reaches; empty means all.
        axes, sharing: for positions of several axes, see `Rotation`.
        sections, arrangement: whether the scaling's dictionary may split the frequencies into axes, and how: "sections",
            "interleaved", or "alternating" (ERNIE: height and width in turn, then time).
        turns: frequencies in turns instead of radians, on coordinates from -1 to 1 (DINOv3).
        last: whether the last channels turn instead of the first.
        mscale_on_scores: whether the family's attention multiplies scores by YaRN's magnitude squared.
        label: what the file's dictionaries call a kind of layer.
        scaling: reads the scaling where the family has its own way.
        turns_back: whether the code turns by minus the angle.
    """

    layout: str | None = "half"
    layout_key: str = ""
    partial: tuple[str, ...] = ("partial_rotary_factor", "rotary_pct", "rope_pct", "rotary_fraction", "rotary_emb_fraction")
    count: tuple[str, ...] = ("rotary_dim",)
    local_count: tuple[str, ...] = ()
    slice_key: str = ""
    share: float = 1.0
    base: tuple[str, ...] = (
        "rope_theta",
        "rotary_emb_base",
        "rotary_base",
        "rope_base",
        "rotary_embedding_base",
        "rope_freq_constant",
        "attn_config.rope_theta",
    )
    local_base: tuple[str, ...] = ()
    global_base: tuple[str, ...] = ()
    base_times: str = ""
    fixed_base: float | None = None
    scales: tuple[str, ...] = ()
    axes: tuple[str, ...] = ("tokens",)
    sharing: str = ""
    sections: bool = True
    arrangement: str = "sections"
    turns: bool = False
    last: bool = False
    mscale_on_scores: bool = False
    label: Callable[[str], str] = lambda kind: kind.removesuffix("/nope")
    scaling: Callable[[LayerGroup], ScalingRead] | None = None
    turns_back: bool = False


NO_ROTATION = Encoding(Value("none", "family", "no encoding acts on these layers"), "nowhere", spec=PositionSpec("none"))


def rope(rule: RotaryRule, *, rotates: Callable[[LayerGroup], Value] | None = None) -> Reader:
    """A reader of rotary encodings.

    Args:
        rule: what the family fixes.
        rotates: whether this kind of layer turns at all: a Value of True or False with its provenance.
    """

    def read(group: LayerGroup) -> Encoding | None:
        turns = rotates(group) if rotates is not None else Value(True, "family", group.origin)
        if turns.value is False:
            kind = Value("none", turns.source, turns.detail)
            return Encoding(kind, "nowhere", spec=PositionSpec("none"), note="no position encoding in these layers (NoPE)")
        return _rotary(group, rule)

    return read


def rope_by_axes(
    layout: str,
    axes: tuple[str, ...],
    *,
    sizes: tuple[str, ...] = (),
    split: Callable[[int], tuple[int, ...]] | None = None,
    base: tuple[str, ...] = ("rope_theta",),
    fixed_base: float | None = None,
) -> Reader:
    """A reader of rotations by several axes, each with a schedule over a share of the head of its own.

    Args:
        layout: "half" or "interleaved", over all that turns.
        axes: what positions count.
        sizes: keys of the channels of each axis.
        split: the channels of each axis by the width of a head, where no key states them.
        base: keys of the base.
        fixed_base: the base where the code fixes it.
    """

    def read(group: LayerGroup) -> Encoding:
        section, head_dim = group.section, group.attention.head_dim
        dims, names = _sizes_of_axes(group, sizes, split), axes
        theta = section.number(*base, above=1)
        if fixed_base is not None:
            theta = Value(fixed_base, "family", f"fixed in the code of {group.origin}")
        if dims.known and len(dims.value) != len(axes):
            names = IMAGES_AND_MORE.get(len(dims.value), tuple(f"axis {index}" for index in range(len(dims.value))))
        pairs = rotary_dim = dims
        if dims.known:
            pairs = Value([dim // 2 for dim in dims.value], "derived", f"half of {dims.detail}")
            rotary_dim = Value(sum(dims.value), "derived", f"the sum of {dims.detail} {list(dims.value)}")
        none = Value("none", "family", group.origin)
        made = Value(layout, "family", group.origin)
        rotation = Rotation(made, head_dim, rotary_dim, theta, none, axes=names, sharing="ladder each", sections=pairs)
        _check(group, rotation)
        kind = Value(f"rope{len(names)}d", "family", group.origin)
        return Encoding(kind, "queries and keys", rotation, spec=_spec_by_axes(rotation))

    return read


AXIS_LIMIT = 2**12
"""No axis of a real model has as many channels."""
IMAGES_AND_MORE = {2: ("height", "width"), 3: ("time", "height", "width")}


def _sizes_of_axes(group: LayerGroup, keys: tuple[str, ...], split: Callable[[int], tuple[int, ...]] | None) -> Value:
    head_dim = group.attention.head_dim
    if split is not None:
        if not head_dim.known:
            return unknown("the width of a head is unknown")
        return Value(list(split(head_dim.value)), "derived", f"shares of a head of {head_dim.value} channels")
    dims = group.section.numbers(*keys)
    if not dims.known:
        return dims
    if not dims.value or len(dims.value) > 8 or any(not 2 <= dim <= AXIS_LIMIT or dim % 2 for dim in dims.value):
        group.section.note(
            "out-of-range",
            "error",
            f"{dims.detail} should list an even number of channels for each axis",
            {dims.detail: str(dims.value)[:80]},
            "correct the file; what depends on it is unknown here",
        )
        return unknown(f"{dims.detail} holds no usable value")
    return Value([int(dim) for dim in dims.value], dims.source, dims.detail)


def _spec_by_axes(rotation: Rotation) -> PositionSpec | None:
    """For the catalogue, whose rotations by axes have two or three of them and take sections as pairs."""
    if rotation.inverse_frequencies() is None or rotation.sections is None or len(rotation.axes) not in (2, 3):
        return None
    if not rotation.head_dim.known or rotation.head_dim.value < rotation.rotary_dim.value or rotation.head_dim.value % 2:
        return None
    settings = {"head_dim": rotation.head_dim.value, "layout": rotation.layout.value, "base": float(rotation.base.value)}
    return PositionSpec("axial-rotary", {**settings, "axes": len(rotation.axes), "sections": list(rotation.sections.value)})


def _rotary(group: LayerGroup, rule: RotaryRule) -> Encoding:
    dictionaries = dialects(group.section, rule.label(group.kind))
    head_dim = group.attention.head_dim
    scaling = _scaling(group, rule)
    layout = _layout(group, rule)
    base = _base(group, rule, dictionaries)
    rotary_dim = rotated_channels(group, rule, dictionaries, scaling)
    axes, sharing, sections = rule.axes, rule.sharing, None
    if rule.sections:
        split = _sections(group, rule, dictionaries)
        if split is not None:
            axes, sharing, sections = split
    rotation = Rotation(
        layout,
        head_dim,
        rotary_dim,
        base,
        scaling.rule,
        scaling.settings,
        scaling.record,
        axes,
        sharing,
        sections,
        rule.last,
    )
    _check(group, rotation)
    name = "rope" if len(axes) == 1 else "mrope" if sections is not None else "rope2d" if len(axes) == 2 else "rope3d"
    kind = Value(name, "family" if sections is None else "file", group.origin if sections is None else sections.detail)
    note = "turns by minus the angle: a checkpoint is not interchangeable with the usual direction" if rule.turns_back else ""
    if rule.turns:
        note = "angles are 2 pi times frequency times a coordinate from -1 to 1"
    return Encoding(kind, "queries and keys", rotation, spec=rotation_spec(rotation, rule), note=note)


def _layout(group: LayerGroup, rule: RotaryRule) -> Value:
    if rule.layout_key:
        flag = group.section.flag(rule.layout_key)
        if flag.source == "file":
            return Value("interleaved" if flag.value else "half", "file", flag.detail)
        return Value("interleaved", "family", f"{rule.layout_key} is on by default: {group.origin}")
    if rule.layout is None:
        return unknown(f"the code of {group.origin} has not been read; no config states a layout")
    return Value(rule.layout, "family", group.origin)


def _scaling(group: LayerGroup, rule: RotaryRule) -> ScalingRead:
    if rule.scaling is not None:
        return rule.scaling(group)
    if rule.scales and group.kind not in rule.scales and not _nested(group.section, rule.label(group.kind)):
        reached = " and ".join(kind.replace("_", " ") for kind in rule.scales)
        return ScalingRead(Value("none", "family", f"{group.origin} scales only {reached}"))
    return read_scaling(
        group.section,
        rule.label(group.kind),
        claimed=group.claimed,
        trained=group.trained,
        mscale_on_scores=rule.mscale_on_scores,
    )


def _nested(section: Section, kind: str) -> bool:
    """Whether the file keeps one dictionary for each kind of layer, this one among them."""
    return any(dictionaries.path.endswith(f".{kind}") for dictionaries in dialects(section, kind))


def _base(group: LayerGroup, rule: RotaryRule, dictionaries: list[Section]) -> Value:
    """The base of this kind of layer: the newest dialect first, then the family's keys, then its default."""
    section = group.section
    if rule.fixed_base is not None:
        return Value(rule.fixed_base, "family", f"fixed in the code of {group.origin}")
    own = rule.local_base if group.kind == SLIDING else rule.global_base
    local = group.kind == SLIDING and bool(rule.local_base)  # then the keys of the other layers do not reach these
    label = rule.label(group.kind)
    places = [place for place in dictionaries if place.has("rope_theta") and (not local or place.path.endswith(f".{label}"))]
    candidates = [place.number("rope_theta", above=1) for place in places]
    keys = own if local else own + rule.base
    ignored: dict[str, Any] = {}
    listed = section.find("layer_rope_theta") or section.find("rope_theta")
    if listed is not None and isinstance(listed[1], list):
        candidates.append(_of_layers(group, listed[0], listed[1]))
        keys = tuple(key for key in keys if key != "rope_theta")
    for key in keys:
        if section.has(key) and not (key in own or section.reads(key)):
            ignored[section.at(key)] = section.number(key).value
        elif section.has(key):
            candidates.append(section.number(key, above=1))
            if key in own:
                break
    if candidates:
        _compare_bases(group, candidates, bool(own))
    base = candidates[0] if candidates else _default_base(group, rule.label(group.kind), own)
    section.note_ignored(ignored, base.value)
    return _times(group, rule, base)


def _default_base(group: LayerGroup, label: str, own: tuple[str, ...]) -> Value:
    parameters = group.section.defaults.get("rope_parameters")
    origin = f"default of {group.origin}"
    if isinstance(parameters, Mapping):
        nested = parameters.get(label)
        theta = nested.get("rope_theta") if isinstance(nested, Mapping) else parameters.get("rope_theta")
        if theta is not None:
            return Value(float(theta), "family", origin)
    for key in (*own, "rope_theta"):
        theta = group.section.defaults.get(key)
        if isinstance(theta, int | float):
            return Value(float(theta), "family", origin)
    return unknown(group.section.defaults.get("rope_theta_unknown") or "no base in the file, and this family has no default")


def _of_layers(group: LayerGroup, key: str, bases: list[Any]) -> Value:
    """The base of these layers, from a list with one base a layer."""
    path = group.section.at(key)
    own = [bases[index] for index in group.indices if index < len(bases)]
    if not own or any(isinstance(base, bool) or not isinstance(base, int | float) or not 1 < base < 1e30 for base in own):
        return unknown(f"{path} gives these layers no usable base")
    if len(set(own)) > 1:
        return unknown(f"{path} gives layers of one kind different bases")
    return Value(own[0], "file", path)


def _times(group: LayerGroup, rule: RotaryRule, base: Value) -> Value:
    if not rule.base_times or not base.known:
        return base
    ratio = group.section.number(rule.base_times, above=0)
    if ratio.source != "file":
        return base
    return Value(base.value * ratio.value, "derived", f"{base.value:g} ({base.detail}) x {ratio.value:g} ({ratio.detail})")


def _compare_bases(group: LayerGroup, candidates: list[Value], per_kind: bool) -> None:
    known = [value for value in candidates if value.source == "file"]
    if per_kind or len({float(value.value) for value in known}) < 2:
        return
    group.section.note(
        "spellings-disagree",
        "warning",
        "the base stands in the file more than once, with different values",
        {value.detail: value.value for value in known},
        f"keep one; {known[0].detail} is taken here",
    )


def rotated_channels(group: LayerGroup, rule: RotaryRule, dictionaries: list[Section], scaling: ScalingRead) -> Value:
    """The number of channels that turn: a count, a share of the head, a slice kept apart, or the whole head.

    Args:
        group: what is known of these layers.
        rule: the family's, with the keys it keeps the number under.
        dictionaries: those of the file that speak about rotation, the newest dialect first.
        scaling: a proportional one spans the whole head, and lets the rest of it stand still.
    """
    section, head_dim = group.section, group.attention.head_dim
    if rule.slice_key:
        return _even(section, section.width(rule.slice_key))
    if not head_dim.known:
        return unknown("the width of a head is unknown")
    # transformers' functions for scaled frequencies read the share themselves, whatever the family
    scaled = scaling.rule.value != "none" and section.loader == "transformers"
    windowed = group.kind.startswith("sliding")
    counts: list[Value] = []
    shares: list[Value] = []
    ignored: list[Value] = []
    for key in (*rule.local_count, *rule.count) if windowed else rule.count:
        if section.has(key):
            (counts if section.reads(key) else ignored).append(section.width(key))
    for place, key in [(place, "partial_rotary_factor") for place in dictionaries] + [(section, key) for key in rule.partial]:
        if place.has(key):
            taken = section.reads(key) or (scaled and key == "partial_rotary_factor")
            (shares if taken else ignored).append(place.number(key, above=0, most=SHARE_LIMIT))
    result = _rotated(group, rule, scaling, [v for v in shares if v.known], [v for v in counts[:1] if v.known])
    if result.known:
        meant = {value.detail: _meant(value, head_dim.value) for value in ignored if value.known}
        section.note_ignored(meant, result.value)
    return result


def _meant(value: Value, head_dim: int) -> int:
    """Channels that a share or a count means."""
    return value.value if isinstance(value.value, int) and value.value > 1 else int(head_dim * value.value)


def _rotated(group: LayerGroup, rule: RotaryRule, scaling: ScalingRead, shares: list[Value], counts: list[Value]) -> Value:
    section, head_dim = group.section, group.attention.head_dim
    if scaling.rule.value == "proportional":
        return Value(
            head_dim.value, "derived", "proportional: the frequencies span the whole head, the rest of it stands still"
        )
    if shares:
        dims = {value.detail: int(head_dim.value * value.value) for value in shares}
        dims |= {value.detail: value.value for value in counts}
        if len(set(dims.values())) > 1:
            section.note(
                "spellings-disagree",
                "warning",
                "the file states more than one number of rotated channels",
                {value.detail: value.value for value in [*shares, *counts]},
                f"keep one; {shares[0].detail} is taken here",
            )
        share = shares[0]
        formula = f"{head_dim.value} head channels x {share.value:g} ({share.detail})"
        return _even(section, Value(int(head_dim.value * share.value), "derived", formula))
    if counts:
        return _even(section, counts[0])
    default = _default_share(group, rule)
    if default.value == 1:
        return _even(section, Value(head_dim.value, "derived", "the whole head turns"))
    formula = f"{head_dim.value} head channels x {default.value:g} ({default.detail})"
    return _even(section, Value(int(head_dim.value * default.value), "derived", formula))


def _default_share(group: LayerGroup, rule: RotaryRule) -> Value:
    count = next((group.section.defaults[key] for key in rule.count if key in group.section.defaults), None)
    if count:
        return Value(count / group.attention.head_dim.value, "family", f"default of {group.origin}")
    parameters = group.section.defaults.get("rope_parameters")
    if isinstance(parameters, Mapping):
        nested = parameters.get(rule.label(group.kind))
        where = nested if isinstance(nested, Mapping) else parameters
        share = where.get("partial_rotary_factor")
        if isinstance(share, int | float):
            return Value(float(share), "family", f"default of {group.origin}")
    return Value(rule.share, "family", group.origin)


def _even(section: Section, dim: Value) -> Value:
    if not dim.known or (dim.value % 2 == 0 and dim.value > 0):
        return dim
    section.note(
        "rotated-channels-odd",
        "error",
        f"{dim.value} rotated channels: a rotation turns pairs",
        {dim.detail: dim.value},
        "state an even number of rotated channels",
    )
    return unknown(f"{dim.value} channels ({dim.detail}) do not make pairs")


def _sections(group: LayerGroup, rule: RotaryRule, dictionaries: list[Section]) -> tuple[tuple[str, ...], str, Value] | None:
    """How the file splits the frequency schedule over axes, if it does."""
    for place in (*dictionaries, group.section):
        for key in ("mrope_section", "xdrope_section"):
            if not place.has(key):
                continue
            sections = place.numbers(key)
            if not sections.known or any(size < 1 or size != int(size) for size in sections.value):
                return None
            whole = Value([int(size) for size in sections.value], "file", sections.detail)
            axes = SECTION_AXES.get(len(whole.value))
            if axes is None:
                return None
            flag = place.flag("mrope_interleaved")
            if rule.arrangement == "alternating":
                return ("height", "width", "time"), "alternating", whole
            if flag.source == "file":
                return axes, "interleaved" if flag.value else "sections", whole
            return axes, rule.arrangement, whole
    return None


def _check(group: LayerGroup, rotation: Rotation) -> None:
    """Note settings that cannot be computed together, which only the whole rotation shows."""
    section = group.section
    if rotation.rotary_dim.known and rotation.head_dim.known and rotation.rotary_dim.value > rotation.head_dim.value:
        section.note(
            "rotated-channels-exceed-head",
            "error",
            f"{rotation.rotary_dim.value} channels turn, but a head has {rotation.head_dim.value}",
            {rotation.rotary_dim.detail: rotation.rotary_dim.value, rotation.head_dim.detail: rotation.head_dim.value},
            "correct the share or the head",
        )
    if (
        rotation.sections is not None
        and rotation.sections.known
        and rotation.rotary_dim.known
        and sum(rotation.sections.value) * 2 != rotation.rotary_dim.value
    ):
        section.note(
            "sections-do-not-add-up",
            "warning",
            f"the sections hold {sum(rotation.sections.value)} pairs, but {rotation.rotary_dim.value // 2} turn",
            {rotation.sections.detail: rotation.sections.value},
            "sections count pairs and add up to half the rotated channels",
        )
    if not (rotation.base.known and rotation.schedule_dim and rotation.scaling is not None):
        return
    try:
        for length in (None, TOKENS_LIMIT):  # past every switch of the scalings that depend on it
            frequencies = inverse_frequencies(rotation.schedule_dim, rotation.base.value, rotation.scaling, length)
            if not all(map(math.isfinite, frequencies)):
                raise ArgumentError(
                    "scaling", expected="finite frequencies", got="an infinite one", hint="look for a divisor near zero"
                )
    except (OrdinateError, ArithmeticError, ValueError) as error:
        listed = isinstance(rotation.scaling, LongRoPE)
        section.note(
            "scaling-length-mismatch" if listed else "scaling-unusable",
            "error",
            f"the scaling does not fit the rotation: {error}",
            {rotation.rotary_dim.detail: rotation.rotary_dim.value},
            "one divisor for each rotated pair" if listed else "correct the setting",
        )


def rotation_spec(rotation: Rotation, rule: RotaryRule) -> PositionSpec | None:
    """What `ordinate.position.build` takes: only where everything is known and the catalogue has the encoding."""
    layout, base, rotary_dim = rotation.layout, rotation.base, rotation.rotary_dim
    if rotation.inverse_frequencies() is None or not layout.known or rule.turns_back:
        return None
    settings: dict[str, Any] = {"layout": layout.value, "base": float(base.value)}
    sliced = bool(rule.slice_key) or rule.last
    if not sliced and not rotation.head_dim.known:
        return None
    settings["head_dim"] = rotary_dim.value if sliced else rotation.head_dim.value
    if settings["head_dim"] < rotary_dim.value:
        return None
    if settings["head_dim"] != rotary_dim.value:
        settings["rotary_dim"] = rotary_dim.value
    if rotation.sections is not None:
        if rotation.depends_on_length or len(rotation.axes) != 3:
            return None
        sizes = list(rotation.sections.value)
        height_first = rotation.sharing == "alternating"
        settings["sections"] = [sizes[2], sizes[0], sizes[1]] if height_first else sizes
        settings["arrangement"] = ARRANGEMENTS[rotation.sharing]
        fits = sum(sizes) * 2 == rotary_dim.value
        return PositionSpec("multimodal-rotary", settings, rotation.scaling) if fits else None
    if len(rotation.axes) > 1:
        if rule.turns or rotation.scaling is not None or rotary_dim.value != rotation.head_dim.value:
            return None
        settings.pop("rotary_dim", None)
        sharing = {"ladder each": "own", "alternating": "dealt"}.get(rotation.sharing)
        if sharing is None or (rotary_dim.value // 2) % len(rotation.axes) or len(rotation.axes) not in (2, 3):
            return None
        return PositionSpec("axial-rotary", {**settings, "axes": len(rotation.axes), "schedule": sharing})
    return PositionSpec("rotary", settings, rotation.scaling)


ARRANGEMENTS = {"sections": "contiguous", "interleaved": "interleaved", "alternating": "alternating"}
"""How `ordinate.position.MultimodalRotary` calls them."""
