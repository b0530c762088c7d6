"""`docs/articles.md`: every link leads somewhere, every claim is named, and every row says where or why not."""

from __future__ import annotations

import re
from pathlib import Path

from ordinate.lab.catalogue import read_claims

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "articles.md"
TEXT = GUIDE.read_text(encoding="utf-8")
ROWS = [line.strip("|").split("|") for line in TEXT.splitlines() if re.match(r"\| [ABCD]\d", line)]


def test_every_link_leads_to_a_file() -> None:
    targets = set(re.findall(r"\]\(([^)]+)\)", TEXT))
    assert targets
    assert [target for target in targets if not (GUIDE.parent / target).exists()] == []


def test_a_claims_link_leads_to_that_claim() -> None:
    files = {claim.id: claim.origin.rpartition(".")[2] for claim in read_claims("ordinate.articles") if claim.id[0] != "F"}
    linked = set(re.findall(r"\[([ABCD]\d+)\]\([^)\s]*/(\w+)\.py\)", TEXT))
    assert {name for name, _ in linked} == set(files)
    assert all(files[name] == file for name, file in linked)


def test_every_row_is_covered_or_says_what_is_missing() -> None:
    assert len(ROWS) == 314
    for where, what, here, place in ROWS:
        assert re.fullmatch(r"[ABCD]\d[\d,-]*", where.strip()), where
        assert what.strip()
        assert here.strip() in ("yes", "partly", "no", "none")
        assert place.strip() or here.strip() == "none", where


def test_the_totals_are_those_of_the_rows() -> None:
    here = [row[2].strip() for row in ROWS]
    totals = [here.count(kind) for kind in ("yes", "partly", "no", "none")]
    sentence = f"Of {len(ROWS)} rows {totals[0]} are covered, {totals[1]} partly, {totals[2]} not, and {totals[3]} have nothing"
    assert sentence in TEXT
