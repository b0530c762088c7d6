"""The real body: NeuroMechFly, a biomechanical fruit fly that walks on six legs in MuJoCo, under the interface of every body.

It is the extra `fly`, and heavy: seconds of computing for a second of walking. flygym 2 composes a fly, a world and a
controller; flygym 1 (`flygym-gymnasium`, and `flygym` below 2) has one simulation that is its own controller. They differ in
everything but MuJoCo, so `Legs` holds what differs: building the fly, and one tick of the turning controller with the physics
steps that follow it. Wang-Chen et al. 2024, "NeuroMechFly v2", Nature Methods 21, 2353-2362, doi 10.1038/s41592-024-02497-y.
"""

from __future__ import annotations

import math
import os
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from ordinate.arguments import check_choice, check_integer
from ordinate.errors import ArgumentError, MissingExtraError, RefusedError
from ordinate.extras import install_command
from ordinate.reservoir.body.kinematic import Pose, checked_drive

__all__ = ["GENERATIONS", "INSTALL", "Legs", "NeuroMechFly", "installed_generation", "legs"]

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
        if generation is not None:
            check_choice("generation", generation, GENERATIONS)
        check_integer("physics_steps", physics_steps, minimum=1)
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


GENERATIONS = {
    "flygym-2": "flygym 2 (Python 3.12)",
    "flygym-gymnasium": "flygym-gymnasium, the fork that keeps flygym 1 alive",
    "flygym-1": "flygym below 2",
}

INSTALL = install_command("fly")

_PHYSICS_SECONDS = 1e-4  # what both generations' contacts are tuned for

_PERSISTENCE_SECONDS = 2e-3  # for how long the controller goes on lifting a stuck leg: 20 physics steps there


class Legs(ABC):
    """A fly in a simulator.

    Attributes:
        model: MuJoCo's `MjModel`.
        data: MuJoCo's `MjData`.
        thorax: the number of the body that carries the pose.
        tick_seconds: how long one tick lasts.
    """

    model: Any
    data: Any
    thorax: int
    tick_seconds: float

    @abstractmethod
    def reset(self, seed: int) -> None:
        """Back to the start; the legs' phases are drawn from the seed."""

    @abstractmethod
    def tick(self, left: float, right: float) -> None:
        """The controller once, then the physics steps until it is its turn again."""


def installed_generation() -> str | None:
    """Which of `GENERATIONS` is installed, the newest first, or None; nothing is imported."""
    if find_spec("mujoco") is None:
        return None
    if find_spec("flygym_demo") is not None and find_spec("flygym") is not None:
        return "flygym-2"
    if find_spec("flygym_gymnasium") is not None:
        return "flygym-gymnasium"
    return "flygym-1" if find_spec("flygym") is not None else None


def legs(generation: str | None = None, *, physics_steps: int = 10) -> Legs:
    """A walking fly of a generation of flygym, by default of the newest one that is installed.

    Args:
        generation: a key of `GENERATIONS`.
        physics_steps: of 0.1 ms, between two turns of the controller.

    Raises:
        MissingExtraError: flygym, or what its walking fly needs, is not installed.
    """
    chosen = installed_generation() if generation is None else generation
    if chosen is None:
        raise MissingExtraError("fly", expected="the package flygym and MuJoCo", got="none installed", hint=INSTALL)
    if "MUJOCO_GL" not in os.environ and sys.platform == "linux" and not os.environ.get("DISPLAY"):
        os.environ["MUJOCO_GL"] = "egl"  # read when MuJoCo is imported; its own default would look for a screen
    try:
        if chosen == "flygym-2":
            return _Composed(physics_steps)
        return _Gymnasium("flygym_gymnasium" if chosen == "flygym-gymnasium" else "flygym", physics_steps)
    except ImportError as problem:
        hint = "pip install networkx" if problem.name == "networkx" else INSTALL
        raise MissingExtraError(
            "fly", expected=f"{GENERATIONS[chosen]} with what its walking fly needs", got=str(problem), hint=hint
        ) from None


def _numbered(model: Any, body: str) -> int:
    import mujoco

    return int(mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_BODY, body))


class _Composed(Legs):
    """flygym 2: fly, world and controller are parts, and the physics steps are ours to count."""

    def __init__(self, physics_steps: int) -> None:
        from flygym import Simulation
        from flygym.compose import FlatGroundWorld
        from flygym.utils.math import Rotation3D

        complex_terrain = import_module("flygym_demo.complex_terrain")
        self._parts = complex_terrain
        self._physics_steps, self.tick_seconds = physics_steps, physics_steps * _PHYSICS_SECONDS
        self._fly = complex_terrain.make_locomotion_fly(colorize=True)
        world = FlatGroundWorld()
        world.add_fly(self._fly, (0.0, 0.0, 1.0), Rotation3D("quat", (1, 0, 0, 0)))
        self._simulation = Simulation(world, timestep=_PHYSICS_SECONDS)
        self._controller = complex_terrain.HybridTurningController(
            timestep=self.tick_seconds,
            output_dof_order=self._fly.get_actuated_jointdofs_order("position"),
            retraction_persistence_steps=max(1, round(_PERSISTENCE_SECONDS / self.tick_seconds)),
        )
        self.model, self.data = self._simulation.mj_model, self._simulation.mj_data
        self.thorax = _numbered(self.model, f"{self._fly.name}/c_thorax")

    def reset(self, seed: int) -> None:
        self._simulation.reset()
        self._simulation.forward()  # poses are derived from the state, and a reset only restores the state
        self._controller.reset(seed=seed)

    def tick(self, left: float, right: float) -> None:
        seen = self._parts.HybridControllerObservation.from_sim(self._simulation, self._fly.name)
        action = self._controller.step(np.array([left, right]), seen)
        self._parts.apply_locomotion_action(self._simulation, self._fly.name, action)
        for _ in range(self._physics_steps):
            self._simulation.step()


class _Gymnasium(Legs):
    """flygym 1: the controller is the simulation, and takes one physics step each time it is asked."""

    def __init__(self, package: str, physics_steps: int) -> None:
        library = import_module(package)
        walking = import_module(f"{package}.examples.locomotion")
        self.tick_seconds = physics_steps * _PHYSICS_SECONDS
        touching = ("Tibia", "Tarsus1", "Tarsus2", "Tarsus3", "Tarsus4", "Tarsus5")
        fly = library.Fly(
            enable_adhesion=True,
            contact_sensor_placements=[f"{leg}{part}" for leg in ("LF", "LM", "LH", "RF", "RM", "RH") for part in touching],
            spawn_pos=(0.0, 0.0, 0.2),
        )
        walker = walking.HybridTurningController(fly=fly, cameras=[], timestep=_PHYSICS_SECONDS)
        # the controller's clock becomes the longer tick, and the physics takes its own steps within it
        walker.timestep = walker.cpg_network.timestep = self.tick_seconds
        walker.retraction_persistence_duration = max(1, round(_PERSISTENCE_SECONDS / self.tick_seconds))
        once = walker.physics.step
        walker.physics.step = lambda: once(physics_steps)
        self._simulation = walker
        self.model, self.data = walker.physics.model.ptr, walker.physics.data.ptr
        self.thorax = _numbered(self.model, f"{fly.name}/Thorax")

    def reset(self, seed: int) -> None:
        self._simulation.reset(seed=seed)

    def tick(self, left: float, right: float) -> None:
        self._simulation.step(np.array([left, right]))
