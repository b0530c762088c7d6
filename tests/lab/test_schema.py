"""Rows are what `claims.schema.json` says, those of measured claims and of one that broke off; damaged rows are not."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from ordinate.cli.app import app
from ordinate.lab.claim import Claim, Inputs
from ordinate.lab.measurement import Check, Measurement, Role, Verdict
from ordinate.lab.report import read_rows
from ordinate.lab.runner import SCHEMA, run_one

jsonschema = pytest.importorskip("jsonschema")

TEXT = resources.files("ordinate.lab").joinpath("claims.schema.json").read_text(encoding="utf-8")
VALIDATOR = jsonschema.Draft202012Validator(json.loads(TEXT), format_checker=jsonschema.FormatChecker())


def test_the_schema_is_one_and_the_command_prints_it() -> None:
    VALIDATOR.check_schema(VALIDATOR.schema)
    printed = CliRunner().invoke(app, ["lab", "--schema"])
    assert printed.exit_code == 0
    assert json.loads(printed.stdout) == VALIDATOR.schema
    assert VALIDATOR.schema["items"]["properties"]["schema"] == {"const": SCHEMA}


def test_the_schemas_words_are_those_of_the_code() -> None:
    row = VALIDATOR.schema["items"]["properties"]
    assert set(row["verdict"]["enum"]) == {str(verdict) for verdict in Verdict}
    assert set(row["checks"]["items"]["properties"]["role"]["enum"]) == {str(role) for role in Role}


def test_rows_of_a_run_are_valid(finished_report: Path) -> None:
    VALIDATOR.validate(read_rows(finished_report))


def test_a_row_that_broke_off_and_one_with_infinite_values_are_valid(monkeypatch: pytest.MonkeyPatch) -> None:
    claim = Claim(id="X1", title="t", statement="s", varies="v", band="b", budget_seconds=1)

    def breaks(inputs: Inputs) -> Measurement:
        raise RuntimeError("no")

    infinite = Measurement([Check.at_most("x", float("inf"), 1), Check.at_least("y", float("nan"), 0)], "k", {}, "i")
    for function in (breaks, lambda inputs: infinite):
        monkeypatch.setattr(Claim, "measurement", lambda claim, function=function: function)
        VALIDATOR.validate([run_one(claim, Inputs()).row])


@pytest.mark.parametrize(
    "damage",
    [
        lambda row: row.pop("statement"),
        lambda row: row.update(verdict="true"),
        lambda row: row.update(schema="ordinate.claims/2"),
        lambda row: row.update(extra=1),
        lambda row: row["checks"][0].update(role="important"),
        lambda row: row["checks"][0].pop("holds"),
        lambda row: row["machine"].update(cores=0),
    ],
)
def test_damaged_rows_are_not(finished_report: Path, damage: Callable[[dict[str, Any]], object]) -> None:
    row = copy.deepcopy(read_rows(finished_report)[0])
    assert VALIDATOR.is_valid([row])
    damage(row)
    assert not VALIDATOR.is_valid([row])
