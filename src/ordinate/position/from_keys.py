"""Rotations whose angles are read off the tokens: positions that a network assigns (RePo), angles that add up (Selective RoPE).

They stand apart from the other rotations because the angle of a query is that of its own token, which is known from its key, so
they compute scores; keys are cached unturned. The papers read angles off the layer's input; keys are a linear function of it.
Sources: Li, Zhao and Sproat 2025, arXiv 2512.14391 (RePo), read in SakanaAI/repo at commit c2f458d; Movahedi et al. 2025, arXiv
2511.17388 (Selective RoPE), read in timurcarstensen/selective-rope at commit 9d06c33.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn
from torch.nn.functional import linear, normalize, silu

from ordinate.arguments import check_integer
from ordinate.frequencies import check_base, inverse_frequencies
from ordinate.position.base import PositionEncoding, full_precision
from ordinate.position.bias.content import (
    OrderedKeys,
    check_content,
    check_key_heads,
    grouped_product,
    key_value_heads,
    usual_scale,
)
from ordinate.position.rotary.rotation import Layout, check_head, check_layout, rotate_pairs

__all__ = ["RePo", "SelectiveRotary"]


class KeyAngles(PositionEncoding, ABC):
    """What the members share: sizes, and scores of queries and keys that are turned by the angles of their tokens."""

    reads_mask = True

    def __init__(self, num_heads: int, head_dim: int, layout: Layout, num_key_value_heads: int | None, base: float) -> None:
        super().__init__()
        check_head(head_dim, None)
        check_layout(layout)
        check_base(base)
        self.num_heads, self.head_dim, self.layout, self.base = num_heads, head_dim, layout, base
        self._frequencies = inverse_frequencies(head_dim, base)
        self.num_key_value_heads = key_value_heads(num_heads, head_dim, num_key_value_heads)

    def reset_parameters(self) -> None:
        """Draw the projections anew, as `nn.Linear` does."""
        for module in self.children():
            module.reset_parameters()  # type: ignore[operator]

    @abstractmethod
    def angles(self, key: Tensor, seen: Tensor | None = None) -> Tensor:
        """Radians of each pair of channels, float64 [B, G, S, D / 2], of the tokens of `key` [B, G, S, D] in their order.

        Args:
            key: unturned.
            seen: bool [B or 1, S], tokens that count; None for all.
        """

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        query_positions: Tensor,
        key_positions: Tensor,
        scale: float | None = None,
        visible: Tensor | None = None,
    ) -> Tensor:
        """`scores`, with the same arguments."""
        return self.scores(query, key, query_positions, key_positions, scale, visible)

    @full_precision
    def scores(
        self,
        query: Tensor,
        key: Tensor,
        query_positions: Tensor,
        key_positions: Tensor,
        scale: float | None = None,
        visible: Tensor | None = None,
    ) -> Tensor:
        """scale (R(angles of i's own token) q_i) . (R(angles of j) k_j): [B, H, T, S], float32 or wider.

        Args:
            query: [B, H, T, D].
            key: [B, G, S, D], unturned: every key that the query may see, its own among them.
            query_positions, key_positions: integers [T] or [B, T] and [S] or [B, S]; they say the order of the tokens.
            scale: factor on the products, 1 / sqrt(D) by default.
            visible: bool, broadcasts to [B, H, T, S]: keys that count, if they are not ahead of the query. None: all.

        Raises:
            ShapeError: sizes that do not fit.
        """
        wide, keys = check_content(query, key, query_positions, key_positions, num_heads=self.num_heads, head_dim=self.head_dim)
        assert keys is not None
        check_key_heads(keys, self.num_key_value_heads)
        ordered = OrderedKeys.of(keys, query_positions, key_positions, visible)
        angles = self.angles(ordered.keys, ordered.seen)
        if keys.shape[2] == 0:
            return grouped_product(wide, keys)
        own = ordered.own(angles).repeat_interleave(self.num_heads // self.num_key_value_heads, 1)
        scores = ordered.back(grouped_product(self._turned(wide, own), self._turned(ordered.keys, angles)))
        return scores * (usual_scale(wide) if scale is None else scale)

    def _turned(self, x: Tensor, angles: Tensor) -> Tensor:
        """x [B, H, T, D] by angles [B, H, T, P]: heads stand in as rows, since `rotate_pairs` has one table a row."""
        cos, sin = (table.to(x.dtype).flatten(0, 1) for table in (angles.cos(), angles.sin()))
        return rotate_pairs(x.flatten(0, 1).unsqueeze(1), cos, sin, layout=self.layout).reshape(x.shape)

    def _beside(self, key: Tensor) -> Tensor:
        """[B, S, G D]: the key heads of each token side by side."""
        return key.transpose(1, 2).flatten(-2)

    def _inv_freq(self, device: torch.device) -> Tensor:
        return torch.tensor(self._frequencies, dtype=torch.float64, device=device)


class RePo(KeyAngles):
    """Rotary at positions that a small network assigns to the tokens: z = C (silu(A k) * (B k)), one number a head.

    The pair c turns by z base^(-2c / D). Nothing is left of the token's place in the row but the causal order; where that
    matters, combine it with a bias or leave some layers rotary.

    Args:
        num_heads: query heads H.
        head_dim: channels D of a head, even.
        layout: which channels make a pair, as in `Rotary`.
        num_key_value_heads: heads G of the keys, H by default.
        base: of the frequency schedule.
        hidden_dim: width of the network; an eighth of the key heads' channels by default, as in the authors' code.

    Raises:
        ArgumentError: sizes below 1, an odd head_dim, heads that do not divide.

    Source: Li, Zhao and Sproat 2025, arXiv 2512.14391; `swigluex_multihead` of the authors' code.

    >>> repo = RePo(2, 8, layout="half")
    >>> repo.scores(torch.randn(1, 2, 5, 8), torch.randn(1, 2, 5, 8), torch.arange(5), torch.arange(5)).shape
    torch.Size([1, 2, 5, 5])
    """

    def __init__(
        self,
        num_heads: int,
        head_dim: int,
        *,
        layout: Layout,
        num_key_value_heads: int | None = None,
        base: float = 10000.0,
        hidden_dim: int | None = None,
    ) -> None:
        super().__init__(num_heads, head_dim, layout, num_key_value_heads, base)
        width = self.num_key_value_heads * head_dim
        self.hidden_dim = max(width // 8, 1) if hidden_dim is None else hidden_dim
        check_integer("hidden_dim", self.hidden_dim, minimum=1)
        self.gate = nn.Linear(width, self.hidden_dim, bias=False)
        self.content = nn.Linear(width, self.hidden_dim, bias=False)
        self.place = nn.Linear(self.hidden_dim, self.num_key_value_heads, bias=False)

    def angles(self, key: Tensor, seen: Tensor | None = None) -> Tensor:
        """Radians of each pair, float64 [B, G, S, D / 2]; `seen` is not looked at."""
        beside = self._beside(key)
        gate, content, place = (module.weight.to(key.dtype) for module in (self.gate, self.content, self.place))
        places = linear(silu(linear(beside, gate)) * linear(beside, content), place)
        return places.double().transpose(1, 2).unsqueeze(-1) * self._inv_freq(key.device)


class SelectiveRotary(KeyAngles):
    """Rotary by angles that add up from token to token, each token's step read off its content.

    angle_t = base^(-2c / D) * sum over l up to t of (exp(b) + phi_l), with phi = U V (k / |k|) through `rank` channels. Where
    phi is zero and b is 0 this is `Rotary`. The convolution over four tokens that the authors put behind phi is left out.

    Args:
        num_heads: query heads H.
        head_dim: channels D of a head, even.
        layout: which channels make a pair, as in `Rotary`.
        num_key_value_heads: heads G of the keys, H by default.
        base: of the frequency schedule; 500,000 in the authors' code.
        rank: channels between V and U.
        constant: whether the step has the part exp(b), learned for each head and pair; without it there is content alone.

    Raises:
        ArgumentError: sizes below 1, an odd head_dim, heads that do not divide.

    Source: Movahedi et al. 2025, arXiv 2511.17388; `SelectiveRoPE` of the authors' code, whose `use_bias` is `constant`.

    >>> selective = SelectiveRotary(2, 8, layout="half")
    >>> selective.scores(torch.randn(1, 2, 5, 8), torch.randn(1, 2, 5, 8), torch.arange(5), torch.arange(5)).shape
    torch.Size([1, 2, 5, 5])
    """

    def __init__(
        self,
        num_heads: int,
        head_dim: int,
        *,
        layout: Layout,
        num_key_value_heads: int | None = None,
        base: float = 500000.0,
        rank: int = 16,
        constant: bool = True,
    ) -> None:
        super().__init__(num_heads, head_dim, layout, num_key_value_heads, base)
        check_integer("rank", rank, minimum=1)
        self.rank, self.constant = rank, constant
        width = self.num_key_value_heads * head_dim
        self.narrow = nn.Linear(width, rank, bias=False)
        self.step = nn.Linear(rank, self.num_key_value_heads * (head_dim // 2), bias=False)
        self.log_constant = nn.Parameter(torch.empty(self.num_key_value_heads, head_dim // 2)) if constant else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the projections anew; constant steps start at 1."""
        super().reset_parameters()
        if self.log_constant is not None:
            nn.init.zeros_(self.log_constant)

    def angles(self, key: Tensor, seen: Tensor | None = None) -> Tensor:
        """Radians of each pair, float64 [B, G, S, D / 2]: sums over the tokens that are `seen`, up to each."""
        beside = normalize(self._beside(key), dim=-1)
        steps = linear(linear(beside, self.narrow.weight.to(key.dtype)), self.step.weight.to(key.dtype)).double()
        steps = steps.unflatten(-1, (self.num_key_value_heads, -1)).transpose(1, 2)
        if self.log_constant is not None:
            steps = steps + self.log_constant.double().exp().unsqueeze(-2)
        if seen is not None:
            steps = steps * seen[:, None, :, None]
        return steps.cumsum(-2) * self._inv_freq(key.device)
