"""A folder of results: whole files or none, found again, merged by copying, and nothing foreign is taken for a result."""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ordinate.errors import DataError, OutputError
from ordinate.sweep.cell import Cell
from ordinate.sweep.store import Store

Make = Callable[..., dict[str, Any]]


def test_what_is_written_can_be_read_again(tmp_path: Path, record: Make) -> None:
    store, told = Store(tmp_path / "new" / "folder"), record("rope", 0, {64: 1.0, 128: 0.5})
    cell = Cell.from_dict(told["settings"])
    assert not store.has(cell)
    assert store.write(told).name == f"{cell.key}.json"
    assert store.has(cell)
    assert store.read([cell]) == [told]
    assert store.read() == [told]


def test_folders_are_merged_by_copying(tmp_path: Path, record: Make) -> None:
    one, other = Store(tmp_path / "one"), Store(tmp_path / "other")
    rows = [record(name, seed, {64: 1.0, 128: 0.5}) for name in ("alibi", "rope", "sandwich") for seed in (0, 1)]
    for place, row in enumerate(rows):
        (one if place % 2 else other).write(row)
    one.write(rows[0])  # both have it, and it is the same
    for path in other.folder.iterdir():
        shutil.copy(path, one.folder)
    assert one.read() == rows


def test_half_written_files_are_not_read(tmp_path: Path, record: Make) -> None:
    store = Store(tmp_path)
    store.write(record("rope", 0, {64: 1.0, 128: 0.5}))
    (tmp_path / "0123-abc.part").write_text('{"format": "ordinate.sw')
    assert len(store.read()) == 1


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_full_disk_is_said_and_leaves_nothing_half(
    call: str, tmp_path: Path, record: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(tmp_path)
    store.write(record("rope", 0, {64: 1.0, 128: 0.5}))

    def full(*arguments: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, call, full)
    with pytest.raises(
        OutputError, match=r"--out: expected a file that can be written, got .*No space left on device: the disk is full"
    ):
        store.write(record("rope", 1, {64: 1.0, 128: 0.5}))
    assert [path.suffix for path in tmp_path.iterdir()] == [".json"]


def test_a_place_that_cannot_be_written_to_is_refused_before_any_work(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="--out"):
        Store(tmp_path / "file").prove_writable()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            lambda told: told.update(format="ordinate.sweep/0"),
            "a result of version ordinate.sweep/1, got ordinate.sweep/0; move",
        ),
        (lambda told: told.pop("format"), "got no version"),
        (lambda told: told["settings"].update(flavour=1), "settings and a result"),
        (lambda told: told["settings"].update(seed=9), "the name of its settings"),
        (lambda told: told.pop("result"), "settings and a result"),
    ],
)
def test_a_file_that_is_no_result_of_this_version_is_refused(
    change: Callable[[dict[str, Any]], Any], said: str, tmp_path: Path, record: Make
) -> None:
    store = Store(tmp_path)
    told = record("rope", 0, {64: 1.0, 128: 0.5})
    path = store.write(told)
    change(told)
    path.write_text(json.dumps(told))
    with pytest.raises(DataError, match=said):
        store.read()


def test_a_file_that_is_no_json_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("{")
    with pytest.raises(DataError, match="a result in JSON"):
        Store(tmp_path).read()
