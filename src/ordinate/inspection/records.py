"""What an inspection says: frozen, typed records, free of torch, each number with where it comes from.

`ordinate.inspection.inspect` makes them from configs and from GGUF headers alike; checks, comparison, extension, memory and the
command line read them. Every value carries its source, so that nothing is guessed in silence. Frequencies are never stored:
they are computed on demand by `ordinate.frequencies`, the arithmetic that the modules of `ordinate.position` use too.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from ordinate.errors import OrdinateError
from ordinate.frequencies import Scaling, inverse_frequencies
from ordinate.spec import PositionSpec

__all__ = [
    "SCHEMA",
    "SEVERITIES",
    "Attention",
    "Cache",
    "CacheGroup",
    "Contexts",
    "Encoding",
    "Finding",
    "Inspection",
    "LayerKind",
    "Part",
    "Rotation",
    "Severity",
    "Source",
    "State",
    "Value",
    "incomplete_pairs",
    "plain",
    "unknown",
    "wavelengths",
]

SCHEMA = "ordinate.inspection/1"
"""Name and version of what `Inspection.to_dict` tells; the number grows when a field changes its meaning or goes."""

Source = Literal["file", "family", "derived", "assumed", "unknown"]


@dataclass(frozen=True)
class Value:
    """A value and where it comes from.

    Args:
        value: a plain JSON value; None where the source is "unknown", or where nothing is the answer (no window).
        source: "file" (a key of the file), "family" (fixed by the code of that model type), "derived" (computed from other
            values), "assumed" (a custom, not a fact) or "unknown".
        detail: the key's path for "file", the origin of the default for "family", the formula for "derived", the reason
            for "assumed" and "unknown".

    >>> Value(4, "file", "text_config.num_hidden_layers").to_dict()
    {'value': 4, 'source': 'file', 'detail': 'text_config.num_hidden_layers'}
    """

    value: Any
    source: Source
    detail: str

    @property
    def known(self) -> bool:
        """Whether there is an answer at all."""
        return self.source != "unknown"

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types; an infinity or NaN that stood in the file becomes its name."""
        return {"value": plain(self.value), "source": self.source, "detail": self.detail}


def unknown(reason: str) -> Value:
    """The value that says that there is none, and why."""
    return Value(None, "unknown", shortened(reason))


LONGEST_WORD, LONGEST_TEXT = 60, 300


def shortened(text: str) -> str:
    """A message in which no word of a file runs on, and that ends after 300 characters."""
    text = re.sub(rf"\S{{{LONGEST_WORD + 1},}}", lambda word: f"{word[0][: LONGEST_WORD - 20]}...{word[0][-10:]}", text)
    return text if len(text) <= LONGEST_TEXT else f"{text[: LONGEST_TEXT - 3]}..."


def plain(value: Any) -> Any:
    """The same in plain JSON types: mappings and sequences as dict and list, what JSON has no number for by its name."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value


Severity = Literal["info", "warning", "error"]
SEVERITIES: tuple[Severity, ...] = ("info", "warning", "error")


@dataclass(frozen=True)
class Rotation:
    """How one kind of layer turns its queries and keys.

    Args:
        layout: "half" pairs channels (i, i + rotary_dim/2), "interleaved" pairs (2i, 2i+1).
        head_dim: channels of a query head.
        rotary_dim: channels that turn.
        base: the base of the frequency schedule.
        rule: the scaling's name in `ordinate.frequencies.SCALINGS`, "none", or the file's own name for an unknown one.
        settings: every parameter the scaling reads, by its name in that record.
        scaling: that record; None without scaling, and where the file's settings do not make one.
        axes: what positions count: ("tokens",), or ("height", "width"), or ("time", "height", "width").
        sharing: how several axes share frequencies: "sections" of one schedule (`sections` says how many pairs each),
            "interleaved" over one schedule, "alternating" pairs of one schedule, or a "ladder each" (a schedule for each axis).
        sections: pairs of each axis, where the axes share one schedule or have schedules of different lengths.
        reversed_channels: True where the LAST `rotary_dim` channels of the head turn and the first ones stay.
        written: the scaled frequencies, where the family's code computes them in a way of its own.

    >>> from ordinate.inspection import inspect_config
    >>> rotation = inspect_config({"model_type": "gpt_neox", "hidden_size": 64, "num_attention_heads": 4}).layers[0].rotation
    >>> rotation.layout.value, rotation.rotary_dim.value
    ('half', 4)
    """

    layout: Value
    head_dim: Value
    rotary_dim: Value
    base: Value
    rule: Value
    settings: Mapping[str, Value] = field(default_factory=dict)
    scaling: Scaling | None = None
    axes: tuple[str, ...] = ("tokens",)
    sharing: str = ""
    sections: Value | None = None
    reversed_channels: bool = False
    written: tuple[float, ...] = ()

    @property
    def schedule_dim(self) -> int | None:
        """Channels that one frequency schedule spans: `rotary_dim`, or its share where each axis has its own."""
        dim = self.rotary_dim.value
        if dim is None or (self.sharing == "ladder each" and self.sections is not None):
            return None
        return dim // len(self.axes) if self.sharing == "ladder each" else dim

    def inverse_frequencies(self, length: int | None = None) -> tuple[float, ...] | None:
        """Radians per position of each pair of one schedule, scaled, for a row of `length` tokens; None where unknowable.

        Where axes have schedules of different lengths (`sections`), theirs follow one another.
        """
        if self.written:
            return self.written
        scalable = self.scaling is not None or self.rule.value == "none"
        return self._frequencies(self.scaling, length) if scalable else None

    def unscaled_frequencies(self) -> tuple[float, ...] | None:
        """The same before scaling."""
        return self.written if self.written and self.rule.value == "none" else self._frequencies(None, None)

    def _frequencies(self, scaling: Scaling | None, length: int | None) -> tuple[float, ...] | None:
        dims = [self.schedule_dim]
        if self.sharing == "ladder each" and self.sections is not None and self.sections.known:
            dims = [2 * pairs for pairs in self.sections.value]
        if None in dims or self.base.value is None:
            return None
        try:
            schedules = [inverse_frequencies(dim, self.base.value, scaling, length) for dim in dims if dim is not None]
        except (OrdinateError, ArithmeticError, ValueError):  # the finding that says why is made where the setting was read
            return None
        frequencies = tuple(frequency for schedule in schedules for frequency in schedule)
        return frequencies if all(map(math.isfinite, frequencies)) else None

    def incomplete_pairs(self, context: int) -> int | None:
        """Pairs of one schedule that never complete a turn inside `context` tokens: wavelength 2 pi / frequency above it."""
        unscaled = self.unscaled_frequencies()
        return None if unscaled is None else sum(1 for f in unscaled if f * context < 2 * math.pi)

    @property
    def depends_on_length(self) -> bool:
        """Whether frequencies change with the length of the row."""
        return self.scaling is not None and self.scaling.depends_on_length

    @property
    def cos_sin_factor(self) -> float | None:
        """The factor on cos and sin, called attention factor in most configs; None where the scaling is unknown."""
        if self.scaling is None:
            return 1.0 if self.rule.value == "none" else None
        return self.scaling.cos_sin_factor

    @property
    def softmax_factor(self) -> float | None:
        """The factor on the scores beyond what cos and sin carry; None where the scaling is unknown."""
        if self.scaling is None:
            return 1.0 if self.rule.value == "none" else None
        return self.scaling.softmax_factor

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types, with the frequencies and wavelengths spelled out."""
        before, after = self.unscaled_frequencies(), self.inverse_frequencies()
        return {
            "layout": self.layout.to_dict(),
            "head_dim": self.head_dim.to_dict(),
            "rotary_dim": self.rotary_dim.to_dict(),
            "base": self.base.to_dict(),
            "scaling": {
                "rule": self.rule.to_dict(),
                "settings": {name: value.to_dict() for name, value in self.settings.items()},
                "depends_on_length": self.depends_on_length,
            },
            "axes": list(self.axes),
            "sharing": self.sharing or None,
            "sections": None if self.sections is None else self.sections.to_dict(),
            "rotated_channels": "last" if self.reversed_channels else "first",
            "ladder_dim": self.schedule_dim,
            "inverse_frequencies": {"before": _listed(before), "after": _listed(after)},
            "wavelengths_tokens": {"before": _turns(before), "after": _turns(after)},
            "cos_sin_factor": _finite(self.cos_sin_factor),
            "softmax_factor": _finite(self.softmax_factor),
        }


def _listed(frequencies: tuple[float, ...] | None) -> list[float] | None:
    return None if frequencies is None else list(frequencies)


def _finite(number: float | None) -> float | None:
    """JSON has no infinity; only absurd settings lead there, and a finding says so."""
    return number if number is not None and math.isfinite(number) else None


def _turns(frequencies: tuple[float, ...] | None) -> list[float | None] | None:
    """Tokens of one whole turn of each pair; None for a pair that stands still."""
    return None if frequencies is None else [_finite(2 * math.pi / f) if f else None for f in frequencies]


def wavelengths(frequencies: Sequence[float]) -> tuple[float, ...]:
    """Tokens of one whole turn of each pair, 2 pi / frequency; infinite for a pair that stands still.

    >>> [round(w, 2) for w in wavelengths([1.0, 0.1, 0.0])]
    [6.28, 62.83, inf]
    """
    return tuple(2 * math.pi / frequency if frequency else math.inf for frequency in frequencies)


def incomplete_pairs(frequencies: Sequence[float], context: int) -> int:
    """How many pairs never complete a turn inside `context` tokens: those with a wavelength above it.

    >>> incomplete_pairs([1.0, 0.1, 0.01], 100)
    1
    """
    return sum(1 for wave in wavelengths(frequencies) if wave > context)


@dataclass(frozen=True)
class Encoding:
    """One way in which a kind of layer gets to know where its tokens are.

    Args:
        kind: "rope", "mrope", "rope2d", "learned", "sinusoidal", "alibi", "t5-bucket", "shaw", "deberta",
            "transformer-xl", "conv", "none", ... (`docs/inspect-schema.md` lists them).
        where: "input" (added to embeddings once), "queries and keys", "scores", "keys and values".
        rotation: for the rotary kinds, how they turn.
        settings: what else it reads: rows of a table, buckets, slopes ...
        spec: what `ordinate.position.build` needs to make it; None where it cannot be made from this file.
        note: one sentence where the field's custom would mislead.
    """

    kind: Value
    where: str
    rotation: Rotation | None = None
    settings: Mapping[str, Value] = field(default_factory=dict)
    spec: PositionSpec | None = None
    note: str = ""

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types."""
        return {
            "kind": self.kind.to_dict(),
            "where": self.where,
            "rotation": None if self.rotation is None else self.rotation.to_dict(),
            "settings": {name: value.to_dict() for name, value in self.settings.items()},
            "spec": None if self.spec is None else self.spec.to_dict(),
            "note": self.note or None,
        }


@dataclass(frozen=True)
class Attention:
    """The heads of one kind of layer, and what a token of it leaves in the cache.

    Args:
        sort: "multi-head", "grouped-query", "multi-query", "multi-head latent", "linear", "state space", "convolution",
            "cross", "none" ...
        num_heads, num_kv_heads: query heads H and key-value heads G.
        head_dim, value_head_dim: channels of a query or key head, and of a value head.
        cached_width: numbers that one token leaves in the cache of one such layer: 2 G D, or the latent and rotary part.
        state_width: numbers that one such layer keeps whatever the length (recurrent state, convolution window).
        state_bytes: the same in bytes: recurrences are float32 in most families, whatever the model's dtype.
    """

    sort: Value
    num_heads: Value
    num_kv_heads: Value
    head_dim: Value
    value_head_dim: Value
    cached_width: Value
    state_width: Value
    state_bytes: Value

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types."""
        return {name: getattr(self, name).to_dict() for name in self.__dataclass_fields__}


@dataclass(frozen=True)
class State:
    """What one layer keeps of a sequence whatever its length: a recurrence, the last columns of a convolution.

    Args:
        model_numbers: numbers in the dtype of the model.
        float_numbers: numbers in float32, whatever the dtype of the model.
        formula: how they come about.
        columns: how many columns of a convolution `model_numbers` counts; programs that drop the oldest keep one fewer.
        recurrence_bytes: bytes of each of `float_numbers` in programs that follow the file's `mamba_ssm_dtype`, 4 where they
            always take float32; None where they take the model's dtype.
    """

    model_numbers: int
    float_numbers: int
    formula: str
    columns: int = 0
    recurrence_bytes: int | None = None


@dataclass(frozen=True)
class LayerKind:
    """All layers of one part that are alike in what concerns position.

    Args:
        name: "full attention", "sliding attention", "linear attention", "encoder", "decoder" ...
        indices: which layers of the stack, ascending; empty where their number is unknown.
        encodings: what tells these layers where tokens are; `kind` "none" is an answer too.
        attention: heads and widths.
        window_keys: keys a query sees, itself included; value None without a window.
        stack: "encoder" or "decoder" in a part that has both.
        temperature: the factor on queries that grows with their position, as a formula; value None without one.
        state: what each layer keeps whatever the length, where it is known; `attention` says how many numbers and bytes.

    >>> from ordinate.inspection import inspect_config
    >>> gemma = inspect_config({"model_type": "gemma3_text", "num_hidden_layers": 12, "sliding_window": 512})
    >>> [(kind.name, kind.indices) for kind in gemma.layers]
    [('full attention', (5, 11)), ('sliding attention', (0, 1, 2, 3, 4, 6, 7, 8, 9, 10))]
    """

    name: str
    indices: tuple[int, ...]
    encodings: tuple[Encoding, ...]
    attention: Attention
    window_keys: Value
    stack: str = ""
    temperature: Value = field(default_factory=lambda: Value(None, "family", "no factor on scores grows with the position"))
    state: State | None = None

    @property
    def rotation(self) -> Rotation | None:
        """How these layers rotate, if they do."""
        return next((encoding.rotation for encoding in self.encodings if encoding.rotation is not None), None)

    @property
    def spec(self) -> PositionSpec | None:
        """What `ordinate.position.build` needs: the rotation's if there is one, else the first encoding's."""
        chosen = next((encoding for encoding in self.encodings if encoding.rotation is not None), None)
        if chosen is not None:
            return chosen.spec
        return next((encoding.spec for encoding in self.encodings if encoding.spec is not None), None)

    @property
    def kind(self) -> str | None:
        """The encoding's kind, "mixed" where several act together, None where unknown.

        A rotation gives its name even where a table is added to the embeddings too.
        """
        acting = [one for one in self.encodings if self.rotation is None or one.where == "queries and keys"]
        kinds = list(dict.fromkeys(encoding.kind.value for encoding in acting))
        return kinds[0] if len(kinds) == 1 else "mixed" if kinds else None

    def to_dict(self, trained: int | None = None) -> dict[str, Any]:
        """As plain JSON types; `trained` tokens tell how many pairs never complete a turn."""
        turn = self.rotation
        return {
            "name": self.name,
            "stack": self.stack or None,
            "indices": list(self.indices),
            "kind": self.kind,
            "incomplete_pairs": None if turn is None or trained is None else turn.incomplete_pairs(trained),
            "encodings": [encoding.to_dict() for encoding in self.encodings],
            "attention": self.attention.to_dict(),
            "window_keys": self.window_keys.to_dict(),
            "temperature": self.temperature.to_dict(),
        }


@dataclass(frozen=True)
class Contexts:
    """How far a part was trained and how far it is said to reach, in tokens.

    Args:
        trained: tokens of the context before scaling.
        claimed: tokens the file promises.
        relation: one sentence: equal, scaled by which factor, understated ...
    """

    trained: Value
    claimed: Value
    relation: str

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types."""
        return {"trained": self.trained.to_dict(), "claimed": self.claimed.to_dict(), "relation": self.relation}


@dataclass(frozen=True)
class CacheGroup:
    """Layers that keep equally much.

    Args:
        layers: how many.
        width: numbers that a token leaves in each.
        window: keys that are kept at most; None for all.
        state: bytes that each keeps whatever the length.
        name: their kind.
        keys: how many of those numbers belong to keys; the others belong to values.
        state_known: whether the size of the state is known.
        state_numbers: the state itself, for programs that keep it otherwise.
        indices: which layers of the stack, where each is its own.
    """

    layers: int
    width: int
    window: int | None
    state: int = 0
    name: str = ""
    keys: int = 0
    state_known: bool = True
    state_numbers: State | None = None
    indices: tuple[int, ...] = ()


@dataclass(frozen=True)
class Cache:
    """What keys and values of one sequence cost in memory.

    Args:
        bytes_per_value: 2 for bfloat16 and float16, 4 for float32 ...
        bytes_per_token: what one more token adds while it is inside every window.
        bytes_at_claimed: the whole cache at the claimed context, windows and constant states taken into account.
        groups: one for each kind of layer that keeps something.
        at_least: whether some state's size is unknown, so that totals are lower bounds.
    """

    bytes_per_value: Value
    bytes_per_token: Value
    bytes_at_claimed: Value
    groups: tuple[CacheGroup, ...] = ()
    at_least: bool = False

    def bytes_at(self, length: int) -> int | None:
        """Bytes for one sequence of `length` tokens; None where a width is unknown."""
        if not self.bytes_per_token.known:
            return None
        return sum(
            group.layers * (group.width * min(length, group.window or length) * self.bytes_per_value.value + group.state)
            for group in self.groups
        )

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types."""
        return {
            "bytes_per_value": self.bytes_per_value.to_dict(),
            "bytes_per_token": self.bytes_per_token.to_dict(),
            "bytes_at_claimed": self.bytes_at_claimed.to_dict(),
            "at_least": self.at_least,
        }


@dataclass(frozen=True)
class Finding:
    """Something in the file that deserves a look.

    Args:
        id: a stable name in words, for example "rope-type-conflict".
        severity: "info" (worth knowing), "warning" (probably wrong, or read differently by others), "error" (cannot be meant).
        message: what is the matter, in one sentence.
        evidence: key paths and what stands there.
        hint: what to do about it.

    >>> from ordinate.inspection import inspect_config
    >>> config = {"model_type": "llama", "rope_scaling": {"type": "yarn", "rope_type": "linear", "factor": 4.0}}
    >>> (finding,) = [one for one in inspect_config(config).findings if one.severity != "info"]
    >>> finding.id, finding.severity
    ('scaling-type-conflict', 'error')
    """

    id: str
    severity: Severity
    message: str
    evidence: Mapping[str, Any]
    hint: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "message", shortened(self.message))
        object.__setattr__(self, "hint", shortened(self.hint))

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types."""
        return {
            "id": self.id,
            "severity": self.severity,
            "message": self.message,
            "evidence": plain(self.evidence),
            "todo": self.hint,
        }


@dataclass(frozen=True)
class Part:
    """One stack of a model: its text decoder, its vision tower, its audio encoder.

    Args:
        name: "text", "vision", "audio", "encoder", "decoder", "talker" ...
        path: where its settings stand in the file, "" for the top level.
        model_type: the family that was applied.
        layers: its kinds of layer: those that rotate first, those without a window before the others; empty where nothing is
            known.
        num_layers, hidden_size: of the whole stack.
        contexts, cache: see there; `cache` is None for stacks that keep none (encoders).
        parameters_on_position: learned numbers spent on position.

    >>> from ordinate.inspection import inspect_config
    >>> [part.name for part in inspect_config({"model_type": "qwen2_vl"}).parts]
    ['text', 'vision']
    """

    name: str
    path: str
    model_type: Value
    layers: tuple[LayerKind, ...]
    num_layers: Value
    hidden_size: Value
    contexts: Contexts
    cache: Cache | None
    parameters_on_position: Value

    @property
    def primary(self) -> LayerKind | None:
        """The kind of layer that decides how far the part reaches: the first."""
        return self.layers[0] if self.layers else None

    @property
    def kind(self) -> str | None:
        """One word for the part: the encoding's kind, or "mixed" where attention layers differ or encodings pile up."""
        attending = [layer for layer in self.layers if layer.encodings]
        kinds = {(layer.kind, _turning(layer)) for layer in attending}
        if len(kinds) > 1:
            return "mixed"
        return attending[0].kind if attending else None

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types."""
        return {
            "name": self.name,
            "path": self.path,
            "model_type": self.model_type.to_dict(),
            "kind": self.kind,
            "num_layers": self.num_layers.to_dict(),
            "hidden_size": self.hidden_size.to_dict(),
            "layers": [layer.to_dict(self.contexts.trained.value) for layer in self.layers],
            "contexts": self.contexts.to_dict(),
            "cache": None if self.cache is None else self.cache.to_dict(),
            "parameters_on_position": self.parameters_on_position.to_dict(),
        }


def _turning(layer: LayerKind) -> tuple[Any, ...] | None:
    """What distinguishes two kinds of layer that both rotate."""
    turn = layer.rotation
    return None if turn is None else (turn.base.value, turn.rule.value, turn.rotary_dim.value, turn.scaling)


@dataclass(frozen=True)
class Inspection:
    """What a model's file says about position.

    Args:
        source: the file's name, or what stands for it.
        model_type: as the file says.
        parts: the main part first (text where there is one).
        findings: worst first.

    `layers`, `contexts`, `cache`, `kind` and `spec` are the main part's.

    >>> from ordinate.inspection import inspect_config
    >>> inspection = inspect_config({"model_type": "llama", "max_position_embeddings": 8192})
    >>> inspection.kind, inspection.contexts.claimed.value
    ('rope', 8192)
    """

    source: str
    model_type: Value
    parts: tuple[Part, ...]
    findings: tuple[Finding, ...]

    @property
    def main(self) -> Part:
        """The part that reads tokens; there always is one."""
        return self.parts[0]

    @property
    def layers(self) -> tuple[LayerKind, ...]:
        """The main part's kinds of layer: those that rotate first, those without a window before the others."""
        return self.main.layers

    @property
    def spec(self) -> PositionSpec | None:
        """What `ordinate.position.build` needs for the main part's first kind of layer."""
        return self.layers[0].spec if self.layers else None

    @property
    def kind(self) -> str | None:
        """One word for the main part."""
        return self.main.kind

    @property
    def contexts(self) -> Contexts:
        """The main part's contexts."""
        return self.main.contexts

    @property
    def cache(self) -> Cache | None:
        """The main part's cache."""
        return self.main.cache

    @property
    def parameters_on_position(self) -> Value:
        """Learned numbers spent on position, over all parts that are known."""
        counts = [part.parameters_on_position for part in self.parts if part.parameters_on_position.known]
        if not counts:
            return self.main.parameters_on_position
        missing = len(self.parts) - len(counts)
        over = f"sum over {len(counts)} part{'s' if len(counts) > 1 else ''}" + (f", {missing} unknown" if missing else "")
        return Value(sum(count.value for count in counts), "derived", over)

    @property
    def severity(self) -> Severity | None:
        """The worst severity among the findings."""
        worst = max((SEVERITIES.index(finding.severity) for finding in self.findings), default=None)
        return None if worst is None else SEVERITIES[worst]

    def walk(self) -> Iterator[tuple[Part, LayerKind]]:
        """Every kind of layer of every part."""
        for part in self.parts:
            for layer in part.layers:
                yield part, layer

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types; `docs/inspect-schema.md` describes it."""
        return {
            "schema": SCHEMA,
            "source": self.source,
            "model_type": self.model_type.to_dict(),
            "kind": self.kind,
            "severity": self.severity,
            "parameters_on_position": self.parameters_on_position.to_dict(),
            "parts": [part.to_dict() for part in self.parts],
            "findings": [finding.to_dict() for finding in self.findings],
        }
