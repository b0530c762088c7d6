"""DeBERTa's disentangled attention: content looks at positions, and positions look at content.

Of the relative encodings this is the one with a table of hidden vectors that is projected like queries and keys are, with
distances in buckets, and with a scale of its own. Source: He et al. 2020, arXiv 2006.03654 (v1: every distance a row); He et
al. 2021, arXiv 2111.09543, and the released v2 and v3 models (log buckets, shared projections, a norm on the table).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from ordinate.arguments import check_integer
from ordinate.errors import ArgumentError, RefusedError
from ordinate.position.base import ScoreBias, full_precision
from ordinate.position.bias.content import Way, check_content, check_way, scores_by_row, takes_skew
from ordinate.position.bias.distance import distances
from ordinate.position.bias.skew import distance_range, skewed_scores

__all__ = ["DisentangledRelative"]

_TERMS = ("c2p", "p2c")


class DisentangledRelative(ScoreBias):
    """Products of each query with the position key of the distance, and of each key with the position query of the distance.

    score(i, j) = (q_i . k_j + q_i . K_r[d] + k_j . Q_r[d]) / sqrt(3 D), d = clip(i - j, -k, k - 1) + k.
    The paper's eq. 4 writes Q_r[d(j, i)], the distance seen from the key; the authors' code, and so every released model, takes
    the row of i - j for both terms, and so does this.
    The products with positions are returned as a bias. The divisor counts the terms, so this encoding has a scale of its own,
    `own_scale`, which `attend` takes where none is given.

    Args:
        num_heads: query heads H.
        head_dim: channels D of a head.
        max_distance: the clipping distance k (`max_relative_positions`; where a config says -1, `max_position_embeddings`).
        num_buckets: v2 and v3: distances up to half of this have buckets of their own, farther ones share buckets that widen
            with the logarithm up to `max_distance` (`position_buckets`); the table then has 2 num_buckets rows. v1 has none.
        terms: "c2p", "p2c" or both (`pos_att_type`).
        hidden_size: channels of the table, by default H D.
        shared_projections: the attention's own query and key projections serve the table too (`share_att_key`, v2 and v3);
            hand them over with `share`.
        key_bias: whether the key projection of the table has a bias (v1: no).
        norm: whether the table goes through a layer norm (`norm_rel_ebd: layer_norm`, v2 and v3). All layers of a checkpoint
            have one table and one norm: assign one module's `table` and `norm` to the others.
        impl: "skew" needs positions in unbroken order; "general" takes any; "auto" looks.

    Raises:
        ArgumentError: a size below 1, an odd num_buckets, a max_distance inside its exact half, an unknown term or impl.

    Source: He et al. 2020, arXiv 2006.03654, eqs. 3 and 4; log buckets: `make_log_bucket_position` of the authors' code.

    >>> DisentangledRelative(12, 64, max_distance=512, num_buckets=256, hidden_size=768).buckets(torch.tensor([5, 300, -9000]))
    tensor([   5,  207, -519])
    """

    needs_content = True

    def __init__(
        self,
        num_heads: int,
        head_dim: int,
        *,
        max_distance: int,
        num_buckets: int | None = None,
        terms: Sequence[str] = _TERMS,
        hidden_size: int | None = None,
        shared_projections: bool = False,
        key_bias: bool = True,
        norm: bool = False,
        impl: Way = "auto",
    ) -> None:
        super().__init__()
        check_integer("num_heads", num_heads, minimum=1)
        check_integer("head_dim", head_dim, minimum=1)
        check_integer("max_distance", max_distance, minimum=1)
        hidden = num_heads * head_dim if hidden_size is None else hidden_size
        check_integer("hidden_size", hidden, minimum=1)
        if num_buckets is not None:
            _check_buckets(num_buckets, max_distance)
        if not terms or len(set(terms)) != len(terms) or not set(terms) <= set(_TERMS):
            raise ArgumentError("terms", expected="'c2p', 'p2c' or both", got=list(terms), hint="released models have both")
        check_way(impl)
        self.num_heads, self.head_dim, self.max_distance, self.num_buckets = num_heads, head_dim, max_distance, num_buckets
        self.terms, self.hidden_size = tuple(term for term in _TERMS if term in terms), hidden
        self.shared_projections, self.key_bias, self.impl = shared_projections, key_bias, impl
        self.table = nn.Parameter(torch.empty(2 * self.span, hidden))
        self.norm = nn.LayerNorm(hidden, eps=1e-7) if norm else None
        self.key_projection = self.query_projection = None
        self._shared: tuple[nn.Module, nn.Module] | None = None  # in a tuple, so that they stay the attention's own modules
        if not shared_projections:
            if "c2p" in self.terms:
                self.key_projection = nn.Linear(hidden, num_heads * head_dim, bias=key_bias)
            if "p2c" in self.terms:
                self.query_projection = nn.Linear(hidden, num_heads * head_dim)
        self.reset_parameters()

    @property
    def span(self) -> int:
        """Rows of the table on either side of distance 0."""
        return self.max_distance if self.num_buckets is None else self.num_buckets

    @property
    def own_scale(self) -> float:
        """1 / sqrt(D (1 + number of terms)), for the products of queries and keys too."""
        return 1.0 / math.sqrt(self.head_dim * (1 + len(self.terms)))

    def reset_parameters(self) -> None:
        """Draw table and projections anew from N(0, 0.02^2), biases 0, as the authors do."""
        nn.init.normal_(self.table, std=0.02)
        if self.norm is not None:
            self.norm.reset_parameters()
        for projection in (self.key_projection, self.query_projection):
            if projection is not None:
                nn.init.normal_(projection.weight, std=0.02)
                if projection.bias is not None:
                    nn.init.zeros_(projection.bias)

    def share(self, query_projection: nn.Module, key_projection: nn.Module) -> None:
        """Take the attention's own projections, hidden_size to H D channels, for the table; their parameters stay theirs.

        Raises:
            ArgumentError: a module that was built with projections of its own.
        """
        if not self.shared_projections:
            raise ArgumentError(
                "shared_projections", expected="True", got=False, hint="build it with shared_projections=True to share"
            )
        self._shared = (query_projection, key_projection)

    def buckets(self, distance: Tensor) -> Tensor:
        """The signed bucket of each distance, int64 of its shape: exact up to num_buckets / 2, then by logarithm.

        bucket = sign ceil(ln(|d| / m) / ln((max_distance - 1) / m) (m - 1)) + m, m = num_buckets / 2, in float64.
        """
        distance = distance.long()
        if self.num_buckets is None:
            return distance
        middle = self.num_buckets // 2
        far = distance.abs().clamp_min(middle).to(torch.float64) / middle
        steps = (far.log() / math.log((self.max_distance - 1) / middle) * (middle - 1)).ceil().long()
        return torch.where(distance.abs() <= middle, distance, distance.sign() * (steps + middle))

    @full_precision
    def bias(
        self,
        query_positions: Tensor,
        key_positions: Tensor,
        query: Tensor | None = None,
        key: Tensor | None = None,
        scale: float | None = None,
    ) -> Tensor:
        """scale (q_i . K_r[d] + k_j . Q_r[d]), [B, H, T, S], float32 or wider.

        Args:
            query_positions, key_positions: integers [T] or [B, T] and [S] or [B, S].
            query: [B, H, T, D].
            key: [B, G, S, D].
            scale: what the products of queries and keys are multiplied by; by default `own_scale`.

        Raises:
            RefusedError: shared projections that were not handed over; impl="skew" for positions not in unbroken order.
        """
        wide, keys = check_content(query, key, query_positions, key_positions, num_heads=self.num_heads, head_dim=self.head_dim)
        assert keys is not None
        skew = takes_skew(self.impl, query_positions, key_positions)
        distance = None if skew else distances(query_positions, key_positions)
        position_queries, position_keys = self._projected(wide.dtype)
        scale = self.own_scale if scale is None else scale
        total: Tensor | None = None
        if position_keys is not None:
            total = scores_by_row(wide * scale, position_keys, self._row, query_positions, key_positions, distance)
        if position_queries is not None:
            keys = keys.repeat_interleave(self.num_heads // keys.shape[1], dim=1) * scale
            if distance is None:
                # seen from the keys the distances run the other way
                rows = self._row(distance_range(query_positions, key_positions).flip(0))
                seen = skewed_scores(keys, position_queries[:, rows])
            else:
                across = distance.transpose(-1, -2)
                seen = scores_by_row(keys, position_queries, self._row, key_positions, query_positions, across)
            seen = seen.transpose(-1, -2)
            total = seen if total is None else total.add_(seen)  # in place: the scores are the larger part of the memory
        assert total is not None
        return total

    def _row(self, distance: Tensor) -> Tensor:
        return (self.buckets(distance) + self.span).clamp(0, 2 * self.span - 1)

    def _projected(self, dtype: torch.dtype) -> tuple[Tensor | None, Tensor | None]:
        """Position queries and position keys, each [H, 2 span, D] or None."""
        table: Tensor = self.table
        if self.norm is not None:
            scales = (self.norm.weight.to(dtype), self.norm.bias.to(dtype))
            table = nn.functional.layer_norm(table.to(dtype), (self.hidden_size,), *scales, self.norm.eps)
        to_query: nn.Module | None = self.query_projection
        to_key: nn.Module | None = self.key_projection
        if self.shared_projections:
            if self._shared is None:
                raise RefusedError(
                    "shared_projections",
                    expected="the attention's query and key projections",
                    got="none handed over",
                    hint="call share(query_projection, key_projection) once",
                )
            to_query = self._shared[0] if "p2c" in self.terms else None
            to_key = self._shared[1] if "c2p" in self.terms else None

        def heads(project: nn.Module | None) -> Tensor | None:
            if project is None:
                return None
            if type(project) is nn.Linear:  # in the wider dtype, whatever the module was cast to
                bias = None if project.bias is None else project.bias.to(dtype)
                rows = nn.functional.linear(table.to(dtype), project.weight.to(dtype), bias)
            else:  # an adapter or a quantised layer knows its own dtype
                rows = project(table.to(self.table.dtype)).to(dtype)
            return rows.unflatten(-1, (self.num_heads, self.head_dim)).transpose(0, 1)

        return heads(to_query), heads(to_key)

    def _passed(self) -> dict[str, Any]:
        hidden_size = None if self.hidden_size == self.num_heads * self.head_dim else self.hidden_size
        return {"hidden_size": hidden_size, "norm": self.norm is not None}


def _check_buckets(num_buckets: int, max_distance: int) -> None:
    check_integer("num_buckets", num_buckets, minimum=2)
    if num_buckets % 2:
        raise ArgumentError("num_buckets", expected="an even number", got=num_buckets, hint="half are past, half future")
    if max_distance - 1 <= num_buckets // 2:
        raise ArgumentError(
            "max_distance",
            expected=f"more than {num_buckets // 2 + 1}, past the half of num_buckets with a bucket for each distance",
            got=max_distance,
            hint="v3 has 512 with 256 buckets; leave num_buckets out to tell every distance apart",
        )
