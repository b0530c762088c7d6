"""The larval brain, loaded once for all tests that need it; they are skipped where the data are not at hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from ordinate.reservoir import Connectome
from tests.external import required


@pytest.fixture(scope="session")
def larval_path() -> Path:
    return required("larval-drosophila")


@pytest.fixture(scope="session")
def larval(larval_path: Path) -> Connectome:
    return Connectome.larval_drosophila(larval_path, cache=False)
