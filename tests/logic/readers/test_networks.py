"""Networks of other libraries answer as their own forward pass does, on random inputs, scores and classes alike.

torchlogix is the library itself. torch-dwn asks for CUDA at installation and difflogic builds for a CUDA of its own, so their
forward passes are written here anew from their published sources (alanbacellar/DWN, commits b26a3bc and 7da6d4e;
Felix-Petersen/difflogic, commit 16a3d19), a loop over rows and tables that shares nothing with the reader.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
import types
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from ordinate.errors import ArgumentError, DataError, RefusedError
from ordinate.logic import InputThresholds, equivalent, simplify
from ordinate.logic.readers.networks import from_module, from_state_dict, read_state_dict


@pytest.fixture(scope="module")
def layers() -> Any:
    """torchlogix's layers; the package itself needs Python 3.12 for a file that these do not use."""
    found = importlib.util.find_spec("torchlogix")
    if found is None:
        pytest.skip("no torchlogix here (pip install --no-deps torchlogix)")
    if "torchlogix" not in sys.modules:
        package = types.ModuleType("torchlogix")
        package.__path__ = list(found.submodule_search_locations or [])
        sys.modules["torchlogix"] = package
    return importlib.import_module("torchlogix.layers")


def bits_of(rows: int, count: int, seed: int = 0) -> Tensor:
    return torch.randint(0, 2, (rows, count), generator=torch.Generator().manual_seed(seed)).float()


def dense(layers: Any, inputs: int, outputs: int, rank: int, parametrisation: str, connections: str = "fixed") -> Any:
    options = {"connections_kwargs": {"num_candidates": 2}} if connections == "learnable" else {}
    layer = layers.LogicDense(
        inputs, outputs, lut_rank=rank, parametrization=parametrisation, connections=connections, **options
    )
    with torch.no_grad():
        layer.weight.copy_(torch.randn_like(layer.weight))
    return layer


@pytest.mark.parametrize(
    ("rank", "parametrisation", "connections"),
    [
        (2, "raw", "fixed"),
        (2, "raw", "learnable"),
        (2, "light", "fixed"),
        (2, "warp", "fixed"),
        (4, "warp", "learnable"),
        (4, "light", "fixed"),
        (6, "light", "fixed"),
        (6, "warp", "fixed"),
    ],
)
def test_torchlogix_dense_networks(layers: Any, rank: int, parametrisation: str, connections: str) -> None:
    torch.manual_seed(rank)
    model = nn.Sequential(
        layers.FixedBinarization(torch.rand(9, 3).sort(-1).values),
        nn.Flatten(),
        dense(layers, 27, 24, rank, parametrisation, connections),
        dense(layers, 24, 15, rank, parametrisation),
        layers.GroupSum(3, tau=3.7, beta=0.5),
    ).eval()
    x = torch.rand(500, 9)
    imported = from_module(model)
    told = imported.compared(model, x)
    assert (told.rows, told.other_classes) == (500, 0)
    assert told.largest_difference < 1e-6
    assert told.ties > 0
    bits = torch.rand(500, 27).round().bool().numpy()
    assert np.array_equal(imported.luts.evaluate(bits), imported.circuit.evaluate(bits))
    assert imported.luts.k == rank
    state = from_state_dict(model.state_dict(), classes=3, tau=3.7, beta=0.5, parametrisation=parametrisation)
    assert equivalent(state.circuit, imported.circuit)
    assert state.compared(model, x) == told


def test_torchlogix_convolutions_of_colour_images(layers: Any) -> None:
    torch.manual_seed(0)
    model = nn.Sequential(
        layers.FixedBinarization(torch.rand(3, 2).sort(-1).values, feature_dim=-4),
        layers.LogicConv2d(8, channels=6, num_kernels=5, tree_depth=2, receptive_field_size=3, padding=1),
        layers.OrPooling2d(2, 2),
        layers.LogicConv2d(4, channels=5, num_kernels=4, tree_depth=3, receptive_field_size=2, parametrization="light"),
        nn.Flatten(),
        dense(layers, 36, 30, 2, "raw"),
        layers.GroupSum(5, tau=2.0),
    ).eval()
    with torch.no_grad():
        for conv in (model[1], model[3]):
            for weight in conv.tree_weights:
                weight.copy_(torch.randn_like(weight))
    imported = from_module(model, input_shape=(3, 8, 8))
    told = imported.compared(model, torch.rand(200, 3, 8, 8))
    assert (told.other_classes, told.largest_difference) == (0, 0.0)
    assert imported.circuit.inputs.num_features == 192
    with pytest.raises(DataError, match="read from the module"):
        from_state_dict(model.state_dict(), classes=5)


@pytest.mark.slow
def test_a_whole_published_model_of_torchlogix(layers: Any) -> None:
    models = importlib.import_module("torchlogix.models.conv")
    torch.manual_seed(0)
    model = models.ClgnMnistTiny(thresholds=None, binarization="dummy", binarization_kwargs={}).eval()
    with torch.no_grad():
        for weight in model.parameters():
            weight.copy_(torch.randn_like(weight))
    imported = from_module(model, input_shape=(1, 28, 28))
    told = imported.compared(model, bits_of(100, 784).reshape(-1, 1, 28, 28))
    assert (told.other_classes, told.largest_difference) == (0, 0.0)
    assert len(imported.luts.tables) > 26_000


@pytest.mark.parametrize("kind", ["LearnableBinarization", "SoftBinarization"])
def test_torchlogix_thresholds_are_those_of_evaluation(layers: Any, kind: str) -> None:
    torch.manual_seed(1)
    first = getattr(layers, kind)(torch.rand(6, 4).sort(-1).values)
    model = nn.Sequential(first, nn.Flatten(), dense(layers, 24, 20, 2, "raw"), layers.GroupSum(4)).eval()
    imported = from_module(model)
    assert imported.compared(model, torch.rand(300, 6)).other_classes == 0
    assert kind in imported.lost["thresholds"]
    assert equivalent(from_state_dict(model.state_dict(), classes=4).circuit, imported.circuit)


class Dwn(nn.Module):
    """torch-dwn's forward pass, a row and a table at a time: the first input is the lowest bit of the address."""

    def __init__(self, sizes: list[int], n: int, classes: int, tau: float, learnable: bool) -> None:
        super().__init__()
        self.n, self.classes, self.tau = n, classes, tau
        for number, (inputs, outputs) in enumerate(pairwise(sizes)):
            layer = nn.Module()
            layer.luts = nn.Parameter(torch.rand(outputs, 2**n) * 2 - 1)
            if learnable and number == 0:
                layer.mapping = nn.Module()
                layer.mapping.weights = nn.Parameter(torch.rand(inputs, outputs * n))
                dummy = torch.arange(outputs * n).reshape(outputs, n).int()
                layer.register_parameter("_LUTLayer__dummy_mapping", nn.Parameter(dummy, requires_grad=False))
            else:
                mapping = torch.stack([torch.randperm(inputs)[:n] for _ in range(outputs)]).int()
                layer.mapping = nn.Parameter(mapping, requires_grad=False)
            self.add_module(str(number), layer)

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.children():
            mapping: Any = layer.mapping
            if isinstance(mapping, nn.Module):
                mapping = mapping.weights.argmax(0).reshape(-1, self.n)
            out = torch.zeros(len(x), len(layer.luts))
            for row in range(len(x)):
                for table in range(len(layer.luts)):
                    address = 0
                    for place in range(self.n):
                        if x[row, mapping[table, place]] > 0:
                            address |= 1 << place
                    out[row, table] = float(layer.luts[table, address] > 0)
            x = out
        if x.shape[1] % self.classes:
            x = torch.nn.functional.pad(x, (0, self.classes - x.shape[1] % self.classes))
        return x.reshape(len(x), self.classes, -1).sum(-1) / self.tau


@pytest.mark.parametrize(("n", "learnable", "outputs"), [(2, False, 12), (4, True, 12), (6, True, 11)])
def test_state_dicts_of_torch_dwn(n: int, learnable: bool, outputs: int, tmp_path: Path) -> None:
    torch.manual_seed(n)
    model = Dwn([16, 20, outputs], n, classes=4, tau=1 / 0.3, learnable=learnable)
    torch.save(model.state_dict(), tmp_path / "dwn.pth")
    imported = from_state_dict(read_state_dict(tmp_path / "dwn.pth"), classes=4, tau=1 / 0.3, num_inputs=16)
    told = imported.compared(model, bits_of(60, 16))
    assert (imported.library, told.other_classes) == ("torch-dwn", 0)
    assert told.largest_difference < 1e-6
    assert equivalent(imported.circuit, imported.luts.to_circuit(by_rows=True), exhaustive=n == 6)
    small = simplify(imported.circuit).circuit
    assert small.num_gates <= imported.circuit.num_gates
    assert equivalent(imported.circuit, small)


class LogicLayer(nn.Module):
    """difflogic's layer: gate i of sixteen, by its table in the source's head, row AB = 00 as the highest bit."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.in_dim, self.out_dim = inputs, outputs
        self.weights = nn.Parameter(torch.randn(outputs, 16))
        self.indices = (torch.randint(inputs, (outputs,)), torch.randint(inputs, (outputs,)))

    def forward(self, x: Tensor) -> Tensor:
        out = torch.zeros(len(x), self.out_dim)
        for gate, number in enumerate(self.weights.argmax(-1).tolist()):
            outputs = [int(bit) for bit in f"{number:04b}"]  # for AB = 00, 01, 10, 11
            for row in range(len(x)):
                a, b = (int(x[row, one[gate]]) for one in self.indices)
                out[row, gate] = outputs[2 * a + b]
        return out


class GroupSum(nn.Module):
    """difflogic's sum."""

    def __init__(self, k: int, tau: float) -> None:
        super().__init__()
        self.k, self.tau = k, tau

    def forward(self, x: Tensor) -> Tensor:
        return x.reshape(*x.shape[:-1], self.k, -1).sum(-1) / self.tau


def test_difflogic_from_its_module_and_from_a_state_dict_with_its_connections() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(LogicLayer(12, 30), LogicLayer(30, 20), GroupSum(4, tau=10.0))
    imported = from_module(model)
    told = imported.compared(model, bits_of(80, 12))
    assert (imported.library, told.other_classes) == ("difflogic", 0)
    state = dict(model.state_dict())
    with pytest.raises(ArgumentError, match=r"0.indices: expected the connections .* save torch.stack\(layer.indices\)"):
        from_state_dict(state, classes=4)
    for place in (0, 1):
        state[f"{place}.indices"] = torch.stack(model[place].indices)
    again = from_state_dict(state, classes=4, tau=10.0, num_inputs=12)
    assert equivalent(again.circuit, imported.circuit)
    assert again.lost["assumed"].startswith("4 classes, tau 10")


def test_thresholds_may_come_beside_a_state_dict() -> None:
    model = Dwn([6, 9], 2, classes=3, tau=1.0, learnable=False)
    codes = InputThresholds(3, [0, 0, 1, 1, 2, 2], [0.2, 0.6, 0.3, 0.5, 0.1, 0.9])
    imported = from_state_dict(model.state_dict(), classes=3, thresholds=codes)
    x = torch.rand(50, 3)
    bits = (x[:, [0, 0, 1, 1, 2, 2]] > torch.tensor(codes.threshold)).float()
    assert np.array_equal(imported.circuit.predict(imported.circuit.inputs.bits(x)), model(bits).argmax(1))


def test_what_is_not_known_is_refused_by_its_name(tmp_path: Path) -> None:
    with pytest.raises(RefusedError, match=r"model\[1\]: expected a layer that has tables, got Linear"):
        from_module(nn.Sequential(LogicLayer(4, 4), nn.Linear(4, 2)))
    with pytest.raises(RefusedError, match="nothing after GroupSum"):
        from_module(nn.Sequential(LogicLayer(4, 4), GroupSum(2, 1.0), nn.Flatten()))
    with pytest.raises(DataError, match="0: expected a dense layer of tables, got bias, weight"):
        from_state_dict(nn.Sequential(nn.Linear(4, 2)).state_dict(), classes=2)
    model = Dwn([6, 9], 2, classes=3, tau=1.0, learnable=False)
    with pytest.raises(ArgumentError, match="num_inputs: expected an integer of at least"):
        from_state_dict(model.state_dict(), classes=3, num_inputs=1)
    with pytest.raises(ArgumentError, match="classes: expected a number that shares 4 signals evenly"):
        from_module(nn.Sequential(LogicLayer(4, 4), GroupSum(3, 1.0)))
    torch.save(nn.Linear(2, 2), tmp_path / "module.pth")
    with pytest.raises(DataError, match=r"save model.state_dict\(\)"):
        read_state_dict(tmp_path / "module.pth")
    torch.save({"0.weight": torch.ones(3, 4), "0.connections.indices": torch.zeros(2, 3, dtype=torch.int64)}, tmp_path / "l.pt")
    with pytest.raises(ArgumentError, match="'light' or 'warp'"):
        from_state_dict(read_state_dict(tmp_path / "l.pt"), classes=3)
