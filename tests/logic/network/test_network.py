"""Networks are saved and loaded to the bit, and files that do not belong together are refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from torch import nn

from ordinate.errors import ArgumentError, ArgumentTypeError, DataError, MissingDataError, OutputError
from ordinate.logic import GroupSum, LogicConv2d, LogicDense, LogicNetwork, OrPooling2d, Thresholds


def network() -> LogicNetwork:
    return LogicNetwork(
        Thresholds(torch.rand(64, 1), learned=True),
        nn.Unflatten(-1, (1, 8, 8)),
        LogicConv2d(1, 5, depth=2, padding=1, parametrisation="walsh", seed=1),
        OrPooling2d(2, relaxation="probabilistic"),
        nn.Flatten(-3),
        LogicDense(80, 60, wiring=torch.randint(0, 80, (2, 60)), mode="hard", initialisation="random"),
        LogicDense(60, 40, wiring="learned", candidates=3, parametrisation="raw", seed=2),
        LogicDense(40, 20, wiring="unique", certainty=0.7, seed=3),
        GroupSum(2, tau=3.0, beta=[0.5, -0.25]),
    )


def test_a_saved_network_comes_back_to_the_bit_with_its_settings(tmp_path: Path) -> None:
    saved = network()
    saved.save(tmp_path / "net.json")
    loaded = LogicNetwork.load(tmp_path / "net.json")
    assert {path.name for path in tmp_path.iterdir()} == {"net.json", "net.safetensors"}
    assert not loaded.training
    x = torch.rand(9, 64)
    assert torch.equal(loaded(x), saved.eval()(x))
    assert torch.equal(loaded.train()(x), saved.train()(x))  # modes, temperatures and certainties too
    assert repr(loaded) == repr(saved)
    assert loaded.num_gates == 5 * 3 + 60 + 40 + 20


def test_predict_is_the_discrete_networks_answer_and_leaves_the_mode() -> None:
    net = network().train()
    x = torch.rand(9, 64)
    found = net.predict(x)
    assert net.training
    assert torch.equal(found, net.eval()(x).argmax(-1))


def test_other_versions_and_other_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "net.json"
    network().save(path)
    record = json.loads(path.read_text())
    for changed, message in (
        ({"version": 2}, "version 1, got 2"),
        ({"schema": "other"}, "schema ordinate.logic.network"),
        ({"layers": None}, "layers, tensors and sha256"),
        ({"sha256": "0" * 64}, "another hash"),
        ({"layers": [*record["layers"][:-1], {"kind": "Softmax", "settings": {}}]}, "layers that fit their tensors"),
    ):
        path.write_text(json.dumps({**record, **changed}))
        with pytest.raises(DataError, match=message):
            LogicNetwork.load(path)
    path.write_text("{")
    with pytest.raises(DataError, match="a saved network"):
        LogicNetwork.load(path)


def test_a_changed_byte_of_the_tensors_is_found(tmp_path: Path) -> None:
    path = tmp_path / "net.json"
    network().save(path)
    tensors = path.with_suffix(".safetensors")
    content = bytearray(tensors.read_bytes())
    content[-5] ^= 1
    tensors.write_bytes(content)
    with pytest.raises(DataError, match="another hash"):
        LogicNetwork.load(path)
    tensors.unlink()
    with pytest.raises(MissingDataError, match="keep both files in one folder"):
        LogicNetwork.load(path)


def test_places_and_layers_are_checked(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match=r"ends in \.json"):
        network().save(tmp_path / "net.pt")
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match="a part of the path is a file"):
        network().save(tmp_path / "file" / "net.json")
    with pytest.raises(MissingDataError, match="no such file"):
        LogicNetwork.load(tmp_path / "net.json")
    with pytest.raises(ArgumentError, match="at least one layer"):
        LogicNetwork()
    with pytest.raises(ArgumentTypeError, match=r"layers\[0\]: expected a module"):
        LogicNetwork("dense")  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="Flatten or Unflatten, got Linear"):
        LogicNetwork(nn.Linear(2, 2)).save(tmp_path / "net.json")
