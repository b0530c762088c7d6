"""Faults among other rows: whose positions a row gets, whose length decides, what padding and packing count for."""

from __future__ import annotations

import torch

from ordinate.frequencies import DynamicNTK
from ordinate.position.indices import from_lengths, from_mask
from ordinate.position.rotary import Rotary
from ordinate.verify.references.rotation import RotarySettings, angles
from ordinate.verify.signatures.rotations import Both, alike, angles_by, turn
from ordinate.verify.signatures.signature import signature

__all__: list[str] = []

PADDING = "padding and packing"


@signature(
    "first-row-for-all",
    family=PADDING,
    kind="rotary",
    read=from_mask,
    says="every row turned at the positions of the first",
    seen="position_ids[0]",
)
def _(s: RotarySettings) -> Both:
    return angles_by(s, lambda positions: positions[:1].expand_as(positions) if positions.ndim == 2 else positions)


@signature(
    "last-row-for-all",
    family=PADDING,
    kind="rotary",
    read=from_mask,
    says="every row turned at the positions of the last",
    seen="",
)
def _(s: RotarySettings) -> Both:
    return angles_by(s, lambda positions: positions[-1:].expand_as(positions) if positions.ndim == 2 else positions)


@signature(
    "given-positions-ignored",
    family=PADDING,
    kind="rotary",
    read=from_mask,
    says="tokens counted 0, 1, 2, ... whatever positions are given, so padding counts and packed documents run on",
    seen="transformers#22161, OLMo-core#591",
)
def _(s: RotarySettings) -> Both:
    return angles_by(s, lambda positions: torch.arange(positions.shape[-1]))


@signature(
    "counted-from-the-first",
    family=PADDING,
    kind="rotary",
    read=from_lengths,
    says="tokens counted on from the first position given, whatever the others are",
    seen="arange(start, start + length)",
)
def _(s: RotarySettings) -> Both:
    return angles_by(s, lambda positions: positions[..., :1] + torch.arange(positions.shape[-1]))


@signature(
    "longest-row-decides",
    family=PADDING,
    kind="rotary",
    read=Rotary.tables,
    shown={"scaling": DynamicNTK(2.0, 64)},
    says="the longest row of a call decides every row's frequencies, while cached keys keep those they came at",
    seen="transformers 5.24: 1.02 to 1.79 in the logits beside a padded neighbour, 0.71 between prefill and decode",
)
def _(s: RotarySettings) -> Both:
    assert s.scaling is not None
    assert s.scaling.depends_on_length
    return alike(lambda x, positions: turn(x, positions, s, theta=angles(s, positions, int(positions.max()) + 1)))
