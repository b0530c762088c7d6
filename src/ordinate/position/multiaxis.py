"""What encodings over several axes share: the check of their positions, and the rotation of pairs that belong to one axis.

An encoding says by its attribute `axes` that a position is a row of so many numbers: [T, A] or [B, T, A] (see
`ordinate.position.axes`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from ordinate.errors import ArgumentError, ArgumentTypeError, ShapeError
from ordinate.position.indices import check_positions
from ordinate.position.rotation import rotate_pairs
from ordinate.position.rotation_inputs import Layout, working_dtype
from ordinate.shapes import check_shape

__all__ = ["AxisRotation", "check_axis_positions", "check_sections"]


def check_axis_positions(
    name: str, positions: Tensor, axes: int, *, length: int | None = None, batch: int | None = None, continuous: bool = True
) -> None:
    """Raise unless `positions` is [T, A] or [B, T, A] with A = `axes`, of a dtype that `check_positions` accepts."""
    if not isinstance(positions, Tensor):
        raise ArgumentTypeError(
            name,
            expected=f"a tensor [T, {axes}] or [B, T, {axes}]",
            got=type(positions).__name__,
            hint="pass ordinate.position.indices.grid(height, width)",
        )
    if positions.ndim not in (2, 3) or positions.shape[-1] != axes:
        raise ShapeError(
            name,
            expected=f"positions with {axes} axes, [T, {axes}] or [B, T, {axes}]",
            got=f"shape {tuple(positions.shape)}",
            hint="make them with indices.grid or indices.multimodal; text goes through indices.on_every_axis",
        )
    for along in positions.unbind(-1):
        check_positions(name, along, length=length, batch=batch, continuous=continuous)


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
        if isinstance(section, bool) or not isinstance(section, int):
            raise ArgumentTypeError("sections", expected="whole numbers of pairs", got=section, hint="pass ints")
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


class AxisRotation:
    """A rotation whose pairs each turn with one axis: what is left of an encoding once its settings are read.

    Args:
        head_dim: channels D of a head.
        layout: which channels make a pair.
        axes: numbers in a position.
        owners: for each pair, the axis it turns with.
        radians: for each pair, radians per unit of that axis.
        factor: on cos and sin.
    """

    def __init__(
        self,
        head_dim: int,
        layout: Layout,
        axes: int,
        owners: Sequence[int],
        radians: Sequence[float],
        factor: float = 1.0,
    ) -> None:
        self.head_dim, self.layout, self.axes, self.factor = head_dim, layout, axes, factor
        self.owners, self.radians = tuple(owners), tuple(radians)
        self._on_device: dict[torch.device, tuple[Tensor, Tensor]] = {}

    def tables(self, positions: Tensor, *, dtype: torch.dtype = torch.float32) -> tuple[Tensor, Tensor]:
        """cos and sin [T, P] or [B, T, P] for positions [T, A] or [B, T, A], formed in float64 and rounded once."""
        check_axis_positions("positions", positions, self.axes)
        return self._tables(positions, dtype)

    def rotate(self, x: Tensor, positions: Tensor) -> Tensor:
        """x [B, H, T, D] turned at its positions; same shape and dtype, worked in float32 or wider."""
        self._check("x", x, positions)
        cos, sin = self._tables(positions, working_dtype(x))
        return rotate_pairs(x, cos, sin, layout=self.layout)

    def rotate_both(self, query: Tensor, key: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
        """query [B, H, T, D] and key [B, G, T, D] of the same tokens, turned with one making of the tables."""
        self._check("query", query, positions)
        self._check("key", key, positions)
        cos, sin = self._tables(positions, torch.promote_types(working_dtype(query), working_dtype(key)))
        return rotate_pairs(query, cos, sin, layout=self.layout), rotate_pairs(key, cos, sin, layout=self.layout)

    def _check(self, name: str, x: Tensor, positions: Tensor) -> None:
        if isinstance(x, Tensor) and isinstance(positions, Tensor) and positions.dtype is torch.int64 and x.ndim == 4:
            batch, _, tokens, channels = x.shape
            plain = ((tokens, self.axes), (batch, tokens, self.axes), (1, tokens, self.axes))
            if channels == self.head_dim and tuple(positions.shape) in plain:
                return
        sizes = check_shape(name, x, "B H T D", D=self.head_dim)
        check_axis_positions("positions", positions, self.axes, length=sizes["T"], batch=sizes["B"])

    def _tables(self, positions: Tensor, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
        owners, radians = self._pairs(positions)
        angles = positions.index_select(-1, owners) * radians  # integers are widened exactly on the way
        cos, sin = angles.cos(), angles.sin()
        if self.factor != 1.0:
            cos, sin = cos * self.factor, sin * self.factor
        return cos.to(dtype), sin.to(dtype)

    def _pairs(self, positions: Tensor) -> tuple[Tensor, Tensor]:
        """Owners and radians on the device of `positions`."""
        graph = torch.compiler.is_compiling() or type(positions) is not Tensor
        if not graph and positions.device in self._on_device:
            return self._on_device[positions.device]
        device = positions.device
        pairs = torch.tensor(self.owners, device=device), torch.tensor(self.radians, dtype=torch.float64, device=device)
        if not graph:
            self._on_device[device] = pairs
        return pairs

    def __getstate__(self) -> dict[str, Any]:
        """What is pickled and copied: the settings; what lies on some device is made again."""
        return {**self.__dict__, "_on_device": {}}
