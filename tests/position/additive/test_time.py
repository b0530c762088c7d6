"""Encodings of real time against exact arithmetic with fractions, and their learned part against its formula."""

import math
import re
from fractions import Fraction

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from ordinate.errors import ArgumentError, ArgumentTypeError
from ordinate.position import Time2Vec, TimeEncoding
from ordinate.position.additive.calendar import SEASONS, season_share

NOW = 1_764_000_000  # November 2025


def wave(turns: Fraction) -> tuple[float, float]:
    angle = 2 * math.pi * float(turns % 1)
    return math.sin(angle), math.cos(angle)


@given(st.integers(-(2**33), 2**33), st.sampled_from([1.0, 0.1, 60.0]))
def test_periods_are_exact_at_any_present_day_second(seconds, shortest):
    encoding = TimeEncoding(8, shortest_seconds=shortest, longest_seconds=1e8)
    row = encoding.encode(torch.tensor([seconds]), dtype=torch.float64)[0].tolist()
    expected = [value for period in encoding.periods() for value in wave(Fraction(seconds) / Fraction(period))]
    assert row == pytest.approx(expected, abs=2e-15)


def test_float32_sees_the_same_second_as_float64():
    encoding = TimeEncoding(16, seasons=["hour_of_day"], shortest_seconds=10.0)
    near = encoding.encode(torch.tensor([NOW, NOW + 1]))
    assert_close(near.double(), encoding.encode(torch.tensor([NOW, NOW + 1]), dtype=torch.float64), rtol=0, atol=6e-8)
    assert (near[0] - near[1]).abs().max() > 0.1


def test_integers_and_float64_are_the_same_time():
    encoding = TimeEncoding(24, seasons=list(SEASONS), harmonics=1, utc_offset_seconds=3600)
    seconds = torch.tensor([[NOW, 0, -1, 951_782_400]])
    assert_close(encoding.encode(seconds), encoding.encode(seconds.double()), rtol=0, atol=0)


@pytest.mark.parametrize("season", list(SEASONS))
def test_a_season_has_its_harmonics_before_the_periods(season):
    encoding, seconds = TimeEncoding(10, seasons=[season], harmonics=3), torch.tensor([NOW, NOW + 12_345])
    share = season_share(season, seconds)
    row = encoding.encode(seconds, dtype=torch.float64)
    for k in (1, 2, 3):
        assert_close(row[:, 2 * k - 2], (2 * math.pi * k * share).sin(), rtol=0, atol=1e-13)
        assert_close(row[:, 2 * k - 1], (2 * math.pi * k * share).cos(), rtol=0, atol=1e-13)
    assert len(encoding.periods()) == 2


def test_the_same_hour_is_the_same_place_on_the_circle_every_day():
    encoding = TimeEncoding(4, seasons=["hour_of_day", "day_of_week"])
    rows = encoding.encode(NOW + 86_400 * torch.arange(14))
    assert_close(rows[:, :2], rows[:1, :2].expand(14, 2))
    assert_close(rows[:7], rows[7:])
    assert (rows[0, 2:] - rows[3, 2:]).abs().max() > 0.5


def test_local_time_shifts_the_seasons_and_nothing_else():
    here, there = (TimeEncoding(6, seasons=["hour_of_day"], utc_offset_seconds=offset) for offset in (0, 5400.5))
    seconds = torch.tensor([NOW])
    assert_close(there.encode(seconds)[:, 2:], here.encode(seconds)[:, 2:], rtol=0, atol=0)
    moved = here.encode(seconds.double() + 5400.5)
    assert_close(there.encode(seconds)[:, :2], moved[:, :2], rtol=0, atol=0)


@given(st.floats(1e9, 2e9), st.floats(0, 1e6), st.floats(-1e9, 1e9))
def test_the_product_of_two_times_depends_on_the_time_between_alone(start, gap, shift):
    """Of the periods, not of the seasons; sampling is irregular."""
    encoding = TimeEncoding(16, shortest_seconds=60.0)
    times = torch.tensor([start, start + gap, start + shift, start + shift + gap], dtype=torch.float64)
    a, b, c, d = encoding.encode(times, dtype=torch.float64)
    assert_close(a @ b, c @ d, rtol=0, atol=1e-6)  # the times themselves are known to 2e-7 seconds


def test_periods_grow_geometrically_between_their_ends():
    periods = TimeEncoding(10, shortest_seconds=60.0, longest_seconds=6e5).periods()
    assert periods == pytest.approx([60, 600, 6e3, 6e4, 6e5])


def test_time2vec_is_a_trend_and_sines():
    encoding = Time2Vec(5, origin=NOW, unit=3600.0).double()
    seconds = torch.tensor([[NOW, NOW + 1800, NOW - 7200]])
    w, b = encoding.weight.tolist(), encoding.phase.tolist()
    for place, hours in enumerate((0.0, 0.5, -2.0)):
        expected = [w[0] * hours + b[0]] + [math.sin(w[i] * hours + b[i]) for i in range(1, 5)]
        assert_close(encoding.encode(seconds)[0, place], torch.tensor(expected, dtype=torch.float64), rtol=0, atol=1e-14)


def test_time2vec_tells_seconds_apart_at_present_day_timestamps():
    encoding = Time2Vec(4, unit=1.0)
    for seconds in (torch.tensor([NOW, NOW + 1]), torch.tensor([NOW, NOW + 1]).double()):
        first, second = encoding.encode(seconds, dtype=torch.float64)
        assert_close((second - first)[0], encoding.weight[0].double().detach(), rtol=0, atol=1e-6)


def test_time2vec_learns():
    encoding = Time2Vec(4, origin=NOW).double()
    seconds = torch.tensor([NOW, NOW + 40_000, NOW + 200_000])

    def encode(weight, phase):
        return torch.func.functional_call(encoding, {"weight": weight, "phase": phase}, (seconds,))

    encoding.forward = encoding.encode
    assert torch.autograd.gradcheck(encode, [p.detach().clone().requires_grad_() for p in (encoding.weight, encoding.phase)])


@pytest.mark.parametrize("make", [lambda: TimeEncoding(4), lambda: Time2Vec(4)])
def test_timestamps_that_have_lost_their_seconds_are_refused(make):
    with pytest.raises(ArgumentTypeError, match="whose neighbours are two minutes apart"):
        make().encode(torch.tensor([float(NOW)]))
    with pytest.raises(ArgumentTypeError, match=re.escape("got torch.bfloat16")):
        make().encode(torch.tensor([NOW], dtype=torch.bfloat16))


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: TimeEncoding(5), ArgumentError, "dim: expected an even number of at least 2 channels, got 5"),
        (lambda: TimeEncoding(2, seasons=["day_of_week"], harmonics=2), ArgumentError, "at least 4 channels, got 2"),
        (
            lambda: TimeEncoding(4, seasons=["weekday"]),
            ArgumentError,
            "seasons: expected names among ['minute_of_hour', 'hour_of",
        ),
        (lambda: TimeEncoding(4, seasons="hour_of_day"), ArgumentTypeError, "seasons: expected a list of names, got a string"),
        (lambda: TimeEncoding(4, harmonics=0), ArgumentError, "harmonics: expected an integer of at least 1, got 0"),
        (lambda: TimeEncoding(4, shortest_seconds=0), ArgumentError, "expected 0 < shortest_seconds < longest_seconds"),
        (lambda: TimeEncoding(4, longest_seconds=60.0), ArgumentError, "got (3600.0, 60.0)"),
        (lambda: TimeEncoding(4, utc_offset_seconds=math.nan), ArgumentError, "utc_offset_seconds: expected seconds, got nan"),
        (lambda: Time2Vec(1), ArgumentError, "dim: expected an integer of at least 2, got 1"),
        (lambda: Time2Vec(4, unit=0), ArgumentError, "unit: expected a positive number of seconds, got 0"),
        (lambda: Time2Vec(4, origin=math.inf), ArgumentError, "origin: expected a timestamp, got inf"),
    ],
)
def test_bad_settings_are_refused_in_words(call, error, words):
    with pytest.raises(error, match=re.escape(words)):
        call()
