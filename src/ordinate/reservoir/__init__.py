"""A connectome as a recurrent network: its gain, its dynamics, what can be read out of it, and its left and right."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ordinate.reservoir.body import KinematicFly
from ordinate.reservoir.connectome import Connectome
from ordinate.reservoir.dynamics import LeakyRate, State
from ordinate.reservoir.laterality import Laterality, laterality
from ordinate.reservoir.memristive import Memristive
from ordinate.reservoir.readout import RidgeReadout
from ordinate.reservoir.reservoir import Reservoir
from ordinate.reservoir.spiking import LeakyIntegrateAndFire

if TYPE_CHECKING:
    from ordinate.reservoir.estimator import EchoStateRegressor
    from ordinate.reservoir.estimator_classifier import EchoStateClassifier

__all__ = [
    "Connectome",
    "EchoStateClassifier",
    "EchoStateRegressor",
    "KinematicFly",
    "Laterality",
    "LeakyIntegrateAndFire",
    "LeakyRate",
    "Memristive",
    "Reservoir",
    "RidgeReadout",
    "State",
    "laterality",
]

# scikit-learn takes longer to import than all the rest, and only these two need it
_ESTIMATORS = {"EchoStateClassifier": "estimator_classifier", "EchoStateRegressor": "estimator"}


def __getattr__(name: str) -> Any:
    if name in _ESTIMATORS:
        return getattr(import_module(f"{__name__}.{_ESTIMATORS[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
