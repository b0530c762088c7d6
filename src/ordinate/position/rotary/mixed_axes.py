"""Mixed rotary encoding: every pair of every head turns by a learned combination of all axes, so diagonals count too.

It stands apart from the axial ones because its frequencies are parameters, of each head its own. Source: Heo et al. 2024,
arXiv 2403.13298, section 3.2.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ordinate.arguments import check_integer
from ordinate.errors import ArgumentError
from ordinate.frequencies import check_base, check_rotary_dim
from ordinate.position.base import PositionEncoding
from ordinate.position.indices import check_axis_positions
from ordinate.position.rotary.rotation import Layout, check_layout, rotate_pairs, working_dtype
from ordinate.shapes import check_shape

__all__ = ["MixedRotary"]


class MixedRotary(PositionEncoding):
    """Turns pair p of head h by the sum over the axes of coordinate_a * weight[a, h, p].

    The frequencies start as base^(-i / n), n = P / A, laid along A orthogonal directions, which are turned at
    random for each head. Angles are formed in float64, whatever the dtype of the parameter.

    Args:
        head_dim: channels D of a head; D / 2 pairs must be a multiple of `axes`.
        num_heads: query heads H. Shared key-value heads cannot be turned (each query head has its own frequencies).
        layout: "interleaved" (the authors') or "half".
        axes: 2 or 3.
        base: of the starting frequencies.

    Raises:
        ArgumentError: pairs that do not divide by the axes, no heads, an unknown layout.

    Source: Heo et al. 2024, arXiv 2403.13298, section 3.2; `init_random_2d_freqs` of the authors' code. The published models
    have the order (width, height): `weight.flip(0)` converts.

    >>> from ordinate.position import indices
    >>> mixed = MixedRotary(16, 4)
    >>> mixed.rotate(torch.randn(1, 4, 6, 16), indices.grid(2, 3)).shape
    torch.Size([1, 4, 6, 16])
    """

    def __init__(
        self, head_dim: int, num_heads: int, *, layout: Layout = "interleaved", axes: int = 2, base: float = 10.0
    ) -> None:
        super().__init__()
        check_rotary_dim("head_dim", head_dim)
        check_layout(layout)
        check_base(base)
        if axes not in (2, 3):
            raise ArgumentError("axes", expected="2 or 3", got=axes, hint="one axis is Rotary")
        if head_dim // 2 % axes:
            raise ArgumentError(
                "head_dim", expected=f"a multiple of {2 * axes} channels", got=head_dim, hint="each axis takes equal parts"
            )
        check_integer("num_heads", num_heads, minimum=1)
        self.head_dim, self.num_heads, self.layout, self.axes, self.base = head_dim, num_heads, layout, axes, base
        self.weight = nn.Parameter(torch.empty(axes, num_heads, head_dim // 2))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new directions for every head."""
        per_axis = self.head_dim // 2 // self.axes
        exponents = torch.arange(per_axis, dtype=torch.float64, device=self.weight.device) / per_axis
        inv_freq = float(self.base) ** -exponents
        gaussian = torch.randn(self.num_heads, self.axes, self.axes, dtype=torch.float64, device=self.weight.device)
        directions, triangle = torch.linalg.qr(gaussian)
        # the signs make the draw uniform over rotations; without them QR prefers some
        directions = directions * triangle.diagonal(dim1=-2, dim2=-1).sign().unsqueeze(-2)
        directions = directions * torch.cat(
            (directions.new_ones(self.num_heads, 1, self.axes - 1), torch.linalg.det(directions).sign()[:, None, None]), dim=-1
        )
        weight = (directions.unsqueeze(-1) * inv_freq).flatten(-2)  # [H, A, directions * frequencies]
        with torch.no_grad():
            self.weight.copy_(weight.transpose(0, 1))

    def rotate(self, x: Tensor, positions: Tensor) -> Tensor:
        """x [B, H, T, D] turned at positions [T, A] or [B, T, A]; same shape and dtype, worked in float32 or wider.

        Raises:
            ShapeError: another head_dim or number of heads, positions without axes, or of other tokens.
        """
        self._check("x", x, positions)
        return self._turned(x, self._angles(positions))

    def rotate_both(self, query: Tensor, key: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
        """query and key [B, H, T, D] of the same tokens, their angles formed once; the same as two calls of `rotate`."""
        self._check("query", query, positions)
        self._check("key", key, positions)
        angles = self._angles(positions)
        return self._turned(query, angles), self._turned(key, angles)

    def forward(self, x: Tensor, positions: Tensor) -> Tensor:
        """x [B, H, T, D] turned at its positions: `rotate`."""
        return self.rotate(x, positions)

    def _check(self, name: str, x: Tensor, positions: Tensor) -> None:
        sizes = check_shape(name, x, "B H T D", D=self.head_dim, H=self.num_heads)
        check_axis_positions("positions", positions, self.axes, length=sizes["T"], batch=sizes["B"])

    def _angles(self, positions: Tensor) -> Tensor:
        return torch.einsum("...ta,ahp->...htp", positions.double(), self.weight.double())

    def _turned(self, x: Tensor, angles: Tensor) -> Tensor:
        wide = working_dtype(x)
        cos, sin = angles.cos().to(wide), angles.sin().to(wide)
        # rotate_pairs has one table a row, so heads stand in as rows
        if angles.ndim == 3:
            return rotate_pairs(x.transpose(0, 1), cos, sin, layout=self.layout).transpose(0, 1)
        cos, sin = (table.expand(x.shape[0], -1, -1, -1).flatten(0, 1) for table in (cos, sin))
        return rotate_pairs(x.flatten(0, 1).unsqueeze(1), cos, sin, layout=self.layout).reshape(x.shape)
