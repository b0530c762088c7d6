"""Tables of positions with several axes, and the properties that need no formula.

A table for a grid that starts at an offset is that part of a larger grid's table. What the table holds (angles, cosines and
sines, vectors) does not matter for that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ordinate.verify.adapters.calling import Callee, Subject
from ordinate.verify.observation import Comparison, Fact, Observation, Property, Unsupported

__all__ = ["AXIAL", "AxialSubject", "Grid", "adapt_axial"]


@dataclass(frozen=True)
class Grid:
    """The size of the probes, each side another, and whether coordinates do not depend on it."""

    size: tuple[int, ...]
    ends_within: bool


class AxialSubject(Subject):
    """A table: `table(size, offset)` to [*size, ...]."""

    def __init__(self, callee: Callee) -> None:
        super().__init__(callee, "(size, offset)", None)

    def table(self, size: Sequence[int], offset: Sequence[int] | None = None) -> Tensor:
        """The table of a grid that starts at an offset."""
        arguments: list[Any] = [tuple(size)] + ([] if offset is None else [tuple(offset)])
        answer = self.callee.call(arguments, {})
        if isinstance(answer, tuple | list):
            answer = torch.cat([self.callee.tensor(part) for part in answer], -1)
        table = self.callee.tensor(answer).detach()
        if tuple(table.shape[: len(size)]) != tuple(size):
            if table.shape[0] != torch.Size(size).numel():
                raise Unsupported(f"it returned shape {tuple(table.shape)} for a grid of {tuple(size)}")
            table = table.reshape(*size, *table.shape[1:])
        return table


def adapt_axial(subject: Any, settings: Grid, **calling: Any) -> AxialSubject:
    """The subject, called with a size and perhaps an offset."""
    return AxialSubject(Callee(subject, **calling))


def _answers(subject: AxialSubject, grid: Grid) -> Observation:
    table = subject.fresh().table(grid.size)
    return Observation(
        facts=[Fact(bool(table.isfinite().all()), "numbers of the table are not finite")], note=f"shape {tuple(table.shape)}"
    )


def _offsets(subject: AxialSubject, grid: Grid) -> Observation:
    _part_of_larger(grid)
    comparisons = []
    for offset in ((1,) + (0,) * (len(grid.size) - 1), (0,) * (len(grid.size) - 1) + (2,), (2,) * len(grid.size)):
        larger = subject.fresh().table([side + start for side, start in zip(grid.size, offset, strict=True)])
        expected = larger[tuple(slice(start, None) for start in offset)]
        comparisons.append(_compare(f"table at offset {offset}", subject.fresh().table(grid.size, offset), expected))
    return Observation(comparisons)


def _offsets_after(subject: AxialSubject, grid: Grid) -> Observation:
    """On one object, after a table without an offset: what was kept for it must not be given for another."""
    _part_of_larger(grid)
    offset, running = (2,) * len(grid.size), subject.fresh()
    running.table([side + 4 for side in grid.size])
    larger = subject.fresh().table([side + 2 for side in grid.size])
    expected = larger[tuple(slice(2, None) for _ in grid.size)]
    return Observation(
        [_compare(f"table at offset {offset} after a larger one at 0", running.table(grid.size, offset), expected)]
    )


def _part_of_larger(grid: Grid) -> None:
    if not grid.ends_within:
        raise Unsupported("its coordinates depend on the grid's size, as it is meant")


def _nested(subject: AxialSubject, grid: Grid) -> Observation:
    _part_of_larger(grid)
    larger = subject.fresh().table([side + 3 for side in grid.size])
    expected = larger[tuple(slice(0, side) for side in grid.size)]
    return Observation([_compare("table beside the corner of a larger one", subject.fresh().table(grid.size), expected)])


def _earlier(subject: AxialSubject, grid: Grid) -> Observation:
    running = subject.fresh()
    first = running.table(grid.size).clone()
    running.table([side + 5 for side in grid.size])
    return Observation([_compare("table after a larger one", running.table(grid.size), first)])


def _axes(subject: AxialSubject, grid: Grid) -> Observation:
    table = subject.fresh().table(grid.size).double()
    moves = [float((table.select(axis, 1) - table.select(axis, 0)).abs().max()) for axis in range(len(grid.size))]
    still = [axis for axis, move in enumerate(moves) if move < 1e-9]
    return Observation(
        facts=[Fact(not still, f"along axes {still} nothing changes" if still else "every axis changes something")]
    )


def _compare(what: str, got: Tensor, expected: Tensor) -> Comparison:
    axes: list[Any] = [f"axis {axis}" for axis in range(got.ndim - 1)] + ["channel"]
    return Comparison(what, got, expected.double(), 1e-5 * (1 + expected.double().abs()), axes)


AXIAL = (
    Property("answers-in-kind", "A finite table [*size, ...]", _answers),
    Property("every-axis", "Every axis changes something", _axes),
    Property("nested", "A grid is the corner of a larger one", _nested),
    Property("offsets", "A grid at an offset is that part of a larger one", _offsets),
    Property("offsets-after", "So it is after a table without an offset", _offsets_after),
    Property("earlier-calls", "A result does not depend on earlier calls", _earlier),
)
