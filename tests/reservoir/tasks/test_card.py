"""The card pairs its seeds, tunes each wiring by itself, and says "not different" of what is not."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from ordinate.errors import ArgumentError, RefusedError, UnknownNameError
from ordinate.reservoir import Connectome
from ordinate.reservoir.tasks.base import Size
from ordinate.reservoir.tasks.card import SIGNS, WIRINGS, Plan, draw_card
from ordinate.reservoir.tasks.registry import task_named

PLAN = Plan(
    tasks=("memory", "narma10"),
    nulls=("rewired",),
    signs=("positive",),
    normalisations=("input",),
    seeds=(0, 1, 2),
    size=Size(washout=40, train=200, validation=80, test=100),
    gains=(0.9,),
    input_scalings=(0.5,),
    ridges=(1e-4, 1e-1),
)
BRAIN = Connectome.synthetic()


def itself(connectome, seed):
    return connectome


def cut(connectome, seed):
    """No synapse is left but those of each neuron on itself: nothing is mixed, and little is kept."""
    return connectome.with_weights(np.zeros(connectome.weights.shape), name="cut")


def test_against_itself_the_connectome_is_exactly_not_different():
    """Same seed, same data, inputs, biases and read neurons: the difference is 0, not small."""
    card = draw_card(BRAIN, PLAN, wirings={"connectome": itself, "rewired": itself})
    assert {one.verdict for one in card.comparisons} == {"not different"}
    assert {one.difference for one in card.comparisons} == {0.0}
    assert card.num_different == 0


def test_against_a_network_without_synapses_it_remembers_more():
    card = draw_card(BRAIN, replace(PLAN, tasks=("memory",)), wirings={"connectome": itself, "rewired": cut})
    (result,) = card.comparisons
    assert result.verdict == "connectome better"
    assert result.null_mean == pytest.approx(0, abs=0.6)
    assert result.lower > 2
    (turned,) = draw_card(BRAIN, replace(PLAN, tasks=("narma10",)), wirings={"connectome": cut, "rewired": itself}).comparisons
    assert turned.difference > 0
    assert turned.verdict in ("connectome worse", "not different")


def test_a_score_depends_on_its_own_cell_only():
    """Other tasks, signs, normalisations, nulls or seeds beside it change nothing."""
    small = draw_card(BRAIN, replace(PLAN, tasks=("memory",), seeds=(1, 2)))
    large = draw_card(
        BRAIN,
        replace(PLAN, tasks=("narma10", "memory"), signs=("half inhibitory", "positive"), nulls=("random", "rewired")),
    )
    for wiring in ("connectome", "rewired"):
        cell = ("memory", "positive", "input", wiring)
        np.testing.assert_allclose(small.scores[cell], large.scores[cell][1:], rtol=1e-3)


def test_the_same_plan_gives_the_same_bits_and_other_seeds_others():
    first, second = (draw_card(BRAIN, PLAN) for _ in range(2))
    assert first.scores == second.scores
    other = draw_card(BRAIN, replace(PLAN, seeds=(5, 6, 7)))
    assert all(set(first.scores[cell]).isdisjoint(other.scores[cell]) for cell in first.scores)


def test_nulls_are_drawn_anew_for_each_seed():
    drawn = []

    def listening(connectome, seed):
        drawn.append(WIRINGS["rewired"](connectome, seed))
        return drawn[-1]

    draw_card(BRAIN, PLAN, wirings={"connectome": itself, "rewired": listening})
    assert len(drawn) == 3
    assert abs(drawn[0].weights - drawn[1].weights).sum() > 0


def test_tuning_is_done_for_each_wiring_and_the_chosen_gains_are_told():
    """A null whose weights are a hundredth is tuned back to the scores of the connectome, if the range allows it."""

    def faint(connectome, seed):
        return connectome.with_weights(connectome.weights * 0.01, name="faint")

    wirings = {"connectome": itself, "rewired": faint}
    plan = replace(PLAN, tasks=("memory",), gains=(0.9, 90.0))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ordinate.reservoir.tasks.card.normalise", lambda connectome, by, value: connectome)
        patch.setattr(
            "ordinate.reservoir.tasks.card.SIGNS", {"positive": lambda c, seed: c.with_weights(c.weights * 0.01, name="")}
        )
        wide = draw_card(BRAIN, plan, wirings=wirings)
    cells = [("memory", "positive", "input", wiring) for wiring in ("connectome", "rewired")]
    assert set(wide.gains[cells[1]]) == {90.0}
    assert len(wide.gains[cells[0]]) == 3


def test_half_of_the_neurons_inhibit_the_same_ones_in_every_wiring():
    signed = SIGNS["half inhibitory"]
    brain, null = signed(BRAIN, 4), signed(WIRINGS["random"](BRAIN, 4), 4)
    senders = [set(np.flatnonzero((one.weights < 0).sum(axis=1))) for one in (brain, null)]
    both = [set(np.flatnonzero((abs(one.weights) > 0).sum(axis=1))) for one in (brain, null)]
    assert senders[0] & both[1] == senders[1] & both[0]
    assert 20 < len(senders[1]) < 80
    for one in (brain, null):
        sign = np.sign(one.weights.toarray())
        np.testing.assert_array_equal(abs(sign.sum(axis=1)), abs(sign).sum(axis=1))  # Dale: all of a neuron's have one sign


def test_stimulus_readout_and_most_read_decide_who_hears_and_who_is_read():
    before = draw_card(BRAIN, PLAN).scores["memory", "positive", "input", "connectome"]
    for change in ({"stimulus": "sensory"}, {"readout": "interneuron"}, {"most_read": 20}, {"bias": 0.0}, {"leak_rate": 0.5}):
        after = draw_card(BRAIN, replace(PLAN, **change)).scores["memory", "positive", "input", "connectome"]
        assert after != before, change


def test_progress_counts_every_network_and_the_card_is_plain_json():
    result = []
    card = draw_card(BRAIN, PLAN, progress=lambda done, total: result.append((done, total)))
    assert result == [(done, 6) for done in range(1, 7)]
    row = json.loads(json.dumps(card.to_dict()))
    assert {(one["task"], one["metric"], one["wiring"]) for one in row["scores"]} == {
        (task, task_named(task).metric, wiring) for task in ("memory", "narma10") for wiring in ("connectome", "rewired")
    }
    assert all(one["lower"] <= one["mean"] <= one["upper"] and len(one["scores"]) == 3 for one in row["scores"])
    assert len(row["comparisons"]) == 2


def test_tasks_of_other_channels_run_on_networks_of_their_own():
    card = draw_card(BRAIN, replace(PLAN, tasks=("memory", "decision"), seeds=(0, 1), size=Size(40, 300, 100, 200)))
    assert {cell[0] for cell in card.scores} == {"memory", "decision"}
    assert all(0.3 < score < 1 for score in card.scores["decision", "positive", "input", "connectome"])
    assert {task_named(cell[0]).num_channels for cell in card.scores} == {1, 3}


@pytest.mark.parametrize(
    ("call", "error", "told"),
    [
        (lambda: Plan(tasks=("narma20",)), UnknownNameError, "task: expected one of memory"),
        (lambda: Plan(nulls=("connectome",)), UnknownNameError, "nulls: expected one of rewired"),
        (lambda: Plan(signs=("negative",)), UnknownNameError, "signs: expected one of positive, half inhibitory"),
        (
            lambda: Plan(normalisations=("effective_radius",)),
            UnknownNameError,
            "normalisations: expected one of spectral_radius",
        ),
        (lambda: Plan(seeds=(0,)), ArgumentError, "seeds: expected two or more"),
        (lambda: Plan(seeds=(0, 0)), ArgumentError, "seeds: expected one or more, each once"),
        (lambda: Plan(tasks=()), ArgumentError, "tasks: expected one or more"),
        (lambda: Plan(gains=(0.0,)), ArgumentError, "gains: expected numbers above 0"),
        (lambda: Plan(input_scalings=(-1.0,)), ArgumentError, "input_scalings"),
        (lambda: Plan(bias=-1.0), ArgumentError, "bias"),
        (lambda: Plan(most_read=0), ArgumentError, "most_read: expected at least 1"),
        (lambda: draw_card(BRAIN, replace(PLAN, stimulus="olfactori")), UnknownNameError, "olfactory"),
        (
            lambda: draw_card(Connectome(np.diag([1.0, 1.0], k=1)), replace(PLAN, normalisations=("spectral_radius",))),
            RefusedError,
            "nilpotent",
        ),
    ],
)
def test_what_makes_no_card_is_refused_with_a_reason(call, error, told):
    with pytest.raises(error, match=told):
        call()


def test_spiking_units_are_a_liquid_and_score_otherwise_than_rates():
    size = Size(washout=50, train=400, validation=150, test=300)
    plan = replace(PLAN, tasks=("memory",), gains=(0.5,), input_scalings=(3.0,), seeds=(0, 1), dynamics="spiking", size=size)
    liquid, rates = (draw_card(BRAIN, one).scores for one in (plan, replace(plan, dynamics="leaky")))
    cell = ("memory", "positive", "input", "connectome")
    assert liquid[cell] != rates[cell]
    assert np.mean(liquid[cell]) > 0.3, "a network without memory scores 0"
    with pytest.raises(RefusedError, match="tasks: expected tasks without a free run for spiking units, got lorenz-free"):
        Plan(tasks=("lorenz-free",), dynamics="spiking")
    with pytest.raises(UnknownNameError, match="dynamics: expected 'leaky' or 'spiking'"):
        Plan(dynamics="liquid")
