"""Null models: connectomes that keep some of what a real one has and draw the rest at random.

A result that a rewired brain shows as well is no result about the brain's wiring, only about its degrees. Each null says what
it keeps; the tests hold it to that. All take a seed and return a connectome.

Degree-preserving rewiring swaps all edges of the graph at once, round after round, without loops in Python. A round pairs edges
at random and proposes for each pair a→b, c→d the pair a→d, c→b. A pair is left as it is

- if an edge it proposes is a self-loop, or is there already, or is proposed by another pair too, or
- if another pair proposes one of its own edges.

Proposals are judged together and carried out together. Then a round from graph G to G' is exactly as likely as one back (the
same pairs, proposed backwards, pass and fail the same tests: the last condition is there for that), so the chain is symmetric
and its equilibrium is even over all graphs of these degrees that it reaches. Swaps after Maslov and Sneppen 2002,
doi 10.1126/science.1065103. Directed swaps without self-loops cannot turn a lone triangle round (Rao, Jana and Bandyopadhyay
1996, Sankhya A 58); in a graph of thousands of edges that is no matter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from ordinate.arguments import check_integer
from ordinate.errors import RefusedError
from ordinate.reservoir.connectome.connectome import Connectome
from ordinate.reservoir.seeds import generator_of

__all__ = ["NULLS", "mirrored", "mixing", "overlap", "random_edges", "relabelled", "rewired", "shuffled_weights", "swapped"]

DEFAULT_ROUNDS = 10


def rewired(connectome: Connectome, *, seed: int, rounds: int = DEFAULT_ROUNDS) -> Connectome:
    """Edges rewired at random such that every neuron keeps its number of inputs and of outputs.

    Kept exactly: each neuron's in-degree and out-degree, the weights that it sends (so its output sum), the number of edges,
    the self-loops where they are. No edge is doubled, and there is no new self-loop.

    Args:
        connectome: what is rewired.
        seed: the same seed gives the same connectome.
        rounds: proposals an edge; `mixing` shows that 10 are plenty: the larval brain is mixed after 6.

    Raises:
        ArgumentError: fewer than 1 round.

    Source: Maslov and Sneppen 2002, doi 10.1126/science.1065103; all pairs at once, see `ordinate.reservoir.rewiring`.

    >>> brain = Connectome.synthetic()
    >>> null = rewired(brain, seed=1)
    >>> bool((null.weights.sum(axis=1) == brain.weights.sum(axis=1)).all()), overlap(null, brain) < 0.2
    (True, True)
    """
    check_integer("rounds", rounds, minimum=1)
    pre, post, weights, loops = _edges(connectome)
    ends = post
    for after in swapped(pre, post, connectome.num_neurons, rounds, generator_of(seed)):
        ends = after
    return connectome.with_weights(_matrix(connectome, pre, ends, weights) + loops, name=f"{connectome.name}, rewired ({seed})")


def mixing(connectome: Connectome, *, seed: int, rounds: int = DEFAULT_ROUNDS) -> npt.NDArray[np.float64]:
    """How far rewiring has gone: the share of edges that are still where they were, before it and after each round.

    It falls to the share that chance alone gives to graphs of these degrees, and stays there.

    Args:
        connectome: what is rewired.
        seed: as in `rewired`.
        rounds: as in `rewired`.

    Returns:
        [rounds + 1], the first is 1.

    >>> curve = mixing(Connectome.synthetic(), seed=0)
    >>> curve[0], bool(curve[-1] < 0.2)
    (np.float64(1.0), True)
    """
    pre, post, _, _ = _edges(connectome)
    count = connectome.num_neurons
    there = pre * count + post
    shares = [1.0]
    for ends in swapped(pre, post, count, rounds, generator_of(seed)):
        shares.append(float(np.isin(pre * count + ends, there).mean()))
    return np.array(shares)


def overlap(one: Connectome, other: Connectome) -> float:
    """The share of `one`'s edges that `other` has as well; weights do not count."""
    both = (one.weights != 0).multiply(other.weights != 0)
    return float(both.sum() / max(one.num_edges, 1))


def shuffled_weights(connectome: Connectome, *, seed: int) -> Connectome:
    """The same edges, their weights dealt anew among them.

    Kept exactly: who synapses on whom, and the set of weights.

    >>> brain = Connectome.synthetic()
    >>> null = shuffled_weights(brain, seed=0)
    >>> overlap(null, brain), null.num_synapses == brain.num_synapses
    (1.0, True)
    """
    weights = connectome.weights
    dealt = generator_of(seed).permutation(weights.data.copy())
    return connectome.with_weights(
        sparse.csr_array((dealt, weights.indices, weights.indptr), shape=weights.shape),
        name=f"{connectome.name}, weights shuffled ({seed})",
    )


def relabelled(connectome: Connectome, *, seed: int) -> Connectome:
    """Left and right exchanged within half of the homologous pairs, drawn at random.

    Kept exactly: the whole graph, weights included, and how many neurons each side has. What is lost is which member of a pair
    is the left one: if a laterality survives this, sides had nothing to do with it.

    Raises:
        RefusedError: a connectome without homologous pairs.

    >>> brain = Connectome.synthetic()
    >>> null = relabelled(brain, seed=0)
    >>> int((null.side != brain.side).sum()) // 2
    25
    """
    left, right = _pairs(connectome)
    chosen = generator_of(seed).permutation(left.size)[: left.size // 2]
    side = connectome.side.copy()
    side[left[chosen]], side[right[chosen]] = "right", "left"
    return replace(connectome, side=side, name=f"{connectome.name}, homologs relabelled ({seed})")


def mirrored(connectome: Connectome, *, seed: int = 0) -> Connectome:
    """Made mirror-symmetric: `(W + P W P) / 2`, where P exchanges every neuron with its mate.

    Kept exactly: the sum of all weights, and each pair's sums together. A neuron without a mate is its own mirror image.
    Chance plays no part; the seed is there because every null takes one, and changes nothing.

    Raises:
        RefusedError: a connectome without homologous pairs.

    >>> null = mirrored(Connectome.synthetic())
    >>> bool((null.weights[null.mate][:, null.mate] != null.weights).nnz == 0)
    True
    """
    _pairs(connectome)
    mirror = np.where(connectome.mate >= 0, connectome.mate, np.arange(connectome.num_neurons))
    return connectome.with_weights(
        (connectome.weights + connectome.weights[mirror][:, mirror]) / 2, name=f"{connectome.name}, mirrored"
    )


def random_edges(connectome: Connectome, *, seed: int) -> Connectome:
    """As many edges between neurons drawn evenly at random, carrying the same weights.

    Kept exactly: the number of neurons, of edges, and the set of weights. Degrees are not. No edge is doubled; none is a
    self-loop.

    Raises:
        RefusedError: more edges than there are pairs.

    >>> brain = Connectome.synthetic()
    >>> random_edges(brain, seed=0).num_synapses == brain.num_synapses
    True
    """
    count, num_edges = connectome.num_neurons, connectome.num_edges
    pairs = count * (count - 1)
    if num_edges > pairs:
        raise RefusedError(
            "connectome", expected=f"at most {pairs:,} edges", got=f"{num_edges:,}", hint="remove its self-loops"
        )
    generator = generator_of(seed)
    # an even draw of `num_edges` of the N (N - 1) pairs; drawing all and taking a part at random is cheaper than not replacing
    if num_edges > pairs // 3:
        keys = generator.permutation(pairs)[:num_edges]
    else:
        keys = np.zeros(0, dtype=np.int64)
        while keys.size < num_edges:
            drawn = generator.integers(0, pairs, size=int(1.1 * (num_edges - keys.size)) + 16)
            keys = np.unique(np.concatenate([keys, drawn]))
        keys = generator.permutation(keys)[:num_edges]
    pre, other = np.divmod(keys, count - 1)
    post = other + (other >= pre)  # step over the diagonal
    dealt = generator.permutation(connectome.weights.data.copy())
    return connectome.with_weights(_matrix(connectome, pre, post, dealt), name=f"{connectome.name}, random edges ({seed})")


NULLS: dict[str, Callable[..., Connectome]] = {
    "rewired": rewired,
    "shuffled": shuffled_weights,
    "relabelled": relabelled,
    "mirrored": mirrored,
    "random": random_edges,
}
"""Every null by name, as `null(connectome, seed=...)`."""


def _edges(connectome: Connectome) -> tuple[Any, Any, Any, sparse.csr_array]:
    """Pre, post and weight of each edge but self-loops, and those apart."""
    edges = sparse.coo_array(connectome.weights)
    loop = edges.row == edges.col
    pre, post = edges.row.astype(np.int64), edges.col.astype(np.int64)
    loops = _matrix(connectome, pre[loop], post[loop], edges.data[loop])
    return pre[~loop], post[~loop], edges.data[~loop], loops


def _matrix(connectome: Connectome, pre: Any, post: Any, weights: Any) -> sparse.csr_array:
    shape = connectome.weights.shape
    return sparse.csr_array(sparse.coo_array((weights, (pre, post)), shape=shape))


def _pairs(connectome: Connectome) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    left = np.flatnonzero((connectome.mate >= 0) & (connectome.side == "left"))
    left = left[connectome.side[connectome.mate[left]] == "right"]
    if not left.size:
        raise RefusedError(
            "connectome",
            expected="homologous pairs, left and right",
            got="none",
            hint="give `mate` and `side`, or another null",
        )
    return left, connectome.mate[left]


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
