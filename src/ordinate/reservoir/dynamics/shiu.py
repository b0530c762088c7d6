"""The spiking model that whole-brain studies of the fly use (Shiu et al. 2024), simulated from event to event.

A step of 0.1 ms over every neuron costs the same whether one spike falls or a million. Between two inputs a neuron follows a
formula, so it is visited when something arrives, and step by step only while its potential can still reach the threshold.
`ShiuLIF.step` says the same without any of that: every neuron, every step, in numpy.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from importlib.util import find_spec
from typing import Any

import numpy as np
import numpy.typing as npt

from ordinate.arguments import check_choice, check_integer, check_number
from ordinate.errors import ArgumentError, ArgumentTypeError, MissingExtraError, ShapeError
from ordinate.extras import install_command
from ordinate.reservoir.connectome.connectome import Connectome
from ordinate.reservoir.dynamics.interface import State, Wiring
from ordinate.reservoir.seeds import generator_of

__all__ = ["ShiuLIF", "Spikes", "poisson_events", "raster_figure", "simulate_spikes"]

Array = npt.NDArray[Any]

_FAR = 8192  # steps for which decays are tabulated
_NEVER = -(2**30)


@dataclass(frozen=True, eq=False)
class ShiuLIF:
    """Leaky integrate-and-fire neurons with an exponential synapse, a delay and a refractory period.

        dv/dt = (rest - v + g) / membrane        dg/dt = -g / synapse        both stand still while refractory

    A neuron with v above the threshold fires: v goes to reset, g to 0, and after the delay g of every neuron it synapses on
    grows by `weight` times the signed number of synapses. What arrives at a neuron that is refractory, or fires at that moment,
    is dropped. Each step: integrate exactly, compare, receive, reset (the order in which Brian2 does it).

    Args:
        step_ms: length of a step.
        rest, reset, threshold: mV.
        membrane_ms, synapse_ms: time constants.
        refractory_ms: one number, or one a neuron [N].
        delay_ms: from a spike to its arrival.
        weight: mV that a synapse adds to g.

    Raises:
        ArgumentError: a time that is not positive (0 is allowed for refractory period and delay), a reset or rest above the
            threshold.

    Source: Shiu et al. 2024, "A Drosophila computational brain model reveals sensorimotor processing", doi
    10.1038/s41586-024-07763-9; constants and order of their code, philshiu/Drosophila_brain_model, model.py, read at commit
    169c0dc5.

    As a dynamics of `Reservoir`, a step is `step_ms`, the input is in mV and added to v, and the activity is the spikes.

    >>> from ordinate.reservoir import Connectome, Reservoir
    >>> pair = Connectome([[0.0, 300.0], [0.0, 0.0]])
    >>> reservoir = Reservoir(pair, input_weights=[[1.0, 0.0]], dynamics=ShiuLIF(), dtype="float64", impl="scipy")
    >>> spikes = reservoir.run([[10.0]] + [[0.0]] * 60)
    >>> [spikes[:, neuron].nonzero()[0].tolist() for neuron in (0, 1)]  # 1.8 ms, and until v has risen by 7 mV
    [[1], [42]]
    """

    step_ms: float = 0.1
    rest: float = -52.0
    reset: float = -52.0
    threshold: float = -45.0
    membrane_ms: float = 20.0
    synapse_ms: float = 5.0
    refractory_ms: float | Array = 2.2
    delay_ms: float = 1.8
    weight: float = 0.275

    def __post_init__(self) -> None:
        for name in ("step_ms", "membrane_ms", "synapse_ms"):
            check_number(name, getattr(self, name), above=0)
        for name in ("rest", "reset", "threshold", "weight"):
            check_number(name, getattr(self, name))
        check_number("delay_ms", self.delay_ms, minimum=0)
        waiting = np.asarray(self.refractory_ms, dtype=np.float64)
        if waiting.ndim > 1 or not np.isfinite(waiting).all() or (waiting < 0).any():
            raise ArgumentError("refractory_ms", expected="a number of at least 0, or one a neuron", got=self.refractory_ms)
        for name in ("rest", "reset"):
            if not getattr(self, name) < self.threshold:
                raise ArgumentError(name, expected=f"below the threshold {self.threshold:g}", got=getattr(self, name))

    @property
    def delay_steps(self) -> int:
        """Steps from a spike to its arrival, rounded."""
        return round(self.delay_ms / self.step_ms)

    @property
    def refractory_steps(self) -> Array:
        """Steps after a spike in which nothing happens, rounded; one number, or one a neuron."""
        return np.rint(np.asarray(self.refractory_ms, dtype=np.float64) / self.step_ms).astype(np.int64)

    def decays(self, steps: Array) -> tuple[Array, Array, Array]:
        """After so many steps: the factor of v - rest, the factor of g, and what g has added to v, in float64."""
        time = np.asarray(steps, dtype=np.float64) * self.step_ms
        membrane, synapse = np.exp(-time / self.membrane_ms), np.exp(-time / self.synapse_ms)
        if self.membrane_ms == self.synapse_ms:
            return membrane, synapse, time / self.membrane_ms * membrane
        share = self.synapse_ms / (self.synapse_ms - self.membrane_ms)
        return membrane, synapse, share * (synapse - membrane)

    @property
    def largest_rise(self) -> float:
        """What g of 1 mV can add to v at most, in mV."""
        if self.membrane_ms == self.synapse_ms:
            return math.exp(-1)
        ratio = self.membrane_ms / self.synapse_ms
        return float(ratio ** (-ratio / (ratio - 1)))

    def start(self, wiring: Wiring, shape: tuple[int, ...]) -> State:
        """At rest and silent. Hidden: v - rest, g, steps of refractoriness left, and the spikes that are still on their way."""
        zeros = np.zeros(shape, dtype=wiring.dtype)
        return State(zeros, (zeros, zeros, np.zeros(shape, dtype=np.int64), *[zeros] * self.delay_steps))

    def step(self, wiring: Wiring, state: State, drive: Array, gain: Array, generator: np.random.Generator | None) -> State:
        """One step of every neuron: integrate, compare, receive, reset."""
        dtype = wiring.dtype
        v, g, waiting, *under_way = state.hidden
        membrane, synapse, rise = (np.asarray(value, dtype=dtype) for value in self.decays(np.array(1)))
        free = waiting == 0
        v, g = np.where(free, membrane * v + rise * g, v), np.where(free, synapse * g, g)
        fired = free & (v > np.asarray(self.threshold - self.rest, dtype=dtype))
        spikes = fired.astype(dtype)
        under_way.append(spikes)
        arriving = wiring.propagate(under_way.pop(0)) * gain * np.asarray(self.weight, dtype=dtype)
        hears = free & ~fired
        g = np.where(fired, 0, np.where(hears, g + arriving, g)).astype(dtype)
        v = np.where(fired, np.asarray(self.reset - self.rest, dtype=dtype), np.where(hears, v + drive, v)).astype(dtype)
        left = np.where(fired, np.maximum(self.refractory_steps, 1) - 1, np.maximum(waiting - 1, 0))
        return State(spikes, (v, g, left, *under_way))


@dataclass(frozen=True, eq=False)
class Spikes:
    """The spikes of one run, in the order of time.

    Args:
        step: of each spike, [S].
        neuron: that fired, [S].
        num_steps: of the run.
        step_ms: length of a step.
        connectome: whose neurons they are.
        activated, silenced: indices of neurons.
        impl: "events" or "clock".
    """

    step: npt.NDArray[np.int64]
    neuron: npt.NDArray[np.int64]
    num_steps: int
    step_ms: float
    connectome: Connectome
    activated: npt.NDArray[np.int64]
    silenced: npt.NDArray[np.int64]
    impl: str

    @property
    def seconds(self) -> float:
        """Simulated time."""
        return self.num_steps * self.step_ms / 1000

    @cached_property
    def rates(self) -> npt.NDArray[np.float64]:
        """Spikes a second of each neuron, [N]."""
        return np.bincount(self.neuron, minlength=self.connectome.num_neurons) / self.seconds

    def rates_by_kind(self, *trials: Spikes) -> list[dict[str, Any]]:
        """A row for each kind of neuron that fired, the fastest first: neurons, how many fired, mean and highest rate in Hz.

        Args:
            trials: further runs of the same connectome. Numbers are then means of all, and `mean_hz_sd` is the standard
                deviation of a kind's mean rate from trial to trial.

        Raises:
            ArgumentError: a run of another connectome.
        """
        runs = (self, *trials)
        if any(run.connectome is not self.connectome for run in trials):
            raise ArgumentError("trials", expected="runs of one connectome", got="several", hint="compare them row by row")
        kinds, place = np.unique(self.connectome.kind, return_inverse=True)
        sizes = np.bincount(place, minlength=len(kinds))
        fired = np.array([np.bincount(place, run.rates > 0, len(kinds)) for run in runs]).mean(axis=0)
        means = np.array([np.bincount(place, run.rates, len(kinds)) / sizes for run in runs])
        highest = np.zeros(len(kinds))
        np.maximum.at(highest, place, np.mean([run.rates for run in runs], axis=0))
        return [
            {
                "kind": str(kinds[at]) or "unnamed",
                "neurons": int(sizes[at]),
                "fired": float(fired[at]) if trials else int(fired[at]),
                "mean_hz": float(means[:, at].mean()),
                **({"mean_hz_sd": float(means[:, at].std(ddof=1))} if trials else {}),
                "highest_hz": float(highest[at]),
            }
            for at in np.argsort(-means.mean(axis=0), kind="stable")
            if fired[at]
        ]

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers: the totals and the rates by kind."""
        return {
            "connectome": self.connectome.name,
            "neurons": self.connectome.num_neurons,
            "edges": self.connectome.num_edges,
            "seconds": self.seconds,
            "step_ms": self.step_ms,
            "activated": int(self.activated.size),
            "silenced": int(self.silenced.size),
            "spikes": int(self.neuron.size),
            "neurons_that_fired": int((self.rates > 0).sum()),
            "kinds": self.rates_by_kind(),
            "assumptions": list(self.connectome.assumptions),
            "impl": self.impl,
        }


def poisson_events(neurons: Array, rates: Array, num_steps: int, step_ms: float, generator: np.random.Generator) -> Array:
    """Input events [E, 2] of step and neuron, by time: in each step one with the probability rate times step, for each neuron.

    Args:
        neurons: indices [K].
        rates: Hz, [K].
        num_steps: of the run.
        step_ms: length of a step.
        generator: what draws.

    Raises:
        ArgumentError: a rate below 0, or of more than one event a step.
    """
    rates = np.broadcast_to(np.asarray(rates, dtype=np.float64), neurons.shape)
    chances = rates * step_ms / 1000
    if rates.size and not (np.isfinite(rates).all() and chances.min() >= 0 and chances.max() <= 1):
        raise ArgumentError("rate", expected=f"from 0 to {1000 / step_ms:g} Hz, one event a step", got=float(rates.max()))
    parts = []
    for chance in np.unique(chances[chances > 0]):  # gaps between successes of one long row of trials are geometric
        these = neurons[chances == chance]
        trials = num_steps * these.size
        events = np.zeros(0, dtype=np.int64)
        while not events.size or events[-1] < trials:
            more = generator.geometric(chance, size=int(trials * chance * 1.1) + 16)
            events = np.concatenate((events, np.cumsum(more) + (events[-1] if events.size else -1)))
        events = events[: np.searchsorted(events, trials)]
        parts.append(np.stack((events // these.size, these[events % these.size]), 1))
    drawn = np.concatenate(parts) if parts else np.zeros((0, 2), dtype=np.int64)
    return drawn[np.lexsort((drawn[:, 1], drawn[:, 0]))]


def simulate_spikes(
    connectome: Connectome,
    activate: str | Iterable[int] | Mapping[str, float] = (),
    *,
    silence: str | Iterable[int] = (),
    seconds: float = 1.0,
    rate: float = 150.0,
    input_synapses: float = 250.0,
    events: npt.ArrayLike | None = None,
    model: ShiuLIF | None = None,
    seed: int | np.random.Generator = 0,
    dtype: npt.DTypeLike = np.float64,
    impl: str = "auto",
    progress: Callable[[int, int], None] | None = None,
) -> Spikes:
    """Run a connectome as spiking neurons, some of them driven by Poisson events, some with their output cut.

    Args:
        connectome: its weights are signed counts of synapses, as the readers with `signed=True` give them; a weight below 0
            inhibits.
        activate: neurons that get Poisson events, and have no refractory period: a query, indices, or a query -> rate in Hz.
        silence: neurons whose spikes reach nobody.
        seconds: simulated time.
        rate: Hz, of neurons without one of their own.
        input_synapses: an event adds so many times `model.weight` to v.
        events: in place of drawn ones, [E, 2] of step and neuron; those neurons keep their refractory period unless `activate`
            names them.
        model: by default `ShiuLIF()`.
        seed: of the Poisson events.
        dtype: float32 or float64.
        impl: "events" (compiled, needs numba), "clock" (every neuron, every step, in numpy), or "auto" for the first where it
            can.
        progress: called with steps done and steps in all.

    Raises:
        ArgumentError: a query that selects nobody, a rate out of range, events that are outside the run or the network.
        ArgumentTypeError: another dtype.
        MissingExtraError: `impl="events"` without numba.

    >>> chain = Connectome([[0, 200, 0], [0, 0, 200], [0, 0, 0]], kind=["sense", "between", "motor"])
    >>> spikes = simulate_spikes(chain, "sense", seconds=1.0)
    >>> [row["kind"] for row in spikes.rates_by_kind()]
    ['sense', 'between', 'motor']
    >>> simulate_spikes(chain, "sense", silence="between").rates[2]
    np.float64(0.0)
    """
    model = ShiuLIF() if model is None else model
    kind = np.dtype(dtype)
    if kind not in (np.float32, np.float64):
        raise ArgumentTypeError("dtype", expected="float32 or float64", got=str(kind))
    check_choice("impl", impl, ("auto", "events", "clock"))
    num_steps = round(check_number("seconds", seconds, above=0) * 1000 / model.step_ms)
    check_integer("steps of the run", num_steps, minimum=1, maximum=2**30)
    check_number("input_synapses", input_synapses)
    if impl == "events" and find_spec("numba") is None:
        raise MissingExtraError("impl", expected="numba for 'events'", got="none", hint=install_command("fast"))
    by_clock = impl == "clock" or find_spec("numba") is None
    chosen, rates = _activated(connectome, activate, check_number("rate", rate))
    cut = connectome.select(silence if isinstance(silence, str) else list(silence), allow_empty=True, argument="silence")
    arriving = (
        poisson_events(chosen, rates, num_steps, model.step_ms, generator_of(seed))
        if events is None
        else _checked_events(events, num_steps, connectome.num_neurons)
    )
    if np.ndim(model.refractory_ms) and np.size(model.refractory_ms) != connectome.num_neurons:
        raise ShapeError("refractory_ms", expected=f"[{connectome.num_neurons}]", got=str(np.shape(model.refractory_ms)))
    waiting = np.array(np.broadcast_to(model.refractory_steps, connectome.num_neurons))
    waiting[chosen] = 0
    run = _by_clock if by_clock else _by_events
    step, neuron = run(connectome, model, waiting, cut, arriving, input_synapses * model.weight, num_steps, kind, progress)
    return Spikes(step, neuron, num_steps, model.step_ms, connectome, chosen, cut, "clock" if by_clock else "events")


def _activated(connectome: Connectome, activate: Any, rate: float) -> tuple[npt.NDArray[np.int64], Array]:
    if isinstance(activate, Mapping):
        rates = np.full(connectome.num_neurons, np.nan)
        for query, value in activate.items():
            rates[connectome.select(query, argument="activate")] = check_number(f"activate[{query!r}]", value, minimum=0)
        chosen = np.flatnonzero(~np.isnan(rates))
        return chosen, rates[chosen]
    words = isinstance(activate, str)
    chosen = connectome.select(activate if words else list(activate), allow_empty=not words, argument="activate")
    return chosen, np.full(chosen.size, rate)


def _checked_events(events: Any, num_steps: int, num_neurons: int) -> Array:
    pairs = np.asarray(events)
    if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu":
        raise ShapeError("events", expected="[E, 2] of integers, a step and a neuron", got=f"{list(pairs.shape)} {pairs.dtype}")
    if len(pairs) and (pairs.min() < 0 or pairs[:, 0].max() >= num_steps or pairs[:, 1].max() >= num_neurons):
        raise ArgumentError(
            "events", expected=f"steps below {num_steps} and neurons below {num_neurons}", got=pairs.max(0).tolist()
        )
    pairs = pairs.astype(np.int64)
    return pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]


class _Cut:
    """What `ShiuLIF.step` may know of a connectome, with some neurons' output cut."""

    def __init__(self, connectome: Connectome, cut: Array, dtype: np.dtype[Any]) -> None:
        self.num_neurons, self.dtype = connectome.num_neurons, dtype
        self._incoming, self._heard = connectome.incoming.astype(dtype), np.ones(connectome.num_neurons, dtype=dtype)
        self._heard[cut] = 0

    def propagate(self, activity: Array) -> Array:
        return np.asarray(self._incoming @ (activity * self._heard))


def _by_clock(
    connectome: Connectome,
    model: ShiuLIF,
    waiting: Array,
    cut: Array,
    events: Array,
    kick: float,
    num_steps: int,
    dtype: np.dtype[Any],
    progress: Callable[[int, int], None] | None,
) -> tuple[Array, Array]:
    wiring = _Cut(connectome, cut, dtype)
    settings = replace(model, refractory_ms=waiting * model.step_ms)
    state = settings.start(wiring, (connectome.num_neurons,))
    firsts = np.searchsorted(events[:, 0], np.arange(num_steps + 1))
    steps, neurons = [], []
    for now in range(num_steps):
        drive = np.zeros(connectome.num_neurons, dtype=dtype)
        np.add.at(drive, events[firsts[now] : firsts[now + 1], 1], dtype.type(kick))
        state = settings.step(wiring, state, drive, np.ones((), dtype=dtype), None)
        fired = np.flatnonzero(state.activity)
        steps.append(np.full(fired.size, now))
        neurons.append(fired)
        if progress is not None and now % 100 == 99:
            progress(now + 1, num_steps)
    return np.concatenate(steps).astype(np.int64), np.concatenate(neurons).astype(np.int64)


def _by_events(
    connectome: Connectome,
    model: ShiuLIF,
    waiting: Array,
    cut: Array,
    events: Array,
    kick: float,
    num_steps: int,
    dtype: np.dtype[Any],
    progress: Callable[[int, int], None] | None,
) -> tuple[Array, Array]:
    count = connectome.num_neurons
    weights = connectome.weights
    starts = weights.indptr.astype(np.int64)
    ends = starts[1:].copy()
    ends[cut] = starts[:-1][cut]
    tables = np.stack(model.decays(np.arange(_FAR))).T.astype(dtype).copy()
    firsts = np.searchsorted(events[:, 0], np.arange(num_steps + 1))
    neurons = np.zeros(
        count, dtype=[("v", dtype), ("g", dtype), ("when", np.int32), ("blocked", np.int32), ("awake", np.int32)]
    )
    neurons["when"], neurons["blocked"] = -1, _NEVER
    awake = np.empty(count, dtype=np.int32)
    train = np.empty(max(4 * count, 1 << 16), dtype=np.int32)
    spike_starts = np.zeros(num_steps + 1, dtype=np.int64)
    numbers = [model.threshold - model.rest, model.reset - model.rest, kick, model.largest_rise, model.weight]
    frozen = np.maximum(waiting, 1).astype(np.int32) - 1
    refractory = waiting.astype(np.int32)
    now, num_awake = 0, 0
    while now < num_steps:
        last = min(now + 500, num_steps)
        now, num_awake = _kernel()(
            now, last, num_awake, starts[:-1], ends, weights.indices, weights.data, events[:, 1], firsts, tables,
            np.array(numbers, dtype), frozen, refractory, model.delay_steps, neurons, awake, train, spike_starts,
        )  # fmt: skip
        if now < last:  # room for a step in which everybody fires
            train = np.concatenate((train, np.empty_like(train)))
        elif progress is not None:
            progress(now, num_steps)
    total = int(spike_starts[-1])
    steps = np.repeat(np.arange(num_steps), np.diff(spike_starts))
    order = np.lexsort((train[:total], steps))
    return steps[order], train[:total][order].astype(np.int64)


@cache
def _kernel() -> Any:
    import numba

    jit = numba.njit(error_model="numpy", nogil=True)

    @jit
    def advance(one, now, tables):  # type: ignore[no-untyped-def]
        """Bring a neuron to a step."""
        steps = now - one.when
        if steps > 0:
            if one.v != 0 or one.g != 0:
                at = min(steps, tables.shape[0] - 1)  # past the table: 0.8 s, where e^-40 is left
                one.v = tables[at, 0] * one.v + tables[at, 2] * one.g
                one.g = tables[at, 1] * one.g
            one.when = now

    @jit
    def may_fire(one, threshold, rise):  # type: ignore[no-untyped-def]
        """Whether v can pass the threshold without another input: it rises by no more than `rise` times g."""
        zero = type(threshold)(0)
        return max(one.v, zero) + rise * max(one.g, zero) >= threshold * type(threshold)(0.999999)

    @jit
    def run(  # type: ignore[no-untyped-def]
        now, last, num_awake, starts, ends, targets, counts, kicked, firsts, tables, numbers,
        frozen, refractory, delay, neurons, awake, train, spike_starts,
    ):  # fmt: skip
        threshold, reset, kick, rise, weight = numbers[0], numbers[1], numbers[2], numbers[3], numbers[4]
        count = spike_starts[now]
        while now < last:
            if count + num_awake > train.size:
                break
            left = 0
            for place in range(num_awake):
                index = awake[place]
                one = neurons[index]
                advance(one, now, tables)
                if one.v > threshold:
                    train[count] = index
                    count += 1
                    one.v, one.g, one.awake = reset, 0, 0
                    one.when, one.blocked = now + frozen[index], now + max(refractory[index] - 1, 0)
                elif may_fire(one, threshold, rise):
                    awake[left] = index
                    left += 1
                else:
                    one.awake = 0
            num_awake = left
            spike_starts[now + 1] = count
            if now >= delay:
                for spike in range(spike_starts[now - delay], spike_starts[now - delay + 1]):
                    source = train[spike]
                    for edge in range(starts[source], ends[source]):
                        index = targets[edge]
                        one = neurons[index]
                        if now > one.blocked:
                            advance(one, now, tables)
                            one.g += counts[edge] * weight
                            if one.awake == 0 and may_fire(one, threshold, rise):
                                one.awake = 1
                                awake[num_awake] = index
                                num_awake += 1
            for event in range(firsts[now], firsts[now + 1]):
                index = kicked[event]
                one = neurons[index]
                if now > one.blocked:
                    advance(one, now, tables)
                    one.v += kick
                    if one.awake == 0 and may_fire(one, threshold, rise):
                        one.awake = 1
                        awake[num_awake] = index
                        num_awake += 1
            now += 1
        return now, num_awake

    return run


def raster_figure(spikes: Spikes, *, most: int = 20_000, seed: int = 0) -> Any:
    """Who fired when, neurons sorted by kind and rate, and the spikes of all a millisecond below, as a matplotlib figure.

    Args:
        spikes: of a run.
        most: spikes drawn; of more, so many are drawn at random.
        seed: of that choice.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.4, 4.6), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1))
    fired = np.flatnonzero(spikes.rates > 0)
    kinds = spikes.connectome.kind[fired]
    means = {row["kind"]: row["mean_hz"] for row in spikes.rates_by_kind()}
    speed = np.array([means[str(kind) or "unnamed"] for kind in kinds])
    order = fired[np.lexsort((-spikes.rates[fired], kinds, -speed))]
    place = np.full(spikes.connectome.num_neurons, -1)
    place[order] = np.arange(order.size)
    drawn_spikes = np.arange(spikes.neuron.size)
    if drawn_spikes.size > most:
        drawn_spikes = np.sort(generator_of(seed).choice(drawn_spikes.size, most, replace=False))
    milliseconds = spikes.step * spikes.step_ms
    driven = np.isin(spikes.neuron, spikes.activated)[drawn_spikes]
    for chosen, colour, name in ((~driven, "#0072b2", "others"), (driven, "#d55e00", "activated")):
        if chosen.any():
            at = drawn_spikes[chosen]
            above.plot(milliseconds[at], place[spikes.neuron[at]], "|", color=colour, markersize=3, label=name)
    if drawn_spikes.size:
        above.legend(fontsize=8, loc="lower right", bbox_to_anchor=(1, 1), ncols=2, frameon=False, markerscale=2)
    above.invert_yaxis()
    rows = {str(kind) or "unnamed": np.flatnonzero(spikes.connectome.kind[order] == kind) for kind in np.unique(kinds)}
    named = {name: place.mean() for name, place in rows.items() if place.size > 0.04 * order.size}
    above.set_yticks(list(named.values()), [f"{name} ({rows[name].size})" for name in named], fontsize=8)
    drawn = "" if drawn_spikes.size == spikes.neuron.size else f", {most:,} of them drawn"
    above.set(ylabel="kind (neurons that fired)")
    above.set_title(
        f"{spikes.connectome.name}: {spikes.neuron.size:,} spikes of {fired.size:,} neurons{drawn}", loc="left", fontsize=9
    )
    width = max(1, round(1 / spikes.step_ms))
    counts = np.bincount(spikes.step // width, minlength=-(-spikes.num_steps // width))
    below.fill_between(np.arange(counts.size) * width * spikes.step_ms, counts, step="post", color="#56b4e9")
    below.set(xlabel="ms", ylabel="spikes a ms", xlim=(0, spikes.num_steps * spikes.step_ms), ylim=(0, None))
    return figure
