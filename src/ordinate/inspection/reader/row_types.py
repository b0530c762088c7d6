"""What a row of the table of families consists of, and what a reader gets to see.

A family says what the code of a model type does and its config does not: which encodings act where, how layers alternate,
which heads there are. Readers are small functions from a
`LayerGroup` to an `Encoding`; a row names them. This file stands apart because rows and readers share these types.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ordinate.inspection.reader.section import Section
from ordinate.inspection.reader.states import StateReader
from ordinate.inspection.records import Attention, Encoding, Value

__all__ = ["Family", "LayerGroup", "PartSource", "Reader", "Stack"]


@dataclass(frozen=True)
class LayerGroup:
    """What a reader of one kind of layer gets to see.

    Args:
        section: the settings of the part.
        stack: the row that is being applied.
        origin: whose code the row describes, for provenance.
        kind: the layer's kind, "full_attention", "sliding_attention", ...
        indices: the layers of that kind.
        attention: their heads.
        hidden_size: channels of the stream.
        claimed: tokens that the file claims.
        trained: a context that some families state apart from any scaling.
    """

    section: Section
    stack: Stack
    origin: str
    kind: str
    indices: tuple[int, ...]
    attention: Attention
    hidden_size: Value
    claimed: Value
    trained: Value | None = None


Reader = Callable[[LayerGroup], Encoding | None]
"""Reads one encoding; None where this kind of layer has none of it."""

Pattern = Callable[[Section, int], "list[str] | None"]
"""The kind of each layer of a stack of so many layers; None where they are all alike."""


@dataclass(frozen=True)
class Stack:
    """One stack of layers: what acts on them, how they alternate, where their sizes stand.

    Args:
        readers: what tells its layers where tokens are.
        name: "encoder" or "decoder" in models with both.
        pattern: how kinds of layer alternate, where the file does not list them.
        attention: reads the heads and what a token leaves in the cache.
        layers, hidden: keys of the number of layers and of the stream's width.
        window: keys of the window; `window_of` turns what stands there into keys seen, itself included.
        claimed: keys of the claimed context; none for stacks without tokens in a row.
        causal: whether it keeps a cache.
        mark: splits kinds further, listed or not (layers that do not rotate).
        state: reads what a layer without attention keeps, whatever the length.
        stateful: kinds of layer with attention that keep such a state too.
        temperature: reads the factor on queries that grows with their position.
    """

    readers: tuple[Reader, ...] = ()
    name: str = ""
    pattern: Pattern | None = None
    attention: Callable[[Section, str, Value], Attention] | None = None
    layers: tuple[str, ...] = ("num_hidden_layers", "n_layer", "n_layers", "num_layers", "depth", "layers", "encoder_layers")
    hidden: tuple[str, ...] = ("hidden_size", "n_embd", "d_model", "dim", "embed_dim", "width")
    window: tuple[str, ...] = ("sliding_window", "sliding_window_size", "sliding_window_attention_size")
    window_of: Callable[[int], int] = field(default=lambda width: width)
    claimed: tuple[str, ...] = (
        "max_position_embeddings",
        "n_positions",
        "max_sequence_length",
        "max_seq_len",
        "max_seq_length",
        "seq_length",
        "n_ctx",
        "model_max_length",
        "max_context_length",
        "max_trained_positions",
    )
    causal: bool = False
    mark: Callable[[Section, list[str]], list[str]] | None = None
    state: StateReader | None = None
    stateful: tuple[str, ...] = ("hybrid",)
    temperature: Callable[[Section, str], Value | None] | None = None


@dataclass(frozen=True)
class Family:
    """One row of the table.

    Args:
        stacks: of the part itself; empty for a model that only holds parts.
        name: what the part is called: "text", "vision", "audio" ...
        parts: sections that are parts of their own, with the family each takes where the section names none.
        defaults: what the code takes where a key is missing, beyond the library's own defaults.
        origin: where this was read.
        unknown: a reason, where the position code of this type has not been read or cannot be known from a config.
        trained: keys of a context before scaling that the family states apart from any scaling.
        cached_bytes: bytes of a cached number where the engine decides it and no dtype of the file does.
        spellings: which of the older keys of a share or a base the code reads; None where it takes any.
        state_bytes: bytes of every number of a state, where the engine decides it.
    """

    stacks: tuple[Stack, ...] = ()
    name: str = "text"
    parts: Mapping[str, str] = field(default_factory=dict)
    defaults: Mapping[str, Any] = field(default_factory=dict)
    origin: str = ""
    unknown: str = ""
    trained: tuple[str, ...] = ()
    cached_bytes: Value | None = None
    state_bytes: int | None = None
    spellings: frozenset[str] | None = None


@dataclass(frozen=True)
class PartSource:
    """A section that is a part of a model: its name, its settings, its family, and the model type with its source."""

    name: str
    section: Section
    family: Family
    model_type: Value
