"""Every encoding by its name, and `build`, which makes the module that a spec describes. A new encoding is one row."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import nn

from ordinate.errors import ArgumentError, ArgumentTypeError
from ordinate.position.absolute import LearnedTable, NoPosition, Sinusoidal
from ordinate.position.alibi import ALiBi
from ordinate.position.axial import AxialRotary
from ordinate.position.buckets import T5Bias
from ordinate.position.contextual import DAPE, CoPE
from ordinate.position.disentangled import DisentangledRelative
from ordinate.position.fire import FIRE
from ordinate.position.grid import LearnedGrid, SinusoidalGrid
from ordinate.position.kernels import Kerple, Sandwich
from ordinate.position.learned_rotary import LearnedRotary
from ordinate.position.mixed import MixedRotary
from ordinate.position.multimodal import MultimodalRotary
from ordinate.position.pope import PoPE
from ordinate.position.regrouped import DualChunk, LeakyReRoPE, ReRoPE, SelfExtend, StreamingLLM
from ordinate.position.relative import MusicRelative, ShawRelative
from ordinate.position.rotary import Rotary
from ordinate.position.temperature import LogTemperature, SteppedTemperature
from ordinate.position.time import Time2Vec, TimeEncoding
from ordinate.position.transformer_xl import TransformerXLRelative
from ordinate.position.window_bias import ContinuousWindowBias2D, WindowBias2D
from ordinate.position.xpos import XPos
from ordinate.spec import PositionSpec

__all__ = ["ENCODINGS", "build"]

ENCODINGS: dict[str, type[nn.Module]] = {
    "none": NoPosition,
    "sinusoidal": Sinusoidal,
    "learned": LearnedTable,
    "sinusoidal-grid": SinusoidalGrid,
    "learned-grid": LearnedGrid,
    "time": TimeEncoding,
    "time2vec": Time2Vec,
    "rotary": Rotary,
    "learned-rotary": LearnedRotary,
    "stepped-temperature": SteppedTemperature,
    "log-temperature": LogTemperature,
    "axial-rotary": AxialRotary,
    "mixed-rotary": MixedRotary,
    "multimodal-rotary": MultimodalRotary,
    "xpos": XPos,
    "pope": PoPE,
    "alibi": ALiBi,
    "t5": T5Bias,
    "kerple": Kerple,
    "sandwich": Sandwich,
    "fire": FIRE,
    "window": WindowBias2D,
    "continuous-window": ContinuousWindowBias2D,
    "shaw": ShawRelative,
    "music": MusicRelative,
    "transformer-xl": TransformerXLRelative,
    "disentangled": DisentangledRelative,
    "cope": CoPE,
    "dape": DAPE,
    "self-extend": SelfExtend,
    "rerope": ReRoPE,
    "leaky-rerope": LeakyReRoPE,
    "dual-chunk": DualChunk,
    "streaming-llm": StreamingLLM,
}


def build(spec: PositionSpec) -> nn.Module:
    """The module that `spec` describes. A setting that is itself a told spec (DAPE's base, SelfExtend's rotary) is built first.

    Raises:
        ArgumentTypeError: not a spec.
        ArgumentError: an encoding that is not in the catalogue, or settings it does not take.

    >>> build(PositionSpec("rotary", {"head_dim": 64, "layout": "half", "base": 500000.0}))
    Rotary(64, layout='half', base=500000.0)
    """
    if not isinstance(spec, PositionSpec):
        raise ArgumentTypeError("spec", expected="a PositionSpec", got=type(spec).__name__, hint="see ordinate.spec")
    kind = ENCODINGS.get(spec.encoding)
    if kind is None:
        raise ArgumentError("encoding", expected=f"one of {sorted(ENCODINGS)}", got=spec.encoding, hint="spell it so")
    settings: dict[str, Any] = {
        name: build(PositionSpec.from_dict(value)) if isinstance(value, Mapping) and "encoding" in value else value
        for name, value in spec.settings.items()
    }
    if spec.scaling is not None:
        settings["scaling"] = spec.scaling
    try:
        return kind(**settings)
    except TypeError as error:
        if isinstance(error, ArgumentTypeError):
            raise
        raise ArgumentError(
            "settings", expected=f"the arguments of {kind.__name__}", got=sorted(settings), hint=f"{error}"
        ) from error
