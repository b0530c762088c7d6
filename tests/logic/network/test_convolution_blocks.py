"""Blocks of convolutions: their shapes, their count of gates against the circuit's own nodes, refusals."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from ordinate.errors import ArgumentError
from ordinate.logic import Circuit, GroupSum, LogicConv2d, LogicDense, LogicNetwork
from ordinate.logic.network.convolution_blocks import ConvolutionBlock, convolution_layers, gates_at_every_place

BLOCKS = [ConvolutionBlock(4, depth=3, stride=2, pooling=3), ConvolutionBlock(6, padding=1, channels_read=2, pooling=1)]


def network(seed: int = 0) -> LogicNetwork:
    layers, shape = convolution_layers(BLOCKS, (15, 13), seed=seed, initialisation="random")
    assert shape == (6, 2, 2)
    return LogicNetwork(*layers, nn.Flatten(-3), LogicDense(24, 20, seed=seed), GroupSum(2)).eval()


def test_gates_at_every_place_are_the_nodes_of_the_circuit() -> None:
    found = network()
    nodes = Circuit.from_network(found, input_shape=(1, 15, 13)).num_nodes
    assert gates_at_every_place(found, torch.zeros(1, 15, 13)) == nodes - 1  # the constant that padding reads is no gate
    # by hand: 7 by 6 places of 4 trees of 7 gates, windows of 9 pooled to 2 by 2; 4 places of 6 trees of 3 gates; dense
    assert nodes - 1 == 42 * 4 * 7 + 4 * 4 * 8 + 4 * 6 * 3 + 20


def test_a_circuit_of_blocks_answers_as_the_network_does() -> None:
    found = network(seed=3)
    images = torch.randint(0, 2, (60, 1, 15, 13), generator=torch.Generator().manual_seed(0))
    circuit = Circuit.from_network(found, input_shape=(1, 15, 13))
    scores = torch.from_numpy(circuit.evaluate(images.flatten(1)))
    assert torch.equal(scores, found(images.float()).to(scores.dtype))
    assert len(scores.unique()) > 3


@pytest.mark.parametrize("read", [1, 2])
def test_a_kernel_reads_from_no_more_channels_than_it_may(read: int) -> None:
    layer = LogicConv2d(8, 20, depth=3, channels_read=read, seed=2)
    channels = layer.leaves // 9
    assert {len(row.unique()) for row in channels} == {read}
    assert channels.unique().tolist() == list(range(8))  # and all kernels together from all of them
    pairs = layer.leaves.reshape(20, -1, 2)
    assert (pairs[..., 0] != pairs[..., 1]).all()


REFUSED = [
    ([ConvolutionBlock(4), ConvolutionBlock(4, pooling=4)], "pooling: expected a window within the 1 by 1 that convolution 2"),
    ([ConvolutionBlock(4), ConvolutionBlock(4, receptive_field=5)], "at least 5 by 5.*got 3 by 3"),
    ([ConvolutionBlock(0)], "out_channels: expected an integer of at least 1, got 0"),
    ([ConvolutionBlock(4, channels_read=-1)], "channels_read: expected 0 for all, or more, got -1"),
    ([ConvolutionBlock(4, pooling=0)], "kernel_size: expected an integer of at least 1, got 0"),
]


@pytest.mark.parametrize(("blocks", "message"), REFUSED)
def test_blocks_that_do_not_fit_are_refused(blocks: list[ConvolutionBlock], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        convolution_layers(blocks, (8, 8))
