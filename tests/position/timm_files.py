"""Single files of timm as witnesses, without `import timm`: that asks for torchvision, which does not fit this torch."""

import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest


def timm_layers(name: str) -> ModuleType:
    """The module `timm.layers.<name>`, read without the packages' own `__init__`; the test skips where timm is missing."""
    spec = importlib.util.find_spec("timm")
    if spec is None or spec.origin is None:
        pytest.skip("timm is not installed")
    before = {known: module for known, module in sys.modules.items() if known.split(".")[0] == "timm"}
    for known in before:
        del sys.modules[known]
    try:
        for package in ("timm", "timm.layers"):
            empty = ModuleType(package)
            empty.__path__ = [str(Path(spec.origin).parent.joinpath(*package.split(".")[1:]))]
            sys.modules[package] = empty
        return importlib.import_module(f"timm.layers.{name}")
    finally:
        for known in [known for known in sys.modules if known.split(".")[0] == "timm"]:
            del sys.modules[known]
        sys.modules.update(before)
