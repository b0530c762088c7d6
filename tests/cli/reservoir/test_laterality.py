"""`ordinate reservoir laterality`: a table, JSON, sweeps, pictures, and one line where it is used wrongly."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from ordinate.cli.app import app
from ordinate.reservoir import Connectome, laterality
from tests.external import needs, required


def run(*words: str) -> Any:
    return CliRunner().invoke(app, ["reservoir", "laterality", *words])


def test_without_data_the_synthetic_connectome_is_measured_and_it_says_so() -> None:
    done = run("--draws", "3")
    assert done.exit_code == 0, done.stderr
    assert "the own side answers more" in done.stdout
    assert "rewired" in done.stdout
    assert "no --data: a small synthetic connectome, not a brain" in done.stderr


def test_json_has_table_index_and_z_scores_as_python_gives_them() -> None:
    result = json.loads(run("--stimulus", "ascending", "--steps", "4", "--draws", "4", "--json").stdout)
    same = laterality(Connectome.synthetic(), "ascending", steps=4, nulls={"rewired": 4})
    assert np.array(result["table"]) == pytest.approx(same.table)
    assert result["index"] == pytest.approx(same.index)
    assert result["z_scores"]["rewired"] == pytest.approx(same.nulls[0].z)
    assert set(result["z_scores"]) == {"rewired", "shuffled", "relabelled", "mirrored", "random"}


@pytest.mark.in_turn(2)
@pytest.mark.parametrize(
    ("words", "settings"),
    [
        (["--gain", "0.5"], {"gain": 0.5}),
        (["--normalisation", "input"], {"normalisation": "input"}),
        (["--threshold", "3"], {"threshold": 3}),
        (["--activation", "relu"], {"activation": "relu"}),
        (["--leak", "0.5"], {"leak_rate": 0.5}),
        (["--amplitude", "2"], {"amplitude": 2.0}),
        (["--pulse"], {"sustained": False}),
    ],
)
def test_every_option_reaches_the_measurement(words: list[str], settings: dict[str, Any]) -> None:
    result = json.loads(run(*words, "--draws", "0", "--json").stdout)
    table = np.array(result["table"])
    assert table == pytest.approx(laterality(Connectome.synthetic(), **settings).table)
    assert table != pytest.approx(laterality(Connectome.synthetic()).table)


def test_backwards_signals_run_from_output_cells_to_senses() -> None:
    cells = {"stimulus": "descending", "readout": "sensory"}
    words = [word for name, value in cells.items() for word in (f"--{name}", value)]
    result = json.loads(run(*words, "--backwards", "--draws", "0", "--json").stdout)
    assert np.array(result["table"]) == pytest.approx(laterality(Connectome.synthetic(), **cells, backwards=True).table)
    assert run(*words, "--draws", "0").exit_code == 2  # the right way round nothing gets there


def test_several_values_make_a_sweep(tmp_path: Path) -> None:
    words = ["--steps", "3,6", "--gain", "0.5,1", "--nulls", "rewired", "--draws", "3"]
    result = json.loads(run(*words, "--json").stdout)
    assert [(row["gain"], row["steps"]) for row in result["settings"]] == [(0.5, 3), (0.5, 6), (1.0, 3), (1.0, 6)]
    assert all(set(row["z_scores"]) == {"rewired"} for row in result["settings"])
    done = run(*words, "--figure", str(tmp_path / "sweep.png"))
    assert done.exit_code == 0, done.stderr
    assert "z rewired" in done.stdout
    assert (tmp_path / "sweep.png").stat().st_size > 5000


def test_one_setting_can_be_drawn(tmp_path: Path) -> None:
    done = run("--draws", "3", "--figure", str(tmp_path / "it.svg"))
    assert done.exit_code == 0, done.stderr
    assert "crossing index" in (tmp_path / "it.svg").read_text()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--steps", "five"], "--steps: expected whole numbers separated by commas, got five; such as 5,10,20"),
        (["--gain", "1,x"], "--gain: expected numbers separated by commas"),
        (["--steps", "0"], "steps: expected whole numbers of steps, at least 1, got 0"),
        (["--stimulus", "sensorry"], "got sensorry; did you mean"),
        (["--stimulus", "sensory & left"], "stimulus: expected cells on either side, got none on the right"),
        (["--readout", "sensory & descending"], "--readout: expected at least one neuron"),
        (["--nulls", "scrambled"], "--nulls: expected one of"),
        (["--normalisation", "rows"], "normalisation: expected one of"),
        (["--data", "nowhere.zip"], "nowhere.zip"),
        (["--neurons", "neurons.csv"], "--neurons: expected a table of edges as --data, got none"),
        (["--draws", "0", "--figure", "it.gif"], "--figure: expected a name that ends in .png, .svg or .pdf"),
    ],
)
def test_wrong_use_is_one_line_and_exit_2(words: list[str], told: str) -> None:
    done = run(*words)
    assert done.exit_code == 2
    lines = [line for line in done.stderr.strip().splitlines() if "no --data" not in line]
    assert len(lines) == 1
    assert told in lines[0]


def test_a_table_of_edges_is_measured_with_what_a_table_of_neurons_says(tmp_path: Path) -> None:
    (tmp_path / "edges.csv").write_text("pre,post,count\na,c,3\na,d,1\nb,c,1\nb,d,3\n")
    (tmp_path / "neurons.csv").write_text("id,side,kind\na,left,sensory\nb,right,sensory\nc,left,motor\nd,right,motor\n")
    result = json.loads(
        run("--data", str(tmp_path / "edges.csv"), "--neurons", str(tmp_path / "neurons.csv"), "--activation", "identity",
            "--steps", "2", "--draws", "0", "--json").stdout
    )  # fmt: skip
    assert result["readout"] == "motor"
    assert np.array(result["table"]) == pytest.approx(np.array([[0.75, 0.25], [0.25, 0.75]]))


def test_what_has_no_number_is_said_in_words(tmp_path: Path) -> None:
    (tmp_path / "edges.csv").write_text("pre,post,count\na,c,3\na,d,1\nb,c,1\nb,d,3\n")
    (tmp_path / "neurons.csv").write_text("id,side,kind\na,left,sensory\nb,right,sensory\nc,left,motor\nd,right,motor\n")
    words = ["--data", str(tmp_path / "edges.csv"), "--neurons", str(tmp_path / "neurons.csv"), "--steps", "2", "--draws", "2"]
    done = run(*words, "--nulls", "rewired")
    assert done.exit_code == 0, done.stderr
    assert "without the first nothing is left" in done.stdout
    assert "nan" not in done.stdout


def test_a_damaged_zip_is_told(tmp_path: Path) -> None:
    (tmp_path / "it.zip").write_bytes(b"PK\x03\x04 and no more")
    done = run("--data", str(tmp_path / "it.zip"))
    assert done.exit_code == 2
    assert len(done.stderr.strip().splitlines()) == 1


@needs("larval-drosophila")
def test_the_larval_fly_is_measured_from_its_file() -> None:
    words = [
        "--data",
        str(required("larval-drosophila")),
        "--stimulus",
        "sensory",
        "--readout",
        "DN-VNC",
        "--steps",
        "5",
        "--draws",
        "2",
        "--json",
    ]
    result = json.loads(run(*words).stdout)
    assert result["cells"] == {"stimulated": [211, 219], "read": [91, 91]}
    assert result["index"] == pytest.approx(-0.251, abs=5e-4)
    assert result["z_scores"]["rewired"] < -3
