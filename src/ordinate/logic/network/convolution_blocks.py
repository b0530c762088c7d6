"""Convolutions and poolings in a row, each described by one record, and how many gates they are once laid at every place.

A convolution shares what is learned between places, but a circuit has its gates at every place, and so have the papers' counts
(Petersen et al. 2024, arXiv 2411.04732). Networks are compared by that number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from ordinate.errors import ArgumentError
from ordinate.logic.network.layers import LogicConv2d, LogicDense, OrPooling2d
from ordinate.logic.network.lut_layer import LutDense

__all__ = ["ConvolutionBlock", "convolution_layers", "gates_at_every_place"]


@dataclass(frozen=True)
class ConvolutionBlock:
    """A convolution by trees of gates, and the OR of square windows behind it.

    Args:
        kernels: trees, each gives one channel.
        receptive_field: height and width that leaves may read from.
        depth: levels of gates of a tree.
        stride: from place to place.
        padding: zeros around the image.
        pooling: side of the windows; 1 for none.
        channels_read: channels that one kernel reads from, at most; 0 for all.

    >>> layers, shape = convolution_layers([ConvolutionBlock(kernels=6)], (8, 8))
    >>> shape
    (6, 3, 3)
    """

    kernels: int
    receptive_field: int = 3
    depth: int = 2
    stride: int = 1
    padding: int = 0
    pooling: int = 2
    channels_read: int = 0


def convolution_layers(
    blocks: Sequence[ConvolutionBlock], size: tuple[int, int], *, channels: int = 1, seed: int = 0, **gates: Any
) -> tuple[list[nn.Module], tuple[int, int, int]]:
    """The layers of some blocks, one after the other.

    Args:
        blocks: from the image on.
        size: height and width of the image.
        channels: of the image.
        seed: of leaves and gates, another for each block.
        gates: what gates are like, as in `LogicConv2d`: parametrisation, mode, initialisation, certainty, temperature.

    Returns:
        The layers, and channels, height and width of what they give.

    Raises:
        ArgumentError: a number out of range, a receptive field or a window larger than what it is laid on.

    >>> layers, shape = convolution_layers([ConvolutionBlock(6, depth=3), ConvolutionBlock(9, padding=1)], (10, 10))
    >>> len(layers), shape
    (4, (9, 2, 2))
    """
    height, width = size
    layers: list[nn.Module] = []
    for place, block in enumerate(blocks):
        if block.channels_read < 0:
            raise ArgumentError("channels_read", expected="0 for all, or more", got=block.channels_read)
        convolution = LogicConv2d(
            channels,
            block.kernels,
            receptive_field=block.receptive_field,
            depth=block.depth,
            stride=block.stride,
            padding=block.padding,
            channels_read=min(block.channels_read, channels) or None,
            seed=seed + 10 * place,  # each level of a tree takes the next seed
            **gates,
        )
        height, width = convolution.output_size(height, width)
        channels = block.kernels
        layers.append(convolution)
        if block.pooling != 1:
            pooling = OrPooling2d(block.pooling)
            if min(height, width) < block.pooling:
                raise ArgumentError(
                    "pooling",
                    expected=f"a window within the {height} by {width} that convolution {place + 1} gives",
                    got=block.pooling,
                    hint="pad the convolution, take fewer convolutions or a smaller window",
                )
            layers.append(pooling)
            height, width = height // block.pooling, width // block.pooling
    return layers, (channels, height, width)


@torch.no_grad()
def gates_at_every_place(network: nn.Sequential, example: Tensor) -> int:
    """Gates of the circuit before it is simplified: of each kernel at each place, and the ORs of the pooling.

    Args:
        network: layers in a row.
        example: one input, of the shape that the network takes.

    >>> layers, (channels, height, width) = convolution_layers([ConvolutionBlock(6)], (8, 8))
    >>> gates_at_every_place(nn.Sequential(*layers), torch.zeros(1, 8, 8)) == 6 * 3 * 6 * 6 + 6 * 3 * 3 * 3
    True
    """
    gates, x = 0, example.unsqueeze(0)
    for layer in network:
        x = layer(x)
        if isinstance(layer, LogicDense | LutDense):
            gates += x.numel()
        elif isinstance(layer, LogicConv2d):
            gates += x.numel() * (2**layer.depth - 1)
        elif isinstance(layer, OrPooling2d):
            gates += x.numel() * (layer.kernel_size**2 - 1)
    return gates
