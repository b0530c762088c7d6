"""The chaotic series are the published systems', to the bit on every machine, with the Lyapunov exponents that they state."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from ordinate.errors import ArgumentError
from ordinate.reservoir.datasets import LORENZ_EXPONENT, MACKEY_GLASS_EXPONENT, lorenz, mackey_glass

# of 5,000 samples with the default settings; also in docs/reservoir-tasks.md
CHECKSUMS = {
    mackey_glass: "df322487df453abf97fa3bafddce6dc5fd4cc8ee89a311cc48eed502065deced",
    lorenz: "8fef56626f1a656c53fc4e8a1245e788eb36e46f84168d0ea05811dc4ac5c647",
}


@pytest.mark.parametrize("series", CHECKSUMS, ids=lambda made: made.__name__)
def test_the_bits_are_the_ones_on_record(series):
    assert series(5000).checksum == CHECKSUMS[series]


def test_a_checksum_sees_the_last_bit():
    built = lorenz(50)
    changed = built.values.copy()
    changed[20, 1] = np.nextafter(changed[20, 1], 1e9)
    assert type(built)(changed, built.step, built.lyapunov_exponent).checksum != built.checksum


def mackey_glass_by_the_method_of_steps(delays: int) -> np.ndarray:
    """An adaptive solver of order 8, one delay after the other, the last solution as the delayed term."""
    samples, start = [1.2], 1.2
    past = lambda t: 1.2  # noqa: E731
    for piece in range(delays):

        def slope(t, x, past=past):
            return 0.2 * past(t - 17) / (1 + past(t - 17) ** 10) - 0.1 * x

        ends = (17.0 * piece, 17.0 * (piece + 1))
        result = solve_ivp(slope, ends, [start], method="DOP853", rtol=1e-12, atol=1e-13, dense_output=True)
        past = lambda t, solution=result.sol: solution(t)[0]  # noqa: E731
        start = result.y[0, -1]
        samples += [result.sol(17.0 * piece + t)[0] for t in range(1, 18)]
    return np.array(samples)


def test_mackey_glass_is_what_an_adaptive_solver_finds():
    expected = mackey_glass_by_the_method_of_steps(8)
    result = mackey_glass(len(expected), discard=0).values[:, 0]
    np.testing.assert_allclose(result, expected, atol=2e-8)


def test_mackey_glass_keeps_the_order_of_its_method_through_the_delay():
    """Halving the step of a method of order four divides the error by sixteen; linear interpolation would give four."""
    expected = mackey_glass_by_the_method_of_steps(3)
    errors = [
        np.abs(mackey_glass(len(expected), discard=0, substeps=substeps).values[:, 0] - expected).max()
        for substeps in (1, 2, 4)
    ]
    assert 10 < errors[0] / errors[1] < 30
    assert 10 < errors[1] / errors[2] < 30


def test_lorenz_is_what_an_adaptive_solver_finds():
    def slope(t, state):
        x, y, z = state
        return [10 * (y - x), x * (28 - z) - y, x * y - 8 / 3 * z]

    result = solve_ivp(slope, (0, 4), [1, 1, 1], method="DOP853", rtol=1e-12, atol=1e-12, t_eval=0.02 * np.arange(201))
    np.testing.assert_allclose(lorenz(201, discard=0).values, result.y.T, atol=1e-4)


def test_lorenz_has_the_lyapunov_exponent_it_states():
    """Tangent vectors along 200 trajectories at once, by a method of order two of its own."""
    generator = np.random.default_rng(0)
    state, tangent = generator.normal(0, 5, (3, 200)), generator.normal(size=(3, 200))
    state[2] += 25

    def slopes(s, d):
        (x, y, z), (dx, dy, dz) = s, d
        rate = np.array([10 * (y - x), x * (28 - z) - y, x * y - 8 / 3 * z])
        return rate, np.array([10 * (dy - dx), dx * (28 - z) - x * dz - dy, dx * y + x * dy - 8 / 3 * dz])

    h, logs = 0.004, []
    for step in range(13_000):
        rate, change = slopes(state, tangent)
        middle, bent = slopes(state + h / 2 * rate, tangent + h / 2 * change)
        state, tangent = state + h * middle, tangent + h * bent
        if step in (3_999, 12_999):  # growth by e^100 at most: no need to renormalise
            logs.append(np.log(np.linalg.norm(tangent, axis=0)))
    estimate = (logs[1] - logs[0]) / (9_000 * h)
    error = estimate.std() / 200**0.5
    assert error < 0.01
    assert abs(estimate.mean() - LORENZ_EXPONENT) < 3 * error + 0.003
    assert lorenz(1).lyapunov_exponent == LORENZ_EXPONENT == 0.9056


def test_mackey_glass_has_the_lyapunov_exponent_it_states():
    """The linearised delay equation along 200 trajectories at once, by Heun's method, over 2,000 time units."""
    generator = np.random.default_rng(0)
    h, lag, count = 0.25, 68, 200
    x = generator.uniform(0.5, 1.3, (lag + 1, 1)) * np.ones((1, count)) + generator.normal(0, 0.05, (1, count))
    d = generator.normal(size=(lag + 1, count))
    x, d = list(x), list(d)

    def slopes(now, then, tangent, tangent_then):
        power = then**10
        steep = 0.2 * (1 - 9 * power) / (1 + power) ** 2
        return 0.2 * then / (1 + power) - 0.1 * now, steep * tangent_then - 0.1 * tangent

    logs = []
    for step in range(12_000):
        rate, change = slopes(x[-1], x[-lag - 1], d[-1], d[-lag - 1])
        ahead, bent = slopes(x[-1] + h * rate, x[-lag], d[-1] + h * change, d[-lag])
        x.append(x[-1] + h / 2 * (rate + ahead))
        d.append(d[-1] + h / 2 * (change + bent))
        if step in (3_999, 11_999):
            logs.append(np.log(np.linalg.norm(np.array(d[-lag:]), axis=0)))
    estimate = (logs[1] - logs[0]) / (8_000 * h)
    error = estimate.std() / count**0.5
    assert error < 3e-4
    assert abs(estimate.mean() - MACKEY_GLASS_EXPONENT) < 3 * error + 3e-4
    assert mackey_glass(1).lyapunov_exponent == MACKEY_GLASS_EXPONENT == 0.0051
    assert math.isnan(mackey_glass(1, delay=30).lyapunov_exponent)


def test_another_history_delay_or_start_is_another_series():
    usual = mackey_glass(50).values
    for other in (mackey_glass(50, history=0.9), mackey_glass(50, delay=30), mackey_glass(50, discard=999)):
        assert np.abs(other.values - usual).max() > 1e-3
    np.testing.assert_array_equal(mackey_glass(50, discard=1010).values[:40], usual[10:])
    assert np.abs(lorenz(50, start=(1, 2, 3)).values - lorenz(50).values).max() > 1e-3
    assert lorenz(5, step=0.1).step == 0.1


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: mackey_glass(0), "length: expected an integer of at least 1"),
        (lambda: mackey_glass(5, substeps=0), "substeps: expected an integer of at least 1"),
        (lambda: mackey_glass(5, discard=-1), "discard: expected an integer of at least 0"),
        (lambda: mackey_glass(5, delay=17.03), "delay: expected a whole number of integration steps of 0.1"),
        (lambda: mackey_glass(5, delay=0), "delay"),
        (lambda: mackey_glass(5, step=math.inf), "step: expected a finite number above 0"),
        (lambda: lorenz(5, step=0), "step: expected a finite number above 0"),
        (lambda: lorenz(5, start=(1, 2)), "start: expected three finite numbers"),
        (lambda: lorenz(5, start=(1, 2, math.nan)), "start: expected three finite numbers"),
    ],
)
def test_sizes_that_make_no_series_are_refused(call, told):
    with pytest.raises(ArgumentError, match=told):
        call()
