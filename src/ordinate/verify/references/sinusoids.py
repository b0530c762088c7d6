"""Sinusoids in the arrangements in use, in float64.

Source: Vaswani et al. 2017, arXiv 1706.03762, section 3.5; tensor2tensor's `get_timing_signal_1d`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

from ordinate.arguments import check_choice, check_integer
from ordinate.verify.references import Settings

__all__ = ["ARRANGEMENTS", "EmbeddingSettings", "sinusoid"]

Layout = Literal["interleaved", "half"]
ScheduleName = Literal["vaswani", "tensor2tensor"]

ARRANGEMENTS: tuple[tuple[Layout, ScheduleName, bool], ...] = (
    ("interleaved", "vaswani", True),
    ("half", "tensor2tensor", True),
    ("half", "vaswani", True),
    ("interleaved", "tensor2tensor", True),
    ("half", "vaswani", False),
    ("half", "tensor2tensor", False),
)
"""Layout, frequency schedule, and whether sines come first: those of published models (the last two of diffusion timesteps)."""


_CHOICES = {"rule": ("sinusoidal",), "layout": ("interleaved", "half"), "schedule": ("vaswani", "tensor2tensor")}


@dataclass(frozen=True)
class EmbeddingSettings(Settings):
    """What an embedding is meant to be.

    Args:
        dim: channels D.
        rule: "sinusoidal", or None for a table that may hold anything.
        base: of the frequency schedule.
        layout, schedule, sines_first: None takes the arrangement that is identified.
        scale: a factor on all values; None takes the one that is identified.
        positions: how many positions it can tell apart; probes stay below.
    """

    dim: int = 64
    rule: Literal["sinusoidal"] | None = "sinusoidal"
    base: float = 10000.0
    layout: Layout | None = None
    schedule: ScheduleName | None = None
    sines_first: bool = True
    scale: float | None = None
    positions: int = 5000

    @classmethod
    def checked(cls, **settings: Any) -> EmbeddingSettings:
        """The settings, checked."""
        result = cls(**settings)
        check_integer("dim", result.dim, minimum=4)
        for name, choices in _CHOICES.items():
            if getattr(result, name) is not None:
                check_choice(name, getattr(result, name), choices)
        return result

    def arrangements(self) -> list[EmbeddingSettings]:
        """The arrangements that fit what was stated."""
        return [
            self.replace(layout=layout, schedule=schedule, sines_first=first)
            for layout, schedule, first in ARRANGEMENTS
            if self.layout in (None, layout) and self.schedule in (None, schedule)
        ]


def rates(settings: EmbeddingSettings) -> Tensor:
    """Radians per position of each pair, float64 [D / 2]."""
    half = settings.dim // 2
    last = half - 1 if settings.schedule == "tensor2tensor" else settings.dim / 2
    steps = torch.arange((settings.dim + 1) // 2, dtype=torch.float64)
    return (-math.log(settings.base) * steps / max(last, 1)).exp()


def sinusoid(positions: Tensor, settings: EmbeddingSettings, *, theta: Tensor | None = None) -> Tensor:
    """Vectors float64 [T, D] or [B, T, D]; by other angles [.., T, D / 2] where they are passed."""
    theta = positions.double().unsqueeze(-1) * rates(settings) if theta is None else theta
    one, two = (theta.sin(), theta.cos()) if settings.sines_first else (theta.cos(), theta.sin())
    scale = 1.0 if settings.scale is None else settings.scale
    pairs, odd = settings.dim // 2, settings.dim % 2
    if settings.layout == "half":
        result = torch.cat((one, two[..., :pairs]), -1)
    else:
        result = torch.stack((one, two), -1).flatten(-2)[..., : settings.dim]
    if odd and settings.schedule == "tensor2tensor":  # its last channel is padding
        one, two, padding = one[..., :pairs], two[..., :pairs], torch.zeros_like(one[..., :1])
        whole = torch.cat((one, two), -1) if settings.layout == "half" else torch.stack((one, two), -1).flatten(-2)
        result = torch.cat((whole, padding), -1)
    return scale * result
