"""xPos: a rotation whose score also decays with distance, because queries shrink and keys grow with their position.

It stands apart from `Rotary` because queries and keys are treated differently, and because a growing factor needs a say in how
far out it may go. Source: Sun et al. 2022, arXiv 2212.10554.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from ordinate.arguments import check_number
from ordinate.errors import PositionRangeError
from ordinate.frequencies import check_base, inverse_frequencies
from ordinate.position.base import QueryKeyEncoding, values_at_hand
from ordinate.position.indices import check_positions
from ordinate.position.rotary.rotation import Layout, angle_tables, check_head, check_layout, rotate_pairs, working_dtype
from ordinate.shapes import check_shape

__all__ = ["XPos"]


class XPos(QueryKeyEncoding):
    """Rotation by position, with pair i of a query times z_i^(n / s) and of a key times z_i^(-m / s).

    z_i = (i / (D/2) + gamma) / (1 + gamma), s = `scale_base`, n and m counted from `centre`. The score of a query at n and a
    key at m carries z_i^((n - m) / s): it falls with the distance to the past, and rises towards the future, so the encoding
    is for causal attention.

    The centre cancels from every score. It is a constant, not half the row's length as in the authors' code, so a key is the
    same whatever the length of its row, and prefill equals decode. Factors are formed in float64 and rounded once with the
    angles. They leave the range of the working dtype at `reach(dtype)` positions from the centre: about 32,000 in float32 and
    bfloat16, 1,100 in float16, 280,000 in float64. Past that an error says so; a centre in the middle of the context doubles
    the reach.

    Args:
        head_dim: channels D of a head.
        layout: which channels make a pair: "interleaved" (the authors') or "half".
        rotary_dim: how many channels turn, even; by default all.
        base: of the frequency schedule, above 1.
        scale_base: positions over which the factor is applied once (512 in the paper).
        gamma: keeps the smallest z_i from 0 (0.4 in the paper).
        centre: the position with factor 1.

    Raises:
        ArgumentError: odd or too large rotary_dim, unknown layout, scale_base or gamma that are not positive.

    Source: Sun et al. 2022, arXiv 2212.10554, section 2 and algorithm 1.

    >>> xpos = XPos(8, layout="interleaved")
    >>> here, there = torch.tensor([10]), torch.tensor([4])
    >>> q, k = xpos.rotate_query(torch.ones(1, 1, 1, 8), here), xpos.rotate_key(torch.ones(1, 1, 1, 8), there)
    >>> q.shape, k.shape
    (torch.Size([1, 1, 1, 8]), torch.Size([1, 1, 1, 8]))
    """

    def __init__(
        self,
        head_dim: int,
        *,
        layout: Layout,
        rotary_dim: int | None = None,
        base: float = 10000.0,
        scale_base: float = 512.0,
        gamma: float = 0.4,
        centre: float = 0,
    ) -> None:
        super().__init__()
        head_dim, turned = check_head(head_dim, rotary_dim)
        check_layout(layout)
        check_base(base)
        for name, value in (("scale_base", scale_base), ("gamma", gamma)):
            check_number(name, value, above=0)
        check_number("centre", centre)
        self._head_dim, self._layout, self._rotary_dim, self._base = head_dim, layout, turned, base
        self._scale_base, self._gamma, self._centre = scale_base, gamma, centre
        self._frequencies = inverse_frequencies(turned, base)
        pairs = turned // 2
        # log z_i per position: the factor of a query is the exponential of this times its position
        self._log_rates = tuple(math.log((i / pairs + gamma) / (1 + gamma)) / scale_base for i in range(pairs))

    head_dim = property(lambda self: self._head_dim, doc="Channels D of a head.")
    layout = property(lambda self: self._layout, doc="Which channels make a pair.")
    rotary_dim = property(lambda self: self._rotary_dim, doc="Channels that turn.")
    base = property(lambda self: self._base, doc="Base of the frequency schedule.")
    scale_base = property(lambda self: self._scale_base, doc="Positions over which the factor is applied once.")
    gamma = property(lambda self: self._gamma, doc="What keeps the smallest factor from 0.")
    centre = property(lambda self: self._centre, doc="The position with factor 1.")

    def reach(self, dtype: torch.dtype) -> int:
        """How far from the centre a position may be for inputs of `dtype`, for values up to a thousand.

        >>> XPos(64, layout="half").reach(torch.float32)
        32870
        """
        log_range = -math.log(torch.finfo(dtype).tiny) - math.log(1000)
        return int(log_range / -min(self._log_rates))

    def rotate_query(self, query: Tensor, positions: Tensor) -> Tensor:
        """query [B, H, T, D] turned and scaled at positions [T] or [B, T]; worked in float32 or wider.

        Raises:
            PositionRangeError: a position further from the centre than `reach` (looked at in eager mode).
            ShapeError: another head_dim, or positions that fit neither tokens nor batch.
        """
        return self._rotate("query", query, positions, 1.0)

    def rotate_key(self, key: Tensor, positions: Tensor) -> Tensor:
        """key [B, G, S, D] turned and scaled inversely at positions [S] or [B, S]; raises as `rotate_query`."""
        return self._rotate("key", key, positions, -1.0)

    def _rotate(self, name: str, x: Tensor, positions: Tensor, sign: float) -> Tensor:
        sizes = check_shape(name, x, "B H T D", D=self.head_dim)
        check_positions("positions", positions, length=sizes["T"], batch=sizes["B"])
        offsets = positions.double() - self.centre
        if offsets.numel() and values_at_hand(positions):
            furthest, reach = float(offsets.detach().abs().max()), self.reach(x.dtype)
            if furthest > reach:
                raise PositionRangeError(
                    "positions",
                    expected=f"at most {reach} positions from centre ({self.centre}), where {x.dtype} can hold the factors",
                    got=f"{furthest:.0f}",
                    hint="set centre to the middle of the context, rotate in a wider dtype, or take Rotary with ALiBi",
                )
        radians = torch.tensor(self._frequencies, dtype=torch.float64, device=x.device)
        rates = torch.tensor(self._log_rates, dtype=torch.float64, device=x.device)
        cos, sin = angle_tables(positions, radians, dtype=torch.float64)
        factors = (sign * offsets.unsqueeze(-1) * rates).exp()
        wide = working_dtype(x)
        return rotate_pairs(x, (cos * factors).to(wide), (sin * factors).to(wide), layout=self.layout)

    def _passed(self) -> dict[str, Any]:
        return {"rotary_dim": None if self.rotary_dim == self.head_dim else self.rotary_dim}
