"""Faults of arrangement: which channels make a pair, which way round, on which axis, and for whom."""

from __future__ import annotations

import torch
from torch import Tensor

from ordinate.position.layouts import convert_layout
from ordinate.position.rotary import Rotary
from ordinate.position.rotation import reference_rotation, rotate_pairs
from ordinate.verify.references.ladders import magnitude
from ordinate.verify.references.rotation import RotarySettings, angles, pairs, turned
from ordinate.verify.signatures.rotations import Both, alike, turn
from ordinate.verify.signatures.signature import signature

__all__: list[str] = []

LAYOUT = "layout"


@signature(
    "other-layout",
    family=LAYOUT,
    kind="rotary",
    read=convert_layout,
    shown={"layout": "half"},
    of_settings=True,
    says="the other layout than the one stated",
    seen="nanochat#264",
)
def _(s: RotarySettings) -> Both:
    assert s.stated_layout is not None
    other = s.but(layout="interleaved" if s.stated_layout == "half" else "half")
    return alike(lambda x, positions: turn(x, positions, other))


@signature(
    "halves-exchanged",
    family=LAYOUT,
    kind="rotary",
    read=rotate_pairs,
    says="halves swapped: what belongs to the first of a pair stands at the second",
    seen="",
)
def _(s: RotarySettings) -> Both:
    def one(x: Tensor, positions: Tensor) -> Tensor:
        first, second = pairs(s)
        result = turn(x, positions, s)
        swapped = result.clone()
        swapped[..., first], swapped[..., second] = result[..., second], result[..., first]
        return swapped

    return alike(one)


@signature(
    "mismatched-tables",
    family=LAYOUT,
    kind="rotary",
    read=reference_rotation,
    says="halves turned by tables made for neighbours (or neighbours by tables made for halves)",
    seen="cos.repeat_interleave(2) with rotate_half",
)
def _(s: RotarySettings) -> Both:
    def one(x: Tensor, positions: Tensor) -> Tensor:
        first, second = pairs(s)
        theta = angles(s, positions)
        theta = theta.unsqueeze(-3) if theta.ndim == 3 else theta
        full = theta.repeat_interleave(2, -1) if s.as_built == "half" else torch.cat((theta, theta), -1)
        at_first, at_second = full[..., first - s.start], full[..., second - s.start]
        a, b, result = x[..., first].double(), x[..., second].double(), x.clone()
        result[..., first] = (a * at_first.cos() - b * at_first.sin()).to(x.dtype)
        result[..., second] = (b * at_second.cos() + a * at_second.sin()).to(x.dtype)
        return result

    return alike(one)


@signature(
    "minus-missing",
    family=LAYOUT,
    kind="rotary",
    read=rotate_pairs,
    says="the minus missing in (a cos - b sin): no rotation, lengths change",
    seen="rotate_half without the sign",
)
def _(s: RotarySettings) -> Both:
    def one(x: Tensor, positions: Tensor) -> Tensor:
        first, second = pairs(s)
        theta = angles(s, positions)
        theta = theta.unsqueeze(-3) if theta.ndim == 3 else theta
        result = turned(x, positions, s)
        result[..., first] = x[..., first].double() * theta.cos() + x[..., second].double() * theta.sin()
        return result.to(x.dtype)

    return alike(one)


@signature(
    "keys-turned-backwards",
    family=LAYOUT,
    kind="rotary",
    read=Rotary.rotate,
    says="keys turned by minus the angle, so scores depend on the sum of positions",
    seen="a conjugate too many",
)
def _(s: RotarySettings) -> Both:
    return lambda query, key, positions: (turn(query, positions, s), turn(key, positions, s.but(sign=-s.sign)))


@signature("queries-not-turned", family=LAYOUT, kind="rotary", read=Rotary.rotate, says="keys rotated, queries not", seen="")
def _(s: RotarySettings) -> Both:
    return lambda query, key, positions: (query.clone(), turn(key, positions, s))


@signature("keys-not-turned", family=LAYOUT, kind="rotary", read=Rotary.rotate, says="queries rotated, keys not", seen="")
def _(s: RotarySettings) -> Both:
    return lambda query, key, positions: (turn(query, positions, s), key.clone())


@signature(
    "nothing-turned",
    family=LAYOUT,
    kind="rotary",
    read=Rotary.rotate,
    says="the input, untouched: positions have no effect",
    seen="a course whose tests pass it",
)
def _(s: RotarySettings) -> Both:
    return lambda query, key, positions: (query.clone(), key.clone())


@signature(
    "turned-twice",
    family=LAYOUT,
    kind="rotary",
    read=Rotary.re_rotate,
    says="everything turned twice",
    seen="keys rotated on their way into the cache and out of it",
)
def _(s: RotarySettings) -> Both:
    return alike(lambda x, positions: turn(turn(x, positions, s), positions, s))


@signature(
    "last-channels-turned",
    family=LAYOUT,
    kind="rotary",
    read=Rotary,
    shown={"rotary_dim": 32},
    says="the other end of the head turned: last channels for first, or first for last",
    seen="DeepSeek's latent attention",
)
def _(s: RotarySettings) -> Both:
    assert s.rotary_dim < s.head_dim
    other = s.but(rotated_channels="last" if s.rotated_channels == "first" else "first")
    return alike(lambda x, positions: turn(x, positions, other))


@signature(
    "pairs-across-the-head",
    family=LAYOUT,
    kind="rotary",
    read=rotate_pairs,
    shown={"rotary_dim": 32, "layout": "half"},
    says="channel i paired with i + head_dim / 2 though only rotary_dim channels turn",
    seen="partial rotations of layout half",
)
def _(s: RotarySettings) -> Both:
    assert s.rotary_dim < s.head_dim

    def one(x: Tensor, positions: Tensor) -> Tensor:
        theta = angles(s, positions)
        still = theta.new_zeros(*theta.shape[:-1], (s.head_dim - s.rotary_dim) // 2)
        return turn(x, positions, s.but(layout="half", rotary_dim=s.head_dim), theta=torch.cat((theta, still), -1))

    return alike(one)


@signature(
    "neighbours-come-back-as-halves",
    family=LAYOUT,
    kind="rotary",
    read=reference_rotation,
    shown={"layout": "interleaved"},
    says="neighbours turned and put back as halves (a cat where a stack belongs)",
    seen="",
)
def _(s: RotarySettings) -> Both:
    def one(x: Tensor, positions: Tensor) -> Tensor:
        neighbours = s.but(layout="interleaved")
        first, second = pairs(neighbours)
        result = turn(x, positions, neighbours)
        moved = result.clone()
        moved[..., s.start : s.start + s.rotary_dim] = torch.cat((result[..., first], result[..., second]), -1)
        return moved

    return alike(one)


@signature(
    "heads-for-tokens",
    family=LAYOUT,
    kind="rotary",
    read=Rotary.rotate,
    says="turned by the number of the head instead of the token: two axes confused",
    seen="x.shape[1] for the length",
)
def _(s: RotarySettings) -> Both:
    def one(x: Tensor, positions: Tensor) -> Tensor:
        steps = torch.arange(x.shape[1])
        return turn(x.transpose(1, 2), steps, s).transpose(1, 2)

    return alike(one)


@signature(
    "cosine-and-sine-exchanged",
    family=LAYOUT,
    kind="rotary",
    read=rotate_pairs,
    says="cosine and sine exchanged: a quarter turn at position 0",
    seen="(sin, cos) unpacked as (cos, sin)",
)
def _(s: RotarySettings) -> Both:
    return alike(lambda x, positions: turn(x, positions, s, theta=torch.pi / 2 - angles(s, positions)))


@signature(
    "keys-divided-by-root-of-head",
    family=LAYOUT,
    kind="rotary",
    read=Rotary.rotate,
    says="keys divided by the square root of the head, as if that were part of the rotation",
    seen="",
)
def _(s: RotarySettings) -> Both:
    return lambda query, key, positions: (
        turn(query, positions, s),
        turn(key, positions, s, factor=magnitude(s.scaling) / s.head_dim**0.5),
    )
