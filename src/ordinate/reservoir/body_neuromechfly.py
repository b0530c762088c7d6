"""The real body: NeuroMechFly, a biomechanical fruit fly that walks on six legs in MuJoCo, under the interface of every body.

It is the extra `fly`, and heavy: seconds of computing for a second of walking. What differs between the generations of flygym
is in `body_generations`; pictures and films are taken by `body_camera`. Wang-Chen et al. 2024, "NeuroMechFly v2", Nature
Methods 21, 2353-2362, doi 10.1038/s41592-024-02497-y.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ordinate.errors import ArgumentError, RefusedError, UnknownNameError
from ordinate.reservoir.body import Pose, checked_drive
from ordinate.reservoir.body_generations import GENERATIONS, Legs, installed_generation, legs

__all__ = ["NeuroMechFly"]

PHYSICS_STEP_SECONDS = 1e-4


class NeuroMechFly:
    """A fly with six legs in MuJoCo, that a drive `(left, right)` steers through flygym's hybrid turning controller.

    The controller (coupled oscillators for the legs, with corrections where a leg stumbles or hangs) has its turn every ten
    physics steps of 0.1 ms, with its own clock set to match: asked at every step, as flygym's examples do, it costs six times
    as much and walks alike (`bench/body.py` measures both).

    Args:
        step_seconds: how long one step lasts; whole turns of the controller.
        seed: draws the phases that the legs start in.
        generation: "flygym-2", "flygym-gymnasium" or "flygym-1"; by default the newest that is installed.
        physics_steps: between two turns of the controller.

    Raises:
        MissingExtraError: flygym is not installed; the message says how.
        UnknownNameError: another generation.
        ArgumentError: a step that is not a whole number of turns.

    A film or a window is fed by `watch`. Use it in a `with`, or `close` it.
    """

    def __init__(
        self, step_seconds: float = 0.01, *, seed: int = 0, generation: str | None = None, physics_steps: int = 10
    ) -> None:
        if generation is not None and generation not in GENERATIONS:
            raise UnknownNameError("generation", expected=f"one of {list(GENERATIONS)}", got=generation, hint="or leave it out")
        if physics_steps < 1:
            raise ArgumentError("physics_steps", expected="at least 1", got=physics_steps, hint="10 is a good number")
        tick = physics_steps * PHYSICS_STEP_SECONDS
        self._ticks = round(step_seconds / tick) if math.isfinite(step_seconds) else 0
        if self._ticks < 1 or not math.isclose(self._ticks * tick, step_seconds, rel_tol=1e-9):
            raise ArgumentError("step_seconds", expected=f"a multiple of {tick:g} s", got=step_seconds, hint="such as 0.01")
        self.generation = generation or installed_generation()
        self.seed, self._step_seconds = seed, step_seconds
        self._legs: Legs | None = legs(self.generation, physics_steps=physics_steps)
        self._watchers: list[Callable[[NeuroMechFly], Any]] = []
        self._pose = self.reset()

    def __repr__(self) -> str:
        return f"NeuroMechFly({self._step_seconds:g}, seed={self.seed}, generation={self.generation!r})"

    def __enter__(self) -> NeuroMechFly:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()

    @property
    def step_seconds(self) -> float:
        """How long one step lasts."""
        return self._step_seconds

    @property
    def pose(self) -> Pose:
        """Where its thorax is now."""
        return self._pose

    @property
    def upright(self) -> float:
        """The cosine of its tilt: 1 on its feet, -1 on its back."""
        return float(self._alive().data.xmat[self._alive().thorax].reshape(3, 3)[2, 2])

    @property
    def model(self) -> Any:
        """MuJoCo's `MjModel`."""
        return self._alive().model

    @property
    def data(self) -> Any:
        """MuJoCo's `MjData`: every joint, contact and force."""
        return self._alive().data

    @property
    def thorax(self) -> int:
        """The number of the thorax among MuJoCo's bodies."""
        return self._alive().thorax

    def watch(self, watcher: Callable[[NeuroMechFly], Any]) -> None:
        """Call a function with this fly after every turn of the controller, such as a film or a window."""
        self._watchers.append(watcher)

    def step(self, drive: Sequence[float]) -> Pose:
        """Walk for `step_seconds` under a drive `(left, right)`, each from 0 to 1.5, and tell where it is then.

        Raises:
            ShapeError, ArgumentTypeError, ArgumentError: as `ordinate.reservoir.body.checked_drive`.
            RefusedError: the fly lies on its back, or the physics came apart: no pose would mean anything.
        """
        left, right = checked_drive(drive)
        walking = self._alive()
        for _ in range(self._ticks):
            walking.tick(left, right)
            for watcher in self._watchers:
                watcher(self)
        self._steps += 1
        self._pose = self._read()
        if not math.isfinite(self._pose.x_mm) or self.upright < 0:
            raise RefusedError(
                "body",
                expected="a fly on its feet",
                got=f"one on its back at {self._pose.time_seconds:.2f} s",
                hint="reset it, and drive it less abruptly",
            )
        return self._pose

    def reset(self) -> Pose:
        """Back to the start, its legs in the phases that the seed gives."""
        walking = self._alive()
        walking.reset(self.seed)
        self._steps, self._turns, self._heading = 0, 0.0, self._facing()
        self._origin = tuple(float(value) for value in walking.data.xpos[walking.thorax][:2])
        self._pose = Pose()
        return self._pose

    def close(self) -> None:
        """Let go of the simulator; it cannot walk afterwards."""
        self._legs = None
        self._watchers.clear()

    def _alive(self) -> Legs:
        if self._legs is None:
            raise RefusedError("body", expected="an open simulator", got="a closed one", hint="make another NeuroMechFly")
        return self._legs

    def _facing(self) -> float:
        axes = self._alive().data.xmat[self._alive().thorax].reshape(3, 3)
        return math.atan2(axes[1, 0], axes[0, 0])

    def _read(self) -> Pose:
        heading = self._facing()
        # a step is short against a turn, so the nearest way round is the way it went
        self._turns += math.remainder(heading - self._heading, 2 * math.pi)
        self._heading = heading
        x, y = self._alive().data.xpos[self._alive().thorax][:2]
        return Pose(self._steps * self._step_seconds, float(x) - self._origin[0], float(y) - self._origin[1], self._turns)
