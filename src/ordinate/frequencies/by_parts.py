"""Scalings that keep fast pairs and interpolate slow ones, with a smooth passage between: YaRN and Llama 3.

Sources: Peng et al. 2023, arXiv 2309.00071 (YaRN); DeepSeek-AI 2024, arXiv 2405.04434 (its two magnitudes); Llama team 2024,
arXiv 2407.21783 (Llama 3).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from ordinate.frequencies.scaling import Settings, check_context, check_positive
from ordinate.frequencies.schedule import geometric

__all__ = ["Llama3", "YaRN"]


@dataclass(frozen=True, repr=False)
class YaRN(Settings):
    """NTK by parts: pairs that turn often keep their frequency, slow ones are interpolated, a ramp lies between.

    A pair turns r = original_context * frequency / (2 pi) times in the trained context. At r = `beta_fast` and above it is
    kept, at r = `beta_slow` and below it is divided by `factor`; between them the mix is linear in the pair's index. With
    `truncate` the ends of the ramp are rounded outwards to whole pairs.

    Args:
        factor: how many times the trained context is stretched.
        original_context: tokens of the trained context.
        beta_fast, beta_slow: turns at the ends of the ramp; a reversed pair reverses it, as in the authors' code.
        truncate: round the ends of the ramp (gpt-oss does not).
        attention_factor: the factor on cos and sin, where a config states it; overrides the formula.
        mscale, mscale_all_dim: DeepSeek's pair of coefficients. cos and sin carry m(mscale) / m(mscale_all_dim), the scores
            m(mscale_all_dim)^2 more, with m(c) = 0.1 c ln(factor) + 1.

    Source: Peng et al. 2023, arXiv 2309.00071, eqs. 18-22 and section 3.4; DeepSeek-AI 2024, arXiv 2405.04434, section 3.1.4.

    >>> YaRN(4.0, 32768).inverse_frequencies(128, 1e6)[0], round(YaRN(4.0, 32768).cos_sin_factor, 5)
    (1.0, 1.13863)
    """

    factor: float
    original_context: int
    beta_fast: float = 32.0
    beta_slow: float = 1.0
    truncate: bool = True
    attention_factor: float | None = None
    mscale: float | None = None
    mscale_all_dim: float | None = None

    def __post_init__(self) -> None:
        check_positive("factor", self.factor)
        check_context("original_context", self.original_context)
        check_positive("beta_fast", self.beta_fast)
        check_positive("beta_slow", self.beta_slow)
        for name in ("attention_factor", "mscale", "mscale_all_dim"):
            value = getattr(self, name)
            if value is not None and (name == "attention_factor" or value != 0):  # a magnitude of 0 is DeepSeek's "none"
                check_positive(name, value)

    def ramp(self, rotary_dim: int, base: float) -> tuple[float, float]:
        """The pair indices between which frequencies pass from kept to interpolated."""

        def pair_that_turns(times: float) -> float:
            return rotary_dim * math.log(self.original_context / (times * 2 * math.pi)) / (2 * math.log(base))

        low, high = pair_that_turns(self.beta_fast), pair_that_turns(self.beta_slow)
        if self.truncate:
            low, high = math.floor(low), math.ceil(high)
        return max(low, 0), min(high, rotary_dim - 1)

    def inverse_frequencies(self, rotary_dim: int, base: float, length: int | None = None) -> tuple[float, ...]:
        low, high = self.ramp(rotary_dim, base)
        width = high - low if high != low else 0.001  # equal ends: a step, as in the authors' code
        scaled = []
        for pair, frequency in enumerate(geometric(rotary_dim, base)):
            interpolated = min(max((pair - low) / width, 0.0), 1.0)
            scaled.append(frequency / self.factor * interpolated + frequency * (1 - interpolated))
        return tuple(scaled)

    def _magnitude(self, coefficient: float) -> float:
        return 0.1 * coefficient * math.log(self.factor) + 1.0 if self.factor > 1 else 1.0

    @property
    def cos_sin_factor(self) -> float:
        if self.attention_factor is not None:
            return self.attention_factor
        if self.mscale is None and self.mscale_all_dim is None:
            return self._magnitude(1.0)
        mscale = 1.0 if self.mscale is None else self.mscale
        return self._magnitude(mscale) / self._magnitude(self.mscale_all_dim or 0.0)

    @property
    def softmax_factor(self) -> float:
        magnitude = self._magnitude(self.mscale_all_dim or 0.0)
        return magnitude * magnitude


@dataclass(frozen=True, repr=False)
class Llama3(Settings):
    """Llama 3.1's rule: short waves stay, long waves are divided by `factor`, a smooth passage lies between.

    A wave is short below original_context / high_freq_factor tokens and long above original_context / low_freq_factor;
    between, the mix is linear in original_context / wavelength. Where the two factors are equal or reversed nothing lies
    between: waves longer than original_context / low_freq_factor are divided, all others stay, as in the authors' code.

    Source: Llama team 2024, arXiv 2407.21783; `apply_scaling` in Meta's llama-models.

    >>> scaled = Llama3(8.0, 1.0, 4.0, 8192).inverse_frequencies(128, 500000.0)
    >>> scaled[0], round(500000.0 ** (-126 / 128) / scaled[-1], 3)
    (1.0, 8.0)
    """

    factor: float
    low_freq_factor: float
    high_freq_factor: float
    original_context: int

    def __post_init__(self) -> None:
        check_positive("factor", self.factor)
        check_context("original_context", self.original_context)
        check_positive("low_freq_factor", self.low_freq_factor)
        check_positive("high_freq_factor", self.high_freq_factor)

    def inverse_frequencies(self, rotary_dim: int, base: float, length: int | None = None) -> tuple[float, ...]:
        scaled = []
        for frequency in geometric(rotary_dim, base):
            turns = self.original_context * frequency / (2 * math.pi)
            if self.high_freq_factor > self.low_freq_factor:
                kept = (turns - self.low_freq_factor) / (self.high_freq_factor - self.low_freq_factor)
                kept = min(max(kept, 0.0), 1.0)
            else:
                kept = float(turns >= self.low_freq_factor)
            scaled.append((1 - kept) * frequency / self.factor + kept * frequency)
        return tuple(scaled)
