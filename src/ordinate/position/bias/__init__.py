"""Encodings that add a number to each score: of the distance alone, of a pair's content, of the offset between patches."""

from ordinate.position.bias.alibi import ALiBi
from ordinate.position.bias.contextual import DAPE, CoPE
from ordinate.position.bias.decomposed import DecomposedRelative
from ordinate.position.bias.disentangled import DisentangledRelative
from ordinate.position.bias.fire import FIRE
from ordinate.position.bias.forgetting import ForgetGates
from ordinate.position.bias.gated import GatedBias
from ordinate.position.bias.kernel_biases import Kerple, Sandwich
from ordinate.position.bias.relative import MusicRelative, ShawRelative
from ordinate.position.bias.t5 import T5Bias
from ordinate.position.bias.text_layout import TextLayoutBias
from ordinate.position.bias.transformer_xl import TransformerXLRelative
from ordinate.position.bias.window import ContinuousWindowBias2D, WindowBias2D

__all__ = [
    "DAPE",
    "FIRE",
    "ALiBi",
    "CoPE",
    "ContinuousWindowBias2D",
    "DecomposedRelative",
    "DisentangledRelative",
    "ForgetGates",
    "GatedBias",
    "Kerple",
    "MusicRelative",
    "Sandwich",
    "ShawRelative",
    "T5Bias",
    "TextLayoutBias",
    "TransformerXLRelative",
    "WindowBias2D",
]
