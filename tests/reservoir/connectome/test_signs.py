"""Signs are assumptions: they are written down, and change nothing but the sign."""

from __future__ import annotations

import numpy as np
import pytest

from ordinate.errors import ArgumentError, ShapeError, UnknownNameError
from ordinate.reservoir import Connectome
from ordinate.reservoir.connectome.signs import dale, known_signs, positive, random_signs

BRAIN = Connectome.synthetic()


def inhibitors(connectome: Connectome) -> list[int]:
    dense = connectome.weights.toarray()
    assert ((dense <= 0).all(axis=1) | (dense >= 0).all(axis=1)).all(), "each neuron has one sign"
    return np.flatnonzero((dense < 0).any(axis=1)).tolist()


def test_by_type_exactly_those_neurons_inhibit():
    built = dale(BRAIN, "interneuron & left")
    sending = np.flatnonzero(np.diff(BRAIN.weights.indptr))
    assert inhibitors(built) == np.intersect1d(BRAIN.select("interneuron & left"), sending).tolist()
    assert (abs(built.weights) != BRAIN.weights).nnz == 0


def test_by_fraction_so_many_inhibit_and_the_seed_chooses():
    one, again, other = dale(BRAIN, 0.3, seed=1), dale(BRAIN, 0.3, seed=1), dale(BRAIN, 0.3, seed=2)
    assert (one.weights != again.weights).nnz == 0
    assert inhibitors(one) != inhibitors(other)
    assert "30 of 100 neurons" in one.assumptions[-1]
    assert inhibitors(dale(BRAIN, 0.0, seed=1)) == []


def test_random_signs_fall_on_edges():
    built = random_signs(BRAIN, negative=0.3, seed=0)
    assert (abs(built.weights) != BRAIN.weights).nnz == 0
    assert (built.weights.data < 0).mean() == pytest.approx(0.3, abs=0.05)
    assert (random_signs(BRAIN, seed=1).weights != random_signs(BRAIN, seed=1).weights).nnz == 0


def test_given_signs_are_taken_and_positive_takes_them_back():
    signs = np.where(np.arange(100) % 2, 1, -1)
    built = known_signs(BRAIN, signs)
    assert (built.weights.toarray() == BRAIN.weights.toarray() * signs[:, None]).all()
    assert (positive(built).weights != BRAIN.weights).nnz == 0


def test_unsigned_counts_become_signed_and_not_huge():
    built = dale(Connectome(np.array([[0, 3], [1, 0]], dtype=np.uint8)), [0])
    assert built.weights.toarray().tolist() == [[0, -3], [1, 0]]


def test_the_newest_assumption_replaces_the_older():
    built = positive(dale(BRAIN, "sensory"))
    assert [result for result in built.assumptions if "excite" in result] == ["all synapses excite"]
    assert "drawn from a seed: it is not a brain" in built.assumptions


def test_wrong_signs_are_refused():
    with pytest.raises(ArgumentError, match="a finite number from 0 to 1"):
        dale(BRAIN, 1.5, seed=0)
    with pytest.raises(ArgumentError, match="a seed, for neurons are drawn"):
        dale(BRAIN, 0.5)
    with pytest.raises(UnknownNameError):
        dale(BRAIN, "LN")
    with pytest.raises(ArgumentError, match="negative: expected a finite number from 0 to 1"):
        random_signs(BRAIN, negative=-1, seed=0)
    with pytest.raises(ShapeError, match=r"signs: expected \[100\]"):
        known_signs(BRAIN, [1, -1])
    with pytest.raises(ArgumentError, match=r"\+1 and -1, got 0"):
        known_signs(BRAIN, np.zeros(100))
