"""Cells run anywhere: shares are a partition, killed runs go on where they were, and clusters that fail are said so."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ordinate.errors import ArgumentError, MissingExtraError, OutputError
from ordinate.sweep import engine
from ordinate.sweep.cell import Cell
from ordinate.sweep.engine import run_cells, share
from ordinate.sweep.store import Store

SMALL = {"train_length": 16, "test_lengths": (16, 32), "dim": 32, "heads": 2, "layers": 1, "tested_rows": 4}


def cells(count: int, steps: int = 2) -> list[Cell]:
    return [Cell("k-back", "alibi", seed, steps=steps, **SMALL) for seed in range(count)]


def scores(store: Store, wanted: list[Cell]) -> list[object]:
    return [(record["key"], record["result"]["scores"], record["result"]["losses"]) for record in store.read(wanted)]


@pytest.mark.parametrize("count", [1, 2, 3, 7])
def test_shares_are_every_cell_once_and_do_not_move_when_cells_come(count: int) -> None:
    wanted = cells(40)
    parts = [share(wanted, f"{number}/{count}") for number in range(1, count + 1)]
    assert sorted(cell.seed for part in parts for cell in part) == list(range(40))
    assert share(cells(80), f"1/{count}")[: len(parts[0])] == parts[0]


@pytest.mark.parametrize("wrong", ["0/2", "3/2", "1", "a/b", "1/0", "-1/2", ""])
def test_a_share_that_is_none_is_refused(wrong: str) -> None:
    with pytest.raises(ArgumentError, match="--shard: expected i/n with i from 1 to n"):
        share(cells(1), wrong)


def test_what_is_done_is_not_done_again(tmp_path: Path) -> None:
    store, told = Store(tmp_path), []
    assert run_cells(cells(2), store, jobs=1, done=lambda record: told.append(record["key"])) == 2
    written = store.path(cells(2)[0]).stat().st_mtime_ns
    assert run_cells(cells(3), store, jobs=1, done=lambda record: told.append(record["key"])) == 1
    assert store.path(cells(2)[0]).stat().st_mtime_ns == written
    assert len(told) == len(set(told)) == 3


@pytest.mark.slow  # two processes that import torch
def test_processes_beside_each_other_give_what_one_gives(tmp_path: Path) -> None:
    one, two = Store(tmp_path / "one"), Store(tmp_path / "two")
    run_cells(cells(3), one, jobs=1)
    run_cells(cells(3), two, jobs=2)
    assert scores(one, cells(3)) == scores(two, cells(3))


def test_wrong_use_is_said_before_any_work(tmp_path: Path) -> None:
    store = Store(tmp_path)
    with pytest.raises(ArgumentError, match="--engine: expected one of local, dask, ray, got 'slurm'"):
        run_cells(cells(1), store, engine="slurm")
    with pytest.raises(ArgumentError, match="--address: expected an engine that has one"):
        run_cells(cells(1), store, address="tcp://nowhere")
    with pytest.raises(ArgumentError, match="--jobs: expected at least 1"):
        run_cells(cells(1), store, jobs=0)
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="--out"):
        run_cells(cells(1), Store(tmp_path / "file"))


@pytest.mark.filterwarnings("ignore")
def test_a_cluster_that_does_not_answer_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr(engine, "_ANSWER_SECONDS", 0.5)
    with pytest.raises(ArgumentError, match=r"--address: expected a dask scheduler that answers.*got tcp://127\.0\.0\.1:1 \("):
        run_cells(cells(2), Store(tmp_path), engine="dask", address="tcp://127.0.0.1:1")


def test_an_engine_that_is_not_installed_names_its_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtraError, match=r"pip install ray"):
        run_cells(cells(2), Store(tmp_path), engine="ray")


@pytest.mark.slow
def test_a_run_that_is_killed_goes_on_where_it_was_and_ends_with_the_same_rows(tmp_path: Path) -> None:
    words = [
        sys.executable,
        "-m",
        "ordinate",
        "sweep",
        "--task",
        "k-back",
        "--encoding",
        "alibi",
        "--seeds",
        "8",
        "--length",
        "16",
    ]
    words += ["--test", "16,32", "--steps", "40", "--json", "--jobs", "2", "--out"]
    running = subprocess.Popen(
        [*words, str(tmp_path / "killed")], start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    end = time.monotonic() + 120
    while len(list((tmp_path / "killed").glob("*.json"))) < 2:
        assert time.monotonic() < end
        assert running.poll() is None, "it was quicker than this test"
        time.sleep(0.02)
    os.killpg(running.pid, signal.SIGKILL)
    running.wait()
    left = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "killed").glob("*.json")}
    assert 2 <= len(left) < 8
    done = subprocess.run([*words, str(tmp_path / "killed")], capture_output=True, text=True, check=True)
    assert f"{len(left)} of 8 cells are in" in done.stderr
    assert all((tmp_path / "killed" / name).stat().st_mtime_ns == then for name, then in left.items())
    whole = subprocess.run([*words, str(tmp_path / "whole")], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == json.loads(whole.stdout)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_dask_cluster_that_loses_a_worker_gives_the_same_rows(tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed")
    wanted, store = cells(8, steps=80), Store(tmp_path / "dask")
    killed: list[int] = []
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        workers = [worker.pid for worker in cluster.workers.values()]

        def kill_one(record: dict[str, object]) -> None:
            if not killed:
                killed.append(workers[0])
                os.kill(workers[0], signal.SIGKILL)

        run_cells(wanted, store, engine="dask", address=cluster.scheduler_address, done=kill_one)
    assert killed
    alone = Store(tmp_path / "alone")
    run_cells(wanted, alone, jobs=1)
    assert scores(store, wanted) == scores(alone, wanted)
