"""How one kind of layer turns its queries and keys, as read from a file.

The record holds settings with their provenance and never frequencies: those are computed on demand by
`ordinate.frequencies`, the arithmetic that the modules of `ordinate.position` use too.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ordinate.errors import OrdinateError
from ordinate.frequencies import Scaling, inverse_frequencies
from ordinate.inspection.provenance import Value

__all__ = ["Rotation"]


@dataclass(frozen=True)
class Rotation:
    """How one kind of layer turns its queries and keys.

    Args:
        layout: "half" pairs channels (i, i + rotary_dim/2), "interleaved" pairs (2i, 2i+1).
        head_dim: channels of a query head.
        rotary_dim: channels that turn.
        base: the base of the ladder of frequencies.
        rule: the scaling's name in `ordinate.frequencies.SCALINGS`, "none", or the file's own name for an unknown one.
        settings: every parameter the scaling reads, by its name in that record.
        scaling: that record; None without scaling, and where the file's settings do not make one.
        axes: what positions count: ("tokens",), or ("height", "width"), or ("time", "height", "width").
        sharing: how several axes share frequencies: "sections" of one ladder (`sections` says how many pairs each),
            "interleaved" over one ladder, "alternating" pairs of one ladder, or a "ladder each".
        sections: pairs of each axis, where the axes share one ladder.
        reversed_channels: True where the LAST `rotary_dim` channels of the head turn and the first ones stay.
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

    @property
    def ladder_dim(self) -> int | None:
        """Channels that one ladder of frequencies spans: `rotary_dim`, or its share where each axis has its own ladder."""
        dim = self.rotary_dim.value
        if dim is None:
            return None
        return dim // len(self.axes) if self.sharing == "ladder each" else dim

    def inverse_frequencies(self, length: int | None = None) -> tuple[float, ...] | None:
        """Radians per position of each pair of one ladder, scaled, for a row of `length` tokens; None where unknowable."""
        scalable = self.scaling is not None or self.rule.value == "none"
        return self._ladder(self.scaling, length) if scalable else None

    def unscaled_frequencies(self) -> tuple[float, ...] | None:
        """The same before scaling."""
        return self._ladder(None, None)

    def _ladder(self, scaling: Scaling | None, length: int | None) -> tuple[float, ...] | None:
        if self.ladder_dim is None or self.base.value is None:
            return None
        try:
            ladder = inverse_frequencies(self.ladder_dim, self.base.value, scaling, length)
        except (OrdinateError, ArithmeticError):  # the finding that says why is made where the setting was read
            return None
        return ladder if all(map(math.isfinite, ladder)) else None

    def incomplete_pairs(self, context: int) -> int | None:
        """Pairs of one ladder that never complete a turn inside `context` tokens: wavelength 2 pi / frequency above it."""
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
            "ladder_dim": self.ladder_dim,
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
