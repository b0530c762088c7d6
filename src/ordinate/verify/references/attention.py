"""Attention by its formula, in float64, with a loop over heads for shared keys; and what it is meant to be.

Source: Vaswani et al. 2017, arXiv 1706.03762, eq. 1; Ainslie et al. 2023, arXiv 2305.13245 (shared heads).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

from ordinate.arguments import check_choice
from ordinate.errors import ArgumentError
from ordinate.verify.references import Settings
from ordinate.verify.references.biases import BiasSettings, bias
from ordinate.verify.references.rotation import Layout, RotarySettings, rotated

__all__ = ["AttentionSettings", "attention", "positioned", "visible"]


@dataclass(frozen=True)
class AttentionSettings(Settings):
    """What attention is meant to be.

    Args:
        num_heads, num_kv_heads, head_dim: H, G and D.
        causal: whether keys ahead are hidden.
        encoding: "rotary", "alibi", "none", or None: some other, so that no formula is compared with.
        layout, base: of the rotation.
        window_keys: keys that a query sees, itself included.
        scale: factor on the products; None is 1 / sqrt(D).
    """

    num_heads: int = 4
    num_kv_heads: int = 4
    head_dim: int = 16
    causal: bool = True
    encoding: Literal["rotary", "alibi", "none"] | None = None
    layout: Layout = "half"
    base: float = 10000.0
    window_keys: int | None = None
    scale: float | None = None

    @classmethod
    def checked(cls, **settings: Any) -> AttentionSettings:
        """The settings, checked."""
        result = cls(**settings)
        if result.num_heads % result.num_kv_heads:
            raise ArgumentError("num_kv_heads", expected=f"a divisor of {result.num_heads}", got=result.num_kv_heads)
        if result.encoding is not None:
            check_choice("encoding", result.encoding, ("rotary", "alibi", "none"))
        return result

    @property
    def factor(self) -> float:
        """The factor on products."""
        return 1 / math.sqrt(self.head_dim) if self.scale is None else self.scale


def positioned(x: Tensor, positions: Tensor, s: AttentionSettings) -> Tensor:
    """Queries or keys as they enter the product, float64."""
    if s.encoding != "rotary":
        return x.double()
    rotation = RotarySettings(s.head_dim, s.head_dim, s.base, s.layout)
    return rotated(x, positions, rotation)


def visible(query_positions: Tensor, key_positions: Tensor, s: AttentionSettings, key_mask: Tensor | None = None) -> Tensor:
    """Bool [B or 1, 1, T, S]."""
    distance = query_positions.unsqueeze(-1) - key_positions.unsqueeze(-2)
    seen = torch.ones_like(distance, dtype=torch.bool)
    if s.causal:
        seen &= distance >= 0
    if s.window_keys is not None:
        seen &= (distance if s.causal else distance.abs()) < s.window_keys
    seen = seen[None, None] if seen.ndim == 2 else seen.unsqueeze(1)
    return seen if key_mask is None else seen & key_mask.bool()[:, None, None, :]


def attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    query_positions: Tensor,
    key_positions: Tensor,
    s: AttentionSettings,
    key_mask: Tensor | None = None,
    seen: Tensor | None = None,
) -> Tensor:
    """[B, H, T, V] in float64; rows that see nothing give zeros."""
    shared = query.shape[1] // key.shape[1]
    q, k = positioned(query, query_positions, s), positioned(key, key_positions, s)
    seen = visible(query_positions, key_positions, s, key_mask) if seen is None else seen
    outputs = []
    for head in range(query.shape[1]):
        scores = s.factor * q[:, head] @ k[:, head // shared].transpose(-1, -2)
        if s.encoding == "alibi":
            rule = BiasSettings(num_heads=query.shape[1], symmetric=not s.causal)
            scores = scores + bias(query_positions, key_positions, rule)[..., head, :, :].reshape(-1, *scores.shape[-2:])
        here = seen[:, 0].expand(scores.shape)
        weights = scores.masked_fill(~here, float("-inf")).softmax(-1).nan_to_num()
        outputs.append(weights @ value[:, head // shared].double())
    return torch.stack(outputs, 1)
