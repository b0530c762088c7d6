"""Trained circuits of about so many gates, on images of MNIST's size, for the claims on speed and on chips (D20, D21).

The images are scikit-learn's 8 by 8 digits, each pixel drawn as 3 by 3 and a frame around it: 28 by 28 bytes, as in MNIST.
What a circuit costs depends on its gates and on the size of the image, not on what the image shows.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import torch

from ordinate.data import Digits
from ordinate.logic import Circuit, GroupSum, LogicDense, LogicNetwork, Thresholds, TrainingSettings, accuracy, train

__all__ = ["enlarged", "trained_circuit"]


def enlarged(images: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """Images [N, 8, 8] as [N, 784]."""
    return np.pad(np.kron(images, np.ones((1, 3, 3), np.uint8)), ((0, 0), (2, 2), (2, 2))).reshape(len(images), -1)


def trained_circuit(gates: int, data: Digits, seed: int, *, epochs: int = 4) -> tuple[Circuit, float]:
    """Two layers of so many gates in all, trained on enlarged digits; the circuit of bytes, and its accuracy on the "
    "test images."""
    width = gates // 2 // 10 * 10
    net = LogicNetwork(
        Thresholds(torch.full((784, 1), float(data.threshold))),
        LogicDense(784, gates - width, initialisation="random", seed=100 * seed),
        LogicDense(gates - width, width, initialisation="random", seed=100 * seed + 1),
        GroupSum(10, tau=max(1.0, math.sqrt(width / 10) / 2.8)),
    )
    parts = [
        (torch.from_numpy(enlarged(part.images)), torch.from_numpy(part.labels))
        for part in (data.train, data.validation, data.test)
    ]
    train(net, parts[0], parts[1], TrainingSettings(epochs=epochs, batch_size=64, learning_rate=0.2, seed=seed))
    return Circuit.from_network(net), accuracy(net, parts[2])
