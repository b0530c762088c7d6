"""Every claim comes out as foreseen, with figures and a meaning; long measurements take turns, the longest are slow tests."""

from __future__ import annotations

import pytest

from ordinate.lab.catalogue import choose, read_claims
from ordinate.lab.claim import Inputs
from ordinate.lab.runner import run
from ordinate.reservoir.body.neuromechfly import installed_generation
from tests.external import data_root, folder

ON_THE_LARVA = ("D11", "D12", "D13", "D29", "D30")
OTHERWISE = {
    **dict.fromkeys(("A5", "A7", "B9", "C9", "D1", "D2", "D3", "D12", "D24", "D32"), "corrected"),
    **dict.fromkeys(("D13", "D29"), "refuted"),
    **dict.fromkeys(("C8", "C10", "D14", "D17", "D18", "D19", "D30", "F2", "F3", "F4", "F5"), "not testable here"),
}
"""What is foreseen of claims that are not reproduced."""
IN_TURN = ("B7", "C8", "C9", "C10", "C12", "C13", "D7", "D11", "D13", "D15", "D17", "D18", "D19", "D20", "D21", "D25", "D32")
"""Claims whose quick measurement takes three seconds or more."""
SLOW = ("A6", "A7", "A8", "B8", "B9", "B10", "B11", "C14", "D27", "D28", "D30", "D31", "F1", "F2", "F3", "F4")


def marks(name: str) -> tuple[pytest.MarkDecorator, ...]:
    if name in SLOW:
        return (pytest.mark.slow,)
    return (pytest.mark.in_turn(4, group="claims"),) if name in IN_TURN else ()


@pytest.mark.parametrize("name", [pytest.param(claim.id, marks=marks(claim.id)) for claim in read_claims("ordinate.articles")])
def test_a_claim_comes_out_as_foreseen_with_figures_and_a_meaning(name: str) -> None:
    (result,) = run(choose(read_claims("ordinate.articles"), [name]), Inputs(data=data_root()))
    foreseen = OTHERWISE.get(name, "reproduced")
    if name in ON_THE_LARVA and folder("larval-drosophila") is None:
        foreseen = "not testable here"
    if name == "D14" and installed_generation() is not None:
        foreseen = "reproduced"
    assert result.row["verdict"] == foreseen, result.row["checks"]
    assert result.row["figures"] or name == "F5", "only CIFAR-10 can be drawn"
    assert all(figure["alt"] and figure["caption"] for figure in result.row["figures"])
    assert "differs from what the claim's author found" not in result.row["meaning"]
