"""Tables of edges, in the words that people use for columns, or refused with the row."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from ordinate.errors import ArgumentError, DataError, MissingDataError, MissingExtraError
from ordinate.reservoir import Connectome

EDGES = "pre_root_id,post_root_id,neuropil,syn_count\n720575940000000007,720575940000000003,AL,5\n3,720575940000000007,AL,2\n"


def written(folder, text, name="edges.csv"):
    path = folder / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith("gz") else text.encode())
    return path


def test_columns_are_found_by_their_usual_names_and_ids_keep_every_digit(tmp_path):
    built = Connectome.from_edges(written(tmp_path, EDGES))
    assert built.ids.tolist() == [3, 720575940000000003, 720575940000000007]
    assert built.weights.toarray().tolist() == [[0, 0, 2], [0, 0, 0], [0, 5, 0]]
    assert built.name == "edges.csv"


def test_named_columns_words_as_ids_and_no_counts(tmp_path):
    path = written(tmp_path, "a,b\nx,y\ny,z\n", "edges.csv.gz")
    built = Connectome.from_edges(path, pre="a", post="b")
    assert built.ids.tolist() == ["x", "y", "z"]
    assert built.weights.toarray().tolist() == [[0, 1, 0], [0, 0, 1], [0, 0, 0]]


def test_parquet_is_the_same_as_csv(tmp_path):
    pytest.importorskip("pyarrow")
    import pyarrow
    from pyarrow import parquet

    columns = {"pre": [1, 2, 2], "post": [2, 3, 1], "count": [4, 5, 6]}
    parquet.write_table(pyarrow.table(columns), tmp_path / "edges.parquet")
    text = "pre,post,count\n1,2,4\n2,3,5\n2,1,6\n"
    one, other = Connectome.from_edges(tmp_path / "edges.parquet"), Connectome.from_edges(written(tmp_path, text))
    assert (one.weights != other.weights).nnz == 0
    assert one.ids.tolist() == other.ids.tolist() == [1, 2, 3]
    (tmp_path / "edges.parquet").write_bytes(b"PAR1 no")
    with pytest.raises(DataError, match="a whole table, got Parquet"):
        Connectome.from_edges(tmp_path / "edges.parquet")


def test_a_table_of_neurons_gives_order_sides_mates_and_labels(tmp_path):
    edges = written(tmp_path, "pre,post,count\nb,a,2\n")
    neurons = written(
        tmp_path, "id,side,mate,kind,labels\nb,left,c,sensory,olfactory; Or42a\na,,,,\nc,right,b,sensory,\n", "neurons.csv"
    )
    built = Connectome.from_edges(edges, neurons=neurons)
    assert built.ids.tolist() == ["b", "a", "c"], "also who has no edge"
    assert built.weights[0, 1] == 2
    assert built.side.tolist() == ["left", "unknown", "right"]
    assert built.mate.tolist() == [2, -1, 0]
    assert built.labels == ({"olfactory", "Or42a"}, set(), set())


def test_an_edge_listed_twice_is_refused_or_added_as_asked(tmp_path):
    path = written(tmp_path, "pre,post,count\n1,2,4\n1,2,5\n")
    with pytest.raises(DataError, match='each edge once, got 1 -> 2 2 times; pass duplicates="sum"'):
        Connectome.from_edges(path)
    assert Connectome.from_edges(path, duplicates="sum").weights[0, 1] == 9
    with pytest.raises(ArgumentError, match="duplicates"):
        Connectome.from_edges(path, duplicates="first")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("pre,post,count\n1,2,-4\n", "row 1: expected a count, 0 or more, got -4"),
        ("pre,post,count\n1,2,nan\n", "a count, 0 or more, got nan"),
        ("pre,post,count\n1,2,inf\n", "got inf"),
        ("pre,post,count\n1,2,many\n", "numbers for counts"),
        ("pre,post,count\n1,2\n", "line 2: expected 3 fields, got 2"),
        ("pre,post,count\n", "at least one edge"),
        ("", "a header and rows"),
        ("from_id,post\n1,2\n", "a column of pre ids, such as pre, source, from, got columns from_id, post"),
    ],
)
def test_a_damaged_table_is_told_with_its_row(tmp_path, text, said):
    with pytest.raises(DataError) as refused:
        Connectome.from_edges(written(tmp_path, text))
    assert said in str(refused.value)


def test_tables_that_do_not_fit_each_other_are_refused(tmp_path):
    edges = written(tmp_path, "pre,post\na,b\na,x\n")
    with pytest.raises(DataError, match="edges between the neurons listed, got x, which is not"):
        Connectome.from_edges(edges, neurons=written(tmp_path, "id\na\nb\n", "neurons.csv"))
    with pytest.raises(DataError, match="each neuron once, got a 2 times"):
        Connectome.from_edges(edges, neurons=written(tmp_path, "id\na\na\n", "neurons.csv"))
    with pytest.raises(ArgumentError, match="each the mate of its mate"):
        Connectome.from_edges(edges, neurons=written(tmp_path, "id,mate\na,b\nb,x\nx,a\n", "neurons.csv"))


def test_missing_files_and_packages_and_damaged_archives(tmp_path, monkeypatch):
    with pytest.raises(MissingDataError, match="no such file"):
        Connectome.from_edges(tmp_path / "none.csv")
    path = tmp_path / "edges.csv.gz"
    path.write_bytes(gzip.compress(b"pre,post\n1,2\n")[:20])
    with pytest.raises(DataError, match="a whole table"):
        Connectome.from_edges(path)
    (tmp_path / "edges.parquet").write_bytes(b"")
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match="pip install pyarrow"):
        Connectome.from_edges(tmp_path / "edges.parquet")


def test_counts_that_are_no_whole_numbers_are_kept(tmp_path):
    built = Connectome.from_edges(written(tmp_path, "pre,post,weight\n1,2,0.25\n"))
    assert built.weights[0, 1] == 0.25
    assert built.weights.dtype == np.float64


def regions(count: int = 6) -> np.ndarray:
    """A correlation matrix, as between the regions of a human brain: symmetric, signed, with ones on the diagonal."""
    return np.corrcoef(np.random.default_rng(0).normal(size=(count, 20)))


@pytest.mark.parametrize("form", ["npy", "plain", "header", "both", "tsv.gz"])
def test_a_square_matrix_of_any_form_is_read_whole_and_its_diagonal_of_ones_left_out(tmp_path: Path, form: str) -> None:
    matrix, names = regions(), [f"V{at}" for at in range(6)]
    rows = [[repr(float(value)) for value in row] for row in matrix]
    path = tmp_path / f"regions.{form if '.' in form else 'npy' if form == 'npy' else 'csv'}"
    if form == "npy":
        np.save(path, matrix)
    else:
        separator = "\t" if "tsv" in form else ","
        lines = ([names] if form == "header" else [["", *names]] if form == "both" else []) + [
            [name, *row] if form == "both" else row for name, row in zip(names, rows, strict=True)
        ]
        text = "".join(separator.join(line) + "\n" for line in lines)
        path.write_bytes(gzip.compress(text.encode()) if form.endswith("gz") else text.encode())
    brain = Connectome.from_edges(path)
    assert brain.weights.toarray() == pytest.approx(matrix - np.eye(6))
    assert brain.ids.tolist() == (names if form in ("header", "both") else list(range(6)))
    assert any("diagonal" in line for line in brain.assumptions)
    assert any("symmetric" in line for line in brain.assumptions)
    strong = Connectome.from_edges(path, min_synapses=0.3)
    assert strong.num_edges == (np.abs(matrix) >= 0.3).sum() - 6


def test_regions_have_the_networks_that_a_table_names(tmp_path: Path) -> None:
    np.savetxt(tmp_path / "matrix.csv", regions(), delimiter=",")
    (tmp_path / "regions.csv").write_text(
        "id,side,kind\n" + "".join(f"V{at},{'LR'[at % 2]},{['Vis', 'Mot'][at // 3]}\n" for at in range(6))
    )
    brain = Connectome.from_edges(tmp_path / "matrix.csv", neurons=tmp_path / "regions.csv")
    assert brain.restrict("Vis").num_neurons == 3
    assert brain.select("Mot & left").tolist() == [4]
    (tmp_path / "regions.csv").write_text("id,kind\nV0,Vis\n")
    with pytest.raises(ArgumentError, match="one for each of the 6 neurons"):
        Connectome.from_edges(tmp_path / "matrix.csv", neurons=tmp_path / "regions.csv")


def test_a_matrix_that_is_not_square_is_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "m.npy", np.ones((2, 3)))
    with pytest.raises(DataError, match=r"a square matrix, got shape \[2, 3\]"):
        Connectome.from_edges(tmp_path / "m.npy")
