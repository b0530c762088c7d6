"""Faults of arithmetic: a format too narrow for what it holds, another unit, an integer where a fraction belongs."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from ordinate.position.rotary import Rotary
from ordinate.position.rotation import angle_tables, rotate_pairs
from ordinate.verify.references.ladders import magnitude
from ordinate.verify.references.rotation import RotarySettings, angles, frequencies, pairs, turned
from ordinate.verify.signatures.rotations import Both, alike, angles_by, ladder_of, turn
from ordinate.verify.signatures.signature import signature

__all__: list[str] = []

NUMERIC = "numeric"


@signature(
    "positions-in-input-dtype",
    family=NUMERIC,
    kind="rotary",
    read=angle_tables,
    says="positions formed in the dtype of the input: in bfloat16 256 and 257 are one",
    seen="rotary-embedding-torch 0.9.1: 513 of 1,024 distinct",
)
def _(s: RotarySettings) -> Both:
    return alike(lambda x, positions: turn(x, positions, s, theta=angles(s, positions.to(x.dtype), 1)))


@signature(
    "positions-in-bfloat16",
    family=NUMERIC,
    kind="rotary",
    read=angle_tables,
    says="positions formed in bfloat16 whatever the input",
    seen="a default dtype of bfloat16",
)
def _(s: RotarySettings) -> Both:
    return angles_by(s, lambda positions: positions.bfloat16())


@signature(
    "positions-in-float16",
    family=NUMERIC,
    kind="rotary",
    read=angle_tables,
    says="positions formed in float16 whatever the input: 2,048 and 2,049 are one, 65,520 is infinite",
    seen="",
)
def _(s: RotarySettings) -> Both:
    return angles_by(s, lambda positions: positions.half())


@signature(
    "frequencies-in-bfloat16",
    family=NUMERIC,
    kind="rotary",
    read=Rotary,
    says="inverse frequencies rounded to bfloat16",
    seen="transformers 5.24 after model.bfloat16()",
)
def _(s: RotarySettings) -> Both:
    return _rounded_frequencies(s, torch.bfloat16)


@signature(
    "frequencies-in-float16",
    family=NUMERIC,
    kind="rotary",
    read=Rotary,
    says="inverse frequencies rounded to float16",
    seen="model.half()",
)
def _(s: RotarySettings) -> Both:
    return _rounded_frequencies(s, torch.float16)


def _rounded_frequencies(s: RotarySettings, dtype: torch.dtype) -> Both:
    rates = frequencies(s).to(dtype).double()
    return alike(lambda x, positions: turn(x, positions, s, theta=s.sign * positions.double().unsqueeze(-1) * rates))


@signature(
    "angles-in-bfloat16",
    family=NUMERIC,
    kind="rotary",
    read=angle_tables,
    says="angles rounded to bfloat16 before cosine and sine",
    seen="autocast around the outer product",
)
def _(s: RotarySettings) -> Both:
    return alike(lambda x, positions: turn(x, positions, s, theta=angles(s, positions).bfloat16().double()))


@signature(
    "angles-in-input-dtype",
    family=NUMERIC,
    kind="rotary",
    read=angle_tables,
    says="angles rounded to the dtype of the input before cosine and sine",
    seen="",
)
def _(s: RotarySettings) -> Both:
    return alike(lambda x, positions: turn(x, positions, s, theta=angles(s, positions).to(x.dtype).double()))


@signature(
    "tables-in-bfloat16",
    family=NUMERIC,
    kind="rotary",
    read=angle_tables,
    says="cosine and sine rounded to bfloat16 though the input is wider",
    seen="a table built under autocast",
)
def _(s: RotarySettings) -> Both:
    def one(x: Tensor, positions: Tensor) -> Tensor:
        theta = angles(s, positions)
        cos, sin = theta.cos().bfloat16().double(), theta.sin().bfloat16().double()
        cos, sin = (table.unsqueeze(-3) if table.ndim == 3 else table for table in (cos, sin))
        first, second = pairs(s)
        a, b, result = x[..., first].double(), x[..., second].double(), x.clone()
        result[..., first] = (magnitude(s.scaling) * (a * cos - b * sin)).to(x.dtype)
        result[..., second] = (magnitude(s.scaling) * (a * sin + b * cos)).to(x.dtype)
        return result

    return alike(one)


@signature(
    "degrees", family=NUMERIC, kind="rotary", read=Rotary, says="angles taken for degrees: 180 / pi times too slow", seen=""
)
def _(s: RotarySettings) -> Both:
    return alike(lambda x, positions: turn(x, positions, s, theta=angles(s, positions) * math.pi / 180))


@signature(
    "turns",
    family=NUMERIC,
    kind="rotary",
    read=Rotary,
    says="angles taken for turns: 2 pi times too fast",
    seen="wavelengths and frequencies confused",
)
def _(s: RotarySettings) -> Both:
    return alike(lambda x, positions: turn(x, positions, s, theta=angles(s, positions) * 2 * math.pi))


@signature(
    "integer-exponent",
    family=NUMERIC,
    kind="rotary",
    read=Rotary,
    says="an integer division in the exponent, so that every pair turns at 1 radian",
    seen="",
)
def _(s: RotarySettings) -> Both:
    assert s.scaling is None
    return ladder_of(s, lambda exponents: (s.base or 10000.0) ** -exponents.floor())


@signature(
    "positions-in-int16",
    family=NUMERIC,
    kind="rotary",
    read=angle_tables,
    says="positions in int16: 32,768 is -32,768",
    seen="",
)
def _(s: RotarySettings) -> Both:
    return angles_by(s, lambda positions: positions.to(torch.int16))


@signature("positions-in-uint8", family=NUMERIC, kind="rotary", read=angle_tables, says="positions in uint8: 256 is 0", seen="")
def _(s: RotarySettings) -> Both:
    return angles_by(s, lambda positions: positions.to(torch.uint8))


@signature(
    "overwritten-in-place",
    family=NUMERIC,
    kind="rotary",
    read=rotate_pairs,
    says="the second of each pair computed from the first one already turned",
    seen="in-place kernels",
)
def _(s: RotarySettings) -> Both:
    def one(x: Tensor, positions: Tensor) -> Tensor:
        first, second = pairs(s)
        theta = angles(s, positions)
        theta = theta.unsqueeze(-3) if theta.ndim == 3 else theta
        result = turned(x, positions, s)
        result[..., second] = result[..., first] * theta.sin() + x[..., second].double() * theta.cos()
        return result.to(x.dtype)

    return alike(one)
