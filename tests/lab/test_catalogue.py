"""Claims are found in packages, folders and files, chosen by id, and listed without importing anything heavy."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from ordinate.errors import DataError, MissingDataError, UnknownNameError
from ordinate.lab.catalogue import choose, read_claims
from ordinate.lab.claim import Inputs
from ordinate.lab.runner import run_one

ARTICLES = read_claims("ordinate.articles")
CLAIM = """
from ordinate.lab.claim import Claim, Inputs
from ordinate.lab.measurement import Check, Measurement, Verdict

CLAIM = Claim(id="{id}", title="Sums", statement="1 + 1 = 2", varies="nothing", band="exact", budget_seconds=1)


def measure(inputs: Inputs) -> Measurement:
    return Measurement([Check.near("1 + 1", 1 + 1, 2, 0)], "2", {{Verdict.REPRODUCED: "It adds up."}}, "two ones")
"""


def test_ids_keep_the_order_they_are_asked_in_and_run_once() -> None:
    assert [claim.id for claim in choose(ARTICLES, ["a4", "A2", "A4"])] == ["A4", "A2"]


def test_a_letter_alone_means_a_whole_article() -> None:
    assert [claim.id for claim in choose(ARTICLES, ["A"])] == [f"A{number}" for number in range(1, 9)]


def test_an_unknown_id_names_the_known_ones() -> None:
    with pytest.raises(UnknownNameError, match=r"one of \d+ claims, .*\(A, B, C, D, F\), got 'Z1'.*--list"):
        choose(ARTICLES, ["A1", "Z1"])


def test_without_ids_all_quick_claims_are_chosen() -> None:
    assert [claim.id for claim in choose(ARTICLES)] == [claim.id for claim in ARTICLES if not claim.full_only]
    assert choose(ARTICLES, full=True) == ARTICLES


def test_a_claim_of_ones_own_is_one_file_that_runs(tmp_path: Path) -> None:
    path = tmp_path / "sums.py"
    path.write_text(CLAIM.format(id="X1"))
    for source in (path, tmp_path):
        (claim,) = read_claims(source)
        assert run_one(claim, Inputs()).row["verdict"] == "reproduced"
        assert claim.article == tmp_path.name


def test_a_folder_names_its_article_and_orders_its_claims_by_number(tmp_path: Path) -> None:
    (tmp_path / "__init__.py").write_text('TITLE = "X: arithmetic"\n')
    for number in (10, 2):
        (tmp_path / f"x{number}.py").write_text(CLAIM.format(id=f"X{number}"))
    claims = read_claims(tmp_path)
    assert [claim.id for claim in claims] == ["X2", "X10"]
    assert {claim.article for claim in claims} == {"X: arithmetic"}


def test_an_id_that_stands_twice_is_an_error(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / f"{name}.py").write_text(CLAIM.format(id="X1"))
    with pytest.raises(DataError, match=r"an id of its own, got X1"):
        read_claims(tmp_path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('CLAIM = Claim(id="X1", title=TITLE)\n', r"line 1: expected title written out.*got TITLE"),
        ('CLAIM = {"id": "X1"}\n', r"expected CLAIM = Claim\("),
        ('CLAIM = Claim(id="X1")\n', r"the arguments of Claim.*title"),
        ("CLAIM = Claim(\n", "a Python file"),
    ],
)
def test_a_record_that_cannot_be_read_is_an_error_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "broken.py"
    path.write_text(text)
    with pytest.raises(DataError, match=message):
        read_claims(path)


@pytest.mark.parametrize("source", ["no.such.module", "nowhere.py", "not a name", "json"])
def test_a_source_without_claims_is_an_error(source: str) -> None:
    with pytest.raises(MissingDataError, match=r"--claims: expected a (Python )?file"):
        read_claims(source)


def test_listing_the_articles_claims_imports_nothing_heavy() -> None:
    heavy = "{'torch', 'numpy', 'matplotlib', 'jinja2'}"
    listing = "import sys; from ordinate.lab.catalogue import read_claims; read_claims('ordinate.articles')"
    script = f"{listing}; print({heavy} & set(sys.modules))"
    output = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert output.stdout.strip() == "set()"
