"""Attention written as its formula: the readable form that every fast path is compared with.

softmax(scale Q K^T + bias) V, in the dtype of the inputs but never below float32; float64 in, float64 throughout.
Source: Vaswani et al. 2017, arXiv 1706.03762, eq. 1; grouped heads as in Ainslie et al. 2023, arXiv 2305.13245.
"""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["reference_attention"]


def reference_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    scale: float,
    bias: Tensor | None,
    visible: Tensor | None,
    scores: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Output [B, H, T, V] in the dtype of `query` and weights [B, H, T, S] in float32 or wider.

    Args:
        query: [B, H, T, D].
        key, value: [B, G, S, D] and [B, G, S, V]; each key-value head serves H / G query heads in a row.
        scale: factor on the products.
        bias: added after scaling, broadcasts to [B, H, T, S].
        visible: bool, broadcasts to [B, H, T, S]; a row without a visible key gets zero weights.
        scores: [B, H, T, S], scaled, in place of scale Q K^T, from an encoding that computes them.
    """
    wide = torch.promote_types(query.dtype, torch.float32)
    shared = query.shape[1] // key.shape[1]
    values = value.to(wide).repeat_interleave(shared, dim=1)
    if scores is None:
        keys = key.to(wide).repeat_interleave(shared, dim=1)
        scores = scale * (query.to(wide) @ keys.transpose(-1, -2))
    else:
        scores = scores.to(wide)
    if bias is not None:
        scores = scores + bias.to(wide)
    if visible is not None:
        scores = scores.masked_fill(~visible, float("-inf"))
        weights = scores.softmax(-1).masked_fill(~visible.any(-1, keepdim=True), 0.0)
    else:
        weights = scores.softmax(-1)
    return (weights @ values).to(query.dtype), weights
