"""A connectome as a recurrent network: its gain, its dynamics, what can be read out of it, and its left and right."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ordinate.moved import keep_old_spellings
from ordinate.reservoir import datasets
from ordinate.reservoir.body import KinematicFly
from ordinate.reservoir.connectome import (
    NULLS,
    Connectome,
    leading_mode,
    mirrored,
    mixing,
    modular,
    normalise,
    random_edges,
    relabelled,
    rewired,
    shuffled_weights,
    signs,
    spectral_radius,
    summarise,
)
from ordinate.reservoir.dynamics import (
    LeakyIntegrateAndFire,
    LeakyRate,
    Memristive,
    Reservoir,
    ShiuLIF,
    State,
    echo_state,
    lyapunov_exponents,
    simulate_spikes,
    tune_gain,
)
from ordinate.reservoir.laterality import Laterality, laterality
from ordinate.reservoir.readout import ClassReadout, NextGenerationReadout, RecursiveLeastSquares, RidgeReadout, force

if TYPE_CHECKING:
    from ordinate.reservoir.readout.estimators import EchoStateClassifier, EchoStateRegressor

__all__ = [
    "NULLS",
    "ClassReadout",
    "Connectome",
    "EchoStateClassifier",
    "EchoStateRegressor",
    "KinematicFly",
    "Laterality",
    "LeakyIntegrateAndFire",
    "LeakyRate",
    "Memristive",
    "NextGenerationReadout",
    "RecursiveLeastSquares",
    "Reservoir",
    "RidgeReadout",
    "ShiuLIF",
    "State",
    "datasets",
    "echo_state",
    "force",
    "laterality",
    "leading_mode",
    "lyapunov_exponents",
    "mirrored",
    "mixing",
    "modular",
    "normalise",
    "random_edges",
    "relabelled",
    "rewired",
    "shuffled_weights",
    "signs",
    "simulate_spikes",
    "spectral_radius",
    "summarise",
    "tune_gain",
]

keep_old_spellings()


def __getattr__(name: str) -> Any:
    # scikit-learn takes longer to import than all the rest, and only these two need it
    if name in ("EchoStateClassifier", "EchoStateRegressor"):
        return getattr(import_module(f"{__name__}.readout.estimators"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
