"""The regressor keeps scikit-learn's conventions where they apply, says where not, and has none of the peers' faults."""

from __future__ import annotations

import pickle
import tracemalloc

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, TimeSeriesSplit, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks

from ordinate.errors import ArgumentError, ArgumentTypeError, OrdinateError, RefusedError, ShapeError
from ordinate.reservoir import Connectome
from ordinate.reservoir.datasets import mackey_glass, narma10
from ordinate.reservoir.readout.estimators import EchoStateRegressor
from ordinate.reservoir.readout.metrics import nrmse_by_std

# the rows of a regressor's X are the steps of one sequence, and what comes before a step is the point of a reservoir
DO_NOT_APPLY = {
    "check_methods_sample_order_invariance": "rows are time steps: in another order they are another sequence",
    "check_methods_subset_invariance": "rows are time steps: a step alone lacks the past that its prediction rests on",
}
SKIPPED = {
    "check_array_api_input": "needs SCIPY_ARRAY_API in the environment; the estimator works on numpy arrays",
    "check_regressor_data_not_an_array": "needs pandas",
}


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks([EchoStateRegressor(units=30)], expected_failed_checks=lambda estimator: DO_NOT_APPLY)
def test_scikit_learns_checks_pass_where_they_apply(estimator, check):
    check(estimator)


@pytest.mark.filterwarnings("ignore")
def test_what_does_not_pass_is_exactly_what_is_named_here_with_its_reason():
    result = check_estimator(EchoStateRegressor(units=10), expected_failed_checks=DO_NOT_APPLY, on_fail=None, on_skip=None)
    by_status = {
        status: {row["check_name"] for row in result if row["status"] == status} for status in ("failed", "xfail", "skipped")
    }
    assert by_status["failed"] == set()
    assert by_status["xfail"] == set(DO_NOT_APPLY)
    assert by_status["skipped"] <= set(SKIPPED)
    assert sum(row["status"] == "passed" for row in result) > 45


def series(steps=400, seed=0):
    built = narma10(steps, seed)
    return built.inputs, built.targets


def model(**settings):
    return EchoStateRegressor(**{"units": 60, "bias": 0.3, "washout": 30, "ridge": 1e-8, "random_state": 1, **settings})


def test_it_is_ridge_regression_on_states_made_step_by_step():
    """States by hand from the fitted matrices, scikit-learn's Ridge on those past the washout."""
    X, y = series()
    fitted = model(leak_rate=0.7).fit(X, y)
    network = fitted.reservoir_
    W, W_in, bias = network.connectome.weights.toarray(), network.input_weights, network.dynamics.bias
    state, states = np.zeros(60), []
    for x in X:
        state = 0.3 * state + 0.7 * np.tanh(state @ W + x @ W_in + bias)
        states.append(state)
    by_hand = Ridge(alpha=1e-8, solver="svd").fit(np.array(states)[30:], y[30:])
    np.testing.assert_allclose(fitted.predict(X), by_hand.predict(states).reshape(-1, 1), atol=1e-5)
    np.testing.assert_allclose(fitted.state_.activity, states[-1], atol=1e-12)


def test_it_solves_narma10_far_better_than_a_linear_map_of_the_last_ten_inputs():
    (X, y), (fresh, expected) = series(2000), series(1000, seed=9)
    fitted = model(units=150, ridge=1e-7, input_scaling=0.5).fit(X, y)
    lags = lambda u: np.column_stack([np.roll(u[:, 0], lag) for lag in range(10)])  # noqa: E731
    linear = Ridge(alpha=1e-7).fit(lags(X)[30:], y[30:])
    ours = nrmse_by_std(expected[30:], fitted.predict(fresh)[30:])
    assert ours < 0.75 * nrmse_by_std(expected[30:], linear.predict(lags(fresh)).reshape(-1, 1)[30:])


def test_washout_drops_training_steps_and_never_shortens_the_output():
    X, y = series()
    spoiled = y.copy()
    spoiled[:30] = 1e6  # inside the washout: must not be seen
    fitted = model().fit(X, y)
    assert fitted.predict(X).shape == y.shape
    np.testing.assert_array_equal(fitted.predict(X), model().fit(X, spoiled).predict(X))
    spoiled[30] = 1e6  # the first step past it is
    assert np.abs(fitted.predict(X) - model().fit(X, spoiled).predict(X)).max() > 1
    assert fitted.readout_.steps == 370


def test_predicting_starts_from_rest_each_time_and_goes_on_only_where_a_state_is_given():
    X, y = series(600)
    fitted = model(washout=0).fit(X[:400], y[:400])
    first = fitted.predict(X[400:])
    np.testing.assert_array_equal(fitted.predict(X[400:]), first)
    np.testing.assert_allclose(fitted.predict(X)[:400], fitted.predict(X[:400]), atol=1e-12)
    gone_on = fitted.predict(X[400:], initial_state=fitted.state_)
    np.testing.assert_allclose(gone_on, fitted.predict(X)[400:], atol=1e-9)
    assert np.abs(gone_on - first).max() > 1e-3


def test_a_fit_starts_from_rest_whatever_was_fitted_before():
    X, y = series()
    used = model().fit(*series(300, seed=5)).fit(X, y)
    np.testing.assert_array_equal(used.predict(X), model().fit(X, y).predict(X))


@pytest.mark.parametrize("radius", [0.5, 1.2])
def test_spectral_radius_is_applied_to_a_given_connectome_too(radius):
    connectome = Connectome.synthetic()
    fitted = EchoStateRegressor(connectome=connectome, spectral_radius=radius).fit(*series(50))
    result = np.abs(np.linalg.eigvals(fitted.reservoir_.connectome.weights.toarray())).max()
    assert result == pytest.approx(radius, rel=1e-8)
    assert (fitted.reservoir_.connectome.weights.toarray() != 0).sum() == connectome.num_edges


def test_a_connectome_keeps_its_weights_where_the_radius_is_none():
    connectome = Connectome.synthetic()
    fitted = EchoStateRegressor(connectome=connectome, spectral_radius=None, input_scaling=1e-3).fit(*series(50))
    np.testing.assert_array_equal(fitted.reservoir_.connectome.weights.toarray(), connectome.weights.toarray())


def test_there_is_no_bias_that_was_not_asked_for():
    X, y = series(100)
    silent = EchoStateRegressor(units=20, random_state=0).fit(X, y)
    np.testing.assert_array_equal(silent.reservoir_.dynamics.bias, 0)
    np.testing.assert_array_equal(silent.reservoir_.run(np.zeros((20, 1))), 0)
    biased = EchoStateRegressor(units=20, bias=0.4, random_state=0).fit(X, y)
    assert 0.2 < np.abs(biased.reservoir_.dynamics.bias).max() <= 0.4


def test_noise_is_new_at_every_step_only_in_training_and_from_the_seed():
    """A frozen draw would move all steps alike, which the intercept or a constant state could learn away."""
    zeros, y = np.zeros((200, 1)), np.zeros(200)
    heard = []

    class Listening(EchoStateRegressor):
        def _run(self, inputs, state=None):
            heard.append(inputs)
            return super()._run(inputs, state)

    noisy = Listening(units=10, input_noise=0.5, random_state=3)
    noisy.fit([zeros, zeros], [y, y])
    assert heard[0].std() == pytest.approx(0.5, rel=0.2)
    assert len(np.unique(heard[0])) == 200
    assert np.abs(heard[0] - heard[1]).max() > 0.1  # nor the same for every sequence
    np.testing.assert_array_equal(clone(noisy).fit([zeros, zeros], [y, y]).state_.activity, noisy.state_.activity)
    np.testing.assert_array_equal(heard[2], heard[0])
    noisy.predict(zeros)
    np.testing.assert_array_equal(heard[-1], 0)


def test_the_same_seed_gives_the_same_bits_and_another_seed_others():
    X, y = series()
    first = model(input_noise=0.01).fit(X, y).predict(X)
    np.testing.assert_array_equal(model(input_noise=0.01).fit(X, y).predict(X), first)
    assert np.abs(model(random_state=2).fit(X, y).predict(X) - first).max() > 1e-6
    drawn = [EchoStateRegressor(units=20).fit(X, y).reservoir_.input_weights for _ in range(2)]
    assert np.abs(drawn[0] - drawn[1]).max() > 0  # without a seed each fit is its own


def test_it_clones_pickles_and_grid_searches():
    X, y = series(300)
    fitted = model().fit(X, y[:, 0])
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).predict(X), fitted.predict(X))
    np.testing.assert_array_equal(clone(fitted).fit(X, y[:, 0]).predict(X), fitted.predict(X))
    grid = {"echostateregressor__spectral_radius": [0.1, 0.8], "echostateregressor__ridge": [1e-2, 1e6]}
    search = GridSearchCV(make_pipeline(StandardScaler(), model()), grid, cv=TimeSeriesSplit(3)).fit(X, y[:, 0])
    assert search.best_params_["echostateregressor__ridge"] == 1e-2
    with_connectome = EchoStateRegressor(connectome=Connectome.synthetic(), stimulus="sensory", readout="interneuron")
    again = clone(with_connectome).fit(X, y)
    assert again.connectome.num_edges == with_connectome.connectome.num_edges


def test_every_parameter_changes_the_output():
    X, y = series(200)
    usual = {"units": 30, "bias": 0.2, "random_state": 0, "washout": 5}
    before = EchoStateRegressor(**usual).fit(X, y).predict(X)
    connectome = Connectome.synthetic()
    for change in (
        {"units": 31},
        {"connectome": connectome},
        {"spectral_radius": 0.5},
        {"leak_rate": 0.5},
        {"input_scaling": 0.3},
        {"bias": 0.5},
        {"connectivity": 0.3},
        {"activation": "relu"},
        {"ridge": 1.0},
        {"washout": 20},
        {"input_to_readout": True},
        {"input_noise": 0.1},
        {"stimulus": [0, 1, 2]},
        {"readout": [0, 1, 2]},
        {"random_state": 1},
    ):
        assert np.abs(EchoStateRegressor(**{**usual, **change}).fit(X, y).predict(X) - before).max() > 1e-9, change
    names = set(EchoStateRegressor().get_params())
    assert len(names) == 16  # every one of them stands above, and `dtype` below


def test_float32_is_near_float64():
    X, y = series(300)
    states = [model(dtype=dtype).fit(X, y).state_.activity for dtype in ("float32", "float64")]
    assert states[0].dtype == np.float32
    np.testing.assert_allclose(states[0], states[1], atol=1e-5)


def test_stimulus_and_readout_name_neurons():
    connectome = Connectome.synthetic()
    X, y = series(100)
    fitted = EchoStateRegressor(connectome=connectome, stimulus="sensory & left", readout="descending").fit(X, y)
    heard = np.flatnonzero(fitted.reservoir_.input_weights[0])
    np.testing.assert_array_equal(heard, connectome.select("sensory & left"))
    assert len(fitted.readout_.solve()[0]) == len(connectome.select("descending"))


def test_several_sequences_each_start_from_rest():
    parts = [series(length, seed) for seed, length in enumerate((120, 80, 200))]
    fitted = model().fit([X for X, _ in parts], [y for _, y in parts])
    assert fitted.readout_.steps == 400 - 3 * 30
    for (X, _), result in zip(parts, fitted.predict([X for X, _ in parts]), strict=True):
        np.testing.assert_array_equal(result, fitted.predict(X))
    stacked = np.stack([series(100, seed)[0] for seed in range(3)])
    expected = np.stack([series(100, seed)[1] for seed in range(3)])
    batch = model().fit(stacked, expected)
    assert batch.predict(stacked).shape == (3, 100, 1)
    assert batch.score(stacked, expected) == pytest.approx(
        1 - ((batch.predict(stacked) - expected)[:, 30:] ** 2).sum() / ((expected[:, 30:] - expected[:, 30:].mean()) ** 2).sum()
    )


def test_cross_validation_over_sequences_and_over_the_steps_of_one():
    stacked, target = (np.stack([series(150, seed)[part] for seed in range(4)]) for part in (0, 1))
    by_sequence = cross_val_score(model(ridge=1e-4), stacked, target, cv=4)
    by_list = cross_val_score(model(ridge=1e-4), list(stacked), list(target), cv=4)
    np.testing.assert_allclose(by_sequence, by_list)
    expected = model(ridge=1e-4).fit(stacked[1:], target[1:]).score(stacked[:1], target[:1])
    assert by_sequence[0] == pytest.approx(expected)
    X, y = series(600)
    assert cross_val_score(model(ridge=1e-3), X, y, cv=TimeSeriesSplit(2)).shape == (2,)


def test_a_long_sequence_runs_in_chunks_with_the_same_result(monkeypatch):
    X, y = series(500)
    whole = model(input_to_readout=True).fit(X, y)
    monkeypatch.setattr("ordinate.reservoir.readout.estimators._CHUNK_STEPS", 7)
    parts = model(input_to_readout=True).fit(X, y)
    assert parts.readout_.steps == whole.readout_.steps
    np.testing.assert_allclose(parts.readout_._moments, whole.readout_._moments, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(parts.state_.activity, whole.state_.activity, atol=1e-12)
    np.testing.assert_allclose(parts.predict(X), whole.predict(X), atol=1e-4)


def test_a_forecast_follows_mackey_glass_beyond_what_the_last_value_tells():
    values = mackey_glass(2200).values
    fitted = EchoStateRegressor(units=300, leak_rate=0.5, bias=0.5, washout=100, ridge=1e-8, random_state=0)
    fitted.fit(values[:2000], values[1:2001])
    from_training = fitted.forecast(100)
    assert from_training.shape == (100, 1)
    assert nrmse_by_std(values[2000:2100], from_training) < 0.1
    assert nrmse_by_std(values[2000:2100], np.broadcast_to(values[1999], (100, 1))) > 0.8
    with_context = fitted.forecast(100, context=values[1500:2000])
    np.testing.assert_allclose(with_context[:20], from_training[:20], atol=1e-2)
    goes_on = fitted.forecast(50, context=values[2000:2003], initial_state=fitted.state_)
    assert nrmse_by_std(values[2003:2053], goes_on) < 0.1


X50, Y50 = series(50)


@pytest.mark.parametrize(
    ("call", "error", "told"),
    [
        (lambda: model(washout=50).fit(X50, Y50), ArgumentError, "X: .*more steps than the washout of 50, got n_samples = 50"),
        (lambda: model(washout=20).fit([X50, X50[:20]], [Y50, Y50[:20]]), ArgumentError, r"X\[1\]: expected more steps"),
        (lambda: model(washout=-1).fit(X50, Y50), ArgumentError, "washout: expected an integer of at least"),
        (lambda: model(units=0).fit(X50, Y50), ArgumentError, "units: expected an integer of at least"),
        (lambda: model(connectivity=0).fit(X50, Y50), ArgumentError, "connectivity"),
        (lambda: model(ridge=-1).fit(X50, Y50), ArgumentError, "ridge"),
        (lambda: model(bias=-1).fit(X50, Y50), ArgumentError, "bias: expected a finite number of at least 0"),
        (lambda: model(input_noise=np.nan).fit(X50, Y50), ArgumentError, "input_noise"),
        (lambda: model(spectral_radius=0).fit(X50, Y50), ArgumentError, "spectral_radius: .*None leaves"),
        (lambda: model(connectome=np.eye(3)).fit(X50, Y50), ArgumentTypeError, "connectome: expected a Connectome"),
        (lambda: model(connectome=Connectome([[0, 1], [0, 0]])).fit(X50, Y50), OrdinateError, "nilpotent"),
        (lambda: model().fit(np.full((50, 1), np.nan), Y50), ArgumentError, "X: .*Input X contains NaN"),
        (lambda: model().fit([np.full((50, 1), np.inf)], [Y50]), ArgumentError, r"X\[0\]: expected finite numbers"),
        (lambda: model().fit(X50, np.full(50, np.nan)), ArgumentError, "y: expected finite numbers"),
        (lambda: model().fit(X50, Y50[:-1]), ArgumentError, "y: .*inconsistent numbers of samples"),
        (lambda: model().fit([X50, X50], [Y50]), ShapeError, "y: expected targets of 2 sequences, got 1"),
        (lambda: model().fit([X50, np.ones((50, 2))], [Y50, Y50]), ShapeError, r"X\[1\]: expected \[T, 1\]"),
        (lambda: model().fit(X50, None), ArgumentError, "y: expected targets, got None"),
        (lambda: model().fit([["a"]], [1]), ArgumentError, "X: "),
        (lambda: model().fit(X50, Y50).predict(np.ones((50, 3))), ArgumentError, "X has 3 features, but .* is expecting 1"),
        (lambda: model().fit(X50, Y50).predict([np.ones((50, 3))]), ShapeError, r"X\[0\]: expected \[T, 1\]"),
        (lambda: model().fit(X50, Y50).predict([X50], initial_state="any"), ArgumentError, "initial_state: .*one sequence"),
        (lambda: model().fit(X50, np.ones((50, 2))).forecast(3), RefusedError, "as many outputs as the 1 inputs, got 2"),
        (lambda: model().fit(X50, Y50).forecast(0), ArgumentError, "steps: expected an integer of at least 1"),
        (lambda: model(input_to_readout=True).fit(X50, Y50).forecast(3), RefusedError, "context: .*last true inputs"),
    ],
)  # fmt: skip
def test_what_cannot_be_fitted_is_refused_with_a_reason(call, error, told):
    with pytest.raises(error, match=told):
        call()


def test_fitting_holds_no_more_states_than_a_chunk():
    """20,000 states of 60 neurons would be 9.6 MB; the inputs and targets are not counted, for they were there before."""
    X = np.random.default_rng(0).uniform(size=(20_000, 1))
    fitted = model()
    tracemalloc.start()
    fitted.fit(X, X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert fitted.readout_.steps == 20_000 - 30
    assert peak < 5e6


@pytest.mark.parametrize("activation", ["identity", "relu"])
def test_a_state_that_diverges_is_stopped_while_fitting_with_a_message(activation):
    X = np.ones((3000, 1))
    with pytest.raises(RefusedError, match="step") as result, np.errstate(all="ignore"):
        model(activation=activation, spectral_radius=3.0, bias=0.5).fit(X, X)
    assert "finite" in str(result.value)


def test_a_forecast_that_diverges_is_stopped_with_a_message():
    fitted = model(activation="identity", ridge=1e-9).fit(X50, 1e200 * Y50)
    with pytest.raises(RefusedError), np.errstate(all="ignore"):
        fitted.forecast(50)
