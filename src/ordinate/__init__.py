"""Position in attention, connectome reservoirs and logic-gate networks, with every claim measured.

Importing this package imports nothing heavy. The names that people look for are here as well as in their packages, and import
what they need when they are first used: `ordinate.Rotary` imports torch, `ordinate.inspect_config` does not.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from ordinate.attention import AttentionPooling as AttentionPooling
    from ordinate.attention import Causal as Causal
    from ordinate.attention import Decoder as Decoder
    from ordinate.attention import Documents as Documents
    from ordinate.attention import KVCache as KVCache
    from ordinate.attention import MeanPooling as MeanPooling
    from ordinate.attention import MultiHeadAttention as MultiHeadAttention
    from ordinate.attention import Padding as Padding
    from ordinate.attention import Window as Window
    from ordinate.attention import attend as attend
    from ordinate.attention import generate as generate
    from ordinate.attention import load_decoder as load_decoder
    from ordinate.errors import OrdinateError as OrdinateError
    from ordinate.frequencies import DynamicNTK as DynamicNTK
    from ordinate.frequencies import Linear as Linear
    from ordinate.frequencies import Llama3 as Llama3
    from ordinate.frequencies import LongRoPE as LongRoPE
    from ordinate.frequencies import NTKAware as NTKAware
    from ordinate.frequencies import YaRN as YaRN
    from ordinate.frequencies import inverse_frequencies as inverse_frequencies
    from ordinate.inspection import difference as difference
    from ordinate.inspection import estimate_memory as estimate_memory
    from ordinate.inspection import inspect_config as inspect_config
    from ordinate.inspection import inspect_gguf as inspect_gguf
    from ordinate.logic import Circuit as Circuit
    from ordinate.logic import GroupSum as GroupSum
    from ordinate.logic import LogicConv2d as LogicConv2d
    from ordinate.logic import LogicDense as LogicDense
    from ordinate.logic import LogicNetwork as LogicNetwork
    from ordinate.position import DAPE as DAPE
    from ordinate.position import FIRE as FIRE
    from ordinate.position import GRAPE as GRAPE
    from ordinate.position import ALiBi as ALiBi
    from ordinate.position import AxialRotary as AxialRotary
    from ordinate.position import ContinuousWindowBias2D as ContinuousWindowBias2D
    from ordinate.position import ConvolutionalPosition as ConvolutionalPosition
    from ordinate.position import CoPE as CoPE
    from ordinate.position import DecomposedRelative as DecomposedRelative
    from ordinate.position import DepthwisePosition as DepthwisePosition
    from ordinate.position import DisentangledRelative as DisentangledRelative
    from ordinate.position import DualChunk as DualChunk
    from ordinate.position import ForgetGates as ForgetGates
    from ordinate.position import FourierFeatures as FourierFeatures
    from ordinate.position import GatedBias as GatedBias
    from ordinate.position import Kerple as Kerple
    from ordinate.position import LeakyReRoPE as LeakyReRoPE
    from ordinate.position import LearnedGrid as LearnedGrid
    from ordinate.position import LearnedRotary as LearnedRotary
    from ordinate.position import LearnedTable as LearnedTable
    from ordinate.position import LogTemperature as LogTemperature
    from ordinate.position import MixedRotary as MixedRotary
    from ordinate.position import MultiHeadRotary as MultiHeadRotary
    from ordinate.position import MultimodalRotary as MultimodalRotary
    from ordinate.position import MusicRelative as MusicRelative
    from ordinate.position import NoPosition as NoPosition
    from ordinate.position import PaTH as PaTH
    from ordinate.position import PathIntegralBias as PathIntegralBias
    from ordinate.position import PoPE as PoPE
    from ordinate.position import RePo as RePo
    from ordinate.position import ReRoPE as ReRoPE
    from ordinate.position import Rotary as Rotary
    from ordinate.position import Sandwich as Sandwich
    from ordinate.position import SelectiveRotary as SelectiveRotary
    from ordinate.position import SelfExtend as SelfExtend
    from ordinate.position import ShawRelative as ShawRelative
    from ordinate.position import Sinusoidal as Sinusoidal
    from ordinate.position import SinusoidalGrid as SinusoidalGrid
    from ordinate.position import SteppedTemperature as SteppedTemperature
    from ordinate.position import StreamingLLM as StreamingLLM
    from ordinate.position import T5Bias as T5Bias
    from ordinate.position import TextLayoutBias as TextLayoutBias
    from ordinate.position import Time2Vec as Time2Vec
    from ordinate.position import TimeEncoding as TimeEncoding
    from ordinate.position import TransformerXLRelative as TransformerXLRelative
    from ordinate.position import WindowBias2D as WindowBias2D
    from ordinate.position import XPos as XPos
    from ordinate.position import build as build
    from ordinate.position import convert_layout as convert_layout
    from ordinate.position import indices as indices
    from ordinate.position import rotate_pairs as rotate_pairs
    from ordinate.reservoir import Connectome as Connectome
    from ordinate.reservoir import EchoStateClassifier as EchoStateClassifier
    from ordinate.reservoir import EchoStateRegressor as EchoStateRegressor
    from ordinate.reservoir import Reservoir as Reservoir
    from ordinate.reservoir import RidgeReadout as RidgeReadout
    from ordinate.reservoir import laterality as laterality
    from ordinate.spec import PositionSpec as PositionSpec
    from ordinate.verify import check_attention as check_attention
    from ordinate.verify import check_axial as check_axial
    from ordinate.verify import check_bias as check_bias
    from ordinate.verify import check_decoder as check_decoder
    from ordinate.verify import check_embedding as check_embedding
    from ordinate.verify import check_model as check_model
    from ordinate.verify import check_rotary as check_rotary

_NAMES = {
    "attention": (
        "AttentionPooling Causal Decoder Documents KVCache MeanPooling MultiHeadAttention Padding Window attend "
        "generate load_decoder"
    ),
    "errors": "OrdinateError",
    "frequencies": "DynamicNTK Linear Llama3 LongRoPE NTKAware YaRN inverse_frequencies",
    "inspection": "difference estimate_memory inspect_config inspect_gguf",
    "logic": "Circuit GroupSum LogicConv2d LogicDense LogicNetwork",
    "position": (
        "ALiBi AxialRotary CoPE ContinuousWindowBias2D ConvolutionalPosition DAPE DecomposedRelative "
        "DepthwisePosition DisentangledRelative DualChunk FIRE ForgetGates FourierFeatures GRAPE GatedBias Kerple "
        "LeakyReRoPE LearnedGrid LearnedRotary LearnedTable LogTemperature MixedRotary MultiHeadRotary "
        "MultimodalRotary MusicRelative NoPosition PaTH PathIntegralBias PoPE RePo ReRoPE Rotary Sandwich "
        "SelectiveRotary SelfExtend ShawRelative Sinusoidal SinusoidalGrid SteppedTemperature StreamingLLM T5Bias "
        "TextLayoutBias Time2Vec TimeEncoding TransformerXLRelative WindowBias2D XPos build convert_layout indices "
        "rotate_pairs"
    ),
    "reservoir": "Connectome EchoStateClassifier EchoStateRegressor Reservoir RidgeReadout laterality",
    "spec": "PositionSpec",
    "verify": "check_attention check_axial check_bias check_decoder check_embedding check_model check_rotary",
}
_HOMES = {name: package for package, names in _NAMES.items() for name in names.split()}


if not TYPE_CHECKING:  # so that a type checker still sees a misspelt name

    def __getattr__(name: str) -> Any:
        if name in _NAMES:
            return import_module(f"{__name__}.{name}")
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
        globals()[name] = value  # found at once from now on
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES, *_NAMES})
