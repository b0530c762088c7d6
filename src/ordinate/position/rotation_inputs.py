"""What a rotation accepts, and the words for what it does not.

A rotation of one token takes a few microseconds, so each check is first one comparison; only where it fails are the words
looked for.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from ordinate.errors import ArgumentError, ArgumentTypeError, RefusedError, ShapeError
from ordinate.frequencies import check_rotary_dim
from ordinate.shapes import check_shape

__all__ = [
    "Layout",
    "RotatedChannels",
    "check_head",
    "check_layout",
    "check_out",
    "check_rotated_channels",
    "check_tables",
    "lies_as_complex",
    "working_dtype",
]

Layout = Literal["half", "interleaved"]
RotatedChannels = Literal["first", "last"]

_WORKING = {
    torch.float64: torch.float64,
    torch.float32: torch.float32,
    torch.bfloat16: torch.float32,
    torch.float16: torch.float32,
}


def check_layout(layout: str) -> None:
    """Raise unless `layout` is one of the two."""
    if layout not in ("half", "interleaved"):
        raise ArgumentError(
            "layout",
            expected="'half' (pairs i, i + rotary_dim/2: Llama, Qwen, Mistral, GPT-NeoX) "
            "or 'interleaved' (pairs 2i, 2i + 1: GPT-J, GLM, Cohere, the RoPE paper)",
            got=layout,
            hint="a checkpoint fixes it and the wrong one is silent: look at how its code splits the channels",
        )


def check_head(head_dim: int, rotary_dim: int | None) -> tuple[int, int]:
    """The channels of a head and how many of them turn: all, where `rotary_dim` is None.

    Raises:
        ArgumentError: an odd number, or more than the head has.
        ArgumentTypeError: not ints.
    """
    if isinstance(head_dim, bool) or not isinstance(head_dim, int):
        raise ArgumentTypeError("head_dim", expected="an int", got=type(head_dim).__name__, hint="pass the channels of a head")
    if rotary_dim is None:
        check_rotary_dim("head_dim", head_dim)
        return head_dim, head_dim
    check_rotary_dim("rotary_dim", rotary_dim)
    if rotary_dim > head_dim:
        raise ArgumentError(
            "rotary_dim", expected=f"at most head_dim ({head_dim})", got=rotary_dim, hint="a head has no more channels"
        )
    return head_dim, rotary_dim


def check_rotated_channels(rotated_channels: str) -> None:
    """Raise unless `rotated_channels` is "first" or "last"."""
    if rotated_channels not in ("first", "last"):
        raise ArgumentError(
            "rotated_channels",
            expected="'first' (GPT-NeoX, Phi, GLM) or 'last' (DeepSeek's latent attention)",
            got=rotated_channels,
            hint="it says which channels turn where rotary_dim is less than head_dim",
        )


def working_dtype(x: Tensor) -> torch.dtype:
    """The dtype in which `x` is turned: float32, or float64 for float64.

    Raises:
        ArgumentTypeError: integers, complex numbers, eight-bit floats.
    """
    wide = _WORKING.get(x.dtype)
    if wide is None:
        raise ArgumentTypeError(
            "x",
            expected="float64, float32, bfloat16 or float16",
            got=str(x.dtype),
            hint="rotate before quantising, or convert with .to(torch.bfloat16)",
        )
    return wide


def lies_as_complex(x: Tensor) -> bool:
    """Whether neighbouring channels can be seen as complex numbers where they are."""
    return x.stride(-1) == 1 and x.storage_offset() % 2 == 0 and not any(stride % 2 for stride in x.stride()[:-1])


def check_tables(x: Tensor, cos: Tensor, sin: Tensor) -> None:
    """Raise unless cos and sin, both [T, P] or both [B, T, P], fit x [B, H, T, D] with at most D / 2 pairs."""
    if isinstance(x, Tensor) and isinstance(cos, Tensor) and isinstance(sin, Tensor) and x.ndim == 4:
        batch, _, tokens, channels = x.shape
        shape = cos.shape
        whole = len(shape) == 2 or (len(shape) == 3 and shape[0] in (1, batch))
        if whole and shape == sin.shape and shape[-2] == tokens and 2 * shape[-1] <= channels:
            return
    sizes = check_shape("x", x, "B H T D")
    tables = check_shape("cos", cos, "T P | B T P", T=sizes["T"])
    check_shape("sin", sin, "T P | B T P", T=sizes["T"], P=tables["P"])
    if 2 * tables["P"] > sizes["D"]:
        raise ArgumentError(
            "cos",
            expected=f"at most {sizes['D'] // 2} pairs for {sizes['D']} channels",
            got=tables["P"],
            hint="pass one cosine a pair, not one a channel",
        )
    raise ShapeError(
        "cos",
        expected=f"cos and sin both [T, P], or both [B, T, P] with B={sizes['B']}",
        got=f"shapes {tuple(cos.shape)} and {tuple(sin.shape)}",
        hint="make both with one call of angle_tables, or of an encoding's tables",
    )


def check_out(out: Tensor, x: Tensor) -> None:
    """Raise unless `out` can hold the rotated `x`: like `x`, either `x` itself or apart from it, and without a gradient."""
    if not isinstance(out, Tensor):
        raise ArgumentTypeError("out", expected="a tensor like x", got=type(out).__name__, hint="pass torch.empty_like(x)")
    if out.shape != x.shape:
        raise ShapeError("out", expected=f"shape {tuple(x.shape)}, that of x", got=f"shape {tuple(out.shape)}", hint="match x")
    if out.dtype != x.dtype or out.device != x.device:
        raise ArgumentTypeError(
            "out",
            expected=f"{x.dtype} on {x.device}, as x",
            got=f"{out.dtype} on {out.device}",
            hint="pass torch.empty_like(x), or leave out away",
        )
    if torch.is_grad_enabled() and (x.requires_grad or out.requires_grad):
        raise RefusedError(
            "out",
            expected="no gradient wanted where memory is reused",
            got="a tensor that requires a gradient",
            hint="leave out away, or work under torch.no_grad()",
        )
    if torch.compiler.is_compiling() or type(x) is not Tensor or x.device.type == "meta":
        return
    if out is not x and _overlap(out, x):
        raise RefusedError(
            "out",
            expected="x itself, or memory apart from that of x",
            got="memory that overlaps x",
            hint="pass out=x to rotate in place",
        )
    if any(stride == 0 and size > 1 for stride, size in zip(out.stride(), out.shape, strict=True)):
        raise RefusedError("out", expected="one place for each element", got="an expanded tensor", hint="call .contiguous()")


def _overlap(out: Tensor, x: Tensor) -> bool:
    """Whether the two spans of memory meet, unless they are the same elements in the same order."""
    if out.untyped_storage().data_ptr() != x.untyped_storage().data_ptr() or out.numel() == 0:
        return False
    if out.data_ptr() == x.data_ptr() and out.stride() == x.stride():
        return False
    spans = []
    for tensor in (out, x):
        last = sum(stride * (size - 1) for stride, size in zip(tensor.stride(), tensor.shape, strict=True))
        spans.append((tensor.storage_offset(), tensor.storage_offset() + last))
    return spans[0][0] <= spans[1][1] and spans[1][0] <= spans[0][1]
