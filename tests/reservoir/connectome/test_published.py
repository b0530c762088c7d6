"""Readers of published connectomes on small files of their columns, each written by hand with a known answer."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from ordinate.errors import ArgumentError, DataError, MissingDataError, UnknownNameError
from ordinate.reservoir import Connectome, laterality
from ordinate.reservoir.connectome import signs

pa = pytest.importorskip("pyarrow")
feather, parquet = pytest.importorskip("pyarrow.feather"), pytest.importorskip("pyarrow.parquet")

LARGE = 720575940600000000  # past 2^53, where float64 no longer tells neighbours apart


@pytest.fixture
def male(tmp_path: Path) -> Path:
    annotations = {
        "bodyId": [10, 11, 12, 13, 14],
        "status": ["Traced", "Traced", "Traced", "Traced", "Orphan"],
        "type": ["S1", "S1", "DNa02", "DNa02", ""],
        "superclass": ["sensory", "sensory", "descending", "descending", ""],
        "somaSide": ["L", "R", "L", "R", "M"],
        "instance": ["S1_L", "S1_R", "DNa02_L", "DNa02_R", ""],
        "voxels": [1, 2, 3, 4, 5],
    }
    feather.write_feather(pa.table(annotations), tmp_path / "body-annotations-v1.feather")
    edges = {"body_pre": [10, 10, 11, 12, 14, 10], "body_post": [12, 13, 13, 13, 12, 999], "weight": [5, 1, 4, 2, 7, 9]}
    feather.write_feather(pa.table(edges), tmp_path / "connectome-weights-v1.feather", chunksize=2)
    releases = {
        "body": [10, 11, 12, 13],
        "predicted_nt": ["acetylcholine", "gaba", "glutamate", "dopamine"],
        "consensus_nt": ["acetylcholine", "acetylcholine", "unclear", "dopamine"],
    }
    feather.write_feather(pa.table(releases), tmp_path / "body-neurotransmitters-v1.feather")
    return tmp_path


def test_the_male_nervous_system(male: Path) -> None:
    brain = Connectome.male_cns(male, cache=False)
    assert brain.weights.toarray().tolist() == [[0, 0, 5, 1], [0, 0, 0, 4], [0, 0, 0, 2], [0, 0, 0, 0]]
    assert brain.ids.tolist() == [10, 11, 12, 13]
    assert brain.side.tolist() == ["left", "right", "left", "right"]
    assert brain.mate.tolist() == [1, 0, 3, 2]
    assert brain.kind.tolist() == ["sensory", "sensory", "descending", "descending"]
    assert brain.select("superclass=descending & side=L").tolist() == [2]
    assert brain.select("DNa02 & right").tolist() == [3]
    said = " ".join(brain.assumptions)
    assert "2 of 6 rows with 16 synapses name a neuron that is not in the table" in said
    assert "1 of 5 annotated bodies have another status than Traced" in said
    assert "not used: instance, voxels" in said
    assert "all synapses excite" in said
    assert laterality(brain, "sensory", "descending", steps=2, normalisation="none", activation="identity").index < 0


def test_signs_from_transmitters_are_an_assumption_that_can_be_changed(male: Path) -> None:
    brain = Connectome.male_cns(male, signed=True, cache=False)
    # 11 by consensus excites, 12 has none of it and is predicted to release glutamate
    assert brain.weights.toarray().tolist() == [[0, 0, 5, 1], [0, 0, 0, 4], [0, 0, 0, -2], [0, 0, 0, 0]]
    assert any("glutamate inhibits; 1 neurons with another or none are taken to excite" in line for line in brain.assumptions)
    other = signs.by_transmitter(Connectome.male_cns(male, cache=False), signs={"glutamate": 1}, others="inhibit")
    assert other.weights.toarray().tolist() == [[0, 0, -5, -1], [0, 0, 0, -4], [0, 0, 0, 2], [0, 0, 0, 0]]
    silent = Connectome.male_cns(male, signed=True, others="silent", cache=False)
    assert silent.num_edges == 4
    with pytest.raises(UnknownNameError, match="others"):
        Connectome.male_cns(male, signed=True, others="dance", cache=False)


def test_what_is_kept_can_be_chosen(male: Path) -> None:
    assert Connectome.male_cns(male, status=None, cache=False).num_neurons == 5
    assert Connectome.male_cns(male, min_synapses=4, cache=False).num_edges == 2
    assert Connectome.male_cns(male, kinds="type", cache=False).kind.tolist() == ["S1", "S1", "DNa02", "DNa02"]
    with pytest.raises(ArgumentError, match="status: expected one of Orphan, Traced"):
        Connectome.male_cns(male, status="Finished", cache=False)
    with pytest.raises(DataError, match="the column lineage"):
        Connectome.male_cns(male, kinds="lineage", cache=False)


def test_the_second_load_comes_out_of_the_cache_and_is_the_same(male: Path, tmp_path: Path) -> None:
    first = Connectome.male_cns(male, cache=tmp_path / "kept")
    again = Connectome.male_cns(male, cache=tmp_path / "kept")
    assert (first.weights != again.weights).nnz == 0
    assert (first.labels, first.assumptions, first.mate.tolist()) == (again.labels, again.assumptions, again.mate.tolist())
    assert Connectome.male_cns(male, cache=tmp_path / "kept", min_synapses=4).num_edges == 2, "other settings, another entry"


def test_a_pair_listed_twice_is_added_and_said_or_refused(male: Path) -> None:
    edges = {"body_pre": [10, 10], "body_post": [12, 12], "weight": [5, 1]}
    feather.write_feather(pa.table(edges), male / "connectome-weights-v1.feather")
    brain = Connectome.male_cns(male, cache=False)
    assert brain.weights[0, 2] == 6
    assert any("1 rows repeat a pair" in line for line in brain.assumptions)
    with pytest.raises(DataError, match="each pair once"):
        Connectome.male_cns(male, duplicates="error", cache=False)


def codex(folder: Path) -> None:
    a, b, c = (str(LARGE + number) for number in (1, 2, 3))
    header = "pre_root_id,post_root_id,neuropil,syn_count,nt_type"
    rows = (header, f"{a},{b},AL_L,5,ACH", f"{a},{b},LH_L,2,ACH", f"{b},{c},AL_R,4,GABA")
    with gzip.open(folder / "connections.csv.gz", "wt") as file:
        file.write("\n".join(rows))
    classes = (
        "root_id,flow,super_class,class,side",
        f"{a},afferent,sensory,olfactory,left",
        f"{b},intrinsic,central,,right",
        f"{c},efferent,descending,,center",
    )
    (folder / "classification.csv").write_text("\n".join(classes))
    (folder / "neurons.csv").write_text(f"root_id,group,nt_type\n{a},AL.1,ACH\n{b},AL.2,GABA\n{c},AL.3,\n")


def test_flywire_as_codex_publishes_it(tmp_path: Path) -> None:
    codex(tmp_path)
    brain = Connectome.flywire(tmp_path, cache=False)
    assert brain.ids.tolist() == [LARGE + 1, LARGE + 2, LARGE + 3]
    assert brain.weights.toarray().tolist() == [[0, 7, 0], [0, 0, 4], [0, 0, 0]]
    assert brain.side.tolist() == ["left", "right", "unknown"]
    assert brain.kind.tolist() == ["sensory", "central", "descending"]
    said = " ".join(brain.assumptions)
    assert "1 rows repeat a pair" in said
    assert "not used: neuropil, nt_type" in said
    assert "1 neurons are on neither side (center)" in said
    assert Connectome.flywire(tmp_path, signed=True, cache=False).weights.toarray().tolist() == [
        [0, 7, 0],
        [0, 0, -4],
        [0, 0, 0],
    ]


def test_flywire_as_zenodo_and_as_shiu_publish_it(tmp_path: Path) -> None:
    zenodo, shiu = tmp_path / "zenodo", tmp_path / "shiu"
    zenodo.mkdir()
    shiu.mkdir()
    ids = [LARGE + 1, LARGE + 2]
    edges = {
        "pre_pt_root_id": ids,
        "post_pt_root_id": ids[::-1],
        "neuropil": ["AL_L"] * 2,
        "syn_count": [3, 4],
        "gaba_avg": [0.1, 0.2],
    }
    feather.write_feather(pa.table(edges), zenodo / "proofread_connections_783.feather")
    brain = Connectome.flywire(zenodo, cache=False)
    assert brain.weights.toarray().tolist() == [[0, 3], [4, 0]]
    assert any("no table of neurons" in line for line in brain.assumptions)
    table = {
        "Presynaptic_ID": ids,
        "Postsynaptic_ID": ids[::-1],
        "Presynaptic_Index": [0, 1],
        "Postsynaptic_Index": [1, 0],
        "Connectivity": [3, 4],
        "Excitatory": [1, -1],
        "Excitatory x Connectivity": [3, -4],
    }
    parquet.write_table(pa.table(table), shiu / "Connectivity_783.parquet")
    assert Connectome.flywire(shiu, cache=False).weights.toarray().tolist() == [[0, 3], [-4, 0]]
    assert Connectome.flywire(shiu, signed=False, cache=False).weights.toarray().tolist() == [[0, 3], [4, 0]]


def test_what_is_missing_is_named(tmp_path: Path, male: Path) -> None:
    with pytest.raises(MissingDataError, match="connections"):
        Connectome.flywire(tmp_path / "nowhere")
    with pytest.raises(MissingDataError, match=r"connectome-weights-\*\.feather"):
        Connectome.male_cns(tmp_path / "nowhere")
    (male / "connectome-weights-v1.feather").write_bytes(b"no feather at all")
    with pytest.raises(DataError, match="a whole table"):
        Connectome.male_cns(male, cache=False)
    feather.write_feather(pa.table({"body_pre": [10], "weight": [1]}), male / "connectome-weights-v1.feather")
    with pytest.raises(DataError, match="the column body_post, got columns body_pre, weight"):
        Connectome.male_cns(male, cache=False)


def test_counts_that_are_none_are_refused_with_their_row(male: Path) -> None:
    for weight, message in (([1, -2], "row 2: expected a count, 0 or more, got -2"), ([1, None], "a count in every row")):
        table = pa.table({"body_pre": [10, 11], "body_post": [12, 13], "weight": weight})
        feather.write_feather(table, male / "connectome-weights-v1.feather")
        with pytest.raises(DataError, match=message):
            Connectome.male_cns(male, cache=False)


# --- other tables of edges


class Frame:
    """As much of a data frame of pandas as is looked at."""

    def __init__(self, **columns: list[object]) -> None:
        self.data = columns
        self.columns = list(columns)

    def __getitem__(self, name: str) -> Frame:
        return Frame(**{name: self.data[name]})

    def to_numpy(self) -> np.ndarray:
        return np.array(next(iter(self.data.values())))


def test_every_form_of_a_table_gives_the_same_connectome(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [(LARGE + 1, LARGE + 2, 3), (LARGE + 2, LARGE + 3, 4), (LARGE + 3, LARGE + 1, 5)]
    for suffix, between in ((".csv", ","), (".tsv", "\t"), (".txt", ";")):
        lines = [between.join(("pre", "post", "count")), *(between.join(map(str, row)) for row in rows)]
        (tmp_path / f"edges{suffix}").write_text("\n".join(lines))
    columns = dict(zip(("pre", "post", "count"), map(list, zip(*rows, strict=True)), strict=True))
    parquet.write_table(pa.table(columns), tmp_path / "edges.parquet")
    feather.write_feather(pa.table(columns), tmp_path / "edges.feather")
    made = [Connectome.from_edges(tmp_path / f"edges{suffix}") for suffix in (".csv", ".tsv", ".txt", ".parquet", ".feather")]
    monkeypatch.setattr("ordinate.reservoir.connectome.edges._LARGE", 0)  # as if they were large
    made += [Connectome.from_edges(tmp_path / f"edges{suffix}") for suffix in (".csv", ".tsv", ".txt", ".parquet")]
    made.append(Connectome.from_pandas(Frame(**columns)))
    for brain in made:
        assert brain.ids.tolist() == [LARGE + 1, LARGE + 2, LARGE + 3]
        assert brain.weights.toarray().tolist() == [[0, 3, 0], [0, 0, 4], [5, 0, 0]]


def test_frames_of_neurons_give_sides_and_kinds() -> None:
    neurons = Frame(root_id=[1, 2], super_class=["sensory", "descending"], side=["left", "right"])
    brain = Connectome.from_pandas(Frame(pre=[1], post=[2], syn_count=[4], extra=[0]), neurons)
    assert (brain.kind.tolist(), brain.side.tolist()) == (["sensory", "descending"], ["left", "right"])
    assert any("not used: extra" in line for line in brain.assumptions)


def test_a_graph_of_networkx_and_graphml(tmp_path: Path) -> None:
    networkx = pytest.importorskip("networkx")
    graph = networkx.DiGraph(name="three")
    graph.add_node("a", side="left", kind="sensory")
    graph.add_node("b", side="right", kind="descending")
    graph.add_edge("a", "b", weight=3)
    graph.add_edge("b", "a", weight=1)
    networkx.write_graphml(graph, tmp_path / "g.graphml")
    for brain in (Connectome.from_networkx(graph), Connectome.from_edges(tmp_path / "g.graphml")):
        assert brain.weights.toarray().tolist() == [[0, 3], [1, 0]]
        assert brain.side.tolist() == ["left", "right"]
        assert brain.kind.tolist() == ["sensory", "descending"]
    undirected = Connectome.from_networkx(networkx.path_graph(3))
    assert undirected.weights.toarray().tolist() == [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
    assert "no directions" in undirected.assumptions[-1]


def test_a_sparse_matrix_with_its_table(tmp_path: Path) -> None:
    from scipy import sparse

    sparse.save_npz(tmp_path / "m.npz", sparse.csr_array([[0, 2], [9, 0]]))
    (tmp_path / "meta.csv").write_text("idx,root_id,side,cell_type\n0,7,left,KC\n1,8,right,MBON\n")
    brain = Connectome.from_edges(tmp_path / "m.npz", neurons=tmp_path / "meta.csv", min_synapses=3)
    assert brain.weights.toarray().tolist() == [[0, 0], [9, 0]]
    assert (brain.kind.tolist(), brain.ids.tolist()) == (["KC", "MBON"], [7, 8])


def test_signed_counts_are_accepted_where_asked(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text("pre,post,count\n1,2,-4\n")
    with pytest.raises(DataError, match="signed=True"):
        Connectome.from_edges(tmp_path / "e.csv")
    assert Connectome.from_edges(tmp_path / "e.csv", signed=True).weights[0, 1] == -4


def test_signs_are_taken_from_rows_where_no_table_of_neurons_has_any(tmp_path: Path) -> None:
    rows = f"{LARGE},{LARGE + 1},AL_L,3,ACH\n{LARGE},{LARGE + 1},AL_R,4,ACH\n{LARGE + 1},{LARGE},LH,5,GABA\n"
    (tmp_path / "connections.csv").write_text(f"pre_root_id,post_root_id,neuropil,syn_count,nt_type\n{rows}")
    brain = Connectome.flywire(tmp_path, signed=True, cache=False)
    assert brain.weights.toarray().tolist() == [[0, 7], [-5, 0]]
    assert any("each row names its transmitter (nt_type)" in line for line in brain.assumptions)
    (tmp_path / "connections.csv").unlink()
    likely = {"gaba_avg": [0.9, 0.1], "ach_avg": [0.05, 0.8], "glut_avg": [0.05, 0.1]}
    edges = {"pre_pt_root_id": [LARGE, LARGE + 1], "post_pt_root_id": [LARGE + 1, LARGE], "syn_count": [2, 3]}
    feather.write_feather(pa.table({**edges, **likely}), tmp_path / "proofread_connections_783.feather")
    assert Connectome.flywire(tmp_path, signed=True, cache=False).weights.toarray().tolist() == [[0, -2], [3, 0]]


def test_signs_without_any_transmitter_are_refused_and_other_bodies_transmitters_are_said(male: Path) -> None:
    releases = {"body": [10, 77], "predicted_nt": ["gaba", "gaba"]}
    feather.write_feather(pa.table(releases), male / "body-neurotransmitters-v1.feather")
    brain = Connectome.male_cns(male, signed=True, cache=False)
    assert brain.weights.data.min() == -5
    assert any("1 of 2 rows of body-neurotransmitters-v1.feather are of no neuron here" in line for line in brain.assumptions)
    (male / "body-neurotransmitters-v1.feather").unlink()
    with pytest.raises(DataError, match="a transmitter to take signs from"):
        Connectome.male_cns(male, signed=True, cache=False)


def test_the_neurons_of_shius_model_are_those_of_its_list(tmp_path: Path) -> None:
    table = {"Presynaptic_ID": [LARGE], "Postsynaptic_ID": [LARGE + 2], "Excitatory x Connectivity": [-4]}
    parquet.write_table(pa.table(table), tmp_path / "Connectivity_783.parquet")
    (tmp_path / "Completeness_783.csv").write_text(",Completed\n" + "".join(f"{LARGE + at},True\n" for at in range(4)))
    brain = Connectome.flywire(tmp_path, cache=False)
    assert brain.ids.tolist() == [LARGE + at for at in range(4)]
    assert brain.weights[0, 2] == -4


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ("pre,post,count\n,2,3\n", "an id in every row, got 1 empty ones"),
        ("pre,post,count\n7.2057594e+17,2,3\n", "whole and below 2.53 where it is kept as a float, got 7.2057594e"),
        ("", "a header and rows, got an empty file"),
    ],
)
def test_ids_that_lost_their_digits_and_empty_ones_are_refused(tmp_path: Path, rows: str, said: str) -> None:
    (tmp_path / "edges.csv").write_text(rows)
    with pytest.raises(DataError, match=said):
        Connectome.from_edges(tmp_path / "edges.csv")


def test_an_empty_id_of_parquet_does_not_turn_the_others_into_floats(tmp_path: Path) -> None:
    table = pa.table({"pre": [LARGE, LARGE + 1], "post": [LARGE + 1, None], "count": [1, 2]})
    parquet.write_table(table, tmp_path / "edges.parquet")
    with pytest.raises(DataError, match="an id in every row, got 1 empty ones"):
        Connectome.from_edges(tmp_path / "edges.parquet")
    parquet.write_table(table.slice(0, 1), tmp_path / "edges.parquet")
    assert Connectome.from_edges(tmp_path / "edges.parquet").ids.tolist() == [LARGE, LARGE + 1]


@pytest.mark.parametrize(
    "text",
    [
        b"Pre,POST,Count\n1,2,3\n",
        b"pre post count\n1 2 3\n",
        b"pre,post,count\n1.0,2.0,3.0\n",
        gzip.compress(b"pre;post;count\n1;2;3\n"),
    ],
    ids=["capitals", "spaces", "floats", "gzip without the suffix"],
)
def test_odd_tables_of_edges_are_read(tmp_path: Path, text: bytes) -> None:
    (tmp_path / "edges.csv").write_bytes(text)
    brain = Connectome.from_edges(tmp_path / "edges.csv")
    assert brain.ids.tolist() == [1, 2]
    assert brain.weights[0, 1] == 3


def test_pairs_that_make_no_edge_are_counted_in_words(tmp_path: Path) -> None:
    (tmp_path / "edges.csv").write_text(",pre,post,count\n0,1,2,0\n1,2,3,1\n2,3,1,5\n")
    feather.write_feather(pa.table({"pre": [1, 2, 3], "post": [2, 3, 1], "count": [0, 1, 5]}), tmp_path / "edges.feather")
    for name in ("edges.csv", "edges.feather"):
        brain = Connectome.from_edges(tmp_path / name, min_synapses=2)
        assert brain.num_edges == 1
        assert "1 pairs have a count of 0: no edge" in brain.assumptions
        assert "1 pairs below the least number of synapses: left out" in brain.assumptions
    assert any("(without a name)" in line for line in Connectome.from_edges(tmp_path / "edges.csv").assumptions)
