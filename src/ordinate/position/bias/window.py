"""Biases on the two-dimensional offset between patches: a table for each offset (Swin, BEiT), or a network of it (Swin v2).

Positions have two axes, [T, 2] or [B, T, 2], as `ordinate.position.indices.grid(height, width)` makes them; the offset is query
minus key along each axis. They stand apart from the biases on one distance because their domain ends: a window of height h has
offsets -(h - 1) to h - 1 and no more.

Sources: Liu et al. 2021, arXiv 2103.14030, eq. 4 (Swin); Bao et al. 2021, arXiv 2106.08254, and its code (BEiT); Liu et al.
2022, arXiv 2111.09883, section 3.3 (Swin v2).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import torch
from torch import Tensor, nn

from ordinate.arguments import check_integer
from ordinate.errors import ArgumentError, ArgumentTypeError, PositionRangeError
from ordinate.position.base import ScoreBias, full_precision, values_at_hand
from ordinate.position.bias.distance import ScoreMod, one_position
from ordinate.position.indices import check_axis_positions

__all__ = ["ContinuousWindowBias2D", "WindowBias2D"]


class WindowBias2D(ScoreBias):
    """A learned number for each head and offset (rows, columns) between two patches of a window.

    bias(i, j) = weight[(dy + h - 1)(2 w - 1) + dx + w - 1, head], with (dy, dx) the position of query i minus that of key j.

    With `class_token` three more rows of the table hold class token to patch, patch to class token, and class token to itself,
    in that order. The class token is the token whose position is negative, (-1, -1) say; it may stand anywhere in the row.

    Args:
        num_heads: query heads H.
        window: height and width in patches. BEiT's window is its whole grid.
        class_token: keep the three extra rows, as BEiT does.

    The parameter `weight` is [(2 h - 1)(2 w - 1), H], or three rows longer, as `relative_position_bias_table` in checkpoints
    of Swin and BEiT. Along both axes the bias depends on the offset alone.

    Raises:
        ArgumentError: no heads, a side below 1.

    Source: Liu et al. 2021, arXiv 2103.14030, eq. 4; Bao et al. 2021, arXiv 2106.08254 (class token: its code).

    >>> from ordinate.position import indices
    >>> WindowBias2D(4, (7, 7)).bias(indices.grid(7, 7), indices.grid(7, 7)).shape
    torch.Size([4, 49, 49])
    """

    needs_content = False
    axes = 2

    def __init__(self, num_heads: int, window: Sequence[int], *, class_token: bool = False) -> None:
        super().__init__()
        check_integer("num_heads", num_heads, minimum=1)
        self.num_heads, self.window, self.class_token = num_heads, _sides("window", window), class_token
        height, width = self.window
        self.weight = nn.Parameter(torch.empty((2 * height - 1) * (2 * width - 1) + 3 * class_token, num_heads))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the table anew from N(0, 0.02^2) cut at two units, as Swin does."""
        nn.init.trunc_normal_(self.weight, std=0.02)

    @full_precision
    def bias(
        self,
        query_positions: Tensor,
        key_positions: Tensor,
        query: Tensor | None = None,
        key: Tensor | None = None,
        scale: float | None = None,
    ) -> Tensor:
        """[H, T, S] for positions [T, 2] and [S, 2], [B, H, T, S] where either has rows; float32 or wider.

        Raises:
            PositionRangeError: an offset that the window does not have, or a class token without its rows (eager mode).
            ArgumentTypeError: positions that are not integers.
        """
        _check("query_positions", query_positions, self.window, class_token=self.class_token)
        _check("key_positions", key_positions, self.window, class_token=self.class_token)
        rows = _table_rows(query_positions.unsqueeze(-2), key_positions.unsqueeze(-3), self.window)
        return nn.functional.embedding(rows, self._table()).movedim(-1, -3)

    def score_mod(self, query_positions: Tensor, key_positions: Tensor) -> ScoreMod:
        """The same bias for `flex_attention`: the table itself, and no more."""
        _check("query_positions", query_positions, self.window, class_token=self.class_token)
        _check("key_positions", key_positions, self.window, class_token=self.class_token)
        return _score_mod(self._table(), query_positions, key_positions, self.window)

    def _table(self) -> Tensor:
        return self.weight.to(torch.promote_types(self.weight.dtype, torch.float32))

    def resized(self, window: Sequence[int]) -> WindowBias2D:
        """A copy for another window: the table of offsets is stretched by bicubic interpolation, the class token's rows stay.

        Source: Liu et al. 2021, arXiv 2103.14030, section 3.3 (bi-cubic, for fine-tuning at another window).
        """
        other = WindowBias2D(self.num_heads, window, class_token=self.class_token).to(self.weight)
        offsets = (2 * self.window[0] - 1) * (2 * self.window[1] - 1)
        image = self.weight[:offsets].detach().float().T.reshape(1, self.num_heads, 2 * self.window[0] - 1, -1)
        size = (2 * other.window[0] - 1, 2 * other.window[1] - 1)
        stretched = nn.functional.interpolate(image, size=size, mode="bicubic", align_corners=False)
        with torch.no_grad():
            other.weight.copy_(torch.cat((stretched.flatten(2)[0].T, self.weight[offsets:].float())))
        return other


class ContinuousWindowBias2D(ScoreBias):
    """A network of the offset between two patches on a logarithmic scale, so that one checkpoint serves windows of any size.

    x = 8 d / (t - 1) for an offset d along a side that had t patches in training;
    u = sign(x) log2(1 + |x|) / log2(8) along each axis;
    bias(i, j) = ceiling * sigmoid(f_h(u)), f with one hidden layer of rectifiers.

    Args:
        num_heads: query heads H.
        window: height and width in patches.
        trained_window: of the checkpoint, where it was another; by default `window`.
        hidden_dim: width of the hidden layer.
        ceiling: the largest bias.

    The parameters are those of Swin v2's `cpb_mlp`: `mlp.0.weight`, `mlp.0.bias` and `mlp.2.weight`.

    Raises:
        ArgumentError: no heads, no hidden units, a side below 1.

    Source: Liu et al. 2022, arXiv 2111.09883, section 3.3, eqs. 3 and 4; the factors 8 and 16 and the sigmoid are its code's.

    >>> from ordinate.position import indices
    >>> ContinuousWindowBias2D(4, (8, 8)).bias(indices.grid(8, 8), indices.grid(8, 8)).shape
    torch.Size([4, 64, 64])
    """

    needs_content = False
    axes = 2

    def __init__(
        self,
        num_heads: int,
        window: Sequence[int],
        *,
        trained_window: Sequence[int] | None = None,
        hidden_dim: int = 512,
        ceiling: float = 16.0,
    ) -> None:
        super().__init__()
        check_integer("num_heads", num_heads, minimum=1)
        check_integer("hidden_dim", hidden_dim, minimum=1)
        self.num_heads, self.window = num_heads, _sides("window", window)
        self.trained_window = self.window if trained_window is None else _sides("trained_window", trained_window)
        self.hidden_dim, self.ceiling = hidden_dim, ceiling
        self.mlp = nn.Sequential(nn.Linear(2, hidden_dim), nn.ReLU(), nn.Linear(hidden_dim, num_heads, bias=False))

    def reset_parameters(self) -> None:
        """Draw the network anew, as `nn.Linear` does."""
        for layer in self.mlp:
            if isinstance(layer, nn.Linear):
                layer.reset_parameters()

    def table(self) -> Tensor:
        """The bias of every offset of the window, [(2 h - 1)(2 w - 1), H], float32 or wider; differentiable."""
        first, last = cast(nn.Linear, self.mlp[0]), cast(nn.Linear, self.mlp[2])
        wide = torch.promote_types(first.weight.dtype, torch.float32)
        along = []
        for side, trained in zip(self.window, self.trained_window, strict=True):
            offsets = torch.arange(1 - side, side, dtype=torch.float64, device=first.weight.device)
            x = 8 * offsets / max(trained - 1, 1)
            along.append((x.sign() * torch.log2(1 + x.abs()) / 3).to(wide))
        pairs = torch.stack(torch.meshgrid(*along, indexing="ij"), dim=-1).flatten(0, 1)
        linear = nn.functional.linear
        hidden = linear(pairs, first.weight.to(wide), first.bias.to(wide)).relu()
        return self.ceiling * linear(hidden, last.weight.to(wide)).sigmoid()

    @full_precision
    def bias(
        self,
        query_positions: Tensor,
        key_positions: Tensor,
        query: Tensor | None = None,
        key: Tensor | None = None,
        scale: float | None = None,
    ) -> Tensor:
        """[H, T, S] for positions [T, 2] and [S, 2], [B, H, T, S] where either has rows; float32 or wider.

        Raises:
            PositionRangeError: an offset that the window does not have (eager mode).
            ArgumentTypeError: positions that are not integers.
        """
        _check("query_positions", query_positions, self.window, class_token=False)
        _check("key_positions", key_positions, self.window, class_token=False)
        rows = _table_rows(query_positions.unsqueeze(-2), key_positions.unsqueeze(-3), self.window)
        return nn.functional.embedding(rows, self.table()).movedim(-1, -3)

    def score_mod(self, query_positions: Tensor, key_positions: Tensor) -> ScoreMod:
        """The same bias for `flex_attention`: a number for each offset of the window."""
        _check("query_positions", query_positions, self.window, class_token=False)
        _check("key_positions", key_positions, self.window, class_token=False)
        return _score_mod(self.table(), query_positions, key_positions, self.window)

    def _passed(self) -> dict[str, Any]:
        return {"trained_window": None if self.trained_window == self.window else self.trained_window}


def _table_rows(query_position: Tensor, key_position: Tensor, window: tuple[int, int]) -> Tensor:
    """Row of the table for positions [..., 2] that broadcast: [...], int64."""
    height, width = window
    offset = query_position.long() - key_position.long()
    row = (offset[..., 0] + height - 1) * (2 * width - 1) + offset[..., 1] + width - 1
    offsets = (2 * height - 1) * (2 * width - 1)
    from_class, to_class = query_position[..., 0] < 0, key_position[..., 0] < 0
    row = torch.where(from_class, torch.where(to_class, offsets + 2, offsets), row)
    return torch.where(to_class & ~from_class, offsets + 1, row)


def _score_mod(table: Tensor, query_positions: Tensor, key_positions: Tensor, window: tuple[int, int]) -> ScoreMod:
    by_head, height, width = table.T.contiguous(), *window
    offsets = (2 * height - 1) * (2 * width - 1)
    query_row, query_column = _one_patch(query_positions)
    key_row, key_column = _one_patch(key_positions)

    def mod(score: Tensor, batch: Tensor, head: Tensor, query: Tensor, key: Tensor) -> Tensor:
        y, x = query_row(batch, query), query_column(batch, query)
        down, right = y - key_row(batch, key), x - key_column(batch, key)
        row = (down + height - 1) * (2 * width - 1) + right + width - 1
        to_class, from_class = key_row(batch, key) < 0, y < 0
        row = torch.where(from_class, torch.where(to_class, offsets + 2, offsets), row)
        return score + by_head[head, torch.where(to_class & ~from_class, offsets + 1, row)]

    return mod


def _one_patch(positions: Tensor) -> list[Callable[[Tensor, Tensor], Tensor]]:
    """For each axis, (batch, index) -> coordinate of that token."""
    return [one_position(positions[..., axis].contiguous()) for axis in range(2)]


def _check(name: str, positions: Tensor, window: tuple[int, int], *, class_token: bool) -> None:
    check_axis_positions(name, positions, 2, continuous=False)
    if positions.numel() == 0 or not values_at_hand(positions):
        return
    patches = positions.flatten(0, -2)
    if class_token:
        patches = patches[(patches >= 0).any(-1)]
    lowest = int(patches.min()) if patches.numel() else 0
    if lowest < 0:
        raise PositionRangeError(
            name,
            expected="coordinates of 0 or more" if not class_token else "a patch, or a class token negative on both axes",
            got=lowest,
            hint="a negative position is the class token's: build the bias with class_token=True, or shift the patches",
        )
    for axis, side in enumerate(window):
        reached = int(patches[:, axis].max()) if patches.numel() else 0
        if reached >= side:
            raise PositionRangeError(
                name,
                expected=f"coordinates below the window's {('height', 'width')[axis]} ({side})",
                got=reached,
                hint="number the patches from 0 inside each window, or resize the table",
            )


def _sides(name: str, window: Sequence[int]) -> tuple[int, int]:
    sides = tuple(window) if isinstance(window, list | tuple) else ()
    if len(sides) != 2 or not all(isinstance(side, int) and not isinstance(side, bool) for side in sides):
        raise ArgumentTypeError(name, expected="(height, width), two ints", got=repr(window), hint="for example (7, 7)")
    if min(sides) < 1:
        raise ArgumentError(name, expected="sides of at least 1 patch", got=sides, hint="for example (7, 7)")
    return sides[0], sides[1]
