"""Checks have bounds they can fail, and everything turns into strict JSON."""

from __future__ import annotations

import json
import math

import pytest

from ordinate.errors import ArgumentError
from ordinate.lab.measurement import Check, Table, show_number


@pytest.mark.parametrize(("lower", "upper"), [(-math.inf, math.inf), (2.0, 1.0), (math.nan, 1.0)])
def test_a_check_that_cannot_fail_or_cannot_hold_is_refused(lower: float, upper: float) -> None:
    with pytest.raises(ArgumentError, match="bound it can fail"):
        Check("anything", 1.0, lower, upper)


def test_bounds_belong_to_the_interval() -> None:
    assert Check.at_most("x", 1.0, 1.0).holds
    assert Check.at_least("x", 1.0, 1.0).holds
    assert not Check.at_most("x", math.nextafter(1.0, 2.0), 1.0).holds
    assert not Check.at_least("x", math.nextafter(1.0, 0.0), 1.0).holds
    assert Check.near("x", 3, 3, 0).band == "exactly 3"


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_numbers_that_json_lacks_are_told_by_name(value: float) -> None:
    row = Check.at_most("x", value, 1.0).to_row()
    assert json.loads(json.dumps(row, allow_nan=False))["value"] == str(value)


def test_a_column_is_numeric_only_if_all_of_it_is() -> None:
    row = Table("t", ("word", "weight"), [("the", 0.5), ("animal", 1e-16)]).to_row()
    assert row["numeric"] == [False, True]
    assert row["rows"] == [["the", "0.5000"], ["animal", "1.00e-16"]]


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.03098, "0.0310"), (1.3487, "1.349"), (31, "31"), (20_000, "20,000"), (1.11e-16, "1.11e-16"), (-0.5, "-0.5000")],
)
def test_numbers_are_shown_as_readers_want_them(value: float, shown: str) -> None:
    assert show_number(value) == shown
