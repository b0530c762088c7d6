"""Every claim's record is complete, and what the catalogue reads is what the file says when it runs."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from importlib import import_module

import pytest

from ordinate.articles.sentence import SENTENCE
from ordinate.lab.catalogue import full_results, read_claims
from ordinate.lab.claim import Claim
from ordinate.lab.measurement import Verdict

CLAIMS = read_claims("ordinate.articles")


@pytest.mark.parametrize("claim", CLAIMS, ids=[claim.id for claim in CLAIMS])
def test_every_record_is_complete_and_read_as_it_runs(claim: Claim) -> None:
    for text in (claim.title, claim.article, claim.statement, claim.varies, claim.band):
        assert text.strip()
    assert claim.words.split() in ([], list(SENTENCE))
    module = import_module(claim.origin)
    assert replace(module.CLAIM, origin=claim.origin, article=claim.article) == claim
    assert claim.measurement() is module.measure


def test_the_articles_and_the_field_have_seventy_claims() -> None:
    letters = [claim.id[0] for claim in CLAIMS]
    assert [letters.count(letter) for letter in "ABCDF"] == [8, 11, 14, 32, 5]


def test_stored_long_results_belong_to_claims_and_are_dated() -> None:
    stored = full_results("ordinate.articles")
    assert set(stored) <= {claim.id for claim in CLAIMS}
    for result in stored.values():
        assert result["verdict"] in set(Verdict)
        assert date.fromisoformat(result["date"])
        assert result["key_figure"]
        assert result["minutes"] > 0
        assert result["machine"]
