"""Circuits placed and routed on a chip of each family: tables, registers, clock, latency, what was simulated and proven.

    bench/chips.py CIRCUIT.json ... --data mnist [--chips up5k,ecp5-25k] [--counting tree,compressors] [--stages 0,4,8]
    bench/chips.py CIRCUIT.json --table rows.csv --label class --dtype bits,fixed

Every circuit is built on every chip in every asked way: `--counting` and `--stages` as in `ordinate logic fpga` (0 for a
register after every adder), `--dtype` with the encoder on the chip (uint8 for images) or without it (bits). A row is printed as
soon as it is there; those that a file of rows (`--rows`) holds already are not built again.
"""

from __future__ import annotations

import argparse
import itertools
import json
import tempfile
import time
from datetime import date
from pathlib import Path
from typing import Any

from ordinate.cli.logic.circuit_images import test_images
from ordinate.cli.logic.emit import number_form
from ordinate.cli.logic.tables import circuit_rows
from ordinate.errors import OrdinateError
from ordinate.logic import Circuit
from ordinate.logic.chip.fpga import build

CHIPS = "hx8k,up5k,ecp5-25k,gw1nr-9c,gw2ar-18c,ccgm1a1"
KEY = ("circuit", "chip", "asked", "stages", "dtype")
COLUMNS = (
    *("circuit", "gates", "chip", "counting", "stages", "dtype", "luts", "flip_flops", "logic_cells", "max_mhz"),
    *("estimated_mhz", "latency_clocks", "netlist_simulated", "wrong", "proven"),
)


def main() -> None:
    """Build and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("circuits", nargs="+", type=Path)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--table", type=Path)
    parser.add_argument("--label")
    parser.add_argument("--chips", default=CHIPS)
    parser.add_argument("--counting", default="auto")
    parser.add_argument("--stages", default="0")
    parser.add_argument("--dtype", default="bits")
    parser.add_argument("--rows", type=Path, help="a file of rows, one JSON object a line, which grows")
    options = parser.parse_args()
    rows = []
    if options.rows and options.rows.is_file():
        rows = [json.loads(line) for line in options.rows.read_text(encoding="utf-8").splitlines()]
    print("| " + " | ".join(COLUMNS) + " |\n|" + "---|" * len(COLUMNS))
    for path in options.circuits:
        circuit = Circuit.load(path)
        if options.table:
            numbers = circuit_rows(circuit, options.table, options.label, "refuse")[0]
        else:
            numbers = test_images(circuit, options.data, None, check=False).numbers
        asked = (options.chips, options.counting, options.stages, options.dtype)
        for chip, counting, stages, dtype in itertools.product(*(one.split(",") for one in asked)):
            key = dict(zip(KEY, (path.stem, chip, counting, int(stages), dtype), strict=True))
            row = next((row for row in rows if all(row[name] == value for name, value in key.items())), None)
            if row is None:
                row = key | _row(circuit, numbers, chip, counting, int(stages) or None, dtype)
                rows.append(row)
                if options.rows:
                    with options.rows.open("a", encoding="utf-8") as file:
                        file.write(json.dumps(row) + "\n")
            print("| " + " | ".join(_text(row.get(name, "")) for name in COLUMNS) + " |", flush=True)
    print(json.dumps({"rows": rows}))


def _row(circuit: Circuit, numbers: Any, chip: str, counting: Any, stages: int | None, dtype: str) -> dict[str, object]:
    start = time.perf_counter()
    options: dict[str, Any] = {}
    rows = numbers if circuit.inputs is None else circuit.inputs.bits(numbers)
    with tempfile.TemporaryDirectory() as folder:
        try:
            if dtype != "bits":
                form = number_form(circuit, dtype, numbers, True)
                options, rows = {"number": form.number, "thresholds": form.moved.inputs}, numbers
            report = build(circuit, folder, chip=chip, bits=rows, counting=counting, stages=stages, **options)
        except OrdinateError as error:
            return {"gates": circuit.num_gates, "refused": str(error).replace(folder, "DIR")}
        record = report.to_dict()
        del record["folder"], record["chip"]
    seconds = round(time.perf_counter() - start)
    return {**record, "date": date.today().isoformat(), "wall_seconds": seconds}


def _text(value: object) -> str:
    return f"{value:,.1f}" if isinstance(value, float) else f"{value:,}" if type(value) is int else str(value)


if __name__ == "__main__":
    main()
