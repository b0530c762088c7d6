"""D15, D30 and D31: verdicts follow what was measured, and a control that does not respond takes its word away."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ordinate.articles.d import d15_theory, d30_wiring, d31_training
from ordinate.articles.d.brain import Brain
from ordinate.lab.measurement import Measurement, Verdict, judge
from ordinate.reservoir import Connectome
from ordinate.reservoir.connectome.nulls import random_edges
from ordinate.reservoir.control import Contrast, Control
from ordinate.reservoir.tasks.base import Size
from ordinate.reservoir.tasks.card import WIRINGS, Plan

# a small network that is told apart from random wiring: a ring in which every neuron also hears its far neighbours
RING = Connectome(np.roll(np.eye(60), 1, axis=1) * 5 + np.roll(np.eye(60), 7, axis=1), name="a ring")
PLAN = Plan(
    tasks=("memory", "narma10"),
    signs=("positive",),
    normalisations=("input",),
    seeds=(0, 1, 2, 3, 4),
    size=Size(washout=60, train=400, validation=100, test=300),
    gains=(0.9,),
    input_scalings=(0.3,),
    ridges=(1e-6, 1e-2),
)
undrawn = pytest.mark.usefixtures("undrawn")


def theory(connectome: Connectome = RING, **changes: Any) -> Measurement:
    return d15_theory.theory(Brain(connectome, "", real=True), PLAN, **changes)


def verdict(measurement: Measurement) -> Verdict:
    return judge(measurement.checks)[0]


def value(measurement: Measurement, name: str) -> float:
    (result,) = [check.value for check in measurement.checks if name in check.name]
    return result


def itself(connectome: Connectome, seed: int) -> Connectome:
    return connectome


@undrawn
def test_a_wiring_that_differs_from_random_reproduces_it() -> None:
    measured = theory()
    assert verdict(measured) is Verdict.REPRODUCED
    assert value(measured, "random wiring that come out different") >= 1
    assert "better" in measured.key_figure or "worse" in measured.key_figure


@undrawn
def test_where_the_null_is_the_connectome_itself_it_says_not_different() -> None:
    measured = theory(wirings=dict.fromkeys(WIRINGS, itself))
    assert verdict(measured) is Verdict.REFUTED
    assert (
        measured.key_figure == "against rewired wiring: not different in 2 of 2; against random wiring: not different in 2 of 2"
    )
    assert measured.meaning[Verdict.REFUTED].startswith("Not different")
    assert {row[-1] for row in measured.tables[0].rows} == {"not different"}


@undrawn
def test_a_random_network_is_not_different_from_random_networks() -> None:
    measured = theory(random_edges(Connectome.synthetic(), seed=99))
    assert verdict(measured) is Verdict.REFUTED
    assert value(measured, "random wiring that come out different") == 0


@undrawn
def test_recurrence_that_keeps_nothing_refutes_the_theory() -> None:
    """Random networks whose synapses are nearly gone: a learned read-out finds no past in them."""

    def faint(connectome: Connectome, seed: int) -> Connectome:
        return Connectome(np.eye(60), name="each alone")

    measured = d15_theory.theory(
        Brain(RING, "", real=True), replace(PLAN, gains=(1e-3,)), wirings={**WIRINGS, "random": faint, "rewired": faint}
    )
    assert verdict(measured) in (Verdict.REFUTED, Verdict.NOT_TESTABLE)
    assert value(measured, "memory capacity of random recurrence") < 2


@undrawn
def test_a_control_that_remembers_takes_the_word_away() -> None:
    measured = theory(control=itself)
    assert verdict(measured) is Verdict.NOT_TESTABLE
    assert abs(value(measured, "memory capacity without synapses")) > 1


@undrawn
def test_on_a_synthetic_connectome_nothing_is_said_about_a_real_one() -> None:
    measured = d15_theory.theory(Brain(RING, "", real=False), PLAN)
    assert "no brain" in measured.inputs
    assert measured.key_figure.startswith("on the synthetic connectome, no brain: against rewired")
    ((what, why),) = measured.untested
    assert what == "the larval connectome"
    assert "--data" in why
    assert not any(check.role.value == "generalisation" for check in measured.checks)


def test_plans_are_quick_by_default_and_have_at_least_five_seeds() -> None:
    seeds = (3, 4, 5, 6, 7)
    for real in (True, False):
        brain = Brain(RING, "", real=real)
        quick, full = (d15_theory.plan_for(brain, seeds, full) for full in (False, True))
        assert quick.seeds == seeds
        assert full.seeds == tuple(range(3, 13))
        assert set(full.signs) == {"positive", "half inhibitory"}
        assert set(full.normalisations) == {"spectral_radius", "input"}
        assert full.size.steps > quick.size.steps
        assert {"memory", "narma10"} <= set(quick.tasks)
        assert {"rewired", "random"} <= set(quick.nulls)


def test_the_figure_and_tables_hold_every_comparison() -> None:
    measured = theory()
    (figure,) = measured.figures
    assert "<svg" in figure.svg
    assert figure.alt
    assert figure.caption
    assert len(measured.tables[0].rows) == 4
    assert len(measured.tables[1].rows) == 6


def d30(rewired: float, modular: float, *, draws: int = 10, memory: float = 9.0) -> Measurement:
    """Three tasks whose uncorrected p against nulls of the same degrees are given, with a wiring that scores higher."""

    def task(name: str, ps: tuple[float, float]) -> Control:
        contrasts = tuple(
            Contrast(other, memory, 8.0, memory - 8.0, 0.5, 1.5, 1.0, p, p, "wiring better")
            for other, p in (("rewired", ps[0]), ("modular", ps[1]), ("random", 1e-6))
        )
        scores = dict.fromkeys(("rewired", "modular", "random"), (8.0, 8.1))
        return Control("a fly", name, "score", True, draws, {"wiring": (memory,) * 2, **scores}, contrasts, {}, 1.0)

    controls = [task("memory", (rewired, modular)), task("mackey-glass", (0.9, 0.9)), task("turn", (0.9, 0.9))]
    return d30_wiring.wiring(controls, Brain(RING, "", real=True))


@undrawn
def test_d30_takes_a_task_on_which_the_wiring_is_above_every_null_of_its_degrees_after_correcting_for_all() -> None:
    def verdict(measured: Measurement) -> Verdict:
        return judge(measured.checks)[0]

    assert verdict(d30(1e-4, 1e-4)) is Verdict.REPRODUCED
    assert verdict(d30(1e-4, 0.03)) is Verdict.REFUTED, ".03 is not below .05 among nine comparisons"
    assert verdict(d30(0.4, 1e-4)) is Verdict.REFUTED
    assert verdict(d30(1e-4, 1e-4, draws=9)) is Verdict.NOT_TESTABLE
    assert verdict(d30(1e-4, 1e-4, memory=0.5)) is Verdict.NOT_TESTABLE
    assert "not different" in d30(0.4, 0.4).meaning[Verdict.REFUTED].lower()


@undrawn
def test_d31_holds_costs_and_errors_to_their_bands() -> None:
    def verdict(
        seconds: float = 1.0, operations: float = 1e9, spikes: float = 0.8, own: float = 0.4, every: float = 0.6
    ) -> str:
        ways = [
            d31_training.Trained("rates", 101, 0.02, 2e7, own),
            d31_training.Trained("spikes", 101, 0.05, 2e7, spikes),
            d31_training.Trained("every weight", 10_401, seconds, operations, every, (0.9, every)),
        ]
        return str(judge(d31_training.training(ways, 100, 1000).checks)[0])

    assert verdict() == "reproduced"
    assert verdict(seconds=0.1) == "refuted"
    assert verdict(operations=1e8) == "refuted"
    assert verdict(spikes=1.0) == "refuted"
    assert verdict(own=0.9) == "not testable here", "a read-out that learns nothing costs nothing either"
    assert verdict(every=1.2) == "not testable here"
