"""`ordinate reservoir spikes`: who fires, in a table, as JSON and as a picture; several trials are means of runs."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from ordinate.cli.app import app
from ordinate.errors import ArgumentError
from ordinate.reservoir import Connectome, simulate_spikes


@pytest.fixture
def chain(tmp_path: Path) -> list[str]:
    (tmp_path / "edges.csv").write_text("pre,post,count\n1,2,200\n2,3,200\n")
    (tmp_path / "neurons.csv").write_text("id,kind\n1,sense\n2,between\n3,motor\n")
    return ["--data", str(tmp_path / "edges.csv"), "--neurons", str(tmp_path / "neurons.csv"), "--impl", "clock"]


def run(*words: str) -> Result:
    return CliRunner().invoke(app, ["reservoir", "spikes", *words])


def test_the_driven_fire_and_silenced_neurons_reach_nobody(chain: list[str], tmp_path: Path) -> None:
    words = [*chain, "--activate", "sense", "--seconds", "0.3", "--json"]
    free = json.loads(run(*words, "--figure", str(tmp_path / "raster.png")).stdout)
    cut = json.loads(run(*words, "--silence", "between").stdout)
    assert [row["kind"] for row in free["kinds"]] == ["sense", "between", "motor"]
    assert [row["kind"] for row in cut["kinds"]] == ["sense", "between"]
    assert (tmp_path / "raster.png").stat().st_size > 5000


def test_trials_are_means_of_runs_with_seeds_of_their_own(chain: list[str]) -> None:
    words = [*chain, "--activate", "sense=100", "--seconds", "0.3"]
    three = json.loads(run(*words, "--trials", "3", "--seed", "5", "--json").stdout)
    brain = Connectome([[0, 200, 0], [0, 0, 200], [0, 0, 0]], kind=["sense", "between", "motor"])
    runs = [simulate_spikes(brain, {"sense": 100.0}, seconds=0.3, seed=5 + at, impl="clock") for at in range(3)]
    assert three["spikes"] == pytest.approx(np.mean([one.neuron.size for one in runs]))
    for row in three["kinds"]:
        rates = [one.rates[["sense", "between", "motor"].index(row["kind"])] for one in runs]
        assert (row["mean_hz"], row["mean_hz_sd"]) == pytest.approx((np.mean(rates), np.std(rates, ddof=1)))
    assert "3 trials" in run(*words, "--trials", "3").stdout
    with pytest.raises(ArgumentError, match="trials: expected runs of one connectome"):
        runs[0].rates_by_kind(simulate_spikes(Connectome(np.eye(2)), seconds=0.01, impl="clock"))


def test_a_query_that_names_nobody_is_the_options_fault(chain: list[str]) -> None:
    done = run(*chain, "--activate", "sens")
    assert done.exit_code == 2
    assert "--activate: expected a word that some neuron" in done.stderr
    assert 'did you mean "sense"?' in done.stderr
