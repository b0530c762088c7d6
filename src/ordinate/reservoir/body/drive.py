"""Brain and body in a closed loop: senses stimulate a connectome, descending neurons steer a fly, and the fly's pose is sensed.

The connectome says how strongly the output cells of each side answer; it does not say how many steps a second that is worth, so
the command to the legs is scaled to the answers of this connectome to one-sided and to equal stimuli, measured beforehand. Only
the sign and the time course of the answer are the connectome's own. Nor do the data say on which side a descending axon ends:
`axons` is an assumption that the caller makes. The four combinations of crossing or not in brain and axons are Braitenberg's
vehicles of fear and aggression (Braitenberg 1984, "Vehicles", ch. 2). What is sensed is a function of a pose that gives two
strengths from 0 to 1, left and right: a target seen from where the fly stands, or a schedule.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from ordinate.arguments import check_choice, check_integer, check_number
from ordinate.errors import ArgumentError, RefusedError
from ordinate.reservoir.body.kinematic import LARGEST_DRIVE, Body, Pose
from ordinate.reservoir.connectome.connectome import Connectome
from ordinate.reservoir.dynamics.interface import State
from ordinate.reservoir.dynamics.reservoir import Reservoir
from ordinate.reservoir.laterality.experiment import cells, prepared

__all__ = ["AXONS", "Brain", "Drive", "Schedule", "Senses", "Target", "drive"]

Array = npt.NDArray[np.float64]

AXONS = ("same", "crossed")

_SETTLING_UPDATES = 60  # by then a leaky network at a gain near 1 has come to rest under a constant stimulus


class Brain:
    """A connectome that is asked for two numbers: how active are the output cells on the left and on the right.

    Args:
        connectome: with sides; its weights are counts of synapses.
        stimulus: which cells sense, a query without a side.
        readout: which cells command, a query without a side.
        normalisation: of the weights, as in `laterality`.
        gain: factor of the normalised weights.
        leak_rate: of the neurons, in (0, 1].
        updates: of the network for each step of the body.
        backwards: let signals run from postsynaptic to presynaptic cells, as no brain does.

    Raises:
        ArgumentError: settings out of range, or a query without cells on either side.
        RefusedError: output cells that answer left and right alike: nothing could be steered.
    """

    def __init__(
        self,
        connectome: Connectome,
        stimulus: str = "sensory",
        readout: str = "descending",
        *,
        normalisation: str = "output",
        gain: float = 0.9,
        leak_rate: float = 0.5,
        updates: int = 2,
        backwards: bool = False,
    ) -> None:
        check_integer("updates", updates, minimum=1)
        self.connectome, self.updates, self.backwards = connectome, updates, backwards
        stimulated = cells(connectome, stimulus, "stimulus")
        left_cells, right_cells = cells(connectome, readout, "readout")
        self.read = np.concatenate([left_cells, right_cells])
        self.num_left = left_cells.size
        self._order = np.searchsorted(np.sort(self.read), self.read)  # a run records in ascending order
        self._reservoir = Reservoir(
            prepared(connectome, normalisation, 1, backwards=backwards), inputs=stimulated, gain=gain, leak_rate=leak_rate
        )
        (self.resting, self._start), (left, _), (right, _) = (
            self._settled(sensed) for sensed in ((0.5, 0.5), (1.0, 0.0), (0.0, 1.0))
        )
        self.reset()
        self.reach = abs(left - right) / 2
        self.crosses = bool(left < right)
        if not self.reach > 1e-9:
            raise RefusedError(
                "readout",
                expected="cells that tell a stimulus on the left from one on the right",
                got=f"a contrast of {self.reach:.1e}",
                hint="choose other cells, or a higher gain",
            )

    def reset(self) -> None:
        """Back to where equal stimuli of 0.5 leave it: a walk does not begin with a brain that wakes up."""
        self._state = self._start

    def answer(self, sensed: tuple[float, float]) -> Array:
        """The activity [R] of the output cells, left ones first, after one step of the body."""
        states, self._state = self._reservoir.advance([list(sensed)] * self.updates, state=self._state, record=self.read)
        return np.asarray(states[-1, self._order], dtype=np.float64)

    def sides(self, activity: Array) -> tuple[float, float]:
        """Its mean over the output cells of the left and of the right."""
        return float(activity[: self.num_left].mean()), float(activity[self.num_left :].mean())

    def turn(self, left: float, right: float) -> float:
        """The contrast of two answers, less what equal stimuli give, in units of what one-sided stimuli give.

        It is near 1 where the left cells answer as they do to a stimulus that makes them answer most, near -1 for the right.
        """
        return (_contrast(left, right) - self.resting) / self.reach

    def _settled(self, sensed: tuple[float, float]) -> tuple[float, State]:
        states, state = self._reservoir.advance([list(sensed)] * _SETTLING_UPDATES, record=self.read)
        return _contrast(*self.sides(np.asarray(states[-1, self._order], dtype=np.float64))), state


def _contrast(left: float, right: float) -> float:
    total = abs(left) + abs(right)
    return (left - right) / total if total else 0.0


@dataclass(frozen=True)
class Drive:
    """What brain and body did, step by step; T steps.

    Args:
        settings: what was asked for, and the results of the calibration.
        poses: T + 1, the start first.
        senses: [T, 2], left and right.
        activity: [T, 2], mean of the output cells on the left and on the right.
        cells: [T, R], each output cell, left ones first.
        num_left: how many of them are on the left.
        commands: [T, 2], the drive of the left and right legs.
        target: of the walk, or None.
    """

    settings: dict[str, Any]
    poses: tuple[Pose, ...] = field(repr=False)
    senses: Array = field(repr=False)
    activity: Array = field(repr=False)
    cells: Array = field(repr=False)
    num_left: int
    commands: Array = field(repr=False)
    target: Target | None = None

    @property
    def path(self) -> Array:
        """[T + 1, 2], x and y in mm."""
        return np.array([(pose.x_mm, pose.y_mm) for pose in self.poses])

    @property
    def turned_degrees(self) -> float:
        """To the left, whole turns counted."""
        return math.degrees(self.poses[-1].heading_radians - self.poses[0].heading_radians)

    @property
    def walked_mm(self) -> float:
        """Length of the path."""
        return float(np.hypot(*np.diff(self.path, axis=0).T).sum())

    @property
    def closest_mm(self) -> float | None:
        """How near it came to its target."""
        return None if self.target is None else min(self.target.distance(pose) for pose in self.poses)

    def to_dict(self, *, traces: bool = False) -> dict[str, Any]:
        """As plain JSON types; with `traces` every step too."""
        last = self.poses[-1]
        result: dict[str, Any] = {
            "settings": self.settings,
            "seconds": last.time_seconds,
            "end": {"x_mm": last.x_mm, "y_mm": last.y_mm, "heading_degrees": math.degrees(last.heading_radians)},
            "turned_degrees": self.turned_degrees,
            "walked_mm": self.walked_mm,
            "mean_command": self.commands.mean(axis=0).tolist(),
            "target": None if self.target is None else {"x_mm": self.target.x_mm, "y_mm": self.target.y_mm},
            "closest_mm": self.closest_mm,
        }
        if traces:
            result["traces"] = {
                "time_seconds": [pose.time_seconds for pose in self.poses],
                "x_mm": [pose.x_mm for pose in self.poses],
                "y_mm": [pose.y_mm for pose in self.poses],
                "heading_radians": [pose.heading_radians for pose in self.poses],
                "senses": self.senses.tolist(),
                "activity": self.activity.tolist(),
                "commands": self.commands.tolist(),
            }
        return result


def drive(
    brain: Brain,
    body: Body,
    senses: Senses,
    *,
    seconds: float,
    level: float = 0.8,
    steering: float = 0.8,
    axons: str = "same",
    scaled: bool = True,
    arrived_mm: float = 3.0,
    progress: Callable[[int, int], None] | None = None,
) -> Drive:
    """Let a brain steer a body by what it senses, until the time is over or the target is reached.

    At each step of the body the brain answers what is sensed; its contrast c, near 1 where the left cells answer most, makes
    the command `level (1 + steering c)` to the legs of one side and `level (1 - steering c)` to those of the other. With
    `axons="same"` the left cells drive the left legs, which turns the fly to the right.

    Args:
        brain: reset to where equal stimuli leave it.
        body: reset to its start.
        senses: a `Target`, a `Schedule`, or any function of a pose.
        seconds: how long.
        level: drive of the legs where nothing is to the side.
        steering: share of it by which a full contrast changes it.
        axons: "same" or "crossed": on which side descending axons end. The connectome does not say.
        scaled: or send the mean activities of the output cells of both sides to the legs as they are, whatever `level` and
            `steering`: how hard the fly walks and turns is then the network's own scale.
        arrived_mm: stop this near the target; a fly is 2.5 mm long.
        progress: called with steps done and all.

    Raises:
        ArgumentError: settings out of range.
        RefusedError: the body fell, or the brain's state diverged.

    >>> from ordinate.reservoir.body.kinematic import KinematicFly
    >>> brain = Brain(Connectome.synthetic(), "sensory", "descending")
    >>> seen = drive(brain, KinematicFly(0.02), Target(20.0, 20.0), seconds=5.0, axons="crossed")
    >>> seen.closest_mm < 3.0
    True
    """
    check_number("seconds", seconds, above=0)
    check_number("level", level, minimum=0, maximum=LARGEST_DRIVE)
    check_number("steering", steering, minimum=0, maximum=1)
    check_choice("axons", axons, AXONS)
    brain.reset()
    steps = max(1, round(seconds / body.step_seconds))
    target = senses if isinstance(senses, Target) else None
    poses, sensed, active, every, commands = [body.reset()], [], [], [], []
    for step in range(steps):
        if progress is not None:
            progress(step, steps)
        if target is not None and target.distance(poses[-1]) <= arrived_mm:
            break
        seen = senses(poses[-1])
        answer = brain.answer(seen)
        sides = brain.sides(answer)
        change = steering * brain.turn(*sides)
        wanted = [level * (1 + change), level * (1 - change)] if scaled else sides
        pair = [min(max(value, 0.0), LARGEST_DRIVE) for value in wanted]  # there is nothing past the largest, and below none
        command = pair if axons == "same" else pair[::-1]
        poses.append(body.step(command))
        sensed.append(seen)
        active.append(sides)
        every.append(answer)
        commands.append(command)
    if progress is not None:
        progress(steps, steps)
    settings = {
        "connectome": brain.connectome.name,
        "body": repr(body),
        "level": level,
        "steering": steering,
        "axons": axons,
        "scaled": scaled,
        "backwards": brain.backwards,
        "brain_crosses": brain.crosses,
        "resting_contrast": brain.resting,
        "one_sided_contrast": brain.reach,
        "step_seconds": body.step_seconds,
    }
    shape = (len(sensed), 2)
    return Drive(
        settings,
        tuple(poses),
        np.array(sensed).reshape(shape),
        np.array(active).reshape(shape),
        np.array(every).reshape(len(every), brain.read.size),
        brain.num_left,
        np.array(commands).reshape(shape),
        target,
    )


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
                raise ArgumentError(name, expected="a finite number", got=getattr(self, name))

    def __call__(self, pose: Pose) -> tuple[float, float]:
        """Strengths on the left and on the right."""
        bearing, eye = pose.bearing_of(self.x_mm, self.y_mm), math.radians(self.eye_degrees)
        return (1 + math.cos(bearing - eye)) / 2, (1 + math.cos(bearing + eye)) / 2

    def distance(self, pose: Pose) -> float:
        """Millimetres from a pose to the point."""
        return math.hypot(self.x_mm - pose.x_mm, self.y_mm - pose.y_mm)


@dataclass(frozen=True)
class Schedule:
    """A schedule of strengths, each from a time on.

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
