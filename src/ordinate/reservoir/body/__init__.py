"""Bodies that two numbers steer, and a connectome that steers one; the simulator's body and camera are imported by name."""

from ordinate.reservoir.body.drive import AXONS, Brain, Drive, Schedule, Senses, Target, drive
from ordinate.reservoir.body.kinematic import LARGEST_DRIVE, Body, KinematicFly, Pose, checked_drive

__all__ = [
    "AXONS",
    "LARGEST_DRIVE",
    "Body",
    "Brain",
    "Drive",
    "KinematicFly",
    "Pose",
    "Schedule",
    "Senses",
    "Target",
    "checked_drive",
    "drive",
]
