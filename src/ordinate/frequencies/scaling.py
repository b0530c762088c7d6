"""What a scaling of rotary frequencies answers, and what all records of this package share."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, ClassVar, Protocol, runtime_checkable

from ordinate.arguments import check_integer, check_number

__all__ = ["Scaling", "Settings", "check_context", "check_positive"]


@runtime_checkable
class Scaling(Protocol):
    """What a scaling of rotary frequencies answers.

    `depends_on_length` says that frequencies change with the row's length, so keys cached at one length cannot be compared
    with queries rotated at another.
    """

    depends_on_length: ClassVar[bool]

    def inverse_frequencies(self, rotary_dim: int, base: float, length: int | None = None) -> tuple[float, ...]:
        """Radians per position of each of the `rotary_dim / 2` pairs, for a row of `length` tokens."""
        ...

    @property
    def cos_sin_factor(self) -> float:
        """The factor on cos and sin."""
        ...

    @property
    def softmax_factor(self) -> float:
        """The factor on the scores before softmax, beyond what cos and sin carry."""
        ...

    def settings(self) -> dict[str, Any]:
        """The arguments that rebuild this record."""
        ...


@dataclass(frozen=True)
class Settings:
    """What all scalings share: a repr that leaves out defaults, factors of 1, no dependence on length."""

    depends_on_length: ClassVar[bool] = False

    @property
    def cos_sin_factor(self) -> float:
        return 1.0

    @property
    def softmax_factor(self) -> float:
        return 1.0

    def settings(self) -> dict[str, Any]:
        """The arguments that rebuild this record."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def __repr__(self) -> str:
        parts = (f"{f.name}={getattr(self, f.name)!r}" for f in fields(self) if getattr(self, f.name) != f.default)
        return f"{type(self).__name__}({', '.join(parts)})"


def check_context(name: str, context: int) -> None:
    """Raise unless `context` is a positive number of tokens."""
    check_integer(name, context, minimum=1)


def check_positive(name: str, value: float) -> None:
    """Raise unless `value` is a positive, finite number."""
    check_number(name, value, above=0)
