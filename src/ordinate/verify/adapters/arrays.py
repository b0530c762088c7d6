"""Arrays of other libraries in place of tensors: numpy, JAX, and whatever speaks DLPack.

Subjects of other libraries are called with their arrays and answer with them; both are compared as torch tensors in float64.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import torch.utils.dlpack
from torch import Tensor

from ordinate.arguments import check_choice
from ordinate.errors import MissingExtraError
from ordinate.verify.observation import Unsupported

__all__ = ["ARRAYS", "check_arrays", "from_array", "to_array"]

ARRAYS = ("torch", "dlpack", "numpy", "jax")
"""What a subject is called with: torch tensors ("dlpack" takes any array with `__dlpack__` back), numpy or JAX arrays."""


def check_arrays(name: str) -> str:
    """The name of an array library that is there.

    Raises:
        UnknownNameError: another name.
        MissingExtraError: JAX, where it is not installed.
    """
    check_choice("arrays", name, (*ARRAYS, "auto"))
    if name == "jax" and importlib.util.find_spec("jax") is None:
        raise MissingExtraError("jax", expected="installed", hint="pip install jax")
    return name


def to_array(tensor: Tensor, library: str) -> Any:
    """The tensor as an array of that library; raises `Unsupported` where the library has no such dtype."""
    if library in ("torch", "dlpack"):
        return tensor
    tensor = tensor.detach()
    return _numpy(tensor) if library == "numpy" else _jax(tensor)


def from_array(answer: Any) -> Tensor | None:
    """The answer as a tensor, or None where it is no array."""
    if isinstance(answer, np.ndarray | np.generic):
        return torch.as_tensor(np.array(answer))
    if hasattr(answer, "__dlpack__"):
        return torch.utils.dlpack.from_dlpack(answer)
    return None


def _numpy(tensor: Tensor) -> Any:
    if tensor.dtype is torch.bfloat16:
        raise Unsupported("numpy has no bfloat16")
    return tensor.numpy()


def _jax(tensor: Tensor) -> Any:
    jax: Any = importlib.import_module("jax")
    make: Callable[..., Any] = jax.numpy.asarray
    if tensor.dtype in (torch.float64, torch.complex128) and not jax.config.jax_enable_x64:
        raise Unsupported("JAX has no float64 unless jax_enable_x64 is set")
    if tensor.dtype is torch.bfloat16:
        return make(tensor.float().numpy(), dtype=jax.numpy.bfloat16)
    if tensor.dtype is torch.int64 and not jax.config.jax_enable_x64:
        tensor = tensor.int()
    return make(tensor.numpy())
