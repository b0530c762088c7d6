"""Inputs at the edges of what is possible: an answer that is right, or one error of this package in one line."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import sparse

from ordinate.errors import ArgumentError, ArgumentTypeError, OrdinateError, RefusedError, ShapeError
from ordinate.reservoir import (
    NULLS,
    Connectome,
    EchoStateClassifier,
    EchoStateRegressor,
    Reservoir,
    datasets,
    leading_mode,
    normalise,
)
from ordinate.reservoir.connectome.signs import dale, random_signs
from ordinate.reservoir.tasks import interval


@pytest.mark.parametrize("name", ["rewired", "shuffled", "random"])
def test_null_models_of_an_empty_graph_are_empty(name):
    null = NULLS[name](Connectome(np.zeros((5, 5))), seed=0)
    assert (null.num_neurons, null.num_edges) == (5, 0)


@pytest.mark.parametrize(
    ("weights", "error", "message"),
    [
        (np.array([["1", "2"], ["3", "4"]]), ArgumentTypeError, "weights: expected real numbers"),
        (np.array([[object(), 1], [1, 1]]), ArgumentTypeError, "weights: expected real numbers"),
        (np.ones((2, 2), dtype=complex), ArgumentTypeError, "dtype complex128"),
        (np.zeros((2, 2), dtype="datetime64[s]"), ArgumentTypeError, "weights: expected real numbers"),
        ([[1, 2], [3]], ShapeError, "rows of different lengths"),
        (None, ShapeError, "a square matrix"),
        (3.0, ShapeError, "a square matrix"),
    ],
)
def test_matrices_that_are_none_are_refused_in_one_line(weights, error, message):
    with pytest.raises(error, match=message) as raised:
        Connectome.from_array(weights)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("dtype", [np.float16, np.longdouble, bool, np.uint8, object])
def test_other_kinds_of_numbers_become_those_that_scipy_has(dtype):
    graph = Connectome.from_array(np.array([[0, 1], [1, 0]]).astype(dtype))
    assert graph.num_synapses == 2
    assert graph.propagate([1.0, 0.0]).tolist() == [0.0, 1.0]


@pytest.mark.parametrize("size", [1e200, 1e-300, 1e300])
@pytest.mark.parametrize("by", ["spectral_radius", "output", "input"])
def test_weights_at_the_ends_of_float64_are_normalised_as_others(size, by):
    weights = np.array([[0.0, 2, 1], [3, 0, 0], [0, 1, 0]])
    expected = normalise(Connectome(weights), by, 0.9).weights.toarray()
    scaled = normalise(Connectome(size * weights), by, 0.9)
    assert scaled.weights.toarray() == pytest.approx(expected)
    assert Connectome(size * weights).spectral_radius() == pytest.approx(size * Connectome(weights).spectral_radius())
    assert leading_mode(Connectome(size * weights)).shares == pytest.approx(leading_mode(Connectome(weights)).shares)


def test_weights_outside_float32_are_refused_before_they_become_infinite():
    with pytest.raises(RefusedError, match="weights that float32 can represent"):
        Reservoir(Connectome([[1e200]]), inputs=[[0]])
    with pytest.raises(RefusedError, match="weights that float32 can represent"):
        Reservoir(Connectome([[1e-300]]), inputs=[[0]])
    assert Reservoir(Connectome([[1e-300]]), inputs=[[0]], dtype=float).run([[0.5]]).shape == (1, 1)


@pytest.mark.parametrize("estimator", [EchoStateRegressor, EchoStateClassifier])
@pytest.mark.parametrize("state", [-1, 2**70, 1.5, "seven", np.random.default_rng(0)])
def test_a_random_state_that_is_none_is_refused_in_one_line(estimator, state):
    with pytest.raises(ArgumentError, match=r"random_state: expected None, a whole number from 0 to 2\*\*32 - 1") as raised:
        estimator(units=5, random_state=state).fit(np.eye(6), [0, 1] * 3)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("seed", [-1, 1.5, "seven", None, True])
@pytest.mark.parametrize(
    "draw",
    [
        lambda seed: Connectome.synthetic(seed),
        lambda seed: NULLS["rewired"](Connectome.synthetic(), seed=seed),
        lambda seed: random_signs(Connectome.synthetic(), seed=seed),
        lambda seed: datasets.narma10(20, seed),
        lambda seed: datasets.decision(2, seed),
    ],
)
def test_a_seed_that_is_none_is_refused_in_one_line(draw, seed):
    with pytest.raises(OrdinateError, match="seed: expected an integer of at least 0"):
        draw(seed)


def test_large_seeds_and_generators_are_seeds():
    assert dale(Connectome.synthetic(2**70), 0.5, seed=2**70).num_neurons == 100
    generator = np.random.default_rng(5)
    assert (Connectome.synthetic(generator).weights != Connectome.synthetic(5).weights).nnz == 0


def test_a_long_series_is_not_printed_whole():
    with pytest.raises(ArgumentError) as raised:
        interval([0.5] * 5000 + [np.nan])
    assert len(str(raised.value)) < 200


def test_unbounded_activity_that_grows_is_reported_before_it_is_infinite():
    growing = Reservoir(Connectome([[1.2]]), inputs=[[0]], activation="identity", impl="scipy")
    with pytest.warns(RuntimeWarning, match=r"neuron 0 has grown to .*no bound"):
        growing.run(np.ones((100, 1)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Reservoir(Connectome([[0.9]]), inputs=[[0]], activation="relu").run(1e5 * np.ones((100, 1)))
        Reservoir(Connectome([[5.0]]), inputs=[[0]]).run(np.ones((100, 1)))


def test_the_same_seed_gives_the_same_bits():
    def bits() -> bytes:
        brain = normalise(NULLS["rewired"](Connectome.synthetic(3), seed=4), "spectral_radius", 0.9)
        states = Reservoir(brain, inputs=["sensory"], noise=0.1).run(datasets.narma10(50, 1).inputs, seed=2)
        return bytes(states.tobytes()) + sparse.csr_array(brain.weights).data.tobytes()

    assert bits() == bits()


def test_every_data_set_is_called_alike():
    for draw in (datasets.mackey_glass, datasets.lorenz, datasets.narma10, datasets.narma30, datasets.decision):
        one, again, other = draw(40, 1), draw(40, 1), draw(40, 2)
        assert np.array_equal(one.inputs, again.inputs)
        assert np.array_equal(one.targets, again.targets)
        assert not np.array_equal(one.inputs, other.inputs)
        assert len(one.inputs) == len(one.targets)


@pytest.mark.parametrize("values", [[["a"]], [[1j]], [[1.0], [1.0, 2.0]]], ids=["text", "complex", "ragged"])
def test_inputs_that_are_no_real_numbers_are_refused_in_one_line(values):
    reservoir = Reservoir(Connectome.from_array(np.ones((3, 3))), inputs=[[0]], impl="scipy")
    with pytest.raises(ArgumentTypeError, match="inputs: expected an array of real numbers"):
        reservoir.run(values)


def test_a_number_where_neurons_are_named_is_refused_in_one_line():
    with pytest.raises(ArgumentTypeError, match="expected a query, a mask"):
        Reservoir(Connectome.from_array(np.ones((3, 3))), inputs=[0])
