"""The rotation itself: pairs of channels turned by an angle whose cosine and sine are given.

(a, b) -> (a cos - b sin, a sin + b cos), for pairs (i, i + rotary_dim/2) in layout "half" and (2i, 2i + 1) in layout
"interleaved". Every rotary encoding of this package ends here, so there is one kernel to make fast and one to check:
`reference_rotation` is the formula, and whatever else runs is compared with it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Literal

import torch
from torch import Tensor
from torch.autograd import forward_ad

from ordinate.errors import ArgumentError, RefusedError
from ordinate.position.blocked_rotation import BlockedRotation, rotate_blocks
from ordinate.position.rotation_inputs import (
    Layout,
    RotatedChannels,
    check_layout,
    check_out,
    check_rotated_channels,
    check_tables,
    working_dtype,
)
from ordinate.position.short_rotation import short_rotation

__all__ = ["Layout", "angle_tables", "check_layout", "rotate_pairs"]

Rotation = Literal["auto", "reference", "blocked", "compiled"]
FEW_ELEMENTS = 1 << 16  # below, the number of calls decides and not the memory


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
    angles = positions.double().unsqueeze(-1) * rows
    cos, sin = angles.cos(), angles.sin()
    if factor != 1.0:
        cos, sin = cos * factor, sin * factor
    if dtype is torch.float32:
        return cos.float(), sin.float()  # half the cost of .to(dtype), which shows where one token is rotated
    return cos.to(dtype), sin.to(dtype)


def rotate_pairs(
    x: Tensor,
    cos: Tensor,
    sin: Tensor,
    *,
    layout: Layout,
    rotated_channels: RotatedChannels = "first",
    out: Tensor | None = None,
    impl: Rotation = "auto",
) -> Tensor:
    """Turn 2 P channels of every head; the rest pass as they are.

    Tables are made once for all layers, and for queries and keys: `cos, sin = rotary.tables(positions)`.

    Args:
        x: [B, H, T, D], float32, float64, bfloat16 or float16; half precision is turned in float32 and rounded once.
        cos, sin: [T, P] or [B, T, P], one number a pair.
        layout: which channels make a pair.
        rotated_channels: whether the first or the last 2 P channels turn.
        out: where the result goes, of the shape and dtype of `x`: other memory, or `x` itself to turn it in place.
        impl: "reference" is the formula in plain operations; "blocked" works in blocks that stay in a CPU's cache, with a
            gradient of its own; "compiled" hands the formula to `torch.compile`, seconds on the first call; "auto" takes
            what is quickest without compiling, and the formula in a graph that is being captured.

    Returns:
        A tensor of the shape and dtype of `x`, or `out`.

    Raises:
        ShapeError: tables that fit neither the tokens nor the channels of `x`; an `out` of another shape.
        ArgumentError: an unknown layout or impl, more pairs than channels.
        ArgumentTypeError: dtypes that cannot be turned; an `out` of another dtype.
        RefusedError: an `out` where a gradient is wanted, or that overlaps `x` without being `x`; "blocked" on another
            device, under a transform of functions, or with tables that want a gradient.

    Source: Su et al. 2021, arXiv 2104.09864, eq. 34 ("interleaved"); Black et al. 2022, arXiv 2204.06745 ("half").

    >>> quarter_turn = torch.tensor([[0.0]]), torch.tensor([[1.0]])
    >>> rotate_pairs(torch.tensor([[[[1.0, 2.0]]]]), *quarter_turn, layout="half")
    tensor([[[[-2.,  1.]]]])
    """
    check_layout(layout)
    check_rotated_channels(rotated_channels)
    check_tables(x, cos, sin)
    wide = working_dtype(x)
    if out is not None:
        check_out(out, x)
    start = 0 if rotated_channels == "first" else x.shape[-1] - 2 * cos.shape[-1]
    if cos.dtype is not wide or sin.dtype is not wide:
        cos, sin = cos.to(wide), sin.to(wide)
    return rotation(impl, x, cos, sin)(x, cos, sin, layout, start, out)


Turn = Callable[[Tensor, Tensor, Tensor, str, int, "Tensor | None"], Tensor]


def rotation(impl: str, x: Tensor, cos: Tensor, sin: Tensor) -> Turn:
    """The function that `impl` names, or the quickest one for what came.

    Raises:
        ArgumentError: an unknown name.
        RefusedError: a named function that cannot do it.
    """
    if impl == "reference":
        return reference_rotation
    if impl == "compiled":
        return compiled_rotation()
    if impl not in ("auto", "blocked"):
        raise ArgumentError(
            "impl", expected="'auto', 'reference', 'blocked' or 'compiled'", got=impl, hint="leave it out for 'auto'"
        )
    hindrance = _what_hinders_blocks(x, cos, sin)
    if hindrance is None:
        if impl == "blocked" or x.numel() > FEW_ELEMENTS:
            return blocked_rotation
        return short_rotation if x.numel() and cos.numel() else reference_rotation
    if impl == "blocked":
        raise RefusedError(
            "impl", expected="plain tensors on a CPU, in eager mode", got=hindrance, hint="take impl='auto' or 'reference'"
        )
    return reference_rotation


def _what_hinders_blocks(x: Tensor, cos: Tensor, sin: Tensor) -> str | None:
    """Why work in place on memory will not do here: a graph is captured, a transform looks on, the memory is elsewhere."""
    if torch.compiler.is_compiling() or torch._C._get_tracing_state() is not None:
        return "a graph that is being captured"
    if torch._C._are_functorch_transforms_active() or forward_ad._current_level >= 0:
        return "a transform of functions (vmap, grad, jvp)"
    if not x.is_cpu:
        return f"a tensor on {x.device}"
    if type(x) is not Tensor and type(x) is not torch.nn.Parameter:
        return f"a {type(x).__name__}"
    if (cos.requires_grad or sin.requires_grad) and torch.is_grad_enabled():
        return "tables that want a gradient"
    return None


def reference_rotation(x: Tensor, cos: Tensor, sin: Tensor, layout: str, start: int = 0, out: Tensor | None = None) -> Tensor:
    """The formula, in operations that every device, transform and dtype has: the oracle of the quicker ones."""
    if cos.ndim == 3:
        cos, sin = cos.unsqueeze(1), sin.unsqueeze(1)
    pairs = cos.shape[-1]
    turned = x[..., start : start + 2 * pairs].to(cos.dtype)
    if layout == "half":
        first, second = turned[..., :pairs], turned[..., pairs:]
    else:
        first, second = turned[..., 0::2], turned[..., 1::2]
    ahead, behind = first * cos - second * sin, first * sin + second * cos
    joined = torch.cat((ahead, behind), dim=-1) if layout == "half" else torch.stack((ahead, behind), dim=-1).flatten(-2)
    result = torch.cat((x[..., :start], joined.to(x.dtype), x[..., start + 2 * pairs :]), dim=-1)
    return result if out is None else out.copy_(result)


def blocked_rotation(x: Tensor, cos: Tensor, sin: Tensor, layout: str, start: int = 0, out: Tensor | None = None) -> Tensor:
    """The same in blocks that stay in cache; see `ordinate.position.blocked_rotation`."""
    if out is not None:
        with torch.no_grad():
            return rotate_blocks(x, out, cos, sin, layout, start)
    result: Tensor = BlockedRotation.apply(x, cos, sin, layout, start)
    return result


@functools.cache
def compiled_rotation() -> Turn:
    """The formula through `torch.compile`, one graph for every length."""
    return torch.compile(reference_rotation, dynamic=True)
