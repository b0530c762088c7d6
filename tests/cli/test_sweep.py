"""`ordinate sweep`: tables, JSON, CSV and charts on request; wrong use is one line and exit 2; what is finished is kept."""

from __future__ import annotations

import csv
import errno
import json
import os
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from ordinate.cli.app import app

TINY = ("--task", "k-back", "--encoding", "alibi", "--encoding", "learned", "--seeds", "2", "--length", "16", "--test", "16,32")


def sweep(*words: str | Path) -> Result:
    return CliRunner().invoke(app, ["sweep", *map(str, words)])


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("sweep") / "results"
    done = sweep(*TINY, "--steps", "3", "--jobs", "1", "--out", out)
    assert done.exit_code == 0, done.stderr
    return out


def test_a_sweep_prints_a_table_and_keeps_a_file_a_cell(finished: Path) -> None:
    assert len(list(finished.glob("*.json"))) == 4
    told = sweep("--show", "--out", finished)
    assert told.exit_code == 0
    for part in ("k-back, accuracy (more is better", "alibi", "learned", "not learned with 2 of 2 seeds", "do not rank on it"):
        assert part in told.stdout.replace("\n", " "), part


def test_json_csv_and_charts_come_on_request(finished: Path, tmp_path: Path) -> None:
    told = sweep("--show", "--out", finished, "--json", "--csv", tmp_path / "t.csv", "--figure", tmp_path / "charts")
    assert told.exit_code == 0
    (table,) = json.loads(told.stdout)["tables"]
    assert [line["encoding"] for line in table["encodings"]] == ["learned", "alibi"]  # in the order of the sweep
    assert len(list(csv.DictReader((tmp_path / "t.csv").read_text().splitlines()))) == 4
    assert "0 charts in" in told.stderr  # nothing was learned in three steps


def test_the_same_command_does_nothing_twice(finished: Path) -> None:
    before = {path.name: path.stat().st_mtime_ns for path in finished.iterdir()}
    again = sweep(*TINY, "--steps", "3", "--jobs", "1", "--out", finished)
    assert again.exit_code == 0
    assert "4 of 4 cells are in" in again.stderr
    assert {path.name: path.stat().st_mtime_ns for path in finished.iterdir()} == before


def test_shares_of_a_sweep_together_are_the_sweep(tmp_path: Path) -> None:
    for number in (1, 2):
        assert sweep(*TINY, "--steps", "1", "--jobs", "1", "--out", tmp_path, "--shard", f"{number}/2").exit_code == 0
    assert len(list(tmp_path.glob("*.json"))) == 4


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ("--test", "64,100"),
            "--test: expected rising multiples of the training length, 64 itself first, got [64, 100]",
        ),
        (("--length", "32", "--test", "64,128"), "rising multiples of the training length, 32"),
        (("--test", "64,many"), "--test: expected whole numbers with commas between"),
        (("--task", "riddle"), "task: expected one of text, lookup"),
        (("--encoding", "rotatory"), "encoding: expected one of none, sinusoidal"),
        (("--encoding", "no_such_module:X"), "encoding: expected a module 'no_such_module' that imports"),
        (("--study", "breadth"), "study: expected one of lengths, extension, probe"),
        (("--seeds", "0"), "seeds: expected an integer of at least 1"),
        (("--quick", "--full"), "--quick, --full, --family: expected one of them"),
        (("--engine", "slurm"), "--engine: expected one of local, dask, ray"),
        (("--address", "tcp://x"), "--address: expected an engine that has one"),
        (("--shard", "3/2"), "--shard: expected i/n"),
        (("--task", "text", "--corpus", "no such file"), "--corpus: expected a file or a folder"),
        (("--length", "8", "--test", "8"), "train_length: expected at least 16 tokens"),
    ],
)
def test_wrong_use_is_one_line_and_exit_2(words: tuple[str, ...], said: str, tmp_path: Path) -> None:
    done = sweep(*words, "--out", tmp_path / "o")
    assert done.exit_code == 2, done.output
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
    assert not list(tmp_path.glob("o/*.json"))


def test_a_corpus_smaller_than_a_row_or_a_batch_is_refused(tmp_path: Path) -> None:
    (tmp_path / "short").write_bytes(b"x" * 600)
    done = sweep("--task", "text", "--corpus", tmp_path / "short", "--out", tmp_path / "o")
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
    assert "more than 512 bytes in each split" in done.stderr
    (tmp_path / "less").write_bytes(b"x" * 250)
    words = ("--task", "text", "--length", "16", "--test", "16", "--corpus", tmp_path / "less", "--out", tmp_path / "o")
    done = sweep(*words)
    assert done.exit_code == 2
    assert "at least one batch to train on, 256 bytes, got 200 in less" in done.stderr


def test_an_encoding_that_cannot_is_said_and_not_scored(tmp_path: Path) -> None:
    words = ("--task", "k-back", "--encoding", "axial-rotary", "--seeds", "1", "--length", "16", "--test", "16,32")
    done = sweep(*words, "--jobs", "1", "--out", tmp_path)
    assert done.exit_code == 0
    assert "axial-rotary: cannot with 1 of 1 seeds (encoding: expected positions in a row" in done.stdout.replace("\n", " ")


def test_a_result_of_another_version_is_refused(tmp_path: Path) -> None:
    (tmp_path / "old.json").write_text('{"format": "ordinate.sweep/0"}')
    done = sweep("--show", "--out", tmp_path)
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
    assert "a result of version ordinate.sweep/1, got ordinate.sweep/0" in done.stderr


def test_nothing_to_show_is_said(tmp_path: Path) -> None:
    done = sweep("--show", "--out", tmp_path)
    assert done.exit_code == 2
    assert "run `ordinate sweep` first" in done.stderr


def test_a_full_disk_ends_the_sweep_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*arguments: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "replace", full)
    done = sweep(*TINY, "--steps", "1", "--jobs", "1", "--out", tmp_path)
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
    assert "No space left on device" in done.stderr
    assert "the same command goes on from there" in done.stderr


def test_an_interrupted_sweep_keeps_what_is_finished_and_says_how_to_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ordinate.sweep import engine

    plain, calls = engine.run_cell, []

    def interrupted(*arguments):  # type: ignore[no-untyped-def]
        calls.append(arguments)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return plain(*arguments)

    monkeypatch.setattr(engine, "run_cell", interrupted)
    done = sweep(*TINY, "--steps", "1", "--jobs", "1", "--out", tmp_path)
    assert done.exit_code == 130
    assert f"interrupted: 2 of 4 cells are kept in {tmp_path}; the same command goes on from there" in done.stderr
    assert len(list(tmp_path.glob("*.json"))) == 2
    monkeypatch.setattr(engine, "run_cell", plain)
    assert sweep(*TINY, "--steps", "1", "--jobs", "1", "--out", tmp_path).exit_code == 0


def test_a_cluster_that_does_not_answer_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed")
    from ordinate.sweep import engine

    monkeypatch.setattr(engine, "_ANSWER_SECONDS", 0.5)
    done = sweep(*TINY, "--engine", "dask", "--address", "tcp://127.0.0.1:1", "--out", tmp_path)
    assert done.exit_code == 2
    assert "--address: expected a dask scheduler that answers" in done.stderr


def test_what_was_measured_of_a_family_travels_with_the_package() -> None:
    told = sweep("--family", "recent", "--measured")
    assert told.exit_code == 0, told.stderr
    assert "measured: `ordinate sweep --family recent`, seeds 0 to 2, " in told.stderr
    assert "flip-flop, accuracy (more is better, chance 0.50), trained at 32" in told.stdout.replace("\n", " ")
    tables = json.loads(sweep("--family", "recent", "--measured", "--json").stdout)["tables"]
    (table,) = (one for one in tables if one["task"] == "flip-flop")
    assert {"alibi", "rope", "clipped-rope", "grape", "forget-gates", "path"} <= {
        line["encoding"] for line in table["encodings"]
    }
    assert all(point["cut"]["seeds"] == 3 for line in table["encodings"] for point in line["lengths"].values())


def test_what_was_measured_of_states_tells_path_from_the_others() -> None:
    (table,) = json.loads(sweep("--family", "states", "--measured", "--json").stdout)["tables"]
    at_four_times = {line["encoding"]: line["lengths"].get("64") for line in table["encodings"]}
    assert at_four_times["path"]["last"]["mean"] > 0.9
    assert all(at_four_times[name] is None or at_four_times[name]["last"] is None for name in ("alibi", "rope"))


def test_families_are_named_and_stand_alone() -> None:
    for words, said in (
        (("--family", "recents"), 'did you mean "recent"?'),
        (("--family", "recent", "--quick"), "expected one of them"),
        (("--measured",), "expected a --family"),
    ):
        refused = sweep(*words)
        assert refused.exit_code == 2
        assert said in refused.stderr, words
