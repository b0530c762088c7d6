"""Multi-head M-RoPE: each head turns with one axis, at all frequencies.

Source: Huang et al. 2025, arXiv 2510.23095; read in the authors' code, JJJYmmm/Multimodal-RoPEs at commit 8cd6d41
(`freq_allocation/mhrope.py`). That paper's interleaved M-RoPE is `MultimodalRotary` with arrangement "interleaved".
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from ordinate.arguments import check_integer
from ordinate.errors import ArgumentError, ShapeError
from ordinate.frequencies import check_base, inverse_frequencies
from ordinate.position.axes import on_every_axis
from ordinate.position.base import QueryKeyEncoding
from ordinate.position.indices import check_axis_positions
from ordinate.position.rotary.rotation import Layout, check_head, check_layout, rotate_pairs, working_dtype
from ordinate.shapes import check_shape

__all__ = ["MultiHeadRotary"]


class MultiHeadRotary(QueryKeyEncoding):
    """Head h turns pair c by position_a(h) * base^(-2c / D), where a(h) is the axis that the head belongs to.

    The first sections[0] key-value heads, and the query heads that share them, go to axis 0, the next to axis 1, ...; heads
    that are left over do not turn. For text, where all axes agree, those that turn are plain `Rotary`.

    Args:
        head_dim: channels D of a head, even.
        layout: which channels make a pair, as in `Rotary`.
        sections: key-value heads for each axis (time, height, width).
        num_key_value_heads: heads G of the keys; the sum of the sections by default, and no fewer.
        base: of the frequency schedule.

    Raises:
        ArgumentError: an odd head_dim, sections below 1, fewer heads than the sections ask for.

    Source: Huang et al. 2025, arXiv 2510.23095 (MHRoPE).

    >>> from ordinate.position import indices
    >>> rotary = MultiHeadRotary(16, layout="half", sections=(1, 1, 1))
    >>> rotary.rotate_query(torch.randn(1, 6, 11, 16), indices.multimodal([3, (1, 2, 3), 2])).shape
    torch.Size([1, 6, 11, 16])
    """

    def __init__(
        self,
        head_dim: int,
        *,
        layout: Layout,
        sections: Sequence[int],
        num_key_value_heads: int | None = None,
        base: float = 10000.0,
    ) -> None:
        super().__init__()
        check_head(head_dim, None)
        check_layout(layout)
        check_base(base)
        if not isinstance(sections, list | tuple) or len(sections) < 2:
            raise ArgumentError("sections", expected="heads for two axes or more", got=sections)
        for section in sections:
            check_integer("sections", section, minimum=1)
        total = sum(sections)
        self.num_key_value_heads = total if num_key_value_heads is None else num_key_value_heads
        check_integer("num_key_value_heads", self.num_key_value_heads, minimum=total)
        self._inv_freq = inverse_frequencies(head_dim, base)
        self.head_dim, self.layout, self.sections, self.base = head_dim, layout, tuple(sections), base

    axes = property(lambda self: len(self.sections), doc="Numbers in a position.")

    def rotate_query(self, query: Tensor, positions: Tensor) -> Tensor:
        """query [B, H, T, D] at positions [T, A] or [B, T, A], or [T] for text; worked in float32 or wider.

        Raises:
            ShapeError: another head_dim, heads that do not share the key-value heads equally, positions of other tokens.
        """
        return self._turned("query", query, positions)

    def rotate_key(self, key: Tensor, positions: Tensor) -> Tensor:
        """key [B, G, S, D] at its positions; as `rotate_query`."""
        return self._turned("key", key, positions)

    def _turned(self, name: str, x: Tensor, positions: Tensor) -> Tensor:
        sizes = check_shape(name, x, "B H T D", D=self.head_dim)
        if isinstance(positions, Tensor) and positions.ndim == 1:
            positions = on_every_axis(positions, self.axes)
        check_axis_positions("positions", positions, self.axes, length=sizes["T"], batch=sizes["B"])
        if sizes["H"] % self.num_key_value_heads:
            raise ShapeError(name, expected=f"a multiple of {self.num_key_value_heads} heads", got=f"{sizes['H']}")
        owners = [axis for axis, section in enumerate(self.sections) for _ in range(section)]
        owner = torch.tensor(owners, device=x.device).repeat_interleave(sizes["H"] // self.num_key_value_heads)
        inv_freq = torch.tensor(self._inv_freq, dtype=torch.float64, device=x.device)
        by_head = positions.double().transpose(-1, -2).index_select(-2, owner)  # [H', T] or [B, H', T], the heads that turn
        angles = (by_head.unsqueeze(-1) * inv_freq).expand(x.shape[0], -1, -1, -1).flatten(0, 1)
        wide, turned = working_dtype(x), x[:, : len(owner)]
        rows = turned.flatten(0, 1).unsqueeze(1)  # heads stand in as rows: rotate_pairs has one table a row
        turned = rotate_pairs(rows, angles.cos().to(wide), angles.sin().to(wide), layout=self.layout).reshape(turned.shape)
        return torch.cat((turned, x[:, len(owner) :]), 1)
