"""Trees of relaxed gates laid at many places, and the pooling behind them, forward and backward: what a convolution computes.

Signals lie by rows and the batch by columns, as in `ordinate.logic.kernels.gates`. Where numba is installed (the extra `fast`)
and numbers are float32 on a CPU, a tree is one compiled step that leaves nothing in memory but its root (`compiled_trees`);
else the same formulas run level by level as layers of gates, with equal results to rounding.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from ordinate.logic.kernels.gates import relaxed_gates, runs_compiled

__all__ = ["largest_of_windows", "relaxed_trees"]


@torch.library.custom_op("ordinate::relaxed_trees", mutates_args=())
def _trees(x: Tensor, coefficients: Tensor, leaves: Tensor) -> Tensor:
    from ordinate.logic.kernels import compiled_trees

    out = x.new_empty(leaves.shape[0] * leaves.shape[1], x.shape[1])
    compiled_trees.forward(*(tensor.detach().contiguous().numpy() for tensor in (x, coefficients, leaves)), out.numpy())
    return out


@_trees.register_fake
def _(x: Tensor, coefficients: Tensor, leaves: Tensor) -> Tensor:
    return x.new_empty(leaves.shape[0] * leaves.shape[1], x.shape[1])


@torch.library.custom_op("ordinate::relaxed_trees_backward", mutates_args=())
def _trees_backward(gradient: Tensor, x: Tensor, coefficients: Tensor, leaves: Tensor, wants_x: bool) -> tuple[Tensor, Tensor]:
    from ordinate.logic.kernels import compiled_trees

    to_x = x.new_zeros(x.shape if wants_x else (0, x.shape[1]))
    sums = torch.zeros(coefficients.shape, dtype=torch.float64)
    kept = (tensor.detach().contiguous().numpy() for tensor in (gradient, x, coefficients, leaves))
    compiled_trees.backward(*kept, to_x.numpy(), sums.numpy())
    return to_x, sums.to(coefficients.dtype)


@_trees_backward.register_fake
def _(gradient: Tensor, x: Tensor, coefficients: Tensor, leaves: Tensor, wants_x: bool) -> tuple[Tensor, Tensor]:
    return x.new_empty(x.shape if wants_x else (0, x.shape[1])), torch.empty_like(coefficients)


def _remember_trees(ctx: Any, inputs: tuple[Tensor, Tensor, Tensor], output: Tensor) -> None:
    ctx.save_for_backward(*inputs)


def _differentiate_trees(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor | None, None]:
    wants_x, wants_coefficients = ctx.needs_input_grad[:2]
    to_x, sums = _trees_backward(gradient, *ctx.saved_tensors, wants_x)
    return to_x if wants_x else None, sums if wants_coefficients else None, None


_trees.register_autograd(_differentiate_trees, setup_context=_remember_trees)


def relaxed_trees(x: Tensor, coefficients: Tensor, leaves: Tensor) -> Tensor:
    """The roots of trees of gates z = a0 + a1 x + a2 y + a3 x y, each kernel's tree at each of its places.

    Args:
        x: signals by rows, [F, B], floating.
        coefficients: [kernels, gates, 4], of the dtype of x; the gates of a tree level by level from the leaves up.
        leaves: int64 [kernels, places, 2^depth], which signals are read.

    Returns:
        [kernels places, B].

    >>> x = torch.tensor([[1.0], [1.0], [0.0]])
    >>> both, either = [0.0, 0.0, 0.0, 1.0], [0.0, 1.0, 1.0, -1.0]
    >>> relaxed_trees(x, torch.tensor([[both, both, either]]), torch.tensor([[[0, 1, 1, 2], [1, 2, 2, 0]]]))
    tensor([[1.],
            [0.]])
    """
    if runs_compiled(x):
        return _trees(x, coefficients, leaves)
    _, places, width = leaves.shape
    start, reads = 0, leaves
    while width > 1:
        width //= 2
        # gates are shared by places only here: the layer of gates wants a row of coefficients for each
        here = coefficients[:, start : start + width].unsqueeze(1).expand(-1, places, -1, -1).reshape(-1, 4)
        x = relaxed_gates(x, here, reads.reshape(-1, 2).T.contiguous())
        start, reads = start + width, torch.arange(len(x), device=x.device)
    return x


@torch.library.custom_op("ordinate::largest_of_windows", mutates_args=())
def _largest(x: Tensor, size: int, stride: int) -> Tensor:
    from ordinate.logic.kernels import compiled_trees

    out = x.new_empty(x.shape[0], *((side - size) // stride + 1 for side in x.shape[1:3]), x.shape[3])
    compiled_trees.pool(x.detach().contiguous().numpy(), size, stride, out.numpy())
    return out


@_largest.register_fake
def _(x: Tensor, size: int, stride: int) -> Tensor:
    return x.new_empty(x.shape[0], *((side - size) // stride + 1 for side in x.shape[1:3]), x.shape[3])


@torch.library.custom_op("ordinate::largest_of_windows_backward", mutates_args=())
def _largest_backward(gradient: Tensor, x: Tensor, out: Tensor, size: int, stride: int) -> Tensor:
    from ordinate.logic.kernels import compiled_trees

    to_x = torch.zeros(x.shape, dtype=x.dtype)
    kept = (tensor.detach().contiguous().numpy() for tensor in (gradient, x, out))
    compiled_trees.pool_backward(*kept, size, stride, to_x.numpy())
    return to_x


@_largest_backward.register_fake
def _(gradient: Tensor, x: Tensor, out: Tensor, size: int, stride: int) -> Tensor:
    return torch.empty(x.shape, dtype=x.dtype, device=x.device)


def _remember_windows(ctx: Any, inputs: tuple[Tensor, int, int], output: Tensor) -> None:
    ctx.save_for_backward(inputs[0], output)
    ctx.size, ctx.stride = inputs[1:]


def _differentiate_windows(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
    return _largest_backward(gradient, *ctx.saved_tensors, ctx.size, ctx.stride), None, None


_largest.register_autograd(_differentiate_windows, setup_context=_remember_windows)


def largest_of_windows(x: Tensor, size: int, stride: int) -> Tensor:
    """The largest value of each square window; of equals the first has the gradient.

    Args:
        x: images with the batch last, [channels, height, width, B], floating.
        size: side of the windows.
        stride: from window to window.

    Returns:
        [channels, rows, columns, B].

    >>> largest_of_windows(torch.tensor([0.0, 0.7, 0.2, 0.1]).reshape(1, 2, 2, 1), 2, 2).flatten()
    tensor([0.7000])
    """
    if runs_compiled(x):
        return _largest(x, size, stride)
    return F.max_pool2d(x.movedim(-1, 0), size, stride).movedim(0, -1)
