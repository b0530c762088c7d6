"""Each null keeps what it promises, draws the rest, and gives the same connectome from the same seed."""

from __future__ import annotations

import time
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ordinate.errors import ArgumentError, RefusedError
from ordinate.reservoir import Connectome
from ordinate.reservoir.connectome.nulls import (
    NULLS,
    mirrored,
    mixing,
    modular,
    overlap,
    random_edges,
    relabelled,
    rewired,
    shuffled_weights,
    swapped,
)

BRAIN = Connectome.synthetic()


def with_loops(seed: int) -> Connectome:
    generator = np.random.default_rng(seed)
    return Connectome((generator.random((30, 30)) < 0.2) * generator.integers(1, 9, (30, 30)))


@pytest.mark.parametrize("name", NULLS)
def test_the_same_seed_gives_the_same_connectome_and_another_another(name):
    one, again, other = (NULLS[name](BRAIN, seed=seed) for seed in (3, 3, 4))
    assert (one.weights != again.weights).nnz == 0
    assert (one.side == again.side).all()
    differs = (one.weights != other.weights).nnz > 0 or (one.side != other.side).any()
    assert differs == (name != "mirrored"), "chance has no part in mirroring"


@given(st.integers(0, 10**6))
@settings(max_examples=25, deadline=None)
def test_rewiring_keeps_degrees_output_sums_and_self_loops_and_doubles_nothing(seed):
    brain = with_loops(seed)
    null = rewired(brain, seed=seed)
    before, after = brain.weights.toarray(), null.weights.toarray()
    assert ((before > 0).sum(axis=0) == (after > 0).sum(axis=0)).all(), "in-degrees"
    assert ((before > 0).sum(axis=1) == (after > 0).sum(axis=1)).all(), "out-degrees"
    assert (before.sum(axis=1) == after.sum(axis=1)).all(), "output sums"
    assert (np.diag(before) == np.diag(after)).all(), "self-loops"
    assert np.sort(before[before > 0]).tolist() == np.sort(after[after > 0]).tolist(), "no edge lies on another"


def test_rewiring_mixes_evenly_over_all_graphs_of_these_degrees():
    """Four neurons with one output and one input each, no self-loops: nine graphs, each a permutation without a fixed point.

    A long run must be at each equally often; taken every 40 rounds, states are as good as independent. Chi-squared with 8
    degrees of freedom is below 26.1 in 999 of 1,000.
    """
    pre, post = np.arange(4), np.array([1, 2, 3, 0])
    chain = swapped(pre, post, 4, 24_000, np.random.default_rng(0))
    counts = Counter(tuple(ends.tolist()) for at, ends in enumerate(chain) if at % 40 == 39)
    assert len(counts) == 9
    expected = 600 / 9
    assert sum((count - expected) ** 2 / expected for count in counts.values()) < 26.1


def test_the_compiled_round_gives_the_same_ends_to_the_last_edge():
    pytest.importorskip("numba")
    brain = Connectome.synthetic(num_pairs=150)
    pre, post = (ends.astype(np.int64) for ends in brain.weights.nonzero())
    for block in (None, (3 * pre + post) % 4):
        plain, compiled = (
            list(swapped(pre, post, 300, 5, np.random.default_rng(1), block=block, impl=impl)) for impl in ("numpy", "numba")
        )
        assert np.array_equal(plain, compiled)
    assert (plain[-1] != post).mean() > 0.5


def edges_between(connectome: Connectome, modules: np.ndarray) -> np.ndarray:
    of = np.equal.outer(np.unique(modules), modules).astype(int)
    return of @ (connectome.weights != 0).astype(int) @ of.T


def test_rewiring_within_modules_keeps_degrees_and_edges_between_modules():
    sorts = np.random.default_rng(0).integers(0, 3, 100)
    for modules, of in (("kind & side", np.char.add(BRAIN.kind, BRAIN.side)), (sorts, sorts)):
        null = modular(BRAIN, seed=1, modules=modules)
        for axis in (0, 1):
            assert ((null.weights != 0).sum(axis=axis) == (BRAIN.weights != 0).sum(axis=axis)).all()
        assert null.num_edges == BRAIN.num_edges
        assert (null.weights.sum(axis=1) == BRAIN.weights.sum(axis=1)).all()
        assert (edges_between(null, of) == edges_between(BRAIN, of)).all()
        assert overlap(null, BRAIN) < 0.6
    assert (edges_between(rewired(BRAIN, seed=1), sorts) != edges_between(BRAIN, sorts)).any(), "plain rewiring keeps them not"


def test_modules_that_are_none_are_refused():
    with pytest.raises(RefusedError, match="one module"):
        modular(Connectome(np.eye(3)), seed=0)
    with pytest.raises(ArgumentError, match=r"modules: expected one a neuron, \[100\]"):
        modular(BRAIN, seed=0, modules=[0, 1])


def test_mixing_falls_to_a_plateau_and_says_when():
    curve = mixing(BRAIN, seed=0, rounds=30)
    assert curve[0] == 1
    assert curve[1] < 0.7
    late = curve[15:]
    assert curve[10] == pytest.approx(late.mean(), abs=4 * late.std() + 1e-9)


def test_the_larval_brain_is_mixed_after_six_rounds_and_rewired_in_about_a_second(larval):
    curve = mixing(larval, seed=0, rounds=10)
    assert curve[6:] == pytest.approx(0.034, abs=0.003)
    taken = []
    for seed in range(2):
        start = time.process_time()
        null = rewired(larval, seed=seed)
        taken.append(time.process_time() - start)
    assert min(taken) < 2.0
    for axis in (0, 1):
        assert ((null.weights > 0).sum(axis=axis) == (larval.weights > 0).sum(axis=axis)).all()
    assert null.num_edges == larval.num_edges


def test_shuffling_keeps_every_edge_and_the_set_of_weights():
    null = shuffled_weights(BRAIN, seed=0)
    assert overlap(null, BRAIN) == overlap(BRAIN, null) == 1
    assert np.sort(null.weights.data).tolist() == np.sort(BRAIN.weights.data).tolist()
    assert (null.weights != BRAIN.weights).nnz > 0


def test_relabelling_exchanges_sides_within_half_of_the_pairs_and_leaves_the_graph():
    null = relabelled(BRAIN, seed=0)
    assert null.weights is BRAIN.weights or (null.weights != BRAIN.weights).nnz == 0
    changed = np.flatnonzero(null.side != BRAIN.side)
    assert changed.size == 50
    assert np.isin(BRAIN.mate[changed], changed).all(), "both of a pair or neither"
    assert (null.side == "left").sum() == (BRAIN.side == "left").sum()
    assert (null.side[null.mate] != null.side).all()


def test_mirroring_makes_propagation_commute_with_the_mirror():
    null = mirrored(BRAIN)
    x = np.random.default_rng(0).normal(size=100)
    assert null.propagate(x[null.mate]) == pytest.approx(null.propagate(x)[null.mate])
    assert not np.allclose(BRAIN.propagate(x[BRAIN.mate]), BRAIN.propagate(x)[BRAIN.mate])
    assert null.num_synapses == pytest.approx(BRAIN.num_synapses)


def test_mirroring_lets_a_neuron_without_a_mate_be_its_own_image():
    trio = Connectome([[0, 4, 0], [0, 0, 0], [0, 0, 0]], side=["unknown", "left", "right"], mate=[-1, 2, 1])
    assert mirrored(trio).weights.toarray().tolist() == [[0, 2, 2], [0, 0, 0], [0, 0, 0]]


@pytest.mark.parametrize("density", [0.05, 0.5, 0.95])
def test_random_edges_keep_their_number_and_weights_and_avoid_the_diagonal(density):
    generator = np.random.default_rng(0)
    weights = (generator.random((40, 40)) < density) * generator.integers(1, 9, (40, 40))
    np.fill_diagonal(weights, 0)
    brain = Connectome(weights)
    null = random_edges(brain, seed=1)
    assert null.num_edges == brain.num_edges
    assert np.sort(null.weights.data).tolist() == np.sort(brain.weights.data).tolist()
    assert null.weights.diagonal().sum() == 0


def test_random_edges_fall_evenly():
    """Every ordered pair of 5 neurons, 20 in all, must carry the 8 edges equally often: chi-squared, 19 degrees of freedom."""
    brain = Connectome(np.triu(np.ones((5, 5)), k=1) - np.diag(np.ones(2), k=3))
    total = sum(random_edges(brain, seed=seed).weights.toarray() for seed in range(600))
    pairs = total[~np.eye(5, dtype=bool)]
    expected = 600 * brain.num_edges / 20
    assert ((pairs - expected) ** 2 / expected).sum() < 43.8


def test_nulls_that_cannot_be_are_refused():
    single = Connectome([[0, 1], [1, 0]])
    for null in (relabelled, mirrored):
        with pytest.raises(RefusedError, match="homologous pairs"):
            null(single, seed=0)
    with pytest.raises(ArgumentError, match="rounds"):
        rewired(BRAIN, seed=0, rounds=0)
    with pytest.raises(RefusedError, match="at most 2 edges"):
        random_edges(Connectome(np.ones((2, 2))), seed=0)
