"""The circuit of a network gives the network's discrete scores on every kind of layer, and refuses what it does not know."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from ordinate.errors import ArgumentError, ArgumentTypeError, RefusedError, ShapeError
from ordinate.logic import Circuit, GroupSum, LogicConv2d, LogicDense, LogicNetwork, OrPooling2d, Thresholds

RANDOM = {"initialisation": "random"}


def same_scores(network: nn.Module, x: torch.Tensor, circuit: Circuit, bits: np.ndarray) -> None:
    """The network adds in float32, the circuit exactly."""
    expected = network.eval()(x).double().reshape(len(x), -1).numpy()
    np.testing.assert_allclose(circuit.evaluate(bits), expected, rtol=1e-6, atol=1e-5)
    assert len(np.unique(expected)) > 2  # a constant network would prove nothing


@pytest.mark.parametrize("wiring", ["random", "unique", "tree", "learned"])
@pytest.mark.parametrize("parametrisation", ["raw", "light", "walsh"])
def test_dense_layers(wiring: str, parametrisation: str) -> None:
    network = LogicNetwork(
        LogicDense(24, 30, wiring=wiring, parametrisation=parametrisation, seed=1, **RANDOM),
        LogicDense(30, 20, wiring="learned", seed=2, **RANDOM),
        GroupSum(4, tau=2.5, beta=[0.0, 0.125, -3.0, 7.5]),
    )
    x = torch.randint(0, 2, (200, 24), generator=torch.Generator().manual_seed(0)).float()
    same_scores(network, x, Circuit.from_network(network), x.numpy())


@pytest.mark.parametrize(("padding", "pool_padding", "pool_stride"), [(0, 0, 2), (1, 1, 2), (2, 1, 1)])
@pytest.mark.parametrize("relaxation", ["max", "probabilistic"])
def test_convolution_pooling_and_flattening(padding: int, pool_padding: int, pool_stride: int, relaxation: str) -> None:
    layers = [
        LogicConv2d(2, 5, receptive_field=3, depth=2, padding=padding, seed=3, **RANDOM),
        OrPooling2d(3, stride=pool_stride, padding=pool_padding, relaxation=relaxation),
        LogicConv2d(5, 6, receptive_field=2, depth=3, stride=2, seed=4, **RANDOM),
        nn.Flatten(-3),
    ]
    x = torch.randint(0, 2, (60, 2, 11, 8), generator=torch.Generator().manual_seed(1)).float()
    width = nn.Sequential(*layers)(x).shape[-1]
    network = LogicNetwork(*layers, LogicDense(width, 12, seed=5, **RANDOM), GroupSum(3, tau=0.7))
    circuit = Circuit.from_network(network, input_shape=(2, 11, 8))
    same_scores(network, x, circuit, x.reshape(60, -1).numpy())


def test_unflattened_bits_and_nested_layers() -> None:
    network = nn.Sequential(
        nn.Unflatten(-1, (1, 4, 6)),
        nn.Sequential(nn.Identity(), LogicConv2d(1, 4, receptive_field=2, depth=2, seed=1, **RANDOM), nn.Flatten()),
        LogicDense(60, 9, seed=2, **RANDOM),
    )
    x = torch.randint(0, 2, (80, 24), generator=torch.Generator().manual_seed(2)).float()
    circuit = Circuit.from_network(network, input_shape=(24,))
    assert circuit.num_classes == 9  # without GroupSum each output is a class
    found = circuit.evaluate(x.numpy())
    assert np.array_equal(found, network.eval()(x).double().numpy())


def test_thresholds_become_the_circuits() -> None:
    network = LogicNetwork(Thresholds.uniform(16, 3, learned=True), LogicDense(48, 30, seed=1, **RANDOM), GroupSum(3, beta=0.5))
    x = torch.rand(100, 16, generator=torch.Generator().manual_seed(3))
    circuit = Circuit.from_network(network)
    assert circuit.inputs is not None
    same_scores(network, x, circuit, circuit.inputs.bits(x.numpy()))
    scaled = Circuit.from_network(network, input_scale=256.0)
    assert scaled.inputs is not None
    assert np.array_equal(scaled.inputs.bits(256 * x.numpy()), circuit.inputs.bits(x.numpy()))


def test_the_circuit_is_that_of_evaluation_whatever_the_network_was_doing() -> None:
    network = LogicNetwork(LogicDense(12, 10, seed=1, **RANDOM), GroupSum(2)).train()
    bits = np.random.default_rng(0).integers(0, 2, (50, 12))
    in_training = Circuit.from_network(network).evaluate(bits)
    assert network.training
    assert np.array_equal(in_training, Circuit.from_network(network.eval()).evaluate(bits))


class Doubled(LogicDense):
    """A subclass that computes something else under the same name of a base."""


@pytest.mark.parametrize(
    ("network", "message"),
    [
        (nn.Sequential(LogicDense(4, 4), nn.Linear(4, 2)), r"network\[1\]: expected a layer .*, got Linear"),
        (nn.Sequential(nn.Sequential(LogicDense(4, 4), nn.ReLU())), r"network\[0\]\[1\]: .*, got ReLU"),
        (nn.Sequential(Doubled(4, 4)), "got Doubled"),
        (nn.Sequential(LogicDense(4, 4), nn.Dropout()), "got Dropout"),
        (nn.Sequential(LogicDense(4, 4), GroupSum(2), LogicDense(2, 2)), "expected nothing after GroupSum, got LogicDense"),
        (nn.Sequential(LogicDense(4, 4), Thresholds.uniform(4, 1)), "expected Thresholds first, got place 1"),
    ],
)
def test_a_layer_that_has_no_circuit_is_refused_by_name(network: nn.Module, message: str) -> None:
    with pytest.raises(RefusedError, match=message):
        Circuit.from_network(network)


def test_shapes_that_do_not_fit_are_told() -> None:
    with pytest.raises(ArgumentError, match="input_shape: expected the shape of one input, for LogicConv2d"):
        Circuit.from_network(nn.Sequential(LogicConv2d(1, 2)))
    with pytest.raises(ArgumentError, match=r"expected images \(channels, height, width\), got \(2, 5, 5\)"):
        Circuit.from_network(nn.Sequential(LogicConv2d(1, 2)), input_shape=(2, 5, 5))
    with pytest.raises(ArgumentError, match="expected 5 signals, got 4"):
        Circuit.from_network(nn.Sequential(LogicDense(4, 4), LogicDense(5, 2)))
    with pytest.raises(ArgumentError, match="expected positive sizes"):
        Circuit.from_network(nn.Sequential(nn.Flatten()), input_shape=(0, 2))
    with pytest.raises(ShapeError, match="a multiple of 3 classes"):
        Circuit.from_network(nn.Sequential(LogicDense(4, 4), GroupSum(3)))


def test_wires_in_floating_point_are_refused() -> None:
    layer = LogicDense(4, 4)
    layer.fixed_wiring = layer.fixed_wiring.float()
    with pytest.raises(ArgumentTypeError, match=r"expected integer wires, got torch\.float32"):
        Circuit.from_network(nn.Sequential(layer))
