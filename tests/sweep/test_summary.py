"""Means, spreads and ties over seeds; what did not learn is never averaged in, and nothing is ranked over tasks."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable
from typing import Any

import pytest

from ordinate.sweep.summary import Spread, summarise, ties
from ordinate.sweep.tables import extension_rows, headings, line_cells, notes, probe_rows, to_csv, to_json

Make = Callable[..., dict[str, Any]]


def many(record: Make, encoding: str, values: list[tuple[float, float]], **told: Any) -> list[dict[str, Any]]:
    return [record(encoding, seed, {64: first, 128: second}, **told) for seed, (first, second) in enumerate(values)]


def test_mean_and_spread_are_the_samples() -> None:
    assert Spread({0: 1.0, 1: 2.0, 2: 3.0}).mean == 2.0
    assert Spread({0: 1.0, 1: 2.0, 2: 3.0}).spread == 1.0
    assert math.isnan(Spread({0: 1.0}).spread)
    assert not Spread({})


@pytest.mark.parametrize(
    ("one", "other", "tied"),
    [
        ({0: 0.1, 1: 0.5, 2: 0.9}, {0: 0.2, 1: 0.6, 2: 1.0}, False),  # apart by 0.1 with every seed
        ({0: 0.1, 1: 0.5, 2: 0.9}, {0: 0.9, 1: 0.5, 2: 0.2}, True),
        ({0: 0.5, 1: 0.5, 2: 0.5}, {0: 0.5, 1: 0.5, 2: 0.5}, True),
        ({0: 0.5}, {0: 0.9}, True),  # one seed shows no spread
        ({0: 0.1, 1: 0.2}, {2: 0.8, 3: 0.9}, False),
        ({0: 0.1, 1: 0.8}, {2: 0.8, 3: 0.9}, True),
    ],
)
def test_ties_are_within_two_spreads(one: dict[int, float], other: dict[int, float], tied: bool) -> None:
    assert ties(Spread(one), Spread(other)) is tied
    assert ties(Spread(other), Spread(one)) is tied


def test_the_best_and_what_ties_with_it_are_marked_at_each_length_but_the_first(record: Make) -> None:
    rows = many(record, "rope", [(1.0, 0.30), (1.0, 0.32), (1.0, 0.31)])
    rows += many(record, "shaw", [(1.0, 0.98), (1.0, 1.0), (1.0, 0.99)])
    rows += many(record, "xpos", [(1.0, 1.0), (1.0, 0.97), (1.0, 0.99)])
    (table,) = summarise(rows)
    marked = {line.encoding: line.tied_with_best for line in table.lines}
    assert marked == {"rope": (), "shaw": (128,), "xpos": (128,)}
    assert {line.encoding: line.gains[128] for line in table.lines} == {"rope": "worse", "shaw": "better", "xpos": "better"}


def test_for_bits_less_is_better(record: Make) -> None:
    rows = many(record, "rope", [(2.0, 3.0), (2.1, 3.1)], task="text") + many(
        record, "alibi", [(2.0, 2.0), (2.1, 2.1)], task="text"
    )
    (table,) = summarise(rows)
    assert {line.encoding: line.tied_with_best for line in table.lines} == {"rope": (), "alibi": (128,)}
    assert {line.encoding: line.gains[128] for line in table.lines} == {"rope": "worse", "alibi": "worse"}  # cut has 0.5


def test_what_did_not_learn_is_reported_and_not_averaged(record: Make) -> None:
    rows = many(record, "rope", [(1.0, 0.4), (1.0, 0.6)])
    rows.append(record("rope", 2, {64: 0.1, 128: 0.0}, status="not learned", reason="0.100 accuracy"))
    rows.append(record("alibi", 0, status="diverged", reason="the loss left its course at step 3"))
    rows.append(record("axial-rotary", 0, status="cannot", reason="over several axes"))
    (table,) = summarise(rows)
    rope, alibi, axial = table.lines
    assert rope.last[128].mean == pytest.approx(0.5)
    assert rope.outcomes == {"scored": 2, "not learned": 1}
    assert line_cells(table, alibi)[:3] == ["alibi", "diverged", ""]
    assert line_cells(table, axial)[:3] == ["axial-rotary", "cannot", ""]
    assert notes(table) == [
        "rope: not learned with 1 of 3 seeds (0.100 accuracy)",
        "alibi: diverged with 1 of 1 seeds (the loss left its course at step 3)",
        "axial-rotary: cannot with 1 of 1 seeds (over several axes)",
    ]


def test_past_its_table_the_cell_says_so_and_gives_the_clamped_score_apart(record: Make) -> None:
    beyond = {"last": None, "whole": None, "cut": 0.5, "beyond": True, "clamped": 0.25}
    (table,) = summarise([record("learned", seed, {64: 1.0, 128: beyond}) for seed in (0, 1)])
    (line,) = table.lines
    assert line.beyond == (128,)
    assert not line.last[128]
    assert line_cells(table, line)[2] == "no table; clamped 0.25 ± 0.00"
    assert "cannot go past its table of 64" in notes(table)[0]
    assert to_json([table])[0]["encodings"][0]["lengths"]["128"]["last"] is None


def test_a_line_has_a_cell_for_every_heading(record: Make) -> None:
    (table,) = summarise([*many(record, "rope", [(1.0, 0.5), (1.0, 0.4)]), record("alibi", 0, status="cannot", reason="x")])
    assert headings(table) == ["encoding", "64", "128", "128, cut", "128, whole window"]
    assert all(len(line_cells(table, line)) == len(headings(table)) for line in table.lines)


def test_tasks_lengths_and_sizes_are_not_mixed(record: Make) -> None:
    other = record("rope", 0, {64: 1.0, 128: 1.0})
    other["settings"] = {**other["settings"], "layers": 4}
    rows = [record("rope", 0, {64: 1.0, 128: 1.0}), record("rope", 0, {64: 1.0, 128: 1.0}, task="lookup"), other]
    assert len(summarise(rows)) == 3


def test_csv_and_json_hold_every_number(record: Make) -> None:
    (table,) = summarise(many(record, "rope", [(1.0, 0.25), (1.0, 0.75)]))
    lines = list(csv.DictReader(io.StringIO(to_csv([table]))))
    assert [(line["test_length"], float(line["last"])) for line in lines] == [("64", 1.0), ("128", 0.5)]
    assert float(lines[1]["last_spread"]) == pytest.approx(0.5 / math.sqrt(2), abs=1e-6)
    told = json.loads(json.dumps(to_json([table]), allow_nan=False))
    assert told[0]["encodings"][0]["lengths"]["128"]["last"] == {
        "mean": 0.5, "spread": pytest.approx(0.5 / math.sqrt(2)), "seeds": 2,
    }  # fmt: skip


def test_depths_are_averaged_over_seeds(record: Make) -> None:
    def at(row: list[float | None]) -> dict[str, Any]:
        return {"last": 0.5, "whole": 0.5, "cut": 0.5, "beyond": False, "depth": row}

    rows = [record("rope", seed, {64: 1.0, 128: at(row)}) for seed, row in enumerate([[0.0, 1.0], [0.5, None]])]
    (table,) = summarise(rows)
    assert table.depth == {"rope": {128: [0.25, 1.0]}}


def test_extensions_and_probes_have_their_own_tables(record: Make) -> None:
    extended = {"128": {"none": {"zero_shot": 3.0, "fine_tuned": 2.0}}}
    row = record("rope", 0, task="text", extended=extended, truncated={"128": 2.5})
    row["settings"]["study"] = "extension"
    assert extension_rows([row])[1] == [["none", "3.00", "2.00"], ["cut context", "2.50", ""]]
    read = record("none", 0, task="text", r2={"mask, trained": [0.0, 0.3]})
    read["settings"]["study"] = "probe"
    assert probe_rows([read]) == (["model", "embedding", "layer 1"], [["mask, trained", "0.00", "0.30"]])
    assert summarise([row, read]) == []
    assert extension_rows([read]) == probe_rows([row]) == ([], [])
