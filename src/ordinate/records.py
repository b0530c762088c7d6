"""What settings and results have in common: a repr that shows what differs from the defaults, and plain JSON types.

Written once for modules, records and results alike. Nothing here imports numpy or torch.
"""

from __future__ import annotations

import dataclasses
import inspect
import math
from collections.abc import Mapping
from enum import Enum
from pathlib import PurePath
from typing import Any

__all__ = ["plain", "repr_from_signature"]


def repr_from_signature(instance: Any, **passed: Any) -> str:
    """`Class(required, optional=...)`: the constructor's arguments as the instance stores them, without those at their default.

    The instance keeps each argument under its own name, as scikit-learn's estimators do; where it keeps another value than the
    one that was passed (a default worked out from the others), `passed` says what to show. Positional arguments without a
    default are shown without their name.

    >>> class Window:
    ...     def __init__(self, size, *, causal=True):
    ...         self.size, self.causal = size, causal
    >>> repr_from_signature(Window(4)), repr_from_signature(Window(4, causal=False))
    ('Window(4)', 'Window(4, causal=False)')
    """
    parts = []
    for parameter in inspect.signature(type(instance)).parameters.values():
        name = parameter.name
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD) or not (
            name in passed or hasattr(instance, name)
        ):
            continue
        value = passed[name] if name in passed else getattr(instance, name)
        if parameter.default is not parameter.empty and _same(value, parameter.default):
            continue
        required = parameter.default is parameter.empty and parameter.kind is not parameter.KEYWORD_ONLY
        parts.append(repr(value) if required else f"{parameter.name}={value!r}")
    return f"{type(instance).__name__}({', '.join(parts)})"


def plain(value: Any) -> Any:
    """The value in the types that JSON has: records become objects, tuples and arrays lists, non-finite numbers null.

    A record that has a `to_dict` of its own is asked for it.

    >>> plain({"loss": float("nan"), "shape": (1, 2)})
    {'loss': None, 'shape': [1, 2]}
    """
    if value is None or (isinstance(value, bool | int) and not isinstance(value, Enum)):
        return value
    if isinstance(value, Enum):
        return plain(value.value)
    if isinstance(value, str):
        return str(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if hasattr(value, "to_dict"):
        return plain(value.to_dict())
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item) for item in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    return str(value) if isinstance(value, PurePath) else repr(value)


def _same(value: Any, default: Any) -> bool:
    try:
        alike = type(value) is type(default) or {type(value), type(default)} == {int, float}
        return alike and bool(value == default)
    except (RuntimeError, ValueError, TypeError):  # arrays and tensors do not compare as one value
        return False
