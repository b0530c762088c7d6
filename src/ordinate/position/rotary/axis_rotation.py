"""What rotary encodings over several axes share: pairs that each turn with one axis.

An encoding says by its attribute `axes` that a position is a row of so many numbers: [T, A] or [B, T, A] (see
`ordinate.position.axes`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from ordinate.arguments import check_integer
from ordinate.errors import ArgumentError, ArgumentTypeError
from ordinate.position.indices import check_axis_positions
from ordinate.position.rotary.rotation import PairRotation, RotaryEncoding
from ordinate.shapes import check_shape

__all__ = ["AxisFrequencies", "AxisRotary", "check_sections"]


def check_sections(sections: Sequence[int], pairs: int, *, exact: bool) -> tuple[int, ...]:
    """`sections` as a tuple; raise unless they are pairs of channels for two axes or more that sum to `pairs`, or fit in."""
    if not isinstance(sections, list | tuple):
        raise ArgumentTypeError(
            "sections",
            expected="one number of pairs for each axis",
            got=type(sections).__name__,
            hint="for example (16, 24, 24)",
        )
    for section in sections:
        check_integer("sections", section)
    total = sum(sections)
    if len(sections) < 2 or min(sections, default=0) < 1 or total > pairs or (exact and total != pairs):
        amount = f"that sum to {pairs}" if exact else f"that sum to at most {pairs}"
        raise ArgumentError(
            "sections",
            expected=f"positive numbers of pairs for two axes or more {amount} (half the rotated channels)",
            got=f"{tuple(sections)}, which sum to {total}",
            hint="a section counts pairs, not channels: mrope_section in a config",
        )
    return tuple(sections)


class AxisRotary(RotaryEncoding):
    """What encodings share whose pairs each turn with one axis: `rotation`, once `_own` is set from their settings."""

    _own: AxisFrequencies
    axes: Any
    layout: Any

    def rotation(self, positions: Tensor, *, dtype: torch.dtype = torch.float32) -> PairRotation:
        """The rotation at positions [T, A] or [B, T, A], its tables made once for queries, keys and all layers."""
        check_axis_positions("positions", positions, self.axes)
        return self._own.rotation(positions, self.layout, dtype)

    def _check(self, name: str, x: Tensor, positions: Tensor) -> None:
        if isinstance(x, Tensor) and isinstance(positions, Tensor) and positions.dtype is torch.int64 and x.ndim == 4:
            batch, _, tokens, channels = x.shape
            plain = ((tokens, self.axes), (batch, tokens, self.axes), (1, tokens, self.axes))
            if channels == self.head_dim and tuple(positions.shape) in plain:
                return
        sizes = check_shape(name, x, "B H T D", D=self.head_dim)
        check_axis_positions("positions", positions, self.axes, length=sizes["T"], batch=sizes["B"])


class AxisFrequencies:
    """For each pair of channels the axis it turns with and its frequency: what is left of an encoding's settings.

    Args:
        owners: for each pair, the axis it turns with.
        inv_freq: for each pair, radians per unit of that axis.
        factor: on cos and sin.
    """

    def __init__(self, owners: Sequence[int], inv_freq: Sequence[float], factor: float = 1.0) -> None:
        self.owners, self.inv_freq, self.factor = tuple(owners), tuple(inv_freq), factor
        self._on_device: dict[torch.device, tuple[Tensor, Tensor]] = {}

    def rotation(self, positions: Tensor, layout: str, dtype: torch.dtype) -> PairRotation:
        """The rotation at positions [T, A] or [B, T, A]; angles are formed in float64 and rounded once."""
        owners, inv_freq = self._on(positions)
        angles = positions.index_select(-1, owners) * inv_freq  # integers are widened exactly on the way
        cos, sin = angles.cos(), angles.sin()
        if self.factor != 1.0:
            cos, sin = cos * self.factor, sin * self.factor
        return PairRotation(cos.to(dtype), sin.to(dtype), layout=layout)

    def _on(self, positions: Tensor) -> tuple[Tensor, Tensor]:
        """Owners and frequencies on the device of `positions`."""
        device = positions.device
        if torch.compiler.is_compiling() or type(positions) is not Tensor:
            return torch.tensor(self.owners, device=device), torch.tensor(self.inv_freq, dtype=torch.float64, device=device)
        if device not in self._on_device:
            with torch.inference_mode(False):  # what inference mode makes could never meet a gradient
                inv_freq = torch.tensor(self.inv_freq, dtype=torch.float64, device=device)
                self._on_device[device] = torch.tensor(self.owners, device=device), inv_freq
        return self._on_device[device]

    def __getstate__(self) -> dict[str, Any]:
        """What is pickled and copied: the settings; what lies on some device is made again."""
        return {**self.__dict__, "_on_device": {}}
