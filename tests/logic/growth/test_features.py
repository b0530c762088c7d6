"""Convolution features: what a kernel finds, the gates that it is, and circuits that grow on it."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from ordinate.data import digits
from ordinate.errors import ArgumentError
from ordinate.logic import GrowthSettings, grow
from ordinate.logic.growth import scoring, state
from ordinate.logic.growth.features import Kernel, PooledKernels, learned_kernels
from ordinate.logic.growth.scoring import best_pairs

KERNELS = (Kernel((0, 1, 4), (2, 2, 0), (True, False, True)), Kernel((3, 0, 2), (4, 1, 2), (False, False, True)))


def found(images: np.ndarray, kernel: Kernel) -> np.ndarray:
    """Place by place: is the kernel at any of the four places that a feature gathers?"""
    count, height, width = images.shape
    down, across = (height - 4) // 2, (width - 4) // 2
    out = np.zeros((count, down, across), bool)
    for n in range(count):
        for row in range(2 * down):
            for column in range(2 * across):
                literals = zip(kernel.rows, kernel.columns, kernel.values, strict=True)
                out[n, row // 2, column // 2] |= all(images[n, row + i, column + j] == v for i, j, v in literals)
    return out.reshape(count, -1)


def test_features_are_the_kernel_at_any_of_four_places_and_so_are_their_gates() -> None:
    images = np.random.default_rng(0).random((21, 9, 8)) > 0.5
    pooled = PooledKernels((9, 8), KERNELS)
    packed = pooled.packed(np.packbits(images.reshape(21, -1).T, axis=1))
    expected = np.concatenate([found(images, kernel) for kernel in KERNELS], 1)
    assert expected.any()
    assert not expected.all()
    assert np.array_equal(np.unpackbits(packed, axis=1, count=21).T.astype(bool), expected)
    for feature in range(pooled.num_features):
        signals = list(images.reshape(21, -1).T.astype(int))
        gates = pooled.gates(feature, first=len(signals))
        assert len(gates) == pooled.gates_a_feature == 11
        for table, a, b in gates:
            signals.append(table >> (2 * signals[a] + signals[b]) & 1)
        assert np.array_equal(signals[-1], expected[:, feature])


def test_a_kernel_that_tells_the_classes_is_learned_before_others() -> None:
    generator = np.random.default_rng(1)
    images = np.zeros((400, 10, 10), bool)
    labels = np.arange(400) % 2
    for image, label in zip(images, labels, strict=True):  # a stroke down or across, anywhere
        row, column = generator.integers(0, 7, 2)
        image[row : row + 3, column] = label
        image[row, column : column + 3] |= not label
    (kernel,) = learned_kernels(images, labels, 1, seed=3).kernels
    held = found(images, kernel)
    # linear read-out of its features alone, by least squares
    design = np.column_stack((held, np.ones(400)))
    answer = design @ np.linalg.lstsq(design, labels, rcond=None)[0] > 0.5
    assert (answer == labels).mean() > 0.85


def test_a_circuit_grown_on_features_is_what_was_scored_and_keeps_to_its_gates() -> None:
    data = digits()
    parts = [(part.images, part.labels) for part in (data.train, data.validation)]
    settings = GrowthSettings(gates=150, copies=0, kernels=2, step=6, replacements=1).quick()
    grown = grow(*parts, data.threshold, settings)
    assert grown.circuit.num_gates <= 150
    scores = torch.from_numpy(grown.circuit.evaluate(data.validation.bits(data.threshold)))
    loss = float(torch.nn.functional.cross_entropy(scores, torch.from_numpy(data.validation.labels)))
    assert loss == pytest.approx(min(told.validation_loss for told in grown.rounds), abs=1e-5)


def test_without_numba_the_same_circuit_grows(monkeypatch: pytest.MonkeyPatch) -> None:
    data = digits(classes=(3, 8))
    parts = [(part.images, part.labels) for part in (data.train, data.validation)]
    circuits = []
    for compiled in (scoring.COMPILED, False):
        monkeypatch.setattr(scoring, "COMPILED", compiled)
        monkeypatch.setattr(state, "COMPILED", compiled)
        circuits.append(grow(*parts, data.threshold, GrowthSettings(gates=24, copies=1, thinned=2, afresh=4).quick()).circuit)
    assert circuits[0].num_gates > 4
    for name in ("tables", "inputs_a", "inputs_b", "bias"):
        assert np.array_equal(getattr(circuits[0], name), getattr(circuits[1], name))


@pytest.mark.parametrize("votes", [1, 2, 3])
def test_pairs_that_are_best_on_a_part_are_scored_on_all(votes: int) -> None:
    generator = torch.Generator().manual_seed(votes)
    x = (torch.rand(12, 900, generator=generator) > 0.5).float()
    residuals = torch.randn(4, 900, generator=generator)
    residuals[0] += 2 * (x[3] * x[7])  # what one pair explains
    signals = np.arange(12)
    thinned = best_pairs(signals, signals, x, x, residuals, votes, 5, thinned=3)
    whole = best_pairs(signals, signals, x, x, residuals, votes, 5)
    assert {int(thinned.first[0]), int(thinned.second[0])} == {3, 7}
    assert thinned.tables[0] == whole.tables[0] == 8


def test_features_want_images_of_one_threshold() -> None:
    rows, labels = np.random.default_rng(0).random((40, 5)), np.arange(40) % 2
    with pytest.raises(ArgumentError, match=r"kernels: expected 0, or images \[N, height, width\]"):
        grow((rows, labels), (rows, labels), 0.5, GrowthSettings(gates=4, kernels=2))
    small = np.zeros((40, 5, 5), np.uint8)
    small[::2, 2] = 200
    with pytest.raises(ArgumentError, match="kernels: expected images of at least 6 by 6 pixels, got 5 by 5"):
        grow((small, labels), (small, labels), 95, GrowthSettings(gates=4, kernels=2))
