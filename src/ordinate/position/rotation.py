"""The rotation itself: pairs of channels turned by an angle whose cosine and sine are given.

(a, b) -> (a cos - b sin, a sin + b cos), for pairs (i, i + rotary_dim/2) in layout "half" and (2i, 2i + 1) in layout
"interleaved". Every rotary encoding of this package ends here, so there is one kernel to make fast and one to check.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from ordinate.errors import ArgumentError
from ordinate.shapes import check_shape

__all__ = ["Layout", "angle_tables", "check_layout", "rotate_pairs"]

Layout = Literal["half", "interleaved"]


def check_layout(layout: str) -> None:
    """Raise unless `layout` is one of the two."""
    if layout not in ("half", "interleaved"):
        raise ArgumentError(
            "layout",
            expected="'half' (pairs i, i + rotary_dim/2: Llama, Qwen, Mistral, GPT-NeoX) "
            "or 'interleaved' (pairs 2i, 2i + 1: GPT-J, GLM, Cohere, the RoPE paper)",
            got=layout,
            todo="a checkpoint fixes it and the wrong one is silent: look at how its code splits the channels",
        )


def angle_tables(
    positions: Tensor, frequencies: Tensor, *, factor: float = 1.0, dtype: torch.dtype = torch.float32
) -> tuple[Tensor, Tensor]:
    """cos and sin of position times frequency, formed in float64 and rounded once.

    Args:
        positions: [T] or [B, T], integers or float32/float64.
        frequencies: float64 radians per position, [P], or [B, P] where rows differ.
        factor: multiplies both tables.
        dtype: of the result.

    Returns:
        cos and sin, each [T, P] or [B, T, P].
    """
    rows = frequencies if frequencies.ndim == 1 else frequencies.unsqueeze(-2)
    angles = positions.to(torch.float64).unsqueeze(-1) * rows
    cos, sin = angles.cos(), angles.sin()
    if factor != 1.0:
        cos, sin = cos * factor, sin * factor
    return cos.to(dtype), sin.to(dtype)


def rotate_pairs(x: Tensor, cos: Tensor, sin: Tensor, *, layout: Layout) -> Tensor:
    """Turn the first 2 P channels of `x`; the rest pass as they are.

    Args:
        x: [B, H, T, D], any floating dtype; half precision is computed in float32 and rounded at the end.
        cos, sin: [T, P] or [B, T, P], one number a pair.
        layout: which channels make a pair.

    Returns:
        A tensor of the shape and dtype of `x`.

    Raises:
        ShapeError: tables that fit neither the tokens nor the channels of `x`.

    Source: Su et al. 2021, arXiv 2104.09864, eq. 34 ("interleaved"); Black et al. 2022, arXiv 2204.06745 ("half").

    >>> quarter_turn = torch.tensor([[0.0]]), torch.tensor([[1.0]])
    >>> rotate_pairs(torch.tensor([[[[1.0, 2.0]]]]), *quarter_turn, layout="half")
    tensor([[[[-2.,  1.]]]])
    """
    check_layout(layout)
    sizes = check_shape("x", x, "B H T D")
    tables = check_shape("cos", cos, "T P | B T P", T=sizes["T"])
    check_shape("sin", sin, "T P | B T P", T=sizes["T"], P=tables["P"])
    pairs = cos.shape[-1]
    if 2 * pairs > sizes["D"]:
        raise ArgumentError(
            "cos",
            expected=f"at most {sizes['D'] // 2} pairs for {sizes['D']} channels",
            got=pairs,
            todo="pass one cosine a pair, not one a channel",
        )
    if cos.ndim == 3:
        cos, sin = cos.unsqueeze(1), sin.unsqueeze(1)
    turned, rest = x[..., : 2 * pairs], x[..., 2 * pairs :]
    wide = torch.promote_types(x.dtype, torch.float32)
    if layout == "half":
        first, second = turned[..., :pairs].to(wide), turned[..., pairs:].to(wide)
    else:
        first, second = turned[..., 0::2].to(wide), turned[..., 1::2].to(wide)
    cos, sin = cos.to(wide), sin.to(wide)
    ahead, behind = first * cos - second * sin, first * sin + second * cos
    joined = torch.cat((ahead, behind), dim=-1) if layout == "half" else torch.stack((ahead, behind), dim=-1).flatten(-2)
    result = joined.to(x.dtype)
    return torch.cat((result, rest), dim=-1) if rest.shape[-1] else result
