"""NeuroMechFly under the interface of every body. Without the extra `fly` only the message that it is missing is tested."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ordinate.errors import ArgumentError, MissingExtraError, RefusedError, UnknownNameError
from ordinate.reservoir.body import neuromechfly as body_generations
from ordinate.reservoir.body.camera import Film, Window
from ordinate.reservoir.body.kinematic import Body, Pose
from ordinate.reservoir.body.neuromechfly import NeuroMechFly, installed_generation, legs

simulated = [
    pytest.mark.skipif(installed_generation() is None, reason="needs the extra `fly` (flygym and MuJoCo)"),
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore"),  # of flygym's own dependencies
]


def test_without_flygym_the_message_is_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(body_generations, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"pip install flygym"):
        legs()
    with pytest.raises(ImportError, match="fly: expected the package flygym and MuJoCo, got none installed"):
        NeuroMechFly()


@pytest.mark.parametrize(
    ("present", "found"),
    [
        ({"mujoco", "flygym", "flygym_demo"}, "flygym-2"),
        ({"mujoco", "flygym_gymnasium"}, "flygym-gymnasium"),
        ({"mujoco", "flygym", "flygym_demo", "flygym_gymnasium"}, "flygym-2"),
        ({"mujoco", "flygym"}, "flygym-1"),
        ({"mujoco"}, None),
        ({"flygym", "flygym_demo"}, None),
    ],
)
def test_the_newest_generation_that_is_installed_is_taken(
    monkeypatch: pytest.MonkeyPatch, present: set[str], found: str | None
) -> None:
    monkeypatch.setattr(body_generations, "find_spec", lambda name: object() if name in present else None)
    assert installed_generation() == found


def test_flygym_1_without_networkx_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        body_generations, "import_module", lambda name: (_ for _ in ()).throw(ImportError("no networkx", name="networkx"))
    )
    with pytest.raises(MissingExtraError, match="pip install networkx"):
        legs("flygym-1")


def test_another_generation_or_a_broken_step_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="generation: expected one of"):
        NeuroMechFly(generation="flygym-3")
    with pytest.raises(ArgumentError, match=r"step_seconds: expected a multiple of 0.001 s, got 0.0015"):
        NeuroMechFly(0.0015)
    with pytest.raises(ArgumentError, match="physics_steps: expected an integer of at least 1"):
        NeuroMechFly(physics_steps=0)


@pytest.fixture(scope="module")
def fly() -> Iterator[NeuroMechFly]:
    with NeuroMechFly(0.05) as built:
        yield built


def walked(fly: NeuroMechFly, drive: tuple[float, float], steps: int = 8) -> Pose:
    fly.reset()
    for _ in range(steps):
        fly.step(drive)
    return fly.pose


class TestSimulated:
    pytestmark = simulated

    def test_it_is_a_body_that_stands_at_the_origin(self, fly: NeuroMechFly) -> None:
        assert isinstance(fly, Body)
        assert fly.reset() == Pose()
        assert fly.upright > 0.95

    def test_legs_that_walk_harder_on_one_side_turn_it_to_the_other(self, fly: NeuroMechFly) -> None:
        left, right = walked(fly, (0.4, 1.2)), walked(fly, (1.2, 0.4))
        assert math.degrees(left.heading_radians) > 25
        assert math.degrees(right.heading_radians) < -25
        assert left.time_seconds == right.time_seconds == pytest.approx(0.4)

    def test_equal_drives_carry_it_ahead(self, fly: NeuroMechFly) -> None:
        pose = walked(fly, (1.0, 1.0))
        assert pose.x_mm > 3
        assert abs(math.degrees(pose.heading_radians)) < 25
        assert fly.upright > 0.9

    def test_the_same_seed_walks_the_same_way_twice(self, fly: NeuroMechFly) -> None:
        assert walked(fly, (0.6, 1.0), 3) == walked(fly, (0.6, 1.0), 3)

    def test_another_seed_starts_on_other_legs(self, fly: NeuroMechFly) -> None:
        first = walked(fly, (1.0, 1.0), 3)
        with NeuroMechFly(0.05, seed=1) as other:
            assert walked(other, (1.0, 1.0), 3) != first

    def test_a_film_has_its_pictures_and_plays(self, fly: NeuroMechFly, tmp_path: Path) -> None:
        fly.reset()
        film = Film(fly, height=120, width=160, playback_speed=0.5)
        for _ in range(2):
            fly.step((1.0, 0.6))
        film.close()
        assert len(film.pictures) == 6  # 0.1 s at 50 pictures a simulated second, both ends
        assert film.pictures[0].shape == (120, 160, 3)
        assert film.pictures[0].std() > 10  # not a blank sheet
        assert (film.pictures[0] != film.pictures[-1]).any()
        path = film.save(tmp_path / "walk.mp4")
        import imageio.v2 as imageio

        with imageio.get_reader(path, format="FFMPEG") as reader:
            assert sum(1 for _ in reader) == len(film.pictures)
        assert [file.name for file in tmp_path.iterdir()] == ["walk.mp4"]

    @pytest.mark.skipif(not os.environ.get("DISPLAY"), reason="needs a screen, or xvfb-run")
    def test_a_window_opens_follows_and_closes(self, fly: NeuroMechFly) -> None:
        fly.reset()
        window = Window(fly)
        assert window.open
        fly.step((1.0, 1.0))
        assert window._viewer.cam.trackbodyid == fly.thorax
        window.close()

    @pytest.mark.skipif(sys.platform != "linux", reason="DISPLAY is a matter of X11")
    def test_without_a_screen_the_window_says_what_to_do(self, fly: NeuroMechFly, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("DISPLAY", raising=False)
        with pytest.raises(RefusedError, match="window: expected a screen, got no DISPLAY; take a film instead"):
            Window(fly)

    def test_a_film_wants_even_sizes_and_positive_rates(self, fly: NeuroMechFly) -> None:
        with pytest.raises(ArgumentError, match="height: expected an even number of pixels"):
            Film(fly, height=121)
        with pytest.raises(ArgumentError, match="playback_speed: expected a positive rate"):
            Film(fly, playback_speed=0.0)

    def test_closed_it_says_so(self) -> None:
        body = NeuroMechFly()
        body.close()
        with pytest.raises(RefusedError, match="expected an open simulator, got a closed one"):
            body.step((1.0, 1.0))
