"""Faults at the ends: the first and last pair, the last row of a table, the step where a rule begins."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from ordinate.frequencies import inverse_frequencies
from ordinate.position.absolute import LearnedTable
from ordinate.verify.references.rotation import RotarySettings, angles
from ordinate.verify.signatures.rotations import Both, alike, angles_by, ladder_of, turn
from ordinate.verify.signatures.signature import signature

__all__: list[str] = []

BOUNDARY = "boundary"


@signature(
    "last-pair-left-out",
    family=BOUNDARY,
    kind="rotary",
    read=inverse_frequencies,
    says="the last pair never turned",
    seen="range(0, d - 2, 2)",
)
def _(s: RotarySettings) -> Both:
    return _with_angles(s, lambda theta: torch.cat((theta[..., :-1], torch.zeros_like(theta[..., -1:])), -1))


@signature(
    "first-pair-left-out",
    family=BOUNDARY,
    kind="rotary",
    read=inverse_frequencies,
    says="the ladder begun at the second frequency",
    seen="arange(2, d + 2, 2) for the exponents",
)
def _(s: RotarySettings) -> Both:
    assert s.scaling is None
    base = s.base or 10000.0
    return ladder_of(s, lambda exponents: base ** -(exponents + 2 / s.rotary_dim))


@signature(
    "ladder-to-the-end",
    family=BOUNDARY,
    kind="rotary",
    read=inverse_frequencies,
    says="exponents i / (P - 1), so that the last frequency is exactly 1 / base",
    seen="tensor2tensor's ladder in a rotation",
)
def _(s: RotarySettings) -> Both:
    assert s.scaling is None
    count = s.rotary_dim // 2
    return ladder_of(s, lambda exponents: (s.base or 10000.0) ** -(exponents * count / max(count - 1, 1)))


@signature(
    "ladder-reversed",
    family=BOUNDARY,
    kind="rotary",
    read=inverse_frequencies,
    says="the ladder the wrong way round: the first pair is the slowest",
    seen="",
)
def _(s: RotarySettings) -> Both:
    return _with_angles(s, lambda theta: theta.flip(-1))


def _with_angles(s: RotarySettings, change: Callable[[Tensor], Tensor]) -> Both:
    return alike(lambda x, positions: turn(x, positions, s, theta=change(angles(s, positions))))


def _ended(rows: int) -> None:
    @signature(
        f"table-clamped-at-{rows}",
        family=BOUNDARY,
        kind="rotary",
        read=LearnedTable,
        says=f"positions past the end of a table of {rows:,} rows given its last row",
        seen="clamp, mode='clip'",
    )
    def _clamped(s: RotarySettings) -> Both:
        return angles_by(s, lambda positions: positions.clamp_max(rows - 1))

    @signature(
        f"table-wrapped-at-{rows}",
        family=BOUNDARY,
        kind="rotary",
        read=LearnedTable,
        says=f"positions past the end of a table of {rows:,} rows begun again at 0",
        seen="position % max_len",
    )
    def _wrapped(s: RotarySettings) -> Both:
        return angles_by(s, lambda positions: positions % rows)


for size in (512, 2048, 4096, 32768):
    _ended(size)
