"""Pooling: a row of tokens as one vector, or a few, by weights that sum to one.

Mean pooling weighs all real tokens alike; attention pooling weighs them by learned queries, and is mean pooling where every
score is the same. Sources: Lee et al. 2019, arXiv 1810.00825, eq. 11 (learned queries, several of them); Radford et al. 2021,
arXiv 2103.00020, section 2.4 (pooling by attention in vision).
"""

from __future__ import annotations

import math
from typing import Literal, overload

import torch
from torch import Tensor, nn

from ordinate.arguments import check_integer
from ordinate.attention.attend import attend
from ordinate.attention.masks import Padding
from ordinate.errors import ArgumentError
from ordinate.shapes import check_shape

__all__ = ["AttentionPooling", "MeanPooling"]


class MeanPooling(nn.Module):
    """The mean of a row's real tokens: sum_t m_t x_t / sum_t m_t.

    >>> x = torch.tensor([[[1.0], [3.0], [100.0]]])
    >>> MeanPooling()(x, torch.tensor([[True, True, False]]))
    tensor([[2.]])
    """

    @overload
    def forward(self, x: Tensor, token_mask: Tensor | None = ..., *, return_weights: Literal[False] = ...) -> Tensor: ...
    @overload
    def forward(
        self, x: Tensor, token_mask: Tensor | None = ..., *, return_weights: Literal[True]
    ) -> tuple[Tensor, Tensor]: ...
    def forward(
        self, x: Tensor, token_mask: Tensor | None = None, *, return_weights: bool = False
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Pool rows.

        Args:
            x: [B, T, D].
            token_mask: bool [B, T], true where the token is real; None where all are.
            return_weights: also return the weights [B, 1, 1, T], as `AttentionPooling` with one head and one query has them.

        Returns:
            [B, D] in the dtype of x, summed in float32 or wider.

        Raises:
            ArgumentError: a row without a real token.
        """
        real = _real_tokens(x, token_mask)
        wide = torch.promote_types(x.dtype, torch.float32)
        if real is None:
            weights = torch.full(x.shape[:2], 1 / x.shape[1], dtype=wide, device=x.device)
        else:
            weights = real.to(wide) / real.sum(-1, keepdim=True)
        pooled = torch.einsum("bt,btd->bd", weights, _without_padding(x, real).to(wide)).to(x.dtype)
        return (pooled, weights[:, None, None]) if return_weights else pooled


class AttentionPooling(nn.Module):
    """Learned queries that attend to a row: softmax(scale Q K^T) V, with queries that do not depend on the row.

    With `projections` keys and values are projections of the tokens, and heads are joined by an output projection. Without,
    each head's keys and values are its share of the tokens' own channels, and the queries are all there is to learn: with
    queries of zero that is `MeanPooling`. Queries start near zero, so an untrained module weighs tokens almost alike.

    Args:
        dim: channels D of a token and of the result.
        num_heads: heads H; each has D / H channels and weights of its own.
        num_queries: vectors that a row becomes.
        projections: whether to project keys, values and output.
        bias: on these projections.

    Raises:
        ArgumentError: heads that do not divide `dim`, sizes below 1.

    Source: Lee et al. 2019, arXiv 1810.00825, eq. 11.

    >>> pooling = AttentionPooling(16, num_heads=4, num_queries=2)
    >>> pooling(torch.randn(3, 10, 16)).shape
    torch.Size([3, 2, 16])
    """

    def __init__(
        self, dim: int, *, num_heads: int = 1, num_queries: int = 1, projections: bool = True, bias: bool = False
    ) -> None:
        super().__init__()
        for name, size in (("dim", dim), ("num_heads", num_heads), ("num_queries", num_queries)):
            check_integer(name, size, minimum=1)
        if dim % num_heads:
            raise ArgumentError(
                "num_heads", expected=f"a number that divides dim ({dim})", got=num_heads, hint="heads share the channels"
            )
        self.dim, self.num_heads, self.num_queries = dim, num_heads, num_queries
        self.queries = nn.Parameter(torch.empty(num_queries, dim))
        nn.init.normal_(self.queries, std=0.02)
        self.key_value = nn.Linear(dim, 2 * dim, bias=bias) if projections else None
        self.output = nn.Linear(dim, dim, bias=bias) if projections else None

    @overload
    def forward(self, x: Tensor, token_mask: Tensor | None = ..., *, return_weights: Literal[False] = ...) -> Tensor: ...
    @overload
    def forward(
        self, x: Tensor, token_mask: Tensor | None = ..., *, return_weights: Literal[True]
    ) -> tuple[Tensor, Tensor]: ...
    def forward(
        self, x: Tensor, token_mask: Tensor | None = None, *, return_weights: bool = False
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Pool rows.

        Args:
            x: [B, T, D].
            token_mask: bool [B, T], true where the token is real; None where all are.
            return_weights: also return the weights [B, H, Q, T] of heads and queries.

        Returns:
            [B, D] for one query, [B, Q, D] for several.

        Raises:
            ArgumentError: a row without a real token.
            ShapeError: tokens of another width.
        """
        check_shape("x", x, "B T D", D=self.dim)
        real = _real_tokens(x, token_mask)
        tokens = _without_padding(x, real)
        key, value = (tokens, tokens) if self.key_value is None else self.key_value(tokens).chunk(2, dim=-1)
        query = self.queries.to(key.dtype).expand(x.shape[0], -1, -1)
        heads = (part.unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for part in (query, key, value))
        mask = None if real is None else Padding(real)
        pooled, weights = attend(
            *heads, mask=mask, scale=1 / math.sqrt(self.dim // self.num_heads), empty_rows="zeros", return_weights=True
        )
        pooled = pooled.transpose(1, 2).flatten(2)
        if self.output is not None:
            pooled = self.output(pooled)
        if self.num_queries == 1:
            pooled = pooled.squeeze(1)
        return (pooled, weights) if return_weights else pooled


def _real_tokens(x: Tensor, token_mask: Tensor | None) -> Tensor | None:
    """The mask as bool, checked; None where every token is real."""
    sizes = check_shape("x", x, "B T D")
    if token_mask is None:
        if sizes["T"] == 0:
            raise ArgumentError("x", expected="at least one token a row", got="none", hint="drop empty rows")
        return None
    check_shape("token_mask", token_mask, "B T", B=sizes["B"], T=sizes["T"])
    real = Padding(token_mask).key_mask.bool()
    if not torch.compiler.is_compiling() and not bool(real.any(-1).all()):
        row = int((~real.any(-1)).nonzero()[0])
        raise ArgumentError(
            "token_mask",
            expected="at least one real token in every row",
            got=f"none in row {row}",
            hint="drop rows that are all padding: there is nothing to pool",
        )
    return real


def _without_padding(x: Tensor, real: Tensor | None) -> Tensor:
    """Zeros where there is padding: whatever stands there, NaN too, has weight 0 and no say."""
    return x if real is None else x.masked_fill(~real.unsqueeze(-1), 0.0)
