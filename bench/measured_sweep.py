"""What `ordinate choose` quotes where no sweep of one's own is given, written anew from a finished default sweep.

    ordinate sweep --out sweep
    python bench/measured_sweep.py sweep

Writes `src/ordinate/sweep/measured.json`: the tables that `ordinate sweep --show --json` prints, and where they were made.
"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path

from ordinate.sweep.presets import DEFAULT
from ordinate.sweep.store import Store
from ordinate.sweep.summary import summarise
from ordinate.sweep.tables import to_json

TARGET = Path(__file__).resolve().parents[1] / "src" / "ordinate" / "lab" / "sweep" / "measured.json"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="of a finished default sweep")
    records = Store(parser.parse_args().folder).read()
    seeds = sorted({record["settings"]["seed"] for record in records})
    tasks = {record["settings"]["task"] for record in records}
    if tasks != set(DEFAULT.tasks) or len(seeds) != DEFAULT.seeds:
        parser.error(f"this is no finished default sweep: tasks {sorted(tasks)}, seeds {seeds}")
    last = max(records, key=lambda record: record["finished"])
    machine, versions = last["machine"], last["versions"]
    source = (
        f"the default sweep, `ordinate sweep`, seeds {seeds[0]} to {seeds[-1]}, finished {last['finished'][:10]} "
        f"on a core of {machine['processor']} with Python {versions['python']} and torch {versions['torch']}"
    )
    draft = TARGET.with_suffix(".part")
    draft.write_text(json.dumps({"source": source, "tables": to_json(summarise(records))}, indent=1, ensure_ascii=False) + "\n")
    os.replace(draft, TARGET)
    print(json.dumps({"cells": len(records), "source": source}))


if __name__ == "__main__":
    main()
