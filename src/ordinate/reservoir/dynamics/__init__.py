"""A connectome as a recurrent network: what its neurons do, how it runs, and the gain at which it does what is wanted."""

from ordinate.reservoir.dynamics.echo_state import EchoState, echo_state
from ordinate.reservoir.dynamics.input_weights import channel_weights, random_input_weights
from ordinate.reservoir.dynamics.interface import Dynamics, State, Wiring
from ordinate.reservoir.dynamics.leaky import ACTIVATIONS, LeakyRate
from ordinate.reservoir.dynamics.lyapunov import lyapunov_exponents
from ordinate.reservoir.dynamics.memristive import Memristive
from ordinate.reservoir.dynamics.reservoir import Generated, Reservoir
from ordinate.reservoir.dynamics.shiu import ShiuLIF, Spikes, poisson_events, raster_figure, simulate_spikes
from ordinate.reservoir.dynamics.spiking import LeakyIntegrateAndFire
from ordinate.reservoir.dynamics.tuning import TunedGain, tune_gain

__all__ = [
    "ACTIVATIONS",
    "Dynamics",
    "EchoState",
    "Generated",
    "LeakyIntegrateAndFire",
    "LeakyRate",
    "Memristive",
    "Reservoir",
    "ShiuLIF",
    "Spikes",
    "State",
    "TunedGain",
    "Wiring",
    "channel_weights",
    "echo_state",
    "lyapunov_exponents",
    "poisson_events",
    "random_input_weights",
    "raster_figure",
    "simulate_spikes",
    "tune_gain",
]
