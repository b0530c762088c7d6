"""Encodings of real time: timestamps as they come, irregular, with the seasons of the calendar in them.

A timestamp is a large number and its meaning lies in its last digits, so nothing here is formed in float32: turns are reduced
to a share of a period exactly, and only then become sines. Sources: Kazemi et al. 2019, arXiv 1907.05321 (Time2Vec); Shukla and
Marlin 2021, arXiv 2101.10318 (mTAN, continuous-time sinusoids).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from ordinate.arguments import check_integer
from ordinate.errors import ArgumentError, ArgumentTypeError
from ordinate.position.additive.calendar import SEASONS, season_share
from ordinate.position.base import AddedEncoding
from ordinate.position.indices import check_positions

__all__ = ["Time2Vec", "TimeEncoding"]

_YEAR = 365.2425 * 86_400


class TimeEncoding(AddedEncoding):
    """Sines and cosines of calendar seasons, then of periods that grow geometrically, at real timestamps.

    A season s whose share u in [0, 1) has passed gives sin(2 pi k u), cos(2 pi k u) for k = 1, ..., `harmonics`. The channels
    that are left, m pairs, give sin(2 pi t / T_i), cos(2 pi t / T_i) with T_i = shortest (longest / shortest)^(i / (m - 1)).

    t mod T_i is exact in float64, so present-day timestamps lose nothing but the rounding of the result. Sampling need not be
    regular: any timestamps work, and the product of two encodings of the second kind depends on their difference alone.

    Args:
        dim: channels D, even; at least 2 * harmonics for each season.
        seasons: names among "minute_of_hour", "hour_of_day", "day_of_week" (Monday is 0), "day_of_month", "month_of_year",
            "day_of_year" (a leap year has 366 days). UTC.
        harmonics: multiples k of each season's frequency.
        shortest_seconds, longest_seconds: the range of the other periods; by default an hour and ten years.
        utc_offset_seconds: added to timestamps before the calendar is asked, for local time without summer time.

    Raises:
        ArgumentError: an odd or too small dim, an unknown season, periods that are not positive and rising.

    Source: the calendar features are as in Zhou et al. 2021, arXiv 2012.07436, made periodic; the sinusoids are Shukla and
    Marlin 2021, arXiv 2101.10318, section 3.1 with fixed frequencies.

    >>> noon = torch.tensor([1_709_208_000])  # 2024-02-29 12:00 UTC
    >>> TimeEncoding(2, seasons=["hour_of_day"]).encode(noon).round(decimals=4)
    tensor([[ 0., -1.]])
    """

    def __init__(
        self,
        dim: int,
        *,
        seasons: Sequence[str] = (),
        harmonics: int = 1,
        shortest_seconds: float = 3600.0,
        longest_seconds: float = 10 * _YEAR,
        utc_offset_seconds: float = 0,
    ) -> None:
        super().__init__()
        if isinstance(seasons, str):
            raise ArgumentTypeError("seasons", expected="a list of names", got="a string", hint=f"pass [{seasons!r}]")
        unknown = [season for season in seasons if season not in SEASONS]
        if unknown:
            raise ArgumentError("seasons", expected=f"names among {list(SEASONS)}", got=unknown, hint="spell them so")
        check_integer("harmonics", harmonics, minimum=1)
        check_integer("dim", dim, minimum=1)
        least = max(2 * harmonics * len(seasons), 2)
        if dim < least or dim % 2:
            raise ArgumentError(
                "dim", expected=f"an even number of at least {least} channels", got=dim, hint="a season takes 2 * harmonics"
            )
        if not 0 < shortest_seconds < longest_seconds < math.inf:
            raise ArgumentError(
                "longest_seconds",
                expected="0 < shortest_seconds < longest_seconds",
                got=(shortest_seconds, longest_seconds),
                hint="the sampling step and the span of the data, say",
            )
        if not math.isfinite(utc_offset_seconds):
            raise ArgumentError("utc_offset_seconds", expected="seconds", got=utc_offset_seconds, hint="3600 for UTC+1")
        self.dim, self.seasons, self.harmonics = dim, tuple(seasons), harmonics
        self.shortest_seconds, self.longest_seconds = shortest_seconds, longest_seconds
        self.utc_offset_seconds = utc_offset_seconds

    def periods(self) -> tuple[float, ...]:
        """Seconds of each period beside the seasons."""
        count = self.dim // 2 - self.harmonics * len(self.seasons)
        ratio = self.longest_seconds / self.shortest_seconds
        return tuple(self.shortest_seconds * ratio ** (index / max(count - 1, 1)) for index in range(count))

    def encode(self, positions: Tensor, *, dtype: torch.dtype | None = None) -> Tensor:
        """Vectors [T, D] or [B, T, D] for timestamps [T] or [B, T].

        Args:
            positions: seconds since 1970-01-01 UTC, integers or float64; `unix_seconds` makes them from datetimes.
            dtype: of the result; by default torch's default dtype.

        Raises:
            ArgumentTypeError: timestamps in half precision, or in float32, which cannot tell present-day seconds apart.
        """
        _check_timestamps(positions)
        turns = []
        whole = float(self.utc_offset_seconds).is_integer()  # an int64 timestamp plus a float would become float32
        local = positions + int(self.utc_offset_seconds) if whole else positions.double() + self.utc_offset_seconds
        multiples = torch.arange(1, self.harmonics + 1, device=positions.device)
        for season in self.seasons:
            turns.append(season_share(season, local).unsqueeze(-1) * multiples)
        periods = torch.tensor(self.periods(), dtype=torch.float64, device=positions.device)
        turns.append(positions.double().unsqueeze(-1).remainder(periods) / periods)
        angles = 2 * math.pi * torch.cat(turns, dim=-1)
        return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(-2).to(dtype or torch.get_default_dtype())


class Time2Vec(AddedEncoding):
    """A learned linear trend and learned sines of time: (w_0 t + b_0, sin(w_1 t + b_1), ..., sin(w_(D-1) t + b_(D-1))).

    t = (timestamp - origin) / unit, formed in float64 as are the angles, whatever the dtype of the parameters. mTAN's time
    embedding (Shukla and Marlin 2021, arXiv 2101.10318, eq. 1) is the same function; it has several beside each other.

    Args:
        dim: channels D, at least 2.
        origin: the timestamp where t is 0, in seconds; the start of the training data, say.
        unit: seconds that make t grow by 1; a day by default. The trend channel grows with t, so a unit near the span of the
            data keeps it small.

    Raises:
        ArgumentError: a dim below 2, a unit that is not positive.

    Source: Kazemi et al. 2019, arXiv 1907.05321, eq. 1.

    >>> Time2Vec(16, origin=1_700_000_000).encode(torch.tensor([1_700_086_400])).shape
    torch.Size([1, 16])
    """

    def __init__(self, dim: int, *, origin: float = 0, unit: float = 86_400.0) -> None:
        super().__init__()
        check_integer("dim", dim, minimum=2)
        if not math.isfinite(origin):
            raise ArgumentError("origin", expected="a timestamp", got=origin, hint="the start of the data")
        if not (math.isfinite(unit) and unit > 0):
            raise ArgumentError("unit", expected="a positive number of seconds", got=unit, hint="86400 is a day")
        self.dim, self.origin, self.unit = dim, origin, unit
        self.weight = nn.Parameter(torch.empty(dim))
        self.phase = nn.Parameter(torch.empty(dim))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw frequencies and phases anew, uniform in [-1, 1]."""
        nn.init.uniform_(self.weight, -1.0, 1.0)
        nn.init.uniform_(self.phase, -1.0, 1.0)

    def encode(self, positions: Tensor, *, dtype: torch.dtype | None = None) -> Tensor:
        """Vectors [T, D] or [B, T, D] for timestamps [T] or [B, T].

        Args:
            positions: seconds since 1970-01-01 UTC, integers or float64.
            dtype: of the result; by default that of the parameters.

        Raises:
            ArgumentTypeError: timestamps in half precision or float32.
        """
        _check_timestamps(positions)
        elapsed = (positions.double() - self.origin).unsqueeze(-1) / self.unit
        angles = elapsed * self.weight.double() + self.phase.double()
        return torch.cat((angles[..., :1], angles[..., 1:].sin()), dim=-1).to(dtype or self.weight.dtype)


def _check_timestamps(positions: Tensor) -> None:
    check_positions("positions", positions)
    if positions.dtype is torch.float32:
        raise ArgumentTypeError(
            "positions",
            expected="timestamps in int64 or float64",
            got="torch.float32, whose neighbours are two minutes apart at present-day Unix time",
            hint="keep timestamps in int64 or float64 from the start, or pass calendar times through unix_seconds",
        )
