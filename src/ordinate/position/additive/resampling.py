"""Tables of learned vectors stretched to another size: rows, grids, videos.

It stands apart because a row of positions and a grid of patches are resized by the same rule. The vectors are samples at cell
centres (align_corners=False), as in ViT, DINOv2, timm and the Hugging Face models. Source: Dosovitskiy et al. 2020, arXiv
2010.11929, section 3.2.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor
from torch.nn.functional import interpolate

from ordinate.errors import ArgumentError, ArgumentTypeError, RefusedError, ShapeError

__all__ = ["Interpolation", "resample"]

Interpolation = Literal["linear", "cubic"]


def resample(table: Tensor, size: Sequence[int], *, mode: Interpolation, antialias: bool = False) -> Tensor:
    """A table [n_1, ..., n_A, D] of one to three axes as [m_1, ..., m_A, D].

    Cell i of the result lies at (i + 1/2) n / m - 1/2 of the table. Work is float32 or wider, the result has the dtype of
    `table`; the same size gives `table` itself.

    Args:
        table: the vectors, on a grid.
        size: the new number of cells along each axis.
        mode: "linear" along each axis, or "cubic" (convolution with a = -0.75) for one and two axes.
        antialias: widen the kernel where the table shrinks, as timm does; for one and two axes.

    Raises:
        ShapeError: another number of axes than in `size`.
        ArgumentError: sizes below 1, an unknown mode.
        RefusedError: "cubic" or `antialias` along three axes, which torch does not have.

    >>> resample(torch.tensor([[0.0], [1.0]]), [4], mode="linear").flatten()
    tensor([0.0000, 0.2500, 0.7500, 1.0000])
    """
    axes = table.ndim - 1
    if axes not in (1, 2, 3) or len(size) != axes:
        raise ShapeError(
            "size", expected=f"{axes} sizes for a table of shape {tuple(table.shape)}", got=tuple(size), hint="one an axis"
        )
    for cells in size:
        if isinstance(cells, bool) or not isinstance(cells, int | torch.SymInt):
            raise ArgumentTypeError("size", expected="whole numbers of 1 or more", got=cells, hint="pass ints")
        if cells < 1:
            raise ArgumentError("size", expected="whole numbers of 1 or more", got=tuple(size), hint="a table cannot be empty")
    if mode not in ("linear", "cubic"):
        raise ArgumentError("mode", expected="'linear' or 'cubic'", got=mode, hint="ViT and timm have 'cubic' for images")
    if axes == 3 and (mode == "cubic" or antialias):
        raise RefusedError(
            "mode",
            expected="'linear' without antialias along three axes",
            got=f"{mode!r}, antialias={antialias}",
            hint="resize height and width frame by frame, or take mode='linear'",
        )
    if tuple(table.shape[:-1]) == tuple(size):
        return table
    wide = table.to(torch.promote_types(table.dtype, torch.float32)).movedim(-1, 0).unsqueeze(0)
    if axes == 1:  # as an image of height 1, where antialias and cubic are known too
        wide, size = wide.unsqueeze(-2), [1, *size]
    name = {"linear": "trilinear" if axes == 3 else "bilinear", "cubic": "bicubic"}[mode]
    stretched = interpolate(wide, size=list(size), mode=name, align_corners=False, antialias=antialias)
    if axes == 1:
        stretched = stretched.squeeze(-2)
    return stretched.squeeze(0).movedim(0, -1).to(table.dtype)
