"""Which code runs a reservoir: the compiled kernels where they can, scipy's sparse product otherwise, with equal results."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import numpy as np

from ordinate.errors import ArgumentError, MissingExtraError, RefusedError
from ordinate.reservoir.dynamics import Dynamics, LeakyRate

__all__ = ["COMPILED_ACTIVATIONS", "IMPLEMENTATIONS", "chosen_impl"]

IMPLEMENTATIONS = ("auto", "compiled", "scipy")

COMPILED_ACTIVATIONS = ("tanh", "sigmoid", "relu", "identity")


def chosen_impl(impl: str, dynamics: Dynamics, dtype: np.dtype[Any]) -> str:
    """The implementation that is meant: "compiled" or "scipy".

    Args:
        impl: "auto" takes compiled kernels where numba is installed and they can; a named one is taken or refused.
        dynamics: of the reservoir.
        dtype: of its states.

    Raises:
        ArgumentError: no implementation of that name.
        RefusedError: "compiled" for dynamics, activations or dtypes that are not.
        MissingExtraError: "compiled" without numba.
    """
    if impl not in IMPLEMENTATIONS:
        raise ArgumentError("impl", expected=f"one of {', '.join(IMPLEMENTATIONS)}", got=impl, hint="choose one")
    if impl == "scipy":
        return "scipy"
    compilable = (
        isinstance(dynamics, LeakyRate)
        and dtype == np.float32
        and isinstance(dynamics.activation, str)
        and dynamics.activation in COMPILED_ACTIVATIONS
    )
    if impl == "compiled" and not compilable:
        raise RefusedError(
            "impl",
            expected=f"float32 leaky rate units with activation {', '.join(COMPILED_ACTIVATIONS)}",
            got=f"{dtype} {dynamics}"[:80],
            hint='take impl="scipy"',
        )
    there = find_spec("numba") is not None
    if impl == "compiled" and not there:
        raise MissingExtraError(
            "fast", expected="the package numba", got="numba is not installed", hint="pip install 'ordinate[fast]'"
        )
    return "compiled" if compilable and there else "scipy"
