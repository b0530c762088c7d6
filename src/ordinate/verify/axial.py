"""`check_axial`: tables of positions with several axes, held to the laws that need no formula.

A table for a grid that starts at an offset is that part of a larger grid's table. What the table holds (angles, cosines and
sines, vectors) does not matter for that.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ordinate.verify.adapters.native import Native
from ordinate.verify.names import chosen, name_of
from ordinate.verify.observe import observed_in_turn
from ordinate.verify.seen import Compared, Fact, Property, Seen, unsupported
from ordinate.verify.verdict import Verdict

__all__ = ["check_axial"]


@dataclass(frozen=True)
class _Grid:
    size: tuple[int, ...]
    ends_within: bool


class _AxialSubject:
    """A table in one shape: `table(size, offset)` to [*size, ...]."""

    def __init__(self, native: Native) -> None:
        self.native = native
        self.remembered: dict[str, Any] = {}

    def fresh(self) -> _AxialSubject:
        return _AxialSubject(self.native.fresh())

    def table(self, size: Sequence[int], offset: Sequence[int] | None = None) -> Tensor:
        arguments: list[Any] = [tuple(size)] + ([] if offset is None else [tuple(offset)])
        answer = self.native.call(arguments, {})
        if isinstance(answer, tuple | list):
            answer = torch.cat([self.native.tensor(part) for part in answer], -1)
        table = self.native.tensor(answer).detach()
        if tuple(table.shape[: len(size)]) != tuple(size):
            if table.shape[0] != torch.Size(size).numel():
                raise unsupported(f"it returned shape {tuple(table.shape)} for a grid of {tuple(size)}")
            table = table.reshape(*size, *table.shape[1:])
        return table


def _answers(subject: _AxialSubject, grid: _Grid) -> Seen:
    table = subject.fresh().table(grid.size)
    return Seen(
        facts=[Fact(bool(table.isfinite().all()), "numbers of the table are not finite")], note=f"shape {tuple(table.shape)}"
    )


def _offsets(subject: _AxialSubject, grid: _Grid) -> Seen:
    compared = []
    for offset in ((1,) + (0,) * (len(grid.size) - 1), (0,) * (len(grid.size) - 1) + (2,), (2,) * len(grid.size)):
        larger = subject.fresh().table([side + start for side, start in zip(grid.size, offset, strict=True)])
        expected = larger[tuple(slice(start, None) for start in offset)]
        compared.append(_compared(f"table at offset {offset}", subject.fresh().table(grid.size, offset), expected))
    return Seen(compared)


def _offsets_after(subject: _AxialSubject, grid: _Grid) -> Seen:
    """On one object, after a table without an offset: what was kept for it must not be given for another."""
    offset, running = (2,) * len(grid.size), subject.fresh()
    running.table([side + 4 for side in grid.size])
    larger = subject.fresh().table([side + 2 for side in grid.size])
    expected = larger[tuple(slice(2, None) for _ in grid.size)]
    return Seen([_compared(f"table at offset {offset} after a larger one at 0", running.table(grid.size, offset), expected)])


def _nested(subject: _AxialSubject, grid: _Grid) -> Seen:
    if not grid.ends_within:
        raise unsupported("its coordinates depend on the grid's size, as it is meant")
    larger = subject.fresh().table([side + 3 for side in grid.size])
    expected = larger[tuple(slice(0, side) for side in grid.size)]
    return Seen([_compared("table beside the corner of a larger one", subject.fresh().table(grid.size), expected)])


def _earlier(subject: _AxialSubject, grid: _Grid) -> Seen:
    running = subject.fresh()
    first = running.table(grid.size).clone()
    running.table([side + 5 for side in grid.size])
    return Seen([_compared("table after a larger one", running.table(grid.size), first)])


def _axes(subject: _AxialSubject, grid: _Grid) -> Seen:
    table = subject.fresh().table(grid.size).double()
    moves = [float((table.select(axis, 1) - table.select(axis, 0)).abs().max()) for axis in range(len(grid.size))]
    still = [axis for axis, move in enumerate(moves) if move < 1e-9]
    return Seen(facts=[Fact(not still, f"along axes {still} nothing changes" if still else "every axis changes something")])


def _compared(what: str, got: Tensor, expected: Tensor) -> Compared:
    axes: list[Any] = [f"axis {axis}" for axis in range(got.ndim - 1)] + ["channel"]
    return Compared(what, got, expected.double(), 1e-5 * (1 + expected.double().abs()), axes)


AXIAL = (
    Property("answers-in-kind", "A finite table [*size, ...]", _answers),
    Property("every-axis", "Every axis changes something", _axes),
    Property("nested", "A grid is the corner of a larger one", _nested),
    Property("offsets", "A grid at an offset is that part of a larger one", _offsets),
    Property("offsets-after", "So it is after a table without an offset", _offsets_after),
    Property("earlier-calls", "A result does not depend on earlier calls", _earlier),
)


def check_axial(
    subject: Callable[..., Any],
    *,
    size: Sequence[int] = (4, 5),
    normalised: bool = False,
    only: Sequence[str] | None = None,
    seconds: float = 10.0,
    name: str | None = None,
) -> Verdict:
    """Hold a maker of tables for grids to the laws of offsets and of independence from earlier calls.

    Args:
        subject: a function (size) or (size, offset), both tuples, to a table [*size, ...], [patches, ...], or several of them.
        size: the grid of the probes, each side another.
        normalised: whether coordinates are shares of the grid's size, so that a part of a larger grid is something else.
        only, seconds, name: as in `check_rotary`.

    Raises:
        ArgumentTypeError: nothing that can be called.

    >>> grid = lambda size, offset=(0, 0): torch.stack(torch.meshgrid(
    ...     torch.arange(size[0]) + offset[0], torch.arange(size[1]) + offset[1], indexing="ij"), -1)
    >>> check_axial(grid).passed
    True
    """
    started = time.perf_counter()
    adapted = _AxialSubject(Native(subject, seconds))
    laws = [law for law in chosen(AXIAL, only) if not (normalised and law.id.startswith("offsets"))]
    observed = observed_in_turn(laws, adapted, _Grid(tuple(size), not normalised))
    return Verdict(
        subject=name or name_of(subject),
        kind="axial",
        adapter="(size, offset)",
        assumed=(),
        identified={},
        outcomes=tuple(one.outcome() for one in observed),
        wall_seconds=time.perf_counter() - started,
    )
