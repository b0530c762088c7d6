"""What the properties of a rotation share: the settings as given and as found, and the inputs of their probes."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ordinate.verify.adapters.rotary import RotarySubject
from ordinate.verify.identify import PROBED, Found, identify, unit_vectors
from ordinate.verify.precision import rotation_error
from ordinate.verify.references.ladders import magnitude, trained_context
from ordinate.verify.references.rotation import RotarySettings, frequencies, pairs

__all__ = ["RotaryCase", "allowed", "heads", "measured"]

SMALL = 12
"""Tokens of an ordinary probe."""


@dataclass(frozen=True)
class RotaryCase:
    """The settings as stated, and `known`: the same with layout, direction and base as found where nothing was stated."""

    stated: RotarySettings
    known: RotarySettings

    @classmethod
    def of(cls, stated: RotarySettings, found: Found | None) -> RotaryCase:
        """What is known after looking at a subject."""
        if found is None:
            return cls(stated, stated)
        base = stated.base if stated.base is not None else found.base(stated.rotary_dim) or 10000.0
        known = stated.but(layout=found.layout or stated.as_built, sign=found.sign, base=base, stated_layout=stated.layout)
        return cls(stated, known)

    @property
    def trained(self) -> int | None:
        """Tokens past which the frequencies change with the length; None where they never do."""
        return trained_context(self.stated.scaling)

    @property
    def long(self) -> int:
        """Tokens of a long row: past the trained context where there is one."""
        return 40 if self.trained is None else self.trained + 8


def heads(settings: RotarySettings, tokens: int, *, batch: int = 2, seed: int = 1) -> tuple[Tensor, Tensor]:
    """Queries and keys [B, H, T, D], float32."""
    generator = torch.Generator().manual_seed(seed)
    query, key = torch.randn(2, batch, settings.num_heads, tokens, settings.head_dim, generator=generator)
    return query, key


def measured(subject: RotarySubject, case: RotaryCase) -> tuple[Tensor, Found]:
    """The unit vectors turned at `PROBED` [rows, H, T, D], and what that says; once for all properties."""
    if "found" not in subject.remembered:
        x = unit_vectors(case.stated, len(PROBED))
        query, _ = subject.fresh().at(x, x.clone(), torch.tensor(PROBED))
        subject.remembered["turned"] = query
        subject.remembered["found"] = identify(query, case.stated)
    return subject.remembered["turned"], subject.remembered["found"]


def allowed(x: Tensor, positions: Tensor, case: RotaryCase, dtype: torch.dtype = torch.float32) -> Tensor:
    """Difference allowed of x [B, H, T, D] turned at positions [T] or [B, T]: the pair's length times `rotation_error`.

    Channels that do not turn are allowed what rounding to `dtype` costs.
    """
    known = case.known
    far = positions if positions.ndim == 1 else positions.amax(0)
    error = magnitude(known.scaling) * rotation_error(far, frequencies(known), dtype, known.angles)
    first, second = pairs(known)
    length = (x[..., first].double().square() + x[..., second].double().square()).sqrt()
    result = x.double().abs() * torch.finfo(dtype).eps + 1e-12
    result[..., first] = result[..., second] = length * error + 1e-12
    return result
