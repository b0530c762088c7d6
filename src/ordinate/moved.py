"""Modules that moved and were named in the documentation: their old spellings work for one release.

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

MOVED: dict[str, tuple[str, ...]] = {
    "ordinate.lab.verdict": ("ordinate.lab.measurement",),
    "ordinate.logic.convolution_blocks": ("ordinate.logic.network.convolution_blocks",),
    "ordinate.reservoir.cache": ("ordinate.reservoir.connectome.cache",),
    "ordinate.reservoir.closed_loop": ("ordinate.reservoir.dynamics.reservoir",),
    "ordinate.reservoir.drive": ("ordinate.reservoir.body.drive",),
    "ordinate.reservoir.drive_senses": ("ordinate.reservoir.body.drive",),
    "ordinate.reservoir.echo_state": ("ordinate.reservoir.dynamics.echo_state",),
    "ordinate.reservoir.gain": (
        "ordinate.reservoir.connectome.gain",
        "ordinate.reservoir.connectome.spectrum",
        "ordinate.reservoir.connectome.summary",
        "ordinate.reservoir.dynamics.tuning",
        "ordinate.reservoir.dynamics.echo_state",
    ),
    "ordinate.reservoir.laterality_sweep": ("ordinate.reservoir.laterality.experiment",),
    "ordinate.reservoir.metrics": ("ordinate.reservoir.readout.metrics",),
    "ordinate.reservoir.nulls": ("ordinate.reservoir.connectome.nulls",),
    "ordinate.reservoir.readout_classes": ("ordinate.reservoir.readout.classes",),
    "ordinate.reservoir.readout_online": ("ordinate.reservoir.readout.online",),
    "ordinate.reservoir.signs": ("ordinate.reservoir.connectome.signs",),
    "ordinate.reservoir.tasks_card": ("ordinate.reservoir.tasks.card",),
    "ordinate.reservoir.tasks_chart": ("ordinate.reservoir.tasks.card",),
    "ordinate.reservoir.tasks_narma": ("ordinate.reservoir.datasets",),
    "ordinate.reservoir.tasks.datasets": ("ordinate.reservoir.datasets",),
}
"""Where the names of each old module are now; the first that has a name gives it."""


class _Moved(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        return importlib.machinery.ModuleSpec(fullname, self) if fullname in MOVED else None

    def exec_module(self, module: ModuleType) -> None:
        places = MOVED[module.__name__]

        def find(name: str) -> Any:
            for place in places:
                try:
                    return getattr(importlib.import_module(place), name)
                except AttributeError:
                    continue
            raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")

        module.__dict__["__getattr__"] = find
        new = places[0]
        warnings.warn(
            f"{module.__name__} is now {new}; the old name goes with the next release", DeprecationWarning, stacklevel=2
        )


def keep_old_spellings() -> None:
    """Make the old spellings importable; what is looked for under its new name never comes here."""
    if not any(isinstance(finder, _Moved) for finder in sys.meta_path):
        sys.meta_path.append(_Moved())
