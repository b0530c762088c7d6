"""Whole-brain connectomes in files of their published shapes and sizes, made here, loaded, and measured.

    python bench/reservoir_connectomes.py [--folder DIR] [--share 1.0] [--analyses [NAME,NAME,...]]

The male nervous system (June 2026): a flat Feather table of 151,856,684 rows, 165,122 traced neurons, 25,563,197 connections
between them. The wiring is random with heavy-tailed degrees; only shapes, sizes and columns are those of the publication. Each
load and each analysis runs in a process of its own, so that its peak memory is its own. Files that `--folder` holds already are
taken, and stay; a temporary folder is deleted. The last line is JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

ROWS, NEURONS, CONNECTIONS = 151_856_684, 165_122, 25_563_197
_CHUNK = 1 << 20

_PROGRAM = """
import json, resource, sys, time
from ordinate.reservoir import Connectome
folder, cache, name = sys.argv[1:]
started, worked = time.perf_counter(), time.process_time()
brain = Connectome.male_cns(folder, cache=cache)
result = {"neurons": brain.num_neurons, "edges": brain.num_edges}
if name != "load":
    from ordinate.reservoir import NULLS, laterality, normalise, summarise
    step = {
        "spectral radius": lambda: brain.spectral_radius(),
        "normalise by radius": lambda: normalise(brain, "spectral_radius", 0.9),
        "normalise by output": lambda: normalise(brain, "output", 1.0),
        "summary": lambda: summarise(brain),
        "laterality": lambda: laterality(brain, "superclass=sensory", "superclass=descending"),
        **{null: (lambda null=null: NULLS[null](brain, seed=0)) for null in NULLS},
    }[name]
    started, worked = time.perf_counter(), time.process_time()
    step()
result["seconds"], result["cpu_seconds"] = time.perf_counter() - started, time.process_time() - worked
result["peak_gib"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
print(json.dumps(result))
"""

ANALYSES = (
    "spectral radius", "normalise by radius", "normalise by output", "summary", "laterality",
    "rewired", "shuffled", "relabelled", "mirrored", "random", "modular",
)  # fmt: skip


def make_male_cns(folder: Path, share: float = 1.0, seed: int = 0) -> None:
    """Write the three Feather files, at a share of their size."""
    import pyarrow as pa
    from pyarrow import feather

    generator = np.random.default_rng(seed)
    neurons, connections = max(50, int(share * NEURONS)), int(share * share * CONNECTIONS) if share < 1 else CONNECTIONS
    rows = int(connections * ROWS / CONNECTIONS)
    annotated = 2 * neurons
    bodies = np.sort(generator.choice(10 * annotated, annotated, replace=False)).astype(np.int64) + 10_000
    traced = np.zeros(annotated, dtype=bool)
    traced[generator.permutation(annotated)[:neurons]] = True
    superclass = np.array(["sensory", "ascending", "descending", "intrinsic"])[
        generator.choice(4, annotated, p=[0.1, 0.02, 0.01, 0.87])
    ]
    types = np.char.add("T", (np.arange(annotated) // 2).astype(str))
    side = np.where(np.arange(annotated) % 2, "R", "L")
    feather.write_feather(
        pa.table(
            {
                "bodyId": bodies,
                "status": np.where(traced, "Traced", "Orphan"),
                "type": types,
                "superclass": superclass,
                "somaSide": side,
                "instance": np.char.add(np.char.add(types, "_"), side),
            }
        ),
        folder / "body-annotations-male-cns.feather",
    )
    names = np.array(["acetylcholine", "gaba", "glutamate", "unclear"])
    predicted = names[generator.choice(4, annotated, p=[0.6, 0.2, 0.15, 0.05])]
    feather.write_feather(
        pa.table({"body": bodies, "predicted_nt": predicted, "consensus_nt": predicted}),
        folder / "body-neurotransmitters-male-cns.feather",
    )
    own = bodies[traced]
    # heavy tails: a neuron is drawn with the chance of the square of a uniform number
    keys = np.zeros(0, dtype=np.int64)
    while keys.size < connections:
        missing = int(1.2 * (connections - keys.size)) + 100
        pre, post = ((neurons * generator.random(missing) ** 1.5).astype(np.int64) for _ in range(2))
        keys = np.unique(np.concatenate([keys, (pre * neurons + post)[pre != post]]))
    keys = np.sort(generator.choice(keys, connections, replace=False)) if keys.size > connections else keys
    schema = pa.schema([("body_pre", pa.int64()), ("body_post", pa.int64()), ("weight", pa.int32())])
    options = pa.ipc.IpcWriteOptions(compression="lz4")
    written = 0
    with pa.ipc.new_file(str(folder / "connectome-weights-male-cns.feather"), schema, options=options) as file:
        every = max(1, -(-rows // _CHUNK))
        bounds = np.linspace(0, connections, every + 1).astype(np.int64)
        for chunk in range(every):
            inside = keys[bounds[chunk] : bounds[chunk + 1]]
            size = min(_CHUNK, rows - written) if chunk < every - 1 else rows - written
            outside = size - inside.size
            pre = np.concatenate([own[inside // neurons], own[generator.integers(0, neurons, outside)]])
            post = np.concatenate([own[inside % neurons], generator.integers(10**10, 2**60, outside)])
            order = generator.permutation(size)
            weight = generator.geometric(0.3, size).astype(np.int32)
            file.write_batch(pa.record_batch([pre[order], post[order], weight], schema=schema))
            written += size


def measure(folder: Path, cache: Path, name: str) -> dict[str, float]:
    """Seconds and peak memory of a load, or of an analysis after a load, in a process of its own."""
    words = [sys.executable, "-c", _PROGRAM, str(folder), str(cache), name]
    result: dict[str, float] = json.loads(
        subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()[-1]
    )
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, help="where the files are, or go and stay; by default a temporary folder")
    parser.add_argument("--share", type=float, default=1.0, help="of the neurons; 1 is the published size")
    parser.add_argument(
        "--analyses", nargs="?", const=",".join(ANALYSES), default="", help=f"all, or by comma: {', '.join(ANALYSES)}"
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = options.folder or Path(name)
        table = folder / "connectome-weights-male-cns.feather"
        if not table.exists():
            make_male_cns(folder, options.share)
        print(f"flat table: {table.stat().st_size / 1e6:,.0f} MB; load average {os.getloadavg()[0]:.1f}")
        results = {}
        for title in ("first load", "second load", *(one for one in options.analyses.split(",") if one)):
            result = results[title] = measure(folder, Path(name) / "cache", "load" if "load" in title else title)
            spent = f"{result['seconds']:7.1f} s, {result['cpu_seconds']:6.1f} s of processor time"
            print(f"{title:<20} {spent}   peak {result['peak_gib']:5.2f} GiB", flush=True)
    print(json.dumps(results))


if __name__ == "__main__":
    main()
