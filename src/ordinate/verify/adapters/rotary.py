"""Rotations in the field's shapes: which arguments, which order of axes, which kind of tables.

Where a subject could be called in several ways all are tried on five tokens; the first whose result is a rotation by the
reference is taken, else the first whose result changes from token to token and from nothing else. The verdict says which.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from ordinate.arguments import check_choice
from ordinate.verify.adapters.calling import Call, Callee, Subject, best_of, calls, consecutive, same_in_every_row
from ordinate.verify.observation import Unsupported
from ordinate.verify.references.frequency_schedules import cos_sin_factor
from ordinate.verify.references.rotation import RotarySettings, angles, pairs, rotated

__all__ = ["ORDERS", "TABLE_FORMS", "RotaryForm", "RotarySubject", "adapt_rotary"]

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
class RotaryForm:
    """One way of calling a rotation.

    Args:
        call: its arguments by role.
        order: the order of its axes.
        positions: "T" or "BT", what positions are given as; "any" hands them on as they are.
        tables: the form of the tables it takes, see `TABLE_FORMS`.
        axes: axes of those tables: "TD", "BTD", "1TD", "T1D" or "1T1D".
        as_if: what it is to be taken to take, whatever its arguments are.
    """

    call: Call
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
            if role in self.call.roles:
                return word
        return "nothing"

    def __str__(self) -> str:
        text = f"{self.call} with axes {' '.join(self.order)}"
        if self.takes == "positions":
            text += f", positions [{', '.join(self.positions)}]"
        if self.tables:
            text += f", tables {self.tables} [{', '.join(self.axes)}]"
        return text


class RotarySubject(Subject):
    """A rotation: `turn(query, key, positions)` with [B, H, T, D] and positions [T] or [B, T].

    `rows` says whether rows of a batch may have positions of their own, `scattered` whether positions may be any.
    """

    def __init__(self, callee: Callee, form: RotaryForm, settings: RotarySettings, assumed: tuple[str, ...] = ()) -> None:
        super().__init__(callee, form, settings, assumed)
        self.makes_tables = False
        self.measured: Any = None
        """What was measured of it once, for several properties."""

    def calling(self, callee: Callee) -> RotarySubject:
        """Another subject called in the same way."""
        other = super().calling(callee)
        other.measured = None
        return other

    @property
    def description(self) -> str:
        """How it is called."""
        return f"{self.form}" + (", makes tables that are applied here" if self.makes_tables else "")

    @classmethod
    def from_fault(cls, wrong: Any, settings: RotarySettings, like: RotarySubject | None = None) -> RotarySubject:
        """A subject that takes (query, key, positions), asked only for positions that `like` can be passed."""
        form = "any" if like is None or like.form.positions != "T" or like.form.takes != "positions" else "T"
        as_if = "" if like is None or like.scattered else like.form.takes
        return cls(Callee(wrong), RotaryForm(Call.by_place("query", "key", "positions"), positions=form, as_if=as_if), settings)

    @property
    def scattered(self) -> bool:
        """Whether any positions can be given."""
        return self.form.takes in ("positions", "tables")

    def turn(self, query: Tensor, key: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
        """Both turned, in one call as it would be made in a model; raises where the positions cannot be said."""
        if self.form.takes == "offset" or self.form.takes == "nothing":
            row = positions[0] if positions.ndim == 2 else positions
            if not same_in_every_row(positions):
                raise Unsupported("it takes no positions that differ from row to row")
            if not consecutive(row):
                raise Unsupported("it takes no positions, only consecutive tokens")
            if self.form.takes == "nothing" and int(row[0]) != 0:
                raise Unsupported("it takes neither positions nor an offset: every row starts at 0")
        if positions.ndim == 2 and self.form.positions == "T" and self.form.takes == "positions":
            if not same_in_every_row(positions):
                raise Unsupported("its positions are one row for the whole batch")
            positions = positions[0]
        if len(self.form.order) < 4:
            return self._one_by_one(query, key, positions)
        return self._call(query, key, positions)

    def at(self, query: Tensor, key: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
        """Both turned at positions [T] that may be any, in whatever way gets there: by token, or behind tokens of zeros."""
        if self.scattered or (consecutive(positions) and (self.form.takes == "offset" or int(positions[0]) == 0)):
            return self.turn(query, key, positions)
        if self.form.takes == "offset":
            steps = [
                self.turn(query[:, :, t : t + 1], key[:, :, t : t + 1], positions[t : t + 1]) for t in range(len(positions))
            ]
            return torch.cat([q for q, _ in steps], dim=2), torch.cat([k for _, k in steps], dim=2)
        longest = int(positions.max()) + 1
        if longest * query.shape[0] * query.shape[1] * query.shape[3] > 1 << 26:
            raise Unsupported("it takes neither positions nor an offset, and so far out its rows would fill the memory")
        shape = list(query.shape)
        shape[2] = longest
        long_query, long_key = query.new_zeros(shape), key.new_zeros(shape)
        long_query[:, :, positions], long_key[:, :, positions] = query, key
        query, key = self.turn(long_query, long_key, torch.arange(longest))
        return query[:, :, positions], key[:, :, positions]

    def _one_by_one(self, query: Tensor, key: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
        rows, batch, heads = self.form.order, query.shape[0], query.shape[1]
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
        values: dict[str, Any] = {"query": self._in_order(query), "key": self._in_order(key)}
        values["positions"] = positions
        values["length"] = int(positions.max()) + 1 if positions.numel() else 0
        if self.form.takes == "positions":
            values["positions"] = (
                positions.expand(query.shape[0], -1) if self.form.positions == "BT" and positions.ndim == 1 else positions
            )
            if self.form.tables:  # of every position, for the subject to choose from
                every = torch.arange(max(values["length"], positions.shape[-1]))
                values.update(make_tables(self.form.tables, self.form.axes, every, self.settings, query))
        elif self.form.takes == "offset":
            values["offset"] = int(positions.flatten()[0])
        elif self.form.takes == "tables":
            values.update(make_tables(self.form.tables, self.form.axes, positions, self.settings, query))
        roles = self.form.call.roles
        if "query" in roles and "key" in roles:
            answer = self.callee.call(*self.form.call.arguments(values))
            if is_tables(answer, values["query"].shape):
                return self._by_tables(answer, query, key)
            if not isinstance(answer, tuple | list) or len(answer) < 2:
                raise Unsupported(f"it took queries and keys and returned {type(answer).__name__}, not two tensors")
            return self._out_of_order(answer[0], query), self._out_of_order(answer[1], key)
        results = []
        for which, x in enumerate((query, key)):
            target = min(which, len(self.callee.targets) - 1)
            arguments, named = self.form.call.arguments({**values, "x": self._in_order(x)})
            answer = self.callee.call(arguments, named, which=target)
            if is_tables(answer, self._in_order(x).shape):
                return self._by_tables(answer, query, key)
            results.append(self._out_of_order(answer, x))
        return results[0], results[1]

    def _by_tables(self, answer: Any, query: Tensor, key: Tensor) -> tuple[Tensor, Tensor]:
        self.makes_tables = True
        return rotated_by_tables(answer, query, self.settings), rotated_by_tables(answer, key, self.settings)

    def _in_order(self, x: Tensor) -> Tensor:
        if self.form.order == "HTD":
            return x[0]
        if self.form.order == "BTD":
            return x[:, 0]
        if self.form.order == "TD":
            return x[0, 0]
        return x if self.form.order == "BHTD" else x.permute(ORDERS[self.form.order])

    def _out_of_order(self, answer: Any, x: Tensor) -> Tensor:
        result = self.callee.tensor(answer)
        if self.form.order == "HTD":
            return result[None]
        if self.form.order == "BTD":
            return result[:, None]
        if self.form.order == "TD":
            return result[None, None]
        places = ORDERS[self.form.order]
        if result.ndim != 4:
            raise Unsupported(f"it returned a tensor of shape {tuple(result.shape)}")
        return result if self.form.order == "BHTD" else result.permute([places.index(axis) for axis in range(4)])


def adapt_rotary(
    subject: Any, settings: RotarySettings, *, order: str | None = None, takes: str | None = None, **calling: Any
) -> RotarySubject:
    """The adapted subject; how to call it is found out by trying the ways its parameters allow.

    Args:
        subject: what `Callee` accepts.
        settings: what it is meant to be.
        order: the order of its axes, one of `ORDERS`; by default found out.
        takes: "positions", "offset", "nothing" or "tables"; by default found out.
        calling: how `Callee` calls it: `seconds`, `arrays`, `device`.

    Raises:
        ArgumentError: no way fits; the message shows what was tried.
    """
    if order is not None:
        check_choice("order", order, ORDERS)
    if takes is not None:
        check_choice("takes", takes, ("positions", "offset", "tables", "nothing"))
    callee = Callee(subject, **calling)
    candidates = (RotarySubject(callee.fresh(), form, settings) for form in _forms(callee, order, takes))
    score, best = best_of(
        candidates,
        lambda candidate: (_score(candidate, settings), candidate),
        enough=3,
        expected="a rotation that can be called with queries or keys and what says where they stand",
        hint="pass order=..., takes=..., or wrap it as fn(x, positions) with x [B, H, T, D]",
    )
    return _with_assumptions(best, callee, score, order)


def _with_assumptions(best: RotarySubject, callee: Callee, score: int, order: str | None) -> RotarySubject:
    assumed = (
        [] if order else [f"the axes are {' '.join(best.form.order)}" + ("" if score > 1 else ", which nothing could prove")]
    )
    if best.form.tables:
        assumed.append(f"tables of cosine and sine are given as {best.form.tables}, in float32 or the input's dtype")
    if best.makes_tables:
        assumed.append("the tables it returns are applied as the reference does")
    result = RotarySubject(callee, best.form, best.settings, tuple(assumed))
    result.makes_tables, result.no_answer = best.makes_tables, best.no_answer
    return result


def _forms(callee: Callee, order: str | None, takes: str | None) -> list[RotaryForm]:
    orders = [order] if order else ["BHTD", "BTHD", "TBHD", "BTD", "HTD", "TD"]
    ways = []
    for call, axes in itertools.product(calls(callee.targets[0], _KNOWN, _GUESSES), orders):
        plain = RotaryForm(call, axes)
        if plain.takes == "positions":
            tables = [name for name in TABLE_FORMS if name in ("full-half", "full-interleaved", "half-width")]
            tables = tables if {"cos", "sin"} <= set(call.roles) else [""]
            given = ("BT", "T") if axes != "TD" else ("T",)
            ways += [replace(plain, positions=p, tables=form) for form, p in itertools.product(tables, given)]
        elif plain.takes == "tables":
            forms = [name for name, form in TABLE_FORMS.items() if form.single != ("cos" in call.roles)]
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
            raise Unsupported(f"{name} came back as {tuple(result.shape)}")
    for layout, sign in itertools.product(("half", "interleaved"), (1, -1)):
        expected = rotated(x, steps, settings.replace(layout=settings.layout or layout, sign=sign))
        if torch.allclose(query.double(), expected, atol=1e-3) and torch.allclose(key.double(), expected, atol=1e-3):
            return 3
    moved = query.double()
    alike = torch.allclose(moved, moved[:1, :1].expand_as(moved), atol=1e-5)
    return 2 if alike and not torch.allclose(moved, moved[:, :, :1].expand_as(moved), atol=1e-5) else 1


# tables -----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TableForm:
    """A form of tables: `single` where cosine and sine come in one tensor."""

    single: bool
    says: str


TABLE_FORMS = {
    "full-half": TableForm(False, "[T, D], each pair's value at i and at i + D/2"),
    "full-interleaved": TableForm(False, "[T, D], each pair's value at 2i and 2i + 1"),
    "half-width": TableForm(False, "[T, D/2], one value a pair"),
    "complex": TableForm(True, "[T, D/2], cos + i sin"),
    "stacked": TableForm(True, "[T, D/2, 2], cosine and sine of each pair"),
    "packed": TableForm(True, "[T, D], all cosines before all sines"),
    "packed-sine-first": TableForm(True, "[T, 2 D], full width, sines before cosines"),
    "angles-half": TableForm(True, "[T, D], angles, each pair's at i and at i + D/2"),
    "angles-interleaved": TableForm(True, "[T, D], angles, each pair's at 2i and 2i + 1"),
    "angles": TableForm(True, "[T, D/2], angles"),
}


def make_tables(form: str, axes: str, positions: Tensor, settings: RotarySettings, like: Tensor) -> dict[str, Tensor]:
    """Tables for positions [T] or [B, T], by role: cos and sin, or table. Formed in float64, rounded to the dtype of `like`."""
    theta, factor = angles(settings.replace(sign=1), positions), cos_sin_factor(settings.scaling)
    wide = like.dtype if like.dtype in (torch.float64, torch.bfloat16, torch.float16) else torch.float32
    if form == "complex":
        return {"table": _axes(torch.polar(torch.full_like(theta, factor), theta).to(torch.complex64), axes, like)}
    if form.startswith("angles"):
        table = theta.to(torch.float32)
        return {"table": _axes(table if form == "angles" else _full(table, form.removeprefix("angles-")), axes, like)}
    cos, sin = (factor * theta.cos()).to(wide), (factor * theta.sin()).to(wide)
    if form == "stacked":
        # stacked before the axes are laid out, so that [..., 2] stays last
        return {"table": _axes(torch.stack((cos, sin), -1), axes, like, extra=1)}
    if form == "packed":
        return {"table": _axes(torch.cat((cos, sin), -1), axes, like)}
    if form == "packed-sine-first":
        return {"table": _axes(torch.cat((_full(sin, "interleaved"), _full(cos, "interleaved")), -1), axes, like)}
    if form.startswith("full"):
        cos, sin = (_full(table, form.removeprefix("full-")) for table in (cos, sin))
    return {"cos": _axes(cos, axes, like), "sin": _axes(sin, axes, like)}


def _full(table: Tensor, layout: str) -> Tensor:
    return torch.cat((table, table), -1) if layout == "half" else table.repeat_interleave(2, -1)


def _axes(table: Tensor, axes: str, like: Tensor, extra: int = 0) -> Tensor:
    """[T, ...] or [B, T, ...] with the axes that were asked for."""
    rows = table.ndim - extra == 3
    if axes == "BTD":
        return table if rows else table.expand(like.shape[0], *table.shape)
    if rows:
        raise Unsupported("its tables are one row for the whole batch")
    places = {"TD": table, "1TD": table[None], "T1D": table[:, None], "1T1D": table[None, :, None]}
    return places[axes]


def is_tables(answer: Any, shape: tuple[int, ...]) -> bool:
    """Whether what came back is tables and not turned queries and keys: a pair without heads, or one complex tensor."""
    if isinstance(answer, Tensor):
        return answer.is_complex() and answer.shape[-1] != shape[-1]
    if isinstance(answer, tuple | list) and len(answer) == 2 and all(isinstance(one, Tensor) for one in answer):
        return answer[0].shape == answer[1].shape and tuple(answer[0].shape) != tuple(shape)
    return False


def rotated_by_tables(answer: Any, x: Tensor, settings: RotarySettings) -> Tensor:
    """x [B, H, T, D] turned by tables that the subject made, in the tables' own precision."""
    if isinstance(answer, Tensor):
        cos, sin = answer.real, answer.imag
    else:
        cos, sin = answer
    while cos.ndim > 3 and 1 in cos.shape[:-1]:  # axes for broadcasting over heads
        place = next(axis for axis, size in enumerate(cos.shape[:-1]) if size == 1)
        cos, sin = cos.squeeze(place), sin.squeeze(place)
    layout = settings.layout_or_half
    if cos.shape[-1] == settings.rotary_dim:
        halves = _equal(cos[..., : cos.shape[-1] // 2], cos[..., cos.shape[-1] // 2 :])
        neighbours = _equal(cos[..., 0::2], cos[..., 1::2])
        if halves == neighbours and not halves:
            raise Unsupported("its tables are full-width, but neither halves nor neighbours are equal")
        layout = settings.layout_or_half if halves and neighbours else "half" if halves else "interleaved"
        keep = slice(0, cos.shape[-1] // 2) if layout == "half" else slice(0, None, 2)
        cos, sin = cos[..., keep], sin[..., keep]
    if cos.shape[-2] != x.shape[2] or 2 * cos.shape[-1] > x.shape[-1]:
        raise Unsupported(f"its tables have shape {tuple(cos.shape)} for {x.shape[2]} tokens of {x.shape[3]} channels")
    first, second = pairs(settings.replace(layout=layout, rotary_dim=2 * cos.shape[-1]))
    wide = torch.promote_types(cos.dtype, torch.promote_types(x.dtype, torch.float32))
    cos, sin = (table.to(wide).unsqueeze(1) if table.ndim == 3 else table.to(wide) for table in (cos, sin))
    result = x.to(wide).clone()
    a, b = x[..., first].to(wide), x[..., second].to(wide)
    result[..., first], result[..., second] = a * cos - b * sin, a * sin + b * cos
    return result.to(x.dtype)


def _equal(one: Tensor, other: Tensor) -> bool:
    """Bit for bit, where NaN is as good as NaN."""
    return torch.equal(one.nan_to_num(nan=9.0), other.nan_to_num(nan=9.0))
