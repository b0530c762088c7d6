"""What a rotation is, read off its own numbers: pairs, direction, frequencies, factor.

A rotation is linear, so its matrix at a position says all. The matrix is had by turning the unit vectors; frequencies follow
from angles at 1, 2, 4, ... by unwrapping. Nothing here knows the base.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from ordinate.verify.references.rotation import Layout, RotarySettings, pairs

__all__ = ["PROBED", "Found", "identify", "unit_vectors"]

PROBED = (0, 1, 2, 3, 4, 5, 6, 7, 8, 16, 32, 64)
"""Positions at which the matrix is looked at: near ones, where float32 is as good as float64, then doublings to unwrap by."""

NOISE = 4e-6  # of matrix entries up to position 64: 64 * 4 * 2^-24 of the angle, and roundings


@dataclass(frozen=True)
class Found:
    """What the numbers say. `layout` None: the pairs are of no known layout; `frequencies` [P] are signed by `sign`."""

    layout: Layout | None
    rotated_channels: str
    rotary_dim: int
    sign: int
    mixed_signs: bool
    frequencies: Tensor
    factor: float
    leak: float
    leak_at: tuple[int, int] | None
    moved: int

    def base(self, rotary_dim: int) -> float | None:
        """The base of the geometric ladder through the frequencies, or None where they form none."""
        count = len(self.frequencies)
        if count < 2 or bool((self.frequencies <= 0).any()):
            return None
        logs = self.frequencies.log()
        steps = torch.arange(count, dtype=torch.float64) * 2 / rotary_dim
        slope = float((steps * logs).sum() / (steps * steps).sum())
        if float((logs - slope * steps).abs().max()) > 2e-3:
            return None
        return math.exp(-slope)

    def told(self, rotary_dim: int) -> dict[str, object]:
        """In plain types, for a verdict."""
        base = self.base(rotary_dim)
        return {
            "layout": self.layout or "unknown",
            "rotary_dim": self.rotary_dim,
            "rotated_channels": self.rotated_channels,
            "direction": "mixed" if self.mixed_signs else "plus the angle" if self.sign > 0 else "minus the angle",
            "base": None if base is None else float(f"{base:.5g}"),
            "factor": round(self.factor, 6),
        }


def unit_vectors(settings: RotarySettings, tokens: int) -> Tensor:
    """The D unit vectors spread over batch and heads, each at every token: [ceil(D / H), H, T, D]."""
    rows = math.ceil(settings.head_dim / settings.num_heads)
    eye = torch.eye(settings.head_dim)
    eye = torch.cat((eye, eye[: rows * settings.num_heads - settings.head_dim]))
    return eye.reshape(rows, settings.num_heads, 1, settings.head_dim).repeat(1, 1, tokens, 1)


def matrices(turned: Tensor, settings: RotarySettings) -> Tensor:
    """[T, D in, D out] from the turned unit vectors."""
    rows = turned.flatten(0, 1)[: settings.head_dim]
    return rows.transpose(0, 1).double()


def identify(turned: Tensor, settings: RotarySettings) -> Found:
    """What turned the unit vectors at `PROBED`, [rows, H, T, D]."""
    matrix = matrices(turned, settings)
    channels = torch.arange(settings.head_dim)
    off_diagonal = matrix.abs().clone()
    off_diagonal[:, channels, channels] = 0
    reach = off_diagonal.amax(0)
    reach = torch.maximum(reach, reach.T)
    partner = reach.argmax(-1)
    turning = reach.amax(-1) > NOISE
    others = reach.clone()
    others[channels, partner] = 0
    leak = float(others.max())
    leak_at = None if leak <= NOISE else divmod(int(others.argmax()), settings.head_dim)
    layout, place, rotary_dim = _layout(partner, turning, settings)
    probe = settings.but(layout=layout or settings.as_built, rotary_dim=rotary_dim, rotated_channels=place)
    first, second = pairs(probe)
    cosines, sines = matrix[:, first, first], matrix[:, first, second]
    factor = float((cosines[1].square() + sines[1].square()).sqrt().median())
    measured = torch.atan2(sines, cosines)
    rates = measured[PROBED.index(1)].clone()
    for index, position in enumerate(PROBED):
        if position in (2, 4, 8, 16, 32, 64):
            rates += torch.remainder(measured[index] - position * rates + math.pi, 2 * math.pi).sub(math.pi) / position
    clear = rates.abs() > NOISE
    positive, negative = bool((rates[clear] > 0).any()), bool((rates[clear] < 0).any())
    sign = -1 if negative and not positive else 1
    return Found(
        layout, place, rotary_dim, sign, positive and negative, sign * rates, factor, leak, leak_at, int(turning.sum())
    )


def _layout(partner: Tensor, turning: Tensor, settings: RotarySettings) -> tuple[Layout | None, str, int]:
    """Layout, which channels turn, and how many: the combination whose pairs agree with every channel that turns."""
    best: tuple[int, Layout, str, int] | None = None
    for rotary_dim in dict.fromkeys((settings.rotary_dim, settings.head_dim, int(turning.sum()) // 2 * 2)):
        if rotary_dim < 2:
            continue
        for place in ("first", "last") if rotary_dim < settings.head_dim else ("first",):
            for layout in ("half", "interleaved"):
                probe = settings.but(layout=layout, rotary_dim=rotary_dim, rotated_channels=place)
                first, second = pairs(probe)
                expected = torch.full_like(partner, -1)
                expected[first], expected[second] = second, first
                if bool((expected[turning] == partner[turning]).all()) and bool(turning.any()):
                    score = int((turning & (expected >= 0)).sum()) * 2 - rotary_dim
                    if best is None or score > best[0]:
                        best = (score, probe.as_built, place, rotary_dim)
    if best is None:
        return None, settings.rotated_channels, settings.rotary_dim
    return best[1], best[2], best[3]
