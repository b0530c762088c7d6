"""What stretching costs on short inputs, as far as arithmetic tells: how angles and scores move inside the trained context.

A static scaling acts on every text, also on those the model was trained for. How much quality that costs only a measurement on
texts can say; what moves, and by how much, follows from the frequencies alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from ordinate.inspection.difference import Agreement, agree
from ordinate.inspection.rotation import Rotation

__all__ = ["Cost", "measure"]


@dataclass(frozen=True)
class Cost:
    """How a row inside the trained context is touched.

    Args:
        length: tokens of the row that was compared.
        pairs: rotated pairs.
        pairs_moved: those whose frequency changes by more than 1 %.
        largest_divisor: the largest ratio of a frequency before to the one after.
        score_factor: the factor on all scores, from cos and sin and beyond them, relative to before.
        agreement: the mean cosine between a key turned before and after, at powers of 4 of distance.
    """

    length: int
    pairs: int
    pairs_moved: int
    largest_divisor: float
    score_factor: float
    agreement: tuple[Agreement, ...]

    @property
    def untouched(self) -> bool:
        """Whether such a row is computed exactly as before."""
        return self.pairs_moved == 0 and math.isclose(self.score_factor, 1.0, rel_tol=1e-9)

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types."""
        return {
            "length": self.length,
            "pairs": self.pairs,
            "pairs_moved": self.pairs_moved,
            "largest_divisor": self.largest_divisor,
            "score_factor": self.score_factor,
            "agreement": [{"distance": each.distance, "cosine": each.cosine} for each in self.agreement],
        }


def measure(before: Rotation, after: Rotation, length: int) -> Cost | None:
    """Compare the two on a row of `length` tokens; None where a side is unknown."""
    old, new = before.inverse_frequencies(length), after.inverse_frequencies(length)
    factors = [(rotation.cos_sin_factor, rotation.softmax_factor) for rotation in (before, after)]
    if old is None or new is None or len(old) != len(new) or None in factors[0] or None in factors[1]:
        return None
    divisors = [x / y if y else 1.0 for x, y in zip(old, new, strict=True)]
    scores = [cos_sin**2 * softmax for cos_sin, softmax in factors if cos_sin is not None and softmax is not None]
    return Cost(
        length,
        len(old),
        sum(abs(divisor - 1) > 0.01 for divisor in divisors),
        max(divisors),
        scores[1] / scores[0],
        tuple(agree("", old, new, length)),
    )
