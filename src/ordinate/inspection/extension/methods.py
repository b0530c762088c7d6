"""Which ways of stretching a model's positions to more tokens suit it, and why.

Sources: Chen et al. 2023, arXiv 2306.15595 (interpolation); bloc97 2023 and emozilla 2023 (NTK-aware, dynamic NTK); Peng et al.
2023, arXiv 2309.00071 (YaRN); Ding et al. 2024, arXiv 2402.13753 (LongRoPE); Rozière et al. 2023, arXiv 2308.12950 (a larger
base); Press et al. 2021, arXiv 2108.12409 (ALiBi); Kazemnejad et al. 2023, arXiv 2305.19466 (NoPE); Gelberg et al. 2025,
arXiv 2512.12167 (DroPE).
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from ordinate.errors import OrdinateError
from ordinate.frequencies import DynamicNTK, Linear, Llama3, Scaling, YaRN
from ordinate.inspection.records import LayerKind, Part, Rotation

__all__ = ["METHODS", "TUNING", "Assessment", "Method", "Option", "assess", "far_layers", "shown_base"]

Method = Literal["linear", "ntk", "dynamic", "yarn", "longrope", "drop"]
METHODS: tuple[Method, ...] = ("yarn", "linear", "ntk", "dynamic", "longrope", "drop")

TUNING: dict[Method, str] = {
    "yarn": "works untuned for small factors; published models tune 400 steps on long texts (Peng et al. 2023, arXiv"
    " 2309.00071, section 4.1)",
    "linear": "needs tuning: about 1,000 steps on long texts (Chen et al. 2023, arXiv 2306.15595, section 3); untuned it loses"
    " quality at once, on short texts too",
    "ntk": "usable untuned up to about twice the context (bloc97 2023); models built on a larger base are tuned on long texts"
    " (Rozière et al. 2023, arXiv 2308.12950, section 2.4)",
    "dynamic": "none, and texts inside the trained context are untouched; quality falls off gently past it (emozilla 2023; Peng"
    " et al. 2023, arXiv 2309.00071, section 3.3)",
    "longrope": "a search for one divisor a pair and then tuning on long texts (Ding et al. 2024, arXiv 2402.13753, section 4)",
    "drop": "always: training goes on without rotations, at the trained length, before the model is of any use (Gelberg et al."
    " 2025, arXiv 2512.12167)",
}

MEASURED: dict[Method, tuple[float, str]] = {
    "yarn": (32, "4,096 to 131,072 tokens, Peng et al. 2023, arXiv 2309.00071"),
    "linear": (16, "2,048 to 32,768 tokens, Chen et al. 2023, arXiv 2306.15595, abstract"),
    "ntk": (24, "4,096 to 100,000 tokens with a base of 1,000,000, Rozière et al. 2023, arXiv 2308.12950 (from memory)"),
    "dynamic": (8, "2,048 to 16,384 tokens, emozilla 2023 (from memory)"),
    "longrope": (512, "4,096 to 2,097,152 tokens, Ding et al. 2024, arXiv 2402.13753, abstract"),
    "drop": (8, "needles found at 8 times the trained length, reported of Gelberg et al. 2025, arXiv 2512.12167 (from memory)"),
}
"""The largest stretch that was published for each method, tuned where the method needs it, and where it was measured.

Those of YaRN, interpolation and LongRoPE were looked up in the papers' abstracts; "(from memory)" marks the others."""

MOST_TOKENS = 10**15
"""A reach that no file can mean more than."""

_UNSCALABLE = {
    "alibi": "ALiBi lowers scores by distance and has nothing to scale; it runs at any length, though nothing promises that"
    " far tokens still weigh (Press et al. 2021, arXiv 2108.12409)",
    "t5-bucket": "relative buckets have nothing to scale: all distances past the last bucket share it, so it runs at any length"
    " and cannot tell far tokens apart",
    "none": "these layers have no encoding, so there is nothing to scale; how far they hold was only trained (Kazemnejad et al."
    " 2023, arXiv 2305.19466)",
    "sinusoidal": "the sinusoids can be computed for any position, but those past the trained context were never seen, and no"
    " setting scales them",
}


@dataclass(frozen=True)
class Option:
    """One way of stretching, judged.

    Args:
        method: its name.
        suits: "yes", "possible" (with what `why` says), or "no".
        why: the reason.
        scaling: the record that the layers without a window would get; None where only the base changes.
        base: the base they would get; None to keep it.
        kept: parameters of the present scaling that the file states and that stay, by the reader's names.
    """

    method: Method
    suits: Literal["yes", "possible", "no"]
    why: str
    scaling: Scaling | None = None
    base: float | None = None
    kept: Mapping[str, Any] = field(default_factory=dict)

    @property
    def tuning(self) -> str:
        """What fine-tuning the method usually needs."""
        return TUNING[self.method]


@dataclass(frozen=True)
class Assessment:
    """What a number of tokens asks of a model.

    Args:
        need: "nothing" (it reaches that far), "unscalable" (it runs, and nothing in it can be scaled), "length" (only the
            stated context has to grow), "scaling" (rotations have to be stretched), "impossible".
        why: the reason.
        options: for "scaling": the methods, best first.
    """

    need: Literal["nothing", "unscalable", "length", "scaling", "impossible"]
    why: str
    options: tuple[Option, ...] = ()


def assess(part: Part, length: int, trained: int | None = None) -> Assessment:
    """Judge what running `part` at `length` tokens asks.

    Args:
        part: the stack that reads tokens.
        length: tokens.
        trained: the trained context, where the file's is known to be wrong; by default the inspection's.
    """
    if not part.layers:
        return Assessment("impossible", "how this model encodes position is unknown")
    attending = [layer for layer in part.layers if layer.encodings]
    kinds = {encoding.kind.value for layer in attending for encoding in layer.encodings}
    if None in kinds:
        return Assessment("impossible", "how at least some of its layers encode position is unknown")
    rows = _rows(attending)
    if rows is not None:
        if length <= rows:
            return Assessment("nothing", f"the table has {rows:,} rows, as many positions as that")
        return Assessment(
            "impossible",
            f"positions are {rows:,} learned rows: there is no row for token {length:,}, and no setting makes one; the table"
            " has to be enlarged and trained",
        )
    turning = [layer for layer in attending if layer.rotation is not None]
    if not turning:
        return _without_rotation(kinds)
    far = far_layers(part)
    if not far:
        windows = sorted({layer.window_keys.value for layer in turning})
        return Assessment(
            "nothing" if _claims(part, length) else "length",
            f"every layer that rotates sees {' or '.join(f'{window:,}' for window in windows)} keys at most, so no rotation"
            " ever meets a longer distance: scaling would only hurt, and what lies further back comes through other layers",
        )
    return _with_rotation(part, far[0], length, trained)


def far_layers(part: Part) -> list[LayerKind]:
    """Kinds of layer that rotate and meet longer distances as the text grows: no window, or one past the trained context."""
    reach = part.contexts.trained.value or part.contexts.claimed.value or 0
    return [
        layer
        for layer in part.layers
        if layer.rotation is not None and (layer.window_keys.value is None or layer.window_keys.value > reach)
    ]


def _rows(layers: list[LayerKind]) -> int | None:
    """Positions of the smallest learned table that tokens look up."""
    tables = [encoding.settings for layer in layers for encoding in layer.encodings if encoding.kind.value == "learned"]
    usable = [settings.get("positions") or settings.get("rows") for settings in tables]
    return min((value.value for value in usable if value is not None and value.known), default=None)


def _without_rotation(kinds: set[str]) -> Assessment:
    if not kinds:
        return Assessment("unscalable", "no layer attends: a recurrence reads the order itself, at any length")
    reasons = [_UNSCALABLE[kind] for kind in sorted(kinds) if kind in _UNSCALABLE]
    if reasons and len(reasons) == len(kinds):
        return Assessment("unscalable", "; ".join(reasons))
    other = ", ".join(sorted(kinds - set(_UNSCALABLE)))
    return Assessment("impossible", f"nothing rotates here ({other}): none of the methods applies")


def _claims(part: Part, length: int) -> bool:
    claimed = part.contexts.claimed
    return claimed.known and claimed.value is not None and length <= claimed.value


def _with_rotation(part: Part, layer: LayerKind, length: int, trained: int | None) -> Assessment:
    rotation = layer.rotation
    assert rotation is not None  # the caller chose layers that turn
    if trained is None and _claims(part, length) and not _promises_more(rotation, length):
        return Assessment("nothing", f"the file claims {part.contexts.claimed.value:,} tokens already")
    if rotation.scaling is None and rotation.rule.value != "none":
        return Assessment("impossible", f"its present scaling is unknown: {rotation.rule.detail}")
    if not (rotation.base.known and rotation.rotary_dim.known):
        return Assessment("impossible", "its base or the number of rotated channels is unknown")
    unclear = _two_readings(rotation, part) if trained is None else ""
    if unclear:
        return Assessment("impossible", unclear)
    present = part.contexts.claimed.value
    start = trained or part.contexts.trained.value or (present if isinstance(rotation.scaling, Linear | Llama3) else None)
    if not start:
        return Assessment("impossible", "the trained context is unknown: state it with --trained")
    if length <= start:
        return Assessment("nothing", f"it was trained at {start:,} tokens")
    if rotation.rule.value in ("dynamic", "stepped-ntk"):
        return Assessment(
            "nothing",
            "its dynamic scaling follows the row's length by itself; leave the stated context, which is where it starts",
        )
    reach = trained or present or start
    if isinstance(rotation.scaling, YaRN):
        if trained is not None and rotation.settings["original_context"].source != "file":
            return _with_stated_original(rotation, rotation.scaling, trained, length)
        reach = max(1, int(min(rotation.scaling.factor * rotation.scaling.original_context, MOST_TOKENS)))
        if length <= reach:
            return Assessment("length", _covered(rotation.scaling, reach))
    judged = [
        _yarn(rotation, length, start),
        _linear(rotation, length, reach if isinstance(rotation.scaling, Linear) else start),
        _larger_base(rotation, length, reach),
        _dynamic(rotation, length, start),
        _longrope(rotation),
    ]
    judged = [_within_measured(option, length / (reach if option.method == "ntk" else start)) for option in judged]
    order = {"yes": 0, "possible": 1, "no": 2}
    # last whatever it is: no edit makes it, and it is never taken without being named
    options = (*sorted(judged, key=lambda option: order[option.suits]), _within_measured(_drop(), length / reach))
    why = f"it reaches {reach:,} tokens, {length / reach:.4g} times fewer than wanted"
    if start < reach:
        why += f"; before its scaling it was trained at {start:,}"
    if options[0].suits == "no":
        why += "; no method suits it"
    return Assessment("scaling" if options[0].suits != "no" else "impossible", why, options)


def _promises_more(rotation: Rotation, length: int) -> bool:
    """Whether a YaRN with a stated original context reaches less than the file claims; factors are often rounded."""
    scaling = rotation.scaling
    stated = isinstance(scaling, YaRN) and rotation.settings["original_context"].source != "assumed"
    return isinstance(scaling, YaRN) and stated and length > 1.01 * scaling.factor * scaling.original_context


def _covered(scaling: YaRN, reach: int) -> str:
    return (
        f"its YaRN reaches {reach:,} tokens already (factor {scaling.factor:g} x {scaling.original_context:,}): the factor"
        " it was trained with stays, only the stated context changes"
    )


def _two_readings(rotation: Rotation, part: Part) -> str:
    """What a YaRN without its original context may mean; "" where the file states it."""
    scaling, claimed = rotation.scaling, part.contexts.claimed.value
    if not isinstance(scaling, YaRN) or not claimed or rotation.settings["original_context"].source != "assumed":
        return ""
    smaller = round(claimed / scaling.factor)
    return (
        f"its YaRN (factor {scaling.factor:g}) states no original context. Two readings: the claimed {claimed:,}, as"
        f" transformers takes it (reach {round(scaling.factor * claimed):,}), or {smaller:,}, if the claim is factor x that."
        f" Say which: --trained {claimed} or --trained {smaller}"
    )


def _with_stated_original(rotation: Rotation, present: YaRN, original: int, length: int) -> Assessment:
    """The file leaves the original context out and the caller states it: then the edit states it too."""
    reach = int(present.factor * original)
    factor = max(present.factor, length / original)
    option = _continued_yarn(rotation, present, factor, original)
    if length <= reach:
        why = f"with an original context of {original:,} it reaches {reach:,} tokens already: the factor stays"
    else:
        why = f"it reaches {reach:,} tokens, {length / reach:.4g} times fewer than wanted"
    option = _within_measured(option, length / original)
    return Assessment("scaling" if option.suits != "no" else "impossible", why, (option,))


def _within_measured(option: Option, stretch: float) -> Option:
    """The option, refused where the stretch is past any that was published for the method."""
    largest, source = MEASURED[option.method]
    if option.suits == "no" or stretch <= largest:
        return option
    why = f"a stretch of {stretch:.4g} is past the largest that was measured ({largest:g}: {source})"
    return Option(option.method, "no", why)


def _plain(rotation: Rotation) -> bool:
    """Whether nothing is scaled: no rule, or one with a factor of 1."""
    return rotation.scaling is None or (isinstance(rotation.scaling, Linear) and rotation.scaling.factor == 1)


def _replaces(rotation: Rotation) -> str:
    return f"it would replace the {rotation.rule.value} scaling that the weights were trained with"


def _yarn(rotation: Rotation, length: int, start: int) -> Option:
    if isinstance(rotation.scaling, YaRN):
        return _further_yarn(rotation, rotation.scaling, length)
    if not _plain(rotation):
        return Option("yarn", "no", _replaces(rotation))
    why = "keeps the fast pairs that tell neighbours apart and interpolates the slow ones; static: it acts on short texts too"
    return Option("yarn", "yes", why, YaRN(length / start, start))


def _further_yarn(rotation: Rotation, present: YaRN, length: int) -> Option:
    """The same YaRN with a larger factor; what the file states of its shape stays, the attention factor follows the rule."""
    start = present.original_context
    return _continued_yarn(rotation, present, length / start, start)


def _continued_yarn(rotation: Rotation, present: YaRN, factor: float, start: int) -> Option:
    stated = rotation.settings
    why = f"continues its own YaRN from the same {start:,} tokens with a larger factor"
    shape = ("beta_fast", "beta_slow", "mscale", "mscale_all_dim", "truncate")
    kept = {name: stated[name].value for name in shape if name in stated and stated[name].source == "file"}
    magnitude = present.attention_factor
    if magnitude is not None and "attention_factor" in stated and stated["attention_factor"].source == "file":
        usual = dataclasses.replace(present, attention_factor=None).cos_sin_factor
        if not math.isclose(magnitude, usual, rel_tol=1e-3):
            why += f"; its stated attention factor {magnitude:g} belongs to the old factor and is dropped"
        magnitude = None
    elif magnitude is not None and {"mscale", "mscale_all_dim"} <= set(kept):  # their ratio, and it moves with the factor
        ratio = YaRN(factor, start, mscale=kept["mscale"], mscale_all_dim=kept["mscale_all_dim"])
        magnitude = ratio.cos_sin_factor
    scaling = dataclasses.replace(present, factor=factor, original_context=start, attention_factor=magnitude)
    return Option("yarn", "yes", why, scaling, kept=kept)


def _linear(rotation: Rotation, length: int, start: int) -> Option:
    if isinstance(rotation.scaling, Linear) and not _plain(rotation):
        why = "continues the interpolation it was trained with; tune again"
        return Option("linear", "yes", why, Linear(rotation.scaling.factor * length / start))
    if not _plain(rotation):
        return Option("linear", "no", _replaces(rotation))
    why = "divides every frequency, so neighbours blur: only with fine-tuning"
    return Option("linear", "possible", why, Linear(length / start))


def shown_base(base: float) -> str:
    """A base as a number with separators, or by its power of ten where it is huge."""
    return f"{base:,.0f}" if base < 1e12 else f"{base:g}"


def _larger_base(rotation: Rotation, length: int, reach: int) -> Option:
    """The base that divides the slowest turning pair's frequency by length / reach and leaves the fastest."""
    present, rule = rotation.scaling, rotation.rule.value
    if isinstance(present, YaRN) or rule == "longrope":
        reasons = (
            "a larger factor does the same better" if isinstance(present, YaRN) else "its divisors were searched for this base"
        )
        return Option("ntk", "no", reasons)
    frequencies = rotation.inverse_frequencies() or ()
    slowest = max((pair for pair, frequency in enumerate(frequencies) if frequency > 0), default=0)
    if slowest == 0 or length <= reach:
        return Option("ntk", "no", "a single pair turns: there are no frequencies to stretch")
    dim = rotation.schedule_dim or 0
    base = rotation.base.value * (length / reach) ** (dim / (2 * slowest))
    kept = "" if _plain(rotation) else f", on top of its {rule} scaling, which stays as trained"
    bases = f"a base of {shown_base(base)} instead of {shown_base(rotation.base.value)}"
    why = f"{bases}: every program can say it{kept}; best for small factors"
    return Option("ntk", "possible", why, present, base)


def _dynamic(rotation: Rotation, length: int, start: int) -> Option:
    if not _plain(rotation):
        return Option("dynamic", "no", _replaces(rotation))
    why = (
        "texts up to the trained context stay exact; past it frequencies change with the length, so keys cached earlier no"
        " longer fit: right without a cache, or when the whole text is read at once; not in llama.cpp, and another rule in vLLM"
    )
    try:
        scaling = DynamicNTK(1.0, start)
    except OrdinateError as error:
        return Option("dynamic", "no", str(error))
    return Option("dynamic", "possible", why, scaling)


def _drop() -> Option:
    why = (
        "takes the rotations out for good. Warning: until it has been trained on without them the model is worse at every"
        " length, and no setting of a program does it: the code and the weights change"
    )
    return Option("drop", "possible", why)


def _longrope(rotation: Rotation) -> Option:
    if rotation.rule.value == "longrope":
        return Option("longrope", "no", "its divisors were searched for the claimed context: going on needs a new search")
    return Option("longrope", "no", "needs divisors searched for this very model, one a pair; none can be computed")
