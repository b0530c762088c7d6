"""One table of encodings: every contract in `test_contracts.py` runs on every row, a new encoding is one row.

A row says how to make the encoding and which laws its mathematics promises. Where a law does not hold, `exempt` names the
contract and the reason, in words a reader can check.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from torch import Tensor, nn

from ordinate.position import ALiBi, LearnedTable, NoPosition, Rotary, Sinusoidal
from ordinate.position.frequencies import DynamicNTK, Linear, Llama3, LongRoPE, NTKAware, Proportional, SteppedNTK, YaRN

HEADS, HEAD_DIM = 4, 16


@dataclass(frozen=True)
class Member:
    """One row: a name, a maker with HEADS heads of HEAD_DIM channels, and where it stands apart."""

    name: str
    make: Callable[[], nn.Module]
    face: str  # "adds", "rotates" or "biases"
    shift_invariant: bool = True  # the score depends on the distance alone
    exempt: Mapping[str, str] = field(default_factory=dict)
    positions: Callable[[Tensor], Tensor] = lambda steps: steps  # from 0, 1, 2, ... to what the encoding takes


def rotary(layout: str, **settings: object) -> Callable[[], nn.Module]:
    return lambda: Rotary(HEAD_DIM, layout=layout, **settings)  # type: ignore[arg-type]


LENGTH = {
    "shift": "frequencies change with the row's length, which a shift of positions lengthens",
    "decode": "keys turned at one length do not compare with queries at another: refused past the trained context",
    "offset": "positions that start past 0 and reach past the trained context are refused without a length",
    "far": "as offset",
}

GROUND = [
    Member("none", NoPosition, "rotates"),
    Member("sinusoidal", lambda: Sinusoidal(HEAD_DIM), "adds", shift_invariant=False),
    Member("sinusoidal-half", lambda: Sinusoidal(HEAD_DIM, layout="half"), "adds", shift_invariant=False),
    Member("learned", lambda: LearnedTable(256, HEAD_DIM), "adds", shift_invariant=False),
    Member("rotary-half", rotary("half"), "rotates"),
    Member("rotary-interleaved", rotary("interleaved"), "rotates"),
    Member("rotary-partial", rotary("half", rotary_dim=8), "rotates"),
    Member("rotary-linear", rotary("half", scaling=Linear(4.0)), "rotates"),
    Member("rotary-ntk", rotary("half", scaling=NTKAware(4.0)), "rotates"),
    Member("rotary-dynamic", rotary("interleaved", scaling=DynamicNTK(2.0, 16)), "rotates", exempt=LENGTH),
    Member("rotary-stepped", rotary("half", scaling=SteppedNTK(16)), "rotates", exempt=LENGTH),
    Member("rotary-yarn", rotary("half", scaling=YaRN(4.0, 32)), "rotates"),
    Member("rotary-longrope", rotary("half", scaling=LongRoPE([1.0] * 8, [2.0] * 8, 16, 256)), "rotates", exempt=LENGTH),
    Member("rotary-llama3", rotary("half", scaling=Llama3(8.0, 1.0, 4.0, 32)), "rotates"),
    Member("rotary-proportional", rotary("half", scaling=Proportional(0.25)), "rotates"),
    Member("alibi", lambda: ALiBi(HEADS), "biases"),
    Member("alibi-symmetric", lambda: ALiBi(HEADS, symmetric=True), "biases"),
]

from tests.position.rows_axes import ROWS as AXES  # noqa: E402  (rows need Member)
from tests.position.rows_biases import ROWS as BIASES  # noqa: E402
from tests.position.rows_relative import ROWS as RELATIVE  # noqa: E402
from tests.position.rows_rotary import ROWS as ROTARY  # noqa: E402

MEMBERS = GROUND + AXES + BIASES + RELATIVE + ROTARY
