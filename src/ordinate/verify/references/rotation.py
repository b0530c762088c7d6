"""What a rotation is expected to do, said once: its settings, its angles in float64, and the rotation as a matrix product.

Source: Su et al. 2021, arXiv 2104.09864, eqs. 14-16 and 34; the layout "half" is of Black et al. 2022, arXiv 2204.06745.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

from ordinate.arguments import check_choice
from ordinate.errors import ArgumentError
from ordinate.frequencies import Scaling, check_base, check_rotary_dim
from ordinate.verify.references import Settings
from ordinate.verify.references.frequency_schedules import cos_sin_factor, inverse_frequencies

__all__ = ["Layout", "RotarySettings", "angles", "frequencies", "pairs", "rotated"]

Layout = Literal["half", "interleaved"]


_CHOICES = {
    "layout": ("half", "interleaved"),
    "rotated_channels": ("first", "last"),
    "angles": ("float32", "float64"),
}


@dataclass(frozen=True)
class RotarySettings(Settings):
    """What a rotation is meant to be. `layout` and `base` None mean: identify it.

    Args:
        head_dim, rotary_dim: channels of a head, and how many of them turn.
        base: of the frequency schedule; None takes the one that is identified.
        layout: "half", "interleaved" or None.
        scaling: a record of `ordinate.frequencies`.
        rotated_channels: "first" or "last", where not all turn.
        sign: +1 turns by plus the angle; -1 is the same encoding seen in a mirror, and as good.
        num_heads: heads of the probes.
        angles: "float32" allows the error of angles formed in float32, "float64" does not.
        positions: how far a probe may go.
        stated_layout: the layout that the user named, kept where `layout` is the one identified.
    """

    head_dim: int
    rotary_dim: int
    base: float | None = 10000.0
    layout: Layout | None = None
    scaling: Scaling | None = None
    rotated_channels: Literal["first", "last"] = "first"
    sign: int = 1
    num_heads: int = 4
    angles: Literal["float32", "float64"] = "float32"
    positions: int = 131_072
    stated_layout: Layout | None = None

    @classmethod
    def checked(cls, head_dim: int, rotary_dim: int | None, **others: Any) -> RotarySettings:
        """The settings, checked."""
        check_rotary_dim("head_dim", head_dim)
        turning = head_dim if rotary_dim is None else rotary_dim
        check_rotary_dim("rotary_dim", turning)
        if turning > head_dim:
            raise ArgumentError("rotary_dim", expected=f"at most {head_dim}", got=turning)
        if others.get("base") is not None:
            check_base(others["base"])
        for name, choices in _CHOICES.items():
            if others.get(name) is not None:
                check_choice(name, others[name], choices)
        return cls(head_dim, turning, **others)

    @property
    def start(self) -> int:
        """The first channel that turns."""
        return 0 if self.rotated_channels == "first" else self.head_dim - self.rotary_dim

    @property
    def layout_or_half(self) -> Layout:
        """The layout to compute with."""
        return self.layout or "half"


def frequencies(settings: RotarySettings, length: int = 1) -> Tensor:
    """Radians per position of each pair, float64 [P]."""
    base = 10000.0 if settings.base is None else settings.base
    return torch.tensor(inverse_frequencies(settings.rotary_dim, base, settings.scaling, length), dtype=torch.float64)


def pairs(settings: RotarySettings) -> tuple[Tensor, Tensor]:
    """The channels that are first and second of each pair, int64 [P] and [P]."""
    channels = torch.arange(settings.head_dim)
    first, second = _slices(settings)
    return channels[first], channels[second]


def _slices(settings: RotarySettings) -> tuple[slice, slice]:
    half, start = settings.rotary_dim // 2, settings.start
    end = start + 2 * half
    if settings.layout_or_half == "half":
        return slice(start, start + half), slice(start + half, end)
    return slice(start, end, 2), slice(start + 1, end, 2)


def angles(settings: RotarySettings, positions: Tensor, length: int | None = None) -> Tensor:
    """Angles float64 [T, P] or [B, T, P] for positions [T] or [B, T].

    `length` is the row's, for scalings that look at it; by default each row's last position plus one.
    """
    signed = settings.sign * positions.double()
    if settings.scaling is None or not settings.scaling.depends_on_length:
        return signed.unsqueeze(-1) * frequencies(settings)
    rows = positions if positions.ndim == 2 else positions[None]
    rates = torch.stack([frequencies(settings, length or int(row.max()) + 1) for row in rows])
    result = signed.reshape(rows.shape).unsqueeze(-1) * rates.unsqueeze(1)
    return result if positions.ndim == 2 else result[0]


def rotated(
    x: Tensor, positions: Tensor, settings: RotarySettings, *, theta: Tensor | None = None, factor: float | None = None
) -> Tensor:
    """x [B, H, T, D] turned in float64; angles and factor are those of the settings where they are None."""
    theta = angles(settings, positions) if theta is None else theta
    factor = cos_sin_factor(settings.scaling) if factor is None else factor
    theta = theta.unsqueeze(-3) if theta.ndim == 3 else theta
    first, second = _slices(settings)
    a, b, cos, sin = x[..., first].double(), x[..., second].double(), theta.cos(), theta.sin()
    result = x.double().clone()
    result[..., first] = factor * (a * cos - b * sin)
    result[..., second] = factor * (a * sin + b * cos)
    return result
