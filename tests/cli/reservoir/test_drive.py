"""`ordinate reservoir drive`: numbers, pictures, and one line where it is used wrongly."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from ordinate.cli.app import app
from ordinate.reservoir.body.neuromechfly import installed_generation


def run(out: Path, *words: str) -> Any:
    return CliRunner().invoke(app, ["reservoir", "drive", "--out", str(out), *words])


def test_a_drive_is_told_and_its_files_are_written(tmp_path: Path) -> None:
    done = run(tmp_path / "it", "--seconds", "1")
    assert done.exit_code == 0, done.stderr
    assert "degrees to the right" in done.stdout
    assert "not a brain" in done.stderr
    names = sorted(path.name for path in (tmp_path / "it").iterdir())
    assert names == ["drive.json", "path.png", "path.svg", "traces.png", "traces.svg"]
    traces = json.loads((tmp_path / "it" / "drive.json").read_text())["traces"]
    assert len(traces["commands"]) == 100


def result(tmp_path: Path, *words: str) -> dict[str, Any]:
    done = run(tmp_path, "--format", "svg", "--seconds", "2", "--json", *words)
    assert done.exit_code == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def test_crossed_axons_turn_it_to_the_target_instead_of_away(tmp_path: Path) -> None:
    away, near = (result(tmp_path, "--target", "20,15", "--axons", axons) for axons in ("same", "crossed"))
    assert away["turned_degrees"] < -30 < 30 < near["turned_degrees"]
    assert near["closest_mm"] < away["closest_mm"]


def test_a_schedule_a_level_and_the_refitted_body_are_obeyed(tmp_path: Path) -> None:
    schedule = ["--schedule", "0:1,0 1:0,1"]
    both = result(tmp_path, *schedule)
    assert both["target"] is None
    assert abs(both["turned_degrees"]) < abs(result(tmp_path, "--schedule", "0:1,0")["turned_degrees"])
    assert result(tmp_path, *schedule, "--level", "0.4")["walked_mm"] < 0.7 * both["walked_mm"]
    assert "191.5" in result(tmp_path, *schedule, "--body", "refitted")["settings"]["body"]
    assert result(tmp_path, *schedule, "--steering", "0")["turned_degrees"] == 0


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["--target", "20"], "--target: expected two numbers X,Y in mm, got 20; such as 20,20"),
        (["--target", "1,2", "--schedule", "0:1,0"], "--target: expected a target or a schedule, got both"),
        (["--schedule", "later"], 'schedule: expected pieces "SECONDS:LEFT,RIGHT"'),
        (["--body", "robot"], "--body: expected one of"),
        (["--window"], "--window: expected a body with legs to look at, got kinematic; add --body neuromechfly"),
        (["--format", "gif"], "--format: expected png, svg or both"),
        (["--seconds", "0"], "seconds: expected a finite number above 0"),
        (["--axons", "both"], "axons: expected 'same' or 'crossed'"),
        (["--level", "3"], "level: expected a finite number from 0 to 1.5"),
        (["--readout", "motor"], "got motor"),
        (["--step", "-1"], "--step: expected a finite number above 0"),
    ],
)
def test_wrong_use_is_one_line_and_exit_2(tmp_path: Path, words: list[str], line: str) -> None:
    done = run(tmp_path / "never", *words)
    assert done.exit_code == 2
    lines = [one for one in done.stderr.strip().splitlines() if "no --data" not in one]
    assert len(lines) == 1
    assert line in lines[0]
    assert not (tmp_path / "never").exists()


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = run(tmp_path / "file", "--seconds", "0.1")
    assert done.exit_code == 2
    assert "expected a file that can be written" in done.stderr


@pytest.mark.skipif(installed_generation() is not None, reason="the extra `fly` is installed")
def test_without_the_extra_the_legged_fly_is_a_line_that_installs_it(tmp_path: Path) -> None:
    done = run(tmp_path, "--body", "neuromechfly")
    assert done.exit_code == 2
    assert "pip install flygym" in done.stderr


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.skipif(installed_generation() is None, reason="needs the extra `fly` (flygym and MuJoCo)")
def test_the_legged_fly_is_filmed(tmp_path: Path) -> None:
    done = run(tmp_path, "--body", "neuromechfly", "--seconds", "0.2", "--json")
    assert done.exit_code == 0, done.stderr
    assert {"drive.mp4", "fly.png"} <= {path.name for path in tmp_path.iterdir()}
