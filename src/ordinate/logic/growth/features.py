"""Learned convolution features to grow on: the same small kernel looked for at every place of an image.

A kernel asks for a few pixels of a window to be ink or none (an AND of literals), at every place; the OR of 2 by 2 neighbouring
places is one feature, so that a stroke may stand a pixel further (as in LeCun et al. 1998, "Gradient-based learning applied to
document recognition", Proceedings of the IEEE 86(11)). Candidates are pieces of training images. Of these, kernels are taken
one after another, each for what a linear read-out of the ones before leaves over (in the manner of orthogonal least squares;
Chen, Billings and Luo 1989, International Journal of Control 50(5)).

Growth reads features as it reads pixels. In the circuit a kernel is paid at each place that some gate needs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ordinate.errors import ArgumentError

__all__ = ["Kernel", "PooledKernels", "learned_kernels"]

_WINDOW, _POOL = 5, 2
_TRIED, _LEARNED_FROM, _RIDGE = 160, 4000, 30.0


@dataclass(frozen=True)
class Kernel:
    """Literals of a window: `values[i]` is what the pixel `rows[i]`, `columns[i]` from its corner has to be."""

    rows: tuple[int, ...]
    columns: tuple[int, ...]
    values: tuple[bool, ...]


@dataclass(frozen=True)
class PooledKernels:
    """Kernels on images of a size, and the gates that they are.

    Args:
        size: height and width of the images.
        kernels: of windows of 5 by 5, all of as many literals.

    >>> pooled = PooledKernels((6, 6), (Kernel((0, 0), (0, 1), (True, False)),))
    >>> image = np.zeros((1, 6, 6), bool)
    >>> image[0, 1, 1] = True  # ink at (1, 1) and none to its right
    >>> pooled.num_features, np.unpackbits(pooled.packed(np.packbits(image.reshape(1, 36).T, axis=1)), axis=1)[:, 0].tolist()
    (1, [1])
    """

    size: tuple[int, int]
    kernels: tuple[Kernel, ...]

    @property
    def places(self) -> tuple[int, int]:
        """Features of a kernel, down and across."""
        return (self.size[0] - _WINDOW + 1) // _POOL, (self.size[1] - _WINDOW + 1) // _POOL

    @property
    def num_features(self) -> int:
        """Features of all kernels."""
        return len(self.kernels) * self.places[0] * self.places[1]

    @property
    def gates_a_feature(self) -> int:
        """Two-input gates that one feature is."""
        return _POOL * _POOL * len(self.kernels[0].rows) - 1

    def packed(self, pixels: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
        """Features [F, bytes] of packed pixels [height * width, bytes], eight images a byte."""
        down, across = self.places
        grid = pixels.reshape(*self.size, -1)
        out = np.zeros((len(self.kernels), down, across, grid.shape[2]), np.uint8)
        for number, kernel in enumerate(self.kernels):
            for row in range(_POOL * down):
                at = np.full((_POOL * across, grid.shape[2]), 255, np.uint8)
                for i, j, value in zip(kernel.rows, kernel.columns, kernel.values, strict=True):
                    literal = grid[row + i, j : j + _POOL * across]
                    at &= literal if value else ~literal
                np.bitwise_or(out[number, row // _POOL], at[0::2] | at[1::2], out=out[number, row // _POOL])
        return out.reshape(self.num_features, -1)

    def gates(self, feature: int, first: int) -> list[tuple[int, int, int]]:
        """The gates (table, first signal, second signal) of one feature, the last of them its output.

        Args:
            feature: its number.
            first: the signal that the first of these gates is; pixels are signals 0 to height * width - 1.
        """
        down, across = self.places
        kernel, place = self.kernels[feature // (down * across)], feature % (down * across)
        row, column = _POOL * (place // across), _POOL * (place % across)
        result: list[tuple[int, int, int]] = []

        def add(table: int, a: int, b: int) -> int:
            result.append((table, a, b))
            return first + len(result) - 1

        present = []
        for corner in range(_POOL * _POOL):
            top, left = row + corner // _POOL, column + corner % _POOL
            pixels = [(top + i) * self.size[1] + left + j for i, j in zip(kernel.rows, kernel.columns, strict=True)]
            # bit 2a + b of the table: the one corner where both literals hold
            signal = add(1 << (2 * kernel.values[0] + kernel.values[1]), pixels[0], pixels[1])
            for pixel, value in zip(pixels[2:], kernel.values[2:], strict=True):
                signal = add(8 if value else 4, signal, pixel)
            present.append(signal)
        while len(present) > 1:
            present = [add(14, *present[at : at + 2]) for at in range(0, len(present), 2)]
        return result


def learned_kernels(
    bits: npt.NDArray[np.bool_], labels: npt.NDArray[np.int64], count: int, *, literals: int = 3, seed: int = 0
) -> PooledKernels:
    """So many kernels, each the best of 160 pieces of images for what the ones before it leave over.

    Args:
        bits: training images [N, height, width], of ink or none.
        labels: class numbers [N].
        count: kernels.
        literals: pixels that a kernel looks at, at least 2.
        seed: of the draws.

    Raises:
        ArgumentError: images of less than 6 by 6 pixels.

    >>> images = np.random.default_rng(0).random((80, 8, 8)) > 0.5
    >>> len(learned_kernels(images, np.arange(80) % 2, 3).kernels)
    3
    """
    height, width = bits.shape[1:]
    if min(height, width) < _WINDOW + 1:
        raise ArgumentError("kernels", expected="images of at least 6 by 6 pixels", got=f"{height} by {width}")
    generator = np.random.default_rng(seed)
    drawn = generator.permutation(len(bits))[:_LEARNED_FROM]
    bits, labels = bits[drawn], labels[drawn]
    tried = [_piece(bits, literals, generator) for _ in range(max(_TRIED, 2 * count))]
    packed = np.packbits(bits.reshape(len(bits), -1).T, axis=1)
    features = []
    for kernel in tried:
        of_kernel = PooledKernels((height, width), (kernel,)).packed(packed)
        centred = np.unpackbits(of_kernel, axis=1, count=len(bits)).T.astype(np.float32)
        centred -= centred.mean(0)
        # explained(r) = |(F^T F + ridge)^(-1/2) F^T r|^2
        lower = np.linalg.cholesky(centred.T @ centred + _RIDGE * np.eye(centred.shape[1], dtype=np.float32))
        features.append((centred, np.linalg.inv(lower)))
    targets = np.eye(labels.max() + 1, dtype=np.float32)[labels]
    targets -= targets.mean(0)
    left, similar, chosen = targets, _RIDGE * np.eye(len(bits), dtype=np.float32), []
    for _ in range(count):
        gain = [-1.0 if n in chosen else float(((whiten @ (f.T @ left)) ** 2).sum()) for n, (f, whiten) in enumerate(features)]
        chosen.append(int(np.argmax(gain)))
        added = features[chosen[-1]][0]
        similar += added @ added.T
        left = (_RIDGE * np.linalg.solve(similar, targets)).astype(
            np.float32
        )  # the residual of ridge regression in its dual form
    return PooledKernels((height, width), tuple(tried[number] for number in chosen))


def _piece(bits: npt.NDArray[np.bool_], literals: int, generator: np.random.Generator) -> Kernel:
    """Some pixels of a window of an image that is neither empty nor full, with an edge among them where one can be present."""
    height, width = bits.shape[1:]
    for attempt in range(100):
        image = bits[generator.integers(len(bits))]
        row, column = generator.integers(height - _WINDOW + 1), generator.integers(width - _WINDOW + 1)
        places = generator.permutation(_WINDOW * _WINDOW)[:literals]
        rows, columns = places // _WINDOW, places % _WINDOW
        values = image[row + rows, column + columns]
        if 0 < values.sum() < literals or attempt == 99:
            break
    return Kernel(tuple(rows.tolist()), tuple(columns.tolist()), tuple(values.tolist()))
