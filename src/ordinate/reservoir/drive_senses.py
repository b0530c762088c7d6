"""What a driven fly senses on its left and on its right: a target seen from where it stands, or a schedule.

Each is a function of a pose that gives two strengths from 0 to 1, left and right.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol, runtime_checkable

from ordinate.errors import ArgumentError
from ordinate.reservoir.body import Pose

__all__ = ["Schedule", "Senses", "Target"]


@runtime_checkable
class Senses(Protocol):
    """Anything that tells what is sensed from a pose."""

    def __call__(self, pose: Pose) -> tuple[float, float]:
        """Strengths on the left and on the right, each from 0 to 1."""


@dataclass(frozen=True)
class Target:
    """A point that each side senses the better the more it faces it: `(1 + cos(bearing -+ eye)) / 2`.

    Args:
        x_mm: ahead of the start.
        y_mm: to the left of the start.
        eye_degrees: how far to its side each eye looks.

    Raises:
        ArgumentError: a point or angle that is not finite.

    >>> left, right = Target(0.0, 10.0)(Pose())
    >>> round(left, 3), round(right, 3)
    (0.933, 0.067)
    """

    x_mm: float
    y_mm: float
    eye_degrees: float = 60.0

    def __post_init__(self) -> None:
        for name in ("x_mm", "y_mm", "eye_degrees"):
            if not math.isfinite(getattr(self, name)):
                raise ArgumentError(name, expected="a finite number", got=getattr(self, name), hint="choose another")

    def __call__(self, pose: Pose) -> tuple[float, float]:
        """Strengths on the left and on the right."""
        bearing, eye = pose.bearing_of(self.x_mm, self.y_mm), math.radians(self.eye_degrees)
        return (1 + math.cos(bearing - eye)) / 2, (1 + math.cos(bearing + eye)) / 2

    def distance(self, pose: Pose) -> float:
        """Millimetres from a pose to the point."""
        return math.hypot(self.x_mm - pose.x_mm, self.y_mm - pose.y_mm)


@dataclass(frozen=True)
class Schedule:
    """Strengths that are given, each from a time on.

    Args:
        pieces: `(from_seconds, left, right)`, times rising from 0.

    Raises:
        ArgumentError: no pieces, times that do not rise from 0, or a strength outside 0 .. 1.

    >>> Schedule([(0.0, 1.0, 0.0), (2.0, 0.0, 1.0)])(Pose(time_seconds=2.5))
    (0.0, 1.0)
    """

    pieces: Sequence[tuple[float, float, float]]

    def __post_init__(self) -> None:
        pieces = tuple((float(start), float(left), float(right)) for start, left, right in self.pieces)
        starts = [start for start, _, _ in pieces]
        if not starts or starts[0] != 0 or any(not a < b for a, b in pairwise(starts)):
            raise ArgumentError("schedule", expected="times that rise from 0", got=str(starts), hint="begin with 0 and sort")
        for _, *strengths in pieces:
            if not all(0 <= value <= 1 for value in strengths):
                raise ArgumentError("schedule", expected="strengths from 0 to 1", got=str(tuple(strengths)), hint="scale them")
        object.__setattr__(self, "pieces", pieces)

    @classmethod
    def from_text(cls, text: str) -> Schedule:
        """Read `"0:1,0 2:0,1"`: from 0 s full on the left, from 2 s full on the right.

        Raises:
            ArgumentError: text of another form.
        """
        try:
            pieces = []
            for piece in text.split():
                start, _, strengths = piece.partition(":")
                left, right = strengths.split(",")
                pieces.append((float(start), float(left), float(right)))
        except ValueError:
            raise ArgumentError(
                "schedule", expected='pieces "SECONDS:LEFT,RIGHT"', got=text, hint='such as "0:1,0 2:0,1"'
            ) from None
        return cls(pieces)

    def __call__(self, pose: Pose) -> tuple[float, float]:
        """Strengths on the left and on the right."""
        # half a microsecond of mercy: a step that begins at a change belongs to what follows
        _, left, right = [piece for piece in self.pieces if piece[0] <= pose.time_seconds + 5e-7][-1]
        return left, right
