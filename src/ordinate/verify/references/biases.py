"""Slopes and buckets by their published rules, in plain numbers.

Sources: Press et al. 2021, arXiv 2108.12409, section 3, and `get_slopes` of the authors' code; Raffel et al. 2019, arXiv
1910.10683, section 2.1, and Mesh TensorFlow's `_relative_position_bucket`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

from ordinate.arguments import check_choice, check_integer
from ordinate.errors import ArgumentError
from ordinate.verify.references import Settings

__all__ = ["BiasSettings", "bias", "bucket", "sandwich", "slopes"]

Rule = Literal["alibi", "t5"]


@dataclass(frozen=True)
class BiasSettings(Settings):
    """What a bias is meant to be; `rule` None means: whatever it is, it has the properties that all have.

    Args:
        num_heads: query heads H.
        rule: "alibi", "t5" or None.
        slopes: ALiBi's rule for head counts that are no power of two: "reference" or "geometric".
        causal: whether keys ahead of the query are hidden, so that what stands there does not count.
        symmetric: ALiBi by the absolute distance.
        num_buckets, max_distance, bidirectional: of T5's buckets.
        head_dim: for faults that scale by its root.
    """

    num_heads: int = 8
    rule: Rule | None = "alibi"
    slopes: Literal["reference", "geometric"] = "reference"
    causal: bool = True
    symmetric: bool = False
    num_buckets: int = 32
    max_distance: int = 128
    bidirectional: bool = True
    head_dim: int = 64

    @classmethod
    def checked(cls, **settings: Any) -> BiasSettings:
        """The settings, checked."""
        result = cls(**settings)
        check_integer("num_heads", result.num_heads, minimum=1)
        if result.rule is not None:
            check_choice("rule", result.rule, ("alibi", "t5"))
        exact = result.num_buckets // (4 if result.bidirectional else 2)
        if result.rule == "t5" and result.max_distance <= exact:
            raise ArgumentError("max_distance", expected=f"more than {exact}", got=result.max_distance, hint="T5 has 128")
        return result


def slopes(num_heads: int, rule: str = "reference") -> list[float]:
    """ALiBi's slope of each head.

    >>> slopes(3)
    [0.0625, 0.00390625, 0.25]
    """
    if rule == "geometric" or num_heads & (num_heads - 1) == 0:
        return [2.0 ** (-8 * head / num_heads) for head in range(1, num_heads + 1)]
    lower = 1 << (num_heads.bit_length() - 1)
    return slopes(lower) + slopes(2 * lower)[0::2][: num_heads - lower]


def bucket(distance: int, settings: BiasSettings) -> int:
    """T5's bucket of a distance, query minus key.

    >>> bucket(-1, BiasSettings(rule="t5"))
    17
    """
    count, first = settings.num_buckets, 0
    if settings.bidirectional:
        count //= 2
        first, distance = (count, -distance) if distance < 0 else (0, distance)
    distance = max(distance, 0)
    exact = count // 2
    if distance < exact:
        return first + distance
    share = math.log(distance / exact) / math.log(settings.max_distance / exact)
    # several borders are exact powers, where the quotient of logarithms may fall short by one unit in the last place
    return first + min(exact + math.floor(share * (count - exact) + 1e-9), count - 1)


def bias(query_positions: Tensor, key_positions: Tensor, settings: BiasSettings) -> Tensor:
    """ALiBi's bias, float64 [H, T, S]."""
    distance = query_positions.double().unsqueeze(-1) - key_positions.double().unsqueeze(-2)
    distance = distance.abs() if settings.symmetric else distance
    rates = torch.tensor(slopes(settings.num_heads, settings.slopes), dtype=torch.float64)
    return -rates.reshape(-1, 1, 1) * distance


def sandwich(query_positions: Tensor, key_positions: Tensor, num_heads: int, dim: int, base: float = 10000.0) -> Tensor:
    """Sandwich's bias, float64 [H, T, S]: the sum of the cosines of the distance, over 8 h / H.

    Source: Chi et al. 2022, arXiv 2212.10356, section 5.
    """
    distance = query_positions.double().unsqueeze(-1) - key_positions.double().unsqueeze(-2)
    rates = torch.tensor([base ** (-2 * pair / dim) for pair in range(dim // 2)], dtype=torch.float64)
    total = (distance.unsqueeze(-1) * rates).cos().sum(-1)
    return torch.stack([total * num_heads / (8 * head) for head in range(1, num_heads + 1)])
