"""Position encodings: each one class, exact in float64 angles, a function of positions that the caller gives."""

from ordinate.position import frequencies, indices
from ordinate.position.absolute import LearnedTable, NoPosition, Sinusoidal
from ordinate.position.alibi import ALiBi, alibi_slopes
from ordinate.position.axial import AxialRotary
from ordinate.position.buckets import T5Bias
from ordinate.position.calendar import unix_seconds
from ordinate.position.catalogue import ENCODINGS, build
from ordinate.position.contextual import DAPE, CoPE
from ordinate.position.disentangled import DisentangledRelative
from ordinate.position.fire import FIRE
from ordinate.position.grid import LearnedGrid, SinusoidalGrid
from ordinate.position.kernels import Kerple, Sandwich
from ordinate.position.layouts import convert_layout
from ordinate.position.learned_rotary import LearnedRotary
from ordinate.position.mixed import MixedRotary
from ordinate.position.multimodal import MultimodalRotary
from ordinate.position.pope import PoPE
from ordinate.position.regrouped import DualChunk, LeakyReRoPE, ReRoPE, SelfExtend, StreamingLLM
from ordinate.position.relative import MusicRelative, ShawRelative
from ordinate.position.rotary import Rotary
from ordinate.position.rotation import rotate_pairs
from ordinate.position.temperature import LogTemperature, SteppedTemperature
from ordinate.position.time import Time2Vec, TimeEncoding
from ordinate.position.transformer_xl import TransformerXLRelative
from ordinate.position.window_bias import ContinuousWindowBias2D, WindowBias2D
from ordinate.position.xpos import XPos

__all__ = [
    "DAPE",
    "ENCODINGS",
    "FIRE",
    "ALiBi",
    "AxialRotary",
    "CoPE",
    "ContinuousWindowBias2D",
    "DisentangledRelative",
    "DualChunk",
    "Kerple",
    "LeakyReRoPE",
    "LearnedGrid",
    "LearnedRotary",
    "LearnedTable",
    "LogTemperature",
    "MixedRotary",
    "MultimodalRotary",
    "MusicRelative",
    "NoPosition",
    "PoPE",
    "ReRoPE",
    "Rotary",
    "Sandwich",
    "SelfExtend",
    "ShawRelative",
    "Sinusoidal",
    "SinusoidalGrid",
    "SteppedTemperature",
    "StreamingLLM",
    "T5Bias",
    "Time2Vec",
    "TimeEncoding",
    "TransformerXLRelative",
    "WindowBias2D",
    "XPos",
    "alibi_slopes",
    "build",
    "convert_layout",
    "frequencies",
    "indices",
    "rotate_pairs",
    "unix_seconds",
]
