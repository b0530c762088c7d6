"""What can be read out of a reservoir: ridge regression, online rules, classes, metrics. Estimators are imported by name."""

from ordinate.reservoir.readout.classes import POOLINGS, ClassReadout, pool
from ordinate.reservoir.readout.metrics import (
    accuracy,
    nrmse_by_mean,
    nrmse_by_range,
    nrmse_by_std,
    r_squared,
    rmse,
    valid_steps,
    valid_time,
)
from ordinate.reservoir.readout.next_generation import NextGenerationReadout, delay_features
from ordinate.reservoir.readout.online import ForceRun, RecursiveLeastSquares, force
from ordinate.reservoir.readout.ridge import RidgeReadout

__all__ = [
    "POOLINGS",
    "ClassReadout",
    "ForceRun",
    "NextGenerationReadout",
    "RecursiveLeastSquares",
    "RidgeReadout",
    "accuracy",
    "delay_features",
    "force",
    "nrmse_by_mean",
    "nrmse_by_range",
    "nrmse_by_std",
    "pool",
    "r_squared",
    "rmse",
    "valid_steps",
    "valid_time",
]
