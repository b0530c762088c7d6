"""From one layout of rotated pairs to the other: the same numbers in another order, so exact both ways.

A checkpoint is trained with one layout. Code for the other serves it as well once the channels of queries and keys are put in
the other order, and the cheapest place is the projection: weights, biases and norms of queries and keys are permuted once, and
every score stays what it was. Meta's Llama (interleaved) became Hugging Face's (half) in this way.
"""

from __future__ import annotations

import torch
from torch import Tensor

from ordinate.arguments import check_integer
from ordinate.errors import ArgumentTypeError, ShapeError
from ordinate.position.rotary.rotation import Layout, RotatedChannels, check_head, check_layout, check_rotated_channels

__all__ = ["convert_layout", "layout_order"]


def convert_layout(
    tensor: Tensor,
    *,
    source: Layout,
    target: Layout,
    num_heads: int = 1,
    rotary_dim: int | None = None,
    rotated_channels: RotatedChannels = "first",
    dim: int = -1,
) -> Tensor:
    """The channels of `tensor` along `dim`, laid out for `source`, in the order of `target`.

    - queries, keys, a cache, a norm over one head, [..., D]: the defaults;
    - a projection's weight [H D, F] of `torch.nn.Linear`: `num_heads=H, dim=0`; that of keys has G heads;
    - its bias [H D], or a norm over all heads: `num_heads=H`.

    Only queries and keys are rotated: values and the output projection stay. Convert both, or scores change.

    Args:
        tensor: any dtype and any shape with num_heads * D along `dim`. A fused projection is split first.
        source: the layout it is in.
        target: the layout wanted; rotating the result in that layout gives the same scores.
        num_heads: heads side by side along `dim`.
        rotary_dim: channels of each head that turn; the rest keep their place. By default all.
        rotated_channels: whether those are the first or the last of each head.
        dim: the axis of the channels.

    Returns:
        A new tensor of the same shape and dtype; the same values, moved.

    Raises:
        ArgumentError: an unknown layout, an odd or too large rotary_dim, no heads.
        ShapeError: an axis that num_heads does not divide.

    >>> convert_layout(torch.arange(8), source="interleaved", target="half")
    tensor([0, 2, 4, 6, 1, 3, 5, 7])
    """
    if not isinstance(tensor, Tensor):
        raise ArgumentTypeError("tensor", expected="a tensor", got=type(tensor).__name__, hint="pass weight.data, say")
    check_layout(source)
    check_layout(target)
    check_rotated_channels(rotated_channels)
    check_integer("num_heads", num_heads, minimum=1)
    if tensor.ndim == 0 or not -tensor.ndim <= dim < tensor.ndim:
        raise ShapeError("dim", expected=f"an axis of {tuple(tensor.shape)}", got=dim, hint="weights of nn.Linear have dim=0")
    size = tensor.shape[dim]
    if size % num_heads:
        raise ShapeError(
            "tensor",
            expected=f"{num_heads} heads along axis {dim}",
            got=f"shape {tuple(tensor.shape)}",
            hint="pass the number of heads of this projection: keys may have fewer; split a fused projection first",
        )
    order = layout_order(
        size // num_heads, source=source, target=target, rotary_dim=rotary_dim, rotated_channels=rotated_channels
    )
    heads = torch.arange(num_heads).unsqueeze(1) * (size // num_heads)
    return tensor.index_select(dim, (heads + order).flatten().to(tensor.device))


def layout_order(
    head_dim: int,
    *,
    source: Layout,
    target: Layout,
    rotary_dim: int | None = None,
    rotated_channels: RotatedChannels = "first",
) -> Tensor:
    """For each channel of a head in the order of `target`, its place in that of `source`: int64 [D].

    Raises:
        ArgumentError: as `convert_layout`.

    >>> layout_order(6, source="half", target="interleaved", rotary_dim=4)
    tensor([0, 2, 1, 3, 4, 5])
    """
    check_layout(source)
    check_layout(target)
    check_rotated_channels(rotated_channels)
    head_dim, rotary_dim = check_head(head_dim, rotary_dim)
    order = torch.arange(head_dim)
    if source == target:
        return order
    start = 0 if rotated_channels == "first" else head_dim - rotary_dim
    turned = order[start : start + rotary_dim]
    rows = (rotary_dim // 2, 2) if source == "interleaved" else (2, rotary_dim // 2)
    order[start : start + rotary_dim] = turned.reshape(rows).T.reshape(-1)
    return order
