"""How far off a correct implementation may be, derived from its arithmetic and not from what some library happens to give.

float32 keeps 24 bits: u = 2^-24 relative. An implementation that forms its angles in float32 computes

    exponent = 2 i / d            relative error u
    w = base^-exponent            relative error (ln(1/w) + 3) u: the exponent's error times ln base, the power, the quotient
    angle = position * w          one rounding more

so angle i at position p is off by at most p w_i (ln(1/w_i) + 4) u radians. With w between 0 and 1 this is largest
for the fastest pairs and grows in proportion to the position: 1e-3 at 4,096 and 3e-2 at 131,072 are the worst case of any pair.
The typical error, where roundings partly cancel and w_0 = 1 is exact, is a tenth of it and less: 1.1e-3 is measured at 131,071,
and scores, which average over pairs, shift by 1.3e-7 at 0, 3.3e-5 at 4,096, 1.8e-3 at 131,072 for 128 channels. Cosine and sine
add a rounding each, the rotation three. bfloat16 keeps 8 bits, u = 2^-9: what is rounded to it *after* the angle is formed
costs a constant share of the values, while a position, a frequency or an angle rounded to it costs p w_i 2^-9 radians, half a
turn at 1,600. So no bound is a guess: correct float32 code is below it, wrong code above it, often by a factor of thousands.
Source: Higham 2002, Accuracy and Stability of Numerical Algorithms, chapter 2, for the model of rounding.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

__all__ = ["UNIT", "angle_error", "rotation_error", "rounding"]

UNIT = {torch.float64: 2.0**-53, torch.float32: 2.0**-24, torch.bfloat16: 2.0**-9, torch.float16: 2.0**-12}


def angle_error(positions: Tensor, frequencies: Tensor, dtype: torch.dtype = torch.float32) -> Tensor:
    """Largest error in radians, float64 [T, P], of angles formed in `dtype` from positions [T] and frequencies [P].

    >>> angle_error(torch.tensor([4096]), torch.ones(1, dtype=torch.float64)).item() < 1.1e-3
    True
    """
    grown = frequencies * (4 - frequencies.clamp(1e-300, 1.0).log())
    return positions.double().abs().unsqueeze(-1) * grown * UNIT[dtype]


def rotation_error(positions: Tensor, frequencies: Tensor, dtype: torch.dtype, angles: str = "float32") -> Tensor:
    """Largest error of a turned pair of length 1, float64 [T, P]: of its angle, its tables, two products and a sum.

    Args:
        positions: [T].
        frequencies: [P], radians per position.
        dtype: of what is turned, and perhaps of the tables.
        angles: the arithmetic that angles are formed in: "float32" or "float64".
    """
    wide = torch.float64 if dtype is torch.float64 and angles == "float64" else torch.float32
    formed = angle_error(positions, frequencies, torch.float32 if angles == "float32" else torch.float64)
    # a table, a product and a sum, each rounded relative to at most the pair's length; and once more on the way out
    roundings = 4 * math.sqrt(2) * (UNIT[dtype] + UNIT[wide])
    return formed + roundings


def rounding(dtype: torch.dtype, values: Tensor, operations: int = 4) -> Tensor:
    """Allowed difference of `values` after so many roundings in `dtype`."""
    return operations * UNIT[dtype] * values.double().abs().clamp_min(1e-30)
