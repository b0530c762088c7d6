"""Tables of a sweep as plain rows: for a terminal, for JSON, for CSV, and for the lab's report.

Encodings stay in the order of the sweep, and none is ranked over all tasks. In a terminal's cell, `+` says that the whole
context beats the cut one, `-` that it is worse, and a star that no encoding is better at that length by more than two
spreads.
"""

from __future__ import annotations

import csv
import io
import math
import statistics
from collections.abc import Sequence
from typing import Any

from ordinate.sweep.summary import Line, Spread, Table

__all__ = ["LEGEND", "extension_rows", "headings", "line_cells", "notes", "probe_rows", "to_csv", "to_json"]

LEGEND = (
    "mean ± spread over seeds, on the same last targets at every length; + or -: better or worse than the same model with its "
    "context cut to the training length, by more than two spreads; *: no encoding is better at this length by more than two "
    "spreads. The first column is mostly speed of learning: do not rank on it."
)
_SIGNS = {"better": "+", "worse": "-", "tie": ""}


def headings(table: Table) -> list[str]:
    """Of the columns that `line_cells` fills."""
    first, *others = table.lengths
    columns = ["encoding", f"{first:,}", *(f"{n:,}" for n in others), f"{others[-1]:,}, cut" if others else "cut"]
    return [*columns, f"{table.lengths[-1]:,}, whole window"]


def line_cells(table: Table, line: Line) -> list[str]:
    """One encoding in words: a score for each length, the cut context at the longest, the whole window's mean there."""
    first, *others = table.lengths
    if not line.last[first]:
        worst = max(line.outcomes, key=lambda status: line.outcomes[status])
        return [line.encoding, worst, *("" for _ in others), "", ""]
    cells = [line.encoding, _text(line.last[first])]
    for n in others:
        if n in line.beyond:
            cells.append(f"no table; clamped {_text(line.clamped[n])}")
            continue
        cells.append(_text(line.last[n]) + _SIGNS[line.gains[n]] + ("*" if n in line.tied_with_best else ""))
    last = table.lengths[-1]
    return [*cells, _text(line.cut[last]), _text(line.whole[last])]


def notes(table: Table) -> list[str]:
    """What has to be said of single encodings: seeds that did not learn, tables that end, tuned temperatures."""
    said = []
    for line in table.lines:
        failed = {status: count for status, count in line.outcomes.items() if status != "scored"}
        if failed:
            failures = ", ".join(
                f"{status} with {count} of {sum(line.outcomes.values())} seeds" for status, count in failed.items()
            )
            said.append(f"{line.encoding}: {failures} ({line.reason})")
        if line.beyond:
            said.append(
                f"{line.encoding}: cannot go past its table of {table.train_length:,}; with the nearest learned vector instead "
                "it is another model, scored apart as clamped"
            )
        if line.temperature:
            tuned = ", ".join(f"{value:.2f} at {n:,}" for n, value in line.temperature.items())
            said.append(f"{line.encoding}: scores times {tuned} (mean of the seeds, chosen on validation rows)")
    return said


def to_json(tables: Sequence[Table]) -> list[dict[str, Any]]:
    """Every number of the tables as plain JSON types."""
    return [
        {
            "task": table.task,
            "unit": table.unit,
            "train_length": table.train_length,
            "test_lengths": list(table.lengths),
            "model": table.model,
            "chance": {str(n): _number(value) for n, value in table.chance.items()},
            "learned_at": _number(table.learned_at),
            "encodings": [
                {
                    "encoding": line.encoding,
                    "outcomes": line.outcomes,
                    "reason": line.reason,
                    "lengths": {str(n): _point(line, n) for n in table.lengths},
                    "depth": {str(n): [_number(x) for x in row] for n, row in table.depth.get(line.encoding, {}).items()},
                }
                for line in table.lines
            ],
        }
        for table in tables
    ]


def _point(line: Line, n: int) -> dict[str, Any]:
    result: dict[str, Any] = {"beyond_its_table": n in line.beyond}
    for name, spreads in (("last", line.last), ("whole_window", line.whole), ("cut", line.cut), ("clamped", line.clamped)):
        spread = spreads[n]
        result[name] = {"mean": spread.mean, "spread": _number(spread.spread), "seeds": len(spread.values)} if spread else None
    return result | {"against_cut": line.gains.get(n), "none_better": n in line.tied_with_best}


def to_csv(tables: Sequence[Table]) -> str:
    """One line for every task, encoding and length."""
    out = io.StringIO()
    fields = ("last", "last_spread", "cut", "cut_spread", "clamped", "whole_window")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(
        [
            "task",
            "unit",
            "train_length",
            "test_length",
            "encoding",
            "outcome",
            "seeds_scored",
            *fields,
            "against_cut",
            "none_better",
        ]
    )
    for table in tables:
        for line in table.lines:
            for n in table.lengths:
                last, cut, clamped, whole = line.last[n], line.cut[n], line.clamped[n], line.whole[n]
                numbers = [last.mean, last.spread, cut.mean, cut.spread, clamped.mean, whole.mean]
                texts = ["" if math.isnan(value) else f"{value:.6f}" for value in numbers]
                outcome = "; ".join(f"{status} {count}" for status, count in line.outcomes.items())
                head = [table.task, table.unit, table.train_length, n, line.encoding, outcome, line.outcomes.get("scored", 0)]
                writer.writerow([*head, *texts, line.gains.get(n, ""), "yes" if n in line.tied_with_best else ""])
    return out.getvalue()


def extension_rows(records: Sequence[dict[str, Any]]) -> tuple[list[str], list[list[str]]]:
    """Headings and rows of the extensions of a trained rotary model: bits at each length, zero-shot and fine-tuned."""
    done = [r["result"] for r in records if r["settings"]["study"] == "extension" and r["result"]["status"] == "scored"]
    if not done:
        return [], []
    lengths = list(done[0]["extended"])
    columns = ["scaling", *(f"{int(n):,}, {how}" for n in lengths for how in ("zero-shot", "fine-tuned"))]
    rows = []
    for name in min((one["extended"][lengths[0]] for one in done), key=len):  # results of before DroPE lack it
        cells = [
            _text_of([one["extended"][n][name][how] for one in done]) for n in lengths for how in ("zero_shot", "fine_tuned")
        ]
        rows.append([name, *cells])
    cut = [_text_of([one["truncated"][n] for one in done]) for n in lengths]
    return columns, [*rows, ["cut context", *(cell for one in cut for cell in (one, ""))]]


def probe_rows(records: Sequence[dict[str, Any]]) -> tuple[list[str], list[list[str]]]:
    """Headings and rows of the probes: held-out R^2 of the position, by case and layer."""
    done = [r["result"]["r2"] for r in records if r["settings"]["study"] == "probe" and r["result"]["status"] == "scored"]
    if not done:
        return [], []
    layers = len(next(iter(done[0].values())))
    columns = ["model", "embedding", *(f"layer {number}" for number in range(1, layers))]
    rows = [[case, *(_text_of([one[case][layer] for one in done]) for layer in range(layers))] for case in done[0]]
    return columns, rows


def _text_of(values: Sequence[float]) -> str:
    return _text(Spread(dict(enumerate(values))))


def _text(spread: Spread) -> str:
    if not spread:
        return ""
    if len(spread.values) == 1:
        return f"{statistics.fmean(spread.values.values()):.2f}"
    return f"{spread.mean:.2f} ± {spread.spread:.2f}"


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None
