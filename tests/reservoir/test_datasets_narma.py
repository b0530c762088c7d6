"""NARMA10 and NARMA30 follow their published recursions, term by term."""

from __future__ import annotations

import numpy as np
import pytest

from ordinate.errors import ArgumentError, RefusedError
from ordinate.reservoir import datasets as tasks_narma
from ordinate.reservoir.datasets import narma10, narma30

# decay, growth, drive, rest: Atiya and Parlos 2000; Schrauwen et al. 2008
PUBLISHED = {narma10: (10, 0.3, 0.05, 1.5, 0.1), narma30: (30, 0.2, 0.04, 1.5, 0.001)}


@pytest.mark.parametrize("series", PUBLISHED, ids=lambda made: made.__name__)
def test_every_step_satisfies_the_published_recursion(series):
    order, decay, growth, drive, rest = PUBLISHED[series]
    made = series(500, seed=3)
    u, following = made.inputs[:, 0], made.targets[:, 0]
    y = np.concatenate(([0.0], following))  # y[t] is y(t), and y(0) = 0: nothing came before
    for t in range(order, 500):
        right = decay * y[t] + growth * y[t] * y[t - order + 1 : t + 1].sum() + drive * u[t - order + 1] * u[t] + rest
        assert y[t + 1] == pytest.approx(right, rel=1e-12)


def test_the_two_are_different_systems_not_one_with_another_order():
    u10, u30 = narma10(200, 0), narma30(200, 0)
    np.testing.assert_array_equal(u10.inputs, u30.inputs)
    assert u10.targets[50:].mean() > 0.3
    assert u30.targets[50:].mean() < 0.25


def test_inputs_are_uniform_on_zero_to_a_half_and_the_same_seed_gives_the_same_bits():
    built = narma10(5000, seed=7)
    assert built.inputs.min() >= 0
    assert built.inputs.max() < 0.5
    assert built.inputs.mean() == pytest.approx(0.25, abs=0.01)
    np.testing.assert_array_equal(built.targets, narma10(5000, seed=7).targets)
    assert (built.inputs != narma10(5000, seed=8).inputs).any()


def test_a_draw_that_explodes_is_thrown_away_whole_and_counted():
    exploded = next(built for built in (narma10(4000, seed) for seed in range(200)) if built.redrawn)
    assert np.isfinite(exploded.targets).all()
    assert exploded.targets.max() < 2
    assert exploded.redrawn == 1


def test_draws_that_all_explode_are_refused(monkeypatch):
    monkeypatch.setattr(tasks_narma, "_LIMIT", 0.2)
    with pytest.raises(RefusedError, match="100 draws of 300 steps that diverged; take a shorter series"):
        narma10(300, 0)
    with pytest.raises(ArgumentError, match="length: expected an integer of at least 1"):
        narma30(0, 0)
