"""Rotations in the field's shapes: which arguments, which order of axes, which kind of tables.

Where a subject could be called in several ways all are tried on five tokens; the first whose result is a rotation by the
reference is taken, else the first whose result changes from token to token and from nothing else. What was taken is told.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from ordinate.errors import ArgumentError
from ordinate.verify.adapters.native import Native
from ordinate.verify.adapters.roles import Plan, plans
from ordinate.verify.adapters.tables import FORMS, given_tables, is_tables, turned_by_tables
from ordinate.verify.adapters.trying import best_of
from ordinate.verify.references.rotation import RotarySettings, turned
from ordinate.verify.seen import unsupported

__all__ = ["ORDERS", "RotarySubject", "Shape", "adapt_rotary"]

ORDERS = {"BHTD": (0, 1, 2, 3), "BTHD": (0, 2, 1, 3), "TBHD": (2, 0, 1, 3), "HTD": (), "BTD": (), "TD": ()}
"""Order of the subject's axes, as the places of B, H, T, D; those without four axes take one row or one head at a time."""

_KNOWN = ("query", "key", "x", "positions", "offset", "cos", "sin", "table", "length")
_GUESSES = (
    ("x", "positions"),
    ("query", "key", "positions"),
    ("query", "key", "cos", "sin"),
    ("x", "cos", "sin"),
    ("query", "key", "table"),
    ("x", "table"),
    ("x", "offset"),
    ("query", "key", "offset"),
    ("query", "key"),
    ("x",),
    ("positions",),
    ("length",),
)


@dataclass(frozen=True)
class Shape:
    """One way of calling a rotation.

    Args:
        plan: its arguments by role.
        order: the order of its axes.
        positions: "T" or "BT", what positions are given as; "any" hands them on as they are.
        tables: the form of the tables it takes, see `tables.FORMS`.
        axes: axes of those tables: "TD", "BTD", "1TD", "T1D" or "1T1D".
        as_if: what it is to be taken to take, whatever its arguments are.
    """

    plan: Plan
    order: str = "BHTD"
    positions: str = "T"
    tables: str = ""
    axes: str = "TD"
    as_if: str = ""

    @property
    def takes(self) -> str:
        """What tells it where tokens are: "positions", "offset", "tables" or "nothing"."""
        if self.as_if:
            return self.as_if
        for role, word in (("positions", "positions"), ("offset", "offset"), ("cos", "tables"), ("table", "tables")):
            if role in self.plan.roles:
                return word
        return "nothing"

    def __str__(self) -> str:
        told = f"{self.plan} with axes {' '.join(self.order)}"
        if self.takes == "positions":
            told += f", positions [{', '.join(self.positions)}]"
        if self.tables:
            told += f", tables {self.tables} [{', '.join(self.axes)}]"
        return told


class RotarySubject:
    """A rotation in one shape: `turn(query, key, positions)` with [B, H, T, D] and positions [T] or [B, T].

    `rows` says whether rows of a batch may have positions of their own, `scattered` whether positions may be any.
    """

    def __init__(self, native: Native, shape: Shape, settings: RotarySettings, assumed: tuple[str, ...] = ()) -> None:
        self.native, self.shape, self.settings, self.assumed = native, shape, settings, assumed
        self.makes_tables = False
        self.remembered: dict[str, Any] = {}  # what was measured of it once, for several properties

    def fresh(self) -> RotarySubject:
        """The same subject with state of its own."""
        return self.of(self.native.fresh())

    def of(self, native: Native) -> RotarySubject:
        """Another subject called in the same way."""
        other = RotarySubject(native, self.shape, self.settings, self.assumed)
        other.makes_tables = self.makes_tables
        return other

    @property
    def words(self) -> str:
        """How it is called."""
        return f"{self.shape}" + (", makes tables that are applied here" if self.makes_tables else "")

    @classmethod
    def direct(cls, made: Any, settings: RotarySettings, like: RotarySubject | None = None) -> RotarySubject:
        """A subject that takes (query, key, positions) as they stand here, as known faults do.

        `like` another subject it is asked only for positions that the other can be told.
        """
        plan = Plan(("query", "key", "positions"), (None, None, None))
        form = "any" if like is None or like.shape.positions != "T" or like.shape.takes != "positions" else "T"
        as_if = "" if like is None or like.scattered else like.shape.takes
        return cls(Native(made), Shape(plan, positions=form, as_if=as_if), settings)

    @property
    def scattered(self) -> bool:
        """Whether any positions can be given."""
        return self.shape.takes in ("positions", "tables")

    def turn(self, query: Tensor, key: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
        """Both turned, in one call as it would be made in a model; raises where the positions cannot be said."""
        if self.shape.takes == "offset" or self.shape.takes == "nothing":
            row = positions[0] if positions.ndim == 2 else positions
            if positions.ndim == 2 and not bool((positions == row).all()):
                raise unsupported("it takes no positions that differ from row to row")
            if not bool((row == row[:1] + torch.arange(len(row))).all()):
                raise unsupported("it takes no positions, only consecutive tokens")
            if self.shape.takes == "nothing" and int(row[0]) != 0:
                raise unsupported("it takes neither positions nor an offset: every row starts at 0")
        if positions.ndim == 2 and self.shape.positions == "T" and self.shape.takes == "positions":
            if not bool((positions == positions[:1]).all()):
                raise unsupported("its positions are one row for the whole batch")
            positions = positions[0]
        if len(self.shape.order) < 4:
            return self._one_by_one(query, key, positions)
        return self._call(query, key, positions)

    def at(self, query: Tensor, key: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
        """Both turned at positions [T] that may be any, in whatever way gets there: by token, or behind tokens of zeros."""
        consecutive = bool((positions == positions[:1] + torch.arange(len(positions))).all())
        if self.scattered or (consecutive and (self.shape.takes == "offset" or int(positions[0]) == 0)):
            return self.turn(query, key, positions)
        if self.shape.takes == "offset":
            steps = [
                self.turn(query[:, :, t : t + 1], key[:, :, t : t + 1], positions[t : t + 1]) for t in range(len(positions))
            ]
            return torch.cat([q for q, _ in steps], dim=2), torch.cat([k for _, k in steps], dim=2)
        longest = int(positions.max()) + 1
        if longest * query.shape[0] * query.shape[1] * query.shape[3] > 1 << 26:
            raise unsupported("it takes neither positions nor an offset, and so far out its rows would fill the memory")
        shape = list(query.shape)
        shape[2] = longest
        long_query, long_key = query.new_zeros(shape), key.new_zeros(shape)
        long_query[:, :, positions], long_key[:, :, positions] = query, key
        query, key = self.turn(long_query, long_key, torch.arange(longest))
        return query[:, :, positions], key[:, :, positions]

    def _one_by_one(self, query: Tensor, key: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
        rows, batch, heads = self.shape.order, query.shape[0], query.shape[1]
        if rows == "BTD":  # heads are rows of the batch
            if positions.ndim == 2:
                positions = positions.repeat_interleave(heads, dim=0)
            parts = self._call(query.flatten(0, 1)[:, None], key.flatten(0, 1)[:, None], positions)
            return parts[0].reshape(query.shape), parts[1].reshape(key.shape)
        turned_rows = []
        for b in range(batch):
            row = positions[b] if positions.ndim == 2 else positions
            if rows == "HTD":
                turned_rows.append(self._call(query[b : b + 1], key[b : b + 1], row))
            else:
                heads_of = [self._call(query[b : b + 1, h : h + 1], key[b : b + 1, h : h + 1], row) for h in range(heads)]
                turned_rows.append((torch.cat([q for q, _ in heads_of], 1), torch.cat([k for _, k in heads_of], 1)))
        return torch.cat([q for q, _ in turned_rows]), torch.cat([k for _, k in turned_rows])

    def _call(self, query: Tensor, key: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
        given: dict[str, Any] = {"query": self._in_order(query), "key": self._in_order(key)}
        given["positions"] = positions
        given["length"] = int(positions.max()) + 1 if positions.numel() else 0
        if self.shape.takes == "positions":
            given["positions"] = (
                positions.expand(query.shape[0], -1) if self.shape.positions == "BT" and positions.ndim == 1 else positions
            )
        elif self.shape.takes == "offset":
            given["offset"] = int(positions.flatten()[0])
        elif self.shape.takes == "tables":
            given.update(given_tables(self.shape.tables, self.shape.axes, positions, self.settings, query))
        roles = self.shape.plan.roles
        if "query" in roles and "key" in roles:
            answer = self.native.call(*self.shape.plan.arguments(given))
            if is_tables(answer, given["query"].shape):
                return self._by_tables(answer, query, key)
            if not isinstance(answer, tuple | list) or len(answer) < 2:
                raise unsupported(f"it took queries and keys and returned {type(answer).__name__}, not two tensors")
            return self._out_of_order(answer[0], query), self._out_of_order(answer[1], key)
        results = []
        for which, x in enumerate((query, key)):
            target = min(which, len(self.native.targets) - 1)
            answer = self.native.call(*self.shape.plan.arguments({**given, "x": self._in_order(x)}), which=target)
            if is_tables(answer, self._in_order(x).shape):
                return self._by_tables(answer, query, key)
            results.append(self._out_of_order(answer, x))
        return results[0], results[1]

    def _by_tables(self, answer: Any, query: Tensor, key: Tensor) -> tuple[Tensor, Tensor]:
        self.makes_tables = True
        return turned_by_tables(answer, query, self.settings), turned_by_tables(answer, key, self.settings)

    def _in_order(self, x: Tensor) -> Tensor:
        if self.shape.order == "HTD":
            return x[0]
        if self.shape.order == "BTD":
            return x[:, 0]
        if self.shape.order == "TD":
            return x[0, 0]
        return x if self.shape.order == "BHTD" else x.permute(ORDERS[self.shape.order])

    def _out_of_order(self, answer: Any, x: Tensor) -> Tensor:
        result = self.native.tensor(answer)
        if self.shape.order == "HTD":
            return result[None]
        if self.shape.order == "BTD":
            return result[:, None]
        if self.shape.order == "TD":
            return result[None, None]
        places = ORDERS[self.shape.order]
        if result.ndim != 4:
            raise unsupported(f"it returned a tensor of shape {tuple(result.shape)}")
        return result if self.shape.order == "BHTD" else result.permute([places.index(axis) for axis in range(4)])


def adapt_rotary(
    subject: Any, settings: RotarySettings, *, order: str | None = None, takes: str | None = None, seconds: float = 10.0
) -> RotarySubject:
    """The subject in one shape, found by trying the ways its parameters allow.

    Args:
        subject: what `Native` accepts.
        settings: what it is meant to be.
        order: the order of its axes, one of `ORDERS`; by default found.
        takes: "positions", "offset", "nothing" or "tables"; by default found.
        seconds: time limit of one call.

    Raises:
        ArgumentError: no way fits; the message shows what was tried.
    """
    if order is not None and order not in ORDERS:
        raise ArgumentError("order", expected=f"one of {list(ORDERS)}", got=order, hint="leave it out to have it found")
    native = Native(subject, seconds)
    candidates = (RotarySubject(native.fresh(), shape, settings) for shape in _shapes(native, order, takes))
    score, found = best_of(
        candidates,
        lambda candidate: (_score(candidate, settings), candidate),
        enough=3,
        expected="a rotation that can be called with queries or keys and what says where they stand",
        hint="pass order=..., takes=..., or wrap it as fn(x, positions) with x [B, H, T, D]",
    )
    return _assuming(found, native, score, order)


def _assuming(found: RotarySubject, native: Native, score: int, order: str | None) -> RotarySubject:
    assumed = (
        [] if order else [f"the axes are {' '.join(found.shape.order)}" + ("" if score > 1 else ", which nothing could prove")]
    )
    if found.shape.tables:
        assumed.append(f"tables of cosine and sine are given as {found.shape.tables}, in float32 or the input's dtype")
    if found.makes_tables:
        assumed.append("the tables it returns are applied as the reference does")
    result = RotarySubject(native, found.shape, found.settings, tuple(assumed))
    result.makes_tables = found.makes_tables
    result.remembered.update(found.remembered)
    return result


def _shapes(native: Native, order: str | None, takes: str | None) -> list[Shape]:
    orders = [order] if order else ["BHTD", "BTHD", "TBHD", "BTD", "HTD", "TD"]
    ways = []
    for plan, axes in itertools.product(plans(native.targets[0], _KNOWN, _GUESSES), orders):
        plain = Shape(plan, axes)
        if plain.takes == "positions":
            ways += [replace(plain, positions=form) for form in (("BT", "T") if axes != "TD" else ("T",))]
        elif plain.takes == "tables":
            forms = [name for name, form in FORMS.items() if form.single != ("cos" in plan.roles)]
            ways += [replace(plain, tables=f, axes=a) for f, a in itertools.product(forms, ("BTD", "TD", "1TD", "T1D", "1T1D"))]
        else:
            ways.append(plain)
    return [way for way in ways if takes is None or way.takes == takes]


def _score(candidate: RotarySubject, settings: RotarySettings) -> int:
    """3: a rotation by the reference; 2: changes with the token and nothing else; 1: it answers in the right shape."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(settings.head_dim, generator=generator).expand(2, settings.num_heads, 5, -1).contiguous()
    steps = torch.arange(5)
    query, key = candidate.turn(x, x.clone(), steps)
    for name, result in (("queries", query), ("keys", key)):
        if result.shape != x.shape:
            raise unsupported(f"{name} came back as {tuple(result.shape)}")
    for layout, sign in itertools.product(("half", "interleaved"), (1, -1)):
        expected = turned(x, steps, settings.but(layout=settings.layout or layout, sign=sign))
        if torch.allclose(query.double(), expected, atol=1e-3) and torch.allclose(key.double(), expected, atol=1e-3):
            return 3
    moved = query.double()
    alike = torch.allclose(moved, moved[:1, :1].expand_as(moved), atol=1e-5)
    return 2 if alike and not torch.allclose(moved, moved[:, :, :1].expand_as(moved), atol=1e-5) else 1
