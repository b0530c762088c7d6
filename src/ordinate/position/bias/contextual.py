"""Encodings whose position depends on content: CoPE counts the keys that its gates let through, DAPE bends a bias by scores.

They stand apart from the relative encodings because what they add cannot be had before queries and keys have met. Sources:
Golovneva et al. 2024, arXiv 2405.18719 (CoPE); Zheng et al. 2024, arXiv 2405.14722 (DAPE).
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ordinate.arguments import check_integer
from ordinate.errors import ArgumentTypeError
from ordinate.position.base import ScoreBias, full_precision, values_at_hand
from ordinate.position.bias.content import check_content, grouped_product, usual_scale
from ordinate.position.bias.distance import distances
from ordinate.position.protocols import biases_scores

__all__ = ["DAPE", "CoPE", "counted_from_behind"]


class CoPE(ScoreBias):
    """Contextual position: how many keys that the query cares for lie between a key and the query, both counted.

    g_ij = sigmoid(scale q_i . k_j), p_ij = sum over k from j to i of g_ik, at most num_positions - 1, and the score gets
    q_i . e[p_ij], where e between two whole positions is the mix of both.

    A key counts where the query can see it: at its position or before, and not hidden by the mask, which `attend` hands over
    (`reads_mask`), so padding, other documents and keys outside a window do not count. Without a mask the positions alone
    decide. Keys are counted in the order of their positions, wherever they stand in the cache. Causal, as published: a key
    ahead of its query has position 0 and is to be hidden.

    Args:
        head_dim: channels D of a head; the heads share the vectors e.
        num_positions: positions 0 to num_positions - 1 have a vector; counts past the last are clamped to it.
        scaled: whether the term is multiplied by the scale of the products, q_i . (k_j + e[p_ij]) / sqrt(D), as in the paper's
            eq. 6 and the released code; the paper's listing (appendix) and x-transformers leave it unscaled.

    Raises:
        ArgumentError: a size below 1.

    Source: Golovneva et al. 2024, arXiv 2405.18719, eqs. 3 to 8.

    >>> cope = CoPE(2, 3)
    >>> _ = cope.embedding.data.copy_(torch.tensor([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0]]))
    >>> q, k = torch.tensor([[[[1.0, 0.0]]]]), torch.zeros(1, 1, 5, 2)  # gates of one half: positions 2.5, 2, 1.5, 1, 0.5
    >>> cope.bias(torch.tensor([4]), torch.arange(5), q, k, scale=1.0)[0, 0]
    tensor([[2.0000, 2.0000, 1.5000, 1.0000, 0.5000]], grad_fn=<SelectBackward0>)
    """

    needs_content = True
    reads_mask = True

    def __init__(self, head_dim: int, num_positions: int, *, scaled: bool = True) -> None:
        super().__init__()
        check_integer("head_dim", head_dim, minimum=1)
        check_integer("num_positions", num_positions, minimum=1)
        self.head_dim, self.num_positions, self.scaled = head_dim, num_positions, scaled
        self.embedding = nn.Parameter(torch.empty(num_positions, head_dim))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set the vectors to zero, as the authors do."""
        nn.init.zeros_(self.embedding)

    @full_precision
    def bias(
        self,
        query_positions: Tensor,
        key_positions: Tensor,
        query: Tensor | None = None,
        key: Tensor | None = None,
        scale: float | None = None,
        visible: Tensor | None = None,
    ) -> Tensor:
        """q_i . e[p_ij], times the scale where `scaled`: [B, H, T, S], float32 or wider.

        Args:
            query_positions, key_positions: integers [T] or [B, T] and [S] or [B, S].
            query: [B, H, T, D].
            key: [B, G, S, D]: every key the query may see, cached ones included, since all are counted.
            scale: what the products of queries and keys are multiplied by, 1 / sqrt(D) by default; the gates take it too.
            visible: bool, broadcasts to [B, H, T, S]: keys that count, if they are not ahead of the query. None: all.
        """
        wide, keys = check_content(query, key, query_positions, key_positions, head_dim=self.head_dim)
        assert keys is not None
        scale = usual_scale(wide) if scale is None else scale
        counted = (distances(query_positions, key_positions) >= 0).unsqueeze(-3)
        if visible is not None:
            counted = counted & visible
        gates = torch.sigmoid(scale * grouped_product(wide, keys)).masked_fill(~counted, 0.0)
        places = counted_from_behind(gates, key_positions).clamp_max(self.num_positions - 1)
        below = places.floor()
        above = (below + 1).clamp_max(self.num_positions - 1)
        whole = wide @ self.embedding.to(wide.dtype).T
        share = places - below
        term = whole.gather(-1, below.long()) * (1 - share) + whole.gather(-1, above.long()) * share
        return term * scale if self.scaled else term


def counted_from_behind(gates: Tensor, key_positions: Tensor) -> Tensor:
    """p_ij = sum of g_ik over the keys k at the position of j or after it; keys of equal position count in their order.

    Summed from the nearest key on, so that small counts are exact however long the row is.
    """
    if values_at_hand(key_positions) and bool((key_positions.diff(dim=-1) >= 0).all()):
        return gates.flip(-1).cumsum(-1).flip(-1)
    order = key_positions.argsort(dim=-1, stable=True)
    place = order.argsort(dim=-1)
    order, place = (x.expand(gates.shape) if x.ndim == 1 else x[:, None, None].expand(gates.shape) for x in (order, place))
    return gates.gather(-1, order).flip(-1).cumsum(-1).flip(-1).gather(-1, place)


class DAPE(ScoreBias):
    """A distance bias plus what a small network makes of it and of the scores, all heads together, pair by pair.

    score = S + B + f(S, B) with S = scale Q K^T, B the base bias and f two layers over the 2 H numbers that the heads have for
    one pair of tokens, with a leaky ReLU between. A pair needs no other pair, so a mask does not matter and decoding equals
    prefill.

    Args:
        base: a bias that depends on positions alone and has `num_heads`: ALiBi, Kerple, FIRE, T5Bias, ...
        hidden_size: width of f.

    Raises:
        ArgumentTypeError: a base that is no such bias.
        ArgumentError: a size below 1.

    Source: Zheng et al. 2024, arXiv 2405.14722, eqs. 2 and 3 (with the residual B, as in the released code).

    >>> from ordinate.position import ALiBi
    >>> dape = DAPE(ALiBi(4))
    >>> q, k = torch.randn(2, 1, 4, 6, 8)
    >>> dape.bias(torch.arange(6), torch.arange(6), q, k).shape
    torch.Size([1, 4, 6, 6])
    """

    needs_content = True

    def __init__(self, base: nn.Module, *, hidden_size: int = 32) -> None:
        super().__init__()
        if not biases_scores(base) or base.needs_content or not hasattr(base, "num_heads"):
            raise ArgumentTypeError(
                "base",
                expected="a bias that depends on positions alone (ALiBi, Kerple, FIRE, T5Bias)",
                got=type(base).__name__,
                hint="for example DAPE(ALiBi(num_heads))",
            )
        check_integer("hidden_size", hidden_size, minimum=1)
        self.base, self.hidden_size = base, hidden_size
        self.num_heads: int = base.num_heads
        self.first = nn.Linear(2 * self.num_heads, hidden_size)
        self.second = nn.Linear(hidden_size, self.num_heads)

    def reset_parameters(self) -> None:
        """Draw the two layers anew as `nn.Linear` does, and the base if it learns."""
        self.first.reset_parameters()
        self.second.reset_parameters()
        if hasattr(self.base, "reset_parameters"):
            self.base.reset_parameters()

    @full_precision
    def bias(
        self,
        query_positions: Tensor,
        key_positions: Tensor,
        query: Tensor | None = None,
        key: Tensor | None = None,
        scale: float | None = None,
    ) -> Tensor:
        """B + f(scale Q K^T, B), [B, H, T, S], float32 or wider.

        Args:
            query_positions, key_positions: what the base takes, [T] or [B, T] and [S] or [B, S].
            query: [B, H, T, D].
            key: [B, G, S, D].
            scale: what the products of queries and keys are multiplied by, 1 / sqrt(D) by default.
        """
        wide, keys = check_content(query, key, query_positions, key_positions, num_heads=self.num_heads, continuous=True)
        assert keys is not None
        scores = grouped_product(wide, keys) * (usual_scale(wide) if scale is None else scale)
        base = self.base.bias(query_positions, key_positions).to(wide.dtype)
        first, second = self.first.weight.to(wide.dtype), self.second.weight.to(wide.dtype)
        of_scores, of_base = first.split(self.num_heads, dim=-1)
        hidden = _across_heads(of_scores, scores) + _across_heads(of_base, base)  # the base may be without batch
        hidden = nn.functional.leaky_relu(hidden + self.first.bias.to(wide.dtype)[:, None, None])
        return base + _across_heads(second, hidden) + self.second.bias.to(wide.dtype)[:, None, None]


def _across_heads(weight: Tensor, scores: Tensor) -> Tensor:
    """weight [F, H] times scores [..., H, T, S] over heads: [..., F, T, S]."""
    return (weight @ scores.flatten(-2)).unflatten(-1, scores.shape[-2:])
