"""Data that are not part of the repository: where tests find them, and what is said where they are missing.

Larger data (MNIST, the larval connectome, model configs) are looked for in the folder that `ORDINATE_DATA` names, or else in
`data` inside the repository and in `shared/data` beside it. A test that needs them is marked `@needs("mnist")` or calls
`required`; where they are missing it is skipped, and the end of the run says how many were and what is missing (`conftest.py`).
Small copies of a few cases and configs lie in `tests/cases`, so that the same facts are checked in any clone.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
CASES = Path(__file__).resolve().parent / "cases"
"""Copies: `position-cases.json`, and `configs` with the rows of their `facts.csv`."""

SOURCES = {
    "mnist": "the four IDX files of MNIST",
    "larval-drosophila": "Supplementary-Data-S1.zip of Winding et al. 2023, doi 10.1126/science.add9330",
    "configs": "configs of 107 models with the table facts.csv",
}
MISSING = "missing data: "
PLACES = (
    [Path(os.environ["ORDINATE_DATA"])] if os.environ.get("ORDINATE_DATA") else [ROOT / "data", ROOT.parent / "shared" / "data"]
)


def folder(name: str) -> Path | None:
    """The folder `name` of the external data, or None."""
    return next((place / name for place in PLACES if (place / name).is_dir()), None)


def data_root() -> Path | None:
    """The folder that holds those folders, as `ordinate lab --data` takes it, or None."""
    return next((place for place in PLACES if any((place / name).is_dir() for name in SOURCES)), None)


def required(name: str) -> Path:
    """The folder `name`; the test is skipped where it is missing."""
    found = folder(name)
    if found is None:
        pytest.skip(reason(name))
    return found


def needs(name: str) -> pytest.MarkDecorator:
    """The mark of a test that cannot run without the folder `name`."""
    return pytest.mark.skipif(folder(name) is None, reason=reason(name))


def reason(name: str) -> str:
    return f"{MISSING}{name} ({SOURCES[name]})"


CONFIGS = folder("configs") or CASES / "configs"
"""All configs, or the copies of a few."""
