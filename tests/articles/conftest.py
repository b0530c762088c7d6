"""What the tests of claims share: the measurement of one claim."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from matplotlib.figure import Figure

from ordinate.lab.catalogue import choose, read_claims
from ordinate.lab.claim import Inputs
from ordinate.lab.runner import run
from tests.external import data_root

TRAINED = ("A6", "A7", "A8", "B8", "B9", "B10", "B11", "C14", "D27", "D28", "F1", "F2", "F3", "F4")
"""Claims that train models of their own; `test_trained_claims.py` measures them in its slow tests."""
LONG = ("B7", "C8", "C9", "C10", "C12", "C13", "D7", "D10", "D11", "D13", "D15", "D17", "D18", "D19", "D25")
"""Claims whose quick measurement takes three seconds or more."""


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave charts undrawn: doctored inputs are about numbers, and most of a small claim's time is the layout of its chart."""
    monkeypatch.setattr(Figure, "savefig", lambda *arguments, **options: None)


@pytest.fixture(scope="session")
def row(request: pytest.FixtureRequest) -> dict[str, Any]:
    """What a quick measurement of the claim that `foreseen` names comes to, with the data that are there; charts are drawn."""
    (claim,) = choose(read_claims("ordinate.articles"), [request.param])
    return run([claim], Inputs(data=data_root()))[0].row


def foreseen(claims: Iterable[str]) -> pytest.MarkDecorator:
    """A test of each claim's `row`; those that take longest are measured in turn."""
    marks = pytest.mark.in_turn(4, group="claims")
    return pytest.mark.parametrize(
        "row", [pytest.param(one, marks=marks if one in LONG else ()) for one in claims], indirect=True
    )
