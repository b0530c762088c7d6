"""Echo-state estimators on the same tasks: ours beside reservoirpy's ESN, accuracy over seeds and time, in one process.

Both get the same series, units, spectral radius, leak rate, penalty and washout, and weights and biases of the same laws;
each draws its own, so accuracy is a distribution over seeds. Ours runs in float64 and, compiled, in float32; reservoirpy in
float64, its default. Time is that of fitting and predicting together, the ways taking turns. Both memory capacities are also
asked about networks without recurrence, which have none.
Run: python bench/reservoir_tasks.py
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from interleaved import median_seconds

from ordinate.lab.machine import machine, versions
from ordinate.reservoir import Connectome, EchoStateRegressor, Reservoir
from ordinate.reservoir.datasets import mackey_glass, narma10
from ordinate.reservoir.readout.metrics import nrmse_by_std
from ordinate.reservoir.tasks.base import Setting, Size, evaluate
from ordinate.reservoir.tasks.comparison import paired
from ordinate.reservoir.tasks.registry import task_named

Series = npt.NDArray[np.float64]
WASHOUT = 100


def tasks(train: int, test: int) -> dict[str, tuple[Series, Series, Series, Series]]:
    """Inputs and targets to fit on, and fresh ones: NARMA10, and Mackey-Glass 10 steps ahead."""
    first, second = narma10(train, 0), narma10(test, 1)
    values = (mackey_glass(train + test + 10).values - 0.93) / 0.4
    now, ahead = values[:-10], values[10:]
    return {
        "NARMA10": (4 * first.inputs - 1, first.targets, 4 * second.inputs - 1, second.targets),
        "Mackey-Glass, 10 ahead": (now[:train], ahead[:train], now[train:], ahead[train:]),
    }


def ours(units: int, seed: int, dtype: str) -> EchoStateRegressor:
    return EchoStateRegressor(
        units=units,
        spectral_radius=0.9,
        leak_rate=0.9,
        input_scaling=0.3,
        bias=0.3,
        connectivity=0.1,
        ridge=1e-6,
        washout=WASHOUT,
        dtype=dtype,
        random_state=seed,
    )


def theirs(units: int, seed: int) -> Any:
    from reservoirpy.mat_gen import uniform
    from reservoirpy.nodes import Reservoir as Node
    from reservoirpy.nodes import Ridge

    # its own default for input weights is -1 or 1 to a tenth of the units; ours is uniform to all
    even = uniform(low=-1.0, high=1.0, connectivity=1.0, seed=seed)
    bias = uniform(low=-0.3, high=0.3, connectivity=1.0, seed=seed + 1000)
    reservoir = Node(units, sr=0.9, lr=0.9, input_scaling=0.3, Win=even, bias=bias, rc_connectivity=0.1, seed=seed)
    return reservoir >> Ridge(ridge=1e-6)


def ways(units: int) -> dict[str, Callable[[int, Series, Series, Series], Series]]:
    """From a seed, training series and test inputs to predictions."""
    found: dict[str, Callable[[int, Series, Series, Series], Series]] = {
        "ours, float64": lambda seed, X, y, fresh: ours(units, seed, "float64").fit(X, y).predict(fresh),
        "ours, float32 compiled": lambda seed, X, y, fresh: ours(units, seed, "float32").fit(X, y).predict(fresh),
    }
    try:
        import reservoirpy  # noqa: F401
    except ImportError:
        print("reservoirpy is not installed: pip install reservoirpy")
        return found

    def run(seed: int, X: Series, y: Series, fresh: Series) -> Series:
        model = theirs(units, seed).fit(X, y, warmup=WASHOUT)
        if hasattr(model, "reset"):
            model.reset()  # otherwise it goes on from the end of the training series, where ours starts from rest
        return np.asarray(model.run(fresh))

    found["reservoirpy"] = run
    return found


def memoryless(seeds: int) -> dict[str, list[float]]:
    """Memory capacity at 60 delays of 50 units without recurrence, by both definitions."""
    size, task = Size(washout=100, train=400, validation=100, test=120), task_named("memory")
    told: dict[str, list[float]] = {"ours": []}
    for seed in range(seeds):
        generator = np.random.default_rng(seed)
        weights, bias = generator.uniform(-1, 1, (1, 50)), generator.uniform(-1, 1, 50)
        silent = Reservoir(Connectome(np.zeros((50, 50))), input_weights=weights, bias=bias)
        told["ours"].append(evaluate([(task, task.draw(size, seed))], silent, size, [Setting()])[0].test)
    try:
        from reservoirpy.nodes import Reservoir as Node
        from reservoirpy.nodes import Ridge
        from reservoirpy.observables import memory_capacity
    except ImportError:
        return told
    told["reservoirpy"] = [
        float(memory_capacity(Node(W=np.zeros((50, 50)), seed=seed) >> Ridge(ridge=1e-6), k_max=60, seed=seed))
        for seed in range(seeds)
    ]
    return told


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--units", type=int, default=300)
    parser.add_argument("--train", type=int, default=3000, help="training steps")
    parser.add_argument("--test", type=int, default=1000, help="test steps")
    parser.add_argument("--seeds", type=int, default=8, help="for accuracy")
    parser.add_argument("--rounds", type=int, default=5, help="timed turns of each way")
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall", help="cpu where others use the machine too")
    given = parser.parse_args()
    print(f"{given.units} units, {given.train:,} steps to fit, {given.test:,} to predict\n  {machine()}\n  {versions()}")
    result: dict[str, Any] = {"bench": "reservoir_tasks", **vars(given)}
    made = ways(given.units)
    for name, (X, y, fresh, wanted) in tasks(given.train, given.test).items():
        errors = {
            way: [nrmse_by_std(wanted[WASHOUT:], run(seed, X, y, fresh)[WASHOUT:]) for seed in range(given.seeds)]
            for way, run in made.items()
        }
        calls = {way: (lambda run=run, X=X, y=y, fresh=fresh: run(0, X, y, fresh)) for way, run in made.items()}
        taken = median_seconds(calls, given.rounds, clock=given.clock)
        print(f"\n{name}\n  {'':<24}{'nrmse_by_std, mean (range)':>34}{'seconds':>10}{'steps/s':>10}")
        for way in made:
            told = f"{statistics.fmean(errors[way]):.4g} ({min(errors[way]):.4g} to {max(errors[way]):.4g})"
            print(f"  {way:<24}{told:>34}{taken[way]:>10.3f}{(given.train + given.test) / taken[way]:>10,.0f}")
        result[name] = {"nrmse_by_std": errors, "seconds": taken}
        if "reservoirpy" in made and given.seeds > 1:
            mean, lower, upper, p = paired(errors["ours, float64"], errors["reservoirpy"])
            word = "not different" if p >= 0.05 else "different"
            print(f"  ours minus reservoirpy: {mean:+.4g} ({lower:+.4g} to {upper:+.4g}), {word}")
            for way in list(made)[:2]:
                ratio = taken["reservoirpy"] / taken[way]
                print(f"  {way}: {ratio:.2f} times reservoirpy's speed")
                result[name][f"speed-up of {way}"] = ratio
    silent = memoryless(given.seeds)
    print("\nmemory capacity of 50 units without recurrence, which is 0")
    for way, values in silent.items():
        print(f"  {way:<24}{statistics.fmean(values):>10.3f} ({min(values):.3f} to {max(values):.3f})")
    result["memory_of_memoryless"] = silent
    print()
    print(json.dumps(result | {"machine": machine(), "versions": versions()}))


if __name__ == "__main__":
    main()
