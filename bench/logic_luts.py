"""Gates of two inputs beside look-up tables of four and six: accuracy against the tables that a chip needs, on the same data.

Dense networks of the same settings are trained on scikit-learn's 8 by 8 digits, or with `--data DIR` on MNIST, behind the same
thermometer code; only the inputs of a node and the number of nodes differ. Every circuit is decomposed into gates, simplified,
and mapped to tables of four and of six inputs, and the gates are proven against the network's own tables written out row by
row, wherever the solver comes to an end. Tables are counted without and with the encoder, the comparators that make the bits
from integers. Validation chooses the epoch; each network reads the test rows once. Counting votes is adders, not tables, and
is not in the counts.

    python bench/logic_luts.py                    # three seeds of each size
    python bench/logic_luts.py --quick            # one seed, the small sizes
    python bench/logic_luts.py --figure luts.svg  # accuracy against tables of six inputs
    python bench/logic_luts.py --data ../shared/data/mnist --sizes 2 --epochs 4 --rows luts.json --figure luts.svg
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from ordinate.atomic_io import atomic_write
from ordinate.data import digits
from ordinate.lab.machine import machine
from ordinate.logic import (
    Circuit,
    FixedPoint,
    InputThresholds,
    TrainingSettings,
    equivalent,
    grow,
    lut_circuit,
    map_luts,
    simplify,
)
from ordinate.logic.classifier import table_growth, train_on_table
from ordinate.logic.export.lut_mapping import encoder

SIZES = {
    2: ((200, 100), (600, 300), (1600, 800)),
    4: ((100, 50), (300, 150), (800, 400)),
    6: ((60, 30), (200, 100), (500, 250)),
}
GROWN = (100, 300)
BITS = 3


def measured(k: int, widths: tuple[int, ...], known: Any, seed: int, epochs: int, learned: bool) -> dict[str, Any]:
    """One trained network."""
    parts = [(part.images.reshape(len(part), -1), part.labels) for part in (known.train, known.validation, known.test)]
    codes = InputThresholds.thermometer(parts[0][0], BITS)
    settings = TrainingSettings(epochs=epochs, batch_size=64, learning_rate=0.05, patience=epochs, seed=seed)
    gates = {"wiring": "learned" if learned else "random", "candidates": 8}
    started = time.process_time()
    done = train_on_table(parts[0], parts[1], codes, widths, len(known.classes), settings, k=k, seed=1000 * seed, **gates)
    seconds = time.process_time() - started
    tables, circuit = lut_circuit(done.network), Circuit.from_network(done.network)
    row = {"kind": f"{k}", "trained": sum(widths), "seed": seed, "tables": tables.num_tables}
    return row | counted(circuit, tables.to_circuit(by_rows=True), known, parts) | {"cpu_seconds": round(seconds, 1)}


def grown(gates: int, known: Any, seed: int) -> dict[str, Any]:
    """A circuit grown gate by gate, counted in the same ways."""
    parts = [(part.images.reshape(len(part), -1), part.labels) for part in (known.train, known.validation, known.test)]
    codes = InputThresholds.thermometer(parts[0][0], BITS)
    settings = table_growth(gates, len(codes.feature), len(parts[0][1]), replacements=1, seed=seed)
    started = time.process_time()
    circuit = grow(parts[0], parts[1], codes, settings).circuit
    row = {"kind": "2, grown", "trained": gates, "seed": seed, "tables": circuit.num_gates}
    return row | counted(circuit, circuit, known, parts) | {"cpu_seconds": round(time.process_time() - started, 1)}


def counted(circuit: Circuit, reference: Circuit, known: Any, parts: list[Any]) -> dict[str, Any]:
    """The accuracy of a circuit, and its tables in every way of counting."""
    small = simplify(circuit, sat=False).circuit
    proof = equivalent(small, reference, conflicts=20_000)

    def accuracy(part: tuple[Any, Any]) -> float:
        assert small.inputs is not None
        return float((small.predict(small.inputs.bits(part[0])) == part[1]).mean())

    front = encoder(small, FixedPoint(known.highest.bit_length()))
    mapped = {inputs: len(map_luts(small, inputs).luts) for inputs in (4, 6)}
    return {
        "gates": small.num_gates,
        "lut4": mapped[4],
        "lut6": mapped[6],
        "encoder_lut4": len(map_luts(front, 4).luts),
        "encoder_lut6": len(map_luts(front, 6).luts),
        "proven": proof.equal,
        "validation": accuracy(parts[1]),
        "test": accuracy(parts[2]),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=40)
    parser.add_argument("--sizes", type=int, default=3, help="so many sizes of each, the smallest first")
    parser.add_argument("--learned", action="store_true", help="learned wiring, eight candidates an input")
    parser.add_argument("--grown", action="store_true", help="circuits grown gate by gate beside them")
    parser.add_argument("--rows", type=Path, help="keep each network's row in this file, and measure what is not in it")
    parser.add_argument("--figure", type=Path)
    asked = parser.parse_args()
    known = digits(asked.data)
    sizes = {k: each[: 1 if asked.quick else asked.sizes] for k, each in SIZES.items()}
    rows = json.loads(asked.rows.read_text()) if asked.rows is not None and asked.rows.is_file() else []
    there = {(row["kind"], row["trained"], row["seed"]) for row in rows}
    for k, each in sizes.items():
        for widths in each:
            for seed in range(1 if asked.quick else asked.seeds):
                if (f"{k}", sum(widths), seed) in there:
                    continue
                rows.append(measured(k, widths, known, seed, 10 if asked.quick else asked.epochs, asked.learned))
                if asked.rows is not None:
                    atomic_write(asked.rows, json.dumps(rows))
                print(f"k={k} {widths} seed {seed}: {rows[-1]['test']:.2%}", file=sys.stderr)
    for gates in GROWN[: 1 if asked.quick else None] if asked.grown else ():
        for seed in range(1 if asked.quick else asked.seeds):
            rows.append(grown(gates, known, seed))
            print(f"grown {gates} seed {seed}: {rows[-1]['test']:.2%}", file=sys.stderr)
    print(f"{known.source}, {BITS} thresholds a pixel, {time.strftime('%Y-%m-%d')}, {machine()}")
    columns = ("tables", "gates", "lut4", "lut6", "encoder_lut4", "encoder_lut6", "validation", "test")
    heads = (
        "inputs",
        "nodes",
        "own tables",
        "gates",
        "LUT4",
        "LUT6",
        "encoder LUT4",
        "encoder LUT6",
        "validation",
        "test",
        "proven",
    )
    print(f"| {' | '.join(heads)} |")
    print("|---" * len(heads) + "|")
    for kind, trained in dict.fromkeys((row["kind"], row["trained"]) for row in rows):
        own = [row for row in rows if (row["kind"], row["trained"]) == (kind, trained)]
        mean = {name: statistics.mean(row[name] for row in own) for name in columns}
        spread = f"{min(row['test'] for row in own):.2%} to {max(row['test'] for row in own):.2%}"
        counts = " | ".join(f"{mean[name]:,.0f}" for name in columns[:6])
        proven = sum(row["proven"] is True for row in own)
        accuracies = f"{mean['validation']:.2%} | {mean['test']:.2%} ({spread})"
        print(f"| {kind} | {trained:,} | {counts} | {accuracies} | {proven} of {len(own)} |")
    if asked.figure is not None:
        draw(rows, asked.figure)
    print(json.dumps({"data": known.source, "bits": BITS, "rows": rows}))


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    """Test accuracy against tables of six inputs, without the encoder (filled) and with it (open)."""
    from matplotlib.figure import Figure

    from ordinate.atomic_io import save_figure

    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.subplots()
    styles = (("2", "#0072b2", "o"), ("4", "#d55e00", "s"), ("6", "#009e73", "^"), ("2, grown", "#cc79a7", "D"))
    for kind, colour, marker in styles:
        own = [row for row in rows if row["kind"] == kind]
        if not own:
            continue
        test = np.array([row["test"] for row in own])
        alone = np.array([row["lut6"] for row in own])
        axes.scatter(alone, test, color=colour, marker=marker, s=24, label=f"inputs: {kind}")
        axes.scatter(
            alone + [row["encoder_lut6"] for row in own], test, edgecolor=colour, facecolor="none", marker=marker, s=24
        )
    axes.set(xscale="log", xlabel="LUT6 (filled: without encoder, open: with it)", ylabel="test accuracy")
    axes.grid(axis="y", linewidth=0.5)
    axes.legend(frameon=False)
    save_figure(figure, path)


if __name__ == "__main__":
    main()
