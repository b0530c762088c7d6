"""What reading and building share: frozen records that say how a model encodes position.

`ordinate.inspection` makes them from a file without torch; `ordinate.position.build` makes modules from them. Units stand in
the names: dims are channels, contexts are tokens, frequencies are radians per position.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ordinate.arguments import did_you_mean
from ordinate.errors import ArgumentError, ArgumentTypeError
from ordinate.frequencies import SCALINGS, Scaling

__all__ = ["PositionSpec"]


@dataclass(frozen=True)
class PositionSpec:
    """One encoding by its name, with the keyword arguments that make it.

    Args:
        encoding: a name of the registry (`ordinate.encodings`) or an alias: "none", "sinusoidal", "rotary", "alibi", ...
        settings: the encoding's own keyword arguments, of plain JSON types.
        scaling: for rotations, how their frequencies are scaled.

    Raises:
        ArgumentTypeError: a name that is not a string, or a scaling that is not one of `ordinate.frequencies`.

    >>> spec = PositionSpec("rotary", {"head_dim": 64, "layout": "half"})
    >>> PositionSpec.from_dict(spec.to_dict()) == spec
    True
    """

    encoding: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    scaling: Scaling | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.encoding, str):
            raise ArgumentTypeError(
                "encoding", expected="a catalogue name", got=type(self.encoding).__name__, hint='for example "rotary"'
            )
        if self.scaling is not None and not isinstance(self.scaling, Scaling):
            raise ArgumentTypeError(
                "scaling",
                expected="a record of ordinate.frequencies or None",
                got=type(self.scaling).__name__,
                hint="for example YaRN(4.0, 32768)",
            )
        object.__setattr__(self, "settings", dict(self.settings))

    def __hash__(self) -> int:
        return hash((self.encoding, repr(sorted(self.settings.items())), self.scaling))

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types; `from_dict` takes it back."""
        result: dict[str, Any] = {"encoding": self.encoding, "settings": dict(self.settings), "scaling": None}
        if self.scaling is not None:
            rule = next(name for name, kind in SCALINGS.items() if type(self.scaling) is kind)
            result["scaling"] = {"rule": rule, **self.scaling.settings()}
        return result

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> PositionSpec:
        """The spec that `to_dict` wrote."""
        scaling = None
        if record.get("scaling") is not None:
            settings = dict(record["scaling"])
            rule = settings.pop("rule", None)
            if rule not in SCALINGS:
                near = did_you_mean(rule, SCALINGS)
                raise ArgumentError("scaling.rule", expected=f"one of {sorted(SCALINGS)}", got=rule, hint=near)
            try:
                scaling = SCALINGS[rule](**settings)
            except TypeError as error:
                if isinstance(error, ArgumentTypeError):
                    raise
                raise ArgumentError(
                    "scaling", expected=f"the settings of {rule!r}", got=sorted(settings), hint=str(error)
                ) from error
        return cls(record["encoding"], record.get("settings", {}), scaling)
