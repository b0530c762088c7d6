"""A connectome as a recurrent network: its gain, its dynamics, what can be read out of it, and its left and right."""

from ordinate.reservoir.connectome import Connectome
from ordinate.reservoir.reservoir import Reservoir, State

__all__ = ["Connectome", "Reservoir", "State"]
