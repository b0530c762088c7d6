"""Circuits placed and routed on a chip of each family: tables, registers, clock, latency, what was simulated and proven.

    bench/chips.py CIRCUIT.json ... --data mnist [--chips up5k,ecp5-25k] [--counting auto]

A row is printed as soon as it is there; those that a file of rows (`--rows`) holds already are not built again.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from datetime import date
from pathlib import Path

from ordinate.cli.logic.circuit_images import test_images
from ordinate.errors import OrdinateError
from ordinate.logic import Circuit
from ordinate.logic.chip.fpga import build

CHIPS = "hx8k,up5k,ecp5-25k,gw1nr-9c,gw2ar-18c,ccgm1a1"
COLUMNS = (
    *("circuit", "gates", "chip", "counting", "luts", "flip_flops", "logic_cells", "max_mhz", "latency_clocks"),
    *("netlist_simulated", "wrong", "proven"),
)


def main() -> None:
    """Build and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("circuits", nargs="+", type=Path)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--chips", default=CHIPS)
    parser.add_argument("--counting", default="auto")
    parser.add_argument("--rows", type=Path, help="a file of rows, one JSON object a line, which grows")
    options = parser.parse_args()
    rows = []
    if options.rows and options.rows.is_file():
        rows = [json.loads(line) for line in options.rows.read_text(encoding="utf-8").splitlines()]
    print("| " + " | ".join(COLUMNS) + " |\n|" + "---|" * len(COLUMNS))
    for path in options.circuits:
        circuit = Circuit.load(path)
        bits = test_images(circuit, options.data, None, check=False).bits
        for chip in options.chips.split(","):
            row = next((row for row in rows if (row["circuit"], row["chip"]) == (path.stem, chip)), None)
            if row is None:
                row = _row(circuit, path.stem, chip, bits, options.counting)
                rows.append(row)
                if options.rows:
                    with options.rows.open("a", encoding="utf-8") as file:
                        file.write(json.dumps(row) + "\n")
            print("| " + " | ".join(_text(row.get(name, "")) for name in COLUMNS) + " |", flush=True)
    print(json.dumps({"rows": rows}))


def _row(circuit: Circuit, name: str, chip: str, bits: object, counting: str) -> dict[str, object]:
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        try:
            report = build(circuit, folder, chip=chip, bits=bits, counting=counting)  # type: ignore[arg-type]
        except OrdinateError as error:
            return {"circuit": name, "gates": circuit.num_gates, "chip": chip, "refused": str(error).replace(folder, "DIR")}
        record = report.to_dict()
        del record["folder"]
    seconds = round(time.perf_counter() - start)
    return {"circuit": name, **record, "date": date.today().isoformat(), "wall_seconds": seconds}


def _text(value: object) -> str:
    return f"{value:,.1f}" if isinstance(value, float) else f"{value:,}" if type(value) is int else str(value)


if __name__ == "__main__":
    main()
