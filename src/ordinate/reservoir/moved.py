"""Modules of this package that moved and were named in the documentation: their old spellings work for one release.

An old module is a stand-in that warns once and passes every name on to where it is now.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import sys
import warnings
from collections.abc import Sequence
from types import ModuleType
from typing import Any

__all__ = ["MOVED", "keep_old_spellings"]

_PACKAGE = "ordinate.reservoir"

MOVED: dict[str, tuple[str, ...]] = {
    "cache": ("connectome.cache",),
    "closed_loop": ("dynamics.reservoir",),
    "drive": ("body.drive",),
    "drive_senses": ("body.drive",),
    "echo_state": ("dynamics.echo_state",),
    "gain": ("connectome.gain", "connectome.spectrum", "connectome.summary", "dynamics.tuning", "dynamics.echo_state"),
    "laterality_sweep": ("laterality.experiment",),
    "metrics": ("readout.metrics",),
    "nulls": ("connectome.nulls",),
    "readout_classes": ("readout.classes",),
    "readout_online": ("readout.online",),
    "signs": ("connectome.signs",),
    "tasks_card": ("tasks.card",),
    "tasks_chart": ("tasks.card",),
    "tasks_narma": ("datasets",),
}
"""Where the names of each old module are now; the first that has a name gives it."""


class _Moved(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        package, _, name = fullname.rpartition(".")
        return importlib.machinery.ModuleSpec(fullname, self) if package == _PACKAGE and name in MOVED else None

    def exec_module(self, module: ModuleType) -> None:
        places = MOVED[module.__name__.rpartition(".")[2]]

        def find(name: str) -> Any:
            for place in places:
                try:
                    return getattr(importlib.import_module(f"{_PACKAGE}.{place}"), name)
                except AttributeError:
                    continue
            raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")

        module.__dict__["__getattr__"] = find
        new = f"{_PACKAGE}.{places[0]}"
        warnings.warn(
            f"{module.__name__} is now {new}; the old name goes with the next release", DeprecationWarning, stacklevel=2
        )


def keep_old_spellings() -> None:
    """Make the old spellings importable; what is looked for under its new name never comes here."""
    if not any(isinstance(finder, _Moved) for finder in sys.meta_path):
        sys.meta_path.append(_Moved())
