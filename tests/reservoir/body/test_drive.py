"""Brain and body in a closed loop."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ordinate.errors import ArgumentError, RefusedError, UnknownNameError
from ordinate.reservoir.body.drive import Brain, Drive, Schedule, Senses, Target, drive
from ordinate.reservoir.body.kinematic import KinematicFly, Pose
from ordinate.reservoir.connectome.connectome import Connectome


@pytest.fixture(scope="module")
def brain() -> Brain:
    return Brain(Connectome.synthetic(), "sensory", "descending")


def walk(brain: Brain, senses: Senses, **settings: object) -> Drive:
    return drive(brain, KinematicFly(0.02), senses, **{"seconds": 2.0, **settings})  # type: ignore[arg-type]


LEFT, RIGHT = Schedule([(0.0, 1.0, 0.0)]), Schedule([(0.0, 0.0, 1.0)])


def test_stimuli_on_either_side_turn_the_fly_apart(brain: Brain) -> None:
    left, right = walk(brain, LEFT), walk(brain, RIGHT)
    assert left.turned_degrees < -60  # ipsilateral cells drive the legs of their side, and the fly turns away
    assert right.turned_degrees > 60


def test_crossed_axons_mirror_the_walk(brain: Brain) -> None:
    same, crossed = walk(brain, LEFT), walk(brain, LEFT, axons="crossed")
    assert crossed.path[:, 0] == pytest.approx(same.path[:, 0])
    assert crossed.path[:, 1] == pytest.approx(-same.path[:, 1])


@pytest.mark.parametrize("point", [(15.0, 15.0), (15.0, -15.0), (-10.0, 20.0), (25.0, 0.0)])
def test_a_brain_that_does_not_cross_reaches_a_target_with_crossed_axons_and_flees_it_with_uncrossed(
    brain: Brain, point: tuple[float, float]
) -> None:
    assert not brain.crosses
    target = Target(*point)
    near, far = (drive(brain, KinematicFly(0.02), target, seconds=8.0, axons=axons) for axons in ("crossed", "same"))
    assert near.closest_mm is not None and near.closest_mm <= 3.0  # noqa: PT018
    assert target.distance(far.poses[-1]) > target.distance(Pose()) or point == (25.0, 0.0)


def test_a_brain_that_crosses_needs_no_crossed_axons() -> None:
    brain = Brain(Connectome.synthetic(), "ascending", "descending")
    assert brain.crosses
    near = drive(brain, KinematicFly(0.02), Target(15.0, 15.0), seconds=8.0)
    assert near.closest_mm is not None and near.closest_mm <= 3.0  # noqa: PT018


def test_equal_stimuli_of_any_calibration_go_straight_on(brain: Brain) -> None:
    ahead = walk(brain, Schedule([(0.0, 0.5, 0.5)]))
    assert abs(ahead.turned_degrees) < 1e-3
    assert ahead.commands == pytest.approx(np.full((100, 2), 0.8), abs=1e-6)


def test_without_steering_nothing_turns_and_the_level_sets_the_speed(brain: Brain) -> None:
    assert walk(brain, LEFT, steering=0.0).turned_degrees == 0.0
    assert walk(brain, LEFT, steering=0.0, level=0.5).walked_mm == pytest.approx(13.1 * 0.5 * 2.0)


def test_more_steering_turns_more(brain: Brain) -> None:
    turns = [abs(walk(brain, LEFT, steering=steering).turned_degrees) for steering in (0.2, 0.5, 0.9)]
    assert turns == sorted(turns)
    assert turns[2] > 2 * turns[0]


def test_a_schedule_that_changes_sides_turns_it_back(brain: Brain) -> None:
    result = walk(brain, Schedule([(0.0, 1.0, 0.0), (1.0, 0.0, 1.0)]))
    half = result.poses[50].heading_radians
    assert half < -0.5
    assert result.poses[-1].heading_radians > half + 0.5


def test_the_same_walk_comes_out_twice_whatever_was_walked_before(brain: Brain) -> None:
    first = walk(brain, Target(10.0, 10.0))
    walk(brain, RIGHT)
    again = walk(brain, Target(10.0, 10.0))
    assert np.array_equal(first.path, again.path)
    assert np.array_equal(first.cells, again.cells)


def test_a_turn_is_one_where_a_stimulus_is_on_one_side(brain: Brain) -> None:
    result = walk(brain, LEFT)
    right = walk(brain, RIGHT)
    ends = [brain.turn(*run.activity[-1]) for run in (result, right)]
    assert ends[0] - ends[1] == pytest.approx(2.0, abs=1e-3)


def test_the_record_says_what_each_cell_did_left_cells_first(brain: Brain) -> None:
    result = walk(brain, LEFT)
    assert result.cells.shape == (100, 16)
    assert result.cells[:, : result.num_left].mean(axis=1) == pytest.approx(result.activity[:, 0])
    assert result.cells[:, result.num_left :].mean(axis=1) == pytest.approx(result.activity[:, 1])
    assert (brain.connectome.side[brain.read[: result.num_left]] == "left").all()


def test_numbers_come_as_json_with_every_step_if_asked_for(brain: Brain) -> None:
    result = walk(brain, Target(30.0, 0.0)).to_dict(traces=True)
    assert result["target"] == {"x_mm": 30.0, "y_mm": 0.0}
    assert len(result["traces"]["time_seconds"]) == len(result["traces"]["commands"]) + 1
    assert "traces" not in walk(brain, LEFT).to_dict()
    assert walk(brain, LEFT).to_dict()["closest_mm"] is None


def test_progress_is_told_to_the_end(brain: Brain) -> None:
    seen: list[tuple[int, int]] = []
    walk(brain, LEFT, progress=lambda done, total: seen.append((done, total)))
    assert seen[0] == (0, 100)
    assert seen[-1] == (100, 100)


# --- senses


@pytest.mark.parametrize("degrees", [-170, -60, -20, 0, 45, 60, 120])
def test_each_eye_sees_a_target_best_60_degrees_to_its_side(degrees: float) -> None:
    angle = math.radians(degrees)
    left, right = Target(10 * math.cos(angle), 10 * math.sin(angle))(Pose())
    assert left == pytest.approx((1 + math.cos(angle - math.pi / 3)) / 2)
    assert right == pytest.approx((1 + math.cos(angle + math.pi / 3)) / 2)
    assert (left > right) == (degrees > 0) or degrees == 0


def test_eyes_can_look_elsewhere() -> None:
    assert Target(10.0, 0.0, eye_degrees=0.0)(Pose()) == (1.0, 1.0)


def test_a_target_is_seen_from_the_pose() -> None:
    left, right = Target(10.0, 0.0)(Pose(heading_radians=math.pi / 2))
    assert right > left


@pytest.mark.parametrize(("time", "sensed"), [(0.0, (1.0, 0.0)), (1.999, (1.0, 0.0)), (2.0, (0.0, 0.5)), (50.0, (0.0, 0.5))])
def test_a_schedule_holds_each_piece_until_the_next(time: float, sensed: tuple[float, float]) -> None:
    assert Schedule.from_text("0:1,0 2:0,.5")(Pose(time_seconds=time)) == sensed


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "schedule: expected times that rise from 0"),
        ("1:1,0", r"schedule: expected times that rise from 0, got \[1.0\]"),
        ("0:1,0 0:0,1", "times that rise"),
        ("0:1", 'schedule: expected pieces "SECONDS:LEFT,RIGHT", got 0:1; such as "0:1,0 2:0,1"'),
        ("zero:1,0", "SECONDS:LEFT,RIGHT"),
        ("0:2,0", r"schedule: expected strengths from 0 to 1, got \(2.0, 0.0\)"),
        ("0:nan,0", "strengths from 0 to 1"),
    ],
)
def test_a_schedule_that_cannot_be_followed_is_refused(text: str, told: str) -> None:
    with pytest.raises(ArgumentError, match=told):
        Schedule.from_text(text)


def test_a_target_is_somewhere() -> None:
    with pytest.raises(ArgumentError, match="x_mm: expected a finite number"):
        Target(math.nan, 0.0)


# --- bad input


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"seconds": 0.0}, "seconds: expected a finite number above 0"),
        ({"seconds": math.nan}, "seconds: expected a finite number above 0"),
        ({"level": 2.0}, "level: expected a finite number from 0 to 1.5"),
        ({"steering": 1.5}, "steering: expected a finite number from 0 to 1"),
        ({"axons": "both"}, r"axons: expected 'same' or 'crossed', got 'both'"),
    ],
)
def test_settings_out_of_range_are_refused(brain: Brain, settings: dict[str, object], told: str) -> None:
    with pytest.raises(ArgumentError, match=told):
        walk(brain, LEFT, **settings)


def test_a_brain_is_asked_at_least_once_a_step() -> None:
    with pytest.raises(ArgumentError, match="updates: expected an integer of at least 1"):
        Brain(Connectome.synthetic(), updates=0)


def test_cells_must_be_on_both_sides() -> None:
    with pytest.raises(ArgumentError, match="readout: expected cells on either side, got none on the right"):
        Brain(Connectome.synthetic(), "sensory", "descending & left")
    with pytest.raises(UnknownNameError, match="sensorry"):
        Brain(Connectome.synthetic(), "sensorry")


def test_output_cells_that_cannot_tell_the_sides_apart_steer_nothing() -> None:
    # one cell on each side hears both senses alike
    weights = np.zeros((4, 4))
    weights[:2, 2:] = 1.0
    pooled = Connectome.from_array(weights, side=["left", "right"] * 2, kind=["sensory"] * 2 + ["descending"] * 2)
    with pytest.raises(RefusedError, match="readout: expected cells that tell a stimulus on the left from one on the right"):
        Brain(pooled, normalisation="none")
