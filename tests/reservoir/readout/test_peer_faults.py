"""Faults that users of other reservoir libraries have met, each shown not to be here."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from ordinate.errors import ArgumentError, ShapeError
from ordinate.reservoir import Connectome, Reservoir
from ordinate.reservoir.connectome.gain import normalise

BRAIN = normalise(Connectome.synthetic(), "spectral_radius", 0.9)


def test_a_radius_is_never_that_of_a_symmetric_solver():
    """For [[0, 4], [1, 0]] the radius is 2; `eigvalsh` reads one triangle and says 1, or 4."""
    pair = Connectome([[0, 4], [1, 0]])
    assert pair.spectral_radius() == pytest.approx(2)
    scaled = normalise(pair, "spectral_radius", 0.5).weights.toarray()
    assert np.abs(np.linalg.eigvals(scaled)).max() == pytest.approx(0.5)


def test_noise_is_not_frozen():
    """Not the same vector at every step, nor the same sequence in a second call, nor the same in every row of a batch."""
    reservoir = Reservoir(BRAIN, inputs=["sensory"], noise=0.1)
    quiet = Reservoir(BRAIN, inputs=["sensory"])
    generator = np.random.default_rng(0)
    one = reservoir.run(np.zeros((2, 30, 1)), seed=generator)
    other = reservoir.run(np.zeros((2, 30, 1)), seed=generator)
    assert not np.allclose(one, other)
    assert not np.allclose(one[0], one[1])
    left_over = one[0, 1:] - np.tanh(BRAIN.propagate(one[0, :-1]))
    assert np.abs(np.diff(left_over, axis=0)).max() > 0.01
    assert np.all(quiet.run(np.zeros((30, 1))) == 0)


def test_a_run_always_begins_at_rest_unless_told():
    """There is no state in the object, so there is none that a `reset` could fail to clear."""
    reservoir = Reservoir(BRAIN, inputs=["sensory"], leak_rate=0.2)
    first = reservoir.run(np.ones((20, 1)))
    reservoir.run(np.full((50, 1), -3.0))
    reservoir.step(reservoir.initial_state(), [9.0])
    assert np.array_equal(reservoir.run(np.ones((20, 1))), first)


def test_no_bias_is_added_that_was_not_given():
    """At rest and without input every unit stays exactly 0, whatever the random state of the process."""
    np.random.seed(1)  # noqa: NPY002 (what a hidden draw would come from)
    for impl in ("compiled", "scipy"):
        assert not Reservoir(BRAIN, inputs=["sensory"], impl=impl).run(np.zeros((50, 1))).any()
    biased = Reservoir(BRAIN, inputs=["sensory"], bias=0.3).run(np.zeros((1, 1)))
    assert biased == pytest.approx(np.tanh(0.3))


@pytest.mark.parametrize("by", ["spectral_radius", "output", "input"])
def test_absent_edges_do_not_become_synapses_by_scaling(by):
    """Min-max scaling of a matrix maps 0 to something else as soon as there are negative weights."""
    generator = np.random.default_rng(0)
    weights = (generator.random((60, 60)) < 0.1) * generator.normal(size=(60, 60))
    brain = Connectome(weights)
    scaled = normalise(brain, by, 0.9)
    assert scaled.num_edges == brain.num_edges
    assert ((scaled.weights != 0) != (brain.weights != 0)).nnz == 0
    silent = np.zeros(60)
    assert not scaled.propagate(silent).any()


def test_a_run_of_t_inputs_gives_t_states():
    """Nothing is cut off the front; a washout is the business of what is fitted afterwards."""
    reservoir = Reservoir(BRAIN, inputs=["sensory"])
    inputs = np.random.default_rng(0).normal(size=(40, 1))
    states = reservoir.run(inputs)
    assert len(states) == 40
    assert states[0] == pytest.approx(np.tanh(inputs[0] @ reservoir.input_weights), abs=1e-6)


def test_given_weights_are_never_scaled_in_silence_and_a_radius_asked_for_is_reached():
    """Elsewhere a radius given with weights is dropped. Here weights are used as they are, and `normalise` scales them."""
    strong = Connectome([[0.0, 8.0], [2.0, 0.0]])
    result = Reservoir(strong, inputs=[[0]], activation="identity").run([[1.0], [0.0], [0.0]])
    assert result.tolist() == [[1.0, 0.0], [0.0, 8.0], [16.0, 0.0]]
    assert normalise(strong, "spectral_radius", 0.5).spectral_radius() == pytest.approx(0.5)
    with pytest.raises(TypeError, match="spectral_radius"):
        Reservoir(strong, inputs=[[0]], spectral_radius=0.5)


def test_a_transposed_input_matrix_is_refused_and_not_broadcast():
    with pytest.raises(ShapeError):
        Reservoir(BRAIN, input_weights=np.ones((100, 2)))


def test_a_sparse_matrix_stays_sparse():
    brain = Connectome(sparse.random_array((5000, 5000), density=1e-4, rng=np.random.default_rng(0), format="coo"))
    assert sparse.issparse(brain.weights)
    assert sparse.issparse(normalise(brain, "output", 1.0).weights)


def test_nan_among_the_inputs_is_told_and_not_run():
    with pytest.raises(ArgumentError, match="finite"):
        Reservoir(BRAIN, inputs=["sensory"]).run([[0.0], [np.nan]])
