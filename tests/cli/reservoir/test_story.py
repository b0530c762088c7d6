"""`ordinate reservoir story`, and `drive --unscaled --backwards`, as a user calls them."""

from __future__ import annotations

import json
from pathlib import Path

from typer.testing import CliRunner

from ordinate.cli.app import app
from ordinate.reservoir import Connectome


def run(*words: str):
    return CliRunner().invoke(app, ["reservoir", *words])


def test_the_story_as_a_table_and_as_json():
    done = run("story", "--seconds", "0.2")
    assert done.exit_code == 0, done.stderr
    assert "spectral radius" in done.stdout
    walks = json.loads(run("story", "--seconds", "0.2", "--json").stdout)["walks"]
    assert {(one["normalisation"], one["backwards"]) for one in walks} == {
        (normalisation, backwards) for normalisation in ("spectral_radius", "output") for backwards in (False, True)
    }


def test_drive_takes_the_activity_as_it_is_and_the_matrix_backwards(tmp_path: Path):
    words = ("drive", "--seconds", "0.1", "--format", "svg", "--json", "--stimulus", "descending", "--readout", "sensory")
    done = run(*words, "--unscaled", "--backwards", "--out", str(tmp_path))
    assert done.exit_code == 0, done.stderr
    settings = json.loads(done.stdout)["settings"]
    assert (settings["scaled"], settings["backwards"]) == (False, True)
    traces = json.loads((tmp_path / "drive.json").read_text())["traces"]
    assert traces["commands"] == traces["activity"]


def test_spikes_take_ids_and_words_with_an_equals_sign(tmp_path: Path):
    path = tmp_path / "edges.csv"
    path.write_text("pre,post,count\n720575940605301438,7,300\n7,8,300\n")
    done = run("spikes", "--data", str(path), "--activate", "id=720575940605301438", "--seconds", "0.05", "--json")
    assert done.exit_code == 0, done.stderr
    assert json.loads(done.stdout)["activated"] == 1
    worded = run("spikes", "--activate", "kind=sensory", "--activate", "kind=descending=20", "--seconds", "0.05", "--json")
    assert worded.exit_code == 0, worded.stderr
    sensing, commanding = (Connectome.synthetic().select(word).size for word in ("sensory", "descending"))
    assert json.loads(worded.stdout)["activated"] == sensing + commanding
