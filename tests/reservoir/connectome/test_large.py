"""A whole adult brain's worth of neurons runs sparse: nothing of 130,000 x 130,000 is ever made."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

PROGRAM = """
import json, resource, sys, time
import numpy as np
from scipy import sparse
from ordinate.reservoir import Connectome, Reservoir
from ordinate.reservoir.connectome.gain import normalise
from ordinate.reservoir.connectome.nulls import rewired

neurons, edges = 130_000, 2_700_000
generator = np.random.default_rng(0)
pre, post = generator.integers(0, neurons, (2, edges))
counts = generator.geometric(0.2, edges).astype(np.int32)
brain = Connectome(sparse.coo_array((counts, (pre, post)), shape=(neurons, neurons)), name="as large as FlyWire")
del pre, post, counts
radius = brain.spectral_radius()
brain = normalise(brain, "spectral_radius", 0.9)
told = {"edges": brain.num_edges, "radius": radius}
inputs = np.zeros((20, 1)); inputs[0] = 1
for impl in ("compiled", "scipy"):
    reservoir = Reservoir(brain, inputs=[np.arange(1000)], impl=impl)
    reservoir.run(inputs[:1], record=[0])
    start = time.perf_counter()
    told[impl] = reservoir.run(inputs, record=np.arange(50)).tolist()
    told[impl + "_seconds_a_step"] = (time.perf_counter() - start) / 20
null = rewired(brain, seed=0, rounds=2)
told["null_edges"] = null.num_edges
told["peak_bytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
print(json.dumps(told))
"""


@pytest.mark.slow
def test_130_000_neurons_run_without_a_dense_matrix():
    """Dense, float32 would be 67.6 GB. Everything below, with the interpreter, must fit in 1.5."""
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=280, check=True)
    result = json.loads(done.stdout)
    assert result["edges"] > 2_690_000
    # a random matrix with weights of mean m has its leading eigenvalue near edges m / neurons
    assert result["radius"] == pytest.approx(2_700_000 * 5 / 130_000, rel=0.02)
    assert result["null_edges"] == result["edges"]
    for one, other in zip(result["compiled"], result["scipy"], strict=True):
        assert one == pytest.approx(other, abs=1e-5)
    assert result["peak_bytes"] < 1.5e9
