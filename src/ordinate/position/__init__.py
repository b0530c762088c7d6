"""Position encodings: each one class, exact in float64 angles, a function of positions that the caller gives."""

from ordinate.position import frequencies, indices
from ordinate.position.absolute import LearnedTable, NoPosition, Sinusoidal
from ordinate.position.alibi import ALiBi, alibi_slopes
from ordinate.position.axial import AxialRotary
from ordinate.position.buckets import T5Bias
from ordinate.position.calendar import unix_seconds
from ordinate.position.catalogue import ENCODINGS, build
from ordinate.position.fire import FIRE
from ordinate.position.grid import LearnedGrid, SinusoidalGrid
from ordinate.position.kernels import Kerple, Sandwich
from ordinate.position.mixed import MixedRotary
from ordinate.position.multimodal import MultimodalRotary
from ordinate.position.pope import PoPE
from ordinate.position.rotary import Rotary
from ordinate.position.rotation import rotate_pairs
from ordinate.position.time import Time2Vec, TimeEncoding
from ordinate.position.xpos import XPos

__all__ = [
    "ENCODINGS",
    "FIRE",
    "ALiBi",
    "AxialRotary",
    "Kerple",
    "LearnedGrid",
    "LearnedTable",
    "MixedRotary",
    "MultimodalRotary",
    "NoPosition",
    "PoPE",
    "Rotary",
    "Sandwich",
    "Sinusoidal",
    "SinusoidalGrid",
    "T5Bias",
    "Time2Vec",
    "TimeEncoding",
    "XPos",
    "alibi_slopes",
    "build",
    "frequencies",
    "indices",
    "rotate_pairs",
    "unix_seconds",
]
