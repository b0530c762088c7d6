"""What the tests of claims share: one run of the whole lab, done once by all test processes together."""

from __future__ import annotations

import os
import pickle
import time
from pathlib import Path

import pytest
from matplotlib.figure import Figure

from ordinate.lab.catalogue import choose, read_claims
from ordinate.lab.claim import Inputs
from ordinate.lab.output import destination, publish
from ordinate.lab.runner import ClaimResult, run
from tests.external import data_root

TRAINED = ("A6", "A7", "A8", "B8", "B9", "B10", "B11", "C14", "D27", "D28", "F1", "F2", "F3", "F4")
"""Claims that train models of their own; `test_trained_claims.py` measures them in its slow tests."""


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave charts undrawn: doctored inputs are about numbers, and most of a small claim's time is the layout of its chart."""
    monkeypatch.setattr(Figure, "savefig", lambda *arguments, **options: None)


@pytest.fixture(scope="session")
def finished_report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a report on every quick claim. Tests must leave it as it is."""
    base = tmp_path_factory.getbasetemp()
    shared = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "claims"
    shared.mkdir(exist_ok=True)
    out = tmp_path_factory.mktemp("lab") / "report"
    with destination(out) as staging:
        publish(measured_together(shared), staging, out)
    return out


def measured_together(shared: Path) -> list[ClaimResult]:
    """Every quick claim's result but those of `TRAINED`; of several processes one measures each claim, whoever is free."""
    claims = [claim for claim in choose(read_claims("ordinate.articles")) if claim.id not in TRAINED]
    for claim in claims:
        try:
            (shared / f"{claim.id}.taken").touch(exist_ok=False)
        except FileExistsError:
            continue
        draft = shared / f"{claim.id}.part"
        draft.write_bytes(pickle.dumps(run([claim], Inputs(data=data_root()))[0]))
        draft.rename(shared / f"{claim.id}.done")
    while not all((shared / f"{claim.id}.done").exists() for claim in claims):
        time.sleep(0.2)
    return [pickle.loads((shared / f"{claim.id}.done").read_bytes()) for claim in claims]
