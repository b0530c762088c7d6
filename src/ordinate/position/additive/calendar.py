"""The calendar in tensors: seconds since 1970 to the share of the hour, day, week, month and year that has passed.

Days are counted in integers and leap years are counted as they fall, so the first of January is 0 in every year. Time is UTC,
days have 86,400 seconds (as Unix time has it), the calendar is the Gregorian one for every year.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta

import numpy as np
import torch
from torch import Tensor

from ordinate.errors import ArgumentError, ArgumentTypeError

__all__ = ["SEASONS", "season_share", "unix_seconds"]

_DAY = 86_400
_START = datetime(1970, 1, 1, tzinfo=UTC)
# days from 1970-01-01 back to 0000-03-01; with years that start in March the leap day is the last day of a year
_EPOCH = 719_468


def unix_seconds(times: np.ndarray | Sequence[datetime | np.datetime64], *, device: torch.device | str | None = None) -> Tensor:
    """Seconds since 1970-01-01 UTC of numpy datetimes or aware Python datetimes: int64 where all are whole, else float64.

    Float64 holds present-day times to a quarter of a microsecond.

    Args:
        times: a datetime64 array of any shape and unit, or a sequence of datetimes. Python datetimes must have a time zone;
            datetime64 has none and is taken as UTC.
        device: where the result lives.

    Raises:
        ArgumentError: NaT, or a datetime without a time zone.
        ArgumentTypeError: anything else.

    >>> unix_seconds(np.array(["2024-02-29T12:00", "1970-01-01T00:00:01"], dtype="datetime64[s]"))
    tensor([1709208000,          1])
    """
    listed = times if isinstance(times, list | tuple) else []
    moments = [time for time in listed if isinstance(time, datetime)]
    if moments and len(moments) == len(listed):
        if any(moment.tzinfo is None for moment in moments):
            raise ArgumentError(
                "times", expected="datetimes with a time zone", got="one without", hint="add tzinfo=datetime.timezone.utc"
            )
        stamps = np.array([(moment - _START) // timedelta(microseconds=1) for moment in moments], "datetime64[us]")
    else:
        stamps = np.asarray(times)
        if stamps.dtype.kind != "M":
            raise ArgumentTypeError(
                "times", expected="datetime64 values or datetimes", got=str(stamps.dtype), hint="numbers need no conversion"
            )
    if np.isnat(stamps).any():
        raise ArgumentError("times", expected="times", got="NaT (not a time)", hint="drop the missing rows")
    whole = stamps.astype("datetime64[s]")
    rest = (stamps - whole.astype(stamps.dtype)) / np.timedelta64(1, "s") if whole.size else np.zeros(0)
    seconds_since = whole.astype(np.int64)
    result = torch.from_numpy(np.asarray(seconds_since + rest if np.any(rest) else seconds_since))
    return result.to(device) if device is not None else result


def season_share(name: str, seconds: Tensor) -> Tensor:
    """The share in [0, 1) of the season that has passed, float64, for seconds since 1970 (int64 or float64), of any shape.

    >>> season_share("day_of_week", torch.tensor(1_709_208_000))  # Thursday 29 February 2024, noon; Monday is 0
    tensor(0.5000, dtype=torch.float64)
    """
    day = torch.div(seconds, _DAY, rounding_mode="floor")
    return SEASONS[name](day.long(), (seconds - day * _DAY).double())


def _of_hour(day: Tensor, second: Tensor) -> Tensor:
    return second % 3600 / 3600


def _of_day(day: Tensor, second: Tensor) -> Tensor:
    return second / _DAY


def _of_week(day: Tensor, second: Tensor) -> Tensor:
    return ((day + 3) % 7 + second / _DAY) / 7  # 1970 began on a Thursday


def _of_month(day: Tensor, second: Tensor) -> Tensor:
    _, _, of_month, length = _month_of(day)
    return (of_month + second / _DAY) / length


def _months_of_year(day: Tensor, second: Tensor) -> Tensor:
    _, month, of_month, length = _month_of(day)
    return (month + (of_month + second / _DAY) / length) / 12


def _of_year(day: Tensor, second: Tensor) -> Tensor:
    year, _, _, _ = _month_of(day)
    start = _days_before(year)
    return (day - start + second / _DAY) / (_days_before(year + 1) - start)


SEASONS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "minute_of_hour": _of_hour,
    "hour_of_day": _of_day,
    "day_of_week": _of_week,
    "day_of_month": _of_month,
    "month_of_year": _months_of_year,
    "day_of_year": _of_year,
}


def _days_before(year: Tensor) -> Tensor:
    """Days from 1970-01-01 to the first of January of `year`."""
    last = year - 1
    leaps = (
        torch.div(last, 4, rounding_mode="floor")
        - torch.div(last, 100, rounding_mode="floor")
        + torch.div(last, 400, rounding_mode="floor")
    )
    return (year - 1970) * 365 + leaps - 477  # 477 leap days before 1970


def _month_of(day: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Year, month (January is 0), day of the month (from 0) and the month's length, for days since 1970-01-01."""
    since = day + _EPOCH
    era = torch.div(since, 146_097, rounding_mode="floor")  # 400 years have 146,097 days
    of_era = since - era * 146_097
    # take out the leap days of the era, then 365 days make a year
    leaps = of_era // 1_460 - of_era // 36_524 + of_era // 146_096
    of_years = (of_era - leaps) // 365
    of_year = of_era - (365 * of_years + of_years // 4 - of_years // 100)
    from_march = (5 * of_year + 2) // 153  # months of 31, 30, 31, 30, 31 days come again after 153
    of_month = of_year - (153 * from_march + 2) // 5
    month = (from_march + 2) % 12
    year = era * 400 + of_years + (month < 2).long()
    leap = (year % 4 == 0) & ((year % 100 != 0) | (year % 400 == 0))
    lengths = torch.tensor([31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31], device=day.device)
    return year, month, of_month, lengths[month] + ((month == 1) & leap).long()
