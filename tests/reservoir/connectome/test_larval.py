"""The larval supplement is read right, or refused with the line that is wrong."""

from __future__ import annotations

import shutil
import time
import zipfile
from pathlib import Path

import numpy as np
import pytest

from ordinate.errors import DataError, MissingDataError
from ordinate.reservoir import Connectome
from ordinate.reservoir.connectome.larval import larval_orientation

TABLES = {
    "all-all_connectivity_matrix.csv": ",11,12,21,22\n11,0.0,3.0,0.0,1.0\n12,0.0,0.0,0.0,0.0\n"
    "21,0.0,0.0,0.0,2.0\n22,0.0,0.0,0.0,0.0\n",
    "annotations.csv": "left_id,right_id,celltype,additional_annotations,level_7_cluster\n11,21,sensory,olfactory;visual,0\n"
    "12,no pair,PN,no official annotation,1\n",
    "inputs.csv": ",axon_input,dendrite_input\n11,0.0,0.0\n12,1.0,3.0\n21,0.0,0.0\n22,3.0,0.0\n99,4.0,4.0\n",
    "outputs.csv": ",axon_output,dendrite_output\n11,4.0,1.0\n12,0.0,0.0\n21,2.0,0.0\n22,0.0,0.0\n",
}


def unpacked(folder: Path, **changed: str) -> Path:
    folder.mkdir(exist_ok=True)
    for name, text in {**TABLES, **changed}.items():
        (folder / name).write_text(text)
    return folder


def load(folder: Path) -> Connectome:
    return Connectome.larval_drosophila(folder, cache=False)


def test_sides_mates_kinds_and_labels_come_from_the_columns(tmp_path):
    built = load(unpacked(tmp_path / "data"))
    assert built.ids.tolist() == [11, 12, 21, 22]
    assert built.weights.toarray().tolist() == [[0, 3, 0, 1], [0, 0, 0, 0], [0, 0, 0, 2], [0, 0, 0, 0]]
    assert built.side.tolist() == ["left", "left", "right", "unknown"]
    assert built.mate.tolist() == [2, -1, 0, -1]
    assert built.kind.tolist() == ["sensory", "PN", "sensory", ""]
    assert built.labels == ({"olfactory", "visual"}, set(), {"olfactory", "visual"}, set())
    assert any("excite" in result for result in built.assumptions)


def test_a_zip_its_folder_and_the_folder_around_are_the_same(tmp_path):
    inner = unpacked(tmp_path / "Supplementary-Data-S1")
    with zipfile.ZipFile(tmp_path / "Supplementary-Data-S1.zip", "w") as archive:
        for name in TABLES:
            archive.write(inner / name, f"Supplementary-Data-S1/{name}")
    result = [load(place) for place in (inner, tmp_path, tmp_path / "Supplementary-Data-S1.zip")]
    assert all((one.weights != result[0].weights).nnz == 0 for one in result)
    assert len({tuple(one.side) for one in result}) == 1


@pytest.mark.parametrize(
    ("name", "old", "new", "said"),
    [
        ("all-all_connectivity_matrix.csv", "\n12,", "\n13,", "line 3: expected row 12"),
        ("all-all_connectivity_matrix.csv", "3.0", "-3.0", "line 2: expected counts of synapses, got -3.0"),
        ("all-all_connectivity_matrix.csv", "3.0", "nan", "line 2: expected counts of synapses, got nan"),
        ("all-all_connectivity_matrix.csv", "3.0", "1.5", "line 2: expected counts of synapses, got 1.5"),
        ("all-all_connectivity_matrix.csv", "3.0", "three", "line 2: expected numbers"),
        ("all-all_connectivity_matrix.csv", "0.0,3.0,", "0.0,", "line 2: expected 4 values, got 3"),
        ("all-all_connectivity_matrix.csv", "22,0.0,0.0,0.0,0.0\n", "", "a square matrix, got 3 rows and 4 columns"),
        ("all-all_connectivity_matrix.csv", ",11,12,21,22", ",11,x,21,22", "line 1: expected whole numbers"),
        ("all-all_connectivity_matrix.csv", ",11,12,21,22", ",11,12,21,11", "row 11"),
        ("annotations.csv", "12,no pair", "11,no pair", "line 3: expected each id once, got 11"),
        ("annotations.csv", "celltype", "type", "the column celltype"),
        ("annotations.csv", "11,21", "x,21", "an id or 'no pair'"),
        ("inputs.csv", "12,1.0,3.0", "12,one,3.0", "an id and two counts a line"),
        ("inputs.csv", "12,1.0,3.0\n21,0.0,0.0\n", "", "expected the ids of the matrix, got 2 of 4 missing"),
    ],
)
def test_a_damaged_table_is_told_with_its_line(tmp_path, name, old, new, said):
    assert old in TABLES[name]
    with pytest.raises(DataError) as refused:
        load(unpacked(tmp_path / "data", **{name: TABLES[name].replace(old, new)}))
    assert said in str(refused.value)


def test_a_transposed_matrix_is_refused(tmp_path):
    rows = [line.split(",") for line in TABLES["all-all_connectivity_matrix.csv"].strip().split("\n")]
    turned = "\n".join(",".join(row) for row in zip(*rows, strict=True)) + "\n"
    with pytest.raises(DataError, match="expected rows that are presynaptic, got a transposed matrix"):
        load(unpacked(tmp_path / "data", **{"all-all_connectivity_matrix.csv": turned}))


def test_missing_and_damaged_files_say_what_to_fetch(tmp_path):
    with pytest.raises(MissingDataError, match="fetch the supplement"):
        load(tmp_path / "nowhere")
    folder = unpacked(tmp_path / "data")
    (folder / "inputs.csv").unlink()
    with pytest.raises(MissingDataError, match=r"inputs\.csv"):
        load(folder)
    broken = tmp_path / "Supplementary-Data-S1.zip"
    broken.write_bytes(b"PK\x03\x04 this is no zip")
    with pytest.raises(DataError, match="a damaged one"):
        load(broken)


def test_a_zip_cut_short_or_with_flipped_bytes_is_refused(tmp_path):
    inner = unpacked(tmp_path / "in")
    path = tmp_path / "Supplementary-Data-S1.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in TABLES:
            archive.write(inner / name, name)
    whole = path.read_bytes()
    for spoilt in (whole[: len(whole) // 2], whole[:60] + bytes([whole[60] ^ 255]) + whole[61:]):
        path.write_bytes(spoilt)
        with pytest.raises(DataError, match="a whole zip"):
            load(path)


def test_the_brain_has_the_published_size(larval):
    """Winding et al. 2023: 2,952 neurons; counts of sides and kinds from the supplement's own tables."""
    assert (larval.num_neurons, larval.num_edges, larval.num_synapses) == (2952, 110_677, 352_611)
    counts = {
        "sensory & left": 211,
        "sensory & right": 219,
        "ascending & left": 23,
        "ascending & right": 23,
        "DN-VNC & left": 91,
        "DN-VNC & right": 91,
        "DN-SEZ & left": 82,
        "DN-SEZ & right": 82,
        "unknown": 346,
    }
    assert {query: larval.select(query).size for query in counts} == counts
    assert int((larval.weights.sum(axis=1) == 0).sum()) == 43
    assert int((larval.weights.sum(axis=0) == 0).sum()) == 58


def test_olfactory_is_a_sense_and_not_a_projection_neuron(larval):
    chosen = larval.select("olfactory")
    assert set(larval.kind[chosen]) == {"sensory"}
    assert sum(any("olfactory" in word for word in words) for words in larval.labels) > chosen.size


def test_the_matrix_proves_its_orientation(larval, larval_path, tmp_path):
    result = larval_orientation(larval_path, cache=tmp_path)
    assert result.proved
    assert result.compared == 2952
    assert (result.row_excess, result.column_excess) == (0, 0)
    assert result.transposed_row_excess > 1000


def test_the_second_load_takes_under_a_fifth_of_a_second(larval, larval_path, tmp_path):
    Connectome.larval_drosophila(larval_path, cache=tmp_path)
    taken = []
    for _ in range(5):
        start = time.perf_counter()
        again = Connectome.larval_drosophila(larval_path, cache=tmp_path)
        taken.append(time.perf_counter() - start)
    assert min(taken) < 0.2
    assert (again.weights != larval.weights).nnz == 0
    assert np.array_equal(again.ids, larval.ids)
    assert again.labels == larval.labels
    assert again.assumptions == larval.assumptions


def test_other_bytes_are_parsed_anew(tmp_path):
    folder, kept = unpacked(tmp_path / "data"), tmp_path / "kept"
    first = Connectome.larval_drosophila(folder, cache=kept)
    changed = TABLES["all-all_connectivity_matrix.csv"].replace("3.0", "2.0")
    (folder / "all-all_connectivity_matrix.csv").write_text(changed)
    second = Connectome.larval_drosophila(folder, cache=kept)
    assert (first.weights[0, 1], second.weights[0, 1]) == (3, 2)
    shutil.rmtree(kept)
