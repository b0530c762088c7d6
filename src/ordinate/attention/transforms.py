"""What looks on while attention runs: a compiler, torch.func's transforms, forward-mode differentiation, autocast.

Some implementations cannot be carried through some of them. The named one is then refused, and "auto" takes the reference.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor
from torch.autograd import forward_ad

__all__ = ["in_full_precision", "kernel_obstacle", "readable", "under_transform"]


def readable(*tensors: Tensor) -> bool:
    """Whether numbers may be looked at: not while compiling, under a transform such as vmap, or on the meta device."""
    if torch.compiler.is_compiling() or under_transform():
        return False
    return all(tensor.device.type != "meta" for tensor in tensors)


def under_transform() -> bool:
    """Whether a transform of functions (vmap, grad, jvp) looks on."""
    if torch.compiler.is_compiling():
        return False
    return torch._C._functorch.peek_interpreter_stack() is not None or forward_ad._current_level >= 0


def kernel_obstacle() -> str | None:
    """Which transform torch's kernel does not carry: vmap (it would loop), jvp, a second derivative; None where none is on."""
    if not under_transform():
        return None
    if forward_ad._current_level >= 0:
        return "jvp"
    kinds = [interpreter.key() for interpreter in torch._C._functorch.get_interpreter_stack() or ()]
    if torch._C._functorch.TransformType.Vmap in kinds:
        return "vmap"
    return "a second derivative" if kinds.count(torch._C._functorch.TransformType.Grad) > 1 else None


@contextmanager
def in_full_precision(device: torch.device) -> Iterator[None]:
    """Autocast off: what promises float32 or wider inside keeps it."""
    if device.type != "meta" and torch.is_autocast_enabled(device.type):
        with torch.autocast(device.type, enabled=False):
            yield
    else:
        yield
