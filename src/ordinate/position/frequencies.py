"""The public name of `ordinate.frequencies`: inverse frequencies and their scalings, beside the encodings that use them."""

from ordinate.frequencies import (
    Clipped,
    DynamicNTK,
    Linear,
    Llama3,
    LongRoPE,
    NTKAware,
    Proportional,
    Scaling,
    SteppedNTK,
    YaRN,
    inverse_frequencies,
)

__all__ = [
    "Clipped",
    "DynamicNTK",
    "Linear",
    "Llama3",
    "LongRoPE",
    "NTKAware",
    "Proportional",
    "Scaling",
    "SteppedNTK",
    "YaRN",
    "inverse_frequencies",
]
