"""The two generations of flygym behind one small face: a walking NeuroMechFly as a MuJoCo model that two numbers drive.

flygym 2 composes a fly, a world and a controller; flygym 1 (`flygym-gymnasium`, and `flygym` below 2) has one simulation that
is its own controller. They differ in everything but MuJoCo, so only what differs is here: building the fly, and one tick of the
turning controller with the physics steps that follow it. Poses, pictures and the window read MuJoCo alone. Wang-Chen et al.
2024, doi 10.1038/s41592-024-02497-y.
"""

from __future__ import annotations

import os
import sys
from abc import ABC, abstractmethod
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from ordinate.errors import MissingExtraError

__all__ = ["GENERATIONS", "INSTALL", "Legs", "installed_generation", "legs"]

GENERATIONS = {
    "flygym-2": "flygym 2 (Python 3.12)",
    "flygym-gymnasium": "flygym-gymnasium, the fork that keeps flygym 1 alive",
    "flygym-1": "flygym below 2",
}

INSTALL = "pip install 'ordinate[fly]'"

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
        raise MissingExtraError("fly", expected="the package flygym and MuJoCo", got="not installed", hint=INSTALL)
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
        made = walking.HybridTurningController(fly=fly, cameras=[], timestep=_PHYSICS_SECONDS)
        # the controller's clock becomes the longer tick, and the physics takes its own steps within it
        made.timestep = made.cpg_network.timestep = self.tick_seconds
        made.retraction_persistence_duration = max(1, round(_PERSISTENCE_SECONDS / self.tick_seconds))
        once = made.physics.step
        made.physics.step = lambda: once(physics_steps)
        self._simulation = made
        self.model, self.data = made.physics.model.ptr, made.physics.data.ptr
        self.thorax = _numbered(self.model, f"{fly.name}/Thorax")

    def reset(self, seed: int) -> None:
        self._simulation.reset(seed=seed)

    def tick(self, left: float, right: float) -> None:
        self._simulation.step(np.array([left, right]))
