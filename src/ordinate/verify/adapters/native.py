"""The subject as it came: called under a time limit, copied so that no property sees another's state, answering in tensors."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ordinate.errors import ArgumentTypeError
from ordinate.verify.limits import limited

__all__ = ["Native", "parameters"]

_METHODS = (
    ("rotate_query", "rotate_key"),
    ("rotate",),
    ("rotate_queries_or_keys",),
    ("encode",),
    ("bias",),
    ("compute_bias",),
)


class Native:
    """A callable that is not ours, and the object it belongs to.

    Args:
        subject: a function, a bound method, a module, or an object with one of the usual methods.
        seconds: time limit of one call.
    """

    def __init__(self, subject: Any, seconds: float = 10.0) -> None:
        if isinstance(subject, type | str | bytes) or not (
            callable(subject) or any(hasattr(subject, name[0]) for name in _METHODS)
        ):
            raise ArgumentTypeError(
                "subject",
                expected="something to call, or an object with rotate, encode or bias",
                got=f"the class {subject.__name__}" if isinstance(subject, type) else type(subject).__name__,
                hint="make an object of the class first" if isinstance(subject, type) else "pass the function itself",
            )
        self.seconds = seconds
        self.owner = getattr(subject, "__self__", None) if inspect.ismethod(subject) else subject
        if inspect.ismethod(subject):
            self.names: tuple[str, ...] = (subject.__name__,)
        else:
            self.names = next((n for n in _METHODS if all(callable(getattr(subject, part, None)) for part in n)), ())
        self.spoken: list[str] = []
        self.plain = False  # a module only by our wrapping
        self.copies = not inspect.isfunction(self.owner) and not inspect.isbuiltin(self.owner)

    @property
    def module(self) -> nn.Module | None:
        """The torch module that the subject is or belongs to."""
        return self.owner if isinstance(self.owner, nn.Module) and not self.plain else None

    @property
    def targets(self) -> list[Callable[..., Any]]:
        """What to call: one, or two where queries and keys are treated apart."""
        if self.names:
            return [getattr(self.owner, name) for name in self.names]
        assert callable(self.owner)
        return [self.owner]

    def fresh(self) -> Native:
        """A copy with state of its own; a function stays itself, its module-level caches included."""
        other = copy.copy(self)
        other.spoken = []
        if self.copies:
            try:
                other.owner = copy.deepcopy(self.owner)
            except Exception:
                other.copies = False  # what cannot be copied is used as it is
        return other

    def with_owner(self, owner: Any) -> Native:
        """The same way of calling, of another object."""
        other = copy.copy(self)
        other.owner, other.spoken = owner, []
        return other

    def call(self, arguments: list[Any], named: Mapping[str, Any], which: int = 0) -> Any:
        """The answer of the subject, within the time limit."""
        target = self.targets[which]
        return limited(lambda: target(*arguments, **named), self.seconds)

    def tensor(self, answer: Any) -> Tensor:
        """The answer as a tensor; what else it was is noted in `spoken`."""
        if isinstance(answer, Tensor):
            return answer
        if isinstance(answer, np.ndarray | np.generic | list | float | int):
            self.spoken.append(f"{type(answer).__module__.split('.')[0]}.{type(answer).__name__}")
            return torch.as_tensor(np.asarray(answer))
        raise ArgumentTypeError(
            "subject", expected="a tensor back", got=f"{type(answer).__name__}", hint="return the tensor itself"
        )


def parameters(target: Callable[..., Any]) -> list[inspect.Parameter] | None:
    """The parameters of a callable without self; None where Python cannot tell (compiled extensions)."""
    called = target.forward if isinstance(target, nn.Module) else target
    try:
        found = list(inspect.signature(called).parameters.values())
    except (TypeError, ValueError):
        return None
    return [one for one in found if one.kind not in (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)]
