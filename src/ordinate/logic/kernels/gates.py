"""The relaxed gates of a layer, forward and backward.

Nothing but the inputs is kept for the backward pass. With g = dL/dz and z = a0 + a1 x + a2 y + a3 x y:
dL/da = (sum g, sum g x, sum g y, sum g x y), dL/dx = g (a1 + a3 y), dL/dy = g (a2 + a3 x).

Signals are [F, B] here, and lie in memory by rows (a row is one signal over the whole batch) or, as the transposed view of
what layers get, image by image. Where numba is installed (the extra `fast`) and numbers are float32 on a CPU, compiled loops
take each as it lies and answer alike (`compiled_rows`, `compiled_images`). Elsewhere rows are what is fast: reading an input
is copying a row; gates are taken in blocks that fit the cache, and gradients of signals that several gates read are summed row
by row. All of it agrees to rounding. Both passes are operators of torch's registry, so that a compiler takes each as one step
instead of unrolling its blocks.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import torch
from torch import Tensor

from ordinate.huge_pages import empty_on_large_pages

__all__ = ["by_rows", "relaxed_gates", "runs_compiled", "signals_of"]

_HAS_KERNELS = find_spec("numba") is not None  # looked up once and here: torch.compile cannot follow the search
_BLOCK_ELEMENTS = 1 << 18
"""Numbers in a block of one operand: small enough for the cache, large enough that calls cost little."""


def _block(batch: int) -> int:
    return max(16, _BLOCK_ELEMENTS // max(1, batch))


def runs_compiled(x: Tensor) -> bool:
    """Whether compiled loops take it: they are for float32 on a CPU, with numba."""
    return x.dtype == torch.float32 and x.device.type == "cpu" and _HAS_KERNELS


def _image_by_image(x: Tensor) -> bool:
    """Whether signals [F, B] lie so, and are taken so."""
    return runs_compiled(x) and not x.is_contiguous() and x.T.is_contiguous()


@torch.library.custom_op("ordinate::relaxed_gates", mutates_args=())
def _forward(x: Tensor, coefficients: Tensor, wiring: Tensor) -> Tensor:
    gates, batch = wiring.shape[1], x.shape[1]
    if _image_by_image(x):
        from ordinate.logic.kernels import compiled_images

        answers = empty_on_large_pages(x, batch, gates)
        compiled_images.forward(x.T.numpy(), coefficients.contiguous().numpy(), wiring.contiguous().numpy(), answers.numpy())
        return answers.T
    x = x.contiguous()
    out = empty_on_large_pages(x, gates, batch)
    if runs_compiled(x):
        from ordinate.logic.kernels import compiled_rows

        compiled_rows.forward(x.numpy(), coefficients.contiguous().numpy(), wiring.contiguous().numpy(), out.numpy())
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
    gates, batch = wiring.shape[1], x.shape[1]
    return x.new_empty(batch, gates).T if _image_by_image(x) else x.new_empty(gates, batch)


@torch.library.custom_op("ordinate::relaxed_gates_backward", mutates_args=())
def _backward(
    gradient: Tensor, x: Tensor, coefficients: Tensor, wiring: Tensor, wants_x: bool, wants_coefficients: bool
) -> tuple[Tensor, Tensor]:
    (features, batch), gates = x.shape, len(gradient)
    sums = x.new_empty(gates if wants_coefficients else 0, 4)
    numbers, reads = coefficients.contiguous(), wiring.contiguous()
    if _image_by_image(x):
        from ordinate.logic.kernels import compiled_images

        onto = empty_on_large_pages(x, batch if wants_x else 0, features)
        kept = (gradient.T.contiguous(), x.T, numbers, reads, onto, sums)
        compiled_images.backward(*(tensor.numpy() for tensor in kept))
        return onto.T, sums
    x, gradient = x.contiguous(), by_rows(gradient.T)
    to_x = empty_on_large_pages(x, features if wants_x else 0, batch).zero_()
    if runs_compiled(x):
        from ordinate.logic.kernels import compiled_rows

        compiled_rows.backward(*(tensor.numpy() for tensor in (gradient, x, numbers, reads, to_x, sums)))
        return to_x, sums
    step = _block(batch)
    columns = coefficients.unsqueeze(-1)
    by_kind = x.new_empty(4, len(sums))
    for start in range(0, gates, step):
        rows = slice(start, start + step)
        _, a1, a2, a3 = columns[rows].unbind(1)
        here = gradient[rows]
        by_first, by_second = x.index_select(0, wiring[0, rows]), x.index_select(0, wiring[1, rows])
        by_first *= here
        if wants_coefficients:
            torch.sum(here, 1, out=by_kind[0, rows])
            torch.sum(by_first, 1, out=by_kind[1, rows])
            torch.linalg.vecdot(by_first, by_second, out=by_kind[3, rows])
        by_second *= here
        if wants_coefficients:
            torch.sum(by_second, 1, out=by_kind[2, rows])
        if wants_x:
            to_x.index_add_(0, wiring[1, rows], by_first.mul_(a3).addcmul_(here, a2))
            to_x.index_add_(0, wiring[0, rows], by_second.mul_(a3).addcmul_(here, a1))
    return to_x, sums.copy_(by_kind.T)


@_backward.register_fake
def _(
    gradient: Tensor, x: Tensor, coefficients: Tensor, wiring: Tensor, wants_x: bool, wants_coefficients: bool
) -> tuple[Tensor, Tensor]:
    features, batch = x.shape
    if _image_by_image(x):
        to_x = x.new_empty(batch if wants_x else 0, features).T
    else:
        to_x = x.new_empty(features if wants_x else 0, batch)
    return to_x, x.new_empty(len(gradient) if wants_coefficients else 0, 4)


@torch.library.custom_op("ordinate::turned", mutates_args=())
def _turned(x: Tensor) -> Tensor:
    out = empty_on_large_pages(x, x.shape[1], x.shape[0])
    if runs_compiled(x):
        from ordinate.logic.kernels import compiled_images

        compiled_images.turned(x.numpy(), out.numpy())
        return out
    return out.copy_(x.T)


@_turned.register_fake
def _(x: Tensor) -> Tensor:
    return x.new_empty(x.shape[1], x.shape[0])


# a view would do, but the gradient of an input that lies image by image would be copied all the same, and slowly
_turned.register_autograd(lambda ctx, gradient: _turned(gradient.contiguous()))


def by_rows(x: Tensor) -> Tensor:
    """Signals [B, F] as contiguous rows [F, B]; what lies so already is not copied.

    >>> by_rows(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([[1., 3.],
            [2., 4.]])
    """
    return x.T if x.T.is_contiguous() else _turned(x.contiguous())


def signals_of(x: Tensor) -> Tensor:
    """Signals [B, F] as [F, B], in the layout in which `relaxed_gates` takes them without a copy.

    >>> signals_of(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([[1., 3.],
            [2., 4.]])
    """
    return x.T if x.is_contiguous() and runs_compiled(x) else by_rows(x)


def _remember(ctx: Any, inputs: tuple[Tensor, Tensor, Tensor], output: Tensor) -> None:
    ctx.save_for_backward(*inputs)


def _differentiate(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor | None, None]:
    wants_x, wants_coefficients = ctx.needs_input_grad[:2]
    to_x, sums = _backward(gradient, *ctx.saved_tensors, wants_x, wants_coefficients)
    return to_x if wants_x else None, sums if wants_coefficients else None, None


_forward.register_autograd(_differentiate, setup_context=_remember)


def relaxed_gates(x: Tensor, coefficients: Tensor, wiring: Tensor) -> Tensor:
    """All gates of a layer: z = a0 + a1 x[first] + a2 x[second] + a3 x[first] x[second].

    Args:
        x: signals, [F, B], floating, in either layout.
        coefficients: [gates, 4], of the dtype of x.
        wiring: int64 [2, gates].

    Returns:
        [gates, B], in the layout of x where compiled loops run, else by rows.

    >>> x = torch.tensor([[0.0, 1.0], [1.0, 1.0]])
    >>> relaxed_gates(x, torch.tensor([[0.0, 1.0, 1.0, -2.0]]), torch.tensor([[0], [1]]))
    tensor([[1., 0.]])
    """
    return _forward(x, coefficients, wiring)
