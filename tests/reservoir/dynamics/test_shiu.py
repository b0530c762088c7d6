"""Whole-brain spiking neurons: Brian2 spike by spike, a loop of plain arithmetic, and the laws of delay and silence."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import sparse
from scipy.linalg import expm

from ordinate.errors import ArgumentError, ArgumentTypeError, MissingExtraError, ShapeError, UnknownNameError
from ordinate.reservoir import Connectome, Reservoir
from ordinate.reservoir.dynamics import ShiuLIF, poisson_events, simulate_spikes


def signed(count: int, seed: int, density: float = 0.1) -> Connectome:
    generator = np.random.default_rng(seed)
    weights = sparse.random_array((count, count), density=density, rng=generator).tocsr()
    sizes = generator.integers(1, 90, weights.nnz) * np.where(generator.random(weights.nnz) < 0.25, -1, 1)
    weights.data = sizes.astype(float)
    return Connectome(weights, name="random")


def events_for(neurons: int, steps: int, rate: float, seed: int) -> np.ndarray:
    return poisson_events(np.arange(neurons), np.full(neurons, rate), steps, 0.1, np.random.default_rng(seed))


def by_a_loop(
    connectome: Connectome, events: np.ndarray, steps: int, free: int, cut: tuple[int, ...] = ()
) -> list[tuple[int, int]]:
    """The equations one neuron at a time: a matrix exponential for a step, lists for what is on its way."""
    after = expm(np.array([[-1 / 20, 1 / 20], [0, -1 / 5]]) * 0.1)
    weights = connectome.weights.toarray() * 0.275
    count = connectome.num_neurons
    state = [np.zeros(2) for _ in range(count)]
    last = [-math.inf] * count
    refractory = [0 if neuron < free else 22 for neuron in range(count)]
    kicked: dict[int, list[int]] = {}
    for step, neuron in events:
        kicked.setdefault(int(step), []).append(int(neuron))
    result: list[tuple[int, int]] = []
    arrivals: dict[int, list[int]] = {}
    for step in range(steps):
        awake = [step - last[neuron] >= refractory[neuron] for neuron in range(count)]
        fired = []
        for neuron in range(count):
            if awake[neuron]:
                state[neuron] = after @ state[neuron]
                if state[neuron][0] > 7:
                    fired.append(neuron)
                    last[neuron], awake[neuron] = step, False
        for source in arrivals.pop(step, []):
            for neuron in np.flatnonzero(weights[source]):
                if awake[neuron]:
                    state[neuron][1] += weights[source, neuron]
        for neuron in kicked.get(step, []):
            if awake[neuron]:
                state[neuron][0] += 250 * 0.275
        for neuron in fired:
            state[neuron] = np.zeros(2)
        arrivals[step + 18] = [neuron for neuron in fired if neuron not in cut]
        result += [(step, neuron) for neuron in fired]
    return result


def pairs(spikes: object) -> list[tuple[int, int]]:
    return list(zip(spikes.step.tolist(), spikes.neuron.tolist(), strict=True))  # type: ignore[attr-defined]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("impl", ["events", "clock"])
def test_every_spike_is_that_of_the_equations_one_neuron_at_a_time(impl: str, seed: int) -> None:
    if impl == "events":
        pytest.importorskip("numba")
    connectome, free, cut = signed(40, seed, 0.3), 5, (7, 9)
    events = events_for(free, 1500, 200.0, seed)
    wanted = by_a_loop(connectome, events, 1500, free, cut)
    assert len({neuron for _, neuron in wanted}) > 10
    found = simulate_spikes(connectome, range(free), silence=cut, seconds=0.15, events=events, impl=impl)
    assert pairs(found) == wanted


@pytest.mark.filterwarnings("ignore")  # Brian2's own
@pytest.mark.parametrize("free", [0, 6])
def test_every_spike_is_that_of_brian2(free: int) -> None:
    """On a sub-network, with their equations; input events are the same, handed over by a generator of spikes."""
    try:
        import brian2
    except (ImportError, AttributeError) as error:  # 2.9.0 does not import beside numpy 2.4, which has no ndarray.ptp
        pytest.skip(f"no Brian2 that imports here: {error}")
    from brian2 import ms, mV

    brian2.prefs.codegen.target = "numpy"
    connectome, steps = signed(150, 1), 2000
    events = events_for(6, steps, 150.0, 1)
    brian2.defaultclock.dt = 0.1 * ms
    constants = {"v_0": -52 * mV, "v_rst": -52 * mV, "v_th": -45 * mV, "t_mbr": 20 * ms, "tau": 5 * ms}
    group = brian2.NeuronGroup(
        150,
        "dv/dt = (v_0 - v + g) / t_mbr : volt (unless refractory)\ndg/dt = -g / tau : volt (unless refractory)\nrfc : second",
        method="linear",
        threshold="v > v_th",
        reset="v = v_rst; g = 0*mV",
        refractory="rfc",
        namespace=constants,
    )
    group.v = -52 * mV
    group.rfc = 2.2 * ms
    group.rfc[:free] = 0 * ms
    between = brian2.Synapses(group, group, "w : volt", on_pre="g += w", delay=1.8 * ms)
    edges = connectome.weights.tocoo()
    between.connect(i=edges.row, j=edges.col)
    between.w = edges.data * 0.275 * mV
    drive = brian2.SpikeGeneratorGroup(150, events[:, 1], events[:, 0] * 0.1 * ms)
    kick = brian2.Synapses(drive, group, on_pre=f"v += {250 * 0.275}*mV")
    kick.connect(j="i")
    monitor = brian2.SpikeMonitor(group)
    brian2.Network(group, between, drive, kick, monitor).run(steps * 0.1 * ms)
    wanted = sorted(
        zip(np.rint(np.asarray(monitor.t / ms) / 0.1).astype(int).tolist(), np.asarray(monitor.i).tolist(), strict=True)
    )
    assert len(wanted) > 500
    for impl in ("events", "clock"):
        assert pairs(simulate_spikes(connectome, range(free), seconds=0.2, events=events, impl=impl)) == wanted


@pytest.mark.parametrize("settings", [{"membrane_ms": 5.0}, {"reset": -60.0}, {"delay_ms": 0.0}, {"refractory_ms": 0.0}])
def test_other_constants_give_the_same_from_event_to_event_as_step_by_step(settings: dict[str, float]) -> None:
    pytest.importorskip("numba")
    connectome, model = signed(60, 4, 0.3), ShiuLIF(**settings)
    found = [simulate_spikes(connectome, range(4), seconds=0.1, model=model, impl=impl) for impl in ("events", "clock")]
    assert pairs(found[0]) == pairs(found[1])
    assert len(pairs(found[0])) > 100


def test_float32_fires_at_nearly_the_same_rates() -> None:
    connectome = signed(200, 3)
    wide, narrow = (simulate_spikes(connectome, range(8), seconds=0.5, dtype=dtype) for dtype in (np.float64, np.float32))
    assert narrow.rates.mean() == pytest.approx(wide.rates.mean(), rel=0.02)


def test_a_spike_arrives_after_the_delay_and_what_comes_while_refractory_is_dropped() -> None:
    pair = Connectome([[0, 6000], [0, 0]])
    once = simulate_spikes(pair, seconds=0.02, events=[[10, 0]])
    assert pairs(once)[0] == (11, 0)
    assert pairs(once)[1] == (11 + 18 + 1, 1)  # g of 1,650 mV lifts v past 7 mV within a step
    again = simulate_spikes(pair, seconds=0.02, events=[[10, 0], [20, 0], [40, 0]])
    assert [step for step, neuron in pairs(again) if neuron == 0] == [11, 41]  # 20 falls within 2.2 ms of 11
    assert [step for step, _ in pairs(simulate_spikes(pair, [0], seconds=0.02, events=[[10, 0], [20, 0]]))][:2] == [11, 21]


def test_rates_of_kinds_and_silence() -> None:
    chain = Connectome(
        [[0, 200, 0], [0, 0, 200], [0, 0, 0]], kind=["sense", "between", "motor"], side=["left", "left", "right"]
    )
    spikes = simulate_spikes(chain, {"sense": 100.0}, seconds=2.0)
    rows = {row["kind"]: row for row in spikes.rates_by_kind()}
    assert rows["sense"]["mean_hz"] == pytest.approx(100, abs=4 * math.sqrt(100 / 2))
    assert spikes.rates[2] > 0
    assert simulate_spikes(chain, "sense", silence="between").rates[2] == 0
    assert simulate_spikes(chain, "sense", seed=1).neuron.size != simulate_spikes(chain, "sense", seed=2).neuron.size
    assert simulate_spikes(chain).neuron.size == 0


def test_events_are_bernoulli_trials() -> None:
    drawn = poisson_events(np.array([3, 5]), np.array([50.0, 2000.0]), 200_000, 0.1, np.random.default_rng(0))
    for neuron, chance in ((3, 0.005), (5, 0.2)):
        mine = drawn[drawn[:, 1] == neuron, 0]
        assert len(np.unique(mine)) == len(mine)
        assert len(mine) == pytest.approx(200_000 * chance, abs=5 * math.sqrt(200_000 * chance * (1 - chance)))
        gaps = np.diff(mine)
        assert (gaps == 1).mean() == pytest.approx(chance, abs=5 * math.sqrt(chance / len(mine)))
    assert (np.diff(drawn[:, 0]) >= 0).all()


def test_as_a_dynamics_of_a_reservoir_it_fires_as_alone() -> None:
    connectome = signed(30, 5, 0.3)
    events = events_for(3, 400, 300.0, 5)
    inputs = np.zeros((400, 30))
    np.add.at(inputs, (events[:, 0], events[:, 1]), 250 * 0.275)
    states = Reservoir(connectome, input_weights=np.eye(30), dynamics=ShiuLIF(), dtype="float64", impl="scipy").run(inputs)
    wanted = simulate_spikes(connectome, seconds=0.04, events=events)
    assert len(pairs(wanted)) > 20
    assert [tuple(pair) for pair in np.argwhere(states).tolist()] == pairs(wanted)


@pytest.mark.parametrize(
    ("settings", "error", "words"),
    [
        ({"activate": "nobody"}, UnknownNameError, "nobody"),
        ({"activate": [0], "rate": 20_000.0}, ArgumentError, r"rate: expected from 0 to 10000 Hz, .*got 20000"),
        ({"rate": -1.0, "activate": [0]}, ArgumentError, "rate"),
        ({"seconds": 0.0}, ArgumentError, "seconds"),
        ({"events": [[0.5, 1.0]]}, ShapeError, r"events: expected \[E, 2\] of integers"),
        ({"events": [[10**6, 0]]}, ArgumentError, "events: expected steps below 10000"),
        ({"dtype": "float16"}, ArgumentTypeError, "float32 or float64"),
        ({"impl": "gpu"}, ArgumentError, "impl"),
        ({"model": ShiuLIF(refractory_ms=np.ones(7))}, ShapeError, r"refractory_ms: expected \[3\]"),
    ],
)
def test_what_cannot_be_run_is_refused_in_words(settings: dict[str, object], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        simulate_spikes(Connectome(np.ones((3, 3))), **settings)  # type: ignore[arg-type]


@pytest.mark.parametrize("settings", [{"membrane_ms": 0.0}, {"delay_ms": -1.0}, {"reset": -40.0}, {"refractory_ms": math.nan}])
def test_constants_that_make_no_neuron_are_refused(settings: dict[str, float]) -> None:
    with pytest.raises(ArgumentError):
        ShiuLIF(**settings)


def test_without_numba_events_are_refused_by_name_and_auto_runs_by_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ordinate.reservoir.dynamics.shiu.find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match="pip install numba"):
        simulate_spikes(Connectome(np.ones((3, 3))), impl="events")
    assert simulate_spikes(Connectome(np.ones((3, 3))), [0], seconds=0.01).impl == "clock"
