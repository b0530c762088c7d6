"""Inference of 12,000 and 1,000 gates on one core: ours as C, by numba and by numpy, beside torchlogix's compiled C.

The network is 784 bits, three layers of random gates that each read two random signals of the layer before, and ten groups
that are counted. Both sides run the very same gates and must agree on every score. "gates alone" starts from packed words and
ends with the last layer's words. "bytes to class" adds packing 784 bytes an image, counting and argmax; torchlogix is given
booleans and is not asked for the argmax. Timed inside C where there is C, in turns, medians; compile times are gcc's.

torchlogix 0.2.1 and 0.2.2 do not import before Python 3.12 (a nested f-string), 0.1.1 does, and needs no dependency for this:
`pip install --no-deps --target DIR torchlogix==0.1.1`, then `PYTHONPATH=DIR`. Run: python bench/logic_inference.py
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import json
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from ordinate.lab.machine import machine
from ordinate.logic import Circuit, InputThresholds
from ordinate.logic.bitparallel import BitParallel
from ordinate.logic.c_source import c_source
from ordinate.logic.program import lower
from ordinate.logic.words import pack

INPUTS, CLASSES, LAYERS = 784, 10, 3
GENUINE = (1, 2, 4, 6, 7, 8, 9, 11, 13, 14)
GATES_BAR, WHOLE_BAR = 9e6, 2e6  # images a second, 12,000 gates
HEADLINE = 1e6  # images a second that difflogic reports

# dependent additions take one clock each, so counting them gives the clock that the machine really runs at
CLOCK = """
#include <stdio.h>
#include <stdint.h>
#include <time.h>
int main(void) {
  uint64_t x = 1, n = 400000000;
  clock_t begin = clock();
  for (uint64_t i = 0; i < n; i++) __asm__ volatile("add $1, %0" : "+r"(x));
  printf("%.0f\\n", (double)n * CLOCKS_PER_SEC / (double)(clock() - begin));
  return x == 0;
}
"""

PEER_TIMING = """
#include <time.h>
double bench_gates(long long const *in, long long *out, double seconds) {
  clock_t begin = clock(); double taken = 0; long long images = 0;
  while (taken < seconds) { for (int i = 0; i < 50; i++, images += 64) logic_net(in, out);
    taken = (double)(clock() - begin) / CLOCKS_PER_SEC; }
  return (double)images / taken;
}
"""


def network(gates: int, seed: int = 0) -> Circuit:
    """Three layers; no gate reads one signal twice."""
    generator, width = np.random.default_rng(seed), gates // LAYERS // CLASSES * CLASSES
    tables, a, b, before, start = [], [], [], INPUTS, 0
    for _ in range(LAYERS):
        first = generator.integers(0, before, width)
        second = (first + generator.integers(1, before, width)) % before
        tables.append(generator.choice(GENUINE, width))
        a.append(start + first)
        b.append(start + second)
        start, before = start + before, width
    groups = start + np.arange(width).reshape(CLASSES, -1)
    return Circuit(
        INPUTS,
        np.concatenate(tables),
        np.concatenate(a),
        np.concatenate(b),
        votes=[(group, np.ones(len(group), np.int64)) for group in groups],
        inputs=InputThresholds.uniform(INPUTS, 95),
    )


def compiled(source: str, folder: Path, name: str, *flags: str) -> tuple[Path, float]:
    """The program or library, and gcc's seconds of CPU."""
    (folder / f"{name}.c").write_text(source)
    before = time.perf_counter()
    subprocess.run(["gcc", *flags, str(folder / f"{name}.c"), "-o", str(folder / name)], check=True, capture_output=True)
    return folder / name, time.perf_counter() - before


def peer(circuit: Circuit, level: str, folder: Path) -> dict[str, Any] | None:
    """torchlogix's compiled C of the same network: how to run it, and its compile time; None where it is not installed."""
    try:
        import torch
        from torchlogix import CompiledLogicNet
        from torchlogix.layers import GroupSum, LogicDense
    except (ImportError, SyntaxError):
        return None
    width = circuit.num_nodes // LAYERS
    layers: list[Any] = []
    start, before = 0, INPUTS
    for layer in range(LAYERS):
        # built narrow, for it insists on as many gates as inputs; only its wires and gates are read afterwards
        dense = LogicDense(2, 2)
        part = slice(layer * width, (layer + 1) * width)
        dense.connections.indices = torch.tensor(np.stack((circuit.inputs_a[part], circuit.inputs_b[part])) - start)
        # their numbers of operations are our tables with the bits in the other order
        operation = [int(f"{table:04b}"[::-1], 2) for table in circuit.tables[part]]
        with torch.no_grad():
            dense.weight = torch.nn.Parameter(torch.nn.functional.one_hot(torch.tensor(operation), 16).float())
        layers.append(dense)
        start, before = start + before, width
    model = torch.nn.Sequential(*layers, GroupSum(CLASSES, tau=1.0))
    net = CompiledLogicNet(model, input_shape=(INPUTS,), num_bits=64, apply_groupsum_scaling=False)
    flags = level.split()
    library, seconds = compiled(
        net.get_c_code() + PEER_TIMING, folder, "peer" + "".join(flags) + ".so", *flags, "-shared", "-fPIC"
    )
    loaded = ctypes.CDLL(str(library))
    net._setup_library_function(loaded)
    loaded.bench_gates.restype = ctypes.c_double
    loaded.bench_gates.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_double]
    return {"net": net, "library": loaded, "compile_seconds": seconds}


def measure(gates: int, rounds: int, seconds: float, levels: list[str]) -> dict[str, Any]:
    """Everything about one size, printed and told."""
    circuit = network(gates)
    generator = np.random.default_rng(1)
    images = generator.integers(0, 256, (8192, INPUTS)).astype(np.uint8)
    bits = images > 95
    told: dict[str, Any] = {"gates": circuit.num_gates, "compile_seconds": {}, "images_per_second": {}}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        ways: dict[str, Callable[[], float]] = {}
        strict = ("-std=c99", "-Wall", "-Wextra", "-O3", "-march=native", "-Dnet_MAIN")
        alone, told["compile_seconds"]["ours, gates"] = compiled(
            c_source(circuit, "net", stage="gates"), folder, "gates", *strict
        )
        whole, told["compile_seconds"]["ours, whole"] = compiled(c_source(circuit, "net"), folder, "whole", *strict)
        answers = subprocess.run([whole], input=images[:500].tobytes(), capture_output=True, check=True).stdout.split()
        scores = np.array(answers, float).reshape(500, 1 + CLASSES)
        assert np.array_equal(scores[:, 1:], circuit.evaluate(bits[:500]))

        def run(*command: str) -> dict[str, float]:
            return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)

        ways["gates alone: ours, C"] = lambda: run(str(alone), str(seconds))["gates_images_per_second"]
        split: dict[str, list[float]] = {"block": [], "whole": []}

        def ours() -> float:
            got = run(str(whole), "--bench", str(seconds))
            split["block"].append(got["block_images_per_second"])
            return got["bytes_to_class_images_per_second"]

        ways["bytes to class: ours, C"] = ours
        words = pack(np.tile(bits, (2, 1)))
        gates_program = lower(circuit, "gates")
        for implementation in ("numba", "numpy"):
            with contextlib.suppress(ImportError):
                runtime = BitParallel(circuit, implementation)  # type: ignore[arg-type]
                runtime.run(gates_program, words[:, :16])
                runtime.predict(bits[:64])
                ways[f"gates alone: ours, {implementation}"] = lambda runtime=runtime: rate(
                    lambda: runtime.run(gates_program, words), 2 * len(bits)
                )
                thresholds = circuit.inputs
                assert thresholds is not None
                ways[f"bytes to class: ours, {implementation}"] = lambda runtime=runtime, thresholds=thresholds: rate(
                    lambda: runtime.predict(thresholds.bits(images)), len(images)
                )
        for level in levels:
            theirs = peer(circuit, level, folder)
            if theirs is None:
                break
            told["compile_seconds"][f"torchlogix {level}"] = theirs["compile_seconds"]
            assert np.array_equal(theirs["net"](bits[:512]).numpy(), scores_of(circuit, bits[:512]))
            packed = np.ascontiguousarray(words[:, 0]).view(np.int64)
            out = np.zeros(circuit.num_nodes // LAYERS, np.int64)
            ways[f"gates alone: torchlogix {level}"] = lambda theirs=theirs, packed=packed, out=out: theirs[
                "library"
            ].bench_gates(packed.ctypes.data, out.ctypes.data, seconds)
            flat, sums = bits.reshape(-1), np.zeros(len(bits) * CLASSES, np.int32)
            ways[f"bytes to class: torchlogix {level}"] = lambda theirs=theirs, flat=flat, sums=sums: rate(
                lambda: theirs["net"].lib_fn(flat, sums, len(bits) // 64), len(bits)
            )
        found: dict[str, list[float]] = {way: [] for way in ways}
        for _ in range(rounds):
            for way, once in ways.items():
                found[way].append(once())
    told["images_per_second"] = {way: statistics.median(values) for way, values in found.items()}
    told["images_per_second"]["gates, counting and argmax: ours, C"] = statistics.median(split["block"])
    told["operations"] = {"gates": len(gates_program.tables), "whole": len(lower(circuit, "all").tables)}
    return told


def scores_of(circuit: Circuit, bits: np.ndarray) -> np.ndarray:
    """Counts as torchlogix gives them."""
    return circuit.count(bits).astype(np.int32)


def rate(once: Callable[[], object], images: int) -> float:
    """Images a second of CPU time, over at least a fifth of a second."""
    begin, calls = time.process_time(), 0
    while time.process_time() - begin < 0.2:
        once()
        calls += 1
    return images * calls / (time.process_time() - begin)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.3, help="of each timing")
    parser.add_argument("--gates", type=int, nargs="*", default=[12_000, 1_000])
    parser.add_argument("--peer-levels", nargs="*", default=["-O1", "-O3 -march=native"])
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        clock, _ = compiled(CLOCK, Path(folder), "clock", "-O1")
        hertz = statistics.median(float(subprocess.run([clock], capture_output=True, check=True).stdout) for _ in range(3))
    try:
        peer_version = version("torchlogix")
    except PackageNotFoundError:
        peer_version = "none"
        print("torchlogix is not installed: ours alone (see the head of this file)")
    whole: dict[str, Any] = {"machine": machine(), "torchlogix": peer_version, "clock_hertz": hertz, "sizes": []}
    for gates in given.gates:
        told = measure(gates, given.rounds, given.seconds, given.peer_levels)
        whole["sizes"].append(told)
        show(told, hertz)
    print(json.dumps(whole))


def show(told: dict[str, Any], hertz: float) -> None:
    """One size as a table, with the bars and the distance from one 256-bit operation a clock."""
    rates = told["images_per_second"]
    print(f"\n{told['gates']:,} gates, one core at {hertz / 1e9:.2f} GHz, million images a second")
    for way in sorted(rates):
        print(f"  {way:48} {rates[way] / 1e6:9.3f}")
    print("  compile seconds: " + ", ".join(f"{name} {seconds:.1f}" for name, seconds in told["compile_seconds"].items()))
    ours, operations = rates["gates alone: ours, C"], told["operations"]["gates"]
    limit = hertz * 256 / operations
    print(f"  limit of one 256-bit operation a clock: {limit / 1e6:.1f}; reached {ours / limit:.2f} of it, ", end="")
    print(f"{ours * told['gates'] / 1e9:.0f} thousand million gates a second, {told['gates'] * ours / hertz:.0f} gates a clock")
    block, total = rates["gates, counting and argmax: ours, C"], rates["bytes to class: ours, C"]
    parts = (("gates", 1 / ours), ("counting, argmax", 1 / block - 1 / ours), ("packing, unpacking", 1 / total - 1 / block))
    print("  where the time goes: " + ", ".join(f"{part} {max(0.0, seconds) * total:.0%}" for part, seconds in parts))
    if told["gates"] >= 11_000:
        for way, bar in (("gates alone: ours, C", GATES_BAR), ("bytes to class: ours, C", WHOLE_BAR)):
            print(f"  {way}: {rates[way] / bar:.1f} times the bar of {bar / 1e6:.0f} million")
    else:
        print(f"  bytes to class: {total / HEADLINE:.1f} times difflogic's headline of a million images a second")
    for level in (way.removeprefix("gates alone: ") for way in rates if way.startswith("gates alone: torchlogix")):
        for what in ("gates alone", "bytes to class"):
            print(f"  {what}, ours / {level}: {rates[f'{what}: ours, C'] / rates[f'{what}: {level}']:.1f}")


if __name__ == "__main__":
    main()
