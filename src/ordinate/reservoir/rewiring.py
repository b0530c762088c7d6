"""Degree-preserving rewiring: all edges of a directed graph swapped at once, round after round, without loops in Python.

A round pairs edges at random and proposes for each pair a→b, c→d the pair a→d, c→b. A pair is left as it is

- if an edge it proposes is a self-loop, or is there already, or is proposed by another pair too, or
- if another pair proposes one of its own edges.

Proposals are judged together and carried out together. Then a round from graph G to G' is exactly as likely as one back (the
same pairs, proposed backwards, pass and fail the same tests: the last condition is there for that), so the chain is symmetric
and its equilibrium is even over all graphs of these degrees that it reaches. Swaps after Maslov and Sneppen 2002,
doi 10.1126/science.1065103. Directed swaps without self-loops cannot turn a lone triangle round (Rao, Jana and Bandyopadhyay
1996, Sankhya A 58); in a graph of thousands of edges that is no matter.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

__all__ = ["swapped"]

IntArray = npt.NDArray[np.int64]

_PROPOSED = 0.8
"""The chance that a pair is proposed at all. Were it 1, some swaps would only ever happen together, and graphs be missed."""


def swapped(pre: IntArray, post: IntArray, num_neurons: int, rounds: int, generator: np.random.Generator) -> Iterator[IntArray]:
    """The postsynaptic ends after each round; presynaptic ends, and with them what an edge weighs, stay.

    Args:
        pre: presynaptic neurons of distinct edges, none a self-loop, [E].
        post: postsynaptic neurons, [E].
        num_neurons: N.
        rounds: how many; in each, eight edges of ten are proposed a swap.
        generator: where chance comes from.
    """
    ends = post.copy()
    half = ends.size // 2
    for _ in range(rounds):
        order = generator.permutation(ends.size)
        pairs = generator.binomial(half, _PROPOSED)
        one, two = order[:pairs], order[pairs : 2 * pairs]
        keys = pre * num_neurons + ends
        proposed = np.stack([pre[one] * num_neurons + ends[two], pre[two] * num_neurons + ends[one]])
        kept = (pre[one] == ends[two]) | (pre[two] == ends[one])
        # equal neighbours in one sorted list of what is there and what is proposed are the conflicts
        every = np.concatenate([keys, proposed.ravel()])
        sorting = np.argsort(every)
        equal = every[sorting[1:]] == every[sorting[:-1]]
        conflict = np.zeros(every.size, dtype=bool)
        conflict[sorting[1:][equal]] = True
        conflict[sorting[:-1][equal]] = True
        kept |= conflict[keys.size :].reshape(2, pairs).any(axis=0)
        kept |= conflict[one] | conflict[two]
        one, two = one[~kept], two[~kept]
        ends[one], ends[two] = ends[two], ends[one]
        yield ends.copy()
