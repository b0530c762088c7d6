"""C11, images: on a grid of 4 by 7 the product of two cells must depend on the two offsets, which one running number loses."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from ordinate.lab.figures import canvas, heat_map, to_svg
from ordinate.lab.measurement import Check, Figure, Role, Table
from ordinate.position import Sinusoidal, indices

__all__ = ["grid_checks"]

_HEIGHT, _WIDTH, _DIM = 4, 7, 64


def grid_checks(
    encode: Callable[[Tensor], Tensor], rotate: Callable[[Tensor, Tensor], Tensor], seed: int
) -> tuple[list[Check], Table, Figure]:
    """The part of C11 on images.

    Args:
        encode: positions [T, 2] to vectors [T, 64].
        rotate: x [1, 1, T, 64] and positions [T, 2] to x turned.
        seed: of the query and the key.
    """
    cells = indices.grid(_HEIGHT, _WIDTH)
    vectors = encode(cells)
    products = vectors @ vectors.T
    counted = Sinusoidal(_DIM).encode(indices.consecutive(len(cells)), dtype=torch.float64)
    row = counted @ counted.T
    # the trap of a grid that is not square: 28 cells also make 7 by 4
    exchanged = encode(indices.grid(_WIDTH, _HEIGHT))

    generator = torch.Generator().manual_seed(seed)
    query, key = torch.randn(2, 1, 1, 1, _DIM, generator=generator, dtype=torch.float64)
    turned = [rotate(x.expand(1, 1, len(cells), _DIM), cells)[0, 0] for x in (query, key)]
    scores = turned[0] @ turned[1].T

    below, beside = products[0, _WIDTH], products[0, 1]
    row_below, row_beside = row[0, _WIDTH], row[0, 1]
    checks = [
        Check.at_most(
            "spread of the product at one offset (rows, columns), sinusoids of y and x", _spread(products, cells), 1e-9
        ),
        Check.at_most("spread of the score at one offset, axial RoPE", _spread(scores, cells), 1e-9),
        Check.at_least("distance of the nearest two of 28 cells", float(_nearest(vectors)), 0.1),
        Check.near("product with the cell below over that with the cell beside", float(below / beside), 1.0, 1e-9),
        Check.at_most(
            "the same for one running number, which puts the cell below 7 away",
            float(row_below / row_beside),
            0.9,
            role=Role.CONTROL,
        ),
        Check.at_least(
            "difference if height and width are exchanged", float((vectors - exchanged).abs().max()), 0.1, role=Role.CONTROL
        ),
    ]
    table = Table(
        "Product with the vector of the first cell, 1 for the cell itself",
        ("encoding", "cell beside, (0, 1)", "cell below, (1, 0)", "end of the row, (0, 6)", "far corner, (3, 6)"),
        [
            (name, *(float(matrix[0, cell] / matrix[0, 0]) for cell in (1, _WIDTH, _WIDTH - 1, len(cells) - 1)))
            for name, matrix in (("of y and x", products), ("of one running number", row))
        ],
    )
    return checks, table, _picture(products, row)


def _spread(matrix: Tensor, cells: Tensor) -> float:
    """The widest range of values among pairs of cells with the same offset."""
    offsets = cells[:, None] - cells
    by_offset: dict[tuple[int, int], list[float]] = {}
    for offset, value in zip(offsets.flatten(0, 1).tolist(), matrix.flatten().tolist(), strict=True):
        by_offset.setdefault((offset[0], offset[1]), []).append(value)
    return max(max(values) - min(values) for values in by_offset.values())


def _nearest(vectors: Tensor) -> Tensor:
    apart = torch.cdist(vectors, vectors)
    return (apart + torch.diag(torch.full((len(vectors),), torch.inf, dtype=apart.dtype))).min()


def _picture(products: Tensor, row: Tensor) -> Figure:
    middle = _WIDTH + 3  # the cell in row 1, column 3
    with canvas(2, height=2.9) as (figure, axes):
        for one, matrix, title in zip(axes, (products, row), ("x and y", "One running number"), strict=True):
            values = (matrix[middle] / matrix[middle, middle]).reshape(_HEIGHT, _WIDTH).numpy()
            heat_map(one, values, label="product with the cell in row 1, column 3", lower=0.3, upper=1)
            one.set(title=title, xlabel="column (patches)", xticks=range(_WIDTH), yticks=range(_HEIGHT))
        axes[0].set_ylabel("row (patches)")
        svg = to_svg(figure)
    return Figure(
        "grid",
        svg,
        caption="How near each cell of a 4 by 7 grid is to the cell in row 1, column 3: with sinusoids of y and x, and with "
        "sinusoids of one running number.",
        alt="Two heat maps of 4 by 7. Left, values fall off alike in all four directions from the bright cell. Right, only the "
        "cells in the same row are bright; the cell below looks as far away as one seven to the side.",
    )
