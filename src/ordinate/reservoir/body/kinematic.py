"""A body that two numbers steer: `step((left, right)) -> Pose`, and a light fly that moves by formula.

Every body here has this one interface, so that a brain does not know whether it walks by two lines of arithmetic or by six
legs in a physics simulator (`ordinate.reservoir.body_neuromechfly`). The two numbers are the descending drive of the legs of
each side, as in NeuroMechFly's turning controller (Wang-Chen et al. 2024, doi 10.1038/s41592-024-02497-y): the amplitude of the
legs' oscillators, 1 an ordinary step. Seen from above, x points ahead at the start, y to the fly's left, and a turn to the left
counts as positive: legs that walk harder on the right push the fly to the left.
"""

from __future__ import annotations

import math
import reprlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from ordinate.arguments import check_number
from ordinate.errors import ArgumentError, ArgumentTypeError, ShapeError

__all__ = ["LARGEST_DRIVE", "Body", "KinematicFly", "Pose", "checked_drive"]

LARGEST_DRIVE = 1.5
"""Drive that no body takes more of: NeuroMechFly's legs lose their grip beyond."""


@dataclass(frozen=True)
class Pose:
    """Where a body is and where it looks.

    Args:
        time_seconds: since the start.
        x_mm: ahead of the start.
        y_mm: to the left of the start.
        heading_radians: turned to the left since the start, whole turns counted.
    """

    time_seconds: float = 0.0
    x_mm: float = 0.0
    y_mm: float = 0.0
    heading_radians: float = 0.0

    def bearing_of(self, x_mm: float, y_mm: float) -> float:
        """The angle from straight ahead to a point, in radians from -pi to pi, positive where the point lies to the left.

        >>> Pose().bearing_of(0.0, 3.0) == math.pi / 2
        True
        """
        angle = math.atan2(y_mm - self.y_mm, x_mm - self.x_mm) - self.heading_radians
        return math.remainder(angle, 2 * math.pi)


@runtime_checkable
class Body(Protocol):
    """Anything that two numbers steer."""

    @property
    def step_seconds(self) -> float:
        """How long one step lasts."""

    @property
    def pose(self) -> Pose:
        """Where it is now."""

    def step(self, drive: Sequence[float]) -> Pose:
        """Walk for `step_seconds` under a drive `(left, right)`, each from 0 to 1.5, and tell where it is then."""

    def reset(self) -> Pose:
        """Back to the start."""

    def close(self) -> None:
        """Give back what it holds; it cannot walk afterwards."""


def checked_drive(drive: Sequence[float]) -> tuple[float, float]:
    """A drive `(left, right)` as two floats.

    Raises:
        ShapeError: not two numbers.
        ArgumentTypeError: something that is no number.
        ArgumentError: a number outside 0 .. 1.5, or NaN.

    >>> checked_drive([1, 0.5])
    (1.0, 0.5)
    """
    if not hasattr(drive, "__len__") or len(drive) != 2:
        raise ShapeError("drive", expected="two numbers (left, right)", got=reprlib.repr(drive), hint="give one a side")
    try:
        left, right = (float(value) for value in drive)
    except (TypeError, ValueError):
        raise ArgumentTypeError("drive", expected="two numbers (left, right)", got=reprlib.repr(drive)) from None
    if not (0 <= left <= LARGEST_DRIVE and 0 <= right <= LARGEST_DRIVE):
        raise ArgumentError(
            "drive", expected=f"two numbers from 0 to {LARGEST_DRIVE}", got=f"({left:g}, {right:g})", hint="scale or clip it"
        )
    return left, right


class KinematicFly:
    """A fly without legs that walks as NeuroMechFly does on average.

    Under a drive `(l, r)` it turns by `154.5 (r - l)` degrees a second, to the left where positive, and walks at
    `13.1 (l + r) / 2 - 1.3 |r - l|` mm a second, but never backwards. While the drive is constant its path is an arc, and a
    step follows that arc exactly: two steps of half the length end where one does.

    Args:
        step_seconds: how long one step lasts.
        yaw_degrees_per_second: yaw rate for each unit of `r - l`.
        speed_mm_per_second: speed for each unit of the mean drive.
        slowing_mm_per_second: speed lost for each unit of `|r - l|`.

    Raises:
        ArgumentError: a step that is not positive, or a coefficient that is not finite.

    The coefficients were fitted to the simulator; `bench/body.py` fits them again, and `refitted` has its result.

    >>> fly = KinematicFly(step_seconds=1.0)
    >>> pose = fly.step((1.0, 1.0))
    >>> round(pose.x_mm, 3), round(pose.y_mm, 3)
    (13.1, 0.0)
    >>> round(math.degrees(fly.step((0.5, 1.0)).heading_radians), 2)
    77.25
    """

    def __init__(
        self,
        step_seconds: float = 0.01,
        *,
        yaw_degrees_per_second: float = 154.5,
        speed_mm_per_second: float = 13.1,
        slowing_mm_per_second: float = 1.3,
    ) -> None:
        check_number("step_seconds", step_seconds, above=0, hint="such as 0.01")
        for name, value in (
            ("yaw_degrees_per_second", yaw_degrees_per_second),
            ("speed_mm_per_second", speed_mm_per_second),
            ("slowing_mm_per_second", slowing_mm_per_second),
        ):
            check_number(name, value, hint="leave it out for the fitted one")
        self.yaw_degrees_per_second = yaw_degrees_per_second
        self.speed_mm_per_second = speed_mm_per_second
        self.slowing_mm_per_second = slowing_mm_per_second
        self._step_seconds = step_seconds
        self._steps = 0
        self._pose = Pose()

    @classmethod
    def refitted(cls, step_seconds: float = 0.01) -> KinematicFly:
        """The same fly with what `bench/body.py` finds on flygym 2.1.1 over drives from 0.2 to 1.2.

        The simulator turns the more steeply the more the drives differ, so one slope over all differences is steeper than the
        usual one, which fits small differences best.
        """
        return cls(step_seconds, yaw_degrees_per_second=191.5, speed_mm_per_second=14.09, slowing_mm_per_second=0.59)

    def __repr__(self) -> str:
        return (
            f"KinematicFly({self._step_seconds:g}, yaw_degrees_per_second={self.yaw_degrees_per_second:g}, "
            f"speed_mm_per_second={self.speed_mm_per_second:g}, slowing_mm_per_second={self.slowing_mm_per_second:g})"
        )

    @property
    def step_seconds(self) -> float:
        """How long one step lasts."""
        return self._step_seconds

    @property
    def pose(self) -> Pose:
        """Where it is now."""
        return self._pose

    def yaw_rate(self, drive: Sequence[float]) -> float:
        """Radians a second to the left, under a drive `(left, right)`."""
        left, right = checked_drive(drive)
        return math.radians(self.yaw_degrees_per_second) * (right - left)

    def speed(self, drive: Sequence[float]) -> float:
        """Millimetres a second, under a drive `(left, right)`; not below 0."""
        left, right = checked_drive(drive)
        return max(0.0, self.speed_mm_per_second * (left + right) / 2 - self.slowing_mm_per_second * abs(right - left))

    def step(self, drive: Sequence[float]) -> Pose:
        """Walk for `step_seconds` under a drive `(left, right)`, each from 0 to 1.5, and tell where it is then.

        Raises:
            ShapeError, ArgumentTypeError, ArgumentError: as `checked_drive`.
        """
        seconds, before = self._step_seconds, self._pose
        half_turn = self.yaw_rate(drive) * seconds / 2
        # the chord of the arc: it points half a turn aside and is shorter than the arc by sin(half)/half
        chord = self.speed(drive) * seconds * (math.sin(half_turn) / half_turn if half_turn else 1.0)
        self._steps += 1
        self._pose = Pose(
            self._steps * seconds,  # not a sum: times would drift
            before.x_mm + chord * math.cos(before.heading_radians + half_turn),
            before.y_mm + chord * math.sin(before.heading_radians + half_turn),
            before.heading_radians + 2 * half_turn,
        )
        return self._pose

    def reset(self) -> Pose:
        """Back to the start."""
        self._steps, self._pose = 0, Pose()
        return self._pose

    def close(self) -> None:
        """Nothing to give back."""
