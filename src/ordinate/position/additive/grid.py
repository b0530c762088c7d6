"""Encodings that add a vector to each patch of an image or a video: sinusoids over several axes, and a learned grid.

The class token and its like are kept apart: they belong to no patch, so a resize never touches them. Sources: Dosovitskiy et
al. 2020, arXiv 2010.11929 (ViT); He et al. 2021, arXiv 2111.06377 (MAE); Carion et al. 2020, arXiv 2005.12872 (DETR); Beyer et
al. 2022, arXiv 2205.01580 (plain ViT).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, get_args

import torch
from torch import Tensor, nn

from ordinate.arguments import check_choice, check_integer
from ordinate.errors import ArgumentError, PositionRangeError, ShapeError
from ordinate.frequencies import check_base
from ordinate.position.additive.resampling import Interpolation, resample
from ordinate.position.axes import Coordinates, check_coordinates, grid
from ordinate.position.base import AddedEncoding, values_at_hand
from ordinate.position.indices import check_axis_positions
from ordinate.position.rotary.rotation import angle_tables

__all__ = ["GRID_CONVENTIONS", "Arrangement", "LearnedGrid", "SinusoidalGrid"]

Arrangement = Literal["halves", "alternating", "sines-first"]

GRID_CONVENTIONS: dict[str, dict[str, Any]] = {
    "mae": {"order": (1, 0)},
    "aimv2": {},
    "timm": {"arrangement": "sines-first"},
    "detr": {"arrangement": "alternating", "coordinates": "detr"},
}


class SinusoidalGrid(AddedEncoding):
    """Sines and cosines of each coordinate: the channels are shared equally among the axes.

    With n = dim / (2 A) frequencies w_i = base^(-i / n) for each axis, the channels of a patch at (y, x) are

    - "halves": sin(y w), cos(y w), sin(x w), cos(x w), each n wide;
    - "alternating": sin(y w_0), cos(y w_0), sin(y w_1), ..., then the same for x;
    - "sines-first": sin(y w), sin(x w), cos(y w), cos(x w).

    Args:
        dim: channels D, a multiple of 2 A.
        axes: 2 for images, 3 for video.
        arrangement: see above.
        base: of the frequency schedule, above 1.
        order: in which order the axes stand in the channels; (1, 0) puts width before height.
        coordinates: what `table` makes of a grid, see `indices.grid`.

    Raises:
        ArgumentError: a dim that does not divide, an unknown name, a base of 1 or less.

    Source: He et al. 2021, arXiv 2111.06377, appendix A.1 and `util/pos_embed.py` of the authors' code; Carion et al. 2020,
    arXiv 2005.12872, appendix A.4.

    >>> SinusoidalGrid(8).encode(torch.tensor([[0, 1]]))
    tensor([[0.0000, 0.0000, 1.0000, 1.0000, 0.8415, 0.0100, 0.5403, 0.9999]])
    """

    def __init__(
        self,
        dim: int,
        *,
        axes: int = 2,
        arrangement: Arrangement = "halves",
        base: float = 10000.0,
        order: Sequence[int] | None = None,
        coordinates: Coordinates = "pixel",
    ) -> None:
        super().__init__()
        if axes not in (2, 3):
            raise ArgumentError("axes", expected="2 or 3", got=axes, hint="one axis is Sinusoidal")
        check_integer("dim", dim, minimum=1)
        if dim % (2 * axes):
            raise ArgumentError(
                "dim", expected=f"a multiple of {2 * axes}, a sine and a cosine for each axis", got=dim, hint="pad the result"
            )
        check_base(base)
        check_choice("arrangement", arrangement, get_args(Arrangement), hint="MAE's is 'halves'")
        if order is not None and sorted(order) != list(range(axes)):
            raise ArgumentError("order", expected=f"each of {list(range(axes))} once", got=tuple(order), hint="(1, 0), say")
        check_coordinates(coordinates)
        self.dim, self.axes, self.arrangement, self.base, self.coordinates = dim, axes, arrangement, base, coordinates
        self.order = None if order is None else tuple(order)

    @classmethod
    def named(cls, convention: str, dim: int, **changes: Any) -> SinusoidalGrid:
        """The encoding as a published family has it, with any setting changed by name.

        Args:
            convention: "mae" (MAE, MoCo v3, DiT: width first), "aimv2" (the same with height first), "timm"
                (`build_sincos2d_pos_embed`), "detr" (normalised; temperature is `base`).
            dim: channels D.
            changes: arguments of the class.

        Raises:
            ArgumentError: an unknown name.

        >>> SinusoidalGrid.named("mae", 64)
        SinusoidalGrid(64, order=(1, 0))
        """
        check_choice("convention", convention, sorted(GRID_CONVENTIONS), hint="or give the settings themselves")
        return cls(dim, **(GRID_CONVENTIONS[convention] | changes))

    def frequencies(self) -> tuple[float, ...]:
        """Radians per unit of the coordinate, the same for every axis."""
        count = self.dim // (2 * self.axes)
        return tuple(float(self.base) ** (-index / count) for index in range(count))

    def encode(self, positions: Tensor, *, dtype: torch.dtype | None = None) -> Tensor:
        """Vectors [T, D] or [B, T, D] for positions [T, A] or [B, T, A].

        Args:
            positions: integers, or float32/float64, in any coordinates (`indices.grid`).
            dtype: of the result; by default torch's default dtype.

        Raises:
            ShapeError: positions without axes.
        """
        check_axis_positions("positions", positions, self.axes)
        radians = torch.tensor(self.frequencies(), dtype=torch.float64, device=positions.device)
        tables = [angle_tables(positions[..., axis], radians, dtype=torch.float64) for axis in self.order or range(self.axes)]
        if self.arrangement == "halves":
            parts = [table for cos, sin in tables for table in (sin, cos)]
        elif self.arrangement == "alternating":
            parts = [torch.stack((sin, cos), dim=-1).flatten(-2) for cos, sin in tables]
        else:
            parts = [sin for _, sin in tables] + [cos for cos, _ in tables]
        return torch.cat(parts, dim=-1).to(dtype or torch.get_default_dtype())

    def table(
        self, *size: int, class_tokens: int = 0, dtype: torch.dtype | None = None, device: torch.device | str | None = None
    ) -> Tensor:
        """Vectors [class_tokens + patches, D] of a whole grid in the encoding's own coordinates; class tokens get zeros.

        >>> SinusoidalGrid.named("detr", 64).table(2, 3, class_tokens=1).shape
        torch.Size([7, 64])
        """
        if len(size) != self.axes:
            raise ShapeError("size", expected=f"{self.axes} sizes", got=size, hint="(height, width) or (frames, height, width)")
        check_integer("class_tokens", class_tokens, minimum=0)
        patches = self.encode(grid(*size, coordinates=self.coordinates, device=device), dtype=dtype)
        return nn.functional.pad(patches, (0, 0, class_tokens, 0))


class LearnedGrid(AddedEncoding):
    """One learned vector for each cell of a grid, and one for each class token: PE(y, x) = weight[y, x].

    Args:
        size: cells along each axis, (height, width) or (frames, height, width); they need not be equal.
        dim: channels D.
        class_tokens: tokens in front that belong to no cell (1 in ViT, 2 in DeiT with distillation).

    Raises:
        ArgumentError: sizes below 1, another number of axes.

    Source: Dosovitskiy et al. 2020, arXiv 2010.11929, section 3.1, eq. 1, and section 3.2 for the resize.

    >>> LearnedGrid((14, 14), 64, class_tokens=1).table(16, 24).shape
    torch.Size([385, 64])
    """

    def __init__(self, size: Sequence[int], dim: int, *, class_tokens: int = 0) -> None:
        super().__init__()
        grid(*size)  # raises where size is none
        check_integer("dim", dim, minimum=1)
        check_integer("class_tokens", class_tokens, minimum=0)
        self.size, self.dim, self.class_tokens = tuple(size), dim, class_tokens
        self.weight = nn.Parameter(torch.empty(*size, dim))
        self.class_weight = nn.Parameter(torch.empty(class_tokens, dim)) if class_tokens else None
        self.reset_parameters()

    @property
    def axes(self) -> int:
        """Numbers in a position."""
        return len(self.size)

    def reset_parameters(self) -> None:
        """Draw the vectors anew from N(0, 0.02^2), cut at two standard deviations, as ViT does."""
        for weight in self.parameters():
            nn.init.trunc_normal_(weight, std=0.02, a=-0.04, b=0.04)

    @classmethod
    def from_table(cls, table: Tensor, size: Sequence[int], *, class_tokens: int = 0) -> LearnedGrid:
        """The grid that a checkpoint keeps as one table [class_tokens + cells, D] (or [1, ..., D]), cells in reading order.

        Raises:
            ShapeError: a table of another length.

        >>> LearnedGrid.from_table(torch.zeros(1, 7, 8), (2, 3), class_tokens=1)
        LearnedGrid((2, 3), 8, class_tokens=1)
        """
        rows = table.squeeze(0) if table.ndim == 3 else table
        cells = len(grid(*size))
        if rows.ndim != 2 or len(rows) != class_tokens + cells:
            raise ShapeError(
                "table",
                expected=f"[{class_tokens + cells}, D]: {class_tokens} class tokens and {cells} cells",
                got=f"shape {tuple(table.shape)}",
                hint="check size and class_tokens against the checkpoint",
            )
        result = cls(size, rows.shape[-1], class_tokens=class_tokens).to(rows)
        with torch.no_grad():
            result.weight.copy_(rows[class_tokens:].reshape(result.weight.shape))
            if result.class_weight is not None:
                result.class_weight.copy_(rows[:class_tokens])
        return result

    def encode(self, positions: Tensor, *, dtype: torch.dtype | None = None) -> Tensor:
        """Vectors [T, D] or [B, T, D] of the cells at integer positions [T, A] or [B, T, A], by default in the table's dtype.

        Raises:
            PositionRangeError: a cell outside the grid (looked at in eager mode; compiled code leaves it to the device).
            ArgumentTypeError: positions that are not integers.
            ShapeError: positions without axes.
        """
        check_axis_positions("positions", positions, self.axes, continuous=False)
        if positions.numel() and values_at_hand(positions):
            for axis, cells in enumerate(self.size):
                lowest, highest = (int(end) for end in positions[..., axis].aminmax())
                if lowest < 0 or highest >= cells:
                    raise PositionRangeError(
                        "positions",
                        expected=f"positions from 0 to {cells - 1} along axis {axis} of the grid {self.size}",
                        got=lowest if lowest < 0 else highest,
                        hint="stretch the grid with resized(...), or take one without a table (SinusoidalGrid, AxialRotary)",
                    )
        vectors = self.weight[positions.long().unbind(-1)]
        return vectors if dtype is None else vectors.to(dtype)

    def table(self, *size: int, mode: Interpolation | None = None, antialias: bool = False) -> Tensor:
        """Vectors [class_tokens + cells, D] of the whole grid, stretched to `size` where that is given.

        Args:
            size: the new cells along each axis; none for the grid's own.
            mode: "cubic" (the default for images) or "linear" (the default for video).
            antialias: as timm does where the grid shrinks; the Hugging Face models do not.

        Raises:
            ShapeError: another number of axes.
            RefusedError: "cubic" or `antialias` for video.
        """
        mode = mode or ("linear" if self.axes == 3 else "cubic")
        cells = resample(self.weight, size or self.size, mode=mode, antialias=antialias).flatten(0, -2)
        return cells if self.class_weight is None else torch.cat((self.class_weight, cells))

    def resized(self, *size: int, mode: Interpolation | None = None, antialias: bool = False) -> LearnedGrid:
        """A new encoding for another grid, by interpolation; class tokens stay. Arguments and errors as `table`."""
        table = self.table(*size, mode=mode, antialias=antialias)
        return LearnedGrid.from_table(table.detach(), size or self.size, class_tokens=self.class_tokens)
