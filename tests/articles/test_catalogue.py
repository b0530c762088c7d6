"""Every claim can be found, is complete, and listing them imports nothing heavy."""

from __future__ import annotations

import subprocess
import sys

import pytest

from ordinate.articles.catalogue import CLAIMS, choose
from ordinate.errors import UnknownNameError
from ordinate.lab.claim import Claim


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=list(CLAIMS))
def test_every_claim_is_complete_and_its_measurement_exists(claim: Claim) -> None:
    for text in (claim.title, claim.article, claim.statement, claim.varies, claim.band):
        assert text.strip()
    assert claim.seeds
    assert claim.budget_seconds > 0
    assert callable(claim.measurement())


def test_article_a_has_its_five_claims() -> None:
    assert [claim.id for claim in choose(["A"])] == ["A1", "A2", "A3", "A4", "A5"]


def test_ids_keep_the_order_they_are_asked_in_and_run_once() -> None:
    assert [claim.id for claim in choose(["a4", "A2", "A4"])] == ["A4", "A2"]


def test_an_unknown_id_names_the_known_ones() -> None:
    with pytest.raises(UnknownNameError, match=r"one of A1, .*'Z1'.*--list"):
        choose(["A1", "Z1"])


def test_without_ids_all_quick_claims_are_chosen() -> None:
    assert {claim.id for claim in choose()} == {claim.id for claim in CLAIMS.values() if not claim.full_only}
    assert set(choose(full=True)) == set(CLAIMS.values())


def test_reading_the_catalogue_imports_nothing_heavy() -> None:
    heavy = "{'torch', 'numpy', 'matplotlib', 'jinja2'}"
    script = f"import sys, ordinate.articles.catalogue; print(sorted({heavy} & set(sys.modules)))"
    told = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "[]"
