"""Damaged, mutated and hostile files of circuits, networks and checkpoints: an error of the package, or a valid object.

Mutations are drawn from a seed. The everyday run tries a few hundred, the slow run 20,000.
"""

from __future__ import annotations

import copy
import hashlib
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from ordinate.errors import DataError, MissingDataError, OrdinateError
from ordinate.logic import (
    Circuit,
    GroupSum,
    GrowthSettings,
    InputThresholds,
    LogicConv2d,
    LogicDense,
    LogicNetwork,
    OrPooling2d,
    Thresholds,
    TrainingSettings,
    grow,
    train,
)
from ordinate.logic.circuit.files import from_document, to_document
from ordinate.safetensors_io import read_tensors
from tests.logic.circuits import random_circuit

VALUES = [
    None,
    True,
    False,
    -1,
    0,
    1,
    3,
    16,
    2**31,
    2**63,
    10**30,
    0.5,
    -0.0,
    1e308,
    1e-320,
    "",
    "1",
    "nan",
    "é\u202e",
    [],
    {},
    [[]],
]
VALUES += [[1, [2]], [0.5], [None], ["a"], [-1], [2**40], {"a": 1}, [{}]]


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path] if path else []
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            found += places(value[key], (*path, key))
    return found


def mutated(document: Any, chance: random.Random) -> Any:
    """One to three changes: a value replaced, removed, repeated, moved, or a key renamed."""
    result = copy.deepcopy(document)
    for _ in range(chance.randint(1, 3)):
        spots = places(result)
        if not spots:
            return result
        *path, last = chance.choice(spots)
        parent = result
        for key in path:
            parent = parent[key]
        kind = chance.randrange(5)
        if kind == 0:
            parent[last] = copy.deepcopy(chance.choice(VALUES))
        elif kind == 1:
            del parent[last]
        elif kind == 2 and isinstance(parent, list):
            parent.insert(last, copy.deepcopy(parent[chance.randrange(len(parent))]))
        elif kind == 3 and isinstance(parent, dict):
            parent[chance.choice(["", "x", str(last) + "s"])] = parent.pop(last)
        elif isinstance(parent[last], int) and not isinstance(parent[last], bool):
            parent[last] += chance.choice([-1, 1, 7, 2**32])
        else:
            parent[last] = copy.deepcopy(chance.choice(VALUES))
    return result


def check_circuits(count: int, seed: int) -> None:
    chance = random.Random(seed)
    originals = [
        to_document(random_circuit(1, 4, 6, classes=2, votes=3)),
        to_document(random_circuit(2, 3, 0, classes=1, votes=1, thresholds=InputThresholds(2, [0, 1, 1], [0.5, 3, 9]))),
    ]
    valid = 0
    for _ in range(count):
        try:
            circuit = from_document(mutated(chance.choice(originals), chance))
        except OrdinateError:
            continue
        valid += 1
        json.dumps(to_document(circuit), allow_nan=False)
        if circuit.num_inputs < 1000:
            bits = np.zeros((2, circuit.num_inputs), bool)
            assert np.isfinite(circuit.evaluate(bits)).all()
            assert circuit.predict(bits).max() < circuit.num_classes
    assert 0 < valid < count


def test_mutated_circuits() -> None:
    check_circuits(300, 0)


def a_network() -> LogicNetwork:
    layers = (
        Thresholds(torch.full((16, 1), 0.5)),
        torch.nn.Unflatten(-1, (1, 4, 4)),
        LogicConv2d(1, 2, receptive_field=2, depth=1),
        OrPooling2d(2, stride=1),
        torch.nn.Flatten(-3),
        LogicDense(8, 6),
        LogicDense(6, 4, wiring="learned", candidates=2),
        GroupSum(2, tau=1.5),
    )
    return LogicNetwork(*layers)


def check_networks(count: int, seed: int, folder: Path) -> None:
    chance = random.Random(seed)
    a_network().save(folder / "net.json")
    record = json.loads((folder / "net.json").read_text())
    tensors = (folder / "net.safetensors").read_bytes()
    valid = 0
    for _ in range(count):
        if chance.random() < 0.2:  # damaged tensors under a hash that fits them
            damaged = bytearray(tensors)
            for _ in range(chance.randint(1, 4)):
                damaged[chance.randrange(min(len(damaged), 3000))] = chance.randrange(256)
            (folder / "net.safetensors").write_bytes(damaged)
            changed = record | {"sha256": hashlib.sha256(damaged).hexdigest()}
        else:
            (folder / "net.safetensors").write_bytes(tensors)
            changed = mutated(record, chance)
        (folder / "net.json").write_text(json.dumps(changed))
        try:
            LogicNetwork.load(folder / "net.json")
        except OrdinateError:
            continue
        valid += 1
    assert 0 < valid < count


def test_mutated_networks(tmp_path: Path) -> None:
    check_networks(150, 0, tmp_path)


def small_images() -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    x = np.random.default_rng(0).integers(0, 256, (120, 6)).astype(np.uint8)
    labels = (x[:, 0] > 95).astype(int) + (x[:, 1] > 95)
    return (x[:80], labels[:80]), (x[80:], labels[80:])


def check_growth_checkpoints(count: int, seed: int, folder: Path) -> None:
    chance = random.Random(seed)
    settings = GrowthSettings(gates=3, replacements=0, rows=4, columns=4, pair_sample=32, choice_sample=32, patience=1)
    grow(*small_images(), 95, settings, checkpoint=folder / "growth.json")
    record = json.loads((folder / "growth.json").read_text())
    for _ in range(count):
        (folder / "growth.json").write_text(json.dumps(mutated(record, chance)))
        try:
            grown = grow(*small_images(), 95, settings, checkpoint=folder / "growth.json")
        except OrdinateError:
            continue
        assert np.isfinite(grown.circuit.evaluate(np.zeros((1, 6)))).all()


def test_mutated_checkpoints_of_growth(tmp_path: Path) -> None:
    check_growth_checkpoints(10, 0, tmp_path)


@pytest.mark.slow
@pytest.mark.timeout(3000)
def test_twenty_thousand_mutated_files(tmp_path: Path) -> None:
    check_circuits(14_000, 1)
    check_networks(5_500, 1, tmp_path)
    check_growth_checkpoints(500, 1, tmp_path)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "Expecting value"),
        ("{", "expected a circuit in JSON"),
        ("[" * 100_000, "nested too deeply"),
        ("9" * 10_000, "expected a circuit in JSON"),
        ('{"format": 1, "format": 2}', "a key that stands twice"),
        ('{"tau": NaN}', "NaN where a finite number should be"),
        ('{"tau": -Infinity}', "-Infinity where a finite number"),
        ("null", "expected a circuit"),
        ("\ufeff{}", "expected a circuit in JSON"),
    ],
)
def test_texts_that_are_no_circuit(text: str, reason: str, tmp_path: Path) -> None:
    (tmp_path / "c.json").write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=reason):
        Circuit.load(tmp_path / "c.json")


def test_what_is_no_file_is_not_read(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="a device or a pipe"):
        Circuit.load("/dev/null")
    with pytest.raises(MissingDataError, match="no such file"):
        LogicNetwork.load(tmp_path / "none.json")
    (tmp_path / "bytes.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(DataError, match="utf-8"):
        Circuit.load(tmp_path / "bytes.json")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tensors": "../net.safetensors"}, "tensors in a file beside it"),
        ({"tensors": ""}, "tensors in a file beside it"),
        (
            {"layers": [{"kind": "LogicDense", "settings": {"in_features": 10**9, "out_features": 10**9}}]},
            "more than its tensors hold",
        ),
        ({"layers": [{"kind": "Thresholds", "settings": {"values": [10**6, 10**6]}}]}, "more than its tensors hold"),
        ({"layers": [{"kind": "LogicConv2d", "settings": {"depth": 40}}]}, "more than its tensors hold"),
        (
            {"layers": [{"kind": "LogicConv2d", "settings": {"in_channels": 1, "out_channels": 2, "receptive_field": 2**17}}]},
            "more than its tensors hold",
        ),
        ({"layers": [{"kind": "__import__", "settings": {}}]}, "layers that fit their tensors"),
        ({"layers": []}, "at least one layer"),
    ],
)
def test_networks_that_ask_for_too_much(change: dict[str, Any], message: str, tmp_path: Path) -> None:
    a_network().save(tmp_path / "net.json")
    record = json.loads((tmp_path / "net.json").read_text())
    (tmp_path / "net.json").write_text(json.dumps(record | change))
    with pytest.raises(OrdinateError, match=message):
        LogicNetwork.load(tmp_path / "net.json")


def test_damaged_checkpoints_of_training(tmp_path: Path) -> None:
    x = torch.rand(40, 4, generator=torch.Generator().manual_seed(0)) > 0.5
    examples = (x, (x[:, 0] ^ x[:, 1]).long())
    settings = TrainingSettings(epochs=2)

    def network() -> LogicNetwork:
        return LogicNetwork(LogicDense(4, 6, seed=1), GroupSum(2))

    place = tmp_path / "t.safetensors"
    train(network(), examples, examples, settings, checkpoint=place)
    tensors, metadata = read_tensors(place)
    tensors = {name: tensor.clone() for name, tensor in tensors.items()}
    for changed, notes in (
        (tensors, metadata | {"reports": "["}),
        (tensors, metadata | {"reports": '[{"epoch": 1}]'}),
        (tensors, {name: text for name, text in metadata.items() if name != "settings"}),
        ({name: tensor for name, tensor in tensors.items() if name != "draws"}, metadata),
        (tensors | {"draws": torch.zeros(3)}, metadata),
        ({name: tensor for name, tensor in tensors.items() if not name.startswith("best.")}, metadata),
        (tensors | {"now.0.gates.weight": torch.zeros(1)}, metadata),
    ):
        save_file(changed, place, metadata=notes)
        with pytest.raises(DataError, match="remove it to start anew"):
            train(network(), examples, examples, settings, checkpoint=place)
