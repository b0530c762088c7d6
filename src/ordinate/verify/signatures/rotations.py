"""The two lines that wrong rotations share with right ones: turn by given angles, and treat queries and keys alike."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from ordinate.verify.references.rotation import RotarySettings, angles, turned

__all__ = ["Both", "alike", "ladder_of", "turn"]

Both = Callable[[Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]


def turn(x: Tensor, positions: Tensor, s: RotarySettings, theta: Tensor | None = None, factor: float | None = None) -> Tensor:
    """x turned as the reference does, by other angles where they are given, in the dtype of x."""
    return turned(x, positions, s, theta=theta, factor=factor).to(x.dtype)


def alike(one: Callable[[Tensor, Tensor], Tensor]) -> Both:
    """(x, positions) -> x' as (query, key, positions) -> (query', key')."""
    return lambda query, key, positions: (one(query, positions), one(key, positions))


def ladder_of(s: RotarySettings, frequencies: Callable[[Tensor], Tensor]) -> Both:
    """A rotation by position times what `frequencies` makes of the pair's exponents 2 i / rotary_dim."""
    exponents = torch.arange(0, s.rotary_dim, 2, dtype=torch.float64) / s.rotary_dim
    rates = frequencies(exponents)
    return alike(lambda x, positions: turn(x, positions, s, theta=s.sign * positions.double().unsqueeze(-1) * rates))


def angles_by(s: RotarySettings, change: Callable[[Tensor], Tensor]) -> Both:
    """A rotation whose positions went through `change` first."""
    return alike(lambda x, positions: turn(x, positions, s, theta=angles(s, change(positions), 1)))
