"""The relaxed gates of a layer, forward and backward, in the layout that makes them fast: signals by rows, batch by columns.

A row is one signal over the whole batch, so reading an input is copying a row, and all arithmetic runs along rows. Gates are
taken in blocks that fit the cache, nothing but the inputs is kept for the backward pass, and gradients of signals that several
gates read are summed row by row. With g = dL/dz and z = a0 + a1 x + a2 y + a3 x y:
dL/da = (sum g, sum g x, sum g y, sum g x y), dL/dx = g (a1 + a3 y), dL/dy = g (a2 + a3 x).

Both passes are operators of torch's registry, so that a compiler takes each as one step instead of unrolling its blocks. Where
numba is installed (the extra `fast`) and numbers are float32 on a CPU, both run as compiled loops (`gate_kernels.py`),
with equal results to rounding.
"""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from typing import Any

import torch
from torch import Tensor

__all__ = ["by_rows", "relaxed_gates"]

_BLOCK_ELEMENTS = 1 << 18
"""Numbers in a block of one operand: small enough for the cache, large enough that calls cost little."""


def _block(batch: int) -> int:
    return max(16, _BLOCK_ELEMENTS // max(1, batch))


@cache
def _has_kernels() -> bool:
    return find_spec("numba") is not None


def _compiled(x: Tensor) -> bool:
    """Whether the compiled loops take it."""
    return x.dtype == torch.float32 and x.device.type == "cpu" and _has_kernels()


@torch.library.custom_op("ordinate::relaxed_gates", mutates_args=())
def _forward(x: Tensor, coefficients: Tensor, wiring: Tensor) -> Tensor:
    gates, batch = wiring.shape[1], x.shape[1]
    out = x.new_empty(gates, batch)
    if _compiled(x):
        from ordinate.logic import gate_kernels

        numbers = coefficients.contiguous().numpy()
        gate_kernels.forward(x.contiguous().numpy(), numbers, wiring.contiguous().numpy(), out.numpy())
        return out
    step = _block(batch)
    columns = coefficients.unsqueeze(-1)
    for start in range(0, gates, step):
        rows = slice(start, start + step)
        a0, a1, a2, a3 = columns[rows].unbind(1)
        first = x.index_select(0, wiring[0, rows])
        z = out[rows]
        torch.mul(first, a3, out=z)
        z += a2
        z *= x.index_select(0, wiring[1, rows])
        z.addcmul_(first, a1)
        z += a0
    return out


@_forward.register_fake
def _(x: Tensor, coefficients: Tensor, wiring: Tensor) -> Tensor:
    return x.new_empty(wiring.shape[1], x.shape[1])


@torch.library.custom_op("ordinate::relaxed_gates_backward", mutates_args=())
def _backward(
    gradient: Tensor, x: Tensor, coefficients: Tensor, wiring: Tensor, wants_x: bool, wants_coefficients: bool
) -> tuple[Tensor, Tensor]:
    gates, batch = gradient.shape
    step = _block(batch)
    columns = coefficients.unsqueeze(-1)
    to_x = x.new_zeros(x.shape if wants_x else (0, batch))
    sums = x.new_empty(4, gates if wants_coefficients else 0)
    if _compiled(x):
        from ordinate.logic import gate_kernels

        kept = (gradient, x, coefficients, wiring)
        gate_kernels.backward(*(tensor.contiguous().numpy() for tensor in kept), to_x.numpy(), sums.numpy())
        return to_x, sums
    for start in range(0, gates, step):
        rows = slice(start, start + step)
        _, a1, a2, a3 = columns[rows].unbind(1)
        here = gradient[rows]
        by_first, by_second = x.index_select(0, wiring[0, rows]), x.index_select(0, wiring[1, rows])
        by_first *= here
        if wants_coefficients:
            torch.sum(here, 1, out=sums[0, rows])
            torch.sum(by_first, 1, out=sums[1, rows])
            torch.linalg.vecdot(by_first, by_second, out=sums[3, rows])
        by_second *= here
        if wants_coefficients:
            torch.sum(by_second, 1, out=sums[2, rows])
        if wants_x:
            to_x.index_add_(0, wiring[1, rows], by_first.mul_(a3).addcmul_(here, a2))
            to_x.index_add_(0, wiring[0, rows], by_second.mul_(a3).addcmul_(here, a1))
    return to_x, sums


@_backward.register_fake
def _(
    gradient: Tensor, x: Tensor, coefficients: Tensor, wiring: Tensor, wants_x: bool, wants_coefficients: bool
) -> tuple[Tensor, Tensor]:
    return (
        x.new_empty(x.shape if wants_x else (0, x.shape[1])),
        x.new_empty(4, gradient.shape[0] if wants_coefficients else 0),
    )


@torch.library.custom_op("ordinate::turned", mutates_args=())
def _turned(x: Tensor) -> Tensor:
    out = x.new_empty(x.shape[1], x.shape[0])
    if _compiled(x):
        from ordinate.logic import gate_kernels

        gate_kernels.turned(x.numpy(), out.numpy())
        return out
    return out.copy_(x.T)


@_turned.register_fake
def _(x: Tensor) -> Tensor:
    return x.new_empty(x.shape[1], x.shape[0])


# a view would do, but the gradient of an input that lies image by image would be copied all the same, and slowly
_turned.register_autograd(lambda ctx, gradient: _turned(gradient.contiguous()))


def by_rows(x: Tensor) -> Tensor:
    """Signals [B, F] as contiguous rows [F, B]; what a layer returned already lies so and is not copied.

    >>> by_rows(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([[1., 3.],
            [2., 4.]])
    """
    return x.T if x.T.is_contiguous() else _turned(x.contiguous())


def _remember(ctx: Any, inputs: tuple[Tensor, Tensor, Tensor], output: Tensor) -> None:
    ctx.save_for_backward(*inputs)


def _differentiate(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor | None, None]:
    wants_x, wants_coefficients = ctx.needs_input_grad[:2]
    to_x, sums = _backward(by_rows(gradient.T), *ctx.saved_tensors, wants_x, wants_coefficients)
    return to_x if wants_x else None, sums.T if wants_coefficients else None, None


_forward.register_autograd(_differentiate, setup_context=_remember)


def relaxed_gates(x: Tensor, coefficients: Tensor, wiring: Tensor) -> Tensor:
    """All gates of a layer: z = a0 + a1 x[first] + a2 x[second] + a3 x[first] x[second].

    Args:
        x: signals by rows, [F, B], floating.
        coefficients: [gates, 4], of the dtype of x.
        wiring: int64 [2, gates].

    Returns:
        [gates, B].

    >>> x = torch.tensor([[0.0, 1.0], [1.0, 1.0]])
    >>> relaxed_gates(x, torch.tensor([[0.0, 1.0, 1.0, -2.0]]), torch.tensor([[0], [1]]))
    tensor([[1., 0.]])
    """
    return _forward(x, coefficients, wiring)
