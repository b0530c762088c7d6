"""A cell's name follows from every one of its settings and from nothing else."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys

import pytest

from ordinate.errors import ArgumentError, ArgumentTypeError
from ordinate.sweep import cell as module
from ordinate.sweep.cell import Cell

OTHER = {
    "task": "copy", "encoding": "alibi", "seed": 1, "study": "probe", "train_length": 16, "test_lengths": (64, 128),
    "layers": 3,
    "dim": 128, "heads": 2, "steps": 7, "batch_rows": 8, "learning_rates": (1e-3,), "tested_rows": 3, "corpus": "ab",
    "source": "0123456789abcdef",
}  # fmt: skip


def test_every_setting_changes_the_name() -> None:
    first = Cell("k-back", "rope", 0)
    assert set(OTHER) == {field.name for field in dataclasses.fields(Cell)}
    names = {first.key}
    for setting, value in OTHER.items():
        names.add(dataclasses.replace(first, **{setting: value} | ({"test_lengths": (16,)} if value == 16 else {})).key)
    assert len(names) == len(OTHER) + 1


def test_another_version_is_another_name(monkeypatch: pytest.MonkeyPatch) -> None:
    before = Cell("k-back", "rope", 0).key
    monkeypatch.setattr(module, "FORMAT", "ordinate.sweep/2")
    assert Cell("k-back", "rope", 0).key != before


def test_a_cell_survives_json() -> None:
    cell = Cell("text", "fire", 3, learning_rates=(1e-3, 3e-3), corpus="0123")
    assert Cell.from_dict(json.loads(json.dumps(cell.to_dict()))) == cell


def test_other_fields_are_refused() -> None:
    with pytest.raises(ArgumentError, match="settings: expected the fields"):
        Cell.from_dict({"task": "text", "flavour": 1})


@pytest.mark.parametrize("lengths", [(64, 100), (128, 256), (64, 256, 128), (64, 64), ()])
def test_lengths_that_are_no_rising_multiples_are_refused(lengths: tuple[int, ...]) -> None:
    with pytest.raises(ArgumentError, match=r"test_lengths: expected rising multiples of the training length, 64 itself first"):
        Cell("k-back", "rope", 0, test_lengths=lengths)


def test_sizes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ArgumentError, match="dim: expected an even number of channels for each of 4 heads, got 36"):
        Cell("k-back", "rope", 0, dim=36)
    with pytest.raises(ArgumentError, match="steps: expected an integer of at least 1, got 0"):
        Cell("k-back", "rope", 0, steps=0)
    with pytest.raises(ArgumentTypeError, match="layers: expected an integer of at least 1, got float"):
        Cell("k-back", "rope", 0, layers=2.0)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="learning_rates: expected rates"):
        Cell("k-back", "rope", 0, learning_rates=())
    with pytest.raises(ArgumentError, match="study: expected one of lengths, extension, probe"):
        Cell("k-back", "rope", 0, study="breadth")


def test_cells_and_presets_are_listed_without_torch() -> None:
    script = "import sys; from ordinate.sweep.presets import FULL; FULL.cells('0'); print('torch' in sys.modules)"
    told = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "False"
