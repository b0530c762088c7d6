"""The larval brain, loaded once for all tests that need it; they are skipped where the data are not at hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from ordinate.reservoir import Connectome

_PLACES = ("shared/data/larval-drosophila", "../shared/data/larval-drosophila")


@pytest.fixture(scope="session")
def larval_path() -> Path:
    root = Path(__file__).resolve().parents[2]
    for place in _PLACES:
        if (root / place / "Supplementary-Data-S1.zip").is_file():
            return root / place
    pytest.skip("the larval connectome (Supplementary-Data-S1.zip) is not at hand")


@pytest.fixture(scope="session")
def larval(larval_path: Path) -> Connectome:
    return Connectome.larval_drosophila(larval_path, cache=False)
