"""One small run of the lab, shared by the tests of rows, page and browser."""

from __future__ import annotations

from pathlib import Path

import pytest

from ordinate.lab.catalogue import choose, read_claims
from ordinate.lab.claim import Inputs
from ordinate.lab.output import destination, publish
from ordinate.lab.runner import run


@pytest.fixture(scope="session")
def finished_report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a report on five claims of one article. Tests must leave it as it is."""
    out = tmp_path_factory.mktemp("lab") / "report"
    with destination(out) as staging:
        publish(run(choose(read_claims("ordinate.articles"), ["A1", "A2", "A3", "A4", "A5"]), Inputs()), staging, out)
    return out
