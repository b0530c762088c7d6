"""Faults of reading: a setting that stands in the config and does not reach the angles, or reaches them as another."""

from __future__ import annotations

import math
from dataclasses import replace

import torch

from ordinate.frequencies import DynamicNTK, Linear, Llama3, LongRoPE, NTKAware, YaRN
from ordinate.position.rotary import Rotary
from ordinate.verify.references.ladders import ladder, magnitude
from ordinate.verify.references.rotation import RotarySettings, angles
from ordinate.verify.signatures.rotations import Both, alike, ladder_of, turn
from ordinate.verify.signatures.signature import signature

__all__: list[str] = []

PARSING = "parsing"
PARTIAL = {"rotary_dim": 32}
YARN = {"scaling": YaRN(4.0, 4096)}


@signature(
    "ladder-of-head-dim",
    family=PARSING,
    kind="rotary",
    read=Rotary,
    shown=PARTIAL,
    says="frequencies computed with head_dim instead of rotary_dim",
    seen="partial rotations ported from full ones",
)
def _(s: RotarySettings) -> Both:
    assert s.rotary_dim < s.head_dim
    assert s.scaling is None
    base = s.base or 10000.0
    return ladder_of(s, lambda exponents: base ** -(exponents * s.rotary_dim / s.head_dim))


@signature(
    "partial-ignored",
    family=PARSING,
    kind="rotary",
    read=Rotary,
    shown=PARTIAL,
    says="the whole head turned though only rotary_dim channels should",
    seen="partial_rotary_factor not read",
)
def _(s: RotarySettings) -> Both:
    assert s.rotary_dim < s.head_dim
    whole = s.but(rotary_dim=s.head_dim)
    return alike(lambda x, positions: turn(x, positions, whole))


@signature(
    "base-ignored",
    family=PARSING,
    kind="rotary",
    read=Rotary,
    shown={"base": 500000.0},
    says="base 10000 though another was stated",
    seen="rope_theta under another key",
)
def _(s: RotarySettings) -> Both:
    plain = s.but(base=10000.0)
    return alike(lambda x, positions: turn(x, positions, plain))


@signature(
    "scaling-ignored",
    family=PARSING,
    kind="rotary",
    read=Rotary,
    shown={"scaling": Linear(4.0)},
    says="frequencies without the scaling that was stated",
    seen="a config edited after the model was built",
)
def _(s: RotarySettings) -> Both:
    plain = s.but(scaling=None)
    return alike(lambda x, positions: turn(x, positions, plain))


@signature(
    "factor-multiplied",
    family=PARSING,
    kind="rotary",
    read=Linear,
    shown={"scaling": Linear(4.0)},
    says="positions multiplied by the factor of linear scaling instead of divided",
    seen="",
)
def _(s: RotarySettings) -> Both:
    factor = _factor(s)
    plain = s.but(scaling=None)
    return alike(lambda x, positions: turn(x, positions, s, theta=factor * angles(plain, positions)))


@signature(
    "linear-for-ntk",
    family=PARSING,
    kind="rotary",
    read=NTKAware,
    shown={"scaling": NTKAware(4.0)},
    says="all frequencies divided by the factor though NTK-aware scaling was stated",
    seen="",
)
def _(s: RotarySettings) -> Both:
    _only(s, NTKAware)
    return alike(lambda x, positions: turn(x, positions, s.but(scaling=Linear(_factor(s)))))


@signature(
    "ntk-for-linear",
    family=PARSING,
    kind="rotary",
    read=Linear,
    shown={"scaling": Linear(4.0)},
    says="NTK-aware scaling of the base though linear scaling was stated",
    seen="",
)
def _(s: RotarySettings) -> Both:
    _only(s, Linear)
    return alike(lambda x, positions: turn(x, positions, s.but(scaling=NTKAware(_factor(s)))))


@signature(
    "ntk-exponent-missing",
    family=PARSING,
    kind="rotary",
    read=NTKAware,
    shown={"scaling": NTKAware(4.0)},
    says="base times factor, without the exponent d / (d - 2) of NTK-aware scaling",
    seen="",
)
def _(s: RotarySettings) -> Both:
    _only(s, NTKAware)
    return alike(lambda x, positions: turn(x, positions, s.but(scaling=None, base=(s.base or 10000.0) * _factor(s))))


@signature(
    "exponent-halved",
    family=PARSING,
    kind="rotary",
    read=Rotary,
    says="exponents i / d where 2 i / d belongs, so that the slowest pair turns at base^-1/2",
    seen="",
)
def _(s: RotarySettings) -> Both:
    assert s.scaling is None
    assert 2 * s.rotary_dim != s.head_dim  # there it is the ladder of the whole head
    return ladder_of(s, lambda exponents: (s.base or 10000.0) ** -(exponents / 2))


@signature(
    "exponent-doubled",
    family=PARSING,
    kind="rotary",
    read=Rotary,
    says="exponents 4 i / d where 2 i / d belongs (an index that was doubled already)",
    seen="",
)
def _(s: RotarySettings) -> Both:
    assert s.scaling is None
    return ladder_of(s, lambda exponents: (s.base or 10000.0) ** -(exponents * 2))


@signature(
    "magnitude-missing",
    family=PARSING,
    kind="rotary",
    read=YaRN,
    shown=YARN,
    says="the right frequencies without the scaling's factor on cosine and sine",
    seen="exllamav3#259",
)
def _(s: RotarySettings) -> Both:
    _scaled(s)
    return alike(lambda x, positions: turn(x, positions, s, factor=1.0))


@signature(
    "magnitude-twice",
    family=PARSING,
    kind="rotary",
    read=YaRN,
    shown=YARN,
    says="the scaling's factor on cosine and sine applied twice",
    seen="tables scaled where the tables are made and where used",
)
def _(s: RotarySettings) -> Both:
    _scaled(s)
    return alike(lambda x, positions: turn(x, positions, s, factor=magnitude(s.scaling) ** 2))


@signature(
    "yarn-ramp-reversed",
    family=PARSING,
    kind="rotary",
    read=YaRN,
    shown=YARN,
    says="YaRN's ramp the wrong way round: slow pairs kept, fast ones interpolated",
    seen="",
)
def _(s: RotarySettings) -> Both:
    _only(s, YaRN)
    plain, mixed = ladder(s.rotary_dim, s.base or 1e4), ladder(s.rotary_dim, s.base or 1e4, s.scaling)
    rates = torch.tensor([p + p / _factor(s) - m for p, m in zip(plain, mixed, strict=True)], dtype=torch.float64)
    return ladder_of(s, lambda _: rates)


@signature(
    "yarn-truncate-ignored",
    family=PARSING,
    kind="rotary",
    read=YaRN,
    shown={"scaling": YaRN(32.0, 4096, truncate=False)},
    says="the ends of YaRN's ramp rounded to whole pairs though truncate is false",
    seen="vllm#27722",
)
def _(s: RotarySettings) -> Both:
    _only(s, YaRN)
    assert isinstance(s.scaling, YaRN)
    assert not s.scaling.truncate
    yarn = s.scaling
    return alike(lambda x, positions: turn(x, positions, s.but(scaling=replace(yarn, truncate=True))))


@signature(
    "llama3-as-linear",
    family=PARSING,
    kind="rotary",
    read=Llama3,
    shown={"scaling": Llama3(8.0, 1.0, 4.0, 8192)},
    says="all frequencies divided by the factor though Llama 3's rule keeps the fast ones",
    seen="mlx-examples#907",
)
def _(s: RotarySettings) -> Both:
    _only(s, Llama3)
    return alike(lambda x, positions: turn(x, positions, s.but(scaling=Linear(_factor(s)))))


@signature(
    "llama3-in-radians",
    family=PARSING,
    kind="rotary",
    read=Llama3,
    shown={"scaling": Llama3(8.0, 1.0, 4.0, 8192)},
    says="Llama 3's borders compared with radians instead of turns (2 pi missing)",
    seen="",
)
def _(s: RotarySettings) -> Both:
    _only(s, Llama3)
    assert isinstance(s.scaling, Llama3)
    longer = replace(s.scaling, original_context=round(s.scaling.original_context * 2 * math.pi))
    return alike(lambda x, positions: turn(x, positions, s.but(scaling=longer)))


@signature(
    "longrope-long-always",
    family=PARSING,
    kind="rotary",
    read=LongRoPE,
    shown={"scaling": LongRoPE((1.0,) * 32, (4.0,) * 32, 128, 512)},
    says="LongRoPE's long factors for short rows too",
    seen="llama.cpp#24875",
)
def _(s: RotarySettings) -> Both:
    _only(s, LongRoPE)
    assert isinstance(s.scaling, LongRoPE)
    beyond = s.scaling.original_context + 1
    return alike(lambda x, positions: turn(x, positions, s, theta=angles(s, positions, beyond)))


@signature(
    "dynamic-from-the-start",
    family=PARSING,
    kind="rotary",
    read=DynamicNTK,
    shown={"scaling": DynamicNTK(4.0, 64)},
    says="dynamic scaling applied at its full factor to short rows",
    seen="dynamic read as static NTK",
)
def _(s: RotarySettings) -> Both:
    _only(s, DynamicNTK)
    return alike(lambda x, positions: turn(x, positions, s.but(scaling=NTKAware(_factor(s)))))


def _factor(s: RotarySettings) -> float:
    return float(s.scaling.factor)  # type: ignore[union-attr]  # no factor: the fault has no meaning


def _only(s: RotarySettings, kind: type) -> None:
    if not isinstance(s.scaling, kind):
        problem = TypeError(f"only for {kind.__name__}")
        raise problem


def _scaled(s: RotarySettings) -> None:
    if magnitude(s.scaling) == 1.0:
        problem = TypeError("only where the scaling has a factor")
        raise problem
