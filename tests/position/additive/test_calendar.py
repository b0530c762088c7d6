"""Seasons against Python's own calendar, for random moments, leap years and the turns of every season."""

import math
import re
from datetime import UTC, datetime, timedelta, timezone

import numpy as np
import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st

from ordinate.errors import ArgumentError, ArgumentTypeError
from ordinate.position.additive.calendar import SEASONS, season_share, unix_seconds

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def expected(name, moment):
    start = {
        "minute_of_hour": moment.replace(minute=0, second=0, microsecond=0),
        "hour_of_day": moment.replace(hour=0, minute=0, second=0, microsecond=0),
    }
    start["day_of_week"] = start["hour_of_day"] - timedelta(days=moment.weekday())
    start["day_of_month"] = start["hour_of_day"].replace(day=1)
    start["day_of_year"] = start["day_of_month"].replace(month=1)
    month_end = (start["day_of_month"] + timedelta(days=32)).replace(day=1)
    if name == "month_of_year":
        return (moment.month - 1 + (moment - start["day_of_month"]) / (month_end - start["day_of_month"])) / 12
    end = {
        "minute_of_hour": start["minute_of_hour"] + timedelta(hours=1),
        "hour_of_day": start["hour_of_day"] + timedelta(days=1),
        "day_of_week": start["day_of_week"] + timedelta(days=7),
        "day_of_month": month_end,
        "day_of_year": start["day_of_year"].replace(year=moment.year + 1),
    }[name]
    return (moment - start[name]) / (end - start[name])


@pytest.mark.parametrize("name", list(SEASONS))
@given(st.integers(-60_000_000_000, 250_000_000_000))  # the years 68 to 9891
@example(951_782_400)  # 2000-02-29: a century with a leap day
@example(-2_203_891_200)  # 1900-03-01: a century without one
@example(1_709_164_800)  # 2024-02-29
@example(1_735_603_200)  # 2024-12-31, day 366
@example(-1)
@example(0)
def test_every_season_is_that_of_pythons_calendar(name, seconds):
    moment = EPOCH + timedelta(seconds=seconds)
    share = float(season_share(name, torch.tensor(seconds)))
    assert 0 <= share < 1
    assert math.isclose(share, expected(name, moment), rel_tol=1e-12, abs_tol=1e-12)


def test_a_leap_year_is_longer_and_the_first_of_january_is_always_zero():
    for year, days in ((1900, 365), (2000, 366), (2023, 365), (2024, 366), (2100, 365)):
        starts = [datetime(y, 1, 1, tzinfo=UTC) for y in (year, year + 1)]
        first, after = ((start - EPOCH) // timedelta(seconds=1) for start in starts)
        shares = season_share("day_of_year", torch.tensor([first, first + 86_400, after - 86_400, after]))
        assert torch.allclose(shares, torch.tensor([0, 1 / days, (days - 1) / days, 0], dtype=torch.float64), atol=1e-15)


def test_a_quarter_of_a_second_counts_in_float64():
    seconds = torch.tensor([1_709_208_000.25], dtype=torch.float64)
    assert math.isclose(float(season_share("hour_of_day", seconds)), 0.5 + 0.25 / 86_400, abs_tol=1e-15)


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns", "m", "D"])
def test_numpy_times_of_any_unit_become_seconds(unit):
    days = np.array(["1969-12-31", "1970-01-02", "2024-02-29"], dtype=f"datetime64[{unit}]")
    seconds = unix_seconds(days)
    assert seconds.dtype is torch.int64
    assert seconds.tolist() == [-86_400, 86_400, 1_709_164_800]


def test_fractions_of_a_second_become_float64():
    times = np.array([["2024-02-29T12:00:00.25", "1969-12-31T23:59:59.5"]], dtype="datetime64[ms]")
    assert unix_seconds(times).tolist() == [[1_709_208_000.25, -0.5]]


def test_python_datetimes_keep_their_time_zone():
    moment = datetime(2024, 2, 29, 14, tzinfo=timezone(timedelta(hours=2)))
    assert unix_seconds([moment]).tolist() == [1_709_208_000]
    assert unix_seconds([np.datetime64("2024-02-29T12:00")]).tolist() == [1_709_208_000]


@pytest.mark.parametrize(
    ("times", "error", "words"),
    [
        ([datetime(2024, 1, 1)], ArgumentError, "times: expected datetimes with a time zone, got one without"),
        (np.array(["NaT", "2024-01-01"], dtype="datetime64[s]"), ArgumentError, "times: expected times, got NaT"),
        (np.array([1.5]), ArgumentTypeError, "times: expected datetime64 values or datetimes, got float64"),
        (["2024-01-01"], ArgumentTypeError, "times: expected datetime64 values or datetimes, got <U10"),
    ],
)
def test_what_is_no_time_is_refused_in_words(times, error, words):
    with pytest.raises(error, match=re.escape(words)):
        unix_seconds(times)
