"""A control held to known truth: a planted path must matter, wiring that is itself random must not."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from ordinate.errors import ArgumentError, UnknownNameError
from ordinate.reservoir import Connectome
from ordinate.reservoir.control import ClosedLoopTask, control, kinds_relabelled, save_page, turn_task
from ordinate.reservoir.tasks import Size

SMALL = Size(washout=30, train=150, validation=60, test=150)


def delay_line(length: int = 20, others: int = 50) -> Connectome:
    """One path from the input through a line that is read, beside many neurons that only hear each other."""
    generator = np.random.default_rng(0)
    weights = np.zeros((length + others, length + others))
    weights[:length, :length] = np.eye(length, k=1)
    apart = (generator.random((others, others)) < 0.1) * 1.0
    np.fill_diagonal(apart, 0)
    weights[length:, length:] = apart
    return Connectome(weights, kind=["input"] + ["line"] * (length - 1) + ["other"] * others)


def random_graph(seed: int, size: int = 24) -> Connectome:
    generator = np.random.default_rng(seed)
    weights = (generator.random((size, size)) < 0.2) * generator.geometric(0.4, (size, size))
    np.fill_diagonal(weights, 0)
    return Connectome(weights)


def matters(seed: int) -> list[str]:
    result = control(
        delay_line(), "memory", seed=100 * seed, size=SMALL, wirings=("rewired", "random"), baselines=("input",),
        stimulus="input", readout="line",
    )  # fmt: skip
    return [one.verdict for one in result.contrasts]


def does_not_matter(seed: int) -> list[str]:
    result = control(random_graph(seed), "narma10", seed=100 * seed, size=SMALL, wirings=("rewired", "random"), baselines=())
    return [one.verdict for one in result.contrasts]


def test_a_planted_path_comes_out_as_wiring_that_matters():
    assert matters(0) == ["wiring better"] * 3


def test_wiring_that_is_random_itself_comes_out_as_not_different():
    assert does_not_matter(0) == ["not different"] * 2


@pytest.mark.slow
def test_known_truths_over_twenty_seeds():
    assert all(matters(seed) == ["wiring better"] * 3 for seed in range(20))
    wrong = sum("not different" not in verdict for seed in range(20) for verdict in does_not_matter(seed))
    # Holm keeps the chance of any mistake in a control at .05: four or more controls of twenty are wrong with chance .016
    assert wrong <= 3


def test_contrasts_are_those_of_scipy_and_the_effect_size_is_the_mean_in_standard_deviations():
    def score(connectome: Connectome, seed: int) -> float:
        return float(np.random.default_rng([seed, connectome.num_edges, len(connectome.name)]).normal())

    task = ClosedLoopTask("chance", score)
    brain = Connectome.synthetic()
    result = control(brain, task, wirings=("random", "mirrored"))
    own = result.scores["wiring"]
    drawn, mirrored = result.contrasts
    assert mirrored.p == pytest.approx(stats.ttest_rel(own, result.scores["mirrored"]).pvalue)
    differences = np.subtract(own, result.scores["random"])
    assert drawn.effect_size == pytest.approx(differences.mean() / differences.std(ddof=1))
    # the wiring is one more draw: with n draws, the mean difference varies by s sqrt(1 + 1/n)
    error = differences.std(ddof=1) * np.sqrt(1 + 1 / 10)
    assert drawn.p == pytest.approx(2 * stats.t.sf(abs(differences.mean()) / error, 9))
    assert result.not_applicable == dict.fromkeys(("input", "past", "network"), "the task is not a prediction step by step")


def test_a_function_is_a_task_and_what_needs_no_wiring_can_solve_it():
    def echo(steps: int, seed: int):
        inputs = np.random.default_rng(seed).uniform(-1, 1, (steps, 1))
        return inputs, np.roll(inputs, 3, axis=0)

    result = control(random_graph(1), echo, draws=2, few=True, size=SMALL, wirings=("rewired",))
    assert np.mean(result.scores["past"]) < 0.05
    assert np.mean(result.scores["input"]) > 0.9
    assert np.mean(result.scores["network"]) < 0.5
    assert (result.task, result.metric) == ("echo", "nrmse_by_std")


def test_the_same_seed_gives_the_same_scores():
    one, again = (control(random_graph(2), "memory", draws=2, few=True, size=SMALL, wirings=("rewired",)) for _ in range(2))
    assert one.scores == again.scores


def test_kinds_are_dealt_anew_and_the_graph_stays():
    brain = Connectome.synthetic()
    null = kinds_relabelled(brain, seed=1)
    assert (null.weights != brain.weights).nnz == 0
    assert (null.kind != brain.kind).any()


def test_the_turn_is_scored_by_how_near_the_fly_comes():
    near = turn_task().score(Connectome.synthetic(), 0)
    assert 0 < near < 20
    mute = Connectome(np.zeros((4, 4)), side=["left", "right"] * 2, kind=["sensory"] * 2 + ["descending"] * 2)
    assert turn_task().score(mute, 0) == 20


def test_too_few_draws_and_unknown_names_are_refused():
    with pytest.raises(ArgumentError, match="draws: expected an integer of at least 10, got 9; few=True"):
        control(delay_line(), "memory", draws=9)
    with pytest.raises(UnknownNameError, match="wirings"):
        control(delay_line(), "memory", wirings=("scrambled",))
    with pytest.raises(UnknownNameError, match="task"):
        control(delay_line(), "remembering")


def test_the_page_holds_table_and_picture(tmp_path: Path):
    brain = Connectome([[0, 1], [1, 0]], name="a <b>")
    result = control(brain, ClosedLoopTask("t", lambda c, seed: float(seed)), draws=2, few=True, wirings=("random",))
    text = save_page(result, tmp_path / "page.html").read_text()
    assert "data:image/png;base64," in text
    assert "not different" in text
    assert "<b>" not in text
    assert json.dumps(result.to_dict())


def echo(steps: int, seed: int):
    """A task as people write it: one channel without an axis of its own."""
    signal = np.random.default_rng(seed).uniform(-1, 1, steps + 1)
    return signal[1:], signal[:-1].tolist()


def test_a_task_may_be_a_function_of_plain_series():
    result = control(delay_line(), echo, size=SMALL, wirings=("random",), baselines=("past",), stimulus="input", readout="line")
    assert result.task == "echo"
    assert result.scores["wiring"][0] < 0.1
    assert result.scores["past"][0] < 0.1, "the past holds the answer"


@pytest.mark.parametrize(
    ("task", "said"),
    [
        (lambda steps, seed: np.zeros((steps, 1)), "got one that returns ndarray"),
        (lambda steps, seed: (np.zeros(steps), np.zeros(steps - 1)), r"got shapes \(50, 1\) and \(49, 1\)"),
        (lambda steps, seed: (np.zeros(steps), np.full(steps, np.nan)), "expected finite numbers"),
        (lambda steps, seed: (["a"] * steps, np.zeros(steps)), "no array of numbers"),
    ],
)
def test_a_function_that_is_no_task_is_refused_before_anything_runs(task, said):
    with pytest.raises(ArgumentError, match=f"task: .*{said}"):
        control(Connectome.synthetic(), task)
