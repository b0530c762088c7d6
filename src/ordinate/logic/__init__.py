"""Networks of logic gates: trained by relaxation or grown, turned into circuits, proven, run, and put on a chip."""

from ordinate.logic.circuit import Circuit, Votes
from ordinate.logic.convolution_blocks import ConvolutionBlock, convolution_layers, gates_at_every_place
from ordinate.logic.fine_tuning import fine_tuned
from ordinate.logic.growth import GrownCircuit, grow
from ordinate.logic.growth_settings import GrowthRound, GrowthSettings
from ordinate.logic.input_thresholds import InputThresholds
from ordinate.logic.layers_convolution import LogicConv2d, OrPooling2d
from ordinate.logic.layers_dense import LogicDense
from ordinate.logic.layers_readout import GroupSum
from ordinate.logic.network import LogicNetwork
from ordinate.logic.thresholds import Thresholds
from ordinate.logic.training import Training, accuracy, train
from ordinate.logic.training_settings import EpochReport, TrainingSettings

__all__ = [
    "Circuit",
    "ConvolutionBlock",
    "EpochReport",
    "GroupSum",
    "GrownCircuit",
    "GrowthRound",
    "GrowthSettings",
    "InputThresholds",
    "LogicConv2d",
    "LogicDense",
    "LogicNetwork",
    "OrPooling2d",
    "Thresholds",
    "Training",
    "TrainingSettings",
    "Votes",
    "accuracy",
    "convolution_layers",
    "fine_tuned",
    "gates_at_every_place",
    "grow",
    "train",
]
