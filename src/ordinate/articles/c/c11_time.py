"""C11, time series: hours and days must be read off timestamps as the calendar has them, however irregular the sampling."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import numpy as np
import torch
from torch import Tensor

from ordinate.lab.figures import SERIES, canvas, to_svg
from ordinate.lab.measurement import Check, Figure, Role, Table
from ordinate.position import Sinusoidal, unix_seconds

__all__ = ["time_checks"]

_START, _SAMPLES = datetime(2023, 12, 25, 3, 30, tzinfo=UTC), 400


def time_checks(encode: Callable[[Tensor], Tensor]) -> tuple[list[Check], Table, Figure]:
    """The part of C11 on time series.

    Args:
        encode: timestamps [T], seconds since 1970, to vectors [T, 4]: sine and cosine of the hour, of the day of the week.
    """
    moments = _irregular()
    vectors = encode(unix_seconds(moments))
    by_calendar = torch.tensor([_by_calendar(moment) for moment in moments], dtype=torch.float64)
    off = float((vectors - by_calendar).abs().max())

    noon = datetime(2024, 2, 28, 12, tzinfo=UTC)
    days = encode(unix_seconds([noon, noon + timedelta(days=1), noon + timedelta(days=2), noon + timedelta(days=7)]))
    same_hour = float((days[:, :2] - days[0, :2]).abs().max())
    same_week = float((days[3] - days[0]).abs().max())
    opposite = encode(unix_seconds([noon, noon + timedelta(hours=12)]))
    # what a count of samples knows: the same for regular and for irregular sampling
    counted = Sinusoidal(4).encode(torch.arange(_SAMPLES), dtype=torch.float64)

    checks = [
        Check.at_most("largest difference from the calendar over 400 irregular timestamps", off, 1e-9),
        Check.at_most("difference of noon on four days, channels of the hour", same_hour, 1e-9),
        Check.at_most("difference of one noon and the same weekday's a week later, over a leap day", same_week, 1e-9),
        Check.near(
            "distance of noon and midnight, channels of the hour", float((opposite[0] - opposite[1])[:2].norm()), 2.0, 1e-9
        ),
        Check.at_least(
            "difference from the calendar if samples are counted instead",
            float((counted - by_calendar).abs().max()),
            0.5,
            role=Role.CONTROL,
        ),
    ]
    table = Table(
        "Moments as they are encoded",
        ("moment, UTC", "sin hour", "cos hour", "sin weekday", "cos weekday"),
        [
            (f"{moment:%a %Y-%m-%d %H:%M}", *vector)
            for moment, vector in zip(moments[:120:24], vectors[:120:24].tolist(), strict=True)
        ],
    )
    return checks, table, _picture(moments, vectors)


def _irregular() -> list[datetime]:
    """Timestamps whose gaps go from minutes to most of a day."""
    moments, moment = [], _START
    for sample in range(_SAMPLES):
        moments.append(moment)
        moment += timedelta(minutes=7 + (sample * sample * 37) % 1000)
    return moments


def _by_calendar(moment: datetime) -> tuple[float, float, float, float]:
    """Sine and cosine of the hour and of the weekday, from Python's own calendar."""
    hour = (moment.hour + moment.minute / 60 + moment.second / 3600) / 24
    week = (moment.weekday() + hour) / 7
    turns = (2 * math.pi * hour, 2 * math.pi * week)
    return math.sin(turns[0]), math.cos(turns[0]), math.sin(turns[1]), math.cos(turns[1])


def _picture(moments: list[datetime], vectors: Tensor) -> Figure:
    shown = slice(0, 44)
    days = np.array([(moment - _START.replace(hour=0, minute=0)) / timedelta(days=1) for moment in moments])[shown]
    first = int(days[0])
    with canvas(rows=2, height=3.6) as (figure, axes):
        fine = np.linspace(0, days[-1], 1500)
        for one, channel, period, series, name in (
            (axes[0], 1, 1.0, SERIES[0], "cosine of the hour"),
            (axes[1], 3, 7.0, SERIES[1], "cosine of the weekday"),
        ):
            start = _START.weekday() if period == 7 else 0.0
            one.plot(fine, np.cos(2 * np.pi * (fine + start) / period), color="#c6c9ce", linewidth=1.0, label="the calendar")
            one.plot(
                days,
                vectors[shown, channel].numpy(),
                linestyle="none",
                marker=series["marker"],
                markersize=4.5,
                color=series["color"],
                label="samples",
            )
            one.set(ylabel=name, ylim=(-1.2, 1.9 if period == 1 else 1.2), xlim=(first - 0.2, days[-1] + 0.2))
            one.set_xticks(range(0, int(days[-1]) + 1, 2))
        axes[0].set(title="Irregular timestamps, seasons of the calendar")
        axes[1].set(xlabel="days since Monday, 25 December 2023, 0:00 UTC")
        axes[0].legend(loc="upper right", ncols=2)
        axes[0].set_yticks([-1, 0, 1])
        axes[1].set_yticks([-1, 0, 1])
        svg = to_svg(figure)
    return Figure(
        "time",
        svg,
        caption="Samples at irregular moments and two of their channels: each lies on the calendar's own wave, whatever the "
        "gap before it.",
        alt="Two panels over some two weeks: dots at uneven distances lie on a wave with a period of one day, and on one with "
        "a period of seven days.",
    )
