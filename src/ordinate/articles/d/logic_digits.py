"""What the claims on logic-gate networks share: the digits they are measured on, networks of a size, and their accuracy."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

from ordinate.data import Digits, DigitSet, digits
from ordinate.lab.claim import Inputs
from ordinate.logic import GroupSum, LogicDense, LogicNetwork

__all__ = ["EMBEDDED_ONLY", "digits_for", "examples", "network", "one_thread"]

EMBEDDED_ONLY = "--full, and a folder of MNIST's IDX files (--data, or data/mnist beside the working directory)"


def digits_for(inputs: Inputs, classes: tuple[int, ...] | None = None, validation: float = 1 / 12) -> Digits:
    """MNIST where all is asked for and its folder is there, else the embedded 8 by 8 digits."""
    folder = inputs.data_folder("mnist") if inputs.full else None
    return digits(folder, classes=classes, validation=validation, seed=inputs.seeds[0])


def examples(part: DigitSet, threshold: float) -> tuple[Tensor, Tensor]:
    """Bits uint8 [N, pixels] and labels, as training wants them."""
    return torch.from_numpy(part.bits(threshold)), torch.from_numpy(part.labels)


def network(features: int, gates: int, depth: int, num_classes: int, seed: int, **settings: object) -> LogicNetwork:
    """About so many gates in `depth` layers of random wiring; the last layer is a multiple of the classes, so never more."""
    width = gates // depth // num_classes * num_classes
    widths = [gates // depth] * (depth - 1) + [width]
    layers = []
    for place, wide in enumerate(widths):
        layers.append(LogicDense(features, wide, seed=100 * seed + place, **settings))  # type: ignore[arg-type]
        features = wide
    return LogicNetwork(*layers, GroupSum(num_classes, tau=max(1.0, math.sqrt(width / num_classes) / 2.8)))


@contextmanager
def one_thread() -> Iterator[None]:
    """Torch on one thread: the operations here are small, and threads would mostly wait for each other."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
