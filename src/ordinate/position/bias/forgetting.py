"""Forget gates: each token says how much of everything before it is kept, and the scores of what it lets go fall.

Source: Lin et al. 2025, arXiv 2503.02130 (Forgetting Transformer, FoX); read in the authors' code,
zhixuan-lin/forgetting-transformer at commit 246d5e3, and as `naive_forgetting_attn` of fla at commit 012a873.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import linear, logsigmoid

from ordinate.errors import ArgumentError
from ordinate.position.base import ScoreBias, full_precision
from ordinate.position.bias.content import check_content, check_key_heads, key_value_heads
from ordinate.position.bias.contextual import counted_from_behind
from ordinate.position.bias.distance import distances

__all__ = ["ForgetGates"]


class ForgetGates(ScoreBias):
    """The sum of the logarithms of the forget gates of all tokens after the key, up to the query.

    f_l = sigmoid(W [k_l of all key heads side by side] + b), one number for each query head, and
    bias(i, j) = sum over l from j + 1 to i of log f_l. A gate that stays at f is ALiBi with the slope -log f.

    The paper's gates are a linear function of the layer's input. So are these, since keys are: nothing is lost where keys and
    input have as many channels. Read off the keys they need no cache of their own: decoding sees the gates of all cached keys
    again, at the cost of one more product with the keys. The keys should come unturned and not normalised: put no rotation
    beside it, as the paper recommends.

    A gate counts where the query can see its token: at its position or before, and not hidden by the mask, which `attend`
    hands over (`reads_mask`), so padding and other documents let nothing be forgotten. Gates are summed from the query back,
    in the order of their positions, wherever the keys stand in a cache. Causal: a key ahead of its query gets 0 and is to be
    hidden. With `impl="blocked"` memory is linear in the number of tokens, in training too.

    Args:
        num_heads: query heads H.
        head_dim: channels D of a head.
        num_key_value_heads: heads G of the keys, H by default.

    Raises:
        ArgumentError: sizes below 1, heads that do not divide.

    Source: Lin et al. 2025, arXiv 2503.02130, section 3, eqs. 4 to 8; weights start at N(0, 0.02^2) and b at 0, as there.

    >>> gates = ForgetGates(1, 2)
    >>> _ = gates.projection.weight.data.zero_()  # every gate is one half
    >>> k = torch.randn(1, 1, 3, 2)
    >>> gates.bias(torch.tensor([2]), torch.arange(3), k[:, :, 2:], k)[0, 0].detach()
    tensor([[-1.3863, -0.6931,  0.0000]])
    """

    needs_content = True
    reads_mask = True

    def __init__(self, num_heads: int, head_dim: int, *, num_key_value_heads: int | None = None) -> None:
        super().__init__()
        self.num_heads, self.head_dim = num_heads, head_dim
        self.num_key_value_heads = key_value_heads(num_heads, head_dim, num_key_value_heads)
        self.projection = nn.Linear(self.num_key_value_heads * head_dim, num_heads)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the projection anew; its bias starts at 0, a gate of one half."""
        nn.init.normal_(self.projection.weight, std=0.02)
        nn.init.zeros_(self.projection.bias)

    def log_gates(self, key: Tensor) -> Tensor:
        """log f of the tokens of `key` [B, G, S, D]: [B, H, S], 0 or less, float32 or wider."""
        check_key_heads(key, self.num_key_value_heads)
        wide = torch.promote_types(key.dtype, torch.float32)
        beside = key.to(wide).transpose(1, 2).flatten(-2)
        return logsigmoid(linear(beside, self.projection.weight.to(wide), self.projection.bias.to(wide))).transpose(1, 2)

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
        """[B, H, T, S], 0 or less, float32 or wider.

        Args:
            query_positions, key_positions: integers [T] or [B, T] and [S] or [B, S].
            query: [B, H, T, D], of which the sizes alone matter.
            key: [B, G, S, D]: every key the query may see, cached ones included, since all have gates.
            scale: not looked at.
            visible: bool, broadcasts to [B, H, T, S]: keys whose gates count, if they are not ahead of the query. None: all.

        Raises:
            ArgumentError: no query or no key.
            ShapeError: sizes that do not fit.
        """
        _, keys = check_content(query, key, query_positions, key_positions, num_heads=self.num_heads, head_dim=self.head_dim)
        if keys is None:
            raise ArgumentError("key", expected="the keys, whose gates are summed", got=None)
        counted = (distances(query_positions, key_positions) >= 0).unsqueeze(-3)
        if visible is not None:
            counted = counted & visible
        gates = self.log_gates(keys).unsqueeze(-2).where(counted, 0.0)
        return counted_from_behind(gates, key_positions) - gates
