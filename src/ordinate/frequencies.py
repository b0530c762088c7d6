"""Inverse frequencies of rotary encodings and every scaling of them, in plain float64 arithmetic.

A scaling is a frozen record and a pure function of its settings and of the length of the row; nothing depends on what was
computed before. It stands on the ground floor, without torch, because two rooms need the very same numbers: the encodings of
`ordinate.position` and the reader of configs, which must start in a blink.

Sources: Su et al. 2021, arXiv 2104.09864 (RoPE); Chen et al. 2023, arXiv 2306.15595 (interpolation); bloc97 2023 (NTK-aware
and dynamic NTK); Peng et al. 2023, arXiv 2309.00071 (YaRN); Ding et al. 2024, arXiv 2402.13753 (LongRoPE); Llama team 2024,
arXiv 2407.21783 (Llama 3); Barbero et al. 2024, arXiv 2410.06205 (p-RoPE).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Protocol, runtime_checkable

from ordinate.errors import ArgumentError, ArgumentTypeError

__all__ = [
    "SCALINGS",
    "DynamicNTK",
    "Linear",
    "Llama3",
    "LongRoPE",
    "NTKAware",
    "Proportional",
    "Scaling",
    "SteppedNTK",
    "YaRN",
    "inverse_frequencies",
]


@runtime_checkable
class Scaling(Protocol):
    """What a scaling of rotary frequencies answers.

    `depends_on_length` says that frequencies change with the row's length, so keys cached at one length cannot be compared
    with queries rotated at another.
    """

    depends_on_length: ClassVar[bool]

    def inverse_frequencies(self, rotary_dim: int, base: float, length: int | None = None) -> tuple[float, ...]:
        """Radians per position of each of the `rotary_dim / 2` pairs, for a row of `length` tokens."""
        ...

    @property
    def cos_sin_factor(self) -> float:
        """The factor on cos and sin."""
        ...

    @property
    def softmax_factor(self) -> float:
        """The factor on the scores before softmax, beyond what cos and sin carry."""
        ...

    def settings(self) -> dict[str, Any]:
        """The arguments that rebuild this record."""
        ...


def inverse_frequencies(
    rotary_dim: int, base: float = 10000.0, scaling: Scaling | None = None, length: int | None = None
) -> tuple[float, ...]:
    """Radians per position of each rotated pair: base^(-2 i / rotary_dim), then scaled.

    Args:
        rotary_dim: rotated channels, even.
        base: the base of the geometric ladder, above 1 (theta in most configs).
        scaling: one of this module's records, or None.
        length: tokens of the row, for the scalings that depend on it; None means the trained context or less.

    Raises:
        ArgumentError: an odd or non-positive `rotary_dim`, a base of 1 or less.

    Source: Su et al. 2021, arXiv 2104.09864, eq. 15.

    >>> [round(f, 6) for f in inverse_frequencies(8)]
    [1.0, 0.1, 0.01, 0.001]
    """
    check_rotary_dim("rotary_dim", rotary_dim)
    check_base(base)
    if length is not None and length < 1:
        raise ArgumentError("length", expected="a positive number of tokens", got=length, todo="count the row's tokens")
    if scaling is None:
        return _geometric(rotary_dim, base)
    return scaling.inverse_frequencies(rotary_dim, base, length)


def check_rotary_dim(name: str, rotary_dim: int) -> None:
    """Raise unless `rotary_dim` is an even, positive number of channels."""
    if isinstance(rotary_dim, bool) or not isinstance(rotary_dim, int):
        raise ArgumentTypeError(name, expected="an even int", got=type(rotary_dim).__name__, todo="pass a number of channels")
    if rotary_dim <= 0 or rotary_dim % 2:
        near = max(2, rotary_dim - rotary_dim % 2)
        raise ArgumentError(
            name,
            expected="an even, positive number of channels (a rotation turns pairs)",
            got=rotary_dim,
            todo=f"use {near} and leave the remaining channels unrotated, or an even head",
        )


def check_base(base: float) -> None:
    """Raise unless `base` is finite and above 1."""
    if isinstance(base, bool) or not isinstance(base, int | float):
        raise ArgumentTypeError("base", expected="a number above 1", got=type(base).__name__, todo="pass a float")
    if not math.isfinite(base) or base <= 1:
        raise ArgumentError(
            "base",
            expected="a finite number above 1 (0 gives infinite frequencies, a negative one NaN)",
            got=base,
            todo="10000 is the usual one; models call it rope_theta",
        )


def _geometric(rotary_dim: int, base: float) -> tuple[float, ...]:
    return tuple(float(base) ** (-2 * pair / rotary_dim) for pair in range(rotary_dim // 2))


def _ntk_base(base: float, stretch: float, rotary_dim: int) -> float:
    """The base whose lowest frequency is the old one divided by `stretch`, the highest unchanged."""
    if rotary_dim == 2:  # one pair: it is the highest frequency, which NTK-aware scaling leaves alone
        return base
    return base * stretch ** (rotary_dim / (rotary_dim - 2))


def _check_factor(name: str, factor: float) -> None:
    if isinstance(factor, bool) or not isinstance(factor, int | float):
        raise ArgumentTypeError(name, expected="a number of 1 or more", got=type(factor).__name__, todo="pass a float")
    if not math.isfinite(factor) or factor < 1:
        raise ArgumentError(
            name,
            expected="a finite number of 1 or more (the claimed context over the trained one)",
            got=factor,
            todo="to extend 4,096 tokens to 16,384 pass 4",
        )


def _check_context(name: str, context: int) -> None:
    if isinstance(context, bool) or not isinstance(context, int):
        raise ArgumentTypeError(name, expected="a number of tokens", got=type(context).__name__, todo="pass an int")
    if context < 1:
        raise ArgumentError(
            name, expected="a positive number of tokens", got=context, todo="pass the context the model was trained at"
        )


def _check_positive(name: str, value: float | None) -> None:
    if value is not None and (
        isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value <= 0
    ):
        raise ArgumentError(name, expected="a positive, finite number", got=value, todo="leave it out for the default")


@dataclass(frozen=True)
class _Settings:
    """What all scalings share: a repr that leaves out defaults, factors of 1, no dependence on length."""

    depends_on_length: ClassVar[bool] = False

    @property
    def cos_sin_factor(self) -> float:
        return 1.0

    @property
    def softmax_factor(self) -> float:
        return 1.0

    def settings(self) -> dict[str, Any]:
        """The arguments that rebuild this record."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def __repr__(self) -> str:
        given = (f"{f.name}={getattr(self, f.name)!r}" for f in fields(self) if getattr(self, f.name) != f.default)
        return f"{type(self).__name__}({', '.join(given)})"


@dataclass(frozen=True, repr=False)
class Linear(_Settings):
    """Position interpolation: every frequency divided by `factor`.

    Source: Chen et al. 2023, arXiv 2306.15595, eq. 4.
    """

    factor: float

    def __post_init__(self) -> None:
        _check_factor("factor", self.factor)

    def inverse_frequencies(self, rotary_dim: int, base: float, length: int | None = None) -> tuple[float, ...]:
        return tuple(frequency / self.factor for frequency in _geometric(rotary_dim, base))


@dataclass(frozen=True, repr=False)
class NTKAware(_Settings):
    """A larger base, base * factor^(d/(d-2)): the lowest frequency is divided by `factor`, the highest stays.

    Source: bloc97 2023, "NTK-aware scaled RoPE"; Peng et al. 2023, arXiv 2309.00071, definition 1.
    """

    factor: float

    def __post_init__(self) -> None:
        _check_factor("factor", self.factor)

    def inverse_frequencies(self, rotary_dim: int, base: float, length: int | None = None) -> tuple[float, ...]:
        return _geometric(rotary_dim, _ntk_base(base, self.factor, rotary_dim))


@dataclass(frozen=True, repr=False)
class DynamicNTK(_Settings):
    """NTK-aware scaling whose stretch grows with the row: factor L / original_context - (factor - 1) for L past it.

    Up to `original_context` tokens nothing changes.

    Source: emozilla 2023, "Dynamically scaled RoPE"; Peng et al. 2023, arXiv 2309.00071, section 3.3.
    """

    factor: float
    original_context: int
    depends_on_length: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _check_factor("factor", self.factor)
        _check_context("original_context", self.original_context)

    def stretch(self, length: int | None) -> float:
        """The NTK factor for a row of `length` tokens; 1 up to the original context."""
        reached = max(length or 0, self.original_context)
        return self.factor * reached / self.original_context - (self.factor - 1)

    def effective_base(self, rotary_dim: int, base: float, length: int | None) -> float:
        """The base used for a row of `length` tokens."""
        return _ntk_base(base, self.stretch(length), rotary_dim)

    def inverse_frequencies(self, rotary_dim: int, base: float, length: int | None = None) -> tuple[float, ...]:
        return _geometric(rotary_dim, self.effective_base(rotary_dim, base, length))


@dataclass(frozen=True, repr=False)
class SteppedNTK(_Settings):
    """NTK-aware scaling in steps: stretch 2^ceil(log2(L / original_context) + 1) - 1 for a row of L tokens past it.

    Up to `original_context` tokens nothing changes; up to twice that the stretch is 3, up to four times 7.

    Source: `get_ntk_alpha` of the first Qwen's modeling code (Qwen team 2023, arXiv 2309.16609, section 2.5).
    """

    original_context: int
    depends_on_length: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _check_context("original_context", self.original_context)

    def stretch(self, length: int | None) -> float:
        """The NTK factor for a row of `length` tokens; 1 up to the original context."""
        doublings = math.ceil(math.log2(max(length or 0, self.original_context) / self.original_context))
        return float(2 ** (doublings + 1) - 1)

    def inverse_frequencies(self, rotary_dim: int, base: float, length: int | None = None) -> tuple[float, ...]:
        return _geometric(rotary_dim, _ntk_base(base, self.stretch(length), rotary_dim))


@dataclass(frozen=True, repr=False)
class YaRN(_Settings):
    """NTK by parts: pairs that turn often keep their frequency, slow ones are interpolated, a ramp lies between.

    A pair turns r = original_context * frequency / (2 pi) times in the trained context. At r = `beta_fast` and above it is
    kept, at r = `beta_slow` and below it is divided by `factor`; between them the mix is linear in the pair's index. With
    `truncate` the ends of the ramp are rounded outwards to whole pairs.

    Args:
        factor: how many times the trained context is stretched.
        original_context: tokens of the trained context.
        beta_fast, beta_slow: turns at the ends of the ramp.
        truncate: round the ends of the ramp (gpt-oss does not).
        attention_factor: the factor on cos and sin, where a config states it; overrides the formula.
        mscale, mscale_all_dim: DeepSeek's pair of coefficients. cos and sin carry m(mscale) / m(mscale_all_dim), the scores
            m(mscale_all_dim)^2 more, with m(c) = 0.1 c ln(factor) + 1.

    Source: Peng et al. 2023, arXiv 2309.00071, eqs. 18-22 and section 3.4; DeepSeek-AI 2024, arXiv 2405.04434, section 3.1.4.
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
        _check_factor("factor", self.factor)
        _check_context("original_context", self.original_context)
        _check_positive("beta_fast", self.beta_fast)
        _check_positive("beta_slow", self.beta_slow)
        _check_positive("attention_factor", self.attention_factor)
        if self.beta_fast < self.beta_slow:
            raise ArgumentError(
                "beta_fast",
                expected=f"at least beta_slow ({self.beta_slow}): fast pairs turn more often",
                got=self.beta_fast,
                todo="swap the two; 32 and 1 are the paper's",
            )

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
        for pair, frequency in enumerate(_geometric(rotary_dim, base)):
            interpolated = min(max((pair - low) / width, 0.0), 1.0)
            scaled.append(frequency / self.factor * interpolated + frequency * (1 - interpolated))
        return tuple(scaled)

    def _magnitude(self, coefficient: float) -> float:
        return 0.1 * coefficient * math.log(self.factor) + 1.0

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
        return self._magnitude(self.mscale_all_dim or 0.0) ** 2


@dataclass(frozen=True, repr=False)
class LongRoPE(_Settings):
    """One searched divisor per pair: `short_factor` up to `original_context` tokens, `long_factor` past it.

    Args:
        short_factor, long_factor: one divisor for each rotated pair.
        original_context, claimed_context: tokens; their ratio s sets the factor sqrt(1 + ln s / ln original_context) on
            cos and sin, which holds for short rows too.
        attention_factor: overrides that formula.

    Source: Ding et al. 2024, arXiv 2402.13753; the factor is of the released Phi-3 models.
    """

    short_factor: tuple[float, ...]
    long_factor: tuple[float, ...]
    original_context: int
    claimed_context: int
    attention_factor: float | None = None
    depends_on_length: ClassVar[bool] = True

    def __post_init__(self) -> None:
        for name in ("short_factor", "long_factor"):
            given = getattr(self, name)
            if not isinstance(given, Sequence) or isinstance(given, str):
                raise ArgumentTypeError(name, expected="a list of numbers", got=type(given).__name__, todo="one a pair")
            if not given:
                raise ArgumentError(
                    name,
                    expected="one divisor for each rotated pair",
                    got="an empty list",
                    todo="see the model's config",
                )
            for value in given:
                _check_positive(name, value)
            object.__setattr__(self, name, tuple(float(value) for value in given))  # hashable, whatever came
        if len(self.short_factor) != len(self.long_factor):
            raise ArgumentError(
                "long_factor",
                expected=f"as many divisors as short_factor ({len(self.short_factor)})",
                got=len(self.long_factor),
                todo="both lists have one number a pair",
            )
        _check_context("original_context", self.original_context)
        _check_context("claimed_context", self.claimed_context)
        _check_positive("attention_factor", self.attention_factor)
        if self.claimed_context < self.original_context:
            raise ArgumentError(
                "claimed_context",
                expected=f"at least original_context ({self.original_context})",
                got=self.claimed_context,
                todo="pass the extended context, usually max_position_embeddings",
            )

    def inverse_frequencies(self, rotary_dim: int, base: float, length: int | None = None) -> tuple[float, ...]:
        divisors = self.long_factor if (length or 0) > self.original_context else self.short_factor
        if len(divisors) != rotary_dim // 2:
            raise ArgumentError(
                "short_factor",
                expected=f"{rotary_dim // 2} divisors, one for each pair of the {rotary_dim} rotated channels",
                got=len(divisors),
                todo="check rotary_dim (partial models rotate fewer channels)",
            )
        return tuple(f / divisor for f, divisor in zip(_geometric(rotary_dim, base), divisors, strict=True))

    @property
    def cos_sin_factor(self) -> float:
        if self.attention_factor is not None:
            return self.attention_factor
        ratio = self.claimed_context / self.original_context
        return math.sqrt(1 + math.log(ratio) / math.log(self.original_context)) if ratio > 1 else 1.0


@dataclass(frozen=True, repr=False)
class Llama3(_Settings):
    """Llama 3.1's rule: short waves stay, long waves are divided by `factor`, a smooth passage lies between.

    A wave is short below original_context / high_freq_factor tokens and long above original_context / low_freq_factor;
    between, the mix is linear in original_context / wavelength.

    Source: Llama team 2024, arXiv 2407.21783; `apply_scaling` in Meta's llama-models.
    """

    factor: float
    low_freq_factor: float
    high_freq_factor: float
    original_context: int

    def __post_init__(self) -> None:
        _check_factor("factor", self.factor)
        _check_context("original_context", self.original_context)
        _check_positive("low_freq_factor", self.low_freq_factor)
        _check_positive("high_freq_factor", self.high_freq_factor)
        if self.high_freq_factor <= self.low_freq_factor:
            raise ArgumentError(
                "high_freq_factor",
                expected=f"more than low_freq_factor ({self.low_freq_factor})",
                got=self.high_freq_factor,
                todo="Llama 3.1 has 1 and 4",
            )

    def inverse_frequencies(self, rotary_dim: int, base: float, length: int | None = None) -> tuple[float, ...]:
        scaled = []
        for frequency in _geometric(rotary_dim, base):
            turns = self.original_context * frequency / (2 * math.pi)
            kept = (turns - self.low_freq_factor) / (self.high_freq_factor - self.low_freq_factor)
            kept = min(max(kept, 0.0), 1.0)
            scaled.append((1 - kept) * frequency / self.factor + kept * frequency)
        return tuple(scaled)


@dataclass(frozen=True, repr=False)
class Proportional(_Settings):
    """The first `fraction` of the pairs turn at the full ladder's frequencies, the rest not at all (frequency 0).

    Unlike a smaller `rotary_dim`, the ladder's denominator stays the whole head, and with layout "half" the two channels of
    a pair stay half a head apart.

    Source: Barbero et al. 2024, arXiv 2410.06205 (p-RoPE); `rope_type: proportional` in Gemma 4's configs.
    """

    fraction: float
    factor: float = 1.0

    def __post_init__(self) -> None:
        _check_factor("factor", self.factor)
        if isinstance(self.fraction, bool) or not isinstance(self.fraction, int | float) or not 0 < self.fraction <= 1:
            raise ArgumentError(
                "fraction",
                expected="a share of the pairs in (0, 1]",
                got=self.fraction,
                todo="0.25 turns a quarter of them",
            )

    def inverse_frequencies(self, rotary_dim: int, base: float, length: int | None = None) -> tuple[float, ...]:
        turned = int(self.fraction * rotary_dim // 2)
        ladder = _geometric(rotary_dim, base)
        return tuple(f / self.factor if pair < turned else 0.0 for pair, f in enumerate(ladder))


SCALINGS: dict[str, type[Scaling]] = {
    "linear": Linear,
    "ntk": NTKAware,
    "dynamic": DynamicNTK,
    "stepped-ntk": SteppedNTK,
    "yarn": YaRN,
    "longrope": LongRoPE,
    "llama3": Llama3,
    "proportional": Proportional,
}
