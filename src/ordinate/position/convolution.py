"""Positions from neighbours: convolutions over tokens, whose zero padding at the ends tells where a token stands.

They read the stream itself, so that they stand apart from encodings that are functions of positions; positions say here which
tokens are neighbours, so padding, packed documents and gaps end a convolution as the end of a row does. For encoders: a token
sees what is after it. Sources: Baevski et al. 2020, arXiv 2006.11477 (wav2vec 2.0); Chu et al. 2021, arXiv 2102.10882
(conditional encodings) and 2104.13840 (Twins).
"""

from __future__ import annotations

import math
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn.functional import conv1d, conv2d, gelu, layer_norm, pad

from ordinate.arguments import check_integer
from ordinate.errors import ArgumentError
from ordinate.position.base import PositionEncoding, values_at_hand
from ordinate.position.indices import check_axis_positions, check_positions
from ordinate.shapes import check_shape

__all__ = ["ConvolutionalPosition", "DepthwisePosition"]


class ConvolutionalPosition(PositionEncoding):
    """Each token plus what a grouped convolution makes of the tokens around it: x + gelu(conv(x)).

    conv(x)_t = b + sum over o of W_o x at position p_t + o, for the `kernel_size` offsets o from -floor(kernel_size / 2) on.

    Args:
        dim: channels of the stream.
        kernel_size: tokens that are seen; 128 in wav2vec 2.0, HuBERT and UniSpeech.
        groups: of the convolution; divides dim.
        norm: "weight": each tap W_o has a learned length (wav2vec 2.0, HuBERT); "layer": the output is normalised over
            channels before the activation (data2vec, whose kernel is 19).
        layers: convolutions one behind another, x + f_n(... f_1(x)); 5 in data2vec.

    Raises:
        ArgumentError: sizes below 1, groups that do not divide dim, an unknown norm.

    Source: Baevski et al. 2020, arXiv 2006.11477, section 2; Baevski et al. 2022, arXiv 2202.03555 (data2vec). In a checkpoint
    of wav2vec 2.0, `parametrizations.weight.original0` is `gain` and `original1` is `weight`.

    >>> ConvolutionalPosition(16, kernel_size=4, groups=2)(torch.randn(2, 7, 16), torch.arange(7)).shape
    torch.Size([2, 7, 16])
    """

    def __init__(
        self,
        dim: int,
        *,
        kernel_size: int = 128,
        groups: int = 16,
        norm: Literal["weight", "layer"] = "weight",
        layers: int = 1,
    ) -> None:
        super().__init__()
        for name, size in (("dim", dim), ("kernel_size", kernel_size), ("groups", groups), ("layers", layers)):
            check_integer(name, size, minimum=1)
        if dim % groups:
            raise ArgumentError("groups", expected=f"a number that divides dim ({dim})", got=groups)
        if norm not in ("weight", "layer"):
            raise ArgumentError("norm", expected="'weight' or 'layer'", got=norm)
        self.dim, self.kernel_size, self.groups, self.norm, self.layers = dim, kernel_size, groups, norm, layers
        shape = (layers, dim, dim // groups, kernel_size)
        self.weight, self.bias = nn.Parameter(torch.empty(shape)), nn.Parameter(torch.empty(layers, dim))
        self.gain = nn.Parameter(torch.empty(layers, 1, 1, kernel_size)) if norm == "weight" else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the taps anew from N(0, 4 / (kernel_size dim)), as wav2vec 2.0 does; biases start at 0."""
        nn.init.normal_(self.weight, std=2 / math.sqrt(self.kernel_size * self.dim))
        nn.init.zeros_(self.bias)
        if self.gain is not None:
            with torch.no_grad():
                self.gain.copy_(self._lengths())

    def forward(self, x: Tensor, positions: Tensor) -> Tensor:
        """x [B, T, D] plus `mix`."""
        return x + self.mix(x, positions)

    def mix(self, x: Tensor, positions: Tensor) -> Tensor:
        """What is added to x, [B, T, D] in its dtype.

        Args:
            x: [B, T, D].
            positions: integers [T] or [B, T]. A token's neighbour o places on is the token stored there, if it stands at the
                position o further: not padding, another document, or what comes after a gap.

        Raises:
            ShapeError: sizes that do not fit.
        """
        sizes = check_shape("x", x, "B T D", D=self.dim)
        check_positions("positions", positions, length=sizes["T"], batch=sizes["B"])
        unbroken = values_at_hand(positions) and bool((positions.diff(dim=-1) == 1).all())
        for layer in range(self.layers):
            weight = self.weight[layer]
            if self.gain is not None:
                weight = weight * (self.gain[layer] / self._lengths()[layer])
            weight, bias = weight.to(x.dtype), self.bias[layer].to(x.dtype)
            made = self._convolved(x, weight, bias) if unbroken else self._by_neighbours(x, positions, weight, bias)
            x = gelu(layer_norm(made, (self.dim,)) if self.norm == "layer" else made)
        return x

    def _lengths(self) -> Tensor:
        return self.weight.square().sum((1, 2), keepdim=True).sqrt()

    def _convolved(self, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        before = self.kernel_size // 2
        around = pad(x.transpose(1, 2), (before, self.kernel_size - 1 - before))
        return conv1d(around, weight, bias, groups=self.groups).transpose(1, 2)

    def _by_neighbours(self, x: Tensor, positions: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        """The same for any positions: every token's neighbours laid out, [B, T, D, kernel_size], those of elsewhere zero."""
        before, behind = self.kernel_size // 2, self.kernel_size - 1 - self.kernel_size // 2
        offset = torch.arange(-before, behind + 1, device=x.device)
        places = torch.arange(x.shape[1], device=x.device).unsqueeze(-1) + offset  # [T, kernel_size]
        inside = (places >= 0) & (places < x.shape[1])
        places = places.clamp(0, max(x.shape[1] - 1, 0))
        near = inside & (positions[..., places] - positions.unsqueeze(-1) == offset)
        taken = torch.where(near.unsqueeze(-1), x[:, places], 0.0).unflatten(-1, (self.groups, -1))
        made = torch.einsum("btkgi,goik->btgo", taken, weight.unflatten(0, (self.groups, -1)))
        return made.flatten(-2) + bias


class DepthwisePosition(PositionEncoding):
    """Each patch plus a convolution of its own channel over the patches around it: x + conv(x).

    Twins puts it behind the first block of each stage; PVTv2 and SegFormer take the convolution alone (`mix`) inside their
    feed-forward networks. Zeros beyond the image's edge are what tells a patch where it is.

    Args:
        dim: channels.
        kernel_size: patches along each side, odd.

    Raises:
        ArgumentError: sizes below 1, an even kernel.

    Source: Chu et al. 2021, arXiv 2102.10882, section 4.2; Wang et al. 2021, arXiv 2106.13797 (PVTv2); Xie et al. 2021, arXiv
    2105.15203 (SegFormer). `weight` and `bias` are those of their `Conv2d(dim, dim, 3, 1, 1, groups=dim)`.

    >>> from ordinate.position import indices
    >>> DepthwisePosition(8)(torch.randn(2, 12, 8), indices.grid(3, 4)).shape
    torch.Size([2, 12, 8])
    """

    axes = 2

    def __init__(self, dim: int, *, kernel_size: int = 3) -> None:
        super().__init__()
        check_integer("dim", dim, minimum=1)
        check_integer("kernel_size", kernel_size, minimum=1)
        if kernel_size % 2 == 0:
            raise ArgumentError("kernel_size", expected="an odd number, with the patch itself in the middle", got=kernel_size)
        self.dim, self.kernel_size = dim, kernel_size
        self.weight = nn.Parameter(torch.empty(dim, 1, kernel_size, kernel_size))
        self.bias = nn.Parameter(torch.empty(dim))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the weights from N(0, 2 / kernel_size^2), as PVTv2 and SegFormer do; biases start at 0."""
        nn.init.normal_(self.weight, std=math.sqrt(2) / self.kernel_size)
        nn.init.zeros_(self.bias)

    def forward(self, x: Tensor, positions: Tensor) -> Tensor:
        """x [B, T, D] plus `mix`."""
        return x + self.mix(x, positions)

    def mix(self, x: Tensor, positions: Tensor) -> Tensor:
        """The convolution alone, [B, T, D] in the dtype of x.

        Args:
            x: [B, T, D].
            positions: integers (row, column), [T, 2] or [B, T, 2]; patches may be missing and stand in any order.

        Raises:
            ShapeError: sizes that do not fit.
            ArgumentError: two patches at one place (of two images in a row: give each a row of its own), or positions whose
                values cannot be looked at (a captured graph, vmap): the size of the image follows from them.
        """
        sizes = check_shape("x", x, "B T D", D=self.dim)
        check_axis_positions("positions", positions, 2, length=sizes["T"], batch=sizes["B"])
        if not values_at_hand(positions):
            raise ArgumentError("positions", expected="values that can be looked at", got="positions inside a graph or vmap")
        if sizes["T"] == 0:
            return x
        rows = positions.expand(sizes["B"], -1, -1) - positions.amin((-3, -2) if positions.ndim == 3 else -2)
        height, width = (int(size) + 1 for size in rows.amax((0, 1)))
        places = (rows[..., 0] * width + rows[..., 1]).long()
        if bool((places.sort(-1).values.diff(dim=-1) == 0).any()):
            raise ArgumentError(
                "positions",
                expected="one patch at each place of a row's image",
                got="two at one place",
                hint="give every image a row of its own",
            )
        index = places.unsqueeze(-1).expand(-1, -1, self.dim)
        image = x.new_zeros(sizes["B"], height * width, self.dim).scatter(1, index, x)
        image = image.transpose(1, 2).unflatten(-1, (height, width))
        weight, bias = self.weight.to(x.dtype), self.bias.to(x.dtype)
        made = conv2d(image, weight, bias, padding=self.kernel_size // 2, groups=self.dim)
        return made.flatten(2).transpose(1, 2).gather(1, index)
