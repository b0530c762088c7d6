"""A rotary encoding that learns its frequencies.

It stands apart from `Rotary` because it has a parameter: what is stored is the logarithm of a correction to the geometric
ladder, zero at the start, so that a cast to half precision rounds the correction and never the ladder.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ordinate.frequencies import check_base, inverse_frequencies
from ordinate.position.indices import check_positions
from ordinate.position.rotation import angle_tables, rotation
from ordinate.position.rotation_inputs import (
    Layout,
    RotatedChannels,
    check_head,
    check_layout,
    check_rotated_channels,
    working_dtype,
)
from ordinate.shapes import check_shape

__all__ = ["LearnedRotary"]


class LearnedRotary(nn.Module):
    """Turns the pair i by position * base^(-2i / rotary_dim) * exp(c_i), with c learned.

    Scores still depend on the distance alone, whatever was learned. Every frequency stays positive.

    Args:
        head_dim: channels D of a head.
        layout: "half" or "interleaved", as in `Rotary`.
        rotary_dim: how many channels turn, even. By default all of them.
        base: of the ladder that learning starts from.
        rotated_channels: whether the first or the last channels turn, where not all do.

    Raises:
        ArgumentError, ArgumentTypeError: as `Rotary`.

    Source: the ladder is of Su et al. 2021, arXiv 2104.09864, section 3.3, where learning it is tried and found to change
    little; `learned_freq` of rotary-embedding-torch.

    >>> rotary = LearnedRotary(8, layout="half")
    >>> rotary.rotate(torch.randn(1, 2, 5, 8), torch.arange(5)).square().sum().backward()
    >>> rotary.log_correction.grad.shape
    torch.Size([4])
    """

    def __init__(
        self,
        head_dim: int,
        *,
        layout: Layout,
        rotary_dim: int | None = None,
        base: float = 10000.0,
        rotated_channels: RotatedChannels = "first",
    ) -> None:
        super().__init__()
        self._head_dim, self._rotary_dim = check_head(head_dim, rotary_dim)
        check_layout(layout)
        check_base(base)
        check_rotated_channels(rotated_channels)
        self._layout, self._base, self._rotated_channels = layout, base, rotated_channels
        self._ladder = inverse_frequencies(self._rotary_dim, base)
        self.log_correction = nn.Parameter(torch.empty(self._rotary_dim // 2))
        self.reset_parameters()

    head_dim = property(lambda self: self._head_dim, doc="Channels D of a head.")
    layout = property(lambda self: self._layout, doc="Which channels make a pair.")
    rotary_dim = property(lambda self: self._rotary_dim, doc="Channels that turn.")
    base = property(lambda self: self._base, doc="Base of the ladder that learning starts from.")
    rotated_channels = property(lambda self: self._rotated_channels, doc="Whether the first or the last channels turn.")

    def reset_parameters(self) -> None:
        """Back to the geometric ladder."""
        nn.init.zeros_(self.log_correction)

    def inverse_frequencies(self) -> Tensor:
        """Radians per position of each pair as learned so far, float64 [P], with a gradient."""
        ladder = torch.tensor(self._ladder, dtype=torch.float64, device=self.log_correction.device)
        return ladder * self.log_correction.to(torch.float64).exp()

    def tables(self, positions: Tensor, *, dtype: torch.dtype = torch.float32) -> tuple[Tensor, Tensor]:
        """cos and sin for positions [T] or [B, T], each [T, P] or [B, T, P], with a gradient."""
        check_positions("positions", positions)
        return angle_tables(positions, self.inverse_frequencies().to(positions.device), dtype=dtype)

    def rotate(self, x: Tensor, positions: Tensor) -> Tensor:
        """x [B, H, T, D] turned at positions [T] or [B, T]; same shape and dtype, worked in float32 or wider."""
        check_shape("x", x, "B H T D", D=self._head_dim)
        check_positions("positions", positions, length=x.shape[2], batch=x.shape[0])
        cos, sin = self.tables(positions, dtype=working_dtype(x))
        start = 0 if self._rotated_channels == "first" else self._head_dim - self._rotary_dim
        return rotation("auto", x, cos, sin)(x, cos, sin, self._layout, start, None)

    def __repr__(self) -> str:
        shown = [str(self.head_dim), f"layout={self.layout!r}"]
        if self.rotary_dim != self.head_dim:
            shown.append(f"rotary_dim={self.rotary_dim}")
        if self.base != 10000.0:
            shown.append(f"base={self.base!r}")
        if self.rotated_channels != "first":
            shown.append(f"rotated_channels={self.rotated_channels!r}")
        return f"LearnedRotary({', '.join(shown)})"
