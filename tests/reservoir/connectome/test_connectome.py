"""A connectome keeps its counts, moves activity from pre to post and nothing else, and refuses what is misaligned."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from ordinate.errors import ArgumentError, ArgumentTypeError, ShapeError
from ordinate.reservoir import Connectome


def drawn(seed: int, count: int = 12) -> Connectome:
    generator = np.random.default_rng(seed)
    return Connectome((generator.random((count, count)) < 0.3) * generator.integers(1, 9, (count, count)))


def test_activity_goes_from_pre_to_post():
    """One edge a -> b: what a does arrives at b, and what b does arrives nowhere."""
    pair = Connectome([[0, 5], [0, 0]], ids=["a", "b"])
    assert pair.propagate([1.0, 0.0]).tolist() == [0.0, 5.0]
    assert pair.propagate([0.0, 1.0]).tolist() == [0.0, 0.0]
    assert pair.reversed().propagate([0.0, 1.0]).tolist() == [5.0, 0.0]


@given(st.integers(0, 10**6))
def test_propagation_is_the_dense_product_and_linear(seed):
    connectome = drawn(seed)
    x, y = np.random.default_rng(seed + 1).normal(size=(2, 3, 4, 12))
    dense = connectome.weights.toarray().astype(float)
    assert connectome.propagate(x) == pytest.approx(np.einsum("bti,ij->btj", x, dense))
    assert connectome.propagate(2 * x - y) == pytest.approx(2 * connectome.propagate(x) - connectome.propagate(y))


def test_counts_are_kept_as_they_are_and_stored_zeros_are_no_edges():
    result = sparse.csr_array((np.array([3, 0, 2], dtype=np.uint8), np.array([1, 2, 0]), np.array([0, 2, 3, 3])), shape=(3, 3))
    built = Connectome(result)
    assert built.weights.dtype == np.uint8
    assert (built.num_edges, built.num_synapses) == (2, 5)
    assert result.nnz == 3, "the caller's matrix is left alone"


def test_entries_given_twice_are_added():
    doubled = sparse.coo_array((np.array([1, 2]), (np.array([0, 0]), np.array([1, 1]))), shape=(2, 2))
    assert Connectome(doubled).weights[0, 1] == 3


def test_what_it_holds_cannot_be_changed_from_outside():
    built = Connectome.synthetic()
    for part in (built.weights.data, built.side, built.mate, built.ids, built.kind):
        with pytest.raises(ValueError, match="read-only"):
            part[0] = part[1]


def test_restricting_keeps_edges_ids_and_mates_together():
    whole = Connectome.synthetic()
    part = whole.restrict("sensory | interneuron & left")
    kept = whole.select("sensory | interneuron & left")
    assert part.ids.tolist() == whole.ids[kept].tolist()
    assert (part.weights.toarray() == whole.weights.toarray()[np.ix_(kept, kept)]).all()
    for index in range(part.num_neurons):
        there = whole.mate[kept[index]]
        expected = whole.ids[there] if there in kept else None
        assert (part.ids[part.mate[index]] if part.mate[index] >= 0 else None) == expected


def test_it_survives_pickling():
    built = Connectome.synthetic(3)
    again = pickle.loads(pickle.dumps(built))
    assert (again.weights != built.weights).nnz == 0
    assert again.labels == built.labels
    assert again.propagate(np.ones(100)) == pytest.approx(built.propagate(np.ones(100)))


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"weights": np.ones((2, 3))}, "weights: expected a square matrix [N, N], got [2, 3]"),
        ({"weights": np.ones(4)}, "a square matrix"),
        ({"weights": np.zeros((0, 0))}, "at least one neuron"),
        ({"weights": [[0, np.nan], [1, 0]]}, "weights: expected finite numbers, got nan at [0, 1]"),
        ({"weights": [[0, 1], [np.inf, 0]]}, "got inf at [1, 0]"),
        ({"weights": np.eye(2), "ids": ["a"]}, "ids: expected one for each of the 2 neurons, got 1; align it with the matrix"),
        ({"weights": np.eye(3), "ids": ["a", "b", "a"]}, "ids: expected distinct names, got a 2 times"),
        ({"weights": np.eye(2), "side": ["left", "middle"]}, "got middle"),
        ({"weights": np.eye(2), "side": ["left"]}, "side: expected one for each of the 2 neurons"),
        ({"weights": np.eye(3), "mate": [1, 2, 0]}, "mate: expected pairs: each the mate of its mate, got neuron 0 -> 1"),
        ({"weights": np.eye(2), "mate": [0, -1]}, "each the mate of its mate"),
        ({"weights": np.eye(2), "mate": [2, -1]}, "indices below 2, or -1"),
        ({"weights": np.eye(2), "labels": [{"x"}]}, "labels: expected one for each"),
    ],
)
def test_what_is_misaligned_or_no_number_is_refused(settings, said):
    with pytest.raises(ArgumentError) as refused:
        Connectome(**settings)
    assert said in str(refused.value)


def test_weights_that_are_no_real_numbers_are_refused():
    with pytest.raises(ArgumentTypeError, match="real numbers"):
        Connectome(np.eye(2) * 1j)


def test_negative_counts_are_refused_where_counts_are_meant():
    with pytest.raises(ArgumentError, match="counts of synapses"):
        Connectome.from_array([[0, -1], [1, 0]])
    assert Connectome([[0, -1], [1, 0]]).num_synapses == 2, "weights may be negative"


def test_activity_of_the_wrong_length_is_refused():
    with pytest.raises(ShapeError, match=r"x: expected \[\.\.\., 100\], got \[3, 99\]"):
        Connectome.synthetic().propagate(np.ones((3, 99)))
    with pytest.raises(ShapeError, match="weights"):
        Connectome.synthetic().with_weights(np.eye(3), name="other")


def test_the_synthetic_one_is_bilateral_repeatable_and_its_senses_are_what_they_say():
    built = Connectome.synthetic(5)
    assert (Connectome.synthetic(5).weights != built.weights).nnz == 0
    assert (Connectome.synthetic(6).weights != built.weights).nnz > 0
    assert (built.mate[built.mate] == np.arange(100)).all()
    assert (built.side[built.mate] != built.side).all()
    assert (built.kind[built.mate] == built.kind).all()
    crossing = {}
    for kind in ("sensory", "ascending"):
        sums = {side: built.weights[built.select(f"{kind} & left")][:, built.select(side)].sum() for side in ("left", "right")}
        crossing[kind] = sums["right"] / (sums["left"] + sums["right"])
    assert crossing["sensory"] < 0.2
    assert crossing["ascending"] > 0.8


def test_the_synthetic_one_is_mirror_symmetric_when_asked():
    built = Connectome.synthetic(symmetry=1.0)
    assert (built.weights[built.mate][:, built.mate] != built.weights).nnz == 0


@pytest.mark.parametrize("settings", [{"num_pairs": 3}, {"symmetry": 1.5}, {"mean_count": 0.5}])
def test_a_synthetic_one_of_impossible_settings_is_refused(settings):
    with pytest.raises(ArgumentError, match=next(iter(settings))):
        Connectome.synthetic(**settings)
