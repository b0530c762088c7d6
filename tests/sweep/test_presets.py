"""A preset is its cells: every task with every encoding and seed, each once."""

from __future__ import annotations

from collections import Counter

import pytest

from ordinate.errors import ArgumentError
from ordinate.sweep.encodings import ENCODINGS, entry
from ordinate.sweep.presets import DEFAULT, FAMILIES, FULL, QUICK
from ordinate.sweep.tasks import TASKS


def test_quick_is_lookup_and_k_back_with_eight_encodings_and_three_seeds() -> None:
    counted = Counter((cell.task, cell.encoding) for cell in QUICK.cells())
    assert {task for task, _ in counted} == {"lookup", "k-back"}
    assert len(counted) == 2 * 8
    assert set(counted.values()) == {3}


def test_the_default_adds_text() -> None:
    assert {cell.task for cell in DEFAULT.cells("0")} == {"lookup", "k-back", "text"}
    assert set(QUICK.cells()) <= set(DEFAULT.cells("0"))


def test_full_has_every_task_and_encoding_four_layers_two_lengths_five_seeds_and_a_grid_of_rates() -> None:
    cells = FULL.cells("0")
    swept = [cell for cell in cells if cell.study == "lengths"]
    assert {cell.task for cell in swept} == set(TASKS)
    assert {cell.encoding for cell in swept} == set(ENCODINGS)
    assert len({cell.train_length for cell in cells}) == 2
    assert {cell.layers for cell in cells} == {4}
    assert len({cell.seed for cell in cells}) == 5
    assert all(len(cell.learning_rates) > 1 for cell in cells)
    assert {cell.study for cell in cells} == {"lengths", "extension", "probe"}
    assert len({cell.key for cell in cells}) == len(cells)


def test_changes_leave_what_is_not_named() -> None:
    changed = QUICK.but(seeds=1, tasks=None)
    assert changed.tasks == QUICK.tasks
    assert len(changed.cells()) == 16
    assert {cell.seed for cell in QUICK.but(first_seed=40, seeds=2).cells()} == {40, 41}


def test_nothing_to_do_is_refused() -> None:
    with pytest.raises(ArgumentError, match="seeds: expected an integer of at least 1"):
        QUICK.but(seeds=0).cells()
    with pytest.raises(ArgumentError, match="encodings: expected each once"):
        QUICK.but(encodings=("rope", "rope")).cells()
    with pytest.raises(ArgumentError, match="tasks: expected at least one"):
        QUICK.but(tasks=()).cells()


def test_families_are_made_of_known_tasks_and_encodings_and_each_has_three_seeds() -> None:
    for name, preset in FAMILIES.items():
        cells = preset.cells("0")
        assert preset.name == name
        assert {cell.seed for cell in cells} == {0, 1, 2}
        assert {cell.task for cell in cells} <= set(TASKS)
        assert all(entry(cell.encoding).name == cell.encoding for cell in cells)
    assert {cell.study for cell in FAMILIES["drop"].cells("0")} == {"extension"}
