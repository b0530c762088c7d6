"""Random Fourier features: sines and cosines of random projections of coordinates, as promptable segmentation encodes points.

Sources: Tancik et al. 2020, arXiv 2006.10739; Kirillov et al. 2023, arXiv 2304.02643 (SAM), section A.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from ordinate.arguments import check_integer, check_number
from ordinate.errors import ArgumentError
from ordinate.position.base import AddedEncoding
from ordinate.position.indices import check_axis_positions

__all__ = ["FourierFeatures"]


class FourierFeatures(AddedEncoding):
    """(sin(2 pi u W), cos(2 pi u W)) of coordinates u in [-1, 1], with W drawn once from N(0, scale^2).

    A coordinate x of an axis with n cells becomes u = 2 x / n - 1. `W` is a parameter without a gradient, since the
    features are random and not learned; `requires_grad_()` makes them so. Angles are formed in float64.

    Args:
        dim: channels D, even: D / 2 random directions.
        size: cells along each axis, (height, width) or (frames, height, width); (1, 1) where coordinates are in [0, 1] already.
        scale: standard deviation of the projections: larger ones tell nearer points apart.

    Raises:
        ArgumentError: an odd dim, sizes that are not positive, a scale that is not positive.

    Source: Tancik et al. 2020, arXiv 2006.10739, eq. 5; `PositionEmbeddingRandom` of SAM, whose coordinates are centres of
    pixels (add 0.5) and whose order is (x, y): `weight.flip(0)` converts.

    >>> FourierFeatures(64, (4, 4)).encode(torch.tensor([[0, 3], [2, 2]])).shape
    torch.Size([2, 64])
    """

    def __init__(self, dim: int, size: Sequence[float], *, scale: float = 1.0) -> None:
        super().__init__()
        check_integer("dim", dim, minimum=2)
        if dim % 2:
            raise ArgumentError("dim", expected="an even number: a sine and a cosine for each direction", got=dim)
        if not isinstance(size, list | tuple) or len(size) < 2:
            raise ArgumentError("size", expected="cells along two axes or more", got=size)
        for cells in size:
            check_number("size", cells, above=0)
        check_number("scale", scale, above=0)
        self.dim, self.size, self.scale = dim, tuple(size), scale
        self.weight = nn.Parameter(torch.empty(len(size), dim // 2), requires_grad=False)
        self.reset_parameters()

    @property
    def axes(self) -> int:
        """Numbers in a position."""
        return len(self.size)

    def reset_parameters(self) -> None:
        """Draw the directions anew."""
        with torch.no_grad():
            self.weight.normal_(std=self.scale)

    def encode(self, positions: Tensor, *, dtype: torch.dtype | None = None) -> Tensor:
        """Vectors [T, D] or [B, T, D] for positions [T, A] or [B, T, A], integers or float32/float64.

        Raises:
            ShapeError: positions without axes.
        """
        check_axis_positions("positions", positions, self.axes)
        size = torch.tensor(self.size, dtype=torch.float64, device=positions.device)
        places = 2 * positions.double() / size - 1
        angles = 2 * math.pi * (places.unsqueeze(-2) * self.weight.double().T).sum(-1)
        return torch.cat((angles.sin(), angles.cos()), dim=-1).to(dtype or self.weight.dtype)
