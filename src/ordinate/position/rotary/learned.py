"""A rotary encoding that learns its frequencies.

Its parameter is the logarithm of a correction to the geometric schedule, zero at the start, so that a cast to half precision
rounds the correction and never the frequencies.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from ordinate.frequencies import check_base, inverse_frequencies
from ordinate.position.indices import check_positions
from ordinate.position.rotary.rotation import (
    Layout,
    PairRotation,
    RotaryEncoding,
    RotatedChannels,
    check_head,
    check_layout,
    check_rotated_channels,
)
from ordinate.shapes import check_shape

__all__ = ["LearnedRotary"]


class LearnedRotary(RotaryEncoding):
    """Turns the pair i by position * base^(-2i / rotary_dim) * exp(c_i), with c learned.

    Scores still depend on the distance alone, whatever was learned. Every frequency stays positive.

    Args:
        head_dim: channels D of a head.
        layout: "half" or "interleaved", as in `Rotary`.
        rotary_dim: how many channels turn, even. By default all of them.
        base: of the schedule that learning starts from.
        rotated_channels: whether the first or the last channels turn, where not all do.

    Raises:
        ArgumentError, ArgumentTypeError: as `Rotary`.

    Source: the schedule is of Su et al. 2021, arXiv 2104.09864, section 3.3, where learning it is tried and found to change
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
        self._inv_freq = inverse_frequencies(self._rotary_dim, base)
        self.log_correction = nn.Parameter(torch.empty(self._rotary_dim // 2))
        self.reset_parameters()

    head_dim = property(lambda self: self._head_dim, doc="Channels D of a head.")
    layout = property(lambda self: self._layout, doc="Which channels make a pair.")
    rotary_dim = property(lambda self: self._rotary_dim, doc="Channels that turn.")
    base = property(lambda self: self._base, doc="Base of the schedule that learning starts from.")
    rotated_channels = property(lambda self: self._rotated_channels, doc="Whether the first or the last channels turn.")

    def reset_parameters(self) -> None:
        """Back to the geometric schedule."""
        nn.init.zeros_(self.log_correction)

    def inverse_frequencies(self) -> Tensor:
        """Radians per position of each pair as learned so far, float64 [P], with a gradient."""
        start = torch.tensor(self._inv_freq, dtype=torch.float64, device=self.log_correction.device)
        return start * self.log_correction.to(torch.float64).exp()

    def rotation(self, positions: Tensor, *, dtype: torch.dtype = torch.float32) -> PairRotation:
        """The rotation at positions [T] or [B, T], its tables made once, with a gradient."""
        check_positions("positions", positions)
        inv_freq = self.inverse_frequencies().to(positions.device)
        start = 0 if self._rotated_channels == "first" else self._head_dim - self._rotary_dim
        return PairRotation.at(positions, inv_freq, layout=self._layout, start=start, dtype=dtype)

    def _check(self, name: str, x: Tensor, positions: Tensor) -> None:
        check_shape(name, x, "B H T D", D=self._head_dim)
        check_positions("positions", positions, length=x.shape[2], batch=x.shape[0])

    def _passed(self) -> dict[str, Any]:
        return {"rotary_dim": None if self.rotary_dim == self.head_dim else self.rotary_dim}
