"""A task is fitted, chosen and scored on three stretches that never mix, and every setting is judged alike."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

from ordinate.errors import ArgumentError, UnknownNameError
from ordinate.reservoir import Connectome, Reservoir
from ordinate.reservoir.connectome.gain import normalise
from ordinate.reservoir.datasets import mackey_glass, narma10, narma30
from ordinate.reservoir.readout.metrics import nrmse_by_std
from ordinate.reservoir.tasks.base import RIDGES, Outcome, ReadTask, Setting, Size, evaluate
from ordinate.reservoir.tasks.registry import task_named, tasks

SIZE = Size(washout=50, train=300, validation=100, test=200)
READ = [name for name, task in tasks().items() if isinstance(task, ReadTask)]


def reservoir(channels=1, seed=0):
    generator = np.random.default_rng(seed)
    return Reservoir(
        normalise(Connectome.synthetic(), "spectral_radius", 1.0),
        input_weights=generator.uniform(-1, 1, (channels, 100)),
        bias=0.2 * generator.uniform(-1, 1, 100),
        impl="scipy",
    )


def test_the_stretches_follow_each_other_and_cover_what_comes_after_the_washout():
    train, validation, test = SIZE.stretches
    assert (train.start, train.stop, validation.stop, test.stop) == (50, 350, 450, 650)
    assert (validation.start, test.start) == (train.stop, validation.stop)
    assert SIZE.steps == 650


@pytest.mark.parametrize("name", READ)
def test_states_that_hold_the_targets_score_perfectly_and_states_of_noise_do_not(name):
    task = task_named(name)
    data = task.draw(SIZE, 0)
    perfect = task.outcome(data[1], data, SIZE, RIDGES)
    noise = task.outcome(np.random.default_rng(0).normal(size=(SIZE.steps, 5)), data, SIZE, RIDGES)
    if task.higher_is_better:
        assert perfect.test == pytest.approx(data[1].shape[1])
        assert noise.test < 0.5
    else:
        assert perfect.test < 1e-4
        assert noise.test > 0.9


def test_the_test_stretch_takes_no_part_in_fitting_or_choosing():
    task = task_named("narma10")
    inputs, targets = task.draw(SIZE, 0)
    states = reservoir().run(inputs)
    spoiled = targets.copy()
    spoiled[SIZE.stretches[2]] = np.random.default_rng(1).normal(size=(200, 1))
    before, after = (task.outcome(states, (inputs, result), SIZE, RIDGES) for result in (targets, spoiled))
    assert (after.validation, after.ridge) == (before.validation, before.ridge)
    assert after.test > before.test + 0.2


def test_the_ridge_is_the_one_that_validation_prefers_and_both_stretches_are_fitted_with_it():
    task = task_named("narma10")
    inputs, targets = task.draw(SIZE, 0)
    states = np.concatenate((reservoir().run(inputs), np.random.default_rng(0).normal(size=(SIZE.steps, 150))), axis=1)
    train, validation, test = SIZE.stretches

    def fitted(ridge, *parts):
        x, y = (np.concatenate([result[part] for part in parts]) for result in (states, targets))
        offset, target_offset = x.mean(axis=0), y.mean(axis=0)
        weights = np.linalg.solve((x - offset).T @ (x - offset) + ridge * np.eye(250), (x - offset).T @ (y - target_offset))
        return lambda rows: (rows - offset) @ weights + target_offset

    tried = {ridge: nrmse_by_std(targets[validation], fitted(ridge, train)(states[validation])) for ridge in RIDGES}
    best = min(tried, key=tried.get)
    output = task.outcome(states, (inputs, targets), SIZE, RIDGES)
    assert output.ridge == best == max(RIDGES)  # 150 columns of noise want the strongest
    assert output.validation == pytest.approx(tried[best], rel=1e-4)
    assert output.test == pytest.approx(nrmse_by_std(targets[test], fitted(best, train, validation)(states[test])), rel=1e-4)


def test_settings_run_side_by_side_score_as_they_do_alone():
    settings = [Setting(0.5, 0.3), Setting(0.9, 1.0)]
    network = reservoir()
    chosen = [(task_named(name), task_named(name).draw(SIZE, 4)) for name in ("memory", "narma10")]
    together = evaluate(chosen, network, SIZE, settings)
    for (task, data), result in zip(chosen, together, strict=True):
        alone = [task.outcomes(network, data, SIZE, [setting], RIDGES, None)[0] for setting in settings]
        best = (max if task.higher_is_better else min)(alone, key=lambda outcome: outcome.validation)
        assert result.validation == pytest.approx(best.validation, rel=1e-3)
        assert result.test == pytest.approx(best.test, rel=1e-3)
        by_hand = normalise(Connectome.synthetic(), "spectral_radius", 0.9)
        plain = Reservoir(by_hand, input_weights=network.input_weights, bias=network.dynamics.bias, impl="scipy")
        np.testing.assert_allclose(alone[1].test, task.outcome(plain.run(data[0]), data, SIZE, RIDGES).test, rtol=1e-2)


@dataclass(frozen=True)
class Fixed:
    """A task whose outcomes are fixed."""

    higher_is_better: bool
    result: tuple[Outcome, ...] = (Outcome(0.2, 0.9, 1.0), Outcome(0.8, 0.1, 1.0))
    name: str = "fixed"
    title: str = ""
    metric: str = ""
    num_channels: int = 1

    def draw(self, size, seed):
        return None

    def outcomes(self, reservoir, data, size, settings, ridges, record):
        return list(self.result)


def test_the_setting_is_chosen_by_validation_whatever_the_test_says():
    for higher, expected in ((True, 0.1), (False, 0.9)):
        (result,) = evaluate([(Fixed(higher), None)], reservoir(), SIZE, [Setting(), Setting()])
        assert result.test == expected


def test_the_tasks_series_are_the_named_ones():
    for name, series in (("narma10", narma10), ("narma30", narma30)):
        inputs, targets = task_named(name).draw(SIZE, 5)
        np.testing.assert_allclose((inputs + 1) / 4, series(SIZE.steps, 5).inputs)
        np.testing.assert_array_equal(targets, series(SIZE.steps, 5).targets)
    inputs, targets = task_named("mackey-glass").draw(SIZE, 0)
    history = float(np.random.default_rng(0).uniform(0.5, 1.3))
    values = mackey_glass(SIZE.steps + 84, history=history).values
    np.testing.assert_allclose(0.4 * inputs + 0.93, values[: SIZE.steps])
    np.testing.assert_allclose(0.4 * targets + 0.93, values[84:])


@pytest.mark.parametrize("name", tasks())
def test_a_seed_draws_the_same_data_and_another_seed_other_data(name):
    def numbers(data):
        return np.concatenate([np.ravel(x) for x in data]) if isinstance(data, tuple) else data.values

    def drawn(seed):
        data = task_named(name).draw(SIZE, seed)
        return numbers(tuple(part.inputs for part in data) if name in ("decision", "context", "match") else data)

    np.testing.assert_array_equal(drawn(1), drawn(1))
    assert np.abs(drawn(1) - drawn(2)).max() > 1e-3


@pytest.mark.parametrize("name", [name for name in tasks() if name != "mackey-glass-free"])  # long: see test_tasks_closed_loop
def test_every_task_runs_on_a_network_and_tells_metric_and_direction(name):
    small = replace(SIZE, train=200, test=100)
    task = task_named(name)
    network = reservoir(task.num_channels)
    (result,) = evaluate([(task, task.draw(small, 0))], network, small, [Setting(0.9, 0.5)], ridges=(1e-4,))
    assert np.isfinite([result.validation, result.test]).all()
    assert task.metric in ("memory_capacity", "nrmse_by_std", "valid_time", "accuracy")
    assert task.higher_is_better is (task.metric != "nrmse_by_std")


@pytest.mark.parametrize(
    ("call", "error", "told"),
    [
        (lambda: task_named("narma20"), UnknownNameError, "one of memory, narma10, narma30, .* got 'narma20'"),
        (lambda: Size(train=5), ArgumentError, "train: expected an integer of at least 100"),
        (lambda: Size(validation=5), ArgumentError, "validation: expected an integer of at least 50"),
        (lambda: Size(test=0), ArgumentError, "test: expected an integer of at least 50"),
        (lambda: Size(washout=-1), ArgumentError, "washout: expected an integer of at least 0"),
    ],
)
def test_what_is_no_task_is_refused_with_a_reason(call, error, told):
    with pytest.raises(error, match=told):
        call()
