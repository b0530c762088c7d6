"""What `ordinate choose` and `ordinate sweep --family NAME --measured` show, written anew from finished sweeps.

    ordinate sweep --out sweep                              python bench/measured_sweep.py sweep
    ordinate sweep --family recent --out recent             python bench/measured_sweep.py recent --family recent

Without `--family` it writes `measured.json`, the tables that `ordinate sweep --show --json` prints; with it, the records of the
family's finished tasks into `measured_families.json`, without their losses. Both say where and when they were made.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from ordinate.atomic_io import atomic_write
from ordinate.sweep.presets import DEFAULT, FAMILIES
from ordinate.sweep.store import Store
from ordinate.sweep.summary import summarise
from ordinate.sweep.tables import to_json

FOLDER = Path(__file__).resolve().parents[1] / "src" / "ordinate" / "sweep"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="of a finished sweep")
    parser.add_argument("--family", choices=list(FAMILIES))
    arguments = parser.parse_args()
    preset = FAMILIES.get(arguments.family, DEFAULT)
    records = Store(arguments.folder).read()
    if arguments.family:
        records = [record for record in records if record["settings"]["study"] in preset.studies]
        wanted = len(preset.cells("-")) // len(preset.tasks)
        counts = [record["settings"]["task"] for record in records]
        records = [record for record in records if counts.count(record["settings"]["task"]) == wanted]
    seeds = sorted({record["settings"]["seed"] for record in records})
    tasks = {record["settings"]["task"] for record in records}
    if not records or len(seeds) != preset.seeds or (not arguments.family and tasks != set(preset.tasks)):
        parser.error(f"this is no finished sweep: tasks {sorted(tasks)}, seeds {seeds}")
    last = max(records, key=lambda record: record["finished"])
    machine, versions = last["machine"], last["versions"]
    what = f"`ordinate sweep --family {arguments.family}`" if arguments.family else "the default sweep, `ordinate sweep`"
    source = (
        f"{what}, seeds {seeds[0]} to {seeds[-1]}, finished {last['finished'][:10]} "
        f"on a core of {machine['processor']} with Python {versions['python']} and torch {versions['torch']}"
    )
    if arguments.family:
        target = FOLDER / "measured_families.json"
        kept = json.loads(target.read_text(encoding="utf-8"))
        kept[arguments.family] = {"source": source, "records": [shortened(record) for record in records]}
    else:
        target, kept = FOLDER / "measured.json", {"source": source, "tables": to_json(summarise(records))}
    atomic_write(target, json.dumps(kept, indent=1, ensure_ascii=False) + "\n")
    print(json.dumps({"cells": len(records), "source": source}))


def shortened(record: dict[str, Any]) -> dict[str, Any]:
    """A record without what no table shows."""
    left_out = {"losses", "seconds", "tokens", "tokens_per_second", "unit_of_loss"}
    result = {name: value for name, value in record["result"].items() if name not in left_out}
    return {"format": record["format"], "key": record["key"], "settings": record["settings"], "result": result}


if __name__ == "__main__":
    main()
