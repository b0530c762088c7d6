"""Relative positions of patches, one learned vector for each offset along each axis, met by the query's content.

Sources: Li et al. 2021, arXiv 2112.01526 (MViTv2), section 4.1; Kirillov et al. 2023, arXiv 2304.02643 (SAM), whose image
encoder has them in every layer.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from ordinate.arguments import check_integer
from ordinate.errors import ArgumentError, PositionRangeError
from ordinate.position.additive.resampling import resample
from ordinate.position.base import ScoreBias, full_precision, values_at_hand
from ordinate.position.indices import check_axis_positions
from ordinate.shapes import check_shape

__all__ = ["DecomposedRelative"]


class DecomposedRelative(ScoreBias):
    """bias(i, j) = sum over the axes of q_i . R_a[i_a - j_a], with 2 n_a - 1 vectors for an axis of n_a patches.

    The heads share the vectors. The query meets them unscaled, whatever scale its products with keys carry.

    Args:
        head_dim: channels D of a head.
        window: patches along each axis, (height, width) or (frames, height, width).

    `weights[a]` is [2 n_a - 1, D]: `rel_pos_h` and `rel_pos_w` of a checkpoint, in the same order.

    Raises:
        ArgumentError: a window that has not two or three sides of 1 or more.

    Source: Li et al. 2021, arXiv 2112.01526, eqs. 3-4.

    >>> from ordinate.position import indices
    >>> patches = indices.grid(2, 3)
    >>> DecomposedRelative(8, (2, 3)).bias(patches, patches, torch.randn(1, 4, 6, 8)).shape
    torch.Size([1, 4, 6, 6])
    """

    needs_content = True

    def __init__(self, head_dim: int, window: Sequence[int]) -> None:
        super().__init__()
        check_integer("head_dim", head_dim, minimum=1)
        if not isinstance(window, list | tuple) or len(window) not in (2, 3):
            raise ArgumentError("window", expected="(height, width) or (frames, height, width)", got=window)
        for side in window:
            check_integer("window", side, minimum=1)
        self.head_dim, self.window = head_dim, tuple(window)
        self.weights = nn.ParameterList([nn.Parameter(torch.empty(2 * side - 1, head_dim)) for side in window])
        self.reset_parameters()

    @property
    def axes(self) -> int:
        """Numbers in a position."""
        return len(self.window)

    def reset_parameters(self) -> None:
        """Draw the vectors anew from N(0, 0.02^2), cut at two standard deviations, as MViTv2 does."""
        for weight in self.weights:
            nn.init.trunc_normal_(weight, std=0.02, a=-0.04, b=0.04)

    @full_precision
    def bias(
        self,
        query_positions: Tensor,
        key_positions: Tensor,
        query: Tensor | None = None,
        key: Tensor | None = None,
        scale: float | None = None,
    ) -> Tensor:
        """[B, H, T, S], float32 or wider.

        Args:
            query_positions, key_positions: integers [T, A] or [B, T, A] and [S, A] or [B, S, A]. Where keys are pooled, both in
                units of the finer grid.
            query: [B, H, T, D].
            key, scale: not looked at.

        Raises:
            ArgumentError: no query.
            PositionRangeError: an offset that the window does not have (eager mode).
            ArgumentTypeError: positions that are not integers.
        """
        if query is None:
            raise ArgumentError("query", expected="the tensor itself: this term depends on content", got="None")
        sizes = check_shape("query", query, "B H T D", D=self.head_dim)
        batch = sizes["B"]
        check_axis_positions("query_positions", query_positions, self.axes, length=sizes["T"], batch=batch, continuous=False)
        check_axis_positions("key_positions", key_positions, self.axes, batch=batch, continuous=False)
        wide = query.to(torch.promote_types(query.dtype, torch.float32))
        total: Tensor | None = None
        for axis, (side, weight) in enumerate(zip(self.window, self.weights, strict=True)):
            offsets = query_positions[..., axis].long().unsqueeze(-1) - key_positions[..., axis].long().unsqueeze(-2)
            if offsets.numel() and values_at_hand(offsets) and int(offsets.abs().max()) >= side:
                raise PositionRangeError(
                    "query_positions",
                    expected=f"offsets below {side} along axis {axis} of the window {self.window}",
                    got=int(offsets.abs().max()),
                    hint="number the patches from 0 inside each window, or stretch it with resized(...)",
                )
            products = wide @ weight.to(wide.dtype).T
            index = (offsets + side - 1).unsqueeze(-3).expand(*products.shape[:3], offsets.shape[-1])
            term = products.gather(-1, index)
            total = term if total is None else total + term
        assert total is not None
        return total

    def resized(self, window: Sequence[int]) -> DecomposedRelative:
        """A new encoding for another window, its vectors interpolated linearly along each axis, as SAM and MViTv2 do.

        >>> DecomposedRelative(8, (14, 14)).resized((64, 64))
        DecomposedRelative(8, (64, 64))
        """
        result = DecomposedRelative(self.head_dim, window).to(self.weights[0])
        with torch.no_grad():
            for mine, other in zip(self.weights, result.weights, strict=True):
                other.copy_(resample(mine.detach(), [other.shape[0]], mode="linear"))
        return result
