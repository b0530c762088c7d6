"""The front of accuracy against gates on MNIST, from thirty gates upward, beside what others publish, as one table and picture.

Every circuit is grown by the settings that `ordinate logic grow` takes, chosen by validation, and reads the test images once.
Circuits stay in a folder with a checkpoint each, so that an interrupted run goes on and a second run only draws.

    python bench/logic_front.py --data ../shared/data/mnist --folder front --figure front.svg
    python bench/logic_front.py --data ../shared/data/mnist --folder front --sizes 30,100     # some of the sizes
    python bench/logic_front.py --folder front --figure front.svg                             # draws what is there
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from ordinate.atomic_io import atomic_write, save_figure
from ordinate.data import digits
from ordinate.lab.machine import machine
from ordinate.logic import GrowthSettings, equivalent, grow, map_luts

SETTINGS = {
    "30": GrowthSettings.usual(30),
    "100": GrowthSettings.usual(100),
    "300": GrowthSettings.usual(300),
    "1000": GrowthSettings.usual(1000),
    "3000": GrowthSettings.usual(3000),
    "6000": GrowthSettings.usual(6000),
    "features": GrowthSettings.usual(19_000, copies=8, kernels=16, replacements=0),
}
EARLIER = ((2_950, 0.9809), (5_289, 0.9849))
"""Grown before the first sizes here were, when all pairs were scored on all examples; `docs/logic.md` has them."""
PUBLISHED = (
    ("LILogicNet", 8_000, 0.9845),
    ("LILogicNet", 32_000, 0.9895),
    ("convolutional LGN", 147_000, 0.9846),
    ("tree LGN", 566_000, 0.9923),
)
"""As quoted, not read in the papers by us: LILogicNet (light gates, learned wiring), Petersen et al. 2024, arXiv 2411.04732."""


def measured(name: str, settings: GrowthSettings, data: Path, folder: Path) -> dict[str, Any]:
    """Grow one circuit, or go on with it, and read the test images."""
    known = digits(data)
    parts = [(part.images, part.labels) for part in (known.train, known.validation)]

    def show(report: Any) -> None:
        print(f"{name}: {report.gates} gates, validation {report.validation_accuracy:.2%}", file=sys.stderr)

    grown = grow(*parts, known.threshold, settings, checkpoint=folder / f"{name}.growth.json", on_round=show)
    circuit = grown.circuit
    circuit.save(folder / f"{name}.circuit.json")

    def accuracy(part: Any) -> float:
        return float((circuit.predict(part.bits(known.threshold)) == part.labels).mean())

    luts = {inputs: map_luts(circuit, inputs) for inputs in (4, 6)}
    # the gates against both sets of tables, written out row by row; large ones take the solver too long
    proven = circuit.num_gates <= 1000 and all(
        equivalent(circuit, mapped.to_luts().to_circuit(by_rows=True), conflicts=20_000).equal is True
        for mapped in luts.values()
    )
    return {
        "name": name,
        "gates": circuit.num_gates,
        "lut4": len(luts[4].luts),
        "lut6": len(luts[6].luts),
        "proven": proven,
        "votes": circuit.num_votes,
        "kernels": settings.kernels,
        "validation": accuracy(known.validation),
        "test": accuracy(known.test),
        "growth_cpu_seconds": round(grown.rounds[-1].cpu_seconds, 1),
        "date": time.strftime("%Y-%m-%d"),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder of MNIST's IDX files; without it only what is there is drawn")
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--sizes", default=",".join(SETTINGS))
    parser.add_argument("--figure", type=Path)
    asked = parser.parse_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    rows = []
    for name in asked.sizes.split(","):
        place = asked.folder / f"{name}.json"
        if not place.is_file() and asked.data is not None:
            atomic_write(place, json.dumps(measured(name, SETTINGS[name], asked.data, asked.folder)))
        if place.is_file():
            rows.append(json.loads(place.read_text()))
    print(f"MNIST, pixel above 95, 10,000 test images read once by each, {machine()}")
    print("| grown | gates | LUT4 | LUT6 | proven | votes | validation | test | CPU seconds | date |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for row in rows:
        kind = f"on {row['kernels']} kernels" if row["kernels"] else "on pixels"
        counts = f"{row['gates']:,} | {row['lut4']:,} | {row['lut6']:,} | {'yes' if row['proven'] else 'not tried'}"
        counts += f" | {row['votes']:,} | {row['validation']:.2%} | {row['test']:.2%}"
        print(f"| {kind} | {counts} | {row['growth_cpu_seconds']:,.0f} | {row['date']} |")
    for gates, test in EARLIER:
        print(f"| on pixels, earlier | {gates:,} |  |  |  |  |  | {test:.2%} |  |  |")
    for name, gates, test in PUBLISHED:
        print(f"| {name}, published | {gates:,} |  |  |  |  |  | {test:.2%} |  |  |")
    if asked.figure is not None:
        draw(rows, asked.figure)
    print(json.dumps(rows))


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    """Test error against gates, both on logarithmic axes."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4.2), layout="constrained")
    axes = figure.subplots()
    for kernels, colour, marker, label in ((0, "#0072b2", "o", "grown on pixels"), (1, "#d55e00", "s", "grown on features")):
        own = sorted((row["gates"], 100 * (1 - row["test"])) for row in rows if bool(row["kernels"]) == bool(kernels))
        if own:
            axes.plot(*np.array(own).T, color=colour, marker=marker, label=f"ordinate, {label}")
    axes.plot(*np.array([(n, 100 * (1 - t)) for n, t in EARLIER]).T, color="#0072b2", marker="o", fillstyle="none",
              label="ordinate, grown earlier")  # fmt: skip
    for name, gates, test in PUBLISHED:
        axes.plot(gates, 100 * (1 - test), color="#777777", marker="^", linestyle="none")
        axes.annotate(f"{name}\n{test:.2%}", (gates, 100 * (1 - test)), xytext=(6, 4), textcoords="offset points", fontsize=8)
    axes.set(xscale="log", yscale="log", xlabel="two-input gates (votes are counted by adders)", ylabel="test error, %")
    axes.set_yticks([1, 2, 5, 10, 20, 50], ["1", "2", "5", "10", "20", "50"])
    axes.set_xlim(20, 4e6)
    axes.set_xticks([30, 100, 1_000, 10_000, 100_000, 1_000_000], ["30", "100", "1,000", "10,000", "100,000", "1 M"])
    axes.minorticks_off()
    axes.grid(axis="y", linewidth=0.5)
    axes.legend(frameon=False)
    save_figure(figure, path)


if __name__ == "__main__":
    main()
