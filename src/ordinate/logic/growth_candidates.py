"""Which new gates would help most: every pair of signals under every genuine two-input function, in one matrix product a class.

With signals x, y and residuals r (what is missing to the right answer), a gate g = a0 + a1 x + a2 y + a3 x y changes the loss
by its correlation with r, and sum r g = a1 sum r x + a2 sum r y + a3 (X diag(r) X^T)[x, y], as residuals that sum to zero drop
a0. So one product X diag(r) X^T scores all pairs under all ten functions. A gate and its complement are one, as a vote against
is a vote for the complement: five functions remain. Residuals stand for functional gradients (Friedman 2001, "Greedy function
approximation", Annals of Statistics 29(5), section 4.6).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

__all__ = ["Candidates", "best_pairs"]

_FORMS = (8, 4, 2, 1, 6)
"""and; a and not b; not a and b; nor; xor: the ten genuine gates up to their complement."""
_USES = 12
"""Candidates that one signal may stand in: a signal that is in all of them leaves no choice."""


class Candidates(NamedTuple):
    """Gates that might be grown: truth tables, first and second signals, each int64 [C], best first."""

    tables: npt.NDArray[np.int64]
    first: npt.NDArray[np.int64]
    second: npt.NDArray[np.int64]


def best_pairs(
    rows: npt.NDArray[np.int64],
    columns: npt.NDArray[np.int64],
    x_rows: Tensor,
    x_columns: Tensor,
    residuals: Tensor,
    votes: int,
    wanted: int,
) -> Candidates:
    """The gates on a row and a column signal that correlate most with the residuals.

    Args:
        rows: signals [R], the first inputs.
        columns: signals [C], the second inputs.
        x_rows: their bits [R, n], float32.
        x_columns: likewise [C, n].
        residuals: [K, n], weighted; each class sums to about zero.
        votes: classes that a gate may vote on: its score is the sum of that many largest absolute correlations, for 3 and
            more that of all.
        wanted: how many.

    >>> x = torch.tensor([[0.0, 0, 1, 1], [0, 1, 0, 1]])
    >>> both = np.arange(2)
    >>> found = best_pairs(both, both, x, x, torch.tensor([[-1.0, 1, 1, -1]]), votes=1, wanted=1)
    >>> found.tables.tolist()  # the residual of xor asks for xor
    [6]
    """
    shape = (len(_FORMS), len(rows), len(columns))
    largest, least, total = torch.full(shape, -torch.inf), torch.full(shape, torch.inf), torch.zeros(shape)
    for r in residuals - residuals.mean(1, keepdim=True):
        weighted = x_rows * r
        both = weighted @ x_columns.T
        x, y = weighted.sum(1, keepdim=True), (x_columns @ r).unsqueeze(0)
        for form, score in enumerate((both, x - both, y - both, both - x - y, x + y - 2 * both)):
            if votes > 2:
                total[form] += score.abs_()
            else:
                torch.maximum(largest[form], score, out=largest[form])
                torch.minimum(least[form], score, out=least[form])
    gain = total if votes > 2 else largest - least if votes == 2 else torch.maximum(largest, -least)
    gain[:, torch.from_numpy(rows[:, None] == columns[None, :])] = -1.0
    order = gain.flatten().topk(min(gain.numel(), 4 * wanted + 16)).indices.numpy()
    forms, row, column = np.unravel_index(order, shape)
    return _varied(np.array(_FORMS)[forms], rows[row], columns[column], gain.flatten()[order].numpy(), wanted)


def _varied(
    tables: npt.NDArray[np.int64],
    first: npt.NDArray[np.int64],
    second: npt.NDArray[np.int64],
    gain: npt.NDArray[np.float32],
    wanted: int,
) -> Candidates:
    """The first of each gate, no signal in more than `_USES`."""
    seen: set[tuple[int, int, int]] = set()
    uses: dict[int, int] = {}
    kept = []
    gates = zip(tables.tolist(), first.tolist(), second.tolist(), strict=True)
    for place, (table, a, b) in enumerate(gates):
        swapped = {4: 2, 2: 4}.get(table, table)
        gate = (table, a, b) if a < b else (swapped, b, a)
        if gain[place] <= 0 or gate in seen or uses.get(a, 0) >= _USES or uses.get(b, 0) >= _USES:
            continue
        seen.add(gate)
        uses[a], uses[b] = uses.get(a, 0) + 1, uses.get(b, 0) + 1
        kept.append(place)
        if len(kept) == wanted:
            break
    return Candidates(tables[kept], first[kept], second[kept])
