"""The classes of the registry by name, and `build`, which makes the module that a spec describes."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

from torch import nn

from ordinate.encodings import REGISTRY, registry_row
from ordinate.errors import ArgumentError, ArgumentTypeError
from ordinate.spec import PositionSpec

__all__ = ["ENCODINGS", "build", "encoding_class"]


def _load(path: str) -> type[nn.Module]:
    module, _, name = path.partition(":")
    kind: type[nn.Module] = getattr(importlib.import_module(f"ordinate.position.{module}"), name)
    return kind


ENCODINGS: Mapping[str, type[nn.Module]] = {row.name: _load(row.path) for row in REGISTRY.values()}
"""The class of every encoding by its name."""


def encoding_class(name: str) -> type[nn.Module]:
    """The class of an encoding, by its name or one of its aliases.

    Raises:
        UnknownNameError: no encoding goes by it.

    >>> encoding_class("rope").__name__
    'Rotary'
    """
    return ENCODINGS[registry_row(name).name]


def build(spec: PositionSpec) -> nn.Module:
    """The module that `spec` describes. A setting that is itself such a spec (DAPE's base, SelfExtend's rotary) is built first.

    Raises:
        ArgumentTypeError: not a spec.
        UnknownNameError: an encoding that is not in the registry.
        ArgumentError: settings it does not take.

    >>> build(PositionSpec("rotary", {"head_dim": 64, "layout": "half", "base": 500000.0}))
    Rotary(64, layout='half', base=500000.0)
    """
    if not isinstance(spec, PositionSpec):
        raise ArgumentTypeError("spec", expected="a PositionSpec", got=type(spec).__name__, hint="see ordinate.spec")
    kind = encoding_class(spec.encoding)
    settings: dict[str, Any] = {
        name: build(PositionSpec.from_dict(value)) if isinstance(value, Mapping) and "encoding" in value else value
        for name, value in spec.settings.items()
    }
    if "ladder" in settings:  # as specs of earlier releases, and golden files, spell it
        settings["schedule"] = settings.pop("ladder")
    if spec.scaling is not None:
        settings["scaling"] = spec.scaling
    try:
        return kind(**settings)
    except TypeError as error:
        if isinstance(error, ArgumentTypeError):
            raise
        raise ArgumentError(
            "settings", expected=f"the arguments of {kind.__name__}", got=sorted(settings), hint=f"{error}"
        ) from error
