"""A report's folder is whole or as it was."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from ordinate.errors import DataError, MissingDataError, OutputError
from ordinate.lab.catalogue import read_claims
from ordinate.lab.claim import Inputs
from ordinate.lab.measurement import Check, Figure, Measurement
from ordinate.lab.output import CRATE_FILE, crate, destination, publish, republish
from ordinate.lab.report import read_rows
from ordinate.lab.runner import ClaimResult, run_one

CLAIM = read_claims("ordinate.articles")[0]


@pytest.fixture
def result(monkeypatch: pytest.MonkeyPatch) -> ClaimResult:
    """A claim's result with one small figure."""
    svg = '<svg xmlns="http://www.w3.org/2000/svg" width="1pt" height="1pt"><path id="p" d="M0 0"/></svg>'
    measurement = Measurement([Check.near("x", 1, 1, 0)], "k", {}, "i", figures=[Figure("small", svg, "c", "a")])
    monkeypatch.setattr(type(CLAIM), "measurement", lambda claim: lambda inputs: measurement)
    return run_one(CLAIM, Inputs())


def write(result: ClaimResult, out: Path) -> Path:
    with destination(out) as staging:
        return publish([result], staging, out)


def names(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def test_a_report_is_three_kinds_of_files_and_nothing_else(tmp_path: Path, result: ClaimResult) -> None:
    out = tmp_path / "deep" / "report"
    assert write(result, out) == out / "index.html"
    assert names(out) == {"index.html", "claims.json", CRATE_FILE, *result.files}
    assert json.loads((out / "claims.json").read_text(encoding="utf-8")) == [result.row]


def test_a_second_report_takes_the_place_of_the_first_and_leaves_other_files(tmp_path: Path, result: ClaimResult) -> None:
    write(result, tmp_path)
    (tmp_path / "mine.txt").write_text("mine")
    (tmp_path / "figures" / "mine.svg").write_text("mine")
    write(ClaimResult({**result.row, "figures": []}, {}), tmp_path)
    assert names(tmp_path) == {"index.html", "claims.json", CRATE_FILE, "mine.txt", os.path.join("figures", "mine.svg")}


@pytest.mark.parametrize("problem", [RuntimeError, KeyboardInterrupt])
def test_what_breaks_off_leaves_nothing_behind(tmp_path: Path, problem: type[BaseException]) -> None:
    out = tmp_path / "report"
    with pytest.raises(problem), destination(out):
        raise problem
    assert not out.exists()


def test_what_breaks_off_leaves_the_former_report(tmp_path: Path, result: ClaimResult, monkeypatch: pytest.MonkeyPatch) -> None:
    write(result, tmp_path)
    before = {name: (tmp_path / name).read_bytes() for name in names(tmp_path)}
    monkeypatch.setattr(
        "ordinate.lab.report.render", lambda folder: (_ for _ in ()).throw(OSError(28, "No space left on device"))
    )
    with pytest.raises(OutputError, match="No space left"):
        write(ClaimResult({**result.row, "title": "other"}, result.files), tmp_path)
    assert {name: (tmp_path / name).read_bytes() for name in names(tmp_path)} == before


def test_a_folder_that_cannot_be_written_is_found_before_any_work(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    for out in (tmp_path / "file", tmp_path / "file" / "report"):
        with pytest.raises(OutputError, match="--out: expected a folder that can be written to"), destination(out):
            pytest.fail("work was begun")


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_without_rights_is_found_before_any_work(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(OutputError, match="Permission denied"), destination(tmp_path / "report"):
        pytest.fail("work was begun")


def test_the_page_can_be_made_again_from_the_rows_alone(tmp_path: Path, result: ClaimResult) -> None:
    page = write(result, tmp_path)
    before = page.read_text(encoding="utf-8")
    page.unlink()
    assert republish(tmp_path).read_text(encoding="utf-8") == before


def test_a_changed_row_changes_the_page(tmp_path: Path, result: ClaimResult) -> None:
    page = write(result, tmp_path)
    rows = read_rows(tmp_path)
    rows[0]["checks"][0]["shown"] = "42.4242"
    (tmp_path / "claims.json").write_text(json.dumps(rows))
    assert "42.4242" not in page.read_text(encoding="utf-8")
    assert "42.4242" in republish(tmp_path).read_text(encoding="utf-8")


@pytest.mark.parametrize("text", ["", "{", '{"rows": []}', "[1]", '[{"id": "A1"}]', '[{"id": "A1", "figures": []}]'])
def test_damaged_rows_are_an_error(tmp_path: Path, text: str) -> None:
    (tmp_path / "claims.json").write_text(text)
    with pytest.raises(DataError, match=r"claims\.json"):
        republish(tmp_path)
    assert names(tmp_path) == {"claims.json"}


def test_missing_rows_and_missing_figures_are_errors(tmp_path: Path, result: ClaimResult) -> None:
    with pytest.raises(MissingDataError, match="ordinate lab"):
        republish(tmp_path)
    write(result, tmp_path)
    for name in result.files:
        (tmp_path / name).unlink()
    with pytest.raises(DataError, match="figure"):
        republish(tmp_path)


def test_a_report_is_an_ro_crate_that_others_read(finished_report: Path) -> None:
    rocrate = pytest.importorskip("rocrate.rocrate")
    read = rocrate.ROCrate(finished_report)
    rows = read_rows(finished_report)
    files = {entity.id for entity in read.data_entities}
    assert files == {"index.html", "claims.json", *(figure["file"] for row in rows for figure in row["figures"])}
    for row in rows:
        review = read.dereference(f"index.html#{row['id']}")
        assert review["claimReviewed"] == row["statement"]
        assert review["reviewRating"]["alternateName"] == row["verdict"]
    assert read.dereference("#run")["instrument"]["version"] == rows[0]["versions"]["ordinate"]
    graph = json.loads((finished_report / CRATE_FILE).read_text(encoding="utf-8"))["@graph"]
    known = {entity["@id"] for entity in graph} | {"https://w3id.org/ro/crate/1.1"}
    assert len({entity["@id"] for entity in graph}) == len(graph)
    for entity in graph:  # flat: what is referred to is there
        values = [one for value in entity.values() for one in (value if isinstance(value, list) else [value])]
        assert all(set(value) == {"@id"} and value["@id"] in known for value in values if isinstance(value, dict)), entity


def test_the_crate_of_no_claims_is_still_one() -> None:
    assert crate([])["@graph"][1]["mentions"] == [{"@id": "#run"}]
