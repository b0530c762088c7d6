"""The records an inspection is told in: frozen, typed, free of torch, each number with its provenance.

A reader (`huggingface`, `gguf`) makes them, `arithmetic` and `findings` read them, the command line prints them. They stand
apart from the readers so that a second kind of file yields the very same answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from ordinate.inspection.provenance import Source, Value, plain, unknown
from ordinate.inspection.rotation import Rotation
from ordinate.spec import PositionSpec

__all__ = [
    "SCHEMA",
    "Attention",
    "Cache",
    "Contexts",
    "Encoding",
    "Finding",
    "Inspection",
    "LayerKind",
    "Part",
    "Rotation",
    "Severity",
    "Source",
    "Value",
    "unknown",
]

SCHEMA = "ordinate.inspection/1"
"""Name and version of what `Inspection.to_dict` tells; the number grows when a field changes its meaning or goes."""

Severity = Literal["info", "warning", "error"]
SEVERITIES: tuple[Severity, ...] = ("info", "warning", "error")


@dataclass(frozen=True)
class Encoding:
    """One way in which a kind of layer is told where its tokens are.

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
    """

    sort: Value
    num_heads: Value
    num_kv_heads: Value
    head_dim: Value
    value_head_dim: Value
    cached_width: Value
    state_width: Value

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types."""
        return {name: getattr(self, name).to_dict() for name in self.__dataclass_fields__}


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
    """

    name: str
    indices: tuple[int, ...]
    encodings: tuple[Encoding, ...]
    attention: Attention
    window_keys: Value
    stack: str = ""

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
class Cache:
    """What keys and values of one sequence cost in memory.

    Args:
        bytes_per_value: 2 for bfloat16 and float16, 4 for float32 ...
        bytes_per_token: what one more token adds while it is inside every window.
        bytes_at_claimed: the whole cache at the claimed context, windows and constant states taken into account.
        groups: (layers, numbers per token of each, window in keys or None, constant numbers of each), one a kind.
    """

    bytes_per_value: Value
    bytes_per_token: Value
    bytes_at_claimed: Value
    groups: tuple[tuple[int, int, int | None, int], ...] = ()

    def bytes_at(self, length: int) -> int | None:
        """Bytes for one sequence of `length` tokens; None where a width is unknown."""
        if not self.bytes_per_token.known:
            return None
        numbers = sum(
            layers * (width * (length if window is None else min(length, window)) + state)
            for layers, width, window, state in self.groups
        )
        return int(numbers * self.bytes_per_value.value)

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types."""
        return {
            "bytes_per_value": self.bytes_per_value.to_dict(),
            "bytes_per_token": self.bytes_per_token.to_dict(),
            "bytes_at_claimed": self.bytes_at_claimed.to_dict(),
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
    """

    id: str
    severity: Severity
    message: str
    evidence: Mapping[str, Any]
    hint: str

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
        told = {(layer.kind, _turning(layer)) for layer in attending}
        if len(told) > 1:
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
