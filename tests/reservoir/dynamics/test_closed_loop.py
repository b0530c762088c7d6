"""A closed loop is the steps one would write by hand; teacher forcing shows each step the target before."""

from __future__ import annotations

import numpy as np
import pytest

from ordinate.errors import ArgumentError, ShapeError
from ordinate.reservoir import Connectome, Reservoir
from ordinate.reservoir.connectome.gain import normalise

BRAIN = normalise(Connectome.synthetic(), "spectral_radius", 0.9)
READ = np.random.default_rng(0).normal(size=(100, 2)) / 10
BACK = np.random.default_rng(1).normal(size=(1, 100))


def test_outputs_become_the_next_inputs():
    reservoir = Reservoir(BRAIN, inputs=["sensory & left", "sensory & right"])
    start = reservoir.step(reservoir.initial_state(), [0.3, -0.1])
    result = reservoir.generate(lambda x: x @ READ, 5, state=start)
    state = start
    for t in range(5):
        output = (state.activity @ READ).astype(np.float32)
        assert result.outputs[t] == pytest.approx(output)
        state = reservoir.step(state, output)
        assert result.states[t] == pytest.approx(state.activity)
    assert result.state.activity == pytest.approx(state.activity)


def test_a_loop_is_a_run_on_its_own_outputs_and_a_batch_is_its_sequences():
    reservoir = Reservoir(BRAIN, inputs=["sensory & left", "sensory & right"])
    states = np.random.default_rng(2).normal(size=(3, 100)).astype(np.float32)
    result = reservoir.generate(lambda x: x @ READ, 6, state=states, gain=0.7)
    assert result.outputs.shape == (3, 6, 2)
    assert reservoir.run(result.outputs, state=states, gain=0.7) == pytest.approx(result.states, abs=1e-6)
    alone = reservoir.generate(lambda x: x @ READ, 6, state=states[1], gain=0.7)
    assert alone.outputs == pytest.approx(result.outputs[1], abs=1e-6)


def test_feedback_comes_one_step_later_and_teacher_forcing_puts_the_target_in_its_place():
    reservoir = Reservoir(BRAIN, inputs=["sensory"], feedback_weights=BACK)
    read = READ[:, :1]
    inputs = np.random.default_rng(3).normal(size=(8, 1)).astype(np.float32)
    result = reservoir.generate(lambda x: x @ read, 8, state=reservoir.initial_state(), inputs=inputs)
    # taught its own outputs, the network does the same
    assert reservoir.run(inputs, teacher=result.outputs) == pytest.approx(result.states, abs=1e-6)
    state = reservoir.initial_state()
    state = reservoir.step(state, inputs[0], feedback=[0.0])
    state = reservoir.step(state, inputs[1], feedback=result.outputs[0])
    assert state.activity == pytest.approx(result.states[1], abs=1e-6)


def test_a_readout_of_recorded_neurons_sees_those_only():
    reservoir = Reservoir(BRAIN, inputs=["sensory"])
    seen = []

    def read(x):
        seen.append(x.shape)
        return x[:1]

    result = reservoir.generate(read, 3, state=reservoir.initial_state(), record="descending")
    assert set(seen) == {(16,)}
    assert result.states.shape == (3, 16)


def test_no_inputs_at_all_is_a_loop_of_feedback_alone():
    reservoir = Reservoir(BRAIN, feedback_weights=BACK)
    result = reservoir.generate(lambda x: x[:1], 4, state=np.full(100, 0.1))
    assert result.outputs.shape == (4, 1)
    assert reservoir.generate(lambda x: x[:1], 0, state=np.full(100, 0.1)).outputs.shape == (0, 1)


def test_what_does_not_fit_the_loop_is_refused():
    open_, fed = Reservoir(BRAIN, inputs=["sensory"]), Reservoir(BRAIN, inputs=["sensory"], feedback_weights=BACK)
    with pytest.raises(ShapeError, match=r"readout: expected outputs \[1\], got \[2\]"):
        open_.generate(lambda x: x @ READ, 3, state=open_.initial_state())
    with pytest.raises(ArgumentError, match="the outputs are the inputs"):
        open_.generate(lambda x: x[:1], 3, state=open_.initial_state(), inputs=np.ones((3, 1)))
    with pytest.raises(ShapeError, match=r"inputs: expected \[3, 1\]"):
        fed.generate(lambda x: x[:1], 3, state=fed.initial_state())
    with pytest.raises(ArgumentError, match="feedback exactly where there are feedback_weights"):
        fed.run(np.ones((3, 1)))
    with pytest.raises(ShapeError, match=r"teacher: expected \[3, 1\]"):
        fed.run(np.ones((3, 1)), teacher=np.ones((3, 2)))
