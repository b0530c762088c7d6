"""Do wide nodes pay in C? What a compiler makes of gates and of tables of four and six inputs, counted in its instructions.

Packed words are combined by and, or, xor; AVX-512 has one instruction of any function of three words (vpternlog). So a table of
more inputs is run as the gates that it is made of, and what is left to win is joining two gates into one instruction. The same
circuit, a table network trained on scikit-learn's digits, is emitted and compiled with and without that instruction.

    python bench/logic_wide_nodes.py                     # needs gcc, on x86-64
    python bench/logic_wide_nodes.py --circuit c.json    # any circuit
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from ordinate.data import digits
from ordinate.lab.machine import machine
from ordinate.logic import Circuit, InputThresholds, TrainingSettings, lut_circuit, map_luts, simplify
from ordinate.logic.classifier import train_on_table

LOGIC = re.compile(r"^\s+v?p?(?:and|andn|or|xor|ternlog)[dqps]*\s", re.MULTILINE)
FLAGS = {"AVX2": ["-mavx2"], "AVX-512": ["-mavx512f"]}


def instructions(circuit: Circuit) -> dict[str, int]:
    """Logical instructions of the whole C file, adders of votes included, by what the machine has."""
    result = {}
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "circuit.c"
        source.write_text(circuit.to_c("circuit"))
        for name, flags in FLAGS.items():
            asked = ["gcc", "-std=c99", "-O3", *flags, "-S", "-o", "-", str(source)]
            text = subprocess.run(asked, check=True, capture_output=True, text=True).stdout
            result[name] = len(LOGIC.findall(text))
            result[f"{name} ternary"] = text.count("pternlog")
    return result


def trained(k: int, nodes: int) -> tuple[Circuit, int]:
    """A network of such tables, in gates, and how many tables it has."""
    known = digits()
    parts = [(part.images.reshape(len(part), -1), part.labels) for part in (known.train, known.validation)]
    codes = InputThresholds.thermometer(parts[0][0], 3)
    settings = TrainingSettings(epochs=10, batch_size=64, learning_rate=0.05, patience=10)
    network = train_on_table(*parts, codes, (2 * nodes // 3 // 10 * 10, nodes // 3 // 10 * 10), 10, settings, k=k).network
    return simplify(Circuit.from_network(network), sat=False).circuit, lut_circuit(network).num_tables


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--circuit", type=Path)
    asked = parser.parse_args()
    circuits = [("of the file", Circuit.load(asked.circuit), 0)] if asked.circuit else []
    for k, nodes in () if asked.circuit else ((2, 900), (4, 450), (6, 300)):
        circuits.append((f"{k} inputs", *trained(k, nodes)))
        print(f"trained: {k}", file=sys.stderr)
    rows: list[dict[str, Any]] = []
    for name, circuit, tables in circuits:
        row = {"nodes": name, "tables": tables, "gates": circuit.num_gates, "lut3": len(map_luts(circuit, 3).luts)}
        rows.append(row | instructions(circuit))
    print(machine())
    print("| nodes | own tables | gates | tables of three | AVX2 | AVX-512 | of these vpternlog |")
    print("|---|---|---|---|---|---|---|")
    for row in rows:
        counts = (row[name] for name in ("tables", "gates", "lut3", "AVX2", "AVX-512", "AVX-512 ternary"))
        print(f"| {row['nodes']} | {' | '.join(f'{count:,}' for count in counts)} |")
    print(json.dumps(rows))


if __name__ == "__main__":
    main()
