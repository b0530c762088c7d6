"""Networks of logic gates: trained by relaxation or grown, turned into circuits, proven, run, and put on a chip.

Sub-packages, from below: `kernels` (compiled code), `circuit` (plain data, files, runtime), `simplify` (passes and proofs),
`export` (C, Verilog, BLIF, AIGER, look-up tables), `readers` (other programs' circuits and networks), `chip`, `network` (layers
and training), `growth`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import ordinate.logic.methods  # noqa: F401 - binds the methods of Circuit
from ordinate.logic.circuit.circuit import Circuit, Votes
from ordinate.logic.circuit.input_thresholds import FixedPoint, InputThresholds
from ordinate.logic.circuit.luts import LutCircuit
from ordinate.logic.circuit.runtime import BitParallel
from ordinate.logic.export.blif_aiger import aiger, blif, lut_blif
from ordinate.logic.export.c import c_header, c_source
from ordinate.logic.export.lut_mapping import Lut, LutNetwork, map_luts
from ordinate.logic.export.verilog import verilog
from ordinate.logic.growth.grow import GrownCircuit, GrowthRound, GrowthSettings, grow
from ordinate.logic.network.convolution_blocks import ConvolutionBlock, convolution_layers, gates_at_every_place
from ordinate.logic.network.fine_tuning import fine_tuned
from ordinate.logic.network.layers import GroupSum, LogicConv2d, LogicDense, OrPooling2d, Thresholds
from ordinate.logic.network.lut_layer import LutDense
from ordinate.logic.network.network import LogicNetwork
from ordinate.logic.network.to_circuit import lut_circuit
from ordinate.logic.network.training import EpochReport, Training, TrainingSettings, accuracy, train
from ordinate.logic.readers.blif_aiger import read_aiger, read_blif
from ordinate.logic.readers.networks import Imported, from_module, from_state_dict
from ordinate.logic.simplify import (
    PASSES,
    Equivalence,
    Simplified,
    absorb,
    dead_code_elimination,
    equivalent,
    fold,
    sat_sweeping,
    simplify,
    structural_hashing,
)
from ordinate.moved import keep_old_spellings

if TYPE_CHECKING:
    from ordinate.logic.classifier import LogicClassifier

keep_old_spellings()

__all__ = [
    "PASSES",
    "BitParallel",
    "Circuit",
    "ConvolutionBlock",
    "EpochReport",
    "Equivalence",
    "FixedPoint",
    "GroupSum",
    "GrownCircuit",
    "GrowthRound",
    "GrowthSettings",
    "Imported",
    "InputThresholds",
    "LogicClassifier",
    "LogicConv2d",
    "LogicDense",
    "LogicNetwork",
    "Lut",
    "LutCircuit",
    "LutDense",
    "LutNetwork",
    "OrPooling2d",
    "Simplified",
    "Thresholds",
    "Training",
    "TrainingSettings",
    "Votes",
    "absorb",
    "accuracy",
    "aiger",
    "blif",
    "c_header",
    "c_source",
    "convolution_layers",
    "dead_code_elimination",
    "equivalent",
    "fine_tuned",
    "fold",
    "from_module",
    "from_state_dict",
    "gates_at_every_place",
    "grow",
    "lut_blif",
    "lut_circuit",
    "map_luts",
    "read_aiger",
    "read_blif",
    "sat_sweeping",
    "simplify",
    "structural_hashing",
    "train",
    "verilog",
]


def __getattr__(name: str) -> Any:
    """`LogicClassifier` comes with scikit-learn, which nothing else here needs at import."""
    if name == "LogicClassifier":
        from ordinate.logic.classifier import LogicClassifier

        return LogicClassifier
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
