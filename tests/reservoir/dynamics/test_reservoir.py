"""A step is the formula and pure; batches, cuts and recorded parts are the same numbers; wrong use is told."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ordinate.errors import ArgumentError, ArgumentTypeError, RefusedError, ShapeError
from ordinate.reservoir import Connectome, LeakyRate, Reservoir, State
from ordinate.reservoir.connectome.gain import normalise
from ordinate.reservoir.connectome.signs import dale

BRAIN = normalise(dale(Connectome.synthetic(), 0.3, seed=0), "spectral_radius", 1.1)
CHANNELS = ["sensory & left", "sensory & right"]

IMPLS = ("compiled", "scipy")


def by_hand(inputs, *, leak_rate=1.0, bias=0.0, gain=1.0, function=np.tanh):
    """The formula in float64, one neuron's arriving sum at a time."""
    weights = BRAIN.weights.toarray()
    heard = np.zeros((2, 100))
    for channel, query in enumerate(CHANNELS):
        heard[channel, BRAIN.select(query)] = 1
    x, states = np.zeros(100), []
    for u in inputs:
        arriving = np.array([sum(x[i] * weights[i, j] for i in range(100)) for j in range(100)])
        x = (1 - leak_rate) * x + leak_rate * function(gain * arriving + u @ heard + bias)
        states.append(x)
    return np.array(states)


@pytest.mark.parametrize("impl", IMPLS)
@pytest.mark.parametrize(
    ("activation", "function"),
    [
        ("tanh", np.tanh),
        ("relu", lambda x: np.maximum(x, 0)),
        ("identity", lambda x: x),
        ("sigmoid", lambda x: 1 / (1 + np.exp(-x))),
    ],
)
def test_a_run_is_the_formula(impl, activation, function):
    inputs = np.random.default_rng(0).normal(size=(6, 2))
    leak, bias = np.linspace(0.2, 1, 100), np.linspace(-0.2, 0.2, 100)
    reservoir = Reservoir(BRAIN, inputs=CHANNELS, activation=activation, leak_rate=leak, bias=bias, gain=0.8, impl=impl)
    assert reservoir.impl == impl
    expected = by_hand(inputs, leak_rate=leak, bias=bias, gain=0.8, function=function)
    assert reservoir.run(inputs) == pytest.approx(expected, abs=1e-5)


def test_in_float64_a_run_is_the_formula_to_rounding():
    inputs = np.random.default_rng(0).normal(size=(6, 2))
    reservoir = Reservoir(BRAIN, inputs=CHANNELS, leak_rate=0.4, bias=0.1, dtype=np.float64)
    states = reservoir.run(inputs)
    assert states.dtype == np.float64
    assert states == pytest.approx(by_hand(inputs, leak_rate=0.4, bias=0.1), abs=1e-13)


def test_a_threshold_unit_and_a_function_of_ones_own():
    inputs = np.ones((3, 2))
    fired = Reservoir(BRAIN, inputs=CHANNELS, activation="threshold", bias=-0.5).run(inputs)
    assert fired == pytest.approx(by_hand(inputs, bias=-0.5, function=lambda x: (x > 0) * 1.0))
    soft = Reservoir(BRAIN, inputs=CHANNELS, activation=lambda x: x / (1 + abs(x))).run(inputs)
    assert soft == pytest.approx(by_hand(inputs, function=lambda x: x / (1 + abs(x))), abs=1e-5)


@pytest.mark.parametrize("impl", IMPLS)
@given(seed=st.integers(0, 10**6), steps=st.integers(1, 12), batch=st.sampled_from([1, 3, 5, 16, 17, 35]))
@settings(max_examples=8, deadline=None)
def test_a_batch_is_its_sequences_and_a_recorded_part_is_part_of_the_whole(impl, seed, steps, batch):
    generator = np.random.default_rng(seed)
    inputs, gains = generator.normal(size=(batch, steps, 2)), generator.uniform(0, 1.2, batch)
    reservoir = Reservoir(BRAIN, inputs=CHANNELS, leak_rate=0.7, impl=impl)
    whole = reservoir.run(inputs, gain=gains)
    assert whole.shape == (batch, steps, 100)
    for at in range(batch):
        assert whole[at] == pytest.approx(reservoir.run(inputs[at], gain=gains[at]), abs=2e-6)
    kept = BRAIN.select("descending")
    assert np.array_equal(reservoir.run(inputs, gain=gains, record="descending"), whole[..., kept])


@pytest.mark.parametrize("impl", IMPLS)
@given(seed=st.integers(0, 10**6), cut=st.integers(0, 9))
@settings(max_examples=12, deadline=None)
def test_a_run_cut_in_two_or_stepped_by_hand_is_the_same_run(impl, seed, cut):
    inputs = np.random.default_rng(seed).normal(size=(9, 2))
    reservoir = Reservoir(BRAIN, inputs=CHANNELS, leak_rate=0.7, impl=impl)
    whole = reservoir.run(inputs)
    first, state = reservoir.advance(inputs[:cut])
    assert np.array_equal(np.concatenate([first, reservoir.run(inputs[cut:], state=state)]), whole)
    state = reservoir.initial_state()
    for t, u in enumerate(inputs):
        state = reservoir.step(state, u)
        assert np.array_equal(state.activity, whole[t])


@pytest.mark.parametrize("impl", IMPLS)
def test_a_step_changes_neither_state_nor_input_and_forgets_everything(impl):
    reservoir = Reservoir(BRAIN, inputs=CHANNELS, impl=impl)
    state = State(np.random.default_rng(0).normal(size=100).astype(np.float32))
    before, u = state.activity.copy(), np.ones(2, dtype=np.float32)
    one = reservoir.step(state, u)
    reservoir.run(np.random.default_rng(1).normal(size=(20, 2)))
    assert np.array_equal(reservoir.step(state, u).activity, one.activity)
    assert np.array_equal(state.activity, before)
    assert u.tolist() == [1, 1]


def test_long_runs_are_chunked_without_a_seam():
    inputs = np.random.default_rng(0).normal(size=(1100, 2)) * 0.1
    reservoir = Reservoir(BRAIN, inputs=CHANNELS)
    first, state = reservoir.advance(inputs[:300])
    assert np.array_equal(np.concatenate([first, reservoir.run(inputs[300:], state=state)]), reservoir.run(inputs))


def test_compiled_and_scipy_agree_to_rounding_on_the_larval_brain(larval):
    brain = normalise(larval, "spectral_radius", 0.9)
    inputs = np.random.default_rng(0).normal(size=(2, 50, 2))
    one, other = (Reservoir(brain, inputs=CHANNELS, leak_rate=0.5, impl=impl).run(inputs) for impl in IMPLS)
    assert np.abs(one - other).max() < 1e-5


def test_without_numba_it_runs_by_scipy_with_equal_results(monkeypatch):
    inputs = np.random.default_rng(0).normal(size=(20, 2))
    compiled = Reservoir(BRAIN, inputs=CHANNELS).run(inputs)
    monkeypatch.setattr("ordinate.reservoir.dynamics.reservoir.find_spec", lambda name: None)
    fallback = Reservoir(BRAIN, inputs=CHANNELS)
    assert fallback.impl == "scipy"
    assert fallback.run(inputs) == pytest.approx(compiled, abs=1e-5)


@pytest.mark.parametrize("impl", IMPLS)
def test_noise_is_fresh_at_every_step_neuron_and_sequence_and_the_seed_repeats_it(impl):
    silent = Connectome(np.zeros((50, 50)))
    reservoir = Reservoir(silent, inputs=[[0]], activation="identity", noise=0.5, impl=impl)
    result = reservoir.run(np.zeros((4, 600, 1)), seed=3)
    assert np.array_equal(result, reservoir.run(np.zeros((4, 600, 1)), seed=3))
    assert np.unique(result).size > 0.99 * result.size, "no value comes twice but by rounding"
    assert result.std() == pytest.approx(0.5, rel=0.01)
    assert abs(np.corrcoef(result[0, 1:, 0], result[0, :-1, 0])[0, 1]) < 0.15
    generator = np.random.default_rng(3)
    first, state = reservoir.advance(np.zeros((4, 100, 1)), seed=generator)
    rest = reservoir.run(np.zeros((4, 500, 1)), state=state, seed=generator)
    assert np.array_equal(np.concatenate([first, rest], axis=1), result), "one generator goes on where it was"


def test_no_steps_give_no_states_and_no_channels_need_no_inputs():
    reservoir = Reservoir(BRAIN, inputs=CHANNELS)
    assert reservoir.run(np.zeros((0, 2))).shape == (0, 100)
    alone = Reservoir(BRAIN, inputs=())
    started = np.full(100, 0.1)
    assert alone.run(np.zeros((3, 0)), state=started).shape == (3, 100)
    assert reservoir.run(np.zeros((3, 2)), state=started) == pytest.approx(alone.run(np.zeros((3, 0)), state=started))


def test_it_survives_pickling_after_a_run():
    reservoir = Reservoir(BRAIN, inputs=CHANNELS)
    states = reservoir.run(np.ones((3, 2)))
    assert np.array_equal(pickle.loads(pickle.dumps(reservoir)).run(np.ones((3, 2))), states)


@pytest.mark.parametrize(
    ("settings_", "kind", "said"),
    [
        ({}, ArgumentError, "inputs, input_weights or feedback_weights"),
        ({"inputs": CHANNELS, "input_weights": np.ones((1, 100))}, ArgumentError, "got both"),
        ({"inputs": "sensory"}, ArgumentTypeError, "a list of queries"),
        ({"inputs": ["sensory & descending"]}, ArgumentError, "at least one neuron"),
        ({"input_weights": np.ones((100, 1))}, ShapeError, "input_weights: expected [*, 100], got [100, 1]"),
        ({"input_weights": np.full((1, 100), np.nan)}, ArgumentError, "finite numbers"),
        ({"inputs": CHANNELS, "leak_rate": 0.0}, ArgumentError, "above 0, up to 1"),
        ({"inputs": CHANNELS, "leak_rate": np.ones(3)}, ShapeError, "leak_rate"),
        ({"inputs": CHANNELS, "bias": np.inf}, ArgumentError, "bias"),
        ({"inputs": CHANNELS, "bias": np.zeros(99)}, ShapeError, "bias: expected a number or [100], got [99]"),
        ({"inputs": CHANNELS, "activation": "softmax"}, KeyError, "tanh, sigmoid, relu, identity, threshold"),
        ({"inputs": CHANNELS, "activation": 3}, ArgumentTypeError, "a name or a function"),
        ({"inputs": CHANNELS, "dynamics": LeakyRate(), "bias": 0.1}, ArgumentError, "no bias beside it"),
        ({"inputs": CHANNELS, "gain": np.nan}, ArgumentError, "gain"),
        ({"inputs": CHANNELS, "noise": -1.0}, ArgumentError, "noise"),
        ({"inputs": CHANNELS, "dtype": np.float16}, ArgumentTypeError, "float32 or float64"),
        ({"inputs": CHANNELS, "impl": "torch"}, ArgumentError, "auto, compiled, scipy"),
        ({"inputs": CHANNELS, "impl": "compiled", "dtype": np.float64}, RefusedError, "float32 leaky rate units"),
        ({"inputs": CHANNELS, "impl": "compiled", "activation": "threshold"}, RefusedError, 'take impl="scipy"'),
    ],
)
def test_settings_that_cannot_be_are_refused(settings_, kind, said):
    with pytest.raises(kind) as refused:
        Reservoir(BRAIN, **settings_)
    assert said in str(refused.value)


def test_a_missing_extra_is_told_with_its_install_line(monkeypatch):
    monkeypatch.setattr("ordinate.reservoir.dynamics.reservoir.find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"pip install numba"):
        Reservoir(BRAIN, inputs=CHANNELS, impl="compiled")


@pytest.mark.parametrize(
    ("inputs", "told", "kind", "said"),
    [
        (np.ones((5, 3)), {}, ShapeError, "inputs: expected [T, 2] or [B, T, 2], got [5, 3]"),
        (np.ones(5), {}, ShapeError, "got [5]"),
        (np.full((5, 2), np.nan), {}, ArgumentError, "inputs: expected finite numbers"),
        (np.ones((5, 2)), {"state": np.zeros(99)}, ShapeError, "state: expected [100], got [99]"),
        (np.ones((3, 5, 2)), {"state": np.zeros(100)}, ShapeError, "state: expected [3, 100]"),
        (np.ones((5, 2)), {"state": np.full(100, np.inf)}, ArgumentError, "state: expected finite"),
        (np.ones((3, 5, 2)), {"gain": [1.0, 2.0]}, ShapeError, "gain"),
        (np.ones((5, 2)), {"gain": np.nan}, ArgumentError, "gain"),
        (np.ones((5, 2)), {"record": "KC"}, KeyError, "a word that some neuron"),
        (np.ones((5, 2)), {"teacher": np.ones((5, 1))}, ArgumentError, "feedback_weights"),
    ],
)
def test_inputs_that_cannot_be_are_refused(inputs, told, kind, said):
    with pytest.raises(kind) as refused:
        Reservoir(BRAIN, inputs=CHANNELS).run(inputs, **told)
    assert said in str(refused.value)


def test_noise_without_a_seed_is_refused():
    with pytest.raises(ArgumentError, match="a seed or generator, for there is noise"):
        Reservoir(BRAIN, inputs=CHANNELS, noise=0.1).run(np.ones((3, 2)))


@pytest.mark.parametrize("impl", IMPLS)
@pytest.mark.parametrize("batch", [None, 5])
def test_a_diverging_state_is_stopped_with_its_step_and_a_neuron(impl, batch):
    loop = Connectome([[2.0, 0.0], [0.0, 0.0]], ids=["loud", "still"])
    reservoir = Reservoir(loop, inputs=[[0]], activation="identity", impl=impl)
    inputs = np.ones((700, 1)) if batch is None else np.ones((batch, 700, 1))
    with pytest.raises(RefusedError, match=r"neuron loud is not finite after step 127; lower the gain"):
        reservoir.run(inputs)  # 1 + 2 + ... + 2^127 = 2^128 - 1 is the first above the largest float32


@pytest.mark.parametrize("impl", IMPLS)
def test_a_state_that_is_infinite_for_one_step_only_is_found_too(impl):
    """Neuron 0 overflows, inhibits itself through 1 to nothing, and a look at the end alone would find all at rest."""
    pair = Connectome([[0.0, 1e30], [-1.0, 0.0]])
    reservoir = Reservoir(pair, input_weights=[[1.0, 0.0]], activation="relu", impl=impl)
    inputs = np.zeros((60, 1))
    inputs[0] = 1e20
    with pytest.raises(RefusedError, match="neuron 1 is not finite after step 1"):
        reservoir.run(inputs)
