"""Tables of grids: offsets and earlier calls."""

from __future__ import annotations

import torch
from torch import Tensor

from ordinate.position import AxialRotary, indices
from ordinate.verify import check_axial


def ours(size: tuple[int, ...], offset: tuple[int, ...] = (0, 0)) -> tuple[Tensor, Tensor]:
    cos, sin = AxialRotary(32, layout="half").tables(indices.grid(*size) + torch.tensor(offset))
    return cos, sin


def test_our_own_grid_passes():
    assert check_axial(ours).passed


def test_an_axis_without_effect_an_offset_without_effect_and_a_stale_table_are_seen():
    def flat(size: tuple[int, ...], offset: tuple[int, ...] = (0, 0)) -> tuple[Tensor, Tensor]:
        cos, sin = ours((size[0], 1), offset)
        return cos.repeat_interleave(size[1], 0), sin.repeat_interleave(size[1], 0)

    assert "every-axis" in [outcome.id for outcome in check_axial(flat).failed]
    assert "offsets" in [outcome.id for outcome in check_axial(lambda size, offset=(0, 0): ours(size)).failed]

    kept: dict[str, Tensor] = {}

    class Stale(torch.nn.Module):
        def forward(self, size: tuple[int, ...], offset: tuple[int, ...] = (0, 0)) -> Tensor:
            table = kept.setdefault("table", torch.cat(ours((20, 20)), -1).reshape(20, 20, -1))
            return table[: size[0], : size[1]] if offset == (0, 0) else torch.cat(ours(size, (0, 0)), -1)

    assert "offsets-after" in [outcome.id for outcome in check_axial(Stale()).failed]
