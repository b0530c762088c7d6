"""The rotation compiled by numba, for many tokens on a CPU: one pass over memory, each row turned in registers.

Plain torch needs a pass for every operation and, in bfloat16, two more to widen and round; here they are one. It stands apart
because numba is the optional extra `fast` and takes half a second to import. The kernels are compiled on first use (seconds)
and kept on disk by numba. bfloat16 is widened by a shift of its bits, turned in float32 and rounded to nearest, ties to even,
as torch rounds. `ordinate.position.rotary.rotation.reference_rotation` is the oracle.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import pairwise
from typing import Any

import numba
import numpy as np
import torch
from numba.core import types
from numba.extending import intrinsic
from torch import Tensor

__all__ = ["rotate_rows"]

_INTEGER = {torch.bfloat16: torch.int16, torch.float32: torch.float32}


def rotate_rows(x: Tensor, out: Tensor, cos: Tensor, sin: Tensor, layout: str, start: int) -> Tensor:
    """Write x, its channels `start` to `start + 2 P` turned, into `out`, which may be `x` itself.

    Args:
        x, out: [B, H, T, D] on a CPU, bfloat16 or float32, neighbouring channels side by side in memory.
        cos, sin: [T, P], [1, T, P] or [B, T, P] in float32.
        layout: "half" or "interleaved".
        start: the first channel that turns.
    """
    cos, sin = cos.contiguous(), sin.contiguous()
    batch, heads = x.shape[:2]
    table_rows = cos.shape[0] if cos.ndim == 3 else 1
    kernel = (_half if layout == "half" else _interleaved)[x.dtype]
    arguments = (
        _memory(x),
        _memory(out),
        cos.view(-1).numpy(),
        sin.view(-1).numpy(),
        np.array([*x.shape[1:], cos.shape[-1], start, table_rows, out is not x], dtype=np.int64),
        np.array([*x.stride()[:3], x.storage_offset()], dtype=np.int64),
        np.array([*out.stride()[:3], out.storage_offset()], dtype=np.int64),
    )
    threads = min(torch.get_num_threads(), batch * heads)
    bounds = [batch * heads * part // threads for part in range(threads + 1)]
    if threads == 1:
        kernel(*arguments, 0, batch * heads)
    else:
        list(_pool(threads).map(lambda part: kernel(*arguments, *part), pairwise(bounds)))
    return out


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="ordinate-rotation")


def _memory(x: Tensor) -> np.ndarray:
    """The whole storage of a tensor as one array of floats, or of the bits of bfloat16."""
    integer = x.detach().view(_INTEGER[x.dtype])
    whole = integer.as_strided((x.untyped_storage().nbytes() // x.element_size(),), (1,), 0)
    array: np.ndarray = whole.numpy()
    return array.view(np.uint16) if x.dtype is torch.bfloat16 else array


@intrinsic  # type: ignore[untyped-decorator]
def _as_float(typing_context: Any, bits: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], context.get_value_type(types.float32))

    return types.float32(types.uint32), generate


@intrinsic  # type: ignore[untyped-decorator]
def _as_bits(typing_context: Any, number: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], context.get_value_type(types.uint32))

    return types.uint32(types.float32), generate


@numba.njit(inline="always")  # type: ignore[untyped-decorator]
def _widen_bfloat16(bits: Any) -> Any:
    return _as_float(np.uint32(bits) << np.uint32(16))


@numba.njit(inline="always")  # type: ignore[untyped-decorator]
def _round_bfloat16(number: Any) -> Any:
    bits = _as_bits(number)
    if number != number:  # rounding could carry a NaN into infinity
        return np.uint16(0x7FC0)
    return np.uint16((bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) >> np.uint32(16))


@numba.njit(inline="always")  # type: ignore[untyped-decorator]
def _same(number: Any) -> Any:
    return number


def _kernel(widen: Callable[[Any], Any], narrow: Callable[[Any], Any], half: bool) -> Callable[..., None]:
    """Rows `first` to `last` of batch and heads, a token after the other.

    A token is widened into a buffer that stays in the first cache, turned there, and rounded on the way out: loops over two or
    three arrays each, which the compiler turns into vector code.
    """

    def rotate(x: Any, out: Any, cos: Any, sin: Any, sizes: Any, x_places: Any, out_places: Any, first: int, last: int) -> None:
        heads, tokens, channels, pairs, start, table_rows, elsewhere = sizes
        wide, turned = np.empty(2 * pairs, np.float32), np.empty(2 * pairs, np.float32)
        a, b, ahead, behind = wide[:pairs], wide[pairs:], turned[:pairs], turned[pairs:]
        for row in range(first, last):
            batch, head = row // heads, row % heads
            for token in range(tokens):
                begin = x_places[3] + batch * x_places[0] + head * x_places[1] + token * x_places[2]
                goal = out_places[3] + batch * out_places[0] + head * out_places[1] + token * out_places[2]
                source, target = x[begin + start : begin + start + 2 * pairs], out[goal + start : goal + start + 2 * pairs]
                at = ((batch if table_rows > 1 else 0) * tokens + token) * pairs
                c, s = cos[at : at + pairs], sin[at : at + pairs]
                if half:
                    for i in range(2 * pairs):
                        wide[i] = widen(source[i])
                else:
                    for i in range(pairs):
                        a[i] = widen(source[2 * i])
                        b[i] = widen(source[2 * i + 1])
                for i in range(pairs):
                    ahead[i] = a[i] * c[i] - b[i] * s[i]
                for i in range(pairs):
                    behind[i] = a[i] * s[i] + b[i] * c[i]
                if half:
                    for i in range(2 * pairs):
                        target[i] = narrow(turned[i])
                else:
                    for i in range(pairs):
                        target[2 * i] = narrow(ahead[i])
                        target[2 * i + 1] = narrow(behind[i])
                if elsewhere and channels > 2 * pairs:
                    out[goal : goal + start] = x[begin : begin + start]
                    out[goal + start + 2 * pairs : goal + channels] = x[begin + start + 2 * pairs : begin + channels]

    try:
        kernel: Callable[..., None] = numba.njit(rotate, nogil=True, cache=True, fastmath={"contract"})
    except RuntimeError:  # nowhere to keep it on disk
        kernel = numba.njit(rotate, nogil=True, fastmath={"contract"})
    return kernel


_half = {torch.bfloat16: _kernel(_widen_bfloat16, _round_bfloat16, True), torch.float32: _kernel(_same, _same, True)}
_interleaved = {torch.bfloat16: _kernel(_widen_bfloat16, _round_bfloat16, False), torch.float32: _kernel(_same, _same, False)}
