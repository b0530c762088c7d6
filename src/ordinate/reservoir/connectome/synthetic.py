"""A small bilateral connectome drawn from a seed: what tests run on, and commands where no data are at hand.

It is no brain. It has what the code must cope with: two sides, mates with like wiring, senses that stay on their side,
body senses (`ascending`) that cross, interneurons with heavy-tailed counts, and descending neurons that command a body.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from ordinate.arguments import check_integer, check_number
from ordinate.reservoir.seeds import generator_of

__all__ = ["draw_synthetic"]

# of each side's neurons, how many parts in 50 are of each kind
_PARTS = {"sensory": 10, "ascending": 4, "interneuron": 28, "descending": 8}

# from a kind to a kind: the chance of an edge within a side, and across
_CHANCES = {
    ("sensory", "interneuron"): (0.25, 0.01),
    ("ascending", "interneuron"): (0.02, 0.25),
    ("interneuron", "interneuron"): (0.20, 0.06),
    ("interneuron", "descending"): (0.25, 0.02),
    ("descending", "interneuron"): (0.02, 0.02),
}


def draw_synthetic(seed: int = 0, *, num_pairs: int = 50, symmetry: float = 0.8, mean_count: float = 3.0) -> dict[str, Any]:
    """The fields of a bilateral connectome of `2 num_pairs` neurons, each with a mate, drawn from a seed.

    The right side is the mirror image of the left, except that each edge is drawn anew with chance `1 - symmetry`.

    Args:
        seed: the same seed gives the same connectome.
        num_pairs: left-right pairs; 50 make 100 neurons.
        symmetry: from 0, independent sides, to 1, mirror images.
        mean_count: synapses of an average edge; counts are geometric, as heavy-tailed as real ones are.

    Raises:
        ArgumentError: fewer than 10 pairs, a symmetry outside 0 .. 1, or a mean count below 1.

    >>> fields = draw_synthetic()
    >>> fields["ids"].size, sorted(set(fields["kind"].tolist()))
    (100, ['ascending', 'descending', 'interneuron', 'sensory'])
    """
    check_integer("num_pairs", num_pairs, minimum=10)
    check_number("symmetry", symmetry, minimum=0, maximum=1)
    check_number("mean_count", mean_count, minimum=1)
    generator = generator_of(seed)
    bounds = np.round(np.cumsum([0, *_PARTS.values()]) * num_pairs / sum(_PARTS.values())).astype(int)
    kind = np.concatenate([[name] * (bounds[at + 1] - bounds[at]) for at, name in enumerate(_PARTS)])
    chance = np.zeros((2, num_pairs, num_pairs))
    for (sender, receiver), pair in _CHANCES.items():
        for across in (0, 1):
            chance[across][np.ix_(kind == sender, kind == receiver)] = pair[across]
    np.fill_diagonal(chance[0], 0)  # no neuron synapses on itself

    def draw() -> np.ndarray:  # [2, P, P]: to its own side, to the other
        return (generator.random(chance.shape) < chance) * generator.geometric(1 / mean_count, chance.shape)

    left = draw()
    right = np.where(generator.random(chance.shape) < symmetry, left, draw())
    weights = np.block([[left[0], left[1]], [right[1], right[0]]])
    digits = len(str(num_pairs - 1))
    modality = np.where(np.arange(num_pairs) % 2 == 0, "olfactory", "visual")
    labels = [frozenset({str(modality[at])}) if kind[at] == "sensory" else frozenset() for at in range(num_pairs)]
    return {
        "weights": sparse.csr_array(weights.astype(np.int64)),
        "ids": np.array([f"{side}{at:0{digits}d}" for side in "LR" for at in range(num_pairs)]),
        "side": np.repeat(["left", "right"], num_pairs),
        "mate": np.concatenate([np.arange(num_pairs) + num_pairs, np.arange(num_pairs)]),
        "kind": np.concatenate([kind, kind]),
        "labels": tuple(labels + labels),
        "name": f"synthetic bilateral connectome (seed {seed})",
        "assumptions": ("drawn from a seed: it is not a brain",),
    }
