"""Transformer-XL's relative encoding: projected sinusoids of the distance, and two learned vectors in place of a query.

It stands apart from the learned tables because its vectors are computed, for any distance, and because that gives a second
exact way without an index: a sinusoid of a difference is a product of sinusoids. Source: Dai et al. 2019, arXiv 1901.02860,
section 3.3; the same term in XLNet (Yang et al. 2019, arXiv 1906.08237) and Conformers (Gulati et al. 2020, arXiv 2005.08100).
"""

from __future__ import annotations

from typing import Any, Literal

import torch
from torch import Tensor, nn

from ordinate.arguments import check_integer
from ordinate.errors import ArgumentError
from ordinate.position.additive.absolute import Sinusoidal
from ordinate.position.base import ScoreBias, full_precision
from ordinate.position.bias.content import (
    Way,
    check_content,
    check_way,
    scores_by_row,
    takes_skew,
    usual_scale,
)
from ordinate.position.bias.distance import distances
from ordinate.position.bias.skew import distance_range, skewed_scores
from ordinate.position.rotary.rotation import angle_tables

__all__ = ["TransformerXLRelative"]


class TransformerXLRelative(ScoreBias):
    """Scores with a sinusoid of the distance, projected into each head, and with two learned vectors.

    score(i, j) = (q_i . k_j + u . k_j + (q_i + v) . W R(i - j)) / sqrt(D): the last three of the four terms (a) to (d) are
    returned as a bias, term (a) is the caller's own product. Both directions: R is defined for keys ahead of the query as well.

    Args:
        num_heads: query heads H.
        head_dim: channels D of a head.
        layout: of the sinusoid's channels: "half" in Transformer-XL and XLNet, "interleaved" in Conformers (Wav2Vec2-BERT,
            Parakeet). A checkpoint fixes it, and the wrong one is silent, so there is no default.
        hidden_size: channels of the sinusoid, even; by default H D.
        base: of the sinusoid's frequencies.
        max_distance: distances are clamped to this many tokens on either side (`clamp_len` in the checkpoints' configs).
        impl: "skew" needs positions in unbroken order; "general" takes any, fractional ones too; "auto" looks.

    Raises:
        ArgumentError: a size below 1, an odd hidden_size, an unknown layout or impl, a base of 1 or less.

    Source: Dai et al. 2019, arXiv 1901.02860, section 3.3 and appendix B.

    >>> xl = TransformerXLRelative(2, 4, layout="half")
    >>> q, k = torch.randn(2, 1, 2, 6, 4)
    >>> xl.bias(torch.arange(6), torch.arange(6), q, k).shape
    torch.Size([1, 2, 6, 6])
    """

    needs_content = True

    def __init__(
        self,
        num_heads: int,
        head_dim: int,
        *,
        layout: Literal["half", "interleaved"],
        hidden_size: int | None = None,
        base: float = 10000.0,
        max_distance: int | None = None,
        impl: Way = "auto",
    ) -> None:
        super().__init__()
        check_integer("num_heads", num_heads, minimum=1)
        check_integer("head_dim", head_dim, minimum=1)
        hidden = num_heads * head_dim if hidden_size is None else hidden_size
        check_integer("hidden_size", hidden, minimum=1)
        if hidden % 2:
            raise ArgumentError(
                "hidden_size", expected="an even number of channels", got=hidden, hint="sine and cosine pair up"
            )
        if max_distance is not None:
            check_integer("max_distance", max_distance, minimum=1)
        check_way(impl)
        self.num_heads, self.head_dim, self.hidden_size = num_heads, head_dim, hidden
        self.layout, self.base, self.max_distance, self.impl = layout, base, max_distance, impl
        self._sinusoid = Sinusoidal(hidden, layout=layout, base=base, schedule="vaswani")
        self.content_bias = nn.Parameter(torch.empty(num_heads, head_dim))
        self.position_bias = nn.Parameter(torch.empty(num_heads, head_dim))
        self.projection = nn.Linear(hidden, num_heads * head_dim, bias=False)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw u, v and W anew from N(0, 0.02^2), as the authors do."""
        for parameter in self.parameters():
            nn.init.normal_(parameter, std=0.02)

    @full_precision
    def bias(
        self,
        query_positions: Tensor,
        key_positions: Tensor,
        query: Tensor | None = None,
        key: Tensor | None = None,
        scale: float | None = None,
    ) -> Tensor:
        """scale (u . k_j + (q_i + v) . W R(i - j)), [B, H, T, S], float32 or wider.

        Args:
            query_positions, key_positions: [T] or [B, T] and [S] or [B, S]; integers, or float32/float64.
            query: [B, H, T, D].
            key: [B, G, S, D].
            scale: what the products of queries and keys are multiplied by, 1 / sqrt(D) by default.

        Raises:
            RefusedError: impl="skew" for positions that are not in unbroken order.
        """
        wide, keys = check_content(
            query,
            key,
            query_positions,
            key_positions,
            num_heads=self.num_heads,
            head_dim=self.head_dim,
            continuous=True,
        )
        assert keys is not None
        scale = usual_scale(wide) if scale is None else scale
        queries = (wide + self.position_bias.to(wide.dtype).unsqueeze(1)) * scale
        weight = self.projection.weight.to(wide.dtype).unflatten(0, (self.num_heads, self.head_dim))
        if takes_skew(self.impl, query_positions, key_positions):
            position = skewed_scores(queries, self._vectors(weight, distance_range(query_positions, key_positions)))
        elif self.max_distance is None:
            position = self._product_of_sinusoids(queries, weight, query_positions, key_positions)
        else:
            position = self._clamped(queries, weight, query_positions, key_positions)
        of_heads = (self.content_bias.to(wide.dtype) * scale).unflatten(0, (keys.shape[1], -1))  # [G, H / G, D]
        content = torch.einsum("ghd,bgsd->bghs", of_heads, keys).flatten(1, 2).unsqueeze(-2)
        return position.add_(content)  # in place: a second tensor of all scores would be the larger part of the memory

    def _vectors(self, weight: Tensor, distance: Tensor) -> Tensor:
        """W R(distance) for distances [R]: [H, R, D]."""
        if self.max_distance is not None:
            distance = distance.clamp(-self.max_distance, self.max_distance)
        return torch.einsum("rc,hdc->hrd", self._sinusoid.encode(distance, dtype=weight.dtype), weight)

    def _product_of_sinusoids(self, queries: Tensor, weight: Tensor, query_positions: Tensor, key_positions: Tensor) -> Tensor:
        """(q + v) . W R(i - j) by sin(i - j) = sin i cos j - cos i sin j and cos(i - j) = cos i cos j + sin i sin j.

        Any positions, no index; the price is a product over hidden_size channels instead of head_dim.
        """
        frequencies = torch.tensor(self._sinusoid.frequencies(), dtype=torch.float64, device=query_positions.device)
        through = torch.einsum("bhtd,hdc->bhtc", queries, weight)
        if self.layout == "half":
            sines, cosines = through.chunk(2, dim=-1)
        else:
            sines, cosines = through[..., 0::2], through[..., 1::2]
        here_cos, here_sin = (x.unsqueeze(-3) for x in angle_tables(query_positions, frequencies, dtype=queries.dtype))
        there = torch.cat(angle_tables(key_positions, frequencies, dtype=queries.dtype), dim=-1)
        turned = torch.cat((sines * here_sin + cosines * here_cos, cosines * here_sin - sines * here_cos), dim=-1)
        return turned @ (there.T if there.ndim == 2 else there.unsqueeze(1).transpose(-1, -2))

    def _clamped(self, queries: Tensor, weight: Tensor, query_positions: Tensor, key_positions: Tensor) -> Tensor:
        """A clamped distance is no difference of two positions any more: gather from the 2 max_distance + 1 vectors."""
        assert self.max_distance is not None
        farthest = self.max_distance
        table = self._vectors(weight, torch.arange(-farthest, farthest + 1, device=queries.device))
        distance = distances(query_positions, key_positions)
        if distance.is_floating_point():
            raise ArgumentError(
                "query_positions",
                expected="integers, since max_distance clamps to whole distances",
                got=str(distance.dtype),
                hint="drop max_distance, or round the positions",
            )

        def rows(distance: Tensor) -> Tensor:
            return distance.clamp(-farthest, farthest) + farthest

        return scores_by_row(queries, table, rows, query_positions, key_positions, distance)

    def _passed(self) -> dict[str, Any]:
        return {"hidden_size": None if self.hidden_size == self.num_heads * self.head_dim else self.hidden_size}
