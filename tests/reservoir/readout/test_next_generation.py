"""Delays and products against explicit formulas and scikit-learn; maps that are polynomials are learned exactly."""

from __future__ import annotations

import numpy as np
import pytest

from ordinate.errors import ArgumentError, RefusedError, ShapeError
from ordinate.reservoir import NextGenerationReadout
from ordinate.reservoir.datasets import lorenz
from ordinate.reservoir.readout import delay_features


def test_features_are_those_of_scikit_learns_polynomials():
    from sklearn.preprocessing import PolynomialFeatures

    x = np.random.default_rng(0).normal(size=(30, 2))
    past = np.concatenate([x[4:], x[2:-2], x[:-4]], axis=1)
    expected = PolynomialFeatures(3, include_bias=False).fit_transform(past)
    assert delay_features(x, delays=3, stride=2, degree=3) == pytest.approx(expected)


def test_the_henon_map_is_learned_exactly_from_its_first_coordinate():
    """x(t+1) = 1 - 1.4 x(t)^2 + .3 x(t-1), Henon 1976."""
    x = [0.1, 0.2]
    for _ in range(200):
        x.append(1 - 1.4 * x[-1] ** 2 + 0.3 * x[-2])
    model = NextGenerationReadout(ridge=1e-12).fit(x[:100], x[1:101])
    assert model.predict(x[100:-1]).ravel() == pytest.approx(np.array(x[102:]), abs=1e-8)
    assert model.forecast(x[:120], 5).ravel() == pytest.approx(np.array(x[120:125]), abs=1e-6)


def test_the_lorenz_system_is_followed_for_some_lyapunov_times():
    series = (lorenz(1200, seed=0, step=0.025).values - [0.0, 0.0, 23.5]) / [8.0, 9.0, 8.5]
    forecast = NextGenerationReadout(ridge=1e-6).fit(series[:600], series[1:601]).forecast(series[:601], 100)
    assert np.abs(forecast - series[601:701]).max() < 0.1  # 2.3 Lyapunov times, in standard deviations


def test_what_does_not_fit_is_refused():
    with pytest.raises(ArgumentError, match="more than 4 steps"):
        delay_features([1.0, 2.0], delays=3, stride=2)
    with pytest.raises(ShapeError, match="targets: expected 5 steps"):
        NextGenerationReadout().fit([1.0, 2, 3, 4, 5], [1.0, 2])
    model = NextGenerationReadout().fit(np.eye(6), np.ones(6))
    with pytest.raises(RefusedError, match="forecast: expected 6 outputs"):
        model.forecast(np.eye(6), 2)
