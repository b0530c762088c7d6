"""A second of whole-brain spikes beside Brian2, on wiring as large as Shiu et al.'s model, and how time grows with spikes.

Synthetic wiring: 127,400 neurons and 14,687,178 edges, heavy-tailed degrees (log-normal, sigma 1, both ways), geometric synapse
counts with the mean 3.7, four neurons in ten inhibitory; drawn from a seed, no brain. Both simulate the same network with the
same input events, in one process, taking turns. Brian2 runs its compiled target where Cython and a compiler are; its building
and compiling are not counted, nor is the compiling of ours.

The limit: every spike has to read its neuron's edges once, 12 bytes each, and touch the neuron at the end of each.
Run: python bench/reservoir_spikes.py [--neurons N] [--edges E] [--seconds S]. Brian2 2.9 needs numpy below 2.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from scipy import sparse

from ordinate.lab.machine import machine
from ordinate.reservoir import Connectome
from ordinate.reservoir.dynamics import poisson_events, simulate_spikes

FREE = 0.1  # ms, a step


def wiring(neurons: int, edges: int, seed: int = 0) -> Connectome:
    generator = np.random.default_rng(seed)
    ends = []
    for _ in range(2):
        share = generator.lognormal(0, 1, neurons)
        ends.append(generator.choice(neurons, size=int(edges * 1.05), p=share / share.sum()))
    flat = np.unique(ends[0] * np.int64(neurons) + ends[1])
    flat = np.sort(generator.choice(flat, size=min(edges, len(flat)), replace=False))
    pre, post = flat // neurons, flat % neurons
    sign = np.where(generator.random(neurons) < 0.4, -1, 1)
    counts = generator.geometric(0.27, len(flat)) * sign[pre]
    return Connectome(sparse.csr_array((counts.astype(np.float32), (pre, post)), shape=(neurons, neurons)), name="synthetic")


def brian(connectome: Connectome, seconds: float, compiled: bool) -> Any:
    """A function of events that runs Brian2's network anew and returns seconds and spikes; None without Brian2."""
    try:
        import brian2
    except (ImportError, AttributeError) as error:
        print(f"no Brian2: {error}")
        return None
    from brian2 import ms, mV

    brian2.prefs.codegen.target = "cython" if compiled else "numpy"
    brian2.defaultclock.dt = FREE * ms
    count = connectome.num_neurons
    constants = {"v_0": -52 * mV, "v_rst": -52 * mV, "v_th": -45 * mV, "t_mbr": 20 * ms, "tau": 5 * ms}
    group = brian2.NeuronGroup(
        count,
        "dv/dt = (v_0 - v + g) / t_mbr : volt (unless refractory)\ndg/dt = -g / tau : volt (unless refractory)\nrfc : second",
        method="linear",
        threshold="v > v_th",
        reset="v = v_rst; g = 0*mV",
        refractory="rfc",
        namespace=constants,
    )
    between = brian2.Synapses(group, group, "w : volt", on_pre="g += w", delay=1.8 * ms)
    edges = connectome.weights.tocoo()
    between.connect(i=edges.row, j=edges.col)
    between.w = edges.data.astype(float) * 0.275 * mV
    drive = brian2.SpikeGeneratorGroup(count, [], [] * ms)
    kick = brian2.Synapses(drive, group, on_pre=f"v += {250 * 0.275}*mV")
    kick.connect(j="i")
    monitor = brian2.SpikeMonitor(group)
    network = brian2.Network(group, between, drive, kick, monitor)
    group.v, group.rfc = -52 * mV, 2.2 * ms
    network.store("rest")

    def run(events: Any) -> tuple[float, int]:
        network.restore("rest")
        drive.set_spikes(events[:, 1], events[:, 0] * FREE * ms)
        group.rfc = 2.2 * ms
        group.rfc[np.unique(events[:, 1])] = 0 * ms
        network.run(0 * ms)
        began = time.perf_counter()
        network.run(seconds * 1000 * ms)
        return time.perf_counter() - began, int(monitor.num_spikes)

    return run


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--neurons", type=int, default=127_400)
    parser.add_argument("--edges", type=int, default=14_687_178)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--driven", type=int, nargs="*", default=[20, 100, 500, 2000])
    parser.add_argument("--numpy", action="store_true", help="Brian2 without its compiled target")
    options = parser.parse_args()
    connectome = wiring(options.neurons, options.edges)
    print(f"{machine()}\n{connectome.num_neurons:,} neurons, {connectome.num_edges:,} edges, {options.seconds:g} s simulated")
    theirs = brian(connectome, options.seconds, not options.numpy)
    for dtype in ("float64", "float32"):  # compiled before the clock runs, and the edges read once
        simulate_spikes(connectome, range(1000), seconds=0.05, dtype=dtype)
    rows = []
    for driven in options.driven:
        chosen = np.random.default_rng(1).choice(options.neurons, driven, replace=False)
        steps = round(options.seconds * 1000 / FREE)
        events = poisson_events(np.sort(chosen), np.full(driven, 150.0), steps, FREE, np.random.default_rng(2))
        ours: dict[str, list[float]] = {"float64": [], "float32": []}
        other: list[float] = []
        counts: dict[str, int] = {}
        for _ in range(options.turns):
            for dtype, times in ours.items():
                began = time.perf_counter()
                spikes = simulate_spikes(connectome, chosen, seconds=options.seconds, events=events, dtype=dtype)
                times.append(time.perf_counter() - began)
                counts[dtype] = int(spikes.neuron.size)
            if theirs is not None:
                taken, counts["Brian2"] = theirs(events)
                other.append(taken)
        sources = connectome.weights.indptr
        sent = int((np.diff(sources)[spikes.neuron]).sum())
        row = {"driven": driven, "spikes": counts, "arrivals": sent} | {
            name: float(np.median(times)) for name, times in (*ours.items(), ("Brian2", other)) if times
        }
        rows.append(row)
        ratios = f", {row['Brian2'] / row['float64']:.1f} times Brian2's {row['Brian2']:.2f} s" if other else ""
        print(
            f"{driven:>5} driven: {counts['float64']:>9,} spikes (float32 {counts['float32']:,}, "
            f"Brian2 {counts.get('Brian2', 0):,}), "
            f"{sent:>12,} arrivals; float64 {row['float64']:.3f} s, float32 {row['float32']:.3f} s, "
            f"{row['float64'] / max(sent, 1) * 1e9:.1f} ns an arrival{ratios}"
        )
    print(json.dumps(rows))


if __name__ == "__main__":
    main()
