"""Article D's three networks for MNIST: a convolution of gates, dense layers and votes; trained, made discrete, simplified.

The article names kernels, the hidden layers and iterations. What it leaves open is ours: trees of depth 3 that read windows of
5 by 5 (3 by 3 on small images), the OR of windows of 2 by 2 behind them, and 100 images an iteration.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import nn

from ordinate.data import Digits, DigitSet
from ordinate.logic import (
    Circuit,
    ConvolutionBlock,
    GroupSum,
    LogicDense,
    LogicNetwork,
    Thresholds,
    TrainingSettings,
    accuracy,
    convolution_layers,
    gates_at_every_place,
    train,
)

__all__ = ["ARTICLE", "BATCH", "Configuration", "Trained", "network", "trained"]

BATCH = 100


@dataclass(frozen=True)
class Configuration:
    """One row of the article's table.

    Args:
        kernels: of the convolution, 0 for none.
        widths: gates of the dense layers.
        iterations: steps of training.
        gates: after simplification, as the article has it.
        accuracy: of the discrete network, as the article has it.
    """

    kernels: int
    widths: tuple[int, ...]
    iterations: int
    gates: int
    accuracy: float

    @property
    def name(self) -> str:
        """Such as "kernel 16, hidden 4,000 x 2"."""
        alike = len(set(self.widths)) == 1
        hidden = f"{self.widths[0]:,}" + (f" x {len(self.widths)}" if len(self.widths) > 1 and alike else "")
        hidden = hidden if alike else " and ".join(f"{width:,}" for width in self.widths)
        return f"kernel {self.kernels}, hidden {hidden}" if self.kernels else f"no convolution, hidden {hidden}"

    def but(self, **changes: object) -> Configuration:
        """The same with some fields changed."""
        return replace(self, **changes)  # type: ignore[arg-type]


ARTICLE = (
    Configuration(4, (100,), 600, 973, 0.9927),
    Configuration(8, (400,), 3_000, 2_961, 0.669),
    Configuration(16, (4_000, 4_000), 30_000, 12_207, 0.9485),
)


@dataclass(frozen=True, eq=False)
class Trained:
    """What a configuration came to.

    Args:
        configuration: with the iterations that were run.
        gates: at every place, before simplification.
        simplified: gates of the circuit after it.
        accuracy: of the discrete network on the test images.
        circuit: simplified.
    """

    configuration: Configuration
    gates: int
    simplified: int
    accuracy: float
    circuit: Circuit


def network(configuration: Configuration, data: Digits, seed: int) -> LogicNetwork:
    """The untrained network, which takes pixels [N, height * width]."""
    height, width = data.size
    layers: list[nn.Module] = [Thresholds(torch.full((height * width, 1), float(data.threshold)))]
    features = height * width
    if configuration.kernels:
        block = ConvolutionBlock(configuration.kernels, receptive_field=5 if height > 16 else 3, depth=3)
        convolutions, shape = convolution_layers([block], data.size, seed=100 * seed + 50)
        layers += [nn.Unflatten(1, (1, height, width)), *convolutions, nn.Flatten()]
        features = math.prod(shape)
    for place, gates in enumerate(configuration.widths):
        layers.append(LogicDense(features, gates, seed=100 * seed + place))
        features = gates
    votes = features / len(data.classes)
    return LogicNetwork(*layers, GroupSum(len(data.classes), tau=max(1.0, math.sqrt(votes) / 2.8)))


def trained(
    configuration: Configuration, data: Digits, seed: int, on_epoch: Callable[[int, int], None] | None = None
) -> Trained:
    """Train it for its iterations, make it discrete and simplify the circuit.

    Args:
        configuration: what to train.
        data: the digits.
        seed: of wiring, gates and order.
        on_epoch: called after each epoch with its number and how many there are.
    """

    def pixels(part: DigitSet) -> tuple[torch.Tensor, torch.Tensor]:
        return torch.from_numpy(part.images.reshape(len(part), -1)), torch.from_numpy(part.labels)

    epochs = max(1, round(configuration.iterations * BATCH / len(data.train)))
    settings = TrainingSettings(epochs=epochs, batch_size=BATCH, learning_rate=0.1, patience=epochs, seed=seed)
    net = network(configuration, data, seed)
    report = (lambda done: on_epoch(done.epoch, epochs)) if on_epoch is not None else None
    train(net, pixels(data.train), pixels(data.validation), settings, on_epoch=report)
    test = pixels(data.test)
    circuit = Circuit.from_network(net).simplify(sat=False)
    return Trained(
        configuration, gates_at_every_place(net, test[0][0].float()), circuit.num_gates, accuracy(net, test), circuit
    )
