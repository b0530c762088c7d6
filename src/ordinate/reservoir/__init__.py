"""A connectome as a recurrent network: its gain, its dynamics, what can be read out of it, and its left and right."""

from ordinate.reservoir.connectome import Connectome
from ordinate.reservoir.dynamics import LeakyRate, State
from ordinate.reservoir.reservoir import Reservoir

__all__ = ["Connectome", "LeakyRate", "Reservoir", "State"]
