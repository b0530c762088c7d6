"""Inverse frequencies of a rotation and their scalings, pair by pair, in plain floats.

The settings come as a record of `ordinate.frequencies`; of it only the stored numbers are read, never a formula.
Sources: Su et al. 2021, arXiv 2104.09864, eq. 15; Chen et al. 2023, arXiv 2306.15595; bloc97 2023; Peng et al. 2023, arXiv
2309.00071, eqs. 18-22; Llama team 2024, arXiv 2407.21783; Ding et al. 2024, arXiv 2402.13753.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from ordinate.frequencies import (
    Clipped,
    DynamicNTK,
    Linear,
    Llama3,
    LongRoPE,
    NTKAware,
    Proportional,
    Scaling,
    SteppedNTK,
    YaRN,
)

__all__ = ["cos_sin_factor", "inverse_frequencies", "trained_context"]


def inverse_frequencies(rotary_dim: int, base: float, scaling: Scaling | None = None, length: int = 1) -> list[float]:
    """Radians per position of each pair, for a row of `length` tokens.

    >>> [round(frequency, 6) for frequency in inverse_frequencies(4, 100.0)]
    [1.0, 0.1]
    """
    exponents = [2 * pair / rotary_dim for pair in range(rotary_dim // 2)]
    plain = [math.exp(-exponent * math.log(base)) for exponent in exponents]
    if scaling is None:
        return plain
    rule = _RULES.get(type(scaling))
    if rule is None:  # a record of somebody else: it says itself what it does
        return list(scaling.inverse_frequencies(rotary_dim, base, length))
    return rule(plain, rotary_dim, base, scaling, length)


def cos_sin_factor(scaling: Scaling | None) -> float:
    """The factor on cosine and sine."""
    if isinstance(scaling, YaRN):
        if scaling.attention_factor is not None:
            return scaling.attention_factor

        def grown(coefficient: float) -> float:
            return 0.1 * coefficient * math.log(scaling.factor) + 1 if scaling.factor > 1 else 1.0

        if scaling.mscale is None and scaling.mscale_all_dim is None:
            return grown(1.0)
        return grown(1.0 if scaling.mscale is None else scaling.mscale) / grown(scaling.mscale_all_dim or 0.0)
    if isinstance(scaling, LongRoPE):
        if scaling.attention_factor is not None:
            return scaling.attention_factor
        stretch = scaling.claimed_context / scaling.original_context
        return 1.0 if stretch <= 1 else math.sqrt(1 + math.log(stretch) / math.log(scaling.original_context))
    return 1.0 if scaling is None or type(scaling) in _RULES else scaling.cos_sin_factor


def trained_context(scaling: Scaling | None) -> int | None:
    """Tokens up to which a scaling that looks at the length changes nothing; None for the others."""
    if scaling is None or not scaling.depends_on_length:
        return None
    return int(getattr(scaling, "original_context", 0)) or None


def _linear(plain: list[float], rotary_dim: int, base: float, scaling: Linear, length: int) -> list[float]:
    return [frequency / scaling.factor for frequency in plain]


def _rebased(rotary_dim: int, base: float, stretch: float) -> list[float]:
    """The frequencies of a base so large that the slowest pair turns `stretch` times as slowly."""
    if rotary_dim == 2:
        return [1.0]
    slowest = base ** (-(rotary_dim - 2) / rotary_dim) / stretch
    return [slowest ** (pair / (rotary_dim // 2 - 1)) for pair in range(rotary_dim // 2)]


def _ntk(plain: list[float], rotary_dim: int, base: float, scaling: NTKAware, length: int) -> list[float]:
    return _rebased(rotary_dim, base, scaling.factor)


def _dynamic(plain: list[float], rotary_dim: int, base: float, scaling: DynamicNTK, length: int) -> list[float]:
    excess = max(0.0, length / scaling.original_context - 1)
    return _rebased(rotary_dim, base, 1 + scaling.factor * excess)


def _stepped(plain: list[float], rotary_dim: int, base: float, scaling: SteppedNTK, length: int) -> list[float]:
    reach, stretch = scaling.original_context, 1
    while reach < length:  # each doubling of the context: 1, 3, 7, 15, ...
        reach, stretch = 2 * reach, 2 * stretch + 1
    return _rebased(rotary_dim, base, float(stretch))


def _yarn(plain: list[float], rotary_dim: int, base: float, scaling: YaRN, length: int) -> list[float]:
    def where(turns: float) -> float:
        """The pair, a fraction, that turns so often in the trained context."""
        return rotary_dim * math.log(scaling.original_context / (2 * math.pi * turns)) / (2 * math.log(base))

    low, high = where(scaling.beta_fast), where(scaling.beta_slow)
    if scaling.truncate:
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, rotary_dim - 1)
    width = high - low or 0.001  # as in the authors' code, where both ends meet
    kept = [1 - min(1.0, max(0.0, (pair - low) / width)) for pair in range(rotary_dim // 2)]
    return [f * share + f / scaling.factor * (1 - share) for f, share in zip(plain, kept, strict=True)]


def _llama3(plain: list[float], rotary_dim: int, base: float, scaling: Llama3, length: int) -> list[float]:
    def scaled(frequency: float) -> float:
        turns = scaling.original_context * frequency / (2 * math.pi)
        if turns >= scaling.high_freq_factor:
            return frequency
        if turns <= scaling.low_freq_factor:
            return frequency / scaling.factor
        kept = (turns - scaling.low_freq_factor) / (scaling.high_freq_factor - scaling.low_freq_factor)
        return (1 - kept) * frequency / scaling.factor + kept * frequency

    return [scaled(frequency) for frequency in plain]


def _longrope(plain: list[float], rotary_dim: int, base: float, scaling: LongRoPE, length: int) -> list[float]:
    divisors = scaling.long_factor if length > scaling.original_context else scaling.short_factor
    return [frequency / divisor for frequency, divisor in zip(plain, divisors, strict=True)]


def _proportional(plain: list[float], rotary_dim: int, base: float, scaling: Proportional, length: int) -> list[float]:
    turning = int(scaling.fraction * rotary_dim // 2)
    return [f / scaling.factor if pair < turning else 0.0 for pair, f in enumerate(plain)]


def _clipped(plain: list[float], rotary_dim: int, base: float, scaling: Clipped, length: int) -> list[float]:
    first = max(len(plain) - scaling.pairs, 0)
    last = max(len(plain) - 1 - first, 1)

    def fade(pair: int) -> float:
        if pair < first:
            return 1.0
        return math.cos(math.pi * (pair - first) / last / 2) ** 2 if scaling.soft else 0.0

    return [frequency * fade(pair) for pair, frequency in enumerate(plain)]


_RULES: dict[type, Callable[..., list[float]]] = {
    Linear: _linear,
    NTKAware: _ntk,
    DynamicNTK: _dynamic,
    SteppedNTK: _stepped,
    YaRN: _yarn,
    Llama3: _llama3,
    LongRoPE: _longrope,
    Proportional: _proportional,
    Clipped: _clipped,
}
