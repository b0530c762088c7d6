"""PoPE: polar coordinates for queries and keys, so that what is asked for and where it stands do not mix.

It stands apart from `Rotary` because it changes the content too: a channel becomes the length of a two-dimensional vector whose
direction is the position's alone. Source: Gopalakrishnan et al. 2025, arXiv 2509.10534.
"""

from __future__ import annotations

import math
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn.functional import softplus

from ordinate.arguments import check_integer
from ordinate.errors import ArgumentError
from ordinate.frequencies import check_base
from ordinate.position.base import QueryKeyEncoding
from ordinate.position.indices import check_positions
from ordinate.position.rotary.rotation import angle_tables, rotate_pairs, working_dtype
from ordinate.shapes import check_shape

__all__ = ["PoPE"]


class PoPE(QueryKeyEncoding):
    """Each channel c becomes softplus(x_c) in the direction position * base^(-c / D), so heads leave with 2 D channels.

    score(t, s) = sum_c softplus(q_c) softplus(k_c) cos((s - t) w_c + phase_c), with w_c = base^(-c / D), c = 0, ..., D - 1, and
    one learned phase, clamped to [-2 pi, 0], for each head and channel. The products of the wider vectors are these scores;
    the scale stays 1 / sqrt(D), which `attend` takes before it rotates. The phase is carried by the query, so shared key-value
    heads work and cached keys do not change with it.

    Args:
        head_dim: channels D of a head as it comes in, any number.
        num_heads: query heads H.
        base: of the frequency schedule, above 1.
        phase_init: "zero", which the authors prefer for lengths beyond the trained one, or "uniform" in [-2 pi, 0].

    Raises:
        ArgumentError: no channels or heads, a base of 1 or less, an unknown `phase_init`.

    Source: Gopalakrishnan et al. 2025, arXiv 2509.10534, eqs. 3-6.

    >>> pope = PoPE(8, num_heads=2)
    >>> pope.rotate_query(torch.zeros(1, 2, 1, 8), torch.tensor([5])).shape
    torch.Size([1, 2, 1, 16])
    """

    def __init__(
        self, head_dim: int, num_heads: int, *, base: float = 10000.0, phase_init: Literal["zero", "uniform"] = "zero"
    ) -> None:
        super().__init__()
        check_integer("head_dim", head_dim, minimum=1)
        check_integer("num_heads", num_heads, minimum=1)
        check_base(base)
        if phase_init not in ("zero", "uniform"):
            raise ArgumentError("phase_init", expected="'zero' or 'uniform'", got=phase_init, hint="leave it out for 'zero'")
        self.head_dim, self.num_heads, self.base, self.phase_init = head_dim, num_heads, base, phase_init
        self.phase = nn.Parameter(torch.empty(num_heads, head_dim))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set the phases anew, as `phase_init` says."""
        if self.phase_init == "zero":
            nn.init.zeros_(self.phase)
        else:
            nn.init.uniform_(self.phase, -2 * math.pi, 0.0)

    def frequencies(self) -> tuple[float, ...]:
        """Radians per position of each channel: twice as many as a rotation of pairs has, over the same range."""
        return tuple(float(self.base) ** (-channel / self.head_dim) for channel in range(self.head_dim))

    def rotate_query(self, query: Tensor, positions: Tensor) -> Tensor:
        """query [B, H, T, D] at positions [T] or [B, T] to [B, H, T, 2 D]; worked in float32 or wider.

        Raises:
            ShapeError: another head_dim or number of heads, positions that fit neither tokens nor batch.
        """
        check_shape("query", query, "B H T D", H=self.num_heads)
        wide = working_dtype(query)
        # the paper lets the key lead by its phase; a query that lags by it has the same products
        phase = self.phase.to(wide).clamp(-2 * math.pi, 0.0).unsqueeze(-2)
        return self._polar("query", query, positions, phase.cos(), -phase.sin())

    def rotate_key(self, key: Tensor, positions: Tensor) -> Tensor:
        """key [B, G, S, D] at positions [S] or [B, S] to [B, G, S, 2 D]; raises as `rotate_query`."""
        return self._polar("key", key, positions, None, None)

    def _polar(self, name: str, x: Tensor, positions: Tensor, across: Tensor | None, along: Tensor | None) -> Tensor:
        sizes = check_shape(name, x, "B H T D", D=self.head_dim)
        check_positions("positions", positions, length=sizes["T"], batch=sizes["B"])
        wide = working_dtype(x)
        length = softplus(x.to(wide))
        radians = torch.tensor(self.frequencies(), dtype=torch.float64, device=x.device)
        cos, sin = angle_tables(positions, radians, dtype=wide)
        if across is None or along is None:
            start = torch.cat((length, torch.zeros_like(length)), dim=-1)
        else:
            start = torch.cat((length * across, length * along), dim=-1)
        return rotate_pairs(start, cos, sin, layout="half").to(x.dtype)
