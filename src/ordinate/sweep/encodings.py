"""The encodings of a sweep by name, each made for the model at hand; a row of the table is one of them.

What is learned by distance or by place starts as its paper says, with lengths in proportion to the training length where the
paper's are. Any other name of the catalogue works too, its sizes filled in by name, and so does your own class as
"module:object". Nothing here imports torch until something is built.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from ordinate.arguments import did_you_mean
from ordinate.encodings import registry_row
from ordinate.errors import RefusedError, UnknownNameError
from ordinate.frequencies import Clipped, Proportional, Scaling, inverse_frequencies
from ordinate.resolve import resolve
from ordinate.spec import PositionSpec
from ordinate.sweep.own_class import build_own, fill_arguments, is_own

if TYPE_CHECKING:
    from torch import nn

__all__ = ["ENCODINGS", "Entry", "Shape", "entry", "make"]


@dataclass(frozen=True)
class Shape:
    """The model that an encoding is made for.

    Args:
        dim: channels of the stream.
        heads: of attention.
        train_length: tokens of a row in training.
        longest: tokens of the longest row that is tested.
    """

    dim: int
    heads: int
    train_length: int
    longest: int

    @property
    def head_dim(self) -> int:
        """Channels of a head."""
        return self.dim // self.heads


@dataclass(frozen=True)
class Entry:
    """One encoding of a sweep.

    Args:
        name: as in `ENCODINGS`.
        says: what it does, in a few words.
        specs: the encodings of the catalogue that it is made of, for a shape.
        table: what it has a learned vector for and cannot go past: "positions", "distances" (past the training length), or
            None.
        random_positions: whether training draws positions from the longest row's, in order.
        tuned_temperature: whether attention's temperature is chosen on validation rows at every length.
    """

    name: str
    says: str
    specs: Callable[[Shape], list[PositionSpec]]
    table: Literal["positions", "distances"] | None = None
    random_positions: bool = False
    tuned_temperature: bool = False


def _one(encoding: str, scaling: Scaling | None = None, **settings: Any) -> Callable[[Shape], list[PositionSpec]]:
    """One encoding of the catalogue; a setting may be a function of the shape."""

    def specs(shape: Shape) -> list[PositionSpec]:
        values = {name: value(shape) if callable(value) else value for name, value in settings.items()}
        return [PositionSpec(encoding, values, scaling)]

    return specs


def _dim(shape: Shape) -> int:
    return shape.dim


def _heads(shape: Shape) -> int:
    return shape.heads


def _head_dim(shape: Shape) -> int:
    return shape.head_dim


_ROWS = (
    Entry("none", "no encoding; the causal mask alone", _one("none")),
    Entry("sinusoidal", "sines added to embeddings", _one("sinusoidal", dim=_dim)),
    Entry("learned", "a learned vector a position", _one("learned", num_positions=lambda shape: shape.train_length, dim=_dim),
          table="positions"),
    Entry("shaw", "a learned vector a distance, clipped at a quarter of L",
          _one("shaw", head_dim=_head_dim, max_distance=lambda shape: shape.train_length // 4)),
    Entry("music", "a learned vector a distance and head",
          _one("music", num_heads=_heads, head_dim=_head_dim, max_distance=lambda shape: shape.train_length - 1),
          table="distances"),
    Entry("t5", "a learned bias a bucket of distances", _one("t5", num_heads=_heads, bidirectional=False)),
    Entry("alibi", "a fixed linear bias", _one("alibi", num_heads=_heads)),
    Entry("rope", "queries and keys turned", _one("rotary", head_dim=_head_dim, layout="half")),
    Entry("p-rope", "three quarters of the pairs turned",
          _one("rotary", head_dim=_head_dim, layout="half", scaling=Proportional(0.75))),
    Entry("xpos", "turned, with a decay", _one("xpos", head_dim=_head_dim, layout="half")),
    Entry("kerple", "a learned logarithmic bias", _one("kerple", num_heads=_heads)),
    Entry("fire", "a learned function of the distance",
          _one("fire", num_heads=_heads, initial_threshold=lambda shape: shape.train_length / 4)),
    Entry("random-rope", "rotary at random positions in order", _one("rotary", head_dim=_head_dim, layout="half"),
          random_positions=True),
    Entry("clipped-rope", "rotary, pairs that turn less than once in L fading out", lambda shape: _clipped(shape)),
    Entry("path-fox", "products of matrices between tokens, and forget gates",
          lambda shape: [PositionSpec(name, {"num_heads": shape.heads, "head_dim": shape.head_dim})
                         for name in ("path", "forget-gates")]),
    Entry("none-temperature", "no encoding, attention sharpened at each length", _one("none"), tuned_temperature=True),
)  # fmt: skip


def _clipped(shape: Shape) -> list[PositionSpec]:
    slow = sum(2 * math.pi / frequency > shape.train_length for frequency in inverse_frequencies(shape.head_dim))
    return [PositionSpec("rotary", {"head_dim": shape.head_dim, "layout": "half"}, Clipped(slow) if slow else None)]


ENCODINGS: Mapping[str, Entry] = {row.name: row for row in _ROWS}
"""Every encoding of a sweep by its name."""


def _rotary(shape: Shape) -> dict[str, Any]:
    return {"encoding": "rotary", "settings": {"head_dim": shape.head_dim, "layout": "half"}}


def _factor(shape: Shape) -> float:
    return shape.longest / shape.train_length


# settings that no name implies, chosen so that what is far away appears as near as in training
_FURTHER: Mapping[str, Callable[[Shape], dict[str, Any]]] = {
    "dape": lambda shape: {"base": {"encoding": "kerple", "settings": {"num_heads": shape.heads}}},
    "stepped-temperature": lambda shape: {"step_tokens": shape.train_length, "strength": 0.1},
    "self-extend": lambda shape: {
        "rotary": _rotary(shape),
        "window": shape.train_length // 2,
        "group": math.ceil(2 * _factor(shape)),
    },
    "rerope": lambda shape: {"rotary": _rotary(shape), "window": shape.train_length // 2},
    "leaky-rerope": lambda shape: {
        "rotary": _rotary(shape),
        "window": shape.train_length // 2,
        "factor": max(1.0, 2 * _factor(shape)),
    },
    "dual-chunk": lambda shape: {
        "rotary": _rotary(shape),
        "chunk": shape.train_length * 3 // 4,
        "local": shape.train_length // 4,
    },
}


def entry(name: str) -> Entry:
    """The row of `name`: of the table, of the catalogue, or of a class given as "module:object" or "file.py:object".

    Raises:
        UnknownNameError: neither has it.
        DataError, MissingDataError: a module or a file that cannot be imported.

    >>> entry("alibi").specs(Shape(64, 4, 64, 512))[0].settings
    {'num_heads': 4}
    """
    if name in ENCODINGS:
        return ENCODINGS[name]
    if is_own(name):
        resolve(name, "encoding")
        return Entry(name, "your own class", lambda shape: [])
    from ordinate.position.catalogue import ENCODINGS as CATALOGUE

    try:
        registered = registry_row(name)
    except UnknownNameError:
        others = sorted(set(CATALOGUE) - set(ENCODINGS))
        raise UnknownNameError(
            "encoding",
            expected=f"one of {', '.join(ENCODINGS)}; or of the catalogue: {', '.join(others)}; or module:object",
            got=name,
            hint=did_you_mean(name, [*ENCODINGS, *CATALOGUE]),
        ) from None
    known = next((alias for alias in (registered.name, *registered.aliases) if alias in ENCODINGS), None)
    if known is not None:
        return ENCODINGS[known]
    name = registered.name
    settings = _FURTHER.get(name, lambda shape: fill_arguments(CATALOGUE[name], _known_arguments(shape)))
    return Entry(name, "of the catalogue", lambda shape: [PositionSpec(name, settings(shape))])


def make(name: str, shape: Shape) -> list[nn.Module]:
    """The modules of the encoding `name` for a model of this shape, freshly drawn from torch's generator.

    Raises:
        UnknownNameError, ArgumentError: as `entry`.
        RefusedError: an encoding that says nothing about a row of tokens, or needs settings that no shape implies.

    >>> make("p-rope", Shape(64, 4, 64, 512))
    [Rotary(16, layout='half', scaling=Proportional(fraction=0.75))]
    """
    if is_own(name):
        return [build_own(name, _known_arguments(shape))]
    from ordinate.position.catalogue import build

    made_all = [build(spec) for spec in entry(name).specs(shape)]
    for one in made_all:
        if hasattr(one, "mix"):
            raise RefusedError(
                "encoding", expected="one that fits a causal row", got=f"{name}, which looks ahead", hint="leave it out"
            )
        if getattr(one, "axes", None) is not None:
            raise RefusedError("encoding", expected="positions in a row", got=f"{name}, over several axes", hint="leave it out")
    return made_all


def _known_arguments(shape: Shape) -> dict[str, Any]:
    """What a shape implies, by the names that arguments go by."""
    return {
        "dim": shape.dim,
        "num_heads": shape.heads,
        "head_dim": shape.head_dim,
        "layout": "half",
        "num_positions": shape.train_length,
        "max_positions": shape.longest,
        "max_distance": shape.train_length // 4,
        "trained_context": shape.train_length,
        "train_length": shape.train_length,
        "original_context": shape.train_length,
        "longest": shape.longest,
    }
