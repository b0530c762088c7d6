"""What a seed is, the same everywhere here: a whole number of at least 0, or a generator that goes on from where it is."""

from __future__ import annotations

import numpy as np

from ordinate.arguments import check_integer

__all__ = ["Seed", "generator_of", "optional_generator"]

Seed = int | np.random.Generator | None


def generator_of(seed: int | np.random.Generator, *, name: str = "seed") -> np.random.Generator:
    """The generator that a seed means.

    Args:
        seed: a whole number of at least 0, a sequence of numpy, or a generator.
        name: of the argument, for the message.

    Raises:
        ArgumentTypeError: anything else.
        ArgumentError: a negative number.

    >>> round(generator_of(0).random(), 4)
    0.637
    """
    if isinstance(seed, np.random.Generator | np.random.SeedSequence | np.random.BitGenerator):
        return np.random.default_rng(seed)
    return np.random.default_rng(check_integer(name, seed, minimum=0))


def optional_generator(seed: Seed) -> np.random.Generator | None:
    """The generator that a seed means, or None for none."""
    return None if seed is None else generator_of(seed)
