"""What encodings over several axes share: the check of their positions, and rotation tables put together axis by axis.

An encoding says by its attribute `axes` that a position is a row of so many numbers: [T, A] or [B, T, A] (see
`ordinate.position.axes`). Each pair of channels belongs to one axis, so an axis makes the tables of its own pairs, and the
pairs are then put in the order that the channels have.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from ordinate.errors import ArgumentError, ArgumentTypeError, ShapeError
from ordinate.position.indices import check_positions
from ordinate.position.rotation import angle_tables

__all__ = ["axis_tables", "check_axis_positions", "check_sections"]


def check_axis_positions(
    name: str, positions: Tensor, axes: int, *, length: int | None = None, batch: int | None = None, continuous: bool = True
) -> None:
    """Raise unless `positions` is [T, A] or [B, T, A] with A = `axes`, of a dtype that `check_positions` accepts."""
    if not isinstance(positions, Tensor):
        raise ArgumentTypeError(
            name,
            expected=f"a tensor [T, {axes}] or [B, T, {axes}]",
            got=type(positions).__name__,
            todo="pass ordinate.position.indices.grid(height, width)",
        )
    if positions.ndim not in (2, 3) or positions.shape[-1] != axes:
        raise ShapeError(
            name,
            expected=f"positions with {axes} axes, [T, {axes}] or [B, T, {axes}]",
            got=f"shape {tuple(positions.shape)}",
            todo="make them with indices.grid or indices.multimodal; text goes through indices.on_every_axis",
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
            todo="for example (16, 24, 24)",
        )
    for section in sections:
        if isinstance(section, bool) or not isinstance(section, int):
            raise ArgumentTypeError("sections", expected="whole numbers of pairs", got=section, todo="pass ints")
    total = sum(sections)
    if len(sections) < 2 or min(sections, default=0) < 1 or total > pairs or (exact and total != pairs):
        amount = f"that sum to {pairs}" if exact else f"that sum to at most {pairs}"
        raise ArgumentError(
            "sections",
            expected=f"positive numbers of pairs for two axes or more {amount} (half the rotated channels)",
            got=f"{tuple(sections)}, which sum to {total}",
            todo="a section counts pairs, not channels: mrope_section in a config",
        )
    return tuple(sections)


def axis_tables(
    positions: Tensor,
    frequencies: Sequence[Sequence[float]],
    order: Sequence[int],
    *,
    factor: float = 1.0,
    dtype: torch.dtype = torch.float32,
) -> tuple[Tensor, Tensor]:
    """cos and sin of every pair, from the position along the axis that the pair belongs to.

    Args:
        positions: [T, A] or [B, T, A].
        frequencies: for each axis, radians per position of its pairs.
        order: for each pair of the result, its place in the pairs of all axes laid end to end.
        factor: multiplies both tables.
        dtype: of the tables.

    Returns:
        cos and sin, each [T, P] or [B, T, P].
    """
    along = [
        angle_tables(positions[..., axis], _radians(own, positions.device), factor=factor, dtype=dtype)
        for axis, own in enumerate(frequencies)
    ]
    cos, sin = torch.cat([cos for cos, _ in along], dim=-1), torch.cat([sin for _, sin in along], dim=-1)
    if list(order) == list(range(len(order))):
        return cos, sin
    places = torch.tensor(order, device=positions.device)
    return cos.index_select(-1, places), sin.index_select(-1, places)


def _radians(frequencies: Sequence[float], device: torch.device) -> Tensor:
    return torch.tensor(frequencies, dtype=torch.float64, device=device)
