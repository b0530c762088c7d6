"""`ordinate reservoir show`: tables, JSON and a picture, and one line where it is used wrongly."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from ordinate.cli.app import app
from tests.external import needs, required


def show(*words: str):
    return CliRunner().invoke(app, ["reservoir", "show", *words])


def test_without_data_the_synthetic_connectome_is_shown_and_it_says_so():
    done = show()
    assert done.exit_code == 0, done.stderr
    assert "spectral radius" in done.stdout
    assert "nothing in the file proves it" in done.stdout
    assert "no --data: a small synthetic connectome, not a brain" in done.stderr


def test_json_counts_what_was_selected():
    result = json.loads(show("--json", "--select", "interneuron & left").stdout)
    assert result["neurons"] == 28
    assert result["sides"] == {"left": 28, "right": 0, "unknown": 0}
    assert result["orientation"] is None


def test_a_table_of_edges_is_shown(tmp_path):
    (tmp_path / "edges.csv").write_text("pre,post,count\na,b,3\nb,a,12\n")
    result = json.loads(show("--data", str(tmp_path / "edges.csv"), "--json").stdout)
    assert (result["neurons"], result["edges"], result["synapses"]) == (2, 2, 15)
    assert result["spectral_radius"] == pytest.approx(6)


def test_columns_duplicates_and_neurons_of_a_table_can_be_named(tmp_path):
    (tmp_path / "edges.tsv").write_text("a\tb\tn\n1\t2\t3\n1\t2\t4\n2\t1\t1\n")
    (tmp_path / "neurons.csv").write_text("id,side,class\n1,L,KC\n2,R,MBON\n3,L,KC\n")
    words = ["--data", str(tmp_path / "edges.tsv"), "--pre", "a", "--post", "b", "--count", "n", "--json"]
    assert "each edge once" in show(*words).stderr
    neurons = ["--neurons", str(tmp_path / "neurons.csv"), "--kinds", "class"]
    result = json.loads(show(*words, "--duplicates", "sum", *neurons, "--min-synapses", "2").stdout)
    assert (result["neurons"], result["edges"], result["synapses"]) == (3, 1, 7)
    assert set(result["kinds"]) == {"KC", "MBON"}
    assert "--pre: expected a table of edges" in show("--pre", "a").stderr


def test_crossing_is_said_to_be_unknown_where_no_side_is(tmp_path):
    (tmp_path / "edges.csv").write_text("pre,post,count\na,b,3\n")
    done = show("--data", str(tmp_path / "edges.csv"))
    assert "nan" not in done.stdout
    assert "no synapses between known sides" in done.stdout


def test_a_picture_is_written_whole(tmp_path):
    done = show("--figure", str(tmp_path / "new" / "brain.svg"))
    assert done.exit_code == 0, done.stderr
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["brain.svg"]
    assert "<svg" in (tmp_path / "new" / "brain.svg").read_text()[:1000]


@needs("larval-drosophila")
def test_the_larval_brain_is_shown_with_its_proof_of_orientation():
    result = json.loads(show("--data", str(required("larval-drosophila")), "--json").stdout)
    assert (result["neurons"], result["edges"], result["synapses"]) == (2952, 110_677, 352_611)
    assert result["spectral_radius"] == pytest.approx(297.14, abs=0.005)
    assert result["leading_mode"]["by_kind"]["LN"] == pytest.approx(0.68, abs=0.005)
    assert result["orientation"]["proved"] is True
    assert result["orientation"]["row_excess"] == 0 < result["orientation"]["transposed_row_excess"]


def test_wrong_use_is_one_line_and_exit_2(tmp_path):
    (tmp_path / "broken.zip").write_bytes(b"PK no zip")
    (tmp_path / "bad.csv").write_text("pre,post,count\na,b,-3\n")
    for words, said in (
        (["--data", str(tmp_path / "none.zip")], "nothing there"),
        (["--data", str(tmp_path / "broken.zip")], "a damaged one"),
        (["--data", str(tmp_path / "bad.csv")], "a count, 0 or more, got -3"),
        (["--select", "sensory &"], "no word in"),
        (["--select", "kenyon"], "a word that some neuron"),
        (["--figure", str(tmp_path / "a.gif")], ".png, .svg or .pdf"),
    ):
        done = show(*words)
        assert done.exit_code == 2, words
        assert said in done.stderr
        assert len([line for line in done.stderr.strip().splitlines() if "no --data" not in line]) == 1
