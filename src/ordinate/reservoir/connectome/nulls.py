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
from functools import cache
from importlib.util import find_spec
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from ordinate.arguments import check_choice, check_integer
from ordinate.errors import ArgumentError, RefusedError
from ordinate.reservoir.connectome.connectome import Connectome
from ordinate.reservoir.seeds import generator_of

__all__ = [
    "NULLS",
    "mirrored",
    "mixing",
    "modular",
    "overlap",
    "random_edges",
    "relabelled",
    "rewired",
    "shuffled_weights",
    "swapped",
]

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

    Source: Maslov and Sneppen 2002, doi 10.1126/science.1065103; all pairs at once, see the top of this file.

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


def modular(
    connectome: Connectome, *, seed: int, rounds: int = DEFAULT_ROUNDS, modules: str | npt.ArrayLike = "kind"
) -> Connectome:
    """Edges rewired at random such that degrees stay, and so does the number of edges from each module to each.

    Kept exactly: what `rewired` keeps, and for each pair of modules the edges from one to the other, and so the modularity of
    these modules in the directed graph. Only edges between the same two modules exchange their ends.

    Args:
        connectome: what is rewired.
        seed: the same seed gives the same connectome.
        rounds: proposals an edge.
        modules: "kind", "side", both as "kind & side", or for each neuron the name or number of its module, [N].

    Raises:
        ArgumentError: fewer than 1 round, or modules that are not one a neuron.
        RefusedError: every neuron is in one module, so that nothing but degrees is kept.

    >>> brain = Connectome.synthetic()
    >>> null = modular(brain, seed=1)
    >>> sent = [int((one.weights != 0)[one.select("sensory")][:, one.select("descending")].sum()) for one in (brain, null)]
    >>> sent[0] == sent[1], overlap(null, brain) < 0.5
    (True, True)
    """
    check_integer("rounds", rounds, minimum=1)
    module = _modules(connectome, modules)
    pre, post, weights, loops = _edges(connectome)
    block = module[pre] * (module.max() + 1) + module[post]
    ends = post
    for after in swapped(pre, post, connectome.num_neurons, rounds, generator_of(seed), block=block):
        ends = after
    return connectome.with_weights(
        _matrix(connectome, pre, ends, weights) + loops, name=f"{connectome.name}, rewired within modules ({seed})"
    )


def _modules(connectome: Connectome, modules: str | npt.ArrayLike) -> IntArray:
    if isinstance(modules, str):
        check_choice("modules", modules, ("kind", "side", "kind & side"))
        names = np.char.add(
            connectome.kind if "kind" in modules else "", np.char.add(" ", connectome.side if "side" in modules else "")
        )
    else:
        names = np.asarray(modules)
        if names.shape != (connectome.num_neurons,):
            raise ArgumentError("modules", expected=f"one a neuron, [{connectome.num_neurons}]", got=str(list(names.shape)))
    distinct, module = np.unique(names, return_inverse=True)
    if distinct.size < 2:
        raise RefusedError(
            "connectome", expected="neurons of several modules", got="one module", hint="pass modules=, or take rewired"
        )
    return np.asarray(module, dtype=np.int64)


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
    "modular": modular,
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

_COMPILED_FROM = 1 << 20
"""Edges from which compiling a round, about a second, pays within one rewiring."""


def swapped(
    pre: IntArray,
    post: IntArray,
    num_neurons: int,
    rounds: int,
    generator: np.random.Generator,
    *,
    block: IntArray | None = None,
    impl: str = "auto",
) -> Iterator[IntArray]:
    """The postsynaptic ends after each round; presynaptic ends, and with them what an edge weighs, stay.

    Args:
        pre: presynaptic neurons of distinct edges, none a self-loop, ascending, [E].
        post: postsynaptic neurons, [E].
        num_neurons: N.
        rounds: how many; in each, eight edges of ten are proposed a swap.
        generator: where chance comes from.
        block: of each edge, [E]; only edges of one block swap ends. All are one block by default.
        impl: "numba" (the extra `fast`) or "numpy", both with the same result; "auto" takes numba where it is installed and the
            edges are many.
    """
    check_choice("impl", impl, ("auto", "numba", "numpy"))
    ends = post.copy()
    if impl == "auto":
        impl = "numba" if ends.size >= _COMPILED_FROM and find_spec("numba") is not None else "numpy"
    starts = np.searchsorted(pre, np.arange(num_neurons + 1))
    for _ in range(rounds):
        one, two = _proposed_pairs(ends.size, block, generator)
        if impl == "numba":
            _compiled_round()(starts, ends, one, two)
        else:
            free = ~_in_conflict(pre, ends, one, two, num_neurons)
            one, two = one[free], two[free]
            ends[one], ends[two] = ends[two], ends[one]
        yield ends.copy()


def _proposed_pairs(count: int, block: IntArray | None, generator: np.random.Generator) -> tuple[IntArray, IntArray]:
    """Edges drawn in pairs, each edge at most once; both of a pair in one block."""
    order = generator.permutation(count)
    if block is None:
        pairs = generator.binomial(count // 2, _PROPOSED)
        return order[:pairs], order[pairs : 2 * pairs]
    order = order[np.argsort(block[order], kind="stable")]
    own = block[order]
    first = np.concatenate([[0], np.flatnonzero(own[1:] != own[:-1]) + 1])
    place = np.arange(count) - np.repeat(first, np.diff(np.append(first, count)))
    leads = np.flatnonzero((place[:-1] % 2 == 0) & (own[1:] == own[:-1]))
    leads = leads[generator.random(leads.size) < _PROPOSED]
    return order[leads], order[leads + 1]


def _in_conflict(pre: IntArray, ends: IntArray, one: IntArray, two: IntArray, num_neurons: int) -> npt.NDArray[np.bool_]:
    """Which pairs must be left as they are; see the top of this file."""
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
    kept |= conflict[keys.size :].reshape(2, one.size).any(axis=0)
    return np.asarray(kept | conflict[one] | conflict[two])


@cache
def _compiled_round() -> Callable[[IntArray, IntArray, IntArray, IntArray], None]:
    """One round as `_in_conflict` judges it, carried out in place.

    A proposal stays in the row of its presynaptic neuron, so conflicts are found row by row: what is there and what is proposed
    is counted in one array of N small numbers, which stays in the cache.
    """
    import numba

    @numba.njit(nogil=True)
    def carry_out(starts, ends, one, two):  # type: ignore[no-untyped-def]
        proposed = np.full(ends.size, -1, dtype=np.int32)
        for pair in range(one.size):
            proposed[one[pair]] = ends[two[pair]]
            proposed[two[pair]] = ends[one[pair]]
        times = np.zeros(starts.size - 1, dtype=np.int32)
        conflict = np.zeros(ends.size, dtype=np.bool_)
        for row in range(starts.size - 1):
            for edge in range(starts[row], starts[row + 1]):
                times[ends[edge]] += 1
                if proposed[edge] >= 0:
                    times[proposed[edge]] += 1
            for edge in range(starts[row], starts[row + 1]):
                if proposed[edge] >= 0:
                    conflict[edge] = times[ends[edge]] > 1 or times[proposed[edge]] > 1 or proposed[edge] == row
            for edge in range(starts[row], starts[row + 1]):
                times[ends[edge]] = 0
                if proposed[edge] >= 0:
                    times[proposed[edge]] = 0
        for pair in range(one.size):
            first, second = one[pair], two[pair]
            if not (conflict[first] or conflict[second]):
                ends[first], ends[second] = proposed[first], proposed[second]

    return carry_out
