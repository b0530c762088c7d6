"""Scalings that treat all frequencies alike: interpolation, a larger base, and turning only a part of it.

Sources: Chen et al. 2023, arXiv 2306.15595 (interpolation); bloc97 2023 (NTK-aware and dynamic NTK); Qwen team 2023,
arXiv 2309.16609 (stepped NTK); Barbero et al. 2024, arXiv 2410.06205 (p-RoPE); Li et al. 2026, arXiv 2602.05258 (clipped).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from ordinate.arguments import check_integer
from ordinate.errors import ArgumentError
from ordinate.frequencies.scaling import Settings, check_context, check_positive
from ordinate.frequencies.schedule import geometric, ntk_base

__all__ = ["Clipped", "DynamicNTK", "Linear", "NTKAware", "Proportional", "SteppedNTK"]


@dataclass(frozen=True, repr=False)
class Linear(Settings):
    """Position interpolation: every frequency divided by `factor`.

    Source: Chen et al. 2023, arXiv 2306.15595, eq. 4.

    >>> Linear(4.0).inverse_frequencies(4, 10000.0)
    (0.25, 0.0025)
    """

    factor: float

    def __post_init__(self) -> None:
        check_positive("factor", self.factor)

    def inverse_frequencies(self, rotary_dim: int, base: float, length: int | None = None) -> tuple[float, ...]:
        return tuple(frequency / self.factor for frequency in geometric(rotary_dim, base))


@dataclass(frozen=True, repr=False)
class NTKAware(Settings):
    """A larger base, base * factor^(d/(d-2)): the lowest frequency is divided by `factor`, the highest stays.

    Source: bloc97 2023, "NTK-aware scaled RoPE"; Peng et al. 2023, arXiv 2309.00071, definition 1.

    >>> [round(one, 6) for one in NTKAware(4.0).inverse_frequencies(4, 10000.0)]
    [1.0, 0.0025]
    """

    factor: float

    def __post_init__(self) -> None:
        check_positive("factor", self.factor)

    def inverse_frequencies(self, rotary_dim: int, base: float, length: int | None = None) -> tuple[float, ...]:
        return geometric(rotary_dim, ntk_base(base, self.factor, rotary_dim))


@dataclass(frozen=True, repr=False)
class DynamicNTK(Settings):
    """NTK-aware scaling whose stretch grows with the row: factor L / original_context - (factor - 1) for L past it.

    Up to `original_context` tokens nothing changes.

    Source: emozilla 2023, "Dynamically scaled RoPE"; Peng et al. 2023, arXiv 2309.00071, section 3.3.

    >>> scaling = DynamicNTK(2.0, 2048)
    >>> [round(scaling.inverse_frequencies(4, 10000.0, length)[1], 6) for length in (1024, 2048, 4096)]
    [0.01, 0.01, 0.003333]
    """

    factor: float
    original_context: int
    depends_on_length: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_positive("factor", self.factor)
        check_context("original_context", self.original_context)

    def stretch(self, length: int | None) -> float:
        """The NTK factor for a row of `length` tokens; 1 up to the original context."""
        reached = max(length or 0, self.original_context)
        return self.factor * reached / self.original_context - (self.factor - 1)

    def effective_base(self, rotary_dim: int, base: float, length: int | None) -> float:
        """The base used for a row of `length` tokens."""
        return ntk_base(base, self.stretch(length), rotary_dim)

    def inverse_frequencies(self, rotary_dim: int, base: float, length: int | None = None) -> tuple[float, ...]:
        return geometric(rotary_dim, self.effective_base(rotary_dim, base, length))


@dataclass(frozen=True, repr=False)
class SteppedNTK(Settings):
    """NTK-aware scaling in steps: stretch 2^ceil(log2(L / original_context) + 1) - 1 for a row of L tokens past it.

    Up to `original_context` tokens nothing changes; up to twice that the stretch is 3, up to four times 7.

    Source: `get_ntk_alpha` of the first Qwen's modeling code (Qwen team 2023, arXiv 2309.16609, section 2.5).
    """

    original_context: int
    depends_on_length: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_context("original_context", self.original_context)

    def stretch(self, length: int | None) -> float:
        """The NTK factor for a row of `length` tokens; 1 up to the original context."""
        doublings = math.ceil(math.log2(max(length or 0, self.original_context) / self.original_context))
        return float(2 ** (doublings + 1) - 1)

    def inverse_frequencies(self, rotary_dim: int, base: float, length: int | None = None) -> tuple[float, ...]:
        return geometric(rotary_dim, ntk_base(base, self.stretch(length), rotary_dim))


@dataclass(frozen=True, repr=False)
class Proportional(Settings):
    """The first `fraction` of the pairs turn at the frequencies of the whole head, the rest not at all (frequency 0).

    Unlike with a smaller `rotary_dim`, the denominator of the exponents stays the whole head, and with layout "half" the two
    channels of a pair stay half a head apart.

    Source: Barbero et al. 2024, arXiv 2410.06205 (p-RoPE); `rope_type: proportional` in Gemma 4's configs.
    """

    fraction: float
    factor: float = 1.0

    def __post_init__(self) -> None:
        check_positive("factor", self.factor)
        if isinstance(self.fraction, bool) or not isinstance(self.fraction, int | float) or not 0 < self.fraction <= 1:
            raise ArgumentError(
                "fraction",
                expected="a share of the pairs in (0, 1]",
                got=self.fraction,
                hint="0.25 turns a quarter of them",
            )

    def inverse_frequencies(self, rotary_dim: int, base: float, length: int | None = None) -> tuple[float, ...]:
        turned = int(self.fraction * rotary_dim // 2)
        inv_freq = geometric(rotary_dim, base)
        return tuple(f / self.factor if pair < turned else 0.0 for pair, f in enumerate(inv_freq))


@dataclass(frozen=True, repr=False)
class Clipped(Settings):
    """The slowest `pairs` fade out: pair n of them, from 0 on, turns at its frequency times (1 + cos(pi n / (pairs - 1))) / 2.

    So the slowest does not turn at all. With `soft` false none of them turns, which is `Proportional` counted from the end.
    Pairs whose wavelength is past the trained context are meant: their angles were never seen whole.

    Source: Li et al. 2026, arXiv 2602.05258 ("CoPE: Clipped RoPE", no kin of contextual position encoding); read in the
    authors' code, hrlics/CoPE at commit bb728e8, which clips 20 pairs of 64.
    """

    pairs: int
    soft: bool = True

    def __post_init__(self) -> None:
        check_integer("pairs", self.pairs, minimum=1)

    def inverse_frequencies(self, rotary_dim: int, base: float, length: int | None = None) -> tuple[float, ...]:
        inv_freq = geometric(rotary_dim, base)
        clipped = min(self.pairs, len(inv_freq))
        kept = len(inv_freq) - clipped
        # one pair alone keeps its frequency in the authors' code, whose line of angles starts at 0
        fades = [(1 + math.cos(math.pi * n / max(clipped - 1, 1))) / 2 if self.soft else 0.0 for n in range(clipped)]
        return (*inv_freq[:kept], *(f * fade for f, fade in zip(inv_freq[kept:], fades, strict=True)))
