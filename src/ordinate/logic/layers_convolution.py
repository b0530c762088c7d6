"""Convolution by trees of gates, and its pooling.

A kernel is a binary tree: 2^depth leaves read signals of the receptive field, each inner node is a learned gate of two nodes
below. The same tree is laid at every place (Petersen et al. 2024, "Convolutional Differentiable Logic Gate Networks", arXiv
2411.04732, section 3.1). How trees are evaluated is in `tree_function.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ordinate.errors import ArgumentError, ArgumentTypeError, ShapeError, UnknownNameError
from ordinate.logic.gate_bank import GateBank
from ordinate.logic.gate_function import by_rows
from ordinate.logic.tree_function import largest_of_windows, relaxed_trees

__all__ = ["LogicConv2d", "OrPooling2d"]


def _check_images(x: Tensor, channels: int | None) -> None:
    if not isinstance(x, Tensor) or not x.is_floating_point():
        raise ArgumentTypeError("x", expected="a floating tensor with values from 0 to 1", got=str(x), hint="pass x.float()")
    if x.ndim < 3 or (channels is not None and x.shape[-3] != channels):
        raise ShapeError(
            "x",
            expected=f"shape (..., {'channels' if channels is None else channels}, height, width)",
            got=tuple(x.shape),
            hint="images of one channel need x.unsqueeze(-3)",
        )


class LogicConv2d(nn.Module):
    """Trees of gates at every place of an image.

    Args:
        in_channels: channels of the image.
        out_channels: kernels, one tree each.
        receptive_field: height and width that leaves may read from.
        depth: levels of gates; a tree has 2^depth leaves and 2^depth - 1 gates.
        stride: from place to place.
        padding: zeros around the image.
        parametrisation: as in `LogicDense`, like the arguments below.
        mode: what training sees.
        initialisation: of the gates.
        certainty: of residual gates.
        temperature: divides the logits of the gates.
        channels_read: channels that the leaves of one kernel may read from, drawn for each kernel; None for all. Few make the
            leaves of a tree more related (the source has 2).
        seed: of the leaves and of the initial parameters.

    Raises:
        ArgumentError: sizes out of range.
        UnknownNameError: an unknown name.

    Source: Petersen et al. 2024, arXiv 2411.04732.

    >>> layer = LogicConv2d(1, 6, receptive_field=3, depth=2, padding=1)
    >>> layer(torch.rand(2, 1, 8, 8)).shape, layer.num_gates_per_place
    (torch.Size([2, 6, 8, 8]), 18)
    """

    leaves: Tensor

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        *,
        receptive_field: int = 3,
        depth: int = 2,
        stride: int = 1,
        padding: int = 0,
        parametrisation: str = "light",
        mode: str = "soft",
        initialisation: str = "residual",
        certainty: float = 0.9,
        temperature: float = 1.0,
        channels_read: int | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__()
        read = in_channels if channels_read is None else channels_read
        for name, value, least in (
            ("in_channels", in_channels, 1),
            ("out_channels", out_channels, 1),
            ("receptive_field", receptive_field, 1),
            ("depth", depth, 1),
            ("stride", stride, 1),
            ("padding", padding, 0),
            ("channels_read", read, 1),
        ):
            if not isinstance(value, int) or isinstance(value, bool) or value < least:
                raise ArgumentError(name, expected=f"an integer of at least {least}", got=value, hint="correct it")
        if read > in_channels:
            raise ArgumentError("channels_read", expected=f"at most {in_channels} channels", got=read, hint="take fewer")
        self.in_channels, self.out_channels = in_channels, out_channels
        self.receptive_field, self.depth, self.stride, self.padding = receptive_field, depth, stride, padding
        self.channels_read = channels_read
        field = read * receptive_field**2
        if field < 2:
            raise ArgumentError("receptive_field", expected="at least two signals", got=field, hint="take a larger one")
        self.register_buffer("leaves", _draw_leaves(in_channels, read, receptive_field**2, out_channels, 2**depth, seed))
        shared = {
            "parametrisation": parametrisation,
            "mode": mode,
            "initialisation": initialisation,
            "certainty": certainty,
            "temperature": temperature,
        }
        self.levels = nn.ModuleList(
            GateBank((out_channels, 2 ** (depth - 1 - level)), seed=seed + level, **shared)  # type: ignore[arg-type]
            for level in range(depth)
        )
        self._settings: dict[str, Any] = {**shared, "seed": seed}

    @property
    def num_gates_per_place(self) -> int:
        """Gates at one place: of all trees together."""
        return self.out_channels * (2**self.depth - 1)

    def tables(self) -> list[Tensor]:
        """The discrete gates of each level, from the leaves up: int64 [out_channels, 2^(depth - 1 - level)]."""
        return [level.tables() for level in self.levels]  # type: ignore[operator]

    def settings(self) -> dict[str, Any]:
        """What makes a layer of the same shape again."""
        return {
            "in_channels": self.in_channels,
            "out_channels": self.out_channels,
            "receptive_field": self.receptive_field,
            "depth": self.depth,
            "stride": self.stride,
            "padding": self.padding,
            "channels_read": self.channels_read,
            **self._settings,
        }

    def output_size(self, height: int, width: int) -> tuple[int, int]:
        """Height and width of the result. Raises ArgumentError where the receptive field does not fit."""
        found = tuple((side + 2 * self.padding - self.receptive_field) // self.stride + 1 for side in (height, width))
        if min(found) < 1:
            raise ArgumentError(
                "x",
                expected=f"an image of at least {self.receptive_field} by {self.receptive_field} with its padding",
                got=f"{height} by {width}",
                hint="pad it or take a smaller receptive field",
            )
        return found[0], found[1]

    def leaf_signals(self, height: int, width: int) -> Tensor:
        """Which signal of the padded image each leaf reads, int64 [out_channels, places, 2^depth].

        Signals of the padded image are numbered channel by channel, row by row.
        """
        rows, columns = self.output_size(height, width)
        high, wide = height + 2 * self.padding, width + 2 * self.padding
        field = self.receptive_field
        channel, dy, dx = self.leaves // field**2, self.leaves // field % field, self.leaves % field
        offset = (channel * high + dy) * wide + dx
        places = torch.arange(rows, device=offset.device)[:, None] * self.stride * wide
        places = places + torch.arange(columns, device=offset.device) * self.stride
        return offset[:, None, :] + places.reshape(1, -1, 1)

    def forward(self, x: Tensor) -> Tensor:
        """Images (..., in_channels, height, width) to (..., out_channels, rows, columns)."""
        _check_images(x, self.in_channels)
        height, width = x.shape[-2:]
        rows, columns = self.output_size(height, width)
        images = by_rows(x.reshape(-1, x.shape[-3:].numel())).reshape(self.in_channels, height, width, -1)
        padded = F.pad(images, (0, 0, *(self.padding,) * 4)) if self.padding else images
        coefficients = torch.cat([level.coefficients() for level in self.levels], 1)  # type: ignore[operator]
        roots = relaxed_trees(padded.flatten(0, 2), coefficients.to(x.dtype), self.leaf_signals(height, width))
        return roots.T.reshape(*x.shape[:-3], self.out_channels, rows, columns)

    def extra_repr(self) -> str:
        """Sizes."""
        return (
            f"{self.in_channels}, {self.out_channels}, receptive_field={self.receptive_field}, depth={self.depth}, "
            f"stride={self.stride}, padding={self.padding}"
        )


def _draw_leaves(channels: int, read: int, cells: int, kernels: int, leaves: int, seed: int) -> Tensor:
    """Signals of the receptive field, each kernel's by shuffled rounds so that the two inputs of a gate differ."""
    generator = np.random.default_rng(seed)
    field = read * cells
    rounds = -(-leaves // field)
    drawn = np.stack([np.concatenate([generator.permutation(field) for _ in range(rounds)])[:leaves] for _ in range(kernels)])
    pairs = drawn.reshape(kernels, -1, 2)
    same = pairs[..., 0] == pairs[..., 1]
    pairs[..., 1] = np.where(same, (pairs[..., 1] + 1) % field, pairs[..., 1])
    drawn = pairs.reshape(kernels, leaves).astype(np.int64)
    if read < channels:
        used, chosen = np.zeros(channels), np.empty((kernels, read), np.int64)
        for kernel in range(kernels):  # of the channels least read so far, so that none is left out
            chosen[kernel] = np.argsort(used + generator.random(channels))[:read]
            used[chosen[kernel]] += 1
        drawn = np.take_along_axis(chosen, drawn // cells, 1) * cells + drawn % cells
    return torch.from_numpy(drawn)


class OrPooling2d(nn.Module):
    """The OR of each window, relaxed as the largest value, or as 1 - prod(1 - x), the probability of any.

    Args:
        kernel_size: height and width of the window.
        stride: from window to window; by default the window's size.
        padding: zeros around the image, at most half of the window.
        relaxation: "max" (Petersen et al. 2024, arXiv 2411.04732, section 3.2) or "probabilistic"; on bits they are the same.

    Raises:
        ArgumentError: sizes out of range.
        UnknownNameError: another relaxation.

    >>> OrPooling2d(2)(torch.tensor([[[0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]]]))
    tensor([[[1., 0.]]])
    """

    def __init__(self, kernel_size: int = 2, *, stride: int | None = None, padding: int = 0, relaxation: str = "max") -> None:
        super().__init__()
        stride = kernel_size if stride is None else stride
        for name, value, least in (("kernel_size", kernel_size, 1), ("stride", stride, 1), ("padding", padding, 0)):
            if not isinstance(value, int) or isinstance(value, bool) or value < least:
                raise ArgumentError(name, expected=f"an integer of at least {least}", got=value, hint="correct it")
        if padding > kernel_size // 2:
            raise ArgumentError("padding", expected="at most half of the window", got=padding, hint="take less")
        if relaxation not in ("max", "probabilistic"):
            raise UnknownNameError("relaxation", expected="max or probabilistic", got=relaxation, hint="take one of them")
        self.kernel_size, self.stride, self.padding, self.relaxation = kernel_size, stride, padding, relaxation

    def settings(self) -> dict[str, Any]:
        """What makes the layer again."""
        return {
            "kernel_size": self.kernel_size,
            "stride": self.stride,
            "padding": self.padding,
            "relaxation": self.relaxation,
        }

    def forward(self, x: Tensor) -> Tensor:
        """Images (..., channels, height, width) to (..., channels, rows, columns)."""
        _check_images(x, None)
        if self.relaxation == "max":
            rows = by_rows(x.reshape(-1, x.shape[-3:].numel())).reshape(*x.shape[-3:], -1)
            pooled = largest_of_windows(F.pad(rows, (0, 0, *(self.padding,) * 4)), self.kernel_size, self.stride)
            return pooled.flatten(0, 2).T.reshape(*x.shape[:-3], *pooled.shape[:3])
        images = F.pad(x, (self.padding,) * 4)
        windows = images.unfold(-2, self.kernel_size, self.stride).unfold(-2, self.kernel_size, self.stride)
        return 1 - (1 - windows).flatten(-2).prod(-1)

    def extra_repr(self) -> str:
        """Sizes."""
        return f"{self.kernel_size}, stride={self.stride}, padding={self.padding}"
