"""Steps of a reservoir on the brain of a larval fly: states a second, beside the peers and beside what the processor allows.

Ours: one sequence and batches of 16, compiled, and scipy's sparse product as the fallback. Peers: reservoirpy with its dense
and its sparse matrices, given the same weights; and conn2res, which is not on PyPI: its loop, `tanh(state W + input W_in)` on
dense float64 arrays (conn2res/reservoir.py, EchoStateNetwork.simulate), stated again here in two lines: our words,
not its code. All start at rest, hear the same inputs and must give the same states. One process, one thread, taking turns,
medians.

The limits: a step gathers one number an edge, and a core does not load faster than its ports allow; the cycle is measured.
Run: python bench/reservoir_steps.py [--data FOLDER]; without data on a random matrix of the same size.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before numpy is there

import numpy as np
from interleaved import median_seconds
from numba import njit
from scipy import sparse

from ordinate.data import data_folder
from ordinate.lab.machine import machine, versions
from ordinate.reservoir import Connectome, Reservoir
from ordinate.reservoir.connectome.gain import normalise
from ordinate.reservoir.dynamics.compiled import PAD, CompiledRun

BATCH = 16
GOALS = {
    "one sequence / reservoirpy sparse": 3.0,
    "one sequence / conn2res's loop": 60.0,
    "batch of 16 / reservoirpy sparse": 15.0,
}


def brain(data: Path | None) -> Connectome:
    found = data or data_folder("larval-drosophila")
    if found is not None:
        return Connectome.larval_drosophila(found)
    generator = np.random.default_rng(0)
    count, edges = 2952, 110_677
    ends = generator.integers(0, count, (2, edges))
    return Connectome(sparse.coo_array((generator.geometric(0.31, edges), ends), shape=(count, count)), name="random, as large")


@njit
def chain(rounds):  # type: ignore[no-untyped-def]
    """Six operations that each wait for the one before: six cycles a round."""
    x = np.uint64(88172645463325252)
    for _ in range(rounds):
        x ^= x << np.uint64(13)
        x ^= x >> np.uint64(7)
        x ^= x << np.uint64(17)
    return x


@njit
def read_all(words):  # type: ignore[no-untyped-def]
    total = np.uint64(0)
    for word in words:
        total ^= word
    return total


def best(call: Callable[[], object], rounds: int = 50) -> float:
    call()
    taken = []
    for _ in range(rounds):
        start = time.perf_counter()
        call()
        taken.append(time.perf_counter() - start)
    return min(taken)


def limits(reservoir: Reservoir) -> dict[str, float]:
    """States a second that load ports, and reading the edges once, allow; three loads a cycle, two of them vectors."""
    layout = CompiledRun(reservoir.connectome.incoming, reservoir.input_weights, reservoir.dynamics).layout
    cycle = best(lambda: chain(100_000)) / 600_000
    padded, edges = layout.indices.size, reservoir.connectome.num_edges
    words = np.zeros(layout.bytes_read_a_step // 8, dtype=np.uint64)
    return {
        "clock_ghz": 1e-9 / cycle,
        "bytes_of_edges_a_step": layout.bytes_read_a_step,
        # a vector of 8 edges: 8 indices, 8 states, one load of counts
        "one sequence, load ports": 1 / (cycle * padded / PAD * (2 * PAD + 1) / 3),
        "one sequence, reading the edges from cache": 1 / best(lambda: read_all(words)),
        # an edge: its index, its count, two vectors of 8 states
        "batch of 16, load ports": BATCH / (cycle * edges * 4 / 3),
        # 189 kB of states do not fit the first-level cache: 64 bytes an edge, 32 a cycle from the second
        "batch of 16, second-level cache": BATCH / (cycle * edges * 2),
    }


def peers(
    connectome: Connectome, weights_in: np.ndarray, inputs: np.ndarray
) -> dict[str, tuple[int, Callable[[], np.ndarray]]]:
    """The same run by others, each with how many steps a call takes."""
    dense = connectome.weights.toarray().astype(np.float64)

    def conn2res_loop() -> np.ndarray:
        states = np.zeros((21, len(dense)))
        for t in range(1, 21):
            states[t] = np.tanh(np.dot(states[t - 1], dense) + np.dot(inputs[t - 1], weights_in))
        return states[1:]

    ways: dict[str, tuple[int, Callable[[], np.ndarray]]] = {"conn2res's loop": (20, conn2res_loop)}
    try:
        from reservoirpy.nodes import Reservoir as Peer
    except ImportError:
        return ways
    for name, matrix, steps, dtype in (
        ("dense", dense.T, 20, np.float64),
        ("sparse", sparse.csr_array(connectome.weights.T), 200, np.float64),
        ("sparse, float32", sparse.csr_array(connectome.weights.T), 200, np.float32),
    ):
        node = Peer(W=matrix.astype(dtype), Win=weights_in.T.astype(dtype), bias=np.zeros(len(dense), dtype=dtype), dtype=dtype)

        node.run(inputs[:1].astype(dtype))  # before that there is no state to reset

        def run(node: Peer = node, steps: int = steps, dtype: type = dtype) -> np.ndarray:
            node.reset()
            return node.run(inputs[:steps].astype(dtype))

        ways[f"reservoirpy {name}"] = (steps, run)
    return ways


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="the larval connectome: Supplementary-Data-S1.zip or its folder")
    parser.add_argument("--rounds", type=int, default=7, help="timed turns of each way")
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall", help="cpu where others use the machine too")
    given = parser.parse_args()
    connectome = normalise(brain(given.data), "spectral_radius", 0.9)
    print(f"{connectome.name}: {connectome.num_neurons:,} neurons, {connectome.num_edges:,} edges, one thread")
    print(f"  {machine()}\n  {versions()} numba {metadata.version('numba')} scipy {metadata.version('scipy')}")
    inputs = np.random.default_rng(0).normal(size=(400, 2)).astype(np.float32)
    kinds = set(connectome.kind.tolist())
    chosen = [f"sensory & {side}" for side in ("left", "right")] if "sensory" in kinds else [range(210), range(210, 420)]
    compiled = Reservoir(connectome, inputs=chosen, impl="compiled")
    scipy_ = Reservoir(connectome, inputs=chosen, impl="scipy")
    batch = np.random.default_rng(1).normal(size=(BATCH, 100, 2)).astype(np.float32)
    some = np.arange(0, connectome.num_neurons, 30)

    first = {}
    for name, told in (("one sequence", inputs[:2]), ("batch of 16", batch[:, :2])):
        start = time.perf_counter()
        compiled.run(told)
        first[name] = time.perf_counter() - start
    print("seconds of the first call, which compiles: " + ", ".join(f"{name} {seconds:.2f}" for name, seconds in first.items()))

    ways = {
        "ours, one sequence": (400, lambda: compiled.run(inputs)),
        "ours, batch of 16": (100 * BATCH, lambda: compiled.run(batch)),
        "ours, batch of 16, 99 neurons recorded": (100 * BATCH, lambda: compiled.run(batch, record=some)),
        "ours, scipy": (200, lambda: scipy_.run(inputs[:200])),
        "ours, scipy, batch of 16": (20 * BATCH, lambda: scipy_.run(batch[:, :20])),
        **peers(connectome, np.asarray(compiled.input_weights, dtype=np.float64), inputs),
    }
    expected = compiled.run(inputs)
    for name, (steps, way) in ways.items():
        if "batch" not in name:
            difference = float(np.abs(np.asarray(way()) - expected[:steps]).max())
            assert difference < 1e-5, f"{name} differs by {difference}"
    taken = median_seconds({name: way for name, (_, way) in ways.items()}, given.rounds, clock=given.clock)
    speed = {name: ways[name][0] / seconds for name, seconds in taken.items()}
    allowed = limits(compiled)
    sparse_peer = max((value for name, value in speed.items() if name.startswith("reservoirpy sparse")), default=float("nan"))
    ratios = {
        "one sequence / reservoirpy sparse": speed["ours, one sequence"] / sparse_peer,
        "one sequence / conn2res's loop": speed["ours, one sequence"] / speed["conn2res's loop"],
        "batch of 16 / reservoirpy sparse": speed["ours, batch of 16"] / sparse_peer,
    }
    print("\nstates a second (a state: one step of one sequence)")
    for name, value in sorted(speed.items(), key=lambda pair: -pair[1]):
        print(f"  {name:<44}{value:12,.0f}")
    print(f"what the processor allows, at {allowed['clock_ghz']:.2f} GHz and three loads a cycle")
    for name, value in allowed.items():
        if "," in name:
            print(f"  {name:<44}{value:12,.0f}")
    print("ratios, against the faster of reservoirpy's two sparse runs")
    for name, value in ratios.items():
        print(f"  {name:<44}{value:12.1f}x   goal {GOALS[name]:g}x: {'reached' if value >= GOALS[name] else 'missed'}")
    print(json.dumps({"states_a_second": speed, "limits": allowed, "ratios": ratios, "first_call_seconds": first}))


if __name__ == "__main__":
    main()
