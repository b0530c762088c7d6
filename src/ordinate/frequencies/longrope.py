"""LongRoPE: divisors of the inverse frequencies found by search, one set for short rows and one for long ones.

Source: Ding et al. 2024, arXiv 2402.13753; the released Phi-3 models.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import ClassVar

from ordinate.errors import ArgumentError, ArgumentTypeError
from ordinate.frequencies.scaling import Settings, check_context, check_positive
from ordinate.frequencies.schedule import geometric

__all__ = ["LongRoPE"]


@dataclass(frozen=True, repr=False)
class LongRoPE(Settings):
    """One searched divisor per pair: `short_factor` up to `original_context` tokens, `long_factor` past it.

    Args:
        short_factor, long_factor: one divisor for each rotated pair.
        original_context, claimed_context: tokens; their ratio s sets the factor sqrt(1 + ln s / ln original_context) on
            cos and sin, which holds for short rows too.
        attention_factor: overrides that formula.

    Source: Ding et al. 2024, arXiv 2402.13753; the factor is of the released Phi-3 models.

    >>> scaling = LongRoPE((1.0, 1.0), (1.0, 4.0), original_context=4096, claimed_context=131072)
    >>> [scaling.inverse_frequencies(4, 10000.0, length) for length in (4096, 8192)]
    [(1.0, 0.01), (1.0, 0.0025)]
    """

    short_factor: tuple[float, ...]
    long_factor: tuple[float, ...]
    original_context: int
    claimed_context: int
    attention_factor: float | None = None
    depends_on_length: ClassVar[bool] = True

    def __post_init__(self) -> None:
        for name in ("short_factor", "long_factor"):
            divisors = getattr(self, name)
            if not isinstance(divisors, Sequence) or isinstance(divisors, str):
                raise ArgumentTypeError(name, expected="a list of numbers", got=type(divisors).__name__, hint="one a pair")
            if not divisors:
                raise ArgumentError(
                    name,
                    expected="one divisor for each rotated pair",
                    got="an empty list",
                    hint="see the model's config",
                )
            for value in divisors:
                check_positive(name, value)
            object.__setattr__(self, name, tuple(float(value) for value in divisors))  # hashable, whatever came
        if len(self.short_factor) != len(self.long_factor):
            raise ArgumentError(
                "long_factor",
                expected=f"as many divisors as short_factor ({len(self.short_factor)})",
                got=len(self.long_factor),
                hint="both lists have one number a pair",
            )
        check_context("original_context", self.original_context)
        if self.original_context == 1 and self.attention_factor is None:
            raise ArgumentError(
                "original_context",
                expected="more than one token (its logarithm divides)",
                got=1,
                hint="pass the trained context, or an attention_factor",
            )
        check_context("claimed_context", self.claimed_context)
        if self.attention_factor is not None:
            check_positive("attention_factor", self.attention_factor)
        if self.claimed_context < self.original_context:
            raise ArgumentError(
                "claimed_context",
                expected=f"at least original_context ({self.original_context})",
                got=self.claimed_context,
                hint="pass the extended context, usually max_position_embeddings",
            )

    def __repr__(self) -> str:
        """As other scalings, with lists of divisors by their ends: they have one number a pair, some 48 or 64."""
        parts = []
        for field in fields(self):
            value = getattr(self, field.name)
            if value == field.default:
                continue
            long = isinstance(value, Sequence) and len(value) > 16
            text = f"({value[0]:g}, {value[1]:g}, ..., {value[-1]:g}: {len(value)} divisors)" if long else repr(value)
            parts.append(f"{field.name}={text}")
        return f"{type(self).__name__}({', '.join(parts)})"

    def inverse_frequencies(self, rotary_dim: int, base: float, length: int | None = None) -> tuple[float, ...]:
        divisors = self.long_factor if (length or 0) > self.original_context else self.short_factor
        if len(divisors) != rotary_dim // 2:
            raise ArgumentError(
                "short_factor",
                expected=f"{rotary_dim // 2} divisors, one for each pair of the {rotary_dim} rotated channels",
                got=len(divisors),
                hint="check rotary_dim (partial models rotate fewer channels)",
            )
        return tuple(f / divisor for f, divisor in zip(geometric(rotary_dim, base), divisors, strict=True))

    @property
    def cos_sin_factor(self) -> float:
        if self.attention_factor is not None:
            return self.attention_factor
        ratio = self.claimed_context / self.original_context
        return math.sqrt(1 + math.log(ratio) / math.log(self.original_context)) if ratio > 1 else 1.0
