"""The kinematic fly obeys its formula, and every body has one interface."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

from ordinate.errors import ArgumentError, ArgumentTypeError, ShapeError
from ordinate.reservoir.body.kinematic import Body, KinematicFly, Pose, checked_drive

# nothing between 0 and a millionth: the solver that is the oracle divides by the square of such a drive
strengths = st.just(0.0) | st.floats(1e-6, 1.5)
drives = st.tuples(strengths, strengths)


def test_it_is_a_body() -> None:
    assert isinstance(KinematicFly(), Body)


@pytest.mark.parametrize(("drive", "turn"), [((0.5, 1.0), 77.25), ((1.0, 0.5), -77.25), ((1.0, 1.0), 0.0), ((0, 1.5), 231.75)])
def test_it_turns_by_154_5_degrees_a_second_for_each_unit_of_right_less_left(drive: tuple[float, float], turn: float) -> None:
    assert math.degrees(KinematicFly(1.0).step(drive).heading_radians) == pytest.approx(turn)


@pytest.mark.parametrize(("drive", "speed"), [((1.0, 1.0), 13.1), ((0.4, 1.2), 13.1 * 0.8 - 1.3 * 0.8), ((0.0, 0.0), 0.0)])
def test_it_walks_at_13_1_times_the_mean_less_1_3_times_the_difference(drive: tuple[float, float], speed: float) -> None:
    fly = KinematicFly(1e-4)
    fly.step(drive)
    assert math.hypot(fly.pose.x_mm, fly.pose.y_mm) == pytest.approx(speed * 1e-4, abs=1e-11)


@given(drives, st.floats(0.01, 2.0))
def test_a_step_is_the_exact_solution_of_the_equations_of_motion(drive: tuple[float, float], seconds: float) -> None:
    turn = math.radians(154.5) * (drive[1] - drive[0])
    speed = 13.1 * (drive[0] + drive[1]) / 2 - 1.3 * abs(drive[1] - drive[0])

    def moves(_: float, at: list[float]) -> list[float]:
        return [speed * math.cos(at[2]), speed * math.sin(at[2]), turn]

    truth = solve_ivp(moves, (0, seconds), [0.0, 0.0, 0.0], method="DOP853", rtol=1e-11, atol=1e-11).y[:, -1]
    result = KinematicFly(seconds).step(drive)
    assert (result.x_mm, result.y_mm, result.heading_radians) == pytest.approx(tuple(truth), abs=1e-7)


@given(drives, st.integers(2, 50))
def test_many_short_steps_end_where_a_long_one_does(drive: tuple[float, float], parts: int) -> None:
    short, long = KinematicFly(1 / parts), KinematicFly(1.0)
    for _ in range(parts):
        short.step(drive)
    long.step(drive)
    for name in ("time_seconds", "x_mm", "y_mm", "heading_radians"):
        assert getattr(short.pose, name) == pytest.approx(getattr(long.pose, name), abs=1e-9)


@given(drives)
def test_swapping_the_sides_mirrors_the_path(drive: tuple[float, float]) -> None:
    one, other = KinematicFly(0.3).step(drive), KinematicFly(0.3).step(drive[::-1])
    assert (one.x_mm, one.y_mm, one.heading_radians) == pytest.approx((other.x_mm, -other.y_mm, -other.heading_radians))


def test_it_never_walks_backwards_even_where_the_formula_would() -> None:
    assert KinematicFly(slowing_mm_per_second=100.0).speed((0.0, 1.0)) == 0.0


def test_its_coefficients_can_be_changed_one_by_one() -> None:
    assert math.degrees(KinematicFly(yaw_degrees_per_second=10.0).yaw_rate((0.0, 1.0))) == pytest.approx(10.0)
    assert KinematicFly(speed_mm_per_second=2.0).speed((1.0, 1.0)) == 2.0
    assert KinematicFly(slowing_mm_per_second=2.0).speed((0.0, 1.0)) == pytest.approx(13.1 / 2 - 2.0)


def test_reset_takes_it_back_to_the_start() -> None:
    fly = KinematicFly()
    fly.step((1, 0))
    assert fly.reset() == Pose() == fly.pose
    assert fly.step((1, 1)).time_seconds == 0.01


def test_times_do_not_drift() -> None:
    fly = KinematicFly(0.1)
    for _ in range(1000):
        fly.step((1, 1))
    assert fly.pose.time_seconds == 100.0


@pytest.mark.parametrize(
    ("pose", "point", "degrees"),
    [
        (Pose(), (1.0, 0.0), 0.0),
        (Pose(), (0.0, 2.0), 90.0),
        (Pose(heading_radians=math.pi / 2), (0.0, 5.0), 0.0),
        (Pose(heading_radians=4 * math.pi), (1.0, -1.0), -45.0),
        (Pose(x_mm=3.0, y_mm=1.0), (2.0, 1.0), 180.0),
    ],
)
def test_a_bearing_is_the_angle_from_straight_ahead_left_positive(
    pose: Pose, point: tuple[float, float], degrees: float
) -> None:
    assert abs(math.degrees(pose.bearing_of(*point))) == pytest.approx(abs(degrees))
    if abs(degrees) < 180:
        assert math.degrees(pose.bearing_of(*point)) == pytest.approx(degrees)


@pytest.mark.parametrize(
    ("drive", "error", "told"),
    [
        ((1.0,), ShapeError, r"drive: expected two numbers \(left, right\), got \(1.0,\); give one a side"),
        (1.0, ShapeError, r"drive: expected two numbers \(left, right\), got 1.0"),
        (("a", 1), ArgumentTypeError, r"drive: expected two numbers"),
        ((1.0, 1.6), ArgumentError, r"drive: expected two numbers from 0 to 1.5, got \(1, 1.6\); scale or clip it"),
        ((-0.1, 1.0), ArgumentError, r"got \(-0.1, 1\)"),
        ((math.nan, 1.0), ArgumentError, r"got \(nan, 1\)"),
    ],
)
def test_a_drive_that_no_body_can_take_is_refused(drive: object, error: type[Exception], told: str) -> None:
    with pytest.raises(error, match=told):
        checked_drive(drive)  # type: ignore[arg-type]
    with pytest.raises(error, match=told):
        KinematicFly().step(drive)  # type: ignore[arg-type]


@pytest.mark.parametrize("seconds", [0.0, -1.0, math.inf, math.nan])
def test_a_step_lasts_a_positive_time(seconds: float) -> None:
    with pytest.raises(ArgumentError, match="step_seconds: expected a finite number above 0"):
        KinematicFly(seconds)


def test_a_coefficient_is_finite() -> None:
    with pytest.raises(ArgumentError, match="slowing_mm_per_second: expected a finite number"):
        KinematicFly(slowing_mm_per_second=math.nan)
