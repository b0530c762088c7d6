"""Two inspections against each other: is position encoded in the same way, and could one model read the other's cache?

Used for a draft model against its target, for a config before and after an edit, and for a checkpoint against its conversion.
Frequencies are compared as numbers, at the lengths where scalings change: two spellings of one rule are no difference, and one
spelling that two readers take differently is.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from ordinate.inspection.records import Encoding, Inspection, LayerKind, Part, Rotation, Value, plain

__all__ = ["SCHEMA", "Agreement", "Change", "Difference", "agree", "difference"]

SCHEMA = "ordinate.difference/1"
"""Name and version of what `Difference.to_dict` tells."""

TOLERANCE = 1e-6
"""Relative; GGUF files keep bases and divisors in float32."""

Effect = Literal["positions", "cache", "context"]
Verdict = Literal["same", "different", "unknown"]
_DISTANCES = tuple(4**power for power in range(15))


@dataclass(frozen=True)
class Change:
    """One aspect that differs, or that one side does not know.

    Args:
        where: the part and the kind of layer.
        aspect: what differs: "base", "scaling", "layout", "window" ...
        a, b: what each side says, with its provenance; None where a side has no such thing.
        effects: what it touches: "positions" (the same tokens are told apart otherwise), "cache" (keys and values cannot be
            exchanged), "context" (only how far the model is said to reach).
        message: one sentence.
    """

    where: str
    aspect: str
    a: Value | None
    b: Value | None
    effects: tuple[Effect, ...]
    message: str

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types."""
        return {
            "where": self.where,
            "aspect": self.aspect,
            "a": None if self.a is None else self.a.to_dict(),
            "b": None if self.b is None else self.b.to_dict(),
            "effects": list(self.effects),
            "told": self.message,
        }


@dataclass(frozen=True)
class Agreement:
    """How well two rotations agree at one distance: the mean over pairs of cos(distance * difference of frequencies).

    1 means that both turn a key of that distance alike, 0 that they have nothing in common. A pair both leave out counts 1.
    """

    where: str
    distance: int
    cosine: float

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types."""
        return {"where": self.where, "distance": self.distance, "cosine": self.cosine}


@dataclass(frozen=True)
class Difference:
    """How two inspections differ.

    Args:
        a, b: the two names.
        changes: aspects that differ, part by part.
        positions: whether all layers encode positions alike; "unknown" where a side does not say.
        caches: whether keys and values of one model could be read by the other.
        reasons: why, for `caches`.
        agreement: for rotations that differ, how fast they part with distance.

    >>> from ordinate.inspection import inspect_config
    >>> slow, fast = (inspect_config({"model_type": "llama", "rope_theta": base}) for base in (1e4, 5e5))
    >>> difference(slow, fast).positions, difference(slow, slow).positions
    ('different', 'same')
    """

    a: str
    b: str
    changes: tuple[Change, ...]
    positions: Verdict
    caches: Verdict
    reasons: tuple[str, ...]
    agreement: tuple[Agreement, ...]

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types; `docs/inspect.md` describes it."""
        return {
            "schema": SCHEMA,
            "a": self.a,
            "b": self.b,
            "positions": self.positions,
            "caches": {"verdict": self.caches, "reasons": list(self.reasons)},
            "changes": [change.to_dict() for change in self.changes],
            "agreement": [agreement.to_dict() for agreement in self.agreement],
        }


def difference(a: Inspection, b: Inspection) -> Difference:
    """Compare what two files say about position, kind of layer by kind of layer.

    Args:
        a, b: inspections, of configs or of GGUF files; a draft and its target, say. Stacks of different depth are compared
            kind by kind, stacks of one depth layer by layer.

    >>> from ordinate.inspection import inspect_config
    >>> before = {"model_type": "llama", "hidden_size": 64, "num_attention_heads": 1, "num_hidden_layers": 2}
    >>> found = difference(inspect_config(before), inspect_config(before | {"rope_theta": 5e5}))
    >>> found.positions, [change.aspect for change in found.changes]
    ('different', ['base'])
    """
    changes: list[Change] = []
    agreement: list[Agreement] = []
    mains = (a.main, b.main)
    others = [(part, next((other for other in b.parts[1:] if other.name == part.name), None)) for part in a.parts[1:]] + [
        (None, part) for part in b.parts[1:] if all(part.name != other.name for other in a.parts[1:])
    ]
    for one, two in [mains, *others]:
        if one is None or two is None:
            present = one or two
            assert present is not None  # pairs have at least one side
            side = a.source if two is None else b.source
            message = f"only {side} has a part {present.name}"
            changes.append(Change(present.name, "part", _named(one), _named(two), ("positions",), message))
            continue
        changes.extend(_compare_parts(one, two, agreement))
    reordered = _reordered(a), _reordered(b)
    changes = [_forgive_layout(change, *reordered) for change in changes]
    caches, reasons = _compare_caches(a, b, changes)
    return Difference(a.source, b.source, tuple(changes), _verdict(changes, "positions"), caches, reasons, tuple(agreement))


def _named(part: Part | None) -> Value | None:
    return None if part is None else part.model_type


def _verdict(changes: list[Change], effect: Effect) -> Verdict:
    touching = [change for change in changes if effect in change.effects]
    if any(_both_known(change) for change in touching):
        return "different"
    return "unknown" if touching else "same"


def _both_known(change: Change) -> bool:
    return all(value is None or value.known for value in (change.a, change.b))


def _compare_parts(a: Part, b: Part, agreement: list[Agreement]) -> Iterator[Change]:
    if not a.layers or not b.layers:
        if a.layers != b.layers or a.model_type.value != b.model_type.value:
            message = "what at least one of the two does with positions is unknown"
            lacking = tuple(
                None if part.layers else Value(None, "unknown", "nothing is known of its layers") for part in (a, b)
            )
            yield Change(a.name, "layers", lacking[0], lacking[1], ("positions", "cache"), message)
        return
    for one, two in _matched(a, b):
        where = f"{a.name}, {one.name if one is not None else two.name if two is not None else ''}"
        if one is None or two is None:
            present = one or two
            kind = None if present is None else Value(present.kind, "derived", f"layers {_ranged(present.indices)}")
            message = "only one of the two has layers of this kind"
            yield Change(where, "kind of layer", kind if two is None else None, kind if one is None else None, _BOTH, message)
            continue
        yield from _compare_layers(where, one, two, (a, b), agreement)
    yield from _compare_values(f"{a.name}", "layers", a.num_layers, b.num_layers, ("cache",))
    if a.num_layers.value == b.num_layers.value:
        yield from _compare_values(f"{a.name}", "layers with a cache of their own", _caching(a), _caching(b), ("cache",))
    for aspect in ("trained", "claimed"):
        values = getattr(a.contexts, aspect), getattr(b.contexts, aspect)
        yield from _compare_values(a.name, f"{aspect} context", *values, ("context",))


def _caching(part: Part) -> Value:
    """How many layers keep keys and values: those that read an earlier layer's cache keep none."""
    groups = () if part.cache is None else part.cache.groups
    return Value(sum(group.layers for group in groups if group.width), "derived", "layers that keep keys and values")


_BOTH: tuple[Effect, ...] = ("positions", "cache")


def _matched(a: Part, b: Part) -> list[tuple[LayerKind | None, LayerKind | None]]:
    """Kinds of layer side by side: by index where the stacks have one depth, else by name, and else in order."""
    pairs: dict[tuple[int, int], None] = {}
    same_depth = a.num_layers.known and a.num_layers.value == b.num_layers.value
    if same_depth and all(layer.indices for layer in (*a.layers, *b.layers)):
        places_a, places_b = _places(a), _places(b)
        for index in sorted(set(places_a) | set(places_b)):
            pairs[places_a.get(index, -1), places_b.get(index, -1)] = None
    else:
        free = list(range(len(b.layers)))
        for i, layer in enumerate(a.layers):
            named = [j for j in free if b.layers[j].name == layer.name]
            j = named[0] if named else -1
            if named:
                free.remove(j)
            pairs[i, j] = None
        lonely = [pair for pair in pairs if pair[1] < 0]
        for pair in lonely[: len(free)]:  # a draft may call its one kind otherwise
            del pairs[pair]
            pairs[pair[0], free.pop(0)] = None
        pairs |= {(-1, j): None for j in free}
    return [(a.layers[i] if i >= 0 else None, b.layers[j] if j >= 0 else None) for i, j in pairs]


def _places(part: Part) -> dict[int, int]:
    return {index: place for place, layer in enumerate(part.layers) for index in layer.indices}


def _ranged(indices: tuple[int, ...]) -> str:
    return ", ".join(map(str, indices[:4])) + (", ..." if len(indices) > 4 else "")


def _compare_layers(
    where: str, a: LayerKind, b: LayerKind, parts: tuple[Part, Part], agreement: list[Agreement]
) -> Iterator[Change]:
    kinds = [[encoding.kind.value for encoding in layer.encodings] for layer in (a, b)]
    if kinds[0] != kinds[1]:
        values = [_joined(layer.encodings) for layer in (a, b)]
        yield Change(where, "encoding", values[0], values[1], _BOTH, _against("encoding", *values))
    for one, two in zip(a.encodings, b.encodings, strict=False):
        if one.kind.value != two.kind.value:
            continue
        if one.rotation is not None and two.rotation is not None:
            yield from _compare_rotations(where, one.rotation, two.rotation, parts, agreement)
        for name in sorted(set(one.settings) | set(two.settings)):
            yield from _compare_values(where, name, one.settings.get(name), two.settings.get(name), ("positions",))
    yield from _compare_values(where, "window", a.window_keys, b.window_keys, _BOTH)
    yield from _compare_values(where, "temperature", a.temperature, b.temperature, ("positions",))
    for aspect, name in (
        ("num_kv_heads", "key-value heads"),
        ("head_dim", "head width"),
        ("cached_width", "cached numbers"),
        ("state_bytes", "state bytes"),
    ):
        yield from _compare_values(where, name, getattr(a.attention, aspect), getattr(b.attention, aspect), ("cache",))


def _joined(encodings: tuple[Encoding, ...]) -> Value:
    if not encodings:
        return Value("none", "derived", "no encoding acts here")
    first = encodings[0].kind
    return Value(" + ".join(str(encoding.kind.value) for encoding in encodings), first.source, first.detail)


def _compare_rotations(
    where: str, a: Rotation, b: Rotation, parts: tuple[Part, Part], agreement: list[Agreement]
) -> Iterator[Change]:
    if a == b:  # also where both lack the same setting: one family's code fills it in the same way
        return
    yield from _compare_values(where, "layout", a.layout, b.layout, _BOTH)
    before = yield from _report(_compare_values(where, "rotated channels", a.rotary_dim, b.rotary_dim, _BOTH))
    before |= yield from _report(_compare_values(where, "base", a.base, b.base, _BOTH))
    for aspect in ("axes", "sharing", "reversed_channels"):
        message = [Value(plain(getattr(rotation, aspect)), "derived", "how positions are read") for rotation in (a, b)]
        yield from _compare_values(where, aspect.replace("_", " "), message[0], message[1], _BOTH)
    if a.sections is not None or b.sections is not None:
        yield from _compare_values(where, "sections", a.sections, b.sections, _BOTH)
    lengths = sorted({1, *(limit for part in parts for limit in _limits(part))})
    parted = next((length for length in lengths if not _same_frequencies(a, b, length)), None)
    if parted is not None:
        values = [_scaling(rotation) for rotation in (a, b)]
        known = a.inverse_frequencies(parted), b.inverse_frequencies(parted)
        if known[0] is None or known[1] is None:
            lacking = "the frequencies of at least one are unknown"
            values = [
                value if f is not None else Value(None, "unknown", value.detail) for value, f in zip(values, known, strict=True)
            ]
            yield Change(where, "frequencies", values[0], values[1], _BOTH, lacking)
        else:
            if not before or _settings_differ(a, b):
                parting = _against("scaling", *values) + f"; frequencies part from a row of {parted:,} tokens on"
                yield Change(where, "scaling", values[0], values[1], _BOTH, parting)
            agreement.extend(agree(where, known[0], known[1], max(lengths)))
    for aspect in ("cos_sin_factor", "softmax_factor"):
        factors = [getattr(rotation, aspect) for rotation in (a, b)]
        if None not in factors and not math.isclose(*factors, rel_tol=TOLERANCE):
            values = [
                Value(factor, "derived", f"of {rotation.rule.value}") for factor, rotation in zip(factors, (a, b), strict=True)
            ]
            yield Change(
                where, aspect.replace("_", " "), values[0], values[1], _BOTH, _against(aspect.replace("_", " "), *values)
            )


def _report(changes: Iterator[Change]) -> Any:
    """Pass changes on, and answer whether there were any."""
    changed = False
    for change in changes:
        changed = True
        yield change
    return changed


def _limits(part: Part) -> list[int]:
    """The lengths at which a scaling may change its mind: a token past the trained context, and the claimed one."""
    trained, claimed = part.contexts.trained.value, part.contexts.claimed.value
    return [length for length in (trained, trained and trained + 1, claimed) if isinstance(length, int) and length > 0]


def _same_frequencies(a: Rotation, b: Rotation, length: int) -> bool:
    one, two = a.inverse_frequencies(length), b.inverse_frequencies(length)
    if one is None or two is None or len(one) != len(two):
        return False
    return all(math.isclose(x, y, rel_tol=TOLERANCE) for x, y in zip(one, two, strict=True))


def _scaling(rotation: Rotation) -> Value:
    texts = rotation.rule.value if rotation.scaling is None else repr(rotation.scaling)
    texts = texts if texts is None or len(texts) <= 120 else f"{texts[:117]}..."
    return Value(texts, rotation.rule.source, rotation.rule.detail)


def _settings_differ(a: Rotation, b: Rotation) -> bool:
    return a.scaling != b.scaling or a.rule.value != b.rule.value


def agree(where: str, a: tuple[float, ...], b: tuple[float, ...], farthest: int) -> Iterator[Agreement]:
    """How well two frequency schedules agree at the powers of 4 up to `farthest` tokens of distance."""
    if len(a) != len(b):
        return
    for distance in _DISTANCES:
        if distance > farthest:
            return
        angles = [distance * (x - y) for x, y in zip(a, b, strict=True)]
        if not all(map(math.isfinite, angles)):
            return
        cosine = sum(map(math.cos, angles)) / len(a)
        yield Agreement(where, distance, cosine)


def _compare_values(where: str, aspect: str, a: Value | None, b: Value | None, effects: tuple[Effect, ...]) -> Iterator[Change]:
    if a is not None and b is not None and a.known == b.known and _equal(a.value, b.value):
        return
    yield Change(where, aspect, a, b, effects, _against(aspect, a, b))


def _equal(a: Any, b: Any) -> bool:
    if isinstance(a, int | float) and isinstance(b, int | float) and not isinstance(a, bool) and not isinstance(b, bool):
        return math.isclose(a, b, rel_tol=TOLERANCE)
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(_equal(x, y) for x, y in zip(a, b, strict=True))
    return bool(a == b)


def _against(aspect: str, a: Value | None, b: Value | None) -> str:
    texts = [
        "nothing of the kind"
        if value is None
        else "unknown"
        if not value.known
        else "none"
        if value.value is None
        else f"{value.value}"
        for value in (a, b)
    ]
    return f"{aspect}: {texts[0]} against {texts[1]}"


def _reordered(inspection: Inspection) -> bool:
    """Whether a converter reordered the rows of these weights, so that their layout is not the checkpoint's."""
    return any(finding.id == "layout-reordered" for finding in inspection.findings)


def _forgive_layout(change: Change, a: bool, b: bool) -> Change:
    if change.aspect != "layout" or a == b or not _both_known(change):
        return change
    message = f"{change.message}: the conversion reordered the rows along with it, so angles agree and only cached keys do not"
    return Change(change.where, change.aspect, change.a, change.b, ("cache",), message)


def _compare_caches(a: Inspection, b: Inspection, changes: list[Change]) -> tuple[Verdict, tuple[str, ...]]:
    """Whether keys and values that one model wrote mean the same to the other, weights granted."""
    if a.cache is None or b.cache is None:
        keepers = [inspection.source for inspection in (a, b) if inspection.cache is not None]
        return "different", (f"only {keepers[0]} keeps a cache" if keepers else "neither keeps a cache",)
    main = a.main.name
    touching = [change for change in changes if "cache" in change.effects and change.where.split(",")[0] in (main, b.main.name)]
    reasons = [f"{change.where}: {change.message}" for change in touching]
    for inspection in (a, b):
        for layer in inspection.layers:
            rotation = layer.rotation
            if rotation is not None and rotation.depends_on_length:
                start = getattr(rotation.scaling, "original_context", None)
                reasons.append(
                    f"{inspection.source}, {layer.name}: {rotation.rule.value} changes frequencies with the row's length: keys"
                    f" cached before token {start} cannot be used after it, even by the same model"
                )
    verdict = _verdict(changes, "cache") if touching else "same"
    if not touching:
        reasons.insert(0, "heads, widths, rotations and windows agree; the weights of keys and values have to be the same too")
    return verdict, tuple(reasons)
