"""The decision needs memory, and a perfect observer's score is its ceiling."""

from __future__ import annotations

import numpy as np
import pytest

from ordinate.errors import ArgumentError
from ordinate.reservoir import Connectome, Reservoir, datasets, normalise
from ordinate.reservoir.dynamics.input_weights import random_input_weights
from ordinate.reservoir.readout.estimators import random_connectome
from ordinate.reservoir.tasks.base import Setting, Size
from ordinate.reservoir.tasks.decision import ContextTask, DecisionTask, MatchTask

SIZE = Size(train=5000, validation=1000, test=6000)


def test_summing_the_evidence_scores_what_theory_says_at_each_coherence():
    task = DecisionTask(coherences=(0.05, 0.15, 0.4))
    built = task.trials(12_000, 0)
    evidence = built.inputs[:, 5:25, 1:].sum(axis=1)
    right = (evidence[:, 1] > evidence[:, 0]) == (built.answers == "right")
    for coherence in task.coherences:
        result = right[built.coherence == coherence].mean()
        assert result == pytest.approx(task.ideal_accuracy(coherence), abs=0.02)
    assert DecisionTask(noise=0).ideal_accuracy(0.01) == 1


def test_a_network_that_adds_up_its_inputs_is_a_perfect_observer():
    integrator = Reservoir(Connectome(np.eye(3)), input_weights=np.eye(3), activation="identity", dtype=np.float64)
    task = DecisionTask(coherences=(0.15,))
    (result,) = task.outcomes(integrator, task.draw(SIZE, 1), SIZE, [Setting()], (1e-6,), None)
    assert result.test == pytest.approx(task.ideal_accuracy(0.15), abs=0.025)


def test_a_network_without_memory_guesses_because_the_answer_comes_after_silence():
    memoryless = Reservoir(Connectome(np.zeros((3, 3))), input_weights=np.eye(3), dtype=np.float64)
    for task, seen in ((DecisionTask(), False), (DecisionTask(delay=0, noise=0.1, coherences=(0.5,)), True)):
        (result,) = task.outcomes(memoryless, task.draw(SIZE, 2), SIZE, [Setting()], (1e-3,), None)
        assert (result.test > 0.9) if seen else result.test == pytest.approx(0.5, abs=0.03)


def test_trials_are_cue_then_evidence_then_silence_and_the_answer_is_the_stronger_side():
    task = DecisionTask(cue=3, evidence=4, delay=2, noise=0, coherences=(0.5,))
    built = task.trials(50, 0)
    assert built.inputs.shape == (50, 9, 3)
    assert (built.inputs[:, :, 0] == 1).all()
    assert (built.inputs[:, [0, 1, 2, 7, 8], 1:] == 0).all()
    for trial, answer in zip(built.inputs, built.answers, strict=True):
        left, right = trial[3, 1:]
        assert {left, right} == {0.75, 0.25}
        assert answer == ("left" if left > right else "right")
    assert 10 < (built.answers == "left").sum() < 40


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: DecisionTask(evidence=0), "evidence: expected a finite number of at least 1"),
        (lambda: DecisionTask(cue=-1), "cue: expected a finite number of at least 0"),
        (lambda: DecisionTask(noise=-1.0), "noise: expected a finite number of at least 0"),
        (lambda: DecisionTask(coherences=()), r"coherences: expected shares in \(0, 1\]"),
        (lambda: DecisionTask(coherences=(0.0,)), "coherences"),
        (lambda: DecisionTask().trials(0, 0), "count: expected an integer of at least 1"),
    ],
)
def test_what_is_no_decision_is_refused_with_a_reason(call, told):
    with pytest.raises(ArgumentError, match=told):
        call()


def test_the_cue_says_which_evidence_counts():
    built = datasets.context_decision(60, 0, noise=0, coherences=(0.4,))
    assert set(built.inputs[:, :, :2].reshape(-1, 2).sum(axis=1)) == {1.0}
    for trial, answer in zip(built.inputs, built.answers, strict=True):
        left, right = trial[10, 2:4] if trial[0, 0] else trial[10, 4:6]
        assert answer == ("left" if left > right else "right")
    assert 15 < built.inputs[:, 0, 0].sum() < 45


def test_a_match_is_the_same_stimulus_twice_and_no_linear_read_out_finds_it():
    built = datasets.delayed_match(200, 0, noise=0)
    first, second = built.inputs[:, 0, 1:].argmax(axis=1), built.inputs[:, -1, 1:].argmax(axis=1)
    assert ((first == second) == (built.answers == "match")).all()
    assert (built.inputs[:, 5:15, 1:] == 0).all()
    integrator = Reservoir(Connectome(np.eye(3)), input_weights=np.eye(3), activation="identity", dtype=np.float64)
    task = MatchTask()
    (result,) = task.outcomes(integrator, task.draw(SIZE, 1), SIZE, [Setting()], (1e-6,), None)
    assert result.test < 0.8, "an exclusive or is not linear"


@pytest.mark.parametrize(("task", "least"), [(ContextTask(), 0.6), (MatchTask(), 0.9)])
def test_a_random_signed_network_does_better_than_guessing(task, least):
    size = Size(train=2000, validation=400, test=800)
    brain = normalise(random_connectome(200, 0.1, np.random.default_rng(0)), "spectral_radius", 0.9)
    network = Reservoir(brain, input_weights=random_input_weights(brain, task.num_channels, seed=0), impl="scipy")
    (result,) = task.outcomes(network, task.draw(size, 0), size, [Setting(1.0, 0.1)], (1e-4, 1e-2), None)
    assert result.test > least
