"""Leaky rate units, the default dynamics, and their activations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import special

from ordinate.arguments import check_choice
from ordinate.errors import ArgumentError, ArgumentTypeError
from ordinate.reservoir.dynamics.interface import State, Wiring

__all__ = ["ACTIVATIONS", "BOUNDED", "LeakyRate"]

Array = npt.NDArray[Any]

ACTIVATIONS: dict[str, Callable[[Array], Array]] = {
    "tanh": np.tanh,
    "sigmoid": special.expit,
    "relu": lambda x: np.maximum(x, 0),
    "identity": lambda x: x,
    "threshold": lambda x: (x > 0).astype(x.dtype),
}
"""Activations by name; `threshold` fires above 0, so give the bias -threshold."""

BOUNDED = frozenset({"tanh", "sigmoid", "threshold"})
"""Those whose states cannot grow without end."""


@dataclass(frozen=True, eq=False)
class LeakyRate:
    """Leaky rate units: `x(t+1) = (1 - a) x(t) + a f(gain x(t) W + input(t) W_in + bias)`.

    Args:
        leak_rate: a, in (0, 1]; a number, or one a neuron [N].
        activation: f: "tanh", "sigmoid", "relu", "identity", "threshold", or a function of arrays.
        bias: a number, or one a neuron [N]; nothing else is added.

    Raises:
        ArgumentError: a leak rate outside (0, 1], or a bias that is not finite.
        UnknownNameError: an activation without a function.

    Source: Jaeger 2001, GMD report 148, eq. 1.6; leaky: Jaeger, Lukosevicius, Popovici and Siewert 2007,
    doi 10.1016/j.neunet.2007.04.016, eq. 2.

    >>> LeakyRate(leak_rate=0.3).activation
    'tanh'
    """

    leak_rate: float | Array = 1.0
    activation: str | Callable[[Array], Array] = "tanh"
    bias: float | Array = 0.0

    def __post_init__(self) -> None:
        leak = np.asarray(self.leak_rate, dtype=np.float64)
        if not ((leak > 0) & (leak <= 1)).all():
            raise ArgumentError("leak_rate", expected="above 0, up to 1", got=repr(self.leak_rate)[:60], hint="1 is no leak")
        if not np.isfinite(np.asarray(self.bias, dtype=np.float64)).all():
            raise ArgumentError("bias", expected="finite numbers", got=repr(self.bias)[:60])
        if isinstance(self.activation, str):
            check_choice("activation", self.activation, ACTIVATIONS)
        elif not callable(self.activation):
            raise ArgumentTypeError("activation", expected="a name or a function", got=repr(self.activation))

    def __repr__(self) -> str:
        settings = {"leak_rate": self.leak_rate, "activation": self.activation, "bias": self.bias}
        short = {name: "[...]" if np.ndim(value) else value for name, value in settings.items()}  # type: ignore[arg-type]
        return f"LeakyRate({', '.join(f'{name}={value!r}' for name, value in short.items())})"

    @property
    def function(self) -> Callable[[Array], Array]:
        """f itself."""
        return ACTIVATIONS[self.activation] if isinstance(self.activation, str) else self.activation

    @property
    def bounded(self) -> bool:
        """Whether states cannot grow without end."""
        return isinstance(self.activation, str) and self.activation in BOUNDED

    def start(self, wiring: Wiring, shape: tuple[int, ...]) -> State:
        """Silence."""
        return State(np.zeros(shape, dtype=wiring.dtype))

    def step(self, wiring: Wiring, state: State, drive: Array, gain: Array, generator: np.random.Generator | None) -> State:
        """One step of the formula above."""
        dtype = wiring.dtype
        bias, leak, kept, function = self._of_dtype.get(dtype) or self._cast(dtype)
        arriving = wiring.propagate(state.activity) * gain
        arriving += drive
        arriving += bias
        new = np.asarray(function(arriving), dtype=dtype)
        return State(new if kept is None else kept * state.activity + leak * new)

    @cached_property
    def _of_dtype(self) -> dict[Any, tuple[Array, Array, Array | None, Callable[[Array], Array]]]:
        return {}

    def _cast(self, dtype: np.dtype[Any]) -> tuple[Array, Array, Array | None, Callable[[Array], Array]]:
        """Bias, leak, what a leak leaves (None where it leaves nothing) and f; kept, for a step takes microseconds."""
        bias, leak = (np.asarray(value, dtype=dtype) for value in (self.bias, self.leak_rate))
        self._of_dtype[dtype] = bias, leak, None if (leak == 1).all() else 1 - leak, self.function
        return self._of_dtype[dtype]

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_of_dtype"}
