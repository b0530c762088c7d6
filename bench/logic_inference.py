"""Inference of 12,000 and 1,000 gates on one core: ours as C, by numba and by numpy, beside torchlogix's compiled C.

The network is 784 bits, three layers of random gates that each read two random signals of the layer before, and ten groups
that are counted. Both sides run the very same gates and must agree on every score. "gates alone" starts from packed words and
ends with the last layer's words. "bytes to class" adds packing 784 bytes an image, counting and argmax; torchlogix is given
booleans and is not asked for the argmax. Timed in CPU time, inside C where there is C, in turns; medians, and medians of the
ratios of each turn. Beside them stand two limits that a C loop measures in the same turns: operations on registers, and gates
whose two inputs are read from the nearest cache and whose output is written to it.

torchlogix 0.2.1 and 0.2.2 do not import before Python 3.12 (a nested f-string), 0.1.1 does, and needs no dependency for this:
`pip install --no-deps --target DIR torchlogix==0.1.1`, then `PYTHONPATH=DIR`. Its C takes gcc minutes at 12,000 gates: a level
that passes `--compile-limit` seconds of CPU is stopped and told as such. Run: python bench/logic_inference.py
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from ordinate.lab.machine import machine
from ordinate.logic import Circuit, InputThresholds
from ordinate.logic.circuit.bit_packing import pack
from ordinate.logic.circuit.program import Program, lower
from ordinate.logic.circuit.runtime import BitParallel
from ordinate.logic.export.c import c_source

INPUTS, CLASSES, LAYERS = 784, 10, 3
GENUINE = (1, 2, 4, 6, 7, 8, 9, 11, 13, 14)
GATES_BAR, WHOLE_BAR = 9e6, 2e6  # images a second, 12,000 gates
HEADLINE = 1e6  # images a second that difflogic reports

# Dependent additions take one clock each, so counting them gives the clock that the machine really runs at. The barriers keep
# the compiler from folding operations or moving them out of the loops, and cost no instruction.
LIMITS = """
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#if defined(__AVX512F__)
#define LANES 8
#elif defined(__AVX2__)
#define LANES 4
#else
#define LANES 2
#endif
typedef uint64_t word __attribute__((vector_size(8 * LANES)));
#define KEEP(x) __asm__ volatile("" : "+x"(x))
word a[64], b[64], c[64]; /* not static, so that the barrier below holds for them */
static double rate(double seconds, double each, void (*once)(void)) {
  clock_t begin = clock(); double taken = 0, done = 0;
  while (taken < seconds) { for (int i = 0; i < 100; i++, done += each) once();
    taken = (double)(clock() - begin) / CLOCKS_PER_SEC; }
  return done / taken;
}
static void additions(void) {
  uint64_t x = 1;
  for (int i = 0; i < 1000; i++) { __asm__ volatile("add $1, %0" : "+r"(x)); __asm__ volatile("add $1, %0" : "+r"(x)); }
}
static void operations(void) {
  word r0 = a[0], r1 = a[1], r2 = a[2], r3 = a[3], r4 = a[4], r5 = a[5], r6 = a[6], r7 = a[7], k = a[8];
  for (int i = 0; i < 250; i++) {
    r0 ^= k, r1 &= k, r2 |= k, r3 ^= k, r4 &= k, r5 |= k, r6 ^= k, r7 &= k;
    KEEP(r0); KEEP(r1); KEEP(r2); KEEP(r3); KEEP(r4); KEEP(r5); KEEP(r6); KEEP(r7);
  }
}
static void gates(void) {
  for (int turn = 0; turn < 30; turn++) {
#pragma GCC unroll 16
    for (int i = 0; i < 64; i++) c[i] = a[i] & b[i];
    __asm__ volatile("" ::: "memory");
  }
}
int main(int argc, char **argv) {
  double seconds = atof(argv[argc - 1]) / 3;
  printf("{\\"bits\\": %d, \\"clock\\": %.0f, ", 64 * LANES, rate(seconds, 2000, additions));
  printf("\\"registers\\": %.0f, ", rate(seconds, 2000, operations));
  printf("\\"cache\\": %.0f}\\n", rate(seconds, 30 * 64, gates));
  return 0;
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


class StoppedError(Exception):
    """A compiler that took longer than it may."""


def compiled(source: str, folder: Path, name: str, *flags: str, limit: int = 3600) -> tuple[Path, float]:
    """The program or library, and gcc's seconds of CPU, of which it gets no more than the limit.

    What was compiled in this folder from the same source with the same flags is used again, with the seconds that it took.
    """
    text, note = folder / f"{name}.c", folder / f"{name}.json"
    if note.exists() and text.read_text() == source:
        known = json.loads(note.read_text())
        if known["flags"] == list(flags):
            return folder / name, known["seconds"]
    text.write_text(source)
    command = ["gcc", *flags, str(text), "-o", str(folder / name)]
    say(f"gcc {' '.join(flags)} on {len(source) / 1e6:.1f} MB of {name}.c, at most {limit} s")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        command, capture_output=True, text=True, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    if done.returncode and seconds >= limit - 1:
        raise StoppedError
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr}")
    note.write_text(json.dumps({"flags": flags, "seconds": seconds}))
    return folder / name, seconds


def say(what: str) -> None:
    """Progress, beside the answer."""
    print(f"{time.strftime('%H:%M:%S')} {what}", file=sys.stderr, flush=True)


def peer(circuit: Circuit, level: str, folder: Path, limit: int) -> dict[str, Any] | None:
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
        net.get_c_code() + PEER_TIMING, folder, "peer" + "".join(flags) + ".so", *flags, "-shared", "-fPIC", limit=limit
    )
    loaded = ctypes.CDLL(str(library))
    net._setup_library_function(loaded)
    loaded.bench_gates.restype = ctypes.c_double
    loaded.bench_gates.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_double]
    return {"net": net, "library": loaded, "compile_seconds": seconds}


def measure(gates: int, rounds: int, seconds: float, levels: list[str], limit: int, folder: Path) -> dict[str, Any]:
    """Everything about one size."""
    folder.mkdir(parents=True, exist_ok=True)
    circuit = network(gates)
    generator = np.random.default_rng(1)
    images = generator.integers(0, 256, (8192, INPUTS)).astype(np.uint8)
    bits = images > 95
    told: dict[str, Any] = {"gates": circuit.num_gates, "compile_seconds": {}, "compile_limit": limit}
    programs = {"gates": lower(circuit, "gates"), "whole": lower(circuit, "all")}
    told["operations"] = {stage: len(program.tables) for stage, program in programs.items()}
    ways = ours_in_c(circuit, images, folder, seconds, told)
    for implementation in ("numba", "numpy"):
        with contextlib.suppress(ImportError):
            ways |= ours_without_compiler(circuit, implementation, images, programs["gates"])
    for level in levels:
        ways |= theirs_in_c(circuit, level, bits, folder, seconds, told)
    ways["limits"] = lambda: program_says(folder / "limits", seconds)
    found: list[dict[str, float]] = []
    for turn in range(rounds):
        say(f"{gates:,} gates, turn {turn + 1} of {rounds}")
        found.append({})
        for once in ways.values():
            found[-1] |= once()
    told["images_per_second"] = {way: statistics.median(turn[way] for turn in found) for way in found[0]}
    told["limits"] = {limit: told["images_per_second"].pop(limit) for limit in ("bits", "clock", "registers", "cache")}
    told["fastest"] = {way: max(turn[way] for turn in found) for way in told["images_per_second"]}
    ours = "gates alone: ours, C"
    told["ours_over"] = {  # turn by turn, for neighbours slow a whole turn down
        way: statistics.median(turn[f"{what}: ours, C"] / turn[way] for turn in found)
        for way in told["images_per_second"]
        for what in ("gates alone", "bytes to class")
        if way.startswith(what) and not way.endswith("ours, C")
    }
    told["reached"] = {
        f"{stage}, {where}": statistics.median(
            turn[way] * told["operations"][stage] / turn["bits"] / turn[where] for turn in found
        )
        for stage, way in (("gates", ours), ("whole", "gates, counting and argmax: ours, C"))
        for where in ("clock", "registers", "cache")
    }
    return told


Ways = dict[str, Callable[[], dict[str, float]]]


def program_says(program: Path, *arguments: object) -> dict[str, float]:
    """What a program prints as JSON."""
    done = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, check=True)
    return {name: float(value) for name, value in json.loads(done.stdout).items()}


def ours_in_c(circuit: Circuit, images: np.ndarray, folder: Path, seconds: float, told: dict[str, Any]) -> Ways:
    """The emitted files, compiled; the limits with them."""
    strict = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-O3", "-march=native", "-Dnet_MAIN")
    alone, told["compile_seconds"]["ours, gates"] = compiled(c_source(circuit, "net", stage="gates"), folder, "gates", *strict)
    whole, told["compile_seconds"]["ours, whole"] = compiled(c_source(circuit, "net"), folder, "whole", *strict)
    compiled(LIMITS, folder, "limits", "-O2", "-march=native")
    answers = subprocess.run([whole], input=images[:500].tobytes(), capture_output=True, check=True).stdout.split()
    scores = np.array(answers, float).reshape(500, 1 + CLASSES)
    assert np.array_equal(scores[:, 1:], circuit.evaluate(images[:500] > 95))

    def everything() -> dict[str, float]:
        said = program_says(whole, "--bench", seconds)
        return {
            "gates, counting and argmax: ours, C": said["block_images_per_second"],
            "bytes to class: ours, C": said["bytes_to_class_images_per_second"],
        }

    return {
        "alone": lambda: {"gates alone: ours, C": program_says(alone, seconds)["gates_images_per_second"]},
        "whole": everything,
    }


def ours_without_compiler(circuit: Circuit, implementation: str, images: np.ndarray, gates: Program) -> Ways:
    """The runtime that needs no compiler."""
    runtime = BitParallel(circuit, implementation)  # type: ignore[arg-type]
    many = np.tile(images, (8 if implementation == "numpy" else 1, 1))  # numpy's calls cost less, the more images share them
    words = np.tile(pack(images > 95), (1, 8))
    assert np.array_equal(runtime.classify(images[:500]), circuit.predict(images[:500] > 95))
    runtime.run(gates, words[:, :16])
    return {
        implementation: lambda: {
            f"gates alone: ours, {implementation}": rate(lambda: runtime.run(gates, words), 8 * len(images)),
            f"bytes to class: ours, {implementation}": rate(lambda: runtime.classify(many), len(many)),
        }
    }


def theirs_in_c(circuit: Circuit, level: str, bits: np.ndarray, folder: Path, seconds: float, told: dict[str, Any]) -> Ways:
    """torchlogix's C, or nothing where it is not installed or its compilation is stopped."""
    try:
        theirs = peer(circuit, level, folder, told["compile_limit"])
    except StoppedError:
        told["compile_seconds"][f"torchlogix {level}"] = None
        return {}
    if theirs is None:
        return {}
    told["compile_seconds"][f"torchlogix {level}"] = theirs["compile_seconds"]
    assert np.array_equal(theirs["net"](bits[:512]).numpy(), circuit.count(bits[:512]).astype(np.int32))
    packed = np.ascontiguousarray(pack(bits[:64])[:, 0]).view(np.int64)
    out = np.zeros(circuit.num_nodes // LAYERS, np.int64)
    flat, sums = bits.reshape(-1), np.zeros(len(bits) * CLASSES, np.int32)
    return {
        f"torchlogix {level}": lambda: {
            f"gates alone: torchlogix {level}": theirs["library"].bench_gates(packed.ctypes.data, out.ctypes.data, seconds),
            f"bytes to class: torchlogix {level}": rate(lambda: theirs["net"].lib_fn(flat, sums, len(bits) // 64), len(bits)),
        }
    }


def rate(once: Callable[[], object], images: int) -> float:
    """Images a second of CPU time, over at least a fifth of a second."""
    begin, calls = time.process_time(), 0
    while time.process_time() - begin < 0.2:
        once()
        calls += 1
    return images * calls / (time.process_time() - begin)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=0.3, help="of each timing")
    parser.add_argument("--gates", type=int, nargs="*", default=[12_000, 1_000])
    parser.add_argument("--peer-levels", nargs="*", default=["-O0", "-O1", "-O3 -march=native"])
    parser.add_argument("--compile-limit", type=int, default=600, help="seconds of CPU that gcc may take for one file")
    parser.add_argument("--folder", type=Path, help="keep what is compiled here, and use again what is here already")
    given = parser.parse_args()
    try:
        peer_version = version("torchlogix")
    except PackageNotFoundError:
        peer_version = "none"
        print("torchlogix is not installed: ours alone (see the head of this file)")
    whole: dict[str, Any] = {"machine": machine(), "torchlogix": peer_version, "sizes": []}
    for gates in given.gates:
        with contextlib.ExitStack() as stack:
            folder = given.folder or Path(stack.enter_context(tempfile.TemporaryDirectory()))
            told = measure(gates, given.rounds, given.seconds, given.peer_levels, given.compile_limit, folder / str(gates))
        whole["sizes"].append(told)
        show(told)
    print(json.dumps(whole))


def show(told: dict[str, Any]) -> None:
    """One size as a table, with the limits, the bars and the peers."""
    rates, limits, operations, reached = (told[name] for name in ("images_per_second", "limits", "operations", "reached"))
    bits, clock = int(limits["bits"]), limits["clock"]
    print(f"\n{told['gates']:,} gates, one core, million images a second: median and fastest turn")
    for way in sorted(rates):
        over = told["ours_over"].get(way)
        ratio = f"   ours in C: {over:.1f} times" if over else ""
        print(f"  {way:44} {rates[way] / 1e6:9.3f} {told['fastest'][way] / 1e6:9.3f}{ratio}")
    times = (
        (name, f"> {told['compile_limit']}, stopped" if taken is None else f"{taken:.1f}")
        for name, taken in told["compile_seconds"].items()
    )
    print("  compile seconds: " + "; ".join(f"{name} {taken}" for name, taken in times))
    print(
        f"  limits of this core: {clock / 1e9:.2f} GHz; {bits}-bit operations in registers {limits['registers'] / 1e9:.2f} G/s "
        f"({limits['registers'] / clock:.2f} a cycle);"
    )
    print(
        f"    gates from and to the nearest cache, two reads and a write, {limits['cache'] / 1e9:.2f} G/s "
        f"({limits['cache'] / clock:.2f} a cycle)"
    )
    for stage, way in (("gates", "gates alone: ours, C"), ("whole", "gates, counting and argmax: ours, C")):
        needed = operations[stage] / bits
        print(f"  {way}: {operations[stage]:,} operations for {bits} images, {needed:.1f} an image;")
        print(
            f"    limit in registers {limits['registers'] / needed / 1e6:.1f} million images a second, of which "
            f"{reached[f'{stage}, registers']:.0%} reached;"
        )
        print(
            f"    if every value went through the nearest cache {limits['cache'] / needed / 1e6:.1f} million, of which "
            f"{reached[f'{stage}, cache']:.0%} reached;"
        )
        print(f"    {reached[f'{stage}, clock']:.2f} operations a cycle")
    ours = rates["gates alone: ours, C"]
    print(f"  gates alone, each for {bits} images: {told['gates'] * ours / bits / clock:.2f} gates a cycle")
    block, total = rates["gates, counting and argmax: ours, C"], rates["bytes to class: ours, C"]
    print(f"  bytes to class: packing and unpacking are {1 - total / block:.0%} of the time")
    if told["gates"] >= 11_000:
        for way, bar in (("gates alone: ours, C", GATES_BAR), ("bytes to class: ours, C", WHOLE_BAR)):
            print(f"  {way}: {rates[way] / bar:.1f} times the bar of {bar / 1e6:.0f} million")
    else:
        print(f"  bytes to class: {total / HEADLINE:.1f} times difflogic's headline of a million images a second")


if __name__ == "__main__":
    main()
